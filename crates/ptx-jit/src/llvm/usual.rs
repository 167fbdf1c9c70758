//! The approximate functions for usual operands ([`cushim_ptx::alu::sfu::usual`]), for all lanes.
//!
//! Owns the test for usual operands, and the steps from the operand to the polynomial and on to the result: about two
//! thirds of the instructions of [`super::sfu`]. Must not know instructions, or what is done for other operands.

use super::sfu::{Function, ONE, SIGN, Unit, c};
use cushim_ptx::alu::sfu::Interpolated;
use cushim_translate::llvm::{Body, Type, Value};

const FRACTION: u128 = (ONE - 1) as u128;

/// Whether each lane's operand is usual; `None`: the function has no short way.
pub(super) fn are_usual(b: &mut Body, what: Function, x: Value) -> Option<Value> {
    let (signed, least, most) = match what {
        Function::Ex2 => (true, 0, 0x42fc_0000),
        Function::Rcp => (true, ONE, 253 << 23),
        Function::Rsqrt | Function::Sqrt | Function::Lg2 => (false, ONE, 0x7f80_0000),
        Function::Sin | Function::Cos => return None,
    };
    let x = if signed { b.with("and", x, (!SIGN).into()) } else { x };
    let x = if least == 0 { x } else { b.op("sub", x, c(least)) };
    Some(b.icmp_with("ult", x, (most - least).into()))
}

/// The result for usual operands, as bits.
pub(super) fn of_usual(b: &mut Body, what: Function, x: Value) -> Value {
    let mut u = Unit { b };
    match what {
        Function::Ex2 => u.usual_ex2(x),
        Function::Rcp => u.usual_rcp(x),
        Function::Rsqrt => u.usual_rsqrt(x),
        Function::Sqrt => u.usual_sqrt(x),
        _ => u.logarithm(x),
    }
}

/// The quotient for a usual divisor; `ftz`: subnormal numbers are zeros.
pub(super) fn usual_quotient(b: &mut Body, ftz: bool, x: Value, y: Value) -> Value {
    let mut u = Unit { b };
    let flush = |u: &mut Unit<'_>, v: Value| if ftz { u.flush(v) } else { v };
    let y = u.usual_rcp(y);
    let (x, y) = (flush(&mut u, x), u.b.bits_as(y, Type::Float));
    let v = u.product(x, y);
    flush(&mut u, v)
}

impl Unit<'_> {
    fn usual_ex2(&mut self, x: Value) -> Value {
        // With 23 fraction bits, cut off.
        let number = self.b.bits_as(x, Type::Float);
        let number = self.b.op("fmul", number, Value::float(8_388_608.0));
        let fixed = self.b.cast("fptosi", number, Type::Int(32));
        // A negative number that is not whole has all bits inverted.
        let rest = self.b.with("and", fixed, FRACTION);
        let whole = self.b.icmp_with("eq", rest, 0);
        let less = self.b.with("ashr", fixed, 31);
        let less = self.b.select(whole, c(0), less);
        let fixed = self.b.op("add", fixed, less);
        let fraction = self.b.with("and", fixed, FRACTION);
        let split = self.split(fraction);
        let v = self.narrow_sum(Interpolated::Ex2, split, [13, 0], 0x77e2, 15);
        let power = self.b.with("and", fixed, (!(ONE - 1)).into());
        let v = self.b.op("add", v, power);
        self.b.op("add", v, c((127 << 23) - ONE))
    }

    fn usual_rcp(&mut self, x: Value) -> Value {
        let fraction = self.b.with("and", x, FRACTION);
        let v = self.reciprocal(fraction);
        let e = self.b.with("and", x, 0x7f80_0000);
        let power = self.b.op("sub", c((253 << 23) - ONE), e);
        let v = self.b.op("add", power, v);
        let sign = self.b.with("and", x, SIGN.into());
        self.b.op("or", v, sign)
    }

    /// The 24 bits whose root is taken: the highest one is set if the biased exponent is even, for a fraction from 2
    /// to 4.
    fn radicand(&mut self, x: Value) -> Value {
        let v = self.b.op("xor", x, c(ONE));
        self.b.with("and", v, (2 * ONE - 1).into())
    }

    /// Half the power of two, as an exponent without offset.
    fn half(&mut self, x: Value) -> Value {
        let v = self.b.op("sub", x, c(127 << 23));
        let v = self.b.with("ashr", v, 1);
        self.b.with("and", v, (!(ONE - 1)).into())
    }

    fn usual_rsqrt(&mut self, x: Value) -> Value {
        let fraction = self.radicand(x);
        let v = self.inverse_root(fraction);
        let half = self.half(x);
        let power = self.b.op("sub", c((126 << 23) - ONE), half);
        self.b.op("add", power, v)
    }

    fn usual_sqrt(&mut self, x: Value) -> Value {
        let fraction = self.radicand(x);
        let split = self.split(fraction);
        let v = self.narrow_sum(Interpolated::Sqrt, split, [15, 0], 0xffff, 17);
        let half = self.half(x);
        let power = self.b.op("add", half, c((127 << 23) - ONE));
        self.b.op("add", power, v)
    }
}
