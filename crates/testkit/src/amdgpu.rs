//! The bodies of the fuzz targets for `cushim-amdgpu`.
//!
//! A function panics only if the code under test breaks a promise.

use std::sync::atomic::{AtomicU32, Ordering};

use cushim_amdgpu::decode::decode;
use cushim_amdgpu::kernel::{Kernel, SIZE};
use cushim_amdgpu::launch::{Dispatch, Worker, launch};
use cushim_amdgpu::memory::{Memory, Range};
use cushim_amdgpu::target::{Isa, Target};

/// A memory of a few pages that holds everything; waves stop after a number of turns.
struct Small {
    ranges: Vec<Range>,
    turns: AtomicU32,
}

// SAFETY: the ranges belong to buffers that live as long as the machine.
unsafe impl Memory for Small {
    fn find(&self, address: u64) -> Option<Range> {
        self.ranges.iter().copied().find(|range| range.start <= address && address < range.end)
    }

    fn interrupt(&self, _: u32) {}

    fn stopped(&self) -> bool {
        self.turns.fetch_add(1, Ordering::Relaxed) > 2
    }
}

fn range(buffer: &mut [u64], write: bool) -> Range {
    let start = buffer.as_mut_ptr() as u64;
    Range { start, end: start + 8 * buffer.len() as u64, write }
}

fn words(data: &[u8]) -> Vec<u32> {
    data.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

/// Any bytes as instructions: each decodes or is refused; a decoded one has a text and a length within the bytes.
pub fn decoded(data: &[u8]) {
    let words = words(data);
    let rdna = Target { wave32: false, ..Target::GFX1030 };
    for target in [Target::GFX90A, Target::GFX1030, rdna] {
        decoded_for(target, &words);
    }
}

fn decoded_for(target: Target, words: &[u32]) {
    let mut at = 0;
    while at < words.len() {
        match decode(target, &words[at..]) {
            Ok(inst) => {
                assert!(
                    matches!(inst.bytes, 4 | 8 | 12)
                        && usize::from(inst.bytes) <= 4 * (words.len() - at)
                );
                assert!(inst.to_string().starts_with(inst.row.name));
                at += usize::from(inst.bytes) / 4;
            }
            Err(_) => at += 1,
        }
    }
}

/// Any bytes as a kernel descriptor and code, run as a workgroup in its own memory: it ends, or is stopped.
pub fn executed(data: &[u8]) {
    let mut bytes = [0; SIZE];
    let (head, code) = data.split_at(data.len().min(SIZE));
    bytes[..head.len()].copy_from_slice(head);
    let _ = Kernel::read(&bytes);
    // Make sure that code is reached: all else is random, for RDNA also the wave size.
    bytes[16..24].copy_from_slice(&(SIZE as u64).to_le_bytes());
    run(Isa::Rdna2, &bytes, code);
    bytes[57] &= !4;
    run(Isa::Cdna2, &bytes, code);
}

fn run(isa: Isa, bytes: &[u8; SIZE], code: &[u8]) {
    let mut image = vec![0u64; (SIZE + code.len()).div_ceil(8) + 8];
    let mut heap = vec![0x0123_4567_89ab_cdefu64; 512];
    for (i, byte) in bytes.iter().chain(code).enumerate() {
        image[i / 8] |= u64::from(*byte) << (8 * (i % 8));
    }
    let machine = Small {
        ranges: vec![range(&mut image, false), range(&mut heap, true)],
        turns: AtomicU32::new(0),
    };
    let dispatch = Dispatch {
        grid: [64, 1, 1],
        group: [64, 1, 1],
        private: 64,
        lds: 1024,
        kernel: machine.ranges[0].start,
        arguments: machine.ranges[1].start,
        packet: machine.ranges[1].start + 64,
        queue: machine.ranges[1].start + 128,
        number: 1,
    };
    let _ = launch(&machine, &dispatch, &mut Worker::new(isa), 1);
}
