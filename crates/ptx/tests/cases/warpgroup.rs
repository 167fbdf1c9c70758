//! Matrix products by a warpgroup (wgmma): an H200's results for eight columns, with the first factor in registers and the
//! second in shared memory, and the same products with the factors in every layout that a descriptor allows.
//!
//! Owns kernels, inputs and expected results. `Matrix::at` places elements by the layouts of the PTX ISA ("Canonical
//! Layouts"), without using the code under test. Must not know who runs the cases.

use std::fmt::Write;

#[path = "warpgroup_sparse.rs"]
mod sparse;
pub use sparse::sparse;

/// For each form four cases: registers of the first factor by number and thread, columns of the second factor, the
/// accumulator, and an H200's result.
const RECORDED: &[u8] = include_bytes!("warpgroup.bin");

/// An instruction's text after its shape, its constants, and the columns of the first factor.
const FORMS: &[(&str, &str, u32)] = &[
    ("f32.f16.f16", "1, 1", 16),
    ("f16.f16.f16", "1, 1", 16),
    ("f32.bf16.bf16", "1, 1", 16),
    ("f32.tf32.tf32", "1, 1", 8),
    ("f32.e4m3.e4m3", "1, 1", 32),
    ("f32.e5m2.e4m3", "1, 1", 32),
    ("f32.e5m2.e5m2", "1, 1", 32),
    ("f16.e4m3.e5m2", "1, 1", 32),
    ("s32.s8.s8", "", 32),
    ("s32.u8.s8.satfinite", "", 32),
    ("f32.f16.f16", "-1, 1", 16),
];
const CASES: usize = 4;
const THREADS: usize = 128;
/// Columns of the result, in groups of eight.
const GROUPS: usize = 3;

/// A kernel and its expected results.
pub struct Run {
    pub name: String,
    pub text: String,
    pub blocks: u32,
    pub input: Vec<u8>,
    pub expected: Vec<u32>,
}

/// The layout of a matrix in shared memory. Strides in bytes.
#[derive(Clone, Copy)]
struct Matrix {
    /// The width of the swizzle, in bytes: 16 (no swizzle), 32, 64 or 128.
    width: usize,
    /// Whether rows follow each other in memory; otherwise columns do.
    across: bool,
    leading: usize,
    stride: usize,
    start: usize,
    /// Bytes of an element.
    element: usize,
}

impl Matrix {
    fn at(&self, row: usize, column: usize) -> usize {
        let (unit, plain) = (16 / self.element, self.width == 16);
        let side = self.width / 16;
        let linear = if self.across {
            let (chunk, k) = (row / unit, column % 8);
            let (near, far) =
                if plain { (self.leading, self.stride) } else { (self.stride, self.leading) };
            (chunk % side) * 16
                + (chunk / side) * far
                + k * self.width
                + (column / 8) * near
                + row % unit * self.element
        } else {
            let chunk = match column / unit {
                chunk if plain => chunk * self.leading,
                // Chunks that do not fit into a swizzled row are apart.
                chunk if side == 2 => chunk / 2 * self.leading + chunk % 2 * 16,
                chunk => chunk * 16,
            };
            (row / 8) * self.stride + row % 8 * self.width + chunk + column % unit * self.element
        };
        let at = self.start + linear;
        at ^ ((at / 128 % side) * 16)
    }

    fn descriptor(&self) -> u64 {
        let mode = [(16, 0), (128, 1), (64, 2), (32, 3)];
        let mode = mode.iter().find(|m| m.0 == self.width).unwrap().1;
        let field = |v: usize| (v / 16) as u64;
        field(self.start) | field(self.leading) << 16 | field(self.stride) << 32 | mode << 62
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// A recorded product.
struct Case {
    a: Vec<u32>,
    b: Vec<u32>,
    c: Vec<u32>,
    d: Vec<u32>,
}

fn recorded() -> Vec<Vec<Case>> {
    let mut rest = words(RECORDED);
    let mut take = |n: usize| rest.drain(..n).collect::<Vec<u32>>();
    let form = |(types, _, _): &(&str, &str, u32)| {
        let own = if types.starts_with("f16") { 2 } else { 4 } * THREADS;
        let case = |_| Case { a: take(4 * THREADS), b: take(64), c: take(own), d: take(own) };
        (0..CASES).map(case).collect()
    };
    let all = FORMS.iter().map(form).collect();
    assert!(rest.is_empty());
    all
}

impl Case {
    /// The bytes of a row of the first factor.
    fn row(&self, m: usize) -> Vec<u8> {
        let (warp, row) = (m / 16, m % 16);
        let register = |chunk: usize| 2 * chunk + row / 8;
        let lane = |n: usize| warp * 32 + row % 8 * 4 + n;
        let word = |n: usize| self.a[register(n / 4) * THREADS + lane(n % 4)];
        (0..8).flat_map(|n| word(n).to_le_bytes()).collect()
    }

    /// The bytes of a column of the second.
    fn column(&self, n: usize) -> Vec<u8> {
        self.b[n * 8..][..8].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The registers of an accumulator or result whose columns are rotated by `2 * by`.
    fn turned(registers: &[u32], by: usize) -> Vec<u32> {
        let at = |k: usize| {
            let (register, thread) = (k / THREADS, k % THREADS);
            registers[register * THREADS + (thread & !3 | (thread + by) & 3)]
        };
        (0..registers.len()).map(at).collect()
    }
}

fn put(image: &mut [u8], matrix: &Matrix, row: usize, bytes: &[u8]) {
    for (column, element) in bytes.chunks_exact(matrix.element).enumerate() {
        let at = matrix.at(row, column);
        assert!(image[at..][..element.len()].iter().all(|b| *b == 0xcc), "two elements at {at}");
        image[at..][..element.len()].copy_from_slice(element);
    }
}

const IMAGE: usize = 16384;

/// All products, each in every layout that its type allows.
pub fn all() -> Vec<Run> {
    let mut all = Vec::new();
    for ((types, signs, depth), cases) in FORMS.iter().zip(recorded()) {
        let element = 32 / *depth as usize;
        for width in [16, 32, 64, 128] {
            for across in [false, true] {
                for in_memory in [false, true] {
                    if across && element != 2 {
                        continue;
                    }
                    let (a, b) = matrices(width, across, element);
                    let a = in_memory.then_some(a);
                    let what = format!("m64n{}k{depth}.{types}", 8 * GROUPS);
                    all.push(run(&what, signs, &cases, a, b));
                }
            }
        }
    }
    all
}

/// Both factors, one after the other: 64 and 24 rows.
fn matrices(width: usize, across: bool, element: usize) -> (Matrix, Matrix) {
    // Two groups of eight columns, or two units of 16 bytes, and any length of the swizzle pattern.
    let plain = width == 16;
    let (leading, stride) = match (across, plain) {
        (false, true) => (128, 256),
        (false, false) => (16, 8 * width),
        (true, true) => (1024, 128),
        (true, false) => (16 * width, 8 * width),
    };
    let a = Matrix { width, across, leading, stride, start: 0, element };
    (a, Matrix { start: 8192, ..a })
}

fn run(what: &str, signs: &str, cases: &[Case], a: Option<Matrix>, b: Matrix) -> Run {
    let own = cases[0].c.len() / THREADS;
    let (mut input, mut expected) = (Vec::new(), Vec::new());
    for case in cases {
        let mut image = vec![0xcc; IMAGE];
        for group in 0..GROUPS {
            for n in 0..8 {
                put(&mut image, &b, group * 8 + n, &case.column((n + 2 * group) % 8));
            }
        }
        if let Some(a) = &a {
            (0..64).for_each(|m| put(&mut image, a, m, &case.row(m)));
        }
        input.extend(image);
        input.extend(case.a.iter().flat_map(|word| word.to_le_bytes()));
        for group in 0..GROUPS {
            input.extend(Case::turned(&case.c, group).iter().flat_map(|word| word.to_le_bytes()));
            expected.extend(Case::turned(&case.d, group));
        }
    }
    let place = |m: &Matrix| format!("{} bytes{}", m.width, if m.across { ", across" } else { "" });
    let name = format!(
        "{what} {signs}, {}, first factor in {}",
        place(&b),
        if a.is_some() { "memory" } else { "registers" }
    );
    let text = text(what, signs, own, a, b);
    Run { name, text, blocks: cases.len() as u32, input, expected }
}

impl Run {
    /// Without the block's barrier: the four warps synchronise at the product alone.
    pub fn without_barrier(mut self) -> Run {
        let text = self.text.replace("fence.proxy.async; bar.sync 0;", "fence.proxy.async;");
        assert_ne!(text, self.text);
        self.text = text;
        self
    }
}

fn text(what: &str, signs: &str, own: usize, a: Option<Matrix>, b: Matrix) -> String {
    let all = own * GROUPS;
    let each = IMAGE + (4 + all) * THREADS * 4;
    let list = |letter: char, n: usize| {
        let names: Vec<String> = (0..n).map(|k| format!("{letter}{k}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let mut loads = String::new();
    for k in 0..4 {
        let _ = writeln!(loads, "ld.global.b32 a{k}, [in+{}];", IMAGE + k * THREADS * 4);
    }
    for k in 0..all {
        let at = IMAGE + (4 + k) * THREADS * 4;
        let _ = writeln!(loads, "ld.global.b32 d{k}, [in+{at}];");
    }
    let mut stores = String::new();
    for k in 0..all {
        let _ = writeln!(stores, "st.global.b32 [out+{}], d{k};", k * THREADS * 4);
    }
    let halves = b.element == 2;
    let across =
        |m: &Matrix| if halves { format!(", {}", u32::from(m.across)) } else { String::new() };
    let (first, first_across) = match &a {
        Some(m) => ("x".to_string(), across(m)),
        None => (list('a', 4), String::new()),
    };
    let signs = if signs.is_empty() { String::new() } else { format!(", {signs}") };
    let behind = format!("{signs}{first_across}{}", across(&b));
    let (x, y) = (a.map_or(0, |a| a.descriptor()), b.descriptor());
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64
.visible .entry k(.param .u64 in0, .param .u64 out0) {{
.shared .align 1024 .b8 room[{IMAGE}];
.reg .b32 t, c, at, w, a<4>, d<{all}>; .reg .b64 in, out, o, x, y; .reg .pred p;
ld.param.u64 in, [in0]; ld.param.u64 out, [out0];
mov.u32 t, %tid.x; mov.u32 c, %ctaid.x;
mul.wide.u32 o, c, {each}; add.u64 in, in, o;
mul.wide.u32 o, c, {}; add.u64 out, out, o;
mul.wide.u32 o, t, 4; add.u64 in, in, o; add.u64 out, out, o;
mov.u32 c, 0;
COPY: cvt.u64.u32 o, c; add.u64 o, o, in; ld.global.b32 w, [o];
shl.b32 at, t, 2; add.u32 at, at, c; mov.u32 w, w;
{{ .reg .b32 base; mov.u32 base, room; add.u32 at, at, base; }}
st.shared.b32 [at], w;
add.u32 c, c, 512; setp.lt.u32 p, c, {IMAGE}; @p bra COPY;
fence.proxy.async; bar.sync 0;
{loads}
mov.u64 x, {x}; mov.u64 y, {y};
{{ .reg .b32 base; .reg .b64 wide; mov.u32 base, room; shr.u32 base, base, 4; cvt.u64.u32 wide, base;
add.u64 x, x, wide; add.u64 y, y, wide; }}
setp.eq.u32 p, t, t;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.{what} {}, {first}, y, p{behind};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{stores}
ret; }}
",
        all * THREADS * 4,
        list('d', all),
    )
}
