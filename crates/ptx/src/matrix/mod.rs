//! Matrices in the registers of a warp, and their products.
//!
//! Owns the positions of elements ([`fragment`]) and the results of products, to the last bit as an H200 computes
//! them ([`multiply`], [`tensor`]). Must not know how lanes are synchronised.

pub mod fragment;
mod multiply;
mod tensor;

pub use multiply::multiply;
