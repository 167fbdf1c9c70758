//! Hand-made trace files, for tests of views and readers (feature `testing`).
//!
//! Owns: writing [`Event`]s into a file by the layout, one tick being one nanosecond. Must not know: the recorder;
//! the two share only the layout.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::event::{Body, Event};
use crate::layout::*;
use crate::meta::{
    Api, Encoder, Image, Kernel, Process, encode_context, encode_counters, encode_name, encode_note,
};
use crate::stored;

/// `CLOCK_MONOTONIC` at the start of every made-up process, ns.
pub const START_NS: u64 = 1_000_000_000;
/// `CLOCK_REALTIME` minus that clock, ns.
pub const REALTIME_OFFSET_NS: u64 = 1_700_000_000_000_000_000;

/// Chunks are this big, so that a few hundred events take several.
const CHUNK: usize = 16 << 10;

/// A trace file in the making.
pub struct FileBuilder {
    pid: u32,
    /// 1 where the process ended through `exit`; 0 as long as it runs.
    pub closed: u32,
    /// Events missing, by [`Lost`].
    pub lost: [u64; LOST_KINDS],
    meta: Vec<u8>,
    /// Chunks in file order.
    chunks: Vec<Vec<u8>>,
    /// The chunk that each thread writes to.
    open: BTreeMap<u32, usize>,
}

impl FileBuilder {
    /// A file of this process.
    pub fn new(process: &Process) -> Self {
        FileBuilder {
            pid: process.pid,
            closed: 1,
            lost: [0; LOST_KINDS],
            meta: process.encode(),
            chunks: Vec::new(),
            open: BTreeMap::new(),
        }
    }
    /// Adds a function; `args` is `name:shape,…`.
    pub fn api(&mut self, id: u16, name: &str, class: &str, args: &str) {
        self.meta.extend(Api::encode(id, name, class, args));
    }
    /// Adds a kernel.
    pub fn kernel(&mut self, id: u32, kernel: &Kernel) {
        self.meta.extend(kernel.encode(id));
    }
    /// Adds a context.
    pub fn context(&mut self, context: u64, device: i32) {
        self.context_from(context, device, 0);
    }
    /// Adds a context that is of the device from some ticks on.
    pub fn context_from(&mut self, context: u64, device: i32, ticks: u64) {
        self.meta.extend(encode_context(context, device, ticks));
    }
    /// Adds an image.
    pub fn image(&mut self, image: &Image) {
        self.meta.extend(image.encode());
    }
    /// Adds a name.
    pub fn name(&mut self, number: u32, name: &str) {
        self.meta.extend(encode_name(number, name));
    }
    /// Names of counters, with spaces between.
    pub fn counters(&mut self, number: u32, names: &str) {
        self.meta.extend(encode_counters(number, names));
    }
    /// Adds a note.
    pub fn note(&mut self, text: &str) {
        self.meta.extend(encode_note(text));
    }
    /// Adds a record that no version knows.
    pub fn unknown_record(&mut self) {
        self.meta.extend(Encoder::new(u16::MAX).text("later").finish());
    }

    /// Adds an event behind those of its thread. `id` and `parent` are ignored: the reader assigns
    /// them; `begin_ns` counts from [`START_NS`].
    pub fn event(&mut self, event: &Event<'_>) {
        let bytes = encode(event);
        let fits = |chunk: &Vec<u8>| chunk.len() + bytes.len() <= CHUNK;
        let place = self.open.get(&event.tid).copied();
        let place = match place.filter(|&n| self.chunks.get(n).is_some_and(fits)) {
            Some(place) => place,
            None => {
                let buffer = event.tid;
                self.chunks.push(chunk_header(CHUNK_EVENTS, CHUNK, event.tid, buffer, 0));
                self.open.insert(event.tid, self.chunks.len() - 1);
                self.chunks.len() - 1
            }
        };
        if let Some(chunk) = self.chunks.get_mut(place) {
            chunk.extend(bytes);
        }
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = vec![0; PAGE];
        // Metadata records do not cross chunks here: one chunk is as large as they need.
        let used = CHUNK_HEADER + self.meta.len();
        let size = used.next_multiple_of(PAGE);
        let mut chunk = chunk_header(CHUNK_META, size, self.pid, u32::MAX, used as u64);
        chunk.extend(&self.meta);
        chunk.resize(size, 0);
        file.extend(chunk);
        for chunk in &self.chunks {
            file.extend(chunk);
            file.resize(file.len() + CHUNK - chunk.len(), 0);
        }
        let calibration = [START_NS, START_NS, START_NS + REALTIME_OFFSET_NS];
        let mut header = FILE_MAGIC.to_vec();
        for word in [VERSION, 0, self.pid, self.closed] {
            header.extend(word.to_le_bytes());
        }
        let used = file.len() as u64;
        let words = [used, 1 << 30].into_iter().chain(calibration).chain(calibration).chain([0]);
        words.chain(self.lost).for_each(|word| header.extend(word.to_le_bytes()));
        file.splice(..header.len(), header);
        file
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, self.bytes())
    }
}

fn chunk_header(kind: u32, size: usize, tid: u32, buffer: u32, used: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size);
    for word in [CHUNK_MAGIC, kind, size as u32, tid, buffer, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(used.to_le_bytes());
    bytes.resize(CHUNK_HEADER, 0);
    bytes
}

fn encode(event: &Event<'_>) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend(event.api.to_le_bytes());
    let flags = match &event.body {
        Body::Gpu(gpu) if gpu.counters.iter().len() > 0 => EVENT_COUNTED,
        _ if event.link == 0 => 0,
        _ => EVENT_LINKED,
    };
    bytes.extend([event.depth, flags]);
    let begin = START_NS + event.begin_ns;
    bytes.extend(begin.to_le_bytes());
    bytes.extend((begin + event.call_ns.unwrap_or(0)).to_le_bytes());
    bytes.extend(event.status.unwrap_or(0).to_le_bytes());
    bytes.extend(u32::from(event.call_ns.is_some()).to_le_bytes());
    let kind = match &event.body {
        Body::Launch(launch) => {
            let arg_bytes = launch.args.len() as u32;
            bytes.extend(stored::bytes(&LaunchBody { arg_bytes, ..launch.stored }));
            bytes.extend(launch.args);
            EVENT_LAUNCH
        }
        Body::Call(call) => {
            bytes.extend(call.kernel.to_le_bytes());
            bytes.extend(call.outs.to_le_bytes());
            bytes.extend([call.words.len() as u8, call.texts.count]);
            call.words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            bytes.extend(call.texts.bytes);
            EVENT_CALL
        }
        Body::Mark(text) => {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(text.as_bytes());
            EVENT_MARK
        }
        Body::Gpu(gpu) => {
            let (start_ns, end_ns) = (begin, begin + event.call_ns.unwrap_or(0));
            bytes.extend(stored::bytes(&GpuBody { start_ns, end_ns, ..gpu.stored }));
            if gpu.counters.iter().len() > 0 {
                bytes.extend(gpu.counters.names.to_le_bytes());
                bytes.extend((gpu.counters.iter().len() as u32).to_le_bytes());
                bytes.extend(gpu.counters.bytes);
            }
            EVENT_GPU
        }
        Body::Mapped(mapped) => {
            let kept = mapped.args.iter().len() as u16;
            bytes.extend(stored::bytes(&MappedBody { kept, ..mapped.stored }));
            mapped.args.iter().for_each(|arg| bytes.extend(stored::bytes(&arg)));
            if mapped.what == 0 { EVENT_REGION } else { EVENT_MAP }
        }
        Body::Range(range) => {
            let text = range.text.len() as u16;
            bytes.extend(stored::bytes(&RangeBody { text, ..range.stored }));
            bytes.extend(range.text.as_bytes());
            EVENT_RANGE
        }
    };
    let linked = if event.link == 0 { 0 } else { 8 };
    let slots = slots(bytes.len() + linked);
    bytes.resize(slots * SLOT, 0);
    if linked != 0 {
        let place = bytes.len() - linked;
        bytes.splice(place.., event.link.to_le_bytes());
    }
    let head = u32::from(kind) | (slots as u32) << 16;
    bytes.splice(..4, head.to_le_bytes());
    bytes
}
