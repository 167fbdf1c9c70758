//! Strings that arguments of calls point to: file names, symbols.
//!
//! Must not know: what they mean.

use cushim_abi::Class;
use cushim_abi::types::Shape;
use cushim_trace::layout::TEXT_MAX;
use cushim_trace::recorder::Slots;

use crate::site::Site;

/// The texts that a call's arguments point to: file names, symbols.
pub struct Texts {
    found: [(u16, &'static [u8]); 3],
    /// How many there are.
    pub count: usize,
}

impl Texts {
    /// The texts of a call of `site`. Launches have no text arguments.
    ///
    /// # Safety
    /// The words are the arguments of such a call that is under way, and its strings outlive the result.
    #[inline(always)]
    pub unsafe fn of(site: &Site, words: &[u64]) -> Self {
        let mut texts = Texts { found: [(0, &[]); 3], count: 0 };
        if !matches!(site.class, Class::module | Class::register) {
            return texts;
        }
        let mut at = 0;
        for arg in cushim_abi::function(site.id).map_or(&[][..], |f| f.args) {
            let pointer = words.get(at).copied().unwrap_or(0) as *const libc::c_char;
            if arg.shape == Shape::Text
                && !pointer.is_null()
                && let Some(slot) = texts.found.get_mut(texts.count)
            {
                // SAFETY: a string of the call's, as the caller promises.
                *slot = (at as u16, unsafe {
                    let size = libc::strnlen(pointer, TEXT_MAX);
                    std::slice::from_raw_parts(pointer.cast(), size)
                });
                texts.count += 1;
            }
            at += arg.words;
        }
        texts
    }

    fn each(&self) -> impl Iterator<Item = &(u16, &'static [u8])> {
        self.found.iter().take(self.count)
    }

    /// The bytes that they take in an event.
    pub fn bytes(&self) -> usize {
        self.each().map(|(_, text)| 4 + text.len().next_multiple_of(4)).sum()
    }

    /// Stores them from byte `at` on.
    ///
    /// # Safety
    /// [`Texts::bytes`] bytes from `at` on lie inside the reserved slots.
    pub unsafe fn store(&self, slots: Slots, mut at: usize) {
        for (word, text) in self.each() {
            // SAFETY: as the caller promises.
            unsafe {
                slots.at::<u16>(at).write(*word);
                slots.at::<u16>(at + 2).write(text.len() as u16);
                slots.at::<u8>(at + 4).copy_from_nonoverlapping(text.as_ptr(), text.len());
            }
            at += 4 + text.len().next_multiple_of(4);
        }
    }
}
