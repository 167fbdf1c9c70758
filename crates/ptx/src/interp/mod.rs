//! Running whole kernels, instruction by instruction.
//!
//! Owns warps, barriers, calls and the order in which lanes run. It is the
//! oracle for compiled code and the fallback where there is none. It must not
//! know where device memory is or what prints: [`Memory`] and [`Host`] do.
//!
//! Instructions are decoded once for a launch, block by block as they are reached.
//! What programs are made of is computed for all lanes at once ([`lanewise`]), in
//! accesses in a row, too ([`access`]); anything else lane by lane ([`step`]).
//!
//! A warp is a set of fragments: lanes at one place with one call stack. They
//! part at a branch and join where they meet; the one that is furthest behind
//! runs first, but none starves, so a lane may spin on another. Every fragment
//! can wait (barrier, shuffle) and go on later; so can warps and blocks. Blocks
//! of a cooperative grid all take turns; others start in order, and the next
//! one starts too when those before it do not end.

mod access;
mod barrier;
mod block;
mod call;
mod choose;
mod collective;
mod decode;
mod fault;
mod lanewise;
mod mbarrier;
mod memory;
pub mod printf;
mod rows;
mod step;
mod turn;
mod versions;
mod warp;

use crate::ir::{Module, Symbol};
use crate::types::Space;
use block::Block;
pub use call::provides;
pub use collective::{party, run as collective};
use decode::Code;
pub use fault::{Access, BadAddress, Cause, Fault, Spot};
pub use mbarrier::apply as barrier_object;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::sync::atomic::{self, Ordering};
use versions::Version;

/// Generic addresses from here on mean shared memory. All windows lie above
/// what a process can map (47 bits) and within what a device address holds.
pub const SHARED_WINDOW: u64 = 0x8100_0000_0000;
/// Generic addresses from here on mean the lane's local memory.
pub const LOCAL_WINDOW: u64 = 0x8200_0000_0000;
/// Generic addresses from here on mean the kernel's parameters.
pub const PARAM_WINDOW: u64 = 0x8300_0000_0000;
/// Function pointers: this plus 16 times the function's number.
pub const FUNCTION_WINDOW: u64 = 0x8400_0000_0000;
const WINDOW_SIZE: u64 = 1 << 32;

/// Global and constant memory, by the addresses kernels use.
///
/// Everything takes `&self`: an implementation that is `Sync` may be shared by
/// several interpreters.
pub trait Memory {
    /// Reads bytes.
    ///
    /// # Errors
    /// [`BadAddress`] where nothing is mapped.
    fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress>;

    /// Writes bytes.
    ///
    /// # Errors
    /// [`BadAddress`] where nothing is mapped, or nothing may be written.
    fn store(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress>;

    /// Replaces a value of 2, 4 or 8 bytes atomically, and returns the old one.
    ///
    /// # Errors
    /// As [`Memory::store`].
    fn update(
        &self,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, BadAddress>;

    /// Orders accesses before and behind it for other threads of the process, on which other blocks run; `total`: in
    /// one order with all fences that are ([`crate::fence`]).
    fn fence(&self, total: bool) {
        atomic::fence(if total { Ordering::SeqCst } else { Ordering::AcqRel });
    }
}

/// What kernels ask of their host.
pub trait Host {
    /// `printf` of a kernel: the formatted bytes.
    fn print(&self, bytes: &[u8]);
    /// A failed `assert`: the message as CUDA prints it.
    fn assert_failed(&self, message: &str) {
        self.print(message.as_bytes());
    }
    /// `malloc` of a kernel: an address of [`Memory`], or 0.
    fn allocate(&self, bytes: u64) -> u64;
    /// `free` of a kernel.
    fn free(&self, address: u64);
    /// `%globaltimer`: nanoseconds.
    fn nanoseconds(&self) -> u64;
    /// Something is wrong that the launch survives; whoever runs the program shall know.
    fn warn(&self, _message: &str) {}
    /// Whether the launch shall end (someone pressed Ctrl-C). Asked rarely.
    fn interrupted(&self) -> bool {
        false
    }
}

/// A kernel launch.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The module.
    pub module: &'a Module,
    /// The kernel's number in it.
    pub kernel: u32,
    /// Address of each of the module's globals.
    pub globals: &'a [u64],
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z; at most 1,024 in all, which the caller checks.
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub dynamic_shared: u32,
    /// Parameter bytes, laid out as the kernel's [`crate::ir::Param`]s say.
    pub params: &'a [u8],
    /// All blocks must make progress together (cooperative launch).
    pub cooperative: bool,
    /// Address of the zeroed workspace of `grid.sync()`, at least 16 bytes; 0
    /// for none.
    pub workspace: u64,
    /// Local memory of one thread, in bytes, call frames included.
    pub local_limit: u32,
}

/// How many blocks that do not end may be in the air at once (non-cooperative).
const MAX_RESIDENT: usize = 64;
/// Instructions a block runs before others start beside it.
const LONG_SLICE: u64 = 1 << 18;
/// Instructions a block runs before the next one has its turn, where several
/// are in the air: short, since those that spin use theirs up.
const SHORT_SLICE: u64 = 1 << 10;

/// Runs a launch to its end.
///
/// # Errors
/// The first [`Fault`], with kernel, block and thread.
pub fn run(launch: &Launch<'_>, memory: &dyn Memory, host: &dyn Host) -> Result<(), Fault> {
    let total = launch.grid.iter().map(|n| u64::from(*n)).product();
    let next = std::cell::Cell::new(0u64);
    run_blocks(launch, memory, host, &|| {
        let index = next.get();
        next.set(index + 1);
        (index < total).then_some(index)
    })
}

/// Runs blocks of a launch until `next` gives no more and those it gave have
/// ended. Blocks are numbered with x running fastest. Several threads may run
/// parts of one grid at the same time by giving out each number once; of a
/// cooperative grid one of them takes all.
///
/// # Errors
/// The first [`Fault`] of these blocks; the others' stay unknown to it.
pub fn run_blocks(
    launch: &Launch<'_>,
    memory: &dyn Memory,
    host: &dyn Host,
    next: &dyn Fn() -> Option<u64>,
) -> Result<(), Fault> {
    let exec = Exec::new(launch, memory, host)?;
    let [gx, gy, _] = launch.grid.map(u64::from);
    let mut exhausted = false;
    let mut resident: VecDeque<Block> = VecDeque::new();
    // Their room is taken again.
    let mut ended: Vec<Block> = Vec::new();
    let mut window = if launch.cooperative { usize::MAX } else { 1 };
    loop {
        while !exhausted && resident.len() < window {
            let Some(n) = next() else {
                exhausted = true;
                break;
            };
            let (x, y, z) = (n % gx, n / gx % gy, n / gx / gy);
            let mut block = ended.pop().unwrap_or_else(|| Block::new(&exec));
            block.start(&exec, [x as u32, y as u32, z as u32]);
            resident.push_back(block);
        }
        if resident.is_empty() {
            return Ok(());
        }
        let before = resident.len();
        let mut steps = 0;
        let slice = if before == 1 { LONG_SLICE } else { SHORT_SLICE };
        for block in &mut resident {
            steps += block.run(&exec, slice)?;
        }
        for _ in 0..before {
            let Some(block) = resident.pop_front() else { break };
            if block.is_done() { ended.push(block) } else { resident.push_back(block) }
        }
        if steps == 0 && resident.len() == before && (exhausted || before >= MAX_RESIDENT) {
            let cause = Cause::Deadlock;
            let index = resident.front().map_or([0; 3], |b| b.index);
            return Err(exec.fault(cause, None, index, [0; 3]));
        }
        if resident.len() == before && !launch.cooperative {
            window = (window + 1).min(MAX_RESIDENT);
        }
        if host.interrupted() {
            return Err(exec.fault(Cause::Interrupted, None, [0; 3], [0; 3]));
        }
    }
}

/// What all blocks of a launch share.
struct Exec<'a> {
    launch: &'a Launch<'a>,
    module: &'a Module,
    memory: &'a dyn Memory,
    host: &'a dyn Host,
    /// Offset of each shared variable of the module, where the kernel reaches it.
    shared: Vec<u32>,
    shared_size: u32,
    /// Threads of a block.
    threads: u32,
    /// The module's functions, decoded as far as they have run.
    code: Vec<OnceCell<Code<'a>>>,
    version: Version,
}

impl<'a> Exec<'a> {
    fn new(
        launch: &'a Launch<'a>,
        memory: &'a dyn Memory,
        host: &'a dyn Host,
    ) -> Result<Exec<'a>, Fault> {
        let module = launch.module;
        let (shared, static_size) = shared_layout(module, launch.kernel);
        let exec = Exec {
            launch,
            module,
            memory,
            host,
            shared,
            shared_size: static_size.saturating_add(launch.dynamic_shared),
            threads: launch.block.iter().product(),
            code: module.functions.iter().map(|_| OnceCell::new()).collect(),
            version: Version::in_use(),
        };
        let kernel = &module.functions[launch.kernel as usize];
        let refused = module.refusals(launch.kernel);
        if let Some((f, r)) = refused.first() {
            let cause = Cause::Refused {
                instruction: r.instruction.clone(),
                function: module.functions[*f as usize].name.clone(),
                reason: r.reason.clone(),
            };
            return Err(exec.fault(cause, Some(r.pos), [0; 3], [0; 3]));
        }
        if !kernel.defined || launch.params.len() < kernel.params_size as usize {
            let cause =
                Cause::Parameters { found: launch.params.len(), expected: kernel.params_size };
            return Err(exec.fault(cause, None, [0; 3], [0; 3]));
        }
        Ok(exec)
    }

    fn fault(
        &self,
        cause: Cause,
        pos: Option<crate::Pos>,
        block: [u32; 3],
        thread: [u32; 3],
    ) -> Fault {
        Fault::new(self.module, self.launch.kernel, cause, pos, block, thread)
    }
}

/// Where the shared variables that `kernel` can reach lie, by variable number,
/// and how large they are together. Dynamic ones begin where the static end.
pub fn shared_layout(module: &Module, kernel: u32) -> (Vec<u32>, u32) {
    let mut used: Vec<u32> = module
        .reachable(kernel)
        .iter()
        .flat_map(|f| module.functions[*f as usize].shared_used.iter().copied())
        .collect();
    used.sort_unstable();
    used.dedup();
    let mut offsets = vec![0; module.shared.len()];
    let mut at = 0u64;
    for n in &used {
        let v = &module.shared[*n as usize];
        if !v.dynamic {
            at = at.next_multiple_of(v.align.into());
            offsets[*n as usize] = at as u32;
            at += v.size;
        }
    }
    let dynamic = used.iter().map(|n| &module.shared[*n as usize]).filter(|v| v.dynamic);
    let align = dynamic.map(|v| u64::from(v.align)).max().unwrap_or(1);
    at = at.next_multiple_of(align);
    for n in &used {
        if module.shared[*n as usize].dynamic {
            offsets[*n as usize] = at as u32;
        }
    }
    (offsets, at.min(u64::from(u32::MAX / 2)) as u32)
}

/// The initial bytes of a global, `size` of them, when the module's globals lie
/// at `addresses`.
pub fn initial_bytes(module: &Module, global: u32, addresses: &[u64]) -> Vec<u8> {
    let g = &module.globals[global as usize];
    let mut bytes = g.bytes.clone();
    bytes.resize(g.size as usize, 0);
    for r in &g.relocations {
        let base = match r.target {
            Symbol::Global(n) => addresses.get(n as usize).copied().unwrap_or(0),
            Symbol::Function(n) => function_pointer(n),
            Symbol::Shared(_) | Symbol::Local(_) | Symbol::Param(_) => 0,
        };
        let mut value = base.wrapping_add(r.addend as u64);
        if let Some(mask) = r.mask {
            value = (value & mask) >> mask.trailing_zeros().min(63);
        }
        let at = r.offset as usize;
        for (k, b) in value.to_le_bytes().iter().take(r.width as usize).enumerate() {
            if let Some(place) = bytes.get_mut(at + k) {
                *place = *b;
            }
        }
    }
    bytes
}

/// The value of a pointer to a function of the module.
pub fn function_pointer(function: u32) -> u64 {
    FUNCTION_WINDOW + 16 * u64::from(function)
}

/// The first generic address of a space that has a window; `None` for global and constant
/// memory, whose addresses are generic ones as they are.
pub fn window(space: Space) -> Option<u64> {
    match space {
        Space::Shared => Some(SHARED_WINDOW),
        Space::Local => Some(LOCAL_WINDOW),
        Space::Param => Some(PARAM_WINDOW),
        _ => None,
    }
}
