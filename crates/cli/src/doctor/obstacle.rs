//! Obstacles to tracing a program, as plain values.

use serde::Serialize;

/// Something that keeps calls away from the preloaded library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// A word for it.
    pub name: &'static str,
    /// Nothing can be traced because of it.
    pub blocks: bool,
    /// What was found and what it means, one sentence.
    pub why: String,
}

/// Another library that interposes functions of the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interposer {
    /// The library.
    pub file: String,
    /// What it does and what that means, one sentence.
    pub why: String,
}
