//! Events as a reader returns them: decoded, borrowed from the reader's buffer.
//!
//! Must not know: where the bytes came from, or how anything is printed.

use std::ops::Deref;

use crate::layout::*;
use crate::meta::Metadata;
use crate::stored;

/// One recorded call.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'a> {
    /// Number of the event in its file, in the order in which the reader hands them out, from 1.
    pub id: u64,
    /// The event that encloses this one on its thread.
    pub parent: Option<u64>,
    /// Kernel thread id.
    pub tid: u32,
    /// Number of the function, an index into [`crate::meta::Metadata::apis`].
    pub api: u16,
    /// How many recorded calls enclose this one.
    pub depth: u8,
    /// Monotonic nanoseconds before the call.
    pub begin_ns: u64,
    /// How long the call took, ns; `None` if it had not come back.
    pub call_ns: Option<u64>,
    /// What it returned; `None` if it had not come back.
    pub status: Option<i32>,
    /// The number by which GPU work refers to the call ([`GpuBody::link`]), 0 for none.
    pub link: u64,
    /// What was called with which values.
    pub body: Body<'a>,
}

/// The part of an event that depends on its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Body<'a> {
    /// A kernel launch or a kernel node of a graph.
    Launch(LaunchEvent<'a>),
    /// Any other call.
    Call(Call<'a>),
    /// A user's text.
    Mark(&'a str),
    /// Work that a GPU did; `begin_ns` and `call_ns` of the event are its times.
    Gpu(Gpu<'a>),
    /// The begin or end of a range that the program set itself.
    Range(Range<'a>),
    /// A target region of LLVM's offloading, or a call that maps data for them.
    Mapped(Mapped<'a>),
}

/// Work that a GPU did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gpu<'a> {
    /// What the ledger has of it.
    pub stored: GpuBody,
    /// What was counted.
    pub counters: Counters<'a>,
}

impl Gpu<'_> {
    /// The counters with their names; those without one are left out.
    pub fn counted<'m>(&self, meta: &'m Metadata) -> impl Iterator<Item = (&'m str, u64)> {
        let names = meta.counters.get(&self.counters.names).map(Vec::as_slice).unwrap_or_default();
        names.iter().map(String::as_str).zip(self.counters.iter())
    }
}

impl Deref for Gpu<'_> {
    type Target = GpuBody;

    fn deref(&self) -> &GpuBody {
        &self.stored
    }
}

/// Counters of work, in unaligned bytes, eight each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters<'a> {
    /// Number of the record of their names ([`crate::meta::META_COUNTERS`]).
    pub names: u32,
    /// Their bytes; trailing bytes are ignored.
    pub bytes: &'a [u8],
}

impl<'a> Counters<'a> {
    /// All of them in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        self.bytes.chunks_exact(size_of::<u64>()).map(number)
    }
}

/// A target region, or a call that maps data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mapped<'a> {
    /// What the ledger has of it.
    pub stored: MappedBody,
    /// The arguments that were kept; there may have been more ([`MappedBody::count`]).
    pub args: MappedArgs<'a>,
}

impl Mapped<'_> {
    /// The size of its record in the file in bytes, without slot padding and link.
    pub fn stored_bytes(&self) -> usize {
        let begin = if self.args.short { SHORT_MAPPED_ARGS } else { MAPPED_ARGS };
        begin + self.args.bytes.len()
    }
}

/// Arguments of [`Mapped`], in unaligned bytes, [`MappedArg`] or [`ShortMappedArg`] each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MappedArgs<'a> {
    bytes: &'a [u8],
    short: bool,
}

impl<'a> MappedArgs<'a> {
    /// Arguments over `bytes` in the long form; trailing bytes are ignored.
    pub fn new(bytes: &'a [u8]) -> Self {
        MappedArgs { bytes, short: false }
    }
    /// Arguments over `bytes` in the short form.
    pub fn of_short(bytes: &'a [u8]) -> Self {
        MappedArgs { bytes, short: true }
    }
    /// All of them in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = MappedArg> + 'a {
        let short = self.short;
        let size = if short { size_of::<ShortMappedArg>() } else { size_of::<MappedArg>() };
        self.bytes.chunks_exact(size).map(move |bytes| {
            let found = match short {
                true => stored::read(bytes).map(|arg: ShortMappedArg| arg.long()),
                false => stored::read(bytes).map(|arg: MappedArg| MappedArg { reserved: 0, ..arg }),
            };
            found.unwrap_or_default()
        })
    }
}

/// The begin or end of a range that the program set itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range<'a> {
    /// What the ledger has of it.
    pub stored: RangeBody,
    /// Its text; empty where a range ends.
    pub text: &'a str,
}

impl Range<'_> {
    /// The range's payload, if it has one.
    pub fn payload(&self) -> Option<Payload> {
        let bits = self.stored.payload;
        Some(match self.payload_type {
            PAYLOAD_U64 => Payload::Whole(bits.into()),
            PAYLOAD_I64 => Payload::Whole((bits as i64).into()),
            PAYLOAD_F64 => Payload::Real(f64::from_bits(bits)),
            PAYLOAD_U32 => Payload::Whole((bits as u32).into()),
            PAYLOAD_I32 => Payload::Whole((bits as i32).into()),
            PAYLOAD_F32 => Payload::Real(f32::from_bits(bits as u32).into()),
            _ => return None,
        })
    }
}

/// A number that a program attached to a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload {
    /// An integer, of 64 bits with or without sign.
    Whole(i128),
    /// A real number.
    Real(f64),
}

/// A kernel launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaunchEvent<'a> {
    /// What the ledger has of it.
    pub stored: LaunchBody,
    /// The parameter block, as far as it was recorded.
    pub args: &'a [u8],
}

/// The fields of the stored part are read as fields of the event.
macro_rules! stored {
    ($($event:ident: $body:ty)*) => {$(
        impl Deref for $event<'_> {
            type Target = $body;
            fn deref(&self) -> &$body {
                &self.stored
            }
        }
    )*};
}

stored! { LaunchEvent: LaunchBody  Mapped: MappedBody  Range: RangeBody }

/// A call that is no launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Call<'a> {
    /// The kernel that the call concerns, 0 for none.
    pub kernel: u32,
    /// Bit n: word n is a value that the call wrote.
    pub outs: u16,
    /// The arguments, one word each (a struct by value takes several), 8 bytes each, little-endian.
    pub words: Words<'a>,
    /// What text arguments point to.
    pub texts: Texts<'a>,
}

/// The texts of a call: the word's number, and the text that it points to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Texts<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) count: u8,
}

impl<'a> Texts<'a> {
    /// `count` texts as the ledger has them: `word: u16, size: u16`, the bytes, padded to four.
    pub fn new(bytes: &'a [u8], count: u8) -> Self {
        Texts { bytes, count }
    }
    /// The text that word `index` points to.
    pub fn get(&self, index: usize) -> Option<std::borrow::Cow<'a, str>> {
        let mut rest = self.bytes;
        for _ in 0..self.count {
            let word = u16::from_le_bytes(rest.get(..2)?.try_into().ok()?);
            let size = u16::from_le_bytes(rest.get(2..4)?.try_into().ok()?) as usize;
            let text = rest.get(4..4 + size)?;
            if usize::from(word) == index {
                return Some(String::from_utf8_lossy(text));
            }
            rest = rest.get(4 + size.next_multiple_of(4)..)?;
        }
        None
    }
}

/// Eight-byte words in unaligned bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Words<'a>(pub(crate) &'a [u8]);

impl<'a> Words<'a> {
    /// Words over `bytes`; fewer than eight trailing bytes are ignored.
    pub fn new(bytes: &'a [u8]) -> Self {
        Words(bytes)
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len() / 8
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Word `index`.
    pub fn get(&self, index: usize) -> Option<u64> {
        let bytes = self.0.get(index * 8..index * 8 + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + 'a {
        self.0.chunks_exact(8).map(|b| {
            let mut word = [0; 8];
            word.copy_from_slice(b);
            u64::from_le_bytes(word)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_found_by_its_word() {
        let mut bytes = Vec::new();
        for (word, text) in [(0u16, "abc"), (2, ""), (5, "hello")] {
            bytes.extend(word.to_le_bytes());
            bytes.extend((text.len() as u16).to_le_bytes());
            bytes.extend(text.as_bytes());
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        let texts = Texts::new(&bytes, 3);
        let found = [0, 1, 2, 5].map(|index| texts.get(index).map(|text| text.into_owned()));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(found, [text("abc"), None, text(""), text("hello")]);
        assert_eq!(Texts::new(&bytes, 2).get(5), None, "behind the last");
        assert_eq!(Texts::new(bytes.get(..9).unwrap_or_default(), 3).get(2), None, "cut");
    }
}
