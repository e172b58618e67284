//! The marker slot between two cores, `target-agent/src/lane.rs`, under every interleaving of its writer and its reader.
//!
//! The shipped file is compiled here unchanged. It takes its atomics from `crate::sync`, and in this test that is in
//! the test itself: these atomics forward to loom while a model runs, and to the real ones for the file's own unit tests.
#![cfg(loom)]

extern crate self as core;

#[allow(dead_code, reason = "the scenario uses a part of it")]
#[path = "../../target-agent/src/lane.rs"]
mod lane;

use lane::{Lane, Taken};
use std::cell::Cell;
use stillpoint_core::{HaltId, HaltMarker, HaltOrder, NodeId};

pub use std::array;

thread_local! {
    // Loom runs all threads of a model on one thread of the test.
    static IN_MODEL: Cell<bool> = const { Cell::new(false) };
    static WITHOUT_FENCES: Cell<bool> = const { Cell::new(false) };
}

/// Where `lane.rs` waits for the other core.
pub mod hint {
    /// Lets the other thread go on.
    pub fn spin_loop() {
        if crate::IN_MODEL.get() { loom::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// What `lane.rs` takes its atomics from.
pub mod sync {
    pub use crate::hint::spin_loop;

    /// See [`sync`](super).
    pub mod atomic {
        use std::sync::OnceLock;
        pub use std::sync::atomic::Ordering;

        /// A word that becomes loom's when a model touches it first: loom's own cannot be made in a constant.
        #[derive(Debug)]
        pub struct AtomicU32 {
            start: u32,
            cell: OnceLock<Word>,
        }

        #[derive(Debug)]
        enum Word {
            Plain(std::sync::atomic::AtomicU32),
            Loom(loom::sync::atomic::AtomicU32),
        }

        impl AtomicU32 {
            /// As core's.
            pub const fn new(start: u32) -> Self {
                Self { start, cell: OnceLock::new() }
            }

            fn word(&self) -> &Word {
                self.cell.get_or_init(|| match crate::IN_MODEL.get() {
                    true => Word::Loom(loom::sync::atomic::AtomicU32::new(self.start)),
                    false => Word::Plain(std::sync::atomic::AtomicU32::new(self.start)),
                })
            }

            /// As core's.
            pub fn load(&self, order: Ordering) -> u32 {
                match self.word() {
                    Word::Plain(word) => word.load(order),
                    Word::Loom(word) => word.load(order),
                }
            }

            /// As core's.
            pub fn store(&self, value: u32, order: Ordering) {
                match self.word() {
                    Word::Plain(word) => word.store(value, order),
                    Word::Loom(word) => word.store(value, order),
                }
            }
        }

        /// As core's; nothing in the mutant.
        pub fn fence(order: Ordering) {
            match (crate::IN_MODEL.get(), crate::WITHOUT_FENCES.get()) {
                (true, false) => loom::sync::atomic::fence(order),
                (true, true) => {}
                (false, _) => std::sync::atomic::fence(order),
            }
        }
    }
}

/// Says the same in every word, so that words of two markers show.
fn marker(id: u16) -> HaltMarker<4> {
    let first = NodeId(id as u8 % 4);
    HaltMarker { id: HaltId(id), position: id.into(), order: HaltOrder::new().then(first) }
}

/// One marker lies in the slot; a newer one replaces it while the peer looks.
fn a_newer_marker_comes_while_the_peer_looks() {
    let mut model = loom::model::Builder::new();
    model.max_branches = 10_000;
    IN_MODEL.set(true);
    model.check(|| {
        let lane = loom::sync::Arc::new(Lane::new());
        lane.post_marker(&marker(1));
        // Makes the words that a short marker leaves alone, before there is a second thread.
        assert_eq!(lane.take_marker(&mut Taken::default()), Some(marker(1)));
        let writer = loom::thread::spawn({
            let lane = lane.clone();
            move || lane.post_marker(&marker(2))
        });
        let mut taken = Taken::default();
        let first = lane.take_marker::<4>(&mut taken).expect("there is a marker at all times");
        assert!(first == marker(1) || first == marker(2), "a torn marker: {first:?}");
        writer.join().unwrap();
        let second = lane.take_marker::<4>(&mut taken);
        assert_eq!(second, (first == marker(1)).then(|| marker(2)), "the newer one arrives, once");
    });
}

#[test]
fn a_marker_is_taken_whole_and_once() {
    a_newer_marker_comes_while_the_peer_looks();
}

#[test]
#[should_panic(expected = "a torn marker")]
fn a_slot_without_its_fences_is_caught() {
    WITHOUT_FENCES.set(true);
    a_newer_marker_comes_while_the_peer_looks();
}
