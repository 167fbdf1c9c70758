//! Which instructions are computed for all lanes at once, and by which operation.
//!
//! Owns the mapping from checked forms to [`Lanewise`]; [`crate::alu`] computes all others, lane by lane, with the
//! same results. Must not know registers.

use super::lanewise::{Lanewise, Mode};
use crate::alu;
use crate::ir::Inst;
use crate::sem::{
    self, BitOp, Bits, Clamp, Compare, Compared, Convert, Float, FloatOp, Half, Integer, IntegerOp,
    Operation, Precision,
};
use crate::soft::Round;
use crate::types::Scalar;

/// The operation that computes the first result of a pure instruction from its first three operands, and its
/// constant; `None` if there is none, or the instruction has a second result.
pub(super) fn lanewise(i: &Inst) -> Option<(Lanewise, u64)> {
    if i.dst.len() != 1 {
        return None;
    }
    match i.sem {
        Operation::Integer(what) => integer(what).map(|op| (op, 0)),
        Operation::Bits(what) => bits(what),
        Operation::Float(what) if what.packed => None,
        Operation::Float(what) => match what.ty {
            Scalar::F32 => single(what).map(|op| (op, 0)),
            Scalar::F64 => double(what).map(|op| (op, 0)),
            _ => None,
        },
        Operation::Convert(what) => convert(what),
        Operation::Compare(what) => compare(what),
        Operation::Select(_) => Some((Lanewise::Selp, 0)),
        _ => None,
    }
}

fn integer(i: Integer) -> Option<Lanewise> {
    use IntegerOp as I;
    use Lanewise::*;
    if i.op.clamps() || i.packed {
        return None;
    }
    Some(match (i.op, i.ty.bits(), i.ty.is_signed()) {
        (I::Add { .. }, 16, _) => Add16,
        (I::Add { .. }, 32, _) => Add32,
        (I::Add { .. }, 64, _) => Add64,
        (I::Sub { .. }, 16, _) => Sub16,
        (I::Sub { .. }, 32, _) => Sub32,
        (I::Sub { .. }, 64, _) => Sub64,
        (I::Mul(Half::Low), 32, _) => Mul32,
        (I::Mul(Half::Low), 64, _) => Mul64,
        (I::Mul(Half::High), 32, false) => MulHiU32,
        (I::Mul(Half::High), 32, true) => MulHiS32,
        (I::Mul(Half::High), 64, false) => MulHiU64,
        (I::Mul(Half::High), 64, true) => MulHiS64,
        (I::Mad { half: Half::Low, .. }, 32, _) => Mad32,
        (I::Mad { half: Half::Low, .. }, 64, _) => Mad64,
        (I::MulWide, 16, false) => MulWideU16,
        (I::MulWide, 16, true) => MulWideS16,
        (I::MulWide, 32, false) => MulWideU32,
        (I::MulWide, 32, true) => MulWideS32,
        (I::MadWide, 32, false) => MadWideU32,
        (I::MadWide, 32, true) => MadWideS32,
        (I::Div, 32, false) => DivU32,
        (I::Div, 32, true) => DivS32,
        (I::Div, 64, false) => DivU64,
        (I::Div, 64, true) => DivS64,
        (I::Rem, 32, false) => RemU32,
        (I::Rem, 32, true) => RemS32,
        (I::Rem, 64, false) => RemU64,
        (I::Rem, 64, true) => RemS64,
        (I::Min { .. }, 32, false) => MinU32,
        (I::Min { .. }, 32, true) => MinS32,
        (I::Min { .. }, 64, false) => MinU64,
        (I::Min { .. }, 64, true) => MinS64,
        (I::Max { .. }, 32, false) => MaxU32,
        (I::Max { .. }, 32, true) => MaxS32,
        (I::Max { .. }, 64, false) => MaxU64,
        (I::Max { .. }, 64, true) => MaxS64,
        (I::Abs, 32, _) => Abs32,
        (I::Abs, 64, _) => Abs64,
        (I::Neg, 32, _) => Neg32,
        (I::Neg, 64, _) => Neg64,
        _ => return None,
    })
}

fn bits(i: Bits) -> Option<(Lanewise, u64)> {
    use BitOp as B;
    use Lanewise::*;
    let op = match (i.op, i.ty.bits(), i.ty.is_signed()) {
        (B::And, ..) => And,
        (B::Or, ..) => Or,
        (B::Xor, ..) => Xor,
        (B::Not, bits, _) => return Some((Not, alu::mask(bits))),
        (B::Lop3 { table, .. }, ..) => return Some((Lop3, table.into())),
        (B::Shl, 32, _) => Shl32,
        (B::Shl, 64, _) => Shl64,
        (B::Shr, 32, false) => ShrU32,
        (B::Shr, 32, true) => ShrS32,
        (B::Shr, 64, false) => ShrU64,
        (B::Shr, 64, true) => ShrS64,
        (B::Funnel { left: true, wrap: false }, ..) => ShfLeft,
        (B::Funnel { left: true, wrap: true }, ..) => ShfLeftWrap,
        (B::Funnel { left: false, wrap: false }, ..) => ShfRight,
        (B::Funnel { left: false, wrap: true }, ..) => ShfRightWrap,
        (B::Popc, 32, _) => Popc32,
        (B::Popc, 64, _) => Popc64,
        (B::Clz, 32, _) => Clz32,
        (B::Clz, 64, _) => Clz64,
        (B::Brev, 32, _) => Brev32,
        _ => return None,
    };
    Some((op, 0))
}

fn single(i: Float) -> Option<Lanewise> {
    use FloatOp as F;
    use Lanewise::*;
    if i.clamp == Clamp::Relu {
        return None;
    }
    let mode = Mode { ftz: i.flush, sat: i.clamp == Clamp::Unit };
    if i.round != Round::Nearest {
        return match (i.op, i.round) {
            (F::Fma, Round::Down) => Some(FmaDown(mode)),
            (F::Fma, Round::Up) => Some(FmaUp(mode)),
            (F::Fma, _) => Some(FmaZero(mode)),
            _ => None,
        };
    }
    Some(match i.op {
        F::Add => Add(mode),
        F::Sub => Sub(mode),
        F::Mul => Mul(mode),
        F::Fma => Fma(mode),
        F::Div(Precision::Rounded) => Div(mode),
        F::Rcp(Precision::Rounded) => Rcp(mode),
        F::Sqrt(Precision::Rounded) => Sqrt(mode),
        F::Abs => Abs(mode),
        F::Neg => Neg(mode),
        F::Min(how) if how.is_plain() => Min(mode),
        F::Max(how) if how.is_plain() => Max(mode),
        F::Div(_)
        | F::Rcp(_)
        | F::Sqrt(_)
        | F::Rsqrt
        | F::Ex2
        | F::Lg2
        | F::Tanh
        | F::Sin
        | F::Cos => {
            return approximate(i);
        }
        F::Min(_) | F::Max(_) | F::Copysign => return None,
    })
}

/// The functions of [`crate::alu::sfu`].
fn approximate(i: Float) -> Option<Lanewise> {
    use FloatOp as F;
    use Lanewise::*;
    if i.clamp != Clamp::None {
        return None;
    }
    Some(match (i.op, i.flush) {
        (F::Div(Precision::Approx), false) => DivApprox,
        (F::Div(Precision::Approx), true) => DivApproxFtz,
        (F::Div(_), false) => DivFull,
        (F::Div(_), true) => DivFullFtz,
        (F::Rcp(_), false) => RcpApprox,
        (F::Rcp(_), true) => RcpApproxFtz,
        (F::Rsqrt, false) => Rsqrt,
        (F::Rsqrt, true) => RsqrtFtz,
        (F::Sqrt(_), false) => SqrtApprox,
        (F::Sqrt(_), true) => SqrtApproxFtz,
        (F::Ex2, false) => Ex2,
        (F::Ex2, true) => Ex2Ftz,
        (F::Lg2, false) => Lg2,
        (F::Lg2, true) => Lg2Ftz,
        (F::Tanh, _) => Tanh,
        (F::Sin, _) => Sin,
        (F::Cos, _) => Cos,
        _ => return None,
    })
}

fn double(i: Float) -> Option<Lanewise> {
    use FloatOp as F;
    use Lanewise::*;
    if i.round != Round::Nearest || i.flush || i.clamp != Clamp::None {
        return None;
    }
    Some(match i.op {
        F::Add => AddF64,
        F::Sub => SubF64,
        F::Mul => MulF64,
        F::Fma => FmaF64,
        F::Div(_) => DivF64,
        F::Rcp(Precision::Rounded) => RcpF64,
        F::Sqrt(_) => SqrtF64,
        F::Neg => NegF64,
        F::Abs => AbsF64,
        _ => return None,
    })
}

/// `setp` without a boolean operation. The constant has the results for less, equal, greater, and unordered.
fn compare(i: Compare) -> Option<(Lanewise, u64)> {
    use Lanewise::*;
    if i.then.is_some() || i.packed {
        return None;
    }
    let op = match i.of {
        Compared::Floats { ty: Scalar::F32, flush: true } => CompareF32Ftz,
        Compared::Floats { ty: Scalar::F32, flush: false } => CompareF32,
        Compared::Floats { ty: Scalar::F64, flush: false } => CompareF64,
        Compared::Floats { .. } => return None,
        Compared::Integers { bits: 16, signed: false } => CompareU16,
        Compared::Integers { bits: 16, signed: true } => CompareS16,
        Compared::Integers { bits: 32, signed: false } => CompareU32,
        Compared::Integers { bits: 32, signed: true } => CompareS32,
        Compared::Integers { bits: 64, signed: false } => CompareU64,
        Compared::Integers { bits: 64, signed: true } => CompareS64,
        Compared::Integers { .. } => return None,
    };
    Some((op, i.holds.0.into()))
}

fn convert(i: Convert) -> Option<(Lanewise, u64)> {
    use Lanewise::*;
    let op = match i {
        Convert::Integer { from, to, saturate: false } => {
            // The sign of a signed source is extended, in a wider register, too.
            let op = match (from.is_signed(), to.is_signed()) {
                (false, false) => ExtendUU,
                (false, true) => ExtendUS,
                (true, false) => ExtendSU,
                (true, true) => ExtendSS,
            };
            return Some((op, u64::from(64 - from.bits()) | u64::from(64 - to.bits()) << 8));
        }
        Convert::FromInteger { from, to, round: Round::Nearest, clamp: Clamp::None } => {
            match (to, from) {
                (Scalar::F32, Scalar::S32) => S32ToF32,
                (Scalar::F32, Scalar::U32) => U32ToF32,
                (Scalar::F32, Scalar::S64) => S64ToF32,
                (Scalar::F32, Scalar::U64) => U64ToF32,
                (Scalar::F64, Scalar::S32) => S32ToF64,
                (Scalar::F64, Scalar::U32) => U32ToF64,
                (Scalar::F64, Scalar::S64) => S64ToF64,
                (Scalar::F64, Scalar::U64) => U64ToF64,
                _ => return None,
            }
        }
        Convert::ToInteger { from, to, round, flush: false } => match (to, from, round) {
            (Scalar::S32, Scalar::F32, Round::Zero) => F32ToS32,
            (Scalar::U32, Scalar::F32, Round::Zero) => F32ToU32,
            (Scalar::S32, Scalar::F32, Round::Nearest) => F32ToS32Near,
            (Scalar::U32, Scalar::F32, Round::Nearest) => F32ToU32Near,
            (Scalar::S32, Scalar::F32, Round::Down) => F32ToS32Down,
            (Scalar::S32, Scalar::F32, Round::Up) => F32ToS32Up,
            (Scalar::S32, Scalar::F64, Round::Zero) => F64ToS32,
            _ => return None,
        },
        Convert::Float { from, to, mode } => return numbers(from, to, mode),
        _ => return None,
    };
    Some((op, 0))
}

fn numbers(from: Scalar, to: Scalar, how: sem::Mode) -> Option<(Lanewise, u64)> {
    use Lanewise::*;
    if how.finite || how.clamp == Clamp::Relu || !how.whole && how.round != Round::Nearest {
        return None;
    }
    let mode = Mode { ftz: how.flush, sat: how.clamp == Clamp::Unit };
    let bare = !mode.ftz && !mode.sat;
    let op = match (to, from) {
        (Scalar::F64, Scalar::F32) if bare && !how.whole => F32ToF64,
        (Scalar::F32, Scalar::F64) if bare && !how.whole => F64ToF32,
        (Scalar::F32, Scalar::F32) if how.whole => match how.round {
            Round::Nearest => Near(mode),
            Round::Zero => Trunc(mode),
            Round::Down => Floor(mode),
            _ => Ceil(mode),
        },
        (Scalar::F32, Scalar::F32) if bare => return Some((ExtendUU, 32 | 32 << 8)),
        (Scalar::F32, Scalar::F32) => Single(mode),
        _ => return None,
    };
    Some((op, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::versions::{Vectorized, Version};
    use crate::interp::warp::Lanes;
    use crate::ir::{Dst, Src};
    use crate::table::{self, OperandKind};

    /// Bit patterns that are edge values of some type, and others.
    fn numbers() -> Vec<u64> {
        let mut all = vec![0, 1, 2, 3, 5, 31, 32, 33, 63, 64, 65, 100, 255, u64::MAX, 1 << 63];
        let singles = [
            0x8000_0000u64,
            1,
            0x8000_0001,
            0x7f_ffff,
            0x80_0000,
            0x3f80_0000,
            0xbf80_0000,
            0x3f00_0000,
            0x3fc0_0000,
            0x4020_0000,
            0xc020_0000,
            0x4b40_0001,
            0x4f00_0000,
            0xcf00_0000,
            0x4f80_0000,
            0x7e80_0000,
            0x7e80_0001,
            0x7f7f_ffff,
            0xff7f_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x7f80_0001,
            0xffc0_1234,
            0x7fff_ffff,
        ];
        all.extend(singles);
        all.extend(singles.map(|v| v | 0xdead_beef << 32));
        let doubles =
            [1.0, -1.5, 2.5, 0.0, -0.0, 2147483647.5, -2147483649.0, 1e300, 1e-300, 1e-310, 1e-40];
        all.extend(doubles.map(f64::to_bits));
        all.extend([
            0x7ff0_0000_0000_0001,
            0xfff8_0000_1234_5678,
            0x7ff0_0000_0000_0000,
            0xfff0_0000_0000_0000,
        ]);
        let mut x = 12345u64;
        for _ in 0..60 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            all.extend([x, x >> 32, x >> 34 | 0x3800_0000]);
        }
        all
    }

    /// All combinations of a row's modifiers.
    fn choices(row: &table::Row) -> Vec<table::Words> {
        let mut all = vec![table::Words::default()];
        for (group, required) in row.modifiers() {
            let mut more = if required { Vec::new() } else { all.clone() };
            for word in group {
                more.extend(all.iter().map(|words| {
                    let mut words = *words;
                    words.insert(word);
                    words
                }));
            }
            all = more;
        }
        all
    }

    /// Cuts a value to the width of an instruction's register.
    fn width(kind: OperandKind, types: &[Scalar; 4]) -> u32 {
        match kind {
            OperandKind::Slot(n) => types[n].bits(),
            OperandKind::Wide(n) => types[n].bits() * 2,
            OperandKind::Type(ty) => ty.bits(),
            _ => 64,
        }
    }

    struct All<'a> {
        op: Lanewise,
        t: u64,
        out: &'a mut Lanes,
        inputs: [&'a Lanes; 3],
    }

    impl Vectorized for All<'_> {
        type Out = ();

        #[inline(always)]
        fn run(self) {
            self.op.compute(self.t, self.out, self.inputs);
        }
    }

    #[test]
    fn all_lanes_at_once_compute_what_is_defined_for_one() {
        let numbers = numbers();
        let mut found = 0;
        for row in table::rows() {
            let empty = vec![Scalar::B32];
            let slot = |n| row.slots().get(n).unwrap_or(&empty);
            for words in choices(row) {
                for types in slot(0)
                    .iter()
                    .flat_map(|a| slot(1).iter().map(|b| [*a, *b, Scalar::B32, Scalar::B32]))
                {
                    let places = || row.places.iter().filter(|p| !p.result);
                    let src = places().map(|p| if p.optional { Src::None } else { Src::Imm(0xe8) });
                    let bits = row.places.first().map_or(0, |p| width(p.kind, &types));
                    let src: Vec<Src> = src.collect();
                    let pos = crate::Pos::default();
                    let statement = crate::sem::Statement {
                        op: row.op,
                        words,
                        types,
                        results: 1,
                        src: &src,
                        pos,
                    };
                    let context = crate::sem::Context { entry: true, registers: &[] };
                    // The table accepts forms that have no meaning.
                    let Ok(sem) = crate::sem::lower(&statement, context) else { continue };
                    if !sem.is_pure() {
                        continue;
                    }
                    let mut i = Inst::new(sem, pos);
                    i.dst.push(Dst::Reg(0, bits));
                    i.src = src;
                    let Some((op, t)) = lanewise(&i) else { continue };
                    found += 1;
                    let cuts: Vec<u64> =
                        places().map(|p| alu::mask(width(p.kind, &types))).collect();
                    for k in 0..numbers.len() {
                        let at = |n: usize| numbers[(k * [1, 7, 31][n] + 5 * n) % numbers.len()];
                        let lane = |n: usize, l: usize| {
                            let v = if n == 2 && l.is_multiple_of(3) {
                                at(0)
                            } else {
                                at(n).rotate_left((l / 8 * 32 * n) as u32)
                            };
                            v & cuts.get(n).copied().unwrap_or(0)
                        };
                        let inputs: [[u64; 32]; 3] =
                            [0, 1, 2].map(|n| std::array::from_fn(|l| lane(n, l)));
                        for version in Version::all() {
                            let mut out = [0; 32];
                            let [a, b, c] = &inputs;
                            version.run(All { op, t, out: &mut out, inputs: [a, b, c] });
                            for l in 0..32 {
                                let a = [a[l], b[l], c[l], 0xe8, 0];
                                let expected = alu::eval(&i.sem, a).0;
                                let cut = alu::mask(bits);
                                assert_eq!(
                                    out[l] & cut,
                                    expected & cut,
                                    "{} {op:?} {words:?} {types:?} {version:?}: {a:x?} gives {:x}, not {expected:x}",
                                    row.syntax(),
                                    out[l]
                                );
                            }
                        }
                    }
                }
            }
        }
        assert!(found > 400, "{found} forms were compared");
    }
}
