//! Runs every model to exhaustion and every mutant to its end.
//!
//!     $ cargo run --release -p stillpoint-tests --bin explore
//!     model ring: 1540132 states, depth 25, exhausted, 4686 ends, 4.6 s
//!     ...
//!     mutant dropped marker: caught by "every node stops" after 11 steps
//!     ...
//!     31 passed, 0 failed
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;
use stillpoint_tests::explore::config::Config;
use stillpoint_tests::explore::models;
use stillpoint_tests::explore::search::{Counterexample, Limits, Verdict, explore};
use stillpoint_tests::explore::world::World;

const HELP: &str = "\
Explores small systems of shipped nodes exhaustively, and checks that mutants are caught.

Usage: explore [--list] [--model NAME]... [--show] [--states LIMIT] [--seconds LIMIT]

  --list           name the models and mutants
  --model NAME     only this model or mutant; may be repeated
  --show           print the run by which each mutant is caught
  --states LIMIT   give up a model that has more states (default 60000000)
  --seconds LIMIT  give up a model that takes longer (default 600)

A model that was given up counts as failed.";

/// How long a reader waits before the first word of progress, and between two.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the command line asks for.
struct Options {
    names: Vec<String>,
    limits: Limits,
    show: bool,
}

/// One thing to run, and whether it is a mutant.
#[derive(Clone, Copy)]
struct Job {
    name: &'static str,
    config: Config,
    is_mutant: bool,
}

fn main() -> ExitCode {
    let jobs = jobs();
    let options = match parse(std::env::args().skip(1), &jobs) {
        Ok(Some(options)) => options,
        Ok(None) => return ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let chosen: Vec<Job> = jobs
        .into_iter()
        .filter(|job| options.names.is_empty() || options.names.iter().any(|name| name == job.name))
        .collect();
    let passed = run_all(&chosen, &options);
    println!("{passed} passed, {} failed", chosen.len() - passed);
    if passed == chosen.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn jobs() -> Vec<Job> {
    let models = models::all().into_iter().map(|config| Job { name: config.name, config, is_mutant: false });
    let mutants = models::mutants().into_iter().map(|(name, config)| Job { name, config, is_mutant: true });
    models.chain(mutants).collect()
}

fn parse(mut arguments: impl Iterator<Item = String>, jobs: &[Job]) -> Result<Option<Options>, String> {
    let limits = Limits { states: 60_000_000, time: Duration::from_secs(600) };
    let mut options = Options { names: Vec::new(), limits, show: false };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(None);
            }
            "--list" => {
                list(jobs);
                return Ok(None);
            }
            "--model" => options.names.push(value()?),
            "--show" => options.show = true,
            "--states" => options.limits.states = number(&value()?)?,
            "--seconds" => options.limits.time = Duration::from_secs(number(&value()?)? as u64),
            other => return Err(format!("there is no option {other}")),
        }
    }
    match options.names.iter().find(|name| jobs.iter().all(|job| job.name != **name)) {
        Some(name) => Err(format!("there is no model or mutant {name:?}; --list names them")),
        None => Ok(Some(options)),
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text} is not a number"))
}

fn list(jobs: &[Job]) {
    for job in jobs {
        match job.is_mutant {
            false => println!("model  {:<24} {}", job.name, job.config.about),
            true => println!("mutant {:<40} of {}", job.name, job.config.name),
        }
    }
}

/// Runs the jobs on as many threads as there are cores; says how many passed. Lines come in the order of the jobs.
fn run_all(jobs: &[Job], options: &Options) -> usize {
    let next = Mutex::new(0..jobs.len());
    let done = Mutex::new((0, vec![None; jobs.len()], 0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let work = || {
        while let Some(index) = { next.lock().expect("no thread panics").next() } {
            let (passed, text) = run(&jobs[index], options);
            let (count, lines, printed) = &mut *done.lock().expect("no thread panics");
            *count += usize::from(passed);
            lines[index] = Some(text);
            while let Some(text) = lines.get_mut(*printed).and_then(Option::take) {
                println!("{text}");
                *printed += 1;
            }
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    done.into_inner().expect("no thread panics").0
}

fn run(job: &Job, options: &Options) -> (bool, String) {
    let world = World::new(job.config);
    let mut next_word = PATIENCE;
    let report = explore(&world, options.limits, |so_far| {
        if so_far.took > next_word {
            eprintln!("{}: {} states, depth {}, {:.0?} ...", job.name, so_far.states, so_far.depth, so_far.took);
            next_word = so_far.took + PATIENCE;
        }
    });
    let (states, depth, seconds) = (report.states, report.depth, report.took.as_secs_f32());
    if job.is_mutant {
        return match report.verdict {
            Verdict::Broken(found) => {
                let (property, steps) = (found.broken.property, found.steps.len());
                let run = if options.show { format!("\n{}", transcript(&found)) } else { String::new() };
                (true, format!("mutant {}: caught by \"{property}\" after {steps} steps{run}", job.name))
            }
            Verdict::Exhausted => (false, format!("mutant {}: NOT caught in {states} states", job.name)),
            Verdict::NotExhausted(why) => (false, format!("mutant {}: NOT caught, {why}: {states} states", job.name)),
        };
    }
    let figures = format!("model {}: {states} states, depth {depth}", job.name);
    let took = format!("{} ends, {seconds:.1} s", report.ends);
    match report.verdict {
        Verdict::Exhausted => match world.unseen().map(|sight| format!("{sight:?}")).collect::<Vec<_>>() {
            unseen if unseen.is_empty() => (true, format!("{figures}, exhausted, {took}")),
            unseen => (false, format!("{figures}, exhausted, {took}, but it never met {}", unseen.join(", "))),
        },
        Verdict::NotExhausted(why) => (false, format!("{figures}, NOT exhausted ({why}), {took}")),
        Verdict::Broken(found) => (false, format!("{figures}, BROKEN, {took}\n{}", transcript(&found))),
    }
}

fn transcript(found: &Counterexample) -> String {
    let mut text = format!("  \"{}\" does not hold: {}", found.broken.property, found.broken.seen);
    for (number, (action, state)) in found.steps.iter().enumerate() {
        text += &format!("\n  {}. {action}", number + 1);
        state.lines().for_each(|line| text += &format!("\n       {line}"));
    }
    text
}
