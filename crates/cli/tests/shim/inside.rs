//! Static runtimes in programs and libraries, which libcushim_audit.so redirects to the preloaded libraries. The
//! stub's shared runtime stands for virtual CUDA: calls in its log came through a jump, and calls in the log of the
//! static copy (`static12`) did not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compare::exact;
use crate::headers::toolkit;
use crate::lab::{How, Lab, Ran, audit, cudart, library, stub};

/// The hooks and the thin libraries' stubs.
fn preloaded(majors: &[u32]) -> String {
    let stubs = majors.iter().map(|major| stub().join(cudart(*major)));
    let files: Vec<PathBuf> = std::iter::once(library()).chain(stubs).collect();
    std::env::join_paths(files).unwrap().into_string().unwrap()
}

/// Sets what the launcher sets for a backend: these, and the audit library.
fn redirected(majors: &[u32]) -> How {
    How::shim()
        .with("LD_PRELOAD", preloaded(majors))
        .with("LD_AUDIT", audit().to_str().unwrap())
        .with("CUSHIM_BACKEND", "cpu")
}

/// Checks that all calls went to the shared runtimes, and that the hooks saw them.
fn all_led(ran: &Ran, majors: &[u32], launches: usize) {
    assert_eq!((ran.end.as_str(), ran.stderr.as_str()), ("exit 0", ""));
    let faces: Vec<String> = majors.iter().map(|m| format!("cudart{m}")).collect();
    let faces: Vec<&str> = faces.iter().map(String::as_str).collect();
    for line in &ran.log {
        assert!(faces.contains(&line.library.as_str()), "{} {}", line.library, line.function);
    }
    exact(ran, &faces);
    assert_eq!(ran.traces[0].launches().len(), launches);
}

/// Checks that nothing was redirected, that the program got NVIDIA's error for "no driver", and that one line says why.
fn refused(ran: &Ran, file: &Path, why: &str) {
    assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
    let said: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(said.len(), 1, "one line: {said:?}");
    for part in ["cushim: ", file.to_str().unwrap(), why, "no CUDA driver", "native"] {
        assert!(said[0].contains(part), "{part:?} in {said:?}");
    }
    assert!(ran.log.iter().all(|l| !l.library.starts_with("cudart")), "{:?}", ran.log);
    // `steps` does not print the status of a launch, but the driver below the static copy logs each call.
    assert!(ran.log.iter().all(|l| l.library != "cuda"), "{:?}", ran.log);
}

fn tool(name: &str, arguments: &[&str]) {
    let done = Command::new(name).args(arguments).output().expect("binutils");
    assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_program() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        let program = lab.static_program("steps.c", major);
        let ran = lab.run(&program, &["launch", "3", "sync"], &redirected(&[11, 12, 13]));
        all_led(&ran, &[major], 3);
        assert!(ran.log.iter().any(|l| l.function == "__cudaRegisterFunction"));
        assert!(ran.log.iter().any(|l| l.function == "cudaDeviceSynchronize"));
    }
}

/// Without the hooks, calls reach the shared runtime directly.
#[test]
fn a_program_without_the_hooks() {
    let lab = Lab::new();
    let program = lab.static_program("steps.c", 12);
    let stand_in = stub().join(cudart(12));
    let how = redirected(&[]).with("LD_PRELOAD", stand_in.to_str().unwrap());
    let ran = lab.run(&program, &["launch", "2"], &how);
    assert_eq!((ran.end.as_str(), ran.stderr.as_str()), ("exit 0", ""));
    assert_eq!(ran.log.iter().filter(|l| l.is_launch()).count(), 2);
    assert!(ran.log.iter().all(|l| l.library == "cudart12"));
}

/// If the loader runs as the program, /proc/self/exe is the loader.
#[test]
fn a_program_under_an_explicit_loader() {
    let lab = Lab::new();
    let program = lab.static_program("steps.c", 13);
    let loader = Path::new("/lib64/ld-linux-x86-64.so.2");
    let arguments = [program.to_str().unwrap(), "launch", "2"];
    all_led(&lab.run(loader, &arguments, &redirected(&[13])), &[13], 2);
}

#[test]
fn a_library_that_the_program_needs() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        let name = format!("libneeded{major}.so");
        let flags = ["-shared", "-fPIC", "-DGRID=4"];
        lab.with_static_runtime(&name, "plugin.c", major, &flags);
        let folder = lab.path("");
        let rpath = format!("-Wl,-rpath,{}", folder.display());
        let place = format!("-L{}", folder.display());
        let link = format!("-l:{name}");
        let program = lab.build(&format!("needs{major}"), "needs.c", &[&place, &link, &rpath]);
        let ran = lab.run(&program, &[], &redirected(&[11, 12, 13]));
        all_led(&ran, &[major], 3);
        assert_eq!(ran.stdout, format!("{major}000 0\n"));
    }
}

/// Like Python extensions: each has a private runtime of its own major, beside the program's runtime.
#[test]
fn libraries_opened_later_and_mixed_majors() {
    let lab = Lab::new();
    let plugin = |major: u32| {
        let name = format!("libplug{major}.so");
        let grid = format!("-DGRID={major}");
        lab.with_static_runtime(&name, "plugin.c", major, &["-shared", "-fPIC", &grid])
    };
    let plugins = [11, 12, 13].map(plugin);
    let plugins = plugins.each_ref().map(|p| p.to_str().unwrap());
    let bare = lab.build("plugins", "plugins.c", &["-DNO_STUBS", "-ldl"]);
    let all = [&["all"][..], &plugins].concat();
    let ran = lab.run(&bare, &all, &redirected(&[11, 12, 13]));
    all_led(&ran, &[11, 12, 13], 12);
    assert_eq!(ran.stdout, "11000 0\n12000 0\n13000 0\n".repeat(2));
    // Libraries that are opened and closed again and again: others land at the same address.
    let looped = [&["loop", "20"][..], &plugins].concat();
    let ran = lab.run(&bare, &looped, &redirected(&[11, 12, 13]));
    all_led(&ran, &[11, 12, 13], 180);
    // A program with a static runtime, and libraries with other static runtimes.
    let own = lab.with_static_runtime("own", "plugins.c", 13, &["-ldl", "-lpthread"]);
    let ran = lab.run(&own, &[&["own"][..], &plugins].concat(), &redirected(&[11, 12, 13]));
    all_led(&ran, &[11, 12, 13], 18);
    // A program with a shared runtime: the loader binds its references by name; the library's runtime is redirected.
    let shared = lab.program("plugins.c", 12);
    let ran = lab.run(&shared, &["own", plugins[0]], &redirected(&[11, 12, 13]));
    all_led(&ran, &[11, 12], 6);
}

fn stripped(lab: &Lab, name: &str, major: u32, flags: &[&str]) -> (PathBuf, PathBuf) {
    let flags = [&["-lpthread", "-ldl"], flags].concat();
    let whole = lab.with_static_runtime(&format!("{name}.whole"), "steps.c", major, &flags);
    let bare = lab.path(name);
    tool("strip", &[whole.to_str().unwrap(), "-o", bare.to_str().unwrap()]);
    (whole, bare)
}

#[test]
fn stripped_without_symbols_anywhere() {
    let lab = Lab::new();
    let (_, program) = stripped(&lab, "lost", 12, &[]);
    let how = redirected(&[11, 12, 13]).with("STUB_DRIVER", "1");
    let ran = lab.run(&program, &["launch", "2"], &how);
    refused(&ran, &program, "stripped");
    assert!(ran.stderr.contains("--symbols FILE"), "{}", ran.stderr);
    let launched: Vec<_> = ran.log.iter().filter(|l| l.is_launch()).collect();
    assert_eq!(launched.len(), 2, "the program went on");
    // With redirection off, everything runs as without cushim.
    for off in [("CUSHIM_BACKEND", "native"), ("CUSHIM_DISABLE", "1")] {
        let ran = lab.run(&program, &["launch", "2"], &how.clone().with(off.0, off.1));
        assert_eq!(ran.stderr, "");
        assert!(ran.log.iter().any(|l| l.library == "cuda" && l.is_launch()), "{off:?}");
    }
    let quiet = lab.run(&program, &["launch", "2"], &how.with("CUSHIM_LOG", "off"));
    assert_eq!(quiet.stderr, "");
}

/// Over NVIDIA's driver a stripped runtime works unchanged: silently in a library, as in cuBLAS; with a message in the program.
#[test]
fn stripped_over_nvidias_driver() {
    let lab = Lab::new();
    let (_, program) = stripped(&lab, "kept", 12, &[]);
    let how = redirected(&[11, 12, 13]).with("STUB_DRIVER", "1").with("CUSHIM_BACKEND", "driver");
    let ran = lab.run(&program, &["launch", "2"], &how);
    assert_eq!(ran.log.iter().filter(|l| l.library == "cuda" && l.is_launch()).count(), 2);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    for part in [program.to_str().unwrap(), "stripped", "over NVIDIA's driver", "--symbols FILE"] {
        assert!(ran.stderr.contains(part), "{part:?} in {}", ran.stderr);
    }
    let flags = ["-shared", "-fPIC", "-DGRID=5"];
    let library = lab.with_static_runtime("libplug.so", "plugin.c", 12, &flags);
    tool("strip", &[library.to_str().unwrap()]);
    let opens = lab.build("plugins", "plugins.c", &["-DNO_STUBS", "-ldl"]);
    let arguments = ["all", library.to_str().unwrap()];
    let ran = lab.run(&opens, &arguments, &how);
    assert_eq!((ran.end.as_str(), ran.stderr.as_str()), ("exit 0", ""));
    assert!(ran.log.iter().any(|l| l.library == "cuda" && l.is_launch()));
    let told = lab.run(&opens, &arguments, &how.with("CUSHIM_LOG", "info"));
    assert!(
        told.stderr.contains("libplug.so: its CUDA runtime is linked statically"),
        "{}",
        told.stderr
    );
}

#[test]
fn stripped_with_a_file_of_symbols() {
    let lab = Lab::new();
    let ids = [["-Wl,--build-id=sha1"], ["-Wl,--build-id=none"]];
    for (n, flags) in ids.iter().enumerate() {
        let (whole, program) = stripped(&lab, &format!("named{n}"), 13, flags);
        // The unstripped program itself, or its debug file.
        let debug = lab.path(&format!("named{n}.debug"));
        tool("objcopy", &["--only-keep-debug", whole.to_str().unwrap(), debug.to_str().unwrap()]);
        for symbols in [&whole, &debug] {
            let list = format!("/nonexistent:{}", symbols.display());
            let how = redirected(&[11, 12, 13]).with("CUSHIM_SYMBOLS", list);
            all_led(&lab.run(&program, &["launch", "3"], &how), &[13], 3);
        }
        // The debuglink convention: the name and CRC in .gnu_debuglink, the file in .debug beside the program.
        let linked = lab.path(&format!("linked{n}"));
        let link = format!("--add-gnu-debuglink={}", debug.display());
        tool("objcopy", &[&link, program.to_str().unwrap(), linked.to_str().unwrap()]);
        fs::create_dir_all(lab.path(".debug")).unwrap();
        fs::rename(&debug, lab.path(&format!(".debug/named{n}.debug"))).unwrap();
        let ran = lab.run(&linked, &["launch", "3"], &redirected(&[11, 12, 13]));
        all_led(&ran, &[13], 3);
    }
}

/// For other libraries the message names the first one that requests the driver, not each library that is loaded.
#[test]
fn stripped_libraries_are_told_of_when_they_ask() {
    let lab = Lab::new();
    let flags = ["-shared", "-fPIC", "-DGRID=5"];
    let libraries = [11, 12].map(|major| {
        let library =
            lab.with_static_runtime(&format!("libplug{major}.so"), "plugin.c", major, &flags);
        tool("strip", &[library.to_str().unwrap()]);
        library.to_str().unwrap().to_owned()
    });
    let opens = lab.build("plugins", "plugins.c", &["-DNO_STUBS", "-ldl"]);
    let arguments = ["all", &libraries[0], &libraries[1]];
    let how = redirected(&[11, 12, 13]).with("STUB_DRIVER", "1");
    let ran = lab.run(&opens, &arguments, &how);
    let said: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("finds no CUDA driver") && said[0].contains("libplug11.so"),
        "{said:?}"
    );
    assert!(ran.log.iter().all(|l| l.library != "cuda"), "{:?}", ran.log);
    let told = lab.run(&opens, &arguments, &how.clone().with("CUSHIM_LOG", "info"));
    for library in &libraries {
        let named = format!("{library}: its CUDA runtime is linked statically");
        assert!(told.stderr.contains(&named), "{}", told.stderr);
    }
    assert_eq!(lab.run(&opens, &arguments, &how.clone().with("CUSHIM_LOG", "off")).stderr, "");

    // A library whose kernels cushim replaces runs all the same: no message names it.
    let computed = lab.path("libcublas.so.12");
    fs::copy(&libraries[1], &computed).unwrap();
    let arguments = ["all", computed.to_str().unwrap(), &libraries[0]];
    let named = |how: &How| lab.run(&opens, &arguments, how).stderr.contains("libcublas.so.12");
    assert!(named(&how));
    let compilers = library().with_file_name("libcushim_compilers.so");
    let preload = format!("{}:{}", preloaded(&[11, 12, 13]), compilers.display());
    assert!(!named(&how.with("LD_PRELOAD", preload)));
}

/// The symbols of another program would place jumps at wrong addresses.
#[test]
fn foreign_symbols_are_not_believed() {
    let lab = Lab::new();
    for id in ["-Wl,--build-id=sha1", "-Wl,--build-id=none"] {
        let (_, program) = stripped(&lab, "one", 12, &[id]);
        let other = lab.with_static_runtime("other", "shapes.c", 12, &["-lpthread", "-ldl", id]);
        let how = redirected(&[12]).with("CUSHIM_SYMBOLS", other.to_str().unwrap());
        refused(&lab.run(&program, &["launch", "2"], &how), &program, "stripped");
    }
}

#[test]
fn mprotect_refused() {
    let lab = Lab::new();
    let seals = lab.build("seals", "seals.c", &[]);
    let program = lab.static_program("steps.c", 12);
    let how = redirected(&[12]).with("STUB_DRIVER", "1");
    let ran = lab.run(&seals, &[program.to_str().unwrap(), "launch", "2"], &how);
    refused(&ran, &program, "mprotect failed");
    assert!(ran.stderr.contains("Permission denied"), "{}", ran.stderr);
}

#[test]
fn no_stand_in_for_the_major() {
    let lab = Lab::new();
    let program = lab.static_program("steps.c", 12);
    let how = redirected(&[11, 13]).with("STUB_DRIVER", "1");
    refused(&lab.run(&program, &["launch", "2"], &how), &program, "libcudart.so.12");
}

/// A runtime whose functions are too short for a jump, and a runtime of an unknown major.
#[test]
fn runtimes_that_do_not_look_right() {
    let lab = Lab::new();
    let unaligned = ["-lpthread", "-ldl", "-falign-functions=1", "-fno-align-functions", "-Os"];
    let program = lab.with_static_runtime("tight", "steps.c", 12, &unaligned);
    let how = redirected(&[11, 12, 13]);
    refused(&lab.run(&program, &["launch", "1"], &how), &program, "too few for a jump");
    let flags = [
        "-lpthread",
        "-ldl",
        "-DcudaGetDeviceProperties_v2=cudaGetDeviceProperties_v9",
        "-D__cudaLaunchKernel=__cudaLaunchKernel9",
    ];
    let program = lab.with_static_runtime("strange", "steps.c", 12, &flags);
    refused(&lab.run(&program, &["launch", "1"], &how), &program, "match no known CUDA runtime");
}

/// Programs without a static runtime behave the same, byte for byte.
#[test]
fn others_do_not_notice() {
    let lab = Lab::new();
    let shared = lab.program("shapes.c", 12);
    let plain = lab.build("plain", "plain.c", &["-lpthread"]);
    let how = redirected(&[12]);
    for (program, is_cuda) in [(&shared, true), (&plain, false)] {
        let with = lab.run(program, &[], &how);
        let without = lab.run(program, &[], &how.clone().with("LD_AUDIT", ""));
        // `plain` lists the mapped files: the audit library brings a C library of its own.
        let same = |ran: &Ran| {
            let lines = ran.stdout.lines().filter(|l| !l.starts_with("maps"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(same(&with), same(&without));
        assert_eq!((&with.stderr, &with.end), (&without.stderr, &without.end));
        assert_eq!(with.traces.len(), usize::from(is_cuda));
        assert_eq!(crate::log::without_pids(&with.log), crate::log::without_pids(&without.log));
    }
}

/// NVIDIA's own static runtimes, if `scripts/cuda-toolkits` has installed them: their calls reach the stub.
#[test]
fn nvidias_static_runtimes() {
    for (name, major) in [("cuda-12.4", 12), ("cuda-13.5", 13)] {
        let Some(toolkit) = toolkit(name) else { continue };
        let archive = toolkit.join("lib64/libcudart_static.a");
        assert!(archive.exists(), "{} is missing", archive.display());
        let lab = Lab::new();
        let define = format!("-DMAJOR={major}");
        let archive = archive.to_str().unwrap();
        let flags = [&define, "-DNO_LOG", archive, "-lpthread", "-ldl", "-lrt", "-lstdc++"];
        let program = lab.build("real", "real.c", &flags);
        let ran = lab.run(&program, &[], &redirected(&[11, 12, 13]));
        all_led(&ran, &[major], 2);
        let alone = lab.run(&program, &[], &How::shim());
        let bypassed = alone.log.iter().all(|l| l.library == "cuda");
        assert!(bypassed, "without the audit library none of it reaches the stand-ins");
    }
}
