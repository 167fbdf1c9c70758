//! Compares: VOPC.
//!
//! Owns: their rows. Must not know: where the mask goes.

// "Not less" is a condition of its own: it holds for a NaN.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

use super::row::Kind::{self, B16, B32, B64, F16, F32, F64};
use super::row::{Exec, Row, refused};
use crate::lanes::Lanes;
use crate::num;

const fn c(op: u16, name: &'static str, src: [Kind; 2], exec: bool, run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Compare { src, exec, run } }
}

/// v_cmp_class: bits by kind of number.
fn class(sign: bool, exponent: u64, mantissa: u64, quiet: u64, top: u64, asked: u32) -> bool {
    let kind = if exponent == top && mantissa != 0 {
        u32::from(mantissa & quiet != 0)
    } else {
        let size = if exponent == top {
            0
        } else if exponent != 0 {
            1
        } else if mantissa != 0 {
            2
        } else {
            3
        };
        if sign { 2 + size } else { 9 - size }
    };
    asked >> kind & 1 == 1
}

fn class32(x: u32, asked: u32) -> bool {
    class(x >> 31 == 1, u64::from(x >> 23 & 0xff), u64::from(x & 0x7f_ffff), 1 << 22, 0xff, asked)
}

fn class16(x: u32, asked: u32) -> bool {
    class(x >> 15 & 1 == 1, u64::from(x >> 10 & 0x1f), u64::from(x & 0x3ff), 1 << 9, 0x1f, asked)
}

fn class64(x: u64, asked: u32) -> bool {
    class(x >> 63 == 1, x >> 52 & 0x7ff, x & ((1 << 52) - 1), 1 << 51, 0x7ff, asked)
}

// The sixteen conditions of floating-point numbers, for one kind: `$read` converts the bits to a
// number.
macro_rules! float {
    ($base:expr, $x:expr, $kind:ident, $cmp:ident, $read:expr, $pre:literal, $post:literal) => {
        [
            c($base, concat!($pre, "f", $post), [$kind; 2], $x, |l| l.$cmp(|_, _| false)),
            c($base + 1, concat!($pre, "lt", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| $read(a) < $read(b))
            }),
            c($base + 2, concat!($pre, "eq", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| $read(a) == $read(b))
            }),
            c($base + 3, concat!($pre, "le", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| $read(a) <= $read(b))
            }),
            c($base + 4, concat!($pre, "gt", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| $read(a) > $read(b))
            }),
            c($base + 5, concat!($pre, "lg", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| $read(a) < $read(b) || $read(a) > $read(b))
            }),
            c($base + 6, concat!($pre, "ge", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| $read(a) >= $read(b))
            }),
            c($base + 7, concat!($pre, "o", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| !$read(a).is_nan() && !$read(b).is_nan())
            }),
            c($base + 8, concat!($pre, "u", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| $read(a).is_nan() || $read(b).is_nan())
            }),
            c($base + 9, concat!($pre, "nge", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| !($read(a) >= $read(b)))
            }),
            c($base + 10, concat!($pre, "nlg", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| !($read(a) < $read(b) || $read(a) > $read(b)))
            }),
            c($base + 11, concat!($pre, "ngt", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| !($read(a) > $read(b)))
            }),
            c($base + 12, concat!($pre, "nle", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| !($read(a) <= $read(b)))
            }),
            c($base + 13, concat!($pre, "neq", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| $read(a) != $read(b))
            }),
            c($base + 14, concat!($pre, "nlt", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| !($read(a) < $read(b)))
            }),
            c($base + 15, concat!($pre, "tru", $post), [$kind; 2], $x, |l| l.$cmp(|_, _| true)),
        ]
    };
}

macro_rules! int {
    ($base:expr, $x:expr, $kind:ident, $cmp:ident, $as:ty, $pre:literal, $post:literal) => {
        [
            c($base, concat!($pre, "f", $post), [$kind; 2], $x, |l| l.$cmp(|_, _| false)),
            c($base + 1, concat!($pre, "lt", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| (a as $as) < b as $as)
            }),
            c($base + 2, concat!($pre, "eq", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| a as $as == b as $as)
            }),
            c($base + 3, concat!($pre, "le", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| a as $as <= b as $as)
            }),
            c($base + 4, concat!($pre, "gt", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| a as $as > b as $as)
            }),
            c($base + 5, concat!($pre, "ne", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| a as $as != b as $as)
            }),
            c($base + 6, concat!($pre, "ge", $post), [$kind; 2], $x, |l| {
                l.$cmp(|a, b| a as $as >= b as $as)
            }),
            c($base + 7, concat!($pre, "t", $post), [$kind; 2], $x, |l| l.$cmp(|_, _| true)),
        ]
    };
}

fn half(x: u32) -> f32 {
    num::h2f(x & 0xffff)
}

const ROWS: usize = 6 + 6 * 16 + 12 * 8;

// One table in the order of opcodes; the parts are moved into it when the program is compiled.
const fn join() -> [Row; ROWS] {
    let mut all = [const { refused(0, "") }; ROWS];
    let mut at = 0;
    macro_rules! put {
        ($($part:expr),* $(,)?) => {$({
            let part = $part;
            let mut i = 0;
            while i < part.len() {
                let Row { op, name, exec: Exec::Compare { src, exec, run } } = &part[i] else { unreachable!() };
                all[at] = c(*op, name, *src, *exec, *run);
                at += 1;
                i += 1;
            }
        })*};
    }
    put!(
        [
            c(16, "v_cmp_class_f32", [F32, B32], false, |l| l.cmp(class32)),
            c(17, "v_cmpx_class_f32", [F32, B32], true, |l| l.cmp(class32)),
            c(18, "v_cmp_class_f64", [F64, B32], false, |l| l.cmp_q(|a, b| class64(a, b as u32))),
            c(19, "v_cmpx_class_f64", [F64, B32], true, |l| l.cmp_q(|a, b| class64(a, b as u32))),
            c(20, "v_cmp_class_f16", [F16, B16], false, |l| l.cmp(class16)),
            c(21, "v_cmpx_class_f16", [F16, B16], true, |l| l.cmp(class16)),
        ],
        float!(32, false, F16, cmp, half, "v_cmp_", "_f16"),
        float!(48, true, F16, cmp, half, "v_cmpx_", "_f16"),
        float!(64, false, F32, cmp, f32::from_bits, "v_cmp_", "_f32"),
        float!(80, true, F32, cmp, f32::from_bits, "v_cmpx_", "_f32"),
        float!(96, false, F64, cmp_q, f64::from_bits, "v_cmp_", "_f64"),
        float!(112, true, F64, cmp_q, f64::from_bits, "v_cmpx_", "_f64"),
        int!(160, false, B16, cmp, i16, "v_cmp_", "_i16"),
        int!(168, false, B16, cmp, u16, "v_cmp_", "_u16"),
        int!(176, true, B16, cmp, i16, "v_cmpx_", "_i16"),
        int!(184, true, B16, cmp, u16, "v_cmpx_", "_u16"),
        int!(192, false, B32, cmp, i32, "v_cmp_", "_i32"),
        int!(200, false, B32, cmp, u32, "v_cmp_", "_u32"),
        int!(208, true, B32, cmp, i32, "v_cmpx_", "_i32"),
        int!(216, true, B32, cmp, u32, "v_cmpx_", "_u32"),
        int!(224, false, B64, cmp_q, i64, "v_cmp_", "_i64"),
        int!(232, false, B64, cmp_q, u64, "v_cmp_", "_u64"),
        int!(240, true, B64, cmp_q, i64, "v_cmpx_", "_i64"),
        int!(248, true, B64, cmp_q, u64, "v_cmpx_", "_u64"),
    );
    all
}

static ALL: [Row; ROWS] = join();
pub(super) static VOPC: &[Row] = &ALL;
