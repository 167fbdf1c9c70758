//! How a kernel's lanes run together, before there is any code: what every code generator for warps needs to know.
//!
//! Owns call lowering ([`calls`]: a kernel and what it calls become one function), control regions and where lanes wait
//! ([`plan::region`]), divergence and uniformity of values ([`plan::shape`]: uniform, affine, scaled affine, varying), and
//! which loops may wait for other lanes. The known shape of blocks is an input ([`plan::Layout`]). Must not know any code
//! generator, frames' bytes, helpers, or how anything is run: `tests/layers.rs` looks at the imports.

pub(crate) mod calls;
pub(crate) mod nan;
pub(crate) mod plan;
