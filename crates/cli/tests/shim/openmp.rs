//! OpenMP programs by clang with LLVM's own libomptarget, whose device is the host (`x86_64-pc-linux-gnu`). Each
//! program of `c-tests/offload/openmp` must print the same with and without the shim. The trace must hold as many
//! regions and mappings as libomptarget itself counts (`LIBOMPTARGET_INFO`), and as many regions as it reports to
//! an OMPT tool.
//!
//! Needs clang of `scripts/cuda-toolkits clang`; without it, the test reports what it left out.

use std::path::{Path, PathBuf};
use std::process::Command;

use cushim_testkit::sample;
use cushim_trace::event::Body;
use cushim_trace::layout::*;
use cushim_trace::reader::TraceFile;

use crate::headers::toolkit;
use crate::lab::{How, Lab, Ran, root};

/// The folders of clang's libraries, for LD_LIBRARY_PATH.
fn libraries(clang: &Path) -> String {
    let lib = clang.join("root/usr/lib");
    format!("{}:{}", lib.join("llvm-19/lib").display(), lib.join("x86_64-linux-gnu").display())
}

/// Usually one in three; a compiler takes a second for each.
fn programs() -> Vec<PathBuf> {
    let folder = root().join("c-tests/offload/openmp");
    let mut all: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    assert!(all.len() >= 20, "{}", all.len());
    sample::of(all, 3)
}

fn compile(clang: &Path, source: &Path, into: &Path) {
    let mut command = Command::new(clang.join("bin/clang"));
    command.args(["-g", "-O1", "-Wall", "-Werror", "-fopenmp"]);
    command.arg("-fopenmp-targets=x86_64-pc-linux-gnu").arg(source).arg("-o").arg(into);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&done.stderr));
}

/// Regions that ran on the device, and mappings: begun, ended, updated.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    regions: usize,
    begins: usize,
    ends: usize,
    updates: usize,
}

/// The counts from the lines of `LIBOMPTARGET_INFO=1`.
fn told(stderr: &str) -> Counts {
    let count = |text: &str| stderr.lines().filter(|line| line.contains(text)).count();
    Counts {
        regions: count("Entering OpenMP kernel"),
        begins: count("Entering OpenMP data region"),
        ends: count("Exiting OpenMP data region"),
        updates: count("Updating data within the OpenMP data region"),
    }
}

/// The counts from the trace, for the program's own calls; each must have a name and place, as -g was given.
fn recorded(ran: &Ran, name: &str) -> Counts {
    let mut counts = Counts::default();
    let [trace] = &ran.traces[..] else { panic!("{name}: {} traces", ran.traces.len()) };
    assert!(trace.is_whole(), "{name}: {:?}", trace.lost);
    let mut file = TraceFile::open(&trace.path).unwrap();
    file.poll(true, &mut |meta, event| {
        let Body::Mapped(mapped) = &event.body else { return };
        assert_eq!(mapped.bits & MAPPED_UNKNOWN, 0, "{name}: {mapped:?}");
        assert!(meta.names[&mapped.place].contains(&format!("{name}.c;")), "{name}: {mapped:?}");
        for arg in mapped.args.iter() {
            assert!(arg.name == 0 || meta.names[&arg.name].starts_with(';'), "{name}: {arg:?}");
        }
        match mapped.what {
            0 => {
                let kernel = &meta.kernels[&mapped.kernel];
                assert!(kernel.mangled.starts_with("__omp_offloading_"), "{name}: {kernel:?}");
                assert_eq!(event.status == Some(0), mapped.fallback == FALLBACK_NONE, "{name}");
                counts.regions += usize::from(mapped.fallback == FALLBACK_NONE);
            }
            MAP_BEGIN => counts.begins += 1,
            MAP_END => counts.ends += 1,
            _ => counts.updates += 1,
        }
    })
    .unwrap();
    counts
}

/// An OMPT tool, as a library, that counts regions.
fn counter(lab: &Lab, clang: &Path) -> PathBuf {
    let library = lab.path("libompt.so");
    let mut command = Command::new(clang.join("bin/clang"));
    command.args(["-Wall", "-Werror", "-shared", "-fPIC"]).arg("-o").arg(&library);
    let done = command.arg(root().join("c-tests/offload/ompt.c")).output().unwrap();
    assert!(done.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&done.stderr));
    library
}

#[test]
fn programs_of_every_construct() {
    let Some(clang) = toolkit("clang-19") else { return };
    let lab = Lab::new();
    let path = libraries(&clang);
    let tool = counter(&lab, &clang);
    for source in programs() {
        let name = source.file_stem().unwrap().to_str().unwrap().to_owned();
        let program = lab.path(&name);
        compile(&clang, &source, &program);
        let how = How::bare().with("LD_LIBRARY_PATH", &path);
        let bare = lab.run(&program, &[], &how);
        let shim = How::shim().with("LD_LIBRARY_PATH", &path);
        let shimmed = lab.run(&program, &[], &shim);
        assert_eq!((&bare.stdout, &bare.end), (&shimmed.stdout, &shimmed.end), "{name}");
        let lines = |ran: &Ran| ran.stderr.lines().count();
        assert_eq!(lines(&bare), lines(&shimmed), "{name}: {}{}", bare.stderr, shimmed.stderr);
        let counted = lab.run(&program, &[], &shim.clone().with("LIBOMPTARGET_INFO", "1"));
        assert_eq!(counted.stdout, bare.stdout, "{name}");
        let counts = recorded(&counted, &name);
        assert_eq!(counts, told(&counted.stderr), "{name}: {}", counted.stderr);
        // libomptarget 19 crashes there when it has a tool, even without the shim.
        if name == "interop" {
            continue;
        }
        let watched =
            lab.run(&program, &[], &shim.with("OMP_TOOL_LIBRARIES", tool.to_str().unwrap()));
        let regions = recorded(&watched, &name).regions;
        assert_eq!(regions, counts.regions, "{name}");
        let said = format!("ompt: {regions} targets, {regions} submitted, ");
        assert!(watched.stderr.contains(&said), "{name}: {said}, {}", watched.stderr);
    }
}

/// Regions for an NVIDIA GPU on the CPU, as in docs/openmp.md: the PTX that clang leaves replaces the image.
/// libomptarget opens `libcuda.so`, uses its own contexts, streams and events, and reads the cubin itself.
#[test]
fn regions_for_a_gpu_on_the_cpu() {
    let (Some(clang), Some(cuda)) = (toolkit("clang-19"), toolkit("cuda-12.4")) else { return };
    let lab = Lab::new();
    let names = [
        "target",
        "data",
        "declare",
        "mapper",
        "nowait",
        "nowait_data",
        "reductions",
        "pointers",
        "prints",
    ];
    for name in sample::of(names.to_vec(), 3) {
        let folder = lab.path(name);
        std::fs::create_dir(&folder).unwrap();
        let mut command = Command::new(clang.join("bin/clang"));
        command.args(["-g", "-O2", "-fopenmp", "-fopenmp-targets=nvptx64-nvidia-cuda"]);
        command.args(["-Xopenmp-target", "-march=sm_80", "-foffload-lto", "-Wl,--save-temps"]);
        command.arg(format!("--cuda-path={}", cuda.display()));
        command.arg(root().join("c-tests/offload/openmp").join(format!("{name}.c")));
        let done = command.args(["-o", name]).current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{command:?}\n{said}");
        let rule = format!(
            "[[redirect]]\nmatch = {{ arch = \"sm_80\" }}\nimage = \"{name}.nvptx64-nvidia-cuda.sm_80.s\"\nwhole = true\n"
        );
        std::fs::write(folder.join("redirect.toml"), rule).unwrap();
        let run = |disabled: &str, cushim: &[&str]| {
            let mut command = Command::new("timeout");
            command.arg("100").args(cushim).arg(folder.join(name)).current_dir(&folder);
            command.env("LD_LIBRARY_PATH", libraries(&clang)).env(disabled, "DISABLED");
            let done = command.output().unwrap();
            assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
            String::from_utf8(done.stdout).unwrap()
        };
        let backend = ["run", "--backend", "cpu", "--redirect", "redirect.toml", "--"];
        let cushim = [&[env!("CARGO_BIN_EXE_cushim")][..], &backend].concat();
        // A region that fell back to the host prints the same: forbid the fallback.
        let mandatory =
            run("NOTHING", &[&["env", "OMP_TARGET_OFFLOAD=MANDATORY"][..], &cushim].concat());
        assert_eq!(mandatory, run("OMP_TARGET_OFFLOAD", &[]), "{name}");
    }
}

/// With offloading disabled every region runs on the host, and the trace says why.
#[test]
fn offloading_disabled() {
    let Some(clang) = toolkit("clang-19") else { return };
    let lab = Lab::new();
    let program = lab.path("data");
    compile(&clang, &root().join("c-tests/offload/openmp/data.c"), &program);
    let how = How::shim().with("LD_LIBRARY_PATH", libraries(&clang));
    let ran = lab.run(&program, &[], &how.with("OMP_TARGET_OFFLOAD", "DISABLED"));
    assert_eq!((ran.stdout.as_str(), ran.end.as_str()), ("1 1999\n", "exit 0"));
    let mut reasons = Vec::new();
    let mut file = TraceFile::open(&ran.traces[0].path).unwrap();
    file.poll(true, &mut |_, event| {
        if let Body::Mapped(mapped) = &event.body
            && mapped.what == 0
        {
            reasons.push(mapped.fallback);
        }
    })
    .unwrap();
    assert_eq!(reasons, [FALLBACK_DISABLED; 2]);
}

/// Rules for the kernel of a region, which libomptarget loads and launches through the driver: the same with and
/// without a trace, in which the launch is a nested call.
#[test]
fn rules_for_regions() {
    let lab = Lab::new();
    let source = "../offload/over_cuda.c";
    let map = root().join("c-tests/offload/stub.map");
    let map = format!("-Wl,--version-script,{}", map.display());
    let soname = "-Wl,-soname,libomptarget.so.19.1";
    let flags = ["-shared", "-fPIC", "-DLIBRARY", "-w", soname, &map, "-ldl"];
    lab.build("libomptarget.so.19.1", source, &flags);
    let from = format!("-L{}", lab.path("").display());
    let program = lab.build("over_cuda", source, &[&from, "-l:libomptarget.so.19.1"]);
    let head = ".version 7.0\n.target sm_52\n.address_size 64\n";
    let kernel = format!(
        "{head}.visible .entry __omp_offloading_10_2a_work_l12(.param .u64 p)\n{{\n.reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n\
        ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\nadd.s32 %r1, %r1, 100;\nst.global.u32 [%rd1], %r1;\nret;\n}}\n"
    );
    std::fs::write(lab.path("new.ptx"), kernel).unwrap();
    let rules = [
        ("match = { kernel = \"work_l12\" }\nlaunch = { shared = 16 }", "0 1\n0 2\n0 3\n"),
        ("match = { kernel = \"work_l12\" }\nimage = \"new.ptx\"", "0 100\n0 200\n0 300\n"),
        ("match = { kernel = \"work_l12\", nth = 2 }\nskip = true", "0 1\n0 1\n0 2\n"),
        ("match = { kernel = \"work_l12\", nth = 3 }\nimage = \"new.ptx\"", "0 1\n0 2\n0 102\n"),
        (
            "match = { arch = \"compute_52\" }\nimage = \"new.ptx\"\nwhole = true",
            "0 100\n0 200\n0 300\n",
        ),
    ];
    for (rule, expected) in rules {
        let rule = format!("[[redirect]]\n{rule}\non-failure = \"stop\"\n");
        std::fs::write(lab.path("redirect.toml"), &rule).unwrap();
        for mode in
            [&["run"][..], &["record", "-o", "trace"], &["record", "--nested", "-o", "trace"]]
        {
            let mut command = Command::new("timeout");
            command.args(["100", env!("CARGO_BIN_EXE_cushim")]).args(mode);
            command.args(["--backend", "cpu", "--redirect", "redirect.toml", "--"]).arg(&program);
            let done = command
                .current_dir(lab.path(""))
                .env("LD_LIBRARY_PATH", lab.path(""))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(String::from_utf8_lossy(&done.stdout), expected, "{mode:?} {rule}{said}");
            let _ = std::fs::remove_dir_all(lab.path("trace"));
            let _ = std::fs::remove_file(lab.path("trace"));
        }
    }
}
