//! The functions for processors with AVX-512.
//!
//! Owns their instructions on 64 bytes. They change only registers that generated code does not use: it uses the
//! first 16 vectors, and no mask registers.

use super::frame::{Function, function, functions};
use crate::warp::{Together, Warp};
use std::mem::offset_of;

/// 64 bytes that were written by 16, and are read so: else the processor waits until they are in the cache.
macro_rules! joined {
    ($zmm:literal, $place:literal, $at:literal) => {
        concat!(
            "vmovdqu64 xmm",
            $zmm,
            ", [rdi + {",
            $place,
            "} + ",
            $at,
            "]\n",
            "vinserti64x2 zmm",
            $zmm,
            ", zmm",
            $zmm,
            ", [rdi + {",
            $place,
            "} + ",
            $at,
            " + 16], 1\n",
            "vinserti64x2 zmm",
            $zmm,
            ", zmm",
            $zmm,
            ", [rdi + {",
            $place,
            "} + ",
            $at,
            " + 32], 2\n",
            "vinserti64x2 zmm",
            $zmm,
            ", zmm",
            $zmm,
            ", [rdi + {",
            $place,
            "} + ",
            $at,
            " + 48], 3"
        )
    };
}

/// Looks at 32 addresses of 64 bits in device memory: their distances from its begin are in vectors 18 to 21, that begin in
/// `rax`, and the masks of eight lanes each in k1 to k4. Leaves where one is outside, or odd.
macro_rules! device {
    ($bytes:literal) => {
        concat!(
            "mov rax, [rdi + {arena}]\n",
            "mov rcx, [rdi + {arena_size}]\n",
            "sub rcx, ",
            $bytes,
            "\n",
            "jb 3b\n",
            "kshiftrd k2, k1, 8\nkshiftrd k3, k1, 16\nkshiftrd k4, k1, 24\n",
            "vpbroadcastq zmm16, rax\n",
            "vpbroadcastq zmm17, rcx\n",
            joined!("18", "addresses", "0"),
            "\n",
            joined!("19", "addresses", "64"),
            "\n",
            joined!("20", "addresses", "128"),
            "\n",
            joined!("21", "addresses", "192"),
            "\n",
            "vpsubq zmm18 {{k1}} {{z}}, zmm18, zmm16\n",
            "vpsubq zmm19 {{k2}} {{z}}, zmm19, zmm16\n",
            "vpsubq zmm20 {{k3}} {{z}}, zmm20, zmm16\n",
            "vpsubq zmm21 {{k4}} {{z}}, zmm21, zmm16\n",
            "vpmaxuq zmm22, zmm18, zmm19\n",
            "vpmaxuq zmm23, zmm20, zmm21\n",
            "vpmaxuq zmm22, zmm22, zmm23\n",
            "vporq zmm24, zmm18, zmm19\n",
            "vporq zmm25, zmm20, zmm21\n",
            "vpternlogq zmm24, zmm25, zmm16, 0xfe\n",
            "mov ecx, ",
            $bytes,
            " - 1\n",
            "vpbroadcastq zmm25, rcx\n",
            "vpcmpuq k5, zmm22, zmm17, 6\n",
            "vptestmq k6, zmm24, zmm25\n",
            "kortestb k5, k6\n",
            "jnz 3b"
        )
    };
}

/// Jumps to 22 unless all lanes are active and their addresses are adjacent, from `rax + rcx` on.
macro_rules! row_of_device {
    ($steps:literal, $eight:literal) => {
        concat!(
            "cmp esi, -1\n",
            "jne 22f\n",
            "vmovq rcx, xmm18\n",
            "vpbroadcastq zmm22, rcx\n",
            "vpaddq zmm22, zmm22, [rip + ",
            $steps,
            "f]\n",
            "vpcmpeqq k5, zmm18, zmm22\n",
            "kortestb k5, k5\n",
            "jnc 22f\n",
            "mov esi, ",
            $eight,
            "\n",
            "vpbroadcastq zmm23, rsi\n",
            "mov esi, -1\n",
            "vpaddq zmm22, zmm22, zmm23\n",
            "vpcmpeqq k5, zmm19, zmm22\n",
            "vpaddq zmm22, zmm22, zmm23\n",
            "vpcmpeqq k6, zmm20, zmm22\n",
            "kandb k5, k5, k6\n",
            "vpaddq zmm22, zmm22, zmm23\n",
            "vpcmpeqq k6, zmm21, zmm22\n",
            "kandb k5, k5, k6\n",
            "kortestb k5, k5\n",
            "jnc 22f"
        )
    };
}

/// The same for 32 offsets of 32 bits in shared memory: vectors 18 and 19, masks k1 and k2.
macro_rules! shared {
    () => {
        concat!(
            "mov rax, [rdi + {shared}]\n",
            "mov rcx, [rdi + {shared_size}]\n",
            "sub rcx, 4\n",
            "jb 3b\n",
            "kshiftrd k2, k1, 16\n",
            "vpbroadcastd zmm17, ecx\n",
            joined!("18", "addresses", "0"),
            "\n",
            joined!("19", "addresses", "64"),
            "\n",
            "vmovdqa32 zmm18 {{k1}} {{z}}, zmm18\n",
            "vmovdqa32 zmm19 {{k2}} {{z}}, zmm19\n",
            "vpmaxud zmm22, zmm18, zmm19\n",
            "vpord zmm24, zmm18, zmm19\n",
            "mov ecx, 3\n",
            "vpbroadcastd zmm25, ecx\n",
            "vpcmpud k5, zmm22, zmm17, 6\n",
            "vptestmd k6, zmm24, zmm25\n",
            "kortestw k5, k6\n",
            "jnz 3b"
        )
    };
}

macro_rules! row_of_shared {
    () => {
        concat!(
            "cmp esi, -1\n",
            "jne 22f\n",
            "vmovd ecx, xmm18\n",
            "vpbroadcastd zmm22, ecx\n",
            "vpaddd zmm22, zmm22, [rip + 7f]\n",
            "vpcmpeqd k5, zmm18, zmm22\n",
            "kortestw k5, k5\n",
            "jnc 22f\n",
            "mov esi, 64\n",
            "vpbroadcastd zmm23, esi\n",
            "mov esi, -1\n",
            "vpaddd zmm22, zmm22, zmm23\n",
            "vpcmpeqd k5, zmm19, zmm22\n",
            "kortestw k5, k5\n",
            "jnc 22f"
        )
    };
}

functions! {
    {
        enter: "push rax\npush rcx\nkmovd k1, esi",
        leave: "pop rcx\npop rax",
        constants: [
            ".balign 64",
            "5: .quad 0, 4, 8, 12, 16, 20, 24, 28",
            "6: .quad 0, 8, 16, 24, 32, 40, 48, 56",
            "7: .long 0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60"
        ],
        tables: [],
    }
    /// Some lanes' parts of a row of 32 bits each.
    load_row_4: [
        "kshiftrd k2, k1, 16",
        "vmovdqu32 zmm26 {{k1}} {{z}}, [rdx]",
        "vmovdqu32 zmm27 {{k2}} {{z}}, [rdx + 64]",
        "vmovdqu64 [rdi + {results}], zmm26",
        "vmovdqu64 [rdi + {results} + 64], zmm27",
    ];
    /// Some lanes' parts of a row of 64 bits each.
    load_row_8: [
        "kshiftrd k2, k1, 8",
        "kshiftrd k3, k1, 16",
        "kshiftrd k4, k1, 24",
        "vmovdqu64 zmm26 {{k1}} {{z}}, [rdx]",
        "vmovdqu64 zmm27 {{k2}} {{z}}, [rdx + 64]",
        "vmovdqu64 zmm28 {{k3}} {{z}}, [rdx + 128]",
        "vmovdqu64 zmm29 {{k4}} {{z}}, [rdx + 192]",
        "vmovdqu64 [rdi + {results}], zmm26",
        "vmovdqu64 [rdi + {results} + 64], zmm27",
        "vmovdqu64 [rdi + {results} + 128], zmm28",
        "vmovdqu64 [rdi + {results} + 192], zmm29",
    ];
    /// Values of some lanes to their parts of a row of 32 bits each.
    store_row_4: [
        "kshiftrd k2, k1, 16",
        joined!("26", "values", "0"),
        joined!("27", "values", "64"),
        "vmovdqu32 [rdx] {{k1}}, zmm26",
        "vmovdqu32 [rdx + 64] {{k2}}, zmm27",
    ];
    /// Values of some lanes to their parts of a row of 64 bits each.
    store_row_8: [
        "kshiftrd k2, k1, 8",
        "kshiftrd k3, k1, 16",
        "kshiftrd k4, k1, 24",
        joined!("26", "values", "0"),
        joined!("27", "values", "64"),
        joined!("28", "values", "128"),
        joined!("29", "values", "192"),
        "vmovdqu64 [rdx] {{k1}}, zmm26",
        "vmovdqu64 [rdx + 64] {{k2}}, zmm27",
        "vmovdqu64 [rdx + 128] {{k3}}, zmm28",
        "vmovdqu64 [rdx + 192] {{k4}}, zmm29",
    ];
    /// 32 bits from device memory for each lane.
    load_4: [
        device!("4"),
        row_of_device!("5", "32"),
        "vmovdqu64 zmm26, [rax + rcx]",
        "vmovdqu64 zmm27, [rax + rcx + 64]",
        "vmovdqu64 [rdi + {results}], zmm26",
        "vmovdqu64 [rdi + {results} + 64], zmm27",
        "jmp 8f",
        "22:",
        "vpxord zmm26, zmm26, zmm26",
        "vpxord zmm27, zmm27, zmm27",
        "vpxord zmm28, zmm28, zmm28",
        "vpxord zmm29, zmm29, zmm29",
        "vpgatherqd ymm26 {{k1}}, [rax + zmm18]",
        "vpgatherqd ymm27 {{k2}}, [rax + zmm19]",
        "vpgatherqd ymm28 {{k3}}, [rax + zmm20]",
        "vpgatherqd ymm29 {{k4}}, [rax + zmm21]",
        "vmovdqu64 [rdi + {results}], ymm26",
        "vmovdqu64 [rdi + {results} + 32], ymm27",
        "vmovdqu64 [rdi + {results} + 64], ymm28",
        "vmovdqu64 [rdi + {results} + 96], ymm29",
    ];
    /// 64 bits from device memory for each lane.
    load_8: [
        device!("8"),
        row_of_device!("6", "64"),
        "vmovdqu64 zmm26, [rax + rcx]",
        "vmovdqu64 zmm27, [rax + rcx + 64]",
        "vmovdqu64 zmm28, [rax + rcx + 128]",
        "vmovdqu64 zmm29, [rax + rcx + 192]",
        "jmp 2f",
        "22:",
        "vpxord zmm26, zmm26, zmm26",
        "vpxord zmm27, zmm27, zmm27",
        "vpxord zmm28, zmm28, zmm28",
        "vpxord zmm29, zmm29, zmm29",
        "vpgatherqq zmm26 {{k1}}, [rax + zmm18]",
        "vpgatherqq zmm27 {{k2}}, [rax + zmm19]",
        "vpgatherqq zmm28 {{k3}}, [rax + zmm20]",
        "vpgatherqq zmm29 {{k4}}, [rax + zmm21]",
        "2:",
        "vmovdqu64 [rdi + {results}], zmm26",
        "vmovdqu64 [rdi + {results} + 64], zmm27",
        "vmovdqu64 [rdi + {results} + 128], zmm28",
        "vmovdqu64 [rdi + {results} + 192], zmm29",
    ];
    /// 32 bits from shared memory for each lane.
    load_shared_4: [
        shared!(),
        row_of_shared!(),
        "vmovdqu64 zmm26, [rax + rcx]",
        "vmovdqu64 zmm27, [rax + rcx + 64]",
        "jmp 2f",
        "22:",
        "vpxord zmm26, zmm26, zmm26",
        "vpxord zmm27, zmm27, zmm27",
        "vpgatherdd zmm26 {{k1}}, [rax + zmm18]",
        "vpgatherdd zmm27 {{k2}}, [rax + zmm19]",
        "2:",
        "vmovdqu64 [rdi + {results}], zmm26",
        "vmovdqu64 [rdi + {results} + 64], zmm27",
    ];
    /// 32 bits of each lane to device memory, in the order of lanes.
    store_4: [
        device!("4"),
        joined!("26", "values", "0"),
        joined!("28", "values", "64"),
        row_of_device!("5", "32"),
        "vmovdqu64 [rax + rcx], zmm26",
        "vmovdqu64 [rax + rcx + 64], zmm28",
        "jmp 8f",
        "22:",
        "vextracti64x4 ymm27, zmm26, 1",
        "vextracti64x4 ymm29, zmm28, 1",
        "vpscatterqd [rax + zmm18] {{k1}}, ymm26",
        "vpscatterqd [rax + zmm19] {{k2}}, ymm27",
        "vpscatterqd [rax + zmm20] {{k3}}, ymm28",
        "vpscatterqd [rax + zmm21] {{k4}}, ymm29",
    ];
    /// 64 bits of each lane to device memory, in the order of lanes.
    store_8: [
        device!("8"),
        joined!("26", "values", "0"),
        joined!("27", "values", "64"),
        joined!("28", "values", "128"),
        joined!("29", "values", "192"),
        row_of_device!("6", "64"),
        "vmovdqu64 [rax + rcx], zmm26",
        "vmovdqu64 [rax + rcx + 64], zmm27",
        "vmovdqu64 [rax + rcx + 128], zmm28",
        "vmovdqu64 [rax + rcx + 192], zmm29",
        "jmp 8f",
        "22:",
        "vpscatterqq [rax + zmm18] {{k1}}, zmm26",
        "vpscatterqq [rax + zmm19] {{k2}}, zmm27",
        "vpscatterqq [rax + zmm20] {{k3}}, zmm28",
        "vpscatterqq [rax + zmm21] {{k4}}, zmm29",
    ];
    /// 32 bits of each lane to shared memory, in the order of lanes.
    store_shared_4: [
        shared!(),
        joined!("26", "values", "0"),
        joined!("27", "values", "64"),
        row_of_shared!(),
        "vmovdqu64 [rax + rcx], zmm26",
        "vmovdqu64 [rax + rcx + 64], zmm27",
        "jmp 8f",
        "22:",
        "vpscatterdd [rax + zmm18] {{k1}}, zmm26",
        "vpscatterdd [rax + zmm19] {{k2}}, zmm27",
    ];
}
