//! Columns, in the form that DuckDB, DataFusion, Spark and others query.
use crate::{Restricted, Row};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows that are held at once.
const GROUP: usize = 100_000;

/// The columns of [`Row`].
const SCHEMA: &str = "
message trace {
  required int64 place;
  required binary event (STRING);
  required binary node (STRING);
  required int32 epoch;
  required int32 number;
  optional int64 time;
  optional double micros;
  required int64 wall;
  required binary kind (STRING);
  required binary action (STRING);
  required int32 arg;
  optional int32 value;
  optional int64 message;
  optional binary partner (STRING);
  optional binary unknown (STRING);
  required group clock (LIST) {
    repeated group list {
      required int64 element;
    }
  }
}";

type Group<'a, W> = SerializedRowGroupWriter<'a, W>;

pub(super) fn write(shown: &Restricted<'_>, out: &mut (dyn Write + Send)) -> io::Result<()> {
    write_all(shown, out).map_err(io::Error::other)
}

fn write_all(shown: &Restricted<'_>, out: &mut (dyn Write + Send)) -> Result<(), ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(WriterProperties::new()))?;
    let mut first = 0;
    while first < shown.len() {
        let end = shown.len().min(first + GROUP);
        let rows: Vec<Row<'_>> =
            shown.places()[first..end].iter().map(|place| Row::of(shown.history, *place)).collect();
        let mut group = writer.next_row_group()?;
        write_group(&mut group, &rows)?;
        group.close()?;
        first = end;
    }
    writer.close().map(drop)
}

fn write_group<W: Write + Send>(group: &mut Group<'_, W>, rows: &[Row<'_>]) -> Result<(), ParquetError> {
    column::<Int64Type, W>(group, rows, |row| Some(row.place as i64))?;
    column::<ByteArrayType, W>(group, rows, |row| Some(row.event.as_str().into()))?;
    column::<ByteArrayType, W>(group, rows, |row| Some(row.node.as_str().into()))?;
    column::<Int32Type, W>(group, rows, |row| Some(row.epoch.into()))?;
    column::<Int32Type, W>(group, rows, |row| Some(row.number as i32))?;
    column::<Int64Type, W>(group, rows, |row| row.time.map(|time| time.0 as i64))?;
    column::<DoubleType, W>(group, rows, |row| row.micros)?;
    column::<Int64Type, W>(group, rows, |row| Some(row.wall as i64))?;
    column::<ByteArrayType, W>(group, rows, |row| Some(row.kind.into()))?;
    column::<ByteArrayType, W>(group, rows, |row| Some(row.action.as_str().into()))?;
    column::<Int32Type, W>(group, rows, |row| Some(row.arg.into()))?;
    column::<Int32Type, W>(group, rows, |row| row.value)?;
    column::<Int64Type, W>(group, rows, |row| row.message.map(i64::from))?;
    column::<ByteArrayType, W>(group, rows, |row| row.partner.as_deref().map(ByteArray::from))?;
    column::<ByteArrayType, W>(group, rows, |row| row.unknown.as_deref().map(ByteArray::from))?;
    clocks(group, rows)
}

/// Writes the next column. The levels, which say who has a value, are not looked at where everybody has one.
fn column<T: DataType, W: Write + Send>(
    group: &mut Group<'_, W>,
    rows: &[Row<'_>],
    of: impl Fn(&Row<'_>) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let all: Vec<Option<T::T>> = rows.iter().map(of).collect();
    let present: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = all.into_iter().flatten().collect();
    write_column::<T, W>(group, &values, &present, None)
}

fn clocks<W: Write + Send>(group: &mut Group<'_, W>, rows: &[Row<'_>]) -> Result<(), ParquetError> {
    let (mut values, mut present, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        for (at, entry) in row.clock.iter().enumerate() {
            values.push(i64::from(*entry));
            present.push(1);
            repeated.push(i16::from(at > 0));
        }
        if row.clock.is_empty() {
            present.push(0);
            repeated.push(0);
        }
    }
    write_column::<Int64Type, W>(group, &values, &present, Some(&repeated))
}

fn write_column<T: DataType, W: Write + Send>(
    group: &mut Group<'_, W>,
    values: &[T::T],
    present: &[i16],
    repeated: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<T>().write_batch(values, Some(present), repeated)?;
    column.close()
}
