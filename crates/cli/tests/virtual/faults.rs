//! Messages for kernels that fail on the CPU, without a GPU: what the access did to which memory, the thread, and
//! the place in the source.

use std::path::Path;
use std::process::{Command, Output};

/// Mode, error and message: `@` is the address of an allocation of 1,000 bytes, `+` an address 32 MiB further.
const CASES: [(&str, u32, &str); 7] = [
    (
        "_Z6gatherPix",
        700,
        "CUDA_ERROR_ILLEGAL_ADDRESS: invalid global read of 4 bytes at +, 33553432 bytes after an allocation of 1000 \
         bytes at @; kernel gather(int*, long long) (_Z6gatherPix), block (0,0,0), thread (5,0,0), fault.cu:14, PTX ",
    ),
    (
        "_Z7inlinedPix",
        700,
        "CUDA_ERROR_ILLEGAL_ADDRESS: invalid global write of 4 bytes at +, 33553432 bytes after an allocation of \
         1000 bytes at @; kernel inlined(int*, long long) (_Z7inlinedPix), block (0,0,0), thread (0,3,0), part.h:9, \
         inlined at part.h:4, inlined at fault.cu:20, PTX ",
    ),
    (
        "_Z5callsPix",
        700,
        "CUDA_ERROR_ILLEGAL_ADDRESS: invalid global read of 4 bytes at +, 33553432 bytes after an allocation of 1000 \
         bytes at @; kernel calls(int*, long long) (_Z5callsPix), in function far(int const*, long long) \
         (_Z3farPKix), block (1,0,0), thread (2,0,0), fault.cu:7, PTX ",
    ),
    (
        "plain",
        700,
        "CUDA_ERROR_ILLEGAL_ADDRESS: invalid global atomic operation of 4 bytes at +, 33553432 bytes after an \
         allocation of 1000 bytes at @; kernel plain, block (0,0,0), thread (0,0,0), PTX ",
    ),
    (
        "odd",
        716,
        "CUDA_ERROR_MISALIGNED_ADDRESS: misaligned write of 4 bytes at 2, expected a multiple of 4; kernel odd, block \
         (0,0,0), thread (",
    ),
    (
        "ends",
        719,
        "CUDA_ERROR_LAUNCH_FAILED: trap; kernel ends, block (0,0,0), thread (7,0,0), fault.cu:50, PTX ",
    ),
    ("missing", 0, ""),
];

/// Replaces addresses by the table's symbols.
fn without_addresses(line: &str) -> String {
    let mut out = String::new();
    let allocation = line.split("bytes at 0x").nth(2).and_then(|rest| rest.split(';').next());
    let allocation = allocation.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("0x") {
        let digits = after.bytes().take_while(u8::is_ascii_hexdigit).count();
        let value = u64::from_str_radix(&after[..digits], 16).unwrap();
        let name = match allocation {
            Some(at) if value == at => "@",
            Some(at) if value == at + (32 << 20) => "+",
            None if value % 256 == 2 => "2",
            _ => "?",
        };
        out.push_str(before);
        out.push_str(name);
        rest = &after[digits..];
    }
    out + rest
}

/// The program of `c-tests/virtual/faults.c` in a folder of its own, which `body` may use.
fn with_program(body: impl FnOnce(&mut dyn FnMut(&str, (&str, &str)) -> Output)) {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(Path::new(cushim).with_file_name("libvcuda.so").exists(), "run `cargo build` first");
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let program = folder.join("faults");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c-tests/virtual/faults.c");
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    command.args(["-O1", "-w", "-o"]).arg(&program).arg(source).arg("-ldl");
    let made = command.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    body(&mut |mode, (name, value)| {
        let mut command = Command::new("timeout");
        command.args(["60", cushim, "run", "--backend", "cpu"]).arg(&program).arg(mode);
        command.env(name, value).output().unwrap()
    });
}

#[test]
fn the_message_says_what_who_and_where() {
    with_program(|run| {
        for (mode, code, message) in CASES {
            for by in ["compiled", "interpreter"] {
                let done = run(mode, ("CUSHIM_CPU", by));
                let said = String::from_utf8_lossy(&done.stderr).into_owned();
                if message.is_empty() {
                    assert_eq!((done.status.code(), said.as_str()), (Some(3), ""), "{mode}");
                    continue;
                }
                let shown = String::from_utf8_lossy(&done.stdout).into_owned();
                assert_eq!(shown, format!("{code}\n"), "{by} {mode}: {said}");
                let lines: Vec<&str> = said.lines().collect();
                assert_eq!(lines.len(), 1, "{by} {mode}: {said}");
                let line = without_addresses(lines[0]);
                let right = line.starts_with(&format!("cushim: {message}"));
                assert!(right, "{by} {mode}: {line}\nexpected {message}");
            }
        }
    });
}

/// Only developers' builds have the variable that makes this fault.
#[cfg(debug_assertions)]
#[test]
fn a_panic_of_ours_ends_the_launch_and_not_the_program() {
    with_program(|run| {
        for (mode, helper) in [("odd", "Store"), ("ends", "Trap")] {
            let done = run(mode, ("TEST_PANIC_OF_CUSHIM", helper));
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert_eq!(String::from_utf8_lossy(&done.stdout), "719\n", "{mode}: {said}");
            assert_eq!(done.status.code(), Some(0), "{mode}: {said}");
            let lines: Vec<&str> = said.lines().collect();
            let lower = helper.to_lowercase();
            let expected = format!(
                "cushim: CUDA_ERROR_LAUNCH_FAILED: internal error in cushim, in helper `{lower}`: index out of \
                 bounds: "
            );
            assert!(lines.len() == 2 && lines[1].starts_with(&expected), "{mode}: {said}");
            assert!(lines[1].contains(&format!("kernel {mode}, ")), "{mode}: {said}");
            assert!(
                lines[0].starts_with("cushim: internal error in cushim: panicked at "),
                "{said}"
            );
        }
    });
}
