//! What the boundary calls.
