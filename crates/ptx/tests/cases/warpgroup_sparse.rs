//! Sparse matrix products by a warpgroup, of small integers, so that every sum is exact: the first factor in registers and in
//! memory, the second in every layout, both selectors.
//!
//! Owns kernels, inputs and expected results, which come from a product of integers. Must not know who runs them.

use super::{IMAGE, Matrix, Run, THREADS, put, text};

/// An instruction's text after its shape, its constants, bytes of an element, and the conversion from integers.
type Form = (&'static str, &'static str, usize, fn(i64) -> u32);

const FORMS: &[Form] = &[
    ("f32.f16.f16", "1, 1", 2, half),
    ("f16.f16.f16", "1, 1", 2, half),
    ("f32.bf16.bf16", "1, 1", 2, |n| (n as f32).to_bits() >> 16),
    ("f32.tf32.tf32", "1, 1", 4, |n| (n as f32).to_bits()),
    ("f32.e5m2.e5m2", "1, 1", 1, |n| half(n) >> 8),
    ("f16.e5m2.e5m2", "1, -1", 1, |n| half(n) >> 8),
    ("s32.s8.s8", "", 1, |n| n as u32 & 0xff),
];
/// Columns of the result.
const COLUMNS: usize = 24;
const ROWS: usize = 64;
/// The offset of the metadata words in the image.
const SAID: usize = IMAGE - THREADS * 4;

/// A small integer as a half.
fn half(n: i64) -> u32 {
    let bits = (n as f32).to_bits();
    let exponent = if n == 0 { 0 } else { (bits >> 23 & 0xff) + 15 - 127 };
    bits >> 31 << 15 | exponent << 10 | bits >> 13 & 0x3ff
}

/// Pseudo-random numbers from -3 to 3, the same in every run.
fn number(seed: usize) -> i64 {
    (seed.wrapping_mul(2_654_435_761) >> 9) as i64 % 7 - 3
}

/// The columns of the two stored elements of a group (for singles, of the one).
fn meets(row: usize, group: usize, element: usize) -> Vec<usize> {
    let seed = row * 31 + group * 7;
    if element == 4 {
        return vec![2 * group + seed % 2];
    }
    let two = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]][seed % 6];
    two.map(|n| 4 * group + n).to_vec()
}

/// The metadata bits for these columns.
fn said(row: usize, group: usize, element: usize) -> u32 {
    let columns = meets(row, group, element);
    match columns[..] {
        [a, b] => ((a % 4) | ((b % 4) << 2)) as u32,
        _ => [0b0100, 0b1110][columns[0] % 2],
    }
}

fn words(element: usize, selector: usize) -> Vec<u32> {
    let word = |thread: usize| {
        let (row, own) = (thread / 32 * 16 + thread % 32 / 4, thread % 4);
        let bits = |row, from: usize, count: usize| {
            (0..count).map(|n| said(row, from + n, element) << (4 * n)).sum::<u32>()
        };
        match own.checked_sub(2 * selector) {
            _ if element == 1 => bits(row + own % 2 * 8, own / 2 * 8, 8),
            Some(n) if n < 2 => bits(row, 4 * n, 4) | bits(row + 8, 4 * n, 4) << 16,
            // The instruction ignores the metadata of these lanes.
            _ => 0xe4e4_4e4e,
        }
    };
    (0..THREADS).map(word).collect()
}

/// All products.
pub fn sparse() -> Vec<Run> {
    let mut all = Vec::new();
    for form in FORMS {
        for width in [16, 32, 64, 128] {
            for across in [false, true] {
                if across && form.2 != 2 {
                    continue;
                }
                for (in_memory, selector) in [(false, 0), (true, usize::from(form.2 > 1))] {
                    all.push(run(form, width, across, in_memory, selector));
                }
            }
        }
    }
    all
}

fn run(form: &Form, width: usize, across: bool, in_memory: bool, selector: usize) -> Run {
    let &(types, signs, element, bits) = form;
    let (leading, stride) = match (across, width == 16) {
        (false, true) => (128, 512),
        // A row of the second factor has 64 bytes: with swizzled rows of 32 bytes it is split into two.
        (false, false) => (2048, 8 * width),
        (true, true) => (1024, 128),
        (true, false) => (32 * width, 8 * width),
    };
    let b = Matrix { width, across, leading, stride, start: 8192, element };
    let a = Matrix { start: 0, ..b };
    let depth = 64 / element;
    let bytes = |row: Vec<i64>| -> Vec<u8> {
        row.into_iter().flat_map(|n| bits(n).to_le_bytes()[..element].to_vec()).collect()
    };
    let first = |m: usize| (0..depth / 2).map(|j| number(m * 64 + j)).collect::<Vec<i64>>();
    let second = |n: usize| (0..depth).map(|k| number(5000 + n * 64 + k)).collect::<Vec<i64>>();
    let mut image = vec![0xcc; IMAGE];
    (0..COLUMNS).for_each(|n| put(&mut image, &b, n, &bytes(second(n))));
    if in_memory {
        (0..ROWS).for_each(|m| put(&mut image, &a, m, &bytes(first(m))));
    }
    for (n, word) in words(element, selector).into_iter().enumerate() {
        image[SAID + 4 * n..][..4].copy_from_slice(&word.to_le_bytes());
    }
    let mut input = image;
    for register in 0..4 {
        for thread in 0..THREADS {
            let row = thread / 32 * 16 + thread % 32 / 4 + register % 2 * 8;
            let at = register / 2 * 16 + thread % 4 * 4;
            input.extend(&bytes(first(row))[at..][..4]);
        }
    }
    let halves = types.starts_with("f16");
    let own = if halves { 2 } else { 4 };
    let sign = if signs.contains('-') { -1 } else { 1 };
    let product = |m: usize, n: usize| -> i64 {
        let columns = (0..16).flat_map(|group| meets(m, group, element));
        let column = second(n);
        sign * columns.zip(first(m)).map(|(k, v)| v * column[k]).sum::<i64>()
    };
    let mut expected = Vec::new();
    for group in 0..COLUMNS / 8 {
        for register in 0..own {
            for thread in 0..THREADS {
                let row = thread / 32 * 16 + thread % 32 / 4;
                let column = group * 8 + thread % 4 * 2;
                input.extend([0; 4]);
                expected.push(match types {
                    _ if halves => {
                        let of = |n| half(product(row + 8 * register, column + n));
                        of(0) | of(1) << 16
                    }
                    _ => {
                        let sum = product(row + 8 * (register / 2), column + register % 2);
                        if types.starts_with("s32") { sum as u32 } else { (sum as f32).to_bits() }
                    }
                });
            }
        }
    }
    let what = format!("m64n{COLUMNS}k{depth}.{types}");
    let text = text(&what, signs, own, in_memory.then_some(a), b)
        .replace("mma_async.sync", "mma_async.sp.sync")
        .replace(", y, p", &format!(", y, m, {selector}, p"))
        .replace("mov.u64 x, ", &format!(".reg .b32 m; ld.global.b32 m, [in+{SAID}]; mov.u64 x, "));
    let name = format!("sparse {what}, {width} bytes, across {across}, in memory {in_memory}");
    Run { name, text, blocks: 1, input, expected }
}
