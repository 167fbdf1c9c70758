//! The properties of an image that rules match.
//!
//! Must not know: rules.

use std::cell::OnceCell;

use cushim_image::inventory::{self, ImageKind};
use cushim_image::{Arch, Limits};
use cushim_rules::Subject;

use crate::dump::hash;
use crate::layouts::Code;

/// A part of a container, with its hash.
struct Part {
    kind: ImageKind,
    arch: Arch,
    hash: String,
}

/// An image, unpacked as far as the rules need it.
pub struct Image<'a> {
    code: &'a Code,
    owner: String,
    parts: OnceCell<Vec<Part>>,
    kernels: OnceCell<Vec<String>>,
}

impl<'a> Image<'a> {
    /// Of this code.
    pub fn new(code: &'a Code) -> Self {
        Image { code, owner: code.owner(), parts: OnceCell::new(), kernels: OnceCell::new() }
    }

    /// The names of its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.get_or_init(|| self.code.kernels()).iter().map(String::as_str)
    }

    fn parts(&self) -> &[Part] {
        self.parts.get_or_init(|| {
            let bytes = self.code.bytes().unwrap_or_default();
            let images = inventory::read(bytes, &Limits::DEFAULT).images;
            let part = |image: inventory::Image<'_>| {
                let hash = image.with_bytes(&Limits::DEFAULT, hash).ok()?;
                Some(Part { kind: image.kind, arch: image.arch, hash })
            };
            images.into_iter().filter_map(part).collect()
        })
    }
}

impl Subject for Image<'_> {
    fn owner(&self) -> &str {
        &self.owner
    }

    fn has_hash(&self, beginning: &str) -> bool {
        self.parts().iter().any(|part| part.hash.starts_with(beginning))
            || self.code.bytes().is_some_and(|bytes| hash(bytes).starts_with(beginning))
    }

    fn has_arch(&self, arch: &str) -> bool {
        // PTX is for compute_NN in the terms of nvcc and cuobjdump; a container says sm_NN for
        // both.
        let virtual_arch = arch.replace("compute_", "sm_");
        self.parts().iter().any(|part| {
            let name = part.arch.to_string();
            match part.kind {
                ImageKind::Ptx => arch.starts_with("compute_") && name == virtual_arch,
                _ => name == arch,
            }
        })
    }
}
