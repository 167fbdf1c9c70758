//! Programs whose main function is device code, by `cushim load` on the CPU: `c-tests/load`, compiled by clang 19 for
//! nvptx64, with a runtime that implements the device side of the protocol. For amdgcn they are only compiled:
//! `scripts/amd-check` runs them.
//!
//! Needs clang of `scripts/cuda-toolkits clang`; without it, the test reports what it left out.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cushim_testkit::sample;

use crate::headers::toolkit;
use crate::lab::{Lab, root};

const COMMON: [&str; 8] = [
    "-nogpulib",
    "-ffreestanding",
    "-nostdlib",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-function",
    "-Wno-unused-parameter",
];

fn source(name: &str) -> PathBuf {
    root().join("c-tests/load").join(format!("{name}.c"))
}

/// PTX of a program.
fn compile(clang: &Path, lab: &Lab, name: &str, into: &str, options: &[&str]) -> PathBuf {
    let to = lab.path(into);
    let mut command = Command::new(clang.join("bin/clang"));
    command.args(["--target=nvptx64-nvidia-cuda", "-march=sm_80", "--cuda-feature=+ptx70", "-S"]);
    command.args(COMMON).args(options).arg(source(name)).arg("-o").arg(&to);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&done.stderr));
    to
}

/// A program's output and exit status.
#[derive(Debug, PartialEq, Eq)]
struct Ran {
    out: String,
    err: String,
    status: Option<i32>,
}

/// `cushim load OPTIONS… IMAGE ARGS…`.
fn loading(options: &[&str], image: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["60", env!("CARGO_BIN_EXE_cushim"), "load", "--backend", "cpu"]).args(options);
    command.arg(image).args(args).env("ECHO_TEST", "seen").env_remove("CUSHIM_BACKEND");
    command
}

/// Runs it.
fn load(options: &[&str], image: &Path, args: &[&str], input: &str) -> Ran {
    run(loading(options, image, args), input)
}

/// Runs it without compiling the kernel, for tests of the host's side only: an unoptimised build takes seconds to compile.
fn interpreted(options: &[&str], image: &Path, args: &[&str]) -> Ran {
    let mut command = loading(options, image, args);
    command.env("CUSHIM_CPU", "interpreter");
    run(command, "")
}

fn run(mut command: Command, input: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { out: text(done.stdout), err: text(done.stderr), status: done.status.code() }
}

fn ended(out: &str, status: i32) -> Ran {
    Ran { out: out.to_owned(), err: String::new(), status: Some(status) }
}

#[test]
fn programs_do_what_they_would_on_the_host() {
    let Some(clang) = toolkit("clang-19") else { return };
    let lab = Lab::new();
    let make = |name| compile(&clang, &lab, name, name, &["-O2"]);
    let hello = load(&[], &make("hello"), &[], "");
    let both = Ran { err: "and to its stderr\n".into(), ..ended("hello from a GPU\n", 0) };
    assert_eq!(hello, both);

    let echo = load(&[], &make("echo"), &["a", "b c", "", "-x"], "");
    assert_eq!(echo, ended("1: a\n2: b c\n3: \n4: -x\nend: (nil)\nECHO_TEST=seen\n", 4));

    let input = load(&[], &make("input"), &[], "one\n\nthree");
    assert_eq!(input, ended("1 one\n2 \n3 three", 0));

    let (from, to) = (lab.path("from"), lab.path("to"));
    let paths = [from.to_str().unwrap(), to.to_str().unwrap()];
    let files = load(&["--allow", "files"], &make("files"), &paths, "");
    assert_eq!(files, ended("files are as they should be\n", 0));

    let heap = make("heap");
    assert_eq!(load(&["--threads", "64"], &heap, &[], ""), ended("heap: right\n", 0));
}

/// The same source, compiled for the host, shows the C library's output.
#[test]
fn formats_look_as_cs() {
    let Some(clang) = toolkit("clang-19") else { return };
    let lab = Lab::new();
    let text = std::fs::read_to_string(source("formats")).unwrap();
    let host =
        text.replace("#include \"runtime/start.h\"", "#include <stdio.h>\n#include <stddef.h>");
    assert_ne!(text, host);
    let (file, program) = (lab.path("host.c"), lab.path("host"));
    std::fs::write(&file, host).unwrap();
    let done = Command::new("gcc").arg("-w").arg(&file).arg("-o").arg(&program).status().unwrap();
    assert!(done.success());
    let host = Command::new(&program).output().unwrap();
    let image = compile(&clang, &lab, "formats", "formats", &["-O2"]);
    assert_eq!(load(&[], &image, &[], ""), ended(&String::from_utf8(host.stdout).unwrap(), 0));
    for (format, why) in
        [("%y", "no conversion is called 'y'"), ("x %", "ends within"), ("%1$d", "numbered")]
    {
        let ran = load(&[], &image, &[format], "");
        assert_eq!((ran.out.as_str(), ran.status), ("", Some(134)), "{ran:?}");
        assert!(ran.err.contains(why) && ran.err.contains("PRINTF_TO_STDOUT"), "{ran:?}");
    }
}

#[test]
fn constructors_run_in_order_in_every_layout() {
    let Some(clang) = toolkit("clang-19") else { return };
    let lab = Lab::new();
    let lines = [
        "1: constructor 101",
        "2: constructor 200",
        "3: constructor 300",
        "4: constructor without priority",
        "5: main",
        "6: destructor without priority",
        "7: destructor 200",
        "8: destructor 101",
        "",
    ];
    // Start code with _begin and _end; with _start alone; with _start and the compiler's kernels; the client behind a pointer.
    let layouts: [&[&str]; 5] = [
        &["-O2"],
        &["-O2", "-DLAYOUT=1", "-mllvm", "-nvptx-emit-init-fini-kernel=false"],
        &["-O2", "-DLAYOUT=2"],
        &["-O1", "-DRPC_BY_POINTER"],
        &["-O0"],
    ];
    for (number, options) in layouts.into_iter().enumerate() {
        let image = compile(&clang, &lab, "order", &format!("order{number}"), options);
        assert_eq!(load(&[], &image, &[], ""), ended(&lines.join("\n"), 0), "{options:?}");
    }
}

#[test]
fn a_thousand_threads_print_at_once() {
    let Some(clang) = toolkit("clang-19") else { return };
    let lab = Lab::new();
    let image = compile(&clang, &lab, "many", "many", &["-O2"]);
    for (blocks, threads) in [(1, 1000u32), (8, 125)] {
        let options =
            ["--blocks", &blocks.to_string(), "--threads", &threads.to_string()].map(str::to_owned);
        let ran = load(&options.each_ref().map(String::as_str), &image, &[], "");
        assert_eq!((ran.err.as_str(), ran.status), ("", Some(0)));
        let expected: BTreeSet<String> = (0..blocks)
            .flat_map(|block| (0..threads).map(move |thread| block * 1000 + thread))
            .map(|thread| match thread % 3 {
                0 => {
                    let half = if thread % 2 == 0 {
                        format!("{}", thread / 2)
                    } else {
                        format!("{}.5", thread / 2)
                    };
                    format!("every third {thread:05}|{half}")
                }
                _ => {
                    let pad = ".".repeat((thread % 90) as usize);
                    format!("thread {thread} of warp {} {pad}", thread / 32)
                }
            })
            .collect();
        assert_eq!(ran.out.lines().count(), 1000);
        assert_eq!(ran.out.lines().map(str::to_owned).collect::<BTreeSet<_>>(), expected);
    }
}

#[test]
fn programs_end_as_they_end() {
    let Some(clang) = toolkit("clang-19") else { return };
    let lab = Lab::new();
    let image = compile(&clang, &lab, "status", "status", &["-O2"]);
    assert_eq!(load(&[], &image, &["return", "7"], ""), ended("return\n", 7));
    // One of many threads exits, while the others wait for ever.
    let threads = ["--threads", "96", "--blocks", "2"];
    let exit = load(&threads, &image, &["exit", "300"], "");
    assert_eq!((exit.err.as_str(), exit.status), ("", Some(300 & 255)), "{exit:?}");
    assert_eq!(load(&[], &image, &["abort"], ""), ended("abort\n", 134));
    // A kernel that fails ends the program with CUDA's error, even in the middle of a request.
    for (how, why) in
        [("trap", "LAUNCH_FAILED"), ("leave", "LAUNCH_FAILED"), ("null", "ILLEGAL_ADDRESS")]
    {
        let ran = load(&[], &image, &[how], "");
        assert_eq!(
            (ran.out.as_str(), ran.status),
            (format!("{how}\n").as_str(), Some(134)),
            "{ran:?}"
        );
        assert!(
            ran.err.contains("the program ended in its kernel _start") && ran.err.contains(why),
            "{ran:?}"
        );
    }
}

#[test]
fn what_a_device_must_not_send_ends_it_with_a_message() {
    let Some(clang) = toolkit("clang-19") else { return };
    let lab = Lab::new();
    let image = compile(&clang, &lab, "bad", "bad", &["-O2"]);
    for (what, options, why) in [
        ("opcode", &[][..], "opcode 0x63001234"),
        ("old", &[], "before LLVM 20"),
        (
            "length",
            &[],
            "WRITE_TO_STDOUT: lane 0 announces a message of 18446744073709551615 bytes",
        ),
        ("read", &[], "READ_FROM_STREAM: 18446744073709551615 bytes"),
        ("stream", &[], "no open stream 0xdeadbeef0"),
        ("call", &[], "HOST_CALL: 0xa is no function"),
        ("function", &[], "HOST_CALL: 0x401000 is no function"),
        ("arguments", &[], "PRINTF_TO_STDOUT: 2 bytes of arguments, expected 4"),
        ("open", &[], "--allow files would let it"),
        ("open", &["--allow", "system"], "--allow files would let it"),
        ("system", &["--allow", "files"], "--allow system would let it"),
        ("mode", &["--allow", "files"], "with the mode"),
    ] {
        let ran = interpreted(options, &image, &[what]);
        assert_eq!((ran.out.as_str(), ran.status), ("", Some(134)), "{what}: {ran:?}");
        assert!(ran.err.starts_with("cushim: the program was ended: "), "{what}: {ran:?}");
        assert!(ran.err.contains(why), "{what}: {ran:?}");
    }
    let both = ["--allow", "files,system"];
    assert_eq!(interpreted(&both, &image, &["system"]), ended("ran\nstill here\n", 0));
    let heap = compile(&clang, &lab, "heap", "heap", &["-O2"]);
    let ran = interpreted(&[], &heap, &["free"]);
    assert!(ran.status == Some(134) && ran.err.contains("FREE: 0x1234"), "{ran:?}");
}

#[test]
fn libraries_serve_opcodes_and_functions() {
    let Some(clang) = toolkit("clang-19") else { return };
    let lab = Lab::new();
    let library = lab.path("libcalls.so");
    let mut command = Command::new("gcc");
    command
        .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root().join("include"));
    let done = command.arg(source("calls_host")).arg("-o").arg(&library).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let image = compile(&clang, &lab, "calls", "calls", &["-O2"]);
    let options = ["--rpc", library.to_str().unwrap(), "--threads", "70"];
    assert_eq!(load(&options, &image, &[], ""), ended("calls: right\n", 0));
    // Without the library the host does not know the requests; a library for another image refuses.
    assert_eq!(load(&[], &image, &[], "").status, Some(134));
    let hello = compile(&clang, &lab, "hello", "hello", &["-O2"]);
    let ran = load(&options[..2], &hello, &[], "");
    assert!(ran.status == Some(125) && ran.err.contains("cushim_rpc answered 2"), "{ran:?}");
}

#[test]
fn what_is_no_program_is_refused() {
    let Some(clang) = toolkit("clang-19") else { return };
    let lab = Lab::new();
    let files = std::fs::read_dir(source("hello").parent().unwrap()).unwrap();
    let mut sources: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    let host = |path: &Path| path.to_str().unwrap().ends_with("_host.c");
    sources.retain(|path| path.extension().is_some_and(|e| e == "c") && !host(path));
    sources.sort();
    for path in sample::of(sources, 3) {
        for wave in ["gfx90a", "gfx1030"] {
            let to = lab.path("amd");
            let mut command = Command::new(clang.join("bin/clang"));
            command.args(["--target=amdgcn-amd-amdhsa", "-O2", "-c"]).arg(format!("-mcpu={wave}"));
            let done = command.args(COMMON).arg(&path).arg("-o").arg(&to).output().unwrap();
            assert!(
                done.status.success(),
                "{command:?}\n{}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
    }
    let ran = load(&[], &lab.path("amd"), &[], "");
    assert!(
        ran.status == Some(125)
            && ran.err.contains("which only a GPU runs: --backend cpu wants PTX"),
        "{ran:?}"
    );
    let ran = load(&[], Path::new("/nowhere"), &[], "");
    assert_eq!(ran.status, Some(127), "{ran:?}");
    let ran = load(&[], &source("hello"), &[], "");
    assert!(ran.status == Some(125) && ran.err.contains("no known format"), "{ran:?}");
}
