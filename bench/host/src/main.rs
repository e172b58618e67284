//! What the host's work costs: `cargo run --release -p stillpoint-bench-host` prints one JSON object, a section of
//! BENCHMARKS.md, on standard output and its progress on standard error.
//!
//! It runs itself under `valgrind --tool=callgrind` and counts the instructions of each piece of work, so the counts are
//! the same on every run; and by the clock where what is wanted is too long for that.
mod callgrind;
mod check;
mod clocks;
mod crdts_order;
mod detection;
mod fixed_seed;
mod growth;
mod input;
mod logs;
mod order;
mod section;

use callgrind::Work;
use std::process::ExitCode;

/// Everything whose instructions are counted.
fn works() -> Vec<Work> {
    [clocks::works(), order::works(), logs::works(), detection::works(), check::works()].into_iter().flatten().collect()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => match section::make() {
            Ok(section) => println!("{section}"),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        },
        [callgrind::CHILD] => callgrind::work_off(works()),
        [growth::CHILD, events] => growth::stream(events),
        _ => {
            eprintln!("it takes no arguments: it prints a section of BENCHMARKS.md");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
