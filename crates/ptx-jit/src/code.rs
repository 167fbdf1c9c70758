//! Memory that holds machine code: written once, then executable.

use crate::error::NotCompiled;
use crate::warp::Entry;

/// A region of executable memory.
pub(crate) struct Code {
    base: *mut libc::c_void,
    size: usize,
}

// SAFETY: the memory is never written after `new`, so any thread may run it.
unsafe impl Send for Code {}
// SAFETY: the memory is never written after `new`, so any thread may read and run it.
unsafe impl Sync for Code {}

impl Code {
    /// Copies code that needs no relocation.
    pub(crate) fn new(bytes: &[u8]) -> Result<Code, NotCompiled> {
        let size = bytes.len().max(1);
        let failed = || NotCompiled::Memory(size, std::io::Error::last_os_error().to_string());
        let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh anonymous mapping touches no memory in use.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), size, read | write, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(failed());
        }
        let code = Code { base, size };
        // SAFETY: the mapping is `size` bytes, writable, and nobody else's.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base.cast(), bytes.len()) };
        // SAFETY: the range is the mapping made above.
        if unsafe { libc::mprotect(base, size, read | libc::PROT_EXEC) } != 0 {
            return Err(failed());
        }
        crate::run::trap::announce(base as u64, size as u64);
        Ok(code)
    }

    /// Bytes of code.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Its address range: start and end.
    pub(crate) fn range(&self) -> (u64, u64) {
        (self.base as u64, self.base as u64 + self.size as u64)
    }

    /// The code from an address on; nothing outside of it.
    pub(crate) fn from(&self, at: u64) -> &[u8] {
        let offset = (at.wrapping_sub(self.base as u64) as usize).min(self.size);
        // SAFETY: the mapping is `size` readable bytes, which are never written again.
        unsafe {
            std::slice::from_raw_parts(self.base.cast::<u8>().add(offset), self.size - offset)
        }
    }

    /// The function at its start.
    pub(crate) fn entry(&self) -> Entry {
        // SAFETY: the code was generated with exactly this signature, and lives
        // as long as `self`, which callers keep while they run it.
        unsafe { std::mem::transmute::<*mut libc::c_void, Entry>(self.base) }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody runs it any more.
        unsafe { libc::munmap(self.base, self.size) };
    }
}
