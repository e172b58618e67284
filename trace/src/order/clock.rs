//! Rows of clocks: one entry a node, compared as serial numbers. 0 knows nothing, and is older than any other.

/// Whether `a` comes after `b`, across the wrap too.
#[inline(always)]
pub(crate) const fn newer(a: u32, b: u32) -> bool {
    a != 0 && (b == 0 || (b.wrapping_sub(a) as i32) < 0)
}

/// Entries that are dealt with at once: a clock is kept in pieces of so many, and what is more than the width stays zero.
pub(super) const LANES: usize = 4;

/// A clock of `width` entries that knows nothing. It has one, two, four or eight pieces: few enough that the quick way is
/// compiled for each.
pub(super) fn row(width: usize) -> Vec<[u32; LANES]> {
    vec![[0; LANES]; width.div_ceil(LANES).next_power_of_two()]
}

const _: () = assert!(stillpoint_core::MAX_NODES <= 8 * LANES);

/// Raises each entry of `mine` to what `theirs` knows.
#[inline(always)]
pub(super) fn merge_rows(mine: &mut [[u32; LANES]], theirs: &[[u32; LANES]]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| merge_piece(mine, theirs));
}

#[inline(always)]
fn merge_piece(mine: &mut [u32; LANES], theirs: &[u32; LANES]) {
    // All of it is read before any of it is written, so that a compiler can take the entries at once.
    let (known, news) = (*mine, *theirs);
    *mine = std::array::from_fn(|lane| later(known[lane], news[lane]));
}

/// Raises each entry of `mine` to what `theirs` knows.
pub(crate) fn merge(mine: &mut [u32], theirs: &[u32]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine = later(*mine, *theirs);
    }
}

/// The later of two, without a branch.
#[inline(always)]
fn later(a: u32, b: u32) -> u32 {
    let is_ahead = (a.wrapping_sub(b) as i32) < 0;
    if (b != 0) & (is_ahead | (a == 0)) { b } else { a }
}

/// Raises one entry.
#[inline(always)]
pub(crate) fn raise(entry: &mut u32, to: u32) {
    if newer(to, *entry) {
        *entry = to;
    }
}
