//! Sums over the events of one file, in one pass and bounded memory.
//!
//! Owns: what is counted. Only outermost calls are, which the program made; calls that CUDA makes inside them are
//! part of their time. Must not know: other files, names, or how anything is shown.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

use cushim_abi::errors;
use cushim_abi::work::Direction;
use cushim_names::Name;
use cushim_trace::event::{Body, Call, Event, Gpu, Mapped, Range};
use cushim_trace::layout::{
    GPU_COPY, GPU_KERNEL, MAP_END, RANGE_END, RANGE_MARK, RANGE_POP, RANGE_PUSH, RANGE_START,
};
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;

use crate::copies::Copied;
use crate::error::Error;
use crate::fast::Map;
use crate::mapped::{self, mappings};
use crate::rows::{
    ApiRow, CopyRow, Gap, GpuCopyRow, GpuStreamRow, KernelRow, MappingKey, MappingRow, RangeKey,
    RangeRow, StreamRow, ThreadRow, Times,
};
use crate::timeline::Timeline;

/// Threads with a lane of their own in the overview.
const LANES_MAX: usize = 64;
/// Streams of GPUs with a lane of their own.
const GPU_LANES_MAX: usize = 32;
/// Marks that are kept.
const MARKS_MAX: usize = 1000;
/// Names of ranges that are kept.
const RANGES_MAX: usize = 4096;
/// Ranges of one thread, or of a process that may end anywhere, that are open at a time.
const OPEN_MAX: usize = 1024;
/// The largest pauses that are kept.
pub const GAPS_MAX: usize = 50;

/// All sums over one file.
#[derive(Clone, Debug, Default)]
pub struct FileSums {
    /// Events, nested ones too.
    pub events: u64,
    /// Outermost calls.
    pub calls: Times,
    /// Begin of the first event, and end of the last, ns since 1970.
    pub span: Option<(i64, i64)>,
    /// By number of the kernel.
    pub kernels: Map<u32, KernelRow>,
    /// By number of the function.
    pub apis: Map<u16, ApiRow>,
    /// By handle.
    pub streams: Map<u64, StreamRow>,
    /// By thread.
    pub threads: Map<u32, ThreadRow>,
    /// By direction and whether the call says that it does not wait.
    pub copies: BTreeMap<(Direction, bool), CopyRow>,
    /// What the GPU copied (by CUPTI's direction) and set (0).
    pub gpu_copies: BTreeMap<u8, GpuCopyRow>,
    /// By device and stream of CUPTI's counting.
    pub gpu_streams: BTreeMap<(u32, u32), GpuStreamRow>,
    /// The program's own ranges.
    pub ranges: BTreeMap<RangeKey, RangeRow>,
    /// What is mapped for target regions.
    pub mappings: BTreeMap<MappingKey, MappingRow>,
    /// Ranges that any thread may end, by id: key, when they began.
    open_ranges: BTreeMap<u64, (RangeKey, u64)>,
    /// The largest pauses.
    pub gaps: BinaryHeap<Reverse<Gap>>,
    /// What the user put into the trace, and when (ns since 1970).
    pub marks: Vec<(i64, String)>,
    /// Lanes of the overview; those that have no thread of their own share the last.
    pub lanes: Vec<Timeline>,
    /// The thread of each lane; `None` for the shared one.
    pub lane_tids: Vec<Option<u32>>,
}

/// Reads the whole of `file`. With `only`, what is not about these kernels is left out.
pub fn collect(
    file: &mut TraceFile,
    only: Option<&HashSet<u32>>,
    mut watch: impl FnMut(&Event<'_>),
) -> Result<FileSums, Error> {
    let offset = file.header().timeline.realtime_offset_ns();
    let mut sums = FileSums::default();
    file.poll(true, &mut |meta, event| {
        watch(event);
        sums.event(offset, only, meta, event);
    })?;
    Ok(sums)
}

impl FileSums {
    fn mark(&mut self, at: i64, text: &str) {
        if self.marks.len() < MARKS_MAX {
            self.marks.push((at, text.to_owned()));
        }
    }

    fn event(&mut self, offset: i64, only: Option<&HashSet<u32>>, meta: &Metadata, e: &Event<'_>) {
        let at = (e.begin_ns as i64).wrapping_add(offset);
        let end = at.saturating_add(e.call_ns.unwrap_or(0) as i64);
        self.events += 1;
        let span = self.span.get_or_insert((at, end));
        // Threads are merged by time, so the first event is the earliest.
        span.1 = span.1.max(end);
        let since = at.saturating_sub(span.0).max(0) as u64;
        let id = match &e.body {
            Body::Launch(launch) => Some(launch.kernel),
            Body::Call(call) => Some(call.kernel).filter(|&id| id != 0),
            Body::Mark(text) => return self.mark(at, text),
            Body::Gpu(gpu) => return self.gpu(only, meta, (at, end), e, gpu),
            Body::Mapped(mapped) => Some(mapped.kernel).filter(|_| mapped.what == 0),
            Body::Range(range) => return self.range(meta, (at, since), e.tid, range),
        };
        let kernel = id.map(|id| {
            self.kernels
                .entry(id)
                .or_insert_with(|| KernelRow { first_ns: at, ..KernelRow::default() })
        });
        if only.is_some_and(|only| id.is_none_or(|id| !only.contains(&id))) || e.depth > 0 {
            return;
        }
        let api = self.apis.entry(e.api).or_insert_with(|| ApiRow::new(meta.apis.get(&e.api)));
        let failed = e.status.is_some_and(errors::is_failure) && !api.is_reporter;
        self.calls.add(e.call_ns, failed);
        api.times.add(e.call_ns, failed);
        if let Some(status) = e.status.filter(|_| failed) {
            *api.failures.entry(status).or_default() += 1;
        }
        let thread = self
            .threads
            .entry(e.tid)
            .or_insert_with(|| ThreadRow { span: (since, since), ..ThreadRow::default() });
        thread.calls.add(e.call_ns, failed);
        let ns = e.call_ns.unwrap_or(0);
        thread.span.1 = thread.span.1.max(since.saturating_add(ns));
        let (lanes, tids) = (&mut self.lanes, &mut self.lane_tids);
        let lane = *thread.lane.get_or_insert_with(|| lane(lanes, tids, e.tid));
        let is_region = matches!(&e.body, Body::Mapped(mapped) if mapped.what == 0);
        let is_launch = is_region || matches!(e.body, Body::Launch(_)) && !api.is_node;
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.add(since, api.kind, ns, is_launch);
        }
        if let Body::Mapped(mapped) = &e.body {
            map(&mut self.mappings, meta, mapped, e.call_ns);
        }
        match (&e.body, kernel) {
            (Body::Launch(_), Some(kernel)) if api.is_node => kernel.nodes += 1,
            (Body::Launch(launch), Some(kernel)) => {
                kernel.launch(launch, e.call_ns, failed);
                let stream = stream(&mut self.streams, launch.stream, at);
                stream.launches.add(e.call_ns, failed);
                thread.launches.add(e.call_ns, failed);
                if let Some((until, before)) = thread.last {
                    let pause = since.saturating_sub(until);
                    thread.gaps.add(pause);
                    let (began, after) = (at.saturating_sub(pause as i64), launch.kernel);
                    let gap = Gap { ns: pause, at: began, tid: e.tid, before, after };
                    keep(&mut self.gaps, gap);
                }
                thread.last = Some((since.saturating_add(ns), launch.kernel));
            }
            (Body::Mapped(region), Some(kernel)) => kernel.region(region, e.call_ns, failed),
            (Body::Call(call), _) => {
                let rows = &mut self.copies;
                let bytes =
                    api.rule.as_ref().map(|rule| copy(rows, rule.read(call), e.call_ns, failed));
                if let Some(handle) = api.stream.and_then(|n| word(call, n)) {
                    let stream = stream(&mut self.streams, handle, at);
                    stream.calls.add(e.call_ns, failed);
                    stream.bytes = stream.bytes.saturating_add(bytes.unwrap_or(0));
                }
            }
            _ => {}
        }
    }
}

/// Takes in a copy; its bytes, as far as they are known and were copied.
fn copy(
    rows: &mut BTreeMap<(Direction, bool), CopyRow>,
    copied: Copied,
    call_ns: Option<u64>,
    failed: bool,
) -> u64 {
    let row = rows.entry((copied.direction, copied.is_async)).or_default();
    row.add(copied.bytes, call_ns, failed);
    copied.bytes.filter(|_| !failed).unwrap_or(0)
}

/// A new timeline for a thread; the last one is that of all further threads.
fn lane(lanes: &mut Vec<Timeline>, tids: &mut Vec<Option<u32>>, tid: u32) -> usize {
    let place = lanes.len().min(LANES_MAX);
    if place == lanes.len() {
        lanes.push(Timeline::default());
        tids.push((place < LANES_MAX).then_some(tid));
    }
    place
}

/// Keeps a gap if it is one of the longest.
fn keep(gaps: &mut BinaryHeap<Reverse<Gap>>, gap: Gap) {
    let enough = gaps.len() >= GAPS_MAX;
    if !enough || gaps.peek().is_some_and(|least| least.0.ns < gap.ns) {
        gaps.push(Reverse(gap));
        if enough {
            gaps.pop();
        }
    }
}

/// Collects what a region or a call maps, except values.
fn map(
    rows: &mut BTreeMap<MappingKey, MappingRow>,
    meta: &Metadata,
    mapped: &Mapped<'_>,
    ns: Option<u64>,
) {
    let kernel = meta.kernels.get(&mapped.kernel).filter(|_| mapped.what == 0);
    let place = match (mapped::place(mapped, meta), kernel) {
        (Some(place), _) => format!("{}:{}", place.file, place.line),
        (None, Some(kernel)) => Name::new(&kernel.mangled).short,
        (None, None) => String::new(),
    };
    for (n, mapping) in mappings(mapped, meta).enumerate().filter(|(_, m)| m.kind != "literal") {
        let name = match mapping.name {
            "" => format!("#{n}"),
            name => name.to_owned(),
        };
        let bytes = mapped::way(mapped.what, mapping.moves());
        // A region that ran on the host moved nothing.
        let bytes = if mapped.fallback == 0 { bytes } else { (0, 0) };
        let key = (place.clone(), name, mapping.kind);
        if rows.len() < RANGES_MAX || rows.contains_key(&key) {
            rows.entry(key).or_default().add(&mapping, ns, bytes, mapped.what == MAP_END);
        }
    }
}

impl FileSums {
    fn gpu(
        &mut self,
        only: Option<&HashSet<u32>>,
        meta: &Metadata,
        (at, end): (i64, i64),
        e: &Event<'_>,
        gpu: &Gpu<'_>,
    ) {
        let is_kernel = gpu.what == GPU_KERNEL && gpu.kernel != 0;
        if only.is_some_and(|only| !is_kernel || !only.contains(&gpu.kernel)) {
            // What `k2` means depends on all kernels there are.
            if is_kernel {
                self.kernels
                    .entry(gpu.kernel)
                    .or_insert_with(|| KernelRow { first_ns: at, ..KernelRow::default() });
            }
            return;
        }
        let since = at.saturating_sub(self.span.map_or(at, |span| span.0)).max(0) as u64;
        if is_kernel {
            let row = self.kernels.entry(gpu.kernel);
            let row = row.or_insert_with(|| KernelRow { first_ns: at, ..KernelRow::default() });
            row.gpu.add(e.call_ns, false);
            row.counted.add(gpu.counted(meta));
        } else {
            let direction = if gpu.what == GPU_COPY { gpu.direction } else { 0 };
            let row = self.gpu_copies.entry(direction).or_default();
            row.times.add(e.call_ns, false);
            row.bytes = row.bytes.saturating_add(gpu.bytes);
        }
        let has_lane = self.gpu_streams.len() < GPU_LANES_MAX;
        let row = self.gpu_streams.entry((gpu.device, gpu.stream));
        let row = row.or_insert_with(|| GpuStreamRow {
            span: (at, end),
            lane: has_lane.then(Timeline::default),
            ..Default::default()
        });
        if let Some(lane) = &mut row.lane {
            let kind = usize::from(gpu.what != GPU_KERNEL);
            lane.add(since, kind, e.call_ns.unwrap_or(0), gpu.what == GPU_KERNEL);
        }
        row.times.add(e.call_ns, false);
        row.kernels += u64::from(is_kernel);
        row.bytes = row.bytes.saturating_add(gpu.bytes);
        row.span = (row.span.0.min(at), row.span.1.max(end));
    }

    fn range(&mut self, meta: &Metadata, (at, since): (i64, u64), tid: u32, range: &Range<'_>) {
        let key = || {
            let domain = meta.names.get(&range.domain).cloned().unwrap_or_default();
            (domain, range.text.to_owned())
        };
        let thread = self
            .threads
            .entry(tid)
            .or_insert_with(|| ThreadRow { span: (since, since), ..ThreadRow::default() });
        let launches = thread.launches.calls;
        let ended = match range.what {
            RANGE_PUSH => {
                if thread.ranges.len() < OPEN_MAX {
                    thread.ranges.push((range.domain, key(), since, launches));
                }
                None
            }
            RANGE_POP => {
                let latest = thread.ranges.iter().rposition(|open| open.0 == range.domain);
                latest.map(|place| thread.ranges.remove(place)).map(|(_, key, begin, before)| {
                    (key, since.saturating_sub(begin), launches - before)
                })
            }
            RANGE_START => {
                if self.open_ranges.len() < OPEN_MAX {
                    self.open_ranges.insert(range.id, (key(), since));
                }
                None
            }
            RANGE_END => {
                let open = self.open_ranges.remove(&range.id);
                open.map(|(key, begin)| (key, since.saturating_sub(begin), 0))
            }
            RANGE_MARK => {
                if self.marks.len() < MARKS_MAX {
                    self.marks.push((at, range.text.to_owned()));
                }
                None
            }
            _ => None,
        };
        let Some((key, ns, launches)) = ended else { return };
        if self.ranges.len() < RANGES_MAX || self.ranges.contains_key(&key) {
            let row = self.ranges.entry(key).or_default();
            row.times.add(Some(ns), false);
            row.launches += launches;
        }
    }
}

/// An input word: what a call wrote there is not what it was given.
fn word(call: &Call<'_>, n: usize) -> Option<u64> {
    let is_out = u32::from(call.outs).checked_shr(n as u32).is_some_and(|bits| bits & 1 != 0);
    call.words.get(n).filter(|_| !is_out)
}

fn stream(streams: &mut Map<u64, StreamRow>, handle: u64, at: i64) -> &mut StreamRow {
    streams.entry(handle).or_insert_with(|| StreamRow { first_ns: at, ..StreamRow::default() })
}
