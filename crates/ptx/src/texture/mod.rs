//! Textures and surfaces: sampling, filtering, reading and writing texels as NVIDIA's GPUs do.
//!
//! Owns what a lane's texture or surface instruction gives, for every engine: [`Unit`] runs it. A handle leads to a
//! [`Descriptor`] in memory. How texels are found and weighed was fitted to what an H200 gave (`tests/textures.rs`
//! compares). Must not know: CUDA's calls, engines, how handles come about.

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
    /// What ends the launch: no texture or surface has this handle, texels that are not in memory any more, coordinates
    /// outside where the instruction says so.
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
        // What has no handle is all zero, and nothing is kept of what is stored there (measured).
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

#[cfg(test)]
pub(crate) mod tests {
    use crate::exec::{BadAddress, Memory};
    use std::cell::RefCell;

    /// Bytes from an address on.
    pub(crate) struct Bytes(u64, RefCell<Vec<u8>>);

    impl Bytes {
        pub(crate) fn new(at: u64, bytes: &[u8]) -> Bytes {
            Bytes(at, RefCell::new(bytes.to_vec()))
        }
    }

    impl Memory for Bytes {
        fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress> {
            let from = address.checked_sub(self.0).ok_or(BadAddress)? as usize;
            let all = self.1.borrow();
            let end = from.checked_add(bytes.len()).ok_or(BadAddress)?;
            bytes.copy_from_slice(all.get(from..end).ok_or(BadAddress)?);
            Ok(())
        }
        fn store(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress> {
            let from = address.checked_sub(self.0).ok_or(BadAddress)? as usize;
            let mut all = self.1.borrow_mut();
            all.get_mut(from..from + bytes.len()).ok_or(BadAddress)?.copy_from_slice(bytes);
            Ok(())
        }
        fn update(
            &self,
            address: u64,
            bytes: u32,
            new: &mut dyn FnMut(u64) -> u64,
        ) -> Result<u64, BadAddress> {
            let mut old = [0; 8];
            self.load(address, &mut old[..bytes as usize])?;
            let old = u64::from_le_bytes(old);
            self.store(address, &new(old).to_le_bytes()[..bytes as usize])?;
            Ok(old)
        }
    }
}
