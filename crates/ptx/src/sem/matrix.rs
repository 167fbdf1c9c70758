//! Products of matrices (PTX ISA 9, "Warp Level Matrix Instructions").
//!
//! Owns the parameters of `mma`, `mma.sp` and `wmma.mma`: shapes, types, layouts, the number of registers of a lane's
//! part of each matrix. Must not know which element is where ([`crate::matrix`]), or how products are added.

use super::bits::Logic;
use super::reader::{Reader, Unsupported};
use crate::operand::Src;
use crate::soft::Round;
use crate::table::{Op, Part, Word, Words};
use crate::types::Scalar;

/// The fragments and the arithmetic of sums: the manual defines the elements' positions for `mma`, and for a warp's
/// part of `wgmma` where they are the same; for `wmma` only devices define them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // named as in the ISA manual
pub enum Family {
    Mma,
    Wmma,
    Wgmma,
}

/// The extents of a product: `m` by `k` times `k` by `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub struct Shape {
    pub m: u16,
    pub n: u16,
    pub k: u16,
}

/// `d = a * b + c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Multiply {
    /// The fragments of its operands.
    pub family: Family,
    /// The shape of one product; `m8n8k4` of 16-bit numbers is four products.
    pub shape: Shape,
    /// The type of the first factor's elements.
    pub a: Scalar,
    /// The type of the second factor.
    pub b: Scalar,
    /// The type of the summand.
    pub c: Scalar,
    /// The type of the result.
    pub d: Scalar,
    /// The first factor lies column by column.
    pub a_columns: bool,
    /// The second factor lies row by row.
    pub b_rows: bool,
    /// Integer results are clamped to the type's range.
    pub saturate: bool,
    /// How sums of doubles are rounded.
    pub round: Round,
    /// How single bits are combined before ones are counted; otherwise elements are multiplied.
    pub logic: Option<Logic>,
    /// The first factor has half of its elements, and an operand says which; this number says whose.
    pub sparse: Option<u8>,
}

#[rustfmt::skip]
const SHAPES: [(Word, Shape); 15] = [
    (Word::M8n8k4, Shape { m: 8, n: 8, k: 4 }),
    (Word::M8n8k16, Shape { m: 8, n: 8, k: 16 }),
    (Word::M8n8k32, Shape { m: 8, n: 8, k: 32 }),
    (Word::M8n8k128, Shape { m: 8, n: 8, k: 128 }),
    (Word::M16n8k4, Shape { m: 16, n: 8, k: 4 }),
    (Word::M16n8k8, Shape { m: 16, n: 8, k: 8 }),
    (Word::M16n8k16, Shape { m: 16, n: 8, k: 16 }),
    (Word::M16n8k32, Shape { m: 16, n: 8, k: 32 }),
    (Word::M16n8k64, Shape { m: 16, n: 8, k: 64 }),
    (Word::M16n8k128, Shape { m: 16, n: 8, k: 128 }),
    (Word::M16n8k256, Shape { m: 16, n: 8, k: 256 }),
    (Word::M16n16k16, Shape { m: 16, n: 16, k: 16 }),
    (Word::M8n32k16, Shape { m: 8, n: 32, k: 16 }),
    (Word::M32n8k16, Shape { m: 32, n: 8, k: 16 }),
    (Word::M16n16k8, Shape { m: 16, n: 16, k: 8 }),
];

/// Whether the first factor is column-major, and the second row-major.
const LAYOUTS: [(Word, (bool, bool)); 4] = [
    (Word::RowCol, (false, false)),
    (Word::RowRow, (false, true)),
    (Word::ColRow, (true, true)),
    (Word::ColCol, (true, false)),
];

const ROUNDS: [(Word, Round); 4] = [
    (Word::Rn, Round::Nearest),
    (Word::Rz, Round::Zero),
    (Word::Rm, Round::Down),
    (Word::Rp, Round::Up),
];

/// How many registers of 32 bits (of 64 for doubles) a lane has of a matrix.
fn count(family: Family, shape: Shape, part: Part, ty: Scalar, sparse: bool) -> usize {
    let Shape { m, n, k } = shape;
    let k = if sparse && part == Part::A { k / 2 } else { k };
    let elements = match part {
        Part::A => m * k,
        Part::B => k * n,
        _ => m * n,
    };
    // Four products.
    let four = family == Family::Mma && (m, n, k) == (8, 8, 4) && ty != Scalar::F64;
    let elements = usize::from(elements) * if four { 4 } else { 1 };
    let register = ty.bits().max(32) as usize;
    let own = (elements * ty.bits() as usize).div_ceil(register * 32);
    // Fragments of halves for `wmma` have room for what devices of the first generation kept twice.
    let twice = family == Family::Wmma && ty == Scalar::F16 && matches!(part, Part::A | Part::B);
    if twice { 8 } else { own }
}

/// The shape that an instruction names.
pub fn shape(words: &Words) -> Option<Shape> {
    SHAPES.iter().find(|(w, _)| words.has(*w)).map(|(_, shape)| *shape)
}

/// How many registers the matrix `part` of an instruction has, and the type of its elements: for the checks, which come
/// before [`super::lower`].
pub fn registers(
    op: Op,
    words: &Words,
    types: &[Scalar; 4],
    part: Part,
) -> Option<(usize, Scalar)> {
    if part == Part::Rows {
        let n = [(Word::X1, 1), (Word::X2, 2), (Word::X4, 4)];
        return n.iter().find(|(w, _)| words.has(*w)).map(|(_, n)| (*n, Scalar::B32));
    }
    let shape = shape(words)?;
    let family = if matches!(op, Op::Mma | Op::MmaSparse) { Family::Mma } else { Family::Wmma };
    let ty = match (op, part) {
        (Op::WmmaLoad | Op::WmmaStore, _) => types[0],
        _ => {
            let [d, a, b, c] = of_product(op, types);
            match part {
                Part::A => a,
                Part::B => b,
                Part::C => c,
                _ => d,
            }
        }
    };
    Some((count(family, shape, part, ty, op == Op::MmaSparse), ty))
}

/// The types of result, factors and summand; halves are not named.
fn of_product(op: Op, types: &[Scalar; 4]) -> [Scalar; 4] {
    let [d, second, ..] = *types;
    let halves = op == Op::WmmaMma && matches!(second, Scalar::F16 | Scalar::F32);
    if halves { [d, Scalar::F16, Scalar::F16, second] } else { *types }
}

/// Operands: the registers of both factors and of the summand; of a sparse product which elements there are, and whose
/// word says it; all lanes.
pub(super) fn lower(words: &mut Reader<'_>) -> Result<Multiply, Unsupported> {
    let op = words.inst.op;
    let family = match (op, words.take(Word::MmaAsync)) {
        (Op::WmmaMma, _) => Family::Wmma,
        (_, true) => Family::Wgmma,
        _ => Family::Mma,
    };
    words.take(Word::Mma);
    words.need(&[(Word::Sync, ())], "`.sync`")?;
    words.take(Word::Aligned);
    let shape = words.need(&SHAPES, "a shape")?;
    let (a_columns, b_rows) = words.need(&LAYOUTS, "two layouts")?;
    let [d, a, b, c] = of_product(op, &words.inst.types);
    let saturate = words.take(Word::Satfinite);
    let round = words.choice(&ROUNDS).unwrap_or(Round::Nearest);
    let logic = words.choice(&[(Word::And, Logic::And), (Word::Xor, Logic::Xor)]);
    if logic.is_some() {
        words.need(&[(Word::Popc, ())], "`.popc`")?;
    }
    let mut found = Multiply {
        family,
        shape,
        a,
        b,
        c,
        d,
        a_columns,
        b_rows,
        saturate,
        round,
        logic,
        sparse: None,
    };
    if op == Op::MmaSparse {
        words.need(&[(Word::Sparse, ()), (Word::SparseOrdered, ())], "`.sp`")?;
        let at =
            [Part::A, Part::B, Part::C].iter().map(|part| found.has(*part, true)).sum::<usize>()
                + 1;
        let selectors = found.selectors();
        found.sparse = match words.inst.src.get(at) {
            Some(Src::Imm(n)) if *n < selectors => Some(*n as u8),
            _ => return Err(words.wrong("another selector".into(), "a constant, of these few")),
        };
    }
    Ok(found)
}

impl Multiply {
    fn has(&self, part: Part, sparse: bool) -> usize {
        let ty = match part {
            Part::A => self.a,
            Part::B => self.b,
            Part::C => self.c,
            _ => self.d,
        };
        count(self.family, self.shape, part, ty, sparse)
    }

    /// How many registers a lane has of a matrix.
    pub fn registers(&self, part: Part) -> usize {
        self.has(part, self.sparse.is_some())
    }

    /// How many registers a lane brings.
    pub fn operands(&self) -> usize {
        let matrices: usize =
            [Part::A, Part::B, Part::C].map(|part| self.registers(part)).iter().sum();
        matrices + usize::from(self.sparse.is_some())
    }

    /// How many registers a lane gets.
    pub fn results(&self) -> usize {
        self.registers(Part::D)
    }

    /// Bits that say which elements of a row of a sparse factor there are: four for each group, of which there are two
    /// elements (of 32 bits one; of 4 bits two pairs).
    pub fn selection(&self) -> u32 {
        let group = match self.a.bits() {
            32 => 2,
            4 => 8,
            _ => 4,
        };
        u32::from(self.shape.k) / group * 4
    }

    /// How many selectors there are: whose words, of four lanes, say which elements there are.
    pub fn selectors(&self) -> u64 {
        u64::from(64 / self.selection().clamp(16, 64))
    }
}
