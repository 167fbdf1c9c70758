//! The tool that made a cubin.
//!
//! Owns: the notes of `.note.nv.tkinfo`, and what the header shows without them (as measured on the output of ptxas
//! and nvlink 13.5, of NVRTC 13.2, and of ptxas 11.8 and 12.4). Must not know: messages to the user.

use std::fmt;

use super::{Cubin, LE, OSABI_7};
use crate::bytes::Bytes;
use crate::error::Result;

/// The section: an ELF note for each tool that the code went through, the last one first.
const SECTION: &[u8] = b".note.nv.tkinfo";
/// Owner and type of its notes.
const OWNER: &[u8] = b"NVIDIA Corp\0";
const TYPE: u32 = 2000;
/// The layout of a note's description that is read here: six words, of which the third is where the tool's name begins and
/// the fourth where its version does, in the strings that follow them.
const LAYOUT: u32 = 2;
const WORDS: u64 = 24;
/// The longest name or version, since they are shown unchanged.
const LONGEST: usize = 32;

/// The last tool that wrote a cubin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Maker {
    /// `ptxas`, `nvlink`; none where the cubin does not name it. Letters, digits, `-`, `_` and `.` only.
    pub tool: Option<String>,
    /// `13.5.37`, or the release of the toolkit, `12.4`. Digits and points only.
    pub version: String,
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "{tool} {}", self.version),
            None => write!(f, "a tool of CUDA {}", self.version),
        }
    }
}

impl Cubin<'_> {
    /// The tool that made it, if it names one.
    pub fn maker(&self) -> Option<Maker> {
        let section = self.sections.iter().find(|section| self.section_name(section) == SECTION);
        match section {
            Some(section) => {
                let data = self.section_data(section).ok()?;
                noted(Bytes::new(data, 0, "note of a cubin's tool")).ok()?
            }
            // The word that is 1 in other ELF files: 118 is CUDA 11.8. Cubins of the later ABI have
            // notes.
            None if self.abi().0 == OSABI_7 => {
                let release = self.header.e_version.get(LE);
                let version = format!("{}.{}", release / 10, release % 10);
                (90..200).contains(&release).then_some(Maker { tool: None, version })
            }
            None => None,
        }
    }
}

/// The first note.
fn noted(notes: Bytes<'_>) -> Result<Option<Maker>> {
    let (owner, length, kind) = (notes.u32(0)?, notes.u32(4)?, notes.u32(8)?);
    let begin = 12 + u64::from(owner).next_multiple_of(4);
    if kind != TYPE || notes.slice(12, owner.into())? != OWNER {
        return Ok(None);
    }
    let about = notes.part(begin, length.into(), "description of a cubin's tool")?;
    if about.u32(0)? != LAYOUT {
        return Ok(None);
    }
    let (tool, version) = (text(&about, about.u32(8)?)?, text(&about, about.u32(12)?)?);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let tool = Some(tool)
        .filter(|tool| !tool.is_empty() && tool.len() <= LONGEST && tool.chars().all(is_name));
    Ok(number(version).map(|version| Maker { tool: tool.map(str::to_owned), version }))
}

/// The string that begins `at` bytes after the words; empty where it is no text.
fn text<'a>(about: &Bytes<'a>, at: u32) -> Result<&'a str> {
    let strings = about.part(
        WORDS,
        (about.len() as u64).saturating_sub(WORDS),
        "strings of a cubin's tool",
    )?;
    let rest = strings.slice(at.into(), (strings.len() as u64).saturating_sub(at.into()))?;
    let first = rest.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(std::str::from_utf8(first).unwrap_or_default())
}

/// `13.5.37` of "Cuda compilation tools, release 13.5, V13.5.37"; the release if no version follows
/// the V.
fn number(version: &str) -> Option<String> {
    let is_number = |text: &&str| {
        let whole = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        text.len() <= LONGEST && text.contains('.') && text.split('.').all(whole)
    };
    let (_, rest) = version.split_once("release ")?;
    let (release, full) = rest.split_once(", V").unwrap_or((rest, ""));
    [full, release].into_iter().find(is_number).map(str::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::inventory::{self, ImageKind};

    /// The cubin of a fixture, made by CUDA 13.5.
    fn cubin() -> Vec<u8> {
        let fatbin = include_bytes!("../../tests/data/zstd.fatbin");
        let images = inventory::read(fatbin, &Limits::DEFAULT).images;
        let image = images.into_iter().find(|image| image.kind == ImageKind::Cubin).unwrap();
        image.with_bytes(&Limits::DEFAULT, <[u8]>::to_vec).unwrap()
    }

    fn maker(bytes: &[u8]) -> Option<String> {
        Cubin::read(bytes, &Limits::DEFAULT).unwrap().maker().map(|maker| maker.to_string())
    }

    #[test]
    fn ptxas_names_itself() {
        assert_eq!(maker(&cubin()).as_deref(), Some("ptxas 13.5.37"));
    }

    #[test]
    fn earlier_ones_say_the_release() {
        let mut bytes = cubin();
        let name = SECTION.len();
        let at = bytes.windows(name).position(|part| part == SECTION).unwrap();
        bytes[at..at + name].fill(b'x');
        assert_eq!(maker(&bytes), None);
        (bytes[7], bytes[20]) = (OSABI_7, 124);
        assert_eq!(maker(&bytes).as_deref(), Some("a tool of CUDA 12.4"));
        bytes[20] = 1;
        assert_eq!(maker(&bytes), None);
    }

    #[test]
    fn versions() {
        assert_eq!(number("Cuda compilation tools, release 13.0, V.79").as_deref(), Some("13.0"));
        assert_eq!(number("release 13.5").as_deref(), Some("13.5"));
        for text in ["", "13.5", "release ", "release 1.2\x1b[31m", "release 13., V13..5"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn damaged_notes_name_nothing() {
        let mut note = [12, 60, TYPE].map(u32::to_le_bytes).concat();
        note.extend(OWNER);
        note.extend([LAYOUT, 0, 1, 4, 0, 0].map(u32::to_le_bytes).concat());
        note.extend(b"\0ab\0release 1.2\0");
        note.resize(24 + 60, 0);
        let read = |bytes: &[u8]| noted(Bytes::new(bytes, 0, "test")).ok().flatten();
        let whole = Maker { tool: Some("ab".to_owned()), version: "1.2".to_owned() };
        assert_eq!(read(&note), Some(whole));
        for end in 0..note.len() {
            assert_eq!(read(&note[..end]), None);
        }
        for (at, byte) in [(0, 0xff), (8, 1), (12, b'M'), (24, 3), (32, 0xff), (36, 0x80)] {
            let mut other = note.clone();
            other[at] = byte;
            assert_eq!(read(&other), None, "{at}");
        }
        // A name with a terminal's control characters is dropped.
        note[24 + 24 + 1] = 0x1b;
        assert_eq!(read(&note).unwrap().tool, None);
    }
}
