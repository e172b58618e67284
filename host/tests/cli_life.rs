//! The program `stillpoint`: from boards that are off to boards that run, and back.
mod cli;

use cli::Bench;

#[test]
fn boards_come_up_once_are_flashed_run_and_go_down() {
    let bench = Bench::new("token_ring");
    let up = bench.run(["up"]).expect(0);
    let golden = "board A started, process #\nboard B started, process #\nflash them with `stillpoint flash`\n";
    assert_eq!(up.masked(&["process "]), golden);
    let again = bench.run(["up"]).expect(0);
    let golden = "board A is up already, process #\nboard B is up already, process #\n";
    assert_eq!(again.masked(&["process "]), golden);

    let empty = bench.run(["status"]).expect(1);
    empty.expect_out("A.0  missing   it is empty; write its firmware with `stillpoint flash`");
    let flash = bench.run(["flash"]).expect(0);
    let golden = "board A flashed and started, # bytes\nboard B flashed and started, # bytes\n";
    assert_eq!(flash.masked(&["started, "]), golden);
    let run = bench.run(["run"]).expect(0);
    assert_eq!(run.out, "board A  runs\nboard B  runs\n", "what runs is not disturbed");
    let status = bench.run(["status"]).expect(0);
    assert_eq!(status.out, "left0   running\nleft1   running\nright0  running\nright1  running\n");
    assert_eq!(status.err, "");
    bench.expect_progress();

    let down = bench.run(["down"]).expect(0);
    assert_eq!(down.out, "board A  stopped\nboard B  stopped\n");
    let again = bench.run(["down"]).expect(0);
    assert_eq!(again.out, "board A  was not up\nboard B  was not up\n");
    bench.run(["status"]).expect(1).expect_out("start it with `stillpoint up`");
}

#[test]
fn info_shows_boards_nodes_ports_and_peers_by_their_names() {
    let bench = Bench::running("token_ring");
    let info = bench.run(["info"]).expect(0);
    for line in
        ["board A  mps2-an521, qemu, firmware.elf, wire version ", "  left0  node 0, epoch ", "    out   -> right0  "]
    {
        info.expect_out(line);
    }
    let info = bench.run(["info", "--json"]).expect(0).json();
    let left0 = &info["boards"][0]["nodes"][0];
    assert_eq!((left0["name"].as_str(), left0["stamps"].as_str()), (Some("left0"), Some("vector")));
    let ports = left0["ports"].as_array().unwrap();
    let out = ports.iter().find(|port| port["name"] == "out").expect("a port named out");
    assert_eq!((&out["direction"], &out["peer"], &out["serial"]), (&"out".into(), &"right0".into(), &true.into()));
    assert_eq!(left0["watches"][0]["name"], "holding");
}

#[test]
fn a_reset_starts_one_board_anew_and_the_system_goes_on() {
    let bench = Bench::running("token_ring");
    bench.expect_progress();
    assert_eq!(bench.run(["reset", "B"]).expect(0).out, "board B  reset\n");
    bench.run(["run"]).expect(0);
    let status = bench.run(["status"]).expect(0);
    assert_eq!(status.out, "left0   running\nleft1   running\nright0  running\nright1  running\n");
    bench.run(["reset", "C"]).expect(2).expect_err("there is no board C");
}

#[test]
fn names_in_the_system_file_go_before_those_of_the_firmware() {
    let bench = Bench::running("token_ring");
    let text = std::fs::read_to_string(bench.system_file()).unwrap();
    bench.write_system(&text.replacen("name = \"A\"", "name = \"A\"\nnodes = [\"one\"]", 1));
    let status = bench.run(["status"]).expect(0);
    assert_eq!(status.out, "one     running\nleft1   running\nright0  running\nright1  running\n");
    bench.run(["halt", "--at", "one"]).expect(0);
}
