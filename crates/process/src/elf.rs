//! The objects that are loaded into this process, and their symbols, without the loader's lock.
//!
//! `dlsym` takes the loader's main lock; a launch must not wait for a thread that holds it in a constructor.
//! `dl_iterate_phdr` takes another one, held only while the list changes. So this module looks symbols up in the
//! dynamic tables of the mapped objects (System V gABI chapter 5; GNU hash and version tables: LSB 5.0, "Symbol
//! Versioning").
//!
//! Must not know: CUDA.

use std::ffi::{CStr, c_int, c_void};

mod references;

pub use references::Relocation;

/// A loaded object, as long as it stays loaded.
#[derive(Clone, Copy)]
pub struct Object {
    base: usize,
    name: *const libc::c_char,
    dynamic: usize,
    low: usize,
    high: usize,
    /// What the loader made read-only after binding.
    relro: (usize, usize),
}

/// The tables of an object that lookups need; addresses in this process.
struct Tables {
    symbols: usize,
    strings: usize,
    strings_size: usize,
    gnu_hash: usize,
    versions: usize,
    definitions: usize,
    definition_count: usize,
    soname: Option<usize>,
    relocations: [(usize, usize); 2],
}

const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_STRSZ: i64 = 10;
const DT_SONAME: i64 = 14;
const DT_JMPREL: i64 = 23;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
const DT_VERDEF: i64 = 0x6fff_fffc;
const DT_VERDEFNUM: i64 = 0x6fff_fffd;

/// The type of a symbol that is a variable.
const STT_OBJECT: u8 = 1;

/// Which version of a symbol is requested.
#[derive(Clone, Copy)]
pub enum Version<'a> {
    /// Exactly this node, or a definition without any version.
    Node(&'a CStr),
    /// Whatever is defined, the default first.
    Any,
}

/// Calls `visit` with each loaded object in load order until it answers.
pub fn find_object<R>(mut visit: impl FnMut(Object) -> Option<R>) -> Option<R> {
    struct State<'a, R> {
        visit: &'a mut dyn FnMut(Object) -> Option<R>,
        answer: Option<R>,
    }
    unsafe extern "C" fn step<R>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: `data` is the `State` below; `info` is valid during the call.
        let (state, info) = unsafe { (&mut *data.cast::<State<'_, R>>(), &*info) };
        let mut object = Object {
            base: info.dlpi_addr as usize,
            name: info.dlpi_name,
            dynamic: 0,
            low: usize::MAX,
            high: 0,
            relro: (0, 0),
        };
        for i in 0..usize::from(info.dlpi_phnum) {
            // SAFETY: the object has `dlpi_phnum` program headers.
            let header = unsafe { &*info.dlpi_phdr.add(i) };
            let start = object.base.wrapping_add(header.p_vaddr as usize);
            match header.p_type {
                libc::PT_LOAD => {
                    object.low = object.low.min(start);
                    object.high = object.high.max(start.wrapping_add(header.p_memsz as usize));
                }
                libc::PT_DYNAMIC => object.dynamic = start,
                libc::PT_GNU_RELRO => {
                    let end = start.wrapping_add(header.p_memsz as usize);
                    object.relro = (start & !4095, end & !4095);
                }
                _ => {}
            }
        }
        state.answer = (state.visit)(object);
        c_int::from(state.answer.is_some())
    }
    let mut state = State { visit: &mut visit, answer: None };
    // SAFETY: `step` matches the signature and gets the state that it expects.
    unsafe { libc::dl_iterate_phdr(Some(step::<R>), (&raw mut state).cast()) };
    state.answer
}

/// Calls `act` while the list of objects does not change: [`find_object`] in it sees the same objects each time.
pub fn while_held(act: impl FnOnce()) {
    let mut act = Some(act);
    // The loader's lock on the list is recursive.
    find_object(|_| act.take().map(|act| act()));
}

/// As [`find_object`], but along the loader's own list, without a call and without its lock: for use before anything
/// is initialised, and for the objects of the program's start, which stay. Objects opened later come after them and
/// may be unloaded: `visit` must have returned a result by then. Of these objects only names and symbols are known.
pub fn find_of_start<R>(mut visit: impl FnMut(Object) -> Option<R>) -> Option<R> {
    /// `struct r_debug` of link.h, as far as it is read.
    #[repr(C)]
    struct Debug {
        version: c_int,
        first: *const LinkMap,
    }
    /// The public part of `struct link_map`.
    #[repr(C)]
    struct LinkMap {
        base: usize,
        name: *const libc::c_char,
        dynamic: usize,
        next: *const LinkMap,
    }
    unsafe extern "C" {
        static _r_debug: Debug;
    }
    // SAFETY: the loader's, there before any code of ours runs.
    let mut at = unsafe { _r_debug.first };
    // SAFETY: null ends the list; objects of the start are never taken out.
    while let Some(&LinkMap { base, name, dynamic, next }) = unsafe { at.as_ref() } {
        let object = Object { base, name, dynamic, low: 0, high: 0, relro: (0, 0) };
        if let Some(found) = visit(object) {
            return Some(found);
        }
        at = next;
    }
    None
}

/// How many objects have been unloaded since the process began.
pub fn unloads() -> u64 {
    counts().1
}

/// How many objects have been loaded and unloaded since the process began.
pub fn counts() -> (u64, u64) {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: `data` is the counts below; `info` is valid during the call, whole since glibc 2.4.
        unsafe { *data.cast::<(u64, u64)>() = ((*info).dlpi_adds, (*info).dlpi_subs) };
        1
    }
    let mut counts = (0u64, 0u64);
    // SAFETY: `first` matches the signature and gets the place that it expects.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut counts).cast()) };
    counts
}

/// The object that `address` lies in.
pub fn object_at(address: usize) -> Option<Object> {
    find_object(|o| o.contains(address).then_some(o))
}

/// The symbol `name` of the first object after this library in load order that `accept`s and defines it.
pub fn next(name: &CStr, version: Version<'_>, accept: impl Fn(&Object) -> bool) -> Option<usize> {
    let mut behind = false;
    find_object(|object| {
        if object.is_own() {
            behind = true;
            return None;
        }
        if !behind || !accept(&object) {
            return None;
        }
        object.symbol(name, version)
    })
}

/// An address in this object.
static OWN: u8 = 1;

impl Object {
    /// Whether `address` lies in it.
    pub fn contains(&self, address: usize) -> bool {
        (self.low..self.high).contains(&address)
    }

    /// Whether it is the one that this code is in.
    pub fn is_own(&self) -> bool {
        self.contains((&raw const OWN).addr())
    }

    /// Its load address: the offset added to its addresses.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Its file, as the loader names it; empty for the program itself.
    pub fn file_name(&self) -> &CStr {
        if self.name.is_null() {
            return c"";
        }
        // SAFETY: the loader's string, there as long as the object is.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// Its DT_SONAME.
    pub fn soname(&self) -> Option<&CStr> {
        let tables = self.tables()?;
        let at = tables.soname?;
        // SAFETY: an offset into the string table, which the loader has checked by loading it.
        (at < tables.strings_size)
            .then(|| unsafe { CStr::from_ptr((tables.strings + at) as *const libc::c_char) })
    }

    fn tables(&self) -> Option<Tables> {
        if self.dynamic == 0 {
            return None;
        }
        let mut t = Tables {
            symbols: 0,
            strings: 0,
            strings_size: 0,
            gnu_hash: 0,
            versions: 0,
            definitions: 0,
            definition_count: 0,
            soname: None,
            relocations: [(0, 0); 2],
        };
        // glibc relocates these entries in place except in objects whose dynamic section is read-only
        // (the vDSO): an address below the base is still relative.
        let absolute = |value: usize| if value < self.base { value + self.base } else { value };
        let mut at = self.dynamic as *const [i64; 2];
        loop {
            // SAFETY: the dynamic section ends with DT_NULL.
            let [tag, value] = unsafe { *at };
            let value = value as usize;
            match tag {
                0 => break,
                DT_STRTAB => t.strings = absolute(value),
                DT_SYMTAB => t.symbols = absolute(value),
                DT_STRSZ => t.strings_size = value,
                DT_SONAME => t.soname = Some(value),
                DT_GNU_HASH => t.gnu_hash = absolute(value),
                DT_VERSYM => t.versions = absolute(value),
                DT_VERDEF => t.definitions = absolute(value),
                DT_VERDEFNUM => t.definition_count = value,
                DT_RELA => t.relocations[0].0 = absolute(value),
                DT_RELASZ => t.relocations[0].1 = value,
                DT_JMPREL => t.relocations[1].0 = absolute(value),
                DT_PLTRELSZ => t.relocations[1].1 = value,
                _ => {}
            }
            // SAFETY: not yet at the end.
            at = unsafe { at.add(1) };
        }
        (t.symbols != 0 && t.strings != 0).then_some(t)
    }

    /// The address of the function `name` that this object defines.
    pub fn symbol(&self, name: &CStr, version: Version<'_>) -> Option<usize> {
        self.definition(name, version, |kind| kind != STT_OBJECT)
    }

    /// The address of the variable `name` that this object defines.
    pub fn variable(&self, name: &CStr) -> Option<usize> {
        self.definition(name, Version::Any, |kind| kind == STT_OBJECT)
    }

    fn definition(
        &self,
        name: &CStr,
        version: Version<'_>,
        wanted: fn(u8) -> bool,
    ) -> Option<usize> {
        let t = self.tables()?;
        if t.gnu_hash == 0 {
            return None;
        }
        // Table of u32: buckets, symbol offset, bloom words (u64), bloom shift; then bloom filter,
        // buckets, chains.
        // SAFETY: the loader uses the same table; every index below stays inside it by its own counts.
        unsafe {
            let header = t.gnu_hash as *const u32;
            let (buckets, offset) = (*header, *header.add(1));
            let (bloom_words, bloom_shift) = (*header.add(2), *header.add(3));
            if buckets == 0 || bloom_words == 0 {
                return None;
            }
            let hash = gnu_hash(name.to_bytes());
            let bloom = header.add(4).cast::<u64>();
            let word = *bloom.add((hash / 64 % bloom_words) as usize);
            let bits = 1u64 << (hash % 64) | 1u64 << (hash >> bloom_shift & 63);
            if word & bits != bits {
                return None;
            }
            let bucket = bloom.add(bloom_words as usize).cast::<u32>();
            let chain = bucket.add(buckets as usize);
            let mut index = *bucket.add((hash % buckets) as usize);
            if index < offset {
                return None;
            }
            let mut hidden = None;
            loop {
                let link = *chain.add((index - offset) as usize);
                if link | 1 == hash | 1
                    && let Some((address, default)) = self.matches(&t, index, name, version, wanted)
                {
                    if default {
                        return Some(address);
                    }
                    hidden = hidden.or(Some(address));
                }
                if link & 1 != 0 {
                    return hidden;
                }
                index += 1;
            }
        }
    }

    /// Address of symbol `index` if it is a definition of `name` in `version`, and whether to stop there.
    unsafe fn matches(
        &self,
        t: &Tables,
        index: u32,
        name: &CStr,
        version: Version<'_>,
        wanted: fn(u8) -> bool,
    ) -> Option<(usize, bool)> {
        const STT_GNU_IFUNC: u8 = 10;
        const STT_TLS: u8 = 6;
        // SAFETY: `index` came from the hash table.
        let symbol = unsafe { &*(t.symbols as *const libc::Elf64_Sym).add(index as usize) };
        // SAFETY: the name is an offset into the string table.
        let found = unsafe { CStr::from_ptr((t.strings + symbol.st_name as usize) as *const _) };
        let kind = symbol.st_info & 15;
        let is_there = symbol.st_shndx != 0 && symbol.st_value != 0;
        if !is_there || kind == STT_TLS || !wanted(kind) || found != name {
            return None;
        }
        // Only the loader resolves an IFUNC; CUDA has none.
        if kind == STT_GNU_IFUNC {
            return None;
        }
        let address = self.base.wrapping_add(symbol.st_value as usize);
        if t.versions == 0 {
            return Some((address, true));
        }
        // SAFETY: one version index per symbol.
        let number = unsafe { *(t.versions as *const u16).add(index as usize) };
        match version {
            Version::Any => Some((address, number & 0x8000 == 0)),
            Version::Node(_) if number & 0x7fff <= 1 => Some((address, false)),
            Version::Node(node) => {
                (self.version_name(t, number & 0x7fff)? == node).then_some((address, true))
            }
        }
    }

    fn version_name(&self, t: &Tables, number: u16) -> Option<&CStr> {
        // Elfxx_Verdef: version, flags, ndx, cnt (u16 each), hash, aux, next (u32 each);
        // Elfxx_Verdaux: name, next.
        let mut at = t.definitions;
        for _ in 0..t.definition_count {
            // SAFETY: the list has `definition_count` entries, linked by byte offsets.
            let (ndx, aux, next) = unsafe {
                (*((at + 4) as *const u16), *((at + 12) as *const u32), *((at + 16) as *const u32))
            };
            if ndx & 0x7fff == number {
                // SAFETY: each entry has at least one name.
                let name = unsafe { *((at + aux as usize) as *const u32) } as usize;
                // SAFETY: an offset into the string table.
                return Some(unsafe { CStr::from_ptr((t.strings + name) as *const _) });
            }
            if next == 0 {
                return None;
            }
            at += next as usize;
        }
        None
    }
}

/// The hash of DT_GNU_HASH (Bernstein's, times 33).
fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, &c| hash.wrapping_mul(33).wrapping_add(u32::from(c)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_dlsym_finds() {
        for name in [c"getenv", c"qsort", c"dlsym", c"pthread_create"] {
            let ours = find_object(|o| o.symbol(name, Version::Any));
            // SAFETY: a valid name.
            let theirs = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
            assert_eq!(ours, Some(theirs), "{name:?}");
        }
        assert!(find_object(|o| o.symbol(c"no_such_symbol_here", Version::Any)).is_none());
    }

    #[test]
    fn finds_objects_of_the_start_by_the_list_alone() {
        let libc = |o: Object| (o.soname()? == c"libc.so.6").then_some(o);
        let (listed, asked) = (find_of_start(libc).unwrap(), find_object(libc).unwrap());
        let symbols = [listed, asked].map(|o| o.symbol(c"getenv", Version::Any));
        assert!(symbols[0].is_some() && symbols[0] == symbols[1]);
        assert_eq!((listed.base(), listed.file_name()), (asked.base(), asked.file_name()));
    }

    #[test]
    fn tells_versions_apart() {
        let libc = find_object(|o| (o.soname()? == c"libc.so.6").then_some(o)).unwrap();
        assert!(libc.symbol(c"dlsym", Version::Node(c"GLIBC_2.2.5")).is_some());
        assert!(libc.symbol(c"dlsym", Version::Node(c"GLIBC_9.9")).is_none());
        // memcpy has a hidden GLIBC_2.2.5 form.
        assert!(libc.symbol(c"getenv", Version::Node(c"GLIBC_2.2.5")).is_some());
    }

    #[test]
    fn knows_itself() {
        let here = object_at(knows_itself as fn() as usize).unwrap();
        assert!(here.is_own());
        assert!(!object_at(libc::getenv as *const () as usize).is_some_and(|o| o.is_own()));
    }
}
