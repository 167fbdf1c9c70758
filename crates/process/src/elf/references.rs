//! What an object refers to: its weak references, its relocations, and the places that the loader fills in for them.
//!
//! Must not know: which references are of interest.

use std::ffi::{CStr, c_void};

use super::{Object, STT_OBJECT};

/// A relocation with an addend (`Elf64_Rela`).
#[derive(Debug, Clone, Copy)]
pub struct Relocation {
    /// The address of the place.
    pub place: usize,
    /// The number of the symbol; 0 for none.
    pub symbol: u32,
    kind: u32,
    addend: usize,
}

// x86-64 psABI, "Relocation Types".
const R_X86_64_64: u32 = 1;
const R_X86_64_GLOB_DAT: u32 = 6;

impl Relocation {
    /// Where the loader stores a symbol's address: what is added to it. `None` for other relocations.
    pub fn of_address(&self) -> Option<usize> {
        match self.kind {
            R_X86_64_64 => Some(self.addend),
            R_X86_64_GLOB_DAT => Some(0),
            _ => None,
        }
    }

    /// The word at the place.
    pub fn bound(&self) -> usize {
        // SAFETY: a place of a loaded object, which the loader fills in.
        unsafe { (self.place as *const usize).read_unaligned() }
    }
}

impl Object {
    /// Number and name of the weak symbols that it imports. They come before the symbols of the
    /// hash table.
    pub fn weak_references(&self) -> impl Iterator<Item = (u32, &CStr)> {
        const STB_WEAK: u8 = 2;
        let tables = self.tables().filter(|t| t.gnu_hash != 0);
        // SAFETY: the second word of the table is the number of the first symbol in it.
        let first = tables.as_ref().map_or(0, |t| unsafe { *(t.gnu_hash as *const u32).add(1) });
        tables.into_iter().flat_map(move |t| {
            (1..first).filter_map(move |index| {
                // SAFETY: symbols up to `first` exist.
                let symbol = unsafe { &*(t.symbols as *const libc::Elf64_Sym).add(index as usize) };
                if symbol.st_shndx != 0 || symbol.st_info >> 4 != STB_WEAK {
                    return None;
                }
                let name = (t.strings + symbol.st_name as usize) as *const libc::c_char;
                // SAFETY: the name is an offset into the string table.
                Some((index, unsafe { CStr::from_ptr(name) }))
            })
        })
    }

    /// Whether its DT_NEEDED names the library of this SONAME.
    pub fn needs(&self, soname: &CStr) -> bool {
        const DT_NEEDED: i64 = 1;
        let Some(t) = self.tables() else { return false };
        let mut at = self.dynamic as *const [i64; 2];
        loop {
            // SAFETY: the dynamic section ends with DT_NULL; the entry is an offset into the string table.
            unsafe {
                let [tag, value] = *at;
                let name = || CStr::from_ptr((t.strings + value as usize) as *const _);
                if tag == 0 || tag == DT_NEEDED && name() == soname {
                    return tag != 0;
                }
                at = at.add(1);
            }
        }
    }

    /// Its relocations with addend.
    pub fn relocations(&self) -> impl Iterator<Item = Relocation> {
        let lists = self.tables().map_or([(0, 0); 2], |t| t.relocations);
        let base = self.base;
        lists.into_iter().flat_map(move |(at, size)| {
            (0..size / 24).map(move |i| {
                // SAFETY: the table has `size` bytes, 24 each: offset, info, addend.
                let [offset, info, addend] = unsafe { *((at + i * 24) as *const [u64; 3]) };
                Relocation {
                    place: base.wrapping_add(offset as usize),
                    symbol: (info >> 32) as u32,
                    kind: info as u32,
                    addend: addend as usize,
                }
            })
        })
    }

    /// The name of the symbol of this number, which one of its relocations has.
    pub fn name_of(&self, symbol: u32) -> Option<&CStr> {
        let t = self.tables()?;
        // SAFETY: the relocation's symbol, which the loader has looked up; its name is in the string table.
        unsafe {
            let symbol = &*(t.symbols as *const libc::Elf64_Sym).add(symbol as usize);
            Some(CStr::from_ptr((t.strings + symbol.st_name as usize) as *const _))
        }
    }

    /// The address of the variable of this number, which one of its relocations has; `None` for a function, and where
    /// another object defines it.
    pub fn own_variable(&self, symbol: u32) -> Option<usize> {
        let t = self.tables()?;
        // SAFETY: as in `name_of`.
        let symbol = unsafe { &*(t.symbols as *const libc::Elf64_Sym).add(symbol as usize) };
        let is_own = symbol.st_shndx != 0 && symbol.st_info & 15 == STT_OBJECT;
        is_own.then(|| self.base.wrapping_add(symbol.st_value as usize))
    }

    /// Overwrites a word that the loader stored, even if the page is read-only now.
    ///
    /// The process's memory file does not need the page to be writable. The loader changes the page's protection in
    /// the same moment if another thread's `dlopen` is at work on this object; so only where there is no such file
    /// (no `/proc`, a sandbox) the page is made writable, and protected again.
    pub fn write_word(&self, at: usize, value: usize) -> bool {
        through_file(at, value) || self.by_protection(at, value)
    }

    fn by_protection(&self, at: usize, value: usize) -> bool {
        const PAGE: usize = 4096;
        let page = at & !(PAGE - 1);
        let pages = page as *mut c_void;
        let (relro_low, relro_high) = self.relro;
        // SAFETY: a page of this object that holds loader data; its protection is put back.
        unsafe {
            if libc::mprotect(pages, PAGE, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return false;
            }
            (at as *mut usize).write_unaligned(value);
            if (relro_low..relro_high).contains(&page) {
                libc::mprotect(pages, PAGE, libc::PROT_READ);
            }
        }
        true
    }
}

/// Writes a word by `/proc/self/mem` (proc(5)), which may write to private pages that are read-only.
fn through_file(at: usize, value: usize) -> bool {
    const SIZE: usize = size_of::<usize>();
    // SAFETY: a path that ends with a NUL, a word of this frame, a descriptor that is closed here.
    unsafe {
        let flags = libc::O_RDWR | libc::O_CLOEXEC;
        let file = libc::openat(libc::AT_FDCWD, c"/proc/self/mem".as_ptr(), flags);
        if file < 0 {
            return false;
        }
        let done = libc::pwrite(file, (&raw const value).cast(), SIZE, at as libc::off_t);
        libc::close(file);
        done == SIZE as isize
    }
}
