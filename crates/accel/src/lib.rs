//! The accelerator below virtual CUDA's own driver: a device with memory, code, queues and clocks.
//!
//! Owns the [`Accelerator`] trait and its types. The model is HSA's: memory comes from pools, code objects hold
//! kernels and variables by symbol name, work is packets in asynchronous queues, packets wait for signals and
//! complete one. The driver implements what CUDA requires beyond that (contexts, stream order, graphs, sticky
//! errors). Must not know: CUDA's handles and functions.

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
pub use sharing::{Access, Sharing};
pub use signal::{Outcome, Signal};
pub use tensor::Tensor;
pub use texture::{Sampler, Texture};

/// Something that runs kernels.
pub trait Accelerator: Send + Sync {
    /// Its devices, which never change; without any, nothing else is called.
    fn devices(&self) -> &[Device];

    /// Memory of a device or of the host, zeroed or not, of this size and alignment (at most 64 KiB). The address is the one that kernels, copies and the program use.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`].
    fn allocate(&self, device: usize, kind: MemoryKind, layout: Layout) -> Result<u64, Failure>;

    /// Frees memory of [`Accelerator::allocate`]. No work that uses it is under way: the caller has
    /// waited.
    fn free(&self, address: u64);

    /// Bytes that the provider of memory has left for allocations, if that may be less than the device's unused
    /// memory; `most` if it has at least as many.
    fn left(&self, most: u64) -> u64 {
        most
    }

    /// An allocation of so many bytes of a device was refused while so many are free: the user may be informed.
    fn refused(&self, _bytes: u64, _free: u64) {}

    /// Whether an address belongs to [`Accelerator::allocate`], in use or not, and never to the
    /// program's own memory, so that pointers to freed memory are recognised.
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

    /// Loads code for a device: PTX text without the final NUL, or another form that the
    /// accelerator takes. Variables are initialised; [`Image::externals`] returns the addresses of
    /// variables in other images.
    ///
    /// # Errors
    /// The image is unsuitable: [`Failure::NoImage`], [`Failure::InvalidImage`], with a text for
    /// the log.
    fn load(&self, device: usize, image: &Image<'_>) -> Result<Arc<dyn Code>, Failure>;

    /// Whether it can load this kind of image.
    fn accepts(&self, kind: ImageKind) -> bool;

    /// The first bytes of its own kind of images ([`ImageKind::Own`]), which are texts that end
    /// with a NUL.
    fn own_images(&self) -> Option<&'static [u8]> {
        None
    }

    /// Whether the device can run a launch; called before it is submitted, so that the launch
    /// itself fails and not a later call.
    ///
    /// # Errors
    /// [`Failure::NotSupported`], which names the limit.
    fn check(&self, _dispatch: &Dispatch) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes a texture or surface for kernels; returns its handle, which is not 0. Handles are
    /// valid on all devices.
    ///
    /// # Errors
    /// [`Failure::NotSupported`], which says why; [`Failure::OutOfMemory`].
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

    /// A tensor map with another address of the tensor; `None` for invalid bytes.
    fn tensor_map_at(&self, _map: &[u8; 128], _address: u64) -> Option<[u8; 128]> {
        None
    }

    /// Frees a handle of [`Accelerator::texture`]. No work that uses it is under way.
    fn forget_texture(&self, _handle: u64) {}

    /// A queue whose packets run in order; those of different queues run at the same time. `priority`
    /// as CUDA counts it: lower is more urgent.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`] and the device's.
    fn queue(&self, device: usize, priority: i32) -> Result<Arc<dyn Queue>, Failure>;

    /// Copies now, on the calling thread; nothing under way touches either side. Addresses are of any
    /// kind: the program's own, host or device.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`].
    fn copy_now(&self, to: u64, from: u64, bytes: usize) -> Result<(), Failure>;

    /// Nanoseconds of the clock of [`Outcome`].
    fn now(&self) -> u64;

    /// Its interface to share memory between processes and map it at chosen addresses, if it has
    /// one.
    fn sharing(&self) -> Option<&dyn Sharing> {
        None
    }

    /// Writes what kernels printed so far to the program's standard output. CUDA does so when the
    /// program synchronises, launches, or copies and waits.
    fn flush_output(&self) {
        printed::flush();
    }

    /// Sets the object that answers kernels' queries to the driver: once, before the first launch.
    fn set_answers(&self, _answers: &'static dyn Answers) {}

    /// How many bytes `malloc` of a device's kernels may take in all (`cudaLimitMallocHeapSize`).
    fn set_heap_limit(&self, _device: usize, _bytes: u64) {}

    /// The least bytes of stack for each thread of a device's kernels (`cudaLimitStackSize`).
    fn set_stack_limit(&self, _device: usize, _bytes: u64) {}

    /// Whether a kernel of a device has called `malloc`: then CUDA keeps the limit.
    fn is_heap_used(&self, _device: usize) -> bool {
        false
    }
}

/// Kernels' queries to the driver above; all use CUDA's numbers.
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
    /// Completed when the work has ended or failed.
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
    /// The driver's identity of the kernel; accelerators pass it on and do not read it.
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
    /// The recorded call that launched it ([`calls::number`]), 0 for none.
    pub call: u64,
    /// The stack that launched it, if needed.
    pub trail: Option<Trail>,
    /// Its stream, and the count of events that may order streams until then; `None` where not
    /// known or not needed.
    pub stream: Option<(u64, u64)>,
    /// The run of a graph that it is part of.
    pub graph: Option<Arc<dyn GraphRun>>,
}

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// On the device; the program may not be able to access it.
    Device,
    /// On the host, accessible to both (page-locked, mapped).
    Host,
    /// Accessible to both at one address (managed).
    Managed,
}

/// The kind of code.
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
    /// Its kind.
    pub kind: ImageKind,
    /// Its bytes. For linking (`cuLink*`), several texts of the same kind: all are loaded as one.
    pub parts: &'a [&'a [u8]],
    /// The addresses of variables defined elsewhere, by name.
    pub externals: &'a dyn Fn(&str) -> Option<u64>,
    /// The same library's code that was loaded first, maybe for another device: this code shares
    /// its managed variables and their values, which live as long as either code.
    pub managed: Option<&'a Arc<dyn Code>>,
    /// The program did not ask for unoptimised code (`CU_JIT_OPTIMIZATION_LEVEL` 0, debug
    /// information).
    pub optimised: bool,
}

impl Image<'_> {
    /// The address of a managed variable that exists already.
    pub fn managed(&self, name: &str, bytes: usize) -> Option<u64> {
        let same = |v: &&Variable| v.managed && v.name == name && v.bytes == bytes;
        self.managed?.variables().iter().find(same).map(|variable| variable.address)
    }
}

/// Loaded code.
pub trait Code: Send + Sync {
    /// Its symbols.
    fn symbols(&self) -> &Symbols;
    /// For the accelerator that loaded it.
    fn as_any(&self) -> &dyn std::any::Any;

    /// Its kernels.
    fn kernels(&self) -> &[Kernel] {
        &self.symbols().kernels
    }
    /// Its exported variables.
    fn variables(&self) -> &[Variable] {
        &self.symbols().variables
    }
    /// Functions and variables that its kernels use and nothing defines.
    fn undefined(&self) -> &[String] {
        &self.symbols().undefined
    }
}

/// The symbols of loaded code, and those it lacks.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Its kernels.
    pub kernels: Vec<Kernel>,
    /// Its exported variables.
    pub variables: Vec<Variable>,
    /// Functions and variables that its kernels use and nothing defines.
    pub undefined: Vec<String>,
}

/// A kernel of loaded code.
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
    /// Architecture of the PTX, and of the machine code, as CUDA numbers them: 80 for 8.0.
    pub versions: (u32, u32),
    /// It may launch grids, or ask for work in streams.
    pub launches_grids: bool,
    /// It may launch graphs.
    pub launches_graphs: bool,
    /// Why it cannot be run (kernel, place, instruction), if it cannot.
    pub refused: Option<String>,
}

/// A variable of loaded code.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: usize,
    /// In constant memory.
    pub constant: bool,
    /// Managed: the host may access it there.
    pub managed: bool,
    /// It is a texture or surface reference: it holds the handle of the bound texture, or 0. The
    /// program does not see its memory.
    pub reference: bool,
}

/// A device as accelerators describe it. The driver derives CUDA's other attributes
/// (`CUdevice_attribute`) from these, or returns 0.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Compute capability: major, minor.
    pub capability: (u32, u32),
    /// Bytes of memory.
    pub memory: u64,
    /// Multiprocessors.
    pub processors: u32,
    /// Lanes of a warp.
    pub warp: u32,
    /// Most threads of a block.
    pub max_threads: u32,
    /// Shared memory of a block in bytes: without asking, and at most.
    pub shared: (u32, u32),
    /// Clock in kHz.
    pub clock: u32,
    /// The program may access device memory at its address.
    pub host_visible: bool,
    /// 16 bytes that always identify it.
    pub uuid: [u8; 16],
    /// Further attributes by CUDA's number.
    pub attributes: Vec<(i32, i32)>,
    /// The instruction sets whose code objects it runs, the best first: `gfx90a:sramecc+:xnack-`. A feature that an
    /// object does not name may be on or off.
    pub isas: &'static [String],
}
