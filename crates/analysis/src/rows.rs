//! The rows of a file's sums: one for each kernel, call, stream, thread, range and direction.
//!
//! Owns: adding an event to a row, and adding the same row of another file. Must not know: which row an event belongs
//! to ([`crate::collect`]), or how anything is shown.

use std::collections::BTreeMap;

use cushim_abi::types;
use cushim_abi::work::{Direction, transfer};
use cushim_trace::event::{LaunchEvent, Mapped};
use cushim_trace::layout::{LAUNCH_ARGS_NULL, LAUNCH_ARGS_UNKNOWN};
use cushim_trace::meta::Api;
use serde::Serialize;

use crate::copies::Rule;
use crate::facts::REPORTERS;
use crate::fast::Map;
use crate::histogram::Histogram;
use crate::mapped::Mapping;
use crate::timeline::Timeline;

/// Distinct shapes that are kept for one kernel; further ones are only counted.
const SHAPES_MAX: usize = 1024;

/// Calls and the host time in them.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// How many there were.
    pub calls: u64,
    /// How many failed.
    pub failed: u64,
    /// How many had not come back when the trace ended.
    pub pending: u64,
    /// Host time in those that came back, ns.
    pub ns: Histogram,
}

impl Times {
    pub(super) fn add(&mut self, ns: Option<u64>, failed: bool) {
        self.calls += 1;
        self.failed += u64::from(failed);
        match ns {
            Some(ns) => self.ns.add(ns),
            None => self.pending += 1,
        }
    }
    /// Takes in another sum.
    pub fn merge(&mut self, other: &Times) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.pending += other.pending;
        self.ns.merge(&other.ns);
    }
}

/// What makes two launches of one kernel the same shape: grid, block, cluster, shared memory in bytes.
pub type Shape = ([u32; 3], [u32; 3], [u8; 3], u32);

/// The argument bytes that all launches have in common.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// Launches whose bytes were seen.
    pub launches: u64,
    /// Launches whose bytes were not recorded.
    pub unknown: u64,
    /// The bytes of the first launch.
    pub first: Vec<u8>,
    /// Bits in which any launch differs from it, byte by byte.
    pub changed: Vec<u8>,
}

impl Arguments {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.launches += 1;
        if self.launches == 1 {
            self.first = bytes.to_vec();
            self.changed = vec![0; bytes.len()];
        } else if self.first != bytes {
            self.differ(bytes);
        }
    }
    pub(super) fn differ(&mut self, bytes: &[u8]) {
        for ((changed, first), byte) in self.changed.iter_mut().zip(&self.first).zip(bytes) {
            *changed |= first ^ byte;
        }
        // What one of them lacks is not the same.
        self.changed.iter_mut().skip(bytes.len()).for_each(|changed| *changed = 0xff);
    }
    /// Takes in those of another file.
    pub fn merge(&mut self, other: &Arguments) {
        self.unknown += other.unknown;
        if self.launches == 0 {
            *self = Arguments { unknown: self.unknown, ..other.clone() };
        } else if other.launches > 0 {
            self.launches += other.launches;
            self.differ(&other.first);
            self.changed.iter_mut().zip(&other.changed).for_each(|(to, from)| *to |= from);
        }
    }
    /// The bytes of one argument if every launch has the same.
    pub fn constant(&self, offset: u32, size: u32) -> Option<&[u8]> {
        let end = offset.checked_add(size)? as usize;
        let place = offset as usize..end;
        let same = self.changed.get(place.clone())?.iter().all(|changed| *changed == 0);
        if same && self.unknown == 0 { self.first.get(place) } else { None }
    }
}

/// Counters of work, summed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// How much work had any.
    pub count: u64,
    /// By name.
    pub sums: BTreeMap<String, u64>,
}

impl Counted {
    /// Adds those of one piece of work.
    pub(super) fn add<'a>(&mut self, counters: impl Iterator<Item = (&'a str, u64)>) {
        let mut any = false;
        for (name, n) in counters {
            any = true;
            self.sum(name, n);
        }
        self.count += u64::from(any);
    }

    fn sum(&mut self, name: &str, n: u64) {
        match self.sums.get_mut(name) {
            Some(sum) => *sum = sum.saturating_add(n),
            None => _ = self.sums.insert(name.to_owned(), n),
        }
    }

    fn merge(&mut self, other: &Counted) {
        self.count += other.count;
        other.sums.iter().for_each(|(name, n)| self.sum(name, *n));
    }
}

/// Sums over one kernel.
#[derive(Clone, Debug, Default)]
pub struct KernelRow {
    /// When it was first seen in any event, ns since 1970.
    pub first_ns: i64,
    /// Launches.
    pub times: Times,
    /// Kernel nodes that were put into graphs or changed.
    pub nodes: u64,
    /// What a GPU did of it.
    pub gpu: Times,
    /// What was counted of that (`cushim profile -o`).
    pub counted: Counted,
    /// Shapes and how often each was used.
    pub shapes: Map<Shape, Times>,
    /// Launches with shapes beyond those that are kept.
    pub other_shapes: u64,
    /// Arguments.
    pub arguments: Arguments,
}

/// Sums over one function.
#[derive(Clone, Debug, Default)]
pub struct ApiRow {
    /// Its name.
    pub name: String,
    /// Its class, a word.
    pub class: String,
    /// Calls.
    pub times: Times,
    /// Failures by status.
    pub failures: BTreeMap<i32, u64>,
    pub(super) is_reporter: bool,
    pub(super) is_node: bool,
    pub(super) stream: Option<usize>,
    pub(super) rule: Option<Rule>,
    pub(super) kind: usize,
}

/// Sums over one stream.
#[derive(Clone, Debug, Default)]
pub struct StreamRow {
    /// When it was first used, ns since 1970.
    pub first_ns: i64,
    /// Kernel launches.
    pub launches: Times,
    /// Other calls that name the stream.
    pub calls: Times,
    /// Bytes of copies and sets among them.
    pub bytes: u64,
}

/// Sums over one thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadRow {
    /// All outermost calls.
    pub calls: Times,
    /// Kernel launches.
    pub launches: Times,
    /// Pauses: from the end of one launch to the beginning of the next.
    pub gaps: Histogram,
    /// The first call, and the end of the last, ns since the file's first event.
    pub span: (u64, u64),
    /// The last launch: when it ended, and its kernel.
    pub(super) last: Option<(u64, u32)>,
    pub(super) lane: Option<usize>,
    /// Ranges that are open: domain, key, when they began, launches before.
    pub(super) ranges: Vec<(u32, RangeKey, u64, u64)>,
}

/// What a range is called: its domain's name, empty for the default one, and its text.
pub type RangeKey = (String, String);

/// Sums over one range of the program's own.
#[derive(Clone, Debug, Default)]
pub struct RangeRow {
    /// How often, and its host time.
    pub times: Times,
    /// Launches of its thread inside it.
    pub launches: u64,
}

/// The key of a mapping: its location (in the source, else a region), its name there, its kind.
pub type MappingKey = (String, String, &'static str);

/// Sums over one mapping of LLVM's offloading.
#[derive(Clone, Debug, Default)]
pub struct MappingRow {
    /// How often it was requested, and the host time in the calls.
    pub times: Times,
    /// Bytes that it requests to be moved to the device.
    pub to: u64,
    /// Bytes that it requests to be moved from the device.
    pub from: u64,
    /// How often an earlier time had the same address and size.
    pub again: u64,
    /// Addresses and sizes that were seen.
    pub(super) seen: std::collections::HashSet<(u64, i64)>,
}

/// Addresses and sizes that are kept for one mapping.
const SEEN_MAX: usize = 1024;

impl MappingRow {
    /// `ends`: the mapping ends, and is the one that began before.
    pub(super) fn add(
        &mut self,
        mapping: &Mapping<'_>,
        ns: Option<u64>,
        (to, from): (u64, u64),
        ends: bool,
    ) {
        self.times.add(ns, false);
        self.to = self.to.saturating_add(to);
        self.from = self.from.saturating_add(from);
        let what = (mapping.pointer, mapping.bytes);
        if ends {
            return;
        }
        if self.seen.contains(&what) {
            self.again += 1;
        } else if self.seen.len() < SEEN_MAX {
            self.seen.insert(what);
        }
    }
    /// Takes in that of another file.
    pub fn merge(&mut self, other: &MappingRow) {
        self.times.merge(&other.times);
        self.to = self.to.saturating_add(other.to);
        self.from = self.from.saturating_add(other.from);
        self.again += other.again;
    }
}

/// Sums over what a GPU copied or set.
#[derive(Clone, Debug, Default)]
pub struct GpuCopyRow {
    /// How often, and the GPU's time.
    pub times: Times,
    /// Bytes.
    pub bytes: u64,
}

/// Sums over one stream of a GPU, by CUPTI's numbers.
#[derive(Clone, Debug, Default)]
pub struct GpuStreamRow {
    /// All work, and the time of each piece.
    pub times: Times,
    /// Kernels among it.
    pub kernels: u64,
    /// Bytes that were copied or set.
    pub bytes: u64,
    /// From the first piece's beginning to the last one's end, ns since 1970.
    pub span: (i64, i64),
    /// Its lane of the overview, for the first streams.
    pub lane: Option<Timeline>,
}

/// A pause between two launches of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// How long, ns.
    pub ns: u64,
    /// When it began, ns since 1970.
    pub at: i64,
    /// The thread.
    pub tid: u32,
    /// Number of the kernel before it.
    pub before: u32,
    /// Number of the kernel after it.
    pub after: u32,
}

/// Sums over copies in one direction.
#[derive(Clone, Debug, Default)]
pub struct CopyRow {
    /// Calls.
    pub times: Times,
    /// Bytes of those whose size the call tells.
    pub bytes: u64,
    /// Host time in those that came back, ns.
    pub known_ns: u64,
    /// Calls whose size is not in their arguments.
    pub unknown: u64,
}

/// Kinds of host time in the overview; indexes [`crate::timeline::Bin::ns`].
fn kind_of(class: &str) -> usize {
    match class {
        "launch" | "graph" => 0,
        "copy" => 1,
        "sync" => 2,
        _ => 3,
    }
}

impl KernelRow {
    /// Takes in the same kernel of another file.
    pub fn merge(&mut self, other: &KernelRow) {
        self.first_ns = self.first_ns.min(other.first_ns);
        self.times.merge(&other.times);
        self.nodes += other.nodes;
        self.gpu.merge(&other.gpu);
        self.counted.merge(&other.counted);
        self.other_shapes += other.other_shapes;
        for (shape, times) in &other.shapes {
            let room = self.shapes.len() < SHAPES_MAX;
            match self.shapes.get_mut(shape) {
                Some(sum) => sum.merge(times),
                None if room => self.shapes.entry(*shape).or_default().merge(times),
                None => self.other_shapes += times.calls,
            }
        }
        self.arguments.merge(&other.arguments);
    }
    pub(super) fn launch(&mut self, launch: &LaunchEvent<'_>, ns: Option<u64>, failed: bool) {
        self.shaped((launch.grid, launch.block, launch.cluster, launch.shared), ns, failed);
        match launch.flags & (LAUNCH_ARGS_UNKNOWN | LAUNCH_ARGS_NULL) {
            0 => self.arguments.add(launch.args),
            _ => self.arguments.unknown += 1,
        }
    }
    /// A target region: it has mappings, no block of arguments.
    pub(super) fn region(&mut self, region: &Mapped<'_>, ns: Option<u64>, failed: bool) {
        self.shaped((region.teams, region.threads, [0; 3], region.shared), ns, failed);
        self.arguments.unknown += 1;
    }
    fn shaped(&mut self, shape: Shape, ns: Option<u64>, failed: bool) {
        self.times.add(ns, failed);
        let room = self.shapes.len() < SHAPES_MAX;
        match self.shapes.get_mut(&shape) {
            Some(times) => times.add(ns, failed),
            None if room => self.shapes.entry(shape).or_default().add(ns, failed),
            None => self.other_shapes += 1,
        }
    }
}

impl CopyRow {
    pub(super) fn add(&mut self, bytes: Option<u64>, ns: Option<u64>, failed: bool) {
        self.times.add(ns, failed);
        match bytes {
            Some(bytes) if !failed => {
                self.bytes = self.bytes.saturating_add(bytes);
                self.known_ns = self.known_ns.saturating_add(ns.unwrap_or(0));
            }
            Some(_) => {}
            None => self.unknown += 1,
        }
    }
    /// Takes in another sum.
    pub fn merge(&mut self, other: &CopyRow) {
        self.times.merge(&other.times);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.known_ns = self.known_ns.saturating_add(other.known_ns);
        self.unknown += other.unknown;
    }
}

impl ApiRow {
    pub(super) fn new(api: Option<&Api>) -> Self {
        let Some(api) = api else {
            return ApiRow {
                name: "unknown".into(),
                class: "unknown".into(),
                kind: 3,
                ..ApiRow::default()
            };
        };
        let sets = transfer(&api.name).is_some_and(|t| t.direction == Direction::Set);
        ApiRow {
            is_reporter: REPORTERS.contains(&api.name.as_str()),
            is_node: api.class == "graph",
            stream: api.args.iter().position(|(_, shape)| shape == types::Shape::Stream.word()),
            // Sets are of class `memory`.
            rule: (api.class == "copy" || sets).then(|| Rule::of(api)),
            kind: if sets { 1 } else { kind_of(&api.class) },
            name: api.name.clone(),
            class: api.class.clone(),
            ..ApiRow::default()
        }
    }
}
