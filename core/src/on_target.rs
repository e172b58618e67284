//! The unit tests of this crate, as the firmware `stillpoint-on-target` sees them.

/// One registered unit test.
#[repr(C)]
pub struct UnitTest {
    /// The full path of the test, as the host's runner prints it with the crate's name in front.
    pub name: &'static str,
    /// The test itself; it fails by panicking.
    pub run: fn(),
}
