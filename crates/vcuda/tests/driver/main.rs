//! Memory and order of cushim's driver, called as programs call it, with the mock accelerator and with the CPU.
//!
//! The driver's state belongs to the process: each test runs in its own process, once for each accelerator.

#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use cushim_testkit::vcuda_copies as arguments;
mod bounds;
mod captures;
mod conditions;
mod device_graphs;
mod failures;
mod graphs;
mod mapped;
mod memory;
mod order;
mod others;
mod pools;
mod streams;

use cushim_abi::types::*;
use vcuda::api;

/// Runs a test in a child process for each accelerator; returns true in the child.
pub fn in_child(test: &str) -> bool {
    if std::env::var_os("VCUDA_TEST_CHILD").is_some() {
        vcuda::choose::offer("mock", || Box::new(cushim_accel_mock::new()));
        return true;
    }
    for backend in ["mock", "cpu"] {
        let output = std::process::Command::new("timeout")
            .arg("60")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env("VCUDA_TEST_CHILD", "1")
            .env("CUSHIM_BACKEND", backend)
            .env("CUSHIM_CPU_THREADS", "2")
            // What is free depends on nothing else on the machine.
            .env("CUSHIM_CPU_MEMORY", "1G")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{test} over {backend}: {}\n{text}", output.status);
        let ran = String::from_utf8_lossy(&output.stdout).contains("1 passed");
        assert!(ran, "{test} over {backend} ran nothing");
    }
    false
}

/// Initialises the driver and makes a context current.
pub fn start() -> Context {
    let mut context = Context(0);
    unsafe {
        assert_eq!(api::cuInit(Flags(0)), 0);
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0)), 0);
        assert_eq!(api::cuCtxSetCurrent(context), 0);
    }
    context
}

pub fn place<T>(value: &T) -> Ptr {
    Ptr(std::ptr::from_ref(value).expose_provenance())
}

pub fn place_mut<T>(value: &mut T) -> Ptr {
    Ptr(std::ptr::from_mut(value).expose_provenance())
}

/// Allocates device memory with these bytes.
pub fn device(bytes: &[u8]) -> Ptr {
    let mut at = Ptr(0);
    unsafe {
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut at), bytes.len()), 0);
        let from = Ptr(bytes.as_ptr().expose_provenance());
        assert_eq!(api::cuMemcpyHtoD_v2(at, from, bytes.len()), 0);
    }
    at
}

/// The bytes at an address of the device.
pub fn bytes<const N: usize>(at: Ptr) -> [u8; N] {
    let mut to = [0u8; N];
    assert_eq!(unsafe { api::cuMemcpyDtoH_v2(place_mut(&mut to), at, N) }, 0);
    to
}
