//! A column of repeated values: a dictionary, and indices into it.
//!
//! Owns: collecting values by their number, so that a row costs a table lookup and no copy; and the pages of the
//! format: "Encodings" of the Parquet specification, RLE_DICTIONARY with the RLE and bit-packing hybrid for indices
//! and levels, PLAIN if a dictionary does not pay. The parquet crate writes the headers. Must not know: what a column
//! means.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd_safe::{CCtx, CParameter};

use super::texts::Texts;
use cushim_analysis::fast::Map;

/// The most entries and bytes of a dictionary; later values are written out.
const ENTRIES: usize = 1 << 16;
const BYTES: usize = 1 << 20;

/// What a column holds.
enum Entries {
    /// Numbers, and the last one with its index.
    Numbers { places: Map<i64, u32>, list: Vec<i64>, last: (i64, u32) },
    /// Texts by their number among all of the file, and where those are here.
    Texts { places: Vec<u32>, list: Vec<u32> },
    /// Bytes that only this column has; and whether the dictionary is full.
    Bytes { places: Map<Box<[u8]>, u32>, plain: Vec<u8>, is_full: bool },
    /// Bytes that hardly ever repeat.
    Unique,
}

/// One column of the row group in the making.
pub struct Coded {
    descriptor: ColumnDescPtr,
    entries: Entries,
    /// Values since the last page: their indices, or the values themselves.
    places: Vec<u32>,
    plain: Vec<u8>,
    /// Definition and repetition levels; see Dremel's paper.
    levels: Vec<u8>,
    repeats: Vec<u8>,
    pages: Vec<CompressedPage>,
    /// Of the row group: rows, values including nulls, values without them.
    rows: u64,
    values: u64,
    present: u64,
    level: u8,
    is_list: bool,
}

impl Coded {
    /// A column of numbers, or of texts by their number.
    pub fn new(descriptor: ColumnDescPtr) -> Self {
        let entries = match descriptor.physical_type() {
            Type::INT64 => {
                Entries::Numbers { places: Map::default(), list: Vec::new(), last: (0, u32::MAX) }
            }
            _ => Entries::Texts { places: Vec::new(), list: Vec::new() },
        };
        Self::with(descriptor, entries)
    }
    /// A column of bytes that repeat.
    pub fn of_bytes(descriptor: ColumnDescPtr) -> Self {
        Self::with(
            descriptor,
            Entries::Bytes { places: Map::default(), plain: Vec::new(), is_full: false },
        )
    }
    /// A column of bytes that do not.
    pub fn of_unique(descriptor: ColumnDescPtr) -> Self {
        Self::with(descriptor, Entries::Unique)
    }

    fn with(descriptor: ColumnDescPtr, entries: Entries) -> Self {
        let (level, is_list) = (descriptor.max_def_level() as u8, descriptor.max_rep_level() > 0);
        Coded {
            descriptor,
            entries,
            places: Vec::new(),
            plain: Vec::new(),
            levels: Vec::new(),
            repeats: Vec::new(),
            pages: Vec::new(),
            rows: 0,
            values: 0,
            present: 0,
            level,
            is_list,
        }
    }

    /// Appends a null.
    #[inline]
    pub fn none(&mut self) {
        self.mark(self.level.saturating_sub(1), true);
    }
    /// Appends a number.
    #[inline]
    pub fn number(&mut self, value: i64) {
        self.mark(self.level, true);
        let Entries::Numbers { places, list, last } = &mut self.entries else { return };
        if last.0 != value || last.1 == u32::MAX {
            let next = list.len() as u32;
            let place = *places.entry(value).or_insert_with(|| {
                list.push(value);
                next
            });
            *last = (value, place);
        }
        self.places.push(last.1);
    }
    /// Appends the string of that number, as the first or a further element if this is a list.
    #[inline]
    pub fn text(&mut self, id: u32, is_first: bool) {
        self.mark(self.level, is_first);
        let Entries::Texts { places, list } = &mut self.entries else { return };
        let id = id as usize;
        if id >= places.len() {
            places.resize(id + 1, u32::MAX);
        }
        let Some(place) = places.get_mut(id) else { return };
        if *place == u32::MAX {
            *place = list.len() as u32;
            list.push(id as u32);
        }
        self.places.push(*place);
    }
    /// Appends bytes, as [`Coded::text`].
    #[inline]
    pub fn bytes(&mut self, value: &[u8], is_first: bool) {
        self.mark(self.level, is_first);
        if let Entries::Bytes { places, plain, is_full: is_full @ false } = &mut self.entries {
            if let Some(&place) = places.get(value) {
                self.places.push(place);
                return;
            }
            if places.len() < ENTRIES && plain.len() < BYTES {
                let place = places.len() as u32;
                places.insert(value.into(), place);
                put(plain, value);
                self.places.push(place);
                return;
            }
            *is_full = true;
            self.write_out();
        }
        put(&mut self.plain, value);
    }
    /// Appends a null element.
    #[inline]
    pub fn no_value(&mut self, is_first: bool) {
        self.mark(self.level.saturating_sub(1), is_first);
    }
    /// Appends a null or empty list.
    #[inline]
    pub fn no_element(&mut self, is_list: bool) {
        self.mark(u8::from(is_list), true);
    }

    #[inline]
    fn mark(&mut self, level: u8, is_first: bool) {
        if self.level > 0 {
            self.levels.push(level);
        }
        if self.is_list {
            self.repeats.push(u8::from(!is_first));
        }
        self.rows += u64::from(is_first);
        self.values += 1;
        self.present += u64::from(level == self.level);
    }

    /// The dictionary is full: from this page on the row group has the values themselves.
    fn write_out(&mut self) {
        let Entries::Bytes { plain, .. } = &self.entries else { return };
        let mut starts = Vec::new();
        let mut at = 0;
        while let Some(size) = plain.get(at..at + 4).and_then(|size| size.try_into().ok()) {
            let next = at + 4 + u32::from_le_bytes(size) as usize;
            starts.push(at..next);
            at = next;
        }
        for place in self.places.drain(..) {
            let entry = starts.get(place as usize).and_then(|range| plain.get(range.clone()));
            self.plain.extend_from_slice(entry.unwrap_or_default());
        }
    }

    /// Ends a page with what was collected.
    pub fn page(&mut self, codec: &mut CCtx<'_>) -> Result<()> {
        let count =
            self.values - self.pages.iter().map(|page| u64::from(page.num_values())).sum::<u64>();
        if count == 0 {
            return Ok(());
        }
        let mut body = Vec::new();
        if self.is_list {
            levels(&mut body, &self.repeats, 1);
        }
        if self.level > 0 {
            levels(&mut body, &self.levels, self.level);
        }
        let encoding = match self.places.is_empty() {
            true => {
                body.append(&mut self.plain);
                Encoding::PLAIN
            }
            false => {
                let width = width(self.places.iter().copied().max().unwrap_or(0));
                body.push(width as u8);
                hybrid(&mut body, &self.places, width);
                Encoding::RLE_DICTIONARY
            }
        };
        self.places.clear();
        self.levels.clear();
        self.repeats.clear();
        let size = body.len();
        let page = Page::DataPage {
            buf: compressed(codec, &body)?,
            num_values: count as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        self.pages.push(CompressedPage::new(page, size));
        Ok(())
    }

    /// Ends the column and returns its contents. It is empty then, and may be filled again.
    pub fn finish(
        &mut self,
        codec: &mut CCtx<'_>,
        compression: Compression,
        texts: &Texts,
    ) -> Result<(Bytes, ColumnCloseResult)> {
        self.page(codec)?;
        let missing = self.values - self.present;
        let (count, dictionary, statistics) = self.dictionary(texts, missing);
        let mut encodings = vec![Encoding::RLE];
        let mut out = TrackedWrite::new(Vec::new());
        let (mut size, mut first, mut place) = (0, 0, None);
        {
            let mut writer = SerializedPageWriter::new(&mut out);
            if self.pages.iter().any(|page| page.encoding() == Encoding::RLE_DICTIONARY) {
                let (buf, encoding) = (compressed(codec, &dictionary)?, Encoding::PLAIN);
                let page =
                    Page::DictionaryPage { buf, num_values: count, encoding, is_sorted: false };
                let spec = writer.write_page(CompressedPage::new(page, dictionary.len()))?;
                size += spec.uncompressed_size;
                first = spec.bytes_written;
                place = Some(0);
                encodings.extend([Encoding::PLAIN, Encoding::RLE_DICTIONARY]);
            }
            for page in self.pages.drain(..) {
                encodings.push(page.encoding());
                size += writer.write_page(page)?.uncompressed_size;
            }
        }
        let bytes = Bytes::from(out.into_inner()?);
        let metadata = ColumnChunkMetaData::builder(self.descriptor.clone())
            .set_compression(compression)
            .set_encodings(encodings)
            .set_num_values(self.values as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(size as i64)
            .set_data_page_offset(first as i64)
            .set_dictionary_page_offset(place)
            .set_statistics(statistics)
            .build()?;
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        (self.rows, self.values, self.present) = (0, 0, 0);
        Ok((bytes, closed))
    }

    /// Takes the dictionary: the number of entries, their bytes, and statistics of all values.
    fn dictionary(&mut self, texts: &Texts, missing: u64) -> (u32, Vec<u8>, Statistics) {
        let nulls = Some(missing);
        let unknown = || Statistics::new::<ByteArray>(None, None, None, nulls, false);
        match &mut self.entries {
            Entries::Numbers { places, list, last } => {
                let ends = (list.iter().min().copied(), list.iter().max().copied());
                let plain: Vec<u8> = list.iter().flat_map(|value| value.to_le_bytes()).collect();
                let count = list.len() as u32;
                list.clear();
                places.clear();
                *last = (0, u32::MAX);
                (count, plain, Statistics::new::<i64>(ends.0, ends.1, None, nulls, false))
            }
            Entries::Texts { places, list } => {
                let mut plain = Vec::new();
                let all = || list.iter().map(|&id| texts.of(id).as_bytes());
                all().for_each(|text| put(&mut plain, text));
                let end = |text: Option<&[u8]>| text.map(|text| ByteArray::from(text.to_vec()));
                let (least, most) = (end(all().min()), end(all().max()));
                let count = list.len() as u32;
                list.clear();
                places.clear();
                (count, plain, Statistics::new(least, most, None, nulls, false))
            }
            Entries::Bytes { places, plain, is_full } => {
                let count = places.len() as u32;
                places.clear();
                *is_full = false;
                (count, std::mem::take(plain), unknown())
            }
            Entries::Unique => (0, Vec::new(), unknown()),
        }
    }
}

/// PLAIN: the size, then the bytes.
fn put(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(value);
}

/// The compressor of pages: ZSTD at its first level; more gains little for these pages.
pub fn codec() -> CCtx<'static> {
    let mut codec = CCtx::create();
    // A valid compression level.
    let _ = codec.set_parameter(CParameter::CompressionLevel(1));
    codec
}

/// Compressed with ZSTD, as a separate frame.
fn compressed(codec: &mut CCtx<'_>, body: &[u8]) -> Result<Bytes> {
    let mut out = Vec::with_capacity(zstd_safe::compress_bound(body.len()));
    codec.compress2(&mut out, body).map_err(|code| {
        ParquetError::General(format!("zstd: {}", zstd_safe::get_error_name(code)))
    })?;
    Ok(Bytes::from(out))
}

/// Bits that `most` takes, at least one.
fn width(most: u32) -> u32 {
    (32 - most.leading_zeros()).max(1)
}

/// Levels as a data page has them: bytes, then the hybrid.
fn levels(out: &mut Vec<u8>, levels: &[u8], most: u8) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    hybrid(out, levels, width(most.into()));
    let size = (out.len() - at - 4) as u32;
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&size.to_le_bytes());
    }
}

/// Runs of equal values as one, the rest packed by eights.
fn hybrid<T: Copy + PartialEq + Into<u32>>(out: &mut Vec<u8>, values: &[T], width: u32) {
    let (mut at, mut literal) = (0, 0);
    while let Some(&value) = values.get(at) {
        let run = values.iter().skip(at).take_while(|&&other| other == value).count();
        // Packed values come in groups of eight, except the last.
        let fill = (at - literal).wrapping_neg() % 8;
        if run >= 8 + fill {
            pack(out, values.get(literal..at + fill).unwrap_or_default(), width);
            varint(out, ((run - fill) as u64) << 1);
            let bytes = value.into().to_le_bytes();
            out.extend(bytes.iter().take(width.div_ceil(8) as usize));
            literal = at + run;
        }
        at += run;
    }
    pack(out, values.get(literal..).unwrap_or_default(), width);
}

fn pack<T: Copy + Into<u32>>(out: &mut Vec<u8>, values: &[T], width: u32) {
    if values.is_empty() {
        return;
    }
    varint(out, (values.len().div_ceil(8) as u64) << 1 | 1);
    for eight in values.chunks(8) {
        let (mut bits, mut have) = (0u64, 0);
        for n in 0..8 {
            bits |= u64::from(eight.get(n).map_or(0, |&value| value.into())) << have;
            have += width;
            while have >= 8 {
                out.push(bits as u8);
                bits >>= 8;
                have -= 8;
            }
        }
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inverse of [`hybrid`], by the specification.
    fn read(mut bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
        let mut values = Vec::new();
        let next = |n: usize, bytes: &mut &[u8]| {
            let (head, rest) = bytes.split_at(n);
            *bytes = rest;
            head.to_vec()
        };
        while values.len() < count {
            let (mut head, mut shift) = (0u64, 0);
            loop {
                let byte = next(1, &mut bytes)[0];
                head |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            if head & 1 == 0 {
                let mut value = next(width.div_ceil(8) as usize, &mut bytes);
                value.resize(4, 0);
                let value = u32::from_le_bytes(value.try_into().unwrap());
                values.extend(std::iter::repeat_n(value, (head >> 1) as usize));
            } else {
                let packed = next((head >> 1) as usize * width as usize, &mut bytes);
                let bit = |n: usize| u32::from(packed[n / 8] >> (n % 8) & 1);
                for n in 0..(head >> 1) as usize * 8 {
                    let bits = (0..width as usize).map(|b| bit(n * width as usize + b) << b);
                    values.push(bits.sum());
                }
            }
        }
        assert!(bytes.is_empty());
        values.truncate(count);
        values
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let mut seed = 7u64;
        for round in 0..400 {
            let most = 1u32 << (round % 20);
            let mut values = Vec::new();
            while values.len() < round * 3 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let run = if seed >> 60 < 4 { (seed >> 40) as usize % 40 } else { 1 };
                values.extend(std::iter::repeat_n((seed >> 33) as u32 % most, run));
            }
            let mut out = Vec::new();
            hybrid(&mut out, &values, width(most - 1));
            assert_eq!(read(&out, width(most - 1), values.len()), values, "round {round}");
        }
        let mut out = Vec::new();
        hybrid(&mut out, &[3u8; 1000], 2);
        assert_eq!(out.len(), 3, "equal values are one run");
    }
}
