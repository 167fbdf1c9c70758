//! The state that generated code and its helpers share: a warp's, and that of the loop over a block's warps.
//!
//! Generated code addresses the fields of [`Warp`] and [`WarpLoop`] by their offsets ([`super::layout`]); the rest of
//! a launch is behind pointers that only helpers follow.

use super::site::Site;
use cushim_ptx::exec::{BlockWatch, Fault};
use cushim_ptx::ir::{Function, Inst};
use cushim_ptx::sem::Operation;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// No region.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// The cluster's barrier, numbered after those of the block.
pub(crate) const CLUSTER: u32 = cushim_ptx::sem::BARRIERS;

/// A result of generated code: every warp of the block has had its turn.
pub(crate) const DONE: u32 = 0;
/// All live lanes wait at a barrier.
pub(crate) const WAITS: u32 = 1;
/// A lane spins: others shall have a turn.
pub(crate) const YIELDS: u32 = 2;
/// [`Warp::fault`] says why.
pub(crate) const FAULT: u32 = 3;
/// Not from the code: it accessed unmapped memory.
pub(crate) const SIGNAL: u32 = 4;

/// Generated code: runs a warp and the following ones until all have exited or wait, or one of them, which
/// [`WarpLoop::current`] names, needs something else.
pub(crate) type Entry = unsafe extern "C" fn(*mut Warp) -> u32;

/// The state of the loop over the warps of a block.
///
/// A warp starts where it is ready. If [`WarpLoop::region`] is a region, the warp starts there with all its lanes,
/// and its own state is used only if it is none.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct WarpLoop {
    /// The warp that runs.
    pub(crate) current: *mut Warp,
    pub(crate) first: *mut Warp,
    /// Where warps begin whose turn is still to come; 0 is the start of a block, [`NOWHERE`] where each is ready.
    pub(crate) region: u32,
    /// Warps of which lanes have not ended.
    pub(crate) alive: u32,
    /// Warps that arrived at a barrier with all their lanes in this turn.
    pub(crate) met: u32,
    /// Warps that have run a round of a loop and let others run theirs.
    pub(crate) turned: u32,
    pub(crate) turned_every: u32,
    pub(crate) turned_any: u32,
    /// Warps do so: they have not come apart.
    pub(crate) abreast: u32,
    /// Warps of a block.
    pub(crate) warps: u32,
    /// The regions in which the warps that arrived at a barrier resume, encoded by [`goes_on`] and combined.
    pub(crate) onward: u64,
    /// Blocks that follow along x.
    pub(crate) left: u32,
    /// The block.
    pub(crate) block: [u32; 3],
}

/// The encoding of a region in which a warp resumes: its bits, and above them the complement. The combined values are
/// one region if no bit is set in both halves.
pub(crate) fn goes_on(region: u32) -> u64 {
    u64::from(!region) << 32 | u64::from(region)
}

impl WarpLoop {
    /// Resets the arrivals at barriers.
    pub(crate) fn forget(&mut self) {
        (self.met, self.onward) = (0, 0);
        self.set_abreast(true);
    }

    /// Whether warps take turns by rounds of loops; so far, none has.
    pub(crate) fn set_abreast(&mut self, on: bool) {
        (self.turned, self.turned_every, self.turned_any) = (0, u32::MAX, 0);
        self.abreast = on.into();
    }
}

/// A warp in the memory of its block, followed by its frame.
pub(crate) struct Placed(NonNull<Warp>);

impl Placed {
    /// # Safety
    /// `place` is memory for a warp, aligned as one, used by nothing else, and outlives the result. What `exec` of
    /// the warp points to, and as many sites as it says, outlive it, too.
    pub(crate) unsafe fn new(place: NonNull<Warp>, warp: Warp) -> Placed {
        // SAFETY: a place that is aligned for a warp, writable, and nobody else's, by the caller's promise.
        unsafe { place.write(warp) };
        Placed(place)
    }

    pub(crate) fn as_ptr(&self) -> *mut Warp {
        self.0.as_ptr()
    }
}

impl Deref for Placed {
    type Target = Warp;

    fn deref(&self) -> &Warp {
        // SAFETY: written when this was made; code that changes it does not run while it is borrowed.
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for Placed {
    fn deref_mut(&mut self) -> &mut Warp {
        // SAFETY: `new` wrote a warp there, which outlives this; `&mut self` is the only way to it.
        unsafe { self.0.as_mut() }
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // SAFETY: the warp is there, and nobody uses it any more.
        unsafe { self.0.drop_in_place() };
    }
}

/// One value of up to 64 bits per lane. Values of 32 bits and less are packed
/// as 32-bit numbers at its start; a predicate is a bit mask there.
pub(crate) type Slot = [u64; 32];

/// Scratch slots of a warp: an address, a vector of 8, a cache policy. What has more operands has the rest in the frame.
pub(crate) const SLOTS: usize = 10;

/// A register of up to 64 bits of all lanes: the lower halves, then the upper ones. A predicate on their stacks is 0 or all
/// ones.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Row(pub(crate) [[u32; 32]; 2]);

fn collectives(f: &Function) -> impl Iterator<Item = &Inst> {
    f.code.iter().filter(|i| matches!(i.sem, Operation::Collective(_)))
}

/// The most results of any collective instruction of a kernel. The frame has so many [`Row`]s, after [`more_slots`],
/// for lanes that wait until others have arrived.
pub(crate) fn collected(f: &Function) -> usize {
    collectives(f).map(|i| i.dst.len()).max().unwrap_or(0)
}

/// The most operands of any collective instruction of a kernel for which there is no scratch slot: matrix products
/// have up to 25 operands. The frame begins with so many [`Slot`]s.
pub(crate) fn more_slots(f: &Function) -> usize {
    collectives(f).map(|i| i.src.len()).max().unwrap_or(0).saturating_sub(SLOTS)
}

/// Bytes of both, at the begin of the frame.
pub(crate) fn frame_head(f: &Function) -> usize {
    more_slots(f) * size_of::<Slot>() + collected(f) * size_of::<Row>()
}

/// A warp.
#[repr(C, align(64))]
pub(crate) struct Warp {
    /// Values passed to helpers and returned by them.
    pub(crate) scratch: [Slot; SLOTS],
    /// `%tid`, by axis.
    pub(crate) tid: [[u32; 32]; 3],
    /// The lowest region at which lanes are ready, or [`NOWHERE`].
    pub(crate) low: u32,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    /// Lanes that dispatch chose.
    pub(crate) act: u32,
    /// The status to return when no lane can proceed.
    pub(crate) status: u32,
    /// The result of the last `bar.red`.
    pub(crate) reduced: u32,
    /// Rounds of loops until the warp leaves for a moment.
    pub(crate) budget: u32,
    /// The site at which all lanes wait together, or [`NOWHERE`]; it is of an earlier turn if this one has not
    /// reached the warp.
    pub(crate) meet: u32,
    /// Its lanes when the block begins.
    pub(crate) full: u32,
    /// The next warp of the block, or null.
    pub(crate) next: *mut Warp,
    pub(crate) warps: *mut WarpLoop,
    /// Ready lanes, by region.
    pub(crate) masks: *mut u32,
    pub(crate) params: *const u8,
    pub(crate) globals: *const u64,
    pub(crate) shared: *mut u8,
    pub(crate) shared_size: u64,
    pub(crate) local: *mut u8,
    /// Bytes of local memory of one lane.
    pub(crate) local_size: u64,
    /// How far it is from there to the next lane's, see [`stride`].
    pub(crate) local_stride: u64,
    pub(crate) arena: u64,
    pub(crate) arena_size: u64,
    /// Where the marks of device memory are, see [`cushim_ptx::exec::Marks`].
    pub(crate) marks: u64,
    /// The marks of shared memory.
    pub(crate) shared_marks: u64,
    /// What parameters point into, see [`cushim_ptx::exec::Watch::bounds`].
    pub(crate) bounds: *const [u64; 2],
    pub(crate) helpers: *const usize,
    /// The thunk for helpers that code rarely calls.
    pub(crate) preserve_all: usize,
    /// The thunk that reports an access.
    pub(crate) touch: usize,
    /// The functions for accesses of many lanes, see [`super::Together`].
    pub(crate) together: *const (),
    /// The result of a helper that was called through the thunk, or of one of those functions.
    pub(crate) answer: u32,
    /// In a loop over lanes: from which one on; else 0.
    pub(crate) from: u32,
    /// Lanes that the last access of device memory was for, which the code did itself; in a loop over lanes, others
    /// read what the first of them does.
    pub(crate) taking: u32,
    /// Where the stacks of lanes begin that functions which may call themselves keep registers on, and how many rows
    /// they have.
    pub(crate) rows: *mut Row,
    pub(crate) room: u64,
    /// How many rows each lane has there.
    pub(crate) height: [u32; 32],
    /// What a helper took from there for lanes of different heights.
    pub(crate) gathered: *const Row,
    /// Uniform special registers, see [`super::Uniform`].
    pub(crate) uniform: [u32; 24],

    // The following fields are for helpers only.
    /// The launch, in the form of the engine that runs it.
    pub(crate) exec: *const (),
    pub(crate) sites: *const Site,
    pub(crate) site_count: usize,
    /// The observer, or null: see [`cushim_ptx::exec::watch`].
    pub(crate) watch: *mut Box<dyn BlockWatch>,
    /// Number in the block.
    pub(crate) index: u32,
    pub(crate) regions: u32,
    /// Shared memory of the blocks of the cluster, by rank; as many as it has.
    pub(crate) peers: *const *mut u8,
    pub(crate) cluster_size: u32,
    /// The block's rank in its cluster.
    pub(crate) rank: u32,
    /// Lanes that wait for others of the warp.
    pub(crate) parked: Vec<Parked>,
    /// Barriers at which lanes wait: number, lanes, the region where they resume, and the site.
    pub(crate) waiting: Vec<(u32, u32, u32, u32)>,
    /// Arrivals at barriers of which the block does not know yet.
    pub(crate) arrivals: Vec<Arrival>,
    /// The region last chosen, where a kernel spins.
    pub(crate) last: u32,
    /// Choose the region after [`Warp::last`].
    pub(crate) rotate: bool,
    pub(crate) turns: u32,
    /// Results in the making: as many as any site has.
    pub(crate) results: Vec<Slot>,
    /// What collective instructions gave the lanes that waited for them: see [`collected`].
    pub(crate) collected: *mut Row,
    pub(crate) collected_count: usize,
    /// Operands for which there is no scratch slot: see [`more_slots`].
    pub(crate) more: *mut Slot,
    pub(crate) more_count: usize,
    pub(crate) fault: Option<Box<Fault>>,
    /// The memory of [`Warp::rows`].
    pub(crate) saved: Vec<Row>,
    /// Local memory that became larger than it was.
    pub(crate) grown: Vec<u128>,
}

/// Lanes that arrived at a collective instruction before others.
pub(crate) struct Parked {
    pub(crate) site: u32,
    pub(crate) lanes: u32,
    /// The lanes that must come.
    pub(crate) member: u32,
    /// As many as the operation has operands.
    pub(crate) inputs: Box<[Slot]>,
}

/// Lanes that arrived at a barrier.
pub(crate) struct Arrival {
    pub(crate) barrier: u32,
    pub(crate) lanes: u32,
    pub(crate) count: Option<u32>,
    pub(crate) predicate: Option<u32>,
}

/// The stride from one lane's local memory to the next, for a size in bytes: an odd number of cache lines, so that
/// the same offset in all lanes does not map to one cache set.
pub(crate) fn stride(size: u64) -> u64 {
    if size == 0 { 0 } else { (size.div_ceil(64) | 1) * 64 }
}

impl Warp {
    /// Its block.
    pub(crate) fn block(&self) -> [u32; 3] {
        // SAFETY: set when the warp was made; the code does not write while helpers look.
        unsafe { (*self.warps).block }
    }

    /// An operand's slot: of the scratch, or one of those in the frame.
    pub(crate) fn slot(&self, n: usize) -> &Slot {
        match self.scratch.get(n) {
            Some(slot) => slot,
            None => {
                // SAFETY: the frame begins with so many, and code does not write while helpers look.
                let more = unsafe { std::slice::from_raw_parts(self.more, self.more_count) };
                &more[n - SLOTS]
            }
        }
    }

    /// A value of a slot that holds 32-bit numbers.
    pub(crate) fn narrow(&self, slot: usize, lane: usize) -> u32 {
        let pair = self.slot(slot)[lane / 2];
        if lane.is_multiple_of(2) { pair as u32 } else { (pair >> 32) as u32 }
    }

    pub(crate) fn set_narrow(&mut self, slot: usize, lane: usize, v: u32) {
        let pair = &mut self.scratch[slot][lane / 2];
        if lane.is_multiple_of(2) {
            *pair = *pair & !0xffff_ffff | u64::from(v);
        } else {
            *pair = *pair & 0xffff_ffff | u64::from(v) << 32;
        }
    }
}
