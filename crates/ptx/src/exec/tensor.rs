//! Tensor maps (PTX ISA 9, "Tensor-maps", "tensormap.replace"; CUDA Driver API, "Tensor Map Object Management").
//!
//! Owns what the 128 bytes of a tensor map hold here, which are opaque to programs, and how kernels change them.
//! Must not know what is copied by them ([`super::tensor_copy`]).

use crate::exec::bytes::word;
use crate::sem::tensor::Field;
use crate::types::Scalar;

/// Bytes of a tensor map.
pub const MAP_BYTES: usize = 128;
/// What the second half of the second word of an object of ours holds. CUTLASS clears bit 21 of that word where the driver is
/// older than 13.1 (`copy_traits_sm90_tma.hpp`), so nothing may stand there.
const MAGIC: [u8; 4] = *b"cuTM";
/// Axes at most.
pub const AXES: usize = 5;

/// The types of elements by CUDA's numbers (`CUtensorMapDataType`); those that change values on the way are not there.
pub const ELEMENTS: [Scalar; 10] = [
    Scalar::U8,
    Scalar::U16,
    Scalar::U32,
    Scalar::S32,
    Scalar::U64,
    Scalar::S64,
    Scalar::F16,
    Scalar::F32,
    Scalar::F64,
    Scalar::Bf16,
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
    /// Elements of the box along each axis, those that are stepped over among them; of columns the channels of a pixel and
    /// the pixels, and 1 for what follows.
    pub boxes: Vec<u32>,
    /// Of which elements of the box every so-manieth is copied; not looked at of the innermost axis.
    pub steps: Vec<u32>,
    /// How many bytes of a row in shared memory have their units of 16 bytes exchanged: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// Copies are of columns of pixels (`im2col`).
    pub columns: Option<Corners>,
}

/// The box that pixels of columns lie in: along each axis between the first and the last, how far it begins from the tensor's
/// begin, and how far its last pixel is from the tensor's last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // named as in the driver API
pub struct Corners {
    pub lower: [i16; AXES - 2],
    pub upper: [i16; AXES - 2],
}

// Where fields lie in the object.
const KIND: usize = 9;
const SWIZZLE: usize = 10;
const SIZES: usize = 16;
const STRIDES: usize = SIZES + 8 * AXES;
const BOXES: usize = STRIDES + 8 * (AXES - 1);
const STEPS: usize = BOXES + 2 * AXES;
const CORNERS: usize = STEPS + 2 * AXES;
/// The byte of modes of maps for columns; of others it is 0.
const COLUMNS: u8 = 1;

impl TensorMap {
    /// The object's bytes.
    pub fn to_bytes(&self) -> [u8; MAP_BYTES] {
        let mut out = [0; MAP_BYTES];
        let kind = ELEMENTS.iter().position(|element| *element == self.element).unwrap_or(0) as u8;
        let modes = if self.columns.is_some() { COLUMNS } else { 0 };
        let head = [self.sizes.len() as u8, kind, (self.swizzle / 32) as u8, modes];
        let mut all: Vec<u8> = self.address.to_le_bytes().to_vec();
        all.extend(head.iter().chain(&MAGIC));
        // Axes that are not there have one element: a kernel may say that they are.
        for axis in 0..AXES {
            all.extend(self.sizes.get(axis).unwrap_or(&1).to_le_bytes());
        }
        for axis in 0..AXES - 1 {
            all.extend(self.strides.get(axis).unwrap_or(&0).to_le_bytes());
        }
        for list in [&self.boxes, &self.steps] {
            // 1024 and 8 are the largest.
            (0..AXES).for_each(|axis| {
                all.extend((list.get(axis).copied().unwrap_or(1) as u16).to_le_bytes())
            });
        }
        if let Some(corners) = self.columns {
            all.extend(corners.lower.iter().chain(&corners.upper).flat_map(|n| n.to_le_bytes()));
        }
        out.iter_mut().zip(all).for_each(|(to, byte)| *to = byte);
        out
    }

    /// What an object says; `None` where it is none.
    pub fn from_bytes(bytes: &[u8; MAP_BYTES]) -> Option<TensorMap> {
        let (head, _) = bytes.split_at(SIZES);
        let (address, head) = head.split_at(8);
        let [axes, kind, swizzle, modes] = *head.strip_suffix(&MAGIC)? else { return None };
        let axes = usize::from(axes);
        let known = modes <= COLUMNS && [0, 1, 2, 4].contains(&swizzle);
        if !(1..=AXES).contains(&axes) || !known {
            return None;
        }
        let wide = |from: usize, count: usize| -> Vec<u64> {
            let part = bytes.get(from..).unwrap_or_default();
            part.chunks_exact(8).map(word).take(count).collect()
        };
        let list = |from: usize| -> Option<Vec<u32>> {
            let found = bytes.get(from..)?.chunks_exact(2).take(axes);
            let found: Vec<u32> = found.map(|b| word(b) as u32).collect();
            found.iter().all(|n| *n > 0).then_some(found)
        };
        let corners = |from: usize| {
            let part = bytes.get(from..).unwrap_or_default();
            let mut all = [0; AXES - 2];
            all.iter_mut().zip(part.chunks_exact(2)).for_each(|(to, b)| *to = word(b) as i16);
            all
        };
        let columns = Corners { lower: corners(CORNERS), upper: corners(CORNERS + 2 * (AXES - 2)) };
        if modes == COLUMNS && axes < 3 {
            return None;
        }
        Some(TensorMap {
            address: word(address),
            element: *ELEMENTS.get(usize::from(kind))?,
            sizes: wide(SIZES, axes),
            strides: wide(STRIDES, axes - 1),
            boxes: list(BOXES)?,
            steps: list(STEPS)?,
            swizzle: u32::from(swizzle) * 32,
            columns: (modes == COLUMNS).then_some(columns),
        })
    }

    /// An object with another value in a field. What the value cannot be makes an object that is none.
    pub fn replace(bytes: &mut [u8; MAP_BYTES], field: Field, value: u64) {
        let invalid = 0xff;
        let value32 = value as u32;
        let mut put = |at: usize, part: &[u8]| {
            bytes.iter_mut().skip(at).zip(part).for_each(|(to, byte)| *to = *byte);
        };
        // Numbers along an axis, at most so many; 0 is none.
        let few = |most: u32| if value32 <= most { value32 as u16 } else { 0 }.to_le_bytes();
        let small = |count: u32| if value32 < count { value32 as u8 } else { invalid };
        match field {
            Field::Address => put(0, &value.to_le_bytes()),
            Field::Rank => put(8, &[small(AXES as u32).saturating_add(1)]),
            Field::Box(axis) => put(BOXES + 2 * usize::from(axis), &few(256)),
            Field::Step(axis) => put(STEPS + 2 * usize::from(axis), &few(8)),
            Field::Size(axis) => {
                put(SIZES + 8 * usize::from(axis), &u64::from(value32).to_le_bytes());
            }
            Field::Stride(axis) => put(STRIDES + 8 * usize::from(axis), &value.to_le_bytes()),
            Field::Element => put(KIND, &[small(ELEMENTS.len() as u32)]),
            Field::Swizzle => {
                let byte = [0, 1, 2, 4].get(value32 as usize).copied().unwrap_or(invalid);
                put(SWIZZLE, &[byte]);
            }
            // Other layouts than the plain one, and filling with NaN, are not there.
            Field::Interleave | Field::Fill if value32 == 0 => {}
            Field::Interleave | Field::Fill => put(8, &[invalid]),
        }
    }

    /// How many elements the box has along an axis, without those that are stepped over.
    pub(super) fn count(&self, axis: usize) -> u64 {
        match (self.boxes.get(axis), self.steps.get(axis)) {
            (Some(n), Some(_)) if axis == 0 || self.columns.is_some() => u64::from(*n),
            (Some(n), Some(step)) => n.div_ceil((*step).max(1)).into(),
            _ => 1,
        }
    }

    /// Rows of the box: of columns, pixels.
    pub(super) fn rows(&self) -> u64 {
        (1..self.sizes.len()).map(|axis| self.count(axis)).product()
    }

    /// The bytes that a box takes in shared memory.
    pub fn bytes(&self) -> u64 {
        self.count(0) * self.rows() * u64::from(self.element.bytes())
    }

    /// Where the unit of 16 bytes at an address of shared memory goes.
    pub(super) fn exchanged(&self, at: u64) -> u64 {
        let mask = u64::from(self.swizzle / 16).saturating_sub(1);
        at ^ (at >> 7 & mask) << 4
    }

    /// Where a row begins, by its index along every axis but the innermost; `None` where it lies outside.
    pub(super) fn at(&self, indices: &[i64]) -> Option<u64> {
        let mut at = self.address;
        for ((index, size), stride) in indices.iter().zip(self.sizes.get(1..)?).zip(&self.strides) {
            if *index < 0 || *index as u64 >= *size {
                return None;
            }
            at = at.wrapping_add((*index as u64).wrapping_mul(*stride));
        }
        Some(at)
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
            columns: None,
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
        let corners = Corners { lower: [-32768, 2, -16], upper: [32767, -128, 15] };
        let columns = TensorMap { boxes: vec![256, 1024, 1], columns: Some(corners), ..any() };
        assert_eq!(TensorMap::from_bytes(&columns.to_bytes()), Some(columns.clone()));
        assert_eq!(columns.bytes(), 256 * 1024 * 2);
    }

    #[test]
    fn what_is_no_object_is_none() {
        assert_eq!(TensorMap::from_bytes(&[0; MAP_BYTES]), None);
        // The address comes first.
        for n in 8..16 {
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

    #[test]
    fn fields_are_replaced_one_by_one() {
        let replaced = |field, value| {
            let mut bytes = any().to_bytes();
            TensorMap::replace(&mut bytes, field, value);
            TensorMap::from_bytes(&bytes)
        };
        let with = |change: fn(&mut TensorMap)| {
            let mut map = any();
            change(&mut map);
            Some(map)
        };
        assert_eq!(replaced(Field::Address, 1 << 40), with(|m| m.address = 1 << 40));
        assert_eq!(replaced(Field::Box(1), 256), with(|m| m.boxes[1] = 256));
        assert_eq!(replaced(Field::Size(2), 1 << 31), with(|m| m.sizes[2] = 1 << 31));
        assert_eq!(replaced(Field::Stride(1), 1 << 39), with(|m| m.strides[1] = 1 << 39));
        assert_eq!(replaced(Field::Step(0), 8), with(|m| m.steps[0] = 8));
        assert_eq!(replaced(Field::Swizzle, 3), with(|m| m.swizzle = 128));
        assert_eq!(replaced(Field::Swizzle, 1), with(|m| m.swizzle = 32));
        assert_eq!(replaced(Field::Fill, 0), Some(any()));
        assert_eq!(replaced(Field::Element, 7), with(|m| m.element = Scalar::F32));
        assert_eq!(replaced(Field::Interleave, 0), Some(any()));
        let more = replaced(Field::Rank, 4).unwrap();
        assert_eq!((&more.sizes[..], &more.boxes[3..]), (&[100, 7, 3, 1, 1][..], &[1, 1][..]));
        assert_eq!(replaced(Field::Rank, 0).unwrap().sizes, [100]);
        for (field, value) in [
            (Field::Rank, 5),
            (Field::Rank, u64::MAX),
            (Field::Box(2), 257),
            (Field::Box(0), 0),
            (Field::Step(1), 9),
            (Field::Element, 10),
            (Field::Interleave, 1),
            (Field::Swizzle, 4),
            (Field::Fill, 1),
        ] {
            assert_eq!(replaced(field, value), None, "{field:?} {value}");
        }
    }
}
