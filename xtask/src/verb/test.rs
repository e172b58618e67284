//! `cargo xtask test` - run the tests, in tiers.
//!
//! ```text
//! $ cargo xtask test core lint
//! ...
//! core     passed    3.1 s  the algorithms on the host, and that they build for the smallest chips
//! lint     passed   12.7 s  format, lints and documentation
//! 2 passed, 0 failed
//! ```
use std::fmt::Write as _;
use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::command;
use crate::nearest::nearest;
use crate::say::{say, sentence};
use crate::tier::{SEARCHES, TIERS, Tier};
use crate::workspace;

/// Which tiers to run.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  cargo xtask test              everything\n  cargo xtask test core target  two tiers\n  cargo xtask test --list       what each tier proves"
)]
pub struct Args {
    /// The tiers to run, in this order; all when none is named.
    tiers: Vec<String>,
    /// List the tiers and what each proves.
    #[arg(long)]
    list: bool,
}

/// How one tier went.
struct Outcome {
    tier: &'static Tier,
    time: Duration,
    error: Option<anyhow::Error>,
}

/// Runs the chosen tiers to the end, whatever fails, then says which did.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.list {
        print!("{}", listing());
        return Ok(());
    }
    let outcomes = match args.tiers.is_empty() {
        true => run_all(),
        false => chosen(&args.tiers)?.into_iter().map(run_tier).collect(),
    };
    print!("\n{}", summary(&outcomes));
    let failed: Vec<_> = outcomes.iter().filter(|outcome| outcome.error.is_some()).map(|o| o.tier.name).collect();
    if !failed.is_empty() {
        bail!("failed: {}; repeat with `cargo xtask test {}`", failed.join(", "), failed.join(" "));
    }
    Ok(())
}

fn run_tier(tier: &'static Tier) -> Outcome {
    announced(tier, || {
        let start = Instant::now();
        let error = (tier.run)().err();
        Outcome { tier, time: start.elapsed(), error }
    })
}

fn announced(tier: &'static Tier, run: impl FnOnce() -> Outcome) -> Outcome {
    say("test", format_args!("{}: {}", tier.name, tier.proves));
    let outcome = run();
    if let Some(error) = &outcome.error {
        say("failed", format_args!("{}: {}", tier.name, sentence(error)));
    }
    outcome
}

/// Runs every tier. The searches run beside the others, and what they print appears in their turn.
fn run_all() -> Vec<Outcome> {
    let is_search = |tier: &&Tier| SEARCHES.contains(&tier.name);
    let (sender, searched) = channel();
    std::thread::spawn(move || {
        for tier in TIERS.iter().filter(is_search) {
            // Without a receiver the run is over.
            let _ = sender.send(search(tier));
        }
    });
    let run = |tier| match is_search(&tier) {
        false => run_tier(tier),
        // They come in the order of the table.
        true => announced(tier, || {
            let (outcome, printed) = searched.recv().expect("the thread of the searches does not panic");
            print!("{printed}");
            outcome
        }),
    };
    TIERS.iter().map(run).collect()
}

/// Runs a tier in a process of the lowest priority, and returns what it printed.
fn search(tier: &'static Tier) -> (Outcome, String) {
    let path = workspace::target_dir().join("tmp").join(format!("tier-{}.out", tier.name));
    let run = || -> anyhow::Result<()> {
        std::fs::create_dir_all(path.with_file_name("")).context("cannot make a folder for temporary files")?;
        let printed = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let errors = printed.try_clone()?;
        let mut nice = Command::new("nice");
        nice.args(["-n", "19"]).arg(workspace::this_program()).args(["test", tier.name]);
        Ok(command::run(nice.stdin(Stdio::null()).stdout(printed).stderr(errors))?)
    };
    let start = Instant::now();
    let error = run().err();
    let printed = std::fs::read(&path).unwrap_or_default();
    (Outcome { tier, time: start.elapsed(), error }, String::from_utf8_lossy(&printed).into_owned())
}

/// The tiers named, or all of them.
fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Tier>> {
    if names.is_empty() {
        return Ok(TIERS.iter().collect());
    }
    let find = |name: &String| {
        TIERS.iter().find(|tier| tier.name == name).ok_or_else(|| {
            let near = nearest(name, TIERS.iter().map(|tier| tier.name));
            let hint = near.map_or_else(String::new, |near| format!(" Did you mean `{near}`?"));
            anyhow::anyhow!("there is no tier {name:?}.{hint} The tiers are:\n{}", listing())
        })
    };
    names.iter().map(find).collect()
}

fn listing() -> String {
    TIERS.iter().fold(String::new(), |mut text, tier| {
        let _ = writeln!(text, "  {:<8} {}", tier.name, tier.proves);
        text
    })
}

fn summary(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for Outcome { tier, time, error } in outcomes {
        let word = if error.is_some() { "FAILED" } else { "passed" };
        let _ = writeln!(text, "{:<8} {word} {:>7.1} s  {}", tier.name, time.as_secs_f64(), tier.proves);
        if let Some(error) = error {
            let _ = writeln!(text, "         {}", sentence(error));
        }
    }
    let failed = outcomes.iter().filter(|outcome| outcome.error.is_some()).count();
    let _ = writeln!(text, "{} passed, {failed} failed", outcomes.len() - failed);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(typed: &[&str]) -> anyhow::Result<Vec<&'static str>> {
        let typed: Vec<String> = typed.iter().map(|&name| name.to_owned()).collect();
        Ok(chosen(&typed)?.into_iter().map(|tier| tier.name).collect())
    }

    #[test]
    fn no_name_means_every_tier_and_names_keep_their_order() {
        assert_eq!(names(&[]).unwrap().len(), TIERS.len());
        assert_eq!(names(&["lint", "core"]).unwrap(), ["lint", "core"]);
    }

    #[test]
    fn an_unknown_tier_suggests_the_nearest_and_lists_all() {
        let error = names(&["core", "lintt"]).unwrap_err().to_string();
        assert!(error.contains("Did you mean `lint`?"), "{error}");
        assert!(TIERS.iter().all(|tier| error.contains(tier.proves)), "{error}");
    }

    #[test]
    fn the_summary_ends_in_the_counts_and_shows_what_failed() {
        let outcome = |index: usize, error| Outcome { tier: &TIERS[index], time: Duration::from_millis(1234), error };
        let text = summary(&[outcome(0, None), outcome(1, Some(anyhow::anyhow!("two tests differ")))]);
        assert!(text.ends_with("1 passed, 1 failed\n"), "{text}");
        assert!(text.contains("two tests differ") && text.contains("1.2 s"), "{text}");
    }
}
