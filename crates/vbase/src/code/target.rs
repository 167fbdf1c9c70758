//! The kinds of code that a device accepts.
//!
//! Must not know: which image it gets ([`super::choose`]).

use cushim_accel::{Accelerator, ImageKind};

/// The code that a device takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Compute capability: major, minor.
    pub capability: (u32, u32),
    /// It takes NVIDIA's machine code.
    pub cubin: bool,
    /// It takes PTX.
    pub ptx: bool,
    /// PTX for later architectures is taken if there is no other: it is not compiled for a GPU that
    /// may lack features, and kernels that cannot be run are refused one by one.
    pub later: bool,
    /// The instruction sets of AMD's whose code objects it takes ([`cushim_accel::Device::isas`]).
    pub isas: &'static [String],
}

impl Target {
    /// A GPU under NVIDIA's driver.
    pub fn nvidia(major: u32, minor: u32) -> Target {
        Target { capability: (major, minor), cubin: true, ptx: true, later: false, isas: &[] }
    }

    /// A device of an accelerator.
    pub fn of(accelerator: &dyn Accelerator, device: usize) -> Target {
        let cubin = accelerator.accepts(ImageKind::Cubin);
        let device = accelerator.devices().get(device);
        let capability = device.map_or((0, 0), |d| d.capability);
        let isas = device.map_or(&[][..], |d| d.isas);
        Target { capability, cubin, ptx: accelerator.accepts(ImageKind::Ptx), later: !cubin, isas }
    }

    /// The architecture's number: 80 for 8.0, 120 for 12.0.
    pub fn number(&self) -> u32 {
        self.capability.0 * 10 + self.capability.1
    }
}
