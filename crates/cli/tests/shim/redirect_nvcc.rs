//! Replacement in programs that nvcc built, if `scripts/cuda-toolkits` has installed one: from the extracted
//! PTX to the launches of the test-only CUDA. The runtime is the stub's, shared or static.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::headers::{TOOLKITS, toolkit};
use crate::lab::{How, Lab, Ran, root};
use crate::redirect::code;

fn run(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}\n{said}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// `nvcc` of a toolkit with options for the targets in `code`.
fn nvcc(toolkit: &Path, code: &str) -> Command {
    let mut command = Command::new(toolkit.join("bin/nvcc"));
    command.args(["-allow-unsupported-compiler", "-no-compress", "-std=c++17"]);
    command.arg(format!("-gencode=arch=compute_80,code={code}"));
    command
}

fn source(name: &str) -> PathBuf {
    root().join("c-tests/cuda").join(name)
}

/// A program with the stub's shared runtime.
fn shared(lab: &Lab, toolkit: &Path, name: &str, code: &str, more: &[&str]) -> PathBuf {
    let into = lab.path(&format!("{}-shared", Path::new(name).file_stem().unwrap().display()));
    run(nvcc(toolkit, code)
        .args(["-cudart", "shared"])
        .args(more)
        .arg(source(name))
        .arg("-o")
        .arg(&into));
    into
}

/// A program with the stub's static runtime, which calls the driver.
fn inside(lab: &Lab, toolkit: &Path, major: u32, name: &str) -> PathBuf {
    let object = lab.path("object.o");
    run(nvcc(toolkit, "compute_80").arg("-c").arg(source(name)).arg("-o").arg(&object));
    let stub = root().join("c-tests/stub");
    let mut objects = vec![object];
    for part in ["cudart", "control", "image"] {
        let into = lab.path(&format!("{part}-{major}.o"));
        let mut gcc = Command::new("gcc");
        gcc.args([
            "-O1",
            "-D_GNU_SOURCE",
            "-fexceptions",
            "-fPIC",
            "-DSTUB_STATIC",
            "-falign-functions=16",
        ]);
        gcc.arg(format!("-DSTUB_MAJOR={major}")).arg("-c").arg(stub.join(format!("{part}.c")));
        run(gcc.arg("-o").arg(&into));
        objects.push(into);
    }
    let into = lab.path("inside");
    run(Command::new("g++").args(&objects).args(["-ldl", "-lpthread", "-o"]).arg(&into));
    into
}

fn cushim(arguments: &[&str]) -> String {
    run(Command::new(env!("CARGO_BIN_EXE_cushim")).args(arguments))
}

/// The launches that reached libraries whose names begin with `library`.
fn launches(ran: &Ran, library: &str, keys: &[&str]) -> Vec<String> {
    let lines = ran.log.iter().filter(|l| l.is_launch() && l.library.starts_with(library));
    let words = |line: &crate::log::Line| {
        keys.iter().map(|k| line.value(k).unwrap_or("?").to_owned()).collect::<Vec<_>>().join(" ")
    };
    lines.map(words).collect()
}

/// A user's steps: extract, edit, check, run.
#[test]
fn extracted_edited_and_run() {
    for (major, name) in TOOLKITS {
        let Some(toolkit) = toolkit(name) else { continue };
        let lab = Lab::new();
        let programs = [
            (shared(&lab, &toolkit, "vecadd.cu", "compute_80", &[]), "cudart", How::shim()),
            (
                inside(&lab, &toolkit, major, "vecadd.cu"),
                "cuda",
                How::shim().with("STUB_DRIVER", "1"),
            ),
        ];
        for (program, face, how) in programs {
            let text = program.to_str().unwrap();
            let folder = lab.path(&format!("redirect-{face}"));
            cushim(&["redirect", "new", text, "vecadd", "-o", folder.to_str().unwrap()]);
            let image = folder.join("vecadd.ptx");
            let original = fs::read_to_string(&image).unwrap();
            let edited = original.replace("add.f32", "mul.f32").replace("add.rn.f32", "mul.rn.f32");
            assert_ne!(original, edited, "the sum is in the text");
            fs::write(&image, &edited).unwrap();
            let manifest = folder.join("redirect.toml");
            let told = cushim(&["redirect", "check", manifest.to_str().unwrap(), text]);
            assert!(told.contains("vecadd(float const*, float const*, float*, int)"), "{told}");

            let bare = lab.run(&program, &[], &How { shim: false, ..how.clone() });
            let how = crate::redirect::with_rules(&how, &manifest);
            let ran = lab.run(&program, &[], &how);
            assert_eq!((&ran.stdout, &ran.end), (&bare.stdout, &bare.end));
            assert_eq!(ran.stderr, "");
            let keys = ["kernel", "grid", "block", "args"];
            assert_eq!(launches(&ran, face, &keys), launches(&bare, face, &keys));
            let codes = |ran: &Ran| launches(ran, face, &["kernel", "code"]);
            let expected = |text: &str| {
                format!("_Z6vecaddPKfS0_Pfi {}", code(text.trim_end_matches('\0').as_bytes()))
            };
            assert_eq!(codes(&bare), [expected(&original)]);
            assert_eq!(codes(&ran), [expected(&edited)]);
        }
    }
}

/// A cubin, PTX of another toolkit, and PTX for one kernel of a program with several units.
#[test]
fn cubins_and_other_toolkits() {
    let (Some(newest), Some(oldest)) = (toolkit(TOOLKITS[2].1), toolkit(TOOLKITS[0].1)) else {
        return;
    };
    let lab = Lab::new();
    let program = shared(&lab, &oldest, "vecadd.cu", "compute_80", &[]);
    let cubin = lab.path("vecadd.cubin");
    run(nvcc(&newest, "sm_80").arg("-cubin").arg(source("vecadd.cu")).arg("-o").arg(&cubin));
    let ptx = lab.path("vecadd.ptx");
    run(nvcc(&newest, "compute_80").arg("-ptx").arg(source("vecadd.cu")).arg("-o").arg(&ptx));
    for image in [&cubin, &ptx] {
        let how = How::shim().with("CUSHIM_REPLACE", format!("vecadd={}", image.display()));
        let ran = lab.run(&program, &[], &how);
        let bytes = fs::read(image).unwrap();
        assert_eq!(
            launches(&ran, "cudart", &["kernel", "code"]),
            [format!("_Z6vecaddPKfS0_Pfi {}", code(&bytes))]
        );
        assert_eq!(ran.stderr, "");
    }
    // Relocatable device code: the program's image is the output of the device linker.
    let separate = {
        let into = lab.path("separate");
        let mut command = nvcc(&newest, "sm_80");
        command.args(["-cudart", "shared", "-rdc=true"]).arg(source("separate.cu"));
        run(command.arg(source("separate_b.cu")).arg("-o").arg(&into));
        into
    };
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry _Z6acrossPii(.param .u64 a, .param .u32 n)\n{ ret; }\n";
    fs::write(lab.path("across.ptx"), text).unwrap();
    let how =
        How::shim().with("CUSHIM_REPLACE", format!("across={}", lab.path("across.ptx").display()));
    let ran = lab.run(&separate, &[], &how);
    let lines = launches(&ran, "cudart", &["kernel", "code"]);
    let (across, others): (Vec<_>, Vec<_>) =
        lines.iter().partition(|l| l.starts_with("_Z6acrossPii"));
    assert!(!across.is_empty() && !others.is_empty(), "{lines:?} {}", ran.stdout);
    assert!(across.iter().all(|l| l.ends_with(&code(text.as_bytes()))), "{lines:?}");
    assert!(others.iter().all(|l| !l.ends_with(&code(text.as_bytes()))), "{lines:?}");
}
