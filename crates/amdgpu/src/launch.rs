//! Runs a grid: workgroups, their waves, and the registers' initial values.
//!
//! Owns: the order of waves, barriers, several threads. Must not know: packets' bytes, queues.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::exec::{Code, Group, Stop, run};
use crate::kernel::{Kernel, SIZE};
use crate::lanes::{LANES, Lanes};
use crate::memory::{Checked, Memory};
use crate::target::{Isa, Target};
use crate::threads::{Scope, scope};
use crate::wave::{State, Wave};

/// A kernel launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Dispatch {
    /// Work-items in each direction.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in each direction.
    pub group: [u32; 3],
    /// Bytes of a lane's own memory.
    pub private: u32,
    /// Bytes of LDS.
    pub lds: u32,
    /// The address of the kernel's descriptor.
    pub kernel: u64,
    /// The address of the arguments.
    pub arguments: u64,
    /// The address of the packet.
    pub packet: u64,
    /// The address of the queue's description.
    pub queue: u64,
    /// The packet's number.
    pub number: u64,
}

/// Why a dispatch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What stopped it.
    pub stop: Stop,
    /// The workgroup.
    pub group: [u32; 3],
    /// The wave in the workgroup.
    pub wave: u32,
    /// The wave's program counter.
    pub pc: u64,
}

/// The most work-items of a workgroup.
pub const MOST_ITEMS: u32 = 1024;
/// The most LDS of a workgroup, in bytes.
pub const MOST_LDS: u32 = 65536;
/// The most memory of a lane's own, in bytes.
pub const MOST_PRIVATE: u32 = 1 << 20;
/// Instructions before another wave of the workgroup has its turn.
const TURN: u32 = 4096;

/// The state that a thread keeps between workgroups, and its GPU's instruction set.
#[derive(Debug, Default)]
pub struct Worker {
    isa: Isa,
    waves: Vec<Wave>,
    lanes: Lanes,
    lds: Vec<u32>,
}

impl Worker {
    /// A thread of a GPU.
    pub fn new(isa: Isa) -> Worker {
        Worker { isa, ..Worker::default() }
    }
}

fn invalid(why: String, kernel: u64) -> Failure {
    let stop = Stop::Instruction { pc: kernel, words: Vec::new(), why };
    Failure { stop, group: [0; 3], wave: 0, pc: kernel }
}

/// Runs a grid on up to `threads` threads. Returns how many lane-instructions were executed.
/// Errors: the first failure.
pub fn launch<M: Memory + ?Sized>(
    memory: &M,
    dispatch: &Dispatch,
    worker: &mut Worker,
    threads: usize,
) -> Result<u64, Failure> {
    let kernel = descriptor(memory, dispatch, worker.isa)?;
    let target = Target { isa: worker.isa, wave32: kernel.wave32 };
    let groups = [0, 1, 2].map(|i| u64::from(dispatch.grid[i].div_ceil(dispatch.group[i].max(1))));
    let count = groups[0].saturating_mul(groups[1]).saturating_mul(groups[2]);
    let next = AtomicU64::new(0);
    let (failed, executed) = (AtomicBool::new(false), AtomicU64::new(0));
    let first: Mutex<Option<Failure>> = Mutex::new(None);
    let work = |worker: &mut Worker, more: &dyn Fn()| {
        let mut code = Code::new(target);
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let at = [
                number % groups[0],
                number / groups[0] % groups[1],
                number / groups[0] / groups[1],
            ];
            match group(
                memory,
                dispatch,
                (&kernel, target),
                at.map(|i| i as u32),
                worker,
                &mut code,
                more,
            ) {
                Ok(n) => drop(executed.fetch_add(n, Ordering::Relaxed)),
                Err(failure) => {
                    failed.store(true, Ordering::Relaxed);
                    first.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(failure);
                }
            }
        }
    };
    let helpers = threads.min(usize::try_from(count).unwrap_or(usize::MAX)).saturating_sub(1);
    // The room left for workgroups that run at the same time.
    let room = AtomicU64::new(resident(dispatch, target).saturating_sub(1 + helpers as u64));
    let crowd = Crowd { work: &work, room: &room, next: &next, count };
    scope(|scope| {
        for _ in 0..helpers {
            crowd.helper(scope);
        }
        work(worker, &|| crowd.another(scope));
    });
    match first.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some(failure) => Err(failure),
        None => Ok(executed.into_inner()),
    }
}

/// Compute units of the GPU, on which workgroups that wait for each other must fit.
pub const UNITS: u32 = 8;
/// Waves and workgroups that a compute unit holds.
const HELD: [u32; 2] = [32, 16];
/// Turns of all waves of a workgroup after which it counts as waiting for a workgroup that has not started.
const WAITS: u32 = 32;

/// How many workgroups the GPU holds at once.
fn resident(dispatch: &Dispatch, target: Target) -> u64 {
    let items = dispatch.group.iter().fold(1u32, |product, n| product.saturating_mul(*n));
    let waves = HELD[0] / items.div_ceil(target.lanes() as u32).clamp(1, HELD[0]);
    let shares = MOST_LDS.checked_div(dispatch.lds).unwrap_or(HELD[1]).max(1);
    u64::from(waves.min(HELD[1]).min(shares)) * u64::from(UNITS)
}

/// Threads that run workgroups. A workgroup that waits for others keeps its thread, so another
/// thread is started.
struct Crowd<'a, W> {
    work: &'a W,
    /// Workgroups that the GPU still has room for.
    room: &'a AtomicU64,
    /// The number of the next workgroup, and their count.
    next: &'a AtomicU64,
    count: u64,
}

impl<W> Clone for Crowd<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Crowd<'_, W> {}

impl<'a, W: Fn(&mut Worker, &dyn Fn()) + Sync> Crowd<'a, W> {
    /// Starts a thread; without it the others do its work.
    fn helper<'s>(self, scope: &'s Scope<'s, 'a>) {
        scope.start(move || (self.work)(&mut Worker::default(), &|| self.another(scope)));
    }

    /// Starts one more where workgroups have not begun and there is room.
    fn another<'s>(self, scope: &'s Scope<'s, 'a>) {
        let left = self.next.load(Ordering::Relaxed) < self.count;
        let less = |room: u64| room.checked_sub(1);
        if left && self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            self.helper(scope);
        }
    }
}

/// Reads and checks the kernel's descriptor.
fn descriptor<M: Memory + ?Sized>(
    memory: &M,
    dispatch: &Dispatch,
    isa: Isa,
) -> Result<Kernel, Failure> {
    let mut bytes = [0; SIZE];
    let mut words = [0; 16];
    let mut checked = Checked::new(memory);
    if let Err(fault) = checked.load(dispatch.kernel, SIZE, &mut words) {
        return Err(Failure {
            stop: Stop::Memory(fault),
            group: [0; 3],
            wave: 0,
            pc: dispatch.kernel,
        });
    }
    for (i, word) in words.iter().enumerate() {
        bytes[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
    }
    let kernel = Kernel::read(&bytes).map_err(|e| invalid(e.0, dispatch.kernel))?;
    if kernel.wave32 && isa == Isa::Cdna2 {
        let why = "the kernel is for waves of 32 lanes, and gfx90a has 64";
        return Err(invalid(why.to_owned(), dispatch.kernel));
    }
    let items = dispatch.group.iter().fold(1u32, |product, n| product.saturating_mul(*n));
    let limits = [
        (items, MOST_ITEMS, "work-items of a workgroup"),
        (dispatch.lds, MOST_LDS, "bytes of LDS"),
        (dispatch.private, MOST_PRIVATE, "bytes of private memory of a work-item"),
    ];
    for (found, most, what) in limits {
        if found > most {
            return Err(invalid(
                format!("{found} {what}, where there are at most {most}"),
                dispatch.kernel,
            ));
        }
    }
    if items == 0 {
        return Err(invalid("a workgroup without work-items".to_owned(), dispatch.kernel));
    }
    Ok(kernel)
}

/// Runs one workgroup.
fn group<M: Memory + ?Sized>(
    memory: &M,
    dispatch: &Dispatch,
    (kernel, target): (&Kernel, Target),
    at: [u32; 3],
    worker: &mut Worker,
    code: &mut Code,
    more: &dyn Fn(),
) -> Result<u64, Failure> {
    // The last workgroup of a row may be smaller.
    let size =
        [0, 1, 2].map(|i| dispatch.group[i].min(dispatch.grid[i] - at[i] * dispatch.group[i]));
    let items = size[0] * size[1] * size[2];
    let count = items.div_ceil(target.lanes() as u32) as usize;
    while worker.waves.len() < count {
        worker.waves.push(Wave::new());
    }
    let Worker { waves, lanes, lds, .. } = worker;
    let waves = &mut waves[..count];
    for (number, wave) in waves.iter_mut().enumerate() {
        wave.target = target;
        start(wave, dispatch, kernel, at, size, number as u32, items);
    }
    lds.clear();
    lds.resize(dispatch.lds.next_multiple_of(512) as usize / 4, 0);
    let mut shared = Group { memory: Checked::new(memory), lds: std::mem::take(lds), executed: 0 };
    let result = turns(waves, &mut shared, code, lanes, more);
    *lds = shared.lds;
    match result {
        Ok(()) => Ok(shared.executed),
        Err((stop, wave)) => {
            Err(Failure { stop, group: at, wave: wave as u32, pc: waves[wave].pc })
        }
    }
}

/// Lets waves take turns until all have ended.
fn turns<M: Memory + ?Sized>(
    waves: &mut [Wave],
    shared: &mut Group<'_, M>,
    code: &mut Code,
    lanes: &mut Lanes,
    more: &dyn Fn(),
) -> Result<(), (Stop, usize)> {
    let (mut rounds, mut all) = (0u32, 0u32);
    loop {
        all = all.saturating_add(1);
        if all == WAITS {
            more();
        }
        for (number, wave) in waves.iter_mut().enumerate() {
            if wave.state == State::Ready {
                run(wave, shared, code, lanes, TURN).map_err(|stop| (stop, number))?;
            }
        }
        if waves.iter().any(|wave| wave.state == State::Ready) {
            rounds += 1;
            if shared.memory.memory.stopped() {
                return Err((Stop::Cancelled, 0));
            }
            // They may wait for another thread, or for memory to be mapped.
            shared.memory.forget();
            if rounds > 16 {
                std::thread::yield_now();
            }
            continue;
        }
        rounds = 0;
        if waves.iter().all(|wave| wave.state == State::Ended) {
            return Ok(());
        }
        for wave in waves.iter_mut().filter(|wave| wave.state == State::Barrier) {
            wave.state = State::Ready;
        }
    }
}

/// The registers of a wave as hardware sets them: LLVM's "User Guide for AMDGPU Backend", "Initial Kernel
/// Execution State".
fn start(
    wave: &mut Wave,
    dispatch: &Dispatch,
    kernel: &Kernel,
    at: [u32; 3],
    size: [u32; 3],
    number: u32,
    items: u32,
) {
    wave.s = [0; 128];
    let used = (kernel.registers as usize).min(256);
    for half in [0, 256] {
        wave.v[half..half + used].fill([0; LANES]);
    }
    wave.pc = dispatch.kernel.wrapping_add(kernel.entry as u64);
    wave.scc = false;
    wave.mode = kernel.mode;
    wave.state = State::Ready;
    wave.index = None;
    wave.number = number;
    let private = dispatch.private.next_multiple_of(4);
    wave.scratch.clear();
    wave.scratch.resize(private as usize / 4 * LANES, 0);
    // A descriptor that swizzles by the lane: the only kind for a lane's own memory.
    let scratch = [0, 0x8000_0000, u32::MAX, 0x00e0_0000 | 0x0080_0000];
    let two = |x: u64| [x as u32, (x >> 32) as u32];
    let (packet, queue) = (two(dispatch.packet), two(dispatch.queue));
    let (arguments, id, flat) = (two(dispatch.arguments), two(dispatch.number), [0, private]);
    let values: [&[u32]; 7] = [&scratch, &packet, &queue, &arguments, &id, &flat, &[private]];
    let mut next = 0;
    for (bit, words) in values.iter().enumerate() {
        if kernel.properties >> bit & 1 == 1 {
            for word in *words {
                wave.s[next] = *word;
                next += 1;
            }
        }
    }
    // Older descriptors give the number of user registers, which may be more than these values.
    next = next.max(kernel.user as usize);
    for (i, on) in kernel.system.iter().enumerate() {
        if *on && next < 102 {
            wave.s[next] = at.get(i).copied().unwrap_or(0);
            next += 1;
        }
    }
    if kernel.scratch {
        wave.s[next] = 0;
    }
    let first = number * wave.target.lanes() as u32;
    let lanes = (items - first).min(wave.target.lanes() as u32);
    wave.set_mask(126, if lanes == 64 { u64::MAX } else { (1 << lanes) - 1 });
    for lane in 0..lanes {
        let item = first + lane;
        let (x, y, z) = (item % size[0], item / size[0] % size[1], item / size[0] / size[1]);
        if wave.target.rdna() {
            for (register, value) in [x, y, z].into_iter().enumerate() {
                wave.v[register][lane as usize] = value;
            }
        } else {
            wave.v[0][lane as usize] = x | y << 10 | z << 20;
        }
    }
}
