//! The body of the fuzz target for the packets of `cushim-kfd`.
//!
//! A function panics only if the code under test breaks a promise.

use cushim_amdgpu::memory::{Checked, Memory, Range};
use cushim_kfd::queue::{aql, sdma};

/// Memory of one range.
struct One(Range);

// SAFETY: the range belongs to a buffer that lives as long as the machine.
unsafe impl Memory for One {
    fn find(&self, address: u64) -> Option<Range> {
        Some(self.0).filter(|range| range.start <= address && address < range.end)
    }

    fn interrupt(&self, _: u32) {}
}

fn words(data: &[u8]) -> Vec<u32> {
    data.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

/// Any bytes as packets of both kinds of queues; copies run where memory allows them.
pub fn packets(data: &[u8]) {
    let words = words(data);
    let mut heap = vec![0u64; 8192];
    let start = heap.as_mut_ptr() as u64;
    let machine = One(Range { start, end: start + 8 * heap.len() as u64, write: true });
    for packet in words.chunks_exact(16) {
        if let Some(packet) = packet.first_chunk() {
            let _ = aql::parse(packet);
        }
    }
    // A packet of thirteen words may request 32 million rows, which take a real SDMA engine a long time, too: the
    // limit is for the work besides the requested rows.
    let mut left = (1 << 14, 1 << 24);
    let mut at = 0;
    while at < words.len() {
        // Some addresses are in the existing memory: their low words choose where.
        let mut here = [0; 16];
        let count = (words.len() - at).min(16);
        here[..count].copy_from_slice(&words[at..at + count]);
        let op = here[0] & 0xff;
        for low in [1, 3, 5, 6] {
            if here[low + 1] & 1 == 1 && op != 0 {
                let address = start + u64::from(here[low] & 0xffff);
                here[low] = address as u32;
                here[low + 1] = (address >> 32) as u32;
            }
        }
        match sdma::parse(&here[..count]) {
            Ok((command, taken)) => {
                assert!(taken > 0 && taken <= count);
                let traps = matches!(command, sdma::Command::Trap(_));
                let (accesses, bytes) = command.work();
                let fits = accesses <= left.0 && bytes <= left.1;
                if fits && !traps {
                    left = (left.0 - accesses, left.1 - bytes);
                    let _ = sdma::perform(&mut Checked::new(&machine), &command);
                }
                at += taken;
            }
            Err(_) => at += 1,
        }
    }
}
