//! Shapes of values: uniform, or differing between lanes by known steps.
//!
//! Owns the arithmetic of steps, once: the analysis runs it with empty bases, the emitter with bases that are SSA
//! values. So they agree on the shape of every result.

use cushim_ptx::exec::window;
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::{BitOp, Compare, Compared, Convert, Half, IntegerOp, Operation, Outcomes};
use cushim_ptx::types::{Kind, Scalar};
use std::rc::Rc;

/// What each lane adds to the base.
pub(crate) type Steps = Rc<[i64; 32]>;

/// The value of a register in all lanes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape<B> {
    /// One value for all.
    Uniform(B),
    /// `base + steps[lane]`, in the register's own arithmetic.
    Affine { base: B, steps: Steps },
    /// 64 bits: `offset + scale * extend(base + steps[lane])`, the sum in 32 bits.
    ScaledAffine { offset: B, base: B, steps: Steps, scale: i64, signed: bool },
    /// Anything.
    Varying,
}

/// Arithmetic on bases. `wide` says 64 bits.
pub(crate) trait Arithmetic<B> {
    fn constant(&mut self, wide: bool, v: i64) -> B;
    fn add(&mut self, wide: bool, a: &B, b: &B) -> B;
    fn sub(&mut self, wide: bool, a: &B, b: &B) -> B;
    fn mul(&mut self, wide: bool, a: &B, by: i64) -> B;
    fn product(&mut self, wide: bool, a: &B, b: &B) -> B;
    fn shr(&mut self, wide: bool, signed: bool, a: &B, by: u32) -> B;
    fn extend(&mut self, signed: bool, a: &B) -> B;
    fn bitwise(&mut self, op: Bitwise, a: &B, b: &B) -> B;
    /// Whether a comparison of integers holds: 0, or all ones of 32 bits.
    fn holds(&mut self, wide: bool, signed: bool, holds: Outcomes, a: &B, b: &B) -> B;
}

/// An operation on each bit by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bitwise {
    And,
    Or,
    Xor,
}

/// The analysis: bases are nothing.
pub(crate) struct Nothing;

impl Arithmetic<()> for Nothing {
    fn constant(&mut self, _: bool, _: i64) {}
    fn add(&mut self, _: bool, (): &(), (): &()) {}
    fn sub(&mut self, _: bool, (): &(), (): &()) {}
    fn mul(&mut self, _: bool, (): &(), _: i64) {}
    fn product(&mut self, _: bool, (): &(), (): &()) {}
    fn shr(&mut self, _: bool, _: bool, (): &(), _: u32) {}
    fn extend(&mut self, _: bool, (): &()) {}
    fn bitwise(&mut self, _: Bitwise, (): &(), (): &()) {}
    fn holds(&mut self, _: bool, _: bool, _: Outcomes, (): &(), (): &()) {}
}

fn immediate(src: Option<&Src>) -> Option<i64> {
    match src {
        Some(Src::Imm(v)) => Some(*v as i64),
        _ => None,
    }
}

fn steps_of<B>(f: &Shape<B>) -> Option<[i64; 32]> {
    match f {
        Shape::Uniform(_) => Some([0; 32]),
        Shape::Affine { steps, .. } => Some(**steps),
        _ => None,
    }
}

fn base_of<B: Clone>(f: &Shape<B>) -> Option<B> {
    match f {
        Shape::Uniform(b) | Shape::Affine { base: b, .. } => Some(b.clone()),
        _ => None,
    }
}

fn linear<B>(wide: bool, base: B, mut steps: [i64; 32]) -> Shape<B> {
    if !wide {
        steps = steps.map(|s| i64::from(s as i32));
    }
    if steps == [0; 32] {
        Shape::Uniform(base)
    } else {
        Shape::Affine { base, steps: Rc::new(steps) }
    }
}

/// Base and steps where no step reaches the bits of the base, and how many bits the steps have: `base + step` is then
/// `base | step`, and nothing carries.
fn apart<B: Clone>(x: &Shape<B>, zeros: u32) -> Option<(B, [i64; 32], u32)> {
    let steps = steps_of(x)?;
    let most = steps.iter().copied().max()?;
    let bits = 64 - most.leading_zeros();
    let fits = steps.iter().all(|s| *s >= 0) && bits < 32 && bits <= zeros;
    fits.then(|| base_of(x).map(|base| (base, steps, bits)))?
}

/// The shape of a result whose operands are not all uniform, if it is better than [`Shape::Varying`]. `zeros`: zero
/// low bits of each operand's base ([`super::low`]).
pub(crate) fn affine<B: Clone>(
    inst: &Inst,
    args: &[Shape<B>],
    zeros: &[u32],
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    combined(inst, args, zeros, a).filter(|f| !matches!(f, Shape::Varying))
}

fn combined<B: Clone>(
    inst: &Inst,
    args: &[Shape<B>],
    zeros: &[u32],
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    if let Operation::Compare(what) = inst.sem {
        return compare(inst, what, args, zeros, a);
    }
    let ty = inst.sem.ty();
    let clamps = match inst.sem {
        Operation::Integer(i) => i.op.clamps(),
        Operation::Convert(Convert::Integer { saturate, .. }) => saturate,
        _ => false,
    };
    if ty.kind() == Kind::Float || ty.kind() == Kind::Packed || clamps {
        return match inst.sem {
            Operation::Move(_) if args.len() == 1 && inst.dst.len() == 1 => Some(args[0].clone()),
            _ => None,
        };
    }
    if !matches!(ty.bits(), 32 | 64) {
        return None;
    }
    match inst.sem {
        Operation::Move(_) if args.len() == 1 && inst.dst.len() == 1 => Some(args[0].clone()),
        Operation::Address(address) if !address.op.is_question() => {
            window(address.space).is_none().then(|| args[0].clone())
        }
        Operation::Convert(Convert::Integer { from: s, to: d, .. }) => match (d.bits(), s.bits()) {
            (64, 32) => extend(&args[0], zeros[0], s.is_signed(), 1, a),
            (x, y) if x == y => Some(args[0].clone()),
            _ => None,
        },
        Operation::Integer(what) => integer(inst, what.op, args, zeros, a),
        Operation::Bits(what) => bits(inst, what.op, args, zeros, a),
        _ => None,
    }
}

/// The same for integer arithmetic.
fn integer<B: Clone>(
    inst: &Inst,
    op: IntegerOp,
    args: &[Shape<B>],
    zeros: &[u32],
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    let ty = inst.sem.ty();
    let wide = ty.bits() == 64;
    match op {
        IntegerOp::Add { .. } => sum(wide, false, &args[0], &args[1], a),
        IntegerOp::Sub { .. } => sum(wide, true, &args[0], &args[1], a),
        IntegerOp::Mul(Half::Low) => {
            let (n, by) = factor(inst)?;
            scale(wide, &args[n], by, a)
        }
        IntegerOp::Mad { half: Half::Low, .. } => {
            if let [Shape::Uniform(x), Shape::Uniform(y), z] = args {
                let product = Shape::Uniform(a.product(wide, x, y));
                return sum(wide, false, &product, z, a);
            }
            let (n, by) = factor(inst)?;
            let product = scale(wide, &args[n], by, a)?;
            sum(wide, false, &product, &args[2], a)
        }
        IntegerOp::MulWide | IntegerOp::MadWide if ty.bits() == 32 => {
            let (n, by) = factor(inst)?;
            let by = if ty.is_signed() { i64::from(by as i32) } else { i64::from(by as u32) };
            let product = extend(&args[n], zeros[n], ty.is_signed(), by, a)?;
            if op == IntegerOp::MulWide {
                return Some(product);
            }
            sum(true, false, &product, &args[2], a)
        }
        _ => None,
    }
}

/// The same for bit operations.
fn bits<B: Clone>(
    inst: &Inst,
    op: BitOp,
    args: &[Shape<B>],
    zeros: &[u32],
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    let ty = inst.sem.ty();
    let wide = ty.bits() == 64;
    let amount = || immediate(inst.src.get(1)).filter(|k| (0..i64::from(ty.bits())).contains(k));
    match op {
        BitOp::Shl => scale(wide, &args[0], 1i64.wrapping_shl(amount()? as u32), a),
        BitOp::Shr => {
            let k = amount()? as u32;
            let (base, steps, _) = apart(&args[0], zeros[0])?;
            let base = a.shr(wide, ty.is_signed(), &base, k);
            Some(linear(wide, base, steps.map(|s| s >> k)))
        }
        BitOp::And => bitwise(wide, Bitwise::And, inst, args, zeros, a),
        BitOp::Or => bitwise(wide, Bitwise::Or, inst, args, zeros, a),
        BitOp::Xor => bitwise(wide, Bitwise::Xor, inst, args, zeros, a),
        _ => None,
    }
}

/// Bits of the base and bits of the steps, each by itself.
fn bitwise<B: Clone>(
    wide: bool,
    op: Bitwise,
    inst: &Inst,
    args: &[Shape<B>],
    zeros: &[u32],
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    let (x, y, other) = match args {
        [_, Shape::Uniform(other)] => (0, 1, other),
        [Shape::Uniform(other), _] => (1, 0, other),
        _ => return None,
    };
    let (base, steps, bits) = apart(&args[x], zeros[x])?;
    let ones = (1i64 << bits) - 1;
    let (other, low) = match immediate(inst.src.get(y)) {
        Some(v) => (a.constant(wide, v & !ones), v & ones),
        None if zeros[y] >= bits => (other.clone(), 0),
        None => return None,
    };
    let base = a.bitwise(op, &base, &other);
    let steps = steps.map(|s| match op {
        Bitwise::And => s & low,
        Bitwise::Or => s | low,
        Bitwise::Xor => s ^ low,
    });
    Some(linear(wide, base, steps))
}

/// A comparison of numbers that differ in their low bits only with one at whose low bits nothing is decided: what the
/// base gives is what all lanes get.
fn compare<B: Clone>(
    inst: &Inst,
    what: Compare,
    args: &[Shape<B>],
    zeros: &[u32],
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    let Compared::Integers { bits: width @ (32 | 64), signed } = what.of else { return None };
    if what.packed || what.then.is_some() || inst.dst.len() != 1 {
        return None;
    }
    let (x, y, other) = match args {
        [_, Shape::Uniform(other)] => (0, 1, other),
        [Shape::Uniform(other), _] => (1, 0, other),
        _ => return None,
    };
    let (base, _, bits) = apart(&args[x], zeros[x])?;
    let ones = (1i64 << bits) - 1;
    // Less (and not equal), or greater or equal: no lane has passed a bound that ends in zeros unless the base has.
    let below = match (what.holds.0, x) {
        (0b0001 | 0b0110, 0) | (0b0100 | 0b0011, 1) => true,
        (0b0011 | 0b0100, 0) | (0b0110 | 0b0001, 1) => false,
        _ => return None,
    };
    let decides = if below {
        zeros[y] >= bits
    } else {
        immediate(inst.src.get(y)).is_some_and(|v| v & ones == ones)
    };
    let wide = width == 64;
    decides.then(|| {
        Shape::Uniform(match x {
            0 => a.holds(wide, signed, what.holds, &base, other),
            _ => a.holds(wide, signed, what.holds, other, &base),
        })
    })
}

/// Which factor is not constant, and the constant one.
fn factor(inst: &Inst) -> Option<(usize, i64)> {
    match (immediate(inst.src.first()), immediate(inst.src.get(1))) {
        (_, Some(v)) => Some((0, v)),
        (Some(v), None) => Some((1, v)),
        _ => None,
    }
}

fn sum<B: Clone>(
    wide: bool,
    minus: bool,
    x: &Shape<B>,
    y: &Shape<B>,
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    if let Shape::ScaledAffine { offset, base, steps, scale, signed } = x {
        let Shape::Uniform(u) = y else { return None };
        let offset = if minus { a.sub(wide, offset, u) } else { a.add(wide, offset, u) };
        let (base, steps) = (base.clone(), steps.clone());
        return Some(Shape::ScaledAffine { offset, base, steps, scale: *scale, signed: *signed });
    }
    if let (Shape::Uniform(_), Shape::ScaledAffine { .. }, false) = (x, y, minus) {
        return sum(wide, false, y, x, a);
    }
    let (mut s, t) = (steps_of(x)?, steps_of(y)?);
    let (b, c) = (base_of(x)?, base_of(y)?);
    for (p, q) in s.iter_mut().zip(t) {
        *p = if minus { p.wrapping_sub(q) } else { p.wrapping_add(q) };
    }
    let base = if minus { a.sub(wide, &b, &c) } else { a.add(wide, &b, &c) };
    Some(linear(wide, base, s))
}

fn scale<B: Clone>(
    wide: bool,
    x: &Shape<B>,
    by: i64,
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    if let Shape::ScaledAffine { offset, base, steps, scale, signed } = x {
        return Some(Shape::ScaledAffine {
            offset: a.mul(wide, offset, by),
            base: base.clone(),
            steps: steps.clone(),
            scale: scale.wrapping_mul(by),
            signed: *signed,
        });
    }
    let steps = steps_of(x)?.map(|s| s.wrapping_mul(by));
    let base = a.mul(wide, &base_of(x)?, by);
    Some(linear(wide, base, steps))
}

fn extend<B: Clone>(
    x: &Shape<B>,
    zeros: u32,
    signed: bool,
    scale: i64,
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    match x {
        Shape::Uniform(b) => {
            let e = a.extend(signed, b);
            Some(Shape::Uniform(a.mul(true, &e, scale)))
        }
        Shape::Affine { base, steps } => {
            if let Some((base, steps, _)) = apart(x, zeros) {
                let base = a.extend(signed, &base);
                let base = a.mul(true, &base, scale);
                return Some(linear(true, base, steps.map(|s| s.wrapping_mul(scale))));
            }
            let offset = a.constant(true, 0);
            let (base, steps) = (base.clone(), steps.clone());
            Some(Shape::ScaledAffine { offset, base, steps, scale, signed })
        }
        _ => None,
    }
}

/// How a register is kept: 32 bits and less, 64, or one bit a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Narrow,
    Wide,
    Predicate,
}

impl Class {
    pub(crate) fn of(ty: Scalar) -> Class {
        match ty {
            Scalar::Pred => Class::Predicate,
            t if t.bits() > 32 => Class::Wide,
            _ => Class::Narrow,
        }
    }
}
