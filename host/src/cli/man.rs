//! `stillpoint man` - the manual, made from what `--help` says.
//!
//!     $ stillpoint man | man -l -
//!     $ stillpoint man --dir ~/.local/share/man/man1
use super::{CliError, Context, Exit, Line, Report, files};
use clap::CommandFactory as _;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use stillpoint::OutputFile;

/// Print the manual page of this program, or write one page for it and each of its commands.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  stillpoint man | man -l -\n  stillpoint man --dir ~/.local/share/man/man1 && man stillpoint-halt"
)]
pub struct Args {
    /// Write stillpoint.1, stillpoint-halt.1 and so on into this folder, which is made if needed.
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

#[derive(Serialize)]
struct Answer {
    folder: PathBuf,
    pages: Vec<String>,
}

pub fn run(args: &Args, context: &mut Context) -> Result<Exit, CliError> {
    let Some(folder) = &args.dir else {
        let mut page = Vec::new();
        // Writing to memory does not fail.
        let _ = clap_mangen::Man::new(Line::command()).render(&mut page);
        context.out().write(|to| to.write_all(&page));
        return Ok(Exit::Ok);
    };
    let pages = write_pages(folder, context)?;
    context.out().print(&Answer { folder: folder.clone(), pages });
    Ok(Exit::Ok)
}

fn write_pages(folder: &Path, context: &Context) -> Result<Vec<String>, CliError> {
    std::fs::create_dir_all(folder)
        .map_err(|error| CliError::Usage(format!("cannot write manual pages into {}: {error}", folder.display())))?;
    let mut line = Line::command().disable_help_subcommand(true);
    line.build();
    let mut pages = Vec::new();
    write_page(&line, folder, context, &mut pages)?;
    Ok(pages)
}

fn write_page(
    command: &clap::Command,
    folder: &Path,
    context: &Context,
    pages: &mut Vec<String>,
) -> Result<(), CliError> {
    let page = clap_mangen::Man::new(command.clone());
    let name = page.get_filename();
    files::write(OutputFile::at(&folder.join(&name)), context, |mut to| page.render(&mut to))?;
    pages.push(name);
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .try_for_each(|command| write_page(command, folder, context, pages))
}

impl Report for Answer {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "wrote {} pages into {}", self.pages.len(), self.folder.display())
    }
}
