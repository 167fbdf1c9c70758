//! Kernels that are too large for the compiler: they run in the interpreter, and one line says so, without a GPU.

use std::path::Path;
use std::process::Command;

#[test]
fn the_first_kernel_that_is_too_large_is_named_once() {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(Path::new(cushim).with_file_name("libvcuda.so").exists(), "run `cargo build` first");
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let program = folder.join("large");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c-tests/virtual/large.c");
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    command.args(["-O1", "-w", "-o"]).arg(&program).arg(source).arg("-ldl");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // Each of 32 threads skips one jump in 64.
    let sum = 32 * (4096 - 4096 / 64);
    let line = |kernel: &str| {
        format!("cushim: interpreted: kernel {kernel}: 8194 basic blocks, expected at most 4096\n")
    };
    for (by, said) in [
        ("", line("first")),
        // With CUSHIM_CPU=report each kernel is named.
        ("report", line("first") + &line("second")),
        // With CUSHIM_CPU=interpreter nothing would be compiled anyway: no message.
        ("interpreter", String::new()),
    ] {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "100", cushim, "run", "--backend", "cpu"]);
        let done = command.arg(&program).env("CUSHIM_CPU", by).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stderr), said, "{by}");
        assert_eq!(String::from_utf8_lossy(&done.stdout), format!("0 {sum}\n").repeat(4), "{by}");
        assert!(done.status.success(), "{by}");
    }
}
