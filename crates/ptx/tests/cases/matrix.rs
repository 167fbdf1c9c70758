//! Matrix products (mma): every form of the table, on numbers of many sizes, in fragments and through memory.
//!
//! Owns the list of forms, and their inputs. A lane's result is a hash of all its result registers in a few rounds,
//! in which its operands come from other lanes and registers. Must not know who runs the cases.

use super::forms::{Form, product};
use super::inputs::{Random, Sort};
use super::kernels::{Case, ROWS};
use cushim_ptx::sem::registers;
use cushim_ptx::table::{self, Op, Part, Row, Word, Words};
use cushim_ptx::types::Scalar;
use std::fmt::Write;

/// How many times a form runs, each time with other registers.
const ROUNDS: usize = 4;

/// All cases, one form each.
pub fn all() -> Vec<Case> {
    let is = |row: &&Row| matches!(row.op, Op::Mma | Op::MmaSparse | Op::WmmaMma);
    let mut rows: Vec<&'static Row> = table::rows().filter(is).collect();
    rows.sort_by_key(|r| (r.mnemonic, r.syntax()));
    let found = rows.into_iter().flat_map(of_row).enumerate();
    found.map(|(n, product)| product.case(format!("m{n}"))).collect()
}

/// One form.
struct Product {
    op: Op,
    name: String,
    words: Words,
    list: Vec<Word>,
    types: [Scalar; 4],
    /// The sparsity selector: which lanes hold the metadata of a sparse factor.
    selector: u32,
}

fn of_row(row: &'static Row) -> Vec<Product> {
    let choices: Vec<Vec<Option<Word>>> = row
        .modifiers()
        // A required modifier without a choice is always written.
        .map(|(group, required)| match group.as_slice() {
            [Word::Aligned] => vec![Some(Word::Aligned)],
            _ => {
                let none = (!required).then_some(None);
                none.into_iter().chain(group.into_iter().map(Some)).collect()
            }
        })
        .collect();
    let mut all = Vec::new();
    for types in product(row.slots()) {
        for words in product(&choices) {
            let list: Vec<Word> = words.into_iter().flatten().collect();
            let mut name = row.mnemonic.to_string();
            let texts = list.iter().map(|w| w.text()).chain(types.iter().map(|t| t.name()));
            texts.for_each(|text| name = format!("{name}.{text}"));
            let mut words = Words::default();
            words.extend(list.iter().copied());
            let mut slots = [Scalar::B32; 4];
            slots.iter_mut().zip(&types).for_each(|(slot, ty)| *slot = *ty);
            let mut one = Product { op: row.op, name, words, list, types: slots, selector: 0 };
            for selector in 0..one.selectors() {
                one.selector = selector;
                all.push(Product { name: one.name.clone(), list: one.list.clone(), ..one });
            }
        }
    }
    all
}

/// PTX that gets a 32-bit register from another lane.
fn picked(to: &str, from: usize, by: usize) -> String {
    format!("shfl.sync.bfly.b32 {to}, w{from}, {}, 31, -1; ", by % 32)
}

impl Product {
    fn has(&self, part: Part) -> (usize, Scalar) {
        registers(self.op, &self.words, &self.types, part).expect("a matrix of the table")
    }

    /// The number of selectors: four lanes divided by the number of lanes whose metadata is used.
    fn selectors(&self) -> u32 {
        if self.op != Op::MmaSparse {
            return 1;
        }
        let k = match self.list.iter().find(|w| w.text().starts_with("m16n8k")) {
            Some(word) => word.text()["m16n8k".len()..].parse::<u32>().expect("a number"),
            None => 16,
        };
        match self.has(Part::A).1.bits() {
            32 => 32 / k,
            4 => 128 / k,
            _ => 64 / k,
        }
    }

    fn case(&self, name: String) -> Case {
        let form = Form {
            name: format!("{} {}", self.name, self.selector),
            op: self.op,
            types: self.types.to_vec(),
            words: self.list.clone(),
            code: if self.op == Op::WmmaMma { self.in_memory() } else { self.in_registers() },
            sorts: vec![Sort::Of(Scalar::B64); 4],
            results: vec![Scalar::B16],
            device: true,
            lane: false,
        };
        Case { name, forms: vec![form], rows: self.rows() }
    }

    /// The registers of a matrix in a round: their names, and the code that fills them.
    fn matrix(&self, part: Part, letter: char, round: usize) -> (String, String) {
        let (n, ty) = self.has(part);
        // The input words for numbers of this kind.
        let words = match part {
            Part::A => [0, 1, 2, 3],
            Part::B => [4, 5, 4, 5],
            _ => [6; 4],
        };
        let mut code = String::new();
        for k in 0..n {
            let to = format!("{letter}{round}_{k}");
            let by = 7 * k + 3 * round;
            if ty == Scalar::F64 {
                let pair = match part {
                    Part::A => 2 * (k % 2),
                    Part::B => 4,
                    _ => 6,
                };
                code += &picked("x", pair, by);
                code += &picked("y", pair + 1, by);
                let _ = write!(code, ".reg .f64 {to}; mov.b64 {to}, {{x, y}}; ");
            } else {
                let _ = write!(code, ".reg .b32 {to}; {}", picked(&to, words[(k + round) % 4], by));
            }
        }
        let names: Vec<String> = (0..n).map(|k| format!("{letter}{round}_{k}")).collect();
        (names.join(", "), code)
    }

    fn head(&self) -> String {
        let mut code = ".reg .b32 w<8>, h, x, y; ".to_string();
        for k in 0..4 {
            let _ = write!(code, "mov.b64 {{w{}, w{}}}, a{k}; ", 2 * k, 2 * k + 1);
        }
        code + "mov.b32 h, 1; "
    }

    fn tail() -> &'static str {
        "shr.u32 x, h, 16; xor.b32 h, h, x; cvt.u16.u32 d0, h;"
    }

    /// PTX that adds a word to the result's hash.
    fn taken(name: &str) -> String {
        format!("xor.b32 h, h, {name}; mul.lo.u32 h, h, 16777619; ")
    }

    fn in_registers(&self) -> String {
        let mut code = self.head();
        for round in 0..ROUNDS {
            let mut lists = Vec::new();
            for (part, letter) in [(Part::A, 'a'), (Part::B, 'b'), (Part::C, 'c')] {
                let (names, made) = self.matrix(part, letter, round);
                code += &made;
                lists.push(names);
            }
            let (n, ty) = self.has(Part::D);
            let d: Vec<String> = (0..n).map(|k| format!("e{round}_{k}")).collect();
            let register = if ty == Scalar::F64 { "f64" } else { "b32" };
            let which = match self.op {
                Op::MmaSparse => format!(", w7, {}", self.selector),
                _ => String::new(),
            };
            let [a, b, c] = [&lists[0], &lists[1], &lists[2]];
            let list = d.join(", ");
            let _ = write!(
                code,
                ".reg .{register} {list}; {} {{{list}}}, {{{a}}}, {{{b}}}, {{{c}}}{which}; ",
                self.name
            );
            for name in d {
                if ty == Scalar::F64 {
                    let _ = write!(code, "mov.b64 {{x, y}}, {name}; ");
                    code += &(Self::taken("x") + &Self::taken("y"));
                } else {
                    code += &Self::taken(&name);
                }
            }
        }
        code + Self::tail()
    }

    /// The matrices are in shared memory, separate for each warp, and so is the result.
    fn in_memory(&self) -> String {
        let rows = |first: bool| {
            let text = self.list.iter().map(|w| w.text()).find(|t| t.contains('.')).unwrap_or("");
            text.split('.').nth(usize::from(!first)).unwrap_or("row").to_string()
        };
        let shape =
            self.list.iter().map(|w| w.text()).find(|t| t.starts_with('m') && t.contains('n'));
        let shape = shape.filter(|t| t.contains('k')).expect("a shape");
        let mut code = self.head();
        // 4 KiB for a warp: 512 bytes for a, 512 for b, 1 KiB for c, and 2 KiB for the result.
        code += ".shared .align 32 .b8 all[16384]; .reg .b32 at, to; shr.u32 at, %i, 5; shl.b32 at, at, 12;
             mov.b32 x, all; add.u32 at, at, x; and.b32 x, %i, 31; shl.b32 x, x, 2; add.u32 to, at, x; ";
        for round in 0..ROUNDS {
            for (k, word) in [0, 1, 2, 3, 4, 5, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6].iter().enumerate() {
                let _ = write!(
                    code,
                    "{}st.shared.b32 [to+{}], x; ",
                    picked("x", *word, 7 * k + 3 * round),
                    128 * k
                );
            }
            code += "bar.warp.sync -1; ";
            let c_layout = if round % 2 == 0 { "row" } else { "col" };
            let mut lists = Vec::new();
            for (part, letter, at, layout) in [
                (Part::A, 'a', 0, rows(true)),
                (Part::B, 'b', 512, rows(false)),
                (Part::C, 'c', 1024, c_layout.into()),
            ] {
                let (n, ty) = self.has(part);
                let names: Vec<String> = (0..n).map(|k| format!("{letter}{round}_{k}")).collect();
                let list = names.join(", ");
                let register = register(ty);
                let _ = write!(
                    code,
                    ".reg .{register} {list}; wmma.load.{letter}.sync.aligned.{layout}.{shape}.shared.{} {{{list}}}, [at+{at}]; ",
                    ty.name()
                );
                lists.push(list);
            }
            let (n, ty) = self.has(Part::D);
            let d: Vec<String> = (0..n).map(|k| format!("e{round}_{k}")).collect();
            let list = d.join(", ");
            let register = register(ty);
            let _ = write!(
                code,
                ".reg .{register} {list}; {} {{{list}}}, {{{}}}, {{{}}}, {{{}}};
                 wmma.store.d.sync.aligned.{c_layout}.{shape}.shared.{} [at+2048], {{{list}}}; bar.warp.sync -1; ",
                self.name, lists[0], lists[1], lists[2], ty.name(),
            );
            for k in 0..self.bytes() / 128 {
                let _ =
                    write!(code, "ld.shared.b32 x, [to+{}]; {}", 2048 + 128 * k, Self::taken("x"));
            }
            code += "bar.warp.sync -1; ";
        }
        code + Self::tail()
    }

    /// Bytes of the result in memory.
    fn bytes(&self) -> usize {
        let (n, ty) = self.has(Part::D);
        n * 32 * ty.bits().max(32) as usize / 8
    }

    fn rows(&self) -> Vec<[u64; 4]> {
        let mut r = Random::new(&self.name);
        let [a, b, c] = [Part::A, Part::B, Part::C].map(|part| self.has(part).1);
        let row = |n: usize| {
            let style = n / 32;
            let mut word = |ty: Scalar| u64::from(word(&mut r, ty, style));
            let mut two = |first, second| word(first) | word(second) << 32;
            let mut all = [two(a, a), two(a, a), two(b, b), two(c, c)];
            if a == Scalar::F64 {
                for (value, ty) in all.iter_mut().zip([a, a, b, c]) {
                    *value = element(&mut r, ty, style);
                }
            }
            if self.op == Op::MmaSparse {
                let codes: &[u64] =
                    if a.bits() == 32 { &[0x4, 0xe] } else { &[0x4, 0x8, 0x9, 0xc, 0xd, 0xe] };
                let code = |_| codes[r.below(codes.len() as u64) as usize];
                let word = (0..8).map(code).enumerate().fold(0, |w, (n, c)| w | c << (4 * n));
                all[3] = all[3] & 0xffff_ffff | word << 32;
            }
            all
        };
        (0..ROWS).map(row).collect()
    }
}

fn register(ty: Scalar) -> &'static str {
    match ty {
        Scalar::F64 => "f64",
        Scalar::F32 => "f32",
        _ => "b32",
    }
}

/// A register of 32 bits.
fn word(r: &mut Random, ty: Scalar, style: usize) -> u32 {
    let bits = ty.bits().min(32);
    (0..32 / bits).fold(0, |w, k| w | (element(r, ty, style) as u32) << (k * bits))
}

/// An element, in four styles: similar sizes; many sizes, half of them zero; any finite number; similar sizes mixed
/// with infinities and NaNs.
fn element(r: &mut Random, ty: Scalar, style: usize) -> u64 {
    let (exponent, fraction) = match ty {
        Scalar::F16 => (5, 10),
        Scalar::Bf16 => (8, 7),
        Scalar::Tf32 | Scalar::F32 => (8, 23),
        Scalar::F64 => (11, 52),
        Scalar::E4m3 => (4, 3),
        Scalar::E5m2 => (5, 2),
        // 32-bit integers are sometimes near their limits.
        Scalar::S32 if style > 1 => {
            return (r.next() >> 44 & 0xfff) ^ if style == 2 { 0x7fff_ffff } else { 0x8000_0000 };
        }
        _ => return r.next() >> 20 & ((1 << ty.bits().min(32)) - 1),
    };
    let (bias, top) = ((1 << (exponent - 1)) - 1, (1 << exponent) - 1);
    let part = r.next() >> 8 & ((1 << fraction) - 1);
    let sign = r.below(2) << (exponent + fraction);
    if style == 1 && r.below(2) == 0 {
        return sign;
    }
    let field = match style {
        3 if r.below(90) == 0 => top,
        1 => bias + r.below(2 * bias.min(24)) - bias.min(24),
        2 => r.below(top),
        _ => bias + r.below(5) - 2,
    };
    // Infinities and NaNs are equally likely.
    let part = if field == top && r.below(2) == 0 { 0 } else { part };
    sign | field << fraction | part
}
