//! Hostile trace files by size, and their readers.
//!
//! Must not know: the other formats.

use std::hint::black_box;
use std::mem::offset_of;

use cushim_trace::event::{Body, Event, LaunchEvent};
use cushim_trace::layout::*;
use cushim_trace::meta::{Kernel, Process, encode_name};
use cushim_trace::reader::TraceFile;
use cushim_trace::testing::FileBuilder;

/// A trace's header, followed by these bytes.
fn behind_header(chunks: &[u8], ring: bool) -> Vec<u8> {
    let mut bytes = FileBuilder::new(&Process::default()).bytes();
    bytes.extend_from_slice(chunks);
    let used = bytes.len() as u64;
    let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    put(offset_of!(FileHeader, used), used);
    if ring {
        put(offset_of!(FileHeader, keep), used);
        bytes[offset_of!(FileHeader, flags)] |= FLAG_RING as u8;
    }
    bytes
}

pub fn nothing(n: usize) -> Vec<u8> {
    behind_header(&vec![0; n], false)
}

pub fn noise(n: usize) -> Vec<u8> {
    behind_header(&super::make::noise(n), false)
}

/// The smallest chunks, each from a different buffer, with `fill` after its header.
fn chunks(n: usize, kind: u32, ring: bool, fill: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let mut all = Vec::with_capacity(n + PAGE);
    for number in 1..=(n / PAGE) as u32 {
        let begun = all.len();
        let body = fill(number);
        let used = if kind == CHUNK_META { (CHUNK_HEADER + body.len()) as u64 } else { 0 };
        for word in [CHUNK_MAGIC, kind, PAGE as u32, number, number, 0] {
            all.extend_from_slice(&word.to_le_bytes());
        }
        all.extend_from_slice(&used.to_le_bytes());
        all.extend_from_slice(&u64::from(if ring { number } else { 0 }).to_le_bytes());
        all.resize(begun + CHUNK_HEADER, 0);
        all.extend_from_slice(&body);
        all.resize(begun + PAGE, 0);
    }
    behind_header(&all, ring)
}

/// A finished call without words.
fn call(number: u32) -> Vec<u8> {
    let mut slot = vec![0; SLOT];
    slot[..4].copy_from_slice(&(u32::from(EVENT_CALL) | 1 << 16).to_le_bytes());
    slot[8..16].copy_from_slice(&u64::from(number).to_le_bytes());
    slot[16..24].copy_from_slice(&u64::from(number + 1).to_le_bytes());
    slot[28] = 1;
    slot
}

pub fn buffers(n: usize) -> Vec<u8> {
    chunks(n, CHUNK_EVENTS, false, call)
}

pub fn ring(n: usize) -> Vec<u8> {
    chunks(n, CHUNK_EVENTS, true, call)
}

pub fn metadata(n: usize) -> Vec<u8> {
    chunks(n, CHUNK_META, false, |number| encode_name(number, "a name"))
}

/// Calls that are nested and never end.
pub fn open(n: usize) -> Vec<u8> {
    chunks(n, CHUNK_EVENTS, false, |number| {
        let call = |depth: usize| {
            let mut slot = call(number);
            (slot[6], slot[28]) = (depth as u8, 0);
            slot
        };
        (0..PAGE / SLOT - 1).flat_map(call).collect()
    })
}

/// Kernels, each launched once, with its own name and shape.
pub fn kernels(n: usize) -> Vec<u8> {
    launches(n, |number| number)
}

/// One kernel with as many shapes as launches.
pub fn shapes(n: usize) -> Vec<u8> {
    launches(n, |_| 1)
}

fn launches(n: usize, kernel: impl Fn(u32) -> u32) -> Vec<u8> {
    let mut file = FileBuilder::new(&Process::default());
    file.api(1, "cuLaunchKernel", "launch", "");
    for number in 1..=(n / 400) as u32 {
        if kernel(number) == number {
            let mangled = format!("_Z{}k{number}v", number.to_string().len() + 1);
            let (address, owner, types) = (0, String::new(), String::new());
            file.kernel(number, &Kernel { mangled, address, owner, types, params: Ok(Vec::new()) });
        }
        let stored = LaunchBody {
            kernel: kernel(number),
            stream: u64::from(number),
            grid: [number, 1, 1],
            block: [1; 3],
            ..LaunchBody::default()
        };
        file.event(&Event {
            id: 0,
            parent: None,
            tid: 1,
            api: 1,
            depth: 0,
            begin_ns: u64::from(number),
            call_ns: Some(1),
            status: Some(0),
            link: 0,
            body: Body::Launch(LaunchEvent { stored, args: &[] }),
        });
    }
    file.bytes()
}

/// Reads all events.
pub fn read(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.cushim");
    std::fs::write(&path, data).expect("room");
    let Ok(mut file) = TraceFile::open(&path) else { return };
    let _ = file.poll(true, &mut |_, event| _ = black_box(event.begin_ns));
}
