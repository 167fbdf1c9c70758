//! The report as plain values, from which every output format is generated; serialized, it is the JSON.
//!
//! Owns: the structure of the JSON (`docs/report-json.md`); fields are only ever added. Must not know: trace files,
//! or how a table looks.

use serde::Serialize;

use crate::rows::{Counted, Times};
use crate::timeline::Timeline;

/// The format's name and version; another number would mean another format.
pub const FORMAT: &str = "cushim-report-1";

/// Host time in calls, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CallNs {
    /// Sum.
    pub total: u64,
    /// Mean of those that came back.
    pub mean: f64,
    /// Half are not above it.
    pub p50: u64,
    /// 99 of 100 are not above it.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

impl CallNs {
    /// The numbers of these calls.
    pub fn of(times: &Times) -> Self {
        let ns = &times.ns;
        CallNs {
            total: ns.total(),
            mean: ns.total() as f64 / ns.count().max(1) as f64,
            p50: ns.percentile(0.5),
            p99: ns.percentile(0.99),
            max: ns.max(),
        }
    }
}

/// Calls and their times; part of every row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Calls {
    /// How many.
    pub calls: u64,
    /// How many failed.
    pub failed: u64,
    /// How many had not come back.
    pub pending: u64,
    /// Host time in the call.
    pub call_ns: CallNs,
}

impl Calls {
    /// The numbers of these sums.
    pub fn of(times: &Times) -> Self {
        let Times { calls, failed, pending, .. } = *times;
        Calls { calls, failed, pending, call_ns: CallNs::of(times) }
    }
}

/// The whole report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: &'static str,
    /// Version of cushim that made it.
    pub version: &'static str,
    /// Begin of the first event, ns since 1970; `None` where there is none.
    pub start_ns: Option<i64>,
    /// From there to the end of the last event, ns.
    pub duration_ns: u64,
    /// Events, nested ones too.
    pub events: u64,
    /// Outermost calls.
    pub calls: Calls,
    /// Kernel launches among them.
    pub launches: u64,
    /// Kernel nodes put into graphs or changed.
    pub graph_nodes: u64,
    /// Launches of whole graphs.
    pub graph_launches: u64,
    /// One for each file.
    pub processes: Vec<Process>,
    /// By kernel.
    pub kernels: Vec<Kernel>,
    /// By function.
    pub apis: Vec<Api>,
    /// By stream.
    pub streams: Vec<Stream>,
    /// By thread.
    pub threads: Vec<Thread>,
    /// By rank, or by process where there are no ranks.
    pub ranks: Vec<Rank>,
    /// By direction.
    pub copies: Vec<Copies>,
    /// What GPUs copied and set, by direction.
    pub gpu_copies: Vec<GpuCopies>,
    /// By stream of a GPU.
    pub gpu_streams: Vec<GpuStream>,
    /// The program's own ranges (NVTX).
    pub ranges: Vec<Range>,
    /// What is mapped for target regions of LLVM's offloading.
    pub mappings: Vec<Mapping>,
    /// The largest pauses between launches.
    pub gaps: Vec<Gap>,
    /// What failed.
    pub failures: Vec<Failure>,
    /// What the user put into the trace.
    pub marks: Vec<Mark>,
    /// What a user must hear about the tracing itself.
    pub notes: Vec<String>,
    /// The overview, for HTML.
    #[serde(skip)]
    pub lanes: Vec<Lane>,
}

/// A traced process.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    /// The trace file's name.
    pub file: String,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Host name.
    pub host: String,
    /// Rank in its job.
    pub rank: Option<u32>,
    /// The executable.
    pub exe: String,
    /// Command line.
    pub argv: Vec<String>,
    /// Version of the recording library.
    pub version: String,
    /// It ended through `exit`; else it was killed, or runs.
    pub closed: bool,
    /// Begin of the first event, ns since 1970.
    pub start_ns: Option<i64>,
    /// To the end of the last, ns.
    pub duration_ns: u64,
    /// Events.
    pub events: u64,
    /// Kernel launches.
    pub launches: u64,
    /// What is missing.
    pub lost: Lost,
}

/// Why events are missing, and how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// The file reached its limit.
    pub limit: u64,
    /// The file system was full.
    pub no_space: u64,
    /// The process was starting, ending or in a signal handler.
    pub not_ready: u64,
    /// Launches whose arguments were cut; the launches are there.
    pub cut_arguments: u64,
    /// The process may not make larger files.
    pub file_size: u64,
    /// The reader that followed the file was too far behind.
    pub behind: u64,
    /// Overwritten by later ones, as `--last` asks for.
    pub overwritten: u64,
    /// Records that cannot be read.
    pub damaged: u64,
}

/// A kernel.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Kernel {
    /// `k1`; the same number as in the list of events.
    pub kernel_id: String,
    /// Its label: as `--names` says, told apart from others.
    #[serde(skip)]
    pub label: String,
    /// Short name.
    pub kernel: String,
    /// C++ declaration.
    pub demangled: String,
    /// Symbol.
    pub mangled: Option<String>,
    /// The file that holds it.
    pub owner: String,
    /// Launches.
    #[serde(flatten)]
    pub calls: Calls,
    /// Kernel nodes put into graphs or changed.
    pub graph_nodes: u64,
    /// The GPU's part of it; `None` if that was not recorded.
    pub gpu: Option<Gpu>,
    /// What was counted of that; `None` where nothing was.
    pub counted: Option<Counted>,
    /// Shapes, the most used first.
    pub shapes: Vec<Shape>,
    /// Launches with shapes beyond those that were kept.
    pub other_shapes: u64,
    /// Its arguments; `None` where they are not known.
    pub arguments: Option<Vec<Argument>>,
}

/// What GPUs did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Gpu {
    /// How often.
    pub count: u64,
    /// Time on the GPU, ns.
    pub gpu_ns: CallNs,
}

impl Gpu {
    /// The numbers of these sums; `None` if there was nothing.
    pub fn of(times: &Times) -> Option<Self> {
        (times.calls > 0).then(|| Gpu { count: times.calls, gpu_ns: CallNs::of(times) })
    }
}

/// What GPUs copied in one direction, or set.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GpuCopies {
    /// `host to device` and the like, or `set`.
    pub direction: &'static str,
    /// How often, and the time on the GPU.
    #[serde(flatten)]
    pub gpu: Gpu,
    /// Bytes.
    pub bytes: u64,
    /// Bytes by time on the GPU; `None` if there is none.
    pub bytes_per_s: Option<f64>,
}

/// A stream of a GPU.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GpuStream {
    /// Number of the device.
    pub device: u32,
    /// Number of the stream, of CUPTI's counting.
    pub gpu_stream: u32,
    /// Process id.
    pub pid: u32,
    /// Host name.
    pub host: String,
    /// Pieces of work, and their time.
    #[serde(flatten)]
    pub gpu: Gpu,
    /// Kernels among them.
    pub kernels: u64,
    /// Bytes copied and set.
    pub bytes: u64,
    /// From the first one's beginning to the last one's end, ns.
    pub span_ns: u64,
}

/// A range of the program's own.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Range {
    /// Its text.
    pub range: String,
    /// Its domain, empty for the default one.
    pub domain: String,
    /// How often it came to an end, and its host time.
    #[serde(flatten)]
    pub calls: Calls,
    /// Launches of its thread inside it.
    pub launches: u64,
}

/// A mapping of LLVM's offloading.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Mapping {
    /// Its name in the source; its place in the list where that is not known.
    pub mapping: String,
    /// File and line of the region or the directive, else the region.
    pub place: String,
    /// `to`, `from`, `tofrom`, `alloc`.
    pub kind: &'static str,
    /// How often it was requested, and the host time in those calls.
    #[serde(flatten)]
    pub calls: Calls,
    /// Bytes that it requests to be moved to the device.
    pub bytes_to: u64,
    /// Bytes that it requests to be moved from the device.
    pub bytes_from: u64,
    /// How often an earlier time had the same address and size.
    pub again: u64,
}

/// A shape that a kernel was launched with.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Shape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads.
    pub block: [u32; 3],
    /// Blocks per cluster, `None` if the launch requested none.
    pub cluster: Option<[u8; 3]>,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Launches.
    #[serde(flatten)]
    pub calls: Calls,
}

/// An argument of a kernel over all launches.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Argument {
    /// Place in the list, from 0.
    pub index: usize,
    /// In the parameter block, bytes.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// C++ type where the symbol tells it.
    pub r#type: Option<String>,
    /// Every launch had the same; `None` where that is not known (one launch, or bytes not recorded).
    pub constant: Option<bool>,
    /// The value that all had.
    pub value: Option<String>,
}

/// A function.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Api {
    /// Its name.
    pub api: String,
    /// Its class.
    pub class: String,
    /// Calls.
    #[serde(flatten)]
    pub calls: Calls,
}

/// A stream of one process.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stream {
    /// `s1`; numbered by first use.
    pub stream: String,
    /// Handle.
    pub stream_handle: String,
    /// Process id.
    pub pid: u32,
    /// Host name.
    pub host: String,
    /// Launches.
    #[serde(flatten)]
    pub calls: Calls,
    /// Other calls that name the stream.
    pub other_calls: u64,
    /// Host time in them, ns.
    pub other_ns: u64,
    /// Bytes of copies and sets.
    pub bytes: u64,
}

/// A thread.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Thread {
    /// Kernel thread id.
    pub tid: u32,
    /// Process id.
    pub pid: u32,
    /// Host name.
    pub host: String,
    /// All outermost calls.
    #[serde(flatten)]
    pub calls: Calls,
    /// Launches among them.
    pub launches: u64,
    /// From its first call to the end of its last, ns.
    pub span_ns: u64,
    /// Pauses between launches: how many, sum, median, largest, ns.
    pub gaps: CallNs,
}

/// A rank, or a process where there are no ranks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rank {
    /// Rank.
    pub rank: Option<u32>,
    /// Process ids.
    pub pids: Vec<u32>,
    /// Host name.
    pub host: String,
    /// Launches.
    #[serde(flatten)]
    pub calls: Calls,
    /// From first to last event, ns.
    pub duration_ns: u64,
    /// Host time in all calls, ns.
    pub all_ns: u64,
}

/// Copies in one direction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Copies {
    /// `host to device` and the like.
    pub direction: &'static str,
    /// Functions that need not wait.
    pub r#async: bool,
    /// Calls.
    #[serde(flatten)]
    pub calls: Calls,
    /// Bytes, of calls that succeeded and whose size is known.
    pub bytes: u64,
    /// Calls whose size the arguments do not tell.
    pub size_unknown: u64,
    /// Bytes by host time in the call; `None` for asynchronous calls, which return before the copy is done.
    pub host_bytes_per_s: Option<f64>,
}

/// A pause between the end of one launch and the beginning of the next on one thread.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Gap {
    /// How long, ns.
    pub ns: u64,
    /// Since `start_ns` of the report, ns.
    pub at_ns: u64,
    /// Process id.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Kernel before.
    pub before: String,
    /// Kernel after.
    pub after: String,
}

/// A way in which calls failed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Failure {
    /// Function.
    pub api: String,
    /// What it returned.
    pub status: i32,
    /// Its name.
    pub status_name: Option<&'static str>,
    /// How often.
    pub calls: u64,
}

/// A text of the user.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Mark {
    /// Since `start_ns` of the report, ns.
    pub at_ns: u64,
    /// Process id.
    pub pid: u32,
    /// The text.
    pub text: String,
}

/// A lane of the overview.
#[derive(Clone, Debug)]
pub struct Lane {
    /// What it is called.
    pub name: String,
    /// A stream of a GPU, not a thread.
    pub is_gpu: bool,
    /// Where its origin lies, ns after `start_ns` of the report.
    pub at_ns: u64,
    /// Its bins.
    pub bins: Timeline,
}
