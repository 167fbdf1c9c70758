//! The events of one buffer: a window over its chunks, and decoding the event at its beginning.
//!
//! Must not know: the order of events of several buffers.

use super::decode::{End, body, u16_at, u32_at, u64_at, usable};
use super::{TraceFile, WINDOW};
use crate::Error;
use crate::event::{Body, Event};
use crate::layout::*;
use crate::meta::Metadata;

impl TraceFile {
    /// Reads the next part of the buffer into its window.
    pub(super) fn fill(&mut self, number: u32, last: bool) -> Result<(), Error> {
        loop {
            let Some(buffer) = self.buffers.get_mut(&number) else { return Ok(()) };
            if buffer.taken < buffer.usable {
                return Ok(());
            }
            buffer.at.1 += buffer.taken as u64;
            (buffer.taken, buffer.usable) = (0, 0);
            let Some(&chunk) = buffer.chunks.get(buffer.at.0) else { return Ok(()) };
            if buffer.at.1 <= CHUNK_HEADER as u64 {
                buffer.at.1 = CHUNK_HEADER as u64;
                buffer.tid = chunk.tid;
            }
            let at = chunk.start + buffer.at.1;
            let room = (chunk.size.saturating_sub(buffer.at.1) as usize).min(WINDOW);
            let mut window = std::mem::take(&mut buffer.window);
            let more_chunks = buffer.chunks.len() > buffer.at.0 + 1;
            window.resize(room, 0);
            let got = self.read_at(&mut window, at)?;
            window.truncate(got);
            let (usable, end) = usable(&window, last, &mut self.damaged);
            if usable > 0 && !self.header.closed {
                // Second read: it sees everything that was stored before the `done` just seen.
                window.truncate(usable);
                let got = self.read_at(&mut window, at)?;
                window.truncate(got / SLOT * SLOT);
            }
            let gone =
                self.header.keep.is_some() && self.sequence_at(chunk.start)? != chunk.sequence;
            let usable = if gone { 0 } else { usable.min(window.len()) };
            let Some(buffer) = self.buffers.get_mut(&number) else { return Ok(()) };
            (buffer.window, buffer.usable) = (window, usable);
            if gone {
                // The chunk holds later events; what encloses the next event is no longer known.
                buffer.window.clear();
                buffer.open.clear();
                buffer.at = (buffer.at.0 + 1, 0);
                continue;
            }
            // The chunk is finished where the writer went on to the next one and nothing is left to
            // read, or where less than a slot is left.
            let finished = usable == 0 && (end == End::Nothing || room < SLOT) && more_chunks;
            if !finished {
                return Ok(());
            }
            buffer.at = (buffer.at.0 + 1, 0);
            self.finished.push((chunk.start, chunk.size));
        }
    }

    fn sequence_at(&self, start: u64) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        self.read_at(&mut bytes, start + 32)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Decodes the buffer's next event and hands it on.
    pub(super) fn take(&mut self, number: u32, take: &mut dyn FnMut(&Metadata, &Event<'_>)) {
        let Some(buffer) = self.buffers.get_mut(&number) else { return };
        let at = buffer.taken;
        let head = u32_at(&buffer.window, at);
        let slots = (head >> 16) as usize;
        buffer.taken += slots * SLOT;
        let bytes = buffer.window.get(at..buffer.taken).unwrap_or(&[]);
        let kind = head as u16;
        if kind == EVENT_THREAD {
            buffer.tid = u32_at(bytes, 24);
            buffer.open.clear();
            return;
        }
        let Some(body) = body(kind, bytes) else {
            self.damaged += 1;
            return;
        };
        let done = u32_at(bytes, 28) == 1;
        let depth = bytes.get(6).copied().unwrap_or(0);
        let begin = u64_at(bytes, 8);
        self.metadata.contexts.reach(begin);
        self.events += 1;
        let timeline = &self.header.timeline;
        // Neither encloses a call nor is enclosed by one.
        let apart = matches!(body, Body::Gpu(_) | Body::Range(_));
        if !apart {
            // The enclosing call may be unrecorded or overwritten: 0.
            buffer.open.resize(depth.into(), 0);
        }
        let parent = buffer.open.last().copied().filter(|&id| id != 0 && !apart);
        let is_linked = bytes.get(7).is_some_and(|flags| flags & EVENT_LINKED != 0);
        let link = if is_linked { u64_at(bytes, bytes.len() - 8) } else { 0 };
        if let Body::Gpu(_) = body {
            let (start, end) = (u64_at(bytes, 64), u64_at(bytes, 72));
            let event = Event {
                id: self.events,
                parent,
                tid: buffer.tid,
                api: 0,
                depth: 0,
                begin_ns: start,
                call_ns: Some(end.saturating_sub(start)),
                status: Some(0),
                link: 0,
                body,
            };
            return take(&self.metadata, &event);
        }
        let event = Event {
            id: self.events,
            parent,
            tid: buffer.tid,
            api: u16_at(bytes, 4),
            depth,
            begin_ns: timeline.ns(begin),
            call_ns: done.then(|| timeline.span_ns(begin, u64_at(bytes, 16))),
            status: done.then(|| u32_at(bytes, 24) as i32),
            link,
            body,
        };
        if !apart {
            buffer.open.push(self.events);
        }
        take(&self.metadata, &event);
    }
}
