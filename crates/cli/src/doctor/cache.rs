//! `/etc/ld.so.cache`: the library file that the loader finds for each name.
//!
//! Owns: the new format (glibc 2.2 and later; `sysdeps/generic/dl-cache.h` describes it).
//! Must not know: search order.

use std::collections::HashMap;
use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// Magic, count, size of strings, flags, extension offset, reserved.
const HEADER: usize = 48;
/// Flags, key, value, osversion, hwcap.
const ENTRY: usize = 24;
/// Flags of a 64-bit x86 library for glibc.
const X86_64_LIBC6: u32 = 0x0303;

/// Libraries by name; the first of each name counts, as for the loader.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    paths: HashMap<String, PathBuf>,
}

impl Cache {
    /// This machine's cache; empty where there is none.
    pub fn system() -> Self {
        Cache::parse(&std::fs::read("/etc/ld.so.cache").unwrap_or_default())
    }

    /// Reads the file's bytes; skips what cannot be understood.
    pub fn parse(bytes: &[u8]) -> Self {
        // An old-format table may precede the new one, at any multiple of eight.
        let start = (0..bytes.len()).step_by(8).find(|&at| bytes[at..].starts_with(MAGIC));
        let bytes = start.and_then(|at| bytes.get(at..)).unwrap_or(&[]);
        let word = |at: usize| {
            bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
        };
        let text = |at: u32| {
            let rest = bytes.get(at as usize..)?;
            let end = rest.iter().position(|b| *b == 0)?;
            std::str::from_utf8(&rest[..end]).ok().map(str::to_owned)
        };
        let room = bytes.len().saturating_sub(HEADER) / ENTRY;
        let mut paths = HashMap::new();
        for index in 0..(word(20) as usize).min(room) {
            let at = HEADER + index * ENTRY;
            if word(at) != X86_64_LIBC6 {
                continue;
            }
            if let Some((name, path)) = text(word(at + 4)).zip(text(word(at + 8))) {
                paths.entry(name).or_insert_with(|| path.into());
            }
        }
        Cache { paths }
    }

    /// Where `name` is.
    pub fn find(&self, name: &str) -> Option<&PathBuf> {
        self.paths.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(2u32.to_le_bytes());
        bytes.resize(HEADER, 0);
        let strings = (HEADER + 2 * ENTRY) as u32;
        for (flags, value) in [(0x0003u32, strings), (X86_64_LIBC6, strings + 6)] {
            for word in [flags, strings, value, 0, 0, 0] {
                bytes.extend(word.to_le_bytes());
            }
        }
        bytes.extend(b"liba.\0/x/liba.\0");
        bytes
    }

    #[test]
    fn finds_by_name_and_machine() {
        assert_eq!(Cache::parse(&sample()).find("liba."), Some(&PathBuf::from("/x/liba.")));
        let mut padded = vec![0; 16];
        padded.extend(sample());
        assert_eq!(Cache::parse(&padded).find("liba."), Some(&PathBuf::from("/x/liba.")));
    }

    #[test]
    fn cut_anywhere_it_does_not_panic() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            assert!(Cache::parse(&bytes[..cut]).find("liba.").is_none() || cut + 1 >= bytes.len());
        }
    }

    #[test]
    fn this_machine_has_a_libc() {
        assert!(Cache::system().find("libc.so.6").is_some_and(|p| p.exists()));
    }
}
