//! Where lines come from: a terminal with an editor, or a pipe.
//!
//! Lines are read by a thread of their own, one whenever somebody asks for it. So whoever waits for a line can look after
//! the boards meanwhile, and a terminal is an ordinary one while a command runs.
use super::complete::Completion;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor, ExternalPrinter};
use std::io::BufRead as _;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// What was typed.
#[derive(Debug)]
pub enum Heard {
    /// A line.
    Line(String),
    /// A line that is not text.
    NotText,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the end of the pipe.
    End,
    /// Nothing can be read any more.
    Broken(String),
}

/// Something that lines come from.
pub struct Input {
    ask: Sender<String>,
    heard: Receiver<Heard>,
}

/// Prints above the line that is being typed.
pub type Printer = Box<dyn FnMut(String) + Send>;

impl Input {
    /// Lines that are typed, with a history in this file. The printer is for what is said while somebody types.
    pub fn terminal(history: Option<PathBuf>, completion: Completion) -> Result<(Self, Option<Printer>), String> {
        let config = Config::builder().auto_add_history(true).completion_type(CompletionType::List).build();
        let mut editor: Editor<Completion, FileHistory> =
            Editor::with_config(config).map_err(|error| error.to_string())?;
        editor.set_helper(Some(completion));
        if let Some(path) = &history {
            // There is none the first time.
            let _ = editor.load_history(path);
        }
        let printer = editor.create_external_printer().ok().map(|mut printer| -> Printer {
            Box::new(move |text| {
                let _ = printer.print(text);
            })
        });
        let input = Self::spawn(move |prompt| match editor.readline(prompt) {
            Ok(line) => {
                if let Some(path) = &history {
                    // A history that cannot be written is no reason to refuse the line.
                    let _ = editor.append_history(path);
                }
                Heard::Line(line)
            }
            Err(ReadlineError::Interrupted) => Heard::Interrupt,
            Err(ReadlineError::Eof) => Heard::End,
            Err(ReadlineError::Io(error)) if error.kind() == std::io::ErrorKind::InvalidData => Heard::NotText,
            Err(error) => Heard::Broken(error.to_string()),
        });
        Ok((input, printer))
    }

    /// The lines of standard input, which is no terminal.
    pub fn pipe() -> Self {
        Self::spawn(|_| {
            let mut line = Vec::new();
            match std::io::stdin().lock().read_until(b'\n', &mut line) {
                Ok(0) => Heard::End,
                Ok(_) => String::from_utf8(line).map_or(Heard::NotText, Heard::Line),
                Err(error) => Heard::Broken(error.to_string()),
            }
        })
    }

    fn spawn(mut read: impl FnMut(&str) -> Heard + Send + 'static) -> Self {
        let (ask, prompts) = channel::<String>();
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            for prompt in prompts {
                if tell.send(read(&prompt)).is_err() {
                    break;
                }
            }
        });
        Self { ask, heard }
    }

    /// Waits for a line. Every now and then `meanwhile` looks after other things, until it says that enough was waited.
    pub fn read(&self, prompt: &str, every: Duration, mut meanwhile: impl FnMut() -> bool) -> Heard {
        let gone = || Heard::Broken("nobody reads lines any more".to_owned());
        if self.ask.send(prompt.to_owned()).is_err() {
            return gone();
        }
        loop {
            match self.heard.recv_timeout(every) {
                Ok(heard) => return heard,
                Err(RecvTimeoutError::Timeout) => {
                    if !meanwhile() {
                        return Heard::End;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return gone(),
            }
        }
    }
}
