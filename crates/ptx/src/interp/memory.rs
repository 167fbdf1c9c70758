//! Loads, stores and atomics, in any state space.

use super::common::Common;
use super::launch::Exec;
use super::warp::{Lanes, Warp, lanes};
use crate::alu;
use crate::exec::bytes::word;
use crate::exec::{Access, Cause, Fault, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE};
use crate::ir::{Base, Inst, Src};
use crate::sem::{Atomic, Operation, Source};
use crate::types::Space;

/// Where a lane's access goes.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Global(u64),
    Shared(u64),
    Local(u64),
    Param(u64),
}

impl Exec<'_> {
    /// The addresses of an operand, and their space.
    pub(super) fn addresses(
        &self,
        warp: &Warp,
        frame: usize,
        inst: &Inst,
        n: usize,
    ) -> (Lanes, Space) {
        let space = inst.space(n);
        let Some(Src::Memory(base, offset)) = inst.src.get(n) else { return ([0; 32], space) };
        let offset = *offset as u64;
        let out = match base {
            Base::Reg(r, bits) => {
                let cut = alu::mask(*bits);
                warp.frames[frame].registers[*r as usize].map(|v| v.wrapping_add(offset) & cut)
            }
            Base::Symbol(s) => [self.address_of(warp, frame, *s).wrapping_add(offset); 32],
            Base::Zero => [offset; 32],
        };
        (out, space)
    }

    pub(super) fn place(&self, space: Space, address: u64) -> Place {
        let within = |window: u64| (window..window + WINDOW_SIZE).contains(&address);
        match space {
            Space::Shared => Place::Shared(address),
            Space::Local => Place::Local(address),
            Space::Param => Place::Param(address),
            Space::Generic if within(SHARED_WINDOW) => Place::Shared(address - SHARED_WINDOW),
            Space::Generic if within(LOCAL_WINDOW) => Place::Local(address - LOCAL_WINDOW),
            Space::Generic if within(PARAM_WINDOW) => Place::Param(address - PARAM_WINDOW),
            _ => Place::Global(address),
        }
    }

    fn bad(
        &self,
        common: &Common,
        warp: &Warp,
        inst: &Inst,
        lane: usize,
        place: Place,
        bytes: u32,
    ) -> Fault {
        let (address, space) = match place {
            Place::Global(a) => (a, "global"),
            Place::Shared(a) => (a, "shared"),
            Place::Local(a) => (a, "local"),
            Place::Param(a) => (a, "param"),
        };
        self.fault_at(common, warp, inst, lane, Cause::Address { address, bytes, space })
    }

    pub(super) fn read_bytes(
        &self,
        common: &Common,
        warp: &Warp,
        inst: &Inst,
        lane: usize,
        place: Place,
        out: &mut [u8],
    ) -> Result<(), Fault> {
        let range = |memory: &[u8], at: u64, out: &mut [u8]| {
            let at = usize::try_from(at).ok()?;
            out.copy_from_slice(memory.get(at..at.checked_add(out.len())?)?);
            Some(())
        };
        let done = match place {
            Place::Global(a) => self.memory.load(a, out).ok(),
            Place::Shared(a) => {
                let found = common.shared_at(a);
                found.and_then(|(memory, at)| range(memory, at as u64, out))
            }
            Place::Local(a) => range(&warp.local[lane], a, out),
            Place::Param(a) => range(self.launch.params, a, out),
        };
        done.ok_or_else(|| self.bad(common, warp, inst, lane, place, out.len() as u32))
    }

    pub(super) fn write_bytes(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        lane: usize,
        place: Place,
        bytes: &[u8],
    ) -> Result<(), Fault> {
        let range = |memory: &mut [u8], at: u64| {
            let at = usize::try_from(at).ok()?;
            memory.get_mut(at..at.checked_add(bytes.len())?)?.copy_from_slice(bytes);
            Some(())
        };
        let done = match place {
            Place::Global(a) => self.memory.store(a, bytes).ok(),
            Place::Shared(a) => {
                let found = common.shared_mut(a);
                found.and_then(|(memory, at)| range(memory, at as u64))
            }
            Place::Local(a) => range(&mut warp.local[lane], a),
            Place::Param(_) => None,
        };
        done.ok_or_else(|| self.bad(common, warp, inst, lane, place, bytes.len() as u32))
    }

    fn aligned(
        &self,
        common: &Common,
        warp: &Warp,
        inst: &Inst,
        lane: usize,
        address: u64,
        bytes: u32,
    ) -> Result<(), Fault> {
        if address.is_multiple_of(u64::from(bytes)) {
            return Ok(());
        }
        Err(self.fault_at(common, warp, inst, lane, Cause::Misaligned { address, bytes }))
    }

    pub(super) fn load(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        frame: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let ty = inst.sem.ty();
        let (width, n) = (ty.bytes() as usize, inst.dst.len());
        let (addresses, space) = self.addresses(warp, frame, inst, 0);
        let mut values = [[0u64; 32]; 8];
        let mut bytes = [0u8; 64];
        for l in lanes(active) {
            self.aligned(common, warp, inst, l, addresses[l], (width * n) as u32)?;
            let place = self.place(space, addresses[l]);
            let bytes = &mut bytes[..width * n];
            self.read_bytes(common, warp, inst, l, place, bytes)?;
            for (k, piece) in bytes.chunks_exact(width).enumerate() {
                let v = word(piece);
                let shift = 64 - ty.bits();
                values[k][l] =
                    if ty.is_signed() { ((v << shift) as i64 >> shift) as u64 } else { v };
            }
        }
        for (dst, v) in inst.dst.iter().zip(&values) {
            warp.write(frame, *dst, active, v);
        }
        Ok(())
    }

    pub(super) fn store(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        frame: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let width = inst.sem.ty().bytes() as usize;
        // The address, the values, and a cache policy or nothing.
        let n = inst.src.len() - 2;
        let (addresses, space) = self.addresses(warp, frame, inst, 0);
        let mut values = [[0u64; 32]; 8];
        for (to, src) in values.iter_mut().zip(&inst.src[1..=n]) {
            self.read(common, warp, frame, src, to);
        }
        let mut bytes = [0u8; 64];
        for l in lanes(active) {
            self.aligned(common, warp, inst, l, addresses[l], (width * n) as u32)?;
            for k in 0..n {
                bytes[k * width..(k + 1) * width]
                    .copy_from_slice(&values[k][l].to_le_bytes()[..width]);
            }
            let place = self.place(space, addresses[l]);
            self.write_bytes(common, warp, inst, l, place, &bytes[..width * n])?;
        }
        Ok(())
    }

    pub(super) fn atom(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        frame: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let Operation::Atomic(Atomic { update, access }) = inst.sem else { return Ok(()) };
        let ty = update.ty();
        let (width, parts) = (ty.bytes(), usize::from(access.parts));
        let (addresses, space) = self.addresses(warp, frame, inst, 0);
        let mut values = [[0u64; 32]; 8];
        let given = &inst.src[1..inst.src.len() - 1];
        for (to, src) in values.iter_mut().zip(given) {
            self.read(common, warp, frame, src, to);
        }
        let mut old = [[0u64; 32]; 8];
        for l in lanes(active) {
            self.aligned(common, warp, inst, l, addresses[l], width * parts as u32)?;
            if update.is_pair() {
                let operand = |n: usize| [values[2 * n][l], values[2 * n + 1][l]];
                let (b, c) = (operand(0), operand(update.operands() - 1));
                let place = self.place(space, addresses[l]);
                let mut new = |old| alu::atomic_pair(update, old, b, c);
                let before = self.replace_pair(common, warp, inst, l, place, &mut new)?;
                (old[0][l], old[1][l]) = (before[0], before[1]);
                continue;
            }
            for k in 0..parts {
                let address = addresses[l] + u64::from(width) * k as u64;
                // The last operand, where it has two.
                let (b, c) = (values[k][l], values[k + update.operands() - 1][l]);
                let b = b & alu::mask(ty.bits());
                let place = self.place(space, address);
                let with = match place {
                    Place::Global(_) => alu::atomic_global,
                    _ => alu::atomic,
                };
                let mut new = |old: u64| with(update, old, b, c);
                old[k][l] = match place {
                    Place::Global(a) => match self.memory.update(a, width, &mut new) {
                        Ok(v) => v,
                        Err(_) => {
                            let (whole, bytes) =
                                (Place::Global(addresses[l]), width * parts as u32);
                            return Err(self.bad(common, warp, inst, l, whole, bytes));
                        }
                    },
                    place => {
                        let mut bytes = [0; 8];
                        let bytes = &mut bytes[..width as usize];
                        self.read_bytes(common, warp, inst, l, place, bytes)?;
                        let v = word(bytes);
                        bytes.copy_from_slice(&new(v).to_le_bytes()[..width as usize]);
                        self.write_bytes(common, warp, inst, l, place, bytes)?;
                        v
                    }
                };
            }
        }
        for (dst, v) in inst.dst.iter().zip(&old) {
            warp.write(frame, *dst, active, v);
        }
        Ok(())
    }

    /// Replaces a pair of a lane's; the old one.
    fn replace_pair(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        l: usize,
        place: Place,
        new: &mut dyn FnMut([u64; 2]) -> [u64; 2],
    ) -> Result<[u64; 2], Fault> {
        if let Place::Global(address) = place {
            let old = self.memory.update_pair(address, new);
            return old.map_err(|_| self.bad(common, warp, inst, l, place, 16));
        }
        let mut words = [[0; 8]; 2];
        self.read_bytes(common, warp, inst, l, place, words.as_flattened_mut())?;
        let old = words.map(u64::from_le_bytes);
        let now = new(old).map(u64::to_le_bytes);
        self.write_bytes(common, warp, inst, l, place, now.as_flattened())?;
        Ok(old)
    }

    /// `cp.async`: the copy is done at once, so waiting for it is nothing.
    pub(super) fn copy_async(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        frame: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let Operation::CopyAsync(copy) = inst.sem else { return Ok(()) };
        let size = usize::from(copy.bytes);
        let (to, _) = self.addresses(warp, frame, inst, 0);
        let (from, _) = self.addresses(warp, frame, inst, 1);
        let mut count = [size as u64; 32];
        if copy.source != Source::Whole
            && let Some(src) = inst.src.get(3)
        {
            self.read(common, warp, frame, src, &mut count);
        }
        if copy.source == Source::Ignored {
            count = count.map(|ignore| if ignore != 0 { 0 } else { size as u64 });
        }
        for l in lanes(active) {
            let n = (count[l] as usize).min(size);
            let mut bytes = [0; 16];
            if n > 0 {
                let at = (Space::Global, from[l]);
                self.show_lane(common, warp, inst, l, Access::Read, at, n)?;
                let place = Place::Global(from[l]);
                self.read_bytes(common, warp, inst, l, place, &mut bytes[..n])?;
            }
            let at = (Space::Shared, to[l]);
            self.show_lane(common, warp, inst, l, Access::Write, at, size)?;
            self.write_bytes(common, warp, inst, l, Place::Shared(to[l]), &bytes[..size])?;
        }
        Ok(())
    }
}
