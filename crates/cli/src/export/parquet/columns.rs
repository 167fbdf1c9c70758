//! Columns of a Parquet file, filled side by side.
//!
//! Owns: one writer per column that encodes and compresses as rows come in, so that a row group of a
//! million rows takes the memory of its compressed pages and not of its values. Encoding is most of the
//! work, and columns do not know of each other: they are encoded on all processors. Must not know: what a
//! column means.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use rayon::prelude::*;

/// Rows that are collected before they are encoded.
pub const BATCH: u64 = 8192;

/// One column of the row group in the making.
pub struct Column {
    descriptor: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    writer: ColumnWriter<'static>,
    pages: Pages,
    values: Values,
    /// How much of a value is there, and whether it goes on a list; see Dremel's paper.
    levels: Vec<i16>,
    repeats: Vec<i16>,
}

enum Values {
    Numbers(Vec<i64>),
    Truths(Vec<bool>),
    Texts(Vec<ByteArray>),
}

impl Values {
    fn clear(&mut self) {
        match self {
            Values::Numbers(values) => values.clear(),
            Values::Truths(values) => values.clear(),
            Values::Texts(values) => values.clear(),
        }
    }
}

/// Finished pages.
#[derive(Clone)]
struct Pages(Arc<Mutex<TrackedWrite<Vec<u8>>>>);

impl Pages {
    fn new() -> Self {
        Pages(Arc::new(Mutex::new(TrackedWrite::new(Vec::new()))))
    }
    fn take(&self) -> Result<Bytes> {
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full = std::mem::replace(&mut *sink, TrackedWrite::new(Vec::new()));
        full.into_inner().map(Bytes::from)
    }
}

impl PageWriter for Pages {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        SerializedPageWriter::new(&mut sink).write_page(page)
    }
    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Column {
    /// An empty column.
    pub fn new(descriptor: ColumnDescPtr, properties: WriterPropertiesPtr) -> Self {
        let pages = Pages::new();
        let writer =
            get_column_writer(descriptor.clone(), properties.clone(), Box::new(pages.clone()));
        let values = match &writer {
            ColumnWriter::Int64ColumnWriter(_) => Values::Numbers(Vec::new()),
            ColumnWriter::BoolColumnWriter(_) => Values::Truths(Vec::new()),
            _ => Values::Texts(Vec::new()),
        };
        let (levels, repeats) = (Vec::new(), Vec::new());
        Column { descriptor, properties, writer, pages, values, levels, repeats }
    }

    /// Appends a number, or that there is none.
    pub fn number(&mut self, value: Option<i64>) {
        if let (Values::Numbers(values), Some(value)) = (&mut self.values, value) {
            values.push(value);
        }
        self.level(value.is_some(), 0);
    }
    /// Appends a truth value, or that there is none.
    pub fn truth(&mut self, value: Option<bool>) {
        if let (Values::Truths(values), Some(value)) = (&mut self.values, value) {
            values.push(value);
        }
        self.level(value.is_some(), 0);
    }
    /// Appends a text or bytes, or that there is none.
    pub fn text(&mut self, value: Option<ByteArray>) {
        self.element(value, true);
    }
    /// Appends an element of a list, of which it is the first or a further one.
    pub fn element(&mut self, value: Option<ByteArray>, is_first: bool) {
        let is_there = value.is_some();
        if let (Values::Texts(values), Some(value)) = (&mut self.values, value) {
            values.push(value);
        }
        self.level(is_there, i16::from(!is_first));
    }
    /// Appends that there is no list (`None`), or an empty one.
    pub fn no_element(&mut self, list: Option<()>) {
        self.levels.push(i16::from(list.is_some()));
        self.repeats.push(0);
    }

    fn level(&mut self, is_there: bool, repeat: i16) {
        let most = self.descriptor.max_def_level();
        // Where a value is missing, its place is there.
        self.levels.push(if is_there { most } else { (most - 1).max(0) });
        self.repeats.push(repeat);
    }

    fn encode(&mut self) -> Result<()> {
        if self.levels.is_empty() {
            return Ok(());
        }
        let levels = (self.descriptor.max_def_level() > 0).then_some(self.levels.as_slice());
        let repeats = (self.descriptor.max_rep_level() > 0).then_some(self.repeats.as_slice());
        match (&mut self.writer, &self.values) {
            (ColumnWriter::Int64ColumnWriter(writer), Values::Numbers(values)) => {
                writer.write_batch(values, levels, repeats)?;
            }
            (ColumnWriter::BoolColumnWriter(writer), Values::Truths(values)) => {
                writer.write_batch(values, levels, repeats)?;
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Values::Texts(values)) => {
                writer.write_batch(values, levels, repeats)?;
            }
            _ => {
                let name = self.descriptor.path().string();
                return Err(ParquetError::General(format!("column {name} has another type")));
            }
        }
        self.values.clear();
        self.levels.clear();
        self.repeats.clear();
        Ok(())
    }

    /// Ends the column: what it holds, and a fresh one in its place.
    fn finish(&mut self) -> Result<(Bytes, parquet::column::writer::ColumnCloseResult)> {
        self.encode()?;
        let fresh = Column::new(self.descriptor.clone(), self.properties.clone());
        let full = std::mem::replace(self, fresh);
        let closed = full.writer.close()?;
        Ok((full.pages.take()?, closed))
    }
}

/// Encodes what was collected; to be called between two rows.
pub fn encode(columns: &mut [Column]) -> Result<()> {
    columns.par_iter_mut().try_for_each(Column::encode)
}

/// Writes the columns as one row group.
pub fn row_group<W: Write + Send>(
    columns: &mut [Column],
    file: &mut SerializedFileWriter<W>,
) -> Result<()> {
    let finished: Result<Vec<_>> = columns.par_iter_mut().map(Column::finish).collect();
    let mut group = file.next_row_group()?;
    for (bytes, closed) in finished? {
        group.append_column(&bytes, closed)?;
    }
    group.close()?;
    Ok(())
}
