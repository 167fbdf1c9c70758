//! What this library reads directly instead of calling the C library: two functions in libc's own symbol table,
//! environment variables from the array, random bytes where their quality does not matter.
//!
//! `dl_iterate_phdr` is the only access to the list of objects under its lock, and `clock_gettime` the only one to
//! the clock without a system call (which costs five times as much, and which a sandbox may refuse).

use std::arch::{global_asm, x86_64::_rdtsc};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use cushim_process::elf::{self, Version};

/// Binds `$name` inside this library to `$own`.
macro_rules! own {
    ($($name:literal = $own:ident,)*) => {
        $(global_asm!(
            concat!(".pushsection .text.cushim_apart_", $name, ",\"ax\",@progbits"),
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ": jmp {own}"),
            ".popsection",
            own = sym $own,
        );)*
    };
}

own! {
    "dl_iterate_phdr" = iterate,
    "clock_gettime" = clock,
    "getenv" = variable,
    "getrandom" = random,
}

/// The C library's own function `name`, kept in `known`; 0 where it has none.
fn of_libc(known: &AtomicUsize, name: &CStr) -> usize {
    /// There is none.
    const NONE: usize = 1;
    let found = match known.load(Ordering::Acquire) {
        0 => {
            let libc = |object: &elf::Object| object.soname() == Some(c"libc.so.6");
            let of = |object: elf::Object| object.symbol(name, Version::Any).unwrap_or(NONE);
            let found = elf::find_of_start(|object| libc(&object).then(|| of(object)));
            let found = found.unwrap_or(NONE);
            known.store(found, Ordering::Release);
            found
        }
        found => found,
    };
    if found == NONE { 0 } else { found }
}

type Visit = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

unsafe extern "C" fn iterate(visit: Visit, data: *mut c_void) -> c_int {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    match of_libc(&KNOWN, c"dl_iterate_phdr") {
        0 => 0,
        found => {
            type Real = unsafe extern "C" fn(Visit, *mut c_void) -> c_int;
            // SAFETY: the C library's function of this name.
            let real = unsafe { std::mem::transmute::<usize, Real>(found) };
            // SAFETY: as the caller promises.
            unsafe { real(visit, data) }
        }
    }
}

unsafe extern "C" fn clock(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    match of_libc(&KNOWN, c"clock_gettime") {
        // SAFETY: as the caller promises.
        0 => unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int },
        found => {
            type Real = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
            // SAFETY: the C library's function of this name.
            let real = unsafe { std::mem::transmute::<usize, Real>(found) };
            // SAFETY: as the caller promises.
            unsafe { real(clock, time) }
        }
    }
}

unsafe extern "C" fn variable(name: *const c_char) -> *const c_char {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: the C library's declaration: a text that ends with a NUL and stays for the call.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    // SAFETY: the C library's variable; a program may set it to null.
    let mut at = unsafe { environ };
    while !at.is_null() {
        // SAFETY: the array ends with null, and holds strings before that.
        let entry = unsafe { *at };
        if entry.is_null() {
            break;
        }
        // SAFETY: a string of the environment.
        let bytes = unsafe { CStr::from_ptr(entry) }.to_bytes();
        if bytes.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"=")) {
            // SAFETY: inside the string, behind the `=`.
            return unsafe { entry.add(name.len() + 1) };
        }
        // SAFETY: not yet at the end.
        at = unsafe { at.add(1) };
    }
    std::ptr::null()
}

/// Random bytes for std's hash maps, on whose order nothing depends: std would panic where a
/// sandbox refuses the system call. SplitMix64 over the clock's counter and an address that differs
/// between runs.
unsafe extern "C" fn random(to: *mut u8, size: usize, _flags: u32) -> isize {
    static STATE: AtomicU64 = AtomicU64::new(0);
    // SAFETY: every x86-64 has the counter.
    let seed = unsafe { _rdtsc() } ^ (to.addr() as u64).rotate_left(32);
    for n in 0..size {
        let state = STATE.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed) ^ seed;
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // SAFETY: the caller's `size` bytes.
        unsafe { to.add(n).write((mixed ^ (mixed >> 31)) as u8) };
    }
    size as isize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_found_and_asked() {
        let known = AtomicUsize::new(0);
        let found = of_libc(&known, c"clock_gettime");
        // SAFETY: a valid name.
        let theirs = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"clock_gettime".as_ptr()) };
        assert_eq!((found, known.load(Ordering::Relaxed)), (theirs as usize, theirs as usize));
        assert_eq!(of_libc(&AtomicUsize::new(0), c"no_such_function"), 0);
        let mut objects = 0;
        elf::find_object::<()>(|_| {
            objects += 1;
            None
        });
        assert!(objects > 2);
    }

    #[test]
    fn variables_are_those_of_the_environment() {
        let ask = |name: &CStr| {
            // SAFETY: a valid name; the result is a string of the environment.
            unsafe {
                let value = variable(name.as_ptr());
                (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
            }
        };
        assert_eq!(ask(c"PATH"), std::env::var("PATH").ok());
        assert_eq!((ask(c"PAT"), ask(c"CUSHIM_SURELY_UNSET")), (None, None));
    }

    #[test]
    fn random_bytes_differ() {
        let mut places = [[0u8; 16]; 2];
        for place in &mut places {
            // SAFETY: 16 bytes.
            assert_eq!(unsafe { random(place.as_mut_ptr(), 16, 0) }, 16);
        }
        assert_ne!(places[0], places[1]);
    }
}
