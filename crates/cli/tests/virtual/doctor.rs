//! `cushim doctor -- PROG`: the libraries that a program really loads, and what works on which backend.

use std::path::Path;
use std::process::{Command, Output};

use cushim_testkit::needs::left_out;
use serde_json::Value;

fn doctor(folder: &Path, words: &[&str]) -> Output {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(
        Path::new(cushim).with_file_name("libcushim_audit.so").exists(),
        "run `cargo build` first"
    );
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "100", cushim, "doctor"]).args(words);
    command.current_dir(folder).env_remove("CUSHIM_LIB").output().unwrap()
}

fn compile(folder: &Path, name: &str, source: &str, flags: &[&str]) {
    let input = folder.join(format!("{name}.c"));
    std::fs::write(&input, source).unwrap();
    let done = Command::new("cc").arg(&input).arg("-o").arg(folder.join(name)).args(flags).output();
    let done = done.expect("a C compiler called cc");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A library with a CUDA runtime 13 without its symbols.
const INSIDE: &str = r#"
    const char *names[] = {"libcuda.so.1", "cuGetProcAddress_v2", "cuLibraryLoadData"};
    __attribute__((section(".nvFatBinSegment"))) int wrapper[6] = {0x466243b1, 1};
    const char **inside(void) { return names; }"#;

/// Opens and closes a library, looks for one that does not exist, and has a child that opens another.
const PROGRAM: &str = r#"
    #include <dlfcn.h>
    #include <stdio.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int main(void) {
        void *inside = dlopen("./libinside.so", RTLD_NOW);
        if (!inside || dlclose(inside)) return 1;
        if (dlopen("libcudnn_nowhere.so.9", RTLD_NOW) || dlopen("libnowhere.so.1", RTLD_NOW)) return 2;
        puts("hello");
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) { execl("./child", "child", (char *)0); _exit(9); }
        int status;
        return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status) ? 3 : 4;
    }"#;
const CHILD: &str = r#"
    #include <dlfcn.h>
    int main(void) { return !dlopen("./libnvrtc.so.99", RTLD_NOW); }"#;

fn library<'a>(run: &'a Value, name: &str) -> &'a Value {
    let all = run["libraries"].as_array().unwrap();
    let is_it = |library: &&Value| library["file"].as_str().unwrap().ends_with(name);
    all.iter().find(is_it).unwrap_or_else(|| panic!("no {name}: {run}"))
}

#[test]
fn a_run_tells_what_its_processes_load() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    compile(folder, "libinside.so", INSIDE, &["-shared", "-fPIC", "-s", "-O1"]);
    compile(folder, "libnvrtc.so.99", "int nothing;", &["-shared", "-fPIC"]);
    compile(folder, "app", PROGRAM, &["-ldl"]);
    compile(folder, "child", CHILD, &["-ldl"]);
    for (backend, here, code) in [("cpu", "no", 1), ("native", "yes", 0)] {
        let done = doctor(folder, &["--json", "--backend", backend, "--", "./app", "-x"]);
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{stderr}");
        // The program's output does not mix with the report.
        assert!(stderr.contains("hello"), "{stderr}");
        let findings: Value = serde_json::from_slice(&done.stdout).unwrap();
        let run = &findings["run"];
        assert_eq!(run["command"], serde_json::json!(["./app", "-x"]));
        assert_eq!((&run["backend"], &run["status"]), (&backend.into(), &3.into()), "{run}");
        assert_eq!(run["processes"], 2);
        assert_eq!(run["missing"], serde_json::json!(["libcudnn_nowhere.so.9"]));
        let inside = library(run, "/libinside.so");
        assert_eq!((&inside[backend], &inside["driver"]), (&here.into(), &"yes".into()));
        assert_eq!(library(run, "/libnvrtc.so.99")["cpu"], "yes");
        let ours = |library: &&Value| library["file"].as_str().unwrap().contains("libcushim");
        assert_eq!(run["libraries"].as_array().unwrap().iter().find(ours), None);
    }
}

#[test]
fn the_text_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    compile(folder, "libinside.so", INSIDE, &["-shared", "-fPIC", "-s", "-O1"]);
    compile(folder, "app", PROGRAM, &["-ldl"]);
    let done = doctor(folder, &["--backend", "cpu", "--", "./app"]);
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(
        text.starts_with("./app ran with --backend cpu and ended with status 4: 1 process, "),
        "{text}"
    );
    let line =
        text.lines().find(|line| line.contains("libinside.so")).unwrap_or_else(|| panic!("{text}"));
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    assert_eq!(words, ["libinside.so", "yes", "yes", "no", "no"]);
    assert!(text.contains("\n1 of 1 do not work with --backend cpu"), "{text}");
    // With -v the report has whole paths.
    let done = doctor(folder, &["-v", "--backend", "cpu", "--", "./app"]);
    assert!(String::from_utf8_lossy(&done.stdout).contains("/libinside.so  yes"), "{done:?}");
}

/// The exit status, the findings as JSON, and the text of both.
fn both(folder: &Path, command: &[&str]) -> (Value, String) {
    let words = |more: &[&'static str]| {
        let all = [more, &["--backend", "native", "--"]].concat();
        doctor(folder, &[&all, command].concat())
    };
    let done = words(&["--json"]);
    let (said, text) = (String::from_utf8_lossy(&done.stderr), words(&[]));
    assert_eq!((done.status.code(), text.status.code()), (Some(125), Some(125)), "{said}");
    assert!(said.contains("cushim: the report is incomplete: cannot write all into"), "{said}");
    let findings: Value = serde_json::from_slice(&done.stdout).unwrap();
    (findings["run"].clone(), String::from_utf8_lossy(&text.stdout).into_owned())
}

fn is_no_summary(text: &str, why: &str) {
    let wrong = ["All of them work", "loaded nothing of CUDA's", "Asked for and not found"];
    assert!(wrong.iter().all(|part| !text.contains(part)), "{text}");
    let more = text.lines().find(|line| line.starts_with("The program loaded more than is seen"));
    assert!(more.is_some_and(|line| line.contains(why)), "{text}");
}

/// If a process cannot report what it loads, the program continues, and the report says that it is incomplete.
#[test]
fn what_cannot_be_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    compile(folder, "libinside.so", INSIDE, &["-shared", "-fPIC", "-s", "-O1"]);
    compile(folder, "libnvrtc.so.99", "int nothing;", &["-shared", "-fPIC"]);
    compile(folder, "app", PROGRAM, &["-ldl"]);
    compile(folder, "child", CHILD, &["-ldl"]);
    // Its output goes to a pipe, which the limit does not concern.
    let (run, text) = both(folder, &["sh", "-c", "ulimit -f 0; exec ./app"]);
    assert_eq!((&run["status"], &run["missing"]), (&3.into(), &serde_json::json!([])), "{run}");
    assert!(run["incomplete"].as_str().unwrap().contains("File too large"), "{run}");
    assert!(text.contains("ended with status 3: "), "{text}");
    is_no_summary(&text, "File too large");
}

/// The same with a disk that gets full while the program runs.
#[test]
fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    compile(folder, "libinside.so", INSIDE, &["-shared", "-fPIC", "-s", "-O1"]);
    compile(folder, "libnvrtc.so.99", "int nothing;", &["-shared", "-fPIC"]);
    compile(folder, "app", PROGRAM, &["-ldl"]);
    compile(folder, "child", CHILD, &["-ldl"]);
    let small = folder.join("small");
    std::fs::create_dir(&small).unwrap();
    let cushim = env!("CARGO_BIN_EXE_cushim");
    let line = "mount -t tmpfs -o size=64k none \"$1\" || exit 77; export TMPDIR=\"$1\"; shift; exec \"$@\"";
    // The rest of the file's last page is there already.
    let fill = "cat /dev/zero > \"$TMPDIR/fill\"; for n in 1 2 3 4 5 6 7 8; do ./app; ./app; done; exec ./app";
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "100", "unshare", "-m", "sh", "-c", line, "sh"]).arg(small);
    command.args([cushim, "doctor", "--backend", "native", "--", "sh", "-c", fill]);
    let done = command.current_dir(folder).env_remove("CUSHIM_LIB").output().unwrap();
    let (text, said) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    if done.status.code() == Some(77) || said.contains("unshare failed") {
        return left_out("doctor on a full disk: this system lets nobody mount one");
    }
    assert_eq!(done.status.code(), Some(125), "{said}");
    assert!(text.contains("ended with status 3: "), "{text}");
    is_no_summary(&text, "No space left on device");
}

/// A program that gives up its rights can no longer write the file, and still marks that.
#[test]
fn without_rights() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let source = r#"
        #include <dlfcn.h>
        #include <unistd.h>
        int main(void) { return setuid(65534) ? 77 : !dlopen("libm.so.6", RTLD_NOW); }"#;
    compile(folder, "app", source, &["-ldl"]);
    // SAFETY: no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return left_out("doctor of a program that gives up its rights: this user has none");
    }
    let (run, text) = both(folder, &["./app"]);
    assert_eq!(run["status"], 0, "{run}");
    is_no_summary(&text, "Permission denied");
}

#[test]
fn what_cannot_be_run_or_asked() {
    let folder = tempfile::tempdir().unwrap();
    let code = |words: &[&str]| doctor(folder.path(), words).status.code();
    assert_eq!(code(&["--", "./nosuch"]), Some(127));
    assert_eq!(code(&["--backend", "driver", "/bin/true"]), Some(125));
    assert_eq!(code(&["--backend", "cpu"]), Some(125));
    assert_eq!(code(&["/bin/true", "--", "/bin/true"]), Some(125));
}
