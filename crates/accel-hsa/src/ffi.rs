//! HSA's types and constants that this crate uses.
//!
//! Source: the HSA Runtime specification 1.2 (`hsa.h`) and AMD's extensions (`hsa_ext_amd.h`), the same from ROCm 5.2
//! on. Must not know: what is done with them.

#![allow(missing_docs)]

use std::ffi::{c_char, c_void};

/// `hsa_status_t`.
pub type Status = u32;
pub const SUCCESS: Status = 0;
/// `HSA_STATUS_INFO_BREAK`: an iteration was ended by its callback.
pub const INFO_BREAK: Status = 1;
pub const ERROR: Status = 0x1000;
pub const INVALID_ALLOCATION: Status = 0x1003;
pub const OUT_OF_RESOURCES: Status = 0x1008;
pub const INVALID_ISA: Status = 0x100f;
pub const INVALID_CODE_OBJECT: Status = 0x1010;
pub const EXCEPTION: Status = 0x1016;
pub const APERTURE_VIOLATION: Status = 41;
pub const ILLEGAL_INSTRUCTION: Status = 42;
pub const MEMORY_FAULT: Status = 43;

/// Handles: numbers from the runtime.
macro_rules! handles {
    ($($name:ident)*) => { $(
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(transparent)]
        pub struct $name(pub u64);
    )* };
}
handles! { Agent Pool Isa Reader Executable Symbol Sig }

/// `hsa_queue_t`.
#[repr(C)]
pub struct Queue {
    pub kind: u32,
    pub features: u32,
    /// The ring: as many packets of 64 bytes as `size` says.
    pub base: *mut Packet,
    pub doorbell: Sig,
    /// A power of two.
    pub size: u32,
    pub reserved: u32,
    pub id: u64,
}

/// A packet of an AQL queue.
pub type Packet = [u32; 16];

/// `hsa_amd_profiling_dispatch_time_t` and `hsa_amd_profiling_async_copy_time_t`: ticks of the system's clock.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Times {
    pub begin: u64,
    pub end: u64,
}

/// `hsa_amd_event_t` with a memory fault.
#[repr(C)]
pub struct Event {
    /// 0 is `HSA_AMD_GPU_MEMORY_FAULT_EVENT`.
    pub kind: u32,
    pub agent: Agent,
    pub address: u64,
    pub reasons: u32,
}

/// `hsa_pitched_ptr_t`: bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Pitched {
    pub base: u64,
    /// From row to row.
    pub pitch: u64,
    /// From plane to plane.
    pub slice: u64,
}

/// `hsa_dim3_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// `hsa_amd_copy_direction_t`.
pub mod rect {
    pub const HOST_TO_DEVICE: u32 = 1;
    pub const DEVICE_TO_HOST: u32 = 2;
    pub const DEVICE_TO_DEVICE: u32 = 3;
}

pub type EachAgent = unsafe extern "C" fn(Agent, *mut c_void) -> Status;
pub type EachPool = unsafe extern "C" fn(Pool, *mut c_void) -> Status;
pub type EachIsa = unsafe extern "C" fn(Isa, *mut c_void) -> Status;
pub type EachSymbol = unsafe extern "C" fn(Executable, Agent, Symbol, *mut c_void) -> Status;
pub type OnQueueError = unsafe extern "C" fn(Status, *mut Queue, *mut c_void);
pub type OnEvent = unsafe extern "C" fn(*const Event, *mut c_void) -> Status;
pub type Text = *const c_char;

/// `hsa_system_info_t`.
pub mod system {
    pub const VERSION_MAJOR: u32 = 0;
    pub const VERSION_MINOR: u32 = 1;
    pub const TIMESTAMP: u32 = 2;
    pub const TIMESTAMP_FREQUENCY: u32 = 3;
}

/// `hsa_agent_info_t` and `hsa_amd_agent_info_t`.
pub mod agent {
    pub const NAME: u32 = 0;
    pub const FEATURE: u32 = 2;
    pub const WAVEFRONT_SIZE: u32 = 6;
    pub const WORKGROUP_MAX_SIZE: u32 = 8;
    pub const QUEUE_MAX_SIZE: u32 = 14;
    pub const DEVICE: u32 = 17;
    pub const CACHE_SIZE: u32 = 18;
    pub const COMPUTE_UNITS: u32 = 0xa002;
    /// MHz.
    pub const CLOCK: u32 = 0xa003;
    pub const BDF: u32 = 0xa006;
    /// Bits.
    pub const MEMORY_WIDTH: u32 = 0xa007;
    /// MHz.
    pub const MEMORY_CLOCK: u32 = 0xa008;
    pub const PRODUCT: u32 = 0xa009;
    pub const WAVES_PER_CU: u32 = 0xa00a;
    pub const DOMAIN: u32 = 0xa00f;
    pub const UUID: u32 = 0xa011;
    /// Of `DEVICE`.
    pub const IS_CPU: u32 = 0;
    pub const IS_GPU: u32 = 1;
    /// Of `FEATURE`: `HSA_AGENT_FEATURE_KERNEL_DISPATCH`.
    pub const DISPATCHES: u32 = 1;
}

/// `hsa_amd_memory_pool_info_t` and the meaning of its values.
pub mod pool {
    pub const SEGMENT: u32 = 0;
    pub const FLAGS: u32 = 1;
    pub const SIZE: u32 = 2;
    pub const ALLOWED: u32 = 5;
    pub const GLOBAL: u32 = 0;
    pub const GROUP: u32 = 3;
    pub const KERNARG: u32 = 1;
    pub const FINE: u32 = 2;
    pub const COARSE: u32 = 4;
    /// Of `hsa_amd_agent_memory_pool_info_t`.
    pub const ACCESS: u32 = 0;
    pub const NEVER: u32 = 0;
}

/// `hsa_isa_info_t`.
pub mod isa {
    pub const NAME_LENGTH: u32 = 0;
    pub const NAME: u32 = 1;
}

/// `hsa_executable_symbol_info_t`.
pub mod symbol {
    pub const KIND: u32 = 0;
    pub const NAME_LENGTH: u32 = 1;
    pub const NAME: u32 = 2;
    pub const VARIABLE_SIZE: u32 = 9;
    pub const VARIABLE_IS_CONST: u32 = 10;
    pub const KERNARG_SIZE: u32 = 11;
    pub const GROUP_SIZE: u32 = 13;
    pub const PRIVATE_SIZE: u32 = 14;
    pub const DYNAMIC_STACK: u32 = 15;
    pub const VARIABLE_ADDRESS: u32 = 21;
    pub const KERNEL_OBJECT: u32 = 22;
    /// Of `KIND`.
    pub const IS_VARIABLE: u32 = 0;
}

/// `hsa_signal_condition_t`: less than.
pub const LESS: u32 = 2;
/// `hsa_wait_state_t`: the thread may sleep.
pub const BLOCKED: u32 = 0;
/// `hsa_profile_t`, `hsa_default_float_rounding_mode_t`.
pub const PROFILE_FULL: u32 = 1;
pub const ROUNDING_DEFAULT: u32 = 0;
/// `hsa_queue_type_t`.
pub const QUEUE_MULTI: u32 = 0;
/// `hsa_amd_queue_priority_t`.
pub const PRIORITY_HIGH: u32 = 2;
