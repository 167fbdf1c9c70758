//! Textures and surfaces: sampling, filtering, reading and writing texels as NVIDIA's GPUs do.
//!
//! Owns the result of a lane's texture or surface instruction, for every engine: [`Unit`] executes it. A handle leads
//! to a [`Descriptor`] in memory. Addressing and weighting of texels were fitted to an H200's results
//! (`tests/textures.rs` compares). Must not know: CUDA's calls, engines, how handles are created.

mod axis;
mod cube;
pub mod descriptor;
mod filter;
pub mod format;
mod level;
mod query;
mod sample;
mod scale;
mod srgb;
mod surface;
mod texel;

pub use descriptor::{Address, Descriptor, Sampler};
pub use format::{Format, Kind};
pub use texel::RESULTS;

use crate::exec::{Cause, Memory};
use crate::sem::Operation;

/// The most operands of an instruction, the reference among them, and of results.
pub const OPERANDS: usize = 16;

/// What runs texture and surface instructions: a warp's lanes one by one, mostly with one texture.
pub struct Unit<'m> {
    memory: &'m dyn Memory,
    last: Option<(u64, Descriptor)>,
}

impl<'m> Unit<'m> {
    /// For textures in this memory.
    pub fn new(memory: &'m dyn Memory) -> Unit<'m> {
        Unit { memory, last: None }
    }

    /// Runs an instruction for a lane: `operands` are the reference and what follows it, results go to `out`.
    ///
    /// # Errors
    /// Why the launch ends: no texture or surface has this handle, texels that are no longer in memory, coordinates
    /// outside if the instruction traps on them.
    pub fn run(
        &mut self,
        operation: &Operation,
        operands: &[u64],
        out: &mut [u64; RESULTS],
    ) -> Result<(), Cause> {
        let [handle, rest @ ..] = operands else { return Ok(()) };
        let mut words = [0; OPERANDS];
        for (to, from) in words.iter_mut().zip(rest) {
            *to = *from as u32;
        }
        if let Operation::TextureQuery(what) = operation
            && what.is_kind()
        {
            out[0] = query::kind(*what, self.find(*handle)).into();
            return Ok(());
        }
        // Reads of a null handle return zeros, and stores are dropped (measured).
        if *handle == 0 {
            return Ok(());
        }
        let memory = self.memory;
        let Some(found) = self.find(*handle) else {
            return Err(Cause::Handle {
                handle: *handle,
                surface: matches!(operation, Operation::Surface(_)),
            });
        };
        match operation {
            Operation::Texture(what) => {
                let texel = sample::fetch(memory, found, what, &words)?;
                for (to, from) in out.iter_mut().zip(texel) {
                    *to = from.into();
                }
                // Sparse arrays are refused, so that all there is is resident.
                out[sample::results(what.result)] = 1;
            }
            Operation::Surface(what) => surface::run(memory, found, what, rest, out)?,
            Operation::TextureQuery(what) => out[0] = query::answer(*what, found, words[0]).into(),
            _ => {}
        }
        Ok(())
    }

    fn find(&mut self, handle: u64) -> Option<&Descriptor> {
        if self.last.as_ref().is_none_or(|(known, _)| *known != handle) {
            self.last = Descriptor::find(self.memory, handle).map(|found| (handle, found));
        }
        self.last.as_ref().map(|(_, found)| found)
    }
}
