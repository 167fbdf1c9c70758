//! Compares the tables of `cushim_abi` with NVIDIA's own headers and libraries, if `scripts/cuda-toolkits` has
//! installed them: number and sizes of the arguments, structures that are read, and the exports of each library.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use cushim_abi::structs::*;
use cushim_abi::{Signature, all_driver, all_runtime};
use cushim_testkit::needs;

use crate::lab::{Lab, cudart};

/// The toolkits that stand for the majors.
pub const TOOLKITS: [(u32, &str); 3] = [(11, "cuda-11.8"), (12, "cuda-12.4"), (13, "cuda-13.5")];

/// The names that a release of a library exports, from the crate's lists.
fn listed(kind: &str, release: &str) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    let mut within = false;
    for line in include_str!("../../../abi/tests/names.txt").lines() {
        if line.starts_with(' ') {
            names.extend(line.split_whitespace().filter(|_| within));
        } else {
            let mut words = line.split_whitespace();
            within = words.next() == Some(kind) && words.any(|r| r == release);
        }
    }
    assert!(!names.is_empty(), "no {kind} {release} in the lists");
    names
}

/// Functions whose headers are in a package of their own (cuda_profiler_api.h, cudaProfiler.h), which is not
/// installed here; they take no arguments.
const ELSEWHERE: &[&str] = &[
    "cudaProfilerInitialize",
    "cudaProfilerStart",
    "cudaProfilerStop",
    "cuProfilerInitialize",
    "cuProfilerStart",
    "cuProfilerStop",
];

/// The runtime's headers.
const RUNTIME_HEADERS: &[&str] =
    &["cuda_runtime_api.h", "cuda_gl_interop.h", "cuda_egl_interop.h", "cuda_vdpau_interop.h"];

/// The driver's headers.
const DRIVER_HEADERS: &[&str] = &["cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"];

/// Declarations of OpenGL, EGL and VDPAU that the interoperation headers need: the sizes of handles.
const GRAPHICS: &[(&str, &str)] = &[
    ("GL/gl.h", "typedef unsigned GLuint; typedef unsigned GLenum;"),
    (
        "EGL/egl.h",
        "typedef int EGLint; typedef void *EGLDisplay; typedef void *EGLImageKHR; \
         typedef void *EGLStreamKHR; typedef void *EGLSyncKHR;",
    ),
    ("EGL/eglext.h", ""),
    (
        "vdpau/vdpau.h",
        "typedef unsigned VdpDevice; typedef unsigned VdpVideoSurface; typedef unsigned VdpOutputSurface; \
         typedef int VdpGetProcAddress(VdpDevice, unsigned, void **);",
    ),
];

/// Puts [`GRAPHICS`] into a folder.
fn graphics(lab: &Lab) -> PathBuf {
    for (name, text) in GRAPHICS {
        let path = lab.path("graphics").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("#pragma once\n{text}\n")).unwrap();
    }
    lab.path("graphics")
}

/// Without cuda_runtime.h, which the interoperation headers include: its C++ overloads hide the functions.
fn includes(headers: &[&str]) -> String {
    let all = ["vdpau/vdpau.h"].iter().chain(headers).map(|h| format!("#include <{h}>\n"));
    std::iter::once("#define __CUDA_RUNTIME_H__\n".to_owned()).chain(all).collect()
}

/// The folder of an installed toolkit; if it is missing, says what is left out.
pub fn toolkit(name: &str) -> Option<PathBuf> {
    needs::toolkit(name, "the preloaded library beside what the vendors ship")
}

/// Identifiers followed by `(` in preprocessed headers: all declared functions, and some other names.
fn declared(headers: &[&str], include: &Path) -> BTreeSet<String> {
    let lab = Lab::new();
    let source = lab.path("all.cpp");
    std::fs::write(&source, includes(headers)).unwrap();
    let mut command = Command::new("g++");
    command.args(["-x", "c++", "-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", "-I"]).arg(include);
    let done = command.arg("-I").arg(graphics(&lab)).arg(&source).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let regex = regex_lite::Regex::new(r"\b((?:__)?cu[A-Za-z0-9_]+)\s*\(").unwrap();
    regex.captures_iter(&text).map(|c| c[1].to_owned()).collect()
}

const ASSERTIONS: &str = r#"
#include <cstddef>
template <class F> struct signature;
template <class R> struct size { static constexpr size_t of = sizeof(R); };
template <> struct size<void> { static constexpr size_t of = 0; };
template <class R, class... A> struct signature<R(A...)> {
    static constexpr size_t result = size<R>::of;
    static constexpr int count = sizeof...(A);
    static constexpr size_t sizes[] = {sizeof(A)..., 0};
};
template <class R, class... A> struct signature<R(A...) noexcept> : signature<R(A...)> {};
template <size_t R, size_t... S> struct sizes {
    static constexpr size_t result = R;
    static constexpr int count = sizeof...(S);
    static constexpr size_t all[] = {S..., 0};
};
template <class F, class S> constexpr bool agree() {
    if (signature<F>::count != S::count || signature<F>::result != S::result) return false;
    for (int i = 0; i < S::count; i++)
        if (signature<F>::sizes[i] != S::all[i]) return false;
    return true;
}
#define CHECK(name, ...) static_assert(agree<decltype(name), sizes<__VA_ARGS__>>(), #name " (" #__VA_ARGS__ ")");
#define AT(type, field, offset) static_assert(offsetof(type, field) == offset, #type "." #field " at " #offset);
"#;

fn assert_agrees(headers: &[&str], include: &Path, functions: &[&Signature], structures: &str) {
    let mut c = format!("#define __CUDA_API_VERSION_INTERNAL\n{}{ASSERTIONS}", includes(headers));
    for f in functions {
        let args =
            f.args.unwrap_or_else(|| panic!("{} is declared, but not in our tables", f.name));
        let mut sizes = f.result.unwrap().to_string();
        for arg in args {
            let _ = write!(sizes, ", {}", arg.size);
        }
        let _ = writeln!(c, "CHECK({}, {sizes})", f.name);
    }
    c.push_str(structures);
    let lab = Lab::new();
    let source = lab.path("check.cpp");
    std::fs::write(&source, c).unwrap();
    let mut command = Command::new("g++");
    command.args(["-std=c++17", "-fsyntax-only", "-Wno-deprecated-declarations", "-fmax-errors=0"]);
    command.arg("-I").arg(include).arg("-I").arg(graphics(&lab));
    let done = command.arg(&source).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    let errors: Vec<&str> = said.lines().filter(|l| l.contains("error")).collect();
    assert!(done.status.success(), "{headers:?} of {}:\n{}", include.display(), errors.join("\n"));
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
        let declared = declared(RUNTIME_HEADERS, &include);
        let listed = listed("runtime", name.trim_start_matches("cuda-"));
        // Functions that came later in the same major (12.9) have the same rows.
        let ours: Vec<&Signature> = all_runtime()
            .filter(|f| f.majors.contains(&major) && listed.contains(f.name))
            .collect();
        let (public, rest): (Vec<&Signature>, Vec<&Signature>) =
            ours.into_iter().partition(|f| declared.contains(f.name));
        assert!(public.len() > 370, "{} functions of {name} found", public.len());
        // Compilers declare the functions that they call themselves.
        let lacking = |f: &&&Signature| {
            f.args.is_some() && !f.name.starts_with("__cuda") && !ELSEWHERE.contains(&f.name)
        };
        let wrong: Vec<&str> = rest.iter().filter(lacking).map(|f| f.name).collect();
        assert!(wrong.is_empty(), "{name} declares no {wrong:?}");
        assert_agrees(RUNTIME_HEADERS, &include, &public, &runtime_structures(major));
    }
}

/// A driver function has the same signature in all releases that declare it.
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
        let declared = declared(DRIVER_HEADERS, &include);
        let known: Vec<&Signature> = all_driver().filter(|f| declared.contains(f.name)).collect();
        seen.extend(known.iter().map(|f| f.name));
        assert_agrees(DRIVER_HEADERS, &include, &known, &driver_structures(major));
    }
    let never: Vec<&str> = all_driver()
        .filter(|f| f.args.is_some() && !seen.contains(f.name) && !ELSEWHERE.contains(&f.name))
        .map(|f| f.name)
        .collect();
    assert!(!all || never.is_empty(), "declared by no header: {never:?}");
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

/// The lists with which `cushim_abi` tests its tables match the libraries' exports.
#[test]
fn libraries_export_what_the_lists_say() {
    for (major, name) in TOOLKITS {
        let Some(toolkit) = toolkit(name) else { continue };
        let folder = ["lib64", "lib"]
            .map(|l| toolkit.join(l))
            .into_iter()
            .find(|l| l.join(cudart(major)).exists());
        let exported = exported(&folder.unwrap().join(cudart(major)));
        let exported: BTreeSet<&str> =
            exported.iter().map(String::as_str).filter(|n| !n.starts_with("libcudart")).collect();
        assert_eq!(exported, listed("runtime", name.trim_start_matches("cuda-")), "{name}");
    }
    let Some(driver) = toolkit("libcuda-550") else { return };
    let path = ["libcuda.so.1", "lib/libcuda.so.1", "lib64/libcuda.so.1"].map(|p| driver.join(p));
    let path = path.into_iter().find(|p| p.exists()).expect("libcuda-550 has the driver's library");
    let exported = exported(&path);
    let exported: BTreeSet<&str> = exported.iter().map(String::as_str).collect();
    let listed: BTreeSet<&str> =
        listed("driver", "550").union(&listed("data", "550")).copied().collect();
    assert_eq!(exported, listed, "libcuda");
}
