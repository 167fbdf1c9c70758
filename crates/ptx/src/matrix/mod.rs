//! Matrices in the registers of a warp, and their products.
//!
//! Owns where elements lie ([`fragment`]) and what products of matrices are, to the last bit as an H200 computes them
//! ([`multiply`], [`tensor`]). Must not know how lanes come together.

pub mod fragment;
mod multiply;
mod tensor;

pub use multiply::multiply;
