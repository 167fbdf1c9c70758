//! Which instructions are computed for all lanes at once, and by which operation.
//!
//! Owns the mapping from checked forms to [`Lanewise`]; what is not in it is computed by [`crate::alu`], lane by lane, with
//! the same results. It must not know registers.

use super::lanewise::{Lanewise, Mode};
use crate::alu;
use crate::ir::{Inst, Src};
use crate::sem::{BitOp, Bits, Half, Integer, IntegerOp, Operation};
use crate::table::{Op, Word};
use crate::types::{Kind, Scalar};

/// Whether the words are among these.
fn only(i: &Inst, words: &[Word]) -> bool {
    let mut allowed = crate::table::Words::default();
    words.iter().for_each(|w| allowed.insert(*w));
    i.words.within(&allowed)
}

/// The operation that computes the first result of a pure instruction from its first three operands, and the number that
/// it wants; `None` where there is none, or the instruction has a second result.
pub(super) fn lanewise(i: &Inst) -> Option<(Lanewise, u64)> {
    if i.dst.len() != 1 {
        return None;
    }
    match i.op {
        Op::Cvt => return convert(i),
        Op::Setp => return compare(i),
        Op::Selp => return Some((Lanewise::Selp, 0)),
        _ => {}
    }
    match i.sem {
        Operation::Integer(what) => return integer(what).map(|op| (op, 0)),
        Operation::Bits(what) => return bits(what),
        _ => {}
    }
    match i.types[0] {
        Scalar::F32 => single(i),
        Scalar::F64 => double(i),
        _ => None,
    }
    .map(|op| (op, 0))
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

fn single(i: &Inst) -> Option<Lanewise> {
    use Lanewise::*;
    let has = |w| i.words.has(w);
    let mode = Mode { ftz: has(Word::Ftz), sat: has(Word::Sat) };
    let directed = i.words.first(&[Word::Rz, Word::Rm, Word::Rp]);
    if let Some(word) = directed {
        return match (i.op, word) {
            (Op::Fma, Word::Rm) => Some(FmaDown(mode)),
            (Op::Fma, Word::Rp) => Some(FmaUp(mode)),
            (Op::Fma, _) => Some(FmaZero(mode)),
            _ => None,
        };
    }
    if !only(i, &[Word::Rn, Word::Ftz, Word::Sat, Word::Approx, Word::Full]) {
        return None;
    }
    let two = matches!(i.src.get(2), None | Some(Src::None));
    Some(match i.op {
        Op::Add => Add(mode),
        Op::Sub => Sub(mode),
        Op::Mul => Mul(mode),
        Op::Fma => Fma(mode),
        Op::Div if has(Word::Approx) => DivApprox(mode),
        Op::Div => Div(mode),
        Op::Rcp => Rcp(mode),
        Op::Sqrt => Sqrt(mode),
        Op::Rsqrt => Rsqrt(mode),
        Op::Ex2 => Ex2(mode),
        Op::Lg2 => Lg2(mode),
        Op::Tanh => Tanh(mode),
        Op::Abs => Abs(mode),
        Op::Neg => Neg(mode),
        Op::Min if two => Min(mode),
        Op::Max if two => Max(mode),
        _ => return None,
    })
}

fn double(i: &Inst) -> Option<Lanewise> {
    use Lanewise::*;
    if !only(i, &[Word::Rn]) {
        return None;
    }
    Some(match i.op {
        Op::Add => AddF64,
        Op::Sub => SubF64,
        Op::Mul => MulF64,
        Op::Fma => FmaF64,
        Op::Div => DivF64,
        Op::Rcp => RcpF64,
        Op::Sqrt => SqrtF64,
        Op::Neg => NegF64,
        Op::Abs => AbsF64,
        _ => return None,
    })
}

/// `setp` without a boolean operation. The number says what less, equal, greater, and neither of them give.
fn compare(i: &Inst) -> Option<(Lanewise, u64)> {
    use Lanewise::*;
    let ty = i.types[0];
    let ftz = i.words.has(Word::Ftz);
    if i.words.first(&[Word::And, Word::Or, Word::Xor]).is_some() {
        return None;
    }
    let all = [
        (Word::Eq, 0b0010),
        (Word::Ne, 0b0101),
        (Word::Lt, 0b0001),
        (Word::Le, 0b0011),
        (Word::Gt, 0b0100),
        (Word::Ge, 0b0110),
        (Word::Equ, 0b1010),
        (Word::Neu, 0b1101),
        (Word::Ltu, 0b1001),
        (Word::Leu, 0b1011),
        (Word::Gtu, 0b1100),
        (Word::Geu, 0b1110),
        (Word::Num, 0b0111),
        (Word::CmpNan, 0b1000),
    ];
    let (_, table) = all.iter().find(|(word, _)| i.words.has(*word))?;
    let op = match (ty, ty.bits(), ty.is_signed()) {
        (Scalar::F32, ..) if ftz => CompareF32Ftz,
        (Scalar::F32, ..) => CompareF32,
        (Scalar::F64, ..) if ftz => return None,
        (Scalar::F64, ..) => CompareF64,
        _ if !matches!(ty.kind(), Kind::Bits | Kind::Unsigned | Kind::Signed) => return None,
        (_, 16, false) => CompareU16,
        (_, 16, true) => CompareS16,
        (_, 32, false) => CompareU32,
        (_, 32, true) => CompareS32,
        (_, 64, false) => CompareU64,
        (_, 64, true) => CompareS64,
        _ => return None,
    };
    Some((op, *table))
}

fn convert(i: &Inst) -> Option<(Lanewise, u64)> {
    use Lanewise::*;
    let (to, from) = (i.types[0], i.types[1]);
    let whole = |ty: Scalar| matches!(ty.kind(), Kind::Unsigned | Kind::Signed);
    if whole(to) && whole(from) {
        // The sign of what is signed goes on to the left, in a wider register, too.
        let op = match (from.is_signed(), to.is_signed()) {
            (false, false) => ExtendUU,
            (false, true) => ExtendUS,
            (true, false) => ExtendSU,
            (true, true) => ExtendSS,
        };
        let shifts = u64::from(64 - from.bits()) | u64::from(64 - to.bits()) << 8;
        return only(i, &[]).then_some((op, shifts));
    }
    let near = only(i, &[Word::Rn]);
    let rounding = i.words.first(&[Word::Rni, Word::Rzi, Word::Rmi, Word::Rpi]);
    let one = only(i, &[Word::Rni, Word::Rzi, Word::Rmi, Word::Rpi]);
    let op = match (to, from) {
        (Scalar::F32, Scalar::S32) if near => S32ToF32,
        (Scalar::F32, Scalar::U32) if near => U32ToF32,
        (Scalar::F32, Scalar::S64) if near => S64ToF32,
        (Scalar::F32, Scalar::U64) if near => U64ToF32,
        (Scalar::F64, Scalar::S32) if near => S32ToF64,
        (Scalar::F64, Scalar::U32) if near => U32ToF64,
        (Scalar::F64, Scalar::S64) if near => S64ToF64,
        (Scalar::F64, Scalar::U64) if near => U64ToF64,
        (Scalar::S32 | Scalar::U32, Scalar::F32) if one => match (rounding?, to.is_signed()) {
            (Word::Rzi, true) => F32ToS32,
            (Word::Rzi, false) => F32ToU32,
            (Word::Rni, true) => F32ToS32Near,
            (Word::Rni, false) => F32ToU32Near,
            (Word::Rmi, true) => F32ToS32Down,
            (Word::Rpi, true) => F32ToS32Up,
            _ => return None,
        },
        (Scalar::S32, Scalar::F64) if one && rounding == Some(Word::Rzi) => F64ToS32,
        (Scalar::F64, Scalar::F32) if near => F32ToF64,
        (Scalar::F32, Scalar::F64) if near => F64ToF32,
        (Scalar::F32, Scalar::F32) => {
            let mode = Mode { ftz: i.words.has(Word::Ftz), sat: i.words.has(Word::Sat) };
            let words = [Word::Ftz, Word::Sat, Word::Rni, Word::Rzi, Word::Rmi, Word::Rpi];
            if !only(i, &words) {
                return None;
            }
            match rounding {
                Some(Word::Rni) => Near(mode),
                Some(Word::Rzi) => Trunc(mode),
                Some(Word::Rmi) => Floor(mode),
                Some(_) => Ceil(mode),
                None if mode.ftz || mode.sat => Single(mode),
                None => return Some((ExtendUU, 32 | 32 << 8)),
            }
        }
        _ => return None,
    };
    Some((op, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::versions::{Version, Wide};
    use crate::interp::warp::Lanes;
    use crate::ir::Dst;
    use crate::table::{self, OperandKind};

    /// Bits that matter to one type or another, and others.
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

    /// Every choice of modifiers of a row.
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

    /// What an instruction's register is cut to.
    fn width(kind: OperandKind, types: &[Scalar; 3]) -> u32 {
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

    impl Wide for All<'_> {
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
        for row in table::rows().filter(|row| alu::is_pure(row.op)) {
            let empty = vec![Scalar::B32];
            let slot = |n| row.slots().get(n).unwrap_or(&empty);
            for words in choices(row) {
                for types in
                    slot(0).iter().flat_map(|a| slot(1).iter().map(|b| [*a, *b, Scalar::B32]))
                {
                    let places = || row.places.iter().filter(|p| !p.result);
                    let src = places().map(|p| if p.optional { Src::None } else { Src::Imm(0xe8) });
                    let bits = width(row.places[0].kind, &types);
                    let mut i = Inst {
                        sem: crate::sem::Operation::Unlowered,
                        op: row.op,
                        words,
                        types,
                        guard: None,
                        dst: vec![Dst::Reg(0, bits)],
                        src: src.collect(),
                        pos: crate::Pos::default(),
                    };
                    let context = crate::sem::Context { entry: true, registers: &[] };
                    i.lower(context).unwrap();
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
                                let mut expected = alu::eval(&i, a).0;
                                if i.op == Op::Cvt && types[0].is_signed() {
                                    let shift = 64 - types[0].bits();
                                    expected = ((expected << shift) as i64 >> shift) as u64;
                                }
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
