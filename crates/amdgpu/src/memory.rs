//! The machine around a wave, and accesses to memory.
//!
//! Owns: checked loads, stores and atomic operations at addresses. Must not know: who mapped what. An address of the
//! GPU is an address of the process.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A range of memory that the GPU may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first address.
    pub start: u64,
    /// The first address after it.
    pub end: u64,
    /// It may be written.
    pub write: bool,
}

/// The machine around a wave.
///
/// # Safety
///
/// Every byte of a range that `find` returns stays readable (and writable where it says so) while a
/// wave runs that may use it.
pub unsafe trait Memory: Sync {
    /// The range that holds an address.
    fn find(&self, address: u64) -> Option<Range>;
    /// s_sendmsg's interrupt with the number in M0.
    fn interrupt(&self, number: u32);
    /// Whether running waves must stop.
    fn stopped(&self) -> bool {
        false
    }
}

/// An access that memory does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub address: u64,
    /// It was a write.
    pub write: bool,
    /// The memory exists, but is read-only.
    pub present: bool,
}

/// Checks accesses, with a cache of the last ranges.
#[derive(Debug)]
pub struct Checked<'m, M: Memory + ?Sized> {
    /// The machine.
    pub memory: &'m M,
    recent: [Range; 4],
    next: usize,
}

const NOWHERE: Range = Range { start: 0, end: 0, write: false };

impl<'m, M: Memory + ?Sized> Checked<'m, M> {
    /// Nothing is known yet.
    pub fn new(memory: &'m M) -> Checked<'m, M> {
        Checked { memory, recent: [NOWHERE; 4], next: 0 }
    }

    /// Forgets ranges that were found.
    pub fn forget(&mut self) {
        self.recent = [NOWHERE; 4];
    }

    /// A pointer for an access. Errors: not all bytes allow it.
    #[inline]
    pub fn at(&mut self, address: u64, bytes: u64, write: bool) -> Result<*mut u8, Fault> {
        let fits = |r: &Range| {
            address >= r.start && address < r.end && bytes <= r.end - address && (r.write || !write)
        };
        if self.recent.iter().any(fits) {
            return Ok(address as *mut u8);
        }
        self.look(address, bytes, write)
    }

    #[cold]
    fn look(&mut self, address: u64, bytes: u64, write: bool) -> Result<*mut u8, Fault> {
        let fault = |address, present| Fault { address, write, present };
        let found = self.memory.find(address).ok_or(fault(address, false))?;
        if write && !found.write {
            return Err(fault(address, true));
        }
        // An access may extend into the next range.
        let mut end = found.end;
        while bytes > end - address {
            let more = self.memory.find(end).ok_or(fault(end, false))?;
            if write && !more.write {
                return Err(fault(end, true));
            }
            end = more.end;
        }
        if let Some(oldest) = self.recent.get_mut(self.next % 4) {
            *oldest = Range { end, ..found };
        }
        self.next += 1;
        Ok(address as *mut u8)
    }

    /// Loads `bytes` (1, 2, or words up to 64) into words.
    #[inline]
    pub fn load(&mut self, address: u64, bytes: usize, to: &mut [u32; 16]) -> Result<(), Fault> {
        let from = self.at(address, bytes as u64, false)?;
        // SAFETY: all bytes were found readable, and stay so while a wave runs.
        unsafe { read(from, bytes, to) };
        Ok(())
    }

    /// Stores `bytes` of words.
    #[inline]
    pub fn store(&mut self, address: u64, bytes: usize, from: &[u32; 16]) -> Result<(), Fault> {
        let to = self.at(address, bytes as u64, true)?;
        // SAFETY: all bytes were found writable, and stay so while a wave runs.
        unsafe { write(to, bytes, from) };
        Ok(())
    }

    /// Replaces a word by the result of `op`; returns the former value. Errors: no access, or not
    /// aligned.
    pub fn update32(&mut self, address: u64, op: impl Fn(u32) -> u32) -> Result<u32, Fault> {
        let at = self.at(address, 4, true)?;
        if !address.is_multiple_of(4) {
            return Err(Fault { address, write: true, present: true });
        }
        // SAFETY: four aligned, writable bytes; other accesses are atomic or race as on hardware.
        let cell = unsafe { AtomicU32::from_ptr(at.cast()) };
        let result = cell.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(op(old)));
        Ok(result.unwrap_or_else(|old| old))
    }

    /// Replaces 64 bits by the result of `op`; returns the former value. Errors: no access, or not
    /// aligned.
    pub fn update64(&mut self, address: u64, op: impl Fn(u64) -> u64) -> Result<u64, Fault> {
        let at = self.at(address, 8, true)?;
        if !address.is_multiple_of(8) {
            return Err(Fault { address, write: true, present: true });
        }
        // SAFETY: eight aligned, writable bytes; other accesses are atomic or race as on hardware.
        let cell = unsafe { AtomicU64::from_ptr(at.cast()) };
        let result = cell.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(op(old)));
        Ok(result.unwrap_or_else(|old| old))
    }
}

/// Reads 1, 2 or a number of words.
///
/// # Safety
///
/// The bytes are readable.
unsafe fn read(from: *const u8, bytes: usize, to: &mut [u32; 16]) {
    // SAFETY: the caller's promise; each access is of an aligned atomic or of bytes.
    unsafe {
        match bytes {
            1 => to[0] = u32::from(AtomicU8::from_ptr(from.cast_mut()).load(Ordering::Relaxed)),
            2 if from.addr().is_multiple_of(2) => {
                to[0] =
                    u32::from(AtomicU16::from_ptr(from.cast_mut().cast()).load(Ordering::Relaxed));
            }
            8 if from.addr().is_multiple_of(8) => {
                let value = AtomicU64::from_ptr(from.cast_mut().cast()).load(Ordering::Relaxed);
                to[0] = value as u32;
                to[1] = (value >> 32) as u32;
            }
            #[cfg(target_arch = "x86_64")]
            16 if from.addr().is_multiple_of(16) => {
                // One access, as on hardware: programs pass such values from thread to thread.
                std::arch::asm!(
                    "movdqa {value}, xmmword ptr [{from}]",
                    "movdqu xmmword ptr [{to}], {value}",
                    value = out(xmm_reg) _,
                    from = in(reg) from,
                    to = in(reg) to.as_mut_ptr(),
                    options(nostack, preserves_flags)
                );
            }
            _ if from.addr().is_multiple_of(4) && bytes.is_multiple_of(4) => {
                for (i, to) in to.iter_mut().enumerate().take(bytes / 4) {
                    *to = AtomicU32::from_ptr(from.cast_mut().cast::<u32>().add(i))
                        .load(Ordering::Relaxed);
                }
            }
            _ => {
                for word in to.iter_mut().take(bytes.div_ceil(4)) {
                    *word = 0;
                }
                for i in 0..bytes {
                    let byte = AtomicU8::from_ptr(from.cast_mut().add(i)).load(Ordering::Relaxed);
                    if let Some(word) = to.get_mut(i / 4) {
                        *word |= u32::from(byte) << (8 * (i % 4));
                    }
                }
            }
        }
    }
}

/// Writes 1, 2 or a number of words.
///
/// # Safety
///
/// The bytes are writable.
unsafe fn write(to: *mut u8, bytes: usize, from: &[u32; 16]) {
    // SAFETY: the caller's promise; each access is of an aligned atomic or of bytes.
    unsafe {
        match bytes {
            1 => AtomicU8::from_ptr(to).store(from[0] as u8, Ordering::Relaxed),
            2 if to.addr().is_multiple_of(2) => {
                AtomicU16::from_ptr(to.cast()).store(from[0] as u16, Ordering::Relaxed)
            }
            8 if to.addr().is_multiple_of(8) => {
                let value = u64::from(from[0]) | u64::from(from[1]) << 32;
                AtomicU64::from_ptr(to.cast()).store(value, Ordering::Relaxed);
            }
            #[cfg(target_arch = "x86_64")]
            16 if to.addr().is_multiple_of(16) => {
                std::arch::asm!(
                    "movdqu {value}, xmmword ptr [{from}]",
                    "movdqa xmmword ptr [{to}], {value}",
                    value = out(xmm_reg) _,
                    from = in(reg) from.as_ptr(),
                    to = in(reg) to,
                    options(nostack, preserves_flags)
                );
            }
            _ if to.addr().is_multiple_of(4) && bytes.is_multiple_of(4) => {
                for (i, word) in from.iter().enumerate().take(bytes / 4) {
                    AtomicU32::from_ptr(to.cast::<u32>().add(i)).store(*word, Ordering::Relaxed);
                }
            }
            _ => {
                let from = from.iter().flat_map(|word| word.to_le_bytes());
                for (i, byte) in from.enumerate().take(bytes) {
                    AtomicU8::from_ptr(to.add(i)).store(byte, Ordering::Relaxed);
                }
            }
        }
    }
}
