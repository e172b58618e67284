//! Runs the unit tests of `stillpoint-core` on the Cortex-M33.
fn main() {}
