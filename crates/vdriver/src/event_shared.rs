//! Events that several processes share.
//!
//! Owns the shared data: a page of a file, in which every record has a number, and each complete record is marked. To
//! wait for a record of another process, a thread polls; a process that has exited does not block anybody. Any
//! process with the page may write it: its numbers are only compared. Must not know: events' handles, streams.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::{host, status};
use cushim_accel::locks::lock;
use cushim_accel::{Outcome, Signal, file};

/// The purpose in the names of events' files.
pub const WHAT: &str = "event";
/// Records that are distinguished: older ones count as complete.
const SLOTS: u32 = 256;
/// How often the recording process is checked, in nanoseconds.
const LOOK: i64 = 50_000_000;
const PAGE: usize = 4096;

/// The page. All zeros is an event that was never recorded.
#[repr(C)]
struct Page {
    /// The number of the last record.
    latest: AtomicU32,
    /// The last completed number of each slot.
    over: [AtomicU32; SLOTS as usize],
    /// The process of the last record of each slot.
    process: [AtomicU32; SLOTS as usize],
}

const _: () = assert!(size_of::<Page>() <= PAGE);

/// The shared part of an event.
pub struct Shared {
    page: &'static Page,
    /// Its file.
    pub file: OwnedFd,
    /// The last record of another process that is waited for.
    awaited: Mutex<Option<(u32, Signal)>>,
}

impl Shared {
    /// A new one.
    ///
    /// # Errors
    /// CUDA_ERROR_OUT_OF_MEMORY.
    pub fn new() -> Result<Arc<Shared>, i32> {
        file::create(WHAT, PAGE as u64).and_then(Shared::of).ok_or(status::OUT_OF_MEMORY)
    }

    /// Maps a file; `None` if it is not such a page.
    pub fn of(file: OwnedFd) -> Option<Arc<Shared>> {
        let known = file::known(file.as_fd())?;
        if known.what != WHAT || known.bytes != PAGE as u64 {
            return None;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (none, fd) = (std::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: a new mapping.
        let at = unsafe { libc::mmap(none, PAGE, access, libc::MAP_SHARED, fd, 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: an aligned whole page of a file with a sealed size; every bit pattern is a value,
        // and it lives as long as `self`, which hands out no reference.
        let page = unsafe { &*at.cast::<Page>() };
        Some(Arc::new(Shared { page, file, awaited: Mutex::default() }))
    }

    fn slot(all: &[AtomicU32; SLOTS as usize], number: u32) -> &AtomicU32 {
        // The remainder is less than the length.
        all.get((number % SLOTS) as usize).unwrap_or(&all[0])
    }

    /// Starts a new record, which completes with the signal; returns its number.
    pub fn record(self: &Arc<Self>, end: &Signal) -> u32 {
        let number = self.page.latest.load(Ordering::Acquire).wrapping_add(1);
        Self::slot(&self.page.process, number).store(std::process::id(), Ordering::Relaxed);
        self.page.latest.store(number, Ordering::Release);
        let own = self.clone();
        end.then(move || {
            let over = Self::slot(&own.page.over, number);
            over.store(number, Ordering::Release);
            // SAFETY: a word of the page, which is mapped.
            unsafe { libc::syscall(libc::SYS_futex, over, libc::FUTEX_WAKE, i32::MAX) };
        });
        number
    }

    /// The number of the last record, 0 if there is none.
    pub fn latest(&self) -> u32 {
        self.page.latest.load(Ordering::Acquire)
    }

    fn is_over(&self, number: u32) -> bool {
        let over = Self::slot(&self.page.over, number).load(Ordering::Acquire);
        number == 0 || over.wrapping_sub(number) as i32 >= 0
    }

    /// Complete when the last record is.
    pub fn last(self: &Arc<Self>) -> Signal {
        let number = self.latest();
        if self.is_over(number) {
            return Signal::completed();
        }
        let mut awaited = lock(&self.awaited);
        if let Some((of, signal)) = &*awaited
            && *of == number
        {
            return signal.clone();
        }
        let signal = Signal::new();
        *awaited = Some((number, signal.clone()));
        let (own, end) = (self.clone(), signal.clone());
        host::run(move || {
            own.wait(number);
            end.complete(Outcome::default());
        });
        signal
    }

    fn wait(&self, number: u32) {
        let over = Self::slot(&self.page.over, number);
        let timeout = libc::timespec { tv_sec: 0, tv_nsec: LOOK };
        loop {
            let seen = over.load(Ordering::Acquire);
            let process = Self::slot(&self.page.process, number).load(Ordering::Relaxed);
            if self.is_over(number) || is_gone(process) {
                return;
            }
            // SAFETY: a word of the page, which is mapped, and a time.
            unsafe {
                libc::syscall(libc::SYS_futex, over, libc::FUTEX_WAIT, seen, &raw const timeout)
            };
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let at = std::ptr::from_ref(self.page).cast_mut();
        // SAFETY: mapped by `of`; no reference to it is left.
        unsafe { libc::munmap(at.cast(), PAGE) };
    }
}

/// Whether a process has ended, even if its parent has not waited for it.
fn is_gone(process: u32) -> bool {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    let state = text.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    matches!(state, Some('Z' | 'X' | 'x'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_record_is_over_at_both_sides() {
        let one = Shared::new().unwrap();
        let other = Shared::of(one.file.try_clone().unwrap()).unwrap();
        assert!(other.last().is_done(), "never recorded");
        let end = Signal::new();
        assert_eq!(one.record(&end), 1);
        let waiting = other.last();
        assert!(!waiting.is_done() && other.latest() == 1);
        end.complete(Outcome::default());
        waiting.wait();
        assert!(other.last().is_done());
    }

    #[test]
    fn a_process_that_is_gone_keeps_nobody_waiting() {
        let shared = Shared::new().unwrap();
        shared.record(&Signal::new());
        Shared::slot(&shared.page.process, 1).store(1 << 30, Ordering::Relaxed);
        shared.last().wait();
        assert!(!is_gone(std::process::id()) && is_gone(1 << 30));
    }

    #[test]
    fn other_files_are_no_events() {
        assert!(Shared::of(file::create("memory", PAGE as u64).unwrap()).is_none());
        assert!(Shared::of(file::create(WHAT, 2 * PAGE as u64).unwrap()).is_none());
    }
}
