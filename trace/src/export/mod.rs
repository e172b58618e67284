//! A trace in the forms that other tools read.
mod csv;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod perfetto;
mod shiviz;
#[cfg(test)]
mod tests;
mod time;

pub use shiviz::SHIVIZ_PARSER;
pub use time::common_time;

use crate::Restricted;
use std::io::{self, Write};

/// A form of export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For ShiViz, with its default parser expression.
    Shiviz,
    /// For the Perfetto viewer: its native form, with flows for messages.
    Perfetto,
    /// One JSON object: header, notes, events.
    Json,
    /// A line an event, with names of columns.
    Csv,
    /// Columns, for DuckDB, DataFusion, Spark and the like.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Writes what is shown of a trace in a form. What is hidden still orders what is written.
///
/// # Example: a line for each receive, and one of names
/// ```
/// use stillpoint_trace::{Sketch, View, export};
/// let mut sketch = Sketch::new(&["a", "b"]);
/// sketch.message(0, 1);
/// let (history, mut text) = (sketch.history(), Vec::new());
/// let shown = View::parse(&["kinds=recv"], &history.header)?.of(&history);
/// export::export(&shown, export::Format::Csv, &mut text)?;
/// assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export(shown: &Restricted<'_>, format: Format, out: &mut (dyn Write + Send)) -> io::Result<()> {
    match format {
        Format::Shiviz => shiviz::write(shown, out),
        Format::Perfetto => perfetto::write(shown, out),
        Format::Json => json::write(shown, out),
        Format::Csv => csv::write(shown, out),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write(shown, out),
    }
}
