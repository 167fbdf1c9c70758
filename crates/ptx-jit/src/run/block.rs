//! A block: its warps, their memory, and running them until all have exited.

use super::barrier::{self, Barrier};
use super::helpers::TABLE;
use super::launch::Exec;
use super::room::{Bytes, Room, Rooms};
use super::trap;
use crate::warp::INTERFACE;
use crate::warp::Uniform;
use crate::warp::{DONE, FAULT, NOWHERE, Placed, SIGNAL, SLOTS, WAITS, Warp, WarpLoop};
use cushim_ptx::exec::cluster::Arrivals;
pub(super) use cushim_ptx::exec::schedule::Outcome;
use cushim_ptx::exec::{BlockWatch, Cause, Fault};
use cushim_ptx::sem::BARRIERS;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::LazyLock;

/// Bytes before and after shared memory that code may access for inactive lanes: their addresses are beside those of
/// active lanes, by up to 31 values of 8 bytes.
const MARGIN: usize = 256;

/// Rounds of loops in one turn of a warp.
const ROUNDS: u32 = 1 << 20;

/// Reused storage for one block at a time; warps point into the launch, which outlives it.
pub(super) struct BlockSlot<'e> {
    _launch: PhantomData<&'e Exec<'e>>,
    pub(super) warps: Vec<Placed>,
    warp_loop: NonNull<WarpLoop>,
    /// The warp loop, then the warps with their frames; shared memory, local memory. Goes back when this ends.
    room: Option<Room>,
    rooms: &'e Rooms,
    shared: *mut u8,
    _unmarked: Bytes,
    _bounds: Vec<[u64; 2]>,
    barriers: Vec<Barrier>,
    /// Arrivals at the cluster's barrier.
    arrivals: Arrivals,
    dirty: bool,
    /// The observer; warps have its address.
    pub(super) watch: Option<Box<Box<dyn BlockWatch>>>,
}

/// Bytes before the first warp.
const HEAD: usize = size_of::<WarpLoop>().next_multiple_of(64);

/// The marks of shared memory; without any, memory in which nothing is marked.
fn shared_marks(exec: &Exec<'_>, watch: Option<&mut Box<dyn BlockWatch>>) -> (u64, Bytes) {
    let Some(watch) = watch else { return (0, Bytes::new(0)) };
    match watch.marks(exec.shared_size.into()) {
        Some(marks) => (marks.base, Bytes::new(0)),
        None => {
            let unmarked = Bytes::new(exec.shared_size as usize / 8 + 2 * MARGIN);
            (unmarked.base().wrapping_add(MARGIN) as u64, unmarked)
        }
    }
}

/// The ranges that parameters point into, for code that checks them: as the observer says, and unlimited without one.
fn bounds(exec: &Exec<'_>) -> Vec<[u64; 2]> {
    let Some(watch) = exec.host.watch() else { return Vec::new() };
    let mut bounds = watch.bounds().to_vec();
    bounds.resize(exec.launch.params.len().div_ceil(8), [0, u64::MAX]);
    bounds
}

/// A warp that does nothing yet, and whose memory is nowhere.
fn idle() -> Warp {
    Warp {
        scratch: [[0; 32]; SLOTS],
        low: NOWHERE,
        live: 0,
        act: 0,
        status: DONE,
        reduced: 0,
        budget: ROUNDS,
        meet: NOWHERE,
        answer: 0,
        from: 0,
        taking: u32::MAX,
        rows: std::ptr::null_mut(),
        room: 0,
        height: [0; 32],
        gathered: std::ptr::null(),
        peers: std::ptr::null(),
        cluster_size: 0,
        rank: 0,
        parked: Vec::new(),
        waiting: Vec::new(),
        arrivals: Vec::new(),
        last: 0,
        rotate: false,
        turns: 0,
        fault: None,
        saved: Vec::new(),
        grown: Vec::new(),
        tid: [[0; 32]; 3],
        full: 0,
        next: std::ptr::null_mut(),
        warps: std::ptr::null_mut(),
        masks: std::ptr::null_mut(),
        params: std::ptr::null(),
        globals: std::ptr::null(),
        shared: std::ptr::null_mut(),
        shared_size: 0,
        local: std::ptr::null_mut(),
        local_size: 0,
        local_stride: 0,
        arena: 0,
        arena_size: 0,
        marks: 0,
        shared_marks: 0,
        bounds: std::ptr::null(),
        watch: std::ptr::null_mut(),
        helpers: std::ptr::null(),
        preserve_all: super::preserve_all::call as *const () as usize,
        touch: super::preserve_all::touch as *const () as usize,
        together: super::together::table().as_ptr().cast(),
        uniform: [0; 24],
        exec: std::ptr::null(),
        sites: std::ptr::null(),
        site_count: 0,
        index: 0,
        regions: 0,
        results: Vec::new(),
        more: std::ptr::null_mut(),
        more_count: 0,
        collected: std::ptr::null_mut(),
        collected_count: 0,
    }
}

/// What all lanes of warp `w` of `n` have in common.
fn uniform(exec: &Exec<'_>, w: u32, n: u32) -> [u32; 24] {
    let launch = exec.launch;
    let mut uniform = [0; 24];
    for k in 0..3 {
        uniform[Uniform::Ntid as usize + k] = launch.block[k];
        uniform[Uniform::Nctaid as usize + k] = launch.grid[k];
    }
    uniform[Uniform::WarpId as usize] = w;
    uniform[Uniform::NWarpId as usize] = n;
    uniform[Uniform::Env1 as usize] = (launch.workspace >> 32) as u32;
    uniform[Uniform::Env2 as usize] = launch.workspace as u32;
    uniform[Uniform::Dynamic as usize] = launch.dynamic_shared;
    uniform[Uniform::Total as usize] = exec.shared_size;
    let sides = launch.cluster.iter().map(|side| (*side).max(1));
    uniform[Uniform::ClusterNctaid as usize..].iter_mut().zip(sides).for_each(|(to, n)| *to = n);
    uniform[Uniform::ExplicitCluster as usize] = launch.explicit_cluster.into();
    uniform
}

/// The numbers of the threads of warp `w` in x, y, z.
fn threads(exec: &Exec<'_>, w: u32) -> [[u32; 32]; 3] {
    let [bx, by, _] = exec.launch.block;
    let first = w * 32;
    let (mut x, mut y, mut z) = (first % bx, first / bx % by, first / bx / by);
    let [mut xs, mut ys, mut zs] = [[0; 32]; 3];
    for ((to_x, to_y), to_z) in xs.iter_mut().zip(&mut ys).zip(&mut zs) {
        (*to_x, *to_y, *to_z) = (x, y, z);
        x += 1;
        if x == bx {
            (x, y) = (0, y + 1);
        }
        if y == by {
            (y, z) = (0, z + 1);
        }
    }
    [xs, ys, zs]
}

/// Where helpers are.
static HELPERS: LazyLock<Vec<usize>> =
    LazyLock::new(|| TABLE.iter().map(|f| f.address()).collect());

/// The initial state of the loop over blocks.
fn beginning(first: *mut Warp, warps: u32) -> WarpLoop {
    WarpLoop {
        current: first,
        first,
        region: 0,
        alive: 0,
        met: 0,
        onward: 0,
        turned: 0,
        turned_every: 0,
        turned_any: 0,
        abreast: 0,
        warps,
        left: 0,
        block: [0; 3],
    }
}

impl<'e> BlockSlot<'e> {
    pub(super) fn new(exec: &'e Exec<'e>) -> BlockSlot<'e> {
        let n = exec.threads.div_ceil(32) as usize;
        let regions = exec.variant.regions as usize;
        // An odd number of cache lines: the same offset in several warps must not map to one cache set.
        let lines = (INTERFACE.frame + exec.variant.frame_size as usize).div_ceil(64) | 1;
        let local_stride = crate::warp::stride(exec.local_size.into());
        let shared_size = exec.shared_size as usize + 2 * MARGIN;
        let sizes = [HEAD + 64 * lines * n, shared_size, local_stride as usize * 32 * n];
        let mut room = exec.variant.rooms.take(sizes, regions * n);
        let place = room.warps.base();
        // SAFETY: the memory is not null, and large enough for this and what is added below.
        let at = |w: usize| unsafe {
            NonNull::new_unchecked(place.add(HEAD + 64 * lines * w)).cast::<Warp>()
        };
        let warp_loop = NonNull::new(place).unwrap_or(NonNull::dangling()).cast::<WarpLoop>();
        let shared = room.shared.base().wrapping_add(MARGIN);
        let local = room.local.base();
        let masks = room.masks.as_mut_ptr();
        let mut watch = exec.host.watch().map(|watch| Box::new(watch.blocks()));
        let (shared_marks, unmarked) = shared_marks(exec, watch.as_deref_mut());
        let watched = watch.as_deref_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        let (bounds, needs) = (bounds(exec), &exec.variant.needs);
        let mut warps = Vec::with_capacity(n);
        for w in 0..n as u32 {
            let (uniform, tid) = (uniform(exec, w, n as u32), threads(exec, w));
            let last = w + 1 == n as u32;
            let next = if last { std::ptr::null_mut() } else { at(w as usize + 1).as_ptr() };
            let warp = Warp {
                tid,
                full: (u64::MAX >> (64 - (exec.threads - w * 32).min(32))) as u32,
                next,
                warps: warp_loop.as_ptr(),
                masks: masks.wrapping_add(w as usize * regions),
                params: exec.launch.params.as_ptr(),
                globals: exec.launch.globals.as_ptr(),
                shared,
                shared_size: exec.shared_size.into(),
                local: local.wrapping_add(local_stride as usize * 32 * w as usize),
                local_size: exec.local_size.into(),
                local_stride,
                arena: exec.arena.base(),
                arena_size: exec.arena.size(),
                marks: exec.host.watch().map_or(0, |watch| watch.marks().base),
                shared_marks,
                bounds: bounds.as_ptr(),
                watch: watched,
                helpers: HELPERS.as_ptr(),
                uniform,
                exec: std::ptr::from_ref(exec).cast(),
                sites: exec.variant.sites.as_ptr(),
                site_count: exec.variant.sites.len(),
                index: w,
                regions: regions as u32,
                results: vec![[0; 32]; needs.results],
                // SAFETY: the frame is behind the warp and begins with them.
                more: unsafe { at(w as usize).as_ptr().byte_add(INTERFACE.frame).cast() },
                more_count: needs.more,
                // SAFETY: they are behind those.
                collected: unsafe {
                    let behind = INTERFACE.frame + needs.more * INTERFACE.slot;
                    at(w as usize).as_ptr().byte_add(behind).cast()
                },
                collected_count: needs.collected,
                ..idle()
            };
            // SAFETY: a place of its own, which the slot keeps longer than the warp; `'e` keeps launch and sites.
            warps.push(unsafe { Placed::new(at(w as usize), warp) });
        }
        // SAFETY: the head of the memory is for it.
        unsafe { warp_loop.write(beginning(at(0).as_ptr(), n as u32)) };
        BlockSlot {
            _launch: PhantomData,
            warps,
            warp_loop,
            dirty: room.used,
            room: Some(room),
            rooms: &exec.variant.rooms,
            shared,
            _unmarked: unmarked,
            _bounds: bounds,
            barriers: vec![Barrier::new(); BARRIERS as usize],
            arrivals: Arrivals::default(),
            watch,
        }
    }

    /// The state of the loop over blocks; not while code runs.
    pub(super) fn warp_loop(&mut self) -> &mut WarpLoop {
        // SAFETY: written when the slot was made; the code that changes it does not run.
        unsafe { self.warp_loop.as_mut() }
    }

    /// The block that runs.
    pub(super) fn index(&self) -> [u32; 3] {
        // SAFETY: written when the slot was made; `block` does not change while a block of this slot runs.
        unsafe { self.warp_loop.as_ref().block }
    }

    /// The first warp, and why it failed.
    #[cfg(test)]
    pub(super) fn first(&self) -> *mut Warp {
        self.warps[0].as_ptr()
    }

    #[cfg(test)]
    pub(super) fn fault(&mut self) -> Option<Box<Fault>> {
        self.warps[0].fault.take()
    }

    /// Where the shared memory is, for the others of the cluster.
    pub(super) fn shared(&self) -> *mut u8 {
        self.shared
    }

    /// The block is one of a cluster, whose blocks' shared memory is there.
    pub(super) fn join(&mut self, peers: &[*mut u8], rank: u32) {
        for w in &mut self.warps {
            (w.peers, w.cluster_size, w.rank) = (peers.as_ptr(), peers.len() as u32, rank);
        }
    }

    /// Begins a block, and those that follow it along x, which come in turn.
    pub(super) fn start(&mut self, exec: &Exec<'_>, block: [u32; 3], count: u32) {
        if std::mem::replace(&mut self.dirty, true) {
            let room = self.room.as_mut();
            if let Some(room) = room.filter(|_| exec.shared_size > 0 || exec.local_size > 0) {
                room.shared.zero();
                room.local.zero();
            }
        }
        if let Some(watch) = &mut self.watch {
            watch.begin(block, exec.shared_size.into());
        }
        self.barriers.iter_mut().for_each(Barrier::reset);
        self.arrivals.clear(self.warps.len());
        for w in &mut self.warps {
            w.arrivals.clear();
            (w.live, w.rotate) = (w.full, false);
            if exec.variant.lowered.moving {
                w.forget();
            }
        }
        let warp_loop = self.warp_loop();
        (warp_loop.region, warp_loop.left, warp_loop.block) = (0, count.saturating_sub(1), block);
    }

    /// Gives every warp a turn.
    pub(super) fn turn(&mut self, exec: &Exec<'_>) -> Result<Outcome, Fault> {
        let fresh = self.warp_loop().region == 0;
        match self.native(exec).filter(|_| fresh) {
            Some(native) => self.run_native(exec, native),
            None => self.turn_warps(exec),
        }
    }

    fn turn_warps(&mut self, exec: &Exec<'_>) -> Result<Outcome, Fault> {
        let machine = exec.variant.machine();
        let (entry, range) = (machine.code.entry(), machine.code.range());
        let mut alive = 0;
        for w in &mut self.warps {
            w.budget = ROUNDS;
            alive += u32::from(w.live != 0);
        }
        let warp_loop = self.warp_loop();
        warp_loop.alive = alive;
        warp_loop.forget();
        let fresh = warp_loop.region == 0;
        let mut ran = false;
        let mut from = 0;
        loop {
            let begins = |w: &Placed| fresh && !ran || w.low != NOWHERE;
            let Some(k) = self.warps[from..].iter().position(begins).map(|k| from + k) else {
                break;
            };
            ran = true;
            let first = self.warps[k].as_ptr();
            // SAFETY: the code was made for this layout of blocks; the warps have what it addresses.
            let (status, frame) = unsafe { trap::enter(entry, range, first, exec.stack) };
            // SAFETY: the code leaves one of the block's warps there.
            let k = unsafe { (*self.warp_loop().current).index } as usize;
            let region = std::mem::replace(&mut self.warp_loop().region, NOWHERE);
            match status {
                SIGNAL => {
                    return Err(super::blame::touched(exec, machine, &self.warps[k], &frame));
                }
                FAULT => {
                    let block = self.index();
                    let unknown =
                        || Cause::Internal { place: "a helper".into(), message: String::new() };
                    let none = || exec.fault(unknown(), None, block, [0; 3]);
                    return Err(self.warps[k].fault.take().map_or_else(none, |f| *f));
                }
                DONE => break,
                _ => {}
            }
            let w = &self.warps[k];
            debug_assert!(status != WAITS || !w.waiting.is_empty() || !w.parked.is_empty());
            // The following warps have not had their turn, and are where this one came from.
            self.warps[k].meet = NOWHERE;
            self.warp_loop().set_abreast(false);
            if region != NOWHERE {
                for w in &mut self.warps[k + 1..] {
                    w.meet = NOWHERE;
                    if region == 0 {
                        w.live = w.full;
                    }
                    let live = w.live;
                    if live != 0 {
                        w.make_ready(region, live);
                    }
                }
            }
            from = k + 1;
        }
        let warp_loop = self.warp_loop();
        let (alive, met) = (warp_loop.alive, warp_loop.met != 0);
        debug_assert_eq!(alive, self.warps.iter().map(|w| u32::from(w.live != 0)).sum::<u32>());
        if alive == 0 {
            if let Some(watch) = &mut self.watch {
                watch.end();
            }
            return Ok(Outcome::Done);
        }
        for w in &mut self.warps {
            if w.live == 0 {
                w.meet = NOWHERE;
            }
            if !w.arrivals.is_empty() {
                barrier::arrive(&mut self.barriers, &mut self.arrivals, w);
            }
        }
        if met && barrier::meet(&mut self.barriers, &mut self.arrivals, &mut self.warps) {
            return Ok(Outcome::Ran);
        }
        let released = barrier::release(&mut self.barriers, &mut self.warps);
        Ok(if ran || released { Outcome::Ran } else { Outcome::Stuck })
    }

    /// Whether every thread has ended.
    pub(super) fn is_done(&self) -> bool {
        self.warps.iter().all(|w| w.live == 0)
    }

    /// The arrivals at the cluster's barrier, and whether all live lanes have arrived.
    pub(super) fn at_cluster(&mut self) -> (&mut Arrivals, bool) {
        let complete = self.arrivals.is_complete(self.warps.iter().map(|w| w.live));
        (&mut self.arrivals, complete)
    }

    /// Releases lanes that arrived at the cluster's barrier before it was complete. True if there were any.
    pub(super) fn release_cluster(&mut self) -> bool {
        let mut released = false;
        for w in &mut self.warps {
            released |= barrier::release_cluster(&self.arrivals, w);
        }
        released
    }
}

impl Drop for BlockSlot<'_> {
    fn drop(&mut self) {
        // They are stored in it.
        self.warps.clear();
        if let Some(room) = self.room.take() {
            self.rooms.give_back(room);
        }
    }
}
