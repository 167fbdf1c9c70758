//! Archives of a static runtime (`libcudart_static.a`), by which the functions of a stripped runtime are found.
//!
//! Owns: where they are searched: what the user names, the wheels beside the library, toolkits. Must not know: what
//! is in them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use cushim_patch::archive::MAGIC;

use crate::map::Mapping;
use crate::say;

const NAME: &str = "libcudart_static.a";
/// How many folders above a library its `site-packages` may be: `nvidia/curand/lib/`,
/// `cupy/.data/lib/`, `torch/lib/`.
const UP: usize = 4;
/// Where NVIDIA's wheels for CUDA 12 and 13 have it below `site-packages`, and below `site-packages/nvidia`.
const WHEELS: [&str; 5] =
    ["", "cuda_runtime/lib", "nvidia/cuda_runtime/lib", "cu13/lib", "nvidia/cu13/lib"];
/// Where a toolkit has it.
const TOOLKIT: [&str; 3] = ["lib64", "lib", "targets/x86_64-linux/lib"];

/// Existing archives for the library at `path`, the likeliest first.
pub fn archives(path: &Path) -> impl Iterator<Item = Mapping> {
    let is_archive = |mapping: &Mapping| mapping.bytes().starts_with(MAGIC);
    places(path).into_iter().filter_map(move |place| Mapping::open(&place).filter(is_archive))
}

/// The files that CUSHIM_CUDART_STATIC names; and for each folder that it names, and each subfolder, the path that
/// wheels use: `pip install --no-deps --target FOLDER/13.0.96 nvidia-cuda-runtime==13.0.96`.
fn named(value: &OsStr) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in std::env::split_paths(value) {
        if !place.is_dir() {
            found.push(place);
            continue;
        }
        let below = std::fs::read_dir(&place).into_iter().flatten().flatten();
        let mut folders: Vec<_> = below.map(|entry| entry.path()).collect();
        // Later versions first, as folders are named by them.
        folders.sort_by(|a, b| b.cmp(a));
        folders.insert(0, place);
        found.extend(folders.iter().flat_map(|folder| in_wheels(folder)));
    }
    found
}

/// Where NVIDIA's wheels have it below a folder.
fn in_wheels(folder: &Path) -> impl Iterator<Item = PathBuf> {
    WHEELS.iter().map(move |wheel| folder.join(wheel).join(NAME))
}

fn places(path: &Path) -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let named = variable("CUSHIM_CUDART_STATIC").map(|value| named(&value)).unwrap_or_default();
    let wheels = path.ancestors().skip(1).take(UP).flat_map(in_wheels);
    let toolkits = [variable("CUDA_HOME"), variable("CUDA_PATH"), Some("/usr/local/cuda".into())];
    let toolkits = toolkits.into_iter().flatten().flat_map(|toolkit| {
        TOOLKIT.iter().map(|folder| Path::new(&toolkit).join(folder).join(NAME)).collect::<Vec<_>>()
    });
    named.into_iter().chain(say::symbols()).chain(wheels).chain(toolkits).collect()
}
