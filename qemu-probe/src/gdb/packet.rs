//! The bytes of the GDB remote protocol: `$payload#checksum`, hexadecimal data, stop replies.

/// A payload as it goes over the wire.
pub(crate) fn encode(payload: &[u8]) -> Vec<u8> {
    let sum = payload.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    let mut frame = Vec::with_capacity(payload.len() + 4);
    frame.push(b'$');
    frame.extend_from_slice(payload);
    frame.extend_from_slice(format!("#{sum:02x}").as_bytes());
    frame
}

/// Takes packets out of a stream of bytes.
#[derive(Debug, Default)]
pub(crate) struct Decoder(Vec<u8>);

impl Decoder {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The payload of the next whole packet. Acknowledgements and noise before it are skipped, and so is a packet with a
    /// wrong checksum: the socket is reliable, so that can only be a part of a packet after noise.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let start = self.0.iter().position(|byte| *byte == b'$').unwrap_or(self.0.len());
            self.0.drain(..start);
            let end = self.0.iter().position(|byte| *byte == b'#')?;
            let sum = unhex(self.0.get(end + 1..end + 3)?);
            let payload = self.0[1..end].to_vec();
            self.0.drain(..end + 3);
            if sum == Some(vec![payload.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte))]) {
                return Some(payload);
            }
        }
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
    text
}

/// The bytes that hexadecimal digits stand for.
pub(crate) fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    digits.chunks_exact(2).map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?)).collect()
}

/// Why the machine stopped, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StopReply {
    pub(crate) signal: u8,
    /// Index of the core, from the thread identifier (`p02.02` is core 1).
    pub(crate) core: Option<usize>,
    /// Whether a watchpoint was the reason.
    pub(crate) watchpoint: bool,
}

impl StopReply {
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(payload).ok()?;
        if !text.starts_with(['T', 'S']) {
            return None;
        }
        let signal = u8::from_str_radix(text.get(1..3)?, 16).ok()?;
        let fields = || text.get(3..).unwrap_or("").split(';').filter_map(|field| field.split_once(':'));
        let thread = fields().find(|(key, _)| *key == "thread").map(|(_, thread)| thread);
        let number = thread.map(|thread| thread.rsplit('.').next().unwrap_or(thread).trim_start_matches('p'));
        let core = number.and_then(|number| usize::from_str_radix(number, 16).ok()).and_then(|n| n.checked_sub(1));
        let watchpoint = fields().any(|(key, _)| matches!(key, "watch" | "rwatch" | "awatch"));
        Some(Self { signal, core, watchpoint })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_found_in_any_split_of_the_stream_behind_acknowledgements_and_noise() {
        let stream = [b"++".as_slice(), &encode(b"OK"), b"+x", &encode(b""), &encode(b"T05thread:p01.01;")].concat();
        for cut in 0..stream.len() {
            let mut decoder = Decoder::default();
            let mut found = Vec::new();
            for part in [&stream[..cut], &stream[cut..]] {
                decoder.push(part);
                found.extend(std::iter::from_fn(|| decoder.next()));
            }
            assert_eq!(found, [b"OK".as_slice(), b"", b"T05thread:p01.01;"], "cut at {cut}");
        }
    }

    #[test]
    fn a_packet_with_a_wrong_checksum_is_skipped() {
        let mut decoder = Decoder::default();
        decoder.push(b"$OK#00$E14#aa");
        assert_eq!(decoder.next(), Some(b"E14".to_vec()));
    }

    #[test]
    fn hexadecimal_goes_both_ways_and_refuses_the_rest() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(hex(&all).as_bytes()), Some(all));
        assert_eq!(unhex(b"1"), None);
        assert_eq!(unhex(b"1g"), None);
    }

    #[test]
    fn stop_replies_name_signal_core_and_watchpoint() {
        let stop = |text: &str| StopReply::parse(text.as_bytes());
        assert_eq!(stop("T05thread:p02.02;"), Some(StopReply { signal: 5, core: Some(1), watchpoint: false }));
        assert_eq!(stop("T02thread:01;"), Some(StopReply { signal: 2, core: Some(0), watchpoint: false }));
        assert_eq!(
            stop("T05thread:p01.01;watch:80000000;"),
            Some(StopReply { signal: 5, core: Some(0), watchpoint: true })
        );
        assert_eq!(stop("OK"), None);
        assert_eq!(stop("T"), None);
    }
}
