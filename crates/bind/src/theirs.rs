//! The variables of the program's image whose kernel is replaced.
//!
//! Must not know: the replacement.

use std::collections::BTreeMap;

use cushim_image::inventory::{self, ImageKind};
use cushim_image::{Cubin, Limits, amdgpu, ptx};

use crate::declare::Space;

/// The variables of a program's image by name: space and size, several where its parts differ. A
/// size of 0 means unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Theirs {
    /// The variables.
    pub variables: BTreeMap<String, Vec<(Space, u64)>>,
    /// Why a part of it was not read.
    pub unread: Option<String>,
}

/// The variables in `bytes`: PTX, a cubin, or any container.
pub fn theirs(bytes: &[u8], limits: &Limits) -> Theirs {
    let found = inventory::read(bytes, limits);
    let mut theirs = Theirs::default();
    for image in &found.images {
        let part = image.with_bytes(limits, |bytes| theirs_of(image.kind, bytes, limits));
        match part {
            Ok(Ok(part)) => theirs.add(part),
            Ok(Err(why)) => theirs.unread = Some(why),
            Err(why) => theirs.unread = Some(why.to_string()),
        }
    }
    if let (true, Some(problem)) = (found.images.is_empty(), found.problems.first()) {
        theirs.unread = Some(problem.error.to_string());
    }
    theirs
}

/// The variables of one image.
///
/// # Errors
/// Why it cannot be read.
pub fn theirs_of(kind: ImageKind, bytes: &[u8], limits: &Limits) -> Result<Theirs, String> {
    let mut theirs = Theirs::default();
    match kind {
        ImageKind::Ptx => {
            for variable in ptx::scan(bytes, limits).map_err(|e| e.to_string())?.globals {
                let space = match variable.space.as_str() {
                    "const" => Space::Const,
                    "global" | "tex" => Space::Global,
                    _ => continue,
                };
                // `[]` with an initialiser has a size that the scan does not count.
                theirs.put(variable.name, space, variable.size);
            }
        }
        ImageKind::Cubin => {
            let cubin = Cubin::read(bytes, limits).map_err(|e| e.to_string())?;
            for variable in cubin.globals(limits).map_err(|e| e.to_string())? {
                let space = match variable.space.as_str() {
                    "global" | "managed" => Space::Global,
                    "constant3" => Space::Const,
                    _ => continue,
                };
                theirs.put(variable.name, space, variable.size);
            }
        }
        ImageKind::AmdgpuObject => {
            for variable in amdgpu::globals(bytes, limits).map_err(|e| e.to_string())? {
                theirs.put(variable.name, Space::Global, variable.size);
            }
        }
        kind => return Err(format!("variables cannot be read from {kind}")),
    }
    Ok(theirs)
}

impl Theirs {
    fn put(&mut self, name: String, space: Space, size: u64) {
        let known = self.variables.entry(name).or_default();
        if !known.contains(&(space, size)) {
            known.push((space, size));
        }
    }

    /// Those of another part of the image.
    pub fn add(&mut self, other: Theirs) {
        for (name, known) in other.variables {
            for (space, size) in known {
                self.put(name.clone(), space, size);
            }
        }
        self.unread = self.unread.take().or(other.unread);
    }
}
