//! Verbs that compare what is printed with a document, or write it there.

/// What to do with what is printed.
#[derive(clap::Args)]
pub struct Args {
    /// Put what is printed now into the document.
    #[arg(long)]
    pub write: bool,
}
