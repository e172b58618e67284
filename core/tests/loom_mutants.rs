//! The shipped ring on broken atomics: the scenarios of `loom` must notice.
//!
//! `src/log/ring.rs` is compiled here unchanged. It takes its atomics from a crate named `loom`, and in this test that is
//! the test itself: its atomics forward to the real loom, but weaken or reorder stores as the mutant says.
#![cfg(loom)]

extern crate loom as real;
extern crate self as loom;

#[path = "loom/scenarios.rs"]
mod scenarios;

#[allow(dead_code, reason = "the scenarios use a part of it")]
#[path = "../src/log/ring.rs"]
mod ring;

mod model {
    pub use real::model as check;
    pub use real::{sync::Arc, thread};
}

/// What is broken.
#[derive(Clone, Copy, PartialEq)]
enum Mutant {
    /// Nothing: the stand-in atomics alone must not make a scenario fail.
    None,
    /// The count of written bytes is published with a relaxed store.
    RelaxedCommit,
    /// The count of written bytes is published before the bytes are stored.
    CommitBeforeBytes,
}

thread_local! {
    // Loom runs all threads of a model on one thread of the test.
    static MUTANT: std::cell::Cell<Mutant> = const { std::cell::Cell::new(Mutant::None) };
    static HELD_BACK: std::cell::RefCell<Vec<(std::sync::Arc<real::sync::atomic::AtomicU8>, u8)>> =
        const { std::cell::RefCell::new(Vec::new()) };
}

/// What `ring.rs` takes for loom's atomics.
pub mod sync {
    /// See [`sync`](super).
    pub mod atomic {
        use crate::{HELD_BACK, MUTANT, Mutant};
        pub use real::sync::atomic::Ordering;

        /// A word whose release stores the mutant weakens, or lets overtake the bytes before them.
        #[derive(Debug)]
        pub struct AtomicU32(real::sync::atomic::AtomicU32);

        /// A byte whose stores the mutant holds back.
        #[derive(Debug)]
        pub struct AtomicU8(std::sync::Arc<real::sync::atomic::AtomicU8>);

        impl AtomicU32 {
            /// As loom's.
            pub fn new(value: u32) -> Self {
                Self(real::sync::atomic::AtomicU32::new(value))
            }

            /// As loom's.
            pub fn load(&self, order: Ordering) -> u32 {
                self.0.load(order)
            }

            /// Weakened if the mutant says so.
            pub fn store(&self, value: u32, order: Ordering) {
                let weak = MUTANT.get() == Mutant::RelaxedCommit;
                self.0.store(value, if weak { Ordering::Relaxed } else { order });
                // Taken out first: a store can switch to another thread of the model.
                for (byte, value) in HELD_BACK.take() {
                    byte.store(value, Ordering::Relaxed);
                }
            }
        }

        impl AtomicU8 {
            /// As loom's.
            pub fn new(value: u8) -> Self {
                Self(std::sync::Arc::new(real::sync::atomic::AtomicU8::new(value)))
            }

            /// As loom's.
            pub fn load(&self, order: Ordering) -> u8 {
                self.0.load(order)
            }

            /// Held back until the next store of a word if the mutant says so.
            pub fn store(&self, value: u8, order: Ordering) {
                if MUTANT.get() == Mutant::CommitBeforeBytes {
                    HELD_BACK.with_borrow_mut(|held| held.push((self.0.clone(), value)));
                } else {
                    self.0.store(value, order);
                }
            }
        }
    }
}

fn scenario_with(mutant: Mutant) {
    MUTANT.set(mutant);
    scenarios::write_and_read::<2>(2, 2);
}

#[test]
fn the_stand_in_atomics_break_nothing_by_themselves() {
    scenario_with(Mutant::None);
}

#[test]
#[should_panic(expected = "torn")]
fn a_commit_without_release_is_caught() {
    scenario_with(Mutant::RelaxedCommit);
}

#[test]
#[should_panic(expected = "torn")]
fn a_commit_before_its_bytes_is_caught() {
    scenario_with(Mutant::CommitBeforeBytes);
}
