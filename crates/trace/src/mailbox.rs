//! The words of the first page that other processes may write: the control word and the mailbox.
//!
//! Owns: the states of a mailbox slot and who may change them. Must not know: how the page was mapped, or what a
//! control bit means to a call.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crate::layout::*;
use crate::meta::Mark;

/// The first page of a trace file, mapped shared and writable for as long as this is used.
#[derive(Clone, Copy)]
pub(crate) struct Page(NonNull<FileHeader>);

impl Page {
    /// # Safety
    /// `header` is a shared, writable mapping of [`PAGE`] bytes that outlives every use.
    pub(crate) unsafe fn new(header: NonNull<FileHeader>) -> Self {
        Page(header)
    }

    /// The control word.
    #[inline(always)]
    pub(crate) fn control(&self) -> &AtomicU32 {
        // SAFETY: mapped (see `new`), aligned, and only touched as an atomic.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.0.as_ptr()).control) }
    }

    /// Events that were overwritten.
    pub(crate) fn overwritten(&self) -> &AtomicU64 {
        // SAFETY: the caller of `new` promises a mapping of a whole page that outlives this; the
        // field is aligned and only touched as an atomic.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0.as_ptr()).overwritten) }
    }

    fn slots(&self) -> impl Iterator<Item = *mut MailSlot> {
        // SAFETY: the page holds MAIL_SLOTS slots from MAILBOX on, see the layout.
        let first = unsafe { self.0.as_ptr().cast::<u8>().add(MAILBOX) }.cast::<MailSlot>();
        // SAFETY: `n` is below MAIL_SLOTS, the number of slots in the page.
        (0..MAIL_SLOTS).map(move |n| unsafe { first.add(n) })
    }

    /// Puts a mark into a free slot; returns its number, or `None` where all are full.
    pub(crate) fn post(&self, ticks: u64, text: &str) -> Option<u32> {
        let size = text.len().min(MAIL_TEXT);
        for slot in self.slots() {
            // SAFETY: an aligned word inside the page that is only touched as an atomic.
            let state = unsafe { AtomicU32::from_ptr(&raw mut (*slot).state) };
            let claim = state.compare_exchange(
                MAIL_FREE,
                MAIL_CLAIMED,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            if claim.is_err() {
                continue;
            }
            // SAFETY: an aligned word of the page, only touched as an atomic.
            let marks = unsafe { AtomicU32::from_ptr(&raw mut (*self.0.as_ptr()).marks) };
            let number = marks.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            // SAFETY: the slot is claimed: nobody else touches it; `size` bytes fit into its text.
            unsafe {
                (&raw mut (*slot).number).write(number);
                (&raw mut (*slot).ticks).write(ticks);
                (&raw mut (*slot).size).write(size as u32);
                let to = (&raw mut (*slot).text).cast::<u8>();
                to.copy_from_nonoverlapping(text.as_ptr(), size);
            }
            state.store(MAIL_FULL, Ordering::Release);
            self.control().fetch_or(CONTROL_MAIL, Ordering::AcqRel);
            return Some(number);
        }
        None
    }

    /// Hands every mark in the mailbox to `keep`; marks that it accepts are freed, the others stay.
    pub(crate) fn take(&self, mut keep: impl FnMut(&Mark) -> bool) {
        // Cleared before the look: a program that fills a slot later sets the bit again.
        self.control().fetch_and(!CONTROL_MAIL, Ordering::AcqRel);
        for slot in self.slots() {
            // SAFETY: an aligned word inside the page that is only touched as an atomic.
            let state = unsafe { AtomicU32::from_ptr(&raw mut (*slot).state) };
            let taken =
                state.compare_exchange(MAIL_FULL, MAIL_TAKEN, Ordering::AcqRel, Ordering::Relaxed);
            if taken.is_err() {
                continue;
            }
            // SAFETY: the slot is ours until its state changes again; it holds numbers and bytes only.
            let slot = unsafe { slot.read_volatile() };
            let kept = keep(&mark(&slot));
            fence(Ordering::Release);
            state.store(if kept { MAIL_FREE } else { MAIL_FULL }, Ordering::Release);
        }
    }
}

/// What a slot holds.
fn mark(slot: &MailSlot) -> Mark {
    let text = slot.text.get(..(slot.size as usize).min(MAIL_TEXT)).unwrap_or(&[]);
    let text = String::from_utf8_lossy(text).into_owned();
    Mark { number: slot.number, ticks: slot.ticks, text }
}

/// The marks in the mailbox of a page that was read from a file.
pub(crate) fn posted(page: &[u8]) -> Vec<Mark> {
    let slots = page.get(MAILBOX..).unwrap_or(&[]).chunks_exact(size_of::<MailSlot>());
    let word = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
    };
    slots
        .take(MAIL_SLOTS)
        .filter(|slot| matches!(word(slot, 0), MAIL_FULL | MAIL_TAKEN))
        .map(|slot| {
            let size = (word(slot, 16) as usize).min(MAIL_TEXT);
            let text = slot.get(24..24 + size).unwrap_or(&[]);
            Mark {
                number: word(slot, 4),
                ticks: u64::from(word(slot, 8)) | u64::from(word(slot, 12)) << 32,
                text: String::from_utf8_lossy(text).into_owned(),
            }
        })
        .collect()
}
