//! The log of one core: bytes in, lines out, and a tally that no line was lost or came twice.
use defmt_decoder::{DecodeError, StreamDecoder, Table};

use super::node::Node;

/// Decodes one core's log and keeps count.
pub struct CoreLog<'a> {
    node: Node,
    decoder: Box<dyn StreamDecoder + Send + Sync + 'a>,
    /// What the lines so far say.
    pub tally: Tally,
}

/// What the lines of one core add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines decoded.
    pub lines: u32,
    /// Messages reported, each with the number that was due.
    pub messages: u32,
    /// The first line that was not the one due.
    pub out_of_order: Option<String>,
    /// Pieces of the log that are no line.
    pub malformed: u32,
    /// Whether the closing line was there.
    pub finished: bool,
}

impl<'a> CoreLog<'a> {
    /// An empty log of `node`.
    pub fn new(node: Node, table: &'a Table) -> Self {
        Self { node, decoder: table.new_stream_decoder(), tally: Tally::default() }
    }

    /// Takes in what the ring held, and passes on each whole line with its time.
    pub fn take(&mut self, bytes: &[u8], mut line: impl FnMut(Node, &str)) {
        self.decoder.received(bytes);
        loop {
            match self.decoder.decode() {
                Ok(frame) => {
                    self.tally.count(self.node, &frame.display_message().to_string());
                    line(self.node, &frame.display(false).to_string());
                }
                Err(DecodeError::UnexpectedEof) => return,
                Err(DecodeError::Malformed) => self.tally.malformed += 1,
            }
        }
    }
}

impl Tally {
    /// Takes one line into account: `A.0 got 17` or `done 500`.
    fn count(&mut self, node: Node, message: &str) {
        self.lines += 1;
        let due = format!("{node} got {}", self.messages);
        if message == due {
            self.messages += 1;
        } else if message == format!("done {}", self.messages) {
            self.finished = true;
        } else if self.out_of_order.is_none() && message.contains(" got ") {
            self.out_of_order = Some(format!("`{message}` where `{due}` was due"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::node::NODES;

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.count(NODES[1], line));
        tally
    }

    #[test]
    fn every_message_in_its_turn_and_the_closing_line_make_a_finished_log() {
        let tally = tally(&["A.1 started", "A.1 got 0", "A.1 got 1", "done 2"]);
        assert_eq!(tally, Tally { lines: 4, messages: 2, finished: true, ..Tally::default() });
    }

    #[test]
    fn a_lost_a_doubled_and_a_foreign_line_are_each_noticed() {
        for lines in [["A.1 got 0", "A.1 got 2"], ["A.1 got 0", "A.1 got 0"], ["A.1 got 0", "B.1 got 1"]] {
            let complaint = tally(&lines).out_of_order.unwrap();
            assert!(complaint.contains(lines[1]) && complaint.contains("A.1 got 1"), "{complaint}");
        }
    }

    #[test]
    fn a_closing_line_with_another_count_does_not_close() {
        assert!(!tally(&["A.1 got 0", "done 2"]).finished);
    }
}
