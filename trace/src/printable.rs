//! Text of firmware and files, made safe to print.
use std::{fmt, io};

/// Whether a character changes how the text around it is displayed instead of being displayed itself.
///
/// These are control characters other than line feed and tab (a terminal obeys the escape character), marks and overrides
/// of the writing direction, line and paragraph separators, and characters without any width.
#[must_use]
pub fn is_unprintable(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{FEFF}' => true,
        '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' => true,
        '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}' => true,
        other => other.is_control(),
    }
}

/// A text with every unprintable character as its escape sequence, such as `\u{1b}` or `\r`.
///
/// Everything that displays the text of a firmware or a file writes it through this: a terminal, a page, a picture, a table.
/// JSON has escape sequences of its own.
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((at, letter)) = rest.char_indices().find(|(_, letter)| is_unprintable(*letter)) {
            f.write_str(&rest[..at])?;
            write!(f, "{}", letter.escape_default())?;
            rest = &rest[at + letter.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// A writer of JSON in which every unprintable character of a string is an escape sequence. The value is the same.
#[derive(Debug)]
pub struct JsonEscapes<W>(pub W);

impl<W: io::Write> io::Write for JsonEscapes<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Outside of strings JSON is printable ASCII. A serializer writes strings in whole characters.
        let Ok(text) = std::str::from_utf8(bytes) else { return self.0.write(bytes) };
        let mut rest = text;
        while let Some((at, letter)) = rest.char_indices().find(|(_, letter)| is_unprintable(*letter)) {
            self.0.write_all(&rest.as_bytes()[..at])?;
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(self.0, "\\u{unit:04x}")?;
            }
            rest = &rest[at + letter.len_utf8()..];
        }
        self.0.write_all(rest.as_bytes()).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_terminal_obeys_or_hides_is_escaped_and_all_else_stays() {
        let plain = "laps: 3\tof 4\n\"größer\" \u{1F600} e\u{301} \u{0C05} \\ שלום";
        assert_eq!(Printable(plain).to_string(), plain);
        let hostile = "a\u{1b}[2J\u{7}b\r\u{9b}31m\u{202e}dcba\u{2066}\u{200f}\u{61c}\u{feff}\u{2028}\0";
        let escaped = Printable(hostile).to_string();
        let expected = r"a\u{1b}[2J\u{7}b\r\u{9b}31m\u{202e}dcba\u{2066}\u{200f}\u{61c}\u{feff}\u{2028}\u{0}";
        assert_eq!(escaped, expected);
    }

    #[test]
    fn json_with_escapes_is_printable_and_the_same_value() {
        let text = "a\u{1b}\u{7f}\u{9b}\u{202e}\u{2069}\u{e0041}\u{1F600}\"\\\n\tz";
        let value = serde_json::json!({ text: [text, 7] });
        let mut bytes = Vec::new();
        serde_json::to_writer_pretty(JsonEscapes(&mut bytes), &value).unwrap();
        let written = String::from_utf8(bytes).unwrap();
        assert!(!written.contains(is_unprintable) && written.contains("\\u202e"), "{written}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), value);
    }

    /// All characters of the Unicode property Bidi_Control.
    #[test]
    fn every_control_of_the_writing_direction_is_unprintable() {
        let controls = ['\u{61C}', '\u{200E}', '\u{200F}'];
        let ranges = ('\u{202A}'..='\u{202E}').chain('\u{2066}'..='\u{2069}');
        assert!(controls.into_iter().chain(ranges).all(is_unprintable));
    }
}
