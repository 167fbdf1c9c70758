//! Programs on virtual CUDA, without a GPU and without a toolkit: the C programs of `c-tests/virtual`, linked with the
//! thin library of each major, which is also preloaded. The output of each must be its `.expected` file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A library that the same build put next to the program `cushim`.
fn built(name: &str) -> PathBuf {
    let library = Path::new(env!("CARGO_BIN_EXE_cushim")).with_file_name(name);
    assert!(library.exists(), "{} is missing: run `cargo build` first", library.display());
    library
}

/// A program of `c-tests/virtual`, compiled for a major.
fn compile(name: &str, major: u32, folder: &Path) -> PathBuf {
    let tests = root().join("c-tests");
    let program = folder.join(format!("{name}{major}"));
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    command.args(["-O1", "-g", &format!("-DMAJOR={major}")]);
    command.args(["stub", "shim"].map(|part| format!("-I{}", tests.join(part).display())));
    command.arg(tests.join("virtual").join(format!("{name}.c"))).arg("-o").arg(&program);
    command.arg(built(&format!("libcushim_cudart{major}.so")));
    command.args(["-lpthread", "-Wl,--allow-shlib-undefined"]);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    program
}

/// The lines of an `.expected` file for a major: `[<13] text` and `[>=13] text` are for some majors only.
fn expected(name: &str, major: u32) -> String {
    let path = root().join("c-tests/virtual").join(format!("{name}.expected"));
    let holds = |line: &str| -> Option<String> {
        let (least, rest) = match (line.strip_prefix("[>="), line.strip_prefix("[<")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Some(format!("{line}\n")),
        };
        let (limit, text) = rest.split_once("] ").unwrap();
        let reached = major >= limit.parse().unwrap();
        (reached == least).then(|| format!("{text}\n"))
    };
    fs::read_to_string(path).unwrap().lines().filter_map(holds).collect()
}

fn run(name: &str, major: u32) {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let program = compile(name, major, folder);
    let thin = [format!("libcushim_cudart{major}.so"), "libcushim_cuda.so".to_owned()];
    let preload = thin.map(|library| built(&library).display().to_string()).join(" ");
    let done = Command::new("timeout")
        .arg("60")
        .arg(&program)
        .env("LD_PRELOAD", preload)
        .env("CUSHIM_BACKEND", "cpu")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(String::from_utf8_lossy(&done.stdout), expected(name, major), "{major}: {said}");
    assert!(done.status.success(), "{major}: {}: {said}", done.status);
    assert_eq!(said, "", "{major}: nothing to complain about");
}

#[test]
fn a_program_of_each_major_registers_and_launches() {
    built("libvcuda.so");
    [11, 12, 13].into_iter().for_each(|major| run("runtime", major));
}

/// A program that opens CUDA's libraries by the file names that drivers and toolkits install.
#[test]
fn libraries_by_other_names() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let program = folder.join("names");
    let source = root().join("c-tests/virtual/names.c");
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    let done = command.arg(source).arg("-o").arg(&program).arg("-ldl").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    built("libvcuda.so");
    let mut run = Command::new("timeout");
    run.arg("60").arg(env!("CARGO_BIN_EXE_cushim")).args(["run", "--backend", "cpu", "--"]);
    let files = ["libcudart.so.13.5.37", "libcudart.so.12", "libcuda.so.1"].map(|f| folder.join(f));
    files.iter().for_each(|file| fs::write(file, "").unwrap());
    run.arg(&program).args(&files).arg(folder.join("libcudart.so.11.0"));
    let done = run.output().unwrap();
    let expected = fs::read_to_string(root().join("c-tests/virtual/names.expected")).unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(String::from_utf8_lossy(&done.stdout), expected, "{said}");
}

/// `name@version` of every defined dynamic symbol.
fn exports(library: &str) -> Vec<String> {
    let list = root().join("scripts/check-exports");
    let done = Command::new(list).arg("--list").arg(built(library)).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut names: Vec<_> =
        String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect();
    names.sort();
    names
}

/// Each thin library exports the symbols of NVIDIA's library of its major (`crates/abi` checks the tables against
/// those lists), each name under the major's version node, and no other symbol.
#[test]
fn the_thin_libraries_export_what_cuda_does() {
    for major in [11, 12, 13] {
        let node = cushim_abi::runtime_node(major);
        let of_major = |majors: &[u32]| majors.iter().any(|m| *m as usize == major);
        let mut wanted: Vec<_> = cushim_abi::all_runtime()
            .filter(|function| of_major(function.majors))
            .map(|function| format!("{}@{node}", function.name))
            .collect();
        wanted.sort();
        assert!(wanted.len() > 390, "{}", wanted.len());
        assert_eq!(exports(&format!("libcushim_cudart{major}.so")), wanted, "{major}");
    }
    let mut wanted: Vec<_> =
        cushim_abi::all_driver().map(|function| function.name.to_owned()).collect();
    wanted.sort();
    assert_eq!(exports("libcushim_cuda.so"), wanted);
}
