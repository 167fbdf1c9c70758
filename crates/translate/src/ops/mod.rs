//! Operations in LLVM IR: pure ones, from operands' bits to results' bits.
//!
//! Owns the meaning of [`cushim_ptx::sem`] in LLVM IR, bit for bit as in [`cushim_ptx::alu`], with the exceptions
//! that the files name. It uses only LLVM's own instructions and intrinsics, and does not depend on the number of
//! lanes of a value, so that compilers for GPUs and CPUs share it. Must not know registers, memory, control flow.

mod approx;
mod bits;
mod compare;
mod convert;
mod directed;
mod float;
mod format;
mod integer;
mod out;
mod round;
mod video;

use crate::llvm::{Body, Value};
pub use compare::integers;
use cushim_ptx::sem::{Float, Operation};
use cushim_ptx::soft::Format;
pub use out::{Missing, Out};

/// As [`eval`] for single-precision arithmetic whose NaNs may have any bits: nothing observes the bits of an
/// operand's or the result's NaN.
///
/// # Errors
/// As [`eval`].
pub fn with_any_nan(b: &mut Body, what: Float, operands: &[Value]) -> Result<Value, Missing> {
    let given = |n: usize| operands.get(n).copied().unwrap_or(Value::int(64, 0));
    float::with_any_nan(b, what, std::array::from_fn(given))
}

/// Every NaN of singles becomes the one that NVIDIA's devices give.
pub fn canonical(b: &mut Body, v: Value) -> Value {
    format::canonical(b, v, Format::F32)
}

/// Computes a pure operation ([`Operation::is_pure`]). Operands are integers of any width: bits above the type are
/// truncated, missing ones are zero. `width` is that of the first result's register.
///
/// # Errors
/// The part that is not translated.
pub fn eval(
    b: &mut Body,
    operation: &Operation,
    width: u32,
    operands: &[Value],
) -> Result<Out, Missing> {
    let given = |n: usize| operands.get(n).copied().unwrap_or(Value::int(64, 0));
    let a: [Value; 5] = std::array::from_fn(given);
    let one = |v: Value| Out(v, None);
    Ok(match *operation {
        Operation::Integer(what) => integer::eval(b, what, a),
        Operation::Bits(what) => bits::eval(b, what, a),
        Operation::Float(what) => one(float::eval(b, what, a)?),
        Operation::Convert(what) => one(convert::eval(b, what, a)?),
        Operation::Compare(what) => compare::compare(b, what, a),
        Operation::Set(what) => one(compare::set(b, what, a)),
        Operation::Select(_) => {
            let (c, x, y) = (compare::truth(b, a[2]), b.fit(a[0], width), b.fit(a[1], width));
            one(b.select(c, x, y))
        }
        Operation::SelectBySign { by, .. } => one(compare::select_by_sign(b, by, width, a)),
        Operation::Test(what) => one(compare::test(b, what, a[0])),
        Operation::Video(what) => one(video::eval(b, what, a)?),
        _ => return Err("no operation that computes"),
    })
}
