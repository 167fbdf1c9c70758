//! cushim's CUDA driver API, over an accelerator ([`cushim_accel`]).
//!
//! Owns CUDA's behaviour below the runtime: contexts, memory, streams and their order, events, graphs, modules. Each
//! function is an `extern "C"` function named as libcuda exports it, in the module of its subject, and is listed in
//! [`implemented`]; every other one of the table returns CUDA_ERROR_NOT_SUPPORTED. Must not know: the runtime above,
//! NVIDIA's driver.

mod answers;
mod argument;
mod cluster;
pub mod context;
mod context_api;
pub mod device;
mod entry;
pub mod event;
mod event_api;
mod event_shared;
pub mod function;
pub mod function_api;
pub mod graph;
pub mod handle;
mod host;
mod implemented;
mod init;
mod jit;
pub mod kernel;
pub mod launch;
pub mod library;
mod limits;
mod link;
mod lookup;
mod mark;
pub mod memory;
pub mod module;
mod nothing;
mod notify;
pub mod occupancy;
mod resource;
pub mod state;
pub mod status;
pub mod stream;
mod tensor;
pub mod texture;
mod thread;

use cushim_abi::types::*;

use cushim_vbase::Slot;
use cushim_vbase::api::COUNT;

/// A symbol of libvcuda.so: unit tests do not use it.
#[cfg(test)]
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
static vcuda_driver: [std::sync::atomic::AtomicPtr<()>; COUNT] =
    [const { std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()) }; COUNT];

pub use state::{Make, accelerator, stand_on};

macro_rules! unsupported {
    ($name:ident ? $ret:ty) => {
        unsupported!($name () $ret);
    };
    ($name:ident ($($arg:ident : $type:ty),*) $ret:ty) => {
        #[allow(non_snake_case)]
        pub(super) unsafe extern "C" fn $name($(_: $type),*) -> $ret {
            cushim_vbase::unsupported::answer(stringify!($name))
        }
    };
}

macro_rules! absent {
    ($name:ident ? $ret:ty) => {
        absent!($name () $ret);
    };
    ($name:ident ($($arg:ident : $type:ty),*) $ret:ty) => {
        #[allow(non_snake_case)]
        pub(super) unsafe extern "C" fn $name($(_: $type),*) -> $ret {
            super::NoDriver::no_driver()
        }
    };
}

macro_rules! slot {
    ($from:ident $name:ident ? $ret:ty) => {
        slot!($from $name () $ret)
    };
    ($from:ident $name:ident ($($arg:ident : $type:ty),*) $ret:ty) => {{
        // The row's signature is the implementation's, or this does not compile.
        let function: unsafe extern "C" fn($($type),*) -> $ret = $from::$name;
        Slot(function as *const ())
    }};
}

macro_rules! table {
    ($([$($name:ident)+] $args:tt -> $ret:tt;)*) => {
        /// The functions missing in [`implemented`].
        mod unsupported {
            use super::*;
            $($(unsupported!($name $args $ret);)+)*
        }

        /// The functions that are used where there is no driver.
        mod absent {
            use super::*;
            $($(absent!($name $args $ret);)+)*
        }

        static OURS: [Slot; COUNT] = [$($(slot!(implemented $name $args $ret),)+)*];
        static UNSUPPORTED: [Slot; COUNT] = [$($(slot!(unsupported $name $args $ret),)+)*];
        static ABSENT: [Slot; COUNT] = [$($(slot!(absent $name $args $ret),)+)*];
    };
}

cushim_abi::all_driver_functions!(table);

/// Our function with this number, possibly one that returns "not supported".
pub fn function(index: usize) -> Option<*const ()> {
    OURS.get(index).map(|slot| slot.0)
}

/// The function that returns "not supported" instead of this one.
pub fn unsupported(index: usize) -> Option<*const ()> {
    UNSUPPORTED.get(index).map(|slot| slot.0)
}

/// The function that returns "no driver" instead of this one.
pub fn absent(index: usize) -> Option<*const ()> {
    ABSENT.get(index).map(|slot| slot.0)
}

/// Whether cushim's driver implements the function with this number.
pub fn is_implemented(index: usize) -> bool {
    function(index) != unsupported(index)
}

/// The result of a function without a driver: CUDA_ERROR_NO_DEVICE.
trait NoDriver {
    fn no_driver() -> Self;
}

impl NoDriver for i32 {
    fn no_driver() -> i32 {
        100
    }
}
