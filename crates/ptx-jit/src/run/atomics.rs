//! Atomic operations by processor instructions.

use cushim_ptx::sem::Update;
use std::arch::x86_64::__m128i;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Atomically reads 8 or 16 bytes, aligned to their size: 16 bytes are one access on all processors with AVX (Intel's
/// manual, volume 3, 10.1.1; AMD's, volume 2, 7.3.2).
///
/// # Safety
/// `at` is mapped for that many bytes.
pub(super) unsafe fn read_at_once(at: *const u8, bytes: usize) -> [u64; 2] {
    // SAFETY: the caller's promise. Volatile, so that it stays one access.
    unsafe {
        if bytes == 8 {
            return [at.cast::<u64>().read_unaligned(), 0];
        }
        // A block's private memory may be unaligned, and no other thread accesses it.
        if !at.cast::<__m128i>().is_aligned() {
            return at.cast::<[u64; 2]>().read_unaligned();
        }
        std::mem::transmute::<__m128i, [u64; 2]>(at.cast::<__m128i>().read_volatile())
    }
}

/// Writes what [`read_at_once`] reads.
///
/// # Safety
/// As there, and writable.
pub(super) unsafe fn write_at_once(at: *mut u8, bytes: usize, v: [u64; 2]) {
    // SAFETY: `at` is mapped and writable for that many bytes, by the caller's promise. Volatile, so that it stays
    // one access.
    unsafe {
        if bytes == 8 {
            return at.cast::<u64>().write_unaligned(v[0]);
        }
        if !at.cast::<__m128i>().is_aligned() {
            return at.cast::<[u64; 2]>().write_unaligned(v);
        }
        at.cast::<__m128i>().write_volatile(std::mem::transmute::<[u64; 2], __m128i>(v));
    }
}

/// A number on which the processor has atomic instructions.
pub(super) trait Cell: Copy {
    /// One processor instruction for an update, or a compare-and-swap loop; returns the old value. `None` if there is
    /// none: for floating-point numbers, and for rare updates.
    ///
    /// # Safety
    /// `at` is mapped, writable and aligned.
    unsafe fn update(at: *mut Self, update: Update, b: Self, c: Self) -> Option<Self>;
}

macro_rules! cell {
    ($int:ident, $atomic:ident, $signed:ident, $atomic_signed:ident) => {
        impl Cell for $int {
            #[inline(always)]
            unsafe fn update(at: *mut Self, update: Update, b: Self, c: Self) -> Option<Self> {
                let order = Ordering::SeqCst;
                // SAFETY: `fast` gives a place that is mapped, writable and aligned to this type.
                let cell = unsafe { $atomic::from_ptr(at) };
                // SAFETY: the same place; signed and unsigned numbers have the same bits.
                let signed = unsafe { $atomic_signed::from_ptr(at.cast()) };
                Some(match update {
                    Update::Add(_) => cell.fetch_add(b, order),
                    Update::And(_) => cell.fetch_and(b, order),
                    Update::Or(_) => cell.fetch_or(b, order),
                    Update::Xor(_) => cell.fetch_xor(b, order),
                    Update::Exchange(_) => cell.swap(b, order),
                    Update::Min(ty) if ty.is_signed() => {
                        signed.fetch_min(b as $signed, order) as $int
                    }
                    Update::Max(ty) if ty.is_signed() => {
                        signed.fetch_max(b as $signed, order) as $int
                    }
                    Update::Min(_) => cell.fetch_min(b, order),
                    Update::Max(_) => cell.fetch_max(b, order),
                    Update::CompareExchange(_) => match cell.compare_exchange(b, c, order, order) {
                        Ok(old) | Err(old) => old,
                    },
                    Update::Increment | Update::Decrement => return None,
                    Update::FloatAdd(_) | Update::FloatMin(_) | Update::FloatMax(_) => return None,
                    Update::ExchangePair | Update::CompareExchangePair => return None,
                })
            }
        }
    };
}

cell!(u32, AtomicU32, i32, AtomicI32);
cell!(u64, AtomicU64, i64, AtomicI64);

/// As [`Cell::update`], of the update's type.
///
/// # Safety
/// `at` is mapped, writable and aligned to the type's size.
pub(super) unsafe fn fast(at: *mut u8, update: Update, b: u64, c: u64) -> Option<u64> {
    // SAFETY: the place is mapped, writable and aligned to the type, whose size chooses the branch.
    unsafe {
        match update.ty().bytes() {
            4 => Cell::update(at.cast(), update, b as u32, c as u32).map(u64::from),
            8 => Cell::update(at.cast(), update, b, c),
            _ => None,
        }
    }
}
