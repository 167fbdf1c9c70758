//! Sizes and alignments of variables, and their limits.

use crate::ast;
use crate::error::Error;

/// Bound on what one variable may take, in bytes: more than any device has.
const MAX_SIZE: u64 = 1 << 40;
/// Bound on local memory and parameters, in bytes.
pub(super) const MAX_LOCAL: u64 = 1 << 24;

/// Size of a variable in bytes, by its type and dimensions.
pub(super) fn size(v: &ast::Variable<'_>) -> Result<u64, Error> {
    let mut size = u64::from(v.ty.bytes()) * u64::from(v.vector);
    for d in &v.dims {
        size = size.saturating_mul(d.unwrap_or(0));
    }
    if size > MAX_SIZE {
        return Err(Error::TooLarge {
            pos: v.pos,
            what: "the size of a variable",
            found: size,
            limit: MAX_SIZE,
        });
    }
    Ok(size)
}

/// Alignment of a variable in bytes.
pub(super) fn align(v: &ast::Variable<'_>) -> u32 {
    v.align.unwrap_or(1).max((v.ty.bytes() * v.vector).next_power_of_two())
}

/// The next multiple of `align`, a power of two.
pub(super) fn align_up(offset: u64, align: u32) -> u64 {
    offset.next_multiple_of(u64::from(align.max(1)))
}
