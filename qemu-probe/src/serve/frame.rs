//! Frames: COBS with a zero after each; the first byte of a frame is the endpoint.

/// Whom a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// The probe itself.
    Root = 0,
    /// The wire to the target.
    Swd = 1,
}

/// A frame that cannot be understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("a frame is not valid COBS; is this a probe-rs tool?")]
    Coding,
    #[error("a frame is for endpoint {0}, which does not exist")]
    Endpoint(u8),
    #[error("a frame is longer than {MAX_FRAME} bytes")]
    TooLong,
}

/// Far more than any tool sends in one frame.
const MAX_FRAME: usize = 1 << 24;

/// Takes frames out of a stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Frames(Vec<u8>);

impl Frames {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next whole frame.
    pub(super) fn next(&mut self) -> Result<Option<(Endpoint, Vec<u8>)>, FrameError> {
        loop {
            let Some(end) = self.0.iter().position(|byte| *byte == 0) else {
                return if self.0.len() > MAX_FRAME { Err(FrameError::TooLong) } else { Ok(None) };
            };
            let mut frame: Vec<u8> = self.0.drain(..=end).collect();
            frame.pop();
            if frame.is_empty() {
                continue;
            }
            let len = cobs::decode_in_place(&mut frame).map_err(|_| FrameError::Coding)?;
            frame.truncate(len);
            let Some((endpoint, data)) = frame.split_first() else { continue };
            let endpoint = match endpoint {
                0 => Endpoint::Root,
                1 => Endpoint::Swd,
                other => return Err(FrameError::Endpoint(*other)),
            };
            return Ok(Some((endpoint, data.to_vec())));
        }
    }
}

/// A frame as it goes over the wire.
pub(super) fn encode(endpoint: Endpoint, data: &[u8]) -> Vec<u8> {
    let mut raw = vec![endpoint as u8];
    raw.extend_from_slice(data);
    let mut frame = vec![0; cobs::max_encoding_length(raw.len())];
    let len = cobs::encode(&raw, &mut frame);
    frame.truncate(len);
    frame.push(0);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_any_length_and_content_come_back_from_any_split() {
        let long: Vec<u8> = (0..2000u32).map(|i| (i % 251) as u8).collect();
        let stream = [encode(Endpoint::Swd, &long), encode(Endpoint::Root, &[0, 0, 0])].concat();
        for cut in [0, 1, 255, 256, 700, stream.len() - 1] {
            let (mut frames, mut found) = (Frames::default(), Vec::new());
            for part in [&stream[..cut], &stream[cut..]] {
                frames.push(part);
                while let Some(frame) = frames.next().unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found, [(Endpoint::Swd, long.clone()), (Endpoint::Root, vec![0, 0, 0])], "cut at {cut}");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        let mut frames = Frames::default();
        frames.push(&[9, 1, 0]);
        assert_eq!(frames.next(), Err(FrameError::Coding));
        let mut frames = Frames::default();
        frames.push(&[2, 7, 0]);
        assert_eq!(frames.next(), Err(FrameError::Endpoint(7)));
    }
}
