//! Bytes of slots to events.
//!
//! Owns: how far the bytes of a window can be believed. Must not know: files.

use crate::event::{Body, Call, Gpu, Launch, Mapped, MappedArgs, Payload, Range, Texts, Words};
use crate::layout::*;

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
    /// One begins there that is not done, or not whole in the window.
    Something,
}

/// How many bytes of `window` are whole events that are done (or any, with `last`).
pub(super) fn usable(window: &[u8], last: bool, damaged: &mut u64) -> (usize, End) {
    let mut at = 0;
    while at + SLOT <= window.len() {
        let head = u32_at(window, at);
        if head == 0 {
            return (at, End::Nothing);
        }
        let size = (head >> 16) as usize * SLOT;
        if size == 0 || size > CHUNK_MAX {
            // A foreign word where an event should begin: nothing behind it can be trusted.
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

fn payload(kind: u8, bits: u64) -> Option<Payload> {
    Some(match kind {
        PAYLOAD_U64 => Payload::Whole(bits.into()),
        PAYLOAD_I64 => Payload::Whole((bits as i64).into()),
        PAYLOAD_F64 => Payload::Real(f64::from_bits(bits)),
        PAYLOAD_U32 => Payload::Whole((bits as u32).into()),
        PAYLOAD_I32 => Payload::Whole((bits as i32).into()),
        PAYLOAD_F32 => Payload::Real(f32::from_bits(bits as u32).into()),
        _ => return None,
    })
}

pub(super) fn body(kind: u16, bytes: &[u8]) -> Option<Body<'_>> {
    let dims = |at| [u32_at(bytes, at), u32_at(bytes, at + 4), u32_at(bytes, at + 8)];
    Some(match kind {
        EVENT_LAUNCH => {
            let size = u32_at(bytes, 60) as usize;
            Body::Launch(Launch {
                kernel: u32_at(bytes, 32),
                shared: u32_at(bytes, 36),
                stream: u64_at(bytes, 40),
                grid: dims(48),
                block: dims(64),
                cluster: [*bytes.get(76)?, *bytes.get(77)?, *bytes.get(78)?],
                flags: *bytes.get(79)?,
                context: u64_at(bytes, 80),
                args: bytes.get(LAUNCH_ARGS..LAUNCH_ARGS.checked_add(size)?)?,
            })
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
        EVENT_GPU => {
            bytes.get(..2 * SLOT)?;
            Body::Gpu(Gpu {
                what: *bytes.get(32)?,
                direction: *bytes.get(33)?,
                device: u32_at(bytes, 36),
                context: u32_at(bytes, 40),
                stream: u32_at(bytes, 44),
                kernel: u32_at(bytes, 48),
                name: u32_at(bytes, 52),
                link: u64_at(bytes, 56),
                bytes: u64_at(bytes, 80),
                graph_node: u64_at(bytes, 88),
                grid: dims(96),
                block: dims(108),
                shared: u32_at(bytes, 120),
                correlation: u32_at(bytes, 124),
            })
        }
        EVENT_RANGE => {
            let size = u16_at(bytes, 34) as usize;
            Body::Range(Range {
                what: *bytes.get(32)?,
                domain: u32_at(bytes, 36),
                id: u64_at(bytes, 40),
                payload: payload(*bytes.get(33)?, u64_at(bytes, 48)),
                category: u32_at(bytes, 56),
                color: u32_at(bytes, 60),
                text: std::str::from_utf8(bytes.get(RANGE_TEXT..RANGE_TEXT + size)?).ok()?,
            })
        }
        EVENT_REGION | EVENT_MAP => {
            let kept = u16_at(bytes, 100) as usize * size_of::<MappedArg>();
            let what = *bytes.get(94)?;
            // A kind of call that this version does not know.
            if (kind == EVENT_REGION) != (what == 0) {
                return None;
            }
            Body::Mapped(Mapped {
                what,
                kernel: u32_at(bytes, 32),
                place: u32_at(bytes, 36),
                device: u64_at(bytes, 40) as i64,
                trip_count: u64_at(bytes, 48),
                flags: u64_at(bytes, 56),
                teams: dims(64),
                threads: dims(76),
                shared: u32_at(bytes, 88),
                version: u16_at(bytes, 92),
                fallback: *bytes.get(95)?,
                count: u32_at(bytes, 96),
                bits: u16_at(bytes, 102),
                args: MappedArgs(bytes.get(MAPPED_ARGS..MAPPED_ARGS + kept)?),
            })
        }
        EVENT_MARK => {
            let size = u32_at(bytes, 32) as usize;
            Body::Mark(std::str::from_utf8(bytes.get(40..40usize.checked_add(size)?)?).ok()?)
        }
        _ => return None,
    })
}
