//! One debug probe's worth of nodes.
use crate::dump::{Registers, Saved};
use crate::quiet::Quiet;
use crate::ring::{FilledRing, RawRing};
use crate::{Firmware, Memory, MemoryError, Node, Session, SessionError};
use std::time::{Duration, Instant};
use stillpoint_core::Command;
use stillpoint_core::control::{CommandError, CommandWords, ControlLayout, HeaderError, Refusal, StateCode};

/// Why a board did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// Its memory could not be reached.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// It has no valid control block.
    #[error("core {core}: {source}")]
    Header {
        /// Of which core.
        core: usize,
        /// Why.
        source: HeaderError,
    },
    /// The control block changed whenever it was read.
    #[error("core {0} keeps changing its control block: it may be running wild")]
    Unsteady(usize),
    /// The core was stopped while it wrote the control block.
    #[error("core {0} stands in the middle of writing its control block: it or its machine was stopped there")]
    HalfWritten(usize),
    /// The command cannot be sent.
    #[error(transparent)]
    Encode(#[from] CommandError),
    /// The node did not answer in time.
    #[error("core {core} did not answer within {limit:?}: is it running?")]
    NoAnswer {
        /// Which core.
        core: usize,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The node refused the command.
    #[error("core {core} refused the command: {refusal}")]
    Refused {
        /// Which core.
        core: usize,
        /// Its answer.
        refusal: Refusal,
    },
    /// The node found no command in the words it was given.
    #[error("core {core} did not understand the command (code {code}): are host and firmware of one release?")]
    NotUnderstood {
        /// Which core.
        core: usize,
        /// Its answer.
        code: u32,
    },
}

/// A board: its memory and what its firmware says of it.
pub struct Board {
    name: String,
    node_names: Vec<String>,
    /// What the firmware calls the nodes, as soon as it has said so.
    own_names: Vec<Option<String>>,
    reach: Reach,
    firmware: Firmware,
    layouts: Vec<(u32, ControlLayout)>,
}

/// By what a board is reached.
enum Reach {
    Quiet(Box<Quiet>),
    Session(Box<Session>),
    Memory(Box<dyn Memory>),
    Saved(Box<Saved>),
    /// It was reached quietly, and attaching a debugger failed.
    Lost,
}

impl Reach {
    fn begin_command(&mut self) -> Result<(), MemoryError> {
        match self {
            Self::Quiet(quiet) => quiet.begin_command(),
            Self::Session(_) | Self::Memory(_) | Self::Saved(_) | Self::Lost => Ok(()),
        }
    }

    fn end_command(&mut self) {
        if let Self::Quiet(quiet) = self {
            quiet.end_command();
        }
    }

    fn memory(&mut self) -> &mut dyn Memory {
        match self {
            Self::Quiet(quiet) => quiet.as_mut(),
            Self::Session(session) => session.as_mut(),
            Self::Memory(memory) => memory.as_mut(),
            Self::Saved(saved) => &mut saved.memory,
            Self::Lost => self,
        }
    }

    /// Writes to the doorbell of a core, through the core's own access port if it must be so.
    fn ring(&mut self, core: usize, address: u32, value: u32) -> Result<(), MemoryError> {
        match self {
            Self::Quiet(quiet) => quiet.ring(core, address, value),
            Self::Session(session) => session.ring(core, address, value),
            Self::Memory(_) | Self::Saved(_) | Self::Lost => self.memory().write(address, &[value]),
        }
    }
}

impl Memory for Reach {
    fn read(&mut self, address: u32, _: &mut [u32]) -> Result<(), MemoryError> {
        Err(MemoryError::Detached { address })
    }

    fn write(&mut self, address: u32, _: &[u32]) -> Result<(), MemoryError> {
        Err(MemoryError::Detached { address })
    }
}

/// How long a control block that changes is read again. A core may be interrupted in the middle of writing it.
const STEADY_LIMIT: Duration = Duration::from_secs(5);
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// How long a core that halts in the middle of a link's pump may take to end it.
const PUMP_LIMIT: Duration = Duration::from_millis(20);

impl Board {
    /// Finds the control blocks of a board with `cores` cores, waiting for firmware that has only just started.
    pub fn attach(
        memory: Box<dyn Memory>,
        firmware: Firmware,
        cores: usize,
        limit: Duration,
    ) -> Result<Self, BoardError> {
        Self::find(Reach::Memory(memory), firmware, cores, limit)
    }

    /// Finds the control blocks of a board behind its probe, one for each core of its chip.
    pub fn open(session: Session, firmware: Firmware, limit: Duration) -> Result<Self, BoardError> {
        let cores = session.cores();
        Self::find(Reach::Session(Box::new(session)), firmware, cores, limit)
    }

    /// Finds the control blocks of a board that is attached to without stopping its cores.
    pub(crate) fn open_quietly(quiet: Quiet, firmware: Firmware, limit: Duration) -> Result<Self, BoardError> {
        let cores = quiet.cores();
        Self::find(Reach::Quiet(Box::new(quiet)), firmware, cores, limit)
    }

    /// A board out of a dump.
    pub(crate) fn saved(saved: Saved, firmware: Firmware) -> Result<Self, BoardError> {
        let cores = saved.stopped.len();
        Self::find(Reach::Saved(Box::new(saved)), firmware, cores, Duration::ZERO)
    }

    /// Whether the agent of the first core says that it is in this image.
    pub(crate) fn is_running(memory: &mut dyn Memory, firmware: &Firmware) -> Result<bool, BoardError> {
        let mut words = [0; ControlLayout::IMAGE / 4 + 1];
        memory.read(firmware.shared, &mut words)?;
        let is_block = words.first_chunk().is_some_and(|header| ControlLayout::read(*header).is_ok());
        Ok(is_block && words.last().copied() == firmware.image_id)
    }

    fn find(mut reach: Reach, firmware: Firmware, cores: usize, limit: Duration) -> Result<Self, BoardError> {
        let until = Instant::now() + limit;
        let mut layouts = Vec::new();
        let mut address = firmware.shared;
        let memory = reach.memory();
        while layouts.len() < cores {
            let core = layouts.len();
            let mut header = [0; 4];
            memory.read(address, &mut header)?;
            match ControlLayout::read(header) {
                Ok(layout) => {
                    layouts.push((address, layout));
                    address += layout.size as u32;
                }
                Err(HeaderError::NotAControlBlock(_)) if Instant::now() < until => crate::poll::pause(),
                Err(source) => return Err(BoardError::Header { core, source }),
            }
        }
        let (name, own_names) = ("board".into(), vec![None; cores]);
        let mut board = Self { name, node_names: Vec::new(), own_names, reach, firmware, layouts };
        for core in 0..cores {
            let mut number = [0];
            let (block, _) = board.layouts[core];
            board.reach.memory().read(block + ControlLayout::NAME as u32, &mut number)?;
            board.learn_name(core, number[0] as u16);
        }
        Ok(board)
    }

    fn learn_name(&mut self, core: usize, number: u16) {
        if self.own_names[core].is_none() {
            self.own_names[core] = self.firmware.name("node", number).map(str::to_owned);
        }
    }

    /// Gives the board a name, and its nodes those that the system file has for them.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>, nodes: Vec<String>) -> Self {
        (self.name, self.node_names) = (name.into(), nodes);
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the node on a core: from the system file, or what the firmware calls it, or board and core, as in `A.0`.
    #[must_use]
    pub fn node_name(&self, core: usize) -> String {
        let own = || self.own_names.get(core).cloned().flatten();
        self.node_names.get(core).cloned().or_else(own).unwrap_or_else(|| format!("{}.{core}", self.name))
    }

    /// The probe behind which it is, if it was opened so. A board that is attached to quietly gets a debugger now, which stops
    /// its cores for a moment.
    ///
    /// # Errors
    /// It is not behind a probe, or no debugger can be attached.
    pub fn session(&mut self) -> Result<&mut Session, SessionError> {
        if let Reach::Quiet(_) = self.reach
            && let Reach::Quiet(quiet) = std::mem::replace(&mut self.reach, Reach::Lost)
        {
            self.reach = Reach::Session(Box::new(quiet.into_session()?));
        }
        match &mut self.reach {
            Reach::Session(session) => Ok(session.as_mut()),
            Reach::Quiet(_) | Reach::Memory(_) | Reach::Saved(_) | Reach::Lost => Err(SessionError::NoRegisters),
        }
    }

    /// The registers of a core that its agent keeps where it stands; `None` if the core runs, or its agent has not saved them.
    ///
    /// # Panics
    /// When the board has no such core.
    pub(crate) fn saved_registers(&mut self, core: usize) -> Result<Option<Registers>, BoardError> {
        let target = match &mut self.reach {
            Reach::Quiet(quiet) => quiet.target().ok(),
            Reach::Session(session) => Some(session.probe().target().clone()),
            Reach::Memory(_) | Reach::Saved(_) | Reach::Lost => None,
        };
        let Some(core_type) = target.and_then(|target| crate::chip::core_type(&target, core)) else { return Ok(None) };
        let node = self.node(core)?;
        Ok(node.registers.map(|saved| Registers::saved(core_type, &saved, node.fault.as_ref())))
    }

    /// Whether the agents of all cores keep them where they stand and have saved their registers.
    pub(crate) fn stands_by_its_agents(&mut self) -> Result<bool, BoardError> {
        let until = Instant::now() + PUMP_LIMIT;
        for core in 0..self.cores() {
            // A node that halts while it pumps a link says so before its core stands.
            while self.saved_registers(core)?.is_none() {
                let stands = matches!(self.node(core)?.state, Some(StateCode::Draining | StateCode::Parked));
                if !stands || Instant::now() > until {
                    return Ok(false);
                }
                crate::poll::pause();
            }
        }
        Ok(true)
    }

    /// The RAM of its chip.
    pub(crate) fn ram(&mut self) -> Result<Vec<std::ops::Range<u64>>, SessionError> {
        match &mut self.reach {
            Reach::Quiet(quiet) => quiet.target().map(|target| crate::chip::ram(&target)),
            Reach::Session(session) => Ok(session.ram()),
            Reach::Memory(_) | Reach::Saved(_) | Reach::Lost => Err(SessionError::NoRegisters),
        }
    }

    /// The debugger that is attached already, if one is.
    pub fn attached_session(&mut self) -> Option<&mut Session> {
        match &mut self.reach {
            Reach::Session(session) => Some(session.as_mut()),
            Reach::Quiet(_) | Reach::Memory(_) | Reach::Saved(_) | Reach::Lost => None,
        }
    }

    /// The cores that a killed debugger had left stopped and that run again since the board was opened.
    #[must_use]
    pub fn released(&self) -> &[usize] {
        match &self.reach {
            Reach::Quiet(quiet) => quiet.released(),
            Reach::Session(session) => session.released(),
            Reach::Memory(_) | Reach::Saved(_) | Reach::Lost => &[],
        }
    }

    /// The folder of the system, if another process owns the board.
    pub(crate) fn owned_in(&self) -> Option<&crate::StateDir> {
        match &self.reach {
            Reach::Quiet(quiet) => quiet.owned_in(),
            Reach::Session(_) | Reach::Memory(_) | Reach::Saved(_) | Reach::Lost => None,
        }
    }

    /// Whether each core is halted for debugging, as opposed to parked by its agent. Empty if the board is not behind a probe.
    ///
    /// # Errors
    /// The probe cannot tell.
    pub fn halted(&mut self) -> Result<Vec<bool>, SessionError> {
        match &mut self.reach {
            Reach::Quiet(quiet) => match quiet.halted() {
                Some(halted) => Ok(halted),
                None => self.session()?.halted(),
            },
            Reach::Session(session) => session.halted(),
            Reach::Saved(saved) => Ok(saved.stopped.clone()),
            Reach::Memory(_) | Reach::Lost => Ok(Vec::new()),
        }
    }

    /// What was saved of it, if it is out of a dump: such a board can be looked at and not be asked.
    #[must_use]
    pub fn dumped(&self) -> Option<&Saved> {
        match &self.reach {
            Reach::Saved(saved) => Some(saved),
            Reach::Quiet(_) | Reach::Session(_) | Reach::Memory(_) | Reach::Lost => None,
        }
    }

    /// Its memory.
    pub fn memory(&mut self) -> &mut dyn Memory {
        self.reach.memory()
    }

    /// The symbols of its firmware.
    #[must_use]
    pub fn firmware(&self) -> &Firmware {
        &self.firmware
    }

    /// The name of a port: as the firmware calls it, otherwise by number.
    #[must_use]
    pub fn port_name(&self, port: &crate::Port) -> String {
        self.firmware.name("port", port.name).map_or_else(|| format!("port {}", port.id.0), str::to_owned)
    }

    /// Lets go of the board and leaves cores stopped that are.
    pub fn leave_halted(self) -> Result<(), crate::SessionError> {
        match self.reach {
            Reach::Session(session) => session.leave_halted(),
            Reach::Quiet(_) | Reach::Memory(_) | Reach::Saved(_) | Reach::Lost => Ok(()),
        }
    }

    /// How many cores have a node.
    #[must_use]
    pub fn cores(&self) -> usize {
        self.layouts.len()
    }

    /// Reads the control block of a core, whole.
    ///
    /// # Panics
    /// When the board has no such core.
    pub fn node(&mut self, core: usize) -> Result<Node, BoardError> {
        let (address, layout) = self.layouts[core];
        let words = crate::steady::read(self.reach.memory(), (core, address), layout, STEADY_LIMIT)?;
        let node = Node::parse(&layout, &words);
        self.learn_name(core, node.name);
        Ok(node)
    }

    /// Whether no control block is half written: cores that were stopped may have been in the middle of it.
    pub(crate) fn is_steady(&mut self) -> Result<bool, BoardError> {
        for core in 0..self.cores() {
            let mut revision = [0];
            let (block, _) = self.layouts[core];
            self.reach.memory().read(block + ControlLayout::REVISION as u32, &mut revision)?;
            if revision[0] & 1 != 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives a node a command and waits for its answer.
    ///
    /// # Panics
    /// When the board has no such core.
    pub fn command(&mut self, core: usize, command: &Command<'_>) -> Result<(), BoardError> {
        self.command_within(core, command, ANSWER_LIMIT)
    }

    /// Gives a node a command and waits for its answer, so long.
    ///
    /// # Panics
    /// When the board has no such core.
    pub fn command_within(&mut self, core: usize, command: &Command<'_>, limit: Duration) -> Result<(), BoardError> {
        let sequence = self.post(core, command)?;
        if let Err(error) = self.ring(core) {
            self.give_up_command();
            return Err(error);
        }
        self.await_answer_within(core, sequence, limit)
    }

    /// Writes a command, without ringing for it. Returns its number. No other process can command nodes until its answer is
    /// awaited, or it is given up.
    pub(crate) fn post(&mut self, core: usize, command: &Command<'_>) -> Result<u32, BoardError> {
        self.reach.begin_command()?;
        let posted = self.write_command(core, command);
        if posted.is_err() {
            self.give_up_command();
        }
        posted
    }

    /// Ends a command that was posted and whose answer is not awaited.
    pub(crate) fn give_up_command(&mut self) {
        self.reach.end_command();
    }

    fn write_command(&mut self, core: usize, command: &Command<'_>) -> Result<u32, BoardError> {
        let (address, layout) = self.layouts[core];
        let (command_at, answer_at) = (address + layout.command() as u32, address + layout.answer() as u32);
        let mut answer = [0; 3];
        self.reach.memory().read(answer_at, &mut answer)?;
        let sequence = answer[2].wrapping_add(1);
        let encoded = CommandWords::encode(command, sequence)?;
        let (words, checksum, sequence) = encoded.as_block();
        let mut block = words.to_vec();
        block.push(checksum);
        self.reach.memory().write(command_at, &block)?;
        self.reach.memory().write(command_at + 4 * block.len() as u32, &[sequence])?;
        Ok(sequence)
    }

    /// Waits for the answer to a command that was posted and rung for.
    pub(crate) fn await_answer(&mut self, core: usize, sequence: u32) -> Result<(), BoardError> {
        self.await_answer_within(core, sequence, ANSWER_LIMIT)
    }

    fn await_answer_within(&mut self, core: usize, sequence: u32, limit: Duration) -> Result<(), BoardError> {
        let answered = self.poll_answer(core, sequence, limit);
        self.reach.end_command();
        answered
    }

    fn poll_answer(&mut self, core: usize, sequence: u32, limit: Duration) -> Result<(), BoardError> {
        let (address, layout) = self.layouts[core];
        let (answer_at, mut answer) = (address + layout.answer() as u32, [0; 3]);
        let until = Instant::now() + limit;
        loop {
            self.reach.memory().read(answer_at, &mut answer)?;
            match answer {
                [0, _, answered] if answered == sequence => return Ok(()),
                [code, value, answered] if answered == sequence => {
                    return Err(match Refusal::from_words(code, value) {
                        Some(refusal) => BoardError::Refused { core, refusal },
                        None => BoardError::NotUnderstood { core, code },
                    });
                }
                _ if Instant::now() > until => return Err(BoardError::NoAnswer { core, limit }),
                _ => crate::poll::pause(),
            }
        }
    }

    /// Where the control block of a core lies, and how.
    ///
    /// # Panics
    /// When the board has no such core.
    #[must_use]
    pub fn control_block(&self, core: usize) -> (u32, ControlLayout) {
        self.layouts[core]
    }

    /// Rings the urgent bell of a core, so that a running one looks at its commands.
    pub fn ring(&mut self, core: usize) -> Result<(), BoardError> {
        let (block, _) = self.layouts[core];
        let mut bell = [0; 2];
        self.reach.memory().read(block + ControlLayout::BELL as u32, &mut bell)?;
        let [address, value] = bell;
        if address != 0 {
            self.reach.ring(core, address, value)?;
        }
        Ok(())
    }

    /// How a node stands, from two words; `None` while it writes its control block.
    pub(crate) fn state(&mut self, core: usize) -> Result<Option<StateCode>, BoardError> {
        let (block, _) = self.layouts[core];
        let mut words = [0; 2];
        self.reach.memory().read(block + ControlLayout::REVISION as u32, &mut words)?;
        let [revision, state] = words;
        Ok(StateCode::from_word(state).filter(|_| revision & 1 == 0))
    }

    /// The ring of a channel, as it lies in memory.
    pub(crate) fn ring_at(&mut self, address: u32) -> Result<RawRing, BoardError> {
        Ok(RawRing::read(self.reach.memory(), address)?)
    }

    /// The same, with the messages in it.
    pub(crate) fn ring_with_messages(&mut self, address: u32) -> Result<FilledRing, BoardError> {
        let ring = self.ring_at(address)?;
        Ok(FilledRing::read(ring, self.reach.memory(), address)?)
    }

    /// Whether the last message of a ring is the one before it once more.
    pub(crate) fn ends_twice(&mut self, address: u32) -> Result<bool, BoardError> {
        let ring = self.ring_at(address)?;
        Ok(ring.ends_twice(self.reach.memory(), address)?)
    }
}
