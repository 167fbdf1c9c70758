//! AQL packets, and a kernel's kernarg segment.
//!
//! Owns the bytes (HSA Platform System Architecture 1.2, 2.9; LLVM, "User Guide for AMDGPU Backend", kernel argument
//! metadata). Must not know: queues, memory: everything here is a function of its arguments.

use cushim_image::amdgpu::Argument;

use crate::ffi::{Packet, Sig};

/// Type 2, kernel dispatch; barrier bit; acquire and release at system scope.
const DISPATCH: u32 = 2 | 1 << 8 | 2 << 9 | 2 << 11;
/// Type 3, barrier-AND, otherwise the same.
const BARRIER: u32 = 3 | 1 << 8 | 2 << 9 | 2 << 11;
/// Dimensions of a dispatch, in the upper half of the first word.
const THREE: u32 = 3 << 16;
/// Signals that one barrier waits for.
pub const DEPENDENCIES: usize = 5;

/// The contents of a launch's packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Work-items of a block: at most 65535 in each direction.
    pub items: [u32; 3],
    /// Local data share of a block, bytes.
    pub group: u32,
    /// Scratch of a work-item, bytes.
    pub private: u32,
    /// Address of the kernel's descriptor.
    pub object: u64,
    /// Address of its arguments.
    pub kernarg: u64,
}

/// The packet of a launch. Its first word must be written last.
pub fn dispatch(shape: &Shape, done: Sig) -> Packet {
    let [x, y, z] = shape.items;
    let [w, h, d] = [0, 1, 2].map(|n| at(shape.grid, n).wrapping_mul(at(shape.items, n)));
    let [object, object_high] = halves(shape.object);
    let [kernarg, kernarg_high] = halves(shape.kernarg);
    let [done, done_high] = halves(done.0);
    [
        DISPATCH | THREE,
        (x & 0xffff) | y << 16,
        z & 0xffff,
        w,
        h,
        d,
        shape.private,
        shape.group,
        object,
        object_high,
        kernarg,
        kernarg_high,
        0,
        0,
        done,
        done_high,
    ]
}

/// A packet that waits for [`DEPENDENCIES`] signals at most.
pub fn barrier(waits: &[Sig], done: Sig) -> Packet {
    let mut words = [0; 2 * DEPENDENCIES];
    let halves_of = waits.iter().flat_map(|signal| halves(signal.0));
    words.iter_mut().zip(halves_of).for_each(|(to, word)| *to = word);
    let [a, b, c, d, e, f, g, h, i, j] = words;
    let [done, done_high] = halves(done.0);
    [BARRIER, 0, a, b, c, d, e, f, g, h, i, j, 0, 0, done, done_high]
}

fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

fn at(of: [u32; 3], n: usize) -> u32 {
    of.get(n).copied().unwrap_or(1)
}

/// Fills in a kernel's hidden arguments, by the metadata's names. Arguments without a value here
/// (buffers of printf and malloc) stay 0, as in HIP's runtime without such buffers.
pub fn hide(kernarg: &mut [u8], arguments: &[Argument], shape: &Shape, dynamic: u32, queue: u64) {
    for argument in arguments.iter().filter(|argument| argument.is_hidden()) {
        let kind = argument.kind.as_str();
        let value = match kind {
            "hidden_grid_dims" => 3,
            "hidden_dynamic_lds_size" => u64::from(dynamic),
            "hidden_queue_ptr" => queue,
            _ => side(kind).map_or(0, |(which, n)| match which {
                Side::Blocks => at(shape.grid, n).into(),
                Side::Items => at(shape.items, n).into(),
                Side::Remainder => 0,
            }),
        };
        let start = argument.offset as usize;
        let bytes = value.to_le_bytes();
        let size = (argument.size as usize).min(bytes.len());
        if let (Some(to), Some(from)) = (kernarg.get_mut(start..start + size), bytes.get(..size)) {
            to.copy_from_slice(from);
        }
    }
}

enum Side {
    Blocks,
    Items,
    Remainder,
}

/// `hidden_block_count_y` is blocks, 1.
fn side(kind: &str) -> Option<(Side, usize)> {
    let (name, letter) = kind.rsplit_once('_')?;
    let n = "xyz".find(letter).filter(|_| letter.len() == 1)?;
    match name {
        "hidden_block_count" => Some((Side::Blocks, n)),
        "hidden_group_size" => Some((Side::Items, n)),
        "hidden_remainder" => Some((Side::Remainder, n)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_dispatch_counts_work_items() {
        let shape = Shape {
            grid: [5, 2, 1],
            items: [64, 3, 2],
            group: 100,
            private: 8,
            object: 0x1_0000_0040,
            kernarg: 0x2_0000_0080,
        };
        let packet = dispatch(&shape, Sig(0x3_0000_00c0));
        assert_eq!(packet[0], 0x0003_1502);
        assert_eq!((packet[1], packet[2]), (64 | 3 << 16, 2));
        assert_eq!(packet[3..8], [320, 6, 2, 8, 100]);
        assert_eq!(packet[8..], [0x40, 1, 0x80, 2, 0, 0, 0xc0, 3]);
    }

    #[test]
    fn a_barrier_waits_for_five() {
        let waits: Vec<Sig> = (1..=6).map(|n| Sig(n << 32 | n)).collect();
        let packet = barrier(&waits, Sig(9));
        assert_eq!(packet[0], 0x1503);
        assert_eq!(packet[2..12], [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
        assert_eq!(packet[12..], [0, 0, 9, 0]);
        assert_eq!(barrier(&[], Sig(0))[1..], [0; 15]);
    }

    #[test]
    fn hidden_arguments_go_where_the_metadata_say() {
        let argument = |offset, size, kind: &str| Argument { offset, size, kind: kind.to_owned() };
        let arguments = [
            argument(0, 8, "global_buffer"),
            argument(8, 4, "hidden_block_count_x"),
            argument(12, 4, "hidden_block_count_z"),
            argument(16, 2, "hidden_group_size_y"),
            argument(18, 2, "hidden_remainder_x"),
            argument(20, 2, "hidden_grid_dims"),
            argument(24, 8, "hidden_queue_ptr"),
            argument(32, 4, "hidden_dynamic_lds_size"),
            argument(40, 8, "hidden_hostcall_buffer"),
            // Beyond the kernarg segment: the metadata is wrong, and nothing is written.
            argument(60, 8, "hidden_queue_ptr"),
        ];
        let shape = Shape { grid: [7, 8, 9], items: [10, 11, 12], ..Shape::default() };
        let mut bytes = [0xee; 64];
        hide(&mut bytes, &arguments, &shape, 77, 0x1234_5678_9abc);
        assert_eq!(bytes[..8], [0xee; 8]);
        assert_eq!(bytes[8..24], [7, 0, 0, 0, 9, 0, 0, 0, 11, 0, 0, 0, 3, 0, 0xee, 0xee]);
        assert_eq!(bytes[24..32], 0x1234_5678_9abc_u64.to_le_bytes());
        assert_eq!(bytes[32..40], [77, 0, 0, 0, 0xee, 0xee, 0xee, 0xee]);
        assert_eq!(bytes[40..48], [0; 8]);
        assert_eq!(bytes[48..], [0xee; 16]);
    }
}
