//! Ending halts: together, and checked afterwards.
use crate::system::newest_halt;
use crate::{Node, NodeState, NodeStatus, System, SystemError};
use std::time::{Duration, Instant};
use stillpoint_core::control::StateCode;
use stillpoint_core::{Command, HaltId};

/// What became of a resume.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// The nodes that were halted or stopped before and run now.
    pub resumed: Vec<String>,
    /// The nodes that can be reached and do not run, as they are now.
    pub stayed: Vec<NodeStatus>,
}

/// Releasing again is for what the first release has missed, so it may take its time.
const PATIENCE: Duration = Duration::from_millis(200);

impl System {
    /// The nodes whose cores the probe has stopped: they cannot take part in anything.
    pub fn stopped(&mut self) -> Result<Vec<String>, SystemError> {
        let mut names = Vec::new();
        for board in self.boards() {
            if board.dumped().is_some() {
                continue;
            }
            let stopped =
                board.halted().map_err(|source| SystemError::Session { board: board.name().into(), source })?;
            names.extend((0..).zip(stopped).filter(|(_, stopped)| *stopped).map(|(core, _)| board.node_name(core)));
        }
        Ok(names)
    }

    /// Lets every core run that the probe has stopped. Returns the names of their nodes.
    pub fn run_stopped(&mut self) -> Result<Vec<String>, SystemError> {
        let names = self.stopped()?;
        for board in self.boards() {
            // What runs is not disturbed.
            let is_live = board.dumped().is_none();
            let run = board.halted().map(|cores| is_live && cores.contains(&true));
            let run = run.and_then(|stopped| if stopped { board.session()?.run() } else { Ok(()) });
            run.map_err(|source| SystemError::Session { board: board.name().into(), source })?;
        }
        Ok(names)
    }

    /// Lets every node run: starts cores that the probe has stopped, ends the halt that nodes are parked in, and the delayed
    /// halt of a single one. Then reads the nodes back, so that what it returns is what was seen afterwards.
    ///
    /// A halt that is still under way is waited for first: released too early, a late marker would park its receiver alone.
    ///
    /// # Errors
    /// A board is missing or cannot be read: no node is released then, so that all stay at the moment they are halted at.
    /// [`System::resume_partly`] releases the others.
    pub fn resume_all(&mut self, limit: Duration) -> Result<Resumed, SystemError> {
        // Every board is asked before any of them goes on.
        let (_, lost) = self.sort(self.missing.clone());
        match lost.is_empty() {
            true => self.resume_partly(limit),
            false => Err(SystemError::NotAllThere(lost)),
        }
    }

    /// The same for the boards that are there, whatever became of the others.
    pub fn resume_partly(&mut self, limit: Duration) -> Result<Resumed, SystemError> {
        let began = Instant::now();
        let mut held = self.run_stopped()?;
        let mut add = |name: &String| {
            if !held.contains(name) {
                held.push(name.clone());
            }
        };
        let (nodes, _) = self.sort(Vec::new());
        let released = newest_halt(nodes.iter().map(|(_, _, node)| node));
        let is_halted = |node: &Node| matches!(node.state, Some(StateCode::Draining | StateCode::Parked));
        let halted: Vec<&String> =
            nodes.iter().filter(|(_, _, node)| is_halted(node)).map(|(_, name, _)| name).collect();
        halted.iter().copied().for_each(&mut add);
        if !halted.is_empty() {
            // Some may be parked alone, and then no newer halt will ever reach the rest: do not insist.
            let halted = self.wait_halted(limit.min(PATIENCE * 5))?;
            // All at once. A node that an in-band release has reached before leaves the halt once.
            let parked = halted.nodes.iter().filter(|(_, _, node)| node.is_parked());
            if let Some((_, _, node)) = parked.clone().next() {
                let parked: Vec<_> = parked.map(|(at, _, _)| *at).collect();
                self.release_at(&parked, node.last_halt)?;
            }
            self.wait_released(halted.halt, limit)?;
        }
        let (nodes, _) = self.sort(Vec::new());
        for (at, name, _) in nodes.iter().filter(|(_, _, node)| node.state == Some(StateCode::Suspended)) {
            self.command(*at, &Command::Continue)?;
            add(name);
        }
        let stayed = self.await_running(released, began + limit)?;
        held.retain(|name| stayed.iter().all(|node| node.name != *name));
        Ok(Resumed { resumed: held, stayed })
    }

    /// Waits until every node that can be reached runs, or is in a halt newer than `released`: a breakpoint may stop the
    /// system again at its next event. Returns those that do neither at the end; a crashed node is not waited for.
    fn await_running(&mut self, released: HaltId, until: Instant) -> Result<Vec<NodeStatus>, SystemError> {
        loop {
            let runs = |node: &NodeStatus| {
                node.state == NodeState::Running || node.halt.is_some_and(|halt| halt.is_newer_than(released))
            };
            let stays = |node: &NodeStatus| node.state == NodeState::Faulted || !runs(node);
            let mut stayed = self.stands();
            stayed.retain(|node| stays(node) && node.state != NodeState::Missing);
            if stayed.iter().all(|node| node.state == NodeState::Faulted) || Instant::now() > until {
                return Ok(stayed);
            }
            self.check_interrupt("the nodes to run")?;
            crate::poll::pause();
        }
    }

    /// Waits until no node that can be seen is in this halt or an older one. One that stays is released again by itself: a
    /// release that came before a marker, or could not pass a dead board, has missed it. Returns how often that was needed.
    ///
    /// A node in a newer halt has left this one: a breakpoint may stop the system again at its next event.
    pub(crate) fn wait_released(&mut self, halt: HaltId, limit: Duration) -> Result<usize, SystemError> {
        let until = Instant::now() + limit;
        let mut again_at = Instant::now() + PATIENCE;
        let mut repeated = 0;
        loop {
            let (nodes, _) = self.sort(Vec::new());
            let halted = |node: &Node| {
                let stands = matches!(node.state, Some(StateCode::Draining | StateCode::Parked));
                stands && !node.last_halt.is_newer_than(halt)
            };
            let waiting: Vec<_> = nodes.iter().filter(|(_, _, node)| halted(node)).collect();
            if waiting.is_empty() {
                return Ok(repeated);
            }
            self.check_interrupt("the release")?;
            let now = Instant::now();
            if now > until {
                let waiting = waiting.into_iter().map(|(_, name, _)| name.clone()).collect();
                return Err(SystemError::TimeOut { waiting, what: "leave the halt", limit });
            }
            if now > again_at {
                for (at, _, node) in waiting.into_iter().filter(|(_, _, node)| node.is_parked()) {
                    self.command(*at, &Command::Release(node.last_halt))?;
                    repeated += 1;
                }
                again_at = now + PATIENCE;
            }
            crate::poll::pause();
        }
    }
}
