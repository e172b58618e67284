//! `stillpoint print`: statics of the demo, on halted boards and out of a dump when the boards are gone.
mod cli;

use cli::Bench;

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
