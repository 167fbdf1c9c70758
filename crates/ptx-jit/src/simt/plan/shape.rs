//! Shapes of values: the same in all lanes, or differing by known steps.
//!
//! Owns the arithmetic of steps, once: the analysis runs it with bases that
//! are nothing, the emitter with bases that are values of the code. So they
//! agree on which result has which form.

use cushim_ptx::exec::window;
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::{BitOp, Convert, Half, IntegerOp, Operation};
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
    Affine {
        base: B,
        steps: Steps,
        /// Zero bits at the low end of the base.
        zeros: u32,
    },
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

fn zeros_of<B>(f: &Shape<B>) -> u32 {
    match f {
        Shape::Affine { zeros, .. } => *zeros,
        _ => 0,
    }
}

fn linear<B>(wide: bool, base: B, mut steps: [i64; 32], zeros: u32) -> Shape<B> {
    if !wide {
        steps = steps.map(|s| i64::from(s as i32));
    }
    if steps == [0; 32] {
        Shape::Uniform(base)
    } else {
        Shape::Affine { base, steps: Rc::new(steps), zeros }
    }
}

/// The form of a result whose operands do not all have one value, where it is
/// better than [`Shape::Varying`].
pub(crate) fn affine<B: Clone>(
    inst: &Inst,
    args: &[Shape<B>],
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    form(inst, args, a).filter(|f| !matches!(f, Shape::Varying))
}

fn form<B: Clone>(inst: &Inst, args: &[Shape<B>], a: &mut dyn Arithmetic<B>) -> Option<Shape<B>> {
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
            (64, 32) => extend(&args[0], s.is_signed(), 1, a),
            (x, y) if x == y => Some(args[0].clone()),
            _ => None,
        },
        Operation::Integer(what) => integer(inst, what.op, args, a),
        Operation::Bits(what) => bits(inst, what.op, args, a),
        _ => None,
    }
}

/// The same of integer arithmetic.
fn integer<B: Clone>(
    inst: &Inst,
    op: IntegerOp,
    args: &[Shape<B>],
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    let ty = inst.sem.ty();
    let wide = ty.bits() == 64;
    match op {
        IntegerOp::Add { .. } => sum(wide, false, &args[0], &args[1], a),
        IntegerOp::Sub { .. } => sum(wide, true, &args[0], &args[1], a),
        IntegerOp::Mul(Half::Low) => {
            let (x, by) = factor(inst, args)?;
            scale(wide, x, by, a)
        }
        IntegerOp::Mad { half: Half::Low, .. } => {
            if let [Shape::Uniform(x), Shape::Uniform(y), z] = args {
                let product = Shape::Uniform(a.product(wide, x, y));
                return sum(wide, false, &product, z, a);
            }
            let (x, by) = factor(inst, args)?;
            let product = scale(wide, x, by, a)?;
            sum(wide, false, &product, &args[2], a)
        }
        IntegerOp::MulWide | IntegerOp::MadWide if ty.bits() == 32 => {
            let (x, by) = factor(inst, args)?;
            let by = if ty.is_signed() { i64::from(by as i32) } else { i64::from(by as u32) };
            let product = extend(x, ty.is_signed(), by, a)?;
            if op == IntegerOp::MulWide {
                return Some(product);
            }
            sum(true, false, &product, &args[2], a)
        }
        _ => None,
    }
}

/// The same of operations on bits.
fn bits<B: Clone>(
    inst: &Inst,
    op: BitOp,
    args: &[Shape<B>],
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    let ty = inst.sem.ty();
    let wide = ty.bits() == 64;
    match op {
        BitOp::Shl => {
            let by =
                immediate(inst.src.get(1)).filter(|v| (0..i64::from(ty.bits())).contains(v))?;
            scale(wide, &args[0], 1i64.wrapping_shl(by as u32), a)
        }
        BitOp::And => {
            let v = immediate(inst.src.get(1))?;
            let k = (v as u64).trailing_ones();
            let low = k < 32 && v as u64 == (1u64 << k) - 1;
            let steps = steps_of(&args[0])?;
            let fits = steps.iter().all(|s| (0..1i64 << k).contains(s));
            (low && zeros_of(&args[0]) >= k && fits)
                .then(|| linear(wide, a.constant(wide, 0), steps, 63))
        }
        BitOp::Shr => {
            let k = immediate(inst.src.get(1)).filter(|k| (0..32).contains(k))? as u32;
            let steps = steps_of(&args[0])?;
            let fits = steps.iter().all(|s| (0..1i64 << k).contains(s));
            let base = base_of(&args[0])?;
            (zeros_of(&args[0]) >= k && fits)
                .then(|| Shape::Uniform(a.shr(wide, ty.is_signed(), &base, k)))
        }
        _ => None,
    }
}

/// The factor that is not constant, and the one that is.
fn factor<'f, B>(inst: &Inst, args: &'f [Shape<B>]) -> Option<(&'f Shape<B>, i64)> {
    match (immediate(inst.src.first()), immediate(inst.src.get(1))) {
        (_, Some(v)) => Some((&args[0], v)),
        (Some(v), None) => Some((&args[1], v)),
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
    Some(linear(wide, base, s, zeros_of(x).min(zeros_of(y))))
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
    let zeros = zeros_of(x) + if by == 0 { 0 } else { by.trailing_zeros() };
    let base = a.mul(wide, &base_of(x)?, by);
    Some(linear(wide, base, steps, zeros))
}

fn extend<B: Clone>(
    x: &Shape<B>,
    signed: bool,
    scale: i64,
    a: &mut dyn Arithmetic<B>,
) -> Option<Shape<B>> {
    match x {
        Shape::Uniform(b) => {
            let e = a.extend(signed, b);
            Some(Shape::Uniform(a.mul(true, &e, scale)))
        }
        Shape::Affine { base, steps, .. } => {
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
