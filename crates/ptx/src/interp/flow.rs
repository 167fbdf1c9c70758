//! Control flow: where a fragment continues after an instruction.

/// What comes after an instruction.
pub(super) enum Flow {
    /// The next one of the same fragment.
    Next,
    /// Another fragment may be due.
    Switch,
    /// Another warp shall have a turn.
    Yield,
}
