//! A probe-rs debug probe whose target is a QEMU machine.
