//! Writes the random kernels for contraction into folders, one for each sample, for a GPU to run:
//! `cargo run -p cushim-ptx --example contraction -- FOLDER`.
//!
//! `scripts/record-contraction` runs it and describes the files.

#[path = "../tests/contraction/mod.rs"]
mod contraction;

use contraction::ROWS;
use std::fmt::Write;
use std::path::Path;

/// Kernels in one file.
const KERNELS: usize = 100;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("contraction: expected a folder to write to");
        std::process::exit(2);
    };
    for sample in contraction::SAMPLES {
        write(&Path::new(&folder).join(sample.name), &sample.cases())?;
    }
    Ok(())
}

fn write(folder: &Path, cases: &[contraction::Case]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut index = format!("{:016x} {ROWS}\n", contraction::hash(cases));
    for (n, some) in cases.chunks(KERNELS).enumerate() {
        let mut text = contraction::head();
        for case in some {
            text += &case.text;
            let _ = write!(index, "{} {n} {} {} {}", case.name, case.ty, case.width, case.slots);
            case.params.iter().for_each(|p| index += &format!(" {p:x}"));
            index += "\n";
            std::fs::write(folder.join(format!("{}.bin", case.ty)), contraction::input(case.ty))?;
        }
        std::fs::write(folder.join(format!("{n}.ptx")), text)?;
    }
    std::fs::write(folder.join("index.txt"), index)?;
    println!("{}: {} kernels, {ROWS} rows of inputs each", folder.display(), cases.len());
    Ok(())
}
