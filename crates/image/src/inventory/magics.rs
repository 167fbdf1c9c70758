//! Finds where the next container could begin, after bytes that are not a container.
//!
//! Owns the search for magic numbers; must not know the containers. However often it is called, it searches each byte
//! once for each magic number.

use crate::{bundle, fatbin, offload};
use memchr::memmem;

/// First bytes of the containers that stand one after another in a section.
const MAGICS: [&[u8]; 4] =
    [&fatbin::MAGIC.to_le_bytes(), &offload::MAGIC, bundle::MAGIC, bundle::COMPRESSED_MAGIC];

/// The search through `data`, from its start to its end.
pub(super) struct Magics<'d> {
    data: &'d [u8],
    /// The first place of each magic number at or behind the last query; the end where there is
    /// none.
    next: [Option<usize>; MAGICS.len()],
    /// Bytes searched until now, for tests.
    #[cfg(test)]
    pub searched: usize,
}

impl<'d> Magics<'d> {
    pub fn new(data: &'d [u8]) -> Self {
        Self {
            data,
            next: [None; MAGICS.len()],
            #[cfg(test)]
            searched: 0,
        }
    }

    /// The first place behind `at` where a container could begin, or the end.
    /// `at` must not decrease from call to call.
    pub fn behind(&mut self, at: usize) -> usize {
        let from = (at + 1).min(self.data.len());
        let mut nearest = self.data.len();
        for (magic, next) in MAGICS.iter().zip(&mut self.next) {
            let place = match *next {
                Some(place) if place >= from => place,
                _ => {
                    let found = memmem::find(self.data.get(from..).unwrap_or_default(), magic);
                    let place = found.map_or(self.data.len(), |found| from + found);
                    #[cfg(test)]
                    {
                        self.searched += place - from;
                    }
                    *next = Some(place);
                    place
                }
            };
            nearest = nearest.min(place);
        }
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every magic number but one, repeated: the missing one must not be searched for to the end
    /// each time.
    #[test]
    fn each_byte_is_searched_once_for_each_magic() {
        for absent in 0..MAGICS.len() {
            let others: Vec<&[u8]> =
                (0..MAGICS.len()).filter(|&which| which != absent).map(|w| MAGICS[w]).collect();
            let data = others.concat().repeat(2000);
            let mut magics = Magics::new(&data);
            let (mut at, mut found) = (0, 1);
            loop {
                at = magics.behind(at);
                if at == data.len() {
                    break;
                }
                assert!(others.iter().any(|magic| data[at..].starts_with(magic)), "{at}");
                found += 1;
            }
            assert_eq!(found, 2000 * others.len());
            assert!(magics.searched <= MAGICS.len() * data.len(), "{}", magics.searched);
        }
    }
}
