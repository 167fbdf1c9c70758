//! Matrix instructions, in the interpreter and in compiled code: products of matrices, with elements placed by the formulas
//! of the ISA manual, which this file writes as the manual does.

use crate::common;

use common::Device;
use std::fmt::Write as _;

/// Row and column of element `i`, for a lane with this group number and this number in its group.
type Formula = fn(g: u32, t: u32, i: u32) -> (u32, u32);

/// One form: its name after `mma.sync.aligned.`, extents, type and registers of a, b and c (d is as c), formulas.
struct Form {
    name: &'static str,
    shape: [u32; 3],
    types: [&'static str; 3],
    registers: [u32; 3],
    a: Formula,
    b: Formula,
    c: Formula,
}

fn upper(first: bool) -> u32 {
    if first { 0 } else { 8 }
}

fn half(i: u32, from: u32, by: u32) -> u32 {
    if i < from { 0 } else { by }
}

const C8: Formula = |g, t, i| (g, t * 2 + i);
const C16: Formula = |g, t, i| (g + upper(i < 2), t * 2 + (i & 1));
const A_HALF_8: Formula = |g, t, i| (g + upper(i < 2), t * 2 + (i & 1));
const A_HALF_16: Formula =
    |g, t, i| (g + upper(i < 2 || (4..6).contains(&i)), t * 2 + (i & 1) + half(i, 4, 8));
const B_HALF: Formula = |g, t, i| (t * 2 + (i & 1) + half(i, 2, 8), g);
const A_WORD: Formula = |g, t, i| (g + upper(i % 2 == 0), t + i / 2 * 4);
const B_WORD: Formula = |g, t, i| (t + i * 4, g);
const A_BYTE_8: Formula = |g, t, i| (g, t * 4 + i);
const A_BYTE: Formula =
    |g, t, i| (g + upper(i < 4 || (8..12).contains(&i)), t * 4 + (i & 3) + half(i, 8, 16));
const B_BYTE: Formula = |g, t, i| (t * 4 + (i & 3) + half(i, 4, 16), g);
const A_NIBBLE_8: Formula = |g, t, i| (g, t * 8 + i);
const A_NIBBLE: Formula =
    |g, t, i| (g + upper(i < 8 || (16..24).contains(&i)), t * 8 + (i & 7) + half(i, 16, 32));
const B_NIBBLE: Formula = |g, t, i| (t * 8 + (i & 7) + half(i, 8, 32), g);
const A_BIT_8: Formula = |g, t, i| (g, t * 32 + i);
const A_BIT: Formula =
    |g, t, i| (g + upper(i < 32 || (64..96).contains(&i)), t * 32 + i % 32 + half(i, 64, 128));
const B_BIT: Formula = |g, t, i| (t * 32 + i % 32 + half(i, 32, 128), g);

macro_rules! forms {
    ($($name:literal $m:literal $n:literal $k:literal, $types:literal, $registers:expr, $a:expr, $b:expr, $c:expr;)*) => {
        [$(Form {
            name: $name,
            shape: [$m, $n, $k],
            types: {
                let mut types = $types.split(' ');
                [types.next().unwrap(), types.next().unwrap(), types.next().unwrap()]
            },
            registers: $registers,
            a: $a,
            b: $b,
            c: $c,
        }),*]
    };
}

#[rustfmt::skip]
fn forms() -> Vec<Form> {
    forms! {
        "m16n8k8.row.col.f32.f16.f16.f32" 16 8 8, "f16 f16 f32", [2, 1, 4], A_HALF_8, B_HALF, C16;
        "m16n8k8.row.col.f16.f16.f16.f16" 16 8 8, "f16 f16 f16", [2, 1, 2], A_HALF_8, B_HALF, C16;
        "m16n8k8.row.col.f32.bf16.bf16.f32" 16 8 8, "bf16 bf16 f32", [2, 1, 4], A_HALF_8, B_HALF, C16;
        "m16n8k16.row.col.f32.f16.f16.f32" 16 8 16, "f16 f16 f32", [4, 2, 4], A_HALF_16, B_HALF, C16;
        "m16n8k16.row.col.f16.f16.f16.f16" 16 8 16, "f16 f16 f16", [4, 2, 2], A_HALF_16, B_HALF, C16;
        "m16n8k16.row.col.f32.bf16.bf16.f32" 16 8 16, "bf16 bf16 f32", [4, 2, 4], A_HALF_16, B_HALF, C16;
        "m16n8k4.row.col.f32.tf32.tf32.f32" 16 8 4, "tf32 tf32 f32", [2, 1, 4], A_WORD, B_WORD, C16;
        "m16n8k8.row.col.f32.tf32.tf32.f32" 16 8 8, "tf32 tf32 f32", [4, 2, 4], A_WORD, B_WORD, C16;
        "m8n8k4.row.col.f64.f64.f64.f64" 8 8 4, "f64 f64 f64", [1, 1, 2], |g, t, _| (g, t), B_WORD, C8;
        "m16n8k4.row.col.f64.f64.f64.f64" 16 8 4, "f64 f64 f64", [2, 1, 4], A_WORD, B_WORD, C16;
        "m16n8k8.row.col.f64.f64.f64.f64" 16 8 8, "f64 f64 f64", [4, 2, 4], A_WORD, B_WORD, C16;
        "m16n8k16.row.col.f64.f64.f64.f64" 16 8 16, "f64 f64 f64", [8, 4, 4], A_WORD, B_WORD, C16;
        "m16n8k16.row.col.f32.e4m3.e5m2.f32" 16 8 16, "e4m3 e5m2 f32", [2, 1, 4], A_BYTE, B_BYTE, C16;
        "m16n8k32.row.col.f32.e5m2.e4m3.f32" 16 8 32, "e5m2 e4m3 f32", [4, 2, 4], A_BYTE, B_BYTE, C16;
        "m16n8k32.row.col.f16.e4m3.e4m3.f16" 16 8 32, "e4m3 e4m3 f16", [4, 2, 2], A_BYTE, B_BYTE, C16;
        "m8n8k16.row.col.s32.s8.u8.s32" 8 8 16, "s8 u8 s32", [1, 1, 2], A_BYTE_8, B_BYTE, C8;
        "m16n8k16.row.col.s32.u8.s8.s32" 16 8 16, "u8 s8 s32", [2, 1, 4], A_BYTE, B_BYTE, C16;
        "m16n8k32.row.col.satfinite.s32.s8.s8.s32" 16 8 32, "s8 s8 s32", [4, 2, 4], A_BYTE, B_BYTE, C16;
        "m8n8k32.row.col.s32.s4.u4.s32" 8 8 32, "s4 u4 s32", [1, 1, 2], A_NIBBLE_8, B_NIBBLE, C8;
        "m16n8k32.row.col.s32.u4.s4.s32" 16 8 32, "u4 s4 s32", [2, 1, 4], A_NIBBLE, B_NIBBLE, C16;
        "m16n8k64.row.col.s32.s4.s4.s32" 16 8 64, "s4 s4 s32", [4, 2, 4], A_NIBBLE, B_NIBBLE, C16;
        "m8n8k128.row.col.s32.b1.b1.s32.xor.popc" 8 8 128, "b1 b1 s32", [1, 1, 2], A_BIT_8, B_BIT, C8;
        "m16n8k128.row.col.s32.b1.b1.s32.and.popc" 16 8 128, "b1 b1 s32", [2, 1, 4], A_BIT, B_BIT, C16;
        "m16n8k256.row.col.s32.b1.b1.s32.xor.popc" 16 8 256, "b1 b1 s32", [4, 2, 4], A_BIT, B_BIT, C16;
    }
    .into()
}

fn bits(ty: &str) -> u32 {
    match ty {
        "b1" => 1,
        "s4" | "u4" => 4,
        "s8" | "u8" | "e4m3" | "e5m2" => 8,
        "f16" | "bf16" => 16,
        "f64" => 64,
        _ => 32,
    }
}

/// A small number in the format of a type.
fn encode(ty: &str, v: i64) -> u64 {
    // From the bits of a single, whose fraction has more bits than small numbers need.
    let float = |exponent: u32, fraction: u32| {
        let single = (v as f32).to_bits();
        let sign = u64::from(single >> 31) << (exponent + fraction);
        if v == 0 {
            return 0;
        }
        let power = (single >> 23 & 0xff) as i32 - 127 + (1 << (exponent - 1)) - 1;
        sign | (power as u64) << fraction | u64::from(single & 0x7f_ffff) >> (23 - fraction)
    };
    match ty {
        "f16" => float(5, 10),
        "bf16" => float(8, 7),
        "tf32" | "f32" => float(8, 23),
        "f64" => (v as f64).to_bits(),
        "e4m3" => float(4, 3),
        "e5m2" => float(5, 2),
        _ => v as u64 & (u64::MAX >> (64 - bits(ty))),
    }
}

/// A number that every type of this kind can represent.
fn small(ty: &str, n: u32) -> i64 {
    let n = i64::from(n);
    match ty {
        "b1" => n & 1,
        "u4" => n & 15,
        "s4" => (n & 15) - 8,
        "u8" => n & 255,
        "s8" => (n & 255) - 128,
        "s32" => (n & 0xffff) - 0x8000,
        "e5m2" => [-3, -2, -1, 0, 1, 2, 4, 6][n as usize & 7],
        _ => (n & 15) - 7,
    }
}

struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 11
    }
}

/// A matrix in registers: 32-bit words, register by register; a double has two words in each lane.
fn registers(
    ty: &str,
    count: u32,
    at: impl Fn(u32, u32) -> (u32, u32),
    of: impl Fn(u32, u32) -> i64,
) -> Vec<u32> {
    let (bits, per) = (bits(ty), (32 / bits(ty)).max(1));
    let mut words = Vec::new();
    for register in 0..count {
        for lane in 0..32 {
            let mut word = 0;
            for k in 0..per {
                let (row, column) = at(lane, register * per + k);
                word |= encode(ty, of(row, column)) << (k * bits);
            }
            words.push(word as u32);
            if bits == 64 {
                words.push((word >> 32) as u32);
            }
        }
    }
    words
}

fn register(ty: &str) -> &'static str {
    match ty {
        "f64" => "f64",
        "f32" => "f32",
        _ => "b32",
    }
}

/// A kernel that loads the registers of matrices, runs an instruction, and stores the registers of its result.
fn kernel(instruction: &str, types: [&str; 4], counts: [u32; 4], more: &str) -> String {
    let (mut code, mut lists, mut at) = (String::new(), Vec::new(), 0);
    for (k, name) in ["a", "b", "c"].iter().enumerate() {
        let (ty, bytes) = (register(types[k]), bits(types[k]).max(32) / 8);
        let _ = writeln!(code, ".reg .{ty} {name}<{}>; mad.wide.u32 p, t, {bytes}, in;", counts[k]);
        for n in 0..counts[k] {
            let _ = writeln!(code, "ld.global.{ty} {name}{n}, [p+{at}];");
            at += 32 * bytes;
        }
        lists.push((0..counts[k]).map(|n| format!("{name}{n}")).collect::<Vec<_>>().join(", "));
    }
    let (ty, bytes) = (register(types[3]), bits(types[3]).max(32) / 8);
    let d = (0..counts[3]).map(|n| format!("d{n}")).collect::<Vec<_>>().join(", ");
    let _ = writeln!(
        code,
        ".reg .{ty} d<{}>; .reg .b32 e; mad.wide.u32 p, t, 4, in; ld.global.b32 e, [p+{at}];
         {instruction} {{{d}}}, {{{}}}, {{{}}}, {{{}}}{more};
         mad.wide.u32 p, t, {bytes}, out;",
        counts[3], lists[0], lists[1], lists[2],
    );
    for n in 0..counts[3] {
        let _ = writeln!(code, "st.global.{ty} [p+{}], d{n};", 32 * bytes * n);
    }
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64
         .visible .entry k(.param .u64 pi, .param .u64 po) {{
         .reg .b64 in, out, p; .reg .b32 t;
         ld.param.u64 in, [pi]; ld.param.u64 out, [po]; mov.u32 t, %tid.x;
         {code} ret; }}"
    )
}

fn run(text: &str, input: &[u32], words: usize) -> Vec<u32> {
    let device = Device::new(text);
    let input = device.upload(input, |w| w.to_le_bytes());
    let out = device.alloc(4 * words as u64);
    device.launch("k", 1, 32, &[input, out]).unwrap();
    device.u32s(out, words)
}

#[test]
fn products_are_those_of_matrices_placed_as_the_manual_says() {
    let mut random = Random(7);
    for form in forms() {
        let [m, n, k] = form.shape;
        let [ta, tb, tc] = form.types;
        let mut matrix = |ty, rows: u32, columns: u32| -> Vec<i64> {
            (0..rows * columns).map(|_| small(ty, random.next())).collect()
        };
        let (a, b, c) = (matrix(ta, m, k), matrix(tb, k, n), matrix(tc, m, n));
        let at = |f: Formula| move |lane: u32, i: u32| f(lane / 4, lane % 4, i);
        let of = |x: &[i64], columns: u32| {
            let x = x.to_vec();
            move |row: u32, column: u32| x[(row * columns + column) as usize]
        };
        let mut input = registers(ta, form.registers[0], at(form.a), of(&a, k));
        input.extend(registers(tb, form.registers[1], at(form.b), of(&b, n)));
        input.extend(registers(tc, form.registers[2], at(form.c), of(&c, n)));
        input.extend([0; 32]);
        let product = |row: u32, column: u32| {
            let one = |l: u32| {
                let (x, y) = (of(&a, k)(row, l), of(&b, n)(l, column));
                if form.name.contains("xor") { x ^ y } else { x * y }
            };
            of(&c, n)(row, column) + (0..k).map(one).sum::<i64>()
        };
        let expected = registers(tc, form.registers[2], at(form.c), product);
        let [ra, rb, rc] = form.registers;
        let name = format!("mma.sync.aligned.{}", form.name);
        let text = kernel(&name, [ta, tb, tc, tc], [ra, rb, rc, rc], "");
        assert_eq!(run(&text, &input, expected.len()), expected, "{name}");
    }
}

/// For the sparse factor: elements of a group in the full matrix, and how many of them are stored.
fn sparse_group(ty: &str) -> (u32, u32) {
    match bits(ty) {
        32 => (2, 1),
        // Two pairs.
        4 => (8, 4),
        _ => (4, 2),
    }
}

/// The elements of a matrix with this many columns.
fn plain(columns: u32, x: &[i64]) -> impl Fn(u32, u32) -> i64 {
    let x = x.to_vec();
    move |row, column| x[(row * columns + column) as usize]
}

/// The lanes' metadata words, which say which elements are stored, from the code of each row and group.
fn said_words(
    ty: &str,
    groups: u32,
    per_row: u32,
    selector: u32,
    code: impl Fn(u32, u32) -> u32,
) -> [u32; 32] {
    let mut words = [0u32; 32];
    for row in 0..16 {
        for g in 0..groups {
            let (at, own) = (4 * g, per_row / 16);
            let (lane, bit) = if bits(ty) >= 16 {
                (at / 16, at % 16 + 16 * (row / 8))
            } else {
                (row / 8 + 2 * (at / 32), at % 32)
            };
            words[(4 * (row % 8) + selector * own + lane) as usize] |= code(row, g) << bit;
        }
    }
    words
}

#[test]
fn sparse_products_meet_the_elements_that_the_words_name() {
    let mut random = Random(11);
    // Name, k, types, registers, and how many bits of a row a metadata word has.
    #[rustfmt::skip]
    let forms = [
        ("m16n8k16.row.col.f32.f16.f16.f32", 16, ["f16", "f16", "f32"], [2, 2, 4]),
        ("m16n8k16.row.col.f16.f16.f16.f16", 16, ["f16", "f16", "f16"], [2, 2, 2]),
        ("m16n8k32.row.col.f32.bf16.bf16.f32", 32, ["bf16", "bf16", "f32"], [4, 4, 4]),
        ("m16n8k8.row.col.f32.tf32.tf32.f32", 8, ["tf32", "tf32", "f32"], [2, 2, 4]),
        ("m16n8k16.row.col.f32.tf32.tf32.f32", 16, ["tf32", "tf32", "f32"], [4, 4, 4]),
        ("m16n8k32.row.col.s32.s8.u8.s32", 32, ["s8", "u8", "s32"], [2, 2, 4]),
        ("m16n8k64.row.col.satfinite.s32.u8.u8.s32", 64, ["u8", "u8", "s32"], [4, 4, 4]),
        ("m16n8k64.row.col.s32.s4.s4.s32", 64, ["s4", "s4", "s32"], [2, 2, 4]),
        ("m16n8k128.row.col.s32.u4.u4.s32", 128, ["u4", "u4", "s32"], [4, 4, 4]),
        ("m16n8k64.row.col.f32.e4m3.e5m2.f32", 64, ["e4m3", "e5m2", "f32"], [4, 4, 4]),
    ];
    for (form, k, [ta, tb, tc], [ra, rb, rc]) in forms {
        let (group, there) = sparse_group(ta);
        let per_row = k / group * 4;
        let selectors = (64 / per_row).min(4);
        for selector in 0..selectors {
            let (m, n, kept) = (16u32, 8u32, k / group * there);
            let of = |rows: u32, columns: u32, ty, random: &mut Random| -> Vec<i64> {
                (0..rows * columns).map(|_| small(ty, random.next())).collect()
            };
            let a = of(m, kept, ta, &mut random);
            let b = of(k, n, tb, &mut random);
            let c = of(m, n, tc, &mut random);
            // For each row and group, the positions of the stored elements, as pairs of bits.
            let mut said = vec![[0u32; 2]; (m * k / group) as usize];
            for places in &mut said {
                let first = random.next() % 3;
                *places = [first, first + 1 + random.next() % (3 - first)];
            }
            let code = |row: u32, g: u32| {
                let [x, y] = said[(row * (k / group) + g) as usize];
                match group {
                    // The second element of two, or the first.
                    2 if x == 0 => 0x4,
                    2 => 0xe,
                    _ => x | y << 2,
                }
            };
            // The row of the second factor that a stored element multiplies.
            let met = |row: u32, column: u32| {
                let (g, j) = (column / there, column % there);
                let places = said[(row * (k / group) + g) as usize];
                group * g
                    + match group {
                        2 => u32::from(places[0] != 0),
                        8 => 2 * places[(j / 2) as usize] + j % 2,
                        _ => places[j as usize],
                    }
            };
            // The lanes with the metadata (ISA, "Sparse matrix storage"): for 16- and 32-bit elements each lane has 16 bits of two
            // rows, for smaller elements 32 bits of one row.
            let words = said_words(ta, k / group, per_row, selector, code);
            let lane = |f: Formula| move |lane: u32, i: u32| f(lane / 4, lane % 4, i);
            let (fa, fb): (Formula, Formula) = match bits(ta) {
                32 => (A_WORD, B_WORD),
                16 if ra == 2 => (A_HALF_8, B_HALF),
                16 => (A_HALF_16, |g, t, i| (t * 2 + (i & 1) + i / 2 * 8, g)),
                8 => (A_BYTE, |g, t, i| (t * 4 + (i & 3) + i / 4 * 16, g)),
                _ => (A_NIBBLE, |g, t, i| (t * 8 + (i & 7) + i / 8 * 32, g)),
            };
            let mut input = registers(ta, ra, lane(fa), plain(kept, &a));
            input.extend(registers(tb, rb, lane(fb), plain(n, &b)));
            input.extend(registers(tc, rc, lane(C16), plain(n, &c)));
            input.extend(words);
            let product = |row: u32, column: u32| {
                let one = |l| plain(kept, &a)(row, l) * plain(n, &b)(met(row, l), column);
                plain(n, &c)(row, column) + (0..kept).map(one).sum::<i64>()
            };
            let expected = registers(tc, rc, lane(C16), product);
            for sort in ["sp", "sp::ordered_metadata"] {
                let name = format!("mma.{sort}.sync.aligned.{form}");
                let more = format!(", e, {selector}");
                let text = kernel(&name, [ta, tb, tc, tc], [ra, rb, rc, rc], &more);
                assert_eq!(run(&text, &input, expected.len()), expected, "{name} {selector}");
            }
        }
    }
}

/// The elements of rows of 16 bytes, by matrix, row and column from 0.
fn element(matrix: u32, row: u32, column: u32) -> u32 {
    1 + matrix * 64 + row * 8 + column
}

#[test]
fn rows_of_shared_memory_become_fragments_and_fragments_rows() {
    for (space, ty) in [(".shared", "u32"), (".shared::cta", "u64"), ("", "u64")] {
        for (n, trans) in [(1, false), (2, false), (4, false), (1, true), (2, true), (4, true)] {
            let list =
                |name: &str| (0..n).map(|k| format!("{name}{k}")).collect::<Vec<_>>().join(", ");
            let trans_word = if trans { ".trans" } else { "" };
            let pointer = match (space, ty) {
                ("", _) => "cvta.shared.u64 a, a;",
                _ => "",
            };
            // The rows are apart, and in an order of their own.
            let text = format!(
                ".version 8.0\n.target sm_90\n.address_size 64
                 .visible .entry k(.param .u64 pi, .param .u64 po) {{
                 .shared .align 16 .b8 rows[2048];
                 .reg .b64 in, out; .reg .{ty} a, b; .reg .b32 t, r, s, v<4>, x;
                 ld.param.u64 in, [pi]; ld.param.u64 out, [po]; mov.u32 t, %tid.x;
                 mov.{ty} a, rows; mul.lo.u32 r, t, 5; and.b32 r, r, 31; mul.lo.u32 s, r, 48;
                 cvt.{ty}.u32 b, s; add.{ty} b, b, a; mov.{ty} a, b;
                 mad.wide.u32 in, t, 16, in; mad.wide.u32 out, t, 32, out;
                 ld.global.v4.b32 {{v0, v1, v2, v3}}, [in]; st.shared.v4.b32 [a], {{v0, v1, v2, v3}};
                 bar.sync 0; {pointer}
                 ldmatrix.sync.aligned.m8n8.x{n}{trans_word}{space}.b16 {{{v}}}, [a+0];
                 mov.b32 x, v0;
                 st.global.v4.b32 [out], {{v0, v1, v2, v3}}; bar.sync 0;
                 stmatrix.sync.aligned.m8n8.x{n}.trans{space}.b16 [a], {{{v}}}; bar.sync 0;
                 ld.shared.v4.b32 {{v0, v1, v2, v3}}, [b];
                 st.global.v4.b32 [out+16], {{v0, v1, v2, v3}}; ret; }}",
                v = list("v"),
            );
            // 32 rows in shared memory end at 1,504 bytes or less: 48 * 31 + 16.
            let row = |matrix: u32, row: u32| -> Vec<u32> {
                let two = |c: u32| element(matrix, row, c) | element(matrix, row, c + 1) << 16;
                [0, 2, 4, 6].map(two).into()
            };
            let input: Vec<u32> = (0..32).flat_map(|lane| row(lane / 8, lane % 8)).collect();
            let device = Device::new(&text);
            let given = device.upload(&input, |w| w.to_le_bytes());
            let out = device.alloc(1024);
            device.launch("k", 1, 32, &[given, out]).unwrap();
            let found = device.u32s(out, 256);
            for lane in 0..32u32 {
                let (g, t) = (lane / 4, lane % 4);
                for k in 0..n {
                    let at = |i: u32| match trans {
                        false => element(k, g, 2 * t + i),
                        true => element(k, 2 * t + i, g),
                    };
                    let expected = at(0) | at(1) << 16;
                    assert_eq!(
                        found[(8 * lane + k) as usize],
                        expected,
                        "{space} {n} {trans} {lane}"
                    );
                }
                // Stored transposed: a plain load gives the transposed elements, and the other way round.
                let (matrix, row) = (lane / 8, lane % 8);
                for c in 0..8 {
                    let two = found[(8 * lane + 4 + c / 2) as usize];
                    let expected = match (matrix < n, trans) {
                        (true, false) => element(matrix, c, row),
                        _ => element(matrix, row, c),
                    };
                    assert_eq!(
                        two >> (16 * (c % 2)) & 0xffff,
                        expected,
                        "{space} {n} {trans} {lane}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_fragment_is_transposed() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .visible .entry k(.param .u64 pi, .param .u64 po) {
        .reg .b64 in, out; .reg .b32 t, v;
        ld.param.u64 in, [pi]; ld.param.u64 out, [po]; mov.u32 t, %tid.x;
        mad.wide.u32 in, t, 4, in; mad.wide.u32 out, t, 4, out; ld.global.b32 v, [in];
        movmatrix.sync.aligned.m8n8.trans.b16 v, v; st.global.b32 [out], v; ret; }";
    let pair = |across: bool| -> Vec<u32> {
        let at = |lane: u32, i: u32| match across {
            false => element(0, lane / 4, lane % 4 * 2 + i),
            true => element(0, lane % 4 * 2 + i, lane / 4),
        };
        (0..32).map(|lane| at(lane, 0) | at(lane, 1) << 16).collect()
    };
    assert_eq!(run(text, &pair(false), 32), pair(true));
}
