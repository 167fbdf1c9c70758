//! The name of a kernel, by its descriptor's address, for messages.
//!
//! Owns: the list of loaded code that AMD's runtime keeps for debuggers (`_amdgpu_r_debug`), the symbols of its ELF
//! images. Must not know: what a kernel does. It is used only after an error, and trusts nothing that it reads: an
//! unmapped address is an error of the system call, not a fault of the process.

use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The address of the list, if the runtime gave it.
static LIST: AtomicU64 = AtomicU64::new(0);
/// The most code objects that are searched, and the largest image.
const MOST: usize = 4096;
const LARGEST: u64 = 1 << 30;

/// hsaKmtRuntimeEnable: the list's address.
pub fn remember(list: u64) {
    LIST.store(list, Ordering::Relaxed);
}

/// Reads memory of this process, or nothing.
fn read(address: u64, bytes: u64) -> Option<Vec<u8>> {
    let count = usize::try_from(bytes.min(LARGEST)).ok()?;
    let mut data = vec![0u8; count];
    let to = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: count };
    let from = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: count };
    // SAFETY: `to` is the buffer; the system checks `from`.
    let got = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
    (usize::try_from(got) == Ok(count)).then_some(data)
}

fn number(data: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let part = data.get(at..at.checked_add(bytes)?)?;
    Some(part.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

fn word(address: u64) -> Option<u64> {
    number(&read(address, 8)?, 0, 8)
}

/// Text that ends with a zero.
fn text(address: u64) -> Option<String> {
    let mut bytes = Vec::new();
    while bytes.len() < 4096 {
        let byte = *read(address + bytes.len() as u64, 1)?.first()?;
        if byte == 0 {
            break;
        }
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

/// A kernel's name, without `.kd`.
pub fn kernel(descriptor: u64) -> Option<String> {
    let mut entry = word(LIST.load(Ordering::Relaxed).checked_add(8).filter(|at| *at > 8)?)?;
    for _ in 0..MOST {
        if entry == 0 {
            return None;
        }
        let (base, name, next) = (word(entry)?, word(entry + 8)?, word(entry + 24)?);
        let found = text(name)
            .and_then(|uri| image(&uri))
            .and_then(|elf| symbol(&elf, descriptor.wrapping_sub(base)));
        if found.is_some() {
            return found;
        }
        entry = next;
    }
    None
}

/// The image that a URI of AMD's names: `file://PATH` or `memory://PID`, then `#offset=N&size=N`.
fn image(uri: &str) -> Option<Vec<u8>> {
    let (place, fragment) = uri.split_once('#').unwrap_or((uri, ""));
    let field = |name: &str| {
        let value =
            fragment.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))?;
        match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => value.parse().ok(),
        }
    };
    if place.starts_with("memory://") {
        return read(field("offset")?, field("size")?);
    }
    let file = std::fs::File::open(place.strip_prefix("file://")?).ok()?;
    let offset = field("offset").unwrap_or(0);
    let size = field("size").or_else(|| Some(file.metadata().ok()?.len()))?.min(LARGEST);
    let mut data = vec![0; usize::try_from(size).ok()?];
    file.read_exact_at(&mut data, offset).ok()?;
    Some(data)
}

/// The name of the symbol with a value, of an ELF file of 64 bits.
pub fn symbol(elf: &[u8], value: u64) -> Option<String> {
    let (table, size, count) = (number(elf, 40, 8)?, number(elf, 58, 2)?, number(elf, 60, 2)?);
    let section = |index: u64| usize::try_from(table.checked_add(index.checked_mul(size)?)?).ok();
    for index in 0..count {
        let at = section(index)?;
        if !matches!(number(elf, at.checked_add(4)?, 4)?, 2 | 11) {
            continue;
        }
        let field = |by: usize| number(elf, at.checked_add(by)?, 8);
        let (start, bytes) = (field(24)?, field(32)?);
        let strings =
            number(elf, section(number(elf, at.checked_add(40)?, 4)?)?.checked_add(24)?, 8)?;
        for number_of in 0..(bytes / 24).min(elf.len() as u64 / 24) {
            let entry = usize::try_from(start.checked_add(24 * number_of)?).ok()?;
            if number(elf, entry.checked_add(8)?, 8)? != value {
                continue;
            }
            let from = usize::try_from(strings.checked_add(number(elf, entry, 4)?)?).ok()?;
            let name = elf.get(from..)?.split(|byte| *byte == 0).next()?;
            let name = std::str::from_utf8(name).ok()?;
            if let Some(name) = name.strip_suffix(".kd") {
                return Some(name.to_owned());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_mapped_is_no_error_of_the_process() {
        assert_eq!(read(16, 8), None);
        let here = 0x1234u64;
        assert_eq!(word(&raw const here as u64), Some(0x1234));
        assert_eq!(kernel(5), None);
    }

    #[test]
    fn bytes_that_are_no_elf_file_have_no_symbols() {
        assert_eq!(symbol(&[], 0), None);
        let mut bytes = vec![0xff; 4096];
        assert_eq!(symbol(&bytes, 0), None);
        bytes[40..48].copy_from_slice(&64u64.to_le_bytes());
        bytes[58..62].copy_from_slice(&[64, 0, 3, 0]);
        bytes[68..72].copy_from_slice(&2u32.to_le_bytes());
        assert_eq!(symbol(&bytes, 0), None);
    }

    #[test]
    fn uris_name_memory_and_files() {
        let data = b"some code".to_vec();
        let uri = format!(
            "memory://{}#offset={:#x}&size={}",
            std::process::id(),
            data.as_ptr() as u64 + 5,
            4
        );
        assert_eq!(image(&uri).unwrap(), b"code");
        assert_eq!(image("nothing"), None);
        assert_eq!(image("file:///nowhere/at/all#offset=0&size=8"), None);
    }
}
