//! `cushim env`: it prints one line, which a shell splits into the right words.

use std::fs;
use std::process::Command;

use crate::support::Bench;

#[test]
fn the_line_does_what_it_says() {
    let bench = Bench::new();
    let other = bench.compile("libother.so", "int other;", &["-shared", "-fPIC"]);
    let script = "env $(\"$0\" env -e launch,sync --nested -o 'r.%p.cushim') \
                  sh -c 'echo \"$LD_PRELOAD $CUSHIM_OUTPUT $CUSHIM_EVENTS $CUSHIM_NESTED\"'";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_cushim")]).current_dir(bench.dir.path());
    command.env("CUSHIM_LIB", &bench.library).env("LD_PRELOAD", &other);
    let done = bench.start(&mut command).done();
    let preload = format!("{}:{}", other.display(), bench.library.display());
    assert_eq!(done.stdout, format!("{preload} r.%p.cushim launch,sync 1\n"), "{done:?}");
    assert_eq!(done.stderr, "");
}

#[test]
fn the_default_is_a_recording_beside_the_program() {
    let bench = Bench::new();
    let done = bench.run(&["env"]);
    assert_eq!(done.stdout.lines().count(), 1);
    let words: Vec<&str> = done.stdout.split_whitespace().collect();
    assert!(words.contains(&"CUSHIM_OUTPUT=%e.%p.cushim"), "{done:?}");
    assert!(words.contains(&"CUSHIM_EVENTS=launch,graph,copy,region,map"), "{done:?}");
}

#[test]
fn what_cannot_be_said_is_refused() {
    let bench = Bench::new();
    for name in ["x.jsonl", "x.txt", "a b.cushim", "*.cushim", ""] {
        let done = bench.run(&["env", "-o", name]);
        assert_eq!((done.code(), done.stdout.as_str()), (125, ""), "{name}");
        assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
    }
    let done = bench.run(&["env", "-o", "x.jsonl"]);
    assert!(done.stderr.contains("cushim report"), "{done:?}");
}

#[test]
fn a_path_with_spaces_is_reached_through_a_link() {
    let bench = Bench::new();
    let folder = bench.path("my programs");
    fs::create_dir(&folder).unwrap();
    fs::copy(&bench.library, folder.join("libcushim.so")).unwrap();
    let mut command = bench.cushim(&["env"]);
    let done = bench.start(command.env("CUSHIM_LIB", folder.join("libcushim.so"))).done();
    let first = done.stdout.split_whitespace().next().unwrap();
    let link = first.strip_prefix("LD_PRELOAD=").unwrap();
    assert_eq!(fs::read_link(link).unwrap(), folder.join("libcushim.so"), "{done:?}");
    assert!(done.stderr.contains("other machines"), "{done:?}");
}

#[test]
fn an_older_entry_of_ours_is_not_doubled() {
    let bench = Bench::new();
    let mut command = bench.cushim(&["env"]);
    let done = bench.start(command.env("LD_PRELOAD", &bench.library)).done();
    assert_eq!(done.stdout.matches("libcushim.so").count(), 1, "{done:?}");
}

/// The program's environment keeps its order, duplicate names and entries without `=`; cushim's come at the end.
#[test]
fn what_the_program_finds() {
    let bench = Bench::new();
    let list = r#"
        #include <stdio.h>
        #include <string.h>
        extern char **environ;
        int main(void) {
            for (char **at = environ; *at; at++)
                if (strncmp(*at, "CUSHIM_", 7) && strncmp(*at, "LD_", 3) && strncmp(*at, "ASAN_", 5)) puts(*at);
            return 0;
        }"#;
    let start = r#"
        #include <unistd.h>
        int main(int argc, char **argv) {
            (void)argc;
            char *odd[] = {"Z=1", "A=2", "no variable", "Z=3", "=x", "PATH=/usr/bin:/bin", "\xff=\xfe", "A", argv[1], 0};
            execve(argv[2], argv + 2, odd);
            return 9;
        }"#;
    let (list, start) = (bench.compile("list", list, &[]), bench.compile("start", start, &[]));
    let library = format!("CUSHIM_LIB={}", bench.library.display());
    let ran = |words: &[&str]| {
        let mut command = std::process::Command::new(&start);
        command.arg(&library).args(words).arg(&list).current_dir(bench.dir.path());
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{words:?}: {done:?}");
        done.stdout
    };
    let alone = ran(&[]);
    assert!(alone.starts_with(b"Z=1\nA=2\nno variable\nZ=3\n"), "{alone:?}");
    let cushim = env!("CARGO_BIN_EXE_cushim");
    for way in [&["run", "--backend", "native"][..], &["trace"], &["record", "-o", "/dev/null"]] {
        let found = ran(&[&[cushim], way].concat());
        assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&alone), "{way:?}");
    }
}
