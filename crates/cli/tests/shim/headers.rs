//! The tables of `cushim_abi` against NVIDIA's own headers and libraries, where `scripts/cuda-toolkits`
//! has put them: number and sizes of the arguments, structures that are read, and which function each
//! library exports.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use cushim_abi::structs::*;
use cushim_abi::{DRIVER, Function, RUNTIME};

use crate::lab::{Lab, cudart, root};

/// The toolkits that stand for the majors.
pub const TOOLKITS: [(u32, &str); 3] = [(11, "cuda-11.8"), (12, "cuda-12.4"), (13, "cuda-13.5")];

/// Runtime functions that came after 12.4 in the same major (12.9's library has them all).
const LATER_IN_12: &[&str] = &[
    "cudaGetDriverEntryPointByVersion",
    "cudaGetDriverEntryPointByVersion_ptsz",
    "cudaLibraryEnumerateKernels",
    "cudaLibraryGetGlobal",
    "cudaLibraryGetKernel",
    "cudaLibraryLoadData",
    "cudaLibraryLoadFromFile",
    "cudaLibraryUnload",
    "cudaMemcpy3DBatchAsync",
    "cudaMemcpy3DBatchAsync_ptsz",
    "cudaMemcpyBatchAsync",
    "cudaMemcpyBatchAsync_ptsz",
];

/// Declared in headers of a package of their own (cuda_profiler_api.h, cudaProfiler.h), which the
/// toolkits here are without; they take no arguments.
const ELSEWHERE: &[&str] =
    &["cudaProfilerStart", "cudaProfilerStop", "cuProfilerStart", "cuProfilerStop"];

/// The folder of an installed toolkit; says so where there is none.
pub fn toolkit(name: &str) -> Option<PathBuf> {
    let folder = root().join("target/toolkits").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no {}; scripts/cuda-toolkits puts it there", folder.display());
    None
}

/// Identifiers followed by `(` in a preprocessed header: what it declares, and a little more.
fn declared(header: &str, include: &Path) -> BTreeSet<String> {
    let mut command = Command::new("g++");
    command.args(["-x", "c++", "-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", "-include", header]);
    let done = command.arg("-I").arg(include).arg("/dev/null").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let regex = regex::Regex::new(r"\b((?:__)?cu[A-Za-z0-9_]+)\s*\(").unwrap();
    regex.captures_iter(&text).map(|c| c[1].to_owned()).collect()
}

const ASSERTIONS: &str = r#"
#include <cstddef>
template <class F> struct signature;
template <class R, class... A> struct signature<R(A...)> {
    static constexpr int count = sizeof...(A);
    static constexpr size_t sizes[] = {sizeof(A)..., 0};
};
template <class R, class... A> struct signature<R(A...) noexcept> : signature<R(A...)> {};
template <size_t... S> struct sizes {
    static constexpr int count = sizeof...(S);
    static constexpr size_t all[] = {S..., 0};
};
template <class F, class S> constexpr bool agree() {
    if (signature<F>::count != S::count) return false;
    for (int i = 0; i < S::count; i++)
        if (signature<F>::sizes[i] != S::all[i]) return false;
    return true;
}
#define CHECK(name, ...) static_assert(agree<decltype(name), sizes<__VA_ARGS__>>(), #name " (" #__VA_ARGS__ ")");
#define AT(type, field, offset) static_assert(offsetof(type, field) == offset, #type "." #field " at " #offset);
"#;

fn assert_agrees(header: &str, include: &Path, functions: &[&Function], structures: &str) {
    let mut c = format!("#define __CUDA_API_VERSION_INTERNAL\n#include <{header}>\n{ASSERTIONS}");
    for f in functions {
        let sizes: Vec<String> = f.args.iter().map(|a| a.size.to_string()).collect();
        let comma = if sizes.is_empty() { "" } else { ", " };
        let _ = writeln!(c, "CHECK({}{comma}{})", f.name, sizes.join(", "));
    }
    c.push_str(structures);
    let lab = Lab::new();
    let source = lab.path("check.cpp");
    std::fs::write(&source, c).unwrap();
    let mut command = Command::new("g++");
    command.args(["-std=c++17", "-fsyntax-only", "-Wno-deprecated-declarations", "-fmax-errors=0"]);
    let done = command.arg("-I").arg(include).arg(&source).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    let errors: Vec<&str> = said.lines().filter(|l| l.contains("error")).collect();
    assert!(done.status.success(), "{header} of {}:\n{}", include.display(), errors.join("\n"));
}

/// `AT(type, field, offset)` for each field.
macro_rules! offsets {
    ($ours:ident as $theirs:literal: $($field:ident = $name:literal),+) => {
        [$(format!("AT({}, {}, {})\n", $theirs, $name, std::mem::offset_of!($ours, $field))),+].concat()
    };
}

fn runtime_structures(major: u32) -> String {
    let mut c = offsets!(LaunchConfig as "cudaLaunchConfig_t": grid = "gridDim", block = "blockDim",
        shared = "dynamicSmemBytes", stream = "stream", attributes = "attrs", attribute_count = "numAttrs");
    c += &offsets!(KernelNodeParams as "cudaKernelNodeParams": func = "func", grid = "gridDim",
        block = "blockDim", shared = "sharedMemBytes", args = "kernelParams", extra = "extra");
    c += &offsets!(LaunchAttribute as "cudaLaunchAttribute": id = "id", value = "val");
    let _ = writeln!(
        c,
        "static_assert(sizeof(cudaLaunchAttribute) == {});",
        size_of::<LaunchAttribute>()
    );
    let _ =
        writeln!(c, "static_assert(cudaLaunchAttributeCooperative == {ATTRIBUTE_COOPERATIVE});");
    let _ = writeln!(
        c,
        "static_assert(cudaLaunchAttributeClusterDimension == {ATTRIBUTE_CLUSTER_DIMENSION});"
    );
    if major <= 12 {
        c += &offsets!(LaunchParams as "cudaLaunchParams": func = "func", grid = "gridDim",
            block = "blockDim", args = "args", shared = "sharedMem", stream = "stream");
        let _ = writeln!(
            c,
            "static_assert(sizeof(cudaLaunchParams) == {});",
            size_of::<LaunchParams>()
        );
    }
    if major >= 12 {
        let _ = writeln!(c, "AT(cudaGraphNodeParams, kernel, {})", size_of::<GraphNodeParams>());
    }
    c
}

fn driver_structures(major: u32) -> String {
    let mut c = offsets!(DriverLaunchConfig as "CUlaunchConfig": grid = "gridDimX", block = "blockDimX",
        shared = "sharedMemBytes", stream = "hStream", attributes = "attrs", attribute_count = "numAttrs");
    c += &offsets!(DriverLaunchParams as "CUDA_LAUNCH_PARAMS": func = "function", grid = "gridDimX",
        block = "blockDimX", shared = "sharedMemBytes", stream = "hStream", args = "kernelParams");
    let _ = writeln!(
        c,
        "static_assert(sizeof(CUDA_LAUNCH_PARAMS) == {});",
        size_of::<DriverLaunchParams>()
    );
    if major >= 12 {
        c += &offsets!(DriverKernelNodeParams as "CUDA_KERNEL_NODE_PARAMS": func = "func",
            grid = "gridDimX", block = "blockDimX", shared = "sharedMemBytes", args = "kernelParams",
            extra = "extra", kern = "kern");
        let _ = writeln!(c, "AT(CUgraphNodeParams, kernel, {})", size_of::<GraphNodeParams>());
    }
    c
}

#[test]
fn runtime_signatures() {
    for (major, name) in TOOLKITS {
        let Some(toolkit) = toolkit(name) else { continue };
        let include = toolkit.join("include");
        let declared = declared("cuda_runtime_api.h", &include);
        let ours: Vec<&Function> = RUNTIME.iter().filter(|f| f.majors.contains(&major)).collect();
        let (public, rest): (Vec<&Function>, Vec<&Function>) =
            ours.into_iter().partition(|f| declared.contains(f.name));
        assert!(public.len() > 100, "{} functions of {name} found", public.len());
        // What compilers call is declared by compilers; what the header lacks came later.
        let lacking: Vec<&str> =
            rest.iter().map(|f| f.name).filter(|n| !n.starts_with("__cuda")).collect();
        let later = |n: &&str| major == 12 && LATER_IN_12.contains(n);
        let wrong: Vec<&str> =
            lacking.into_iter().filter(|n| !later(n) && !ELSEWHERE.contains(n)).collect();
        assert!(wrong.is_empty(), "{name} declares no {wrong:?}");
        assert_agrees("cuda_runtime_api.h", &include, &public, &runtime_structures(major));
    }
}

/// A driver function has one signature in all releases that declare it.
#[test]
fn driver_signatures() {
    let mut seen = BTreeSet::new();
    let mut all = true;
    for (major, name) in TOOLKITS {
        let Some(toolkit) = toolkit(name) else {
            all = false;
            continue;
        };
        let include = toolkit.join("include");
        let declared = declared("cuda.h", &include);
        let known: Vec<&Function> = DRIVER.iter().filter(|f| declared.contains(f.name)).collect();
        seen.extend(known.iter().map(|f| f.name));
        assert_agrees("cuda.h", &include, &known, &driver_structures(major));
    }
    let never: Vec<&str> = DRIVER
        .iter()
        .map(|f| f.name)
        .filter(|n| !seen.contains(n) && !ELSEWHERE.contains(n))
        .collect();
    assert!(!all || never.is_empty(), "declared by no cuda.h: {never:?}");
}

fn exported(library: &Path) -> BTreeSet<String> {
    let done = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let name = |line: &str| {
        line.split_whitespace().nth(2).map(|n| n.split('@').next().unwrap_or(n).to_owned())
    };
    text.lines().filter_map(name).collect()
}

/// A row's majors are those whose library exports the name.
#[test]
fn libraries_export_what_the_tables_say() {
    for (major, name) in TOOLKITS {
        let Some(toolkit) = toolkit(name) else { continue };
        let folder = ["lib64", "lib"]
            .map(|l| toolkit.join(l))
            .into_iter()
            .find(|l| l.join(cudart(major)).exists());
        let exported = exported(&folder.unwrap().join(cudart(major)));
        let mut wrong = Vec::new();
        let names: BTreeSet<&str> = RUNTIME.iter().map(|f| f.name).collect();
        for name in names {
            let ours = RUNTIME.iter().any(|f| f.name == name && f.majors.contains(&major));
            let theirs = exported.contains(name);
            let later = major == 12 && LATER_IN_12.contains(&name) && !theirs;
            if ours != theirs && !later {
                wrong.push(format!("{name} (table: {ours}, library: {theirs})"));
            }
        }
        assert!(wrong.is_empty(), "runtime {major}: {wrong:#?}");
    }
    let Some(driver) = toolkit("libcuda-550") else { return };
    let path = ["libcuda.so.1", "lib/libcuda.so.1", "lib64/libcuda.so.1"].map(|p| driver.join(p));
    let Some(path) = path.into_iter().find(|p| p.exists()) else { return };
    let exported = exported(&path);
    let newer: Vec<&str> =
        DRIVER.iter().map(|f| f.name).filter(|n| !exported.contains(*n)).collect();
    assert!(newer.len() < 20, "not in the driver of 12.4: {newer:?}");
}
