//! Loads and stores of all lanes at once, if their addresses allow it.
//!
//! Owns the fast paths. All other cases are left to [`Exec::load`] and [`Exec::store`], which go lane by lane and
//! report the lane at fault. Must not know how addresses are kept in registers.

use super::common::Common;
use super::decode::{Access, MOST, Operand, Step, Target};
use super::launch::Exec;
use super::memory::Place;
use super::rows::{self, Bytes, Pattern};
use super::turn::Scratch;
use super::warp::{Lanes, Warp, lanes};
use crate::exec::Fault;
use crate::exec::bytes::word;
use crate::types::Space;

/// Calls the function for the number of bytes that a lane accesses.
macro_rules! by_size {
    ($this:ident.$function:ident($access:ident, $($argument:expr),*)) => {
        match $access.size {
            1 => $this.$function::<1>($access, $($argument),*),
            2 => $this.$function::<2>($access, $($argument),*),
            4 => $this.$function::<4>($access, $($argument),*),
            8 => $this.$function::<8>($access, $($argument),*),
            _ => $this.$function::<16>($access, $($argument),*),
        }
    };
}

impl Exec<'_> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn fast_load(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        scratch: &mut Scratch,
        step: &Step<'_>,
        access: &Access,
        targets: &[Target],
        frame: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let Scratch { lanes: row, bytes } = scratch;
        let registers = &mut warp.frames[frame].registers[..];
        let pattern = rows::locate(self.version, registers, access, active, row);
        let size = access.size;
        let read = match pattern {
            Pattern::Same(at) if access.space != Space::Local => {
                let mut value = [0; MOST];
                match self.fetch(common, access.space, at, &mut value[..size]) {
                    Some(()) => {
                        let mut values = [0; 8];
                        for (v, piece) in values.iter_mut().zip(value.chunks_exact(access.width)) {
                            *v = word(piece);
                            if access.sign != 0 {
                                *v = ((*v << access.sign) as i64 >> access.sign) as u64;
                            }
                        }
                        rows::spread(self.version, registers, targets, active, &values);
                        return Ok(());
                    }
                    None => None,
                }
            }
            Pattern::Row(at) if access.space != Space::Local => {
                // Inactive lanes in between are read, too, and not written.
                let first = active.trailing_zeros() as usize;
                let last = 32 - active.leading_zeros() as usize;
                let whole =
                    self.fetch(common, access.space, at, &mut bytes[first * size..last * size]);
                whole.or_else(|| {
                    by_size!(self.gather(access, common, &warp.local, active, row, bytes))
                })
            }
            Pattern::Misaligned => None,
            _ => by_size!(self.gather(access, common, &warp.local, active, row, bytes)),
        };
        if read.is_none() {
            return self.load(common, warp, step.inst, frame, active);
        }
        let registers = &mut warp.frames[frame].registers[..];
        rows::unpack(self.version, registers, access, targets, active, bytes, row);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn fast_store(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        scratch: &mut Scratch,
        step: &Step<'_>,
        access: &Access,
        values: &[Operand],
        frame: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let Scratch { lanes: row, bytes } = scratch;
        let registers = &warp.frames[frame].registers[..];
        let pattern = rows::locate(self.version, registers, access, active, row);
        if pattern == Pattern::Misaligned {
            return self.store(common, warp, step.inst, frame, active);
        }
        rows::pack(self.version, registers, access, values, bytes);
        let size = access.size;
        let first = active.trailing_zeros() as usize;
        let last = 32 - active.leading_zeros() as usize;
        let written = match pattern {
            Pattern::Row(at)
                if access.space != Space::Local && active.count_ones() as usize == last - first =>
            {
                self.put(common, access.space, at, &bytes[first * size..last * size])
            }
            _ => by_size!(self.scatter(access, common, &mut warp.local, active, row, bytes)),
        };
        match written {
            Some(()) => Ok(()),
            None => self.store(common, warp, step.inst, frame, active),
        }
    }

    /// Reads contiguous bytes, in memory that lanes share.
    fn fetch(&self, common: &Common, space: Space, address: u64, out: &mut [u8]) -> Option<()> {
        let (memory, at) = match self.place(space, address) {
            Place::Global(a) => return self.memory.load(a, out).ok(),
            Place::Shared(a) => common.shared_at(a)?,
            Place::Param(a) => (self.launch.params, usize::try_from(a).ok()?),
            Place::Local(_) => return None,
        };
        out.copy_from_slice(memory.get(at..at.checked_add(out.len())?)?);
        Some(())
    }

    /// Writes contiguous bytes, in memory that lanes share.
    fn put(&self, common: &mut Common, space: Space, address: u64, bytes: &[u8]) -> Option<()> {
        match self.place(space, address) {
            Place::Global(a) => self.memory.store(a, bytes).ok(),
            Place::Shared(a) => {
                let (memory, at) = common.shared_mut(a)?;
                memory.get_mut(at..at.checked_add(bytes.len())?)?.copy_from_slice(bytes);
                Some(())
            }
            Place::Param(_) | Place::Local(_) => None,
        }
    }

    /// Reads lane by lane.
    fn gather<const SIZE: usize>(
        &self,
        access: &Access,
        common: &Common,
        local: &[Vec<u8>],
        active: u32,
        addresses: &Lanes,
        bytes: &mut Bytes,
    ) -> Option<()> {
        for l in lanes(active) {
            let out = bytes.get_mut(l * SIZE..l * SIZE + SIZE)?;
            let (memory, at) = match self.place(access.space, addresses[l]) {
                Place::Global(a) => {
                    self.memory.load(a, out).ok()?;
                    continue;
                }
                Place::Shared(a) => common.shared_at(a)?,
                Place::Param(a) => (self.launch.params, usize::try_from(a).ok()?),
                Place::Local(a) => (&local[l][..], usize::try_from(a).ok()?),
            };
            out.copy_from_slice(memory.get(at..at.checked_add(SIZE)?)?);
        }
        Some(())
    }

    /// Writes lane by lane.
    fn scatter<const SIZE: usize>(
        &self,
        access: &Access,
        common: &mut Common,
        local: &mut [Vec<u8>],
        active: u32,
        addresses: &Lanes,
        bytes: &Bytes,
    ) -> Option<()> {
        for l in lanes(active) {
            let from = bytes.get(l * SIZE..l * SIZE + SIZE)?;
            let (memory, at) = match self.place(access.space, addresses[l]) {
                Place::Global(a) => {
                    self.memory.store(a, from).ok()?;
                    continue;
                }
                Place::Shared(a) => common.shared_mut(a)?,
                Place::Local(a) => (&mut local[l][..], usize::try_from(a).ok()?),
                Place::Param(_) => return None,
            };
            memory.get_mut(at..at.checked_add(SIZE)?)?.copy_from_slice(from);
        }
        Some(())
    }
}
