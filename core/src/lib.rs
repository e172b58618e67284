//! Vector clocks, consistent halting, distributed predicates and RPC delay propagation, sans-IO and no_std.
#![no_std]
#![forbid(unsafe_code)]
