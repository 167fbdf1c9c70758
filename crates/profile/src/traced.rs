//! Passes counters to the process's trace.
//!
//! Owns how the recording library, `libcushim.so`, is found and called ([`cushim_abi::counted`]). Must not know what
//! happens with them.

use std::ffi::CString;
use std::sync::OnceLock;

use cushim_abi::counted::{self, Counted};

use super::count::Count;
use super::sums::{Launched, Sums};

/// Sectors written to device memory, which belong to no instruction.
const WRITTEN: &str = "dram_write_sectors";

static CALL: OnceLock<counted::Call> = OnceLock::new();

/// The number of the recorded call that this thread is in; 0 for none.
pub fn call() -> u64 {
    // SAFETY: the library's function, which takes nothing and may be called on any thread.
    CALL.get().map_or(0, |call| unsafe { call() })
}

/// Where counters go.
pub struct Traced {
    work: counted::Work,
    /// The counters' names, with spaces between.
    names: CString,
}

impl Traced {
    /// The library that records, if it is in the process.
    pub fn find() -> Option<Traced> {
        let found = |name: &std::ffi::CStr| {
            // SAFETY: a C string; nothing is loaded by that.
            let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            (!at.is_null()).then_some(at)
        };
        let (call, work) = (found(counted::CALL)?, found(counted::WORK)?);
        // SAFETY: only that library has functions of these names, and they are of these types.
        let (call, work) = unsafe {
            (
                std::mem::transmute::<*mut libc::c_void, counted::Call>(call),
                std::mem::transmute::<*mut libc::c_void, counted::Work>(work),
            )
        };
        let names: Vec<&str> =
            Count::ALL.iter().map(|count| count.name()).chain([WRITTEN]).collect();
        let names = CString::new(names.join(" ")).ok()?;
        CALL.get_or_init(|| call);
        Some(Traced { work, names })
    }

    /// Reports a launch that ended.
    pub fn tell(&self, of: &Launched, symbol: &str, shared: u32, sums: &Sums, end_ns: u64) {
        let Ok(symbol) = CString::new(symbol) else { return };
        let total = sums.total();
        let values: Vec<u64> = total.all().iter().copied().chain([sums.written]).collect();
        let counted = Counted {
            size: size_of::<Counted>() as u32,
            device: of.device as u32,
            stream: of.stream as u32,
            shared,
            grid: of.grid,
            block: of.block,
            call: of.call,
            inner: of.inner.into(),
            start_ns: of.start_ns,
            end_ns,
            symbol: symbol.as_ptr(),
            names: self.names.as_ptr(),
            values: values.as_ptr(),
            count: values.len() as u64,
        };
        // SAFETY: the library's function; all that the structure points to is there until it returns.
        unsafe { (self.work)(&raw const counted) };
    }
}
