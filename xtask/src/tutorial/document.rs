//! A document whose blocks marked `console` hold commands behind `$ ` and, below each, what it printed.

/// A document, cut into what is told and what is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Lines that stay as they are, fences included.
    Told(String),
    /// A command of a block.
    Run(Step),
}

/// A command and what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// As one types it.
    pub command: String,
    /// All lines of it.
    pub output: String,
}

const OPEN: &str = "```console";
const CLOSE: &str = "```";
const PROMPT: &str = "$ ";

/// Why a document cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Output of nothing.
    #[error("line {0}: a console block begins with a command behind `$ `")]
    NoCommand(usize),
    /// A fence that is not closed.
    #[error("line {0}: this console block has no end")]
    Open(usize),
}

impl Document {
    /// Reads a document.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        let mut parts = vec![Part::Told(String::new())];
        let mut opened = None;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let bare = line.trim_end_matches('\n');
            match (opened, parts.last_mut()) {
                (None, Some(Part::Told(told))) => {
                    told.push_str(line);
                    opened = (bare == OPEN).then_some(index + 1);
                }
                (Some(_), _) if bare == CLOSE => {
                    parts.push(Part::Told(line.to_owned()));
                    opened = None;
                }
                (Some(_), _) if bare.starts_with(PROMPT) => {
                    let command = bare[PROMPT.len()..].to_owned();
                    parts.push(Part::Run(Step { command, output: String::new() }));
                }
                (Some(_), Some(Part::Run(step))) => step.output.push_str(line),
                _ => return Err(DocumentError::NoCommand(index + 1)),
            }
        }
        opened.map_or(Ok(Self { parts }), |line| Err(DocumentError::Open(line)))
    }

    /// Its commands, in their order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.parts.iter().filter_map(|part| match part {
            Part::Run(step) => Some(step),
            Part::Told(_) => None,
        })
    }

    /// The same with other outputs, in the order of the commands.
    pub fn with_outputs(mut self, outputs: &[String]) -> Self {
        let steps = self.parts.iter_mut().filter_map(|part| match part {
            Part::Run(step) => Some(step),
            Part::Told(_) => None,
        });
        for (step, output) in steps.zip(outputs) {
            step.output.clone_from(output);
        }
        self
    }

    /// As it is written to its file.
    pub fn text(&self) -> String {
        let part = |part: &Part| match part {
            Part::Told(text) => text.clone(),
            Part::Run(step) => format!("{PROMPT}{}\n{}", step.command, step.output),
        };
        self.parts.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Title\n```sh\n$ not this\n```\n```console\n$ one\nsaid\n\nmore\n$ two\n```\nEnd.\n";

    #[test]
    fn only_console_blocks_are_run_and_the_text_comes_out_as_it_went_in() {
        let document = Document::parse(TEXT).unwrap();
        let steps: Vec<_> = document.steps().map(|step| (step.command.as_str(), step.output.as_str())).collect();
        assert_eq!(steps, [("one", "said\n\nmore\n"), ("two", "")]);
        assert_eq!(document.text(), TEXT);
    }

    #[test]
    fn new_outputs_take_the_place_of_old_ones_and_nothing_else_changes() {
        let document = Document::parse(TEXT).unwrap().with_outputs(&["other\n".into(), "new\n".into()]);
        assert_eq!(document.text(), TEXT.replace("said\n\nmore\n", "other\n").replace("$ two\n", "$ two\nnew\n"));
    }

    #[test]
    fn output_without_a_command_and_a_block_without_an_end_are_errors() {
        assert_eq!(Document::parse("```console\nsaid\n```\n"), Err(DocumentError::NoCommand(2)));
        assert_eq!(Document::parse("a\n```console\n$ one\n"), Err(DocumentError::Open(2)));
    }
}
