//! Services that running kernels need from the host: printing, a heap, time, the host's own functions.
//!
//! Owns the trait. Must not know who implements it.

use super::device::Caller;
use super::fault::Cause;
use super::runtime::RuntimeCall;
use super::watch::Watch;

/// What kernels ask of their host.
pub trait Host {
    /// `printf` of a kernel: the formatted bytes.
    fn print(&self, bytes: &[u8]);
    /// A failed `assert`: the message as CUDA prints it.
    fn assert_failed(&self, message: &str) {
        self.print(message.as_bytes());
    }
    /// `malloc` of a kernel: an address of [`super::Memory`], or 0.
    fn allocate(&self, bytes: u64) -> u64;
    /// `free` of a kernel.
    fn free(&self, address: u64);
    /// `%globaltimer`: nanoseconds.
    fn nanoseconds(&self) -> u64;
    /// `%current_graph_exec`: the device graph that the kernel is a node of, 0 if it is none.
    fn current_graph(&self) -> u64 {
        0
    }
    /// `cudaGraphSetConditional` of a kernel: sets the value that a conditional node goes by; whether there is one
    /// with this handle.
    fn set_condition(&self, _handle: u64, _value: u32) -> bool {
        false
    }
    /// A call of CUDA's device runtime: its result, or why the launch ends. `None`: this host has no such call.
    fn runtime(&self, _call: RuntimeCall, _caller: &mut dyn Caller) -> Option<Result<u64, Cause>> {
        None
    }
    /// The observer of the launch, if there is one.
    fn watch(&self) -> Option<&dyn Watch> {
        None
    }
    /// Reports a problem that does not end the launch to the user.
    fn warn(&self, _message: &str) {}
    /// Whether the launch shall end (someone pressed Ctrl-C). Asked rarely.
    fn interrupted(&self) -> bool {
        false
    }
    /// A function that a text declares and neither it nor the device runtime has: the host's reply to a lane that calls
    /// it, or `None` if the host has no such function, either. Arguments of up to 64 bits, extended with zeros.
    fn call(&self, _function: &str, _arguments: &[u64]) -> Option<u64> {
        None
    }
}
