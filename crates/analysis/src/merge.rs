//! Merges the sums of all files into one report.
//!
//! Owns: numbers of kernels (by first appearance, as in the list of events), which rows of several files are one,
//! labels. Must not know: how the sums were computed, or how they are shown.

use std::collections::{BTreeMap, HashMap, HashSet};

use cushim_abi::errors;
use cushim_abi::work::{Direction, launches_graph};
use cushim_names::Value;
use cushim_trace::layout::Lost as LostKind;
use cushim_trace::reader::TraceFile;

use crate::arguments::copy_direction;
use crate::collect::{FileSums, GAPS_MAX};
use crate::filter::KernelFilter;
use crate::known::{Handle, Known};
use crate::model::*;
use crate::names::{NameForm, labels};
use crate::rows::{KernelRow, Times};
use crate::words::printable;

/// Lanes of the overview.
const LANES_MAX: usize = 256;

/// Kernels of all files under one number each.
pub struct Numbers {
    known: Known,
    /// Place by file and number in the file.
    places: HashMap<(usize, u32), usize>,
}

impl Numbers {
    /// By first appearance in time.
    pub fn new(files: &[(TraceFile, FileSums)], filter: &KernelFilter) -> Self {
        let mut order: Vec<(i64, usize, u32)> = Vec::new();
        for (index, (_, sums)) in files.iter().enumerate() {
            order.extend(sums.kernels.iter().map(|(&id, row)| (row.first_ns, index, id)));
        }
        order.sort_unstable();
        let (mut known, mut places) = (Known::default(), HashMap::new());
        for (_, index, id) in order {
            if let Some((file, _)) = files.get(index) {
                places.insert((index, id), known.kernel(filter, index, file.metadata(), id));
            }
        }
        Numbers { known, places }
    }

    /// The numbers in file `index` of the kernels that the filter accepts.
    pub fn shown(&self, index: usize) -> HashSet<u32> {
        let shown = |place: usize| self.known.kernels().get(place).is_some_and(|k| k.shown);
        let all = self.places.iter().filter(|((file, _), place)| *file == index && shown(**place));
        all.map(|((_, id), _)| *id).collect()
    }
}

/// All that is merged over files.
#[derive(Default)]
struct Merged {
    kernels: BTreeMap<usize, (KernelRow, usize, u32)>,
    apis: BTreeMap<(String, String), Times>,
    failures: BTreeMap<(String, i32), u64>,
    copies: BTreeMap<(Direction, bool), crate::rows::CopyRow>,
    gpu_copies: BTreeMap<u8, crate::rows::GpuCopyRow>,
    ranges: BTreeMap<crate::rows::RangeKey, crate::rows::RangeRow>,
    mappings: BTreeMap<crate::rows::MappingKey, crate::rows::MappingRow>,
    notes: Vec<String>,
}

/// The report of these files.
pub fn report(files: &[(TraceFile, FileSums)], mut numbers: Numbers, names: NameForm) -> Report {
    let start = files.iter().filter_map(|(_, sums)| Some(sums.span?.0)).min();
    let end = files.iter().filter_map(|(_, sums)| Some(sums.span?.1)).max();
    let mut out = Report {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        start_ns: start,
        duration_ns: start.zip(end).map_or(0, |(a, b)| b.saturating_sub(a).max(0) as u64),
        events: files.iter().map(|(_, sums)| sums.events).sum(),
        ..Report::default()
    };
    let since = |at: i64| at.saturating_sub(start.unwrap_or(at)).max(0) as u64;
    let mut merged = Merged::default();
    let mut calls = Times::default();
    for (index, (file, sums)) in files.iter().enumerate() {
        calls.merge(&sums.calls);
        out.processes.push(process(file, sums));
        merged.add(index, file, sums, &numbers);
        streams(&mut out.streams, index, file, sums, &mut numbers.known);
        threads(&mut out.threads, file, sums);
        gpu_streams(&mut out.gpu_streams, file, sums);
        let pid = file.metadata().process.pid;
        let marks = sums.marks.iter();
        out.marks.extend(marks.map(|(at, text)| Mark {
            at_ns: since(*at),
            pid,
            text: printable(text),
        }));
        lanes(&mut out.lanes, file, sums, since(sums.span.map_or(0, |span| span.0)));
    }
    out.calls = Calls::of(&calls);
    kernels(&mut out, files, &numbers, &merged, names);
    out.gaps = gaps(files, &numbers, &out.kernels, since);
    let notes = std::mem::take(&mut merged.notes);
    sums(&mut out, merged);
    out.marks.sort_by_key(|mark| mark.at_ns);
    out.ranks = ranks(files);
    out.notes = notes;
    out
}

/// The kernels that ran, and how often all of them did.
fn kernels(
    out: &mut Report,
    files: &[(TraceFile, FileSums)],
    numbers: &Numbers,
    merged: &Merged,
    names: NameForm,
) {
    let rows: Vec<_> = merged
        .kernels
        .iter()
        .filter_map(|(place, row)| Some((numbers.known.kernels().get(*place)?, row)))
        .filter(|(_, (row, ..))| row.times.calls + row.nodes + row.gpu.calls > 0)
        .collect();
    let names = labels(names, &rows.iter().map(|(kernel, _)| *kernel).collect::<Vec<_>>());
    for ((kernel, (row, index, id)), label) in rows.into_iter().zip(names) {
        let layout = files.get(*index).and_then(|(file, _)| {
            file.metadata().kernels.get(id).and_then(|kernel| kernel.params.as_ref().ok())
        });
        out.graph_nodes += row.nodes;
        out.launches += row.times.calls;
        out.kernels.push(Kernel {
            kernel_id: format!("k{}", kernel.number),
            label,
            kernel: kernel.name.short.clone(),
            demangled: kernel.name.full.clone(),
            mangled: Some(kernel.name.mangled.clone()).filter(|symbol| !symbol.is_empty()),
            owner: printable(&kernel.owner),
            calls: Calls::of(&row.times),
            graph_nodes: row.nodes,
            gpu: Gpu::of(&row.gpu),
            counted: Some(&row.counted).filter(|counted| counted.count > 0).cloned(),
            shapes: shapes(row),
            other_shapes: row.other_shapes,
            arguments: layout.map(|layout| arguments(layout, kernel, row)),
        });
    }
}

/// What was summed over all files: functions, failures, copies, ranges, mappings.
fn sums(out: &mut Report, merged: Merged) {
    for ((api, class), times) in &merged.apis {
        if launches_graph(api) {
            out.graph_launches += times.calls;
        }
        let (api, class) = (printable(api), printable(class));
        out.apis.push(Api { api, class, calls: Calls::of(times) });
    }
    for ((api, status), calls) in merged.failures {
        let status_name = errors::error_name(&api, status);
        out.failures.push(Failure { api: printable(&api), status, status_name, calls });
    }
    out.failures.sort_by_key(|failure| std::cmp::Reverse(failure.calls));
    for ((direction, is_async), row) in &merged.copies {
        let rate = row.bytes as f64 / (row.known_ns as f64 / 1e9);
        out.copies.push(Copies {
            direction: direction.word(),
            r#async: *is_async,
            calls: Calls::of(&row.times),
            bytes: row.bytes,
            size_unknown: row.unknown,
            host_bytes_per_s: (!is_async && row.known_ns > 0).then_some(rate),
        });
    }
    for (direction, row) in &merged.gpu_copies {
        let gpu = Gpu::of(&row.times).unwrap_or_default();
        let rate = row.bytes as f64 / (gpu.gpu_ns.total as f64 / 1e9);
        out.gpu_copies.push(GpuCopies {
            direction: if *direction == 0 { "set" } else { copy_direction(*direction) },
            gpu,
            bytes: row.bytes,
            bytes_per_s: (gpu.gpu_ns.total > 0).then_some(rate),
        });
    }
    for ((domain, text), row) in &merged.ranges {
        out.ranges.push(Range {
            range: printable(text),
            domain: printable(domain),
            calls: Calls::of(&row.times),
            launches: row.launches,
        });
    }
    for ((place, name, kind), row) in &merged.mappings {
        out.mappings.push(Mapping {
            mapping: printable(name),
            place: printable(place),
            kind,
            calls: Calls::of(&row.times),
            bytes_to: row.to,
            bytes_from: row.from,
            again: row.again,
        });
    }
}

impl Merged {
    fn add(&mut self, index: usize, file: &TraceFile, sums: &FileSums, numbers: &Numbers) {
        let mut ids: Vec<_> = sums.kernels.iter().collect();
        ids.sort_unstable_by_key(|(id, _)| **id);
        for (&id, row) in ids {
            let Some(&place) = numbers.places.get(&(index, id)) else { continue };
            match self.kernels.get_mut(&place) {
                Some((sum, ..)) => sum.merge(row),
                None => {
                    self.kernels.insert(place, (row.clone(), index, id));
                }
            }
        }
        for row in sums.apis.values().filter(|row| row.times.calls > 0) {
            self.apis.entry((row.name.clone(), row.class.clone())).or_default().merge(&row.times);
            for (status, calls) in &row.failures {
                *self.failures.entry((row.name.clone(), *status)).or_default() += calls;
            }
        }
        for (key, row) in &sums.copies {
            self.copies.entry(*key).or_default().merge(row);
        }
        for (direction, row) in &sums.gpu_copies {
            let sum = self.gpu_copies.entry(*direction).or_default();
            sum.times.merge(&row.times);
            sum.bytes = sum.bytes.saturating_add(row.bytes);
        }
        for (key, row) in &sums.mappings {
            self.mappings.entry(key.clone()).or_default().merge(row);
        }
        for (key, row) in &sums.ranges {
            let sum = self.ranges.entry(key.clone()).or_default();
            sum.times.merge(&row.times);
            sum.launches += row.launches;
        }
        for note in &file.metadata().notes {
            let note = printable(note);
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

fn process(file: &TraceFile, sums: &FileSums) -> Process {
    let (header, process) = (file.header(), &file.metadata().process);
    let lost = |kind: LostKind| header.lost.get(kind as usize).copied().unwrap_or(0);
    let name = file.path().file_name().unwrap_or(file.path().as_os_str());
    Process {
        file: printable(&name.to_string_lossy()),
        pid: process.pid,
        ppid: process.ppid,
        host: printable(&process.host),
        rank: process.rank,
        exe: printable(&process.exe),
        argv: process.argv.iter().map(|arg| printable(arg)).collect(),
        version: printable(&process.version),
        closed: header.closed,
        start_ns: sums.span.map(|span| span.0),
        duration_ns: sums.span.map_or(0, |(a, b)| b.saturating_sub(a).max(0) as u64),
        events: sums.events,
        launches: sums.kernels.values().map(|row| row.times.calls).sum(),
        lost: Lost {
            limit: lost(LostKind::Limit),
            no_space: lost(LostKind::NoSpace),
            not_ready: lost(LostKind::NotReady),
            cut_arguments: lost(LostKind::CutArguments),
            file_size: lost(LostKind::FileSize),
            behind: lost(LostKind::Behind),
            overwritten: header.overwritten,
            damaged: file.damaged(),
        },
    }
}

fn shapes(row: &KernelRow) -> Vec<Shape> {
    let mut shapes: Vec<_> = row.shapes.iter().collect();
    shapes.sort_unstable_by(|a, b| b.1.calls.cmp(&a.1.calls).then(a.0.cmp(b.0)));
    let shape = |(key, times): (&crate::rows::Shape, &Times)| Shape {
        grid: key.0,
        block: key.1,
        cluster: Some(key.2).filter(|cluster| cluster.iter().any(|&n| n > 0)),
        shared: key.3,
        calls: Calls::of(times),
    };
    shapes.into_iter().map(shape).collect()
}

fn arguments(
    layout: &[(u32, u32)],
    kernel: &crate::known::Kernel,
    row: &KernelRow,
) -> Vec<Argument> {
    // A declaration with another number of parameters is not the one of this layout.
    let types = kernel.types.as_ref().filter(|list| list.len() == layout.len());
    let names = kernel.name.parameters.as_ref().filter(|list| list.len() == layout.len());
    let seen = &row.arguments;
    let is_known = seen.launches > 1 && seen.unknown == 0;
    let one = |(index, &(offset, size)): (usize, &(u32, u32))| {
        let same = seen.constant(offset, size).filter(|_| is_known);
        let value = same.map(|b| Value::read(types.and_then(|t| *t.get(index)?), b).text("…"));
        let kind = names.and_then(|list| list.get(index)).map(|kind| printable(kind));
        let constant = is_known.then_some(same.is_some());
        Argument { index, offset, size, r#type: kind, constant, value }
    };
    layout.iter().enumerate().map(one).collect()
}

fn streams(
    out: &mut Vec<Stream>,
    index: usize,
    file: &TraceFile,
    sums: &FileSums,
    known: &mut Known,
) {
    let process = &file.metadata().process;
    let mut rows: Vec<_> = sums.streams.iter().collect();
    rows.sort_unstable_by_key(|(handle, row)| (row.first_ns, **handle));
    for (&handle, row) in rows {
        out.push(Stream {
            stream: known.handle(index, Handle::Stream, handle),
            stream_handle: format!("{handle:#x}"),
            pid: process.pid,
            host: printable(&process.host),
            calls: Calls::of(&row.launches),
            other_calls: row.calls.calls,
            other_ns: row.calls.ns.total(),
            bytes: row.bytes,
        });
    }
}

fn threads(out: &mut Vec<Thread>, file: &TraceFile, sums: &FileSums) {
    let process = &file.metadata().process;
    let mut rows: Vec<_> = sums.threads.iter().collect();
    rows.sort_unstable_by_key(|(tid, _)| **tid);
    for (&tid, row) in rows {
        let gaps = Times { ns: row.gaps.clone(), ..Times::default() };
        out.push(Thread {
            tid,
            pid: process.pid,
            host: printable(&process.host),
            calls: Calls::of(&row.calls),
            launches: row.launches.calls,
            span_ns: row.span.1.saturating_sub(row.span.0),
            gaps: CallNs::of(&gaps),
        });
    }
}

fn gpu_streams(out: &mut Vec<GpuStream>, file: &TraceFile, sums: &FileSums) {
    let process = &file.metadata().process;
    for (&(device, gpu_stream), row) in &sums.gpu_streams {
        out.push(GpuStream {
            device,
            gpu_stream,
            pid: process.pid,
            host: printable(&process.host),
            gpu: Gpu::of(&row.times).unwrap_or_default(),
            kernels: row.kernels,
            bytes: row.bytes,
            span_ns: row.span.1.saturating_sub(row.span.0).max(0) as u64,
        });
    }
}

fn lanes(out: &mut Vec<Lane>, file: &TraceFile, sums: &FileSums, at_ns: u64) {
    let process = &file.metadata().process;
    for (bins, tid) in sums.lanes.iter().zip(&sums.lane_tids) {
        if out.len() >= LANES_MAX {
            return;
        }
        let rank = process.rank.map(|rank| format!("rank {rank}, ")).unwrap_or_default();
        let thread = tid.map_or("other threads".to_owned(), |tid| format!("thread {tid}"));
        let name = format!("{rank}process {}, {thread}", process.pid);
        out.push(Lane { name, is_gpu: false, at_ns, bins: bins.clone() });
    }
    for ((device, stream), row) in &sums.gpu_streams {
        let Some(bins) = row.lane.as_ref().filter(|_| out.len() < LANES_MAX) else { continue };
        let rank = process.rank.map(|rank| format!("rank {rank}, ")).unwrap_or_default();
        let name = format!("{rank}process {}, GPU {device}, stream {stream}", process.pid);
        out.push(Lane { name, is_gpu: true, at_ns, bins: bins.clone() });
    }
}

fn gaps(
    files: &[(TraceFile, FileSums)],
    numbers: &Numbers,
    kernels: &[Kernel],
    since: impl Fn(i64) -> u64,
) -> Vec<Gap> {
    let labels: HashMap<&str, &str> =
        kernels.iter().map(|k| (k.kernel_id.as_str(), k.label.as_str())).collect();
    let name = |index: usize, id: u32| {
        let place = numbers.places.get(&(index, id));
        let kernel = place.and_then(|place| numbers.known.kernels().get(*place));
        let number = kernel.map_or("?".to_owned(), |kernel| format!("k{}", kernel.number));
        match labels.get(number.as_str()) {
            Some(label) => format!("{number} {label}"),
            None => number,
        }
    };
    let mut all: Vec<_> = files
        .iter()
        .enumerate()
        .flat_map(|(index, (_, sums))| sums.gaps.iter().map(move |gap| (gap.0, index)))
        .collect();
    all.sort_unstable_by(|a, b| b.0.ns.cmp(&a.0.ns).then(a.cmp(b)));
    let one = |(gap, index): (crate::rows::Gap, usize)| Gap {
        ns: gap.ns,
        at_ns: since(gap.at),
        pid: files.get(index).map_or(0, |(file, _)| file.metadata().process.pid),
        tid: gap.tid,
        before: name(index, gap.before),
        after: name(index, gap.after),
    };
    all.into_iter().take(GAPS_MAX).map(one).collect()
}

/// The files of one rank.
type Group<'a> = Vec<&'a (TraceFile, FileSums)>;

fn ranks(files: &[(TraceFile, FileSums)]) -> Vec<Rank> {
    // Processes without a rank stay apart.
    let mut groups: BTreeMap<(Option<u32>, usize), Group<'_>> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        let rank = file.0.metadata().process.rank;
        groups.entry((rank, if rank.is_some() { 0 } else { index })).or_default().push(file);
    }
    let one = |((rank, _), files): ((Option<u32>, usize), Group<'_>)| {
        let (mut launches, mut all_ns) = (Times::default(), 0u64);
        for (_, sums) in &files {
            sums.kernels.values().for_each(|row| launches.merge(&row.times));
            all_ns = all_ns.saturating_add(sums.calls.ns.total());
        }
        let start = files.iter().filter_map(|(_, sums)| Some(sums.span?.0)).min();
        let end = files.iter().filter_map(|(_, sums)| Some(sums.span?.1)).max();
        let host = files.first().map(|(file, _)| printable(&file.metadata().process.host));
        Rank {
            rank,
            pids: files.iter().map(|(file, _)| file.metadata().process.pid).collect(),
            host: host.unwrap_or_default(),
            calls: Calls::of(&launches),
            duration_ns: start.zip(end).map_or(0, |(a, b)| b.saturating_sub(a).max(0) as u64),
            all_ns,
        }
    };
    groups.into_iter().map(one).collect()
}
