//! Starting, joining, watching and stopping machines, with real firmware on a real QEMU.
use crate::common::{OrSay, StopOnDrop, firmware};
use qemu_probe::machine::ElfError;
use qemu_probe::{Exit, Link, Machine, MachineError, MachineKind, Serial};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(10);

fn is_running(pid: u32) -> bool {
    // A killed process whose parent is gone may be a zombie for a moment: it runs nothing any more.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn two_machines_talk_over_a_link_and_end_with_their_codes() {
    for kind in MachineKind::ALL {
        let log = tempfile::NamedTempFile::new().unwrap();
        let (a, b) = Link::pair().unwrap();
        let mut machines = [(a, "board=A"), (b, "board=B")].map(|(end, name)| {
            let serial = if name == "board=A" { Serial::File(log.path().into()) } else { Serial::Null };
            Machine::builder(kind)
                .elf(firmware(kind, "hello"))
                .serial(serial)
                .serial(Serial::Link(end))
                .words([name])
                .semihosting(true)
                .start()
                .or_say()
        });
        for machine in &mut machines {
            assert_eq!(machine.wait(LIMIT).unwrap(), Exit::Code(3));
        }
        assert_eq!(machines[0].console(), "hello board=A met B\n");
        assert_eq!(machines[1].console(), "hello board=B met A\n");
        assert_eq!(std::fs::read_to_string(log.path()).unwrap(), "uart 0 speaks\n");
    }
}

#[test]
fn the_host_can_hold_one_end_of_a_link() {
    let (theirs, ours) = Link::pair().unwrap();
    let kind = MachineKind::Mps2An521;
    let builder = Machine::builder(kind).elf(firmware(kind, "hello")).serial(Serial::Null).serial(Serial::Link(theirs));
    let mut machine = builder.semihosting(true).icount(0).start().or_say();
    let mut wire = ours.into_stream();
    let mut byte = [0];
    wire.read_exact(&mut byte).unwrap();
    assert_eq!(byte, *b"o");
    assert_eq!(machine.wait(Duration::ZERO).unwrap(), Exit::Running);
    wire.write_all(b"H").unwrap();
    assert_eq!(machine.wait(LIMIT).unwrap(), Exit::Code(3));
    assert_eq!(machine.console(), "hello met H\n");
}

/// The calls are answered only where that was asked for; by default the firmware meets a fault, as without a debugger.
#[test]
fn firmware_cannot_open_files_of_the_host_unless_semihosting_is_on() {
    for (semihosting, told) in [(false, 2), (true, 1)] {
        let kind = MachineKind::Mps2An521;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("stolen");
        let builder = Machine::builder(kind).elf(firmware(kind, "thief")).words([file.to_str().unwrap()]);
        let mut machine = builder.semihosting(semihosting).start().or_say();
        let (mut word, end) = ([0; 4], Instant::now() + LIMIT);
        while word == [0; 4] {
            machine.shared_ram().unwrap().read(0x8000_0000, &mut word).unwrap();
            assert!(Instant::now() < end, "the firmware never tells");
        }
        assert_eq!(u32::from_le_bytes(word), told);
        assert_eq!(file.exists(), semihosting, "a file of the host was opened");
        assert_eq!(machine.wait(Duration::ZERO).unwrap(), Exit::Running, "QEMU survives the call");
    }
}

#[test]
fn shared_ram_is_live_both_ways_and_words_are_never_torn() {
    for kind in MachineKind::ALL {
        let machine =
            Machine::builder(kind).elf(firmware(kind, "counters")).shared_ram(true).gdb(false).start().or_say();
        let ram = machine.shared_ram().unwrap();
        let base = ram.region().base;
        let word = |index: u32| {
            let mut bytes = [0; 4];
            ram.read(base + 4 * index, &mut bytes).unwrap();
            u32::from_le_bytes(bytes)
        };
        let until = |what: &str, done: &dyn Fn() -> bool| {
            let end = Instant::now() + LIMIT;
            while !done() {
                assert!(Instant::now() < end, "{kind}: never saw {what}");
                std::thread::yield_now();
            }
        };
        until("core 0 counting", &|| word(0) > 1000);
        until("core 1 counting", &|| word(1) > 1000);
        let before = [word(0), word(1)];
        let mut seen = [0u32; 2];
        let (mut round, end) = (0u32, Instant::now() + LIMIT);
        while round < 20_000 || seen.iter().any(|count| *count < 100) {
            assert!(Instant::now() < end, "the word is not flipping: {seen:?}");
            round += 1;
            match word(2) {
                0 => seen[0] += 1,
                u32::MAX => seen[1] += 1,
                torn => panic!("{kind}: read a torn word {torn:#010x}"),
            }
            ram.write(base + 12, &((round & 0xFFFF) * 0x1_0001).to_le_bytes()).unwrap();
        }
        ram.write(base + 12, &0xABCD_ABCDu32.to_le_bytes()).unwrap();
        until("the host's word on core 0", &|| word(4) == 0xABCD_ABCD);
        until("the host's word on core 1", &|| word(5) == 0xABCD_ABCD);
        assert_eq!(word(6), 0, "{kind}: core 1 saw torn words");
        assert!(word(0) > before[0] && word(1) > before[1], "{kind}: a core stopped");
    }
}

#[test]
fn dropping_a_machine_ends_qemu() {
    let machine = Machine::builder(MachineKind::Mps2An521).start().or_say();
    let pid = machine.pid();
    assert!(is_running(pid));
    drop(machine);
    assert!(!is_running(pid));
}

/// Not a test of its own: the process that the next test kills.
#[test]
fn helper_that_starts_a_machine_and_waits_to_be_killed() {
    if std::env::var_os("QEMU_PROBE_TEST_PARENT").is_none() {
        return;
    }
    // From a thread that ends at once: QEMU must not die with the thread, only with the process.
    let machine = std::thread::spawn(|| Machine::builder(MachineKind::Mps2An521).start().or_say()).join().unwrap();
    println!("pid={}", machine.pid());
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn killing_the_parent_leaves_no_orphan() {
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["machine::helper_that_starts_a_machine_and_waits_to_be_killed", "--exact", "--nocapture"])
        .env("QEMU_PROBE_TEST_PARENT", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = String::new();
    let stdout = parent.stdout.as_mut().unwrap();
    let mut byte = [0];
    while !output.contains("pid=") || !output.ends_with('\n') {
        assert_eq!(stdout.read(&mut byte).unwrap(), 1, "the parent said only: {output}");
        output.push(byte[0].into());
    }
    let pid: u32 = output.split("pid=").nth(1).unwrap().trim().parse().unwrap();
    assert!(is_running(pid));
    parent.kill().unwrap();
    parent.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(2);
    while is_running(pid) {
        assert!(Instant::now() < end, "QEMU {pid} outlived its parent");
        std::thread::yield_now();
    }
}

#[test]
fn a_detached_machine_is_found_by_others_and_stopped_by_them() {
    let kind = MachineKind::Mps2An521;
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("board,a");
    let _stopped = StopOnDrop(&run);
    let first = Machine::builder(kind).elf(firmware(kind, "counters")).shared_ram(true).detached(&run).start().or_say();
    let pid = first.pid();
    drop(first);
    assert!(is_running(pid), "a detached machine ended with its handle");

    let again = Machine::builder(kind).detached(&run).start();
    assert!(matches!(again, Err(MachineError::RunDirTaken(_))), "{again:?}");

    let found = Machine::attach(&run).unwrap();
    assert_eq!((found.pid(), found.kind()), (pid, kind));
    let ram = found.shared_ram().unwrap();
    let count = || {
        let mut bytes = [0; 4];
        ram.read(0x8000_0000, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    };
    let (before, end) = (count(), Instant::now() + LIMIT);
    while count() == before {
        assert!(Instant::now() < end, "the counter stands still");
    }
    found.stop().unwrap();
    let end = Instant::now() + Duration::from_secs(2);
    while is_running(pid) {
        assert!(Instant::now() < end, "QEMU {pid} goes on after stop");
    }
    assert!(matches!(Machine::attach(&run), Err(MachineError::NotRunning { .. })));
    Machine::builder(kind).detached(&run).start().or_say().stop().unwrap();
}

#[test]
fn a_firmware_that_locks_up_is_an_error_with_qemus_words() {
    for kind in MachineKind::ALL {
        let started = Machine::builder(kind).elf(firmware(kind, "faulty")).start();
        let error = match started {
            Ok(mut machine) => machine.wait(LIMIT).unwrap_err(),
            Err(error) => error,
        };
        assert!(matches!(error, MachineError::Died { .. }), "{error:?}");
        assert!(error.to_string().contains("Lockup"), "{error}");
    }
}

#[test]
fn bad_images_are_refused_before_qemu_sees_them() {
    let refuse = |path: &Path, kind| match Machine::builder(kind).elf(path).start() {
        Err(MachineError::Elf { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let kind = MachineKind::Mps2An521;
    let mut text = tempfile::NamedTempFile::new().unwrap();
    text.write_all(b"This is not an ELF file.").unwrap();
    assert_eq!(refuse(text.path(), kind), ElfError::NotElf);
    let host = std::env::current_exe().unwrap();
    assert!(matches!(refuse(&host, kind), ElfError::OtherProcessor(_)));
    assert!(matches!(Machine::builder(kind).elf("/no/such/file").start(), Err(MachineError::Io { .. })));
}

#[test]
fn a_missing_or_old_qemu_is_named() {
    let missing = Machine::builder(MachineKind::Mps2An521).qemu("/no/such/qemu").start();
    assert!(matches!(missing, Err(MachineError::QemuMissing { .. })), "{missing:?}");

    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("qemu-system-arm");
    std::fs::write(&old, "#!/bin/sh\necho QEMU emulator version 5.2.0\n").unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let refused = Machine::builder(MachineKind::Mps2An521).qemu(&old).start();
    assert!(matches!(&refused, Err(MachineError::QemuTooOld { found, .. }) if found == "5.2.0"), "{refused:?}");
}

#[test]
fn a_qemu_that_refuses_its_arguments_is_an_error_with_its_words() {
    let failed = Machine::builder(MachineKind::Mps2An521).plugin("/no/such/plugin.so", ["a=b"]).start();
    match failed {
        Err(MachineError::Died { stderr, .. }) => assert!(stderr.contains("plugin"), "{stderr}"),
        other => panic!("{other:?}"),
    }
}
