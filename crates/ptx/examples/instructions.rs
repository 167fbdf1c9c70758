//! Writes the cases for single instructions, or for sequences of them, into a folder, for a GPU to run: `cargo run -p
//! cushim-ptx --example instructions -- WHAT FOLDER`, where WHAT is `instructions`, `sequences`, `matrices`, or
//! `registers` (of each sequence).
//!
//! `scripts/record-instructions` runs it and describes the files.

#[path = "../tests/cases/mod.rs"]
mod cases;

use cases::kernels::{self, Case, Lanes, ROWS};
use cases::matrix;
use cases::sequences::{self, Shown};
use cushim_ptx::types::Scalar;
use std::fmt::Write;
use std::path::Path;

/// Kernels in one file: a module is compiled as a whole, and fails as a whole.
const KERNELS: usize = 40;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let cases = match arguments.first().map(String::as_str) {
        Some("instructions") => kernels::all(),
        Some("sequences") => sequences::all(Shown::Digest),
        Some("matrices") => matrix::all(),
        Some("registers") => sequences::all(Shown::Registers),
        _ => Vec::new(),
    };
    let (false, [_, folder]) = (cases.is_empty(), arguments.as_slice()) else {
        eprintln!(
            "instructions: expected `instructions`, `sequences`, `matrices` or `registers`, and a folder"
        );
        std::process::exit(2);
    };
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let mut index = String::new();
    let mut input = Vec::new();
    let cases: Vec<Case> = cases.into_iter().filter(|c| c.forms[0].device).collect();
    for (n, some) in cases.chunks(KERNELS).enumerate() {
        let mut text = kernels::head(true);
        for case in some {
            text += &case.text(Lanes::Threads);
            let _ =
                writeln!(index, "kernel {} {n} {ROWS} {} {}", case.name, input.len(), case.bytes());
            input.extend(case.input());
            for form in &case.forms {
                let widths: String = form.results.iter().map(|t| width(*t)).collect();
                let _ = writeln!(index, "form {:010x} {widths} {}", case.key(form), form.name);
            }
        }
        std::fs::write(folder.join(format!("{n}.ptx")), text)?;
    }
    std::fs::write(folder.join("inputs.bin"), &input)?;
    std::fs::write(folder.join("index.txt"), index)?;
    let forms: usize = cases.iter().map(|c| c.forms.len()).sum();
    println!("{forms} forms in {} kernels, {ROWS} rows of inputs each", cases.len());
    Ok(())
}

/// Bytes of a result, or one bit.
fn width(ty: Scalar) -> char {
    match ty.bits() {
        1 => 'p',
        16 => '2',
        32 => '4',
        _ => '8',
    }
}
