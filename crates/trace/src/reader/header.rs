//! The first page of a file.
//!
//! Must not know: chunks or events.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::decode::{u32_at, u64_at};
use crate::Error;
use crate::clock::{self, Timeline};
use crate::layout::*;

/// What the first page says.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Process id.
    pub pid: u32,
    /// The process ended through `exit`.
    pub closed: bool,
    /// Bytes in use.
    pub used: u64,
    /// The limit in bytes.
    pub limit: u64,
    /// Events missing, by [`Lost`].
    pub lost: [u64; LOST_KINDS],
    /// Ticks are those of the time-stamp counter.
    pub tsc: bool,
    /// With a ring: about how many bytes of the latest events were kept.
    pub keep: Option<u64>,
    /// How many earlier ones were overwritten.
    pub overwritten: u64,
    /// The two points of the clock.
    pub timeline: Timeline,
}

/// Reads the first page of `file`, which is called `path`. `live`: a process of this machine may be writing it.
pub(super) fn read_header(file: &File, path: &Path, live: bool) -> Result<Header, Error> {
    let mut page = [0; size_of::<FileHeader>()];
    let mut tries = 0;
    loop {
        match file.read_exact_at(&mut page, 0) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                let size = file.metadata().map_or(0, |m| m.len());
                return Err(Error::Foreign {
                    path: path.to_owned(),
                    found: format!("a file of {size} bytes"),
                    expected: "a trace file, which has 4096 bytes or more",
                });
            }
            Err(e) => return Err(Error::io("read", path, e)),
        }
        if page[..8] != FILE_MAGIC {
            return Err(Error::Foreign {
                path: path.to_owned(),
                found: format!("{:02x?} in the first 8 bytes", &page[..8]),
                expected: "a trace file, which begins with \"CUSHIM\"",
            });
        }
        let version = u32_at(&page, 8);
        if version != VERSION {
            return Err(Error::Foreign {
                path: path.to_owned(),
                found: format!("trace format {version}"),
                expected: "format 1 (the file was written by another version of cushim)",
            });
        }
        // An odd sequence: the writer was interrupted or died while it wrote. The first calibration
        // is always valid.
        let seq = u64_at(&page, std::mem::offset_of!(FileHeader, latest_seq));
        if seq.is_multiple_of(2) || tries > 100 {
            break;
        }
        tries += 1;
    }
    let calibration = |at| Calibration {
        ticks: u64_at(&page, at),
        monotonic_ns: u64_at(&page, at + 8),
        realtime_ns: u64_at(&page, at + 16),
    };
    let first = calibration(std::mem::offset_of!(FileHeader, first));
    let latest = calibration(std::mem::offset_of!(FileHeader, latest));
    let (closed, tsc) = (u32_at(&page, 20) == 1, u32_at(&page, 12) & FLAG_TSC != 0);
    let latest = if live && !closed { now(first, tsc).unwrap_or(latest) } else { latest };
    let mut lost = [0; LOST_KINDS];
    for (i, n) in lost.iter_mut().enumerate() {
        *n = u64_at(&page, std::mem::offset_of!(FileHeader, lost) + i * 8);
    }
    Ok(Header {
        pid: u32_at(&page, 16),
        closed,
        used: u64_at(&page, 24),
        limit: u64_at(&page, 32),
        lost,
        tsc,
        keep: (u32_at(&page, 12) & FLAG_RING != 0)
            .then(|| u64_at(&page, std::mem::offset_of!(FileHeader, keep))),
        overwritten: u64_at(&page, std::mem::offset_of!(FileHeader, overwritten)),
        timeline: Timeline::new(first, latest),
    })
}

/// This moment, as the writer of a file with this `first` calibration would see it. The writer's latest calibration
/// may be milliseconds behind the first one: a line through both is wrong by 85 us half a second later (measured on a busy
/// machine), and by less once the writer calibrates again, so that two events a moment apart would get different lines.
///
/// `None` if the writer's monotonic clock is not this process's (it is in another time namespace).
fn now(first: Calibration, tsc: bool) -> Option<Calibration> {
    const SAME_NS: u64 = 1_000_000_000;
    let now = clock::calibrate(tsc);
    let since_1970 = |at: Calibration| at.realtime_ns.wrapping_sub(at.monotonic_ns) as i64;
    let is_same = since_1970(now).abs_diff(since_1970(first)) < SAME_NS;
    (is_same && now.ticks > first.ticks && now.monotonic_ns > first.monotonic_ns).then_some(now)
}
