//! Asynchronous stores, reductions and bulk copies: executed immediately, and signalled to their barrier object.
//!
//! Owns the effect on memory. Must not know how an engine accesses memory: [`Reach`] does.

use super::barrier_object;
use super::bytes::word;
use super::cluster;
use super::fault::Cause;
use super::tensor_copy::{self, Place, Way};
use crate::alu;
use crate::sem::{AsyncOp, Asynchronous, MbarrierOp, Update};
use crate::types::Space;

/// Memory as a lane reaches it.
pub trait Reach {
    /// What ends the launch.
    type Error;

    /// Reads bytes of a space.
    ///
    /// # Errors
    /// Where there is no such memory.
    fn read(&mut self, space: Space, address: u64, out: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes bytes of a space.
    ///
    /// # Errors
    /// Where there is no such memory, or nothing may be written.
    fn write(&mut self, space: Space, address: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Atomically replaces a value of `bytes` bytes by the result of `new`.
    ///
    /// # Errors
    /// As [`Reach::write`].
    fn update(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<(), Self::Error>;

    /// The rank of the lane's block in its cluster.
    fn rank(&self) -> u64;

    /// An error of this cause.
    fn fail(&self, cause: Cause) -> Self::Error;
}

/// The bytes that a bulk copy moves at a time.
const CHUNK: usize = 4096;
/// What addresses and sizes of bulk copies are multiples of.
const BULK: u64 = 16;
/// What addresses in shared memory are multiples of where boxes of tensors go (PTX ISA 9, "Tensor copies": 128 bytes).
const TENSOR: u64 = 128;

/// Does it for one lane; `operands` as [`Asynchronous`] names them.
///
/// # Errors
/// Those of `reach`; [`Cause::Misaligned`].
pub fn run<R: Reach>(what: &Asynchronous, operands: &[u64], reach: &mut R) -> Result<(), R::Error> {
    let operand = |n: usize| operands.get(n).copied().unwrap_or(0);
    let to = operand(0);
    let bytes = match what.op {
        AsyncOp::Store { element, parts } => {
            let (width, parts) = (element.bytes() as usize, usize::from(parts));
            let mut out = [0; 32];
            let out = &mut out[..width * parts];
            for (place, n) in out.chunks_exact_mut(width).zip(1..) {
                place.copy_from_slice(&operand(n).to_le_bytes()[..width]);
            }
            aligned(reach, to, out.len() as u64)?;
            reach.write(what.to, to, out)?;
            out.len() as u64
        }
        AsyncOp::Reduce(update) => {
            let width = update.ty().bytes();
            aligned(reach, to, width.into())?;
            let value = operand(1) & alu::mask(update.ty().bits());
            reach.update(what.to, to, width, &mut |old| alu::atomic(update, old, value, 0))?;
            width.into()
        }
        AsyncOp::Tensor { .. } => return boxes(what, operands, reach),
        AsyncOp::Replace(field) => {
            return tensor_copy::replace(reach, (what.to, to), field, operand(1));
        }
        AsyncOp::Copy { from, multicast, combine } => {
            let size = operand(2) & u64::from(u32::MAX);
            for at in [to, operand(1), size] {
                aligned(reach, at, BULK)?;
            }
            let blocks = if multicast { operand(4) as u16 } else { 1 };
            for rank in (0..16).filter(|rank| blocks >> rank & 1 != 0) {
                let at = |address| match multicast {
                    true => cluster::map(address, rank, reach.rank()),
                    false => address,
                };
                let (to, object) = (at(to), what.barrier.map(|n| at(operand(n.into()))));
                copy(reach, (what.to, to), (from, operand(1)), size, combine)?;
                tell(reach, what.to, object, size)?;
            }
            return Ok(());
        }
    };
    tell(reach, what.to, what.barrier.map(|n| operand(n.into())), bytes)
}

/// A box of a tensor.
fn boxes<R: Reach>(what: &Asynchronous, operands: &[u64], reach: &mut R) -> Result<(), R::Error> {
    let AsyncOp::Tensor { axes, columns, load, multicast, combine } = what.op else {
        return Ok(());
    };
    let operand = |n: usize| operands.get(n).copied().unwrap_or(0);
    let to = operand(0);
    let map = tensor_copy::map(reach, operand(1))?;
    let coordinates: Vec<i32> = (0..axes).map(|n| operand(2 + usize::from(n)) as i32).collect();
    let row = map.count(0) * map.width();
    // Rows of slices may be wider than the swizzle.
    let narrow = map.swizzle == 0 || map.modes.slice > 0 || row <= u64::from(map.swizzle);
    let fits = map.columns.is_some() == columns && row.is_multiple_of(BULK) && narrow;
    if map.sizes.len() != coordinates.len() || !fits {
        return Err(reach.fail(Cause::TensorMap { address: operand(1) }));
    }
    aligned(reach, to, TENSOR)?;
    let behind = 3 + usize::from(axes);
    let offsets = (load && columns).then(|| operand(behind));
    let place = Place { coordinates, offsets };
    if !load {
        return tensor_copy::copy(reach, &map, &place, to, Way::Store(combine));
    }
    let blocks = if multicast { operand(behind + usize::from(columns)) as u16 } else { 1 };
    for rank in (0..16).filter(|rank| blocks >> rank & 1 != 0) {
        let at = |address| match multicast {
            true => cluster::map(address, rank, reach.rank()),
            false => address,
        };
        let (to, object) = (at(to), what.barrier.map(|n| at(operand(n.into()))));
        tensor_copy::copy(reach, &map, &place, to, Way::Load)?;
        tell(reach, what.to, object, map.bytes())?;
    }
    Ok(())
}

fn aligned<R: Reach>(reach: &R, address: u64, bytes: u64) -> Result<(), R::Error> {
    if address.is_multiple_of(bytes) {
        return Ok(());
    }
    Err(reach.fail(Cause::Misaligned { address, bytes: bytes as u32 }))
}

fn copy<R: Reach>(
    reach: &mut R,
    (to, mut at): (Space, u64),
    (from, mut source): (Space, u64),
    size: u64,
    combine: Option<Update>,
) -> Result<(), R::Error> {
    let mut buffer = [0; CHUNK];
    let mut left = size as usize;
    while left > 0 {
        let chunk = &mut buffer[..left.min(CHUNK)];
        reach.read(from, source, chunk)?;
        match combine {
            None => reach.write(to, at, chunk)?,
            Some(update) => {
                let width = update.ty().bytes();
                let with = if to == Space::Global { alu::atomic_global } else { alu::atomic };
                for (place, value) in chunk.chunks_exact(width as usize).zip(0u64..) {
                    let at = at.wrapping_add(value * u64::from(width));
                    let value = word(place);
                    reach.update(to, at, width, &mut |old| with(update, old, value, 0))?;
                }
            }
        }
        let done = chunk.len();
        (at, source) = (at.wrapping_add(done as u64), source.wrapping_add(done as u64));
        left -= done;
    }
    Ok(())
}

/// Signals the arrival of bytes to an object.
fn tell<R: Reach>(
    reach: &mut R,
    space: Space,
    object: Option<u64>,
    bytes: u64,
) -> Result<(), R::Error> {
    let Some(at) = object else { return Ok(()) };
    aligned(reach, at, 8)?;
    let complete = MbarrierOp::CompleteBytes;
    reach.update(space, at, 8, &mut |old| {
        barrier_object::apply(complete, old, bytes).0.unwrap_or(old)
    })
}
