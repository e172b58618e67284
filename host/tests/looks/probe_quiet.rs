//! Boards behind a probe of stock probe-rs (its Glasgow driver, which talks to `qemu-probe`): looking and halting stop no core.
use crate::cli::{Bench, Done};
use qemu_probe::{Machine, Server};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Two emulated boards that are served as boards behind real probes.
struct Served {
    bench: Bench,
    machines: Vec<Arc<Machine>>,
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Served {
    fn running(demo: &str) -> Self {
        let bench = Bench::running(demo);
        let up = bench.run(["up", "--json", "--run-dirs"]).expect(0).json();
        let (mut machines, mut threads, mut text) = (Vec::new(), Vec::new(), String::new());
        let stop = Arc::new(AtomicBool::new(false));
        let chip = qemu_probe::chip_description(qemu_probe::MachineKind::Mps2An521);
        std::fs::write(bench.path("board.yaml"), chip).unwrap();
        for board in up["boards"].as_array().unwrap() {
            let run_dir = board["run_dir"].as_str().unwrap();
            let machine = Arc::new(Machine::attach(run_dir).unwrap());
            let server = Server::bind("127.0.0.1:0", &machine).unwrap();
            text += &format!(
                "[[board]]\nname = {}\nchip = \"mps2-an521\"\nchip_description = \"board.yaml\"\n\
                 probe = \"20b7:9db1:tcp:{}\"\nfirmware = \"firmware.elf\"\n\n",
                board["name"],
                server.address()
            );
            machines.push(machine);
            let stop = stop.clone();
            threads.push(std::thread::spawn(move || server.run(&stop).unwrap()));
        }
        std::fs::write(bench.path("probes.toml"), text).unwrap();
        Self { bench, machines, threads, stop }
    }

    fn run(&self, args: &[&str]) -> Done {
        self.bench.run(["--system", "probes.toml"].iter().chain(args))
    }

    /// How often the machines were stopped so far.
    fn stops(&self) -> u64 {
        self.machines.iter().map(|machine| machine.stops().unwrap()).sum()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "serving a board ends in order");
        }
    }
}

#[test]
fn commands_that_need_memory_only_stop_no_core_behind_a_stock_probe() {
    let served = Served::running("token_ring");
    let before = served.stops();
    let quiet = |args: &[&str]| {
        let done = served.run(args).expect(0);
        assert_eq!(served.stops(), before, "{args:?} has stopped a machine: {}", done.err);
        done
    };
    for round in 0..5 {
        let status = quiet(&["status"]);
        assert_eq!(status.out, "left0   running\nleft1   running\nright0  running\nright1  running\n");
        quiet(&["info"]).expect_out("left0");
        quiet(&["watch"]).expect_out("left0.lap");
        quiet(&["log"]);
        assert_eq!(quiet(&["halt", "--json"]).json()["certified"], true);
        quiet(&["status"]).expect_out("parked");
        assert_eq!(quiet(&["resume"]).out, "resumed: left0, left1, right0, right1\n");
        let reached = quiet(&["break", "left0:recv(ring)", "--json"]).json();
        assert_eq!(reached["halt"]["consistent"], true, "{reached}");
        quiet(&["resume"]);
        quiet(&["trace", "record", &format!("{round}.trace"), "--events", "200"]);
    }
    served.bench.expect_progress();
}

#[test]
fn a_cross_trigger_halts_the_cores_of_a_board_together_and_leaves_nothing_switched_on() {
    let served = Served::running("token_ring");
    let halt = served.run(&["halt", "--group", "--json"]).expect(0).json();
    let nodes = halt["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 4);
    for [first, other] in [[0, 1], [2, 3]] {
        assert_eq!(nodes[first]["milliseconds"], nodes[other]["milliseconds"], "{halt}");
    }
    assert_eq!((&nodes[0]["events_after"], &nodes[1]["events_after"]), (&0.into(), &0.into()), "{halt}");
    // The served board lets go of cores whose debugger has left.
    served.bench.expect_progress();
    let again = served.run(&["halt", "--sequential", "--json"]).expect(0).json();
    assert_eq!(again["nodes"].as_array().unwrap().len(), 4);
    served.bench.expect_progress();
}

#[test]
fn a_command_that_needs_a_debugger_says_that_it_stopped_cores() {
    let served = Served::running("token_ring");
    let before = served.stops();
    let halted = served.run(&["halt", "--sequential"]).expect(0);
    halted.expect_err("board A: its cores were stopped for a moment, one after another, while a debugger attached");
    assert!(served.stops() > before);
    // The debugger of the served board stays; looking stops nothing again.
    let before = served.stops();
    served.run(&["status"]).expect(0).expect_out("left0");
    assert_eq!(served.stops(), before);
}
