//! A running board under test: machine, probe-rs session, symbols of the firmware.

use super::{OrSay, firmware};
use object::{Object, ObjectSymbol};
use probe_rs::{BreakpointCause, CoreStatus, HaltReason, MemoryInterface, Permissions, Session};
use qemu_probe::{CoreView, GroupHandle, Machine, MachineKind, QemuProbe};
use std::collections::HashMap;
use std::time::{Duration, Instant};

pub const LIMIT: Duration = Duration::from_secs(5);
pub const PATIENCE: Duration = Duration::from_millis(500);

/// What the firmware does on request: see `tests/firmware/src/bin/counters.rs`.
pub mod command {
    pub const FAULT: u32 = 1;
    pub const BKPT: u32 = 2;
    pub const RESET: u32 = 3;
    pub const SLEEP: u32 = 4;
    pub const SLEEP_UNTIL_IRQ_6: u32 = 5;
}

pub struct Bench {
    // Dropped in this order: first the debugger lets go, then the machine ends.
    pub session: Session,
    pub cores: GroupHandle,
    pub machine: Machine,
    symbols: HashMap<String, u32>,
}

impl Bench {
    /// Both cores counting, probe attached while they run.
    pub fn running(kind: MachineKind) -> Self {
        let elf = firmware(kind, "counters");
        let machine = Machine::builder(kind).elf(&elf).shared_ram(true).start().or_say();
        let mut bench = Self::attach(machine);
        for core in [0, 1] {
            bench.expect_progress(core);
        }
        bench
    }

    pub fn attach(machine: Machine) -> Self {
        let kind = machine.kind();
        let (probe, cores) = QemuProbe::attach(&machine).unwrap();
        let session = probe.attach_with_registry(kind.name(), Permissions::default(), &qemu_probe::registry()).unwrap();
        Self { session, cores, machine, symbols: symbols(kind) }
    }

    pub fn symbol(&self, name: &str) -> u32 {
        *self.symbols.get(name).unwrap_or_else(|| panic!("the firmware has no symbol {name}"))
    }

    /// Where core `core` alone comes by again and again.
    pub fn tick(&self, core: usize) -> u32 {
        self.symbol(["tick0", "tick1"][core])
    }

    pub fn word(&mut self, core: usize, address: u32) -> u32 {
        self.session.core(core).unwrap().read_word_32(address.into()).unwrap()
    }

    /// The counter of a core, read through the other core's port if that makes no difference.
    pub fn count(&mut self, core: usize) -> u32 {
        let address = self.symbol("COUNT") + 4 * core as u32;
        self.word(core, address)
    }

    pub fn command(&mut self, core: usize, command: u32) {
        let address = self.symbol("COMMAND") + 4 * core as u32;
        self.session.core(core).unwrap().write_word_32(address.into(), command).unwrap();
    }

    pub fn expect_progress(&mut self, core: usize) {
        let (before, end) = (self.count(core), Instant::now() + LIMIT);
        while self.count(core) == before {
            assert!(Instant::now() < end, "core {core} does not count");
        }
    }

    pub fn expect_standstill(&mut self, core: usize) {
        let before = self.count(core);
        for _ in 0..20 {
            assert_eq!(self.count(core), before, "core {core} counts although it is halted");
        }
    }

    pub fn status(&mut self, core: usize) -> CoreStatus {
        self.session.core(core).unwrap().status().unwrap()
    }

    pub fn halt(&mut self, core: usize) -> u32 {
        self.session.core(core).unwrap().halt(PATIENCE).unwrap().pc as u32
    }

    pub fn run(&mut self, core: usize) {
        self.session.core(core).unwrap().run().unwrap();
    }

    pub fn pc(&mut self, core: usize) -> u32 {
        self.register(core, 15)
    }

    /// A register of a halted core. probe-rs learns of a halt that it did not ask for by asking for the status.
    pub fn register(&mut self, core: usize, number: u16) -> u32 {
        self.status(core);
        self.session.core(core).unwrap().read_core_reg(probe_rs::RegisterId(number)).unwrap()
    }

    pub fn set_register(&mut self, core: usize, number: u16, value: u32) {
        self.status(core);
        self.session.core(core).unwrap().write_core_reg(probe_rs::RegisterId(number), value).unwrap();
    }

    pub fn set_breakpoint(&mut self, core: usize, address: u32) {
        self.session.core(core).unwrap().set_hw_breakpoint(address.into()).unwrap();
    }

    pub fn clear_breakpoint(&mut self, core: usize, address: u32) {
        self.session.core(core).unwrap().clear_hw_breakpoint(address.into()).unwrap();
    }

    /// Waits for a halt of `core`, which must be a breakpoint at `address`.
    pub fn expect_breakpoint(&mut self, core: usize, address: u32) {
        assert!(self.cores.wait_for_halt(core, LIMIT).unwrap(), "core {core} never came to {address:#x}");
        let status = self.status(core);
        assert!(is_breakpoint(status), "core {core} stopped for {status:?}");
        assert_eq!(self.pc(core), address, "core {core} stopped at the wrong place");
    }

    /// Sends a core to sleep with a command, and leaves it halted behind its WFI.
    pub fn halt_asleep(&mut self, core: usize, command: u32) {
        let end = Instant::now() + LIMIT;
        self.command(core, command);
        loop {
            // Only a core that sleeps stays where it is when it is stepped.
            let pc = self.halt(core);
            if self.session.core(core).unwrap().step().unwrap().pc as u32 == pc {
                // It may have been asked twice.
                return self.command(core, 0);
            }
            assert!(Instant::now() < end, "core {core} does not go to sleep");
            // A core that was halted at the WFI itself has not executed it, and must be asked again.
            let asked = self.symbol("COMMAND") + 4 * core as u32;
            if self.word(core, asked) == 0 {
                self.command(core, command);
            }
            self.run(core);
        }
    }

    pub fn expect_running(&mut self, core: usize) {
        assert_eq!(self.status(core), CoreStatus::Running, "core {core}");
        assert_eq!(self.cores.status().unwrap()[core], CoreView::Running);
    }
}

pub fn is_breakpoint(status: CoreStatus) -> bool {
    matches!(status, CoreStatus::Halted(HaltReason::Breakpoint(BreakpointCause::Hardware | BreakpointCause::Unknown)))
}

fn symbols(kind: MachineKind) -> HashMap<String, u32> {
    let image = std::fs::read(firmware(kind, "counters")).unwrap();
    let file = object::File::parse(&*image).unwrap();
    file.symbols().map(|symbol| (symbol.name().unwrap_or("").to_owned(), symbol.address() as u32 & !1)).collect()
}
