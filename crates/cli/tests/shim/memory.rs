//! The memory and the trace records that remain after code was loaded and unloaded.

use std::collections::BTreeSet;

use crate::lab::{How, Lab, Ran, stub};

const ROUNDS: usize = 20_000;
/// Fewer rounds where each opens a library, which takes the loader longer, or writes a file.
const OPENED: usize = 5_000;
/// Allowed difference of allocators and tables, KiB; a leak of 780 bytes a round gave 1,900 and more.
const SLACK: i64 = 400;

/// Runs `loads WHAT ROUNDS FILE` without and with the library: the library's own memory must not grow with the
/// rounds. Returns the run with the library.
fn flat(what: &str, file: &str, more: How) -> Ran {
    let lab = Lab::new();
    let folder = format!("-L{}", stub().display());
    let program =
        lab.build("loads", "loads.c", &[&folder, "-l:libcudart.so.12", "-l:libcuda.so.1", "-ldl"]);
    let plugin = lab.plugin("libone.so", 12, 3);
    let file = if file == "plugin" { plugin } else { lab.path(file) };
    let count = if matches!(what, "plugin" | "file") { OPENED } else { ROUNDS };
    let rounds = count.to_string();
    let arguments = [what, &rounds, file.to_str().unwrap()];
    let run = |how: How| {
        let how =
            How { shim: how.shim, environment: more.clone().with("STUB_QUIET", "1").environment };
        let ran = lab.run(&program, &arguments, &how.with("CUSHIM_EVENTS", "launch"));
        assert_eq!((ran.end.as_str(), ran.stderr.as_str()), ("exit 0", ""), "{}", ran.stdout);
        let grown: i64 = ran.stdout.trim().parse().unwrap_or_else(|_| panic!("{}", ran.stdout));
        (ran, grown)
    };
    let ((_, bare), (ran, ours)) = (run(How::bare()), run(How::shim()));
    assert!(ours - bare < SLACK, "{what}: {ours} KiB, without the library {bare} KiB");
    let trace = &ran.traces[0];
    assert!(trace.is_whole(), "{what}: {:?}", trace.lost);
    assert_eq!(trace.launches().len(), count, "{what}");
    // Each record appears once or twice: an address in a library is recognised at its second return.
    assert!(trace.metadata.kernels.len() < 20, "{what}: {} kernels", trace.metadata.kernels.len());
    assert!(trace.metadata.images.len() < 20, "{what}: {} images", trace.metadata.images.len());
    ran
}

/// Two kernels of one name alternate, with the same handles, at the same address: each launch has its own arguments.
fn takes_turns(ran: &Ran, what: &str) {
    let args = |launch: &String| launch.rsplit_once(">>>").unwrap().1.to_owned();
    for (round, launch) in ran.traces[0].launches().iter().enumerate() {
        let expected = ["(07000000) = 0", "(0700000000000000) = 0"][round % 2];
        assert_eq!(args(launch), expected, "{what}: round {round}: {launch}");
    }
}

#[test]
fn libraries_and_modules_from_memory() {
    for what in ["library", "module"] {
        takes_turns(&flat(what, "none", How::default()), what);
    }
}

#[test]
fn modules_from_files() {
    takes_turns(&flat("file", "code.ptx", How::default()), "file");
}

/// Code in a loaded file is not read at registration: its offset in the file identifies it. Here its bytes change,
/// as it is in data that the program may write.
#[test]
fn code_in_the_programs_own_data() {
    takes_turns(&flat("constant", "none", How::default()), "constant");
}

#[test]
fn libraries_that_are_opened_and_closed() {
    for direct in ["", "1"] {
        let ran = flat("plugin", "plugin", How::default().with("CUSHIM_DIRECT", direct));
        let launches: BTreeSet<String> = ran.traces[0].launches().into_iter().collect();
        assert_eq!(launches.len(), 1, "{launches:?}");
        assert!(launches.first().unwrap().contains("_Z5alphaPfif<<<3,1,1"), "{launches:?}");
    }
}
