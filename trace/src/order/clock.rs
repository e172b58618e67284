//! Rows of clocks: one entry a node, compared as serial numbers.

/// Whether `a` comes after `b`, across the wrap too.
#[inline(always)]
pub(crate) const fn newer(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

/// Raises each entry of `mine` to what `theirs` knows.
#[inline(always)]
pub(crate) fn merge(mine: &mut [u32], theirs: &[u32]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        let behind = theirs.wrapping_sub(*mine) as i32;
        // Without a branch, so that a compiler can take many entries at once.
        *mine = mine.wrapping_add(behind.max(0) as u32);
    }
}

/// Raises one entry.
#[inline(always)]
pub(crate) fn raise(entry: &mut u32, to: u32) {
    if newer(to, *entry) {
        *entry = to;
    }
}

/// Clocks that are kept until nobody needs them any more, in one piece of memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    width: usize,
    words: Vec<u32>,
    free: Vec<u32>,
}

impl Rows {
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Keeps a copy of a clock.
    #[inline]
    pub fn keep(&mut self, clock: &[u32]) -> u32 {
        if let Some(row) = self.free.pop() {
            let at = row as usize * self.width;
            self.words[at..at + self.width].copy_from_slice(clock);
            return row;
        }
        self.words.extend_from_slice(clock);
        (self.words.len() / self.width.max(1) - 1) as u32
    }

    #[inline]
    pub fn get(&self, row: u32) -> &[u32] {
        &self.words[row as usize * self.width..][..self.width]
    }

    /// Nobody needs it any more.
    #[inline]
    pub fn drop(&mut self, row: u32) {
        self.free.push(row);
    }

    /// How many are kept.
    pub fn kept(&self) -> usize {
        self.words.len() / self.width.max(1) - self.free.len()
    }
}
