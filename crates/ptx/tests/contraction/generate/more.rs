//! Forms of the later samples: parameters and constants as factors, both arms of a branch, comparisons, packed values,
//! memory, repeated products, and sums as programs have them.

use super::{Kernel, TYPES};
use std::fmt::Write;

/// Parameters that hold values of the kernel's type.
pub const PARAMS: &str = ", .param .b64 pa, .param .b64 pb";

/// A constant of each type in memory, and the same constants as text.
pub const TABLE: &str = ".const .align 8 .b64 table[6] = {0x3fb00001, 0x3ff6000000000001, 0x3d83, 0x3d83bd01, 0x3fb1, 0x3fb1bf83};\n";
const CONSTANTS: [&str; 6] =
    ["0f3fb00001", "0d3ff6000000000001", "0x3d83", "0x3d83bd01", "0x3fb1", "0x3fb1bf83"];

/// Registers whose value is the same in all threads: parameters, one from memory, one from the text.
const FIXED: [&str; 4] = ["a0", "a1", "c0", "c1"];

impl Kernel {
    fn number(&self) -> usize {
        TYPES.iter().position(|ty| ty.name == self.ty.name).unwrap()
    }

    /// Whether a register holds two values.
    fn is_packed(&self) -> bool {
        self.ty.name.ends_with("x2")
    }

    pub(super) fn begin_more(&mut self) {
        let (bits, n) = (self.ty.bits, self.number());
        let _ = writeln!(
            self.s,
            " .reg .{bits} a<2>, c<2>; .reg .b32 u, v; .reg .b16 h<2>; .reg .b64 x; .shared .align 8 .b64 own[{}];\n \
             ld.param.{bits} a0, [pa]; ld.param.{bits} a1, [pb]; ld.const.{bits} c0, [table+{}]; mov.{bits} c1, {};",
            super::ROWS,
            8 * n,
            CONSTANTS[n]
        );
    }

    pub(super) fn fixed(&mut self) -> String {
        FIXED[self.rng.below(4) as usize].to_string()
    }

    fn put(&mut self, text: &str) {
        self.s += " ";
        self.s += text;
        self.s += "\n";
    }

    /// Computes `op` of two values into a new register.
    fn plain(&mut self, op: &str, a: &str, b: &str) -> String {
        let to = self.target();
        let name = self.name(op, 0, 0);
        let _ = writeln!(self.s, " {name} {to}, {a}, {b};");
        to
    }

    pub(super) fn another(&mut self) {
        match self.rng.below(13) {
            0 if !self.parted => self.arms(),
            1 => self.compare(),
            2 => {
                let (a, b, op) =
                    (self.product(), self.any(), ["min", "max"][self.rng.below(2) as usize]);
                let to = self.target();
                let _ = writeln!(self.s, " {op}.{} {to}, {a}, {b};", self.ty.name);
                self.sums.push(to);
            }
            3 => self.packed(),
            4 => {
                let (value, to, bits) = (self.product(), self.target(), self.ty.bits);
                let text = format!(
                    "mul.wide.u32 w, row, 8; mov.u64 x, own; add.u64 x, x, w; st.shared.{bits} [x], {value}; \
                     ld.shared.{bits} {to}, [x];"
                );
                self.put(&text);
                self.products.push(to);
            }
            5 => {
                // Repeats the last product.
                if let Some(last) = self.last.clone() {
                    let to = self.target();
                    self.put(&last.replace('$', &to));
                    self.products.push(to);
                }
            }
            6 => {
                let round = ["rz", "rm", "rp"][self.rng.below(3) as usize];
                let name = self.ty.name;
                if matches!(name, "f32" | "f64") {
                    let op = ["add", "mul"][self.rng.below(2) as usize];
                    let (a, b, to) = (self.product(), self.any(), self.target());
                    let _ = writeln!(self.s, " {op}.{round}.{name} {to}, {a}, {b};");
                    if op == "mul" { self.products.push(to) } else { self.sums.push(to) }
                }
            }
            7 => {
                // A parameter, loaded where it is used.
                let (to, bits, which) =
                    (self.target(), self.ty.bits, ["pa", "pb"][self.rng.below(2) as usize]);
                let _ = writeln!(self.s, " ld.param.{bits} {to}, [{which}];");
                let with = self.any();
                let product = self.plain("mul", &to, &with);
                self.products.push(product);
            }
            8 | 9 => self.dot(),
            10 => {
                // Linear interpolation between two values.
                let (a, b, c) = (self.any(), self.any(), self.any());
                let d = self.plain("sub", &b, &a);
                let p = self.plain("mul", &d, &c);
                let s = self.plain("add", &p, &a);
                self.sums.push(s);
            }
            11 => self.complex(),
            _ => {
                // A polynomial.
                let (x, mut sum) = (self.any(), self.fixed());
                for _ in 0..1 + self.rng.below(3) {
                    let p = self.plain("mul", &sum, &x);
                    let c = self.fixed();
                    sum = self.plain("add", &p, &c);
                }
                self.sums.push(sum);
            }
        }
    }

    /// A sum of products.
    fn dot(&mut self) {
        let (a, b) = (self.any(), self.any());
        let mut sum = self.plain("mul", &a, &b);
        for _ in 0..1 + self.rng.below(3) {
            let (a, b) = (self.any(), self.any());
            let p = self.plain("mul", &a, &b);
            let turned = self.rng.often(30);
            let (a, b) = if turned { (p, sum) } else { (sum, p) };
            let op = ["add", "add", "add", "sub"][self.rng.below(4) as usize];
            sum = self.plain(op, &a, &b);
        }
        self.sums.push(sum);
    }

    fn complex(&mut self) {
        let (a, b, c, d) = (self.any(), self.any(), self.any(), self.any());
        let (ac, bd) = (self.plain("mul", &a, &c), self.plain("mul", &b, &d));
        let (ad, bc) = (self.plain("mul", &a, &d), self.plain("mul", &b, &c));
        let re = self.plain("sub", &ac, &bd);
        let im = self.plain("add", &ad, &bc);
        self.sums.extend([re, im]);
    }

    /// A comparison, which sets the guard predicate of later instructions.
    fn compare(&mut self) {
        let (a, b, name) = (self.product(), self.any(), self.ty.name);
        let to = match self.is_packed() {
            true => "p|q",
            false => ["p", "q"][self.rng.below(2) as usize],
        };
        let how = ["lt", "ge", "ne"][self.rng.below(3) as usize];
        let _ = writeln!(self.s, " setp.{how}.{name} {to}, {a}, {b};");
    }

    /// Passes a product through a vector register, or through its parts.
    fn packed(&mut self) {
        let (a, b) = (self.product(), self.any());
        let (t, name) = (self.target(), self.ty.name);
        let text = match name {
            "f16" | "bf16" => format!("mov.b32 u, {{{a}, {b}}}; mov.b32 {{{t}, h1}}, u;"),
            "f32" => format!("mov.b64 x, {{{a}, {b}}}; mov.b64 {{{t}, v}}, x;"),
            "f64" => format!("mov.b64 {{u, v}}, {a}; mov.b64 {t}, {{u, v}};"),
            _ => format!("mov.b32 {{h0, h1}}, {a}; mov.b32 {t}, {{h1, h0}};"),
        };
        self.put(&text);
        self.products.push(t);
    }

    /// Code in both arms of a branch.
    fn arms(&mut self) {
        let (other, end, guard) = (self.label(), self.label(), self.guard());
        let _ = writeln!(self.s, " {guard}bra L{other};");
        self.parted = true;
        for _ in 0..1 + self.rng.below(3) {
            self.statement();
        }
        let _ = writeln!(self.s, " bra L{end};\nL{other}:");
        for _ in 0..1 + self.rng.below(3) {
            self.statement();
        }
        self.parted = false;
        let _ = writeln!(self.s, "L{end}:");
    }
}
