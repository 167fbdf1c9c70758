//! Handlers of launches: [`plain`] is the runtime's usual call, [`runtime`] its other calls, [`driver`] the driver's,
//! and [`old`] those of before CUDA 4.0.
//!
//! Must not know: how an event is stored.

pub mod driver;
pub mod list;
pub mod old;
pub mod plain;
pub mod runtime;
pub mod shape;
