//! Redirection rules: which kernels and images are replaced, and by what.
//!
//! Owns the structure of rules, deciding whether one matches, comparing what two kernels wrote, and the compiled form
//! in which the launcher passes rules to the library ([`compiled`]). Must not know: the language of manifests
//! (`crates/manifest`), containers, CUDA calls, how a replacement is carried out.

mod compare;
pub mod compiled;
mod error;
mod matching;
mod rule;

pub use compare::{Compare, Difference, Element, Keep};
pub use error::Error;
pub use matching::{Condition, Match, Names, Subject};
pub use rule::{Action, LaunchShape, OnFailure, Rule};
