//! NVIDIA's compilers inside a program, on the CPU: their machine code is PTX, whether the program links or opens
//! them, in one copy or several. Also cuBLAS and cuFFT, which run cushim's kernels. On the backend native all are
//! unchanged.

use std::path::{Path, PathBuf};
use std::process::Command;

fn compile(folder: &Path, source: &str, out: &str, flags: &[&str]) -> PathBuf {
    let path = folder.join(out);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c-tests/virtual").join(source);
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    command.args(["-O1", "-w", "-o"]).arg(&path).arg(source).args(flags).arg("-ldl");
    let done = command.current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    path
}

/// The program's output on standard output and standard error.
fn run(backend: &str, program: &Path, arguments: &[&Path]) -> (String, String) {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(Path::new(cushim).with_file_name("libvcuda.so").exists(), "run `cargo build` first");
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "100", cushim, "run", "--backend", backend]);
    let done = command.arg(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&done.stdout), text(&done.stderr))
}

const PTX: usize =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n".len() + 1;

#[test]
fn machine_code_is_ptx() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let shared = ["-shared", "-fPIC", "-DNVRTC", "-Wl,-soname,libnvrtc.so.12"];
    let first = compile(folder, "compiler.c", "libnvrtc.so.12", &shared);
    // Copies inside packages have names of their own.
    let copies: Vec<PathBuf> = (0..5)
        .map(|n| {
            let name = format!("libnvrtc-{n}.so.12");
            let soname = format!("-Wl,-soname,{name}");
            compile(folder, "compiler.c", &name, &["-shared", "-fPIC", "-DNVRTC", &soname])
        })
        .collect();
    let linker =
        compile(folder, "compiler.c", "libnvJitLink.so.12", &["-shared", "-fPIC", "-DNVJITLINK"]);
    let program = compile(folder, "compiled.c", "compiled", &[]);
    let linked = compile(
        folder,
        "compiled.c",
        "linked",
        &["-DLINKED", "libnvrtc.so.12", "-Wl,-rpath,$ORIGIN"],
    );

    let compiled = format!(
        "-arch=sm_80: -w -arch=compute_80; {PTX} bytes, loaded\n\
         -arch=compute_80: -w -arch=compute_80; 13 bytes, not loaded\n\
         -dlto: -w -dlto; 13 bytes, not loaded\n"
    );
    let joined = format!(
        "0 0, -arch=sm_80; {PTX} bytes, loaded\n\
         4 9, error   : no input was added\n\
         0 0, -arch=sm_80 -lto -ptx LTO-IR; {PTX} bytes, loaded\n"
    );
    let (out, _) = run("cpu", &program, &[&first, &linker]);
    assert_eq!(out, format!("{compiled}{joined}"));
    let (out, _) = run("cpu", &linked, &[Path::new("linked"), &linker]);
    assert_eq!(out, format!("{compiled}{joined}"));

    // Each of the four copies has its own functions; a copy that does not match is reported and works unchanged.
    let all: Vec<&Path> = copies.iter().map(PathBuf::as_path).chain([linker.as_path()]).collect();
    let (out, said) = run("cpu", &program, &all);
    let as_it_is = compiled
        .replace("-w -arch=compute_80; ", "-w -arch=sm_80; ")
        .lines()
        .next()
        .unwrap()
        .to_owned();
    let as_it_is = as_it_is.replace(&format!("{PTX} bytes, loaded"), "13 bytes, not loaded");
    let rest = compiled.split_once('\n').unwrap().1;
    assert_eq!(out, format!("{}{as_it_is}\n{rest}{joined}", compiled.repeat(4)));
    assert!(said.contains("libnvrtc-4.so.12: more than 4 copies"), "{said}");

    // Over NVIDIA's driver the program gets machine code.
    let (out, _) = run("native", &program, &[&first, &linker]);
    assert!(out.starts_with("-arch=sm_80: -w -arch=sm_80; 13 bytes"), "{out}");
}

/// Where a program that uses CUDA starts `nvcc --cubin`, ptxas is the stand-in, by whatever path nvcc starts it. Other
/// builds have NVIDIA's; here a copy of echo, and nvcc is a copy of the shell.
#[test]
fn a_cubin_by_nvcc_is_ptx() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let program = compile(folder, "starts.c", "starts", &[]);
    let (real, nvcc) = (folder.join("ptxas"), folder.join("nvcc"));
    std::fs::copy("/bin/echo", &real).unwrap();
    std::fs::copy("/bin/sh", &nvcc).unwrap();
    let script = format!("'{}' -V; exit 0", real.display());
    for (uses, option, is_ours) in [
        ("cuda", "--cubin", true),
        ("cuda", "-cubin", true),
        ("cuda", "--fatbin", false),
        ("nothing", "--cubin", false),
    ] {
        let command = format!("'{}' -c \"{script}\" {option}", nvcc.display());
        let (out, _) = run("cpu", &program, &[Path::new(uses), Path::new(&command)]);
        let expected = if is_ours { "ptxas: cushim " } else { "-V\n" };
        assert!(out.starts_with(expected), "{uses} {option}: {out}");
    }
}

#[test]
fn products_of_cublas_are_kernels_of_ours() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let library = compile(folder, "blas.c", "libcublas.so.12", &["-shared", "-fPIC"]);
    let program = compile(folder, "product.c", "product", &[]);

    let (out, said) = run("cpu", &program, &[&library]);
    let right = "singles, scalars of the host: 0, 407 of 407\n\
                 singles, scalars of the device: 0, 407 of 407\n\
                 complex numbers: 0, 1221 of 1221\n\
                 doubles by pointers: 0, 1221 of 1221\n\
                 vectors: 0, 37 of 37\n\
                 triangles: 0, 407 of 407\n\
                 bytes: 0, 407 of 407\n\
                 rows too short: 7\n\
                 no handle: 1\n\
                 other types: 15\n\
                 made: 0 0; dot 0 1; amin 0 4; nrm2 0 1; syrk 0 9; geam 0 -3 0 -3 0; turned 0 2 6 4 8; syr2k 0 18 26 4 40; trsv 0 -0.75 2.25; destroyed: 0 1\n";
    assert_eq!(out, right);
    assert!(said.contains("cublasGemmEx of libcublas"), "{said}");
    assert!(said.contains("libcublas finds no driver"), "{said}");

    // A trace shows the computations as launches.
    let cushim = env!("CARGO_BIN_EXE_cushim");
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "100", cushim, "trace", "--backend", "cpu"]);
    let done = command.arg(&program).arg(&library).output().unwrap();
    let traced = [done.stdout, done.stderr].concat();
    let traced = String::from_utf8_lossy(&traced);
    assert!(traced.contains("cushim_gemm_c64_c64"), "{traced}");

    let (out, _) = run("native", &program, &[&library, Path::new("untouched")]);
    assert!(out.starts_with("untouched: 15\n"), "{out}");
}

#[test]
fn products_of_cublaslt_are_kernels_of_ours() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let library = compile(folder, "blaslt.c", "libcublasLt.so.12", &["-shared", "-fPIC"]);
    let program = compile(folder, "matmul.c", "matmul", &["-lm"]);

    let (out, said) = run("cpu", &program, &[&library]);
    let products = [
        "singles",
        "singles turned, scalars of the device",
        "singles by rows",
        "a scalar for each row",
        "bias and relu of bfloat16",
        "bits of relu",
        "bytes to words",
        "bytes to bytes, with a bias",
    ];
    let right: String = products.iter().map(|name| format!("{name}: 0, 814 of 814\n")).collect();
    // As cuBLAS 13.0 on an H200, except that NVIDIA's crashes without a descriptor and without alpha, and finds four
    // algorithms.
    let answers = "right: 0; no handle: 1; no descriptor: 7; no layout: 7; no matrix: 7\n\
                   one column for all: 7, as a result: 7\n\
                   sizes: 7; leading: 7; types: 7; batches: 7; no alpha: 7\n\
                   bits nowhere: 15; no bias: 7; compute: 15; a half: 15\n\
                   heuristic: 0, some, state 0\ncheck: 0, 0\nwith it: 0\n\
                   none wanted: 7; sizes: 7, 1; types: 7, 1\ndestroyed: 0\n";
    assert!(out.starts_with(&format!("created: 0\n{right}")), "{out}");
    assert!(out.ends_with(answers), "{out}");
    for function in ["relu of -6: 0, 0 ", "gelu of 1: 0, 0.841192 ", "gelu of -1: 0, -0.158808 "] {
        assert!(out.contains(function), "{out}");
    }
    // The derivatives at -1 and 3, of arguments that were stored.
    assert!(out.contains("of 1: 0, -0.0829641 (") && out.contains("of 1: 0, 1.01158 ("), "{out}");
    assert!(said.contains("cublasLtMatmul of libcublasLt"), "{said}");
    assert!(said.contains("libcublasLt finds no driver: products"), "{said}");

    let (out, _) = run("native", &program, &[&library, Path::new("untouched")]);
    assert!(out.starts_with("untouched: 15\n"), "{out}");
}

#[test]
fn transforms_of_cufft_are_kernels_of_ours() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let library = compile(folder, "fft.c", "libcufft.so.11", &["-shared", "-fPIC"]);
    let program = compile(folder, "transform.c", "transform", &["-lm"]);

    let (out, said) = run("cpu", &program, &[&library]);
    let layouts = ["basic", "in place", "advanced"];
    let values: String = layouts
        .iter()
        .flat_map(|layout| ["singles", "doubles"].map(|of| format!("{layout}, {of}: 344 of 344\n")))
        .collect();
    let rest = "lengths: 8 8 8 8\n\
                ranks: 4 4\n\
                type: 3\n\
                no length: 8\n\
                handles: 1 1 1\n\
                created: 0 1, made: 0, again: 1, size: 0 1\n\
                executed: 0, no direction: 4\n\
                destroyed: 0 1\n\
                work area: 0 0, none: 13, set: 0, executed: 0\n\
                graph: 0, 24 of 24\n\
                streams: 0, 12000 of 12000\n\
                halves: 0, 18 of 18\n\
                halves of 12: 16\n\
                two types: 3\n\
                several GPUs: 16\n\
                another type: 0, then 0\n\
                nowhere: 6, then 0\n";
    assert_eq!(out, format!("version: 0\n{values}{rest}"));
    assert!(said.contains("cufftXtSetGPUs of libcufft does not run on the CPU"), "{said}");

    let (out, _) = run("native", &program, &[&library, Path::new("untouched")]);
    assert_eq!(out, "untouched: 5\n");
}

/// Only a library that looks for machine code of the device's capability, and has PTX for later ones, sees a later
/// capability.
#[test]
fn curand_is_told_of_a_later_device() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("map"), "libcudart.so.13 { global: cuda*; local: *; };").unwrap();
    let runtime = ["-DRUNTIME", "-Wl,-soname,libcudart.so.13", "-Wl,--version-script,map"];
    compile(
        folder,
        "capability.c",
        "libcudart.so.13",
        &[&["-shared", "-fPIC"], &runtime[..]].concat(),
    );
    let linked = ["libcudart.so.13", "-Wl,-rpath,$ORIGIN"];
    // The loader binds the calls of the first at their first use, those of the second at once.
    let libraries = [
        ("libcurand.so.10", "-Wl,-z,lazy"),
        ("libcurand-0123abcd.so.10", "-Wl,-z,now"),
        ("libcusolver.so.12", "-Wl,-z,now"),
    ];
    let libraries = libraries.map(|(name, binding)| {
        let flags = [&["-shared", "-fPIC", "-DLIBRARY", binding], &linked[..]].concat();
        compile(folder, "capability.c", name, &flags)
    });
    let program = compile(folder, "capability.c", "capability", &linked);
    let paths = libraries.each_ref().map(PathBuf::as_path);

    let said = |who: &str, told: &str| format!("{who}: 0, {told}, warp of 32, no device: 1, -1\n");
    let wanted = [
        said("libcurand.so.10", "99.0"),
        said("libcurand-0123abcd.so.10", "99.0"),
        said("libcusolver.so.12", "8.0"),
        said("program", "8.0"),
    ];
    let (out, _) = run("cpu", &program, &paths);
    assert_eq!(out, wanted.concat());

    // With NVIDIA's runtime, here the one for linking, it sees the device's capability.
    let (out, _) = run("native", &program, &paths);
    assert!(out.starts_with("libcurand.so.10: 0, 7.5, warp of 32"), "{out}");
}
