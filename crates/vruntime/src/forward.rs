//! How runtime functions are declared: one body for a function and its form for per-thread default streams (`_ptsz`,
//! `_ptds`), and driver calls with a context current.
//!
//! Owns the macros [`functions!`], [`forwards!`] and [`pass!`]. Must not know: any function.

use cushim_abi::types::*;

use super::error;

/// The per-thread default stream's handle, `cudaStreamPerThread`.
pub const PER_THREAD_STREAM: Stream = Stream(2);

/// Converts an argument of the `_ptsz` form to that of the plain form.
pub trait PerThread: Sized {
    /// The default stream becomes the thread's own; everything else stays.
    fn per_thread(self) -> Self {
        self
    }
}

impl PerThread for Stream {
    #[inline(always)]
    fn per_thread(self) -> Self {
        if self.0 == 0 { PER_THREAD_STREAM } else { self }
    }
}

macro_rules! unchanged {
    ($($type:ty)*) => {$(impl PerThread for $type {})*};
}

unchanged! {
    usize u64 u32 i32 Ptr Flags Flags64 Location Device Event Graph GraphExec Node Func CopyKind PitchedPtr
    Extent Dim3
}

impl<T> PerThread for Out<T> {}

/// Defines runtime functions: `name / per_thread_name (arguments) { body }`. In the body, `MAJOR`
/// is the runtime's major; in the per-thread form, a stream 0 was replaced before.
macro_rules! functions {
    () => {};
    ($name:ident / $per_thread:ident ($($arg:ident : $type:ty),*) $body:block $($rest:tt)*) => {
        functions!(@one $name [] ($($arg : $type),*) $body);
        functions!(@one $per_thread [$($arg)*] ($($arg : $type),*) $body);
        functions!($($rest)*);
    };
    ($name:ident ($($arg:ident : $type:ty),*) $body:block $($rest:tt)*) => {
        functions!(@one $name [] ($($arg : $type),*) $body);
        functions!($($rest)*);
    };
    (@one $name:ident [$($mapped:ident)*] ($($arg:ident : $type:ty),*) $body:block) => {
        #[allow(non_snake_case)]
        pub unsafe extern "C" fn $name<const MAJOR: usize>($($arg: $type),*) -> i32 {
            $(let $mapped = $crate::forward::PerThread::per_thread($mapped);)*
            $body
        }
    };
}

/// One driver function with a context current; its result is the call's.
macro_rules! pass {
    ($function:ident($($value:expr),* $(,)?)) => {
        $crate::context::with(|| {
            // SAFETY: the program's arguments, of the same meaning in both APIs.
            unsafe { cushim_vbase::api::$function($($value),*) }
        })
    };
}

/// Defines runtime functions that are a driver function with the same arguments, or with those given:
/// `name / per_thread_name (arguments) = driver_function(values);`.
macro_rules! forwards {
    () => {};
    ($name:ident / $per_thread:ident $args:tt = $function:ident $values:tt; $($rest:tt)*) => {
        functions! { $name / $per_thread $args { pass!($function $values) } }
        forwards!($($rest)*);
    };
    ($name:ident $args:tt = $function:ident $values:tt; $($rest:tt)*) => {
        functions! { $name $args { pass!($function $values) } }
        forwards!($($rest)*);
    };
}

pub(super) use {forwards, functions, pass};

/// Ends a call with the outcome of its steps.
#[inline(always)]
pub fn done(outcome: Result<(), Status>) -> Status {
    match outcome {
        Ok(()) => 0,
        Err(error) => error::failed(error),
    }
}

/// Stores a result at the program's address; does nothing for a null pointer.
///
/// # Safety
/// A pointer that is not null points to a place for a `T`.
pub unsafe fn put<T>(at: Ptr, value: T) {
    if at.0 != 0 {
        // SAFETY: not null, hence a place for a `T` by the caller's promise.
        unsafe { std::ptr::with_exposed_provenance_mut::<T>(at.0).write_unaligned(value) };
    }
}

/// Stores a result at the program's address, which need not be aligned.
///
/// # Safety
/// `to` is null or has room for a `T`.
///
/// # Errors
/// cudaErrorInvalidValue for a null pointer.
pub unsafe fn give<T>(to: Out<T>, value: T) -> Result<(), Status> {
    if to.0.is_null() {
        return Err(error::code::INVALID_VALUE);
    }
    // SAFETY: not null, so it has room.
    unsafe { to.0.write_unaligned(value) };
    Ok(())
}

/// The address of a value that the driver reads.
pub fn address<T>(of: &T) -> Ptr {
    Ptr(std::ptr::from_ref(of).expose_provenance())
}

/// The address of a value that the driver writes.
pub fn address_mut<T>(of: &mut T) -> Ptr {
    Ptr(std::ptr::from_mut(of).expose_provenance())
}
