//! Launches: converts each of CUDA's forms to the driver's.
//!
//! Owns the conversion: of a host stub to the driver's kernel, of the runtime's launch structures to the driver's;
//! and the runtime's own refusals. Must not know: how kernels are loaded ([`super::registry`]).

mod configuration;
mod kernel;
mod several;
mod shape;
#[cfg(test)]
mod tests;

pub use configuration::*;
pub use kernel::*;
pub use several::*;
