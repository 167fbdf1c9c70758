//! The bodies of the fuzz targets for `cushim-translate`.
//!
//! A function panics only if the code under test breaks a promise.

use cushim_translate::abi::Facts;
use cushim_translate::{Target, amdgpu};

/// Any text as PTX, translated for both wave sizes: each kernel has code or a reason why not. Other tests check that LLVM
/// accepts the code.
pub fn emitted(data: &[u8]) {
    let Ok(module) = cushim_translate::module(&String::from_utf8_lossy(data)) else { return };
    for name in ["gfx90a", "gfx1030"] {
        let Some(target) = Target::from_name(name) else { continue };
        let made = amdgpu::emit(&module, &target);
        let entries = module.functions.iter().filter(|f| f.entry && f.defined).count();
        assert_eq!(made.kernels.len() + made.refused.len(), entries);
        for facts in &made.kernels {
            assert!(!facts.lanes.is_empty() && facts.launch_offset >= facts.parameter_bytes);
        }
        let table = Facts::table(&made.kernels);
        assert_eq!(Facts::read(&table).as_ref(), Some(&made.kernels));
    }
}

/// Any text as a table of kernels.
pub fn table(data: &[u8]) {
    if let Some(all) = Facts::read(&String::from_utf8_lossy(data)) {
        assert_eq!(Facts::read(&Facts::table(&all)), Some(all));
    }
}
