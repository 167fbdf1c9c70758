//! Functions of libcuda by name, as programs get them through cushim's thin library.
//!
//! Owns `cuGetProcAddress` on backend `driver`: it asks libcuda, and if the result is a function that libcuda
//! exports, the program gets the thin library's jump to it, which is the address that linking and `dlsym` give, too.
//! Must not know: which form a version selects; the driver does.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use cushim_abi::index::Driver;
use cushim_abi::types::{Flags64, Ptr, Str};

use cushim_vbase::api::vcuda_driver;

type Ask = unsafe extern "C" fn(Str, Ptr, i32, Flags64) -> i32;
type AskAndTell = unsafe extern "C" fn(Str, Ptr, i32, Flags64, Ptr) -> i32;

/// libcuda's own functions.
static ASK: AtomicUsize = AtomicUsize::new(0);
static ASK_AND_TELL: AtomicUsize = AtomicUsize::new(0);

/// The replacement of libcuda's function with this number, at `address`.
pub fn instead(index: usize, address: usize) -> Option<*const ()> {
    let (real, ours) = match index {
        _ if index == Driver::cuGetProcAddress as usize => (&ASK, ask as Ask as *const ()),
        _ if index == Driver::cuGetProcAddress_v2 as usize => {
            (&ASK_AND_TELL, ask_and_tell as AskAndTell as *const ())
        }
        _ => return None,
    };
    real.store(address, Ordering::Release);
    Some(ours)
}

unsafe extern "C" fn ask(symbol: Str, to: Ptr, version: i32, flags: Flags64) -> i32 {
    let real = ASK.load(Ordering::Acquire);
    // SAFETY: libcuda's function; set before this one was handed out.
    let real = unsafe { std::mem::transmute::<usize, Ask>(real) };
    // SAFETY: forwarded as it came.
    let status = unsafe { real(symbol, to, version, flags) };
    if status == 0 {
        // SAFETY: the call has written there.
        unsafe { replace(to) };
    }
    status
}

unsafe extern "C" fn ask_and_tell(
    symbol: Str,
    to: Ptr,
    version: i32,
    flags: Flags64,
    how: Ptr,
) -> i32 {
    let real = ASK_AND_TELL.load(Ordering::Acquire);
    // SAFETY: libcuda's function; set before this one was handed out.
    let real = unsafe { std::mem::transmute::<usize, AskAndTell>(real) };
    // SAFETY: forwarded as it came.
    let status = unsafe { real(symbol, to, version, flags, how) };
    if status == 0 {
        // SAFETY: the call has written there.
        unsafe { replace(to) };
    }
    status
}

/// Puts the thin library's function where libcuda's is. Functions that it does not export stay unchanged.
unsafe fn replace(to: Ptr) {
    if to.0 == 0 {
        return;
    }
    let to = std::ptr::with_exposed_provenance_mut::<usize>(to.0);
    // SAFETY: the program's place for an address; it need not be aligned.
    let found = unsafe { to.read_unaligned() };
    let thin = number(found).and_then(cushim_vbase::front::address);
    if let Some(thin) = thin {
        // SAFETY: the program's place for an address; it need not be aligned.
        unsafe { to.write_unaligned(thin) };
    }
}

/// The number of the function at an address of libcuda.
fn number(address: usize) -> Option<usize> {
    static NUMBERS: OnceLock<HashMap<usize, usize>> = OnceLock::new();
    let all = NUMBERS.get_or_init(|| {
        let mut all = HashMap::new();
        for (index, slot) in vcuda_driver.iter().enumerate() {
            all.entry(slot.load(Ordering::Acquire).expose_provenance()).or_insert(index);
        }
        for (index, real) in
            [(Driver::cuGetProcAddress, &ASK), (Driver::cuGetProcAddress_v2, &ASK_AND_TELL)]
        {
            all.insert(real.load(Ordering::Acquire), index as usize);
        }
        all
    });
    all.get(&address).copied()
}
