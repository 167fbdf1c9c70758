//! Several PTX texts as one image, as cushim's own linker returns them to the program (`cuLinkComplete`).
//!
//! Owns the format: a magic number, the total length, the number of texts, then each text after its length; all
//! numbers have 64 bits, little-endian. The program may copy the image, keep it in a file and load it later. Must not
//! know: linking itself, which cushim's driver does when it loads the image.

use std::borrow::Cow;

/// The first bytes of such an image, which differ from an ELF's.
pub const MAGIC: [u8; 8] = *b"\x7fcuLink\x01";
/// Bytes of mark, length and number.
pub const HEADER: usize = 24;

/// The image of some texts.
pub fn write(parts: &[Cow<'_, [u8]>]) -> Vec<u8> {
    let length = HEADER + parts.iter().map(|part| 8 + part.len()).sum::<usize>();
    let mut image = Vec::with_capacity(length);
    image.extend(MAGIC);
    image.extend((length as u64).to_le_bytes());
    image.extend((parts.len() as u64).to_le_bytes());
    for part in parts {
        image.extend((part.len() as u64).to_le_bytes());
        image.extend(&**part);
    }
    image
}

/// The length that a header states.
pub fn length(header: &[u8]) -> Option<usize> {
    usize::try_from(number(header, 8)?).ok().filter(|length| *length >= HEADER)
}

/// The texts of an image; `None` if it is damaged.
pub fn read(image: &[u8]) -> Option<Vec<&[u8]>> {
    let image = image.get(..length(image)?)?;
    let count = number(image, 16)?;
    let (mut parts, mut at) = (Vec::new(), HEADER);
    for _ in 0..count {
        let size = usize::try_from(number(image, at)?).ok()?;
        let start = at + 8;
        let end = start.checked_add(size)?;
        parts.push(image.get(start..end)?);
        at = end;
    }
    Some(parts)
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let end = at.checked_add(8)?;
    Some(u64::from_le_bytes(bytes.get(at..end)?.try_into().ok()?))
}
