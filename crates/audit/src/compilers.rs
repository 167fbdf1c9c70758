//! Redirects functions of NVIDIA's compilers inside a program, of cuBLAS and of cuFFT to libcushim_compilers.so, and
//! one function that cuRAND imports.
//!
//! When the loader resolves such a function, by linking or by `dlsym`, it reads the library's symbol table. So this
//! module changes the entry in memory, before anything is bound to the library, and the code stays unchanged:
//! libcushim_compilers.so calls it. Source of the table's form: `crates/compilers/src/table.rs`.
//!
//! A library's import is an entry of its symbol table, too. The loader searches for it by name, unless the entry is
//! local to the library (ELF-64, "Symbol Table": local binding, hidden visibility); then it uses the entry's own
//! address.
//!
//! Owns: which libraries these are, and the entries. Must not know: what the functions do.

use std::ffi::c_void;
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use cushim_patch::{File, Offer};

use crate::map::{Mapping, Object};
use crate::say;

/// The preloaded library that has the functions, the name of its table, and where the addresses of
/// NVIDIA's own are written.
const LIBRARY: &str = "libcushim_compilers.so";
const TABLE: &[u8] = b"cushim_compilers";
const REAL: &[u8] = b"cushim_compilers_real";
/// Copies of a library that the table has functions for.
const PLACES: usize = 4;
/// `STV_HIDDEN` of elf.h.
const HIDDEN: u64 = 2;
/// The prefixes of compilers' files; pip's copies may have any suffix (`libnvrtc-0123abcd.so.12`).
const COMPILERS: [&[u8]; 2] = [b"libnvrtc", b"libnvJitLink"];

/// The objects that have a slot, and the words to zero when they are unloaded.
static TAKEN: Mutex<Vec<(usize, &'static AtomicUsize)>> = Mutex::new(Vec::new());

/// Files of libraries whose functions compute begin so. Unlike a compiler's, they have a runtime inside.
const COMPUTING: [&[u8]; 2] = [b"libcublas", b"libcufft"];

/// Files of libraries begin so that choose among images by the capability that the runtime tells them: an import of theirs is led,
/// too.
const CHOOSING: [&[u8]; 1] = [b"libcurand"];

/// Whether a file of this name may be a compiler.
pub fn is_compiler(name: &[u8]) -> bool {
    COMPILERS.iter().any(|begin| name.starts_with(begin))
}

/// Whether functions of a file of this name may be redirected.
pub fn concerned(name: &[u8]) -> bool {
    is_compiler(name) || is_choosing(name) || COMPUTING.iter().any(|begin| name.starts_with(begin))
}

fn is_choosing(name: &[u8]) -> bool {
    CHOOSING.iter().any(|begin| name.starts_with(begin))
}

/// A row of the table: a name, and a function for each slot.
struct Row {
    name: &'static [u8],
    functions: [usize; PLACES],
}

/// The preloaded library.
struct Ours {
    rows: Vec<Row>,
    /// By slot and row.
    real: &'static [AtomicUsize],
}

/// Redirects functions of `object`, a library with this file: those that it imports, and those that it exports.
pub fn lead(object: &Object, file: &File<'_>) {
    let Some(ours) = ours(object) else { return };
    if is_choosing(object.path().file_name().unwrap_or_default().as_bytes()) {
        lead_imports(object, file, &ours);
    }
    let offers = file.offers_all();
    let wanted: Vec<(usize, &Row, &Offer<'_>)> = offers
        .iter()
        .filter_map(|offer| {
            let row = ours.rows.iter().position(|row| row.name == plain(offer.name))?;
            Some((row, ours.rows.get(row)?, offer))
        })
        .collect();
    if wanted.is_empty() {
        return;
    }
    let slot = |place: usize, row: usize| ours.real.get(place * ours.rows.len() + row);
    let free = |place: &usize| {
        wanted
            .iter()
            .all(|(row, ..)| slot(*place, *row).is_some_and(|s| s.load(Ordering::Relaxed) == 0))
    };
    let Some(place) = (0..PLACES).find(free) else {
        return say::error(&format!(
            "{}: more than {PLACES} copies of one library are loaded; this one is left with machine code, which the CPU cannot run",
            object.path().display()
        ));
    };
    let Ok(mut taken) = TAKEN.try_lock() else { return };
    for (row, table, offer) in &wanted {
        let (Some(slot), Some(function)) = (slot(place, *row), table.functions.get(place)) else {
            continue;
        };
        let own = object.base().wrapping_add(offer.address) as usize;
        if !change(object, file, offer, *function) {
            continue;
        }
        // A function of several names is one function.
        let _ = slot.compare_exchange(0, own, Ordering::Release, Ordering::Relaxed);
        taken.push((object.id(), slot));
    }
}

/// The object with this id is unloaded: its slot is free.
pub fn gone(id: usize) {
    let Ok(mut taken) = TAKEN.try_lock() else { return };
    taken.retain(|(object, slot)| {
        if *object == id {
            slot.store(0, Ordering::Release);
        }
        *object != id
    });
}

/// The name of a function without the release that nvJitLink's header puts around it: `__nvJitLinkCreate_12_4`.
fn plain(name: &[u8]) -> &[u8] {
    let Some(inner) = name.strip_prefix(b"__nv") else { return name };
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut parts = inner.rsplitn(3, |byte| *byte == b'_');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(minor), Some(major), Some(rest)) if digits(minor) && digits(major) => {
            // The name begins with `nv` and the rest.
            name.get(2..2 + 2 + rest.len()).unwrap_or(name)
        }
        _ => name,
    }
}

/// Redirects the imports of `object`. The functions have no slot: they call none of the library's functions.
fn lead_imports(object: &Object, file: &File<'_>, ours: &Ours) {
    for import in file.imports_all() {
        let row = ours.rows.iter().find(|row| row.name == import.name);
        let Some(function) = row.and_then(|row| row.functions.first()) else { continue };
        let address = (*function as u64).wrapping_sub(object.base());
        write_words(object, file, import.at, |entry: &[AtomicU64; 2]| {
            let [kind, value] = entry;
            value.store(address, Ordering::Relaxed);
            // `st_name`, 32 bits; `st_info`, whose upper half is the binding; `st_other`, the visibility; `st_shndx`.
            let is = kind.load(Ordering::Relaxed) & !(0xfff0 << 32);
            kind.store(is | HIDDEN << 40, Ordering::Release);
            true
        });
    }
}

/// Has the loader find `function` for `offer`; returns whether that worked.
fn change(object: &Object, file: &File<'_>, offer: &Offer<'_>, function: usize) -> bool {
    write_words(object, file, offer.at, |[value]: &[AtomicU64; 1]| {
        let is_as_in_file = value.load(Ordering::Relaxed) == offer.address;
        if is_as_in_file {
            value.store((function as u64).wrapping_sub(object.base()), Ordering::Release);
        }
        is_as_in_file
    })
}

/// Changes words of a symbol at this address of the file by `with`; returns its result, false if they cannot be
/// written.
fn write_words<const N: usize>(
    object: &Object,
    file: &File<'_>,
    at: u64,
    with: impl FnOnce(&[AtomicU64; N]) -> bool,
) -> bool {
    let Some(flags) = file.rights(at) else { return false };
    let at = object.base().wrapping_add(at);
    // SAFETY: cannot fail for this name.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let size = size_of::<[AtomicU64; N]>() as u64;
    let (begin, end) = (at / page * page, (at + size).div_ceil(page) * page);
    let usual = [(4, libc::PROT_READ), (2, libc::PROT_WRITE), (1, libc::PROT_EXEC)];
    let usual = usual.iter().filter(|(flag, _)| flags & flag != 0).fold(0, |a, b| a | b.1);
    // SAFETY: pages of the object's symbol table, which is mapped from its file, privately.
    let rights = |rights: i32| unsafe {
        libc::mprotect(begin as *mut c_void, (end - begin) as usize, rights) == 0
    };
    if !rights(usual | libc::PROT_WRITE) {
        return false;
    }
    // SAFETY: words of a symbol's, which is aligned (ELF-64, "Symbol Table"); writable now, and the loader's lock is held.
    let done = with(unsafe { &*(at as *const [AtomicU64; N]) });
    // A failure leaves the table writable, not wrong.
    let _ = rights(usual);
    done
}

/// The preloaded library and its table, if it is there.
fn ours(object: &Object) -> Option<Ours> {
    let loaded = object
        .all()
        .find(|o| o.path().file_name().is_some_and(|f| f.as_bytes() == LIBRARY.as_bytes()))?;
    let mapping = Mapping::open(loaded.path())?;
    let file = File::parse(mapping.bytes()).ok()?;
    let table = file.offers_all().into_iter().find(|offer| offer.name == TABLE)?.address;
    let rows = read(loaded.base().wrapping_add(table) as usize);
    let (real, size) = file.variable(REAL)?;
    if size as usize != rows.len() * PLACES * size_of::<AtomicUsize>() {
        return None;
    }
    let real = loaded.base().wrapping_add(real) as *const AtomicUsize;
    // SAFETY: a variable of that size in a library that is preloaded, hence never unloaded.
    let real = unsafe { std::slice::from_raw_parts(real, rows.len() * PLACES) };
    Some(Ours { rows, real })
}

/// Reads the table at an address.
fn read(mut at: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    loop {
        // SAFETY: the table of a library of ours of the same build: a name with its end, and distances behind it.
        let name = unsafe { std::ffi::CStr::from_ptr(at as *const std::ffi::c_char) }.to_bytes();
        if name.is_empty() {
            return rows;
        }
        at += name.len() + 1;
        let functions = std::array::from_fn(|place| {
            let field = at + place * size_of::<i32>();
            // SAFETY: the table has a row here, whose fields are within it; they are not aligned.
            let distance = unsafe { (field as *const i32).read_unaligned() };
            field.wrapping_add_signed(distance as isize)
        });
        at += PLACES * size_of::<i32>();
        rows.push(Row { name, functions });
    }
}
