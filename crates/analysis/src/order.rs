//! The events of several files, in order of time.
//!
//! Must not know: how they are used.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use cushim_trace::event::Event;
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;

use crate::error::Error;

/// One traced process's file, among several.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    /// Number of the file, from 0, in the order in which they were given.
    pub index: usize,
    /// Add this to the monotonic clock's nanoseconds to get those since 1970.
    pub realtime_offset_ns: i64,
}

impl Source {
    /// File number `index`.
    pub fn of(index: usize, file: &TraceFile) -> Self {
        Source { index, realtime_offset_ns: file.header().timeline.realtime_offset_ns() }
    }
}

/// Hands the events of all files to `take`, by the time since 1970: monotonic clocks of different machines have nothing
/// to do with each other. The events of one thread come in the order of their beginning.
///
/// # Errors
/// Where a file cannot be read on, or `take` refuses an event ([`Error::Taken`]).
pub fn in_order(
    files: &mut [TraceFile],
    take: &mut dyn FnMut(&Source, &Metadata, &Event<'_>) -> io::Result<()>,
) -> Result<(), Error> {
    let sources: Vec<Source> = files.iter().enumerate().map(|(n, f)| Source::of(n, f)).collect();
    let next = |file: &TraceFile, source: &Source| {
        let ns = file.next_ns()? as i64;
        Some(ns.wrapping_add(source.realtime_offset_ns))
    };
    let mut heads = BinaryHeap::new();
    for (file, source) in files.iter_mut().zip(&sources) {
        file.look(true)?;
        heads.extend(next(file, source).map(|ns| Reverse((ns, source.index))));
    }
    while let Some(Reverse((_, index))) = heads.pop() {
        let (Some(file), Some(source)) = (files.get_mut(index), sources.get(index)) else {
            continue;
        };
        // Up to the point where another file continues.
        let until = heads.peek().map_or((i64::MAX, usize::MAX), |Reverse(head)| *head);
        loop {
            let mut result = Ok(());
            let more = file.take_next(&mut |meta, event| result = take(source, meta, event))?;
            result.map_err(Error::Taken)?;
            match next(file, source) {
                Some(ns) if more && (ns, index) < until => {}
                Some(ns) if more => {
                    heads.push(Reverse((ns, index)));
                    break;
                }
                _ => break,
            }
        }
    }
    Ok(())
}
