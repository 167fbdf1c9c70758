//! Integer operations on all lanes at once for which the code generator has no vector instructions: shifts by
//! per-lane amounts, fields and counts of bits, quotients, high halves, shuffles.
//!
//! Owns loops over 32 lanes, which the compiler vectorises as widely as this machine allows. Operands are in the
//! first scratch slots, each as its class says; the result goes to slot 0, whatever a lane holds. [`cushim_ptx::alu`]
//! defines the results; the tests of forms compare these loops with it. Must not know how code is generated.

use super::joined::{put_sixteen, sixteen};
use super::lane::warp;
use super::singles::{Lanes, narrow};
use super::vector_float::vector_helpers;
use crate::warp::task::{TASKS, Task};
use crate::warp::{SLOTS, Slot, Warp};
use std::arch::x86_64::{_mm512_loadu_si512, _mm512_permutex2var_epi32};

/// A slot as 64-bit numbers.
fn long(slot: &Slot) -> [u64; 32] {
    *slot
}

#[inline(always)]
fn one(s: &mut [Slot; SLOTS], f: impl Fn(u32) -> u32) {
    let out = narrow(&mut s[0]);
    for v in out {
        *v = f(*v);
    }
}

#[inline(always)]
fn two(s: &mut [Slot; SLOTS], f: impl Fn(u32, u32) -> u32) {
    let y = *narrow(&mut s[1]);
    let out = narrow(&mut s[0]);
    for l in 0..32 {
        out[l] = f(out[l], y[l]);
    }
}

#[inline(always)]
fn three(s: &mut [Slot; SLOTS], f: impl Fn(u32, u32, u32) -> u32) {
    let (y, z) = (*narrow(&mut s[1]), *narrow(&mut s[2]));
    let out = narrow(&mut s[0]);
    for l in 0..32 {
        out[l] = f(out[l], y[l], z[l]);
    }
}

#[inline(always)]
fn four(s: &mut [Slot; SLOTS], f: impl Fn(u32, u32, u32, u32) -> u32) {
    let (y, z, w) = (*narrow(&mut s[1]), *narrow(&mut s[2]), *narrow(&mut s[3]));
    let out = narrow(&mut s[0]);
    for l in 0..32 {
        out[l] = f(out[l], y[l], z[l], w[l]);
    }
}

/// From a wide value to a narrow one.
#[inline(always)]
fn count(s: &mut [Slot; SLOTS], f: impl Fn(u64) -> u32) {
    let x = long(&s[0]);
    let out = narrow(&mut s[0]);
    for l in 0..32 {
        out[l] = f(x[l]);
    }
}

/// From two wide values to a wide one.
#[inline(always)]
fn both(s: &mut [Slot; SLOTS], f: impl Fn(u64, u64) -> u64) {
    let y = long(&s[1]);
    for l in 0..32 {
        s[0][l] = f(s[0][l], y[l]);
    }
}

/// From a wide value and narrow ones to a wide one.
#[inline(always)]
fn by(s: &mut [Slot; SLOTS], f: impl Fn(u64, u32, u32) -> u64) {
    let (y, z) = (*narrow(&mut s[1]), *narrow(&mut s[2]));
    for l in 0..32 {
        s[0][l] = f(s[0][l], y[l], z[l]);
    }
}

/// The lowest bits, of which there may be none or all.
#[inline(always)]
fn low(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// A bit field of a number of `bits`; the sign fills the bits above it.
#[inline(always)]
fn field(v: u64, pos: u32, len: u32, bits: u32, signed: bool) -> u64 {
    let top = pos.saturating_add(len).wrapping_sub(1).min(bits - 1);
    let fill = if signed && len != 0 && v >> top & 1 != 0 { u64::MAX } else { 0 };
    let len = len.min(bits.saturating_sub(pos));
    let part = if pos >= 64 { 0 } else { v >> pos } & low(len);
    part | fill & !low(len)
}

#[inline(always)]
fn insert(a: u64, b: u64, pos: u32, len: u32) -> u64 {
    let (mask, a) = if pos >= 64 { (0, 0) } else { (low(len) << pos, a << pos) };
    a & mask | b & !mask
}

/// A position or length of bits, as [`cushim_ptx::alu`] takes it of 32 bits.
#[inline(always)]
fn byte(v: u32) -> u32 {
    v & 0xff
}

#[inline(always)]
fn shifted(x: u64, n: u32) -> u64 {
    if n < 64 { x << n } else { 0 }
}

#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Bit `n` of the highest set bit; none: all ones.
#[inline(always)]
fn highest(v: u64) -> u32 {
    v.leading_zeros().wrapping_sub(63).wrapping_neg() | if v == 0 { u32::MAX } else { 0 }
}

#[inline(always)]
fn magnitude(v: u32) -> u64 {
    (v ^ (v.cast_signed() >> 31).cast_unsigned()).into()
}

#[inline(always)]
fn long_magnitude(v: u64) -> u64 {
    v ^ (v.cast_signed() >> 63).cast_unsigned()
}

/// How far to shift so that the highest bit is the last one.
#[inline(always)]
fn amount(highest: u32, bits: u32) -> u32 {
    if highest == u32::MAX { highest } else { bits - 1 - highest }
}

/// Doubles represent every 32-bit number exactly, and their quotient truncates to the right integer. For division by
/// zero, an H100 returns all ones.
#[inline(always)]
fn quotient(x: f64, y: f64) -> u32 {
    if y == 0.0 { u32::MAX } else { (x / y) as i64 as u32 }
}

#[inline(always)]
fn rest(x: u32, y: u32, q: u32) -> u32 {
    if y == 0 { u32::MAX } else { x.wrapping_sub(q.wrapping_mul(y)) }
}

#[inline(always)]
fn signed(v: u32) -> f64 {
    v.cast_signed().into()
}

#[inline(always)]
fn chosen(a: u32, b: u32, c: u32) -> u32 {
    let all = pair(a, b);
    let mut out = 0;
    for n in 0..4 {
        let s = c >> (4 * n);
        let v = (all >> (8 * (s & 7))) as u32 & 0xff;
        let sign = if v & 0x80 != 0 { 0xff } else { 0 };
        out |= if s & 8 != 0 { sign } else { v } << (8 * n);
    }
    out
}

#[inline(always)]
fn dot(a: u32, b: u32, c: u32, x: bool, y: bool) -> u32 {
    let part = |v: u32, n: u32, signed: bool| {
        let v = (v >> (8 * n)) as u8;
        if signed { i32::from(v.cast_signed()) } else { i32::from(v) }
    };
    let mut sum = c.cast_signed();
    for n in 0..4 {
        sum = sum.wrapping_add(part(a, n, x) * part(b, n, y));
    }
    sum.cast_unsigned()
}

vector_helpers! {
    integers[3]: |s, n| {
        use Task::*;
        let Some(task) = TASKS.get(n as usize) else { return };
        match task {
            Shl32 => two(s, |x, n| if n < 32 { x << n } else { 0 }),
            Shl64 => by(s, |x, n, _| shifted(x, n)),
            ShrU32 => two(s, |x, n| if n < 32 { x >> n } else { 0 }),
            ShrS32 => two(s, |x, n| (x.cast_signed() >> n.min(31)).cast_unsigned()),
            ShrU64 => by(s, |x, n, _| if n < 64 { x >> n } else { 0 }),
            ShrS64 => by(s, |x, n, _| (x.cast_signed() >> n.min(63)).cast_unsigned()),
            FunnelLeftWrap => three(s, |a, b, n| (pair(a, b) << (n & 31) >> 32) as u32),
            FunnelLeftClamp => three(s, |a, b, n| (pair(a, b) << n.min(32) >> 32) as u32),
            FunnelRightWrap => three(s, |a, b, n| (pair(a, b) >> (n & 31)) as u32),
            FunnelRightClamp => three(s, |a, b, n| (pair(a, b) >> n.min(32)) as u32),
            BfeU32 => three(s, |v, p, n| field(v.into(), byte(p), byte(n), 32, false) as u32),
            BfeS32 => three(s, |v, p, n| field(v.into(), byte(p), byte(n), 32, true) as u32),
            BfeU64 => by(s, |v, p, n| field(v, p.min(255), n.min(255), 64, false)),
            BfeS64 => by(s, |v, p, n| field(v, p.min(255), n.min(255), 64, true)),
            Bfi32 => four(s, |a, b, p, n| insert(a.into(), b.into(), byte(p), byte(n)) as u32),
            Bfi64 => {
                let (b, p, n) = (long(&s[1]), *narrow(&mut s[2]), *narrow(&mut s[3]));
                for l in 0..32 {
                    s[0][l] = insert(s[0][l], b[l], p[l].min(255), n[l].min(255));
                }
            }
            Popc32 => one(s, u32::count_ones),
            Popc64 => count(s, u64::count_ones),
            Clz32 => one(s, u32::leading_zeros),
            Clz64 => count(s, u64::leading_zeros),
            Brev32 => one(s, u32::reverse_bits),
            Brev64 => both(s, |x, _| x.reverse_bits()),
            BfindU32 => one(s, |v| highest(v.into())),
            BfindS32 => one(s, |v| highest(magnitude(v))),
            BfindU64 => count(s, highest),
            BfindS64 => count(s, |v| highest(long_magnitude(v))),
            AmountU32 => one(s, |v| amount(highest(v.into()), 32)),
            AmountS32 => one(s, |v| amount(highest(magnitude(v)), 32)),
            AmountU64 => count(s, |v| amount(highest(v), 64)),
            AmountS64 => count(s, |v| amount(highest(long_magnitude(v)), 64)),
            Prmt => three(s, chosen),
            DivU32 => two(s, |x, y| quotient(x.into(), y.into())),
            DivS32 => two(s, |x, y| quotient(signed(x), signed(y))),
            RemU32 => two(s, |x, y| rest(x, y, quotient(x.into(), y.into()))),
            RemS32 => two(s, |x, y| rest(x, y, quotient(signed(x), signed(y)))),
            DivU64 => both(s, |x, y| x.checked_div(y).unwrap_or(u64::MAX)),
            RemU64 => both(s, |x, y| x.checked_rem(y).unwrap_or(u64::MAX)),
            DivS64 => both(s, |x, y| match y.cast_signed() {
                0 => u64::MAX,
                y => x.cast_signed().wrapping_div(y).cast_unsigned(),
            }),
            RemS64 => both(s, |x, y| match y.cast_signed() {
                0 => u64::MAX,
                y => x.cast_signed().wrapping_rem(y).cast_unsigned(),
            }),
            HighU64 => both(s, |x, y| ((u128::from(x) * u128::from(y)) >> 64) as u64),
            HighS64 => both(s, |x, y| {
                ((i128::from(x.cast_signed()) * i128::from(y.cast_signed())) >> 64) as u64
            }),
            SadU32 => three(s, |a, b, c| c.wrapping_add(a.abs_diff(b))),
            SadS32 => three(s, |a, b, c| {
                c.wrapping_add(a.cast_signed().abs_diff(b.cast_signed()))
            }),
            DotUU => three(s, |a, b, c| dot(a, b, c, false, false)),
            DotUS => three(s, |a, b, c| dot(a, b, c, false, true)),
            DotSU => three(s, |a, b, c| dot(a, b, c, true, false)),
            DotSS => three(s, |a, b, c| dot(a, b, c, true, true)),
        }
    };
    sources[3]: |s, mode| from_where(s, mode);
}

/// The lane that each reads to slot 3, all ones to slot 4 where it lies within the bound. See the definition of
/// `shfl` in [`cushim_ptx::interp`].
#[inline(always)]
fn from_where(s: &mut [Slot; SLOTS], mode: u32) {
    let (b, c) = (*narrow(&mut s[1]), *narrow(&mut s[2]));
    let (mut from, mut inside): (Lanes, Lanes) = ([0; 32], [0; 32]);
    for l in 0..32 {
        let lane = l as i32;
        let (offset, clamp) = ((b[l] & 31).cast_signed(), (c[l] & 31).cast_signed());
        let segment = (c[l] >> 8 & 31).cast_signed();
        let bound = lane & segment | clamp & !segment;
        let at = match mode {
            0 => lane - offset,
            1 => lane + offset,
            2 => lane ^ offset,
            _ => lane & segment | offset & !segment,
        };
        let ok = if mode == 0 { at >= bound } else { at <= bound };
        from[l] = (if ok { at } else { lane }).cast_unsigned() & 31;
        inside[l] = if ok { u32::MAX } else { 0 };
    }
    *narrow(&mut s[3]) = from;
    *narrow(&mut s[4]) = inside;
}

/// A shuffle among lanes `here`, whatever members they name: value, lane and bound in slots 0 to 2; the result in
/// slot 0, the predicate's bits in slot 1.
pub(super) unsafe fn shuffle(w: *mut Warp, mode: u32, here: u32) -> u32 {
    // SAFETY: called by generated code, as this is.
    unsafe { sources(w, mode, here) };
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let inside = *narrow(&mut w.scratch[4]);
    let bits = (0..32).fold(0u32, |m, l| m | (inside[l] & 1) << l);
    if here == u32::MAX && cushim_ptx::Level::V4.is_there() {
        // SAFETY: the processor has it.
        unsafe { permute(&mut w.scratch) };
    } else {
        let from = *narrow(&mut w.scratch[3]);
        let value = *narrow(&mut w.scratch[0]);
        let out = narrow(&mut w.scratch[0]);
        for (to, f) in out.iter_mut().zip(from) {
            let f = f as usize & 31;
            *to = if here >> f & 1 != 0 { value[f] } else { 0 };
        }
    }
    w.scratch[1][0] = bits.into();
    0
}

#[target_feature(enable = "avx512f")]
fn permute(s: &mut [Slot; SLOTS]) {
    // SAFETY: a warp's slots are aligned.
    let [a, b] = [0, 1].map(|half: usize| unsafe { sixteen(&s[0], half) });
    for half in 0..2 {
        // SAFETY: 64 bytes at 0 or 64 of a slot, which has 256.
        let from = unsafe { _mm512_loadu_si512(s[3].as_ptr().add(8 * half).cast()) };
        put_sixteen(&mut s[0], half, _mm512_permutex2var_epi32(a, from, b));
    }
}
