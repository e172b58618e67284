//! Many breakpoints, and groups of cores.
use crate::common::bench::{Bench, LIMIT, is_breakpoint};
use probe_rs::{CoreStatus, HaltReason};
use qemu_probe::{CoreView, MachineKind};

const HITS: usize = 1000;

#[test]
fn a_thousand_breakpoint_hits_on_each_core_all_at_the_right_place_for_the_right_reason() {
    let mut bench = Bench::running(MachineKind::Mps2An521);
    let both = bench.symbol("both");
    let own = [bench.tick(0), bench.tick(1)];
    for core in [0, 1] {
        bench.set_breakpoint(core, own[core]);
        bench.set_breakpoint(core, both);
    }
    // Each core alternates between a function of its own and one that both execute.
    let mut next = own;
    let mut hits = [0; 2];
    let mut wrong = Vec::new();
    for core in [0, 1] {
        // Where a core is first caught depends on where it was.
        assert!(bench.cores.wait_for_halt(core, LIMIT).unwrap());
        assert!(is_breakpoint(bench.status(core)));
        let pc = bench.pc(core);
        next[core] = if pc == own[core] { both } else { own[core] };
        bench.run(core);
    }
    while hits.iter().any(|count| *count < HITS) {
        assert!(bench.cores.wait_for_any_halt(LIMIT).unwrap(), "no core comes to a breakpoint any more");
        for core in [0, 1] {
            if bench.cores.status().unwrap()[core] == CoreView::Halted {
                let (status, pc) = (bench.status(core), bench.pc(core));
                if !is_breakpoint(status) || pc != next[core] {
                    wrong.push((core, status, pc, hits));
                }
                next[core] = if pc == own[core] { both } else { own[core] };
                hits[core] += 1;
                bench.run(core);
            }
        }
    }
    assert_eq!(wrong, [], "wrong stops out of {hits:?}");
}

#[test]
fn a_group_halt_stops_all_cores_and_a_group_resume_starts_them() {
    for kind in MachineKind::ALL {
        let mut bench = Bench::running(kind);
        for _ in 0..20 {
            bench.cores.halt().unwrap();
            assert_eq!(bench.cores.status().unwrap(), [CoreView::Halted; 2]);
            for core in [0, 1] {
                assert_eq!(bench.status(core), CoreStatus::Halted(HaltReason::Request));
                bench.expect_standstill(core);
            }
            bench.cores.resume().unwrap();
            for core in [0, 1] {
                bench.expect_running(core);
                bench.expect_progress(core);
            }
        }
    }
}

/// The reason for groups: one stop of the machine, so no core runs on after another has stopped.
#[test]
fn between_the_first_and_the_last_halt_of_a_group_no_core_counts() {
    let mut bench = Bench::running(MachineKind::Mps2An521);
    let live = bench.symbol("LIVE");
    let ram = bench.machine.shared_ram().unwrap().clone();
    let counts = || {
        let mut bytes = [0; 8];
        ram.read(live, &mut bytes).unwrap();
        bytes
    };
    for _ in 0..50 {
        bench.cores.halt().unwrap();
        // Live memory shows what happens at this moment, without the probe.
        let first = counts();
        for _ in 0..100 {
            assert_eq!(counts(), first);
        }
        bench.cores.resume().unwrap();
    }
    bench.expect_progress(0);
}

#[test]
fn a_group_resume_carries_cores_over_the_breakpoints_they_stand_at() {
    let mut bench = Bench::running(MachineKind::Mps2An521);
    let ticks = [bench.tick(0), bench.tick(1)];
    for core in [0, 1] {
        bench.set_breakpoint(core, ticks[core]);
        bench.expect_breakpoint(core, ticks[core]);
    }
    for _ in 0..20 {
        let before = [bench.count(0), bench.count(1)];
        bench.cores.resume().unwrap();
        for core in [0, 1] {
            bench.expect_breakpoint(core, ticks[core]);
            assert_eq!(bench.count(core), before[core].wrapping_add(1), "exactly one round");
        }
    }
}

#[test]
fn a_core_that_is_not_there_is_named() {
    let bench = Bench::running(MachineKind::Mps2An521);
    assert_eq!(bench.cores.wait_for_halt(2, LIMIT), Err(qemu_probe::BoardError::NoSuchCore(2)));
}
