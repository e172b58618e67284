//! On which core each task is, and which tasks the cores are polling.
use super::TaskState;
use super::find::{Look, Seen};
use super::running::{Candidate, Polled, polled, read_word};
use crate::backtrace::Backtrace;
use crate::dwarf::Whereabouts;
use crate::{Board, NodeAddress};

/// The agent's table of the executor that runs on each core.
const RUNNING: &str = "stillpoint_agent::executor::RUNNING";

impl Look<'_> {
    /// Finds the cores of executors that do not say where they run, as that of embassy does not. The agent knows an executor
    /// that has set a timer; any other is in a variable or a register of the frames of its core.
    pub(super) fn place_executors(
        &self,
        board: &mut Board,
        backtraces: &[(usize, Option<&Backtrace>)],
        seen: &mut [Seen],
    ) {
        let is_lost = |of: &Seen| of.core.is_none() && of.header.executor != 0;
        if !seen.iter().any(is_lost) {
            return;
        }
        if let Some(table) = self.types.statics().iter().find(|of| of.path == RUNNING) {
            for core in 0..board.cores() {
                let executor = read_word(board.memory(), table.place.address + 4 * core as u64);
                self.put(board, core, executor.as_slice(), seen);
            }
        }
        for (core, backtrace) in backtraces {
            for frame in backtrace.iter().flat_map(|backtrace| &backtrace.raw) {
                if !seen.iter().any(is_lost) {
                    return;
                }
                let mut word = |address: u64| read_word(board.memory(), address);
                let locals = self.types.locals(frame.address.into(), &frame.registers, &mut word);
                let mut values: Vec<u32> =
                    locals.into_iter().filter_map(|local| first_word(&local.at, &mut word)).collect();
                // What a function keeps for its caller.
                let kept = frame.registers.values.iter().filter(|(number, _)| (4..=11).contains(number));
                values.extend(kept.map(|(_, value)| *value));
                self.put(board, *core, &values, seen);
            }
        }
    }

    /// Puts the tasks of an executor that is among these values on a core.
    fn put(&self, board: &Board, core: usize, values: &[u32], seen: &mut [Seen]) {
        for seen in seen.iter_mut().filter(|of| of.core.is_none() && of.header.executor != 0) {
            if values.iter().any(|value| u64::from(*value) == seen.header.executor) {
                seen.core = Some(core);
                seen.task.at = Some(NodeAddress { board: self.board, core });
                seen.task.node = Some(board.node_name(core));
            }
        }
    }

    /// Finds the tasks that cores are polling.
    pub(super) fn mark_running(
        &self,
        board: &mut Board,
        backtraces: &[(usize, Option<&Backtrace>)],
        seen: &mut [Seen],
    ) {
        for (core, backtrace) in backtraces {
            let may_run = |of: &Seen| of.task.is_spawned() && of.core.is_none_or(|own| own == *core);
            let chosen: Vec<usize> = (0..seen.len()).filter(|of| may_run(&seen[*of])).collect();
            let Some(backtrace) = backtrace else {
                let stopped = |of: &&usize| seen[**of].core == Some(*core) && !seen[**of].header.is_queued;
                let unknown: Vec<usize> = chosen.iter().filter(stopped).copied().collect();
                for of in unknown {
                    seen[of].task.state = TaskState::Unknown;
                    seen[of].task.note = Some("waiting or running: its core has no backtrace".into());
                }
                continue;
            };
            let candidate = |of: &usize| Candidate {
                place: seen[*of].place,
                poll: seen[*of].header.poll,
                size: self.types.size(seen[*of].place.ty).unwrap_or(0),
            };
            let candidates: Vec<Candidate> = chosen.iter().map(candidate).collect();
            for polled in polled(self.types, self.index, backtrace, &candidates, board.memory()) {
                match polled {
                    Polled::One(one) => {
                        let seen = &mut seen[chosen[one]];
                        seen.task.state = TaskState::Running;
                        seen.task.woken = seen.header.is_queued;
                        seen.task.at = Some(NodeAddress { board: self.board, core: *core });
                        seen.task.node = Some(board.node_name(*core));
                        seen.core = Some(*core);
                    }
                    Polled::OneOf(several) => {
                        for one in several {
                            let task = &mut seen[chosen[one]].task;
                            task.state = TaskState::Unknown;
                            task.note =
                                Some("one of this pool is running; the debug information does not say which".into());
                        }
                    }
                }
            }
        }
    }
}

/// The first word of a variable.
fn first_word(at: &Whereabouts, word: &mut dyn FnMut(u64) -> Option<u32>) -> Option<u32> {
    match at {
        Whereabouts::Memory(address) => word(*address),
        Whereabouts::Bytes(bytes) => bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)),
        Whereabouts::Gone => None,
    }
}
