//! Field numbers of Perfetto's trace format, as far as they are written here.
//!
//! Source: perfetto_trace.proto of Perfetto v59 (`protos/perfetto/trace/` there); numbers never change
//! their meaning. `docs/results/` holds a run that decodes exports with the schema itself.

/// `Trace`.
pub const PACKET: u32 = 1;

/// `TracePacket`.
pub mod packet {
    pub const CLOCK_SNAPSHOT: u32 = 6;
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE_ID: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TIMESTAMP_CLOCK_ID: u32 = 58;
    pub const DEFAULTS: u32 = 59;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    /// `SEQ_INCREMENTAL_STATE_CLEARED`.
    pub const CLEARED: u64 = 1;
    /// `SEQ_NEEDS_INCREMENTAL_STATE`.
    pub const NEEDS_STATE: u64 = 2;
}

/// `TracePacketDefaults` and `TrackEventDefaults`.
pub mod defaults {
    pub const TIMESTAMP_CLOCK_ID: u32 = 58;
    pub const TRACK_EVENT: u32 = 11;
    pub const TRACK_UUID: u32 = 11;
}

/// `ClockSnapshot` and its `Clock`.
pub mod clock {
    pub const CLOCKS: u32 = 1;
    pub const PRIMARY: u32 = 2;
    pub const ID: u32 = 1;
    pub const TIMESTAMP: u32 = 2;
    pub const IS_INCREMENTAL: u32 = 3;
    pub const REALTIME: u64 = 1;
    pub const MONOTONIC: u64 = 3;
    /// 64 to 127 are local to one sequence.
    pub const OF_SEQUENCE: u64 = 64;
}

/// `TrackDescriptor`, `ProcessDescriptor` and `ThreadDescriptor`.
pub mod track {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PROCESS: u32 = 3;
    pub const THREAD: u32 = 4;
    pub const PARENT: u32 = 5;
    /// A `CounterDescriptor`, which says that the track is one of a counter.
    pub const COUNTER: u32 = 8;
    pub const PROCESS_PID: u32 = 1;
    pub const PROCESS_CMDLINE: u32 = 2;
    pub const PROCESS_NAME: u32 = 6;
    pub const PROCESS_START: u32 = 7;
    pub const PROCESS_LABELS: u32 = 8;
    pub const THREAD_PID: u32 = 1;
    pub const THREAD_TID: u32 = 2;
    pub const THREAD_NAME: u32 = 5;
}

/// `TrackEvent`.
pub mod event {
    pub const CATEGORY_IIDS: u32 = 3;
    pub const DEBUG_ANNOTATIONS: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const NAME_IID: u32 = 10;
    pub const TRACK_UUID: u32 = 11;
    pub const NAME: u32 = 23;
    pub const COUNTER_VALUE: u32 = 30;
    pub const FLOW_IDS: u32 = 47;
    pub const TERMINATING_FLOW_IDS: u32 = 48;
    pub const SLICE_BEGIN: u64 = 1;
    pub const SLICE_END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// `DebugAnnotation`.
pub mod annotation {
    pub const NAME_IID: u32 = 1;
    pub const BOOL: u32 = 2;
    pub const UINT: u32 = 3;
    pub const INT: u32 = 4;
    pub const DOUBLE: u32 = 5;
    pub const TEXT: u32 = 6;
    pub const POINTER: u32 = 7;
    pub const ARRAY: u32 = 12;
    pub const TEXT_IID: u32 = 17;
}

/// `InternedData` and its entries, which are alike.
pub mod interned {
    pub const EVENT_CATEGORIES: u32 = 1;
    pub const EVENT_NAMES: u32 = 2;
    pub const DEBUG_ANNOTATION_NAMES: u32 = 3;
    pub const DEBUG_ANNOTATION_STRING_VALUES: u32 = 29;
    pub const IID: u32 = 1;
    pub const TEXT: u32 = 2;
}
