//! Everything that any engine needs to run a kernel.
//!
//! Owns the interface between code that launches kernels and engines that run them: a launch and its memory layout
//! ([`KernelLaunch`], [`shared_layout`], [`initial_bytes`]), address windows, memory and host as traits, faults, and
//! the behaviour of lanes and blocks that is the same in every engine: the device runtime's functions, collectives,
//! barrier objects, the order of blocks ([`schedule`]). The interpreter and the compilers use it, and not each other.
//! Must not know how instructions are executed, or any CUDA call.
//!
//! An engine takes a [`KernelLaunch`], a [`Memory`] and a [`Host`] and returns a [`Fault`] or nothing. A host can
//! offer further functions to kernels ([`Host::call`]).

pub(crate) mod address;
pub mod asynchronous;
pub(crate) mod barrier_object;
pub(crate) mod bytes;
pub mod cluster;
pub(crate) mod collective;
pub(crate) mod device;
pub(crate) mod fault;
pub(crate) mod host;
pub(crate) mod lanes;
pub(crate) mod launch;
pub(crate) mod layout;
pub(crate) mod memory;
mod plain;
mod printf;
pub use printf::format as printf;
pub mod runtime;
pub mod schedule;
pub mod tensor;
pub mod tensor_copy;
mod variable;
pub mod watch;

pub use address::{
    FUNCTION_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE, function_pointer,
    pointed_function, window,
};
pub use barrier_object::apply as barrier_object;
pub use collective::{participants, run as collective, source as shuffle_source};
pub use device::{Caller, DeviceFunction, call as call_device_function};
pub use fault::{Access, Cause, Fault, Spot};
pub use host::Host;
pub use lanes::{Lanes, lanes, with_lanes};
pub use launch::KernelLaunch;
pub use layout::{initial_bytes, shared_layout, shared_size};
pub use memory::{BadAddress, Memory};
pub use plain::PlainMemory;
pub use runtime::RuntimeCall;
pub use variable::{Variable, beside};
pub use watch::{BlockWatch, Marks, Ran, Touch, Watch};
