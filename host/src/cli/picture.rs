//! `--svg` and `--html` of commands that find something: a picture of the events that show it.
use super::{CliError, Context, files};
use std::path::{Path, PathBuf};
use stillpoint::OutputFile;
use stillpoint_trace::History;
use stillpoint_trace::show::{self, Evidence};

/// Where findings are drawn.
#[derive(clap::Args)]
pub struct PictureArgs {
    /// Draw what was found into this file, as SVG: the events that show it, highlighted, with their lines of source.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The same as a page to move about in.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl PictureArgs {
    /// Whether a picture is asked for.
    pub fn is_asked(&self) -> bool {
        self.svg.is_some() || self.html.is_some()
    }

    /// Draws the findings. Without any there is nothing to draw, which is said.
    pub fn draw(
        &self,
        history: &History,
        found: &[Evidence],
        recording: &Path,
        context: &mut Context,
    ) -> Result<(), CliError> {
        let Some(first) = found.first() else {
            if self.is_asked() {
                context.out().say("note", "nothing was found, so nothing is drawn");
            }
            return Ok(());
        };
        let title = match found.len() {
            1 => first.what.clone(),
            more => format!("{} and {} more", first.what, more - 1),
        };
        let selection = show::evidence(history, found);
        for path in self.svg.iter().chain(&self.html) {
            files::check_is_other(path, recording)?;
        }
        if let Some(path) = &self.svg {
            let picture = show::svg(history, &selection, &title).svg;
            files::write(OutputFile::at(path), context, |to| to.write_all(picture.as_bytes()))?;
        }
        if let Some(path) = &self.html {
            let page = show::html(history, &selection, &title);
            files::write(OutputFile::at(path), context, |to| to.write_all(page.as_bytes()))?;
        }
        Ok(())
    }
}
