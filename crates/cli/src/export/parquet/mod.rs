//! Parquet: one row per call, one file per process in `run=…/rank=…` folders, for DuckDB, Spark,
//! ClickHouse and Polars. `docs/parquet.md` says what each column means; columns are only ever added.
//!
//! Owns: the schema, and filling a row. Must not know: files and folders.
//!
//! Only types that all readers agree on: 64-bit integers, text, bytes, booleans, one list of
//! structures. Times are plain integers, because Spark has no type for nanoseconds; unsigned types are
//! avoided, because Spark makes decimals of them.

mod coded;
mod columns;
mod counters;
mod texts;

use std::io::{self, Write};
use std::sync::Arc;

use cushim_abi::errors;
use cushim_names::Value;
use cushim_trace::event::{Body, Event, Gpu, LaunchEvent, Mapped};
use cushim_trace::layout::{GPU_COPY, GPU_KERNEL, LAUNCH_COOPERATIVE};
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterPropertiesPtr,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnPath};

use self::columns::{BATCH, Column, encode, row_group};
use self::counters::Counters;
use self::texts::{Texts, hexadecimal};
use super::inputs::{Sink, realtime};
use crate::view::{KernelFilter, Source, gpu_word, range_word, word_value};
use cushim_analysis::arguments::{arguments, copy_direction, copy_kind, words};
use cushim_analysis::facts::Facts;
use cushim_analysis::fast::Map;
use cushim_analysis::known::{Handle, Kernel, Known};
use cushim_analysis::mapped::mappings;

/// Rows of a row group.
const GROUP: u64 = 1_000_000;

/// The columns, in the order in which [`Parquet::row`] fills them.
pub const SCHEMA: &str = "
message event {
  required int64 id;
  optional int64 parent;
  required int64 t_ns;
  optional int64 call_ns;
  required binary class (STRING);
  required binary api (STRING);
  optional binary kernel (STRING);
  optional binary declaration (STRING);
  optional binary mangled (STRING);
  required int64 pid;
  required int64 tid;
  required int64 depth;
  optional int64 status;
  optional binary status_name (STRING);
  required boolean failed;
  optional int64 device;
  optional int64 context;
  optional binary stream (STRING);
  optional int64 stream_handle;
  optional int64 grid_x;
  optional int64 grid_y;
  optional int64 grid_z;
  optional int64 block_x;
  optional int64 block_y;
  optional int64 block_z;
  optional int64 cluster_x;
  optional int64 cluster_y;
  optional int64 cluster_z;
  optional int64 shared;
  optional boolean cooperative;
  optional int64 bytes;
  optional binary copy_kind (STRING);
  optional binary text (STRING);
  required binary host (STRING);
  required binary exe (STRING);
  optional binary arg_bytes;
  optional group args (LIST) {
    repeated group list {
      required group element {
        optional binary name (STRING);
        optional binary type (STRING);
        optional binary value (STRING);
      }
    }
  }
  optional int64 link;
  optional int64 gpu_ns;
  optional int64 gpu_stream;
  optional int64 graph_node;
}";

/// Writes the file of one process.
pub struct Parquet<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    /// The first of the three columns of arguments: name, type, value.
    arguments: usize,
    /// Rows of the group in the making, and of a whole one.
    rows: u64,
    group: u64,
    known: Known,
    all: KernelFilter,
    host: u32,
    exe: u32,
    texts: Texts,
    /// Names of the streams, and of the status of calls.
    streams: Map<u64, u32>,
    answers: Map<(u16, i32), Option<u32>>,
    scratch: String,
    counters: Counters,
}

/// The crate's error as an I/O error.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    }
}

impl<W: Write + Send> Parquet<W> {
    /// Begins the file of the process that left `trace`.
    pub fn new(out: W, trace: &TraceFile) -> io::Result<Self> {
        let counters = Counters::new(trace);
        let schema = counters.schema(SCHEMA);
        let schema = Arc::new(parse_message_type(&schema).map_err(failed)?);
        let properties = properties(trace).map_err(failed)?;
        let file = SerializedFileWriter::new(out, schema, properties.clone()).map_err(failed)?;
        let columns = file.schema_descr().columns().iter();
        let columns: Vec<_> = columns.map(|c| Column::new(c.clone(), properties.clone())).collect();
        let all = file.schema_descr().columns();
        let is_first = |c: &ColumnDescPtr| c.path().string() == "args.list.element.name";
        let arguments = all.iter().position(is_first).unwrap_or(0);
        let process = &trace.metadata().process;
        let mut texts = Texts::default();
        let (host, exe) = (texts.get(&process.host), texts.get(&process.exe));
        let (known, all) = (Known::default(), KernelFilter::default());
        let (streams, answers, scratch) = Default::default();
        Ok(Parquet {
            file,
            columns,
            arguments,
            rows: 0,
            group: GROUP,
            known,
            all,
            host,
            exe,
            texts,
            streams,
            answers,
            scratch,
            counters,
        })
    }

    fn row_group(&mut self) -> Result<()> {
        row_group(&mut self.columns, &mut self.file, compression()?, &self.texts)
    }

    /// Writes what is left, and the directory of the file.
    pub fn finish(mut self) -> io::Result<W> {
        if self.rows > 0 {
            self.row_group().map_err(failed)?;
        }
        self.file.into_inner().map_err(failed)
    }

    fn row(&mut self, source: &Source, meta: &Metadata, event: &Event<'_>) -> Result<()> {
        let facts = Facts::of(meta, event);
        let kernel = facts.kernel.map(|id| self.known.kernel(&self.all, source.index, meta, id));
        let handle = facts.stream(event);
        let stream = handle.map(|h| {
            let name = || self.texts.get(&self.known.handle(source.index, Handle::Stream, h));
            *self.streams.entry(h).or_insert_with(name)
        });
        let names = kernel.map(|place| self.texts.kernel(place, &self.known));
        let kernel = kernel.and_then(|place| self.known.kernels().get(place));
        let (launch, gpu, mapped) = parts(event);
        let time = realtime(event.begin_ns, source.realtime_offset_ns);
        let unknown;
        let api = match call(event, &facts, gpu) {
            Some(name) => name,
            None => {
                unknown = format!("function {}", event.api);
                &unknown
            }
        };
        let status_name = event.status.and_then(|status| {
            let name = || errors::error_name(facts.name, status).map(|name| self.texts.get(name));
            *self.answers.entry((event.api, status)).or_insert_with(name)
        });
        let context = launch.map(|l| l.context).filter(|&c| c != 0);
        let device = device(launch, gpu, meta);
        let ran = gpu.filter(|gpu| gpu.what == GPU_KERNEL);
        let moved = gpu.filter(|gpu| gpu.what != GPU_KERNEL);
        let (bytes, kind) = copied(event, &facts);
        let texts = &mut self.texts;
        let mut columns = self.columns.iter_mut();
        let mut next =
            || columns.next().ok_or_else(|| ParquetError::General("too few columns".into()));
        next()?.number(Some(event.id as i64));
        next()?.number(event.parent.filter(|&id| id != 0).map(|id| id as i64));
        next()?.number(Some(time as i64));
        next()?.number(event.call_ns.filter(|_| gpu.is_none()).map(|ns| ns as i64));
        next()?.text(Some(texts.get(facts.class)));
        next()?.text(Some(texts.get(api)));
        let [short, full, mangled] = names.unwrap_or_default();
        next()?.text(short);
        next()?.text(full);
        next()?.text(mangled);
        next()?.number(Some(meta.process.pid.into()));
        next()?.number(Some(event.tid.into()));
        next()?.number(Some(event.depth.into()));
        next()?.number(event.status.map(i64::from));
        next()?.text(status_name);
        next()?.truth(Some(facts.failed));
        next()?.number(device);
        next()?.number(context.map(|c| c as i64));
        next()?.text(stream);
        next()?.number(handle.map(|h| h as i64));
        for shape in shapes(launch, ran, mapped) {
            for n in 0..3 {
                next()?.number(shape.and_then(|s| s.get(n).copied()).map(i64::from));
            }
        }
        next()?.number(launch.map(|l| l.shared).or(ran.map(|gpu| gpu.shared)).map(i64::from));
        next()?.truth(launch.map(|l| l.flags & LAUNCH_COOPERATIVE != 0));
        next()?.number(bytes.or(moved.and_then(|gpu| i64::try_from(gpu.bytes).ok())));
        let way = gpu.filter(|gpu| gpu.what == GPU_COPY).map(|gpu| copy_direction(gpu.direction));
        next()?.text(kind.or(way).map(|kind| texts.get(kind)));
        next()?.bytes(said(event, meta));
        next()?.text(Some(self.host));
        next()?.text(Some(self.exe));
        next()?.bytes(launch.map(|l| l.args).filter(|args| !args.is_empty()));
        // Arguments are filled in below.
        (0..3).try_for_each(|_| next().map(drop))?;
        let link = gpu.map_or(event.link, |gpu| gpu.link);
        next()?.number(Some(link as i64).filter(|&link| link != 0));
        next()?.number(event.call_ns.filter(|_| gpu.is_some()).map(|ns| ns as i64));
        next()?.number(gpu.map(|gpu| gpu.stream.into()));
        next()?.number(gpu.map(|gpu| gpu.graph_node as i64).filter(|&node| node != 0));
        self.counters.of(gpu, meta).iter().try_for_each(|n| next().map(|c| c.number(*n)))?;
        let columns = self.columns.get_disjoint_mut([0, 1, 2].map(|n| self.arguments + n));
        let columns = columns.map_err(|_| ParquetError::General("too few columns".into()))?;
        let mut arguments = Arguments { columns, texts, scratch: &mut self.scratch, count: 0 };
        arguments.fill(meta, event, &facts, kernel);
        self.count()
    }

    /// Counts a row: encodes a full batch, writes a full group.
    fn count(&mut self) -> Result<()> {
        self.rows += 1;
        if self.rows == self.group {
            self.rows = 0;
            self.row_group()?;
        } else if self.rows.is_multiple_of(BATCH) {
            encode(&mut self.columns)?;
        }
        Ok(())
    }
}

/// The shapes of grid, block and cluster, as far as there are any.
fn shapes(
    launch: Option<&LaunchEvent<'_>>,
    ran: Option<&Gpu>,
    mapped: Option<&Mapped<'_>>,
) -> [Option<[u32; 3]>; 3] {
    let asked =
        |shape: fn(&Mapped<'_>) -> [u32; 3]| mapped.map(shape).filter(|shape| *shape != [0; 3]);
    let cluster = launch.filter(|l| l.cluster.iter().any(|&n| n > 0));
    [
        launch.map(|l| l.grid).or(ran.map(|gpu| gpu.grid)).or(asked(|m| m.teams)),
        launch.map(|l| l.block).or(ran.map(|gpu| gpu.block)).or(asked(|m| m.threads)),
        cluster.map(|l| l.cluster.map(u32::from)),
    ]
}

/// The device of an event.
fn device(launch: Option<&LaunchEvent<'_>>, gpu: Option<&Gpu>, meta: &Metadata) -> Option<i64> {
    let device = launch.and_then(|l| meta.contexts.device(l.context)).map(i64::from);
    device.or(gpu.map(|gpu| gpu.device.into()))
}

/// The event as a launch, GPU work, or a region or mapping.
fn parts<'e, 'a>(
    event: &'e Event<'a>,
) -> (Option<&'e LaunchEvent<'a>>, Option<&'e Gpu<'a>>, Option<&'e Mapped<'a>>) {
    match &event.body {
        Body::Launch(launch) => (Some(launch), None, None),
        Body::Gpu(gpu) => (None, Some(gpu), None),
        Body::Mapped(mapped) => (None, None, Some(mapped)),
        _ => (None, None, None),
    }
}

/// What was called, or done; none for a function without a name.
fn call<'a>(event: &Event<'_>, facts: &Facts<'a>, gpu: Option<&Gpu>) -> Option<&'a str> {
    match facts.name {
        _ if gpu.is_some() => Some(gpu.map_or("", |gpu| gpu_word(gpu.what))),
        _ if facts.class == "nvtx" => Some(match &event.body {
            Body::Range(range) => range_word(range.what),
            _ => "",
        }),
        "" if facts.class != "mark" => None,
        name => Some(name),
    }
}

/// The text of an event.
fn said<'a>(event: &'a Event<'_>, meta: &'a Metadata) -> Option<&'a [u8]> {
    match &event.body {
        Body::Mark(mark) => Some(mark.as_bytes()),
        Body::Range(range) => Some(range.text.as_bytes()).filter(|text| !text.is_empty()),
        // The place in the source, as the compiler wrote it.
        Body::Mapped(mapped) => meta.names.get(&mapped.place).map(|text| text.as_bytes()),
        _ => None,
    }
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn event(&mut self, source: &Source, meta: &Metadata, event: &Event<'_>) -> io::Result<()> {
        self.row(source, meta, event).map_err(failed)
    }
}

/// How the file is written, and its own metadata: the process, and what is missing.
fn properties(trace: &TraceFile) -> Result<WriterPropertiesPtr> {
    let (process, lost) = (&trace.metadata().process, trace.header().lost);
    let missing: u64 = cushim_trace::layout::missing(&lost);
    let pairs = [
        ("cushim.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("cushim.argv", serde_json::to_string(&process.argv).unwrap_or_default()),
        ("cushim.pid", process.pid.to_string()),
        ("cushim.host", process.host.clone()),
        ("cushim.rank", process.rank.map(|rank| rank.to_string()).unwrap_or_default()),
        ("cushim.missing_events", missing.to_string()),
    ];
    let sorted = |builder: WriterPropertiesBuilder, name: &str| {
        builder.set_column_encoding(ColumnPath::from(name), Encoding::DELTA_BINARY_PACKED)
    };
    let pairs = pairs.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let builder = WriterProperties::builder()
        .set_created_by(format!("cushim {}", env!("CARGO_PKG_VERSION")))
        .set_compression(compression()?)
        // Columns with few values are dictionary-coded by `coded`.
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(pairs.collect()));
    // Numbers that go up from row to row.
    Ok(Arc::new(sorted(sorted(builder, "id"), "t_ns").build()))
}

/// As [`coded::codec`] compresses.
fn compression() -> Result<Compression> {
    Ok(Compression::ZSTD(ZstdLevel::try_new(1)?))
}

/// The list of arguments of one row.
struct Arguments<'a> {
    columns: [&'a mut Column; 3],
    texts: &'a mut Texts,
    scratch: &'a mut String,
    count: usize,
}

impl Arguments<'_> {
    fn fill(
        &mut self,
        meta: &Metadata,
        event: &Event<'_>,
        facts: &Facts<'_>,
        kernel: Option<&Kernel>,
    ) {
        let is_list = match (&event.body, kernel) {
            (Body::Launch(launch), Some(kernel)) => match arguments(launch, kernel, meta) {
                Ok(list) => {
                    for argument in &list {
                        self.scratch.clear();
                        if let Some(value) = &argument.value {
                            write(self.scratch, value);
                        }
                        self.one(None, argument.kind, argument.value.is_some());
                    }
                    true
                }
                Err(_) => false,
            },
            (Body::Call(call), _) => {
                for word in words(call, facts.api) {
                    self.scratch.clear();
                    match &word.text {
                        Some(written) => self.scratch.push_str(written),
                        None => write(self.scratch, &word_value(word.shape, &word.words)),
                    }
                    let name = Some(word.name).filter(|name| !name.is_empty());
                    self.one(name, Some(word.shape), true);
                }
                true
            }
            (Body::Mapped(mapped), _) => {
                for mapping in mappings(mapped, meta) {
                    self.scratch.clear();
                    self.scratch.push_str(&mapping.text("..."));
                    let name = Some(mapping.name).filter(|name| !name.is_empty());
                    self.one(name, Some(mapping.kind), true);
                }
                true
            }
            _ => false,
        };
        if self.count == 0 {
            self.columns.iter_mut().for_each(|column| column.no_element(is_list));
        }
    }

    /// One argument; its value is the text collected before.
    fn one(&mut self, name: Option<&str>, kind: Option<&str>, has_value: bool) {
        let is_first = self.count == 0;
        self.count += 1;
        let name = name.map(|name| self.texts.get(name));
        let kind = kind.map(|kind| self.texts.get(kind));
        let [names, kinds, values] = &mut self.columns;
        names.text_element(name, is_first);
        kinds.text_element(kind, is_first);
        values.bytes_element(has_value.then_some(self.scratch.as_bytes()), is_first);
    }
}

/// Writes a value as `report` does; addresses always in hexadecimal.
fn write(out: &mut String, value: &Value) {
    match value {
        Value::Address(address) => hexadecimal(out, *address),
        value => value.write(out, "..."),
    }
}

/// How many bytes a call copies, sets or allocates, where an argument tells it, and the direction
/// of a copy.
fn copied(event: &Event<'_>, facts: &Facts<'_>) -> (Option<i64>, Option<&'static str>) {
    /// The names of such arguments in CUDA's manual.
    const NAMES: [&str; 5] = ["count", "ByteCount", "size", "bytesize", "byteCount"];
    let (Body::Call(call), Some(api)) = (&event.body, facts.api) else { return (None, None) };
    if !matches!(facts.class, "copy" | "memory") {
        return (None, None);
    }
    let find = |wanted: &dyn Fn(&str, &str) -> bool| {
        call.words.get(api.args.iter().position(|(name, shape)| wanted(name, shape))?)
    };
    let bytes = find(&|name, shape| shape == "size" && NAMES.contains(&name));
    let kind = find(&|_, shape| shape == "memcpykind").and_then(copy_kind);
    (bytes.and_then(|bytes| i64::try_from(bytes).ok()), kind)
}

#[cfg(test)]
mod tests;
