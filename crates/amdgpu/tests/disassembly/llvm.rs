//! Runs LLVM's disassembler: words in, text out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cushim_testkit::needs;

pub fn program() -> Option<PathBuf> {
    let what = "AMD instructions beside LLVM's disassembler";
    needs::of_toolkit("clang-19", "root/usr/lib/llvm-19/bin/llvm-mc", what)
}

/// A numbered `s_nop` follows each drawn instruction, so that the output's lines can be told apart.
/// It is repeated, as an instruction in the drawn words may consume up to four of them.
const MARKS: usize = 5;

fn mark(number: usize) -> u32 {
    0xbf80_0000 | number as u32 & 0xffff
}

fn bytes(text: &mut String, word: u32) {
    for byte in word.to_le_bytes() {
        text.push_str(&format!("{byte:#04x} "));
    }
}

/// Text and length of each instruction; `None` where LLVM finds none at the first byte.
pub fn disassembled<T: AsRef<[u32]>, F>(
    program: &Path,
    arguments: &[&str],
    drawn: &[(F, T)],
) -> Vec<Option<(String, usize)>> {
    let (mut results, mut rest) = (Vec::new(), drawn);
    while !rest.is_empty() {
        // The number in an `s_nop` has 16 bits.
        let found = part(program, arguments, &rest[..rest.len().min(60_000)]);
        rest = &rest[found.len()..];
        results.extend(found);
    }
    results
}

fn part<T: AsRef<[u32]>, F>(
    program: &Path,
    arguments: &[&str],
    drawn: &[(F, T)],
) -> Vec<Option<(String, usize)>> {
    let mut text = String::new();
    for (number, (_, words)) in drawn.iter().enumerate() {
        words.as_ref().iter().for_each(|word| bytes(&mut text, *word));
        text.push('\n');
        for _ in 0..MARKS {
            bytes(&mut text, mark(number));
            text.push('\n');
        }
    }
    let libraries = program.parent().and_then(Path::parent).expect("a folder").join("lib");
    let beside = program.ancestors().nth(3).expect("a folder").join("x86_64-linux-gnu");
    let mut child = Command::new(program)
        .args(["--disassemble", "--show-encoding", "-triple=amdgcn-amd-amdhsa"])
        .args(arguments)
        .env("LD_LIBRARY_PATH", std::env::join_paths([libraries, beside]).expect("paths"))
        .env("LLVM_DISABLE_SYMBOLIZATION", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("llvm-mc starts");
    let mut input = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("llvm-mc ends");
    writer.join().expect("a thread").expect("written");
    let mut results: Vec<Option<(String, usize)>> = vec![None; drawn.len()];
    let mut at = 0;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((shown, encoding)) = line.split_once("; encoding: [") else { continue };
        let encoding: Vec<u8> = encoding
            .trim_end_matches(']')
            .split(',')
            .filter_map(|byte| u8::from_str_radix(byte.trim_start_matches("0x"), 16).ok())
            .collect();
        let word = encoding.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        let number = (0..drawn.len().min(at + 1)).rev().take(2).find(|n| word == Some(mark(*n)));
        if let (Some(number), 4) = (number, encoding.len()) {
            at = number + 1;
        } else if let Some(result) = results.get_mut(at) {
            // LLVM marks invalid operands in a comment: it does not take the instruction.
            let text = if shown.contains("/*") { String::new() } else { shown.trim().to_owned() };
            result.get_or_insert((text, encoding.len()));
        }
    }
    // A warning at the first column of a line: there is no instruction, and the text shows later words.
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let number = line.strip_prefix("<stdin>:").and_then(|rest| rest.split_once(":1: warning"));
        if let Some(line) = number.and_then(|(line, _)| line.parse::<usize>().ok())
            && line % (MARKS + 1) == 1
            && let Some(result) = results.get_mut(line / (MARKS + 1))
        {
            *result = None;
        }
    }
    // llvm-mc 19 crashes on some words (v_accvgpr_mov_b32 of a scalar register) and prints nothing for them.
    if !output.status.success() {
        results.truncate(at + 1);
        results[at] = None;
    }
    for result in &mut results {
        result.take_if(|(text, _)| text.is_empty());
    }
    results
}
