//! Parquet: one row per call, one file per process in `run=…/rank=…` folders, for DuckDB, Spark,
//! ClickHouse and Polars. `docs/parquet.md` says what each column means; columns are only ever added.
//!
//! Owns: the schema, and filling a row. Must not know: files and folders.
//!
//! Only types that all readers agree on: 64-bit integers, text, bytes, booleans, one list of
//! structures. Times are plain integers, because Spark has no type for nanoseconds; unsigned types are
//! avoided, because Spark makes decimals of them.

mod columns;
mod texts;

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use cushim_abi::errors;
use cushim_names::Value;
use cushim_trace::event::{Body, Call, Event, Launch};
use cushim_trace::layout::{GPU_COPY, GPU_KERNEL, LAUNCH_COOPERATIVE};
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use self::columns::{BATCH, Column, encode, row_group};
use self::texts::{Texts, hexadecimal, text};
use super::inputs::{Facts, Sink, realtime};
use crate::view::known::{Handle, Known};
use crate::view::values::{arguments, copy_direction, copy_kind, words};
use crate::view::{KernelFilter, Source, gpu_word, range_word, word_value};

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
    rows: u64,
    known: Known,
    all: KernelFilter,
    host: ByteArray,
    exe: ByteArray,
    texts: Texts,
}

/// One argument as it is written: name, type, value.
type Argument = [Option<ByteArray>; 3];

/// What the crate says, as what a sink may say.
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
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(failed)?);
        let properties = properties(trace).map_err(failed)?;
        let file = SerializedFileWriter::new(out, schema, properties.clone()).map_err(failed)?;
        let columns = file.schema_descr().columns().iter();
        let columns = columns.map(|c| Column::new(c.clone(), properties.clone())).collect();
        let process = &trace.metadata().process;
        let (host, exe) = (text(&process.host), text(&process.exe));
        let (known, all) = (Known::default(), KernelFilter::default());
        let texts = Texts::default();
        Ok(Parquet { file, columns, rows: 0, known, all, host, exe, texts })
    }

    /// Writes what is left, and the directory of the file.
    pub fn finish(mut self) -> io::Result<W> {
        if self.rows > 0 {
            row_group(&mut self.columns, &mut self.file).map_err(failed)?;
        }
        self.file.into_inner().map_err(failed)
    }

    fn row(&mut self, source: &Source, meta: &Metadata, event: &Event<'_>) -> Result<()> {
        let facts = Facts::of(meta, event);
        let kernel = facts.kernel.map(|id| self.known.kernel(&self.all, source.index, meta, id));
        let handle = facts.stream(event);
        let stream = handle.map(|h| self.known.handle(source.index, Handle::Stream, h));
        let names = kernel.map(|place| self.texts.kernel(place, &self.known));
        let kernel = kernel.and_then(|place| self.known.kernels().get(place));
        let launch = match &event.body {
            Body::Launch(launch) => Some(launch),
            _ => None,
        };
        let gpu = match &event.body {
            Body::Gpu(gpu) => Some(gpu),
            _ => None,
        };
        let time = realtime(event.begin_ns, source.realtime_offset_ns);
        let api = match facts.name {
            _ if gpu.is_some() => gpu.map_or("", |gpu| gpu_word(gpu.what)),
            _ if facts.class == "nvtx" => match &event.body {
                Body::Range(range) => range_word(range.what),
                _ => "",
            },
            "" if facts.class != "mark" => &format!("function {}", event.api),
            name => name,
        };
        let status_name = event.status.and_then(|s| errors::error_name(facts.name, s));
        let context = launch.map(|l| l.context).filter(|&c| c != 0);
        let device = launch.and_then(|l| meta.contexts.get(&l.context)).map(|&d| i64::from(d));
        let device = device.or(gpu.map(|gpu| gpu.device.into()));
        let ran = gpu.filter(|gpu| gpu.what == GPU_KERNEL);
        let moved = gpu.filter(|gpu| gpu.what != GPU_KERNEL);
        let args = match (&event.body, kernel) {
            (Body::Launch(launch), Some(kernel)) => {
                of_kernel(launch, kernel, meta, &mut self.texts)
            }
            (Body::Call(call), _) => Some(of_call(call, &facts, &mut self.texts)),
            _ => None,
        };
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
        next()?.text(status_name.map(|name| texts.get(name)));
        next()?.truth(Some(facts.failed));
        next()?.number(device);
        next()?.number(context.map(|c| c as i64));
        next()?.text(stream.as_deref().map(|stream| texts.get(stream)));
        next()?.number(handle.map(|h| h as i64));
        let cluster = launch.filter(|l| l.cluster.iter().any(|&n| n > 0));
        for shape in [
            launch.map(|l| l.grid).or(ran.map(|gpu| gpu.grid)),
            launch.map(|l| l.block).or(ran.map(|gpu| gpu.block)),
            cluster.map(|l| l.cluster.map(u32::from)),
        ] {
            for n in 0..3 {
                next()?.number(shape.and_then(|s| s.get(n).copied()).map(i64::from));
            }
        }
        let shared = launch.map(|l| l.shared).or(ran.map(|gpu| gpu.shared));
        next()?.number(shared.map(i64::from));
        next()?.truth(launch.map(|l| l.flags & LAUNCH_COOPERATIVE != 0));
        next()?.number(bytes.or(moved.and_then(|gpu| i64::try_from(gpu.bytes).ok())));
        let way = gpu.filter(|gpu| gpu.what == GPU_COPY).map(|gpu| copy_direction(gpu.direction));
        next()?.text(kind.or(way).map(|kind| texts.get(kind)));
        next()?.text(match &event.body {
            Body::Mark(mark) => Some(text(mark)),
            Body::Range(range) => Some(text(range.text)).filter(|_| !range.text.is_empty()),
            _ => None,
        });
        next()?.text(Some(self.host.clone()));
        next()?.text(Some(self.exe.clone()));
        let block = launch.map(|l| l.args).filter(|args| !args.is_empty());
        next()?.text(block.map(|bytes| ByteArray::from(Bytes::copy_from_slice(bytes))));
        for part in 0..3 {
            let column = next()?;
            match &args {
                Some(args) if !args.is_empty() => {
                    for (n, argument) in args.iter().enumerate() {
                        column.element(argument.get(part).cloned().flatten(), n == 0);
                    }
                }
                list => column.no_element(list.as_ref().map(|_| ())),
            }
        }
        let link = gpu.map_or(event.link, |gpu| gpu.link);
        next()?.number(Some(link as i64).filter(|&link| link != 0));
        next()?.number(event.call_ns.filter(|_| gpu.is_some()).map(|ns| ns as i64));
        next()?.number(gpu.map(|gpu| gpu.stream.into()));
        next()?.number(gpu.map(|gpu| gpu.graph_node as i64).filter(|&node| node != 0));
        self.rows += 1;
        if self.rows == GROUP {
            self.rows = 0;
            row_group(&mut self.columns, &mut self.file)?;
        } else if self.rows.is_multiple_of(BATCH) {
            encode(&mut self.columns)?;
        }
        Ok(())
    }
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn event(&mut self, source: &Source, meta: &Metadata, event: &Event<'_>) -> io::Result<()> {
        self.row(source, meta, event).map_err(failed)
    }
}

/// How the file is written, and what stands in its own metadata: the process, and what is missing.
fn properties(trace: &TraceFile) -> Result<WriterPropertiesPtr> {
    let (process, lost) = (&trace.metadata().process, trace.header().lost);
    let missing: u64 = lost.iter().take(3).fold(0, |sum, n| sum.saturating_add(*n));
    let pairs = [
        ("cushim.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("cushim.argv", serde_json::to_string(&process.argv).unwrap_or_default()),
        ("cushim.pid", process.pid.to_string()),
        ("cushim.host", process.host.clone()),
        ("cushim.rank", process.rank.map(|rank| rank.to_string()).unwrap_or_default()),
        ("cushim.missing_events", missing.to_string()),
    ];
    let pairs = pairs.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value));
    Ok(Arc::new(
        WriterProperties::builder()
            .set_created_by(format!("cushim {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(pairs.collect()))
            .build(),
    ))
}

/// A value as `report` writes it; addresses always in hexadecimal.
fn value(value: &Value) -> ByteArray {
    match value {
        Value::Address(address) => hexadecimal(*address),
        value => text(&value.text("...")),
    }
}

fn of_kernel(
    launch: &Launch<'_>,
    kernel: &crate::view::known::Kernel,
    meta: &Metadata,
    texts: &mut Texts,
) -> Option<Vec<Argument>> {
    let list = arguments(launch, kernel, meta).ok()?;
    let mut kind = |kind: Option<&str>| kind.map(|kind| texts.get(kind));
    Some(list.iter().map(|a| [None, kind(a.kind), a.value.as_ref().map(value)]).collect())
}

fn of_call(call: &Call<'_>, facts: &Facts<'_>, texts: &mut Texts) -> Vec<Argument> {
    words(call, facts.api)
        .into_iter()
        .map(|word| {
            let name = Some(word.name).filter(|name| !name.is_empty());
            let name = name.map(|name| texts.get(name));
            let written = match &word.text {
                Some(written) => text(written),
                None => value(&word_value(word.shape, &word.words)),
            };
            [name, Some(texts.get(word.shape)), Some(written)]
        })
        .collect()
}

/// How many bytes a call copies, sets or allocates, where one of its arguments says that; and the
/// direction of a copy.
fn copied(event: &Event<'_>, facts: &Facts<'_>) -> (Option<i64>, Option<&'static str>) {
    /// What CUDA's manual calls such arguments.
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
