//! Putting other images and kernels in the place of the program's.
//!
//! Owns the plan of this process (which also loads the tools of `CUSHIM_TOOL`): the rules of the manifest `CUSHIM_REDIRECT`,
//! which the launcher has read and hands over in `CUSHIM_RULES`, and of `CUSHIM_REPLACE`
//! (`KERNEL=FILE`, one a line), what they have matched, and what is said about that. Replacing happens
//! where CUDA learns of an image or a kernel, not where it launches one: the host stub is registered
//! with an image of ours, or the program is given a handle from it. So everything that speaks of the
//! kernel (attributes, occupancy, graphs) speaks of the replacement, and a launch costs nothing more. Only
//! rules with conditions on the launch, or that change it, are asked there ([`launch`]).
//!
//! Must not know: events.

pub mod asked;
pub mod binding;
mod compare;
pub mod driver;
pub mod holder;
pub mod kind;
pub mod launch;
mod layout;
mod nothing;
pub mod place;
mod plan;
mod quiet;
mod registered;
pub mod replacement;
pub mod runtime;
mod say;
mod subject;
pub mod substitute;
mod summary;
mod variant;

pub use plan::{Plan, finish, plan};
