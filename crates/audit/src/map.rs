//! Loaded objects, and files as bytes.
//!
//! Owns: the loader's list (`struct link_map`, link.h) and mapping files to read them. Must not know: their contents.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The public part of the loader's `struct link_map`.
#[repr(C)]
pub struct LinkMap {
    base: u64,
    name: *const c_char,
    dynamic: u64,
    next: *const LinkMap,
    previous: *const LinkMap,
}

/// A loaded object, by the address of its link map.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Object(usize);

impl Object {
    /// The object that `map` describes; `None` for null.
    ///
    /// # Safety
    /// `map` is null or the loader's, and stays so as long as this is used.
    pub unsafe fn new(map: *const LinkMap) -> Option<Self> {
        (!map.is_null()).then_some(Object(map as usize))
    }

    fn map(&self) -> &LinkMap {
        // SAFETY: as whoever made it promised; the loader's lock is held.
        unsafe { &*(self.0 as *const LinkMap) }
    }

    /// Its identity among the loaded objects.
    pub fn id(&self) -> usize {
        self.0
    }

    /// What is to be added to the addresses in its file.
    pub fn base(&self) -> u64 {
        self.map().base
    }

    /// Where its dynamic section is.
    pub fn dynamic(&self) -> u64 {
        self.map().dynamic
    }

    /// Whether it is the program itself: the first of the loader's list.
    pub fn is_program(&self) -> bool {
        self.map().previous.is_null()
    }

    /// Its path as the loader has it: empty for the program.
    pub fn path(&self) -> &Path {
        let name = self.map().name;
        if name.is_null() {
            return Path::new("");
        }
        // SAFETY: a C string of the loader's.
        Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()))
    }

    /// All objects of its namespace in load order: the program, then the libraries in the order of LD_PRELOAD.
    pub fn all(&self) -> impl Iterator<Item = Object> + use<> {
        let mut first = *self;
        // SAFETY: the loader's list, which ends in null at both ends.
        while let Some(before) = unsafe { Object::new(first.map().previous) } {
            first = before;
        }
        // SAFETY: the loader's list, which ends in null at both ends.
        std::iter::successors(Some(first), |object| unsafe { Object::new(object.map().next) })
    }

    /// The file that it is mapped from, by the process's own list: needed if the program was started as an argument
    /// of the loader, because `/proc/self/exe` then names the loader.
    pub fn file_by_address(&self) -> Option<std::path::PathBuf> {
        let text = std::fs::read("/proc/self/maps").ok()?;
        text.split(|b| *b == b'\n').find_map(|line| {
            let words = std::str::from_utf8(line).ok()?;
            let (from, to) = words.split(' ').next()?.split_once('-')?;
            let from = u64::from_str_radix(from, 16).ok()?;
            let to = u64::from_str_radix(to, 16).ok()?;
            let inside = (from..to).contains(&self.dynamic());
            inside.then(|| words.find('/').map(|at| words[at..].into()))?
        })
    }
}

/// A file's bytes.
pub struct Mapping {
    at: *mut c_void,
    size: usize,
}

impl Mapping {
    /// Maps the file at `path`; `None` where it is no file that can be read.
    pub fn open(path: &Path) -> Option<Self> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
        let known = file.metadata().ok()?;
        let size = usize::try_from(known.len()).ok().filter(|size| *size > 0)?;
        if !known.is_file() {
            return None;
        }
        // SAFETY: a new mapping, of pages that nobody of this process writes.
        let at = unsafe {
            let (read, private) = (libc::PROT_READ, libc::MAP_PRIVATE);
            libc::mmap(std::ptr::null_mut(), size, read, private, file.as_raw_fd(), 0)
        };
        (at != libc::MAP_FAILED).then_some(Mapping { at, size })
    }

    /// The bytes. As for every mapped program, the process ends if the file is truncated meanwhile.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: as long as the mapping.
        unsafe { std::slice::from_raw_parts(self.at.cast(), self.size) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.at, self.size) };
    }
}
