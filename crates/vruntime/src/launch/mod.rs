//! Launches: each form that CUDA has, on its way to the driver's.
//!
//! Owns the translation: of a host stub to the driver's kernel, of the runtime's launch structures to the
//! driver's, and what the runtime refuses itself. Must not know: how kernels come to be loaded ([`super::registry`]).

mod configuration;
mod kernel;
mod several;
mod shape;
#[cfg(test)]
mod tests;

pub use configuration::*;
pub use kernel::*;
pub use several::*;
