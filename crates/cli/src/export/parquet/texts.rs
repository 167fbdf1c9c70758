//! Texts that come again and again, as the writer of Parquet takes them.
//!
//! Owns: one copy of each, so that a row costs no allocation for its names. Must not know: columns.

use std::collections::HashMap;

use bytes::Bytes;
use parquet::data_type::ByteArray;

use crate::view::known::Known;

/// Texts that are kept; what comes after so many is copied each time.
const KEPT_MAX: usize = 4096;
/// Longer ones are copied: to find them costs more.
const LENGTH_MAX: usize = 96;

/// A text of its own.
pub fn text(text: &str) -> ByteArray {
    ByteArray::from(Bytes::copy_from_slice(text.as_bytes()))
}

/// `0x7f3a00000000`.
pub fn hexadecimal(address: u64) -> ByteArray {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = (64 - address.leading_zeros()).div_ceil(4).max(1);
    let mut out = Vec::with_capacity(2 + digits as usize);
    out.extend(*b"0x");
    let nibbles = (0..digits).rev().map(|n| (address >> (4 * n)) as usize & 15);
    out.extend(nibbles.filter_map(|n| DIGITS.get(n)));
    ByteArray::from(out)
}

/// Short name, declaration and symbol of a kernel.
pub type Names = [Option<ByteArray>; 3];

/// What was seen.
#[derive(Default)]
pub struct Texts {
    kept: HashMap<Box<str>, ByteArray>,
    /// By the kernel's place in [`Known`].
    kernels: Vec<Option<Names>>,
}

impl Texts {
    /// The same bytes; a short text that was seen before is shared.
    pub fn get(&mut self, wanted: &str) -> ByteArray {
        if wanted.len() > LENGTH_MAX {
            return text(wanted);
        }
        if let Some(kept) = self.kept.get(wanted) {
            return kept.clone();
        }
        let new = text(wanted);
        if self.kept.len() < KEPT_MAX {
            self.kept.insert(wanted.into(), new.clone());
        }
        new
    }

    /// The names of the kernel at `place`.
    pub fn kernel(&mut self, place: usize, known: &Known) -> Names {
        if place >= self.kernels.len() {
            self.kernels.resize(place + 1, None);
        }
        let Some(slot) = self.kernels.get_mut(place) else { return Names::default() };
        if let Some(names) = slot {
            return names.clone();
        }
        let Some(kernel) = known.kernels().get(place) else { return Names::default() };
        let name = &kernel.name;
        let symbol = Some(&name.mangled).filter(|symbol| !symbol.is_empty());
        let names = [Some(text(&name.short)), Some(text(&name.full)), symbol.map(|s| text(s))];
        *slot = Some(names.clone());
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_as_the_formatter_writes_it() {
        for address in [0, 1, 15, 16, 0xabc, 0x7f3a_0000_0000, u64::MAX, 1 << 63] {
            assert_eq!(hexadecimal(address), text(&format!("{address:#x}")));
        }
    }

    #[test]
    fn texts_are_kept_up_to_a_limit() {
        let mut texts = Texts::default();
        for n in 0..KEPT_MAX + 10 {
            let wanted = format!("text {n}");
            assert_eq!(texts.get(&wanted), text(&wanted));
            assert_eq!(texts.get(&wanted), text(&wanted));
        }
        let long = "x".repeat(LENGTH_MAX + 1);
        assert_eq!(texts.get(&long), text(&long));
        assert_eq!(texts.kept.len(), KEPT_MAX);
    }
}
