//! One board: its QEMU machine, its shared memory, the logs of its cores.
use std::time::Duration;

use qemu_probe::{Exit, Machine, MachineError, MachineKind, Serial, SharedRam};

use super::image::Image;
use super::log::CoreLog;
use super::node::{NODES, Node, letter};
use super::ring::{BoardMemory, Ring, RingError};
use super::status::Status;
use crate::nudge::Nudges;

impl BoardMemory for SharedRam {
    fn read(&self, address: u32, into: &mut [u8]) -> std::io::Result<()> {
        SharedRam::read(self, address, into)
    }
    fn write(&self, address: u32, from: &[u8]) -> std::io::Result<()> {
        SharedRam::write(self, address, from)
    }
}

/// A board opens its link just after its start: QEMU is made to look at it soon, and a few times more.
const FIRST_NUDGE: Duration = Duration::from_millis(8);
const NUDGES: usize = 10;

/// Why a board cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// QEMU would not start, or ended by itself.
    #[error("board {0}: {1}")]
    Machine(char, MachineError),
    /// A wire to one of its UARTs could not be made.
    #[error("board {0}: no wire for a UART: {1}")]
    Wire(char, std::io::Error),
    /// Its memory does not hold what it should.
    #[error("board {0}: {1}")]
    Ring(char, RingError),
    /// Its memory cannot be read.
    #[error("board {0}: its memory cannot be read: {1}")]
    Memory(char, std::io::Error),
    /// The firmware ended the machine, which the demo never does when all is well.
    #[error("board {board} stopped by itself with {exit:?}: {said}")]
    Stopped {
        /// Which board.
        board: char,
        /// How it ended.
        exit: Exit,
        /// The last thing the firmware said, such as a panic or a fault with its place.
        said: String,
    },
}

/// A running board.
pub struct Board<'a> {
    number: usize,
    image: &'a Image,
    machine: Machine,
    memory: SharedRam,
    nudges: Nudges,
    cores: Vec<(Ring, CoreLog<'a>)>,
}

impl<'a> Board<'a> {
    /// Starts a machine with this image; its second UART is `link`.
    pub fn start(number: usize, image: &'a Image, link: Serial) -> Result<Self, BoardError> {
        let (nudges, wires) =
            Nudges::new(NUDGES, FIRST_NUDGE, 2).map_err(|error| BoardError::Wire(letter(number), error))?;
        let builder = Machine::builder(MachineKind::Mps2An521)
            .elf(&image.path)
            .words([format!("board={}", letter(number))])
            .shared_ram(true)
            .gdb(false)
            .semihosting(true)
            .serial(Serial::Null)
            .serial(link);
        let machine = wires.into_iter().fold(builder, |builder, serial| builder.serial(serial)).start();
        let machine = machine.map_err(|error| BoardError::Machine(letter(number), error))?;
        let memory = machine.shared_ram().expect("asked for above").clone();
        let stride = image.rings.size / 2;
        let ring = |core: usize| Ring::new(image.rings.address + stride * core as u32, stride);
        let nodes = NODES.into_iter().filter(|node| node.board == number);
        let cores = nodes.map(|node| (ring(node.core), CoreLog::new(node, &image.logs))).collect();
        Ok(Self { number, image, machine, memory, nudges, cores })
    }

    /// Its name.
    pub fn letter(&self) -> char {
        letter(self.number)
    }

    /// Makes QEMU look at the link, if it is time to.
    pub fn nudge(&mut self) {
        self.nudges.nudge();
    }

    /// Fails with what the firmware said if the machine has ended.
    pub fn check_alive(&mut self) -> Result<(), BoardError> {
        let board = self.letter();
        let exit = self.machine.wait(Duration::ZERO).map_err(|error| BoardError::Machine(board, error))?;
        if exit == Exit::Running {
            return Ok(());
        }
        let console = self.machine.console();
        let said = console.lines().rev().find(|line| !line.trim().is_empty());
        let said = said.unwrap_or("it said nothing").to_owned();
        Err(BoardError::Stopped { board, exit, said })
    }

    /// Reads how far it has come; nothing until it has booted.
    pub fn status(&self) -> Result<Option<Status>, BoardError> {
        Status::read(&self.memory, self.image.status).map_err(|error| BoardError::Memory(self.letter(), error))
    }

    /// Reads the logs of its cores up to now.
    pub fn drain(&mut self, mut line: impl FnMut(Node, &str)) -> Result<(), BoardError> {
        let board = self.letter();
        for (ring, log) in &mut self.cores {
            let bytes = ring.drain(&self.memory).map_err(|error| BoardError::Ring(board, error))?;
            log.take(&bytes, &mut line);
        }
        Ok(())
    }

    /// Which cores have not set up their log ring yet.
    pub fn silent_cores(&self) -> Result<Vec<usize>, BoardError> {
        let mut silent = Vec::new();
        for (core, (ring, _)) in self.cores.iter().enumerate() {
            if !ring.is_ready(&self.memory).map_err(|error| BoardError::Ring(self.letter(), error))? {
                silent.push(core);
            }
        }
        Ok(silent)
    }

    /// A core's log and the number of frames its ring had to drop.
    pub fn core(&self, core: usize) -> Result<(&CoreLog<'a>, u32), BoardError> {
        let (ring, log) = &self.cores[core];
        let dropped = ring.dropped(&self.memory).map_err(|error| BoardError::Ring(self.letter(), error))?;
        Ok((log, dropped))
    }
}
