//! Every operation on each core: with the other core halted, while it runs, and while it sits at a breakpoint.
use crate::common::bench::{Bench, LIMIT, PATIENCE};
use probe_rs::{CoreStatus, HaltReason, MemoryInterface};
use qemu_probe::MachineKind;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Other {
    Halted,
    Running,
    AtBreakpoint,
}

/// Calls `operation` for each core of each machine and each state of the other core, and checks that the other core is
/// exactly as it was.
fn on_each_core(operation: impl Fn(&mut Bench, usize)) {
    for kind in MachineKind::ALL {
        let mut bench = Bench::running(kind);
        for core in [0, 1] {
            for other in [Other::Halted, Other::Running, Other::AtBreakpoint] {
                beside(&mut bench, core, other, &operation);
            }
        }
    }
}

fn beside(bench: &mut Bench, core: usize, other: Other, operation: &impl Fn(&mut Bench, usize)) {
    let neighbour = 1 - core;
    let at = bench.tick(neighbour);
    match other {
        Other::Running => {}
        Other::Halted => {
            bench.halt(neighbour);
        }
        Other::AtBreakpoint => {
            bench.set_breakpoint(neighbour, at);
            bench.expect_breakpoint(neighbour, at);
        }
    }
    let before = (other != Other::Running).then(|| bench.pc(neighbour));

    operation(bench, core);

    match before {
        None => {
            bench.expect_running(neighbour);
            bench.expect_progress(neighbour);
        }
        Some(pc) => {
            bench.expect_standstill(neighbour);
            let expected = if other == Other::Halted { HaltReason::Request } else { breakpoint() };
            assert_eq!(bench.status(neighbour), CoreStatus::Halted(expected), "{other:?}");
            assert_eq!(bench.pc(neighbour), pc);
            bench.clear_breakpoint_if_any(neighbour, at, other == Other::AtBreakpoint);
            bench.run(neighbour);
            bench.expect_progress(neighbour);
        }
    }
    bench.expect_progress(core);
}

fn breakpoint() -> HaltReason {
    // All that DFSR tells, so all that probe-rs can say.
    HaltReason::Breakpoint(probe_rs::BreakpointCause::Unknown)
}

impl Bench {
    fn clear_breakpoint_if_any(&mut self, core: usize, address: u32, any: bool) {
        if any {
            self.clear_breakpoint(core, address);
        }
    }
}

#[test]
fn halt_stops_this_core_and_run_lets_it_go_on() {
    on_each_core(|bench, core| {
        bench.halt(core);
        assert_eq!(bench.status(core), CoreStatus::Halted(HaltReason::Request));
        bench.expect_standstill(core);
        bench.run(core);
        bench.expect_running(core);
        bench.expect_progress(core);
    });
}

#[test]
fn a_step_executes_one_instruction_of_this_core() {
    on_each_core(|bench, core| {
        let tick = bench.tick(core);
        bench.set_breakpoint(core, tick);
        bench.expect_breakpoint(core, tick);
        // The function begins with a 16-bit or a 32-bit instruction that does not jump.
        for _ in 0..3 {
            let before = bench.pc(core);
            let after = bench.session.core(core).unwrap().step().unwrap().pc as u32;
            assert!(matches!(after.wrapping_sub(before), 2 | 4), "stepped from {before:#x} to {after:#x}");
            assert_eq!(bench.status(core), CoreStatus::Halted(HaltReason::Step));
        }
        bench.clear_breakpoint(core, tick);
        bench.run(core);
    });
}

#[test]
fn a_breakpoint_stops_the_core_it_is_set_on_and_no_other() {
    on_each_core(|bench, core| {
        // Both cores execute this function; only this core's breakpoint counts.
        let both = bench.symbol("both");
        bench.set_breakpoint(core, both);
        for _ in 0..5 {
            bench.expect_breakpoint(core, both);
            bench.run(core);
        }
        bench.expect_breakpoint(core, both);
        bench.clear_breakpoint(core, both);
        bench.run(core);
    });
}

#[test]
fn core_registers_are_read_and_written() {
    on_each_core(|bench, core| {
        bench.halt(core);
        let saved: Vec<u32> = (0..=16).map(|number| bench.register(core, number)).collect();
        for number in 0..=12 {
            bench.set_register(core, number, 0xA500_0000 + u32::from(number));
        }
        for number in 0..=12 {
            assert_eq!(bench.register(core, number), 0xA500_0000 + u32::from(number), "r{number}");
        }
        for (number, value) in (0..).zip(&saved) {
            bench.set_register(core, number, *value);
        }
        assert_eq!((0..=16).map(|number| bench.register(core, number)).collect::<Vec<_>>(), saved);
        bench.run(core);
    });
}

#[test]
fn stack_pointers_control_and_masks_are_read_and_written() {
    const MSP: u16 = 17;
    const PSP: u16 = 18;
    const MASKS: u16 = 20;
    on_each_core(|bench, core| {
        bench.halt(core);
        let all: Vec<u32> = (0..=16).map(|number| bench.register(core, number)).collect();
        assert_eq!(bench.register(core, MSP), bench.register(core, 13), "the firmware uses the main stack");
        let (psp, masks) = (bench.register(core, PSP), bench.register(core, MASKS));
        assert_eq!(masks & 1, 0, "the firmware does not mask interrupts");

        bench.set_register(core, PSP, 0x3000_1230);
        bench.set_register(core, MASKS, masks | 1 | 0x20 << 8);
        assert_eq!(bench.register(core, PSP), 0x3000_1230);
        assert_eq!(bench.register(core, MASKS), masks | 1 | 0x20 << 8, "PRIMASK and BASEPRI");
        // Thread mode on the process stack: R13 must then be PSP.
        bench.set_register(core, MASKS, masks | 2 << 24);
        assert_eq!(bench.register(core, 13), 0x3000_1230);
        assert_eq!([bench.register(core, MSP), bench.register(core, PSP)], [all[13], 0x3000_1230]);
        bench.set_register(core, MASKS, masks);
        bench.set_register(core, PSP, psp);
        let msp = bench.register(core, MSP);
        bench.set_register(core, MSP, msp - 64);
        assert_eq!(bench.register(core, 13), msp - 64);
        bench.set_register(core, MSP, msp);

        let now: Vec<u32> = (0..=16).map(|number| bench.register(core, number)).collect();
        assert_eq!(now, all, "nothing else has changed");
        bench.run(core);
    });
}

#[test]
fn memory_is_read_and_written_in_every_width_halted_and_running() {
    on_each_core(|bench, core| {
        let scratch = u64::from(bench.symbol("SCRATCH")).next_multiple_of(8);
        for halted in [true, false] {
            if halted {
                bench.halt(core);
            } else {
                bench.run(core);
            }
            let mut core = bench.session.core(core).unwrap();
            core.write_word_64(scratch, 0x0123_4567_89AB_CDEF).unwrap();
            assert_eq!(core.read_word_32(scratch).unwrap(), 0x89AB_CDEF);
            assert_eq!(core.read_word_16(scratch + 4).unwrap(), 0x4567);
            assert_eq!(core.read_word_8(scratch + 7).unwrap(), 0x01);
            core.write_word_16(scratch + 2, 0xBEEF).unwrap();
            core.write_word_8(scratch, 0x77).unwrap();
            assert_eq!(core.read_word_32(scratch).unwrap(), 0xBEEF_CD77);
            // More than one packet, at an odd length.
            let data: Vec<u8> = (0..4085u32).map(|i| (i * 7 + i / 256) as u8).collect();
            core.write_8(scratch, &data).unwrap();
            let mut back = vec![0; data.len()];
            core.read_8(scratch, &mut back).unwrap();
            assert_eq!(back, data);
        }
    });
}

#[test]
fn devices_are_read_and_written_halted_and_running() {
    const CPU_IDENTITY: u64 = 0x5001_F000;
    const TIMER0_RELOAD: u64 = 0x5000_0008;
    const NVIC_IPR0: u64 = 0xE000_E400;
    on_each_core(|bench, index| {
        for halted in [true, false] {
            if halted {
                bench.halt(index);
            } else {
                bench.run(index);
            }
            let mut core = bench.session.core(index).unwrap();
            assert_eq!(core.read_word_32(CPU_IDENTITY).unwrap(), index as u32);
            for value in [0x1234_5678 + index as u32, 0] {
                core.write_word_32(TIMER0_RELOAD, value).unwrap();
                assert_eq!(core.read_word_32(TIMER0_RELOAD).unwrap(), value);
            }
            // A register of this core alone, byte by byte.
            core.write_word_8(NVIC_IPR0 + 1, 0x40 + 0x20 * index as u8).unwrap();
            assert_eq!(core.read_word_32(NVIC_IPR0).unwrap(), (0x40 + 0x20 * index as u32) << 8);
        }
        let other = bench.session.core(1 - index).unwrap().read_word_32(NVIC_IPR0).unwrap();
        assert_ne!(other, (0x40 + 0x20 * index as u32) << 8, "that was the other core's register");
    });
}

#[test]
fn shared_ram_is_reached_without_stopping_anything() {
    on_each_core(|bench, index| {
        let live = u64::from(bench.symbol("LIVE"));
        let mut core = bench.session.core(index).unwrap();
        core.write_word_32(live + 12, 0x1111_1111 * (index as u32 + 1)).unwrap();
        let seen = live + 16 + 4 * index as u64;
        let end = std::time::Instant::now() + LIMIT;
        while core.read_word_32(seen).unwrap() != 0x1111_1111 * (index as u32 + 1) {
            assert!(std::time::Instant::now() < end, "core {index} never saw what the host wrote");
        }
        // The same memory through QEMU, when nothing can be live.
        drop(core);
        bench.halt(index);
        let mut core = bench.session.core(index).unwrap();
        core.write_word_32(live + 12, 0).unwrap();
        assert_eq!(core.read_word_32(live + 12).unwrap(), 0);
        drop(core);
        bench.run(index);
    });
}

#[test]
fn a_core_is_awaited_by_probe_rs_too() {
    on_each_core(|bench, core| {
        let tick = bench.tick(core);
        bench.set_breakpoint(core, tick);
        bench.session.core(core).unwrap().wait_for_core_halted(PATIENCE).unwrap();
        bench.clear_breakpoint(core, tick);
        bench.run(core);
    });
}
