//! Where the functions of a stripped file begin and end, from its unwind table (`.eh_frame_hdr` and `.eh_frame`,
//! Linux Standard Base, "Exception Frames"), which stripping keeps.
//!
//! Owns: reading that table as linkers write it. Must not know: what the functions are.

use object::elf;
use object::read::elf::ProgramHeader;

use crate::file::{File, LE};

/// A function: its address in the file, and how many bytes it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// Its entry.
    pub address: u64,
    /// Its bytes.
    pub size: u64,
}

/// Version 1, the frames' address relative to itself, their count as 32 bits, entries relative to the table, 32 bits each:
/// what GNU ld, gold and lld write.
const HEADER: [u8; 4] = [1, 0x1b, 0x03, 0x3b];

/// The functions of `file` by address; none where the table is missing or of another form.
pub fn frames(file: &File<'_>) -> Vec<Frame> {
    let segment = file.segments.iter().find(|s| s.p_type(LE) == elf::PT_GNU_EH_FRAME);
    let table = segment.and_then(|s| Some((s.p_vaddr(LE), s.data(LE, file.data).ok()?)));
    let Some((base, table)) = table else { return Vec::new() };
    let Some(rest) = table.strip_prefix(&HEADER) else { return Vec::new() };
    let Some((count, entries)) = rest.get(4..).and_then(<[u8]>::split_first_chunk) else {
        return Vec::new();
    };
    let entries = entries.chunks_exact(8).take(u32::from_le_bytes(*count) as usize);
    let mut frames: Vec<Frame> = entries.filter_map(|entry| frame(file, base, entry)).collect();
    frames.sort_unstable();
    frames.dedup_by_key(|frame| frame.address);
    frames
}

/// The function of one entry, which has its begin and the place of its description. The description
/// has its length, its common part, the begin once more (relative), and the size; `None` for other
/// forms.
fn frame(file: &File<'_>, base: u64, entry: &[u8]) -> Option<Frame> {
    let address = base.checked_add_signed(signed(entry, 0)?)?;
    let described = base.checked_add_signed(signed(entry, 4)?)?;
    let segment = file.segments.iter().find(|s| {
        let at = described.checked_sub(s.p_vaddr(LE));
        s.p_type(LE) == elf::PT_LOAD && at.is_some_and(|at| at < s.p_filesz(LE))
    })?;
    let at = usize::try_from(described - segment.p_vaddr(LE)).ok()?;
    let description = segment.data(LE, file.data).ok()?.get(at..)?.get(..16)?;
    let again = described.checked_add(8)?.checked_add_signed(signed(description, 8)?)?;
    let size = u32::try_from(signed(description, 12)?).ok()?;
    (again == address && size > 0).then_some(Frame { address, size: size.into() })
}

/// 32 bits with a sign.
pub fn signed(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i32::from_le_bytes(*bytes.get(at..)?.first_chunk()?).into())
}
