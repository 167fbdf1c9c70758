//! `memcpy`, `memmove`, `memset`, `memcmp`, `bcmp`, `strlen`, `strnlen`: rustc emits calls of them.
//!
//! They are written in assembly, because the compiler would turn a loop that copies into a call of `memcpy`. Small
//! sizes matter: a launch's arguments, names. Strings are read byte by byte: a checker would report reads beyond
//! their end.

use std::arch::global_asm;

// rdi: to, rsi: from, rdx: bytes; the result is the first. Overlapping ranges are copied correctly in each case: a
// case loads what it needs in advance before it stores, and loops move away from bytes still to be read.
global_asm!(
    ".pushsection .text.cushim_apart_copy,\"ax\",@progbits",
    ".globl memcpy, memmove",
    ".hidden memcpy, memmove",
    ".type memcpy,@function",
    ".type memmove,@function",
    ".p2align 5",
    "memcpy:",
    "memmove:",
    "mov rax, rdi",
    "cmp rdx, 16",
    "jb 20f",
    "cmp rdx, 32",
    "ja 26f",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + rdx - 16], xmm1",
    "ret",
    // 33 to 64
    "26:",
    "cmp rdx, 64",
    "ja 27f",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + rdx - 32]",
    "movups xmm3, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + rdx - 32], xmm2",
    "movups [rdi + rdx - 16], xmm3",
    "ret",
    // 65 and more: where `to` lies inside of `from`, from the end.
    "27:",
    "mov rcx, rdi",
    "sub rcx, rsi",
    "cmp rcx, rdx",
    "jb 15f",
    "cmp rdx, 2048",
    "jae 14f",
    "movups xmm4, [rsi + rdx - 64]",
    "movups xmm5, [rsi + rdx - 48]",
    "movups xmm6, [rsi + rdx - 32]",
    "movups xmm7, [rsi + rdx - 16]",
    "lea r8, [rdi + rdx - 64]",
    "12:",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + 32]",
    "movups xmm3, [rsi + 48]",
    "add rsi, 64",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + 32], xmm2",
    "movups [rdi + 48], xmm3",
    "add rdi, 64",
    "cmp rdi, r8",
    "jb 12b",
    "movups [r8], xmm4",
    "movups [r8 + 16], xmm5",
    "movups [r8 + 32], xmm6",
    "movups [r8 + 48], xmm7",
    "ret",
    "14:",
    "mov rcx, rdx",
    "rep movsb",
    "ret",
    "15:",
    "movups xmm4, [rsi]",
    "movups xmm5, [rsi + 16]",
    "movups xmm6, [rsi + 32]",
    "movups xmm7, [rsi + 48]",
    "16:",
    "movups xmm0, [rsi + rdx - 64]",
    "movups xmm1, [rsi + rdx - 48]",
    "movups xmm2, [rsi + rdx - 32]",
    "movups xmm3, [rsi + rdx - 16]",
    "movups [rdi + rdx - 64], xmm0",
    "movups [rdi + rdx - 48], xmm1",
    "movups [rdi + rdx - 32], xmm2",
    "movups [rdi + rdx - 16], xmm3",
    "sub rdx, 64",
    "cmp rdx, 64",
    "ja 16b",
    "movups [rdi], xmm4",
    "movups [rdi + 16], xmm5",
    "movups [rdi + 32], xmm6",
    "movups [rdi + 48], xmm7",
    "ret",
    // 0 to 15
    "20:",
    "cmp edx, 8",
    "jb 21f",
    "mov rcx, [rsi]",
    "mov r8, [rsi + rdx - 8]",
    "mov [rdi], rcx",
    "mov [rdi + rdx - 8], r8",
    "ret",
    "21:",
    "cmp edx, 4",
    "jb 22f",
    "mov ecx, [rsi]",
    "mov r8d, [rsi + rdx - 4]",
    "mov [rdi], ecx",
    "mov [rdi + rdx - 4], r8d",
    "ret",
    "22:",
    "test edx, edx",
    "jz 23f",
    "mov r9, rdx",
    "shr r9, 1",
    "movzx ecx, byte ptr [rsi]",
    "movzx r8d, byte ptr [rsi + rdx - 1]",
    "movzx r10d, byte ptr [rsi + r9]",
    "mov [rdi], cl",
    "mov [rdi + r9], r10b",
    "mov [rdi + rdx - 1], r8b",
    "23:",
    "ret",
    ".size memcpy, . - memcpy",
    ".size memmove, . - memmove",
    ".popsection",
);

// rdi: where, sil: what, rdx: bytes; the result is the first.
global_asm!(
    ".pushsection .text.cushim_apart_set,\"ax\",@progbits",
    ".globl memset",
    ".hidden memset",
    ".type memset,@function",
    ".p2align 5",
    "memset:",
    "mov rax, rdi",
    "cmp rdx, 512",
    "jae 33f",
    "movzx esi, sil",
    "mov rcx, 0x0101010101010101",
    "imul rcx, rsi",
    "cmp rdx, 8",
    "jb 34f",
    // Eight at a time, the last eight wherever they begin.
    "lea r8, [rdi + rdx - 8]",
    "31:",
    "cmp rdi, r8",
    "jae 32f",
    "mov [rdi], rcx",
    "add rdi, 8",
    "jmp 31b",
    "32:",
    "mov [r8], rcx",
    "ret",
    "33:",
    "mov r8, rax",
    "mov eax, esi",
    "mov rcx, rdx",
    "rep stosb",
    "mov rax, r8",
    "ret",
    "34:",
    "test edx, edx",
    "jz 36f",
    "35:",
    "mov [rdi + rdx - 1], cl",
    "dec edx",
    "jnz 35b",
    "36:",
    "ret",
    ".size memset, . - memset",
    ".popsection",
);

// rdi, rsi: the two, rdx: bytes; the result has the sign of the first difference.
global_asm!(
    ".pushsection .text.cushim_apart_compare,\"ax\",@progbits",
    ".globl memcmp, bcmp",
    ".hidden memcmp, bcmp",
    ".type memcmp,@function",
    ".type bcmp,@function",
    ".p2align 5",
    "memcmp:",
    "bcmp:",
    "cmp rdx, 8",
    "jb 42f",
    "41:",
    "mov rax, [rdi]",
    "mov rcx, [rsi]",
    "cmp rax, rcx",
    "jne 45f",
    "add rdi, 8",
    "add rsi, 8",
    "sub rdx, 8",
    "cmp rdx, 8",
    "jae 41b",
    "42:",
    "test edx, edx",
    "jz 44f",
    "43:",
    "movzx eax, byte ptr [rdi]",
    "movzx ecx, byte ptr [rsi]",
    "sub eax, ecx",
    "jne 46f",
    "inc rdi",
    "inc rsi",
    "dec edx",
    "jnz 43b",
    "44:",
    "xor eax, eax",
    "ret",
    "45:",
    "bswap rax",
    "bswap rcx",
    "cmp rax, rcx",
    "sbb eax, eax",
    "or eax, 1",
    "46:",
    "ret",
    ".size memcmp, . - memcmp",
    ".popsection",
);

// rdi: the string, rsi: bytes to look at (strnlen).
global_asm!(
    ".pushsection .text.cushim_apart_length,\"ax\",@progbits",
    ".globl strlen, strnlen",
    ".hidden strlen, strnlen",
    ".type strlen,@function",
    ".type strnlen,@function",
    ".p2align 5",
    "strlen:",
    "mov rsi, -1",
    "strnlen:",
    "xor eax, eax",
    "51:",
    "cmp rax, rsi",
    "je 52f",
    "cmp byte ptr [rdi + rax], 0",
    "je 52f",
    "inc rax",
    "jmp 51b",
    "52:",
    "ret",
    ".size strlen, . - strlen",
    ".popsection",
);

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use std::ffi::{c_char, c_int, c_void};

    // The functions above, which take precedence over the C library's in the test binary.
    unsafe extern "C" {
        fn memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
        fn memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
        fn memset(to: *mut c_void, what: c_int, size: usize) -> *mut c_void;
        fn memcmp(a: *const c_void, b: *const c_void, size: usize) -> c_int;
        fn strlen(text: *const c_char) -> usize;
        fn strnlen(text: *const c_char, most: usize) -> usize;
    }

    const SIZES: [usize; 14] =
        [70, 95, 127, 128, 129, 191, 300, 511, 512, 513, 2047, 2048, 2049, 5000];

    fn sizes() -> impl Iterator<Item = usize> {
        (0..70).chain(SIZES)
    }

    fn pattern(size: usize) -> Vec<u8> {
        (0..size).map(|n| (n * 31 % 251) as u8).collect()
    }

    /// Every distance between the two ranges that selects another case, in both directions.
    #[test]
    fn copies_that_overlap_or_do_not() {
        for size in sizes() {
            for (from, to) in
                [(0, 1), (1, 0), (0, 8), (9, 0), (0, 63), (65, 0), (0, size), (size, 3)]
            {
                let mut memory = pattern(size * 2 + 200);
                let mut expected = memory.clone();
                expected.copy_within(from..from + size, to);
                let base = memory.as_mut_ptr();
                // SAFETY: both ranges lie in `memory`.
                let answer = unsafe { memmove(base.add(to).cast(), base.add(from).cast(), size) };
                assert_eq!(
                    (answer, memory == expected),
                    (base.wrapping_add(to).cast(), true),
                    "{size} {from} {to}"
                );
            }
            let (source, mut copy) = (pattern(size + 3), vec![0u8; size + 3]);
            // SAFETY: both have at least as many bytes.
            unsafe { memcpy(copy.as_mut_ptr().add(1).cast(), source.as_ptr().add(2).cast(), size) };
            assert!(
                copy[1..=size] == source[2..2 + size] && copy[size + 1..] == [0; 2] && copy[0] == 0
            );
        }
    }

    #[test]
    fn filling_fills_that_and_no_more() {
        for size in sizes() {
            let mut memory = vec![7u8; size + 2];
            let base = memory.as_mut_ptr();
            // SAFETY: the range lies in `memory`; only the low byte counts.
            let answer = unsafe { memset(base.add(1).cast(), 0x1ab, size) };
            assert_eq!(answer, base.wrapping_add(1).cast());
            assert!(memory[1..=size].iter().all(|b| *b == 0xab), "{size}");
            assert_eq!((memory[0], memory[size + 1]), (7, 7));
        }
    }

    #[test]
    fn the_first_difference_decides() {
        for size in 0..70 {
            let one = pattern(size);
            // SAFETY: the ranges have as many bytes as the call says, here and below.
            assert_eq!(unsafe { memcmp(one.as_ptr().cast(), one.as_ptr().cast(), size) }, 0);
            for at in 0..size {
                let mut other = one.clone();
                other[at] = one[at].wrapping_add(128);
                if let Some(after) = other.get_mut(at + 1) {
                    *after = !*after;
                }
                let (a, b) = (one.as_ptr().cast(), other.as_ptr().cast());
                let expected = one[at].cmp(&other[at]) as c_int;
                // SAFETY: both arrays have at least `size` bytes.
                assert_eq!(unsafe { memcmp(a, b, size) }.signum(), expected, "{size} {at}");
                // SAFETY: both arrays have at least `size` bytes.
                assert_eq!(unsafe { memcmp(b, a, size) }.signum(), -expected);
            }
        }
    }

    #[test]
    fn strings_end_at_the_first_zero() {
        let text = c"twelve bytes".as_ptr();
        // SAFETY: a C string; nothing after `most` is read.
        let found =
            unsafe { (strlen(text), strlen(c"".as_ptr()), strnlen(text, 5), strnlen(text, 99)) };
        assert_eq!(found, (12, 0, 5, 12));
    }
}
