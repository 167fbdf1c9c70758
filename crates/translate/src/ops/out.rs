//! Results of operations, and operations on both halves of registers.

use crate::llvm::{Body, Value};

/// Results; most operations have one. They may be narrower or wider than registers, which take their lowest bits, or
/// extend them with zeros.
#[derive(Debug, Clone, Copy)]
pub struct Out(pub Value, pub Option<Value>);

/// An unsupported operation, in words.
pub type Missing = &'static str;

/// An operation on both halves of registers, each by itself: 16 bits of each operand to 16 bits.
pub(super) fn halves(
    b: &mut Body,
    a: [Value; 5],
    mut one: impl FnMut(&mut Body, [Value; 5]) -> Result<Value, Missing>,
) -> Result<Value, Missing> {
    let part = |b: &mut Body, by: u128| {
        a.map(|v| {
            let word = b.fit(v, 32);
            let moved = b.with("lshr", word, by);
            b.fit(moved, 16)
        })
    };
    let low = part(b, 0);
    let low = one(b, low)?;
    let high = part(b, 16);
    let high = one(b, high)?;
    Ok(pair(b, low, high))
}

/// Two values of 16 bits as one of 32.
pub(super) fn pair(b: &mut Body, low: Value, high: Value) -> Value {
    let (low, high) = (b.fit(low, 32), b.fit(high, 32));
    let low = b.with("and", low, 0xffff);
    let high = b.with("shl", high, 16);
    b.op("or", low, high)
}
