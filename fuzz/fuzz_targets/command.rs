#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| (stillpoint_tests::fuzz::target("command").unwrap().run)(data));
