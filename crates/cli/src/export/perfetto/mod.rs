//! Perfetto's trace format: <https://ui.perfetto.dev>, `trace_processor`.
//!
//! Owns: tracks and slices. One track per process and thread; a call is a slice on its thread's track, and a launch
//! is named after its kernel. One track per stream, with a mark for each piece of work at the time when it was
//! submitted; a flow leads from the call to the mark. Work of a GPU has its own tracks ([`apart`]).
//!
//! Must not know: files and folders. It is written in one pass; memory holds one entry per thread, stream, kernel and
//! function, and the calls that enclose the current one.
//!
//! There is one sequence of packets per thread, because interned strings, the default track and the clock belong to a
//! sequence: its clock counts from one packet to the next, so that most times take two bytes.

mod annotate;
mod apart;
mod intern;
mod levels;
mod schema;
mod wire;

use std::collections::HashMap;
use std::io::{self, Write};

use cushim_trace::event::{Body, Event};
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;

use self::annotate::Annotator;
use self::apart::Apart;
use self::intern::{Place, Told};
use self::schema::{PACKET, clock, defaults, event as field, packet, track};
use self::wire::Wire;
use super::inputs::{Origin, Sink, realtime};
use crate::view::Source;
use cushim_analysis::facts::Facts;
use cushim_analysis::known::Handle;

/// The sequence of everything that belongs to no thread.
const GLOBAL: u64 = 1;
/// Bytes that are collected before they are handed on.
const BATCH: usize = 64 << 10;
/// Process ids are below this (`PID_MAX_LIMIT` of Linux); the bits above hold the host's number.
const PIDS: usize = 1 << 22;
/// How many hosts `ProcessDescriptor::pid`, an int32, can hold.
const HOSTS: usize = 512;

/// Writes a trace.
pub struct Perfetto<W: Write> {
    out: W,
    wire: Wire,
    annotator: Annotator,
    processes: Vec<Process>,
    sequences: Vec<Sequence>,
    by_thread: HashMap<(usize, u32), usize>,
    /// The last event's thread and its sequence.
    last: Option<((usize, u32), usize)>,
    streams: HashMap<(usize, u64, Option<i32>), u64>,
    apart: Apart,
}

struct Process {
    uuid: u64,
    pid: u64,
    streams: u64,
    /// The device of the process, if it has only one.
    device: Option<i32>,
}

/// A thread's packets.
struct Sequence {
    id: u64,
    /// Time of the last packet, ns since 1970.
    now: u64,
    told: Told,
    open: Vec<Call>,
}

/// A call whose end has not been written.
struct Call {
    depth: u8,
    end: Option<u64>,
}

impl<W: Write> Perfetto<W> {
    /// Begins the trace of these files: clocks and processes.
    pub fn new(out: W, files: &[TraceFile], origins: &[Origin]) -> io::Result<Self> {
        let mut trace = Perfetto {
            out,
            wire: Wire::default(),
            annotator: Annotator::default(),
            processes: Vec::new(),
            sequences: Vec::new(),
            by_thread: HashMap::new(),
            last: None,
            streams: HashMap::new(),
            apart: Apart::default(),
        };
        trace.clocks(files, origins);
        for (file, origin) in files.iter().zip(origins) {
            trace.process(file, origin);
        }
        trace.hand_on(0)?;
        Ok(trace)
    }

    /// Defines the clock of the times. If all processes ran on one host, its monotonic clock is
    /// given too, so that other traces of that host can be aligned with this one.
    fn clocks(&mut self, files: &[TraceFile], origins: &[Origin]) {
        let now = origins.iter().map(|o| o.begin_ns).min().unwrap_or(0);
        let wire = &mut self.wire;
        let whole = wire.begin(PACKET);
        wire.number(packet::SEQUENCE_ID, GLOBAL);
        let snapshot = wire.begin(packet::CLOCK_SNAPSHOT);
        let one = |id, time, wire: &mut Wire| {
            let open = wire.begin(clock::CLOCKS);
            wire.number(clock::ID, id);
            wire.number(clock::TIMESTAMP, time);
            wire.end(open);
        };
        one(clock::REALTIME, now, wire);
        if let (Some(file), true) = (files.first(), origins.iter().all(|o| o.host == 0)) {
            let offset = file.header().timeline.realtime_offset_ns();
            one(clock::MONOTONIC, realtime(now, offset.wrapping_neg()), wire);
        }
        wire.number(clock::PRIMARY, clock::REALTIME);
        wire.end(snapshot);
        wire.end(whole);
    }

    fn process(&mut self, file: &TraceFile, origin: &Origin) {
        let process = &file.metadata().process;
        let uuid = ((self.processes.len() as u64) + 1) << 32;
        // Two hosts may have processes with the same id.
        let pid = process.pid as usize % PIDS + origin.host.min(HOSTS - 1) * PIDS;
        let wire = &mut self.wire;
        let whole = wire.begin(PACKET);
        wire.number(packet::SEQUENCE_ID, GLOBAL);
        let descriptor = wire.begin(packet::TRACK_DESCRIPTOR);
        wire.number(track::UUID, uuid);
        let body = wire.begin(track::PROCESS);
        wire.number(track::PROCESS_PID, pid as u64);
        for argument in &process.argv {
            wire.text(track::PROCESS_CMDLINE, argument);
        }
        let name = match origin.told {
            true => format!("rank {} {}", origin.rank, origin.program),
            false => origin.program.clone(),
        };
        wire.text(track::PROCESS_NAME, &name);
        wire.number(track::PROCESS_START, origin.begin_ns);
        wire.text(track::PROCESS_LABELS, &format!("host {}", process.host));
        wire.text(track::PROCESS_LABELS, &format!("pid {}", process.pid));
        let lost = cushim_trace::layout::missing(&file.header().lost);
        if lost > 0 {
            wire.text(track::PROCESS_LABELS, &format!("{lost} events are missing"));
        }
        wire.end(body);
        wire.end(descriptor);
        wire.end(whole);
        let devices = file.metadata().contexts.devices();
        let device = devices.first().copied().filter(|_| devices.len() == 1);
        self.processes.push(Process { uuid, pid: pid as u64, streams: 0, device });
    }

    /// The thread's sequence; at its first event its track and its clock are described.
    fn sequence(&mut self, source: usize, tid: u32, now: u64) -> usize {
        let key = (source, tid);
        if let Some((last, index)) = self.last
            && last == key
        {
            return index;
        }
        let next = self.sequences.len();
        let index = *self.by_thread.entry(key).or_insert(next);
        self.last = Some((key, index));
        if index < next {
            return index;
        }
        let (process, pid) = self.processes.get(source).map_or((0, 0), |p| (p.uuid, p.pid));
        let uuid = process | 1 << 31 | u64::from(tid);
        let id = GLOBAL + 1 + next as u64;
        let wire = &mut self.wire;
        let whole = wire.begin(PACKET);
        wire.number(packet::SEQUENCE_ID, id);
        wire.number(packet::SEQUENCE_FLAGS, packet::CLEARED);
        let snapshot = wire.begin(packet::CLOCK_SNAPSHOT);
        for (clock_id, incremental) in [(clock::REALTIME, 0), (clock::OF_SEQUENCE, 1)] {
            let open = wire.begin(clock::CLOCKS);
            wire.number(clock::ID, clock_id);
            wire.number(clock::TIMESTAMP, now);
            wire.number(clock::IS_INCREMENTAL, incremental);
            wire.end(open);
        }
        wire.end(snapshot);
        let open = wire.begin(packet::DEFAULTS);
        wire.number(defaults::TIMESTAMP_CLOCK_ID, clock::OF_SEQUENCE);
        let events = wire.begin(defaults::TRACK_EVENT);
        wire.number(defaults::TRACK_UUID, uuid);
        wire.end(events);
        wire.end(open);
        wire.end(whole);
        let whole = wire.begin(PACKET);
        wire.number(packet::SEQUENCE_ID, GLOBAL);
        let descriptor = wire.begin(packet::TRACK_DESCRIPTOR);
        wire.number(track::UUID, uuid);
        wire.number(track::PARENT, process);
        let body = wire.begin(track::THREAD);
        wire.number(track::THREAD_PID, pid);
        // Threads of another host carry the host's number, as their processes do.
        wire.number(track::THREAD_TID, pid / PIDS as u64 * PIDS as u64 + u64::from(tid));
        wire.text(track::THREAD_NAME, &format!("thread {tid}"));
        wire.end(body);
        wire.end(descriptor);
        wire.end(whole);
        self.sequences.push(Sequence { id, now, told: Told::default(), open: Vec::new() });
        index
    }

    /// The track of a stream. A stream's handle is unique in its process; the default streams are one
    /// per device.
    fn stream(&mut self, source: usize, stream: u64, device: Option<i32>) -> u64 {
        let process = self.processes.get_mut(source);
        let device = match (stream, &process) {
            (0..=2, Some(process)) => device.or(process.device),
            _ => None,
        };
        if let Some(&uuid) = self.streams.get(&(source, stream, device)) {
            return uuid;
        }
        let Some(process) = process else { return 0 };
        process.streams += 1;
        // Threads have bit 31.
        let uuid = process.uuid | process.streams & 0x7fff_ffff;
        let name = self.annotator.known.handle(source, Handle::Stream, stream);
        let name = match (stream, device) {
            (0..=2, Some(device)) => format!("stream {name} of device {device}"),
            (0..=2, None) => format!("stream {name}"),
            _ => format!("stream {name} ({stream:#x})"),
        };
        let wire = &mut self.wire;
        let whole = wire.begin(PACKET);
        wire.number(packet::SEQUENCE_ID, GLOBAL);
        let descriptor = wire.begin(packet::TRACK_DESCRIPTOR);
        wire.number(track::UUID, uuid);
        wire.number(track::PARENT, process.uuid);
        wire.text(track::NAME, &name);
        wire.end(descriptor);
        wire.end(whole);
        self.streams.insert((source, stream, device), uuid);
        uuid
    }

    fn hand_on(&mut self, at_least: usize) -> io::Result<()> {
        if self.wire.bytes().len() > at_least {
            self.out.write_all(self.wire.bytes())?;
            self.wire.clear();
        }
        Ok(())
    }

    /// Writes what is left; calls that never returned stay open.
    pub fn finish(mut self) -> io::Result<W> {
        for sequence in &mut self.sequences {
            sequence.close(&mut self.wire, u64::MAX, 0);
        }
        self.hand_on(0)?;
        Ok(self.out)
    }
}

impl Sequence {
    /// Begins a packet at `time`: its head.
    #[inline]
    fn packet(&mut self, wire: &mut Wire, time: u64) -> wire::Open {
        let whole = wire.begin(PACKET);
        match time.checked_sub(self.now) {
            Some(delta) => {
                wire.number(packet::TIMESTAMP, delta);
                self.now = time;
            }
            // GPU work, which is recorded afterwards; otherwise only damaged traces go back in
            // time.
            None => {
                wire.number(packet::TIMESTAMP, time);
                wire.number(packet::TIMESTAMP_CLOCK_ID, clock::REALTIME);
            }
        }
        wire.number(packet::SEQUENCE_ID, self.id);
        wire.number(packet::SEQUENCE_FLAGS, packet::NEEDS_STATE);
        whole
    }

    /// Ends the calls that do not enclose one at `depth` that begins at `time`. A call that never came
    /// back ends at the next one beside it; at the end of the trace (`u64::MAX`) it stays open.
    fn close(&mut self, wire: &mut Wire, time: u64, depth: u8) {
        while let Some(call) = self.open.last() {
            if call.depth < depth && call.end.is_none_or(|end| end > time) {
                break;
            }
            let end = call.end.map_or(time, |end| end.min(time));
            self.open.pop();
            if end == u64::MAX {
                continue;
            }
            let whole = self.packet(wire, end);
            let event = wire.begin(packet::TRACK_EVENT);
            wire.number(field::TYPE, field::SLICE_END);
            wire.end(event);
            wire.end(whole);
        }
    }
}

impl<W: Write> Sink for Perfetto<W> {
    fn event(&mut self, source: &Source, meta: &Metadata, event: &Event<'_>) -> io::Result<()> {
        match &event.body {
            Body::Gpu(gpu) => return self.gpu(source, meta, event, gpu),
            Body::Range(range) => return self.range(source, meta, event, range),
            _ => {}
        }
        let begin = realtime(event.begin_ns, source.realtime_offset_ns);
        let index = self.sequence(source.index, event.tid, begin);
        let facts = Facts::of(meta, event);
        let stream = match event.depth == 0 && facts.enqueues() {
            true => facts.stream(event),
            false => None,
        };
        let stream = stream.map(|stream| {
            let context = match &event.body {
                Body::Launch(launch) => launch.context,
                _ => 0,
            };
            let device = meta.contexts.device(context);
            self.stream(source.index, stream, device)
        });
        let Some(sequence) = self.sequences.get_mut(index) else { return Ok(()) };
        let wire = &mut self.wire;
        let is_mark = matches!(event.body, Body::Mark(_));
        // A mark only ends calls that were over before.
        sequence.close(wire, begin, if is_mark { u8::MAX } else { event.depth });
        let flow = (source.index as u64) << 40 | event.id;
        let annotator = &mut self.annotator;
        let subject = annotator.subject(source.index, meta, event, &facts);

        let whole = sequence.packet(wire, begin);
        let body = wire.begin(packet::TRACK_EVENT);
        wire.number(field::TYPE, if is_mark { field::INSTANT } else { field::SLICE_BEGIN });
        let category = sequence.told.refer(Place::Category, subject.class);
        wire.number(field::CATEGORY_IIDS, category);
        match &event.body {
            Body::Mark(text) => wire.text(field::NAME, text),
            _ => wire.number(field::NAME_IID, sequence.told.refer(Place::Name, subject.name)),
        }
        if stream.is_some() {
            wire.fixed(field::FLOW_IDS, flow);
        }
        if event.link != 0 {
            wire.fixed(field::FLOW_IDS, apart::flow(source.index, event.link));
        }
        annotator.event(wire, &mut sequence.told, source.index, meta, event, &facts, &subject);
        wire.end(body);
        sequence.told.write(&annotator.texts, packet::INTERNED_DATA, wire);
        wire.end(whole);

        if let Some(uuid) = stream {
            let whole = sequence.packet(wire, begin);
            let body = wire.begin(packet::TRACK_EVENT);
            wire.number(field::TYPE, field::INSTANT);
            wire.number(field::TRACK_UUID, uuid);
            wire.number(field::CATEGORY_IIDS, category);
            wire.number(field::NAME_IID, sequence.told.refer(Place::Name, subject.name));
            wire.fixed(field::TERMINATING_FLOW_IDS, flow);
            wire.end(body);
            wire.end(whole);
        }
        if !is_mark {
            let end = event.call_ns.map(|ns| begin.saturating_add(ns).min(i64::MAX as u64));
            // The clock's rounding may put an end one nanosecond behind that of the enclosing call.
            let limit = sequence.open.last().and_then(|call| call.end);
            let end = end.map(|end| limit.map_or(end, |limit| end.min(limit)));
            sequence.open.push(Call { depth: event.depth, end });
        }
        self.hand_on(BATCH)
    }
}
