//! Halt many cores and boards at one consistent moment.
