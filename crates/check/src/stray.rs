//! Addresses outside of every allocation.
//!
//! Owns the messages about null pointers, ordinary host memory, and addresses far from everything. Must not know
//! allocations: the caller passes the nearest one.

/// No allocation is ever below this: an address there comes from a null pointer.
const NULL: u64 = 1 << 16;

/// Bytes: farther than a 32-bit index goes with elements of 16 bytes. An address farther from an allocation than
/// this has nothing to do with it.
const FAR: u64 = 1 << 36;

/// What an address is that no allocation explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stray {
    /// A null pointer, or so many bytes after one.
    Null(u64),
    /// Memory of the process that is unknown to CUDA.
    Host,
    /// Far from every allocation.
    Far,
}

impl Stray {
    /// What it is, in words that follow a comma; nothing where nothing is known.
    pub fn words(self) -> Option<String> {
        match self {
            Stray::Null(0) => Some("a null pointer".to_owned()),
            Stray::Null(bytes) => Some(format!("{bytes} bytes from a null pointer")),
            Stray::Host => Some("which is ordinary memory of the host".to_owned()),
            Stray::Far => None,
        }
    }

    /// The same as the end of a message about an access.
    pub fn unexpected(self) -> String {
        let expected = "expected an address inside an allocation";
        self.words().map_or_else(|| expected.to_owned(), |words| format!("{words}, {expected}"))
    }
}

/// The kind of an address that the nearest allocation (its start and size) does not explain; `None` if it does.
/// `ours` says whether the address is in the range of allocations.
pub fn stray(address: u64, nearest: Option<(u64, u64)>, ours: bool) -> Option<Stray> {
    if address < NULL {
        return Some(Stray::Null(address));
    }
    let gap = |(at, bytes): (u64, u64)| {
        at.saturating_sub(address).max(address.saturating_sub(at.saturating_add(bytes)))
    };
    if nearest.is_some_and(|nearest| gap(nearest) <= FAR) {
        return None;
    }
    Some(if !ours && is_readable(address) { Stray::Host } else { Stray::Far })
}

/// Whether the process could read a byte there. If that cannot be tested, it counts as unreadable.
fn is_readable(address: u64) -> bool {
    let mut byte = 0_u8;
    let to = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let from =
        libc::iovec { iov_base: std::ptr::without_provenance_mut(address as usize), iov_len: 1 };
    // SAFETY: the kernel checks the address that is read from and answers with an error; the other is a byte of ours.
    let got = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
    got == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_near_an_allocation_is_explained_by_it() {
        let at = 0x7000_0000_0000;
        let of = |address| stray(address, Some((at, 4096)), true);
        assert_eq!(of(at + 8), None);
        assert_eq!(of(at + 4096 + FAR), None);
        assert_eq!(of(at - FAR), None);
        assert_eq!(of(at - FAR - 1), Some(Stray::Far));
        assert_eq!(of(at + 4097 + FAR), Some(Stray::Far));
    }

    #[test]
    fn null_pointers_and_memory_of_the_host_are_called_that() {
        let near = Some((NULL * 2, 4096));
        assert_eq!(stray(0, near, false), Some(Stray::Null(0)));
        assert_eq!(stray(40, near, false), Some(Stray::Null(40)));
        let own = Box::new(1_u32);
        let address = (&raw const *own).expose_provenance() as u64;
        assert_eq!(stray(address, None, false), Some(Stray::Host));
        assert_eq!(stray(address, None, true), Some(Stray::Far));
        assert_eq!(stray(1 << 63, None, false), Some(Stray::Far));
        let said = Stray::Null(40).unexpected();
        assert_eq!(said, "40 bytes from a null pointer, expected an address inside an allocation");
    }
}
