//! The exports of each library. A missing symbol version is silent at link time, and a hook in a test
//! binary would crash it.

use std::path::Path;
use std::process::Command;

use crate::lab::{library, root};

/// `name@version` of each defined dynamic symbol of `file`.
fn exports(file: &Path) -> Vec<String> {
    let done = Command::new(root().join("scripts/check-exports"))
        .arg("--list")
        .arg(file)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_library_exports_the_golden_list() {
    let golden = std::fs::read_to_string(root().join("docs/exports.txt")).unwrap();
    let golden: Vec<String> = golden.lines().map(str::to_owned).collect();
    crate::compare::equal(
        &golden,
        &exports(&library()),
        "docs/exports.txt (scripts/check-exports --update)",
    );
}

/// Each row of the tables under each of its majors, and no other symbol.
#[test]
fn the_golden_list_is_that_of_the_tables() {
    let runtime = cushim_abi::RUNTIME.iter().flat_map(|f| {
        f.majors.iter().map(|&m| format!("{}@{}", f.name, cushim_abi::runtime_node(m as usize)))
    });
    let mut expected: Vec<String> = runtime.collect();
    expected.extend(cushim_abi::DRIVER.iter().map(|f| f.name.to_owned()));
    let exported = exports(&library());
    let hooks: Vec<String> = exported
        .iter()
        .filter(|e| e.starts_with("cu") || e.starts_with("__cuda"))
        .filter(|e| !e.starts_with("cushim_"))
        .cloned()
        .collect();
    expected.sort();
    crate::compare::equal(&expected, &hooks, "exports by the tables");
}

#[test]
fn no_program_or_test_exports_a_hook() {
    let folder = Path::new(env!("CARGO_BIN_EXE_cushim")).parent().unwrap();
    let tests = std::fs::read_dir(folder.join("deps")).unwrap().map(|e| e.unwrap().path());
    let tests = tests.filter(|p| p.is_file() && p.extension().is_none());
    let mut looked_at = 0;
    for file in tests.chain([env!("CARGO_BIN_EXE_cushim").into()]) {
        let bad: Vec<String> = exports(&file)
            .into_iter()
            .filter(|e| e.starts_with("cu") || e.starts_with("__cuda") || e.starts_with("dl"))
            .collect();
        assert!(bad.is_empty(), "{} defines {bad:?}", file.display());
        looked_at += 1;
    }
    assert!(looked_at >= 2, "this test and the program at least");
}
