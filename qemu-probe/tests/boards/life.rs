//! Attach and detach, reset, download, RTT, faults, sleep: what happens to a board over its life.
use crate::common::bench::{Bench, LIMIT, PATIENCE, command, is_breakpoint};
use crate::common::{OrSay, StopOnDrop, firmware};
use probe_rs::architecture::arm::ArmError;
use probe_rs::flashing::{ElfLoader, ElfOptions};
use probe_rs::rtt::{Rtt, ScanRegion};
use probe_rs::{CoreStatus, HaltReason, MemoryInterface, Permissions, VectorCatchCondition};
use qemu_probe::{BoardError, CoreView, Machine, MachineError, MachineKind, QemuProbe};
use std::time::Instant;

const KIND: MachineKind = MachineKind::Mps2An521;

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < end, "never saw {what}");
        std::thread::yield_now();
    }
}

fn board_error(error: probe_rs::Error) -> Option<BoardError> {
    BoardError::inside(&error).cloned()
}

#[test]
fn an_empty_machine_is_loaded_and_started_through_the_probe() {
    for kind in MachineKind::ALL {
        let mut bench = Bench::attach(Machine::builder(kind).shared_ram(true).start().or_say());
        assert_eq!(bench.cores.status().unwrap(), [CoreView::Halted; 2]);
        let elf = firmware(kind, "counters");
        probe_rs::flashing::download_file(&mut bench.session, &elf, ElfLoader(ElfOptions::default())).unwrap();
        let pc = bench.session.core(0).unwrap().reset_and_halt(PATIENCE).unwrap().pc as u32;
        assert_eq!(pc, bench.symbol("Reset"), "{kind}: the reset handler");
        bench.run(0);
        bench.run(1);
        for core in [0, 1] {
            bench.expect_progress(core);
        }
    }
}

#[test]
fn a_core_found_stopped_stays_stopped_when_the_debugger_leaves() {
    let machine = Machine::builder(KIND).start().or_say();
    let bench = Bench::attach(machine);
    let Bench { session, cores, machine, .. } = bench;
    drop((session, cores));
    // Running empty RAM would have killed QEMU.
    let (probe, cores) = QemuProbe::attach(&machine).unwrap();
    assert_eq!(cores.status().unwrap(), [CoreView::Halted; 2]);
    drop(probe);
}

#[test]
fn running_cores_run_on_without_breakpoints_when_the_debugger_leaves() {
    let mut bench = Bench::running(KIND);
    let ticks = [bench.tick(0), bench.tick(1)];
    bench.set_breakpoint(0, ticks[0]);
    bench.expect_breakpoint(0, ticks[0]);
    bench.set_breakpoint(1, bench.symbol("both"));
    let ram = bench.machine.shared_ram().unwrap().clone();
    let live = bench.symbol("LIVE");
    let Bench { session, cores, machine, .. } = bench;
    drop((session, cores));
    let count = |core: u32| {
        let mut bytes = [0; 4];
        ram.read(live + 4 * core, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    };
    for core in [0, 1] {
        let before = count(core);
        until("a core that runs on", || count(core).wrapping_sub(before) > 100_000);
    }
    let mut again = Bench::attach(machine);
    for core in [0, 1] {
        again.expect_running(core);
        again.expect_progress(core);
    }
}

#[test]
fn cores_can_be_left_halted_on_purpose() {
    let bench = Bench::running(KIND);
    bench.cores.halt().unwrap();
    bench.cores.keep_halted().unwrap();
    let Bench { session, cores, machine, .. } = bench;
    drop((session, cores));
    let mut again = Bench::attach(machine);
    assert_eq!(again.cores.status().unwrap(), [CoreView::Halted; 2]);
    for core in [0, 1] {
        again.expect_standstill(core);
        again.run(core);
        again.expect_progress(core);
    }
}

#[test]
fn a_detached_machine_is_debugged_by_one_process_after_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let _stopped = StopOnDrop(dir.path());
    let machine = Machine::builder(KIND).elf(firmware(KIND, "counters")).shared_ram(true).detached(dir.path());
    drop(machine.start().or_say());
    {
        let mut first = Bench::attach(Machine::attach(dir.path()).unwrap());
        first.expect_progress(0);
        first.halt(1);
        first.cores.keep_halted().unwrap();
        let mut second = QemuProbe::attach(&Machine::attach(dir.path()).unwrap());
        // Any number of times, each at once: a socket of QEMU's that nobody answers on must not be waited for.
        for _ in 0..5 {
            let began = Instant::now();
            let Err(MachineError::DebuggerAttached { by }) = &second else { panic!("{:?}", second.err()) };
            assert!(by.starts_with(&format!("process {} (", std::process::id())), "{by}");
            second = QemuProbe::attach(&Machine::attach(dir.path()).unwrap());
            assert!(began.elapsed() < PATIENCE, "refused only after {:?}", began.elapsed());
        }
    }
    let mut next = Bench::attach(Machine::attach(dir.path()).unwrap());
    assert_eq!(next.cores.status().unwrap(), [CoreView::Running, CoreView::Halted]);
    next.expect_standstill(1);
    next.run(1);
    next.expect_progress(1);
    let Bench { session, cores, machine, .. } = next;
    drop((session, cores));
    machine.stop().unwrap();
}

#[test]
fn a_qemu_that_a_signal_has_stopped_is_called_that_and_attached_to_when_it_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let _stopped = StopOnDrop(dir.path());
    let machine = Machine::builder(KIND).elf(firmware(KIND, "counters")).shared_ram(true).detached(dir.path());
    let pid = machine.start().or_say().pid();
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill").args([name, pid.to_string().as_str()]).status();
        assert!(sent.unwrap().success());
    };
    signal("-STOP");
    // The queue of a socket that nobody serves is soon full: each attempt still ends.
    for _ in 0..2 {
        let refused = QemuProbe::attach(&Machine::attach(dir.path()).unwrap());
        assert!(matches!(refused, Err(MachineError::Stopped(stopped)) if stopped == pid), "{:?}", refused.err());
    }
    signal("-CONT");
    let mut bench = Bench::attach(Machine::attach(dir.path()).unwrap());
    bench.expect_progress(0);
    bench.expect_progress(1);
}

#[test]
fn a_second_debugger_is_refused_and_may_come_when_the_first_has_left() {
    let bench = Bench::running(KIND);
    let second = QemuProbe::attach(&bench.machine);
    assert!(matches!(second, Err(MachineError::DebuggerAttached { .. })));
    let Bench { session, cores, machine, .. } = bench;
    drop((session, cores));
    QemuProbe::attach(&machine).unwrap();
    let without = Machine::builder(KIND).gdb(false).start().or_say();
    assert!(matches!(QemuProbe::attach(&without), Err(MachineError::NoDebugPort)));
}

#[test]
fn a_reset_starts_the_firmware_anew() {
    for kind in MachineKind::ALL {
        let mut bench = Bench::running(kind);
        let initialised = bench.symbol("INITIALISED");
        for core in [0, 1] {
            bench.session.core(core).unwrap().write_word_32(initialised.into(), 0).unwrap();
            bench.session.core(core).unwrap().reset().unwrap();
            until("the initial value", || bench.word(0, initialised) == 0x1234_5678);
            for core in [0, 1] {
                bench.expect_running(core);
                bench.expect_progress(core);
            }
        }
    }
}

#[test]
fn a_reset_with_halt_stops_before_the_first_instruction() {
    for kind in MachineKind::ALL {
        let mut bench = Bench::running(kind);
        let reset = bench.symbol("Reset");
        let pc = bench.session.core(0).unwrap().reset_and_halt(PATIENCE).unwrap().pc as u32;
        assert_eq!(pc, reset);
        // The other core is held by the machine until the firmware releases it: it can be halted, and does not move.
        bench.halt(1);
        let held = bench.pc(1);
        assert_eq!(bench.session.core(1).unwrap().step().unwrap().pc as u32, held);
        bench.run(1);
        bench.run(0);
        for core in [0, 1] {
            bench.expect_progress(core);
        }
    }
}

#[test]
fn a_reset_by_the_firmware_leaves_a_halted_core_halted_and_catches_who_wants_to_be_caught() {
    let mut bench = Bench::running(KIND);
    let initialised = bench.symbol("INITIALISED");
    bench.session.core(1).unwrap().write_word_32(initialised.into(), 0).unwrap();
    bench.command(1, command::RESET);
    until("the initial value", || bench.word(0, initialised) == 0x1234_5678);
    for core in [0, 1] {
        bench.expect_progress(core);
    }

    bench.halt(0);
    bench.command(1, command::RESET);
    // Core 0, which would start core 1, is still halted.
    until("core 1 in reset", || bench.session.core(1).unwrap().read_word_32(0x5002_1118).unwrap() == 2);
    assert_eq!(bench.cores.status().unwrap()[0], CoreView::Halted);
    bench.run(0);
    bench.expect_progress(1);

    bench.session.core(0).unwrap().enable_vector_catch(VectorCatchCondition::CoreReset).unwrap();
    bench.command(0, command::RESET);
    assert!(bench.cores.wait_for_halt(0, LIMIT).unwrap());
    assert_eq!(bench.status(0), CoreStatus::Halted(HaltReason::Exception));
    assert_eq!(bench.pc(0), bench.symbol("Reset"));
}

#[test]
fn what_was_downloaded_survives_a_reset() {
    // Started with one image, given another: QEMU alone would put the first one back.
    let machine = Machine::builder(KIND).elf(firmware(KIND, "hello")).paused(true).start().or_say();
    let mut bench = Bench::attach(machine);
    probe_rs::flashing::download_file(&mut bench.session, firmware(KIND, "counters"), ElfLoader(ElfOptions::default()))
        .unwrap();
    for _ in 0..3 {
        bench.session.core(0).unwrap().reset().unwrap();
        bench.run(1);
        for core in [0, 1] {
            bench.expect_progress(core);
        }
    }
}

#[test]
fn rtt_of_each_core_is_read_at_its_own_block() {
    let mut bench = Bench::running(KIND);
    let blocks = [bench.symbol("RTT0"), bench.symbol("RTT1")];
    for core in [0, 1] {
        let mut target = bench.session.core(core).unwrap();
        let mut rtt = Rtt::attach_region(&mut target, &ScanRegion::Exact(blocks[core].into())).unwrap();
        let channel = rtt.up_channel(0).unwrap();
        let mut words = Vec::new();
        until("RTT data", || {
            let mut buffer = [0; 64];
            let len = channel.read(&mut target, &mut buffer).unwrap();
            words.extend(buffer[..len].chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())));
            words.len() > 100
        });
        for word in words {
            assert_eq!(word & 0xFFF, core as u32, "core {core} sent {word:#x}");
        }
    }
}

#[test]
fn a_fault_is_caught_at_the_handler_on_each_core() {
    for kind in MachineKind::ALL {
        let mut bench = Bench::running(kind);
        for (core, handler) in [(0, "HardFault"), (1, "core1_hard_fault")] {
            bench.session.core(core).unwrap().enable_vector_catch(VectorCatchCondition::HardFault).unwrap();
            bench.command(core, command::FAULT);
            assert!(bench.cores.wait_for_halt(core, LIMIT).unwrap(), "core {core} was not caught");
            assert_eq!(bench.status(core), CoreStatus::Halted(HaltReason::Exception));
            assert_eq!(bench.pc(core), bench.symbol(handler));
            assert_eq!(bench.register(core, 16) & 0x1FF, 3, "in HardFault");
            bench.session.core(core).unwrap().disable_vector_catch(VectorCatchCondition::HardFault).unwrap();
            bench.expect_progress(1 - core);
            bench.session.core(0).unwrap().reset().unwrap();
            bench.cores.resume().unwrap();
            for core in [0, 1] {
                bench.expect_progress(core);
            }
        }
    }
}

/// As on silicon: the core stands at the BKPT, in thread mode, and goes on behind it.
#[test]
fn a_bkpt_instruction_of_the_firmware_halts_a_core_whose_hard_fault_is_caught() {
    let mut bench = Bench::running(KIND);
    for core in [0, 1] {
        bench.session.core(core).unwrap().enable_vector_catch(VectorCatchCondition::HardFault).unwrap();
        bench.command(core, command::BKPT);
        assert!(bench.cores.wait_for_halt(core, LIMIT).unwrap());
        let status = bench.status(core);
        assert!(is_breakpoint(status), "core {core} stopped for {status:?}");
        assert_eq!(bench.register(core, 16) & 0x1FF, 0, "no handler is active");
        let pc = bench.pc(core);
        assert_eq!(bench.word(core, pc & !3) >> (8 * (pc & 2)) & 0xFFFF, 0xBE01, "at the instruction `bkpt #1`");
        assert_eq!(bench.word(core, 0xE000_ED2C), 0, "HFSR");
        bench.run(core);
        bench.expect_progress(core);
        // A fault of another kind is still one.
        bench.command(core, command::FAULT);
        assert!(bench.cores.wait_for_halt(core, LIMIT).unwrap());
        assert_eq!(bench.status(core), CoreStatus::Halted(HaltReason::Exception));
        assert_eq!(bench.register(core, 16) & 0x1FF, 3);
    }
}

/// What gdb does for a plain `break` in RAM: it puts a BKPT there, and takes it away to step over it.
#[test]
fn a_bkpt_that_the_debugger_writes_halts_each_core_that_comes_to_it() {
    let mut bench = Bench::running(KIND);
    let both = bench.symbol("both");
    let mut code = [0; 2];
    bench.session.core(0).unwrap().read_8(both.into(), &mut code).unwrap();
    bench.cores.halt().unwrap();
    for round in 0..4 {
        // A debugger steps away from an instruction before it replaces it.
        for core in [0, 1] {
            while bench.pc(core) == both {
                bench.session.core(core).unwrap().step().unwrap();
            }
        }
        // Whole, or byte by byte as a probe with a narrow bus does.
        let parts: &[(u32, &[u8])] = match round {
            0 => &[(0, &[0x00, 0xBE])],
            1 => &[(0, &[0x00]), (1, &[0xBE])],
            2 => &[(1, &[0xBE]), (0, &[0x00])],
            // What gdb writes when it takes the firmware for a program of Linux.
            _ => &[(0, &[0x01]), (1, &[0xDE])],
        };
        for (offset, bytes) in parts {
            bench.session.core(0).unwrap().write_8((both + offset).into(), bytes).unwrap();
        }
        for core in [0, 1] {
            bench.run(core);
        }
        for core in [0, 1] {
            bench.expect_breakpoint(core, both);
            assert_eq!(bench.register(core, 16) & 0x1FF, 0, "no handler is active, round {round}");
        }
        bench.session.core(0).unwrap().write_8(both.into(), &code).unwrap();
        for core in [0, 1] {
            bench.run(core);
            bench.expect_progress(core);
        }
        bench.cores.halt().unwrap();
    }
}

/// ARMv8-M has these twice. gdb reads them with every stop.
#[test]
fn control_and_masks_of_each_security_state_are_read_and_written() {
    const MASKS: u16 = 20;
    const SECURE: u16 = 0x22;
    const NON_SECURE: u16 = 0x23;
    let mut bench = Bench::running(KIND);
    bench.cores.halt().unwrap();
    for core in [0, 1] {
        let masks = bench.register(core, MASKS);
        assert_eq!(bench.register(core, SECURE), masks, "the firmware runs in the secure state");
        let other = bench.register(core, NON_SECURE);
        bench.set_register(core, NON_SECURE, other ^ 1);
        assert_eq!((bench.register(core, NON_SECURE), bench.register(core, SECURE)), (other ^ 1, masks));
        bench.set_register(core, NON_SECURE, other);
        bench.set_register(core, SECURE, masks ^ 1);
        assert_eq!((bench.register(core, MASKS), bench.register(core, NON_SECURE)), (masks ^ 1, other));
        bench.set_register(core, SECURE, masks);
    }
}

#[test]
fn float_registers_exist_on_the_core_that_has_them() {
    let mut bench = Bench::running(KIND);
    bench.cores.halt().unwrap();
    assert!(!bench.session.core(0).unwrap().fpu_support().unwrap());
    assert!(bench.session.core(1).unwrap().fpu_support().unwrap());
    for (number, value) in [(64, 1.5f32), (65, -2.25), (95, 1e9)] {
        bench.set_register(1, number, value.to_bits());
    }
    for (number, value) in [(64, 1.5f32), (65, -2.25), (95, 1e9)] {
        assert_eq!(f32::from_bits(bench.register(1, number)), value);
    }
    bench.set_register(1, 33, 0x0300_0000);
    assert_eq!(bench.register(1, 33), 0x0300_0000, "FPSCR");
    bench.status(0);
    let missing = bench.session.core(0).unwrap().read_core_reg::<u32>(probe_rs::RegisterId(64)).unwrap_err();
    assert!(matches!(board_error(missing), Some(BoardError::NoSuchRegister { core: 0, register: 64, .. })));
}

#[test]
fn a_sleeping_core_shows_its_registers_and_refuses_what_it_would_have_to_execute() {
    let mut bench = Bench::running(KIND);
    bench.halt_asleep(1, command::SLEEP);
    assert_eq!(bench.register(1, 17), bench.register(1, 13), "MSP");
    assert_eq!(bench.register(1, 20) & 1, 1, "it sleeps with interrupts masked");
    // A step does not move it.
    let pc = bench.pc(1);
    assert_eq!(bench.session.core(1).unwrap().step().unwrap().pc as u32, pc);
    let refused = bench.session.core(1).unwrap().write_core_reg(probe_rs::RegisterId(18), 0x3000_0000u32).unwrap_err();
    assert!(matches!(board_error(refused), Some(BoardError::Asleep { core: 1, .. })));
    // A device that all cores see is written with the help of the core that is awake.
    let mut core = bench.session.core(1).unwrap();
    core.write_word_32(0x5000_0008, 0x55AA).unwrap();
    assert_eq!(core.read_word_32(0x5000_0008).unwrap(), 0x55AA);
    let private = core.write_word_32(0xE000_E400, 0).unwrap_err();
    assert!(matches!(board_error(private), Some(BoardError::Asleep { core: 1, .. })));
    drop(core);
    bench.expect_progress(0);
}

#[test]
fn a_sleeping_core_is_woken_by_a_pulse_on_its_own_interrupt_line() {
    for kind in MachineKind::ALL {
        let mut bench = Bench::running(kind);
        for core in [0, 1] {
            bench.halt_asleep(core, command::SLEEP_UNTIL_IRQ_6);
            bench.run(core);
        }
        for core in [1, 0] {
            bench.expect_standstill(core);
            bench.machine.pulse_irq(core, 6).unwrap();
            bench.expect_progress(core);
        }
        assert!(bench.machine.pulse_irq(2, 6).is_err());
        bench.machine.pulse_irq(0, kind.interrupts() - 1).unwrap();
        assert!(bench.machine.pulse_irq(0, kind.interrupts()).is_err(), "no such line");
        bench.expect_progress(0);
    }
}

#[test]
fn a_device_can_be_written_while_every_core_sleeps_as_long_as_one_listens_to_an_interrupt() {
    for kind in MachineKind::ALL {
        let mut bench = Bench::running(kind);
        for core in [0, 1] {
            bench.halt_asleep(core, command::SLEEP_UNTIL_IRQ_6);
            bench.run(core);
        }
        bench.expect_standstill(0);
        bench.expect_standstill(1);
        for core in [1, 0] {
            let mut view = bench.session.core(core).unwrap();
            view.write_word_32(0x5000_0008, 0x5500 + core as u32).unwrap();
            assert_eq!(view.read_word_32(0x5000_0008).unwrap(), 0x5500 + core as u32);
        }
    }
}

/// QEMU never ends a step over WFI; a core may leave WFI at any time, so it is stepped over as a no-operation.
#[test]
fn a_core_at_a_wfi_is_stepped_over_it() {
    let mut bench = Bench::running(KIND);
    let tick = bench.tick(0);
    bench.set_breakpoint(0, tick);
    bench.expect_breakpoint(0, tick);
    let mut code = [0; 2];
    let mut core = bench.session.core(0).unwrap();
    core.read_8(tick.into(), &mut code).unwrap();
    core.write_8(tick.into(), &[0x30, 0xBF]).unwrap();
    assert_eq!(core.step().unwrap().pc as u32, tick + 2);
    core.write_8(tick.into(), &code).unwrap();
    core.write_core_reg(probe_rs::RegisterId(15), tick).unwrap();
    drop(core);
    bench.clear_breakpoint(0, tick);
    bench.run(0);
    for core in [0, 1] {
        bench.expect_progress(core);
    }
}

#[test]
fn bad_addresses_are_errors_that_change_nothing() {
    let mut bench = Bench::running(KIND);
    for core in [0, 1] {
        let mut target = bench.session.core(core).unwrap();
        for address in [0xF000_0000u64, 0x6000_0000, 0x37FF_FFFC] {
            let unmapped = |error| matches!(board_error(error), Some(BoardError::Unmapped { .. }));
            assert!(unmapped(target.read_word_32(address).unwrap_err()), "{address:#x}");
            assert!(unmapped(target.write_word_32(address, 1).unwrap_err()), "{address:#x}");
        }
        let unaligned = target.read_word_32(0x3000_0001);
        assert!(matches!(unaligned, Err(probe_rs::Error::MemoryNotAligned(_))), "{unaligned:?}");
        let unaligned = target.write_word_16(0x3000_0001, 1);
        assert!(matches!(unaligned, Err(probe_rs::Error::MemoryNotAligned(_))), "{unaligned:?}");
        assert!(target.read_word_32(0x1_0000_0000).is_err());
        drop(target);
        bench.expect_running(core);
        bench.expect_progress(core);
    }
}

#[test]
fn registers_of_a_running_core_are_refused() {
    let mut bench = Bench::running(KIND);
    let refused = bench.session.core(0).unwrap().read_core_reg::<u32>(probe_rs::RegisterId(0)).unwrap_err();
    assert!(matches!(refused, probe_rs::Error::Arm(ArmError::CoreNotHalted)));
    bench.expect_progress(0);
}

#[test]
fn a_lock_up_ends_the_session_with_qemus_words() {
    let machine = Machine::builder(KIND).elf(firmware(KIND, "faulty")).paused(true).start().or_say();
    let (probe, cores) = QemuProbe::attach(&machine).unwrap();
    let mut session = probe.attach_with_registry(KIND.name(), Permissions::default(), &qemu_probe::registry()).unwrap();
    session.core(0).unwrap().run().unwrap();
    let error = cores.wait_for_halt(0, LIMIT).unwrap_err();
    assert!(matches!(&error, BoardError::Lost { reason, .. } if reason.contains("Lockup")), "{error}");
    let later = session.core(0).err().unwrap();
    assert!(matches!(board_error(later), Some(BoardError::Lost { .. })));
}
