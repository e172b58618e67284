//! Instructions of this program, counted by callgrind.
use anyhow::Context as _;
use std::io::ErrorKind;
use std::process::Command;

/// Instructions for one time more of what `words` say, so that starting and ending do not count. `None` without valgrind.
pub fn per_time(words: &[&str], few: u64, many: u64) -> anyhow::Result<Option<u64>> {
    let (Some(less), Some(more)) = (count(words, few)?, count(words, many)?) else { return Ok(None) };
    Ok(Some((more.saturating_sub(less) + (many - few) / 2) / (many - few)))
}

fn count(words: &[&str], times: u64) -> anyhow::Result<Option<u64>> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(std::env::current_exe()?);
    let run = match valgrind.args(words).arg(times.to_string()).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("valgrind is missing: instructions are not counted");
            return Ok(None);
        }
        run => run.context("valgrind does not start")?,
    };
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    anyhow::ensure!(run.status.success(), "valgrind fails: {said}");
    let count = said.lines().find_map(|line| line.split_once("Collected :").map(|(_, count)| count.trim().to_owned()));
    let count = count.and_then(|count| count.parse().ok());
    count.map(Some).with_context(|| format!("callgrind does not say what it counted: {said}"))
}
