//! The program in a system of 32 nodes, of which these are two.
#![no_std]
#![no_main]

mod program;

const NODES: usize = 32;
