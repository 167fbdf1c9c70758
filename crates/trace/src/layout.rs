//! The bytes of a trace file. Little-endian, append-only: offsets and numbers in this file never change their
//! meaning; new event kinds, metadata kinds and trailing fields may be added.
//!
//! ```text
//! 0      file header, one page
//! 4096   chunk, chunk, chunk …   each a multiple of 4096 bytes, back to back, up to header `used`
//!          +0   chunk header, 64 bytes
//!          +64  events: 64-byte slots, written by one thread; or metadata records
//! ```
//!
//! An event takes one or several slots. Its first word is stored last, with release order: if a slot's first word is
//! zero, neither that slot nor any later one in the chunk has been written. `done` is stored after the traced call
//! returned: an event without it was still inside the call.

mod mapped;

pub use mapped::*;

/// The first eight bytes of a trace file.
pub const FILE_MAGIC: [u8; 8] = *b"CUSHIM\0\x01";
/// The version of this ledger. A reader refuses a greater one.
pub const VERSION: u32 = 1;
/// Size of the file header, and alignment of every chunk, in bytes.
pub const PAGE: usize = 4096;
/// Size of one event slot in bytes.
pub const SLOT: usize = 64;
/// Size of a chunk header in bytes.
pub const CHUNK_HEADER: usize = 64;
/// The first word of a chunk.
pub const CHUNK_MAGIC: u32 = 0x4b4e_4843; // "CHNK"
/// The largest chunk in bytes, and so the largest event or metadata record.
pub const CHUNK_MAX: usize = 1 << 20;

/// `ChunkHeader::kind`: event slots.
pub const CHUNK_EVENTS: u32 = 1;
/// `ChunkHeader::kind`: metadata records.
pub const CHUNK_META: u32 = 2;

/// `FileHeader::flags`: ticks are those of the invariant time-stamp counter, not nanoseconds.
pub const FLAG_TSC: u32 = 1;
/// `FileHeader::flags`: event chunks are used again, oldest first; each has a `sequence`.
pub const FLAG_RING: u32 = 2;

/// `FileHeader::control`: a user said `off`; no events are recorded.
pub const CONTROL_OFF: u32 = 1;
/// `FileHeader::control`: the process decides call by call whether a window is open.
pub const CONTROL_WINDOW: u32 = 2;
/// `FileHeader::control`: there is a mark in the mailbox.
pub const CONTROL_MAIL: u32 = 4;

/// One moment on all clocks.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Time-stamp counter, or monotonic nanoseconds where it is not used.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`, ns.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`, ns since 1970.
    pub realtime_ns: u64,
}

/// Why events are missing; indexes `FileHeader::lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Lost {
    /// The file reached its limit.
    Limit = 0,
    /// The file system had no room.
    NoSpace = 1,
    /// The call came while this process or thread could not record (start, exit, signal handler).
    NotReady = 2,
    /// Argument bytes above the limit per launch were cut; the launch itself is there.
    CutArguments = 3,
    /// The process may not make files as large (RLIMIT_FSIZE, `ulimit -f`).
    FileSize = 4,
    /// The program that reads the file while it is written was too far behind.
    Behind = 5,
}

/// How many events are missing of those that [`Lost`] counts.
pub fn missing(lost: &[u64; LOST_KINDS]) -> u64 {
    let counts = lost.iter().enumerate().filter(|(kind, _)| *kind != Lost::CutArguments as usize);
    counts.fold(0, |sum, (_, n)| sum.saturating_add(*n))
}

/// Room for kinds of loss, named or not.
pub const LOST_KINDS: usize = 8;

/// The file's first page.
#[repr(C)]
pub struct FileHeader {
    /// [`FILE_MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// [`FLAG_TSC`].
    pub flags: u32,
    /// Process id.
    pub pid: u32,
    /// 0 while the process runs, 1 after it ended through `exit`.
    pub closed: u32,
    /// Bytes of the file that hold chunks, this page included; stored with release order.
    pub used: u64,
    /// The size that the file is not to exceed, bytes.
    pub limit: u64,
    /// At the start of the process.
    pub first: Calibration,
    /// The latest one; `latest_seq` is odd while it is being written.
    pub latest: Calibration,
    /// Sequence lock of `latest`.
    pub latest_seq: u64,
    /// Events that are missing, by [`Lost`].
    pub lost: [u64; LOST_KINDS],
    /// `CONTROL_*` bits; zero means that every call is recorded. Written by the process and by the
    /// program that controls it, as an atomic.
    pub control: u32,
    /// Number of the latest mark that was put into [`MAILBOX`].
    pub marks: u32,
    /// With [`FLAG_RING`]: bytes that event chunks take before the oldest is used again.
    pub keep: u64,
    /// With [`FLAG_RING`]: events that were overwritten by later ones.
    pub overwritten: u64,
    /// Bytes of event chunks whose space a reader has given back to the file system. Written by the
    /// reader that follows the file, as an atomic.
    pub returned: u64,
}

/// The mailbox's offset in the first page: [`MAIL_SLOTS`] slots of [`MailSlot`].
///
/// A program that marks a running process from outside claims a free slot, fills it and sets it to
/// full. The process moves full ones into its metadata at its next call and frees them. A reader
/// takes marks from both places and tells duplicates by their number. So no mark is lost, even if
/// the process makes no more calls or is killed while it moves one.
pub const MAILBOX: usize = 1024;
/// How many marks the mailbox holds.
pub const MAIL_SLOTS: usize = 12;
/// The longest text of a mark in the mailbox, bytes.
pub const MAIL_TEXT: usize = 232;
/// `MailSlot::state`: may be claimed.
pub const MAIL_FREE: u32 = 0;
/// `MailSlot::state`: is being filled.
pub const MAIL_CLAIMED: u32 = 1;
/// `MailSlot::state`: holds a mark.
pub const MAIL_FULL: u32 = 2;
/// `MailSlot::state`: holds a mark that the process is copying.
pub const MAIL_TAKEN: u32 = 3;

/// One place of the mailbox.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MailSlot {
    /// `MAIL_*`, an atomic.
    pub state: u32,
    /// Number of the mark, from 1.
    pub number: u32,
    /// When, in ticks of the file.
    pub ticks: u64,
    /// Bytes of `text`.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// The text, UTF-8.
    pub text: [u8; MAIL_TEXT],
}

/// The first 64 bytes of a chunk.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChunkHeader {
    /// [`CHUNK_MAGIC`].
    pub magic: u32,
    /// [`CHUNK_EVENTS`] or [`CHUNK_META`].
    pub kind: u32,
    /// Size of the chunk with this header, bytes; a multiple of [`PAGE`].
    pub size: u32,
    /// Kernel thread id of the first writer.
    pub tid: u32,
    /// Number of the writer's buffer; chunks of one buffer follow each other in file order.
    pub buffer: u32,
    /// Zero.
    pub reserved: u32,
    /// Metadata chunks: bytes in use with this header, stored with release order. Zero otherwise.
    pub used: u64,
    /// Event chunks of a file with [`FLAG_RING`]: the running number of this use of the chunk, from
    /// 1; zero while it is being emptied. Stored with release order; unchanged while a reader looks
    /// at the chunk if nothing was overwritten meanwhile. Zero otherwise.
    pub sequence: u64,
    /// Zero.
    pub spare: [u64; 3],
}

/// Event kind: a kernel launch, or a graph node that is one.
pub const EVENT_LAUNCH: u16 = 1;
/// Event kind: any other call.
pub const EVENT_CALL: u16 = 2;
/// Event kind: from here on the buffer belongs to another thread; `status` is its id.
pub const EVENT_THREAD: u16 = 3;
/// Event kind: a string that a user put into the trace.
pub const EVENT_MARK: u16 = 4;
/// Event kind: work that a GPU did for a call, reported afterwards. Its `begin` and `end` are
/// approximate; the body has the exact times.
pub const EVENT_GPU: u16 = 5;
/// Event kind: the begin or end of a range that the program set itself (NVTX), or its mark.
pub const EVENT_RANGE: u16 = 6;

/// Event kind: a target region of LLVM's offloading, or a kernel that was launched through libomptarget.
pub const EVENT_REGION: u16 = 7;
/// Event kind: a call of LLVM's offloading that maps data: begins, ends or updates.
pub const EVENT_MAP: u16 = 8;
/// Event kind: [`EVENT_REGION`] in the short form, [`ShortMappedBody`].
pub const EVENT_SHORT_REGION: u16 = 9;
/// Event kind: [`EVENT_MAP`] in the short form.
pub const EVENT_SHORT_MAP: u16 = 10;

/// `EventHead::flags`: the last eight bytes of the event's slots are its link, a number unique to
/// the call; [`GpuBody::link`] refers to it.
pub const EVENT_LINKED: u8 = 1;
/// `EventHead::flags` of [`EVENT_GPU`]: counters of the work follow at [`GPU_COUNTERS`].
pub const EVENT_COUNTED: u8 = 2;

/// The first 32 bytes of every event.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct EventHead {
    /// Kind in the low half, slots in the high half. Stored last.
    pub head: u32,
    /// Number of the function; its [`crate::meta::Api`] record is in the metadata.
    pub api: u16,
    /// How many recorded calls enclose this one on its thread.
    pub depth: u8,
    /// `EVENT_LINKED`, `EVENT_COUNTED`, else zero.
    pub flags: u8,
    /// Ticks before the call.
    pub begin: u64,
    /// Ticks after the call; valid once `done`.
    pub end: u64,
    /// What the call returned; valid once `done`.
    pub status: i32,
    /// 1 once `end`, `status` and out values are stored.
    pub done: u32,
}

/// The rest of [`EVENT_LAUNCH`]: bytes 32 to 88; argument bytes follow at [`LAUNCH_ARGS`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaunchBody {
    /// Number of the kernel; its record stands in the metadata.
    pub kernel: u32,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// The stream handle; for a graph node the graph's handle.
    pub stream: u64,
    /// Blocks.
    pub grid: [u32; 3],
    /// Bytes of arguments that follow: the kernel's parameter block, cut at [`ARGS_MAX`].
    pub arg_bytes: u32,
    /// Threads.
    pub block: [u32; 3],
    /// Cluster shape, zeros if none was requested.
    pub cluster: [u8; 3],
    /// `LAUNCH_*` bits.
    pub flags: u8,
    /// The context handle, 0 where unknown.
    pub context: u64,
}

/// Where the argument bytes of a launch begin, from the event's start.
pub const LAUNCH_ARGS: usize = 32 + size_of::<LaunchBody>();
/// At most this many argument bytes are kept per launch.
pub const ARGS_MAX: usize = 4096;

/// The launch asked for a cooperative grid.
pub const LAUNCH_COOPERATIVE: u8 = 1;
/// The parameter layout was not known: no argument bytes.
pub const LAUNCH_ARGS_UNKNOWN: u8 = 2;
/// More than [`ARGS_MAX`] bytes: the rest was cut.
pub const LAUNCH_ARGS_CUT: u8 = 4;
/// The arguments came as one buffer (`extra`).
pub const LAUNCH_ARGS_BUFFER: u8 = 8;
/// The caller passed no argument array.
pub const LAUNCH_ARGS_NULL: u8 = 16;

/// The rest of [`EVENT_CALL`]: bytes 32 to 40; argument words follow at [`CALL_WORDS`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CallBody {
    /// Number of the kernel that the call concerns, 0 for none.
    pub kernel: u32,
    /// Bit n: word n is the value that the call wrote, not the address that it was given.
    pub outs: u16,
    /// How many words follow.
    pub words: u8,
    /// How many texts follow the words: `word: u16, size: u16` and bytes each, the text that the
    /// argument in that word points to. Each begins at a multiple of four.
    pub texts: u8,
}

/// The rest of [`EVENT_GPU`]: bytes 32 to 128.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GpuBody {
    /// `GPU_*`.
    pub what: u8,
    /// Copies: the direction, a value of CUPTI's `CUpti_ActivityMemcpyKind`.
    pub direction: u8,
    /// Zero.
    pub reserved: u16,
    /// Number of the device.
    pub device: u32,
    /// Number of the context, counted by the source of the times.
    pub context: u32,
    /// Number of the stream, counted likewise.
    pub stream: u32,
    /// Number of the kernel; 0 where it is not known (graphs).
    pub kernel: u32,
    /// Kernels: number of the symbol's [`crate::meta::META_NAME`] record, else 0.
    pub name: u32,
    /// The link of the call that asked for it, 0 where there is none.
    pub link: u64,
    /// `CLOCK_MONOTONIC` at its beginning, ns.
    pub start_ns: u64,
    /// `CLOCK_MONOTONIC` at its end, ns.
    pub end_ns: u64,
    /// Copies and sets: bytes.
    pub bytes: u64,
    /// The node of the graph that it is, 0 for none.
    pub graph_node: u64,
    /// Kernels: blocks.
    pub grid: [u32; 3],
    /// Kernels: threads.
    pub block: [u32; 3],
    /// Kernels: static and dynamic shared memory, bytes.
    pub shared: u32,
    /// The number by which CUDA's own tools name the call.
    pub correlation: u32,
}

/// Where the counters of [`EVENT_GPU`] begin, from the event's start: the number of their names' record
/// ([`crate::meta::META_COUNTERS`]) and how many there are, each 32 bits, then 64 bits for each.
pub const GPU_COUNTERS: usize = 32 + size_of::<GpuBody>();
/// The most counters of one event.
pub const COUNTERS_MAX: usize = 1024;

/// `GpuBody::what`: a kernel ran.
pub const GPU_KERNEL: u8 = 1;
/// `GpuBody::what`: memory was copied.
pub const GPU_COPY: u8 = 2;
/// `GpuBody::what`: memory was set.
pub const GPU_SET: u8 = 3;

/// The rest of [`EVENT_RANGE`]: bytes 32 to 64; its text follows at [`RANGE_TEXT`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RangeBody {
    /// `RANGE_*`.
    pub what: u8,
    /// `PAYLOAD_*`: how `payload` is to be read.
    pub payload_type: u8,
    /// Bytes of the text, UTF-8, cut at [`TEXT_MAX`].
    pub text: u16,
    /// Number of the domain's [`crate::meta::META_NAME`] record, 0 for the default one.
    pub domain: u32,
    /// The number that joins start and end of a range that may end on another thread, else 0.
    pub id: u64,
    /// The payload that the program gave, as bits: 32-bit ones in the lower half.
    pub payload: u64,
    /// A number by which the program groups ranges.
    pub category: u32,
    /// ARGB, 0 for none.
    pub color: u32,
}

/// `RangeBody::what`: a range begins; ranges nest per thread and domain.
pub const RANGE_PUSH: u8 = 1;
/// `RangeBody::what`: the range that was pushed last on this thread and domain ends.
pub const RANGE_POP: u8 = 2;
/// `RangeBody::what`: the range named by `id` begins.
pub const RANGE_START: u8 = 3;
/// `RangeBody::what`: the range named by `id` ends.
pub const RANGE_END: u8 = 4;
/// `RangeBody::what`: a moment.
pub const RANGE_MARK: u8 = 5;

/// `RangeBody::payload_type`: there is none; a number of 64 bits without and with sign, a real.
pub const PAYLOAD_NONE: u8 = 0;
#[allow(missing_docs)]
pub const PAYLOAD_U64: u8 = 1;
#[allow(missing_docs)]
pub const PAYLOAD_I64: u8 = 2;
#[allow(missing_docs)]
pub const PAYLOAD_F64: u8 = 3;
/// `RangeBody::payload_type`: the same with 32 bits.
pub const PAYLOAD_U32: u8 = 4;
#[allow(missing_docs)]
pub const PAYLOAD_I32: u8 = 5;
#[allow(missing_docs)]
pub const PAYLOAD_F32: u8 = 6;

/// Where the text of a range begins, from the event's start.
pub const RANGE_TEXT: usize = 32 + size_of::<RangeBody>();

/// At most this many bytes of a text argument are kept.
pub const TEXT_MAX: usize = 240;

/// Where the argument words of a call begin, from the event's start.
pub const CALL_WORDS: usize = 32 + size_of::<CallBody>();

/// How many slots an event of `bytes` bytes takes.
pub const fn slots(bytes: usize) -> usize {
    bytes.div_ceil(SLOT)
}

const _: () = {
    assert!(size_of::<EventHead>() == 32);
    assert!(size_of::<LaunchBody>() == 56);
    assert!(size_of::<CallBody>() == 8);
    assert!(32 + size_of::<GpuBody>() == 2 * SLOT);
    assert!(RANGE_TEXT == SLOT);
    assert!(size_of::<ChunkHeader>() == CHUNK_HEADER);
    assert!(size_of::<FileHeader>() <= MAILBOX);
    assert!(size_of::<MailSlot>() == 256);
    assert!(MAILBOX + MAIL_SLOTS * size_of::<MailSlot>() <= PAGE);
    assert!(slots(LAUNCH_ARGS + ARGS_MAX) * SLOT + CHUNK_HEADER < 16384);
};
