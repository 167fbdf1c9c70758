//! Decodes the bytes of slots into events.
//!
//! Owns: which bytes of a window are valid. Must not know: files.

use crate::event::{
    Body, Call, Counters, Gpu, LaunchEvent, Mapped, MappedArgs, Range, Texts, Words,
};
use crate::layout::*;
use crate::stored::{self, Stored};

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map_or(0, u16::from_le_bytes)
}

/// What follows the last usable event of a window.
#[derive(PartialEq, Eq)]
pub(super) enum End {
    /// No event begins there.
    Nothing,
    /// An event begins there that is not done, or not complete in the window.
    Something,
}

/// How many bytes of `window` are complete events that are done (with `last`, also events not
/// done).
pub(super) fn usable(window: &[u8], last: bool, damaged: &mut u64) -> (usize, End) {
    let mut at = 0;
    while at + SLOT <= window.len() {
        let head = u32_at(window, at);
        if head == 0 {
            return (at, End::Nothing);
        }
        let size = (head >> 16) as usize * SLOT;
        if size == 0 || size > CHUNK_MAX {
            // An unknown word where an event should begin: nothing behind it can be trusted.
            *damaged += u64::from(at == 0);
            return (at, End::Something);
        }
        if at + size > window.len() || !last && u32_at(window, at + 28) != 1 {
            return (at, End::Something);
        }
        at += size;
    }
    (at, if at == window.len() { End::Nothing } else { End::Something })
}

/// The stored part behind the head.
fn behind<T: Stored>(bytes: &[u8]) -> Option<T> {
    stored::read(bytes.get(size_of::<EventHead>()..)?)
}

/// The counters of GPU work, if it has any.
fn counters(bytes: &[u8]) -> Option<Counters<'_>> {
    if bytes.get(7)? & EVENT_COUNTED == 0 {
        return Some(Counters::default());
    }
    let (names, count) = (u32_at(bytes, GPU_COUNTERS), u32_at(bytes, GPU_COUNTERS + 4) as usize);
    let begin = GPU_COUNTERS + 2 * size_of::<u32>();
    let end = begin + count.checked_mul(size_of::<u64>()).filter(|_| count <= COUNTERS_MAX)?;
    Some(Counters { names, bytes: bytes.get(begin..end)? })
}

pub(super) fn body(kind: u16, bytes: &[u8]) -> Option<Body<'_>> {
    Some(match kind {
        EVENT_LAUNCH => {
            let launch: LaunchBody = behind(bytes)?;
            let end = LAUNCH_ARGS.checked_add(launch.arg_bytes as usize)?;
            Body::Launch(LaunchEvent { stored: launch, args: bytes.get(LAUNCH_ARGS..end)? })
        }
        EVENT_CALL => {
            let words = *bytes.get(38)? as usize;
            Body::Call(Call {
                kernel: u32_at(bytes, 32),
                outs: u16_at(bytes, 36),
                words: Words(bytes.get(CALL_WORDS..CALL_WORDS + words * 8)?),
                texts: Texts {
                    bytes: bytes.get(CALL_WORDS + words * 8..)?,
                    count: *bytes.get(39)?,
                },
            })
        }
        EVENT_GPU => Body::Gpu(Gpu { stored: behind(bytes)?, counters: counters(bytes)? }),
        EVENT_RANGE => {
            let range: RangeBody = behind(bytes)?;
            let text = bytes.get(RANGE_TEXT..RANGE_TEXT + usize::from(range.text))?;
            Body::Range(Range { stored: range, text: std::str::from_utf8(text).ok()? })
        }
        EVENT_REGION | EVENT_MAP => {
            let mapped: MappedBody = behind(bytes)?;
            // A kind of call that this version does not know.
            if (kind == EVENT_REGION) != (mapped.what == 0) {
                return None;
            }
            let kept = usize::from(mapped.kept) * size_of::<MappedArg>();
            let args = bytes.get(MAPPED_ARGS..MAPPED_ARGS + kept)?;
            Body::Mapped(Mapped { stored: mapped, args: MappedArgs::new(args) })
        }
        EVENT_SHORT_REGION | EVENT_SHORT_MAP => {
            let mapped: ShortMappedBody = behind(bytes)?;
            if (kind == EVENT_SHORT_REGION) != (mapped.what == 0) {
                return None;
            }
            let kept = usize::from(mapped.count) * size_of::<ShortMappedArg>();
            let args = bytes.get(SHORT_MAPPED_ARGS..SHORT_MAPPED_ARGS + kept)?;
            Body::Mapped(Mapped { stored: mapped.long(), args: MappedArgs::of_short(args) })
        }
        EVENT_MARK => {
            let size = u32_at(bytes, 32) as usize;
            Body::Mark(std::str::from_utf8(bytes.get(40..40usize.checked_add(size)?)?).ok()?)
        }
        _ => return None,
    })
}
