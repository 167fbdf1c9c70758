//! `cushim check` on programs with several processes, in Python: one report for all, with Python's source lines, and
//! findings that the user filters out.

use std::path::Path;
use std::process::{Command, Output};

use cushim_testkit::needs;
use serde_json::Value;

/// One test of a suite: it leaks 1,000 bytes. It prints whether this Python exposes its frames.
const CASE: &str = "\
import ctypes, sys
cuda = ctypes.CDLL(None)
def keep():
    at = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(1000)) == 0
def main():
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    keep()
main()
print(hasattr(ctypes.pythonapi, '_Py_DumpTraceback'))
";

/// Starts the tests, each in its own process, as CTest and pytest-xdist do.
const SUITE: &str = "\
import subprocess, sys
for n in range(3):
    subprocess.run([sys.executable, 'case.py', str(n)], check=True)
";

/// Runs a suite under `cushim check`.
fn check_suite(folder: &Path, options: &[&str], suite: &[&str]) -> Output {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(Path::new(cushim).with_file_name("libvcuda.so").exists(), "run `cargo build` first");
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "100", cushim, "check", "--tool", "leak", "--error-exitcode", "9"]);
    command.args(options).arg("--").args(suite).current_dir(folder);
    command.output().unwrap()
}

fn check(folder: &Path, options: &[&str]) -> Output {
    check_suite(folder, options, &["python3", "suite.py"])
}

/// Whether a program can be run, judged by `--version`; if not, lists what the test left out.
fn is_there(command: &[&str]) -> bool {
    let there = Command::new(command[0]).args(&command[1..]).arg("--version").output();
    let there = there.is_ok_and(|done| done.status.success());
    if !there {
        needs::left_out(&format!("suites under `cushim check`: no `{}` here", command.join(" ")));
    }
    there
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn processes_of_a_suite_are_in_one_report() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("case.py"), CASE).unwrap();
    std::fs::write(folder.join("suite.py"), SUITE).unwrap();
    let done = check(folder, &["--json", "all.json", "--save-suppressions", "known.toml"]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(9), "{said}");
    assert!(
        said.contains("cushim check: leak: 1000 bytes of device memory are never freed"),
        "{said}"
    );
    assert!(
        said.contains("found 3 times") && said.ends_with("in 3 processes (leak 1)\n"),
        "{said}"
    );
    let all = std::fs::read_to_string(folder.join("all.json")).unwrap();
    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!(all["findings"].as_array().map(Vec::len), Some(1), "{all}");
    assert_eq!(all["findings"][0]["processes"].as_array().map(Vec::len), Some(3), "{all}");
    let frames = &all["findings"][0]["trails"][0]["frames"];
    if text(&done.stdout).contains("True") {
        let place = |n: usize| frames[n]["place"].as_str().unwrap_or_default().to_owned();
        assert_eq!(frames[0]["function"], "keep", "{all}");
        assert!(place(0).ends_with("case.py:5") && place(1).ends_with("case.py:11"), "{all}");
        assert_eq!(frames[2]["function"], "<module>", "{all}");
        std::fs::write(
            folder.join("by_line.toml"),
            "[[suppress]]\nhost = ['keep', 'case.py:11']\n",
        )
        .unwrap();
        let done = check(folder, &["--suppressions", "by_line.toml"]);
        let said = text(&done.stderr);
        assert_eq!(
            said,
            "cushim check: nothing found in 3 processes; 1 suppressed (suppress 1: 1)\n"
        );
        assert_eq!(done.status.code(), Some(0));
    }
    let done = check(folder, &["--suppressions", "known.toml"]);
    assert_eq!((done.status.code(), text(&done.stderr).contains("1 suppressed")), (Some(0), true));
}

/// CTest's file in a folder of tests: three that allocate, and one that does not use CUDA.
const CTEST: &str = "\
add_test(first python3 case.py 1)
add_test(second python3 case.py 2)
add_test(third python3 case.py 3)
add_test(other python3 -c pass)
";

/// Tests for pytest: in pytest's own process, and as programs in other processes.
const PYTEST: &str = "\
import runpy, subprocess, sys, pytest
def test_here():
    runpy.run_path('case.py')
@pytest.mark.parametrize('n', [1, 2])
def test_program(n):
    subprocess.run([sys.executable, 'case.py', str(n)], check=True)
def test_other():
    assert 1 + 1 == 2
";

/// A suite of four tests; three of them leak 1,000 bytes each.
fn is_one_report(folder: &Path, suite: &[&str], passed: &str) -> String {
    let done = check_suite(folder, &[], suite);
    let (out, said) = (text(&done.stdout), text(&done.stderr));
    assert!(out.contains(passed), "{out}{said}");
    assert_eq!(done.status.code(), Some(9), "{out}{said}");
    said
}

#[test]
fn a_suite_of_ctest_has_one_report() {
    if !is_there(&["ctest"]) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("case.py"), CASE).unwrap();
    std::fs::write(scratch.path().join("CTestTestfile.cmake"), CTEST).unwrap();
    let suite = ["ctest", "-j", "2", "--output-on-failure"];
    let passed = "100% tests passed, 0 tests failed out of 4";
    let said = is_one_report(scratch.path(), &suite, passed);
    assert!(said.contains("found 3 times"), "{said}");
    assert!(said.ends_with("cushim check: 1 finding in 3 processes (leak 1)\n"), "{said}");
}

#[test]
fn a_suite_of_pytest_has_one_report() {
    if !is_there(&["python3", "-m", "pytest"]) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("case.py"), CASE).unwrap();
    std::fs::write(scratch.path().join("test_case.py"), PYTEST).unwrap();
    let suite = ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"];
    let said = is_one_report(scratch.path(), &suite, "4 passed");
    // Allocations in pytest's own process have other callers.
    assert!(said.contains("found 2 times"), "{said}");
    assert!(said.ends_with("cushim check: 2 findings in 3 processes (leak 2)\n"), "{said}");
}

#[test]
fn mistakes_in_suppressions_are_told_before_the_program_runs() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("suite.py"), "print('ran')\n").unwrap();
    std::fs::write(folder.join("known.toml"), "[[suppress]]\nkernal = 'a'\n").unwrap();
    for (file, expected) in [
        ("known.toml", "known.toml:2:1: unknown field `kernal`"),
        ("none.toml", "cannot read none.toml"),
    ] {
        let done = check(folder, &["--suppressions", file]);
        let said = text(&done.stderr);
        assert!(said.contains(expected) && done.stdout.is_empty(), "{said}");
        assert_eq!(done.status.code(), Some(125), "{said}");
    }
}
