//! Host services for running kernels: printing, the time, and calls to other modules.
//!
//! Owns the dispatch of these calls. Must not know: how kernels run.

use cushim_ptx::exec;

use super::clock::clock;
use super::device_runtime::Runtime;
use super::heap::Heap;
use super::memory::Memory;
use super::pool::Job;
use super::watch::Looks;
use cushim_accel::{GraphRun, printed};

/// The host of one launch.
pub struct Host<'a> {
    /// For the heap.
    pub memory: &'a Memory,
    /// The device's.
    pub heap: &'a Heap,
    /// Says whether to end.
    pub job: &'a Job,
    /// Calls of the device runtime, if the kernel may make some.
    pub runtime: Option<&'a Runtime>,
    /// The run of a graph that the launch is part of.
    pub graph: Option<&'a dyn GraphRun>,
    /// The observer.
    pub watch: Option<&'a Looks>,
}

impl exec::Host for Host<'_> {
    fn print(&self, bytes: &[u8]) {
        printed::push(bytes);
    }

    fn warn(&self, message: &str) {
        cushim_accel::say(message);
    }

    fn assert_failed(&self, message: &str) {
        printed::assertion(message);
    }

    fn allocate(&self, bytes: u64) -> u64 {
        self.heap.allocate(self.memory, bytes)
    }

    fn free(&self, address: u64) {
        // An address that this heap did not allocate is ignored: an invalid `free` in a kernel is no error in CUDA.
        self.heap.free(self.memory, address);
    }

    fn nanoseconds(&self) -> u64 {
        clock(libc::CLOCK_REALTIME)
    }

    fn current_graph(&self) -> u64 {
        self.graph.map_or(0, |run| run.handle())
    }

    fn set_condition(&self, handle: u64, value: u32) -> bool {
        // The driver's handle is where the value lies.
        let aligned = handle.is_multiple_of(4);
        aligned && exec::Memory::store(self.memory, handle, &value.to_le_bytes()).is_ok()
    }

    fn runtime(
        &self,
        call: exec::RuntimeCall,
        caller: &mut dyn exec::Caller,
    ) -> Option<Result<u64, exec::Cause>> {
        self.runtime.map(|runtime| runtime.call(call, caller))
    }

    fn watch(&self) -> Option<&dyn exec::Watch> {
        self.watch.map(Looks::watch)
    }

    fn interrupted(&self) -> bool {
        self.job.is_stopped()
    }
}
