//! A block: its warps, their memory, and running them until all have ended.

use super::barrier::{self, Barrier};
use super::helpers::TABLE;
use super::launch::{Exec, Uniform};
use super::tier::Origin;
use super::trap;
use super::warp::{DONE, FAULT, MEETS, NOWHERE, SIGNAL, WAITS, Warp};
use cushim_ptx::interp::{Cause, Fault};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Memory of 64-byte alignment.
struct Bytes {
    base: *mut u8,
    size: usize,
}

impl Bytes {
    fn new(size: usize) -> Bytes {
        let size = size.max(64);
        // SAFETY: the size is not zero.
        let base = unsafe { alloc_zeroed(Self::layout(size)) };
        if base.is_null() {
            handle_alloc_error(Self::layout(size));
        }
        Bytes { base, size }
    }

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 64).unwrap_or(Layout::new::<u64>())
    }

    fn zero(&mut self) {
        // SAFETY: the memory is ours, all of it.
        unsafe { std::ptr::write_bytes(self.base, 0, self.size) };
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.base, Self::layout(self.size)) };
    }
}

/// Rounds of loops in one turn of a warp.
const ROUNDS: u32 = 1 << 20;

/// What running a block came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// Something ran, and may go on.
    Ran,
    /// Everything waits.
    Stuck,
}

/// A place for one block at a time, used again and again.
pub(super) struct Seat {
    warps: Vec<Box<Warp>>,
    frames: Bytes,
    shared: Bytes,
    local: Bytes,
    helpers: Vec<usize>,
    _masks: Vec<u32>,
    barriers: Vec<Barrier>,
    frame_size: usize,
    pub(super) index: [u32; 3],
    dirty: bool,
}

impl Seat {
    pub(super) fn new(exec: &Exec<'_>) -> Seat {
        let n = exec.threads.div_ceil(32) as usize;
        let pieces = exec.variant.pieces as usize;
        let frame_size = exec.variant.frame_size as usize;
        let mut frames = Bytes::new(frame_size * n);
        let mut shared = Bytes::new(exec.shared_size as usize);
        let local = Bytes::new(exec.local_size as usize * 32 * n);
        let mut masks = vec![0u32; pieces * n];
        let helpers: Vec<usize> = TABLE.iter().map(|f| *f as usize).collect();
        let launch = exec.launch;
        let [bx, by, _] = launch.block;
        let mut warps = Vec::with_capacity(n);
        for w in 0..n as u32 {
            let mut uniform = [0; 24];
            for k in 0..3 {
                uniform[Uniform::Ntid as usize + k] = launch.block[k];
                uniform[Uniform::Nctaid as usize + k] = launch.grid[k];
            }
            uniform[Uniform::WarpId as usize] = w;
            uniform[Uniform::NWarpId as usize] = n as u32;
            uniform[Uniform::Env1 as usize] = (launch.workspace >> 32) as u32;
            uniform[Uniform::Env2 as usize] = launch.workspace as u32;
            uniform[Uniform::Dynamic as usize] = launch.dynamic_shared;
            uniform[Uniform::Total as usize] = exec.shared_size;
            let mut tid = [[0; 32]; 3];
            for lane in 0..32 {
                let t = w * 32 + lane;
                tid[0][lane as usize] = t % bx;
                tid[1][lane as usize] = t / bx % by;
                tid[2][lane as usize] = t / bx / by;
            }
            warps.push(Box::new(Warp {
                scratch: [[0; 32]; 10],
                tid,
                low: NOWHERE,
                live: 0,
                act: 0,
                status: DONE,
                collected: [[0; 32]; 2],
                reduced: 0,
                budget: ROUNDS,
                meet: NOWHERE,
                masks: masks[w as usize * pieces..].as_mut_ptr(),
                params: launch.params.as_ptr(),
                globals: launch.globals.as_ptr(),
                shared: shared.base,
                shared_size: exec.shared_size.into(),
                local: local.base.wrapping_add(exec.local_size as usize * 32 * w as usize),
                local_size: exec.local_size.into(),
                arena: exec.arena.base(),
                arena_size: exec.arena.size(),
                helpers: helpers.as_ptr(),
                seldom: super::seldom::call as *const () as usize,
                touch: super::seldom::touch as *const () as usize,
                answer: 0,
                uniform,
                exec: std::ptr::from_ref(exec).cast(),
                sites: exec.variant.sites.as_ptr(),
                index: w,
                block: [0; 3],
                pieces: pieces as u32,
                parked: Vec::new(),
                waiting: Vec::new(),
                arrivals: Vec::new(),
                last: 0,
                rotate: false,
                turns: 0,
                carry: 0,
                results: [[0; 32]; 2],
                fault: None,
            }));
        }
        frames.zero();
        shared.zero();
        let barriers = vec![Barrier::new(n); 16];
        Seat {
            warps,
            frames,
            shared,
            local,
            helpers,
            _masks: masks,
            barriers,
            frame_size,
            index: [0; 3],
            dirty: false,
        }
    }

    /// Seats a block.
    pub(super) fn start(&mut self, exec: &Exec<'_>, number: u64) {
        let [gx, gy, _] = exec.launch.grid.map(u64::from);
        let at = [number % gx, number / gx % gy, number / gx / gy].map(|v| v as u32);
        self.index = at;
        if std::mem::replace(&mut self.dirty, true) {
            if exec.shared_size > 0 {
                self.shared.zero();
            }
            if exec.local_size > 0 {
                self.local.zero();
            }
        }
        self.barriers.iter_mut().for_each(Barrier::reset);
        for w in &mut self.warps {
            let threads = (exec.threads - w.index * 32).min(32);
            w.live = (u64::MAX >> (64 - threads)) as u32;
            w.block = at;
            w.uniform[Uniform::Ctaid as usize..][..3].copy_from_slice(&at);
            w.rotate = false;
            w.meet = NOWHERE;
            w.carry = 0;
            w.make_ready(0, w.live);
        }
        debug_assert_eq!(self.helpers.len(), TABLE.len());
    }

    /// Gives every warp a turn.
    pub(super) fn turn(&mut self, exec: &Exec<'_>) -> Result<Outcome, Fault> {
        let machine = exec.variant.machine();
        let (entry, range) = (machine.code.entry(), machine.code.range());
        let mut ran = false;
        let mut left = false;
        let mut met = false;
        for (k, w) in self.warps.iter_mut().enumerate() {
            if w.low == NOWHERE {
                left |= w.live != 0;
                continue;
            }
            ran = true;
            let frame = self.frames.base.wrapping_add(k * self.frame_size);
            w.budget = ROUNDS;
            // SAFETY: the code was made for this layout of blocks; the warp has
            // what it addresses, the frame is as large as it says.
            let (status, stay) = unsafe { trap::enter(entry, range, &raw mut **w, frame) };
            if status == SIGNAL {
                let origin = machine.origin(stay.at);
                return Err(touched(exec, w, origin, stay.address));
            }
            if status == FAULT {
                let none = || exec.fault(Cause::Trap, None, self.index, [0; 3]);
                return Err(w.fault.take().map_or_else(none, |f| *f));
            }
            met |= status == MEETS;
            if !w.arrivals.is_empty() {
                barrier::arrive(&mut self.barriers, w);
            }
            left |= w.live != 0;
            debug_assert!(status != WAITS || !w.waiting.is_empty() || !w.parked.is_empty());
        }
        if !left {
            return Ok(Outcome::Done);
        }
        if met && barrier::meet(&mut self.barriers, &mut self.warps) {
            return Ok(Outcome::Ran);
        }
        let released = barrier::release(&mut self.barriers, &mut self.warps);
        Ok(if ran || released { Outcome::Ran } else { Outcome::Stuck })
    }
}

/// Generated code touched an address of the arena where nothing is.
fn touched(exec: &Exec<'_>, w: &Warp, origin: Option<Origin>, address: u64) -> Fault {
    let code = &exec.launch.module.functions[exec.launch.kernel as usize].code;
    let inst = origin.and_then(|o| code.get(o.inst as usize));
    let lane = origin.map_or(0, |o| o.lane as usize & 31);
    let bytes = inst.map_or(1, |i| i.types[0].bytes());
    let cause = Cause::Address { address, bytes, space: "global" };
    let thread = [0, 1, 2].map(|axis: usize| w.tid[axis][lane]);
    exec.fault(cause, inst.map(|i| i.pos), w.block, thread)
}
