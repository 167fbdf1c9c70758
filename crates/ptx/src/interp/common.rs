//! State that the warps of a block share.

use super::barrier::Barriers;

/// What the warps of a block share.
pub(super) struct Common {
    pub(super) index: [u32; 3],
    pub(super) shared: Vec<u8>,
    pub(super) barriers: Barriers,
    /// Instructions run so far: the clock.
    pub(super) steps: u64,
}
