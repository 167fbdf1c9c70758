//! Entering generated code, and leaving it when it accesses unmapped memory.
//!
//! Owns the process's SIGSEGV and SIGBUS handlers while kernels run. A fault belongs to a kernel only if the program
//! counter is in the code that this thread has entered: then the thread continues after the point of entry, with the
//! stack as it was there. Generated code holds nothing that must be released, and helpers check before they access
//! memory. Every other fault goes to the previous handler. Must not know: kernels, blocks.

use crate::warp::{Entry, SIGNAL, Warp};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

/// A frame in generated code.
#[repr(C)]
#[derive(Debug)]
pub(super) struct TrapFrame {
    /// The stack and the address to resume with.
    stack: u64,
    resume: u64,
    code: (u64, u64),
    /// The program counter, the accessed address, and the registers at the fault, in the processor's order.
    pub(super) at: u64,
    pub(super) address: u64,
    pub(super) registers: [u64; 16],
}

/// The processor's numbers of its registers, as the system's.
const ORDER: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

thread_local! {
    static FRAME: Cell<*mut TrapFrame> = const { Cell::new(std::ptr::null_mut()) };
}

/// Bounds of all generated code there ever was: a fault elsewhere is never a kernel's, and is passed on before any
/// state of this thread is read.
static LOWEST: AtomicU64 = AtomicU64::new(u64::MAX);
static HIGHEST: AtomicU64 = AtomicU64::new(0);

/// Says where generated code lies.
pub(crate) fn announce(base: u64, size: u64) {
    LOWEST.fetch_min(base, Ordering::Relaxed);
    HIGHEST.fetch_max(base + size, Ordering::Relaxed);
}

/// Enters code. Returns its result, or [`SIGNAL`] after a fault, which the frame then describes.
///
/// # Safety
/// As for the code: the warp and its block are those that it was compiled for. `code` is its range. Below `top` is
/// enough unused memory for its stack; 0: the thread's stack is enough.
pub(super) unsafe fn enter(
    entry: Entry,
    code: (u64, u64),
    warp: *mut Warp,
    top: u64,
) -> (u32, TrapFrame) {
    let mut frame = TrapFrame { stack: 0, resume: 0, code, at: 0, address: 0, registers: [0; 16] };
    let place = &raw mut frame;
    FRAME.set(place);
    // SAFETY: the caller's promise; `place` outlives the call.
    let status = unsafe { call(entry, warp, place, top) };
    FRAME.set(std::ptr::null_mut());
    (status, frame)
}

/// Calls `entry(warp)` with the registers that a callee preserves on the stack, so that the handler
/// can come back here from anywhere in it; on another stack if there is one.
#[unsafe(naked)]
unsafe extern "C" fn call(entry: Entry, warp: *mut Warp, frame: *mut TrapFrame, top: u64) -> u32 {
    core::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "mov [rdx], rsp",
        "lea rax, [rip + 2f]",
        "mov [rdx + 8], rax",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rbx, rdx",
        "test rcx, rcx",
        "cmovnz rsp, rcx",
        "call rax",
        "mov rsp, [rbx]",
        "2:",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Resumes after the point where this thread entered generated code, as if that had returned `status`.
///
/// # Safety
/// This thread is in generated code, or in a function that it called, which has nothing left to drop.
pub(super) unsafe fn leave(status: u32) -> ! {
    let frame = FRAME.get();
    if frame.is_null() {
        std::process::abort();
    }
    // SAFETY: the frame of this thread; its stack is as it was when the code was called.
    unsafe { jump((*frame).stack, (*frame).resume, status) }
}

#[unsafe(naked)]
unsafe extern "C" fn jump(stack: u64, resume: u64, status: u32) -> ! {
    core::arch::naked_asm!("mov rsp, rdi", "mov eax, edx", "jmp rsi")
}

const SIGNALS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];
/// The previous handler of each signal; never freed, because another thread may be reading it.
static BEFORE: [AtomicPtr<libc::sigaction>; 2] =
    [AtomicPtr::new(std::ptr::null_mut()), AtomicPtr::new(std::ptr::null_mut())];
static INSTALLING: Mutex<()> = Mutex::new(());
/// The thread whose fault was passed on last.
static PASSED_ON: AtomicI32 = AtomicI32::new(0);

/// Installs the signal handlers; a program may have set its own handler since the last launch.
pub(super) fn install() {
    let ours = on_fault as *const () as usize;
    for (signal, before) in SIGNALS.iter().zip(&BEFORE) {
        // SAFETY: zeros are an action with no flags and an empty set.
        let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: asks only.
        unsafe { libc::sigaction(*signal, std::ptr::null(), &raw mut now) };
        if now.sa_sigaction == ours {
            continue;
        }
        let _one = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: asks only; somebody may have been faster.
        unsafe { libc::sigaction(*signal, std::ptr::null(), &raw mut now) };
        if now.sa_sigaction == ours {
            continue;
        }
        before.store(Box::into_raw(Box::new(now)), Ordering::Release);
        // SAFETY: all bits zero is a `sigaction` without handler, mask and flags.
        let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
        new.sa_sigaction = ours;
        // A handler that gets the signal next may need the alternate stack, or be entered again.
        new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | (now.sa_flags & libc::SA_NODEFER);
        new.sa_mask = now.sa_mask;
        // SAFETY: a handler that does only what a handler may.
        unsafe { libc::sigaction(*signal, &raw const new, std::ptr::null_mut()) };
    }
}

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a context, which nobody else looks at now.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let at = registers[libc::REG_RIP as usize] as u64;
    if at >= LOWEST.load(Ordering::Relaxed) && at < HIGHEST.load(Ordering::Relaxed) {
        let frame = FRAME.get();
        // SAFETY: null, or the frame of this thread, which is in generated code.
        if let Some(frame) = unsafe { frame.as_mut() }
            && at >= frame.code.0
            && at < frame.code.1
        {
            frame.at = at;
            // SAFETY: the kernel passes what it knows of the fault.
            frame.address = unsafe { (*info).si_addr() } as u64;
            for (to, from) in frame.registers.iter_mut().zip(ORDER) {
                *to = registers[from as usize] as u64;
            }
            registers[libc::REG_RIP as usize] = frame.resume as i64;
            registers[libc::REG_RSP as usize] = frame.stack as i64;
            registers[libc::REG_RAX as usize] = i64::from(SIGNAL);
            return;
        }
    }
    // Code looks closer then.
    let entered = !FRAME.get().is_null();
    if let Some(next) = entered.then(|| super::together::after_fault(at)).flatten() {
        registers[libc::REG_RIP as usize] = next as i64;
        return;
    }
    pass_on(signal, info, context);
}

/// A fault of the program's own.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: no arguments.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    // SAFETY: the kernel passes what it knows of the signal.
    let sent = unsafe { (*info).si_code } <= 0;
    // A handler that restores cushim's and raises the signal again means the default action.
    let again = PASSED_ON.swap(thread, Ordering::Relaxed) == thread && sent;
    let before = SIGNALS.iter().position(|s| *s == signal).map(|n| &BEFORE[n]);
    let before = before.map_or(std::ptr::null_mut(), |b| b.load(Ordering::Acquire));
    // SAFETY: null or never freed.
    let before = unsafe { before.as_ref() }.filter(|_| !again);
    match before {
        Some(b) if b.sa_sigaction != libc::SIG_DFL && b.sa_sigaction != libc::SIG_IGN => {
            if b.sa_flags & libc::SA_SIGINFO != 0 {
                type Full = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
                // SAFETY: the flag says that the program's handler has this signature.
                let handler = unsafe { std::mem::transmute::<usize, Full>(b.sa_sigaction) };
                handler(signal, info, context);
            } else {
                // SAFETY: without the flag it has this one.
                let handler =
                    unsafe { std::mem::transmute::<usize, extern "C" fn(i32)>(b.sa_sigaction) };
                handler(signal);
            }
        }
        _ => {
            // The instruction runs again, and the default action follows; a sent signal is sent again.
            // SAFETY: sets the default; sends to this thread only.
            unsafe {
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const new, std::ptr::null_mut());
                if sent {
                    libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal);
                }
            }
        }
    }
}
