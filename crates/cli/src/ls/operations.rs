//! `ls --kernels --operations`: the operations that a warp executes in each kernel, counted in its PTX.
//!
//! Owns: which PTX of a file is counted, and for which block shapes. Must not know: how operations are counted
//! ([`cushim_ptx_jit::count`]).

use std::io::{self, Write};

use cushim_image::Limits;
use cushim_image::inventory::ImageKind;
use cushim_names::Foreign as _;
use cushim_ptx::ir::Module;

use super::listing::{Listing, Row};

/// The shape of blocks where a kernel requires none.
const BLOCK: [u32; 3] = [128, 1, 1];

/// Prints the counts of the kernels that are listed, for each PTX image that defines them.
pub fn print(out: &mut impl Write, listing: &Listing<'_>, limits: &Limits) -> io::Result<()> {
    for row in &listing.rows {
        let image = &row.numbered.image;
        if image.kind != ImageKind::Ptx {
            continue;
        }
        let module = match module(row, limits) {
            Ok(module) => module,
            Err(why) => {
                writeln!(out, "\nimage {}: not counted: {}", row.numbered.number, why.shown())?;
                continue;
            }
        };
        for kernel in &listing.kernels {
            let Some(number) = module.function(&kernel.symbol) else { continue };
            let Some(function) = module.functions.get(number as usize) else { continue };
            let block = function.shape("reqntid").unwrap_or(BLOCK);
            let [x, y, z] = block;
            writeln!(out, "\n{} ({}:{})", kernel.signature, image.kind, image.arch)?;
            match cushim_ptx_jit::count(&module, number, block) {
                Ok(counts) => writeln!(out, "for blocks of ({x}, {y}, {z}):\n{counts}")?,
                Err(why) => writeln!(out, "not counted: {}", why.to_string().shown())?,
            }
        }
    }
    Ok(())
}

/// The PTX of an image, checked.
fn module(row: &Row<'_>, limits: &Limits) -> Result<Module, String> {
    let text = row.numbered.image.with_bytes(limits, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        cushim_ptx::parse(&text).and_then(|parsed| cushim_ptx::check(&parsed))
    });
    text.map_err(|error| error.to_string())?.map_err(|error| format!("PTX {error}"))
}
