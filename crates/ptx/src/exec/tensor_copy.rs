//! Copies of boxes of tensors (PTX ISA 9, "Tensors", "Tiled mode", "Im2col mode", "Swizzling Modes").
//!
//! Owns the bytes of a box, and the conversion of elements during the copy. Must not know how memory is accessed
//! ([`Reach`] does), or how a map is stored ([`super::tensor`]).

use super::asynchronous::Reach;
use super::fault::Cause;
use super::tensor::{Change, MAP_BYTES, TensorMap};
use crate::alu;
use crate::exec::bytes::word;
use crate::sem::tensor::Field;
use crate::sem::{Combine, Update};
use crate::soft::{self, Format, Round};
use crate::types::{Kind, Scalar, Space};

/// The direction of a copy, and its effect on the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Into shared memory; elements outside of the tensor become zero.
    Load,
    /// Out of shared memory; elements outside are skipped.
    Store(Option<Combine>),
}

/// The position of a box: coordinates of its first element; in im2col mode also the offsets of each pixel, 16 bits
/// each.
#[derive(Debug, Clone)]
pub struct Place {
    /// A number for each axis.
    pub coordinates: Vec<i32>,
    /// `None` of tiles.
    pub offsets: Option<u64>,
}

/// The tensor map at an address.
///
/// # Errors
/// Those of `reach`; [`Cause::TensorMap`].
pub fn map<R: Reach>(reach: &mut R, address: u64) -> Result<TensorMap, R::Error> {
    let mut bytes = [0; MAP_BYTES];
    reach.read(Space::Generic, address, &mut bytes)?;
    TensorMap::from_bytes(&bytes).ok_or_else(|| reach.fail(Cause::TensorMap { address }))
}

/// Replaces a field of the map at an address.
///
/// # Errors
/// Those of `reach`.
pub fn replace<R: Reach>(
    reach: &mut R,
    (space, address): (Space, u64),
    field: Field,
    value: u64,
) -> Result<(), R::Error> {
    let mut bytes = [0; MAP_BYTES];
    reach.read(space, address, &mut bytes)?;
    TensorMap::replace(&mut bytes, field, value);
    reach.write(space, address, &bytes)
}

/// Goes over the rows of a box: along every axis but the innermost, the index; of columns of slices, along the innermost, too.
struct Rows<'m> {
    map: &'m TensorMap,
    /// The axis of the first index: 0 or 1.
    axis: usize,
    /// Of the next row; in im2col mode before the offsets are added.
    at: Vec<i64>,
    /// Where it began.
    first: Vec<i64>,
    offsets: Vec<i64>,
    left: u64,
}

impl<'m> Rows<'m> {
    fn new(map: &'m TensorMap, place: &Place) -> Rows<'m> {
        let axis = map.pixels().start;
        let first: Vec<i64> = place.coordinates.iter().skip(axis).map(|n| i64::from(*n)).collect();
        let packed = place.offsets.unwrap_or(0);
        let offsets = (0..3).map(|n| (packed >> (16 * n) & 0xffff) as i64).collect();
        Rows { map, axis, at: first.clone(), first, offsets, left: map.rows() }
    }

    /// Advances to the next row of a tile.
    fn next_of_tile(&mut self) {
        for (n, index) in self.at.iter_mut().enumerate() {
            let step = i64::from(self.map.steps.get(n + 1).copied().unwrap_or(1));
            let first = self.first.get(n).copied().unwrap_or(0);
            *index += step;
            if *index < first + self.map.count(n + 1) as i64 * step {
                return;
            }
            *index = first;
        }
    }

    /// Advances to the next pixel of the box; after its last one to the next image.
    fn next_pixel(&mut self, lower: &[i16], upper: &[i16]) {
        let last = self.axis + self.at.len() - 1;
        let Some((image, rest)) = self.at.split_last_mut() else { return };
        for (n, index) in rest.iter_mut().enumerate().take(self.map.pixels().len()) {
            let axis = self.axis + n;
            let size = self.map.sizes.get(axis).copied().unwrap_or(1) as i64;
            let corner = |list: &[i16]| i64::from(list.get(n).copied().unwrap_or(0));
            *index += i64::from(self.map.steps.get(axis).copied().unwrap_or(1));
            if *index < size + corner(upper) {
                return;
            }
            *index = corner(lower);
        }
        // Recorded on an H100: the step of the image's axis counts, too.
        *image += i64::from(self.map.steps.get(last).copied().unwrap_or(1));
    }

    /// Where the row of these indices begins; `None` where it lies outside as a whole.
    fn place(&self, indices: &[i64]) -> Option<u64> {
        if self.axis > 0 {
            return self.map.at(indices);
        }
        let (first, rest) = indices.split_first()?;
        let size = self.map.sizes.first().copied().unwrap_or(0) as i64;
        let row = self.map.at(rest).filter(|_| (0..size).contains(first))?;
        Some(row.wrapping_add(*first as u64 * self.map.width()))
    }
}

impl Iterator for Rows<'_> {
    /// Where the row begins; `None` where it lies outside as a whole.
    type Item = Option<u64>;

    fn next(&mut self) -> Option<Option<u64>> {
        self.left = self.left.checked_sub(1)?;
        match self.map.columns {
            None => {
                let found = self.place(&self.at);
                self.next_of_tile();
                Some(found)
            }
            Some(corners) => {
                let mut moved = self.at.clone();
                let pixels = self.map.pixels().len();
                moved.iter_mut().take(pixels).zip(&self.offsets).for_each(|(n, more)| *n += more);
                let found = self.place(&moved);
                self.next_pixel(&corners.lower, &corners.upper);
                Some(found)
            }
        }
    }
}

/// Copies a box between the tensor and shared memory at `shared`.
///
/// # Errors
/// Those of `reach`; [`Cause::TensorReduction`] for a reduction that the elements do not have, [`Cause::TensorPlace`] for a box that
/// begins where none can.
pub fn copy<R: Reach>(
    reach: &mut R,
    map: &TensorMap,
    begin: &Place,
    shared: u64,
    way: Way,
) -> Result<(), R::Error> {
    let ty = map.element;
    let width = map.width();
    placed(map, begin, way).map_err(|cause| reach.fail(cause))?;
    let columns = map.count(0);
    // In im2col mode with slices, rows also have a start along the innermost axis.
    let within = map.pixels().start > 0;
    let first = begin.coordinates.first().filter(|_| within).map_or(0, |n| i64::from(*n));
    let size = if within { map.sizes.first().copied().unwrap_or(0) as i64 } else { 1 };
    let update = match way {
        Way::Store(Some(combine)) => match combine.update(ty) {
            Some(update) => Some(update),
            None => return Err(reach.fail(Cause::TensorReduction { element: ty.name() })),
        },
        _ => None,
    };
    // With slices, steps count along the innermost axis, too.
    let step = map.steps.first().filter(|_| map.modes.slice > 0).map_or(1, |n| i64::from(*n));
    let mut row = vec![0; (columns * width) as usize];
    for (number, origin) in (0..).zip(Rows::new(map, begin)) {
        let to = shared.wrapping_add(number * map.pitch());
        let place = |column: u64| {
            let index = first + column as i64 * step;
            let at = origin.filter(|_| (0..size).contains(&index))?;
            Some(at.wrapping_add(index as u64 * width))
        };
        if way == Way::Load {
            gather(reach, map, &mut row, step == 1, place)?;
            for (n, unit) in row.chunks(16).enumerate() {
                reach.write(Space::Shared, map.exchanged(to + 16 * n as u64), unit)?;
            }
            continue;
        }
        for (n, unit) in row.chunks_mut(16).enumerate() {
            reach.read(Space::Shared, map.exchanged(to + 16 * n as u64), unit)?;
        }
        for (column, part) in row.chunks_exact(width as usize).enumerate() {
            let Some(at) = place(column as u64) else { continue };
            let Some(update) = update else {
                reach.write(Space::Global, at, part)?;
                continue;
            };
            let bytes = ty.bytes();
            for (at, element) in
                (at..).step_by(bytes as usize).zip(part.chunks_exact(bytes as usize))
            {
                let value = word(element);
                let mut new = |old| reduced(update, map.modes.change, old, value);
                reach.update(Space::Global, at, bytes, &mut new)?;
            }
        }
    }
    Ok(())
}

/// Whether a box is valid at that position: otherwise an H100 ends the kernel with an illegal instruction. Measured
/// with tile and im2col boxes at many positions: every box that failed breaks one of these rules, and none that
/// breaks one was seen to run.
fn placed(map: &TensorMap, begin: &Place, way: Way) -> Result<(), Cause> {
    let of = |axis: usize| begin.coordinates.get(axis).copied().unwrap_or(0);
    let fail = |axis, expected| Err(Cause::TensorPlace { axis, coordinate: of(axis), expected });
    let Some(corners) = &map.columns else {
        if i64::from(of(0)) * map.width() as i64 % 16 != 0 {
            return fail(0, "a multiple of 16 bytes");
        }
        let below = begin.coordinates.iter().position(|n| *n < 0);
        return match below.filter(|_| way != Way::Load) {
            Some(axis) => fail(axis, "0 or more where it is stored"),
            None => Ok(()),
        };
    };
    let pixels = map.pixels();
    for axis in pixels.clone() {
        let corner = |list: &[i16]| i64::from(list.get(axis - pixels.start).copied().unwrap_or(0));
        let size = map.sizes.get(axis).copied().unwrap_or(1) as i64;
        if !(corner(&corners.lower)..size + corner(&corners.upper)).contains(&of(axis).into()) {
            return fail(axis, "a pixel between the corners of its map");
        }
    }
    Ok(())
}

/// What a reduction leaves of an element. A sum of singles keeps subnormal numbers (an H100) unless the map flushes them, as atomic
/// operations on global memory do.
fn reduced(update: Update, change: Change, old: u64, value: u64) -> u64 {
    match update {
        Update::FloatAdd(Scalar::F32) if !change.flushes() => alu::atomic(update, old, value, 0),
        _ => alu::atomic_global(update, old, value, 0),
    }
}

/// The NaN fill value for elements outside of the tensor: 16 bits, repeated.
const OUTSIDE: [u8; 2] = 0x7ff7_u16.to_le_bytes();

/// Reads the existing elements of a row, all at once if they are adjacent, and converts them as the map says.
fn gather<R: Reach>(
    reach: &mut R,
    map: &TensorMap,
    row: &mut [u8],
    beside: bool,
    place: impl Fn(u64) -> Option<u64>,
) -> Result<(), R::Error> {
    match map.modes.nan {
        true => row.chunks_exact_mut(2).for_each(|two| two.copy_from_slice(&OUTSIDE)),
        false => row.fill(0),
    }
    let width = map.width();
    let columns = row.len() as u64 / width;
    let there = |column: &u64| place(*column).is_some();
    let Some(from) = (0..columns).find(there) else { return Ok(()) };
    let to = (from..columns).rfind(there).map_or(from, |last| last + 1);
    let length = if beside { to - from } else { 1 };
    for column in (from..to).step_by(length as usize) {
        let range = (column * width) as usize..((column + length) * width) as usize;
        let (Some(at), Some(part)) = (place(column), row.get_mut(range)) else { continue };
        reach.read(Space::Global, at, part)?;
        if map.modes.change.rounds() {
            for single in part.chunks_exact_mut(4) {
                let rounded = rounded(word(single)) as u32;
                single.copy_from_slice(&rounded.to_le_bytes());
            }
        }
    }
    Ok(())
}

/// A single rounded to TF32.
fn rounded(single: u64) -> u64 {
    if Format::F32.is_nan(single) {
        return 0x7fff_e000;
    }
    soft::convert(single, Format::F32, Format::TF32, Round::Nearest) << 13
}

impl Combine {
    /// The update of elements of a type; `None` if there is none (PTX ISA 9, `cp.reduce.async.bulk.tensor`).
    pub fn update(self, ty: Scalar) -> Option<Update> {
        let float = ty.kind() == Kind::Float;
        let half = float && ty.bits() == 16;
        Some(match self {
            Combine::Add if float => Update::FloatAdd(ty),
            Combine::Min if half => Update::FloatMin(ty),
            Combine::Max if half => Update::FloatMax(ty),
            _ if float || ty.bits() < 32 => return None,
            // An H200 has no sums of them.
            Combine::Add if ty == Scalar::S64 => return None,
            Combine::Add => Update::Add(ty),
            Combine::Min => Update::Min(ty),
            Combine::Max => Update::Max(ty),
            Combine::And => Update::And(ty),
            Combine::Or => Update::Or(ty),
            Combine::Xor => Update::Xor(ty),
            Combine::Increment if ty == Scalar::U32 => Update::Increment,
            Combine::Decrement if ty == Scalar::U32 => Update::Decrement,
            Combine::Increment | Combine::Decrement => return None,
        })
    }
}
