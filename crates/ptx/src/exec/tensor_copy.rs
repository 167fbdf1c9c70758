//! Copies of boxes of tensors (PTX ISA 9, "Tensors", "Tiled mode", "Im2col mode", "Swizzling Modes").
//!
//! Owns which bytes a box is, and what becomes of elements on the way. Must not know how memory is reached: [`Reach`] does; or how a
//! map is kept ([`super::tensor`]).

use super::asynchronous::Reach;
use super::fault::Cause;
use super::tensor::{MAP_BYTES, TensorMap};
use crate::alu;
use crate::exec::bytes::word;
use crate::sem::tensor::Field;
use crate::sem::{Combine, Update};
use crate::types::{Kind, Scalar, Space};

/// Which way, and what becomes of what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Into shared memory; what lies outside of the tensor becomes zero.
    Load,
    /// Out of it; what lies outside is left out.
    Store(Option<Combine>),
}

/// Where a box is: coordinates of its first element; of columns what is added to those of each pixel, in 16 bits each.
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

/// Goes over the rows of a box: along every axis but the innermost, the index.
struct Rows<'m> {
    map: &'m TensorMap,
    /// Of the next row; of columns before the offsets are added.
    at: Vec<i64>,
    /// Where it began.
    first: Vec<i64>,
    offsets: Vec<i64>,
    left: u64,
}

impl<'m> Rows<'m> {
    fn new(map: &'m TensorMap, place: &Place) -> Rows<'m> {
        let first: Vec<i64> = place.coordinates.iter().skip(1).map(|n| i64::from(*n)).collect();
        let packed = place.offsets.unwrap_or(0);
        let offsets = (0..3).map(|n| (packed >> (16 * n) & 0xffff) as i64).collect();
        Rows { map, at: first.clone(), first, offsets, left: map.rows() }
    }

    /// To the next place of a tile.
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

    /// To the next pixel of the box; behind its last one to the next image.
    fn next_pixel(&mut self, lower: &[i16], upper: &[i16]) {
        let last = self.at.len();
        let Some((image, pixel)) = self.at.split_last_mut() else { return };
        for (n, index) in pixel.iter_mut().enumerate() {
            let size = self.map.sizes.get(n + 1).copied().unwrap_or(1) as i64;
            let corner = |list: &[i16]| i64::from(list.get(n).copied().unwrap_or(0));
            *index += i64::from(self.map.steps.get(n + 1).copied().unwrap_or(1));
            if *index < size + corner(upper) {
                return;
            }
            *index = corner(lower);
        }
        // Recorded on an H100: the step of the image's axis counts, too.
        *image += i64::from(self.map.steps.get(last).copied().unwrap_or(1));
    }
}

impl Iterator for Rows<'_> {
    /// Where the row begins; `None` where it lies outside as a whole.
    type Item = Option<u64>;

    fn next(&mut self) -> Option<Option<u64>> {
        self.left = self.left.checked_sub(1)?;
        match self.map.columns {
            None => {
                let found = self.map.at(&self.at);
                self.next_of_tile();
                Some(found)
            }
            Some(corners) => {
                let mut moved = self.at.clone();
                let pixel = moved.len().saturating_sub(1);
                moved.iter_mut().take(pixel).zip(&self.offsets).for_each(|(n, more)| *n += more);
                let found = self.map.at(&moved);
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
    let width = u64::from(ty.bytes());
    placed(map, begin, way).map_err(|cause| reach.fail(cause))?;
    let columns = map.count(0);
    let first = i64::from(begin.coordinates.first().copied().unwrap_or(0));
    let size = map.sizes.first().copied().unwrap_or(0) as i64;
    let update = match way {
        Way::Store(Some(combine)) => match combine.update(ty) {
            Some(update) => Some(update),
            None => return Err(reach.fail(Cause::TensorReduction { element: ty.name() })),
        },
        _ => None,
    };
    let mut row = vec![0; (columns * width) as usize];
    for (number, origin) in (0..).zip(Rows::new(map, begin)) {
        let to = shared.wrapping_add(number * columns * width);
        let place = |column: u64| {
            let index = first + column as i64;
            let at = origin.filter(|_| (0..size).contains(&index))?;
            Some(at.wrapping_add(index as u64 * width))
        };
        if way == Way::Load {
            row.fill(0);
            gather(reach, &mut row, width, place)?;
            for (n, unit) in row.chunks(16).enumerate() {
                reach.write(Space::Shared, map.exchanged(to + 16 * n as u64), unit)?;
            }
            continue;
        }
        for (n, unit) in row.chunks_mut(16).enumerate() {
            reach.read(Space::Shared, map.exchanged(to + 16 * n as u64), unit)?;
        }
        for (column, element) in row.chunks_exact(width as usize).enumerate() {
            let Some(at) = place(column as u64) else { continue };
            match update {
                None => reach.write(Space::Global, at, element)?,
                Some(update) => {
                    let value = word(element);
                    let mut new = |old| reduced(update, old, value);
                    reach.update(Space::Global, at, width as u32, &mut new)?;
                }
            }
        }
    }
    Ok(())
}

/// Whether a box can begin there: an H100 ends the others with an illegal instruction. Measured with boxes of tiles and columns in
/// many places: every one that ended so breaks one of these rules, and none that breaks one was seen to run.
fn placed(map: &TensorMap, begin: &Place, way: Way) -> Result<(), Cause> {
    let of = |axis: usize| begin.coordinates.get(axis).copied().unwrap_or(0);
    let fail = |axis, expected| Err(Cause::TensorPlace { axis, coordinate: of(axis), expected });
    let Some(corners) = &map.columns else {
        if i64::from(of(0)) * i64::from(map.element.bytes()) % 16 != 0 {
            return fail(0, "a multiple of 16 bytes");
        }
        let below = begin.coordinates.iter().position(|n| *n < 0);
        return match below.filter(|_| way != Way::Load) {
            Some(axis) => fail(axis, "0 or more where it is stored"),
            None => Ok(()),
        };
    };
    for axis in 1..begin.coordinates.len().saturating_sub(1) {
        let corner = |list: &[i16]| i64::from(list.get(axis - 1).copied().unwrap_or(0));
        let size = map.sizes.get(axis).copied().unwrap_or(1) as i64;
        if !(corner(&corners.lower)..size + corner(&corners.upper)).contains(&of(axis).into()) {
            return fail(axis, "a pixel between the corners of its map");
        }
    }
    Ok(())
}

/// What a reduction leaves of an element. A sum of singles keeps subnormal numbers (an H100), as atomic operations on global
/// memory do not.
fn reduced(update: Update, old: u64, value: u64) -> u64 {
    match update {
        Update::FloatAdd(Scalar::F32) => alu::atomic(update, old, value, 0),
        _ => alu::atomic_global(update, old, value, 0),
    }
}

/// Reads the elements of a row that there are, all at once.
fn gather<R: Reach>(
    reach: &mut R,
    row: &mut [u8],
    width: u64,
    place: impl Fn(u64) -> Option<u64>,
) -> Result<(), R::Error> {
    let columns = row.len() as u64 / width;
    let there = |column: &u64| place(*column).is_some();
    let Some(from) = (0..columns).find(there) else { return Ok(()) };
    let to = (from..columns).rfind(there).map_or(from, |last| last + 1);
    let (Some(at), range) = (place(from), from * width..to * width) else { return Ok(()) };
    let Some(part) = row.get_mut(range.start as usize..range.end as usize) else { return Ok(()) };
    reach.read(Space::Global, at, part)
}

impl Combine {
    /// The update of elements of a type; `None` where there is none (PTX ISA 9, `cp.reduce.async.bulk.tensor`).
    pub fn update(self, ty: Scalar) -> Option<Update> {
        let float = ty.kind() == Kind::Float;
        let half = float && ty.bits() == 16;
        Some(match self {
            Combine::Add if float => Update::FloatAdd(ty),
            Combine::Min if half => Update::FloatMin(ty),
            Combine::Max if half => Update::FloatMax(ty),
            _ if float || ty.bits() < 32 => return None,
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
