//! Fatal errors of a device, as CUDA's kinds of errors and as messages.
//!
//! Owns the messages: which kernel, which address, why. Must not know: queues.

use cushim_accel::Failure;

use crate::api::Api;
use crate::ffi::*;
use crate::flight::What;

/// Reasons of a memory fault (`hsa_amd_memory_fault_reason_t`).
const REASONS: [(u32, &str); 8] = [
    (1 << 0, "nothing is mapped there"),
    (1 << 1, "the page is read-only"),
    (1 << 2, "the page is not executable"),
    (1 << 3, "the page is the host's alone"),
    (1 << 4, "an error of the memory that could not be corrected"),
    (1 << 5, "the address is inexact"),
    (1 << 6, "an error of on-chip memory that could not be corrected"),
    (1 << 31, "the device hangs"),
];

/// A queue's error. `asserted`: a kernel's assertion has failed, which ends it by a trap.
pub fn of_queue(api: &Api, status: Status, asserted: bool, what: Option<&What>) -> Failure {
    let subject = subject(what);
    let text = |what: &str| format!("{subject}: {what}");
    match status {
        MEMORY_FAULT | APERTURE_VIOLATION => {
            Failure::IllegalAddress(text("an address of a space that it is not in"))
        }
        ILLEGAL_INSTRUCTION => Failure::Launch(text("an instruction that the GPU does not have")),
        EXCEPTION if asserted => Failure::Assert(text("an assertion failed")),
        EXCEPTION => Failure::Launch(text("it was ended by a trap")),
        OUT_OF_RESOURCES => Failure::Launch(text("the GPU has too little scratch memory for it")),
        status => Failure::Launch(text(&api.text(status))),
    }
}

/// A memory fault of a device.
pub fn of_memory(address: u64, reasons: u32, what: Option<&What>) -> Failure {
    let told = REASONS.iter().filter(|(bit, _)| reasons & bit != 0).map(|(_, text)| *text);
    let told: Vec<_> = told.collect();
    let why = if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) };
    let text = format!("{} touched {address:#x}{why}", subject(what));
    match reasons & (1 << 4 | 1 << 6 | 1 << 31) {
        0 => Failure::IllegalAddress(text),
        _ => Failure::Launch(text),
    }
}

fn subject(what: Option<&What>) -> String {
    match what {
        Some(What::Kernel(symbol)) => format!("kernel {}", cushim_names::in_source(symbol)),
        Some(What::Copy) => "a copy".into(),
        Some(What::Barrier) | None => "the GPU".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_kernel_address_and_reason() {
        let kernel = What::Kernel("_Z4sumsPf".into());
        let found = of_memory(0x1000, 3, Some(&kernel));
        let text = "kernel sums(float*) (_Z4sumsPf) touched 0x1000: nothing is mapped there, the page is read-only";
        assert_eq!(found, Failure::IllegalAddress(text.into()));
        let broken = of_memory(0x10, 1 << 6, None);
        assert!(
            matches!(broken, Failure::Launch(text) if text.starts_with("the GPU touched 0x10: an error"))
        );
    }
}
