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
        // SAFETY: integers and arrays of such, one behind the other: the ledger's assertions know the sizes.
        unsafe impl Stored for $body {}
    )*};
}

stored! { LaunchBody GpuBody RangeBody MappedBody MappedArg ShortMappedBody ShortMappedArg }

/// What `bytes` begin with; `None` where they are fewer.
pub(crate) fn read<T: Stored>(bytes: &[u8]) -> Option<T> {
    let bytes = bytes.get(..size_of::<T>())?;
    // SAFETY: as many bytes, of which any are a value.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Its bytes.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn bytes<T: Stored>(value: &T) -> &[u8] {
    // SAFETY: it has no padding, so each byte is initialised; they live as long as it does.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}
