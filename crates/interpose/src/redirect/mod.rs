//! Replaces the program's images and kernels.
//!
//! Owns the plan of this process (which also loads the tools of `CUSHIM_TOOL`): the rules of the manifest
//! `CUSHIM_REDIRECT`, which the launcher has read and passes in `CUSHIM_RULES`, and those of `CUSHIM_REPLACE`
//! (`KERNEL=FILE`, one per line); what they have matched, and the messages about that. Replacing happens where CUDA
//! receives an image or a kernel, not at a launch: cushim registers the host stub with the replacement image, or
//! gives the program a handle from it. So everything that concerns the kernel (attributes, occupancy, graphs)
//! concerns the replacement, and a launch costs nothing more. Only rules that have conditions on the launch, or
//! change it, run at a launch ([`launch`]).
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
