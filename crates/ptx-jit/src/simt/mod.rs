//! The behaviour of a kernel's lanes as warps, before code generation: what every code generator for warps needs.
//!
//! Owns call lowering ([`calls`]: a kernel and its functions become one function), control regions and where lanes
//! wait ([`plan::region`]), divergence and uniformity of values ([`plan::shape`]: uniform, affine, scaled affine,
//! varying), and which loops may wait for other lanes. The known block layout is an input ([`plan::Layout`]). Must
//! not know any code generator, frame layouts, helpers, or how anything is run: `tests/layers.rs` checks the imports.

pub(crate) mod calls;
pub(crate) mod nan;
pub(crate) mod plan;
