//! Strings that events refer to by number: NVTX domains and registered strings, source locations. They are kept for
//! ever, because a handle may be used again at any time, from any thread, and in a child process.
//!
//! Must not know: what a string is used for.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use cushim_trace::meta;
use cushim_trace::recorder::Recorder;
use xxhash_rust::xxh3::xxh3_64;

use crate::life::Global;

/// A registered string; its address is the program's handle.
pub struct Name {
    next: *const Name,
    /// The string, truncated to the length that is kept.
    pub text: Box<str>,
    number: u32,
    /// The process whose trace has the string's record, see [`Global::generation`].
    told: AtomicU32,
}

const BUCKETS: usize = 256;

/// Lists by hash. They only grow, at the head, so there is no lock that a fork could leave taken.
static LISTS: [AtomicPtr<Name>; BUCKETS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS];

/// The entry for this string; creates one if there is none.
pub fn intern(text: &str) -> &'static Name {
    let bucket = xxh3_64(text.as_bytes()) as usize % BUCKETS;
    let list = LISTS.get(bucket).unwrap_or(&LISTS[0]);
    let mut head = list.load(Ordering::Acquire);
    if let Some(found) = find(head, text) {
        return found;
    }
    let name = Box::into_raw(Box::new(Name {
        next: head,
        text: text.into(),
        number: crate::record::slots::new_name(),
        told: AtomicU32::new(0),
    }));
    loop {
        match list.compare_exchange_weak(head, name, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: leaked above, and never changed except its atomic.
            Ok(_) => return unsafe { &*name },
            Err(newer) => {
                if let Some(found) = find(newer, text) {
                    // SAFETY: made above; nobody else has seen it.
                    drop(unsafe { Box::from_raw(name) });
                    return found;
                }
                head = newer;
                // SAFETY: made above; nobody else has seen it.
                unsafe { (*name).next = head };
            }
        }
    }
}

fn find(mut at: *const Name, text: &str) -> Option<&'static Name> {
    // SAFETY: null, or leaked by `intern`.
    while let Some(name) = unsafe { at.as_ref() } {
        if &*name.text == text {
            return Some(name);
        }
        at = name.next;
    }
    None
}

impl Name {
    /// Whether this process's trace has the record, so that the number can be used.
    pub fn is_told(&self, global: &Global) -> bool {
        self.told.load(Ordering::Relaxed) == global.generation
    }

    /// The string's number; writes its record first if necessary.
    pub fn number(&self, global: &Global, recorder: &Recorder) -> u32 {
        if !self.is_told(global) && recorder.write_meta(&meta::encode_name(self.number, &self.text))
        {
            self.told.store(global.generation, Ordering::Relaxed);
        }
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_for_a_text() {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    let texts = (0..1000).map(|n| format!("text {n}"));
                    texts.map(|t| std::ptr::from_ref(intern(&t)).addr()).collect::<Vec<_>>()
                })
            })
            .collect();
        let mut all = threads.into_iter().map(|t| t.join().unwrap_or_default());
        let first = all.next().unwrap_or_default();
        assert!(first.len() == 1000 && all.all(|other| other == first));
        assert_eq!((&*intern("text 7").text, &*intern("").text), ("text 7", ""));
    }
}
