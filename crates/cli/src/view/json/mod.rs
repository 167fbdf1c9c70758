//! Events as JSON lines. `docs/trace-jsonl.md` says what each field means; fields are only ever added.
//!
//! Must not know: which events are shown.

mod lines;

use std::io::{self, Write};

use cushim_abi::errors;
use cushim_names::Value;
use cushim_trace::event::{Body, Event, Gpu, LaunchEvent, Mapped, Payload};
use cushim_trace::layout::{
    GPU_COPY, GPU_KERNEL, GPU_SET, LAUNCH_COOPERATIVE, MAPPED_NOWAIT, MAPPED_UNKNOWN, RANGE_END,
    RANGE_POP, RANGE_PUSH, RANGE_START,
};
use cushim_trace::meta::Metadata;
use serde::Serialize;

pub(crate) use self::lines::JsonValue;
use self::lines::{
    ApiSummary, Argument, GpuLine, GpuSummary, Header, KernelSummary, Line, Lost, MappingLine,
    Number, Place, Process, Range, Region, Summary,
};
use super::seen::{Run, Seen, Totals};
use super::stats::Stats;
use cushim_analysis::Source;
use cushim_analysis::arguments::{Word, arguments, copy_direction, why_no_bytes, words};
use cushim_analysis::known::{Handle, Kernel, Known};
use cushim_analysis::mapped::{self, Mapping, mappings, moved};

fn write(out: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    out.write_all(&bytes)
}

/// The first line.
pub fn header(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    let header = Header {
        event: "header",
        format: "cushim-trace-1",
        version: env!("CARGO_PKG_VERSION"),
        clock: "realtime",
        host: &run.host,
        rank: run.rank,
        argv: &run.argv,
    };
    write(out, &header)
}

/// A process, before its first event.
pub fn process(out: &mut dyn Write, meta: &Metadata) -> io::Result<()> {
    let p = &meta.process;
    let process = Process {
        event: "process",
        pid: p.pid,
        ppid: p.ppid,
        exe: &p.exe,
        argv: &p.argv,
        host: &p.host,
        rank: p.rank,
        version: &p.version,
    };
    write(out, &process)
}

fn hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from_digit(n.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

/// Ids are unique over all files: the file's number takes the bits from 40 on, which keeps them exact
/// in a double.
fn id(source: usize, id: u64) -> u64 {
    (source as u64) << 40 | id
}

/// One event.
pub fn event(out: &mut dyn Write, seen: &Seen<'_>, known: &mut Known) -> io::Result<()> {
    let event = seen.event;
    let source = seen.source.index;
    let handle = |value: u64| (value != 0).then(|| format!("{value:#x}"));
    let (launch, call, text) = match &event.body {
        Body::Launch(launch) => (Some(launch), None, None),
        Body::Call(call) => (None, Some(call), None),
        Body::Mark(text) => (None, None, Some(*text)),
        Body::Range(range) => (None, None, Some(range.text)),
        Body::Gpu(_) | Body::Mapped(_) => (None, None, None),
    };
    let mapped = match &event.body {
        Body::Mapped(mapped) => Some(mapped),
        _ => None,
    };
    let mut stream = launch.filter(|_| !seen.is_node()).map(|l| l.stream);
    let words = call.map(|call| words(call, seen.api));
    if let Some(words) = &words {
        let word = words.iter().find(|word| word.shape == "stream");
        stream = word.and_then(|word| word.words.first().copied());
    }
    let stream_name = stream.map(|value| match event.status {
        Some(0) => known.handle(source, Handle::Stream, value),
        _ => known.seen_handle(source, Handle::Stream, value),
    });
    let graph = launch.filter(|_| seen.is_node()).map(|l| l.stream);
    let graph = graph.map(|value| known.handle(source, Handle::Graph, value));
    let kernel = seen.kernel.and_then(|place| known.kernels().get(place));
    let (args, args_why) = listed(launch, kernel, words, seen.meta);
    let line = Line {
        event: seen.class,
        id: id(source, event.id),
        parent: event.parent.map(|parent| id(source, parent)),
        api: seen.name(),
        kernel: kernel.map(|k| k.name.short.as_str()),
        demangled: kernel.map(|k| k.name.full.as_str()),
        mangled: kernel.map(|k| k.name.mangled.as_str()).filter(|symbol| !symbol.is_empty()),
        kernel_id: kernel.map(|k| format!("k{}", k.number)),
        device: launch.and_then(|l| seen.meta.contexts.device(l.context)),
        context: launch.and_then(|l| handle(l.context)),
        grid: launch.map(|l| l.grid),
        block: launch.map(|l| l.block),
        cluster: launch.map(|l| l.cluster).filter(|c| c.iter().any(|&n| n > 0)),
        cooperative: launch.map(|l| l.flags & LAUNCH_COOPERATIVE != 0),
        shared: launch.map(|l| l.shared),
        stream: stream_name,
        stream_handle: stream.map(|value| format!("{value:#x}")),
        graph,
        args,
        args_why,
        pid: seen.meta.process.pid,
        tid: event.tid,
        depth: event.depth,
        t_ns: (event.begin_ns as i64).wrapping_add(seen.source.realtime_offset_ns),
        call_ns: event.call_ns,
        status: event.status,
        status_name: event.status.and_then(|status| errors::error_name(seen.name(), status)),
        text,
        link: Some(event.link).filter(|&link| link != 0),
        range: range(event, seen.meta),
        region: mapped.map(|m| region(m, seen.meta)),
        place: mapped.and_then(|m| mapped::place(m, seen.meta)).map(|place| Place {
            file: place.file,
            function: place.name,
            line: place.line,
            column: place.column,
        }),
        mappings: mapped.map(|m| mappings(m, seen.meta).map(mapping).collect()),
        mapping_count: mapped.map(|m| m.count),
    };
    write(out, &line)
}

/// The arguments of a launch or of another call, or why there are none.
#[allow(clippy::type_complexity)]
fn listed<'a>(
    launch: Option<&LaunchEvent<'a>>,
    kernel: Option<&'a Kernel>,
    words: Option<Vec<Word<'a>>>,
    meta: &'a Metadata,
) -> (Option<Vec<Argument<'a>>>, Option<&'a str>) {
    let mut args_why = None;
    let args = match (launch, kernel, words) {
        (Some(launch), Some(kernel), _) => match arguments(launch, kernel, meta) {
            Ok(list) => Some(
                list.into_iter()
                    .map(|a| Argument::Bytes {
                        offset: a.offset,
                        size: a.size,
                        hex: a.bytes.map(hex),
                        r#type: a.kind,
                        value: a.value.map(JsonValue),
                        why: a.bytes.is_none().then(|| why_no_bytes(launch)),
                    })
                    .collect(),
            ),
            Err(why) => {
                args_why = Some(why);
                None
            }
        },
        (_, _, Some(words)) => Some(
            words
                .into_iter()
                .map(|word| Argument::Word {
                    name: word.name,
                    r#type: word.shape,
                    out: word.is_out,
                    value: JsonValue(word_value(word.shape, &word.words)),
                    text: word.text,
                })
                .collect(),
        ),
        _ => None,
    };
    (args, args_why)
}

fn range<'a>(event: &Event<'a>, meta: &'a Metadata) -> Option<Range<'a>> {
    match &event.body {
        Body::Range(range) => Some(Range {
            what: range_word(range.what),
            domain: meta.names.get(&range.domain).map(String::as_str),
            id: Some(range.id).filter(|&id| id != 0),
            payload: range.payload().map(number),
            category: range.category,
            color: (range.color != 0).then(|| format!("#{:08x}", range.color)),
        }),
        _ => None,
    }
}

fn region(mapped: &Mapped<'_>, meta: &Metadata) -> Region {
    let is_region = mapped.what == 0;
    let (bytes_to, bytes_from) = moved(mapped, meta);
    Region {
        what: mapped::what(mapped),
        device: mapped.device,
        nowait: mapped.bits & MAPPED_NOWAIT != 0,
        teams: Some(mapped.teams).filter(|shape| *shape != [0; 3]),
        threads: Some(mapped.threads).filter(|shape| *shape != [0; 3]),
        trip_count: Some(mapped.trip_count).filter(|&n| n != 0),
        shared: is_region.then_some(mapped.shared),
        version: Some(mapped.version).filter(|&n| n != 0),
        args_known: mapped.bits & MAPPED_UNKNOWN == 0,
        bytes_to,
        bytes_from,
        fallback: mapped::fallback(mapped).map(|(word, _)| word),
    }
}

fn mapping(mapping: Mapping<'_>) -> MappingLine<'_> {
    let value = mapping.value();
    let is_data = mapping.kind != "literal";
    MappingLine {
        name: Some(mapping.name).filter(|name| !name.is_empty()),
        kind: mapping.kind,
        bytes: is_data.then_some(mapping.bytes),
        address: is_data.then(|| format!("{:#x}", mapping.pointer)),
        value: value.map(JsonValue),
        bits: format!("{:#x}", mapping.bits),
        words: mapping.words,
    }
}

fn number(payload: Payload) -> Number {
    match payload {
        Payload::Whole(whole) => match u64::try_from(whole) {
            Ok(whole) => Number::Natural(whole),
            Err(_) => Number::Negative(whole as i64),
        },
        Payload::Real(real) if real.is_finite() => Number::Real(real),
        Payload::Real(real) => Number::Text(real.to_string().to_ascii_lowercase()),
    }
}

/// The word for the kind of a range's event.
pub(crate) fn range_word(what: u8) -> &'static str {
    match what {
        RANGE_PUSH => "push",
        RANGE_POP => "pop",
        RANGE_START => "start",
        RANGE_END => "end",
        _ => "mark",
    }
}

/// The word for the kind of GPU work.
pub(crate) fn gpu_word(what: u8) -> &'static str {
    match what {
        GPU_KERNEL => "kernel",
        GPU_COPY => "copy",
        GPU_SET => "set",
        _ => "unknown",
    }
}

/// GPU work; `kernel` is its index in `known`.
pub fn gpu(
    out: &mut dyn Write,
    (source, meta, event, gpu): (&Source, &Metadata, &Event<'_>, &Gpu<'_>),
    kernel: Option<usize>,
    known: &Known,
) -> io::Result<()> {
    let kernel = kernel.and_then(|place| known.kernels().get(place));
    let is_kernel = gpu.what == GPU_KERNEL;
    let line = GpuLine {
        event: "gpu",
        id: id(source.index, event.id),
        what: gpu_word(gpu.what),
        link: Some(gpu.link).filter(|&link| link != 0),
        kernel: kernel.map(|k| k.name.short.as_str()),
        // Event pairs have no names of their own: it is the kernel that the call launched.
        mangled: meta.names.get(&gpu.name).map(String::as_str).or_else(|| {
            kernel.map(|k| k.name.mangled.as_str()).filter(|symbol| !symbol.is_empty())
        }),
        kernel_id: kernel.map(|k| format!("k{}", k.number)),
        device: gpu.device,
        gpu_context: gpu.context,
        gpu_stream: gpu.stream,
        grid: is_kernel.then_some(gpu.grid),
        block: is_kernel.then_some(gpu.block),
        shared: is_kernel.then_some(gpu.shared),
        direction: (gpu.what == GPU_COPY).then(|| copy_direction(gpu.direction)),
        bytes: (!is_kernel).then_some(gpu.bytes),
        graph_node: Some(gpu.graph_node).filter(|&node| node != 0),
        pid: meta.process.pid,
        t_ns: (event.begin_ns as i64).wrapping_add(source.realtime_offset_ns),
        gpu_ns: event.call_ns.unwrap_or(0),
        counters: gpu.counted(meta).collect(),
    };
    write(out, &line)
}

/// The value of a call's argument of this shape.
pub(crate) fn word_value(shape: &str, words: &[u64]) -> Value {
    let one = |value: u64| match shape {
        "int" | "device" | "memcpykind" => Value::Signed(i128::from(value as i64)),
        "size" | "uint" | "u64" | "dim" => Value::Unsigned(u128::from(value)),
        "value" => Value::read(None, &value.to_le_bytes()),
        _ => Value::Address(value),
    };
    match words {
        [word] => one(*word),
        words => Value::List(words.iter().map(|&word| one(word)).collect()),
    }
}

/// The last line.
pub fn summary(
    out: &mut dyn Write,
    totals: &Totals,
    stats: &Stats,
    known: &Known,
    notes: &[String],
) -> io::Result<()> {
    let kernels = stats.kernels(known).into_iter().map(|(kernel, row)| KernelSummary {
        kernel: &kernel.name.short,
        demangled: &kernel.name.full,
        mangled: Some(kernel.name.mangled.as_str()).filter(|symbol| !symbol.is_empty()),
        kernel_id: format!("k{}", kernel.number),
        owner: &kernel.owner,
        calls: row.times.calls,
        failed: row.times.failed,
        shapes: row.shapes.len(),
        call_ns_total: row.times.total_ns,
        call_ns_avg: row.times.average_ns(),
        call_ns_max: row.times.max_ns,
        gpu: (row.gpu.calls > 0).then(|| GpuSummary {
            calls: row.gpu.calls,
            ns_total: row.gpu.total_ns,
            ns_avg: row.gpu.average_ns(),
            ns_max: row.gpu.max_ns,
        }),
    });
    let apis = stats.apis().into_iter().map(|(api, times)| ApiSummary {
        api,
        calls: times.calls,
        failed: times.failed,
        call_ns_total: times.total_ns,
        call_ns_avg: times.average_ns(),
        call_ns_max: times.max_ns,
    });
    let [limit, no_space, not_ready, cut_arguments, file_size, behind, ..] = totals.lost;
    let summary = Summary {
        event: "summary",
        events: totals.events,
        calls: totals.calls,
        launches: totals.launches,
        graph_nodes: totals.nodes,
        failed: totals.failed,
        pending: totals.pending,
        processes: totals.processes,
        lost: Lost { limit, no_space, not_ready, cut_arguments, file_size, behind },
        overwritten: totals.overwritten,
        damaged: totals.damaged,
        kernels: kernels.collect(),
        apis: apis.collect(),
        notes,
    };
    write(out, &summary)
}
