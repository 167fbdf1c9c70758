//! Operations on all lanes at once, for which the code generator has no
//! instructions: functions with an error bound, and directed roundings.
//!
//! Owns loops over 32 lanes of [`cushim_ptx::alu::sfu`] and [`cushim_ptx::alu::fused`], which the compiler vectorises
//! as widely as this machine allows. Operands are 32-bit values in the first scratch slots, the result goes to slot
//! 0; every lane is computed, whatever it holds, and NaNs are canonical. [`super::avx512`] and [`super::avx2`] have
//! other implementations for processors with vectors of 64 or 32 bytes. The number passed to a helper is a set of
//! flags: [`FTZ`], the rounding, and which operands are uniform (the value of lane 0).

use super::singles::{by_definition, each_of_three, narrow, spread};
use super::{avx2, avx512};
use crate::warp::task::FTZ;
use crate::warp::{SLOTS, Slot, Warp};
use cushim_ptx::Level;
use cushim_ptx::alu::fused;
use cushim_ptx::alu::sfu::{self, Interpolated, form, usual};

// The following are macros: a loop that gets a function as a value calls it, and the function is then compiled for
// any processor, not with this one's vectors (measured: four to ten times slower).

/// An expression in which a constant says whether the flags have `.ftz`.
macro_rules! with_ftz {
    ($flags:ident, $ftz:ident => $f:expr) => {
        if $flags & FTZ != 0 {
            const $ftz: bool = true;
            $f
        } else {
            const $ftz: bool = false;
            $f
        }
    };
}

/// A function of bits, with `.ftz` and without, or the same for both.
macro_rules! one_of {
    ($slots:ident, $flags:ident, $f:expr) => {{
        let _ = $flags;
        for v in narrow(&mut $slots[0]) {
            *v = $f(*v);
        }
    }};
    ($slots:ident, $flags:ident, $ftz:ident => $f:expr) => {{
        let x = narrow(&mut $slots[0]);
        with_ftz!($flags, $ftz => for v in x {
            *v = $f(*v);
        });
    }};
}

/// The same with two operands.
macro_rules! two_of {
    ($slots:ident, $flags:ident, $ftz:ident => $f:expr) => {{
        spread($slots, $flags);
        let [x, y, ..] = $slots;
        let (x, y) = (narrow(x), narrow(y));
        with_ftz!($flags, $ftz => for (x, y) in x.iter_mut().zip(y) {
            *x = $f(*x, *y);
        });
    }};
}

/// The same with `look_up`, by which the processor's vectors find the polynomials' inputs for all lanes at once:
/// first the intervals and offsets are computed. If all operands are usual, the short path of [`usual`] is taken;
/// else nothing that was computed before is kept.
macro_rules! looked_up {
    ($slots:ident, $flags:ident, $table:ident, $usual:ident, $f:ident) => {{
        let x = *narrow(&mut $slots[0]);
        let out = narrow(&mut $slots[0]);
        if looked_up!(are_usual: x, $usual) {
            looked_up!(usual: out, x, $table, $usual, |_l, v| v);
        } else {
            with_ftz!($flags, F => looked_up!(out, $table, |l, look| form::$f::<F>(x[l], look)));
        }
    }};
    (quotients: $slots:ident, $flags:ident, $full:literal) => {{
        spread($slots, $flags);
        let (x, y) = (*narrow(&mut $slots[0]), *narrow(&mut $slots[1]));
        let out = narrow(&mut $slots[0]);
        if looked_up!(are_usual: y, rcp) {
            with_ftz!($flags, F => looked_up!(usual: out, y, Rcp, rcp, |l, v| form::times_reciprocal::<F>(x[l], v)));
        } else {
            with_ftz!($flags, F => looked_up!(out, Rcp, |l, look| form::div_by::<F, $full>(x[l], y[l], look)));
        }
    }};
    (are_usual: $x:ident, $usual:ident) => {
        $x.iter().fold(0, |others, x| others | u32::from(!usual::$usual::is_usual(*x))) == 0
    };
    (before: ex2, $x:expr) => {
        usual::ex2::before($x, |v| {
            // SAFETY: the operand is usual, as was found before.
            unsafe { v.to_int_unchecked() }
        })
    };
    (before: $usual:ident, $x:expr) => {
        usual::$usual::before($x)
    };
    (usual: $out:ident, $x:ident, $table:ident, $usual:ident, |$l:ident, $v:ident| $f:expr) => {{
        let (mut interval, mut places, mut rests) = ([0; 32], [0; 32], [0; 32]);
        for l in 0..32 {
            let before = looked_up!(before: $usual, $x[l]);
            (interval[l], places[l], rests[l]) = (before.interval, before.place, before.rest);
        }
        let rows = looked_up!(rows: $table, interval, places);
        for $l in 0..32 {
            let $v = usual::$usual::after(rows.row($l), rests[$l]);
            $out[$l] = $f;
        }
    }};
    (rows: $table:ident, $interval:ident, $places:ident) => {
        // SAFETY: the processor has the vectors, as whoever calls this found; intervals come of the function's operands.
        unsafe { look_up(Interpolated::$table, &$interval, &$places) }
    };
    ($out:ident, $table:ident, |$l:ident, $look:ident| $f:expr) => {{
        let table = sfu::coefficients(Interpolated::$table);
        let any = sfu::Row { first: table.first[0], factors: table.factors[0], square: 0 };
        let (mut interval, mut places) = ([0; 32], [0; 32]);
        for $l in 0..32 {
            let $look = |n, place| {
                (interval[$l], places[$l]) = (n, place);
                any
            };
            $f;
        }
        let rows = looked_up!(rows: $table, interval, places);
        for $l in 0..32 {
            let $look = |_, _| rows.row($l);
            $out[$l] = $f;
        }
    }};
}

/// Defines a helper: the loop, compiled for several kinds of processor, and how many operands of 32 bits it reads.
macro_rules! vector_helpers {
    ($($name:ident[$operands:literal]: |$slots:ident, $flags:ident| $body:expr $(, $widest:expr)?;)*) => {$(
        pub(super) unsafe fn $name(w: *mut Warp, $flags: u32, _: u32) -> u32 {
            #[inline(always)]
            fn any($slots: &mut [Slot; SLOTS], $flags: u32) {
                $body
            }
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
            fn avx512(slots: &mut [Slot; SLOTS], flags: u32) {
                #[allow(unused_imports)]
                use $crate::run::avx512::look_up;
                slots.iter_mut().take($operands).for_each(|s| $crate::run::joined::by_64(s));
                $({
                    let ($slots, $flags) = (&mut *slots, flags);
                    $widest;
                    return;
                })?
                #[allow(unreachable_code)]
                any(slots, flags);
            }
            #[target_feature(enable = "avx2,fma")]
            fn avx2(slots: &mut [Slot; SLOTS], flags: u32) {
                #[allow(unused_imports)]
                use $crate::run::avx2::look_up;
                slots.iter_mut().take($operands).for_each(|s| $crate::run::joined::by_32(s));
                $({
                    let ($slots, $flags) = (&mut *slots, flags);
                    $widest;
                    return;
                })?
                #[allow(unreachable_code)]
                any(slots, flags);
            }
            // SAFETY: called by generated code.
            let w = unsafe { $crate::run::lane::warp(w) };
            if cushim_ptx::Level::V4.is_there() {
                // SAFETY: the processor has them.
                unsafe { avx512(&mut w.scratch, $flags) }
            } else if cushim_ptx::Level::V3.is_there() {
                // SAFETY: the processor has them.
                unsafe { avx2(&mut w.scratch, $flags) }
            } else {
                any(&mut w.scratch, $flags);
            }
            0
        }
    )*};
}
pub(super) use vector_helpers;

vector_helpers! {
    ex2[1]: |slots, flags| one_of!(slots, flags, F => form::ex2::<F>), looked_up!(slots, flags, Ex2, ex2, ex2_by);
    lg2[1]: |slots, flags| one_of!(slots, flags, F => form::lg2::<F>), looked_up!(slots, flags, Lg2, lg2, lg2_by);
    rcp_of_each[1]: |slots, flags| one_of!(slots, flags, F => form::rcp::<F>), looked_up!(slots, flags, Rcp, rcp, rcp_by);
    rsqrt_of_each[1]: |slots, flags| one_of!(slots, flags, F => form::rsqrt::<F>), looked_up!(slots, flags, Rsqrt, rsqrt, rsqrt_by);
    sqrt_of_each[1]: |slots, flags| one_of!(slots, flags, F => form::sqrt::<F>), looked_up!(slots, flags, Sqrt, sqrt, sqrt_by);
    tanh[1]: |slots, flags| one_of!(slots, flags, sfu::tanh);
    sin[1]: |slots, flags| one_of!(slots, flags, form::sin);
    cos[1]: |slots, flags| one_of!(slots, flags, form::cos);
    div_approx[2]: |slots, flags| two_of!(slots, flags, F => form::div::<F, false>), looked_up!(quotients: slots, flags, false);
    div_full[2]: |slots, flags| two_of!(slots, flags, F => form::div::<F, true>), looked_up!(quotients: slots, flags, true);
    emulated[3]: |slots, flags| by_definition(slots, flags);
    fused[3]: |slots, flags| each_of_three(slots, flags, fused::fma_nearest);
}

/// Functions that kernels mostly want of what lanes have computed together, as the length of a row: code does not know that
/// all have the same number then, and one lane computes it.
macro_rules! mostly_of_one {
    ($($name:ident: $of_each:ident, $function:ident;)*) => {$(
        pub(super) unsafe fn $name(w: *mut Warp, flags: u32, mask: u32) -> u32 {
            {
                // SAFETY: called by generated code.
                let x = narrow(unsafe { &mut crate::run::lane::warp(w).scratch[0] });
                let first = x[0];
                if x[1] == first && x.iter().fold(0, |differ, v| differ | (v ^ first)) == 0 {
                    let ftz = flags & FTZ != 0;
                    let v = if ftz { form::$function::<true>(first) } else { form::$function::<false>(first) };
                    *x = [v; 32];
                    return 0;
                }
            }
            // SAFETY: called by generated code, as this is.
            unsafe { $of_each(w, flags, mask) }
        }
    )*};
}

mostly_of_one! {
    rcp: rcp_of_each, rcp;
    rsqrt: rsqrt_of_each, rsqrt;
    sqrt: sqrt_of_each, sqrt;
}

/// Multiply-add in a directed rounding: an instruction where the processor has the rounding in its code, else with the
/// rounding of its control register, or the definition, which gives the same bits.
pub(super) unsafe fn directed(w: *mut Warp, flags: u32, mask: u32) -> u32 {
    if !Level::V3.is_there() {
        // SAFETY: called by generated code, as this is.
        return unsafe { emulated(w, flags, mask) };
    }
    // SAFETY: called by generated code.
    let w = unsafe { super::lane::warp(w) };
    // SAFETY: the processor has it; a warp is aligned.
    unsafe {
        if Level::V4.is_there() {
            avx512::fused(&mut w.scratch, flags);
        } else {
            avx2::fused(&mut w.scratch, flags);
        }
    }
    0
}
