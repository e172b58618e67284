//! Running the demo to its end, or to the sentence that says why there is none.
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use qemu_probe::{Link, Serial};

use super::board::{Board, BoardError};
use super::image::Image;
use super::node::{NODES, Node};
use super::report::{NodeReport, Report};
use super::status::Status;

/// How often the host looks at the shared memory.
const TICK: Duration = Duration::from_millis(3);
/// A Ctrl-C ends QEMU as well; how long its own signal may be behind.
const SIGNAL_DELAY: Duration = Duration::from_millis(250);

/// Why the demo came to no result.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A board failed.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The wire between the boards could not be made.
    #[error("no link between the boards: {0}")]
    Link(std::io::Error),
    /// The user, or the system, asked to stop.
    #[error("interrupted; both boards are stopped")]
    Interrupted,
    /// A board never came far enough to report.
    #[error("board {board} did not boot within {} s: {what}; is this firmware built for the board?", limit.as_secs())]
    NeverBooted {
        /// Which board.
        board: char,
        /// Which of its cores are silent.
        what: String,
        /// How long was waited.
        limit: Duration,
    },
    /// The messages stopped going round.
    #[error("the demo did not finish within {} s: {what}; repeat with --log to see each core's last lines", limit.as_secs())]
    Stalled {
        /// Who stalled, and where all are.
        what: String,
        /// How long was waited.
        limit: Duration,
    },
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For each board to boot.
    pub boot: Duration,
    /// For the whole demo.
    pub total: Duration,
}

/// Who is told what happens meanwhile.
pub trait Watch {
    /// A line of a core's log.
    fn line(&mut self, node: Node, line: &str);
    /// Messages handled so far, in the order of [`NODES`].
    fn progress(&mut self, handled: [u32; 4], total: u32);
}

/// Runs two boards with `image` until all four cores are done. A message on `interrupts` stops it; whatever the end,
/// both machines are gone when this returns.
pub fn run(
    image: &Image,
    limits: Limits,
    interrupts: &Receiver<()>,
    watch: &mut impl Watch,
) -> Result<Report, DemoError> {
    let (a, b) = Link::pair().map_err(DemoError::Link)?;
    let start = Instant::now();
    let mut boards = [Board::start(0, image, Serial::Link(a))?, Board::start(1, image, Serial::Link(b))?];
    boards.iter_mut().try_for_each(|board| wait_for_boot(board, limits.boot, interrupts))?;
    loop {
        boards.iter_mut().for_each(Board::nudge);
        if let Err(error) = boards.iter_mut().try_for_each(|board| tick(board, interrupts)) {
            // What was logged before may say why.
            boards.iter_mut().try_for_each(|board| board.drain(|node, line| watch.line(node, line)))?;
            return Err(error);
        }
        // First the status, then the rings: what is done has been logged before.
        let statuses = [boards[0].status()?, boards[1].status()?].map(Option::unwrap_or_default);
        boards.iter_mut().try_for_each(|board| board.drain(|node, line| watch.line(node, line)))?;
        let [a, b] = statuses;
        let handled = [a.handled[0], a.handled[1], b.handled[0], b.handled[1]];
        watch.progress(handled, a.total);
        if statuses.iter().all(|status| status.done == [true; 2]) {
            return report(&boards, statuses, start.elapsed());
        }
        if start.elapsed() > limits.total {
            return Err(DemoError::Stalled { what: stalled(handled, a.total), limit: limits.total });
        }
    }
}

fn wait_for_boot(board: &mut Board<'_>, limit: Duration, interrupts: &Receiver<()>) -> Result<(), DemoError> {
    let start = Instant::now();
    while board.status()?.is_none() {
        tick(board, interrupts)?;
        if start.elapsed() > limit {
            let what = match board.silent_cores()?.as_slice() {
                [] => "its cores log, but none reports how far it is".to_owned(),
                [core] => format!("core {core} has not set up its log"),
                _ => "neither core has set up its log".to_owned(),
            };
            return Err(DemoError::NeverBooted { board: board.letter(), what, limit });
        }
    }
    Ok(())
}

/// Lets the board run for a moment, unless it has ended or somebody wants it to.
fn tick(board: &mut Board<'_>, interrupts: &Receiver<()>) -> Result<(), DemoError> {
    match interrupts.recv_timeout(TICK) {
        Err(RecvTimeoutError::Timeout) => {}
        Ok(()) | Err(RecvTimeoutError::Disconnected) => return Err(DemoError::Interrupted),
    }
    board.check_alive().map_err(|error| {
        let interrupted = interrupts.recv_timeout(SIGNAL_DELAY).is_ok();
        if interrupted { DemoError::Interrupted } else { error.into() }
    })
}

fn report(boards: &[Board<'_>; 2], statuses: [Status; 2], time: Duration) -> Result<Report, DemoError> {
    let mut nodes = Vec::new();
    for node in NODES {
        let (log, dropped) = boards[node.board].core(node.core)?;
        let handled = statuses[node.board].handled[node.core];
        nodes.push(NodeReport { node, handled, log: log.tally.clone(), dropped });
    }
    let overruns = statuses.iter().map(|status| status.overruns).sum();
    Ok(Report { total: statuses[0].total, nodes, overruns, time })
}

/// Which node holds up the others, from how many messages each has handled.
fn stalled(handled: [u32; 4], total: u32) -> String {
    // A message leaves node 0, and counts there only when it has come round.
    let order = [1, 2, 3, 0];
    let all: Vec<String> = NODES.iter().zip(handled).map(|(node, count)| format!("{node} {count}")).collect();
    let lags = order.windows(2).map(|pair| (handled[pair[0]].saturating_sub(handled[pair[1]]), pair));
    let worst = lags.max_by_key(|(lag, pair)| (*lag, std::cmp::Reverse(pair[1])));
    let who = match worst {
        Some((lag @ 1.., &[before, after])) => {
            format!("{} stalled {lag} behind {} before it", NODES[after], NODES[before])
        }
        _ => format!("{} waits for the next message of {}", NODES[order[0]], NODES[order[3]]),
    };
    format!("{who} (handled of {total}: {})", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_that_is_behind_the_one_before_it_is_named() {
        assert!(
            stalled([16, 17, 16, 16], 500).starts_with("B.0 stalled 1 behind A.1 before it (handled of 500: A.0 16")
        );
        assert!(stalled([10, 17, 17, 12], 500).starts_with("B.1 stalled 5 behind B.0"));
        assert!(stalled([16, 17, 17, 17], 500).starts_with("A.0 stalled 1 behind B.1"));
    }

    #[test]
    fn when_all_are_level_the_first_message_due_is_missing() {
        assert!(stalled([0; 4], 500).starts_with("A.1 waits for the next message of A.0"));
    }
}
