//! Help, completions, manual pages.

use std::fs;

use crate::support::Bench;

#[test]
fn help_teaches() {
    let bench = Bench::new();
    let done = bench.run(&["--help"]);
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""));
    for word in ["trace", "env", "doctor", "report", "completions", "man", "Examples:", "125"] {
        assert!(done.stdout.contains(word), "{word} is missing in {}", done.stdout);
    }
    let done = bench.run(&["trace", "--help"]);
    for word in ["Examples:", "CUSHIM_OUTPUT", "CUSHIM_EVENTS", "%q{VAR}", "126"] {
        assert!(done.stdout.contains(word), "{word} is missing in {}", done.stdout);
    }
    assert!(done.stdout.lines().all(|l| l.chars().count() <= 110), "{}", done.stdout);
}

/// `docs/commands.md` is the output of `cushim help`.
#[test]
fn the_reference_is_not_old() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/commands");
    let checked =
        std::process::Command::new(script).arg(env!("CARGO_BIN_EXE_cushim")).output().unwrap();
    let told = String::from_utf8_lossy(&checked.stdout);
    let why = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{told}{why}");
}

#[test]
fn completions_for_every_shell() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = bench.run(&["completions", shell]);
        assert!(done.code() == 0 && done.stdout.contains("doctor"), "{shell}");
    }
    let script = bench.run(&["completions", "bash"]).stdout;
    fs::write(bench.path("c.sh"), script).unwrap();
    let checked = std::process::Command::new("bash").arg("-n").arg(bench.path("c.sh")).status();
    assert!(checked.unwrap().success());
    assert_eq!(bench.run(&["completions", "tcsh"]).code(), 125);
}

#[test]
fn manual_pages() {
    let bench = Bench::new();
    let done = bench.run(&["man"]);
    assert!(done.stdout.contains(".TH cushim 1"), "{done:?}");
    fs::create_dir(bench.path("man")).unwrap();
    assert_eq!(bench.run(&["man", "--dir", "man"]).code(), 0);
    for page in ["cushim.1", "cushim-trace.1", "cushim-env.1", "cushim-doctor.1"] {
        let text = fs::read_to_string(bench.path("man").join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
    assert_eq!(bench.run(&["man", "--dir", "no/such"]).code(), 125);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    let mut command = std::process::Command::new("bash");
    command.args([
        "-c",
        "set -o pipefail; for i in 1 2 3; do \"$0\" completions bash | true; done; :",
    ]);
    let done = bench.start(command.arg(env!("CARGO_BIN_EXE_cushim"))).done();
    assert_eq!(done.stderr, "");
}
