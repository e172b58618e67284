//! Counting instructions: this program runs itself under callgrind, which writes a file after each piece of work.
use std::collections::BTreeMap;
use std::fmt;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io};

/// The argument with which this program does the work and nothing else.
pub const CHILD: &str = "--work";

/// The function between whose entry and exit callgrind counts.
const MEASURED: &str = "stillpoint_bench_measured";

/// A piece of work.
pub struct Work {
    /// Its name among the counts.
    pub name: String,
    /// How many events, or calls, it is: the count is of one.
    pub times: usize,
    /// Makes what is needed, which is not counted, and gives what is.
    pub prepare: Box<dyn FnOnce() -> Box<dyn FnMut()>>,
}

impl Work {
    /// Work that `prepare` makes ready.
    pub fn new<W: FnMut() + 'static>(name: String, times: usize, prepare: impl FnOnce() -> W + 'static) -> Self {
        Self { name, times, prepare: Box::new(|| Box::new(prepare())) }
    }
}

// The name is what callgrind looks for.
#[unsafe(no_mangle)]
#[inline(never)]
fn stillpoint_bench_measured(work: &mut dyn FnMut()) {
    work();
    // So that the work is not the last thing here, and this function is left after it.
    black_box(());
}

/// Does all of the work, and says the name of each piece.
pub fn work_off(works: Vec<Work>) {
    for Work { name, times, prepare } in works {
        let mut work = prepare();
        stillpoint_bench_measured(&mut *work);
        println!("{times} {name}");
    }
}

/// Why nothing was counted.
#[derive(Debug)]
pub enum CountError {
    /// There is no valgrind.
    NoValgrind,
    /// Something could not be run, read or written.
    Io(io::Error),
    /// The run ended badly.
    Failed(String),
    /// There are not as many counts as pieces of work.
    Odd { counts: usize, works: usize },
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoValgrind => f.write_str(
                "instructions are counted with valgrind, which is not installed: `sudo apt-get install valgrind` \
                 (Fedora: `dnf`, Arch: `pacman -S valgrind`), then repeat the command",
            ),
            Self::Io(error) => write!(f, "the benchmarks could not be run: {error}"),
            Self::Failed(said) => write!(f, "the benchmarks ended badly under valgrind:\n{said}"),
            Self::Odd { counts, works } => {
                write!(
                    f,
                    "callgrind counted {counts} times for {works} pieces of work: is this another valgrind than 3.19 or later?"
                )
            }
        }
    }
}

impl From<io::Error> for CountError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The instructions of every piece of work, for one event or call.
pub fn count() -> Result<BTreeMap<String, f64>, CountError> {
    let folder = env::temp_dir().join(format!("stillpoint-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let counted = count_in(&folder);
    fs::remove_dir_all(&folder)?;
    counted
}

fn count_in(folder: &Path) -> Result<BTreeMap<String, f64>, CountError> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no"])
        .arg(format!("--toggle-collect={MEASURED}"))
        .arg(format!("--dump-after={MEASURED}"))
        .arg(format!("--callgrind-out-file={}", folder.join("part").display()))
        .arg(env::current_exe()?)
        .arg(CHILD)
        .stdin(Stdio::null())
        .output();
    let run = match run {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(CountError::NoValgrind),
        run => run?,
    };
    let said = String::from_utf8_lossy(&run.stdout);
    if !run.status.success() {
        return Err(CountError::Failed(format!("{said}{}", String::from_utf8_lossy(&run.stderr))));
    }
    let works: Vec<(f64, &str)> = said
        .lines()
        .filter_map(|line| line.split_once(' ').and_then(|(times, name)| Some((times.parse().ok()?, name))))
        .collect();
    let mut counts = Vec::new();
    // One after another, until there is no further.
    while let Ok(part) = fs::read_to_string(folder.join(format!("part.{}", counts.len() + 1))) {
        let Some(total) = total(&part) else { break };
        counts.push(total);
    }
    // Whatever was counted after the last piece of work is a part too.
    if counts.len() < works.len() || counts.len() > works.len() + 1 {
        return Err(CountError::Odd { counts: counts.len(), works: works.len() });
    }
    Ok(works.iter().zip(counts).map(|((times, name), total)| ((*name).to_owned(), tenths(total / times))).collect())
}

/// The instructions in one of callgrind's files.
fn total(part: &str) -> Option<f64> {
    let line = |key: &str| part.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    line("summary:").or_else(|| line("totals:"))
}

/// To a tenth.
pub fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
