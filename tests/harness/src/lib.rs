//! One unit test, two homes: the host's test runner and the Cortex-M33 under QEMU.
