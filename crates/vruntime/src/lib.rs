//! cushim's CUDA runtime, over the driver API ([`cushim_vbase::api`]).
//!
//! Owns what libcudart owns: registration, the choice of an image, primary contexts made current when needed, the
//! last error of a thread, and the forms of each call. Each function is an `extern "C"` function generic over its
//! major (11, 12, 13), named as its row of the table, in the module of its subject, and is listed in [`implemented`];
//! every other one returns cudaErrorNotSupported. Must not know: which driver is below.

mod array;
pub mod context;
mod copy;
mod device;
mod entry_point;
pub mod error;
mod execution;
mod external;
mod format;
mod forward;
mod function;
mod graph;
mod implemented;
mod launch;
pub mod layout;
mod library;
mod logs;
mod memory;
mod needs;
pub mod registry;
mod report;
mod stream;
#[cfg(test)]
mod testing;
mod texture;
mod thread;

pub use needs::needs;

use cushim_abi::index::{MAJORS, RUNTIME_NAMES, column};
use cushim_abi::types::*;

use cushim_vbase::Slot;

/// The number of runtime functions.
pub const COUNT: usize = RUNTIME_NAMES.len();

macro_rules! unsupported {
    ($name:ident ? $ret:ty) => {
        unsupported!($name () $ret);
    };
    ($name:ident ($($arg:ident : $type:ty),*) $ret:ty) => {
        #[allow(non_snake_case)]
        pub(super) unsafe extern "C" fn $name<const MAJOR: usize>($(_: $type),*) -> $ret {
            cushim_vbase::unsupported::answer(stringify!($name))
        }
    };
}

macro_rules! slots {
    ($from:ident $majors:tt $name:ident ? $ret:ty) => {
        slots!($from $majors $name () $ret)
    };
    ($from:ident [$($major:tt)*] $name:ident ($($arg:ident : $type:ty),*) $ret:ty) => {{
        let mut slots = [const { Slot(std::ptr::null()) }; MAJORS.len()];
        // The row's signature is the implementation's, or this does not compile.
        type Function = unsafe extern "C" fn($($type),*) -> $ret;
        $({
            let function: Function = $from::$name::<$major>;
            slots[column($major)] = Slot(function as *const ());
        })*
        slots
    }};
}

macro_rules! table {
    ($($majors:tt [$($name:ident $(= $exported:ident)?)+] $args:tt -> $ret:tt;)*) => {
        /// The functions missing in [`implemented`].
        mod unsupported {
            use super::*;
            $($(unsupported!($name $args $ret);)+)*
        }

        /// The functions, by [`cushim_abi::index::Runtime`] and major; the thin libcudart jump through them.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals, clippy::indexing_slicing)]
        pub static vcuda_runtime: [[Slot; MAJORS.len()]; COUNT] =
            [$($(slots!(implemented $majors $name $args $ret),)+)*];

        #[allow(clippy::indexing_slicing)]
        static UNSUPPORTED: [[Slot; MAJORS.len()]; COUNT] =
            [$($(slots!(unsupported $majors $name $args $ret),)+)*];
    };
}

cushim_abi::all_runtime_functions!(table);

/// Whether the runtime function with this number is implemented, in any of its majors.
pub fn is_implemented(index: usize) -> bool {
    let (Some(ours), Some(not)) = (vcuda_runtime.get(index), UNSUPPORTED.get(index)) else {
        return false;
    };
    ours.iter().zip(not).any(|(ours, not)| ours.0 != not.0)
}
