//! GPU work and the program's own ranges: slices on tracks of their own.
//!
//! Owns: those tracks. A GPU stream has as many rows as pieces of work overlap on it. A flow leads from the call to
//! its work. Ranges that a thread pushes and pops have a track per thread and domain, because they need not nest with
//! calls; ranges that any thread may end have rows.
//!
//! Must not know: files, or the tracks of calls.

use std::collections::HashMap;
use std::io::{self, Write};

use cushim_trace::event::{Event, Gpu, Range};
use cushim_trace::layout::{GPU_KERNEL, RANGE_END, RANGE_MARK, RANGE_POP, RANGE_PUSH, RANGE_START};
use cushim_trace::meta::Metadata;

use super::levels::LEVELS;
use super::schema::{PACKET, event as field, packet, track};
use super::wire::Wire;
use super::{BATCH, GLOBAL, Perfetto};
use crate::export::apart::{self, Rows};
use crate::export::inputs::realtime;
use crate::view::{KernelFilter, Source};

/// Tracks that stand beside those of threads and of calls' streams.
#[derive(Default)]
pub struct Apart {
    tracks: HashMap<Key, u64>,
    gpu_rows: HashMap<(usize, u32, u32), Rows>,
    range_rows: HashMap<usize, Rows>,
    /// Ranges that any thread may end: when they began, and their text.
    open: HashMap<(usize, u64), (u64, String)>,
    /// Ranges of a thread that are open, by track.
    depth: HashMap<u64, u64>,
}

/// The purpose of a track, in file `.0`.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    /// Device, stream, row.
    Gpu(usize, u32, u32, usize),
    /// Device, stream, place in [`LEVELS`].
    Level(usize, u32, u32, usize),
    /// Thread, domain.
    Thread(usize, u32, u32),
    /// Row of the ranges that any thread may end.
    Range(usize, usize),
}

/// Counters of work, by name.
type Counted<'a> = &'a [(&'a str, u64)];
/// Tracks of counters, and what they show while the work runs.
type Levels<'a> = &'a [(u64, u64)];

/// The end of a flow at this link.
pub fn flow(source: usize, link: u64) -> u64 {
    1 << 63 | apart::number(source, link)
}

impl<W: Write> Perfetto<W> {
    fn apart_track(&mut self, source: usize, key: &Key, name: &dyn Fn() -> String) -> u64 {
        if let Some(&uuid) = self.apart.tracks.get(key) {
            return uuid;
        }
        let Some(process) = self.processes.get_mut(source) else { return 0 };
        process.streams += 1;
        let uuid = process.uuid | process.streams & 0x7fff_ffff;
        let parent = process.uuid;
        let wire = &mut self.wire;
        let whole = wire.begin(PACKET);
        wire.number(packet::SEQUENCE_ID, GLOBAL);
        let descriptor = wire.begin(packet::TRACK_DESCRIPTOR);
        wire.number(track::UUID, uuid);
        wire.number(track::PARENT, parent);
        wire.text(track::NAME, &name());
        if matches!(key, Key::Level(..)) {
            let counter = wire.begin(track::COUNTER);
            wire.end(counter);
        }
        wire.end(descriptor);
        wire.end(whole);
        self.apart.tracks.insert(key.clone(), uuid);
        uuid
    }

    /// Work that a GPU did.
    pub(super) fn gpu(
        &mut self,
        source: &Source,
        meta: &Metadata,
        event: &Event<'_>,
        gpu: &Gpu,
    ) -> io::Result<()> {
        let begin = realtime(event.begin_ns, source.realtime_offset_ns);
        let end = begin.saturating_add(event.call_ns.unwrap_or(0)).min(i64::MAX as u64);
        let (n, device, stream) = (source.index, gpu.device, gpu.stream);
        let row = self.apart.gpu_rows.entry((n, device, stream)).or_default().take(begin, end);
        let track = self.apart_track(n, &Key::Gpu(n, device, stream, row), &|| {
            let row = if row == 0 { String::new() } else { format!(" ({})", row + 1) };
            format!("GPU {device} stream {stream}{row}")
        });
        let all = KernelFilter::default();
        let place = self.annotator.known.gpu(&all, n, meta, gpu);
        let kernel = place.and_then(|place| self.annotator.known.kernels().get(place));
        let name = self.annotator.texts.number(&apart::name(gpu, kernel));
        let class = self.annotator.texts.number("gpu");
        let mut notes = Vec::new();
        match gpu.what {
            GPU_KERNEL => {
                let [x, y, z] = gpu.grid;
                notes.push(("grid", format!("{x} x {y} x {z}")));
                let [x, y, z] = gpu.block;
                notes.push(("block", format!("{x} x {y} x {z}")));
                notes.push(("shared", gpu.shared.to_string()));
            }
            _ => notes.push(("bytes", gpu.bytes.to_string())),
        }
        if gpu.graph_node != 0 {
            notes.push(("graph node", gpu.graph_node.to_string()));
        }
        let flow = (gpu.link != 0).then(|| flow(n, gpu.link));
        let counted: Vec<(&str, u64)> = gpu.counted(meta).collect();
        let mut levels = Vec::new();
        for (place, level) in LEVELS.iter().enumerate() {
            let Some(value) = level.of(&counted) else { continue };
            let track = self.apart_track(n, &Key::Level(n, device, stream, place), &|| {
                format!("GPU {device} stream {stream}: {}", level.name)
            });
            levels.push((track, value));
        }
        let slice = (track, begin, end);
        self.slice(
            (source.index, event.tid),
            slice,
            (class, name),
            flow,
            &notes,
            (&counted, &levels),
        )
    }

    /// A slice from `begin` to `end` on `track`. Meanwhile tracks of counters have these levels, and are at 0 afterwards.
    fn slice(
        &mut self,
        (source, tid): (usize, u32),
        (track, begin, end): (u64, u64, u64),
        (class, name): (u32, u32),
        flow: Option<u64>,
        notes: &[(&str, String)],
        (counted, levels): (Counted<'_>, Levels<'_>),
    ) -> io::Result<()> {
        let numbers: Vec<(u32, &str)> =
            notes.iter().map(|(name, text)| (self.annotator.texts.number(name), &**text)).collect();
        let counted: Vec<(u32, u64)> =
            counted.iter().map(|(name, n)| (self.annotator.texts.number(name), *n)).collect();
        let index = self.sequence(source, tid, begin);
        let Some(sequence) = self.sequences.get_mut(index) else { return Ok(()) };
        let wire = &mut self.wire;
        let whole = sequence.packet(wire, begin);
        let body = wire.begin(packet::TRACK_EVENT);
        wire.number(field::TYPE, field::SLICE_BEGIN);
        wire.number(field::TRACK_UUID, track);
        let told = &mut sequence.told;
        wire.number(field::CATEGORY_IIDS, told.refer(super::Place::Category, class));
        wire.number(field::NAME_IID, told.refer(super::Place::Name, name));
        if let Some(flow) = flow {
            wire.fixed(field::FLOW_IDS, flow);
        }
        for (name, text) in numbers {
            super::annotate::note(wire, told, name, text);
        }
        for (name, n) in counted {
            super::annotate::count(wire, told, name, n);
        }
        wire.end(body);
        told.write(&self.annotator.texts, packet::INTERNED_DATA, wire);
        wire.end(whole);
        let mut level = |wire: &mut Wire, at: u64, track: u64, value: u64| {
            let whole = sequence.packet(wire, at);
            let body = wire.begin(packet::TRACK_EVENT);
            wire.number(field::TYPE, field::COUNTER);
            wire.number(field::TRACK_UUID, track);
            wire.number(field::COUNTER_VALUE, value);
            wire.end(body);
            wire.end(whole);
        };
        levels.iter().for_each(|(track, value)| level(wire, begin, *track, *value));
        levels.iter().for_each(|(track, _)| level(wire, end, *track, 0));
        let whole = sequence.packet(wire, end);
        let body = wire.begin(packet::TRACK_EVENT);
        wire.number(field::TYPE, field::SLICE_END);
        wire.number(field::TRACK_UUID, track);
        wire.end(body);
        wire.end(whole);
        self.hand_on(BATCH)
    }

    /// A moment of a range of the program's own.
    pub(super) fn range(
        &mut self,
        source: &Source,
        meta: &Metadata,
        event: &Event<'_>,
        range: &Range<'_>,
    ) -> io::Result<()> {
        let now = realtime(event.begin_ns, source.realtime_offset_ns);
        let (n, tid) = (source.index, event.tid);
        let class = self.annotator.texts.number("nvtx");
        let name = self.annotator.texts.number(range.text);
        if range.what == RANGE_START {
            self.apart.open.insert((n, range.id), (now, range.text.to_owned()));
            return Ok(());
        }
        if range.what == RANGE_END {
            let Some((begin, text)) = self.apart.open.remove(&(n, range.id)) else { return Ok(()) };
            let row = self.apart.range_rows.entry(n).or_default().take(begin, now);
            let track = self.apart_track(n, &Key::Range(n, row), &|| "ranges".to_owned());
            let name = self.annotator.texts.number(&text);
            return self.slice((n, tid), (track, begin, now), (class, name), None, &[], (&[], &[]));
        }
        let key = Key::Thread(n, tid, range.domain);
        let track = self.apart_track(n, &key, &|| {
            let domain = meta.names.get(&range.domain).map(|d| format!(" ({d})"));
            format!("ranges of thread {tid}{}", domain.unwrap_or_default())
        });
        let depth = self.apart.depth.entry(track).or_default();
        let kind = match range.what {
            RANGE_PUSH => {
                *depth += 1;
                field::SLICE_BEGIN
            }
            // It was pushed before recording began.
            RANGE_POP if *depth == 0 => return Ok(()),
            RANGE_POP => {
                *depth -= 1;
                field::SLICE_END
            }
            RANGE_MARK => field::INSTANT,
            _ => return Ok(()),
        };
        let index = self.sequence(n, tid, now);
        let Some(sequence) = self.sequences.get_mut(index) else { return Ok(()) };
        let wire = &mut self.wire;
        sequence.close(wire, now, u8::MAX);
        let whole = sequence.packet(wire, now);
        let body = wire.begin(packet::TRACK_EVENT);
        wire.number(field::TYPE, kind);
        wire.number(field::TRACK_UUID, track);
        if kind != field::SLICE_END {
            let told = &mut sequence.told;
            wire.number(field::CATEGORY_IIDS, told.refer(super::Place::Category, class));
            wire.number(field::NAME_IID, told.refer(super::Place::Name, name));
        }
        wire.end(body);
        sequence.told.write(&self.annotator.texts, packet::INTERNED_DATA, wire);
        wire.end(whole);
        self.hand_on(BATCH)
    }
}
