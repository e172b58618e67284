//! `source FILE`: the lines of a file, as if they were typed.
use super::Shell;
use crate::cli::{CliError, Exit};
use std::path::Path;
use stillpoint::input_file::{MAX_TEXT, read_bytes};

/// Files that read files, at most so deep.
const MAX_DEPTH: usize = 8;

impl Shell<'_> {
    /// Runs the lines of a file. The first that fails ends it, and is named.
    pub(super) fn source(&mut self, file: &Path) -> Result<Exit, CliError> {
        let name = file.display();
        if self.depth == MAX_DEPTH {
            return Err(CliError::Usage(format!(
                "{name} would be read from {MAX_DEPTH} files that read each other; does one read itself?"
            )));
        }
        let bytes =
            read_bytes(file, MAX_TEXT).map_err(|error| CliError::Usage(format!("cannot read {name}: {error}")))?;
        self.depth += 1;
        let done = self.source_lines(file, &bytes);
        self.depth -= 1;
        done
    }

    fn source_lines(&mut self, file: &Path, bytes: &[u8]) -> Result<Exit, CliError> {
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            let place = format!("{}:{number}", file.display());
            let Ok(line) = std::str::from_utf8(line) else {
                return Err(CliError::Usage(format!("{place}: the line is not UTF-8 text")));
            };
            match self.typed(line) {
                Ok(Exit::Ok) => {}
                Ok(exit) => {
                    self.complain(&format!("{place}: `{}` failed; the rest was not run", line.trim()));
                    return Ok(exit);
                }
                Err(error @ (CliError::Interrupted(_) | CliError::System(stillpoint::SystemError::Interrupted(_)))) => {
                    return Err(error);
                }
                Err(error) => return Err(CliError::At { place, exit: error.exit(), text: error.to_string() }),
            }
            if self.quit {
                break;
            }
        }
        Ok(Exit::Ok)
    }
}
