//! The text of random kernels.
//!
//! Each kernel computes with one type: products and sums, with and without a rounding modifier, negated, moved,
//! predicated, stored; between them branches, loops, fences, divisions and calls. Known cases in which the GPU's
//! choice cannot be predicted are left out (docs/design/contraction.md): products carried by a loop, and in local memory.

mod more;

use super::{Case, INPUTS, ROWS, Rng, Sample};
use std::fmt::Write;

/// A function that kernels call; it contains a product and a sum.
const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n
.func (.param .f32 r) twice(.param .f32 a, .param .f32 b) {
 .reg .f32 x; .reg .f32 y; .reg .f32 z; ld.param.f32 x, [a]; ld.param.f32 y, [b];
 mul.f32 z, x, y; sub.f32 z, z, y; add.f32 x, z, x; st.param.f32 [r], x; ret; }\n";

/// The start of a file of kernels.
pub fn head() -> String {
    HEAD.to_string() + more::TABLE
}

/// A type to compute with.
pub struct Type {
    pub name: &'static str,
    /// The type name for registers and memory.
    bits: &'static str,
    pub width: usize,
    /// Whether `.ftz` and `.sat` exist, `.sat` alone, or neither.
    ftz: bool,
    sat: bool,
    /// Constants that may be operands: one, minus one, two and three.
    constants: Option<[&'static str; 4]>,
}

#[rustfmt::skip]
pub const TYPES: [Type; 6] = [
    Type { name: "f32", bits: "f32", width: 4, ftz: true, sat: true,
           constants: Some(["0f3f800000", "0fbf800000", "0f40000000", "0f40490fdb"]) },
    Type { name: "f64", bits: "f64", width: 8, ftz: false, sat: false,
           constants: Some(["0d3ff0000000000000", "0dbff0000000000000", "0d4000000000000000", "0d400921fb54442d18"]) },
    Type { name: "f16", bits: "b16", width: 2, ftz: true, sat: true, constants: None },
    Type { name: "f16x2", bits: "b32", width: 4, ftz: true, sat: true, constants: None },
    Type { name: "bf16", bits: "b16", width: 2, ftz: false, sat: false, constants: None },
    Type { name: "bf16x2", bits: "b32", width: 4, ftz: false, sat: false, constants: None },
];

/// Registers for results.
const TEMPS: usize = 40;
/// The number of floating-point inputs.
const VALUES: usize = INPUTS - 2;

struct Kernel {
    rng: Rng,
    ty: &'static Type,
    s: String,
    /// The percentage of instructions with `.ftz`.
    ftz: u32,
    /// Registers that hold products, registers that hold sums, and the next free one.
    products: Vec<String>,
    sums: Vec<String>,
    next: usize,
    /// The number of results stored so far.
    slots: usize,
    labels: usize,
    /// Inside a loop, where each register is written once.
    looped: bool,
    /// Not all threads run this code.
    parted: bool,
    /// Whether the kernel has the forms of [`more`].
    more: bool,
    /// The last product's instruction, without its result.
    last: Option<String>,
}

/// The `n`th kernel of a sample.
pub fn case(sample: &Sample, n: usize) -> Case {
    let seed = 0x9e37_79b9_7f4a_7c15 ^ sample.seed.wrapping_mul(0xa076_1d64_78bd_642f);
    let mut rng = Rng(seed ^ (n as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95));
    for _ in 0..4 {
        rng.next();
    }
    let ty = &TYPES[[0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5][rng.below(11) as usize]];
    let ftz = if ty.ftz { [0, 0, 100, 60][rng.below(4) as usize] } else { 0 };
    let mut k = Kernel {
        rng,
        ty,
        s: String::new(),
        ftz,
        products: Vec::new(),
        sums: Vec::new(),
        next: 0,
        slots: 0,
        labels: 0,
        looped: false,
        parted: false,
        more: sample.more,
        last: None,
    };
    let name = format!("k{n}");
    k.begin(&name);
    for _ in 0..4 + k.rng.below(16) {
        k.statement();
    }
    k.end();
    let params = if sample.more { super::params(ty.name) } else { Vec::new() };
    Case { name, ty: ty.name, text: k.s, width: ty.width, slots: k.slots, params }
}

impl Kernel {
    fn begin(&mut self, name: &str) {
        let (bits, s) = (self.ty.bits, &mut self.s);
        let given = if self.more { more::PARAMS } else { "" };
        let _ = writeln!(
            s,
            ".entry {name}(.param .u64 in, .param .u64 out{given}) {{\n .reg .b64 base, to, w; .reg .b32 row, n, m, e;\n \
             .reg .pred p, q, l; .reg .{bits} i<{VALUES}>, t<{TEMPS}>;\n \
             ld.param.u64 base, [in]; ld.param.u64 to, [out]; mov.u32 row, %tid.x;\n \
             mul.wide.u32 w, row, {}; add.u64 base, base, w; mul.wide.u32 w, row, 8; add.u64 to, to, w;",
            8 * INPUTS
        );
        for k in 0..VALUES {
            let _ = writeln!(s, " ld.global.{bits} i{k}, [base+{}];", 8 * k);
        }
        let _ = writeln!(
            s,
            " ld.global.u32 e, [base+{}]; ld.global.u32 n, [base+{}];\n \
             setp.ne.u32 p, e, 0; setp.gt.u32 q, n, 3;",
            8 * VALUES,
            8 * VALUES + 8
        );
        for k in 0..TEMPS {
            let _ = writeln!(s, " mov.{bits} t{k}, i{};", k % VALUES);
        }
        if self.more {
            self.begin_more();
        }
    }

    fn end(&mut self) {
        let sums = std::mem::take(&mut self.sums);
        for sum in sums.iter().rev().take(6) {
            self.store(sum, "");
        }
        if self.rng.often(20)
            && let Some(product) = self.products.last().cloned()
        {
            self.store(&product, "");
        }
        let value = self.any();
        self.store(&value, "");
        self.s += " ret;\n}\n";
    }

    fn store(&mut self, value: &str, guard: &str) {
        let (bits, at) = (self.ty.bits, self.slots * ROWS * 8);
        let _ = writeln!(self.s, " {guard}st.global.{bits} [to+{at}], {value};");
        self.slots += 1;
    }

    fn pick(&mut self, list: &[String]) -> Option<String> {
        // Later entries are more likely.
        let n = list.len() as u32;
        let back = self.rng.below(n.max(1)).min(self.rng.below(n.max(1)));
        list.len().checked_sub(1 + back as usize).map(|at| list[at].clone())
    }

    fn input(&mut self) -> String {
        format!("i{}", self.rng.below(VALUES as u32))
    }

    fn any(&mut self) -> String {
        if self.more && self.rng.often(14) {
            return self.fixed();
        }
        let list = match self.rng.below(10) {
            0 => self.products.clone(),
            1..4 => self.sums.clone(),
            _ => Vec::new(),
        };
        self.pick(&list).unwrap_or_else(|| self.input())
    }

    fn product(&mut self) -> String {
        let list = self.products.clone();
        self.pick(&list).unwrap_or_else(|| self.input())
    }

    /// A register for a result: mostly a free one.
    fn target(&mut self) -> String {
        if !self.looped && (self.rng.often(8) || self.next == TEMPS) {
            let name = match self.rng.below(3) {
                0 => self.input(),
                1 => self.product(),
                _ => format!("t{}", self.rng.below(TEMPS as u32)),
            };
            self.products.retain(|p| *p != name);
            return name;
        }
        self.next += 1;
        format!("t{}", (self.next - 1).min(TEMPS - 1))
    }

    fn guard(&mut self) -> &'static str {
        ["@p ", "@!p ", "@q ", "@!q "][self.rng.below(4) as usize]
    }

    /// The name of an instruction, with random modifiers that it allows.
    fn name(&mut self, op: &str, rounded: u32, sat: u32) -> String {
        let mut name = String::from(op);
        if op == "fma" || self.rng.often(rounded) {
            name += ".rn";
        }
        if self.rng.often(self.ftz) {
            name += ".ftz";
        }
        if self.ty.sat && self.rng.often(sat) {
            name += ".sat";
        }
        name + "." + self.ty.name
    }

    fn constant(&mut self, share: u32) -> Option<String> {
        let constants = self.ty.constants?;
        let n = self.rng.below(4) as usize;
        self.rng.often(share).then(|| constants[n].to_string())
    }

    fn multiply(&mut self, guard: &str) {
        let (mut a, b) = (self.any(), self.any());
        if self.rng.often(4) {
            a = self.product();
        }
        let b = self.constant(12).unwrap_or(b);
        let (name, to) = (self.name("mul", 12, 3), self.target());
        let _ = writeln!(self.s, " {guard}{name} {to}, {a}, {b};");
        self.last = Some(format!("{name} $, {a}, {b};"));
        self.products.push(to);
    }

    fn add(&mut self, guard: &str) {
        let mut a = self.product();
        let mut b = match self.rng.below(10) {
            0..4 => self.product(),
            _ => self.any(),
        };
        b = self.constant(5).unwrap_or(b);
        if self.rng.often(50) {
            std::mem::swap(&mut a, &mut b);
        }
        let op = ["add", "add", "sub"][self.rng.below(3) as usize];
        let (name, to) = (self.name(op, 8, 4), self.target());
        let _ = writeln!(self.s, " {guard}{name} {to}, {a}, {b};");
        self.products.retain(|p| *p != to);
        self.sums.push(to);
    }

    /// A copy or negation of a product, which counts as a product from then on.
    fn copy(&mut self, guard: &str) {
        let from = self.product();
        let name = match self.rng.below(8) {
            0..5 => match self.rng.often(self.ftz / 2) {
                true => format!("neg.ftz.{}", self.ty.name),
                false => format!("neg.{}", self.ty.name),
            },
            5..7 => format!("mov.{}", self.ty.bits),
            _ => format!("abs.{}", self.ty.name),
        };
        let to = self.target();
        let _ = writeln!(self.s, " {guard}{name} {to}, {from};");
        self.products.push(to);
    }

    fn statement(&mut self) {
        if self.more && self.rng.often(22) {
            return self.another();
        }
        match self.rng.below(100) {
            0..34 => self.multiply(""),
            34..66 => self.add(""),
            66..73 => self.copy(""),
            73..75 => {
                let guard = self.guard();
                self.multiply(guard);
            }
            75..79 => {
                let guard = self.guard();
                self.add(guard);
            }
            79 => {
                let guard = self.guard();
                self.copy(guard);
            }
            80..83 => {
                let (a, b, c) = (self.any(), self.product(), self.product());
                let (name, to) = (self.name("fma", 0, 0), self.target());
                let _ = writeln!(self.s, " {name} {to}, {a}, {b}, {c};");
                self.sums.push(to);
            }
            83 => {
                let (a, b, to) = (self.product(), self.any(), self.target());
                let _ = writeln!(self.s, " selp.{} {to}, {a}, {b}, p;", self.ty.bits);
                self.sums.push(to);
            }
            84..86 => self.between(),
            86..94 if !self.parted => self.branch(),
            94..97 if !self.parted => self.round(),
            _ => {
                if self.slots < 6 {
                    let value = self.product();
                    let guard = if self.rng.often(40) { self.guard() } else { "" };
                    self.store(&value, guard);
                }
            }
        }
    }

    /// Statements that may or may not end a basic block.
    fn between(&mut self) {
        let text = match self.rng.below(9) {
            0 => " membar.gl;",
            1 => " fence.acq_rel.cta;",
            2 if !self.parted => " bar.sync 0;",
            3 => " add.u32 m, e, n; div.u32 m, m, n; setp.gt.u32 p, m, 1;",
            4 => " add.u32 m, e, n; div.s32 m, m, n; setp.gt.s32 p, m, 1;",
            5 => " @q ld.global.u32 m, [base];",
            6 => " atom.global.add.u32 m, [base+64], 0;",
            7 if self.ty.name == "f32" => {
                let (a, b, to) = (self.any(), self.any(), self.target());
                let _ = writeln!(
                    self.s,
                    " {{ .param .f32 x, y, z; st.param.f32 [x], {a}; st.param.f32 [y], {b};\n \
                     call (z), twice, (x, y); ld.param.f32 {to}, [z]; }}"
                );
                self.products.retain(|p| *p != to);
                self.sums.push(to);
                return;
            }
            8 if self.ty.name == "f32" => {
                let (a, b, to) = (self.any(), self.any(), self.target());
                let _ = writeln!(self.s, " div.rn.f32 {to}, {a}, {b};");
                self.products.retain(|p| *p != to);
                self.sums.push(to);
                return;
            }
            _ => " nanosleep.u32 0;",
        };
        self.s += text;
        self.s += "\n";
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    /// Some statements that some threads skip, or a label without effect.
    fn branch(&mut self) {
        let label = self.label();
        if self.rng.often(25) {
            let jump = if self.rng.often(50) { format!("bra L{label};") } else { String::new() };
            let _ = writeln!(self.s, " {jump}\nL{label}:");
            return;
        }
        let guard = self.guard();
        let _ = writeln!(self.s, " {guard}bra L{label};");
        self.parted = true;
        for _ in 0..1 + self.rng.below(4) {
            self.statement();
        }
        self.parted = false;
        let _ = writeln!(self.s, "L{label}:");
    }

    /// A loop whose products are used only in their own round.
    fn round(&mut self) {
        if self.next + 8 > TEMPS {
            return;
        }
        let label = self.label();
        let sums = self.sums.len();
        let before = std::mem::take(&mut self.products);
        let _ = writeln!(self.s, " mov.u32 m, n;\nR{label}:");
        (self.looped, self.parted) = (true, true);
        let first = self.input();
        self.sums.push(first);
        self.multiply("");
        for _ in 0..1 + self.rng.below(4) {
            match self.rng.below(10) {
                0..4 => self.multiply(""),
                4 => self.copy(""),
                _ => self.add(""),
            }
        }
        let (sum, name) = (self.target(), self.ty.name);
        if let Some(product) = self.products.last() {
            let _ = writeln!(self.s, " add.{name} {sum}, {sum}, {product};");
        }
        (self.looped, self.parted) = (false, false);
        let _ = writeln!(self.s, " sub.u32 m, m, 1; setp.ne.u32 l, m, 0; @l bra R{label};");
        self.products = before;
        self.sums.truncate(sums);
        self.sums.push(sum);
    }
}
