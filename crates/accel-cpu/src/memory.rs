//! Memory that kernels and copies access: the arena, and ranges that the program registered.
//!
//! Owns every access to raw addresses on behalf of kernels. Several threads access memory at the same time, so each
//! access is an atomic operation of the processor (acquire, release: x86's plain accesses). Must not know: what the
//! values mean.

use std::collections::BTreeMap;
use std::sync::atomic::{
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed,
    Ordering::Release, Ordering::SeqCst,
};
use std::sync::{Arc, RwLock};

use cushim_ptx::exec::{self, BadAddress};
use cushim_ptx_jit::access;

use super::arena::Arena;
use cushim_accel::locks::{read, write};
use cushim_accel::{Copy, Failure, Fill};
use cushim_check::{Checker, Kind, Options};

/// All memory that kernels may touch.
pub struct Memory {
    /// The arena of all allocations.
    pub arena: Arc<Arena>,
    /// What is known of it where the program is checked.
    pub checker: Option<Arc<Checker>>,
    /// The program's own registered memory: length by address.
    registered: RwLock<BTreeMap<u64, u64>>,
    /// How many those are: mostly none, and then there is nothing to look up.
    registrations: AtomicUsize,
}

impl Memory {
    /// Reserves the range of addresses.
    #[cfg(test)]
    pub fn new() -> Memory {
        Memory::checked(None)
    }

    /// The same, which is checked.
    pub fn checked(options: Option<Options>) -> Memory {
        let arena = Arc::new(Arena::reserve());
        let checker = options.and_then(|options| {
            let others = arena.clone();
            let elsewhere = Box::new(move |address, bytes| others.is_inside(address, bytes));
            let inside = arena.clone();
            let read = Box::new(move |address, bytes: &mut [u8]| {
                let there = inside.is_live(address, bytes.len() as u64);
                if there {
                    // SAFETY: inside of an allocation, of which any byte may be read.
                    unsafe {
                        access::read(std::ptr::with_exposed_provenance(address as usize), bytes);
                    }
                }
                there
            });
            let checker = Checker::new(options, arena.range(), elsewhere, read);
            if checker.is_none() {
                cushim_accel::say(
                    "nothing is checked: there is no memory for it, or its file cannot be written",
                );
            }
            checker.map(Arc::new)
        });
        let (registered, registrations) = (RwLock::default(), AtomicUsize::new(0));
        Memory { arena, checker, registered, registrations }
    }

    /// Memory for the program or its kernels; under checks, followed by bytes that belong to nothing.
    pub fn allocate(&self, kind: Kind, bytes: u64, align: u64) -> Option<u64> {
        let Some(checker) = &self.checker else { return self.arena.allocate(bytes, align) };
        let at = self.arena.allocate(bytes.checked_add(checker.red_zone(bytes))?, align)?;
        checker.allocated(at, bytes, kind);
        Some(at)
    }

    /// Gives back what [`Memory::allocate`] or [`Arena::allocate`] gave.
    pub fn free(&self, address: u64) {
        match self.checker.as_ref().and_then(|checker| checker.freed(address)) {
            Some(now) => now.into_iter().for_each(|at| _ = self.arena.free(at)),
            None => _ = self.arena.free(address),
        }
    }

    /// Lets kernels touch memory of the program.
    pub fn register(&self, address: u64, bytes: u64) {
        let mut list = write(&self.registered);
        list.insert(address, bytes);
        self.registrations.store(list.len(), Release);
    }

    /// Ends that.
    pub fn unregister(&self, address: u64) {
        let mut list = write(&self.registered);
        list.remove(&address);
        self.registrations.store(list.len(), Release);
    }

    /// Whether a kernel may read these bytes.
    #[inline]
    fn is_open(&self, address: u64, bytes: u64) -> bool {
        self.arena.is_live(address, bytes) || self.is_registered(address, bytes)
    }

    /// Whether a kernel may write these bytes.
    #[inline]
    fn is_writable(&self, address: u64, bytes: u64) -> bool {
        self.arena.is_writable(address, bytes) || self.is_registered(address, bytes)
    }

    #[cold]
    fn is_registered(&self, address: u64, bytes: u64) -> bool {
        if self.registrations.load(Acquire) == 0 {
            return false;
        }
        let list = read(&self.registered);
        let before = list.range(..=address).next_back();
        before
            .is_some_and(|(at, length)| address - at <= *length && bytes <= length - (address - at))
    }

    /// Whether a copy may read these bytes: in the arena only allocated ones; the program's own memory is unknown, as
    /// it is to NVIDIA's driver.
    fn may_read(&self, address: u64, bytes: u64) -> Result<(), Failure> {
        let inside = self.arena.contains(address) || address.checked_add(bytes).is_none();
        if bytes == 0 || (address != 0 && !inside) || self.arena.is_live(address, bytes) {
            return Ok(());
        }
        Err(Failure::InvalidAddress(address))
    }

    /// Whether a copy may write these bytes.
    fn may_write(&self, address: u64, bytes: u64) -> Result<(), Failure> {
        let outside = bytes == 0 || !self.arena.contains(address);
        if outside || self.arena.is_writable(address, bytes) {
            return self.may_read(address, bytes);
        }
        Err(Failure::InvalidAddress(address))
    }

    /// Copies bytes; both sides may overlap.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`].
    pub fn copy_bytes(&self, to: u64, from: u64, bytes: usize) -> Result<(), Failure> {
        self.may_write(to, bytes as u64)?;
        self.may_read(from, bytes as u64)?;
        if let Some(checker) = &self.checker
            && let Some(first) = checker.copied(to, from, bytes as u64)
        {
            checker.copy_of_unwritten(from, bytes as u64, first);
        }
        if matches!(bytes, 1 | 2 | 4 | 8) {
            // `cuStreamWriteValue` writes a flag that other threads poll: one access.
            let mut value = [0; 8];
            let value = value.get_mut(..bytes).unwrap_or_default();
            // SAFETY: both sides are memory: ours, or what the program says is its own.
            unsafe {
                access::read(std::ptr::with_exposed_provenance(from as usize), value);
                access::write(std::ptr::with_exposed_provenance_mut(to as usize), value);
            }
            return Ok(());
        }
        // SAFETY: both sides are memory: ours, or what the program says is its own.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
        Ok(())
    }

    /// Copies rows and planes.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`].
    pub fn copy(&self, copy: &Copy) -> Result<(), Failure> {
        if let Some((to, from, bytes)) = copy.linear() {
            return self.copy_bytes(to, from, bytes);
        }
        copy.rows().try_for_each(|(to, from)| self.copy_bytes(to, from, copy.width))
    }

    /// Whether all rows of a copy may be touched.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`].
    pub fn may_copy_all(&self, copy: &Copy) -> Result<(), Failure> {
        let both = |(to, from), bytes: usize| {
            self.may_write(to, bytes as u64).and_then(|()| self.may_read(from, bytes as u64))
        };
        if let Some((to, from, bytes)) = copy.linear() {
            return both((to, from), bytes);
        }
        copy.rows().try_for_each(|row| both(row, copy.width))
    }

    /// Whether all rows of a fill may be touched.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`].
    pub fn may_fill_all(&self, fill: &Fill) -> Result<(), Failure> {
        fill.rows().try_for_each(|to| self.may_write(to, fill.row_bytes() as u64))
    }

    /// Repeats a value.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`].
    pub fn fill(&self, fill: &Fill) -> Result<(), Failure> {
        let value = fill.value.to_le_bytes();
        let size = fill.size.clamp(1, 4);
        let same = value.iter().take(size).all(|byte| *byte == value[0]);
        for at in fill.rows() {
            let bytes = fill.row_bytes();
            self.may_write(at, bytes as u64)?;
            if let Some(checker) = &self.checker {
                checker.set(at, bytes as u64);
            }
            // SAFETY: `may_write` has let these bytes be written: they are of the device, or the program's own and its word.
            unsafe {
                if fill.width == 1 {
                    // As in `copy_bytes`.
                    access::write(at as *mut u8, value.get(..size).unwrap_or_default());
                } else if same {
                    std::ptr::write_bytes(at as *mut u8, value[0], bytes);
                } else if size == 4 {
                    repeat(at as *mut u32, fill.value, fill.width);
                } else if size == 2 {
                    repeat(at as *mut u16, fill.value as u16, fill.width);
                } else {
                    // No function sets values of another size.
                    for n in 0..fill.width {
                        let to = (at as *mut u8).add(n * size);
                        std::ptr::copy_nonoverlapping(value.as_ptr(), to, size);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Writes a value so many times, at any alignment: a loop that the compiler makes vectors of.
///
/// # Safety
/// All of it may be written.
unsafe fn repeat<T: std::marker::Copy>(to: *mut T, value: T, count: usize) {
    for n in 0..count {
        // SAFETY: the caller's word.
        unsafe { to.add(n).write_unaligned(value) };
    }
}

impl cushim_ptx_jit::Mapped for Memory {
    fn holds(&self, address: u64, bytes: u64) -> bool {
        self.is_open(address, bytes)
    }

    fn takes(&self, address: u64, bytes: u64) -> bool {
        self.is_writable(address, bytes)
    }
}

impl exec::Memory for Memory {
    fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress> {
        if !self.is_open(address, bytes.len() as u64) {
            return Err(BadAddress);
        }
        // SAFETY: inside of memory that may be touched; `bytes` is the interpreter's own.
        unsafe { access::read(std::ptr::with_exposed_provenance(address as usize), bytes) };
        Ok(())
    }

    fn store(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress> {
        if !self.is_writable(address, bytes.len() as u64) {
            return Err(BadAddress);
        }
        // SAFETY: inside of memory that may be touched.
        unsafe { access::write(std::ptr::with_exposed_provenance_mut(address as usize), bytes) };
        Ok(())
    }

    fn update(
        &self,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, BadAddress> {
        let known = matches!(bytes, 2 | 4 | 8) && address.is_multiple_of(u64::from(bytes));
        if !known || !self.is_writable(address, bytes.into()) {
            return Err(BadAddress);
        }
        // SAFETY: inside of memory that may be touched, and aligned.
        unsafe {
            Ok(match bytes {
                8 => {
                    let place = &*(address as *const AtomicU64);
                    let mut old = place.load(Relaxed);
                    while let Err(now) = place.compare_exchange_weak(old, new(old), SeqCst, Relaxed)
                    {
                        old = now;
                    }
                    old
                }
                4 => {
                    let place = &*(address as *const AtomicU32);
                    let mut old = place.load(Relaxed);
                    while let Err(now) =
                        place.compare_exchange_weak(old, new(old.into()) as u32, SeqCst, Relaxed)
                    {
                        old = now;
                    }
                    old.into()
                }
                _ => {
                    let place = &*(address as *const AtomicU16);
                    let mut old = place.load(Relaxed);
                    while let Err(now) =
                        place.compare_exchange_weak(old, new(old.into()) as u16, SeqCst, Relaxed)
                    {
                        old = now;
                    }
                    old.into()
                }
            })
        }
    }

    fn update_pair(
        &self,
        address: u64,
        new: &mut dyn FnMut([u64; 2]) -> [u64; 2],
    ) -> Result<[u64; 2], BadAddress> {
        if !address.is_multiple_of(16) || !self.is_writable(address, 16) {
            return Err(BadAddress);
        }
        // SAFETY: inside of memory that may be touched, and aligned.
        Ok(unsafe {
            access::update_pair(std::ptr::with_exposed_provenance_mut(address as usize), new)
        })
    }
}
