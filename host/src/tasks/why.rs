//! From tasks to what each of them waits for, with the ends of channels that the others hold.
use super::chain::Follower;
use super::wait::{Explainer, Holding};
use super::{Task, TaskState};
use crate::debug_info::DebugInfo;
use crate::dwarf::DebugTypes;
use crate::names::Names;
use crate::{Cut, System};
use std::path::PathBuf;

impl System {
    /// Fills in what each task waits for. `cut` is of the same moment.
    pub(super) fn explain_waits(&mut self, tasks: &mut [Task], cut: &Cut, debug: &mut DebugInfo) {
        let names = Names::of(self, &cut.nodes);
        let addresses = self.addresses();
        let nodes: Vec<Option<usize>> =
            tasks.iter().map(|task| addresses.iter().position(|at| Some(*at) == task.at)).collect();
        let holdings: Vec<Holding> = tasks.iter().map(|task| self.holding(task, debug)).collect();
        let boards: Vec<(PathBuf, _)> =
            self.boards().iter().map(|board| (board.firmware().path.clone(), board.firmware().counter_rate)).collect();
        let static_at = |board: usize, address: u64| -> Option<String> {
            let types = debug.types_read(&boards.get(board)?.0)?;
            static_around(types, address)
        };
        let rates = boards.iter().map(|(_, rate)| *rate).collect();
        Explainer { cut, names: &names, rates, static_at: &static_at }.explain(tasks, &holdings, &nodes);
    }

    /// What a task waits for, and which ends and guards it holds.
    fn holding(&mut self, task: &Task, debug: &mut DebugInfo) -> Holding {
        let mut holding = Holding { awaited: Vec::new(), ends: Vec::new(), guards: Vec::new() };
        let board = &mut self.boards()[task.on];
        let path = board.firmware().path.clone();
        let Some((types, index)) = debug.async_code(&path) else { return holding };
        let mut follower = Follower::new(types, index, board.memory());
        if let Some(chain) = task.chain.as_ref().or(task.stale.as_ref()) {
            holding.ends = follower.ends_of(chain);
            holding.guards = follower.guards_of(chain);
        }
        if let (TaskState::Waiting, Some(chain)) = (task.state, &task.chain) {
            holding.awaited = follower.awaited(chain);
        }
        holding
    }
}

/// The path of the static that has an address in it.
fn static_around(types: &DebugTypes, address: u64) -> Option<String> {
    let holds = |start: u64, size: u64| (start..start + size.max(1)).contains(&address);
    let found = types.statics().iter().find(|of| holds(of.place.address, types.size(of.place.ty).unwrap_or(0)))?;
    Some(found.path.clone())
}
