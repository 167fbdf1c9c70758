//! Which runtime functions are ours: each is named here once and hides the one that says "not supported".
//!
//! Must not know: what they do.

pub(super) use super::unsupported::*;
