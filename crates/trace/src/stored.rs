//! The fixed parts of events as bytes.
//!
//! Must not know: what they mean.

use crate::layout::{
    GpuBody, LaunchBody, MappedArg, MappedBody, RangeBody, ShortMappedArg, ShortMappedBody,
};

/// A part of an event as the ledger has it.
///
/// # Safety
/// All bits are values of the type, and it has no padding.
pub(crate) unsafe trait Stored: Copy {}

macro_rules! stored {
    ($($body:ty)*) => {$(
        // SAFETY: consecutive integers and arrays of them; the layout's assertions check the sizes.
        unsafe impl Stored for $body {}
    )*};
}

stored! { LaunchBody GpuBody RangeBody MappedBody MappedArg ShortMappedBody ShortMappedArg }

/// The value at the start of `bytes`; `None` where they are too few.
pub(crate) fn read<T: Stored>(bytes: &[u8]) -> Option<T> {
    let bytes = bytes.get(..size_of::<T>())?;
    // SAFETY: enough bytes, and any bit pattern is a value.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Its bytes.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn bytes<T: Stored>(value: &T) -> &[u8] {
    // SAFETY: the type has no padding, so each byte is initialised; the bytes live as long as the
    // value.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}
