//! What virtual CUDA's own driver stands on: something with memory, code, queues and time.
//!
//! Owns the [`Accelerator`] trait and the values that cross it. The shape is HSA's: memory comes from
//! pools, code objects hold kernels and variables by symbol name, work is packets in asynchronous queues,
//! packets wait for signals and complete one. What CUDA promises beyond that (contexts, stream order,
//! graphs, sticky errors) is the driver's. Must not know: CUDA's handles and functions.

pub mod cache;
pub mod calls;
mod checks;
mod failure;
pub mod file;
mod graph;
pub mod locks;
pub mod printed;
pub mod queue;
#[cfg(test)]
mod queue_tests;
mod rows;
mod say;
mod sharing;
pub mod signal;
#[cfg(test)]
mod signal_tests;
mod sync;
mod tensor;
mod texture;

use std::alloc::Layout;
use std::sync::Arc;

pub use checks::{Checks, Stack, Trail, check_with, checks};
pub use failure::Failure;
pub use graph::{GraphRun, NodeChange, NodeField};
pub use rows::{Copy, Fill};
pub use say::say;
pub use sharing::Sharing;
pub use signal::{Outcome, Signal};
pub use tensor::Tensor;
pub use texture::{Sampler, Texture};

/// Something that runs kernels.
pub trait Accelerator: Send + Sync {
    /// Its devices, never changing; none where the machine has none, and then nothing else is asked.
    fn devices(&self) -> &[Device];

    /// Memory of a device or of the host, zeroed or not, of this size and alignment (at most 64 KiB). The address is the one that kernels, copies and the program use.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`].
    fn allocate(&self, device: usize, kind: MemoryKind, layout: Layout) -> Result<u64, Failure>;

    /// Gives back what [`Accelerator::allocate`] returned. Nothing that uses it is under way: the caller
    /// has waited.
    fn free(&self, address: u64);

    /// Whether an address is one that only [`Accelerator::allocate`] gives out, in use or not: nothing of the
    /// program's own is there, so that a pointer to freed memory is known for what it is.
    fn is_own(&self, _address: u64) -> bool {
        false
    }

    /// Makes `bytes` of the program's own memory usable by kernels (cudaHostRegister). The address that
    /// kernels use, often the same.
    ///
    /// # Errors
    /// [`Failure::NotSupported`], [`Failure::InvalidAddress`].
    fn register_host(&self, address: u64, bytes: usize) -> Result<u64, Failure>;

    /// Ends what [`Accelerator::register_host`] began.
    fn unregister_host(&self, address: u64);

    /// Loads code for a device: PTX text without the final NUL, or whatever the accelerator takes.
    /// Variables are initialised; [`Image::externals`] gives the addresses of what other images define.
    ///
    /// # Errors
    /// What does not fit: [`Failure::NoImage`], [`Failure::InvalidImage`], with a text for the log.
    fn load(&self, device: usize, image: &Image<'_>) -> Result<Arc<dyn Code>, Failure>;

    /// Whether it can load this kind of image.
    fn accepts(&self, kind: ImageKind) -> bool;

    /// How images of a kind of its own begin ([`ImageKind::Own`]): texts that end with a NUL.
    fn own_images(&self) -> Option<&'static [u8]> {
        None
    }

    /// Whether a launch is one that the device can do; asked before it is submitted, so that what cannot be
    /// done is an error of the launch and not of what comes later.
    ///
    /// # Errors
    /// [`Failure::NotSupported`], which names the limit.
    fn check(&self, _dispatch: &Dispatch) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes a texture or surface that kernels can use; its handle, which is not 0. Linear memory, arrays and references
    /// of one device's are those of all.
    ///
    /// # Errors
    /// [`Failure::NotSupported`], which names what it does not do; [`Failure::OutOfMemory`].
    fn texture(&self, _texture: &Texture) -> Result<u64, Failure> {
        Err(Failure::NotSupported("textures and surfaces".into()))
    }

    /// The bytes of a tensor map that kernels can use.
    ///
    /// # Errors
    /// [`Failure::NotSupported`], which names what it does not do.
    fn tensor_map(&self, _tensor: &Tensor) -> Result<[u8; 128], Failure> {
        Err(Failure::NotSupported("tensor maps".into()))
    }

    /// A tensor map with another address of the tensor; `None` for bytes that are none.
    fn tensor_map_at(&self, _map: &[u8; 128], _address: u64) -> Option<[u8; 128]> {
        None
    }

    /// Ends what [`Accelerator::texture`] began. Nothing that uses it is under way.
    fn forget_texture(&self, _handle: u64) {}

    /// A queue whose packets run in order; those of different queues run at the same time. `priority`
    /// as CUDA counts it: lower is more urgent.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`] and what the device says.
    fn queue(&self, device: usize, priority: i32) -> Result<Arc<dyn Queue>, Failure>;

    /// Copies now, on the calling thread; nothing under way touches either side. Addresses are of any
    /// kind: the program's own, host or device.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`].
    fn copy_now(&self, to: u64, from: u64, bytes: usize) -> Result<(), Failure>;

    /// Nanoseconds of the clock that [`Outcome`] is stamped with.
    fn now(&self) -> u64;

    /// What it can share between processes and map at addresses of the program's choice, if it can.
    fn sharing(&self) -> Option<&dyn Sharing> {
        None
    }

    /// Hands what kernels printed so far to the program's standard output. CUDA does so when the program
    /// synchronises, launches, or copies and waits.
    fn flush_output(&self) {
        printed::flush();
    }

    /// Who answers what kernels ask of the driver: told once, before the first launch.
    fn set_answers(&self, _answers: &'static dyn Answers) {}

    /// How many bytes `malloc` of a device's kernels may take in all (`cudaLimitMallocHeapSize`).
    fn set_heap_limit(&self, _device: usize, _bytes: u64) {}

    /// How many bytes of a stack each thread of a device's kernels has at least (`cudaLimitStackSize`).
    fn set_stack_limit(&self, _device: usize, _bytes: u64) {}

    /// Whether a kernel of a device has called `malloc`: then CUDA keeps the limit.
    fn is_heap_used(&self, _device: usize) -> bool {
        false
    }
}

/// What kernels may ask of the driver above; everything by CUDA's numbers.
pub trait Answers: Send + Sync {
    /// An attribute of a device (`CUdevice_attribute`); `None` where there is none of this number.
    fn attribute(&self, device: usize, number: i32) -> Option<i32>;
    /// A limit of a device (`CUlimit`).
    ///
    /// # Errors
    /// The number of the error.
    fn limit(&self, device: usize, number: i32) -> Result<u64, i32>;
    /// How many blocks of a kernel a multiprocessor holds.
    fn occupancy(&self, device: usize, kernel: &Kernel, threads: u32, dynamic: u32) -> u32;
    /// Name and text of an error.
    fn error(&self, number: i32) -> (&'static str, &'static str);
    /// Changes kernel nodes of graphs that kernels may change, all or none.
    ///
    /// # Errors
    /// The number of the error.
    fn update_nodes(&self, changes: &[NodeChange]) -> Result<(), i32>;
}

/// A queue of packets.
pub trait Queue: Send + Sync {
    /// Appends a packet. It starts when the packet before it has ended and its signals are complete, and
    /// completes its own signal in every case. Never waits for work.
    fn submit(&self, packet: Packet);
}

/// A unit of work.
pub struct Packet {
    /// What to do.
    pub work: Work,
    /// What must be complete first. A failure there does not stop this packet.
    pub waits: Vec<Signal>,
    /// Completed when the work has ended, well or not.
    pub done: Signal,
}

/// What a packet does.
#[derive(Clone)]
pub enum Work {
    /// Nothing: a point in the queue.
    Barrier,
    /// Runs a kernel.
    Dispatch(Box<Dispatch>),
    /// Copies rows and planes of bytes.
    Copy(Copy),
    /// Repeats a value of 1, 2 or 4 bytes over rows.
    Fill(Fill),
}

/// A kernel launch.
#[derive(Clone)]
pub struct Dispatch {
    /// The driver's name for the kernel; accelerators hand it on and do not read it.
    pub tag: usize,
    /// Its code.
    pub code: Arc<dyn Code>,
    /// The kernel's number in [`Code::kernels`].
    pub kernel: usize,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y, z, which divide the grid; `None` where neither launch nor kernel names a size.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory, bytes.
    pub dynamic_shared: u32,
    /// The kernel's parameters, laid out as [`Kernel::params`] says.
    pub arguments: Box<[u8]>,
    /// All blocks must be able to wait for each other.
    pub cooperative: bool,
    /// The recorded call of the program that asked for it ([`calls::number`]), 0 for none.
    pub call: u64,
    /// Where the program launched it, if somebody wants to know.
    pub trail: Option<Trail>,
    /// The stream that it is in, and how often the program had done something by then that may order streams; `None` where
    /// that is not known, or not asked for.
    pub stream: Option<(u64, u64)>,
    /// The run of a graph that it is part of.
    pub graph: Option<Arc<dyn GraphRun>>,
}

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// On the device; the program may not be able to touch it.
    Device,
    /// On the host, touched by both (page-locked, mapped).
    Host,
    /// Touched by both at one address (managed).
    Managed,
}

/// What kind of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// PTX text.
    Ptx,
    /// NVIDIA machine code.
    Cubin,
    /// The accelerator's own ([`Accelerator::own_images`]).
    Own,
    /// An AMD code object.
    CodeObject,
}

/// Code to load.
pub struct Image<'a> {
    /// What it is.
    pub kind: ImageKind,
    /// Its bytes. For linking (`cuLink*`), several texts of the same kind: all are loaded as one.
    pub parts: &'a [&'a [u8]],
    /// Where variables lie that are defined elsewhere, by name.
    pub externals: &'a dyn Fn(&str) -> Option<u64>,
    /// The same library's code as it was loaded first, maybe for another device: its managed variables are
    /// this code's, with the values that they have, and stay as long as either is there.
    pub managed: Option<&'a Arc<dyn Code>>,
    /// The program did not ask for code as it is written (`CU_JIT_OPTIMIZATION_LEVEL` 0, debug information).
    pub optimised: bool,
}

impl Image<'_> {
    /// Where a managed variable lies that is there already.
    pub fn managed(&self, name: &str, bytes: usize) -> Option<u64> {
        let same = |v: &&Variable| v.managed && v.name == name && v.bytes == bytes;
        self.managed?.variables().iter().find(same).map(|variable| variable.address)
    }
}

/// Loaded code.
pub trait Code: Send + Sync {
    /// What it has.
    fn symbols(&self) -> &Symbols;
    /// For the accelerator that loaded it.
    fn as_any(&self) -> &dyn std::any::Any;

    /// Its kernels.
    fn kernels(&self) -> &[Kernel] {
        &self.symbols().kernels
    }
    /// Its variables that have a name outside.
    fn variables(&self) -> &[Variable] {
        &self.symbols().variables
    }
    /// Functions and variables that its kernels use and nothing defines.
    fn undefined(&self) -> &[String] {
        &self.symbols().undefined
    }
}

/// What loaded code has, and what it lacks.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Its kernels.
    pub kernels: Vec<Kernel>,
    /// Its variables that have a name outside.
    pub variables: Vec<Variable>,
    /// Functions and variables that its kernels use and nothing defines.
    pub undefined: Vec<String>,
}

/// A kernel as code has it.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Its (mangled) name.
    pub name: String,
    /// Offset and size of each parameter, in bytes.
    pub params: Vec<(u32, u32)>,
    /// Bytes of all parameters.
    pub params_size: u32,
    /// Static shared memory, bytes.
    pub static_shared: u32,
    /// Local memory of a thread, bytes.
    pub local: u32,
    /// Constant memory of its module, bytes.
    pub constant: u32,
    /// Registers of a thread, as far as that means something.
    pub registers: u32,
    /// Most threads of a block (`.maxntid`, or the device's limit).
    pub max_threads: u32,
    /// Threads that every block must have (`.reqntid`).
    pub required_threads: Option<[u32; 3]>,
    /// Blocks that every cluster must have (`.reqnctapercluster`).
    pub required_cluster: Option<[u32; 3]>,
    /// Architecture that the PTX was made for, and that of the code, as CUDA numbers them: 80 for 8.0.
    pub versions: (u32, u32),
    /// It may launch grids, or ask for work in streams.
    pub launches_grids: bool,
    /// It may launch graphs.
    pub launches_graphs: bool,
    /// Why it cannot be run (kernel, place, instruction), if it cannot.
    pub refused: Option<String>,
}

/// A variable as code has it.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: usize,
    /// In constant memory.
    pub constant: bool,
    /// Managed: the host may touch it there.
    pub managed: bool,
    /// It is a texture or surface reference: a kernel finds there the handle of what it was bound to, or 0. The program
    /// does not see its memory.
    pub reference: bool,
}

/// A device as accelerators describe it. CUDA's attributes (`CUdevice_attribute`) that are not given
/// are derived by the driver from these or 0.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Compute capability: major, minor.
    pub capability: (u32, u32),
    /// Bytes of memory.
    pub memory: u64,
    /// Multiprocessors: blocks that run at the same time make sense up to here.
    pub processors: u32,
    /// Lanes of a warp.
    pub warp: u32,
    /// Most threads of a block.
    pub max_threads: u32,
    /// Shared memory of a block in bytes: without asking, and at most.
    pub shared: (u32, u32),
    /// Clock in kHz.
    pub clock: u32,
    /// The program may touch device memory at its address.
    pub host_visible: bool,
    /// 16 bytes that name it for ever.
    pub uuid: [u8; 16],
    /// Further attributes by CUDA's number.
    pub attributes: Vec<(i32, i32)>,
    /// The instruction sets whose code objects it runs, the best first: `gfx90a:sramecc+:xnack-`. A feature that an
    /// object does not name may be on or off.
    pub isas: &'static [String],
}
