//! Stock probe-rs, through its own Glasgow driver, on the served board.
use crate::common::{OrSay, firmware};
use object::{Object, ObjectSymbol};
use probe_rs::architecture::arm::sequences::DefaultArmSequence;
use probe_rs::architecture::arm::{ArmDebugInterface, FullyQualifiedApAddress};
use probe_rs::flashing::{ElfLoader, ElfOptions, download_file};
use probe_rs::probe::DebugProbeSelector;
use probe_rs::probe::list::Lister;
use probe_rs::rtt::{Rtt, ScanRegion};
use probe_rs::{MemoryInterface, Permissions, Session};
use qemu_probe::{CoreView, Machine, MachineKind, ServeError, Server};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_millis(500);

const DHCSR: u64 = 0xE000_EDF0;
const S_HALT: u32 = 1 << 17;
const NVIC_ISPR: u64 = 0xE000_E200;

/// What any probe-rs tool does, given `--probe 20b7:9db1:tcp:ADDRESS --chip-description-path ...`.
fn open(server: &Server, kind: MachineKind) -> Session {
    open_at(server, server.address(), kind)
}

fn open_at(server: &Server, address: std::net::SocketAddr, kind: MachineKind) -> Session {
    let selector: DebugProbeSelector = format!("20b7:9db1:tcp:{address}").parse().unwrap();
    let accepted = std::thread::scope(|scope| {
        let accepting = scope.spawn(|| server.serve_next());
        let probe = Lister::new().open(selector).unwrap();
        accepting.join().unwrap().unwrap();
        probe
    });
    let mut registry = probe_rs::config::Registry::new();
    registry.add_target_family_from_yaml(&qemu_probe::chip_description(kind)).unwrap();
    accepted.attach_with_registry(kind.name(), Permissions::default(), &registry).unwrap()
}

/// The same, without a session: memory only.
fn open_memory(server: &Server) -> Box<dyn ArmDebugInterface> {
    let selector: DebugProbeSelector = format!("20b7:9db1:tcp:{}", server.address()).parse().unwrap();
    let mut probe = std::thread::scope(|scope| {
        let accepting = scope.spawn(|| server.serve_next());
        let probe = Lister::new().open(selector).unwrap();
        accepting.join().unwrap().unwrap();
        probe
    });
    probe.attach_to_unspecified().unwrap();
    probe.try_into_arm_debug_interface(DefaultArmSequence::create()).map_err(|(_, error)| error).unwrap()
}

fn symbol(kind: MachineKind, name: &str) -> u64 {
    let image = std::fs::read(firmware(kind, "counters")).unwrap();
    let file = object::File::parse(&*image).unwrap();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
    symbol.address() & !1
}

#[test]
fn the_glasgow_driver_loads_runs_halts_breaks_and_reads_rtt_on_both_cores() {
    for kind in MachineKind::ALL {
        let machine = Machine::builder(kind).shared_ram(true).start().or_say();
        let server = Server::bind("127.0.0.1:0", &machine).unwrap();
        let mut session = open(&server, kind);
        download_file(&mut session, firmware(kind, "counters"), ElfLoader(ElfOptions::default())).unwrap();
        let pc = session.core(0).unwrap().reset_and_halt(PATIENCE).unwrap().pc;
        assert_eq!(pc, symbol(kind, "Reset"));
        for core in [0, 1] {
            session.core(core).unwrap().run().unwrap();
        }
        for (core, tick, block) in [(0, "tick0", "RTT0"), (1, "tick1", "RTT1")] {
            let (tick, count) = (symbol(kind, tick), symbol(kind, "COUNT") + 4 * core as u64);
            let mut target = session.core(core).unwrap();
            let (before, end) = (target.read_word_32(count).unwrap(), Instant::now() + LIMIT);
            while target.read_word_32(count).unwrap() == before {
                assert!(Instant::now() < end, "core {core} does not count");
            }
            target.set_hw_breakpoint(tick).unwrap();
            for _ in 0..10 {
                target.wait_for_core_halted(PATIENCE).unwrap();
                assert_eq!(
                    target.registers().pc().map(|pc| target.read_core_reg::<u32>(pc).unwrap().into()),
                    Some(tick)
                );
                target.run().unwrap();
            }
            target.wait_for_core_halted(PATIENCE).unwrap();
            target.clear_hw_breakpoint(tick).unwrap();
            target.run().unwrap();

            let mut rtt = Rtt::attach_region(&mut target, &ScanRegion::Exact(symbol(kind, block))).unwrap();
            let channel = rtt.up_channel(0).unwrap();
            let (mut buffer, end) = ([0; 64], Instant::now() + LIMIT);
            while channel.read(&mut target, &mut buffer).unwrap() == 0 {
                assert!(Instant::now() < end, "core {core} sends nothing");
            }
            assert_eq!(u32::from_le_bytes(buffer[..4].try_into().unwrap()) & 0xFFF, core as u32);
        }
        let data: Vec<u8> = (0..4099u32).map(|i| (i * 13) as u8).collect();
        let mut back = vec![0; data.len()];
        let mut core = session.core(0).unwrap();
        core.write(symbol(kind, "SCRATCH") + 1, &data[..4090]).unwrap();
        core.read(symbol(kind, "SCRATCH") + 1, &mut back[..4090]).unwrap();
        assert_eq!(back[..4090], data[..4090]);
        assert!(core.read_word_32(0xF000_0000).is_err(), "nothing is there");
        assert_eq!(core.read_word_32(0x5001_F000).unwrap(), 0, "and the port works again");
    }
}

#[test]
fn a_tool_that_uses_memory_only_stops_nothing_and_a_halt_is_counted() {
    for kind in MachineKind::ALL {
        let machine = Machine::builder(kind).elf(firmware(kind, "counters")).shared_ram(true).start().or_say();
        let server = Server::bind("127.0.0.1:0", &machine).unwrap();
        let mut tool = open_memory(&server);
        let spare = u64::from(machine.shared_ram().unwrap().region().base) + 0x10_0000;
        for core in [0, 1] {
            let mut memory = tool.memory_interface(&FullyQualifiedApAddress::v1_with_default_dp(core)).unwrap();
            let reset = memory.read_word_32(u64::from(kind.memory()[1].base) + 4).unwrap();
            assert_eq!(u64::from(reset & !1), symbol(kind, "Reset"));
            let (count, end) = (symbol(kind, "COUNT") + 4 * u64::from(core), Instant::now() + LIMIT);
            let before = memory.read_word_32(count).unwrap();
            while memory.read_word_32(count).unwrap() == before {
                assert!(Instant::now() < end, "core {core} does not count");
            }
            memory.write_32(spare, &[0x1234_5678, u32::from(core)]).unwrap();
            let mut back = [0; 2];
            memory.read_32(spare, &mut back).unwrap();
            assert_eq!(back, [0x1234_5678, u32::from(core)]);
            assert_eq!(memory.read_word_32(DHCSR).unwrap() & S_HALT, 0);
            memory.write_word_32(NVIC_ISPR, 1 << 20).unwrap();
        }
        drop(tool);
        assert_eq!(machine.stops().unwrap(), 0);

        let mut session = open(&server, kind);
        session.core(1).unwrap().halt(PATIENCE).unwrap();
        let stops = machine.stops().unwrap();
        assert!(stops > 0, "a session halts every core, and then one was halted");
        assert_eq!(session.core(1).unwrap().read_word_32(DHCSR).unwrap() & S_HALT, S_HALT);
        let now = session.core(0).unwrap().read_word_32(spare).unwrap();
        assert_eq!((now, machine.stops().unwrap()), (0x1234_5678, stops), "and memory still needs no stop");
        drop(session);
        let end = Instant::now() + LIMIT;
        while server.cores().unwrap().status().unwrap() != [CoreView::Running; 2] {
            assert!(Instant::now() < end, "cores stay halted after the session is over");
        }
    }
}

#[test]
fn a_second_tool_is_turned_away_and_the_next_is_served_when_the_first_has_left() {
    let kind = MachineKind::Mps2An521;
    let machine = Machine::builder(kind).start().or_say();
    let told = Arc::new(Mutex::new(Vec::new()));
    let lines = told.clone();
    let server = Server::bind("127.0.0.1:0", &machine).unwrap().reporting(move |line| {
        lines.lock().unwrap().push(line.to_string());
    });
    let first = open(&server, kind);
    let mut second = std::net::TcpStream::connect(server.address()).unwrap();
    server.serve_next().unwrap();
    // "Who are you?", and the answer where the name of the probe is expected.
    std::io::Write::write_all(&mut second, &[1, 1, 1, 0]).unwrap();
    let mut answer = Vec::new();
    std::io::Read::read_to_end(&mut second, &mut answer).unwrap();
    assert_eq!(answer, b"\x01\x0dbusy: in use\0", "and then the connection is closed");
    let told = told.lock().unwrap().join("; ");
    assert!(told.starts_with("busy: turned away 127.0.0.1:"), "the server says {told:?}");
    drop(first);
    let end = Instant::now() + LIMIT;
    loop {
        // The server learns a moment later that the first one has gone.
        let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
        server.serve_next().unwrap();
        std::io::Write::write_all(&mut stream, &[1, 1, 1, 0]).ok();
        let mut byte = [0];
        if std::io::Read::read(&mut stream, &mut byte).unwrap_or(0) == 1 {
            break;
        }
        assert!(Instant::now() < end, "nobody is served any more");
    }
}

#[test]
fn nonsense_ends_the_session_of_whoever_sent_it_and_nothing_else() {
    let kind = MachineKind::Mps2An521;
    let machine = Machine::builder(kind).start().or_say();
    let server = Server::bind("127.0.0.1:0", &machine).unwrap();
    let mut noise = std::net::TcpStream::connect(server.address()).unwrap();
    server.serve_next().unwrap();
    std::io::Write::write_all(&mut noise, b"GET / HTTP/1.1\r\n\r\n\0").unwrap();
    assert_eq!(std::io::Read::read(&mut noise, &mut [0]).unwrap_or(0), 0);
    assert_eq!(server.cores().unwrap().status().unwrap().len(), kind.cores());
}

#[test]
fn cores_that_a_tool_halted_run_on_when_its_connection_breaks() {
    let kind = MachineKind::Mps2An521;
    let machine = Machine::builder(kind).elf(firmware(kind, "counters")).shared_ram(true).start().or_say();
    let server = Server::bind("127.0.0.1:0", &machine).unwrap();
    let (line, far) = line_to(server.address());
    let mut session = open_at(&server, line, kind);
    let tick = symbol(kind, "tick1");
    session.core(0).unwrap().halt(PATIENCE).unwrap();
    session.core(1).unwrap().set_hw_breakpoint(tick).unwrap();
    assert!(server.cores().unwrap().wait_for_halt(1, LIMIT).unwrap());
    assert_eq!(server.cores().unwrap().status().unwrap(), [CoreView::Halted; 2]);
    // A tool that is killed says nothing more: the session is never dropped, only its socket is closed.
    far.recv().unwrap().shutdown(std::net::Shutdown::Both).unwrap();
    let running = || server.cores().unwrap().status().unwrap() == [CoreView::Running; 2];
    let end = Instant::now() + LIMIT;
    while !running() {
        assert!(Instant::now() < end, "cores stay halted after the tool is gone");
    }
    let live = |core: u32| {
        let mut word = [0; 4];
        machine.shared_ram().unwrap().read(0x8000_0000 + 4 * core, &mut word).unwrap();
        u32::from_le_bytes(word)
    };
    let before = [live(0), live(1)];
    while live(0) == before[0] || live(1) == before[1] {
        assert!(Instant::now() < end, "a core does not count");
    }
    assert!(running(), "the breakpoint is gone, too");
    std::mem::forget(session);
}

/// A line to `address` that can be cut: its own address, and the far half of the connection once there is one.
fn line_to(address: std::net::SocketAddr) -> (std::net::SocketAddr, std::sync::mpsc::Receiver<std::net::TcpStream>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let near = listener.local_addr().unwrap();
    let (send, far) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (client, server) = (listener.accept().unwrap().0, std::net::TcpStream::connect(address).unwrap());
        server.set_nodelay(true).unwrap();
        client.set_nodelay(true).unwrap();
        send.send(server.try_clone().unwrap()).unwrap();
        let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        std::io::copy(&mut &client, &mut &server)
    });
    (near, far)
}

#[test]
fn a_server_whose_machine_ends_says_so_and_ends() {
    let kind = MachineKind::Mps2An521;
    let machine = Machine::builder(kind).elf(firmware(kind, "faulty")).paused(true).start().or_say();
    let server = Server::bind("127.0.0.1:0", &machine).unwrap();
    server.cores().unwrap().resume().unwrap();
    let ended = server.run(&AtomicBool::new(false));
    let Err(ServeError::Machine(error)) = ended else { panic!("{ended:?}") };
    assert!(error.to_string().contains("Lockup"), "{error}");
}
