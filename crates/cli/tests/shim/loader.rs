//! Libraries that are loaded and unloaded, several runtimes in one process, and dlsym's dependence on the caller.

use std::fs;

use crate::compare::{DRIVER, RUNTIMES, behaves, same};
use crate::lab::{How, Lab, cudart, stub};

/// Opens and closes one library a hundred times: with a runtime that comes and goes with it, and with one
/// that stays.
#[test]
fn dlopen_and_dlclose_in_a_loop() {
    let lab = Lab::new();
    let plugin = lab.plugin("libone.so", 12, 3);
    let other = lab.plugin("libtwo.so", 12, 5);
    let (one, two) = (plugin.to_str().unwrap(), other.to_str().unwrap());
    let without = lab.build("without", "plugins.c", &["-DNO_STUBS", "-ldl"]);
    let with = lab.program("plugins.c", 12);
    for program in [&without, &with] {
        // Two libraries land at the same address in turn: their host stubs must not be confused.
        let ran = same(&lab, program, &["loop", "60", one, two], RUNTIMES, &How::default());
        assert_eq!(ran.traces[0].launches().len(), 360);
    }
}

/// The runtime itself is unloaded, and another major is loaded at its address.
#[test]
fn runtimes_unloaded_and_reloaded() {
    let lab = Lab::new();
    let plugins = [11, 12, 13].map(|major| lab.plugin(&format!("lib{major}.so"), major, major));
    let plugins = plugins.each_ref().map(|p| p.to_str().unwrap());
    let program = lab.build("without", "plugins.c", &["-DNO_STUBS", "-ldl"]);
    let ran =
        same(&lab, &program, &[&["loop", "30"][..], &plugins].concat(), RUNTIMES, &How::default());
    assert_eq!(ran.traces[0].launches().len(), 270);
}

/// Each caller reaches the runtime of its own major; all three are in one process.
#[test]
fn three_runtimes_in_one_process() {
    let lab = Lab::new();
    let plugins = [11, 12, 13].map(|major| lab.plugin(&format!("lib{major}.so"), major, major));
    let plugins = plugins.each_ref().map(|p| p.to_str().unwrap());
    let without = lab.build("without", "plugins.c", &["-DNO_STUBS", "-ldl"]);
    let ran = same(&lab, &without, &[&["all"][..], &plugins].concat(), RUNTIMES, &How::default());
    assert_eq!(ran.stdout, "11000 0\n12000 0\n13000 0\n".repeat(2));
    for major in [11, 12, 13] {
        let with = lab.program("plugins.c", major);
        same(&lab, &with, &[&["own"][..], &plugins].concat(), RUNTIMES, &How::default());
    }
}

#[test]
fn runtimes_with_rtld_local() {
    let lab = Lab::new();
    let program = lab.build("local", "local.c", &["-ldl"]);
    for major in [11, 12, 13] {
        let runtime = stub().join(cudart(major));
        let ran = same(&lab, &program, &[runtime.to_str().unwrap()], RUNTIMES, &How::default());
        assert_eq!(ran.traces[0].launches().len(), 3);
    }
}

/// The trace notes a library that is opened with RTLD_DEEPBIND, past all preloaded libraries.
#[test]
fn deepbind_is_noted() {
    let lab = Lab::new();
    let program = lab.program("plugins.c", 12);
    let plugin = lab.plugin("libone.so", 12, 3);
    let source = lab.path("deep.c");
    fs::write(
        &source,
        "#include <dlfcn.h>\n#include \"cuda.h\"\nint main(int n, char **a) { LAUNCH1(beta()); (void)n;\n\
         void *l = dlopen(a[1], RTLD_NOW | RTLD_DEEPBIND); if (!l) return 1;\n\
         printf(\"%d\\n\", ((int (*)(int))dlsym(l, \"plugin_run\"))(2)); return 0; }\n",
    )
    .unwrap();
    drop(program);
    let shim = crate::lab::root().join("c-tests/shim");
    let include = format!("-I{}", shim.display());
    let folder = format!("-L{}", stub().display());
    let program = lab.build(
        "deep",
        source.to_str().unwrap(),
        &[&include, &folder, "-l:libcudart.so.12", "-ldl"],
    );
    let ran = behaves(&lab, &program, &[plugin.to_str().unwrap()], &How::default());
    let notes = &ran.traces[0].metadata.notes;
    assert!(
        notes.iter().any(|n| n.contains("libone.so") && n.contains("RTLD_DEEPBIND")),
        "{notes:?}"
    );
}

#[test]
fn dlopen_keeps_the_callers_runpath() {
    let lab = Lab::new();
    fs::create_dir(lab.path("hidden")).unwrap();
    lab.plugin("hidden/libinner.so", 12, 2);
    let runpath = format!("-Wl,-rpath,{},--enable-new-dtags", lab.path("hidden").display());
    lab.build("libouter.so", "outer.c", &["-shared", "-fPIC", &runpath, "-ldl"]);
    let here = lab.path("");
    let (folder, rpath) =
        (format!("-L{}", here.display()), format!("-Wl,-rpath,{}", here.display()));
    let program = lab.build("runpath", "runpath.c", &[&folder, "-louter", &rpath, "-ldl"]);
    let ran = same(&lab, &program, &[], RUNTIMES, &How::default());
    assert!(ran.stdout.contains("inner 0"), "{}", ran.stdout);
}

/// Without CUDA every look-up of a CUDA function has the same result as without cushim.
#[test]
fn no_cuda_stays_no_cuda() {
    let lab = Lab::new();
    let program = lab.build("lookup", "lookup.c", &["-ldl"]);
    let nothing = How::default().with("LD_LIBRARY_PATH", lab.path("").to_str().unwrap());
    let ran = behaves(&lab, &program, &[], &nothing);
    assert!(ran.stdout.contains("cuInit: default absent"), "{}", ran.stdout);
    assert!(ran.traces.is_empty());
}

#[test]
fn where_cuda_is_lookups_find_it() {
    let lab = Lab::new();
    let program = lab.build("lookup", "lookup.c", &["-ldl"]);
    for library in ["libcuda.so.1", cudart(11), cudart(12), cudart(13)] {
        behaves(&lab, &program, &[stub().join(library).to_str().unwrap()], &How::default());
    }
}

/// The loader binds weak references: no symbol of cushim may satisfy one where there is no CUDA.
#[test]
fn weak_references_stay_unbound() {
    let lab = Lab::new();
    let program = lab.build(
        "weak",
        "lookup.c",
        &["-DWEAK", "-fPIC", "-Wl,-z,dynamic-undefined-weak", "-ldl"],
    );
    let bare = lab.run(&program, &[], &How::bare());
    let ran = lab.run(&program, &[], &How::shim());
    let weak = |text: &str| text.lines().find(|l| l.starts_with("weak")).map(str::to_owned);
    assert_eq!(weak(&bare.stdout), weak(&ran.stdout));
}

/// Libraries that keep the driver's functions in variables of their names fill those in, not code of cushim's, and other
/// libraries that were linked with them use them: loaded at the start, and later.
#[test]
fn variables_with_names_of_functions_are_the_programs() {
    let lab = Lab::new();
    let here = lab.path("").display().to_string();
    let (folder, rpath) = (format!("-L{here}"), format!("-Wl,-rpath,{here},-rpath-link,{here}"));
    let library = |name: &str, define: &str, other: &[&str]| {
        let soname = format!("-Wl,-soname,{name}");
        let flags = [define, "-shared", "-fPIC", &soname, "-ldl", &folder, &rpath];
        lab.build(name, "shadow.c", &[&flags[..], other].concat())
    };
    library("libshadow.so", "-DSHADOW", &[]);
    let user = library("libuser.so", "-DUSER", &["-lshadow"]);
    let linked = lab.build("linked", "shadow.c", &["-DLINKED", &folder, "-luser", &rpath]);
    let opened = lab.build("opened", "shadow.c", &["-ldl"]);
    for program in [&linked, &opened] {
        let ran = same(&lab, program, &[user.to_str().unwrap()], DRIVER, &How::default());
        assert!(ran.stdout.ends_with("launch 0\n"), "{}", ran.stdout);
        assert_eq!(ran.traces[0].launches().len(), 3);
    }
}
