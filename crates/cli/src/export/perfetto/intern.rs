//! Interned strings: written once per sequence of packets, and then referred to by number.
//!
//! Owns: numbering strings over the whole trace, and which ones each sequence has. Must not know: what the strings
//! are.

use std::collections::HashMap;

use super::schema::interned;
use super::wire::Wire;

/// Kinds of interned texts; each has its own numbers in a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Place {
    Category,
    Name,
    AnnotationName,
    AnnotationText,
}

/// All texts of a trace, numbered from 1.
#[derive(Default)]
pub struct Texts {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Texts {
    /// The number of `text`.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        self.texts.push(text.to_owned());
        let number = self.texts.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        number
    }
    fn text(&self, number: u32) -> &str {
        self.texts.get((number as usize).wrapping_sub(1)).map_or("", String::as_str)
    }
}

/// The texts that a sequence has already defined.
#[derive(Default)]
pub struct Told {
    bits: [Vec<u64>; 4],
    /// Texts that the current packet refers to for the first time.
    fresh: Vec<(Place, u32)>,
}

impl Told {
    /// Notes that the current packet refers to text `number`; returns the number to write.
    #[inline]
    pub fn refer(&mut self, place: Place, number: u32) -> u64 {
        let (word, bit) = (number as usize / 64, 1u64 << (number % 64));
        let Some(bits) = self.bits.get_mut(place as usize) else { return number.into() };
        match bits.get_mut(word) {
            Some(known) if *known & bit != 0 => {}
            Some(known) => {
                *known |= bit;
                self.fresh.push((place, number));
            }
            None => {
                bits.resize(word + 1, 0);
                if let Some(known) = bits.get_mut(word) {
                    *known |= bit;
                }
                self.fresh.push((place, number));
            }
        }
        number.into()
    }

    /// Writes the texts that the packet refers to for the first time into it.
    #[inline]
    pub fn write(&mut self, texts: &Texts, field: u32, wire: &mut Wire) {
        if self.fresh.is_empty() {
            return;
        }
        let data = wire.begin(field);
        for (place, number) in self.fresh.drain(..) {
            let entry = wire.begin(match place {
                Place::Category => interned::EVENT_CATEGORIES,
                Place::Name => interned::EVENT_NAMES,
                Place::AnnotationName => interned::DEBUG_ANNOTATION_NAMES,
                Place::AnnotationText => interned::DEBUG_ANNOTATION_STRING_VALUES,
            });
            wire.number(interned::IID, number.into());
            wire.text(interned::TEXT, texts.text(number));
            wire.end(entry);
        }
        wire.end(data);
    }
}
