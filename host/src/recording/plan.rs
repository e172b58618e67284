//! What every node of an attached system is to record, and giving it to them.
use super::{Choice, Choices, Level, NameError, Place, Setting, counts};
use crate::{BoardError, NodeAddress, System, SystemError, UnknownNode};
use serde::Serialize;
use stillpoint_core::Command;
use stillpoint_core::log::{Recording, RecordingMode};

/// Why there is no plan for a system.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The system file names a node that is none.
    #[error("[[node]] of the system file: {0}")]
    Node(#[from] UnknownNode),
    /// A name that cannot be chosen.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A board could not be reached.
    #[error(transparent)]
    System(#[from] Box<SystemError>),
}

/// Where something was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// In the system file.
    File,
    /// By a command, while the boards ran.
    Command,
}

/// What is chosen for one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Selected {
    /// What, if anything is.
    pub set: Option<Choice>,
    /// Where that was chosen, or that nothing shall be.
    pub by: Option<Origin>,
}

/// What is to be recorded by one node.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Where it is.
    pub at: NodeAddress,
    /// Its name.
    pub name: String,
    /// What is chosen for itself.
    pub selected: Selected,
    /// From where it has what it records.
    pub from: Level,
    /// What it is to record.
    pub recording: Recording,
}

/// What is chosen for each part of a system, and what follows for its nodes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// For the system.
    pub system: Selected,
    /// For each attached board.
    pub boards: Vec<Selected>,
    /// For each of their nodes.
    pub nodes: Vec<NodePlan>,
}

impl Choices {
    /// What follows for the nodes of a system.
    ///
    /// # Errors
    /// A name in the system file or in a choice is none.
    pub fn plan(&self, system: &mut System) -> Result<Plan, PlanError> {
        let named = self.named_nodes(system)?;
        let whole = self.selected(&Place::System, self.file.record.as_ref());
        let names: Vec<String> = system.boards().iter().map(|board| board.name().to_owned()).collect();
        let in_file = |name: &str| self.file.board(name).and_then(|(_, board)| board.record.as_ref());
        let board = |name: &String| self.selected(&Place::Board(name.clone()), in_file(name));
        let boards: Vec<Selected> = names.iter().map(board).collect();
        let mut nodes = Vec::new();
        let present = system.nodes().map_err(Box::new)?;
        for (at, node) in system.addresses().into_iter().zip(&present) {
            let own = named.iter().find(|(place, _)| *place == at).map(|(_, choice)| *choice);
            let selected = self.selected(&Place::of(&names[at.board], at), own);
            // A name that is none is found now, even where something else counts.
            let firmware = system.boards()[at.board].firmware();
            for choice in [&whole, &boards[at.board], &selected].into_iter().filter_map(|place| place.set.as_ref()) {
                choice.on(firmware, &node.ports)?;
            }
            let (from, choice) = counts(whole.set.as_ref(), boards[at.board].set.as_ref(), selected.set.as_ref());
            let recording = match choice {
                Some(choice) => choice.on(firmware, &node.ports)?,
                None => Recording::FULL,
            };
            nodes.push(NodePlan { at, name: system.node_name(at), selected, from, recording });
        }
        add_causes(&mut nodes);
        Ok(Plan { system: whole, boards, nodes })
    }

    /// The nodes of the system file that are attached. A name can only be checked when all boards are.
    fn named_nodes(&self, system: &System) -> Result<Vec<(NodeAddress, &Choice)>, UnknownNode> {
        let mut named = Vec::new();
        for node in &self.file.nodes {
            match system.find(&node.name) {
                Ok(at) => named.push((at, &node.record)),
                Err(_) if !system.missing().is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(named)
    }

    fn selected(&self, place: &Place, in_file: Option<&Choice>) -> Selected {
        match (self.since(place), in_file) {
            (Some(Setting::Record(choice)), _) => Selected { set: Some(choice.clone()), by: Some(Origin::Command) },
            (Some(Setting::Inherit), _) => Selected { set: None, by: Some(Origin::Command) },
            (None, Some(choice)) => Selected { set: Some(choice.clone()), by: Some(Origin::File) },
            (None, None) => Selected::default(),
        }
    }
}

/// A node that leaves something out does not show what it passed on: the others must say what they learned.
pub(super) fn add_causes(nodes: &mut [NodePlan]) {
    let whole = |mode| matches!(mode, RecordingMode::Full | RecordingMode::Replay);
    if nodes.iter().any(|node| !whole(node.recording.mode())) {
        for node in nodes.iter_mut().filter(|node| whole(node.recording.mode())) {
            node.recording = node.recording.with_causes();
        }
    }
}

impl Plan {
    /// Tells every node that records something else what to record. Says which were told.
    ///
    /// # Errors
    /// A node could not be reached, or did not answer.
    pub fn give(&self, system: &mut System) -> Result<Vec<&NodePlan>, SystemError> {
        let mut told = Vec::new();
        for node in &self.nodes {
            if system.node(node.at)?.recording == Some(node.recording) {
                continue;
            }
            let command = Command::Record(node.recording);
            match system.command(node.at, &command) {
                // A board that is just starting makes its control block anew, and the command with it.
                Err(SystemError::Board { source: BoardError::NoAnswer { .. }, .. }) => {
                    system.command(node.at, &command)?;
                }
                done => done?,
            }
            told.push(node);
        }
        Ok(told)
    }
}
