//! The GPUs and their properties.
//!
//! Owns: the models, and `CUSHIM_GPUS`, which names one for each GPU (`gfx90a,gfx1030`). Must not know: structures of
//! the driver's library.

use std::sync::OnceLock;

use cushim_amdgpu::target::Isa;

/// The properties of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// As LLVM names it.
    pub name: &'static str,
    /// Its instruction set.
    pub isa: Isa,
    /// Its number in three parts: gfx 9.0.10.
    pub version: [u32; 3],
    /// PCI's number of the device.
    pub device: u16,
    /// Lanes of a wave.
    pub lanes: u32,
    /// SIMDs of a compute unit.
    pub simds: u32,
    /// Its SRAM has ECC.
    pub ecc: bool,
    /// Vector and scalar registers of a SIMD, in bytes.
    pub registers: [u32; 2],
}

const MODELS: [Model; 2] = [
    Model {
        name: "gfx90a",
        isa: Isa::Cdna2,
        version: [9, 0, 10],
        device: 0x740f,
        lanes: 64,
        simds: 4,
        ecc: true,
        registers: [512 * 1024, 12_800],
    },
    Model {
        name: "gfx1030",
        isa: Isa::Rdna2,
        version: [10, 3, 0],
        device: 0x73bf,
        lanes: 32,
        simds: 2,
        ecc: false,
        registers: [512 * 1024, 16_384],
    },
];

/// The most GPUs.
pub const MOST: usize = 8;

/// The GPUs in a list of names; a gfx90a without a list, or for unknown names.
pub fn read(names: Option<&str>) -> Vec<Model> {
    let named = |name: &str| MODELS.iter().find(|model| model.name == name.trim()).copied();
    let all: Option<Vec<Model>> = names.unwrap_or("").split(',').map(named).collect();
    let mut all = all.unwrap_or_else(|| vec![MODELS[0]]);
    all.truncate(MOST);
    all
}

/// All GPUs; the first one's node is 1.
pub fn all() -> &'static [Model] {
    static ALL: OnceLock<Vec<Model>> = OnceLock::new();
    ALL.get_or_init(|| read(std::env::var("CUSHIM_GPUS").ok().as_deref()))
}

/// The GPU of a node.
pub fn of(node: u32) -> Option<&'static Model> {
    all().get((node as usize).checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_gpus() {
        let names = |text| read(text).iter().map(|model| model.name).collect::<Vec<_>>();
        assert_eq!(names(None), ["gfx90a"]);
        assert_eq!(names(Some("gfx1030")), ["gfx1030"]);
        assert_eq!(names(Some("gfx90a, gfx1030,gfx90a")), ["gfx90a", "gfx1030", "gfx90a"]);
        assert_eq!(names(Some("gfx1100")), ["gfx90a"]);
        assert_eq!(read(Some(&["gfx90a"; 9].join(","))).len(), MOST);
    }
}
