//! More cases: shared tiles, one row per warp, integers, sparse and sorted data.
//!
//! Owns the launches of these kernels, the C code for the same, and the results to compare.

use crate::native::{Native, c, share};
use crate::side::{I, P, SPARSE, Side};

pub const CASES: [&str; 11] = [
    "transpose",
    "spmv",
    "bitonic",
    "softmax",
    "layernorm",
    "radix_pass",
    "stencil",
    "sha256",
    "bytes",
    "lu",
    "histogram_random",
];

/// Words of a group that `bitonic` sorts, floats of a row, words of a block in the radix pass, and its shift.
const GROUP: usize = 512;
const ROW: usize = 256;
const RADIX: usize = 2048;
const SHIFT: u32 = 7;

/// Sizes that follow from a number of elements.
struct Sizes {
    elements: usize,
    side: usize,
    rows: usize,
    groups: usize,
    words: usize,
    cube: usize,
    messages: usize,
    matrix: usize,
}

impl Sizes {
    fn of(elements: usize, side: &Side) -> Sizes {
        Sizes {
            elements,
            side: elements.isqrt(),
            rows: (elements / 16).min(side.rows),
            groups: elements / 8 / GROUP,
            words: elements / 4,
            cube: ((elements as f64).cbrt().round() as usize) / 32 * 32,
            messages: elements / 64,
            // A multiple of 32.
            matrix: (elements.isqrt() / 8).max(64),
        }
    }
}

pub fn ours(side: &Side, case: &str, elements: usize) {
    let (a, b, s, w) = (side.input, side.output, side.sums, side.words);
    let z = Sizes::of(elements, side);
    let blocks = |n: usize, of: usize| [n.div_ceil(of) as u32, 1, 1];
    let line = [256, 1, 1];
    let square = |n: usize| ([(n / 32) as u32, (n / 8) as u32, 1], [32, 8, 1], n as u32);
    match case {
        "transpose" => {
            let n = (z.side / 32) as u32;
            side.launch(case, [n, n, 1], [32, 8, 1], &[I(z.side as u32), P(a), P(b)]);
        }
        "spmv" => {
            let columns = side.sparse + 4 * (side.rows as u64 + 1);
            let args = [I(z.rows as u32), P(side.sparse), P(columns), P(a), P(a), P(b)];
            side.launch(case, blocks(z.rows, 256), line, &args);
        }
        "bitonic" => side.launch(case, blocks(z.groups, 1), line, &[P(w), P(b)]),
        "softmax" | "layernorm" => {
            let rows = z.words / ROW;
            side.launch(case, blocks(rows, 8), line, &[I(rows as u32), P(a), P(b)]);
        }
        "radix_pass" => {
            let grid = blocks(z.words, RADIX);
            side.launch("radix_count", grid, line, &[P(w), P(s), I(SHIFT)]);
            side.launch("radix_scan", [1, 1, 1], line, &[I(16 * grid[0]), P(s)]);
            side.launch("radix_scatter", grid, line, &[P(w), P(b), P(s), I(SHIFT)]);
        }
        "stencil" => {
            let n = z.cube as u32;
            side.launch(case, [n / 32, n / 4, n / 2], [32, 4, 2], &[I(n), P(a), P(b)]);
        }
        "sha256" => {
            let n = z.messages;
            side.launch(case, blocks(n, 256), line, &[I(n as u32), P(w), P(b)]);
        }
        "bytes" => {
            let (grid, block, n) = square(z.matrix);
            side.launch(case, grid, block, &[I(n), P(w), P(w + u64::from(n * n)), P(b)]);
        }
        "lu" => {
            let (grid, block, n) = square(z.matrix);
            side.launch("lu_begin", grid, block, &[I(n), P(a), P(b)]);
            for k in 0..n - 1 {
                let left = n - 1 - k;
                side.launch("lu_scale", blocks(left as usize, 64), [64, 1, 1], &[I(n), I(k), P(b)]);
                let grid = [left.div_ceil(32), left.div_ceil(8), 1];
                side.launch("lu_update", grid, block, &[I(n), I(k), P(b)]);
            }
        }
        _ => {
            let n = z.elements as u32;
            side.launch("histogram", [512, 1, 1], line, &[I(n), P(w), P(s)]);
        }
    }
}

/// Runs the C code of a case on the memory of `side`.
pub fn native(native: &Native, side: &Side, case: &str, elements: usize, threads: usize) {
    let (a, b, s, w) = (side.input, side.output, side.sums, side.words);
    let z = Sizes::of(elements, side);
    match case {
        "transpose" => {
            let f = c!(native, "transpose", (i32, i32, i32, u64, u64));
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, z.side, &|_, from, to| unsafe { f(from, to, z.side as i32, a, b) });
        }
        "spmv" => {
            let f = c!(native, "spmv", (i32, i32, u64, u64, u64, u64, u64));
            let columns = side.sparse + 4 * (side.rows as u64 + 1);
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, z.rows, &|_, from, to| unsafe {
                f(from, to, side.sparse, columns, a, a, b);
            });
        }
        "bitonic" => {
            let f = c!(native, "bitonic", (i32, i32, u64, u64));
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, z.groups, &|_, from, to| unsafe { f(from, to, w, b) });
        }
        "softmax" | "layernorm" => {
            let f = if case == "softmax" {
                c!(native, "softmax", (i32, i32, u64, u64))
            } else {
                c!(native, "layernorm", (i32, i32, u64, u64))
            };
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, z.words / ROW, &|_, from, to| unsafe { f(from, to, a, b) });
        }
        "radix_pass" => radix_pass(native, side, z.words, threads),
        "stencil" => {
            let f = c!(native, "stencil", (i32, i32, i32, u64, u64));
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, z.cube, &|_, from, to| unsafe { f(from, to, z.cube as i32, a, b) });
        }
        "sha256" => {
            let f = c!(native, "sha256", (i32, i32, i32, u64, u64));
            let n = z.messages;
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, n, &|_, from, to| unsafe { f(from, to, n as i32, w, b) });
        }
        "bytes" => {
            let f = c!(native, "bytes", (i32, i32, i32, u64, u64, u64));
            let n = z.matrix;
            let second = w + (n * n) as u64;
            // SAFETY: arrays as large as the case's size; each thread has a part of its own.
            share(threads, n, &|_, from, to| unsafe { f(from, to, n as i32, w, second, b) });
        }
        "lu" => {
            let begin = c!(native, "lu_begin", (i32, u64, u64));
            let f = c!(native, "lu_column", (i32, i32, i32, i32, u64));
            let n = z.matrix as i32;
            // SAFETY: a matrix of n by n; no other thread runs.
            unsafe { begin(n, a, b) };
            for k in 0..n - 1 {
                let left = (n - 1 - k) as usize;
                // SAFETY: a matrix of n by n; each thread has its own columns. Small columns are not worth threads.
                share(if left < 128 { 1 } else { threads }, left, &|_, from, to| unsafe {
                    f(from + k + 1, to + k + 1, n, k, b);
                });
            }
        }
        _ => {
            let f = c!(native, "histogram", (i32, i32, u64, u64));
            // SAFETY: each thread has its own bins.
            share(threads, z.elements, &|k, from, to| unsafe {
                f(from, to, w, s + 1024 * k as u64);
            });
        }
    }
}

fn radix_pass(native: &Native, side: &Side, words: usize, threads: usize) {
    let (b, s, w) = (side.output, side.sums, side.words);
    let count = c!(native, "radix_count", (i32, i32, u64, u64, i32));
    let scatter = c!(native, "radix_scatter", (i32, i32, u64, u64, u64, i32));
    let own = |k: usize| s + 64 * k as u64;
    // SAFETY: arrays of that size; each thread has its own counts.
    share(threads, words, &|k, from, to| unsafe { count(from, to, w, own(k), SHIFT as i32) });
    let mut next = 0u32;
    for digit in 0..16 {
        for k in 0..threads {
            // SAFETY: the counts of one thread, and no thread runs.
            let place = unsafe { &mut *((own(k) + 4 * digit) as *mut u32) };
            next += std::mem::replace(place, next);
        }
    }
    // SAFETY: arrays as large as the case's size; each word has its own place.
    share(threads, words, &|k, from, to| unsafe { scatter(from, to, w, b, own(k), SHIFT as i32) });
}

/// The results of a case, as numbers to compare: exact except for floating point.
pub fn results(side: &Side, case: &str, elements: usize) -> Vec<f64> {
    let z = Sizes::of(elements, side);
    let floats = |n: usize| side.floats(side.output, n).iter().map(|v| f64::from(*v)).collect();
    let bits = |at: u64, n: usize| {
        side.floats(at, n).iter().map(|v| f64::from(v.to_bits())).collect::<Vec<f64>>()
    };
    match case {
        "transpose" => floats(z.side * z.side),
        "spmv" => floats(z.rows),
        "bitonic" => bits(side.output, z.groups * GROUP),
        "softmax" | "layernorm" => floats(z.words / ROW * ROW),
        "radix_pass" => bits(side.output, z.words),
        "stencil" => floats(z.cube.pow(3)),
        "sha256" => bits(side.output, 8 * z.messages),
        "bytes" => bits(side.output, z.matrix * z.matrix),
        "lu" => {
            let words = side.floats(side.output, 2 * z.matrix * z.matrix);
            let double = |pair: &[f32]| {
                f64::from_bits(u64::from(pair[0].to_bits()) | u64::from(pair[1].to_bits()) << 32)
            };
            words.chunks_exact(2).map(double).collect()
        }
        _ => bits(side.sums, 256),
    }
}

/// Rows of a sparse matrix for this much memory: the start of each row, then the column of each element.
pub fn sparse(rows: usize) -> Vec<u32> {
    let mix = |k: u32| k.wrapping_mul(0x9e37_79b9).rotate_left(15).wrapping_mul(0x85eb_ca6b) >> 7;
    let mut words = vec![0; rows + 1];
    let mut next = 0;
    for (row, begin) in words.iter_mut().enumerate().take(rows) {
        *begin = next;
        next += 1 + mix(row as u32) % SPARSE;
    }
    words[rows] = next;
    words.extend((0..next).map(|k| mix(k ^ 0x5bd1_e995) % rows as u32));
    words
}
