//! Tensor maps (PTX ISA 9, "Tensor-maps", "tensormap.replace"; CUDA Driver API, "Tensor Map Object Management").
//!
//! Owns cushim's format of a tensor map's 128 bytes, which are opaque to programs, and how kernels change them. Must
//! not know how data is copied with them ([`super::tensor_copy`]).

use crate::exec::bytes::word;
use crate::sem::tensor::Field;
use crate::types::Scalar;

/// Bytes of a tensor map.
pub const MAP_BYTES: usize = 128;
/// The second half of the second word of cushim's objects. CUTLASS clears bit 21 of that word if the driver is older
/// than 13.1 (`copy_traits_sm90_tma.hpp`), so that bit must be 0.
const MAGIC: [u8; 4] = *b"cuTM";
/// Axes at most.
pub const AXES: usize = 5;

/// The types of elements by CUDA's numbers (`CUtensorMapDataType`), and their conversion during a copy.
pub const ELEMENTS: [(Scalar, Change); 13] = [
    (Scalar::U8, Change::None),
    (Scalar::U16, Change::None),
    (Scalar::U32, Change::None),
    (Scalar::S32, Change::None),
    (Scalar::U64, Change::None),
    (Scalar::S64, Change::None),
    (Scalar::F16, Change::None),
    (Scalar::F32, Change::None),
    (Scalar::F64, Change::None),
    (Scalar::Bf16, Change::None),
    (Scalar::F32, Change::Flush),
    (Scalar::F32, Change::Round),
    (Scalar::F32, Change::RoundAndFlush),
];

/// The same by the numbers of `tensormap.replace` (PTX ISA 9, "Tensormap new_val validity"), as CUDA's.
const REPLACED: [u8; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12];

/// The conversion of singles during a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Change {
    /// Nothing.
    #[default]
    None,
    /// Reductions flush subnormal numbers.
    Flush,
    /// Loaded values are rounded to TF32.
    Round,
    /// Both.
    RoundAndFlush,
}

impl Change {
    /// Whether loads round to TF32.
    pub fn rounds(self) -> bool {
        matches!(self, Change::Round | Change::RoundAndFlush)
    }

    /// Whether reductions flush subnormal numbers.
    pub fn flushes(self) -> bool {
        matches!(self, Change::Flush | Change::RoundAndFlush)
    }
}

/// The layout of elements, and the fill value outside of the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    /// The conversion of singles during a copy.
    pub change: Change,
    /// Elements outside become NaN, otherwise zero.
    pub nan: bool,
    /// Bytes of a slice of channels, 16 or 32, where they are laid out in slices: an index along the innermost axis is a slice's, and
    /// the last axis but one says which slice; else 0.
    pub slice: u32,
}

/// A tensor in global memory, and the box that one copy moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    /// Where the first element is.
    pub address: u64,
    /// The type of elements: one of [`ELEMENTS`].
    pub element: Scalar,
    /// Their layout and conversion.
    pub modes: Modes,
    /// Elements along each axis, the innermost first; as many as there are axes.
    pub sizes: Vec<u64>,
    /// Bytes from one index to the next, of every axis but the innermost.
    pub strides: Vec<u64>,
    /// Elements of the box along each axis, including those that are stepped over; in im2col mode the channels of a
    /// pixel and the number of pixels, and 1 for further axes.
    pub boxes: Vec<u32>,
    /// The step between copied elements of the box, per axis; ignored for the innermost axis.
    pub steps: Vec<u32>,
    /// How many bytes of a row in shared memory have their units of 16 bytes exchanged: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// Copies are of columns of pixels (`im2col`).
    pub columns: Option<Corners>,
}

/// The bounding box of im2col pixels: for each axis between the first and the last, the offset of its start from the
/// tensor's start, and of its last pixel from the tensor's last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // named as in the driver API
pub struct Corners {
    pub lower: [i16; AXES - 2],
    pub upper: [i16; AXES - 2],
}

// Offsets of fields in the object.
const KIND: usize = 9;
const SWIZZLE: usize = 10;
const SIZES: usize = 16;
const STRIDES: usize = SIZES + 8 * AXES;
const BOXES: usize = STRIDES + 8 * (AXES - 1);
const STEPS: usize = BOXES + 2 * AXES;
const CORNERS: usize = STEPS + 2 * AXES;
const MODES: usize = 11;
// Bits of the mode byte: im2col mode; NaN fill outside of the tensor; slices, in units of 16 bytes.
const COLUMNS: u8 = 1;
const NAN: u8 = 2;
const SLICES: u8 = 3 << SLICE;
const SLICE: u32 = 2;

impl TensorMap {
    /// The object's bytes.
    pub fn to_bytes(&self) -> [u8; MAP_BYTES] {
        let mut out = [0; MAP_BYTES];
        let element = (self.element, self.modes.change);
        let kind = ELEMENTS.iter().position(|known| *known == element).unwrap_or(0) as u8;
        let columns = if self.columns.is_some() { COLUMNS } else { 0 };
        let nan = if self.modes.nan { NAN } else { 0 };
        let modes = columns | nan | ((self.modes.slice / 16) as u8) << SLICE;
        let head = [self.sizes.len() as u8, kind, (self.swizzle / 32) as u8, modes];
        let mut all: Vec<u8> = self.address.to_le_bytes().to_vec();
        all.extend(head.iter().chain(&MAGIC));
        // Axes that do not exist have one element: a kernel may set them.
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

    /// The contents of an object; `None` if it is none.
    pub fn from_bytes(bytes: &[u8; MAP_BYTES]) -> Option<TensorMap> {
        let (head, _) = bytes.split_at(SIZES);
        let (address, head) = head.split_at(8);
        let [axes, kind, swizzle, modes] = *head.strip_suffix(&MAGIC)? else { return None };
        let axes = usize::from(axes);
        let known = modes & !(COLUMNS | NAN | SLICES) == 0
            && modes & SLICES != SLICES
            && [0, 1, 2, 4].contains(&swizzle);
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
        let is_of_columns = modes & COLUMNS != 0;
        let slice = u32::from((modes & SLICES) >> SLICE) * 16;
        if (is_of_columns || slice > 0) && axes < 3 {
            return None;
        }
        let (element, change) = *ELEMENTS.get(usize::from(kind))?;
        Some(TensorMap {
            address: word(address),
            element,
            modes: Modes { change, nan: modes & NAN != 0, slice },
            sizes: wide(SIZES, axes),
            strides: wide(STRIDES, axes - 1),
            boxes: list(BOXES)?,
            steps: list(STEPS)?,
            swizzle: u32::from(swizzle) * 32,
            columns: is_of_columns.then_some(columns),
        })
    }

    /// An object with another value in a field. An invalid value makes an invalid object.
    pub fn replace(bytes: &mut [u8; MAP_BYTES], field: Field, value: u64) {
        let invalid = 0xff;
        let value32 = value as u32;
        let old = bytes[MODES];
        let mut put = |at: usize, part: &[u8]| {
            bytes.iter_mut().skip(at).zip(part).for_each(|(to, byte)| *to = *byte);
        };
        // Numbers along an axis, up to a limit; 0 is invalid.
        let few = |most: u32| if value32 <= most { value32 as u16 } else { 0 }.to_le_bytes();
        let small = |count: u32| if value32 < count { value32 as u8 } else { invalid };
        // The byte of modes with others of these bits.
        let modes = |mask: u8, count: u32| match value32 < count {
            true => old & !mask | (value32 as u8) << mask.trailing_zeros(),
            false => invalid,
        };
        match field {
            Field::Address => put(0, &value.to_le_bytes()),
            Field::Rank => put(8, &[small(AXES as u32).saturating_add(1)]),
            Field::Box(axis) => put(BOXES + 2 * usize::from(axis), &few(256)),
            Field::Step(axis) => put(STEPS + 2 * usize::from(axis), &few(8)),
            Field::Size(axis) => {
                put(SIZES + 8 * usize::from(axis), &u64::from(value32).to_le_bytes());
            }
            Field::Stride(axis) => put(STRIDES + 8 * usize::from(axis), &value.to_le_bytes()),
            Field::Element => {
                put(KIND, &[REPLACED.get(value32 as usize).copied().unwrap_or(invalid)]);
            }
            Field::Swizzle => {
                let byte = [0, 1, 2, 4].get(value32 as usize).copied().unwrap_or(invalid);
                put(SWIZZLE, &[byte]);
            }
            Field::Interleave => put(MODES, &[modes(SLICES, 3)]),
            Field::Fill => put(MODES, &[modes(NAN, 2)]),
        }
    }

    /// Bytes of what one index along the innermost axis means.
    pub(super) fn width(&self) -> u64 {
        match self.modes.slice {
            0 => self.element.bytes().into(),
            slice => slice.into(),
        }
    }

    /// Bytes from one row to the next in shared memory: after a row that is narrower than the swizzle there is
    /// padding, but slices are adjacent (an H200).
    pub(super) fn pitch(&self) -> u64 {
        let row = self.count(0) * self.width();
        if self.modes.slice > 0 { row } else { row.max(self.swizzle.into()) }
    }

    /// The number of elements of the box along an axis, without those that are stepped over.
    pub(super) fn count(&self, axis: usize) -> u64 {
        let sliced = self.modes.slice > 0;
        let number = |list: &[u32]| list.get(axis).copied().unwrap_or(1);
        let (count, step) = (number(&self.boxes), number(&self.steps).max(1));
        if self.columns.is_some() {
            // A pixel has one slice, whatever its map says of channels (an H200).
            return if sliced && axis == 0 { 1 } else { count.into() };
        }
        match axis {
            0 if !sliced => count.into(),
            // A box is of one slice.
            _ if sliced && axis + 2 == self.sizes.len() => 1,
            _ => count.div_ceil(step).into(),
        }
    }

    /// The axes of a pixel's position: between the channels and the images; for slices, up to the axis of slices.
    pub(super) fn pixels(&self) -> std::ops::Range<usize> {
        let axes = self.sizes.len();
        match self.columns {
            Some(_) if self.modes.slice > 0 => 0..axes.saturating_sub(2),
            _ => 1..axes.saturating_sub(1),
        }
    }

    /// Rows of the box: of columns, pixels.
    pub(super) fn rows(&self) -> u64 {
        (1..self.sizes.len()).map(|axis| self.count(axis)).product()
    }

    /// The bytes that a box takes in shared memory.
    pub fn bytes(&self) -> u64 {
        self.count(0) * self.rows() * self.width()
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
            modes: Modes::default(),
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
        // As CUTLASS does.
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
        // The first 8 bytes are the address, which may be anything.
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
        // The instruction's numbers for element types differ from the driver's.
        assert_eq!(replaced(Field::Element, 9), with(|m| m.element = Scalar::F64));
        assert_eq!(replaced(Field::Element, 10), Some(any()));
        for (number, change) in
            [(8, Change::Flush), (11, Change::Round), (12, Change::RoundAndFlush)]
        {
            let mut map = any();
            (map.element, map.modes.change) = (Scalar::F32, change);
            assert_eq!(replaced(Field::Element, number), Some(map));
        }
        assert_eq!(replaced(Field::Fill, 1), with(|m| m.modes.nan = true));
        assert_eq!(replaced(Field::Interleave, 1), with(|m| m.modes.slice = 16));
        assert_eq!(replaced(Field::Interleave, 2), with(|m| m.modes.slice = 32));
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
            (Field::Element, 13),
            (Field::Interleave, 3),
            (Field::Swizzle, 4),
            (Field::Fill, 2),
        ] {
            assert_eq!(replaced(field, value), None, "{field:?} {value}");
        }
    }
}
