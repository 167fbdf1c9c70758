//! LLVM's object file as position-independent bytes.
//!
//! Owns the parts of ELF that such a file has: sections of code and constants, and PC-relative relocations between
//! them. Any other reference (a function of the C library) is refused. Must not know LLVM, or kernels.

/// A 64-bit ELF file, little-endian.
struct File<'a>(&'a [u8]);

impl<'a> File<'a> {
    fn number(&self, at: u64, bytes: usize) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let found = self.0.get(at..at.checked_add(bytes)?)?;
        let mut all = [0; 8];
        all.get_mut(..bytes)?.copy_from_slice(found);
        Some(u64::from_le_bytes(all))
    }

    fn bytes(&self, at: u64, size: u64) -> Option<&'a [u8]> {
        self.0.get(usize::try_from(at).ok()?..usize::try_from(at.checked_add(size)?).ok()?)
    }
}

#[derive(Clone, Copy)]
struct Section {
    kind: u64,
    flags: u64,
    offset: u64,
    size: u64,
    link: u64,
    info: u64,
    align: u64,
    /// Its offset in the result, if it is in there.
    at: Option<u64>,
}

const BITS: u64 = 1;
const RELOCATIONS: u64 = 4;
const ALLOCATED: u64 = 2;
const EXECUTABLE: u64 = 4;
const CUT: &str = "a reference that is cut off";
/// The most bytes of code and constants.
const MOST: u64 = 64 << 20;

/// The code, which begins with the first function, and its constants.
///
/// # Errors
/// What is unexpected in the file.
pub fn flat(file: &[u8]) -> Result<Vec<u8>, &'static str> {
    let file = File(file);
    let mut sections = sections(&file).ok_or("an object file that is cut off")?;
    let mut bytes = Vec::new();
    // Code comes first: the entry point is its first byte.
    for code in [true, false] {
        for s in &mut sections {
            let own = s.kind == BITS && s.flags & ALLOCATED != 0 && s.size > 0;
            if !own || (s.flags & EXECUTABLE != 0) != code {
                continue;
            }
            let at = (bytes.len() as u64).next_multiple_of(s.align.clamp(1, 4096));
            if at.checked_add(s.size).is_none_or(|end| end > MOST) {
                return Err("more code than is taken");
            }
            bytes.resize(at as usize, 0);
            bytes.extend(file.bytes(s.offset, s.size).ok_or("a section that is cut off")?);
            s.at = Some(at);
        }
        if code && bytes.is_empty() {
            return Err("an object file without code");
        }
    }
    for s in sections.iter().filter(|s| s.kind == RELOCATIONS) {
        let Some(base) = sections.get(s.info as usize).and_then(|to| to.at) else { continue };
        let symbols = sections.get(s.link as usize).ok_or("references without symbols")?;
        for n in 0..s.size / 24 {
            let entry = s.offset.checked_add(n * 24).ok_or(CUT)?;
            refer(&file, &sections, symbols, base, entry, &mut bytes)?;
        }
    }
    Ok(bytes)
}

fn sections(file: &File<'_>) -> Option<Vec<Section>> {
    if file.bytes(0, 4)? != b"\x7fELF" {
        return None;
    }
    let (at, size, count) = (file.number(40, 8)?, file.number(58, 2)?, file.number(60, 2)?);
    (0..count)
        .map(|n| {
            let s = at.checked_add(n * size)?;
            let field = |at: u64, bytes| file.number(s.checked_add(at)?, bytes);
            Some(Section {
                kind: field(4, 4)?,
                flags: field(8, 8)?,
                offset: field(24, 8)?,
                size: field(32, 8)?,
                link: field(40, 4)?,
                info: field(44, 4)?,
                align: field(48, 8)?.checked_next_power_of_two()?,
                at: None,
            })
        })
        .collect()
}

/// Applies one relocation.
fn refer(
    file: &File<'_>,
    sections: &[Section],
    symbols: &Section,
    base: u64,
    entry: u64,
    bytes: &mut [u8],
) -> Result<(), &'static str> {
    let field = |at: u64, bytes| file.number(entry.checked_add(at)?, bytes);
    let (offset, info) = (field(0, 8).ok_or(CUT)?, field(8, 8).ok_or(CUT)?);
    let addend = field(16, 8).ok_or(CUT)? as i64;
    // `R_X86_64_PC32` and `R_X86_64_PLT32`.
    if !matches!(info & 0xffff_ffff, 2 | 4) {
        return Err("a reference that is not relative to its place");
    }
    let symbol = symbols.offset.checked_add((info >> 32) * 24).ok_or(CUT)?;
    let section = file.number(symbol.checked_add(6).ok_or(CUT)?, 2).ok_or(CUT)?;
    let value = file.number(symbol.checked_add(8).ok_or(CUT)?, 8).ok_or(CUT)?;
    let target = sections.get(section as usize).and_then(|s| s.at);
    let target = target.ok_or("a call of what is not in the object file")?.wrapping_add(value);
    let place = base.checked_add(offset).ok_or(CUT)?;
    let distance = (target as i64).wrapping_add(addend).wrapping_sub(place as i64);
    let distance = i32::try_from(distance).map_err(|_| "a reference that reaches too far")?;
    let place = usize::try_from(place).map_err(|_| CUT)?;
    let to = bytes.get_mut(place..place.saturating_add(4)).ok_or(CUT)?;
    to.copy_from_slice(&distance.to_le_bytes());
    Ok(())
}
