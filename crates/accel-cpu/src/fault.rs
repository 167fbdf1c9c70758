//! Converts a kernel's fault to a [`Failure`]: CUDA's kind of error, and a message for people.
//!
//! Owns the names in the message (as in C++, followed by the symbol), and the memory near an invalid address. Must
//! not know: how kernels run.

use cushim_check::stray::stray;
use cushim_check::variable;
pub use cushim_names::in_source as named;
use cushim_ptx::exec::{Cause, Fault, KernelLaunch, beside};
use cushim_ptx_jit::Mapped as _;

use super::memory::Memory;
use cushim_accel::Failure;

/// A fault of a launch by CUDA's error codes.
pub fn failure(fault: &Fault, launch: &KernelLaunch<'_>, memory: &Memory) -> Failure {
    let near = match *fault.cause {
        Cause::Address { address, bytes, space: "global" } => near(memory, address, bytes.into()),
        Cause::Address { address, bytes, .. } => {
            let of = fault.variable(launch.module, launch.dynamic_shared);
            of.map(|of| variable::near(&of, (address, bytes.into())))
        }
        _ => None,
    };
    let text = fault.message(&named, near.as_deref());
    match *fault.cause {
        Cause::Address { .. } | Cause::Handle { .. } | Cause::Surface { .. } => {
            Failure::IllegalAddress(text)
        }
        Cause::Misaligned { .. } => Failure::Misaligned(text),
        Cause::Assert => Failure::Assert(text),
        Cause::TensorPlace { .. } | Cause::TensorReduction { .. } => {
            Failure::IllegalInstruction(text)
        }
        Cause::Refused { .. } => Failure::NotSupported(text),
        _ => Failure::Launch(text),
    }
}

const READ_ONLY: &str = "which is mapped for reading only, expected memory that may be written";

fn is_read_only(memory: &Memory, address: u64, bytes: u64) -> bool {
    memory.holds(address, bytes) && !memory.takes(address, bytes)
}

/// A fact about a fault's address that only the memory knows: that it is mapped read-only.
pub fn protection(fault: &Fault, memory: &Memory) -> Option<&'static str> {
    match *fault.cause {
        Cause::Address { address, bytes, space: "global" } => {
            is_read_only(memory, address, bytes.into()).then_some(READ_ONLY)
        }
        _ => None,
    }
}

/// The position of unmapped bytes, relative to the nearest allocation.
fn near(memory: &Memory, address: u64, bytes: u64) -> Option<String> {
    if is_read_only(memory, address, bytes) {
        return Some(READ_ONLY.to_owned());
    }
    if let Some(checker) = &memory.checker {
        return checker.near(address, bytes).map(|near| near.text);
    }
    let nearest = memory.arena.nearest(address, bytes);
    if let Some(stray) = stray(address, nearest, memory.arena.contains(address)) {
        return Some(stray.unexpected());
    }
    let (at, size) = nearest?;
    let whole = format!("an allocation of {size} bytes at {at:#x}");
    Some(beside((address, bytes), (at, size), &whole))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_seen_from_the_nearest_allocation() {
        let memory = Memory::new();
        let at = memory.arena.allocate(1000, 1).unwrap();
        let whole = format!("an allocation of 1000 bytes at {at:#x}");
        let cases = [
            (at + 1000, format!("right after {whole}")),
            (at + 5096, format!("4096 bytes after {whole}")),
            (at - 12, format!("8 bytes before {whole}")),
            (at + 998, format!("across a bound of {whole}")),
        ];
        for (address, expected) in cases {
            assert_eq!(near(&memory, address, 4), Some(expected));
        }
        let inside = "expected an address inside an allocation";
        assert_eq!(near(&memory, 8, 4).unwrap(), format!("8 bytes from a null pointer, {inside}"));
        let own = (&raw const whole).expose_provenance() as u64;
        let host = format!("which is ordinary memory of the host, {inside}");
        assert_eq!(near(&memory, own, 4).unwrap(), host);
        assert!(memory.arena.free(at));
        assert_eq!(near(&memory, at, 4).unwrap(), inside, "nothing is allocated");
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(named("plain"), "plain");
        assert_eq!(named("_Z6gatherPfi"), "gather(float*, int) (_Z6gatherPfi)");
    }
}
