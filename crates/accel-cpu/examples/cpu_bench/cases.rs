//! The cases: kernels, their sizes, and the C code for the same.

use crate::more;
use crate::native::{Native, c, share};
use crate::side::{F, I, P, Side};

/// A size of each case: full, medium for the cost of checks, or small for checks of results and for the interpreter.
#[derive(Clone, Copy)]
pub struct Size {
    pub saxpy: usize,
    pub reduce: usize,
    pub matmul: usize,
    pub nbody: usize,
    pub options: usize,
    pub histogram: usize,
    pub scan: usize,
    pub image: usize,
    /// Elements in the largest of the other cases ([`crate::more`]).
    pub more: usize,
}

pub const FULL: Size = Size {
    saxpy: 32 << 20,
    reduce: 64 << 20,
    matmul: 1024,
    nbody: 8192,
    options: 4 << 20,
    histogram: 16 << 20,
    scan: 16 << 20,
    image: 4096,
    more: 16 << 20,
};
pub const MIDDLE: Size = Size {
    saxpy: 4 << 20,
    reduce: 8 << 20,
    matmul: 512,
    nbody: 2048,
    options: 1 << 20,
    histogram: 2 << 20,
    scan: 2 << 20,
    image: 1024,
    more: 1 << 20,
};
pub const SMALL: Size = Size {
    saxpy: 1 << 18,
    reduce: 1 << 18,
    matmul: 256,
    nbody: 512,
    options: 1 << 14,
    histogram: 1 << 17,
    scan: 1 << 16,
    image: 256,
    more: 1 << 16,
};

/// The cases of this file; [`crate::more::CASES`] has the others.
const CASES: [&str; 8] =
    ["saxpy", "reduce", "matmul", "nbody", "black_scholes", "histogram", "scan", "convolution"];

/// All cases.
pub fn all() -> Vec<&'static str> {
    CASES.into_iter().chain(more::CASES).collect()
}

pub fn ours(side: &Side, case: &str, z: Size) {
    let (a, b, s) = (side.input, side.output, side.sums);
    let blocks = |n: usize| [n.div_ceil(256) as u32, 1, 1];
    let line = [256, 1, 1];
    match case {
        "saxpy" => {
            let n = z.saxpy;
            side.launch(case, blocks(n), line, &[I(n as u32), F(0.5), P(a), P(b)]);
        }
        "reduce" => side.launch(case, [512, 1, 1], line, &[I(z.reduce as u32), P(a), P(s)]),
        "matmul" => {
            let n = z.matmul;
            let (grid, second) = ((n / 32) as u32, a + 4 * (n * n) as u64);
            let args = [I(n as u32), P(a), P(second), P(b)];
            side.launch(case, [grid, grid, 1], [32, 32, 1], &args);
        }
        "nbody" => side.launch(case, blocks(z.nbody), line, &[I(z.nbody as u32), P(a), P(b)]),
        "black_scholes" => {
            let (n, step) = (z.options, 4 * z.options as u64);
            let args = [I(n as u32), P(a), P(a + step), P(a + 2 * step), P(b), P(b + step)];
            side.launch(case, blocks(n), line, &args);
        }
        "histogram" => side.launch(case, [512, 1, 1], line, &[I(z.histogram as u32), P(a), P(s)]),
        "scan" => {
            let n = z.scan;
            let (m, k) = (n.div_ceil(256), n.div_ceil(65536));
            let second = s + 4 * m as u64;
            let third = second + 4 * k as u64;
            side.launch(case, blocks(n), line, &[I(n as u32), P(a), P(b), P(s)]);
            side.launch(case, blocks(m), line, &[I(m as u32), P(s), P(s), P(second)]);
            side.launch(case, blocks(k), line, &[I(k as u32), P(second), P(second), P(third)]);
            side.launch("scan_add", blocks(m), line, &[I(m as u32), P(s), P(second)]);
            side.launch("scan_add", blocks(n), line, &[I(n as u32), P(b), P(s)]);
        }
        "convolution" => {
            let n = z.image as u32;
            let grid = [n.div_ceil(32), n.div_ceil(8), 1];
            side.launch(case, grid, [32, 8, 1], &[I(n), I(n), P(a), P(b)]);
        }
        _ => more::ours(side, case, z.more),
    }
}

/// Runs the C code of a case on the memory of `side`.
pub fn native(native: &Native, side: &Side, case: &str, z: Size, threads: usize) {
    let (a, b, s) = (side.input, side.output, side.sums);
    match case {
        "saxpy" => {
            let f = c!(native, "saxpy", (i32, i32, f32, u64, u64));
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, z.saxpy, &|_, from, to| unsafe { f(from, to, 0.5, a, b) });
        }
        "reduce" => {
            let f = c!(native, "reduce", (i32, i32, u64) -> f32);
            share(threads, z.reduce, &|k, from, to| {
                // SAFETY: arrays as large as the case's size; each thread has a part of its own.
                let sum = unsafe { f(from, to, a) };
                // SAFETY: a word for each thread.
                unsafe { (s as *mut f32).add(k).write(sum) };
            });
        }
        "matmul" => {
            let f = c!(native, "matmul", (i32, i32, i32, u64, u64, u64));
            let (n, second) = (z.matmul as i32, a + 4 * (z.matmul * z.matmul) as u64);
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, z.matmul, &|_, from, to| unsafe { f(from, to, n, a, second, b) });
        }
        "nbody" => {
            let f = c!(native, "nbody", (i32, i32, i32, u64, u64));
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, z.nbody, &|_, from, to| unsafe { f(from, to, z.nbody as i32, a, b) });
        }
        "black_scholes" => {
            let f = c!(native, "black_scholes", (i32, i32, u64, u64, u64, u64, u64));
            let step = 4 * z.options as u64;
            share(threads, z.options, &|_, from, to| {
                // SAFETY: arrays as large as the case's size; each thread has a part of its own.
                unsafe { f(from, to, a, a + step, a + 2 * step, b, b + step) }
            });
        }
        "histogram" => {
            let f = c!(native, "histogram", (i32, i32, u64, u64));
            // SAFETY: each thread has its own bins.
            share(threads, z.histogram, &|k, from, to| unsafe {
                f(from, to, a, s + 1024 * k as u64);
            });
        }
        "scan" => {
            let f = c!(native, "scan", (i32, i32, i32, u64, u64) -> i32);
            let total = c!(native, "total", (i32, i32, u64) -> i32);
            let parts: Vec<std::sync::atomic::AtomicI32> =
                (0..=threads).map(|_| Default::default()).collect();
            use std::sync::atomic::Ordering::Relaxed;
            if threads > 1 {
                share(threads, z.scan, &|k, from, to| {
                    // SAFETY: arrays as large as the case's size; each thread has a part of its own.
                    parts[k + 1].store(unsafe { total(from, to, a) }, Relaxed);
                });
                for k in 1..=threads {
                    let sum = parts[k].load(Relaxed).wrapping_add(parts[k - 1].load(Relaxed));
                    parts[k].store(sum, Relaxed);
                }
            }
            share(threads, z.scan, &|k, from, to| {
                // SAFETY: arrays as large as the case's size; each thread has a part of its own.
                unsafe { f(from, to, parts[k].load(Relaxed), a, b) };
            });
        }
        "convolution" => {
            let f = c!(native, "convolution", (i32, i32, i32, i32, u64, u64));
            let n = z.image as i32;
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, z.image, &|_, from, to| unsafe { f(from, to, n, n, a, b) });
        }
        _ => more::native(native, side, case, z.more, threads),
    }
}

/// Compares both results; panics if they differ by more than rounding.
pub fn check(side: &Side, c: &Native) {
    for case in all() {
        let run = |f: &dyn Fn()| -> Vec<f64> {
            side.floats(side.output, 1 << 19).fill(0.0);
            side.floats(side.sums, 1024).fill(0.0);
            f();
            results(side, case, SMALL)
        };
        let got = run(&|| ours(side, case, SMALL));
        let expected = run(&|| native(c, side, case, SMALL, 1));
        assert!(got.len() == expected.len() && !got.is_empty(), "{case}");
        for (k, (g, e)) in got.iter().zip(&expected).enumerate() {
            let close = (g - e).abs() <= 2e-3 * e.abs().max(1e-1);
            assert!(close, "{case}: element {k} is {g}, C has {e}");
        }
    }
}

/// The results of a case, as numbers to compare.
fn results(side: &Side, case: &str, z: Size) -> Vec<f64> {
    let n = match case {
        "reduce" | "histogram" => 0,
        "matmul" => z.matmul * z.matmul,
        "nbody" => z.nbody * 4,
        "black_scholes" => z.options * 2,
        "scan" => z.scan,
        "convolution" => z.image * z.image,
        "saxpy" => z.saxpy,
        _ => return more::results(side, case, z.more),
    };
    let sums = side.floats(side.sums, 512);
    let out = side.floats(side.output, n);
    let whole = |v: &f32| f64::from(v.to_bits());
    match case {
        "reduce" => vec![sums.iter().map(|v| f64::from(*v)).sum()],
        "histogram" => sums[..256].iter().map(whole).collect(),
        "scan" => out.iter().map(whole).collect(),
        _ => out.iter().map(|v| f64::from(*v)).collect(),
    }
}
