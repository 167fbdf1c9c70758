//! What atomic operations make of a word.
//!
//! Owns: the new value by the old one. Must not know: where the word is.

use crate::num;
use crate::table::Atomic;

fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

fn d(x: u64) -> f64 {
    f64::from_bits(x)
}

/// The new value of 32 bits; `other` is the operand that compares or masks.
pub(super) fn word(what: Atomic, old: u32, data: u32, other: u32) -> u32 {
    match what {
        Atomic::Swap => data,
        Atomic::CmpSwap => {
            if old == other {
                data
            } else {
                old
            }
        }
        Atomic::CmpStore => {
            if old == data {
                other
            } else {
                old
            }
        }
        Atomic::CmpStoreF => {
            if f(old) == f(data) {
                other
            } else {
                old
            }
        }
        Atomic::Mskor => old & !data | other,
        Atomic::Wrap => {
            if old >= data {
                old - data
            } else {
                old.wrapping_add(other)
            }
        }
        Atomic::Add => old.wrapping_add(data),
        Atomic::Sub => old.wrapping_sub(data),
        Atomic::Rsub => data.wrapping_sub(old),
        Atomic::Smin => (old as i32).min(data as i32) as u32,
        Atomic::Umin => old.min(data),
        Atomic::Smax => (old as i32).max(data as i32) as u32,
        Atomic::Umax => old.max(data),
        Atomic::And => old & data,
        Atomic::Or => old | data,
        Atomic::Xor => old ^ data,
        Atomic::Inc => {
            if old >= data {
                0
            } else {
                old + 1
            }
        }
        Atomic::Dec => {
            if old == 0 || old > data {
                data
            } else {
                old - 1
            }
        }
        Atomic::AddF => (f(old) + f(data)).to_bits(),
        Atomic::MinF => num::min32(f(old), f(data)).to_bits(),
        Atomic::MaxF => num::max32(f(old), f(data)).to_bits(),
        Atomic::PkAddF16 => {
            let part =
                |s: u32| num::f2h(num::h2f(old >> s & 0xffff) + num::h2f(data >> s & 0xffff)) << s;
            part(0) | part(16)
        }
    }
}

/// The new value of 64 bits.
pub(super) fn wide(what: Atomic, old: u64, data: u64, other: u64) -> u64 {
    match what {
        Atomic::Swap => data,
        Atomic::CmpSwap => {
            if old == other {
                data
            } else {
                old
            }
        }
        Atomic::CmpStore => {
            if old == data {
                other
            } else {
                old
            }
        }
        Atomic::CmpStoreF => {
            if d(old) == d(data) {
                other
            } else {
                old
            }
        }
        Atomic::Mskor => old & !data | other,
        Atomic::Wrap => {
            if old >= data {
                old - data
            } else {
                old.wrapping_add(other)
            }
        }
        Atomic::Add => old.wrapping_add(data),
        Atomic::Sub => old.wrapping_sub(data),
        Atomic::Rsub => data.wrapping_sub(old),
        Atomic::Smin => (old as i64).min(data as i64) as u64,
        Atomic::Umin => old.min(data),
        Atomic::Smax => (old as i64).max(data as i64) as u64,
        Atomic::Umax => old.max(data),
        Atomic::And => old & data,
        Atomic::Or => old | data,
        Atomic::Xor => old ^ data,
        Atomic::Inc => {
            if old >= data {
                0
            } else {
                old + 1
            }
        }
        Atomic::Dec => {
            if old == 0 || old > data {
                data
            } else {
                old - 1
            }
        }
        Atomic::AddF => (d(old) + d(data)).to_bits(),
        Atomic::MinF => num::min64(d(old), d(data)).to_bits(),
        Atomic::MaxF => num::max64(d(old), d(data)).to_bits(),
        Atomic::PkAddF16 => old,
    }
}
