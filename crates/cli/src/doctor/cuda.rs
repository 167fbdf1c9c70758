//! The CUDA libraries that a program and its libraries contain.
//!
//! Owns: telling a shared runtime from a static one, and its major. Must not know: how libraries are found, or what
//! follows for tracing.

use std::path::PathBuf;

use serde::Serialize;

use super::elf::{Elf, Kind};

/// One CUDA part of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A libcudart that is loaded by name.
    SharedRuntime,
    /// A libcudart inside this file.
    StaticRuntime,
    /// libcuda, needed by name.
    Driver,
    /// libcuda, loaded while the program runs.
    DriverLoaded,
    /// LLVM's OpenMP or new-driver offload images and entry points.
    LlvmOffload,
    /// AMD device code.
    Hip,
    /// NVIDIA device code, registered with a runtime of another file.
    DeviceCode,
}

/// A CUDA part and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What it is.
    pub what: What,
    /// The runtime's major version, where it can be told.
    pub major: Option<u32>,
    /// The file that carries it; for a library that was not found, its name.
    pub file: PathBuf,
    /// The file is the program itself, not a library.
    pub in_program: bool,
    /// The file was found; missing ones are listed too.
    pub found: bool,
    /// It is stripped.
    pub stripped: bool,
    /// Bytes of NVIDIA device code in that file.
    pub device_code: u64,
}

/// The parts in one file; `program`: it is the program itself.
pub fn parts(object: &Elf, program: bool) -> Vec<Part> {
    let part = |what, major| Part {
        what,
        major,
        file: object.path.clone(),
        in_program: program && object.kind != Kind::Library,
        found: true,
        stripped: object.stripped,
        device_code: object.device_code,
    };
    let name = object.name();
    if let Some(major) = runtime_major(&name) {
        return vec![part(What::SharedRuntime, Some(major))];
    }
    if is_driver(&name) {
        return vec![part(What::Driver, None)];
    }
    let mut parts = Vec::new();
    if has_static_runtime(object) {
        parts.push(part(What::StaticRuntime, static_major(object)));
    } else if loads_driver(object) {
        parts.push(part(What::DriverLoaded, None));
    }
    if object.offload > 0 || object.imports.contains("__tgt_target_kernel") {
        parts.push(part(What::LlvmOffload, None));
    }
    if object.hip_code > 0 {
        parts.push(part(What::Hip, None));
    }
    if object.device_code > 0 && parts.is_empty() {
        parts.push(part(What::DeviceCode, None));
    }
    parts
}

/// The part that a needed but missing library would have been.
pub fn missing(name: &str) -> Option<Part> {
    let (what, major) = match runtime_major(name) {
        Some(major) => (What::SharedRuntime, Some(major)),
        None if is_driver(name) => (What::Driver, None),
        None => return None,
    };
    Some(Part {
        what,
        major,
        file: PathBuf::from(name),
        in_program: false,
        found: false,
        stripped: false,
        device_code: 0,
    })
}

/// Whether a file is a CUDA runtime or has one inside.
pub fn has_runtime(object: &Elf) -> bool {
    runtime_major(&object.name()).is_some() || has_static_runtime(object)
}

/// 12 of `libcudart.so.12`.
pub fn runtime_major(name: &str) -> Option<u32> {
    name.strip_prefix("libcudart.so.")?.split('.').next()?.parse().ok()
}

/// Whether a library of this name is the driver.
pub fn is_driver(name: &str) -> bool {
    name == "libcuda.so" || name.starts_with("libcuda.so.")
}

/// A file has the registration functions inside if it registers device code and does not import
/// them; symbols, if any, show it directly.
fn has_static_runtime(object: &Elf) -> bool {
    let own = object.defines.contains("__cudaRegisterFatBinary")
        && !object.exports.contains("__cudaRegisterFatBinary");
    own || object.strings.contains("cuLaunchCooperativeKernelMultiDevice")
        && asks_driver(object)
        && object.wants.runtime == 0
        || object.registers && object.wants.runtime == 0 && asks_driver(object)
}

fn asks_driver(object: &Elf) -> bool {
    let has = |name| object.strings.contains(name);
    (has("libcuda.so.1") || has("libcuda.so"))
        && (has("cuGetProcAddress") || has("cuGetProcAddress_v2"))
}

/// By symbols (`__cudaRegisterTexture` ended with 12, `cudaGetDeviceProperties_v2` is in 12 only),
/// else by the names of driver functions that the runtime holds as strings: libraries came with 12,
/// the multi-device launch ended with 13.
fn static_major(object: &Elf) -> Option<u32> {
    let symbol = |name| object.defines.contains(name);
    let string = |name| object.strings.contains(name);
    if symbol("__cudaRegisterFatBinary") {
        return match (
            symbol("__cudaRegisterTexture"),
            symbol("cudaGetDeviceProperties_v2"),
            symbol("__cudaLaunchKernel"),
        ) {
            (true, _, _) => Some(11),
            (_, true, _) => Some(12),
            (_, _, true) => Some(13),
            _ => None,
        };
    }
    match (string("cuLibraryLoadData"), string("cuLaunchCooperativeKernelMultiDevice")) {
        (false, true) => Some(11),
        (true, true) => Some(12),
        (true, false) => Some(13),
        (false, false) => None,
    }
}

fn loads_driver(object: &Elf) -> bool {
    let named = object.strings.contains("libcuda.so.1")
        || object.strings.contains("libcuda.so")
        || object.driver_path.is_some();
    named && object.imports.contains("dlopen")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(runtime_major("libcudart.so.11.0"), Some(11));
        assert_eq!(runtime_major("libcudart.so.13"), Some(13));
        assert_eq!(runtime_major("libcudart.so"), None);
        assert!(is_driver("libcuda.so.1") && !is_driver("libcudart.so.12"));
    }

    fn with_symbols(names: &[&'static str]) -> Elf {
        Elf { defines: names.iter().copied().collect(), ..Elf::default() }
    }

    #[test]
    fn majors_by_symbols() {
        let base = "__cudaRegisterFatBinary";
        let major = |names: &[&'static str]| parts(&with_symbols(names), true)[0].major;
        assert_eq!(major(&[base, "__cudaRegisterTexture"]), Some(11));
        assert_eq!(major(&[base, "cudaGetDeviceProperties_v2"]), Some(12));
        assert_eq!(major(&[base, "__cudaLaunchKernel"]), Some(13));
        assert_eq!(major(&[base]), None);
        assert_eq!(parts(&with_symbols(&["cudaLaunchKernel"]), true), []);
        let code = Elf { device_code: 9, ..Elf::default() };
        assert_eq!(parts(&code, true)[0].what, What::DeviceCode);
    }

    #[test]
    fn majors_by_strings() {
        let major = |names: &[&'static str]| {
            let strings = ["libcuda.so.1", "cuGetProcAddress"].iter().chain(names).copied();
            let strings = strings.collect();
            let parts = parts(&Elf { strings, registers: true, ..Elf::default() }, true);
            assert_eq!(parts[0].what, What::StaticRuntime);
            parts[0].major
        };
        assert_eq!(major(&["cuLaunchCooperativeKernelMultiDevice"]), Some(11));
        assert_eq!(major(&["cuLibraryLoadData", "cuLaunchCooperativeKernelMultiDevice"]), Some(12));
        assert_eq!(major(&["cuLibraryLoadData"]), Some(13));
        assert_eq!(major(&[]), None);
    }
}
