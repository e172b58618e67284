//! Consistent overhead byte stuffing, one byte at a time: no zero inside a frame, one zero after it.
//!
//! Written here rather than taken from a crate because a frame is made of three pieces (header, payload, checksum) that
//! never lie in one buffer, and because `cobs::encode` panics when the output is too short.

/// Stuffs bytes into a buffer.
pub(super) struct Encoder<'a> {
    out: &'a mut [u8],
    /// Where the next byte goes.
    at: usize,
    /// Where the length of the current run will be written.
    code_at: usize,
    /// One more than the length of the current run.
    code: u8,
}

/// The buffer ended before the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl<'a> Encoder<'a> {
    /// Begins a frame at `start`.
    pub(super) fn new(out: &'a mut [u8], start: usize) -> Self {
        Self { out, at: start.saturating_add(1), code_at: start, code: 1 }
    }

    pub(super) fn push_all(&mut self, bytes: &[u8]) -> Result<(), Full> {
        bytes.iter().try_for_each(|&byte| self.push(byte))
    }

    #[inline]
    fn push(&mut self, byte: u8) -> Result<(), Full> {
        if byte != 0 {
            *self.out.get_mut(self.at).ok_or(Full)? = byte;
            self.at += 1;
            self.code += 1;
        }
        if byte == 0 || self.code == u8::MAX {
            self.end_run()?;
        }
        Ok(())
    }

    fn end_run(&mut self) -> Result<(), Full> {
        *self.out.get_mut(self.code_at).ok_or(Full)? = self.code;
        self.code_at = self.at;
        self.at += 1;
        self.code = 1;
        Ok(())
    }

    /// Ends the frame with its zero and says how many bytes of the buffer are in use.
    pub(super) fn finish(mut self) -> Result<usize, Full> {
        self.end_run()?;
        *self.out.get_mut(self.code_at).ok_or(Full)? = 0;
        Ok(self.at)
    }
}

/// What one byte from the wire means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unstuffed {
    /// It only steers the decoder.
    Nothing,
    /// It yields this byte of the frame.
    Byte(u8),
    /// The frame ends here; `whole` says whether it ended where its stuffing said it would.
    End {
        /// Not cut short in the middle of a run.
        whole: bool,
    },
}

/// Takes stuffing out of a stream of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Decoder {
    /// How many bytes of the current run are to come.
    left: u8,
    /// Whether a zero belongs between the current run and the next.
    zero_follows: bool,
}

impl Decoder {
    pub(super) const NEW: Self = Self { left: 0, zero_follows: false };

    #[inline]
    pub(super) fn push(&mut self, byte: u8) -> Unstuffed {
        if byte == 0 {
            let whole = self.left == 0;
            *self = Self::NEW;
            Unstuffed::End { whole }
        } else if self.left > 0 {
            self.left -= 1;
            Unstuffed::Byte(byte)
        } else {
            let zero = self.zero_follows;
            self.left = byte - 1;
            self.zero_follows = byte != u8::MAX;
            if zero { Unstuffed::Byte(0) } else { Unstuffed::Nothing }
        }
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use stillpoint_test::test;

    fn encoded<'a>(frame: &[u8], out: &'a mut [u8]) -> Result<&'a [u8], Full> {
        let mut encoder = Encoder::new(out, 0);
        encoder.push_all(frame)?;
        let length = encoder.finish()?;
        Ok(&out[..length])
    }

    /// Cheshire & Baker 1999, the usual examples.
    #[test]
    fn the_published_examples_come_out_as_published() {
        let mut out = [0; 8];
        assert_eq!(encoded(&[0], &mut out), Ok(&[1, 1, 0][..]));
        assert_eq!(encoded(&[0, 0], &mut out), Ok(&[1, 1, 1, 0][..]));
        assert_eq!(encoded(&[0x11, 0x22, 0, 0x33], &mut out), Ok(&[3, 0x11, 0x22, 2, 0x33, 0][..]));
        assert_eq!(encoded(&[0x11, 0, 0, 0], &mut out), Ok(&[2, 0x11, 1, 1, 1, 0][..]));
    }

    #[test]
    fn frames_around_the_length_of_the_longest_run_survive_the_round_trip() {
        for length in [0, 1, 253, 254, 255, 256, 300] {
            for zero_at in [0, 1, 253, 254, 299, 1000] {
                let mut frame = [7; 300];
                if let Some(byte) = frame.get_mut(zero_at) {
                    *byte = 0;
                }
                let frame = &frame[..length];
                let mut out = [0xAA; 310];
                let wire = encoded(frame, &mut out).unwrap();
                let (last, stuffed) = wire.split_last().unwrap();
                assert!(*last == 0 && stuffed.iter().all(|&byte| byte != 0));
                let mut decoder = Decoder::NEW;
                let mut at = 0;
                for &byte in stuffed {
                    if let Unstuffed::Byte(byte) = decoder.push(byte) {
                        assert_eq!(frame[at], byte);
                        at += 1;
                    }
                }
                assert_eq!((at, decoder.push(0)), (length, Unstuffed::End { whole: true }));
            }
        }
    }

    #[test]
    fn a_buffer_that_is_too_short_by_one_is_refused() {
        let mut out = [0; 6];
        assert_eq!(encoded(&[1, 2, 0, 3], &mut out[..5]), Err(Full));
        assert!(encoded(&[1, 2, 0, 3], &mut out).is_ok());
    }

    #[test]
    fn a_frame_cut_inside_a_run_is_not_whole() {
        let mut decoder = Decoder::NEW;
        assert_eq!(decoder.push(3), Unstuffed::Nothing);
        assert_eq!(decoder.push(9), Unstuffed::Byte(9));
        assert_eq!(decoder.push(0), Unstuffed::End { whole: false });
        assert_eq!(decoder, Decoder::NEW);
    }
}
