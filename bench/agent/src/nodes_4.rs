//! The program in a system of 4 nodes, of which these are two.
#![no_std]
#![no_main]

mod program;

const NODES: usize = 4;
