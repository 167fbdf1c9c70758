//! The driver function of a runtime kernel.
//!
//! Must not know: who needs it.

use std::ffi::CStr;

use cushim_process::elf::{self, Version};

use crate::device;
use crate::site::Site;

/// The `CUfunction` that the runtime of `site` launches for `symbol` (a host stub), in the current
/// context. The outer `None`: asking now would clear the runtime's last error; the inner one: the
/// runtime has no such function. The runtime may load the kernel's module for this.
pub fn function(site: &'static Site, symbol: usize) -> Option<Option<usize>> {
    type Plain = unsafe extern "C-unwind" fn() -> i32;
    type Get = unsafe extern "C-unwind" fn(*mut usize, usize) -> i32;
    let node = site.node?;
    let real = |name: &CStr| elf::next(name, Version::Node(node), |_| true);
    let (peek, clear) = (real(c"cudaPeekAtLastError")?, real(c"cudaGetLastError")?);
    let get = real(c"cudaGetFuncBySymbol")?;
    let mut function = 0;
    // SAFETY: the runtime's functions of these names and their signatures; the place is valid.
    unsafe {
        if std::mem::transmute::<usize, Plain>(peek)() != 0 {
            return None;
        }
        let get = std::mem::transmute::<usize, Get>(get);
        let status = device::relaxed(|| get(&mut function, symbol));
        if status != 0 {
            // Ours, not the program's.
            std::mem::transmute::<usize, Plain>(clear)();
            return Some(None);
        }
    }
    Some((function != 0).then_some(function))
}
