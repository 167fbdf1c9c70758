//! Programs on the CPU in processes with tight limits on address space, code and files (`c-tests/virtual/limits.c`).
//! They run, or the error says what is missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cushim_testkit::needs::{left_out, of_toolkit};

fn program(folder: &Path) -> PathBuf {
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    built(folder, Path::new(&cc), &[])
}

fn built(folder: &Path, compiler: &Path, options: &[&str]) -> PathBuf {
    let program = folder.join("limits");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c-tests/virtual/limits.c");
    let mut command = Command::new(compiler);
    command.args(["-O1", "-w", "-o"]).arg(&program).args(options).arg(source).arg("-ldl");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

/// `cushim WORDS -- sh -c LINE PROGRAM MODE`, with a time limit; the line ends in the program.
fn ran(words: &[&str], line: &str, program: &Path, mode: &str) -> Output {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(Path::new(cushim).with_file_name("libvcuda.so").exists(), "run `cargo build` first");
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "100", cushim]).args(words).args(["--", "sh", "-c"]);
    command.arg(format!("{line} exec \"$0\" \"$@\"")).arg(program).arg(mode);
    // Compiled anew each time.
    command.env("CUSHIM_CACHE", "off").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// From what a program needs up; a little more than a power of two has no room for a range of that size.
#[test]
fn limited_address_space() {
    let scratch = tempfile::tempdir().unwrap();
    let program = program(scratch.path());
    for megabytes in [8400, 2048, 1150, 1100, 1024, 600, 512] {
        let line = format!("ulimit -v {};", megabytes << 10);
        let done = ran(&["run", "--backend", "cpu"], &line, &program, "plain");
        let said = (text(&done.stdout), text(&done.stderr), done.status.code());
        assert_eq!(said, ("0 3969\n".into(), String::new(), Some(0)), "{megabytes} MB");
    }
}

/// MemorySanitizer's memory is at fixed addresses, which nothing else may use, and it finds no error in cushim.
#[test]
fn programs_with_memory_sanitizer() {
    let what = "programs with MemorySanitizer on the CPU";
    let Some(clang) = of_toolkit("clang-19", "bin/clang", what) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let program = built(scratch.path(), &clang, &["-g", "-fsanitize=memory", "-DMSAN"]);
    for words in [&["run"][..], &["trace", "-c", "-o", "/dev/null"], &["record", "-o", "/dev/null"]]
    {
        let done = ran(&[words, &["--backend", "cpu"]].concat(), "", &program, "plain");
        let said = (text(&done.stdout), text(&done.stderr), done.status.code());
        assert_eq!(said, ("0 3969\n".into(), String::new(), Some(0)), "{words:?}");
    }
}

/// Kernels are interpreted, and the user hears why they take long.
#[test]
fn no_memory_that_can_be_executed() {
    let scratch = tempfile::tempdir().unwrap();
    let program = program(scratch.path());
    for words in [&["run", "--backend", "cpu"][..], &["check"]] {
        let done = ran(words, "", &program, "noexec");
        if done.status.code() == Some(77) {
            return left_out("programs that may not make code: no seccomp here");
        }
        let (printed, said) = (text(&done.stdout), text(&done.stderr));
        assert_eq!((printed.as_str(), done.status.code()), ("0 3969\n", Some(0)), "{said}");
        // Checked kernels are compiled, too.
        let told = said.matches("bytes of memory for code: Operation not permitted").count();
        assert_eq!(told, 1, "{words:?}: {said}");
    }
}

/// cushim's own files: cached code, the log, images. Writing beyond the file-size limit fails, and does not end the
/// program (SIGXFSZ).
#[test]
fn files_of_ours_beyond_the_limit() {
    let scratch = tempfile::tempdir().unwrap();
    let program = program(scratch.path());
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (cache, log, images) = (path("cache"), path("log"), path("images"));
    std::fs::write(&log, [b'\n'; 2000]).unwrap();
    let keep = format!("CUSHIM_CACHE= CUSHIM_CACHE_DIR={cache}");
    let ways: [(&[&str], &str, &str, &str); 4] = [
        (&["--log", &format!("info,{log}")], "", "1", ""),
        (&["--dump-images", &images], "", "0", "File too large"),
        (&[], &keep, "1", ""),
        // The message that a library cannot be redirected, and others, written to a full file.
        (&[], &format!("exec 2>>{log}; CUSHIM_LOG=info"), "1", ""),
    ];
    for (options, variables, limit, why) in ways {
        let words = [&["run", "--backend", "cpu"], options].concat();
        let line = format!("ulimit -f {limit}; {variables}");
        let done = ran(&words, &line, &program, "plain");
        let said = text(&done.stderr);
        let printed = (text(&done.stdout), done.status.code());
        assert_eq!(printed, ("0 3969\n".to_owned(), Some(0)), "{words:?} {line}: {said}");
        assert!(said.contains(why) && said.is_empty() == why.is_empty(), "{words:?}: {said}");
    }
    assert_eq!(std::fs::read(&log).unwrap(), [b'\n'; 2000]);
    // Nothing is left of files that were begun.
    for folder in [cache, images] {
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
}

/// If another file system hides the launcher's folder from a process, that process says that it is not traced.
#[test]
fn a_folder_that_is_hidden() {
    let scratch = tempfile::tempdir().unwrap();
    let program = program(scratch.path());
    let hide = "mount -t tmpfs none /dev/shm && exec \"$0\" \"$@\"";
    let line = format!("exec unshare -m sh -c '{hide} || exit 77' \"$0\" \"$@\";");
    let done = ran(&["trace", "--backend", "cpu"], &line, &program, "plain");
    let (printed, said) = (text(&done.stdout), text(&done.stderr));
    if done.status.code() == Some(77) || said.contains("unshare failed") {
        return left_out(
            "a launcher's folder that is hidden: this system lets nobody mount over it",
        );
    }
    assert_eq!((printed.as_str(), done.status.code()), ("0 3969\n", Some(0)), "{said}");
    if said.contains("squares<<<") {
        return left_out("a launcher's folder that is hidden: it is not in /dev/shm here");
    }
    assert!(said.contains("not tracing this process: cannot create"), "{said}");
}

/// A process that cannot write its findings continues, and the report does not say that nothing was found.
#[test]
fn reports_that_cannot_be_written() {
    let scratch = tempfile::tempdir().unwrap();
    let program = program(scratch.path());
    for tool in ["check", "profile"] {
        let done = ran(&[tool], "", &program, "plain");
        assert_eq!(
            (text(&done.stdout), done.status.code()),
            ("0 3969\n".into(), Some(0)),
            "{tool}"
        );
        // Standard output is a pipe, which the limit does not concern.
        let done = ran(&[tool], "ulimit -f 0;", &program, "plain");
        let said = text(&done.stderr);
        assert_eq!(text(&done.stdout), "0 3969\n", "{tool}: {said}");
        assert_eq!(done.status.code(), Some(125), "{tool}: {said}");
        assert!(said.contains("not all that was found can be told: File too large"), "{said}");
        assert!(said.contains("the report is incomplete: not all could be written"), "{said}");
        assert!(!said.contains("nothing found") && !said.contains("no process"), "{said}");
    }
}
