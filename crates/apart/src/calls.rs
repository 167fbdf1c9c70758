//! System calls under the C library's names, so that no other interposer intercepts them.
//!
//! None is a thread-cancellation point, and none checks its arguments. Results and errno are as in the C library.
//! Numbers: arch/x86/entry/syscalls/syscall_64.tbl of Linux.

use std::arch::global_asm;
use std::ffi::c_long;

/// Sets errno where the kernel returned an error. `code` is what it returned.
extern "C" fn failed(code: c_long) -> c_long {
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = -code as i32 };
    -1
}

/// Functions that are one system call with the same arguments.
macro_rules! plain {
    ($($name:literal = $number:literal,)*) => {
        global_asm!(
            ".pushsection .text.cushim_apart_calls,\"ax\",@progbits",
            ".p2align 4",
            $(
                concat!(".globl ", $name),
                concat!(".hidden ", $name),
                concat!(".type ", $name, ",@function"),
                concat!($name, ":"),
                concat!("mov eax, ", $number),
                "jmp 60f",
            )*
            "60:",
            "mov r10, rcx",
            "syscall",
            "61:",
            "cmp rax, -4095",
            "jae 62f",
            "ret",
            "62:",
            "mov rdi, rax",
            "jmp {failed}",
            // open(path, flags, mode) is openat(AT_FDCWD, …): sandboxes know that one.
            ".globl open, open64",
            ".hidden open, open64",
            ".type open,@function",
            ".type open64,@function",
            "open:",
            "open64:",
            "mov ecx, edx",
            "mov edx, esi",
            "mov rsi, rdi",
            "mov edi, -100",
            "mov eax, 257",
            "jmp 60b",
            // syscall(number, …): the arguments move by one.
            ".globl syscall",
            ".hidden syscall",
            ".type syscall,@function",
            "syscall:",
            "mov rax, rdi",
            "mov rdi, rsi",
            "mov rsi, rdx",
            "mov rdx, rcx",
            "mov r10, r8",
            "mov r8, r9",
            "mov r9, [rsp + 8]",
            "syscall",
            "jmp 61b",
            // This one returns the error number itself.
            ".globl clock_nanosleep",
            ".hidden clock_nanosleep",
            ".type clock_nanosleep,@function",
            "clock_nanosleep:",
            "mov eax, 230",
            "mov r10, rcx",
            "syscall",
            "neg eax",
            "ret",
            ".popsection",
            failed = sym failed,
        );
    };
}

plain! {
    "read" = 0,
    "write" = 1,
    "close" = 3,
    "stat64" = 4,
    "fstat" = 5,
    "fstat64" = 5,
    "lstat64" = 6,
    "poll" = 7,
    "lseek64" = 8,
    "mmap" = 9,
    "mmap64" = 9,
    "mprotect" = 10,
    "munmap" = 11,
    "pwrite" = 18,
    "writev" = 20,
    "sched_yield" = 24,
    "mremap" = 25,
    "madvise" = 28,
    "getpid" = 39,
    "fcntl" = 72,
    "fcntl64" = 72,
    "rename" = 82,
    "mkdir" = 83,
    "unlink" = 87,
    "readlink" = 89,
    "getrlimit" = 97,
    "geteuid" = 107,
    "getppid" = 110,
    "gettid" = 186,
    "openat" = 257,
    "openat64" = 257,
    "fstatat" = 262,
    "fstatat64" = 262,
    "unlinkat" = 263,
    "renameat" = 264,
    "fallocate" = 285,
    "statx" = 332,
}

#[cfg(test)]
mod tests {
    use std::io;

    #[test]
    fn answers_and_errors_are_those_of_the_c_library() {
        // SAFETY: strings, places and numbers that the calls accept.
        unsafe {
            let fd = libc::open(c"/proc/self/comm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            assert!(fd >= 0);
            assert_eq!(libc::fcntl(fd, libc::F_GETFD), libc::FD_CLOEXEC);
            assert!(libc::read(fd, [0u8; 4].as_mut_ptr().cast(), 4) > 0);
            assert_eq!(libc::close(fd), 0);
            assert_eq!(libc::close(fd), -1);
            assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
            let same = |a: i32, b: i64| assert_eq!(i64::from(a), b);
            same(libc::getpid(), libc::syscall(libc::SYS_getpid));
            let none = libc::open(c"/no/such".as_ptr(), libc::O_RDONLY);
            assert_eq!((none, io::Error::last_os_error().kind()), (-1, io::ErrorKind::NotFound));
            let bad = libc::timespec { tv_sec: -1, tv_nsec: 0 };
            let slept = libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &bad, std::ptr::null_mut());
            assert_eq!(slept, libc::EINVAL);
            // A call with six arguments: mmap by its number.
            let page = libc::syscall(libc::SYS_mmap, 0, 4096, libc::PROT_READ, 0x22, -1, 0);
            assert!(page > 0 && libc::munmap(page as *mut _, 4096) == 0);
        }
    }
}
