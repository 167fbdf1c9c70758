//! Kernel names for people, and argument values by their C++ type.
//!
//! Owns: demangling ([`Name`]), short names and how they are kept distinct ([`distinct`], [`elide`]), types of
//! parameters ([`Type`]) and values ([`Value`]), and how foreign strings are shown ([`Shown`]). Must not know:
//! events, images, terminals.
//!
//! Names and bytes come from other people's programs: nothing here panics on any of them, and a name that cannot be
//! parsed is returned unchanged.

// It runs in other people's processes: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod demangle;
mod name;
mod narrow;
mod region;
mod scan;
mod shown;
mod types;
mod value;

pub use name::{Name, distinct, elide, in_source};
pub use region::Region;
pub use shown::{Foreign, Shown, lines};
pub use types::{Number, Type};
pub use value::Value;
