//! What stands in the way of a program, as plain values.

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

/// Somebody else who puts functions before those of the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interposer {
    /// Who.
    pub file: String,
    /// What it does and what that means, one sentence.
    pub why: String,
}
