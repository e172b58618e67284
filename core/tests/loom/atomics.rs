//! Stand-ins for loom's atomics that a mutant can break.

/// What is broken.
#[derive(Clone, Copy, PartialEq)]
pub enum Mutant {
    /// Nothing: the stand-in atomics alone must not make a scenario fail.
    None,
    /// The count of written bytes is published with a relaxed store.
    RelaxedCommit,
    /// The count of written bytes is published before the bytes are stored.
    CommitBeforeBytes,
    /// Bytes may be overwritten before a reader can know.
    NoFence,
}

thread_local! {
    // Loom runs all threads of a model on one thread of the test.
    pub static MUTANT: std::cell::Cell<Mutant> = const { std::cell::Cell::new(Mutant::None) };
    static HELD_BACK: std::cell::RefCell<Vec<(std::sync::Arc<real::sync::atomic::AtomicU8>, u8)>> =
        const { std::cell::RefCell::new(Vec::new()) };
}

/// What the log takes for loom's atomics.
pub mod sync {
    /// See [`sync`](super).
    pub mod atomic {
        use crate::atomics::{HELD_BACK, MUTANT, Mutant};
        pub use real::sync::atomic::Ordering;

        /// As loom's, or nothing if the mutant says so.
        pub fn fence(order: Ordering) {
            if MUTANT.get() != Mutant::NoFence {
                real::sync::atomic::fence(order);
            }
        }

        /// A word whose release stores the mutant weakens, or lets overtake the bytes before them.
        ///
        /// Loom tries another order only where an access conflicts with the last one of the same atomic. A writer that loads
        /// a word before it stores it would hide its store from the reader's loads, so every access counts in a second atomic.
        #[derive(Debug)]
        pub struct AtomicU32(real::sync::atomic::AtomicU32, real::sync::atomic::AtomicU32);

        /// A byte whose stores the mutant holds back.
        #[derive(Debug)]
        pub struct AtomicU8(std::sync::Arc<real::sync::atomic::AtomicU8>);

        impl AtomicU32 {
            /// As loom's.
            pub fn new(value: u32) -> Self {
                Self(real::sync::atomic::AtomicU32::new(value), real::sync::atomic::AtomicU32::new(0))
            }

            /// As loom's.
            pub fn load(&self, order: Ordering) -> u32 {
                self.1.fetch_add(1, Ordering::Relaxed);
                self.0.load(order)
            }

            /// Weakened if the mutant says so.
            pub fn store(&self, value: u32, order: Ordering) {
                self.1.fetch_add(1, Ordering::Relaxed);
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
