//! NVIDIA's compilers inside a program, cuBLAS and cuFFT: some of their functions lead to libcushim_compilers.so.
//!
//! What the loader answers to whoever looks for such a function, by linking or by `dlsym`, is what the library's symbol
//! table says. So the table's entry in memory is changed, before anything is bound to the library, and the code stays as
//! it is: it is called from there. Source of the table's form: `crates/compilers/src/table.rs`.
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
/// How files of compilers begin; pip's copies go on as they like (`libnvrtc-0123abcd.so.12`).
const COMPILERS: [&[u8]; 2] = [b"libnvrtc", b"libnvJitLink"];

/// The objects that have a place, and the slots to zero when they are unloaded.
static TAKEN: Mutex<Vec<(usize, &'static AtomicUsize)>> = Mutex::new(Vec::new());

/// Files of libraries whose functions compute begin so. Unlike a compiler's, they have a runtime inside.
const COMPUTING: [&[u8]; 2] = [b"libcublas", b"libcufft"];

/// Whether a file of this name may be a compiler.
pub fn is_compiler(name: &[u8]) -> bool {
    COMPILERS.iter().any(|begin| name.starts_with(begin))
}

/// Whether functions of a file of this name may be redirected.
pub fn concerned(name: &[u8]) -> bool {
    is_compiler(name) || COMPUTING.iter().any(|begin| name.starts_with(begin))
}

/// A row of the table: a name, and a function for each place.
struct Row {
    name: &'static [u8],
    functions: [usize; PLACES],
}

/// The preloaded library.
struct Ours {
    rows: Vec<Row>,
    /// By place and row.
    real: &'static [AtomicUsize],
}

/// Redirects the exports of `object`, a library whose file this is.
pub fn lead(object: &Object, file: &File<'_>) {
    let Some(ours) = ours(object) else { return };
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

/// The object with this id is unloaded: its place is free.
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

/// Has the loader find `function` for `offer`; returns whether that worked.
fn change(object: &Object, file: &File<'_>, offer: &Offer<'_>, function: usize) -> bool {
    let Some(flags) = file.rights(offer.at) else { return false };
    let at = object.base().wrapping_add(offer.at);
    // SAFETY: cannot fail for this name.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let (begin, end) = (at / page * page, (at + 8).div_ceil(page) * page);
    let usual = [(4, libc::PROT_READ), (2, libc::PROT_WRITE), (1, libc::PROT_EXEC)];
    let usual = usual.iter().filter(|(flag, _)| flags & flag != 0).fold(0, |a, b| a | b.1);
    // SAFETY: pages of the object's symbol table, which is mapped from its file, privately.
    let rights = |rights: i32| unsafe {
        libc::mprotect(begin as *mut c_void, (end - begin) as usize, rights) == 0
    };
    if !rights(usual | libc::PROT_WRITE) {
        return false;
    }
    let entry = at as *const AtomicU64;
    // SAFETY: a word of a symbol's, which is aligned (ELF-64, "Symbol Table"); writable now, and the loader's lock is held.
    let entry = unsafe { &*entry };
    let before = entry.load(Ordering::Relaxed);
    let is_as_in_file = before == offer.address;
    if is_as_in_file {
        entry.store((function as u64).wrapping_sub(object.base()), Ordering::Release);
    }
    // A failure leaves the table writable, not wrong.
    let _ = rights(usual);
    is_as_in_file
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
