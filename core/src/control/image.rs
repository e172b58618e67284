//! What tells one build of a firmware from another.

/// All of so many words is looked at: vectors.
const WHOLE: usize = 256;
/// So many words of the rest are looked at, or all if it has fewer.
const SAMPLES: usize = 1024;

/// A checksum over the vectors of an image and words that are spread evenly over its code, never 0.
///
/// The agent computes it when it begins, the host from the ELF file. Almost any change of the source moves code.
///
/// # Example: a word of the code differs
/// ```
/// use stillpoint_core::control::image_id;
/// let (one, other) = ([1, 2, 3], [1, 2, 4]);
/// assert_ne!(image_id(3, |word| one[word]), image_id(3, |word| other[word]));
/// ```
pub fn image_id(words: usize, word: impl Fn(usize) -> u32) -> u32 {
    let stride = words.div_ceil(SAMPLES).max(1);
    let mut id = words as u32;
    let mut at = 0;
    while at < words {
        id = (id ^ word(at)).rotate_left(5).wrapping_mul(0x0100_0193);
        at += if at < WHOLE { 1 } else { stride };
    }
    id | 1
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;
    #[test]
    fn an_image_that_moved_by_a_word_or_has_another_length_is_another() {
        let code = |at: usize| (at as u32).wrapping_mul(2_654_435_761);
        let id = image_id(5000, code);
        assert_eq!(id, image_id(5000, code));
        assert_ne!(id, image_id(5000, |at| code(at + 1)));
        assert_ne!(id, image_id(5001, code));
        assert_ne!(image_id(0, code), 0);
    }
}
