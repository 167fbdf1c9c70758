//! `dlsym`, `dlvsym`, `dlopen`: the functions by which programs find the driver.
//!
//! Each saves the arguments and asks whether the call concerns CUDA. If not, it jumps to the real function with the
//! stack unchanged: the real function inspects its return address for RTLD_NEXT, RUNPATH and namespaces, and must see
//! the program's.

use std::arch::naked_asm;
use std::ffi::{c_char, c_void};

use cushim_interpose::loader::{self, Real, Refused};

/// A result in two registers: `decided` in rax, `value` in rdx. If `decided` is 0, `value` is the real function to
/// jump to.
#[repr(C)]
struct Answer {
    decided: usize,
    value: *mut c_void,
}

impl Answer {
    fn new(decided: Option<*mut c_void>, which: Real) -> Self {
        match decided {
            Some(value) => Answer { decided: 1, value },
            None => {
                let real = loader::real(which);
                // Without a real function there is nothing to jump to: nothing was found.
                Answer { decided: usize::from(real.is_null()), value: real }
            }
        }
    }
}

unsafe extern "C" fn decide_dlsym(
    handle: *mut c_void,
    name: *const c_char,
    caller: usize,
) -> Answer {
    // SAFETY: the arguments of the call.
    Answer::new(unsafe { loader::dlsym(&crate::exports::HOME, handle, name, caller) }, Real::Dlsym)
}

unsafe extern "C" fn decide_dlvsym(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
) -> Answer {
    // SAFETY: the arguments of the call.
    Answer::new(
        unsafe { loader::dlvsym(&crate::exports::HOME, handle, name, version) },
        Real::Dlvsym,
    )
}

unsafe extern "C" fn decide_dlopen(file: *const c_char, flags: i32, caller: usize) -> Answer {
    // SAFETY: the arguments of the call.
    let none =
        unsafe { loader::dlopen(&crate::exports::HOME, &cushim_refused, file, flags, caller) };
    Answer::new(none.then_some(std::ptr::null_mut()), Real::Dlopen)
}

/// Callers for which no driver is to be found; libcushim_audit.so writes it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
static cushim_refused: Refused = Refused::none();

/// `dlsym(handle, name)`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "mov rdx, [rsp + 16]", // the caller's return address
        "sub rsp, 8",
        "call {decide}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jnz 2f",
        "jmp rdx",
        "2:",
        "mov rax, rdx",
        "ret",
        decide = sym decide_dlsym,
    )
}

/// `dlvsym(handle, name, version)`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlvsym(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "call {decide}",
        "mov rcx, rdx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jnz 2f",
        "jmp rcx",
        "2:",
        "mov rax, rcx",
        "ret",
        decide = sym decide_dlvsym,
    )
}

/// `dlopen(file, flags)`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen(file: *const c_char, flags: i32) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "mov rdx, [rsp + 16]", // the caller's return address
        "sub rsp, 8",
        "call {decide}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jnz 2f",
        "jmp rdx",
        "2:",
        "xor eax, eax",
        "ret",
        decide = sym decide_dlopen,
    )
}
