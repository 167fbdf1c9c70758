//! The order of rows that the option selects.

/// What rows are sorted by; sizes and counts from the largest down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Sort {
    /// As in the file
    File,
    /// By kind, then architecture
    Kind,
    /// By architecture
    Arch,
    /// By stored size
    Packed,
    /// By unpacked size
    Unpacked,
    /// Kernels by demangled name
    Name,
    /// Kernels by most registers
    Registers,
    /// Kernels by static shared memory
    Shared,
    /// Kernels by stack
    Stack,
    /// Kernels by size of their parameters
    Params,
    /// Kernels by bytes of machine code
    Code,
}

impl Sort {
    pub(super) fn is_of_kernels(self) -> bool {
        !matches!(self, Self::File | Self::Kind | Self::Arch | Self::Packed | Self::Unpacked)
    }
}
