//! The kernels of a program as rules see them.
//!
//! Must not know: rules' actions.

use std::collections::BTreeMap;
use std::path::Path;

use cushim_bind::{Theirs, theirs_of};
use cushim_image::inventory::{self, Image, ImageKind, Trail};
use cushim_image::kernel::Kernel;
use cushim_image::{Limits, ParamLayout};
use cushim_names::Foreign as _;
use cushim_rules::Subject;

use crate::Error;
use crate::images::{Cost, HostFile, Which};

/// A unit that a program registers or loads: a container, or a bare image.
pub struct Container {
    /// The file.
    pub owner: String,
    /// Its images: kind, architecture, content hash.
    images: Vec<(ImageKind, String, String)>,
    /// Its variables.
    pub variables: Theirs,
    /// Its kernels and their parameter layouts, by symbol.
    pub kernels: BTreeMap<String, ParamLayout>,
}

/// The images of a file, none of which is opened yet.
///
/// # Errors
/// Together they would unpack to more than the limits allow: without some of them the answer would
/// be wrong.
pub fn images<'a>(
    file: &'a HostFile,
    path: &Path,
    limits: &Limits,
) -> Result<Vec<Image<'a>>, Error> {
    let images = inventory::read(file.bytes(), limits).images;
    let mut cost = Cost::new(file.bytes().len(), limits);
    for image in &images {
        cost.charge(image, Which::All, limits).map_err(|why| {
            let path = path.shown();
            Error::Usage(format!("{path}: {why}; --max-total MIB allows more"))
        })?;
    }
    Ok(images)
}

/// The containers of a file.
///
/// # Errors
/// As of [`images`].
pub fn containers(file: &HostFile, path: &Path, limits: &Limits) -> Result<Vec<Container>, Error> {
    let mut found: BTreeMap<String, Container> = BTreeMap::new();
    for image in images(file, path, limits)? {
        let container = found.entry(place(&image.trail)).or_insert_with(|| Container {
            owner: path.display().to_string(),
            images: Vec::new(),
            variables: Theirs::default(),
            kernels: BTreeMap::new(),
        });
        let variables = image.with_bytes(limits, |bytes| theirs_of(image.kind, bytes, limits));
        match variables.map_err(|why| why.to_string()).flatten() {
            Ok(variables) => container.variables.add(variables),
            Err(why) => container.variables.unread = Some(why),
        }
        let hash = image.with_bytes(limits, xxhash_rust::xxh3::xxh3_64);
        let hash = hash.map(|hash| format!("{hash:016x}")).unwrap_or_default();
        container.images.push((image.kind, image.arch.to_string(), hash));
        for kernel in kernels(&image, limits) {
            container.kernels.insert(kernel.name, kernel.params);
        }
    }
    Ok(found.into_values().collect())
}

/// The kernels that can be launched; none where the image cannot be opened.
pub fn kernels(image: &Image<'_>, limits: &Limits) -> Vec<Kernel> {
    let mut kernels = image.kernels(limits).unwrap_or_default();
    kernels.retain(|kernel| !kernel.device);
    kernels
}

/// Names a container: the path to an image without its number.
fn place(trail: &Trail) -> String {
    Trail { entry: 0, ..trail.clone() }.to_string()
}

impl Subject for Container {
    fn owner(&self) -> &str {
        &self.owner
    }

    fn has_hash(&self, beginning: &str) -> bool {
        self.images.iter().any(|(_, _, hash)| hash.starts_with(beginning))
    }

    fn has_arch(&self, arch: &str) -> bool {
        let machine = arch.replace("compute_", "sm_");
        self.images.iter().any(|(kind, name, _)| match kind {
            ImageKind::Ptx => arch.starts_with("compute_") && *name == machine,
            _ => name == arch,
        })
    }
}
