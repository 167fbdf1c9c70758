//! Which events compiled code reports to an observer while it runs.
//!
//! Owns the choice. Must not know how the code does it ([`crate::emit`]), or what the observer looks for
//! ([`cushim_ptx::exec::Watch`]).

/// What code reports; nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Checked {
    /// Accesses of device memory of which not every byte is marked ([`cushim_ptx::exec::Marks`]).
    pub global: bool,
    /// Accesses whose addresses are computed from a parameter and leave what it points into
    /// ([`cushim_ptx::exec::Watch::bounds`]).
    pub bounds: bool,
    /// All accesses of device and shared memory, marked or not.
    pub every: bool,
    /// Accesses of shared memory of which not every byte is marked; with [`Self::every`] all.
    pub shared: bool,
    /// Accesses of local memory.
    pub local: bool,
    /// Arrivals at barriers, fences, and collective instructions.
    pub barriers: bool,
}

impl Checked {
    /// Whether the code is as without checks.
    pub fn is_none(self) -> bool {
        self == Checked::default()
    }
}
