//! Replacement kernels that reach the variables of the program they are put into.
//!
//! A kernel of another image has storage of its own for each `__device__` and `__constant__` variable that
//! the image defines. Where the program's image has a variable of the same name, the program's is meant: its
//! host code sets it, its other kernels use it. Two images cannot share a variable, but an address can be
//! handed over: [`rewrite()`] takes the declaration out of the replacement's PTX and makes each use of it one
//! of an address that stands in a table, [`TABLE`], which whoever loads the image fills before the first launch.
//! A table that was not filled holds zeros, and what reads through it faults.
//!
//! Owns: which variables are bound ([`compare()`]) and the rewriting, which goes by words and statements: it knows
//! where names stand and what `.const` means, and no instruction but `mov`, `cvta` and `isspacep`. So PTX that is newer
//! than this crate passes through. Must not know: containers beyond what `cushim_image` tells, CUDA calls.

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
