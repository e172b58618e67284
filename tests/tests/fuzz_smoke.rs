//! A few thousand inputs for every fuzz target, the same every time: right ones, damaged ones and noise.
//!
//! The longer search by libFuzzer is described in `fuzz/README.md`.
use stillpoint_tests::fuzz::{TARGETS, Target, inputs};

const INPUTS: usize = 10_000;

/// Prints the input that made a target panic.
struct Witness<'a>(&'a Target, &'a [u8]);

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{} was given {:02x?}", self.0.name, self.1);
        }
    }
}

fn smoke(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of this name");
    for input in inputs(target, INPUTS, 0x5711_1001) {
        let _witness = Witness(target, &input);
        (target.run)(&input);
    }
}

/// One test a target, so that they run beside each other and a failure has a name.
macro_rules! targets {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                smoke(stringify!($name));
            }
        )*

        #[test]
        fn every_target_has_a_smoke_run_and_a_libfuzzer_binary() {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
            let manifest = include_str!("../../fuzz/Cargo.toml");
            assert!(names.iter().all(|name| manifest.contains(&format!("name = \"{name}\""))));
        }
    };
}

targets! { stamp halt_marker hello carry log text link program command control_header certificate node }
