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

use crate::History;
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

/// Writes a trace in a form.
pub fn export(history: &History, format: Format, out: &mut (dyn Write + Send)) -> io::Result<()> {
    match format {
        Format::Shiviz => shiviz::write(history, out),
        Format::Perfetto => perfetto::write(history, out),
        Format::Json => json::write(history, out),
        Format::Csv => csv::write(history, out),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write(history, out),
    }
}
