//! Replacement kernels that access the variables of the program whose kernels they replace.
//!
//! A kernel of another image has its own storage for each `__device__` and `__constant__` variable that the image
//! defines. If the program's image has a variable of the same name, the program's is meant: its host code sets it,
//! its other kernels use it. Two images cannot share a variable, but they can share an address: [`rewrite()`] removes
//! the declaration from the replacement's PTX and replaces each use by an address from a table, [`TABLE`], which the
//! loader of the image fills before the first launch. A table that was not filled contains zeros, and accesses
//! through it fault.
//!
//! Owns: which variables are bound ([`compare()`]) and the rewriting, which works on words and statements: it knows
//! where names occur and what `.const` means, and no instruction but `mov`, `cvta` and `isspacep`. So PTX that is
//! newer than this crate passes through. Must not know: containers beyond what `cushim_image` reads, CUDA calls.

mod body;
mod compare;
mod declare;
mod error;
mod initial;
mod rewrite;
mod serve;
mod theirs;
mod words;

pub use compare::{Bound, Compared, compare};
pub use declare::{Space, Variable, variables};
pub use error::Error;
pub use initial::Fixup;
pub use rewrite::{Rewritten, TABLE, rewrite};
pub use serve::{Part, Service, serve};
pub use theirs::{Theirs, theirs, theirs_of};
