//! Tensor maps and what is copied by them (PTX ISA 9, "Tensor-maps", "Tensors"; CUDA Driver API, "Tensor Map Object Management").
//!
//! Owns what the 128 bytes of a tensor map hold here, which are opaque to programs, and which bytes a box of a tensor is.
//! Must not know how memory is reached: [`Reach`] does.

use super::asynchronous::Reach;
use super::fault::Cause;
use crate::alu;
use crate::exec::bytes::word;
use crate::sem::{Combine, Update};
use crate::types::{Kind, Scalar, Space};

/// Bytes of a tensor map.
pub const MAP_BYTES: usize = 128;
/// What the second half of the second word of an object of ours holds. CUTLASS clears bit 21 of that word where the driver is
/// older than 13.1 (`copy_traits_sm90_tma.hpp`), so nothing may stand there.
const MAGIC: [u8; 4] = *b"cuTM";
/// Axes at most.
pub const AXES: usize = 5;

/// The types of elements by CUDA's numbers (`CUtensorMapDataType`); those that change values on the way are not there.
pub const ELEMENTS: [(i32, Scalar); 10] = [
    (0, Scalar::U8),
    (1, Scalar::U16),
    (2, Scalar::U32),
    (3, Scalar::S32),
    (4, Scalar::U64),
    (5, Scalar::S64),
    (6, Scalar::F16),
    (7, Scalar::F32),
    (8, Scalar::F64),
    (9, Scalar::Bf16),
];

/// A tensor in global memory, and the box that one copy moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    /// Where the first element is.
    pub address: u64,
    /// The type of elements: one of [`ELEMENTS`].
    pub element: Scalar,
    /// Elements along each axis, the innermost first; as many as there are axes.
    pub sizes: Vec<u64>,
    /// Bytes from one index to the next, of every axis but the innermost.
    pub strides: Vec<u64>,
    /// Elements of the box along each axis, those that are stepped over among them.
    pub boxes: Vec<u32>,
    /// Of which elements of the box every so-manieth is copied.
    pub steps: Vec<u32>,
    /// How many bytes of a row in shared memory have their units of 16 bytes exchanged: 0, 32, 64 or 128.
    pub swizzle: u32,
}

impl TensorMap {
    /// The object's bytes.
    pub fn to_bytes(&self) -> [u8; MAP_BYTES] {
        let mut out = [0; MAP_BYTES];
        let kind = ELEMENTS.iter().position(|(_, ty)| *ty == self.element).unwrap_or(0) as u8;
        let head = [self.sizes.len() as u8, kind, (self.swizzle / 32) as u8, 0];
        let mut all: Vec<u8> = self.address.to_le_bytes().to_vec();
        all.extend(head.iter().chain(&MAGIC));
        for axis in 0..AXES {
            all.extend(self.sizes.get(axis).unwrap_or(&0).to_le_bytes());
        }
        for axis in 0..AXES - 1 {
            all.extend(self.strides.get(axis).unwrap_or(&0).to_le_bytes());
        }
        for list in [&self.boxes, &self.steps] {
            // 256 and 8 are the largest.
            (0..AXES).for_each(|axis| {
                all.extend((list.get(axis).copied().unwrap_or(0) as u16).to_le_bytes())
            });
        }
        out.iter_mut().zip(all).for_each(|(to, byte)| *to = byte);
        out
    }

    /// What an object says; `None` where it is none.
    pub fn from_bytes(bytes: &[u8; MAP_BYTES]) -> Option<TensorMap> {
        let (head, rest) = bytes.split_at(16);
        let (address, head) = head.split_at(8);
        let [axes, kind, swizzle, _] = *head.strip_suffix(&MAGIC)? else { return None };
        let axes = usize::from(axes);
        if !(1..=AXES).contains(&axes) || ![0, 1, 2, 4].contains(&swizzle) {
            return None;
        }
        let sizes: Vec<u64> = rest.chunks_exact(8).map(word).take(axes).collect();
        let sizes = if sizes.len() == axes { sizes } else { return None };
        let strides = rest.get(8 * AXES..)?.chunks_exact(8).map(word).take(axes - 1).collect();
        let narrow = rest.get(8 * (2 * AXES - 1)..)?;
        let list = |from: usize| -> Option<Vec<u32>> {
            let found = narrow.get(2 * from..)?.chunks_exact(2).take(axes);
            let found: Vec<u32> = found.map(|b| word(b) as u32).collect();
            found.iter().all(|n| *n > 0).then_some(found)
        };
        Some(TensorMap {
            address: word(address),
            element: ELEMENTS.get(usize::from(kind))?.1,
            sizes,
            strides,
            boxes: list(0)?,
            steps: list(AXES)?,
            swizzle: u32::from(swizzle) * 32,
        })
    }

    /// How many elements the box has along an axis, without those that are stepped over.
    fn count(&self, axis: usize) -> u64 {
        match (self.boxes.get(axis), self.steps.get(axis)) {
            (Some(n), Some(step)) => n.div_ceil((*step).max(1)).into(),
            _ => 1,
        }
    }

    /// The bytes that a box takes in shared memory.
    pub fn bytes(&self) -> u64 {
        let elements: u64 = (0..self.sizes.len()).map(|axis| self.count(axis)).product();
        elements * u64::from(self.element.bytes())
    }

    /// Where the unit of 16 bytes at an address of shared memory goes.
    fn exchanged(&self, at: u64) -> u64 {
        let mask = u64::from(self.swizzle / 16).saturating_sub(1);
        at ^ (at >> 7 & mask) << 4
    }

    /// A row of the box: where its elements are in the tensor, of which the first `usize` that are given lie outside, and so
    /// on. `None` where the row lies outside as a whole.
    fn row(&self, coordinates: &[i32], mut number: u64) -> Option<u64> {
        let mut at = self.address;
        for axis in 1..self.sizes.len() {
            let count = self.count(axis);
            let within = number % count;
            number /= count;
            let step = u64::from(*self.steps.get(axis)?);
            let index = i64::from(*coordinates.get(axis)?) + (within * step) as i64;
            if index < 0 || index as u64 >= *self.sizes.get(axis)? {
                return None;
            }
            at = at.wrapping_add((index as u64).wrapping_mul(*self.strides.get(axis - 1)?));
        }
        Some(at)
    }
}

/// Which way, and what becomes of what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Into shared memory; what lies outside of the tensor becomes zero.
    Load,
    /// Out of it; what lies outside is left out.
    Store(Option<Combine>),
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

/// Copies a box between the tensor, where its first element has `coordinates`, and shared memory at `shared`.
///
/// # Errors
/// Those of `reach`; [`Cause::Refused`] for a reduction that the elements do not have.
pub fn copy<R: Reach>(
    reach: &mut R,
    map: &TensorMap,
    coordinates: &[i32],
    shared: u64,
    way: Way,
) -> Result<(), R::Error> {
    let width = u64::from(map.element.bytes());
    let columns = map.count(0);
    let rows: u64 = (1..map.sizes.len()).map(|axis| map.count(axis)).product();
    let first = i64::from(coordinates.first().copied().unwrap_or(0));
    let step = i64::from(map.steps.first().copied().unwrap_or(1));
    let size = map.sizes.first().copied().unwrap_or(0) as i64;
    let update = match way {
        Way::Store(Some(combine)) => match combine.update(map.element) {
            Some(update) => Some(update),
            None => return Err(reach.fail(Cause::TensorReduction { element: map.element.name() })),
        },
        _ => None,
    };
    let mut row = vec![0; (columns * width) as usize];
    for number in 0..rows {
        let to = shared.wrapping_add(number * columns * width);
        let origin = map.row(coordinates, number);
        let place = |column: u64| {
            let index = first + column as i64 * step;
            let at = origin.filter(|_| (0..size).contains(&index))?;
            Some(at.wrapping_add(index as u64 * width))
        };
        if way == Way::Load {
            row.fill(0);
            gather(reach, &mut row, width, step == 1, place)?;
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
                    let mut new = |old| alu::atomic_global(update, old, value, 0);
                    reach.update(Space::Global, at, width as u32, &mut new)?;
                }
            }
        }
    }
    Ok(())
}

/// Reads the elements of a row that there are; those side by side at once.
fn gather<R: Reach>(
    reach: &mut R,
    row: &mut [u8],
    width: u64,
    dense: bool,
    place: impl Fn(u64) -> Option<u64>,
) -> Result<(), R::Error> {
    let columns = row.len() as u64 / width;
    let there = |column: &u64| place(*column).is_some();
    if dense {
        let Some(from) = (0..columns).find(there) else { return Ok(()) };
        let to = (from..columns).rfind(there).map_or(from, |last| last + 1);
        let (Some(at), range) = (place(from), from * width..to * width) else { return Ok(()) };
        let part = row.get_mut(range.start as usize..range.end as usize);
        return part.map_or(Ok(()), |part| reach.read(Space::Global, at, part));
    }
    for (column, element) in row.chunks_exact_mut(width as usize).enumerate() {
        if let Some(at) = place(column as u64) {
            reach.read(Space::Global, at, element)?;
        }
    }
    Ok(())
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn any() -> TensorMap {
        TensorMap {
            address: 0x7000_1230,
            element: Scalar::Bf16,
            sizes: vec![100, 7, 3],
            strides: vec![208, 4096],
            boxes: vec![64, 4, 2],
            steps: vec![1, 2, 1],
            swizzle: 128,
        }
    }

    #[test]
    fn an_object_says_what_it_was_made_of() {
        let map = any();
        assert_eq!(TensorMap::from_bytes(&map.to_bytes()), Some(map.clone()));
        // As CUTLASS does it.
        let mut cleared = map.to_bytes();
        cleared[8 + 21 / 8] &= !(1 << (21 % 8));
        assert_eq!(TensorMap::from_bytes(&cleared), Some(map.clone()));
        assert_eq!(map.bytes(), 64 * 2 * 2 * 2);
        for axes in 1..=AXES {
            let full = TensorMap {
                sizes: vec![1 << 32; axes],
                strides: vec![1 << 39; axes - 1],
                boxes: vec![256; axes],
                steps: vec![8; axes],
                ..any()
            };
            assert_eq!(TensorMap::from_bytes(&full.to_bytes()), Some(full));
        }
    }

    #[test]
    fn what_is_no_object_is_none() {
        assert_eq!(TensorMap::from_bytes(&[0; MAP_BYTES]), None);
        // The address comes first, and one byte of the second word says nothing.
        for n in (8..11).chain(12..16) {
            let mut bytes = any().to_bytes();
            bytes[n] = 0xee;
            assert_eq!(TensorMap::from_bytes(&bytes), None, "{n}");
        }
        let mut none = any();
        none.boxes[1] = 0;
        assert_eq!(TensorMap::from_bytes(&none.to_bytes()), None);
    }

    #[test]
    fn units_are_exchanged_by_the_row_of_128_bytes() {
        let at = |swizzle, at| TensorMap { swizzle, ..any() }.exchanged(at);
        assert_eq!(
            [at(0, 0x380), at(32, 0x380), at(64, 0x380), at(128, 0x380)],
            [0x380, 0x390, 0x3b0, 0x3f0]
        );
        assert_eq!(at(128, 0x0f0), 0x0e0);
    }
}
