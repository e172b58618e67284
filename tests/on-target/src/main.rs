//! Runs the unit tests of `stillpoint-core` on the Cortex-M33, one after the other, on core 0.
//!
//! Each test is one line, begun before the test runs: whoever cuts off a test that never ends can read its name.
//! ```text
//! test stillpoint_core::id::tests::a_port_out_of_range_is_in_no_set ... ok
//! test stillpoint_core::clock::tests::this_one_fails ... FAILED at core/src/clock.rs:97: assertion failed: 1 == 2
//! 1 passed, 1 failed, 23 not run
//! ```
//! A panic cannot be caught here, so the first failure ends the run. The exit code is 0 when all tests passed, else 1.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(all(target_os = "none", on_target))]
mod fault;
#[cfg(all(target_os = "none", on_target))]
mod runner;

#[cfg(all(target_os = "none", not(on_target)))]
compile_error!("the tests are registered only with RUSTFLAGS=\"--cfg on_target\"; `cargo xtask test target` sets it");

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("This is firmware; `cargo xtask test target` builds and runs it.");
    std::process::exit(2);
}
