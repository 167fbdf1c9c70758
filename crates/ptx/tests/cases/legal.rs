//! Combinations that the ISA manual allows, where the table accepts more.

use cushim_ptx::table::{Op, Row, Word};
use cushim_ptx::types::{Kind, Scalar};

/// The type with twice the width.
pub fn twice(ty: Scalar) -> Scalar {
    match ty {
        Scalar::U16 => Scalar::U32,
        Scalar::S16 => Scalar::S32,
        Scalar::U32 => Scalar::U64,
        _ => Scalar::S64,
    }
}

pub fn integer(ty: Scalar) -> bool {
    matches!(ty.kind(), Kind::Unsigned | Kind::Signed)
}

fn float(ty: Scalar) -> bool {
    ty.kind() == Kind::Float
}

fn packed_float(ty: Scalar) -> bool {
    matches!(ty, Scalar::F16x2 | Scalar::Bf16x2)
}

fn brain(ty: Scalar) -> bool {
    matches!(ty, Scalar::Bf16 | Scalar::Bf16x2)
}

/// Whether the optional third operand is used.
pub fn third(words: &[Word], types: &[Scalar]) -> bool {
    // Three operands need newer devices than the recorded ones.
    let (absolute, sign) = (words.contains(&Word::Abs), words.contains(&Word::Xorsign));
    types[0] == Scalar::F32 && absolute && !sign
}

/// Whether a comparison is tried with two results.
pub fn two_results(words: &[Word], types: &[Scalar]) -> bool {
    // Halves have one result; packed halves have one for each.
    let one = matches!(types[0], Scalar::F16 | Scalar::Bf16);
    packed_float(types[0])
        || !one && words.iter().any(|w| matches!(w, Word::And | Word::Or | Word::Xor))
}

/// Whether sm_90 can run it.
pub fn on_device(op: Op, words: &[Word], types: &[Scalar]) -> bool {
    !(matches!(op, Op::Min | Op::Max) && third(words, types))
}

/// Whether the form exists.
pub fn exists(row: &Row, words: &[Word], types: &[Scalar]) -> bool {
    let has = |w: Word| words.contains(&w);
    let ty = types.first().copied().unwrap_or(Scalar::B32);
    match row.op {
        Op::Fma if row.mnemonic == "mad" => {
            // Without a rounding it exists only for devices of the first generation.
            words.iter().any(|w| matches!(w, Word::Rn | Word::Rz | Word::Rm | Word::Rp))
        }
        Op::Div if ty == Scalar::F32 => words.iter().any(|w| !matches!(w, Word::Ftz)),
        Op::Ex2 => match ty {
            Scalar::F32 => true,
            Scalar::Bf16 | Scalar::Bf16x2 => has(Word::Ftz),
            _ => !has(Word::Ftz),
        },
        Op::Min | Op::Max if words.contains(&Word::Relu) => true,
        Op::Min | Op::Max => {
            has(Word::Xorsign) == has(Word::Abs) && !(has(Word::Ftz) && brain(ty))
                || !row.places.iter().all(|p| !p.optional) && third(words, types)
        }
        Op::Setp => comparison(words, ty),
        Op::Set => comparison(words, types[1]) && set(has(Word::Ftz), ty, types[1]),
        Op::Selp => !matches!(ty, Scalar::F16 | Scalar::Bf16) && !packed_float(ty),
        Op::Slct => !has(Word::Ftz) || types[1] == Scalar::F32,
        Op::Cvt => conversion(words, ty, types[1]),
        Op::Cvt2 => narrowing(words, ty),
        Op::CvtPack => pack(ty, types.len()),
        _ => true,
    }
}

fn comparison(words: &[Word], ty: Scalar) -> bool {
    use Word::*;
    let has = |list: &[Word]| words.iter().any(|w| list.contains(w));
    let equality = has(&[Eq, Ne]);
    let order = has(&[Lt, Le, Gt, Ge]);
    let unsigned = has(&[Lo, Ls, Hi, Hs]);
    let unordered = has(&[Equ, Neu, Ltu, Leu, Gtu, Geu, Num, CmpNan]);
    if has(&[Ftz]) && !matches!(ty, Scalar::F32 | Scalar::F16 | Scalar::F16x2) {
        return false;
    }
    match ty.kind() {
        Kind::Bits => equality,
        Kind::Signed => equality || order,
        Kind::Unsigned => equality || order || unsigned,
        _ => equality || order || unordered,
    }
}

fn set(ftz: bool, d: Scalar, s: Scalar) -> bool {
    match (d, s) {
        (Scalar::Bf16, Scalar::F32) if ftz => false,
        (Scalar::F16x2, Scalar::F16x2) | (Scalar::Bf16x2, Scalar::Bf16x2) => true,
        (Scalar::U32 | Scalar::S32, Scalar::F16x2 | Scalar::Bf16x2) => true,
        (_, Scalar::F16x2 | Scalar::Bf16x2) | (Scalar::F16x2 | Scalar::Bf16x2, _) => false,
        (Scalar::U16 | Scalar::S16, _) => matches!(s, Scalar::F16 | Scalar::Bf16),
        (Scalar::F16, Scalar::Bf16) | (Scalar::Bf16, Scalar::F16) => false,
        (Scalar::F32, Scalar::F16 | Scalar::Bf16) => false,
        _ => true,
    }
}

fn conversion(words: &[Word], d: Scalar, s: Scalar) -> bool {
    use Word::*;
    let has = |list: &[Word]| words.iter().any(|w| list.contains(w));
    let single = d == Scalar::F32 || s == Scalar::F32;
    if has(&[Ftz]) && !single {
        return false;
    }
    match (d, s) {
        (Scalar::Tf32, _) => {
            if has(&[Rna]) {
                !has(&[Relu])
            } else {
                !has(&[Satfinite])
            }
        }
        (Scalar::E4m3x2 | Scalar::E5m2x2, _) | (_, Scalar::E4m3x2 | Scalar::E5m2x2) => true,
        _ if integer(d) && integer(s) => {
            let reaches = |t: Scalar| {
                let signed = t.is_signed();
                (signed, t.bits() - u32::from(signed))
            };
            let ((from_sign, from), (to_sign, to)) = (reaches(s), reaches(d));
            !has(&[Sat]) || from > to || from_sign && !to_sign
        }
        _ if integer(s) => !brain(d) || !has(&[Sat]) && s.bits() > 8,
        _ if integer(d) => !brain(s) || !has(&[Sat]) && d.bits() > 8,
        _ => {
            let whole = has(&[Rni, Rzi, Rmi, Rpi]);
            let rounds = has(&[Rn, Rz, Rm, Rp]);
            let narrow = matches!(
                (d, s),
                (Scalar::F32 | Scalar::F16 | Scalar::Bf16, Scalar::F64)
                    | (Scalar::F16 | Scalar::Bf16, Scalar::F32)
                    | (Scalar::Bf16, Scalar::F16)
                    | (Scalar::F16, Scalar::Bf16)
            );
            let from_single = s == Scalar::F32 && d.bits() == 16;
            if has(&[Relu, Satfinite]) && (!from_single || !has(&[Rn, Rz]) || has(&[Ftz, Sat])) {
                return false;
            }
            if brain(d) && has(&[Sat]) || brain(s) && has(&[Sat]) {
                return false;
            }
            if narrow {
                rounds
            } else if d == s {
                !rounds && (whole || !brain(d))
            } else {
                !rounds && !whole
            }
        }
    }
}

fn narrowing(words: &[Word], d: Scalar) -> bool {
    !words.contains(&Word::Ftz) && float(Scalar::F32) && d.kind() != Kind::Float
}

fn pack(ty: Scalar, slots: usize) -> bool {
    // With three operands the parts have 8 bits or fewer, with two they are half-words.
    (ty.bits() == 16) == (slots == 2)
}
