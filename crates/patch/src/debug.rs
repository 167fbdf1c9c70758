//! Separate debug files with the symbols of a stripped file.
//!
//! Owns: the conventional locations of such files (GDB's manual, "Separate Debug Files"), and the proof that one
//! belongs to a file, because its addresses are used to overwrite code. Must not know: opening files.

use object::elf;
use object::read::elf::{FileHeader, SectionHeader};

use crate::file::{File, LE};
use crate::work::Work;

/// The folder of distributions' debug files.
pub const SYSTEM: &[u8] = b"/usr/lib/debug";

impl<'d> File<'d> {
    /// The build id, `NT_GNU_BUILD_ID`.
    pub fn build_id(&self) -> Option<&'d [u8]> {
        let work = Work::over(self.data);
        for section in self.sections.iter() {
            let size = section.sh_size(LE);
            let Ok(Some(mut notes)) = section.notes(LE, self.data) else { continue };
            if !work.take(size) {
                return None;
            }
            while let Ok(Some(note)) = notes.next() {
                if note.name() == elf::ELF_NOTE_GNU && note.n_type(LE) == elf::NT_GNU_BUILD_ID {
                    return Some(note.desc());
                }
            }
        }
        None
    }

    /// `.gnu_debuglink`: the name of the file with the symbols, and its CRC.
    pub fn debug_link(&self) -> Option<(&'d [u8], u32)> {
        let content = self.section(b".gnu_debuglink")?.data(LE, self.data).ok()?;
        let end = content.iter().position(|b| *b == 0)?;
        let crc = content.get((end + 4) / 4 * 4..)?.first_chunk()?;
        let name = content.get(..end).filter(|n| !n.is_empty() && !n.contains(&b'/'))?;
        Some((name, u32::from_le_bytes(*crc)))
    }

    /// Whether `other` was linked together with this file: the same build id; where one has none, the CRC
    /// that this file gives, or the same place of entry and code. `other` has symbols, too.
    pub fn belongs(&self, other: &File<'_>) -> bool {
        if other.symbols().is_empty() {
            return false;
        }
        if let (Some(own), Some(theirs)) = (self.build_id(), other.build_id()) {
            return own == theirs;
        }
        if self.debug_link().is_some_and(|(_, crc)| crc == crc32fast::hash(other.data)) {
            return true;
        }
        let code = |file: &File<'_>| {
            let text = file.section(b".text")?;
            Some((text.sh_addr(LE), text.sh_size(LE), file.header.e_entry(LE)))
        };
        code(self).is_some() && code(self) == code(other)
    }
}

/// Where the symbols of the file at `path` may be, the most likely place first.
pub fn places(path: &[u8], file: &File<'_>) -> Vec<Vec<u8>> {
    let mut places = Vec::new();
    if let Some([first, rest @ ..]) = file.build_id() {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let name = format!("/.build-id/{}/{}.debug", hex(&[*first]), hex(rest));
        places.push([SYSTEM, name.as_bytes()].concat());
    }
    let end = path.iter().rposition(|b| *b == b'/');
    let folder = end.and_then(|end| path.get(..end)).unwrap_or(b".");
    if let Some((name, _)) = file.debug_link() {
        for middle in [&b"/"[..], b"/.debug/"] {
            places.push([folder, middle, name].concat());
        }
        if folder.first() == Some(&b'/') {
            places.push([SYSTEM, folder, b"/", name].concat());
        }
    }
    places.retain(|place| place != path);
    places
}
