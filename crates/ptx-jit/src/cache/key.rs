//! The key of cached code: a hash of everything that the code depends on.
//!
//! Owns the list of these things. Must not know: files.

use crate::simt::plan::Layout;
use crate::source::Source;
use sha2::{Digest, Sha256};
use std::hash::{Hash, Hasher};

/// How names of files end.
pub(super) const ENDING: &str = ".code";

/// SHA-256 of what code is made of, and by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) [u8; 32]);

/// Takes what the derived `Hash` gives, which is every field with its length.
struct Strong(Sha256);

impl Hasher for Strong {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Not the way to the result.
    fn finish(&self) -> u64 {
        0
    }
}

impl Key {
    /// The key of a kernel for a block layout, on this machine; for LLVM's code with LLVM's version.
    pub(crate) fn of(source: &Source, layout: Layout, llvm: Option<[u32; 3]>) -> Key {
        let mut hash = Strong(Sha256::new());
        env!("CUSHIM_JIT_SOURCES").hash(&mut hash);
        cranelift_codegen::VERSION.hash(&mut hash);
        for isa in [&source.quick, &source.best] {
            // The triple, code generator settings, and the processor features that the code may use.
            isa.triple().to_string().hash(&mut hash);
            isa.flags().to_string().hash(&mut hash);
            for value in isa.isa_flags() {
                value.to_string().hash(&mut hash);
            }
        }
        (layout, llvm).hash(&mut hash);
        source.checked.hash(&mut hash);
        crate::warp::INTERFACE.hash(&mut hash);
        let module = &source.module;
        (source.function(), &source.lowered.activations, source.lowered.moving).hash(&mut hash);
        source.kernel.hash(&mut hash);
        cushim_ptx::exec::shared_layout(module, source.kernel).hash(&mut hash);
        // Calls are compiled by what their functions are called.
        for f in &module.functions {
            (&f.name, f.entry, f.defined, &f.params, &f.returns).hash(&mut hash);
        }
        Key(hash.0.finalize().into())
    }

    /// As the name of a file.
    pub(crate) fn name(&self) -> String {
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        hex + ENDING
    }
}
