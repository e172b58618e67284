//! `stillpoint doctor` - what is wrong around the boards, and the command that mends it.
//!
//!     $ stillpoint doctor
//!     ok     system file   stillpoint.toml: 2 boards, 1 link
//!     wrong  firmware      board A: cannot read ring: No such file or directory (os error 2)
//!                          fix: cargo build --target thumbv8m.main-none-eabi --release --bin ring
use super::{CliError, Context, Exit, Report, paint};
use serde::Serialize;
use std::fmt;
use stillpoint::doctor::{Finding, Surroundings, Verdict, examine};

/// Check probes, QEMU, toolchain, firmware, permissions and leftovers; say what is wrong and the command that mends it.
#[derive(clap::Args)]
#[command(
    after_help = "Nothing is changed. Exit code 1 if something is wrong; what no board of this system needs is a note.\n\n\
                        Example:\n  stillpoint doctor\n  stillpoint doctor --json | jq -r '.findings[] | select(.verdict == \"wrong\") | .fix'"
)]
pub struct Args {}

#[derive(Serialize)]
struct Answer {
    wrong: usize,
    findings: Vec<Finding>,
}

pub fn run(_: &Args, context: &mut Context) -> Result<Exit, CliError> {
    // The checks attach by themselves.
    context.detach()?;
    let findings = examine(&Surroundings::of_this_machine(context.named_file()));
    let wrong = findings.iter().filter(|finding| finding.verdict == Verdict::Wrong).count();
    context.out().print(&Answer { wrong, findings });
    Ok(if wrong == 0 { Exit::Ok } else { Exit::Bad })
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.findings.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
        let indent = " ".repeat("wrong".len() + 2 + width + 2);
        for Finding { check, verdict, what, fix } in &self.findings {
            let (style, word) = match verdict {
                Verdict::Ok => (paint::GOOD, "ok"),
                Verdict::Note => (paint::WARN, "note"),
                Verdict::Wrong => (paint::BAD, "wrong"),
            };
            // What blames a line of the system file takes several lines.
            let what = what.replace('\n', &format!("\n{indent}"));
            writeln!(f, "{style}{word:5}{style:#}  {}{check:width$}{:#}  {what}", paint::NAME, paint::NAME)?;
            if let Some(fix) = fix {
                writeln!(f, "{indent}{}fix:{:#} {fix}", paint::FAINT, paint::FAINT)?;
            }
        }
        match self.wrong {
            0 => writeln!(f, "all is well"),
            1 => writeln!(f, "1 thing is wrong"),
            wrong => writeln!(f, "{wrong} things are wrong"),
        }
    }
}
