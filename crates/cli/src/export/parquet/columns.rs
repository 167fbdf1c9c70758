//! Columns of a Parquet file, filled side by side.
//!
//! Owns: which columns the parquet crate's own writer encodes, and which [`super::coded`]; encoding them on all
//! processors, a batch at a time, so that a row group of a million rows takes the memory of its compressed pages and
//! not of its values. Must not know: what a column means.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use rayon::prelude::*;
use zstd_safe::CCtx;

use super::coded::{Coded, codec};
use super::texts::Texts;

/// Rows that are collected before they are encoded.
pub const BATCH: u64 = 32_768;

/// Columns of numbers that hardly ever repeat: a dictionary would not pay off.
const UNIQUE_NUMBERS: [&str; 6] = ["id", "parent", "t_ns", "call_ns", "link", "gpu_ns"];
/// A column of bytes that hardly ever repeat, and one whose bytes may.
const UNIQUE_BYTES: &str = "arg_bytes";
const BYTES: [&str; 2] = ["text", "args.list.element.value"];

/// One column of the row group in the making.
pub enum Column {
    /// By the crate's own writer.
    Written(Box<Written>),
    /// By a dictionary.
    Coded(Box<Coded>),
}

/// Numbers that differ, and booleans.
pub struct Written {
    descriptor: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    writer: ColumnWriter<'static>,
    pages: Pages,
    numbers: Vec<i64>,
    truths: Vec<bool>,
    levels: Vec<i16>,
    count: usize,
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

impl Written {
    fn new(descriptor: ColumnDescPtr, properties: WriterPropertiesPtr) -> Self {
        let pages = Pages::new();
        let sink = Box::new(pages.clone());
        let writer = get_column_writer(descriptor.clone(), properties.clone(), sink);
        let (numbers, truths, levels) = Default::default();
        Written { descriptor, properties, writer, pages, numbers, truths, levels, count: 0 }
    }

    #[inline]
    fn level(&mut self, is_there: bool) {
        self.count += 1;
        if self.descriptor.max_def_level() > 0 {
            self.levels.push(i16::from(is_there));
        }
    }

    fn encode(&mut self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let levels = (!self.levels.is_empty()).then_some(self.levels.as_slice());
        match &mut self.writer {
            ColumnWriter::Int64ColumnWriter(writer) => {
                writer.write_batch(&self.numbers, levels, None)?;
            }
            ColumnWriter::BoolColumnWriter(writer) => {
                writer.write_batch(&self.truths, levels, None)?;
            }
            _ => {
                let name = self.descriptor.path().string();
                return Err(ParquetError::General(format!("column {name} has another type")));
            }
        }
        self.numbers.clear();
        self.truths.clear();
        self.levels.clear();
        self.count = 0;
        Ok(())
    }

    /// Ends the column: returns its contents and puts a fresh one in its place.
    fn finish(&mut self) -> Result<(Bytes, ColumnCloseResult)> {
        self.encode()?;
        let fresh = Written::new(self.descriptor.clone(), self.properties.clone());
        let full = std::mem::replace(self, fresh);
        let closed = full.writer.close()?;
        Ok((full.pages.take()?, closed))
    }
}

impl Column {
    /// An empty column.
    pub fn new(descriptor: ColumnDescPtr, properties: WriterPropertiesPtr) -> Self {
        let name = descriptor.path().string();
        let is_truth = descriptor.physical_type() == parquet::basic::Type::BOOLEAN;
        if is_truth || UNIQUE_NUMBERS.contains(&&*name) {
            return Column::Written(Box::new(Written::new(descriptor, properties)));
        }
        Column::Coded(Box::new(match () {
            () if name == UNIQUE_BYTES => Coded::of_unique(descriptor),
            () if BYTES.contains(&&*name) => Coded::of_bytes(descriptor),
            () => Coded::new(descriptor),
        }))
    }

    /// Appends a number or a null.
    #[inline]
    pub fn number(&mut self, value: Option<i64>) {
        match (self, value) {
            (Column::Coded(column), Some(value)) => column.number(value),
            (Column::Coded(column), None) => column.none(),
            (Column::Written(column), value) => {
                column.numbers.extend(value);
                column.level(value.is_some());
            }
        }
    }
    /// Appends a boolean or a null.
    #[inline]
    pub fn truth(&mut self, value: Option<bool>) {
        if let Column::Written(column) = self {
            column.truths.extend(value);
            column.level(value.is_some());
        }
    }
    /// Appends the string of that number or a null.
    #[inline]
    pub fn text(&mut self, value: Option<u32>) {
        self.text_element(value, true);
    }
    /// Appends bytes or a null.
    #[inline]
    pub fn bytes(&mut self, value: Option<&[u8]>) {
        self.bytes_element(value, true);
    }
    /// Appends a string to a list, as its first or a further element.
    #[inline]
    pub fn text_element(&mut self, value: Option<u32>, is_first: bool) {
        match (self, value) {
            (Column::Coded(column), Some(value)) => column.text(value, is_first),
            (Column::Coded(column), None) => column.no_value(is_first),
            _ => {}
        }
    }
    /// Appends bytes to a list.
    #[inline]
    pub fn bytes_element(&mut self, value: Option<&[u8]>, is_first: bool) {
        match (self, value) {
            (Column::Coded(column), Some(value)) => column.bytes(value, is_first),
            (Column::Coded(column), None) => column.no_value(is_first),
            _ => {}
        }
    }
    /// Appends a null or empty list.
    #[inline]
    pub fn no_element(&mut self, is_list: bool) {
        if let Column::Coded(column) = self {
            column.no_element(is_list);
        }
    }

    fn encode(&mut self, codec: &mut CCtx<'_>) -> Result<()> {
        match self {
            Column::Written(column) => column.encode(),
            Column::Coded(column) => column.page(codec),
        }
    }

    fn finish(
        &mut self,
        codec: &mut CCtx<'_>,
        compression: Compression,
        texts: &Texts,
    ) -> Result<(Bytes, ColumnCloseResult)> {
        match self {
            Column::Written(column) => column.finish(),
            Column::Coded(column) => column.finish(codec, compression, texts),
        }
    }
}

/// Encodes what was collected; call it between two rows.
pub fn encode(columns: &mut [Column]) -> Result<()> {
    columns.par_iter_mut().try_for_each_init(codec, |codec, column| column.encode(codec))
}

/// Writes the columns as one row group.
pub fn row_group<W: Write + Send>(
    columns: &mut [Column],
    file: &mut SerializedFileWriter<W>,
    compression: Compression,
    texts: &Texts,
) -> Result<()> {
    let finish =
        |codec: &mut CCtx<'_>, column: &mut Column| column.finish(codec, compression, texts);
    let finished: Result<Vec<_>> = columns.par_iter_mut().map_init(codec, finish).collect();
    let mut group = file.next_row_group()?;
    for (bytes, closed) in finished? {
        group.append_column(&bytes, closed)?;
    }
    group.close()?;
    Ok(())
}
