//! Handlers of launches: [`plain`] the runtime's usual call, [`runtime`] its others, [`driver`] the driver's and [`old`]
//! those of long ago.
//!
//! Must not know: how an event is stored.

pub mod driver;
pub mod list;
pub mod old;
pub mod plain;
pub mod runtime;
pub mod shape;
