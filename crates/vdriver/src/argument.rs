//! Arguments of API functions, in the form in which a function's body may use them.
//!
//! Owns the only conversion from a caller's pointer to something that safe code can use: a parameter's type states
//! what the caller passes; it is declared with the function, with the names of cuda.h. Must not know: any function.

use std::ffi::CStr;
use std::marker::PhantomData;

use cushim_abi::structs::{DriverLaunchConfig, LaunchAttribute};
use cushim_abi::types as abi;

use super::status;

/// A pointer for a result: null, or with room for a `T`, aligned or not. Only the calling thread uses it.
pub struct Place<T>(*mut T);

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> Place<T> {
    /// A null pointer.
    pub const NOWHERE: Self = Place(std::ptr::null_mut());
}

impl<T> Place<T> {
    /// # Safety
    /// `to` is null or has room for a `T` while the call lasts.
    #[inline]
    pub unsafe fn new(to: *mut T) -> Self {
        Place(to)
    }

    /// Whether it is null.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Stores a result.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for null.
    #[inline]
    pub fn give(self, value: T) -> Result<(), i32> {
        if self.0.is_null() {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: not null, so it has room.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// As [`Place::give`], for an optional result: null is no error.
    #[inline]
    pub fn offer(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so it has room.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

impl<T: Plain> Place<T> {
    /// The value there, for a pointer that is also read.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for null.
    #[inline]
    pub fn read(&self) -> Result<T, i32> {
        if self.0.is_null() {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: not null, so there is a `T`, for which all bits are values.
        Ok(unsafe { self.0.read_unaligned() })
    }
}

/// A structure of the program: null, or a `T`, aligned or not.
pub struct Given<T>(*const T);

impl<T: Plain> Given<T> {
    /// # Safety
    /// `from` is null or holds a `T` while the call lasts.
    #[inline]
    pub unsafe fn new(from: *const T) -> Self {
        Given(from)
    }

    /// Whether it is null.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Its values.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for null.
    #[inline]
    pub fn read(&self) -> Result<T, i32> {
        if self.0.is_null() {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: not null, so it holds one, for which all bits are values.
        Ok(unsafe { self.0.read_unaligned() })
    }
}

/// A text of the program: null, or ends with a NUL.
pub struct Text(*const libc::c_char);

impl Text {
    /// # Safety
    /// `from` is null or ends with a NUL, and does not change during the call.
    #[inline]
    pub unsafe fn new(from: abi::Str) -> Self {
        Text(std::ptr::with_exposed_provenance(from.0))
    }

    /// Whether it is null.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The text.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for null.
    pub fn read(&self) -> Result<&CStr, i32> {
        if self.0.is_null() {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: a text that ends.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

/// A type for which every bit pattern is a value.
///
/// # Safety
/// Every bit pattern is a value.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($type:ty)*) => {$(
        // SAFETY: numbers, and structures of numbers as C has them.
        unsafe impl Plain for $type {}
    )*};
}

plain! { u8 u16 u32 i32 u64 i64 usize f32 abi::Ptr DriverLaunchConfig LaunchAttribute }

// SAFETY: each of them is.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// The type of a parameter: in C, and in the body of the function.
pub trait Argument {
    /// The type in C.
    type Abi;
    /// The type in the body.
    type Token;

    /// # Safety
    /// `given` follows CUDA's reference for a parameter of this type: [`Out`](abi::Out) and [`At`]
    /// are null or have room for a `T`, [`In`] is null or a `T`, [`Str`](abi::Str) is null or a
    /// text that ends, all while the call lasts. Other types take any value.
    unsafe fn token(given: Self::Abi) -> Self::Token;
}

/// A pointer without type in the tables that leads to room for a `T`.
pub struct At<T>(PhantomData<T>);

/// A pointer without type in the tables that leads to a `T`.
pub struct In<T>(PhantomData<T>);

impl<T> Argument for abi::Out<T> {
    type Abi = abi::Out<T>;
    type Token = Place<T>;
    #[inline(always)]
    unsafe fn token(given: abi::Out<T>) -> Place<T> {
        Place(given.0)
    }
}

impl<T> Argument for At<T> {
    type Abi = abi::Ptr;
    type Token = Place<T>;
    #[inline(always)]
    unsafe fn token(given: abi::Ptr) -> Place<T> {
        Place(std::ptr::with_exposed_provenance_mut(given.0))
    }
}

impl<T> Argument for In<T> {
    type Abi = abi::Ptr;
    type Token = Given<T>;
    #[inline(always)]
    unsafe fn token(given: abi::Ptr) -> Given<T> {
        Given(std::ptr::with_exposed_provenance(given.0))
    }
}

impl Argument for abi::Str {
    type Abi = abi::Str;
    type Token = Text;
    #[inline(always)]
    unsafe fn token(given: abi::Str) -> Text {
        // SAFETY: a caller of the entry point passes null or a text that ends with a NUL.
        unsafe { Text::new(given) }
    }
}

/// Numbers, handles, and addresses, which are checked against the table of ranges before use.
macro_rules! values {
    ($($type:ty)*) => {$(
        impl Argument for $type {
            type Abi = $type;
            type Token = $type;
            #[inline(always)]
            unsafe fn token(given: $type) -> $type {
                given
            }
        }
    )*};
}

values! {
    u8 u16 u32 i32 u64 usize f32 abi::Ptr abi::Flags abi::Flags64 abi::Device abi::Context abi::Stream abi::Event
    abi::Module abi::Func abi::Graph abi::GraphExec abi::Node abi::IpcHandle abi::Location
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_refused_and_what_is_not_aligned_is_taken() {
        let mut bytes = [0u8; 16];
        let base = bytes.as_mut_ptr();
        // SAFETY: room for a number after the first byte.
        let place = unsafe { Place::<u64>::new(base.add(1).cast()) };
        assert_eq!(place.give(7), Ok(()));
        // SAFETY: reads that number.
        let given = unsafe { Given::<u64>::new(base.add(1).cast()) };
        assert_eq!(given.read(), Ok(7));
        // SAFETY: null, so nothing is accessed.
        let (none, no_text) =
            unsafe { (Place::<u64>::new(std::ptr::null_mut()), Text::new(abi::Str(0))) };
        assert!(none.is_null() && no_text.is_null());
        assert_eq!(
            (none.give(1), no_text.read()),
            (Err(status::INVALID_VALUE), Err(status::INVALID_VALUE))
        );
    }
}
