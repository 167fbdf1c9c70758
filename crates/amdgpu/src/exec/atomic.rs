//! Results of atomic operations.
//!
//! Owns: the new value of a word, computed from the old one. Must not know: where the word is.

use crate::num;
use crate::table::Atomic;

/// The function that makes a new value of one width: `$packed` is the new value for halves.
macro_rules! made {
    ($(#[$doc:meta])* $name:ident, $u:ident, $i:ident, $f:ident, $min:ident, $max:ident, $packed:expr) => {
        $(#[$doc])*
        pub(super) fn $name(what: Atomic, old: $u, data: $u, other: $u) -> $u {
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
                    if $f::from_bits(old) == $f::from_bits(data) {
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
                Atomic::Smin => (old as $i).min(data as $i) as $u,
                Atomic::Umin => old.min(data),
                Atomic::Smax => (old as $i).max(data as $i) as $u,
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
                Atomic::AddF => ($f::from_bits(old) + $f::from_bits(data)).to_bits(),
                Atomic::MinF => num::$min($f::from_bits(old), $f::from_bits(data)).to_bits(),
                Atomic::MaxF => num::$max($f::from_bits(old), $f::from_bits(data)).to_bits(),
                Atomic::PkAddF16 => $packed(old, data),
            }
        }
    };
}

made!(
    /// The new value of 32 bits; `other` is the operand that compares or masks.
    word, u32, i32, f32, min32, max32, add_halves
);
made!(
    /// The new value of 64 bits. No instruction has halves of that width.
    wide, u64, i64, f64, min64, max64, |old, _| old
);

/// Two sums of halves.
fn add_halves(old: u32, data: u32) -> u32 {
    let part = |s: u32| num::f2h(num::h2f(old >> s & 0xffff) + num::h2f(data >> s & 0xffff)) << s;
    part(0) | part(16)
}
