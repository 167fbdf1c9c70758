//! Registers of all lanes: reading operands, writing results under a mask, and the bytes of accesses.
//!
//! Owns loops over 32 lanes, which the compiler vectorises. Must not know the memory that bytes come from.

use super::decode::{Access, Compute, MOST, Operand, Target};
use super::versions::{Vectorized, Version};
use super::warp::{Lanes, Register};

/// Bytes of the accesses of all lanes, one after the other.
pub(super) type Bytes = [u8; 32 * MOST];

/// The layout of the active lanes' addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    /// All are this one.
    Same(u64),
    /// Each follows the one of the lane before; this is the first active lane's.
    Row(u64),
    Mixed,
    /// One of them is no multiple of the access's size.
    Misaligned,
}

/// The lanes in which a predicate is true.
pub(super) fn truths(values: &Lanes) -> u32 {
    let mut bits = [0u64; 4];
    for k in (0..8).rev() {
        for (j, b) in bits.iter_mut().enumerate() {
            *b = *b << 4 | values[4 * k + j] & 1;
        }
    }
    (bits[0] | bits[1] << 1 | bits[2] << 2 | bits[3] << 3) as u32
}

/// Defines functions that are compiled for each processor level; their first argument is the level.
macro_rules! wide {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $ty:ty),* $(,)?) -> $out:ty $body:block)*) => {$(
        $(#[$doc])*
        pub(super) fn $name<'a>(version: Version, $($argument: $ty),*) -> $out {
            struct Call<'a> { $($argument: $ty),* }
            impl<'a> Vectorized for Call<'a> {
                type Out = $out;

                #[inline(always)]
                fn run(self) -> $out {
                    let Call { $($argument),* } = self;
                    $body
                }
            }
            version.run(Call { $($argument),* })
        }
    )*};
}

/// Writes `values` under `mask`, cut to the register's width.
#[inline(always)]
fn write(registers: &mut [Register], target: Target, mask: u32, values: &Lanes) {
    let Some(r) = target.register else { return };
    let place = &mut registers[r as usize];
    if mask == u32::MAX {
        for l in 0..32 {
            place[l] = values[l] & target.cut;
        }
    } else {
        for l in 0..32 {
            let new = values[l] & target.cut;
            place[l] = if mask >> l & 1 != 0 { new } else { place[l] };
        }
    }
}

/// An operand of all lanes, by way of `constant` where it has no register.
macro_rules! operand {
    ($registers:expr, $operand:expr, $constant:ident) => {{
        match $operand {
            Operand::Register(r) => &$registers[r as usize].0,
            Operand::Constant(v) => {
                $constant = [v; 32];
                &$constant
            }
        }
    }};
}

wide! {
/// Runs an operation.
fn compute(registers: &'a mut [Register], step: &'a Compute, mask: u32, out: &'a mut Lanes) -> () {
    let (a, b, c);
    let inputs = [
        operand!(registers, step.inputs[0], a),
        operand!(registers, step.inputs[1], b),
        operand!(registers, step.inputs[2], c),
    ];
    step.op.compute(step.t, out, inputs);
    write(registers, step.target, mask, out);
}
}

wide! {
/// The addresses of an access, and how those of the lanes in `mask` lie.
fn locate(registers: &'a [Register], access: &'a Access, mask: u32, out: &'a mut Lanes) -> Pattern {
    let (offset, cut, size) = (access.offset, access.cut, access.size as u64);
    let base = match access.base {
        Operand::Register(r) => &registers[r as usize],
        Operand::Constant(base) => {
            let address = base.wrapping_add(offset) & cut;
            *out = [address; 32];
            let aligned = address.is_multiple_of(size);
            return if aligned { Pattern::Same(address) } else { Pattern::Misaligned };
        }
    };
    let lane = mask.trailing_zeros() as usize % 32;
    let first = base[lane].wrapping_add(offset) & cut;
    let start = first.wrapping_sub(lane as u64 * size);
    let (mut low, mut same, mut row) = (0, 0, 0);
    for l in 0..32 {
        let v = base[l].wrapping_add(offset) & cut;
        let here = if mask >> l & 1 != 0 { u64::MAX } else { 0 };
        low |= v & here;
        same |= (v ^ first) & here;
        row |= (v ^ start.wrapping_add(l as u64 * size)) & here;
        out[l] = v;
    }
    match (low & (size - 1), same, row) {
        (0, 0, _) => Pattern::Same(first),
        (0, _, 0) => Pattern::Row(first),
        (0, ..) => Pattern::Mixed,
        _ => Pattern::Misaligned,
    }
}
}

wide! {
/// Values from the bytes that were loaded for the lanes in `mask`.
fn unpack(registers: &'a mut [Register], access: &'a Access, targets: &'a [Target], mask: u32, bytes: &'a Bytes, out: &'a mut Lanes) -> () {
    for (k, target) in targets.iter().enumerate() {
        match (access.width, targets.len()) {
            (1, 1) => part::<1, 1>(bytes, k, out),
            (1, 2) => part::<1, 2>(bytes, k, out),
            (1, 4) => part::<1, 4>(bytes, k, out),
            (1, 8) => part::<1, 8>(bytes, k, out),
            (2, 1) => part::<2, 2>(bytes, k, out),
            (2, 2) => part::<2, 4>(bytes, k, out),
            (2, 4) => part::<2, 8>(bytes, k, out),
            (2, 8) => part::<2, 16>(bytes, k, out),
            (4, 1) => part::<4, 4>(bytes, k, out),
            (4, 2) => part::<4, 8>(bytes, k, out),
            (4, 4) => part::<4, 16>(bytes, k, out),
            (8, 1) => part::<8, 8>(bytes, k, out),
            _ => part::<8, 16>(bytes, k, out),
        }
        if access.sign != 0 {
            let shift = access.sign & 63;
            out.iter_mut().for_each(|v| *v = ((*v << shift) as i64 >> shift) as u64);
        }
        write(registers, *target, mask, out);
    }
}
}

/// The `k`th value of `WIDTH` bytes of each lane's `SIZE`.
#[inline(always)]
fn part<const WIDTH: usize, const SIZE: usize>(bytes: &Bytes, k: usize, out: &mut Lanes) {
    let at = k * WIDTH % SIZE;
    for (v, lane) in out.iter_mut().zip(bytes.chunks_exact(SIZE)) {
        let mut word = [0; 8];
        word[..WIDTH].copy_from_slice(&lane[at..at + WIDTH]);
        *v = u64::from_le_bytes(word);
    }
}

wide! {
/// Writes the same values to all lanes in `mask`.
fn spread(registers: &'a mut [Register], targets: &'a [Target], mask: u32, values: &'a [u64]) -> () {
    for (target, value) in targets.iter().zip(values) {
        write(registers, *target, mask, &[*value; 32]);
    }
}
}

wide! {
/// The bytes to store of all lanes.
fn pack(registers: &'a [Register], access: &'a Access, values: &'a [Operand], bytes: &'a mut Bytes) -> () {
    for (k, value) in values.iter().enumerate() {
        let constant;
        let from = operand!(registers, *value, constant);
        match (access.width, values.len()) {
            (1, 1) => unpart::<1, 1>(bytes, k, from),
            (1, 2) => unpart::<1, 2>(bytes, k, from),
            (1, 4) => unpart::<1, 4>(bytes, k, from),
            (1, 8) => unpart::<1, 8>(bytes, k, from),
            (2, 1) => unpart::<2, 2>(bytes, k, from),
            (2, 2) => unpart::<2, 4>(bytes, k, from),
            (2, 4) => unpart::<2, 8>(bytes, k, from),
            (2, 8) => unpart::<2, 16>(bytes, k, from),
            (4, 1) => unpart::<4, 4>(bytes, k, from),
            (4, 2) => unpart::<4, 8>(bytes, k, from),
            (4, 4) => unpart::<4, 16>(bytes, k, from),
            (8, 1) => unpart::<8, 8>(bytes, k, from),
            _ => unpart::<8, 16>(bytes, k, from),
        }
    }
}
}

#[inline(always)]
fn unpart<const WIDTH: usize, const SIZE: usize>(bytes: &mut Bytes, k: usize, values: &Lanes) {
    let at = k * WIDTH % SIZE;
    for (v, lane) in values.iter().zip(bytes.chunks_exact_mut(SIZE)) {
        lane[at..at + WIDTH].copy_from_slice(&v.to_le_bytes()[..WIDTH]);
    }
}
