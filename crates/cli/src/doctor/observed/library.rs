//! What works on each backend with a library that a program loaded.
//!
//! Owns: the rules. Must not know: how the run was observed, or how its findings are shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cushim_image::Limits;
use cushim_image::inventory::{self, ImageKind};
use serde::Serialize;

use crate::doctor::cuda::{self, Part, What};
use crate::doctor::elf;
use crate::doctor::symbols;
use crate::doctor::verdict::Verdict::{self, No, Partly, Yes};
use crate::images::HostFile;

/// A library, or the program, that has to do with CUDA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Library {
    /// The file.
    pub file: PathBuf,
    /// With NVIDIA's own CUDA.
    pub native: Verdict,
    /// With cushim's runtime over NVIDIA's driver.
    pub driver: Verdict,
    /// On the CPU.
    pub cpu: Verdict,
    /// On an AMD GPU.
    pub hsa: Verdict,
    /// Why, one clause.
    pub why: String,
    /// Its device code: how many containers or bare images, and how many of them have PTX.
    pub code: Code,
}

/// Device code in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Code {
    /// Containers with code for NVIDIA's GPUs, or images outside of any.
    pub all: usize,
    /// Those that have PTX.
    pub with_ptx: usize,
    /// Images of machine code in all.
    pub cubins: usize,
    /// Places that could not be read.
    pub problems: usize,
}

/// The role of a library, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Runtime,
    Driver,
    Management,
    Compiler,
    Transforms,
    Other,
}

/// NVIDIA's compilers that cushim makes return PTX (`crates/compilers`).
const COMPILERS: [&str; 2] = ["libnvrtc.so", "libnvJitLink.so"];
/// cuFFT, whose plans and transforms are cushim's on the CPU (`crates/fft`).
const TRANSFORMS: &str = "libcufft.so";
/// NVIDIA's management library.
const MANAGEMENT: &str = "libnvidia-ml.so";

fn role(name: &str) -> Role {
    if cuda::runtime_major(name).is_some() {
        Role::Runtime
    } else if cuda::is_driver(name) {
        Role::Driver
    } else if name.starts_with(MANAGEMENT) {
        Role::Management
    } else if COMPILERS.iter().any(|begin| name.starts_with(begin)) {
        Role::Compiler
    } else if name.starts_with(TRANSFORMS) {
        Role::Transforms
    } else {
        Role::Other
    }
}

/// Examines the file at `path`; none where it has nothing to do with CUDA or cannot be read.
/// `named`: files with symbols.
pub fn look(path: &Path, named: &[PathBuf]) -> Option<Library> {
    let object = elf::read(path).ok()?;
    let parts = cuda::parts(&object, false);
    let role = role(&object.name());
    let is_concerned = |part: &Part| !matches!(part.what, What::Hip);
    if role == Role::Other && !parts.iter().any(is_concerned) {
        return None;
    }
    let has_code = object.device_code > 0 || object.offload > 0;
    let code = if has_code && role == Role::Other { code(path) } else { Code::default() };
    let lost = if role == Role::Other { symbols::runtime_inside(path, named) } else { None };
    let ([native, driver, cpu, hsa], why) = judge(role, lost, code);
    Some(Library { file: path.to_owned(), native, driver, cpu, hsa, why, code })
}

fn code(path: &Path) -> Code {
    let Ok(file) = HostFile::open(path) else { return Code::default() };
    let mut containers: BTreeMap<u64, bool> = BTreeMap::new();
    let mut cubins = 0;
    let inventory = inventory::read(file.bytes(), &Limits::DEFAULT);
    let problems = inventory.problems.len();
    for image in inventory.images {
        let is_ptx = image.kind == ImageKind::Ptx;
        if !is_ptx && image.kind != ImageKind::Cubin {
            continue;
        }
        let container = image.trail.containers.last().map_or(image.place.start, |c| c.offset);
        *containers.entry(container).or_default() |= is_ptx;
        cubins += usize::from(!is_ptx);
    }
    let with_ptx = containers.values().filter(|has_ptx| **has_ptx).count();
    Code { all: containers.len(), with_ptx, cubins, problems }
}

/// The verdicts in the order native, driver, cpu, hsa. `lost`: for a runtime inside, whether its
/// symbols were not found.
fn judge(role: Role, lost: Option<bool>, code: Code) -> ([Verdict; 4], String) {
    let said = |verdicts, why: &str| (verdicts, why.to_owned());
    match role {
        Role::Runtime => return said([Yes; 4], "cushim's takes its place on driver, cpu and hsa"),
        Role::Driver => return said([Yes; 4], "cushim's takes its place on cpu and hsa"),
        Role::Management => {
            return said([Yes, Yes, Yes, No], "cushim's takes its place on cpu");
        }
        Role::Compiler => {
            return said([Yes, Yes, Yes, Partly], "on cpu, it gives PTX instead of machine code");
        }
        Role::Transforms => {
            return said([Yes, Yes, Yes, No], "on cpu, its plans and transforms are cushim's");
        }
        Role::Other => {}
    }
    if lost == Some(true) {
        let why =
            "its CUDA runtime is inside and has no symbols: on cpu and hsa it finds no driver";
        return said([Yes, Yes, No, No], why);
    }
    let led = if lost.is_some() { "its CUDA runtime is led to cushim's; " } else { "" };
    let Code { all, with_ptx, cubins, problems } = code;
    match (all, with_ptx) {
        _ if problems > 0 => (
            [Yes, Yes, Partly, Partly],
            format!(
                "{led}its device code cannot be read in {problems} places (`cushim doctor --backend cpu` names them)"
            ),
        ),
        (0, _) if lost.is_none() => said([Yes; 4], "no device code of its own"),
        (0, _) => said([Yes; 4], "its CUDA runtime is led to cushim's"),
        (_, 0) => (
            [Yes, Yes, No, No],
            format!("{led}machine code only ({cubins} images): kernels need PTX there"),
        ),
        (all, with_ptx) if all == with_ptx => {
            ([Yes; 4], format!("{led}all of its device code is there as PTX"))
        }
        _ => (
            [Yes, Yes, Partly, Partly],
            format!("{led}PTX in {with_ptx} of {all} containers of device code"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        let code = |all, with_ptx| Code { all, with_ptx, cubins: all, problems: 0 };
        let cpu = |lost, code| judge(Role::Other, lost, code).0[2];
        assert_eq!(cpu(None, code(3, 3)), Yes);
        assert_eq!(cpu(Some(false), code(3, 3)), Yes);
        assert_eq!(cpu(Some(true), code(3, 3)), No);
        assert_eq!(cpu(None, code(3, 2)), Partly);
        assert_eq!(cpu(None, code(3, 0)), No);
        assert_eq!(cpu(None, Code::default()), Yes);
        assert_eq!(cpu(None, Code { problems: 1, ..code(3, 3) }), Partly);
        assert_eq!(judge(Role::Compiler, None, Code::default()).0, [Yes, Yes, Yes, Partly]);
        assert_eq!(judge(Role::Other, Some(true), code(1, 1)).0[1], Yes);
        assert_eq!(judge(Role::Transforms, Some(true), code(1, 0)).0, [Yes, Yes, Yes, No]);
    }

    #[test]
    fn names_tell_roles() {
        assert_eq!(role("libcufft.so.12"), Role::Transforms);
        assert_eq!(role("libcufftw.so.12"), Role::Other);
        assert_eq!(role("libnvrtc.so.12"), Role::Compiler);
        assert_eq!(role("libcublas.so.12"), Role::Other);
    }
}
