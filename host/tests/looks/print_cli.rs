//! `stillpoint print`, `tasks` and `bt`: statics and tasks of demos, on halted boards and out of a dump when the boards are gone.
mod awaited;
mod damaged;

use crate::cli::{self, Bench, wait_for};
use awaited::{DEMOS, implied, step};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn statics_are_printed_at_a_halt_and_out_of_a_dump() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    let running = bench.run(["print", "ACROSS"]).expect(2);
    running.expect_err("left0, left1, right0, right1 are not halted");
    bench.run(["print", "ACROSS", "--force"]).expect(0);
    bench.expect_progress();

    bench.run(["halt"]).expect(0);
    let asked: [&[&str]; 4] = [
        &["print", "ACROSS"],
        &["print", "STILLPOINT_COUNTER_HZ"],
        &["print", "token_ring::LINK", "--depth", "2"],
        &["print", "ACROSS", "--json"],
    ];
    let live: Vec<String> = asked.iter().map(|asked| bench.run(*asked).expect(0).out).collect();
    assert!(live[0].starts_with("token_ring::ACROSS: Channel<"), "{}", live[0]);
    assert!(live[0].contains("\n  A  Channel {") && live[0].contains("\n  B  Channel {"), "{}", live[0]);
    // The counter of the reference board has 20 MHz; the constant lies in the image, not in RAM.
    assert!(live[1].contains("\n  A  20000000\n  B  20000000\n"), "{}", live[1]);
    let one = bench.run(["print", "ACROSS", "--node", "right1"]).expect(0);
    assert!(one.out.contains("\n  B  ") && !one.out.contains("\n  A  "), "{}", one.out);
    let json = bench.run(["print", "ACROSS", "--json"]).expect(0).json();
    assert_eq!(json["values"][0]["path"], "token_ring::ACROSS");
    assert!(json["values"][1]["value"].is_object(), "{json}");

    bench.run(["dump", "x.dump"]).expect(0);
    bench.run(["down"]).expect(0);
    std::fs::remove_file(bench.path("firmware.elf")).unwrap();
    for (asked, live) in asked.iter().zip(&live) {
        let saved = bench.run(asked.iter().chain(&["--from", "x.dump"])).expect(0);
        // A parked core goes on serving its link, which may be in use at either moment.
        let at_rest = |text: &str| text.replace("busy: true", "busy: false");
        assert_eq!(at_rest(&saved.out), at_rest(live), "a dump shows what the boards showed");
    }
    for (text, problem) in [
        ("ACROS", "did you mean `token_ring::ACROSS`?"),
        ("ACROSS.nothing", "has no field `nothing`"),
        ("ACROSS[1]", "has no elements"),
        ("*ACROSS", "is no pointer"),
        ("ACROSS.", "the name of a field is expected"),
    ] {
        bench.run(["print", text, "--from", "x.dump"]).expect(2).expect_err(problem);
    }
    bench.run(["print", "ACROSS", "--node", "lfet0", "--from", "x.dump"]).expect(2).expect_err("did you mean left0");
}

/// One board with this firmware's two nodes, running.
fn one_board(words: &[&str]) -> Bench {
    alone("waits", words)
}

/// One board with a demo that needs no other.
fn alone(demo: &str, words: &[&str]) -> Bench {
    let bench = Bench::new(demo);
    let words: String = words.iter().map(|word| format!(", \"{word}\"")).collect();
    bench.write_system(&format!(
        "[[board]]\nname = \"A\"\nchip = \"mps2-an521\"\nprobe = \"qemu\"\nfirmware = \"firmware.elf\"\n\
         arguments = [\"board=A\"{words}]\n"
    ));
    bench.run(["up"]).expect(0);
    bench.run(["run"]).expect(0);
    bench
}

/// The source of a demo is the oracle: the line that has this text.
fn line_of(source: &str, text: &str) -> u64 {
    let mut lines = source.lines().enumerate().filter(|(_, line)| line.contains(text));
    let (number, _) = lines.next().unwrap_or_else(|| panic!("no line has {text}"));
    assert!(lines.next().is_none(), "several lines have {text}");
    number as u64 + 1
}

const WAITS: &str = include_str!("../../../target-agent/examples/waits.rs");

/// Halts once a look at the tasks is as it should be: what comes first after a start differs.
fn halted_when(bench: &Bench, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let look = || {
        bench.run(["halt"]).expect(0);
        let tasks = bench.run(["tasks", "--json"]).expect(0).json();
        if is_so(&tasks) {
            return Ok(Some(tasks));
        }
        bench.run(["resume"]).expect(0);
        Ok(None)
    };
    wait_for(what, look).unwrap()
}

fn task<'a>(tasks: &'a Value, name: &str, instance: u64) -> &'a Value {
    let all = tasks["tasks"].as_array().unwrap();
    let found = all.iter().find(|task| task["name"] == name && task["instance"][0] == instance);
    found.unwrap_or_else(|| panic!("no task {name}[{instance}] in {tasks:#}"))
}

fn is_waiting(tasks: &Value, name: &str) -> bool {
    task(tasks, name, 0)["state"] == "waiting"
}

/// The names and lines of the futures in a task, from the outside.
fn chain(task: &Value) -> Vec<(String, Option<u64>)> {
    fn walk(link: &Value, found: &mut Vec<(String, Option<u64>)>) {
        let name = link["name"].as_str().unwrap();
        found.push((name.rsplit("::").next().unwrap().to_owned(), link["line"]["line"].as_u64()));
        link["awaits"].as_array().unwrap().iter().for_each(|inner| walk(inner, found));
    }
    let mut found = Vec::new();
    walk(&task["chain"], &mut found);
    found
}

/// A future's name and line.
type Expected = (&'static str, Option<u64>);

fn expect_waits(tasks: &Value) {
    let line = |text: &str| Some(line_of(WAITS, text));
    let deepest = line("async fn inner").map(|line| line + 1);
    let expected: [(&str, &[Expected]); 5] = [
        (
            "selects",
            &[("selects", line("select(Timer::after_secs")), ("Select", None), ("Timer", None), ("Pending", None)],
        ),
        (
            "nests",
            &[
                ("nests", line("outer(41).await")),
                ("outer", line("inner(depth + 1).await")),
                ("inner", deepest),
                ("Timer", None),
            ],
        ),
        ("pooled", &[("pooled", line("Timer::after_secs(HOUR + number)")), ("Timer", None)]),
        ("boxed", &[("boxed", line("object.await")), ("inner", deepest), ("Timer", None)]),
        ("holds", &[("holds", line("let guard = LOCK").map(|line| line + 1)), ("Timer", None)]),
    ];
    for (name, links) in expected {
        let found = task(tasks, name, 0);
        assert_eq!(found["state"], "waiting", "{found:#}");
        assert_eq!(found["node"], "near", "{found:#}");
        let links: Vec<(String, Option<u64>)> = links.iter().map(|(name, line)| ((*name).to_owned(), *line)).collect();
        assert_eq!(chain(found), links, "{found:#}");
    }
    // A join polls both, the second of them a block.
    let joins = chain(task(tasks, "joins", 0));
    let names: Vec<&str> = joins.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["joins", "Join", "Future", "Timer", "Future", "{async block}", "Pending"]);
    assert_eq!(task(tasks, "pooled", 2)["state"], "waiting");
    assert_eq!(task(tasks, "pooled", 3)["state"], "never_spawned");
    assert_eq!(task(tasks, "ends", 0)["state"], "ended");
    // The hour of the pool's second task ends a second after that of its first.
    let left = |instance| task(tasks, "pooled", instance)["waits"][0]["remaining"].as_f64().unwrap();
    assert!((left(1) - left(0) - 1000.0).abs() < 50.0 && left(0) < 3_600_000.0, "{} and {}", left(0), left(1));
    let locks = &task(tasks, "locks", 0)["waits"][0];
    assert_eq!(locks["tasks"], serde_json::json!(["near/holds"]), "{locks:#}");
    assert!(locks["thing"].as_str().unwrap().ends_with("on waits::LOCK"), "{locks:#}");
}

#[test]
fn tasks_wait_where_the_source_says_on_boards_and_in_a_dump() {
    let bench = one_board(&[]);
    let all_wait = |tasks: &Value| is_waiting(tasks, "locks") && is_waiting(tasks, "nests");
    expect_waits(&halted_when(&bench, "every task waits", all_wait));
    // Variables that live across the await, of each future of the chain; the numbers are those of the source.
    let numbers = [
        ("near/selects.rounds", 7),
        ("near/nests.depth", 41),
        ("near/nests.deepest", 42),
        ("near/pooled[1].number", 1),
    ];
    for (asked, value) in numbers {
        let printed = bench.run(["print", asked, "--json"]).expect(0).json();
        assert_eq!(printed["variables"][0]["value"], value, "{asked}: {printed:#}");
    }
    let bt = bench.run(["bt", "near/nests"]).expect(0);
    let names = ["Timer", "waits::inner", "waits::outer", "waits::nests"];
    let places: Vec<usize> = names.iter().map(|name| bt.out.find(name).unwrap()).collect();
    assert!(places.is_sorted(), "{}", bt.out);
    bench.run(["dump", "x.dump"]).expect(0);
    bench.run(["down"]).expect(0);
    expect_waits(&bench.run(["tasks", "--json", "--from", "x.dump"]).expect(0).json());
    for (asked, problem) in [
        ("near/nest.depth", "did you mean nests?"),
        ("near/nests.dept", "has no variable dept now"),
        ("near/pooled.number", "choose one of pooled[0], pooled[1], pooled[2]"),
        ("near/", "the name of a static is expected"),
    ] {
        bench.run(["print", asked, "--from", "x.dump"]).expect(2).expect_err(problem);
    }
}

/// `cargo xtask test qemu` builds the firmware with each of these profiles.
#[test]
fn tasks_of_firmware_built_with_other_profiles_wait_where_the_source_says_or_the_profile_is_named() {
    let folder = std::env::var_os("STILLPOINT_PROFILES_FIRMWARE").expect("`cargo xtask test qemu` sets it");
    let built = |profile: &str| {
        let elf = std::path::Path::new(&folder).join(profile).join("waits");
        alone(elf.to_str().expect("a path of text"), &[])
    };
    for profile in ["opt-level-3", "no-lto"] {
        let bench = built(profile);
        let all_wait = |tasks: &Value| is_waiting(tasks, "locks") && is_waiting(tasks, "nests");
        println!("{profile}");
        expect_waits(&halted_when(&bench, "every task waits", all_wait));
    }
    let bench = built("lines-only");
    bench.run(["halt"]).expect(0);
    let tasks = bench.run(["tasks"]).expect(1).out;
    assert!(tasks.contains("has debug information of lines only; set `debug = 2`"), "{tasks}");
}

#[test]
fn tasks_in_embassys_own_executor_are_found_with_their_core() {
    let bench = one_board(&["executor=raw"]);
    let tasks = halted_when(&bench, "every task waits", |tasks| is_waiting(tasks, "timeless"));
    let links = [("timeless", "middle(number + 1).await"), ("middle", "core::future::pending::<()>().await;")];
    let links = links.map(|(name, text)| (name.to_owned(), Some(line_of(WAITS, text))));
    for number in 0..3 {
        let task = task(&tasks, "timeless", number);
        assert_eq!(chain(task)[..2], links, "{task:#}");
        assert_eq!(task["node"], "near", "{task:#}");
        let asked = format!("near/timeless[{number}].next");
        assert_eq!(bench.run(["print", &asked, "--json"]).expect(0).json()["variables"][0]["value"], number + 1);
    }
    assert_eq!(task(&tasks, "timeless", 3)["state"], "never_spawned");
    assert_eq!(task(&tasks, "ignores", 0)["node"], "far");
}

#[test]
fn tasks_in_embassys_stock_thread_executor_are_found_with_their_core_and_lines() {
    const STOCK: &str = include_str!("../../../target-agent/examples/stock_executor.rs");
    let bench = alone("stock_executor", &[]);
    bench.expect_progress();
    let all_wait =
        |tasks: &Value| is_waiting(tasks, "sums") && is_waiting(tasks, "ticks") && is_waiting(tasks, "nests");
    let live = halted_when(&bench, "every task waits", all_wait);
    bench.run(["dump", "x.dump"]).expect(0);
    let dumped = bench.run(["tasks", "--json", "--from", "x.dump"]).expect(0).json();
    for tasks in [&live, &dumped] {
        let expected = [
            ("sums", 0, "far", "inbox.recv().await"),
            ("ticks", 0, "near", "Timer::after_millis(2)"),
            ("nests", 0, "near", "outer(41).await"),
            ("pooled", 0, "far", "Timer::after_secs(HOUR + number)"),
            ("pooled", 1, "near", "Timer::after_secs(HOUR + number)"),
        ];
        // Which of the pool comes to which core is a matter of who starts first.
        let pool_of = |instance| task(tasks, "pooled", instance)["node"].as_str().unwrap().to_owned();
        let is_swapped = pool_of(0) == "near";
        for (name, instance, node, text) in expected {
            let found = task(tasks, name, if name == "pooled" && is_swapped { 1 - instance } else { instance });
            assert_eq!((&found["state"], &found["node"]), (&"waiting".into(), &node.into()), "{found:#}");
            assert_eq!(found["line"]["line"], line_of(STOCK, text), "{found:#}");
        }
        let links = [
            ("nests", Some("outer(41).await")),
            ("outer", Some("inner(depth + 1)).await")),
            ("Select", None),
            ("Timer", None),
            ("inner", Some("core::future::pending")),
            ("Pending", None),
        ];
        let links = links.map(|(name, text)| (name.to_owned(), text.map(|text| line_of(STOCK, text))));
        assert_eq!(chain(task(tasks, "nests", 0)), links);
        assert_eq!(task(tasks, "pooled", 2)["state"], "never_spawned");
        let wait = &task(tasks, "sums", 0)["waits"][0];
        assert_eq!(
            (&wait["port"], &wait["tasks"]),
            (&"numbers".into(), &serde_json::json!(["near/ticks"])),
            "{wait:#}"
        );
    }
    let deepest = bench.run(["print", "near/nests.deepest", "--json"]).expect(0).json();
    assert_eq!(deepest["variables"][0]["value"], 42, "{deepest:#}");
}

/// The firmware says in a static which task of the pool computes.
#[test]
fn a_task_in_the_middle_of_a_poll_is_shown_as_running_whichever_of_its_pool_it_is() {
    let bench = one_board(&["busy=yes"]);
    let rounds = std::env::var("STILLPOINT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(6);
    let body = line_of(WAITS, "SPINNING.store(number + 1");
    let (mut seen, mut tries) = (0, 0);
    while seen < rounds {
        tries += 1;
        assert!(tries < 20 * rounds, "the task computes most of the time");
        bench.run(["halt"]).expect(0);
        let spinning = bench.run(["print", "waits::SPINNING", "--json"]).expect(0).json();
        let spinning = spinning["values"][0]["value"].as_u64().unwrap();
        let tasks = bench.run(["tasks", "--json"]).expect(0).json();
        let is_running = |task: &&Value| task["node"] == "near" && task["state"] == "running";
        let running: Vec<&Value> = tasks["tasks"].as_array().unwrap().iter().filter(is_running).collect();
        if spinning > 0 {
            seen += 1;
            let [one] = running[..] else { panic!("one task runs: {running:#?}") };
            assert_eq!(
                (one["name"].as_str(), one["instance"][0].as_u64()),
                (Some("spins"), Some(spinning - 1)),
                "{one:#}"
            );
            let line = one["line"]["line"].as_u64().unwrap();
            assert!((body..body + 7).contains(&line), "line {line} is in the loop that begins at {body}");
            assert!(one["chain"].is_null() && one["backtrace"].is_object(), "its old state is not shown: {one:#}");
        }
        bench.run(["resume"]).expect(0);
    }
}

#[test]
fn the_table_of_waits_names_the_task_and_line_to_blame_in_three_stuck_firmwares() {
    let blamed = |mode: &str, name: &str| {
        let bench = one_board(&[&format!("stuck={mode}")]);
        let tasks = halted_when(&bench, "the firmware is stuck", |tasks| is_waiting(tasks, name));
        let why = bench.run(["tasks", "--why"]).expect(0).out;
        (tasks, why)
    };
    let (tasks, why) = blamed("wakeup", "forgets");
    let forgets = task(&tasks, "forgets", 0);
    assert_eq!(forgets["line"]["line"], line_of(WAITS, "poll_fn(|_| if IS_DONE"));
    assert!(why.contains("near/forgets") && why.contains("waits for poll_fn at "), "{why}");

    let (tasks, why) = blamed("calls", "calls");
    let other = ["far/calls", "near/calls"];
    for task in tasks["tasks"].as_array().unwrap().iter().filter(|task| task["name"] == "calls") {
        assert_eq!(task["line"]["line"], line_of(WAITS, "client.call(&1)"), "{task:#}");
        let wait = &task["waits"][0];
        assert_eq!((&wait["kind"], &wait["circle"]), (&"call".into(), &true.into()), "{task:#}");
        let from = wait["tasks"][0].as_str().unwrap();
        assert!(
            other.iter().any(|other| from.starts_with(other)) && !from.starts_with(task["node"].as_str().unwrap()),
            "{task:#}"
        );
    }
    assert_eq!(why.matches("a circle of waits").count(), 2, "{why}");

    let (tasks, _) = blamed("unread", "sends");
    let wait = &task(&tasks, "sends", 0)["waits"][0];
    assert_eq!(task(&tasks, "sends", 0)["line"]["line"], line_of(WAITS, "outbox.send(&letter)"));
    assert_eq!(
        (&wait["kind"], &wait["port"], &wait["node"]),
        (&"send".into(), &"data".into(), &"far".into()),
        "{wait:#}"
    );
    assert_eq!(wait["tasks"], serde_json::json!(["far/ignores"]), "{wait:#}");
    let line = line_of(WAITS, "TURNS.store(inbox.recv()") - 1;
    assert!(wait["doing"].as_str().unwrap().ends_with(&format!("waits.rs:{line}")), "{wait:#}");
}

/// A letter, as the firmware makes it from its number.
fn letter(number: u64) -> Value {
    let items = |count| 0..count;
    let map = if number % 2 == 1 { serde_json::json!({ number.to_string(): true }) } else { serde_json::json!({}) };
    serde_json::json!({
        "number": number,
        "text": "äb".repeat(number as usize % 4),
        "list": items(number % 5).map(|item| number + item).collect::<Vec<_>>(),
        "queue": items(number % 4).rev().collect::<Vec<_>>(),
        "map": map,
    })
}

/// In messages and in statics: the firmware is compiled with the real crate.
#[test]
fn collections_of_heapless_0_8_are_decoded() {
    let bench = one_board(&["stuck=unread"]);
    halted_when(&bench, "the channel is full", |tasks| is_waiting(tasks, "sends"));
    let cut = bench.run(["cut", "--json"]).expect(0).json();
    let channels = cut["channels"].as_array().unwrap();
    let data = channels.iter().find(|channel| channel["carries"] == "Letter").unwrap_or_else(|| panic!("{cut:#}"));
    let values: Vec<&Value> = data["in_flight"].as_array().unwrap().iter().map(|message| &message["value"]).collect();
    assert_eq!(values, (3..7).map(letter).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    // The fifth waits for room.
    let written = bench.run(["print", "waits::WRITTEN", "--depth", "4", "--json"]).expect(0).json();
    for field in ["number", "text", "list", "queue"] {
        assert_eq!(written["values"][0]["value"][field], letter(7)[field], "{written:#}");
    }
}

/// Halts at arbitrary moments. What a task recorded last tells at which line it is suspended.
#[test]
fn the_awaited_line_of_each_task_of_every_demo_is_what_its_last_event_implies() {
    let rounds: usize = std::env::var("STILLPOINT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(2);
    let chosen = std::env::var("STILLPOINT_DEMO").ok();
    for demo in DEMOS.iter().filter(|demo| chosen.as_ref().is_none_or(|chosen| chosen == demo.name)) {
        let bench = if demo.is_alone { alone(demo.name, demo.words) } else { Bench::with_words(demo.name, demo.words) };
        let mut checked: BTreeMap<&str, usize> = BTreeMap::new();
        for round in 0..rounds {
            bench.expect_progress();
            bench.run(["halt"]).expect(0);
            let cut = bench.run(["cut", "--history", "1000", "--json"]).expect(0).json();
            let events = cut["history"]["events"].as_array().unwrap();
            for task in cut["tasks"]["tasks"].as_array().unwrap() {
                let expected = demo.tasks.iter().find(|(name, _)| task["name"] == *name);
                let is_suspended = task["state"] == "waiting" || task["state"] == "ready";
                let (Some(expected), true) = (expected, is_suspended) else { continue };
                let Some((event, lines)) = implied(demo, expected, &task["node"], events) else { continue };
                let line = task["line"]["line"].as_u64();
                assert!(
                    line.is_some_and(|line| lines.contains(&line)),
                    "{}, halt {round}: after {event} one of the lines {lines:?} is awaited: {task:#}",
                    demo.name
                );
                *checked.entry(expected.0).or_default() += 1;
            }
            bench.run(["resume"]).expect(0);
        }
        println!("{}: {rounds} halts, suspended tasks checked: {checked:?}", demo.name);
        assert!(!checked.is_empty(), "no task of {} was suspended", demo.name);
    }
}

/// Each word of the storage of a task is overwritten in turn, in a dump.
#[test]
fn damaged_storage_of_a_task_is_named_and_the_other_tasks_are_shown_as_before() {
    let bench = one_board(&[]);
    let sound =
        halted_when(&bench, "every task waits", |tasks| is_waiting(tasks, "locks") && is_waiting(tasks, "nests"));
    bench.run(["dump", "x.dump"]).expect(0);
    bench.run(["down"]).expect(0);
    let dump = std::fs::read(bench.path("x.dump")).unwrap();
    let address = |name: &str| task(&sound, name, 0)["address"].as_u64().unwrap() as u32;
    let start = address("nests");
    let all = sound["tasks"].as_array().unwrap();
    let next = all.iter().map(|task| task["address"].as_u64().unwrap() as u32).filter(|at| *at > start).min().unwrap();
    let length = (next - start).min(160);

    let file = stillpoint::config::SystemFile::read(&bench.system_file()).unwrap();
    let mut debug = stillpoint::DebugInfo::default();
    let mut look = |changed: &[u8]| {
        std::fs::write(bench.path("damaged.dump"), changed).unwrap();
        let dump = stillpoint::dump::Dump::open(&bench.path("damaged.dump")).unwrap();
        let report = dump.system(Some(&file)).unwrap().tasks(&mut debug).unwrap();
        serde_json::to_value(report).unwrap()
    };
    let others = |tasks: &Value| -> Vec<String> {
        let all = tasks["tasks"].as_array().unwrap().iter().filter(|task| task["name"] != "nests");
        all.map(|task| format!("{} {} {} {}", task["node"], task["name"], task["state"], task["line"])).collect()
    };
    let mut notes = BTreeSet::new();
    for offset in (0..length).step_by(4) {
        let tasks = look(&damaged::overwrite(&dump, start + offset, &[0xEE; 4]));
        assert_eq!(others(&tasks), others(&sound), "word {offset} of nests is damaged");
        let note = task(&tasks, "nests", 0)["note"].as_str().unwrap_or_default().to_owned();
        notes.insert(note);
    }
    let says = |text: &str| notes.iter().any(|note| note.starts_with(text));
    assert!(says("damaged: no state has the number 238"), "{notes:?}");
    assert!(says("damaged: its executor cannot be read"), "{notes:?}");
    let tasks = look(&damaged::overwrite(&dump, start, &vec![0xEE; length as usize]));
    assert!(task(&tasks, "nests", 0)["note"].as_str().unwrap().starts_with("damaged"), "{tasks:#}");
}

#[test]
fn elf_files_without_debug_information_of_another_compiler_or_of_another_firmware_are_named() {
    let bench = one_board(&[]);
    halted_when(&bench, "every task waits", |tasks| is_waiting(tasks, "locks") && is_waiting(tasks, "nests"));
    let elf = std::fs::read(bench.path("firmware.elf")).unwrap();
    let with = |names: &[(&str, &str)], code: i32| {
        std::fs::write(bench.path("firmware.elf"), damaged::rename(&elf, names)).unwrap();
        bench.run(["tasks"]).expect(code).out
    };
    let none = with(&[(".debug_", ".dabug_")], 1);
    assert!(none.contains("has no debug information; build it with `debug = 2`"), "{none}");

    // As by a compiler to come, whose names differ.
    let version = ("rustc version 1.", "rustc version 7.");
    let line = line_of(WAITS, "outer(41).await");
    let awaited = with(&[version, ("__awaitee", "__awaited")], 0);
    assert!(awaited.contains(&format!("waits.rs:{line}")), "the line is known: {awaited}");
    assert!(awaited.contains("does not say what it awaits; the firmware was built by "), "{awaited}");
    assert!(awaited.contains("rustc version 7."), "{awaited}");
    let future = with(&[version, ("{async_fn_env#", "{async_fn_sta#")], 0);
    let task = future.lines().find(|line| line.contains("nests")).expect("the task is shown");
    assert!(task.contains("near"), "{future}");
    let storage = with(&[version, ("TaskStorage<", "TaskStorege<")], 0);
    let task = storage.lines().find(|line| line.contains("nests")).expect("the task is shown");
    assert!(task.contains("unknown") && storage.contains("rustc version 7."), "{storage}");
    let neither = with(&[version, ("TaskStorage<", "TaskStorege<"), ("TaskPoolHolder<", "TaskPoolHaldor<")], 1);
    assert!(neither.contains("rustc version 7.") && neither.contains("has no task of embassy-executor"), "{neither}");

    std::fs::copy(cli::firmware("token_ring"), bench.path("firmware.elf")).unwrap();
    bench.run(["tasks"]).expect(2).expect_err("what is on it is not");
    std::fs::write(bench.path("firmware.elf"), &elf).unwrap();
    bench.run(["tasks"]).expect(0);
}

/// Every event of this task says at which line it waits next, in which function.
#[test]
fn a_task_with_many_awaits_is_shown_at_the_one_that_its_last_event_names_with_the_futures_around_it() {
    let rounds: usize = std::env::var("STILLPOINT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(6);
    let bench = one_board(&["steps=yes"]);
    let (mut checked, mut places) = (0, BTreeSet::new());
    for round in 0..rounds {
        bench.expect_progress();
        bench.run(["halt"]).expect(0);
        let cut = bench.run(["cut", "--history", "1000", "--json"]).expect(0).json();
        let events = cut["history"]["events"].as_array().unwrap();
        for task in cut["tasks"]["tasks"].as_array().unwrap().iter().filter(|task| task["name"] == "steps") {
            if task["state"] != "waiting" && task["state"] != "ready" {
                continue;
            }
            let (event, expected) = step(WAITS, &task["node"], events).expect("it has recorded where it goes");
            let lines: Vec<u64> = chain(task).into_iter().filter_map(|(_, line)| line).collect();
            assert_eq!(lines, expected, "halt {round}: after {event}: {task:#}");
            checked += 1;
            places.insert(event);
        }
        bench.run(["resume"]).expect(0);
    }
    println!("{rounds} halts, {checked} suspended tasks, at {places:?}");
    assert!(checked >= rounds && places.len() >= 2, "{checked} tasks at {places:?}");
}

#[test]
fn the_last_events_after_a_crash_without_a_host_are_those_of_a_recording_of_the_same_run() {
    let bench = Bench::new("faults");
    bench.write_words(&["crash=panic"]);
    bench.run(["up"]).expect(0);
    // The crash may come before or after the command has seen every node run.
    bench.run(["run"]);
    let crashed = || {
        let status = bench.run(["status", "--json"]).json();
        let nodes = status["nodes"].as_array().unwrap();
        Ok(nodes.iter().all(|node| node["state"] != "running" && node["state"] != "draining").then_some(()))
    };
    wait_for("the crash has stopped every node", crashed).unwrap();
    let cut = bench.run(["cut", "--history", "1000000", "--json"]).json();
    let why = bench.run(["tasks", "--why"]).expect(0).out;
    assert!(why.contains("its core has crashed: panic at "), "{why}");
    let last: Vec<&Value> = cut["history"]["events"].as_array().unwrap().iter().collect();
    bench.run(["trace", "record", "x.trace", "--events", "1"]).expect(0);
    let shown = bench.run(["show", "x.trace", "--json"]).json();
    let shown: Vec<&Value> = shown["events"].as_array().unwrap().iter().collect();
    for node in ["left0", "left1", "right0", "right1"] {
        let of = |events: &[&Value]| -> Vec<(String, String)> {
            let own = events.iter().filter(|event| event["node"] == node);
            own.map(|event| (event["event"].as_str().unwrap().into(), event["action"].as_str().unwrap().into()))
                .collect()
        };
        let (said, recorded) = (of(&last), of(&shown));
        assert!(said.len() > 20, "{node} had events: {said:?}");
        // Whoever records asks for a report, which is no event.
        assert_eq!(said, recorded[..said.len().min(recorded.len())], "{node}");
    }
    let stop = cut["history"]["stop"].as_str().unwrap();
    let fault = last.iter().find(|event| event["action"].as_str().unwrap().starts_with("fault")).expect("a fault");
    assert_eq!(fault["event"], stop);
    assert!(
        last.iter().any(|event| event["before_stop"] == true && event["node"] != fault["node"]),
        "a past elsewhere"
    );
}
