//! The functions for processors with AVX2 and without AVX-512.
//!
//! Owns their instructions on 32 bytes, and the six vectors and three registers that they save, because generated
//! code uses all of these. Four or eight addresses are checked at once. Lanes are loaded one after the other into a
//! vector: gathers are no faster (`vpgatherqd` on Zen 3). For inactive lanes, a load reads at the address of the
//! first active lane.

use super::frame::{Function, function, functions};
use crate::warp::{Together, Warp};
use std::mem::offset_of;

/// A table of a number for each lane.
macro_rules! of_lanes {
    ($name:ident: $t:ty, $l:ident: $number:expr) => {
        static $name: [$t; 32] = {
            let (mut table, mut $l) = ([0; 32], 0);
            while $l < 32 {
                table[$l as usize] = $number;
                $l += 1;
            }
            table
        };
    };
}

of_lanes!(BITS_4: u32, l: 1 << l);
of_lanes!(BITS_8: u64, l: 1 << l);
// The offsets of a row's elements from the first, by the size of an address and of an element.
of_lanes!(SHARED_4: u32, l: 4 * l);
of_lanes!(ROW_4: u64, l: 4 * l);
of_lanes!(ROW_8: u64, l: 8 * l);

/// Repeats lines for `\k` from 0 on.
macro_rules! four {
    ($($line:expr),* $(,)?) => { concat!(".irp k,0,1,2,3\n", $($line, "\n",)* ".endr") };
}
macro_rules! eight {
    ($($line:expr),* $(,)?) => { concat!(".irp k,0,1,2,3,4,5,6,7\n", $($line, "\n",)* ".endr") };
}
macro_rules! sixteen {
    ($($line:expr),* $(,)?) => {
        concat!(".irp k,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n", $($line, "\n",)* ".endr")
    };
}

/// Ends where no lane takes part. Where some do not, their addresses of 64 bits become that of the first lane that does. Goes on at 20.
macro_rules! replaced_in_device {
    () => {
        concat!(
            "cmp esi, -1\nje 20f\n",
            "test esi, esi\njz 8f\n",
            "tzcnt ecx, esi\n",
            "vpbroadcastq ymm0, [rdi + {addresses} + 8 * rcx]\n",
            "mov ecx, esi\nvmovq xmm1, rcx\nvpbroadcastq ymm1, xmm1\n",
            "lea rax, [rip + {bits_8}]\n",
            eight![
                "vpand ymm2, ymm1, [rax + 32 * \\k]",
                "vpcmpeqq ymm2, ymm2, [rax + 32 * \\k]",
                "vmovdqu xmm3, [rdi + {addresses} + 32 * \\k]",
                "vinserti128 ymm3, ymm3, [rdi + {addresses} + 32 * \\k + 16], 1",
                "vpblendvb ymm3, ymm0, ymm3, ymm2",
                "vmovdqu [rdi + {addresses} + 32 * \\k], ymm3",
            ],
            "\n20:"
        )
    };
}

/// The same for 32-bit offsets.
macro_rules! replaced_in_shared {
    () => {
        concat!(
            "cmp esi, -1\nje 20f\n",
            "test esi, esi\njz 8f\n",
            "tzcnt ecx, esi\n",
            "vpbroadcastd ymm0, [rdi + {addresses} + 4 * rcx]\n",
            "vmovd xmm1, esi\nvpbroadcastd ymm1, xmm1\n",
            "lea rax, [rip + {bits_4}]\n",
            four![
                "vpand ymm2, ymm1, [rax + 32 * \\k]",
                "vpcmpeqd ymm2, ymm2, [rax + 32 * \\k]",
                "vmovdqu xmm3, [rdi + {addresses} + 32 * \\k]",
                "vinserti128 ymm3, ymm3, [rdi + {addresses} + 32 * \\k + 16], 1",
                "vpblendvb ymm3, ymm0, ymm3, ymm2",
                "vmovdqu [rdi + {addresses} + 32 * \\k], ymm3",
            ],
            "\n20:"
        )
    };
}

/// Exits if one of 32 addresses is outside of device memory, or misaligned. An offset is outside if its highest bit
/// is set, or that of the difference to the end.
macro_rules! device {
    ($bytes:literal) => {
        concat!(
            "mov rax, [rdi + {arena}]\n",
            "mov rcx, [rdi + {arena_size}]\n",
            "sub rcx, ",
            $bytes,
            "\njb 3b\n",
            "vmovq xmm0, rax\nvpbroadcastq ymm0, xmm0\n",
            "vmovq xmm1, rcx\nvpbroadcastq ymm1, xmm1\n",
            "vpxor xmm2, xmm2, xmm2\n",
            "vpxor xmm3, xmm3, xmm3\n",
            eight![
                "vmovdqu xmm4, [rdi + {addresses} + 32 * \\k]",
                "vinserti128 ymm4, ymm4, [rdi + {addresses} + 32 * \\k + 16], 1",
                "vpsubq ymm4, ymm4, ymm0",
                "vpsubq ymm5, ymm1, ymm4",
                "vpor ymm3, ymm3, ymm4",
                "vpor ymm2, ymm2, ymm5",
            ],
            "\nvpor ymm2, ymm2, ymm3\n",
            "vmovmskpd ecx, ymm2\n",
            "test ecx, ecx\njnz 3b\n",
            "mov ecx, ",
            $bytes,
            " - 1\nvmovq xmm4, rcx\nvpbroadcastq ymm4, xmm4\n",
            "vpor ymm3, ymm3, ymm0\n",
            "vptest ymm3, ymm4\njnz 3b"
        )
    };
}

/// The same for 32 offsets in shared memory, which begins at `rax`.
macro_rules! shared {
    () => {
        concat!(
            "mov rax, [rdi + {shared}]\n",
            "mov rcx, [rdi + {shared_size}]\n",
            "sub rcx, 4\njb 3b\n",
            "vmovd xmm1, ecx\nvpbroadcastd ymm1, xmm1\n",
            "vpxor xmm2, xmm2, xmm2\n",
            "vpxor xmm3, xmm3, xmm3\n",
            four![
                "vmovdqu xmm4, [rdi + {addresses} + 32 * \\k]",
                "vinserti128 ymm4, ymm4, [rdi + {addresses} + 32 * \\k + 16], 1",
                "vpsubd ymm5, ymm1, ymm4",
                "vpor ymm3, ymm3, ymm4",
                "vpor ymm2, ymm2, ymm5",
            ],
            "\nvpor ymm2, ymm2, ymm3\n",
            "vmovmskps ecx, ymm2\n",
            "test ecx, ecx\njnz 3b\n",
            "mov ecx, 3\nvmovd xmm4, ecx\nvpbroadcastd ymm4, xmm4\n",
            "vptest ymm3, ymm4\njnz 3b"
        )
    };
}

/// Jumps to 22 unless the lanes' addresses are adjacent, from `rcx` on.
macro_rules! row_of_device {
    ($row:literal, $last:literal) => {
        concat!(
            "mov rcx, [rdi + {addresses}]\n",
            "mov rax, [rdi + {addresses} + 248]\n",
            "sub rax, rcx\n",
            "cmp rax, ",
            $last,
            "\njne 22f\n",
            "vmovq xmm0, rcx\nvpbroadcastq ymm0, xmm0\n",
            "vpcmpeqd ymm2, ymm2, ymm2\n",
            "lea rax, [rip + {",
            $row,
            "}]\n",
            eight![
                "vpaddq ymm1, ymm0, [rax + 32 * \\k]",
                "vmovdqu xmm3, [rdi + {addresses} + 32 * \\k]",
                "vinserti128 ymm3, ymm3, [rdi + {addresses} + 32 * \\k + 16], 1",
                "vpcmpeqq ymm1, ymm1, ymm3",
                "vpand ymm2, ymm2, ymm1",
            ],
            "\nvpmovmskb eax, ymm2\n",
            "cmp eax, -1\njne 22f"
        )
    };
}

/// The same for shared memory.
macro_rules! row_of_shared {
    () => {
        concat!(
            "mov ecx, [rdi + {addresses}]\n",
            "mov r8d, [rdi + {addresses} + 124]\n",
            "sub r8d, ecx\n",
            "cmp r8d, 124\njne 22f\n",
            "vmovd xmm0, ecx\nvpbroadcastd ymm0, xmm0\n",
            "vpcmpeqd ymm2, ymm2, ymm2\n",
            "lea r8, [rip + {shared_4}]\n",
            four![
                "vpaddd ymm1, ymm0, [r8 + 32 * \\k]",
                "vmovdqu xmm3, [rdi + {addresses} + 32 * \\k]",
                "vinserti128 ymm3, ymm3, [rdi + {addresses} + 32 * \\k + 16], 1",
                "vpcmpeqd ymm1, ymm1, ymm3",
                "vpand ymm2, ymm2, ymm1",
            ],
            "\nvpmovmskb r8d, ymm2\n",
            "cmp r8d, -1\njne 22f\n",
            "add rcx, rax"
        )
    };
}

/// A store of so many bytes for each lane, by a register of that size: as a row of eight or sixteen times 16 bytes, lane by lane, or of some
/// lanes.
macro_rules! store_in_device {
    ($bytes:literal, $row:literal, $last:literal, $value:literal, $row_of:ident) => {
        concat!(
            replaced_in_device!(),
            "\n",
            device!($bytes),
            "\ncmp esi, -1\njne 23f\n",
            row_of_device!($row, $last),
            "\n",
            $row_of![
                "vmovdqu xmm0, [rdi + {values} + 16 * \\k]",
                "vmovdqu [rcx + 16 * \\k], xmm0",
            ],
            "\njmp 8f\n22:\n",
            sixteen![
                "mov rax, [rdi + {addresses} + 16 * \\k]",
                concat!("mov ", $value, ", [rdi + {values} + 2 * ", $bytes, " * \\k]"),
                concat!("mov [rax], ", $value),
                "mov rax, [rdi + {addresses} + 16 * \\k + 8]",
                concat!("mov ", $value, ", [rdi + {values} + 2 * ", $bytes, " * \\k + ", $bytes, "]"),
                concat!("mov [rax], ", $value),
            ],
            "\njmp 8f\n23:\nmov eax, esi\n",
            "24:\ntzcnt ecx, eax\n",
            "mov r8, [rdi + {addresses} + 8 * rcx]\n",
            concat!("mov ", $value, ", [rdi + {values} + ", $bytes, " * rcx]\n"),
            concat!("mov [r8], ", $value, "\n"),
            "blsr eax, eax\njnz 24b"
        )
    };
}

functions! {
    {
        enter: concat!(
            "push rax\npush rcx\npush r8\nsub rsp, 96\n",
            "vmovups [rsp], xmm0\nvmovups [rsp + 16], xmm1\nvmovups [rsp + 32], xmm2\n",
            "vmovups [rsp + 48], xmm3\nvmovups [rsp + 64], xmm4\nvmovups [rsp + 80], xmm5"
        ),
        leave: concat!(
            "vzeroupper\n",
            "vmovups xmm0, [rsp]\nvmovups xmm1, [rsp + 16]\nvmovups xmm2, [rsp + 32]\n",
            "vmovups xmm3, [rsp + 48]\nvmovups xmm4, [rsp + 64]\nvmovups xmm5, [rsp + 80]\n",
            "add rsp, 96\npop r8\npop rcx\npop rax"
        ),
        constants: [],
        tables: [bits_4 = BITS_4, bits_8 = BITS_8, shared_4 = SHARED_4, row_4 = ROW_4, row_8 = ROW_8],
    }

    /// Some lanes' parts of a row of 32 bits each.
    load_row_4: [
        "vmovd xmm0, esi",
        "vpbroadcastd ymm0, xmm0",
        "lea rax, [rip + {bits_4}]",
        four![
            "vpand ymm1, ymm0, [rax + 32 * \\k]",
            "vpcmpeqd ymm1, ymm1, [rax + 32 * \\k]",
            "vpmaskmovd ymm2, ymm1, [rdx + 32 * \\k]",
            "vmovdqu [rdi + {results} + 32 * \\k], ymm2",
        ],
    ];
    /// Some lanes' parts of a row of 64 bits each.
    load_row_8: [
        "mov ecx, esi",
        "vmovq xmm0, rcx",
        "vpbroadcastq ymm0, xmm0",
        "lea rax, [rip + {bits_8}]",
        eight![
            "vpand ymm1, ymm0, [rax + 32 * \\k]",
            "vpcmpeqq ymm1, ymm1, [rax + 32 * \\k]",
            "vpmaskmovq ymm2, ymm1, [rdx + 32 * \\k]",
            "vmovdqu [rdi + {results} + 32 * \\k], ymm2",
        ],
    ];
    /// Values of some lanes to their parts of a row of 32 bits each.
    store_row_4: [
        "vmovd xmm0, esi",
        "vpbroadcastd ymm0, xmm0",
        "lea rax, [rip + {bits_4}]",
        four![
            "vpand ymm1, ymm0, [rax + 32 * \\k]",
            "vpcmpeqd ymm1, ymm1, [rax + 32 * \\k]",
            "vmovdqu xmm2, [rdi + {values} + 32 * \\k]",
            "vinserti128 ymm2, ymm2, [rdi + {values} + 32 * \\k + 16], 1",
            "vpmaskmovd [rdx + 32 * \\k], ymm1, ymm2",
        ],
    ];
    /// Values of some lanes to their parts of a row of 64 bits each.
    store_row_8: [
        "mov ecx, esi",
        "vmovq xmm0, rcx",
        "vpbroadcastq ymm0, xmm0",
        "lea rax, [rip + {bits_8}]",
        eight![
            "vpand ymm1, ymm0, [rax + 32 * \\k]",
            "vpcmpeqq ymm1, ymm1, [rax + 32 * \\k]",
            "vmovdqu xmm2, [rdi + {values} + 32 * \\k]",
            "vinserti128 ymm2, ymm2, [rdi + {values} + 32 * \\k + 16], 1",
            "vpmaskmovq [rdx + 32 * \\k], ymm1, ymm2",
        ],
    ];
    /// 32 bits from device memory for each lane.
    load_4: [
        replaced_in_device!(),
        device!("4"),
        row_of_device!("row_4", "124"),
        four!["vmovdqu ymm0, [rcx + 32 * \\k]", "vmovdqu [rdi + {results} + 32 * \\k], ymm0"],
        "jmp 8f",
        "22:",
        eight![
            "mov rax, [rdi + {addresses} + 32 * \\k]",
            "mov rcx, [rdi + {addresses} + 32 * \\k + 8]",
            "vmovd xmm0, dword ptr [rax]",
            "vpinsrd xmm0, xmm0, dword ptr [rcx], 1",
            "mov rax, [rdi + {addresses} + 32 * \\k + 16]",
            "mov rcx, [rdi + {addresses} + 32 * \\k + 24]",
            "vpinsrd xmm0, xmm0, dword ptr [rax], 2",
            "vpinsrd xmm0, xmm0, dword ptr [rcx], 3",
            "vmovdqu [rdi + {results} + 16 * \\k], xmm0",
        ],
    ];
    /// 64 bits from device memory for each lane.
    load_8: [
        replaced_in_device!(),
        device!("8"),
        row_of_device!("row_8", "248"),
        eight!["vmovdqu ymm0, [rcx + 32 * \\k]", "vmovdqu [rdi + {results} + 32 * \\k], ymm0"],
        "jmp 8f",
        "22:",
        sixteen![
            "mov rax, [rdi + {addresses} + 16 * \\k]",
            "mov rcx, [rdi + {addresses} + 16 * \\k + 8]",
            "vmovq xmm0, qword ptr [rax]",
            "vmovhps xmm0, xmm0, qword ptr [rcx]",
            "vmovdqu [rdi + {results} + 16 * \\k], xmm0",
        ],
    ];
    /// 32 bits from shared memory for each lane.
    load_shared_4: [
        replaced_in_shared!(),
        shared!(),
        row_of_shared!(),
        four!["vmovdqu ymm0, [rcx + 32 * \\k]", "vmovdqu [rdi + {results} + 32 * \\k], ymm0"],
        "jmp 8f",
        "22:",
        eight![
            "mov ecx, [rdi + {addresses} + 16 * \\k]",
            "mov r8d, [rdi + {addresses} + 16 * \\k + 4]",
            "vmovd xmm0, dword ptr [rax + rcx]",
            "vpinsrd xmm0, xmm0, dword ptr [rax + r8], 1",
            "mov ecx, [rdi + {addresses} + 16 * \\k + 8]",
            "mov r8d, [rdi + {addresses} + 16 * \\k + 12]",
            "vpinsrd xmm0, xmm0, dword ptr [rax + rcx], 2",
            "vpinsrd xmm0, xmm0, dword ptr [rax + r8], 3",
            "vmovdqu [rdi + {results} + 16 * \\k], xmm0",
        ],
    ];
    /// 32 bits of each lane to device memory, in the order of lanes.
    store_4: [store_in_device!("4", "row_4", "124", "ecx", eight)];
    /// 64 bits of each lane to device memory, in the order of lanes.
    store_8: [store_in_device!("8", "row_8", "248", "rcx", sixteen)];
    /// 32 bits of each lane to shared memory, in the order of lanes.
    store_shared_4: [
        replaced_in_shared!(),
        shared!(),
        "cmp esi, -1",
        "jne 23f",
        row_of_shared!(),
        eight!["vmovdqu xmm0, [rdi + {values} + 16 * \\k]", "vmovdqu [rcx + 16 * \\k], xmm0"],
        "jmp 8f",
        "22:",
        sixteen![
            "mov ecx, [rdi + {addresses} + 8 * \\k]",
            "mov r8d, [rdi + {values} + 8 * \\k]",
            "mov [rax + rcx], r8d",
            "mov ecx, [rdi + {addresses} + 8 * \\k + 4]",
            "mov r8d, [rdi + {values} + 8 * \\k + 4]",
            "mov [rax + rcx], r8d",
        ],
        "jmp 8f",
        "23:",
        "mov ecx, esi",
        "24:",
        "tzcnt r8d, ecx",
        "vmovd xmm0, dword ptr [rdi + {values} + 4 * r8]",
        "mov r8d, [rdi + {addresses} + 4 * r8]",
        "vmovd dword ptr [rax + r8], xmm0",
        "blsr ecx, ecx",
        "jnz 24b",
    ];
}
