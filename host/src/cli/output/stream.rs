//! Standard output and standard error. Every write is checked and flushed, and text is made safe to print.
#![expect(clippy::disallowed_methods, reason = "this is the one place that writes to standard output")]
use super::paint;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fmt::{self, Write as _};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::os::fd::AsFd as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use stillpoint_trace::Printable;

/// The first write to standard output that failed since [`take_failure`].
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);
/// The reader of standard output has gone.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Writes to standard output. Returns whether more can be written; [`take_failure`] returns why not.
pub fn write(work: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> bool {
    if CLOSED.load(Ordering::Relaxed) {
        return false;
    }
    let mut failed = None;
    let mut stdout = BufWriter::with_capacity(1 << 16, Checked { to: io::stdout(), failed: &mut failed });
    let written = work(&mut stdout).and_then(|()| stdout.flush());
    drop(stdout);
    let Some(error) = failed.or(written.err()) else { return true };
    if error.kind() == io::ErrorKind::BrokenPipe {
        // A reader that has seen enough, such as `head`, is no error.
        CLOSED.store(true, Ordering::Relaxed);
    } else {
        FAILURE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
    }
    false
}

/// Writes text to standard output, as [`write`] does. Text that ends itself with an error ends there.
pub fn write_text(text: impl fmt::Display) -> bool {
    let colours = has_colours();
    write(|to| Text::write(to, colours, text))
}

/// Writes text to standard error. There is no other place to report a failure to.
pub fn write_error(text: impl fmt::Display) {
    let stderr = io::stderr();
    let colours = anstream::AutoStream::choice(&stderr) != anstream::ColorChoice::Never;
    // One write for a line: other processes may write to the same terminal.
    let mut buffer = BufWriter::new(stderr.lock());
    let _ = Text::write(&mut buffer, colours, text).and_then(|()| buffer.flush());
}

/// Whether standard output shows colours.
pub fn has_colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Whether standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns why a write to standard output failed, if one did since the last call.
pub fn take_failure() -> Option<io::Error> {
    FAILURE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
}

/// Whether the reader of standard output is still there. This does not write anything, so a command that waits can ask.
pub fn is_open() -> bool {
    let stdout = io::stdout();
    let mut asked = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    let answer = poll(&mut asked, PollTimeout::ZERO).ok().and_then(|_| asked[0].revents());
    !CLOSED.load(Ordering::Relaxed) && !answer.is_some_and(|events| events.intersects(gone))
}

/// A stream that keeps its first error: a library that writes to it may wrap the error in one of its own.
struct Checked<'a, W> {
    to: W,
    failed: &'a mut Option<io::Error>,
}

impl<W> Checked<'_, W> {
    fn keep<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failed.get_or_insert(error);
            }
            kind.into()
        })
    }
}

impl<W: Write> Write for Checked<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        self.keep(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.keep(flushed)
    }
}

/// Text on its way to a stream: escape sequences between two marks pass if there are colours, and everything else is made
/// printable.
struct Text<'a> {
    to: &'a mut dyn Write,
    colours: bool,
    in_sequence: bool,
    written: io::Result<()>,
}

impl<'a> Text<'a> {
    fn write(to: &'a mut dyn Write, colours: bool, text: impl fmt::Display) -> io::Result<()> {
        let mut stream = Self { to, colours, in_sequence: false, written: Ok(()) };
        // The error of a text without one of the stream is its own way to end.
        let _ = write!(stream, "{text}");
        stream.written
    }
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (index, part) in text.split(paint::mark()).enumerate() {
            self.in_sequence ^= index > 0;
            self.written = match (self.in_sequence, self.colours) {
                (true, true) => self.to.write_all(part.as_bytes()),
                (true, false) => Ok(()),
                (false, _) => write!(self.to, "{}", Printable(part)),
            };
            if self.written.is_err() {
                return Err(fmt::Error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(colours: bool, text: impl fmt::Display) -> String {
        let mut bytes = Vec::new();
        Text::write(&mut bytes, colours, text).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn only_styles_of_this_program_reach_the_terminal() {
        let hostile = "\u{1b}[31m\u{202e}x\u{1b}]0;title\u{7}";
        let (bad, escaped) = (paint::BAD, r"\u{1b}[31m\u{202e}x\u{1b}]0;title\u{7}");
        // In parts and in one piece: a style is often part of a text that was put together before.
        let whole = format!("{bad}{hostile}{bad:#} ok");
        assert_eq!(text(false, &whole), format!("{escaped} ok"));
        assert_eq!(text(false, format_args!("{bad}{hostile}{bad:#} ok")), format!("{escaped} ok"));
        let red = anstyle::AnsiColor::Red.on_default().bold();
        assert_eq!(text(true, &whole), format!("{red}{escaped}{red:#} ok"));
        assert_eq!(text(true, paint::PLAIN), "");
    }
}
