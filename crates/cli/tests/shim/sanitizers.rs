//! Programs with a sanitizer, with and without CUDA: they start, report nothing about cushim, and have complete
//! traces.

use std::path::{Path, PathBuf};

use cushim_testkit::{needs::left_out, sample};

use crate::compare::{RUNTIMES, behaves, same};
use crate::headers::toolkit;
use crate::lab::{How, Lab, cudart, stub};

/// Compilers and their options, usually one in three of clang's. A library is named where the program needs it as a
/// shared library.
fn builds() -> Vec<(PathBuf, Vec<String>)> {
    let mut all = Vec::new();
    let gcc = PathBuf::from("gcc");
    for sanitizer in ["thread", "address", "leak", "undefined"] {
        all.push((gcc.clone(), vec![format!("-fsanitize={sanitizer}")]));
    }
    let Some(toolkit) = toolkit("clang-19") else { return all };
    let gccs = all.len();
    let clang = toolkit.join("bin/clang");
    for sanitizer in ["thread", "address", "leak", "undefined", "memory"] {
        all.push((clang.clone(), vec![format!("-fsanitize={sanitizer}")]));
    }
    let found = std::process::Command::new(&clang).arg("-print-resource-dir").output().unwrap();
    let folder = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    for sanitizer in ["thread", "address"] {
        let path = format!("-Wl,-rpath,{folder}/lib/linux");
        all.push((
            clang.clone(),
            vec![format!("-fsanitize={sanitizer}"), "-shared-libsan".into(), path],
        ));
    }
    let clangs = all.split_off(gccs);
    all.extend(sample::of(clangs, 3));
    all
}

/// Builds a program of `c-tests/shim`; `None` if this machine lacks that sanitizer.
fn build(
    lab: &Lab,
    source: &str,
    compiler: &Path,
    flags: &[String],
    cuda: bool,
) -> Option<PathBuf> {
    let folder = format!("-L{}", stub().display());
    let library = format!("-l:{}", cudart(12));
    let mut arguments: Vec<&str> = flags.iter().map(String::as_str).collect();
    if cuda {
        arguments.extend(["-DMAJOR=12", &folder, &library, "-lpthread"]);
    }
    let name = format!("{source}-{}", flags.concat().replace(['/', '=', '-', ','], ""));
    let program = lab.build_by(compiler, &name, source, &arguments);
    // A sanitizer that does not run here shows nothing (HWASan needs processor support, TSan an address layout).
    let runs = program.filter(|program| {
        let bare = lab.run(program, &["together", "1", "1"], &How::bare());
        bare.end == "exit 0" || bare.end == "exit 11"
    });
    if runs.is_none() {
        let by = compiler.file_name().unwrap().display();
        left_out(&format!("sanitizers: {source} by {by} {} does not run here", flags.join(" ")));
    }
    runs
}

#[test]
fn programs_without_cuda() {
    let lab = Lab::new();
    let mut ran = 0;
    for (compiler, flags) in builds() {
        let Some(program) = build(&lab, "sane.c", &compiler, &flags, false) else { continue };
        println!("{} {flags:?}", compiler.display());
        behaves(&lab, &program, &[], &How::default());
        ran += 1;
    }
    assert!(ran >= 4, "gcc has four");
}

#[test]
fn programs_with_cuda_by_several_threads() {
    let lab = Lab::new();
    let mut ran = 0;
    for (compiler, flags) in builds() {
        let Some(program) = build(&lab, "threads.c", &compiler, &flags, true) else { continue };
        println!("{} {flags:?}", compiler.display());
        let traced = same(&lab, &program, &["together", "4", "3000"], RUNTIMES, &How::default());
        assert_eq!((traced.end.as_str(), traced.stderr.as_str()), ("exit 0", ""));
        same(&lab, &program, &["short", "20"], RUNTIMES, &How::default());
        ran += 1;
    }
    assert!(ran >= 4, "gcc has four");
}

/// A program without AddressSanitizer starts one that links it as a library, in every way to start a program.
#[test]
fn children_with_address_sanitizer() {
    let lab = Lab::new();
    let parent = lab.build("starts", "starts.c", &[]);
    let libraries = builds().into_iter().filter(|(compiler, flags)| {
        flags[0].ends_with("address") && (compiler.ends_with("gcc") || flags.len() > 1)
    });
    let mut ran = 0;
    for (compiler, flags) in libraries {
        let Some(program) = build(&lab, "many.c", &compiler, &flags, true) else { continue };
        let plain = lab.build_by(
            &compiler,
            "noted",
            "sane.c",
            &flags.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let (program, plain) = (program.to_str().unwrap(), plain.unwrap());
        for how in ["sh", "system", "spawn", "fork", "own"] {
            let done = same(&lab, &parent, &[how, program], RUNTIMES, &How::default());
            assert_eq!(done.stdout, format!("3\n{how}: exit 0\n"), "{flags:?}");
            assert_eq!(done.traces.len(), 1);
        }
        // An empty environment has neither cushim's LD_PRELOAD nor the path to the stub.
        let done = behaves(&lab, &parent, &["clean", plain.to_str().unwrap()], &How::default());
        assert!(done.stdout.ends_with("clean: exit 11\n"), "{}", done.stdout);
        ran += 1;
    }
    assert!(ran > 0);
}

/// A program's own default options for AddressSanitizer stay valid.
#[test]
fn default_options_of_the_program_stay() {
    let lab = Lab::new();
    let source = lab.path("fault.c");
    let text = "const char *__asan_default_options(void) { return \"exitcode=41:detect_leaks=0\"; }\n\
                int main(int c, char **v) { (void)v; volatile int a[2] = {0}; return a[c * 5]; }\n";
    std::fs::write(&source, text).unwrap();
    let program = lab.build("fault", source.to_str().unwrap(), &["-fsanitize=address"]);
    // The program's options do not mention the link order; the launcher's ASAN_OPTIONS does.
    let how = How::default().with("ASAN_OPTIONS", "verify_asan_link_order=0");
    for shim in [false, true] {
        let ran = lab.run(&program, &[], &How { shim, ..how.clone() });
        assert!(ran.stderr.contains("stack-buffer-overflow"), "{shim}: {}", ran.stderr);
        assert_eq!(ran.end, "exit 41", "{shim}");
    }
}
