#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| (stillpoint_tests::fuzz::target("text").unwrap().run)(data));
