//! The on-target runner of Stillpoint: ports, log rings, stop and resume, logical time.
#![no_std]
