//! An accelerator without devices, for a driver that was given none.
//!
//! Owns refusing: `cuInit` finds no device, so no other function is called. Must not know: CUDA.

use std::alloc::Layout;
use std::sync::Arc;

use cushim_accel::{Accelerator, Code, Device, Failure, Image, ImageKind, MemoryKind, Queue};

/// The accelerator.
pub struct Nothing;

fn none<T>() -> Result<T, Failure> {
    Err(Failure::NotSupported(String::from("no accelerator is available")))
}

impl Accelerator for Nothing {
    fn devices(&self) -> &[Device] {
        &[]
    }

    fn allocate(&self, _: usize, _: MemoryKind, _: Layout) -> Result<u64, Failure> {
        none()
    }

    fn free(&self, _: u64) {}

    fn register_host(&self, _: u64, _: usize) -> Result<u64, Failure> {
        none()
    }

    fn unregister_host(&self, _: u64) {}

    fn load(&self, _: usize, _: &Image<'_>) -> Result<Arc<dyn Code>, Failure> {
        none()
    }

    fn accepts(&self, _: ImageKind) -> bool {
        false
    }

    fn queue(&self, _: usize, _: i32) -> Result<Arc<dyn Queue>, Failure> {
        none()
    }

    fn copy_now(&self, _: u64, _: u64, _: usize) -> Result<(), Failure> {
        none()
    }

    fn now(&self) -> u64 {
        0
    }
}
