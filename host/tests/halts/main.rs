//! The library on emulated boards: demos, halts, breakpoints, crashes, resets and bad lines.
#[path = "../support/boards.rs"]
mod boards;
#[path = "../support/waiting.rs"]
mod waiting;

mod break_pipeline;
mod break_reset;
mod break_token_ring;
mod demos;
mod dropped;
mod faults;
mod hard_halts;
mod link_soak;
mod replay_events;
mod resets;
mod rpc_arms;
mod rpc_demo;
mod rpc_timeouts;
mod sabotage;
mod thousand_halts;
mod two_boards;
