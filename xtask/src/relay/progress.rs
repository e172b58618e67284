//! What the user sees while the demo runs: bars on a terminal, a few lines elsewhere, or the log itself.
use std::io::IsTerminal as _;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::node::{NODES, Node};
use super::run::Watch;
use crate::say::say;

/// A way to show progress.
pub enum Progress {
    /// One bar per core.
    Bars(Vec<ProgressBar>),
    /// A line each time a quarter is done; the number says how many quarters are.
    Lines(u32),
    /// Every line of every log.
    Log,
}

impl Progress {
    /// What suits the place where standard error goes.
    pub fn new(log: bool) -> Self {
        if log {
            return Self::Log;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Lines(0);
        }
        let style = ProgressStyle::with_template("      {prefix}  {bar:40} {pos}/{len}").expect("a valid template");
        let all = MultiProgress::new();
        let bar = |node: Node| all.add(ProgressBar::new(0)).with_style(style.clone()).with_prefix(node.to_string());
        Self::Bars(NODES.map(bar).to_vec())
    }
}

impl Watch for Progress {
    fn line(&mut self, node: Node, line: &str) {
        if let Self::Log = self {
            println!("{node} | {line}");
        }
    }

    fn progress(&mut self, handled: [u32; 4], total: u32) {
        match self {
            Self::Bars(bars) => {
                for (bar, count) in bars.iter().zip(handled) {
                    bar.set_length(total.into());
                    bar.set_position(count.into());
                }
            }
            Self::Lines(quarters) => {
                let least = handled.into_iter().min().unwrap_or(0);
                let now = (u64::from(least) * 4).checked_div(total.into()).map_or(0, |now| now as u32);
                if now > *quarters {
                    *quarters = now;
                    say("progress", format_args!("{least} of {total} messages have been all round"));
                }
            }
            Self::Log => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Self::Bars(bars) = self {
            bars.iter().for_each(ProgressBar::finish_and_clear);
        }
    }
}
