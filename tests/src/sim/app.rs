//! The application on each node: it remembers all it did in one number, so that two states differ if their pasts do.

/// What a node's application has become by all it did.
///
/// # Example: the order of what happened counts
/// ```
/// use stillpoint_tests::sim::App;
/// let (mut a, mut b) = (App::default(), App::default());
/// a.live(b"x"); a.live(b"y");
/// b.live(b"y"); b.live(b"x");
/// assert_ne!(a, b);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct App {
    digest: u64,
    steps: u32,
}

impl App {
    /// Does or takes in something.
    pub fn live(&mut self, what: &[u8]) {
        self.steps += 1;
        for &byte in what {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
        self.digest = self.digest.wrapping_add(0x9E37_79B9_7F4A_7C15);
    }

    /// What the application would say next on a channel: it depends on all it has seen.
    #[must_use]
    pub fn say(&self, channel: usize) -> Vec<u8> {
        let mut words = vec![channel as u8];
        words.extend(self.steps.to_le_bytes());
        words.extend(&self.digest.to_le_bytes()[..3]);
        words
    }
}
