//! Which element of a matrix is in which lane and register of a warp (PTX ISA 9, "Matrix Fragments for mma"). The
//! manual does not define it for `wmma`; there it is what an H200 does (`tests/matrix_recorded.rs` compares).
//!
//! Owns one table. Each bit of an element's row and column number is a bit of the lane's number, of the register's,
//! or of the element's position in its register; so a row of the table lists bits. Must not know what is computed.

use crate::sem::Shape;
use crate::table::Part;
use crate::types::Scalar;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A matrix in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fragment {
    /// Which matrix: not [`Part::D`], which lies as [`Part::C`] does.
    pub part: Part,
    /// Rows of one matrix.
    pub rows: u16,
    /// Its stored columns.
    pub columns: u16,
    /// Bits of an element.
    pub bits: u32,
    /// For the four products of `m8n8k4`, which have two layouts: the first factor is column-major, or the second
    /// row-major.
    pub across: bool,
}

/// A bit of an element's row or column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bit {
    /// A bit of the lane's number.
    Lane(u32),
    /// A bit of the register's number.
    Register(u32),
    /// A bit of the position in the register.
    Place(u32),
}

/// Bits of row, column, and number of the matrix, the lowest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// The bits of the row.
    pub row: Vec<Bit>,
    /// The bits of the column.
    pub column: Vec<Bit>,
    /// The bits of the matrix's number.
    pub matrix: Vec<Bit>,
}

use Part::{A, B, C};

/// Fragment: which matrix, rows, columns, bits of an element, `true` for the transposed layout; and its layout: the
/// bits of the row, of the column, and of the matrix if there are several. `l` is the lane, `r` the register, `p` the
/// position in the register.
type Line = (Part, u16, u16, u32, bool, &'static str);

#[rustfmt::skip]
const LINES: &[Line] = &[
    // Four products at once.
    (A, 8, 4, 16, false, "l0 l1 l4 / p0 r0 / l2 l3"),
    (A, 8, 4, 16, true, "p0 r0 l4 / l0 l1 / l2 l3"),
    (B, 4, 8, 16, false, "p0 r0 / l0 l1 l4 / l2 l3"),
    (B, 4, 8, 16, true, "l0 l1 / p0 r0 l4 / l2 l3"),
    (C, 8, 8, 16, true, "l0 l1 l4 / p0 r0 r1 / l2 l3"),
    (C, 8, 8, 32, true, "l0 r1 l4 / r0 l1 r2 / l2 l3"),
    // The first factor.
    (A, 16, 8, 16, false, "l2 l3 l4 r0 / p0 l0 l1"),
    (A, 16, 16, 16, false, "l2 l3 l4 r0 / p0 l0 l1 r1"),
    (A, 16, 4, 32, false, "l2 l3 l4 r0 / l0 l1"),
    (A, 16, 8, 32, false, "l2 l3 l4 r0 / l0 l1 r1"),
    (A, 8, 4, 64, false, "l2 l3 l4 / l0 l1"),
    (A, 16, 4, 64, false, "l2 l3 l4 r0 / l0 l1"),
    (A, 16, 8, 64, false, "l2 l3 l4 r0 / l0 l1 r1"),
    (A, 16, 16, 64, false, "l2 l3 l4 r0 / l0 l1 r1 r2"),
    (A, 8, 16, 8, false, "l2 l3 l4 / p0 p1 l0 l1"),
    (A, 16, 16, 8, false, "l2 l3 l4 r0 / p0 p1 l0 l1"),
    (A, 16, 32, 8, false, "l2 l3 l4 r0 / p0 p1 l0 l1 r1"),
    (A, 8, 32, 4, false, "l2 l3 l4 / p0 p1 p2 l0 l1"),
    (A, 16, 32, 4, false, "l2 l3 l4 r0 / p0 p1 p2 l0 l1"),
    (A, 16, 64, 4, false, "l2 l3 l4 r0 / p0 p1 p2 l0 l1 r1"),
    (A, 8, 128, 1, false, "l2 l3 l4 / p0 p1 p2 p3 p4 l0 l1"),
    (A, 16, 128, 1, false, "l2 l3 l4 r0 / p0 p1 p2 p3 p4 l0 l1"),
    (A, 16, 256, 1, false, "l2 l3 l4 r0 / p0 p1 p2 p3 p4 l0 l1 r1"),
    (A, 8, 16, 16, false, "l2 l3 l4 / p0 l0 l1 r0"),
    (A, 32, 16, 16, false, "l2 l3 l4 r0 r2 / p0 l0 l1 r1"),
    (A, 32, 16, 8, false, "l2 l3 l4 r0 r1 / p0 p1 l0 l1"),
    // The second factor.
    (B, 8, 8, 16, false, "p0 l0 l1 / l2 l3 l4"),
    (B, 16, 8, 16, false, "p0 l0 l1 r0 / l2 l3 l4"),
    (B, 32, 8, 16, false, "p0 l0 l1 r0 r1 / l2 l3 l4"),
    (B, 4, 8, 32, false, "l0 l1 / l2 l3 l4"),
    (B, 8, 8, 32, false, "l0 l1 r0 / l2 l3 l4"),
    (B, 16, 8, 32, false, "l0 l1 r0 r1 / l2 l3 l4"),
    (B, 4, 8, 64, false, "l0 l1 / l2 l3 l4"),
    (B, 8, 8, 64, false, "l0 l1 r0 / l2 l3 l4"),
    (B, 16, 8, 64, false, "l0 l1 r0 r1 / l2 l3 l4"),
    (B, 16, 8, 8, false, "p0 p1 l0 l1 / l2 l3 l4"),
    (B, 32, 8, 8, false, "p0 p1 l0 l1 r0 / l2 l3 l4"),
    (B, 64, 8, 8, false, "p0 p1 l0 l1 r0 r1 / l2 l3 l4"),
    (B, 32, 8, 4, false, "p0 p1 p2 l0 l1 / l2 l3 l4"),
    (B, 64, 8, 4, false, "p0 p1 p2 l0 l1 r0 / l2 l3 l4"),
    (B, 128, 8, 4, false, "p0 p1 p2 l0 l1 r0 r1 / l2 l3 l4"),
    (B, 128, 8, 1, false, "p0 p1 p2 p3 p4 l0 l1 / l2 l3 l4"),
    (B, 256, 8, 1, false, "p0 p1 p2 p3 p4 l0 l1 r0 / l2 l3 l4"),
    (B, 16, 16, 16, false, "p0 l0 l1 r0 / l2 l3 l4 r1"),
    (B, 16, 32, 16, false, "p0 l0 l1 r1 / l2 l3 l4 r0 r2"),
    (B, 16, 16, 8, false, "p0 p1 l0 l1 / l2 l3 l4 r0"),
    (B, 16, 32, 8, false, "p0 p1 l0 l1 / l2 l3 l4 r0 r1"),
    (B, 8, 16, 32, false, "l0 l1 r0 / l2 l3 l4 r1"),
    // The summand and the result.
    (C, 16, 8, 16, false, "l2 l3 l4 r0 / p0 l0 l1"),
    (C, 8, 8, 32, false, "l2 l3 l4 / r0 l0 l1"),
    (C, 16, 8, 32, false, "l2 l3 l4 r1 / r0 l0 l1"),
    (C, 8, 8, 64, false, "l2 l3 l4 / r0 l0 l1"),
    (C, 16, 8, 64, false, "l2 l3 l4 r1 / r0 l0 l1"),
    (C, 16, 16, 16, false, "l2 l3 l4 r0 / p0 l0 l1 r1"),
    (C, 16, 16, 32, false, "l2 l3 l4 r1 / r0 l0 l1 r2"),
    (C, 32, 8, 16, false, "l2 l3 l4 r0 r1 / p0 l0 l1"),
    (C, 32, 8, 32, false, "l2 l3 l4 r1 r2 / r0 l0 l1"),
    (C, 8, 32, 16, false, "p0 l0 l1 / l2 l3 l4 r0 r1"),
    (C, 8, 32, 32, false, "r0 l0 l1 / l2 l3 l4 r1 r2"),
];

fn bits(text: &str) -> Vec<Bit> {
    let bit = |word: &str| {
        let (kind, n) = word.split_at_checked(1)?;
        let n = n.parse().ok()?;
        Some(match kind {
            "l" => Bit::Lane(n),
            "r" => Bit::Register(n),
            _ => Bit::Place(n),
        })
    };
    text.split_whitespace().filter_map(bit).collect()
}

/// Registers of a fragment, at most.
const MOST: u32 = 8;

/// A layout, and the number of the element at each position.
struct Known {
    layout: Layout,
    places: Vec<u16>,
}

fn table() -> &'static HashMap<Fragment, Known> {
    static TABLE: OnceLock<HashMap<Fragment, Known>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let line = |&(part, rows, columns, bits_each, across, text): &Line| {
            let mut lists = text.split('/').map(bits);
            let mut next = || lists.next().unwrap_or_default();
            let layout = Layout { row: next(), column: next(), matrix: next() };
            let fragment = Fragment { part, rows, columns, bits: bits_each, across };
            (fragment, Known { places: places(fragment, &layout), layout })
        };
        LINES.iter().map(line).collect()
    })
}

/// The fragment of a matrix of this type in an instruction of this shape; `across` if the first factor is
/// column-major or the second row-major. A sparse first factor has half of the columns.
pub fn of(shape: Shape, part: Part, ty: Scalar, across: bool, sparse: bool) -> Option<Fragment> {
    let Shape { m, n, k } = shape;
    let k_kept = if sparse { k / 2 } else { k };
    let (part, rows, columns) = match part {
        Part::A => (A, m, k_kept),
        Part::B => (B, k, n),
        _ => (C, m, n),
    };
    let four = (m, n, k) == (8, 8, 4) && ty != Scalar::F64;
    let across = across || four && part == C;
    let plain = Fragment { part, rows, columns, bits: ty.bits(), across: false };
    let kept = Fragment { across, ..plain };
    [kept, plain].into_iter().find(|f| table().contains_key(f))
}

impl Fragment {
    /// Where its elements lie.
    pub fn layout(&self) -> Option<&'static Layout> {
        table().get(self).map(|known| &known.layout)
    }

    /// For each register, lane and position in the register, in this order, the number of the element, counted
    /// row-major and matrix by matrix; for the second factor column-major, so that elements that are multiplied are
    /// contiguous.
    pub fn places(&self) -> Option<&'static [u16]> {
        table().get(self).map(|known| known.places.as_slice())
    }

    /// Elements in a register.
    pub fn per_register(&self) -> usize {
        if self.bits == 64 { 1 } else { 32 / self.bits as usize }
    }
}

impl Layout {
    /// Row, column and matrix of an element.
    pub fn at(&self, lane: u32, register: u32, place: u32) -> (u32, u32, u32) {
        let of = |bits: &[Bit]| {
            let value = |bit: &Bit| match *bit {
                Bit::Lane(n) => lane >> n & 1,
                Bit::Register(n) => register >> n & 1,
                Bit::Place(n) => place >> n & 1,
            };
            bits.iter().enumerate().fold(0, |sum, (n, bit)| sum | value(bit) << n)
        };
        (of(&self.row), of(&self.column), of(&self.matrix))
    }
}

fn places(fragment: Fragment, layout: &Layout) -> Vec<u16> {
    let (rows, columns) = (u32::from(fragment.rows), u32::from(fragment.columns));
    let mut all = Vec::new();
    for register in 0..MOST {
        for lane in 0..32 {
            for place in 0..fragment.per_register() as u32 {
                let (row, column, matrix) = layout.at(lane, register, place);
                let second = fragment.part == B;
                let within = if second { column * rows + row } else { row * columns + column };
                all.push((matrix * rows * columns + within) as u16);
            }
        }
    }
    all
}
