//! The CPU as an accelerator: memory in one range, PTX compiled to machine code, queues in software.
//!
//! Owns the devices that stand for the machine's processors. Each module has one subject: [`arena`] addresses,
//! [`granules`] their pages, [`shared`] pages of files, [`memory`] accesses, [`bulk`] large copies and fills,
//! [`code`] loaded PTX, [`cache`] the cache of compiled kernels, [`executor`] launches, [`children`] and
//! [`device_runtime`] launches by kernels, [`fault`] failures of launches, [`watch`] launches under checks, [`pool`]
//! threads, [`stack`] stack space for the compiler, [`heap`] kernels' heap, [`host`] calls of kernels to the host,
//! [`texture`] and [`tensor`] descriptors, [`device`] the CPU's properties as a CUDA device. Must not know: CUDA's
//! handles.

pub mod arena;
mod budget;
mod bulk;
mod cache;
mod children;
mod clock;
mod code;
mod device;
mod device_runtime;
mod executor;
mod fault;
mod granules;
mod heap;
mod host;
mod machine;
mod memory;
mod pool;
mod shared;
mod stack;
mod tensor;
mod texture;
mod watch;

use std::alloc::Layout;
use std::sync::Arc;

use budget::Budget;
use code::CpuCode;
use cushim_accel::queue::SoftwareQueue;
use cushim_accel::{
    Accelerator, Code, Copy, Device, Failure, Image, ImageKind, MemoryKind, Queue, Sharing, Tensor,
    Texture,
};
use cushim_check::{Kind, Options};
use cushim_profile::Profiler;
use cushim_ptx::exec::tensor::TensorMap;
use executor::CpuExecutor;
use machine::Machine;
use memory::Memory;

/// The CPU.
pub struct Cpu {
    devices: Vec<Device>,
    memory: Arc<Memory>,
    budget: Budget,
    executor: Arc<CpuExecutor>,
}

/// The CPU as an accelerator: `CUSHIM_CPU_DEVICES` devices, else one; `CUSHIM_CPU_THREADS` threads at
/// most for one grid, else as many as the process has processors. `CUSHIM_CPU_MEMORY` bytes of memory ([`budget`]). `CUSHIM_CPU=interpreter` keeps every kernel with the
/// interpreter; without it, those that the compiler does not take: `CUSHIM_CPU=report` says on stderr which, and why.
/// `CUSHIM_CPU_LEVEL` has code made, and loops of the interpreter chosen, for a lesser processor than this one
/// ([`cushim_ptx::Level`]). `CUSHIM_FMAD=off` leaves products and sums unfused that a GPU fuses ([`code`]).
pub fn new() -> Cpu {
    let variable = |name| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let said = |why: &String| cushim_accel::say(why);
    let width = device::threads(variable("CUSHIM_CPU_THREADS").as_deref()).inspect_err(said);
    let width = width.ok().flatten().unwrap_or(processors);
    let memory = Arc::new(Memory::checked(Options::from(|name| std::env::var_os(name))));
    if let Some(checker) = &memory.checker {
        cushim_accel::check_with(checker.clone());
    }
    let count = device::count(variable("CUSHIM_CPU_DEVICES").as_deref()).inspect_err(said);
    let count = count.unwrap_or(1);
    let (budget, right) =
        Budget::new(Machine::this(), count, variable(budget::VARIABLE).as_deref());
    let _ = right.inspect_err(said);
    let (base, size) = memory.arena.range();
    let interpreted = std::env::var_os("CUSHIM_CPU").is_some_and(|how| how == "interpreter");
    if let Err(found) = cushim_ptx::Level::in_use() {
        let variable = cushim_ptx::level::VARIABLE;
        let levels = cushim_ptx::Level::ALL.map(cushim_ptx::Level::name).join(", ");
        cushim_accel::say(&format!(
            "{variable}={found}: expected one of {levels}; kernels are interpreted"
        ));
    }
    // SAFETY: reserved for ever, and used through raw addresses only.
    let range = unsafe { cushim_ptx_jit::Arena::new(base, size) };
    let executor = CpuExecutor {
        range: range.filter(|_| !interpreted),
        memory: memory.clone(),
        pool: pool::Pool::new(width),
        heaps: (0..count).map(|_| heap::Heap::default()).collect(),
        profiler: profiler(),
        answers: Arc::default(),
    };
    let described = |n| device::describe(n, processors, budget.device());
    let devices = (0..count).map(described).collect();
    Cpu { devices, memory, budget, executor: Arc::new(executor) }
}

/// The profiler, if the launcher asks for one.
fn profiler() -> Option<Arc<Profiler>> {
    let options = cushim_profile::Options::from(|name| std::env::var_os(name))?;
    let profiler = Profiler::open(options);
    if profiler.is_none() {
        cushim_accel::say("nothing is counted: the profile's file cannot be written");
    }
    if profiler.as_ref().is_some_and(Profiler::is_traced) {
        cushim_accel::calls::number_with(cushim_profile::traced::call);
    }
    profiler.map(Arc::new)
}

impl Accelerator for Cpu {
    fn devices(&self) -> &[Device] {
        &self.devices
    }

    fn allocate(&self, _device: usize, kind: MemoryKind, layout: Layout) -> Result<u64, Failure> {
        let kind = match kind {
            MemoryKind::Device => Kind::Device,
            MemoryKind::Host => Kind::Host,
            MemoryKind::Managed => Kind::Managed,
        };
        let (bytes, align) = (layout.size() as u64, layout.align() as u64);
        if !self.budget.permits(&self.memory.arena, bytes) {
            return Err(Failure::OutOfMemory);
        }
        self.memory.allocate(kind, bytes, align).ok_or(Failure::OutOfMemory)
    }

    fn free(&self, address: u64) {
        self.memory.free(address);
    }

    fn left(&self, most: u64) -> u64 {
        self.budget.left(&self.memory.arena, most)
    }

    fn refused(&self, bytes: u64, free: u64) {
        if let Some(text) = self.budget.refused(bytes, free) {
            cushim_accel::say(&text);
        }
    }

    fn is_own(&self, address: u64) -> bool {
        self.memory.arena.contains(address)
    }

    fn register_host(&self, address: u64, bytes: usize) -> Result<u64, Failure> {
        if address == 0 || address.checked_add(bytes as u64).is_none() {
            return Err(Failure::InvalidAddress(address));
        }
        self.memory.register(address, bytes as u64);
        Ok(address)
    }

    fn unregister_host(&self, address: u64) {
        self.memory.unregister(address);
    }

    fn load(&self, device: usize, image: &Image<'_>) -> Result<Arc<dyn Code>, Failure> {
        Ok(Arc::new(CpuCode::load(&self.memory, device, image)?))
    }

    fn accepts(&self, kind: ImageKind) -> bool {
        kind == ImageKind::Ptx
    }

    fn texture(&self, texture: &Texture) -> Result<u64, Failure> {
        texture::create(&self.memory, texture)
    }

    fn tensor_map(&self, tensor: &Tensor) -> Result<[u8; 128], Failure> {
        tensor::map(tensor)
    }

    fn tensor_map_at(&self, map: &[u8; 128], address: u64) -> Option<[u8; 128]> {
        Some(TensorMap { address, ..TensorMap::from_bytes(map)? }.to_bytes())
    }

    fn forget_texture(&self, handle: u64) {
        texture::forget(&self.memory, handle);
    }

    fn queue(&self, _device: usize, _priority: i32) -> Result<Arc<dyn Queue>, Failure> {
        Ok(Arc::new(SoftwareQueue::new(self.executor.clone())))
    }

    fn copy_now(&self, to: u64, from: u64, bytes: usize) -> Result<(), Failure> {
        bulk::copy(&self.executor.pool, &self.memory, &Copy::line(to, from, bytes))
    }

    fn now(&self) -> u64 {
        clock::clock(libc::CLOCK_MONOTONIC)
    }

    fn sharing(&self) -> Option<&dyn Sharing> {
        Some(&*self.memory.arena)
    }

    fn set_answers(&self, answers: &'static dyn cushim_accel::Answers) {
        self.executor.answers.set(answers);
    }

    fn set_heap_limit(&self, device: usize, bytes: u64) {
        if let Some(heap) = self.executor.heaps.get(device) {
            heap.set_limit(bytes);
        }
    }

    fn is_heap_used(&self, device: usize) -> bool {
        self.executor.heaps.get(device).is_some_and(heap::Heap::is_used)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests;
