//! Sequences of instructions: state that passes from one instruction to the next.
//!
//! A form ([`super::forms`]) is one instruction between loads and stores, so it cannot
//! show state between instructions: the carry flag, predicates, halves and bytes of
//! registers, registers that are both operand and result. Here the instructions of a
//! kind follow one another at random over a few registers; the result is a hash
//! of all of them. Owns the list of sequences. Must not know who runs them.

mod kinds;
mod template;

use super::forms::Form;
use super::inputs::{self, Random, Sort};
use super::kernels::{Case, ROWS};
use super::special;
use cushim_ptx::table::Op;
use cushim_ptx::types::Scalar::{self, B32};
use kinds::{KINDS, Kind};
use template::Writer;

/// Sequences in one kernel; they share their inputs.
const TOGETHER: usize = 16;

/// Sequences for which the recorded driver's results differ from the ISA, because its
/// assembler combines instructions. All registers of each were
/// examined on the device.
pub fn differs_from_isa(name: &str) -> Option<&'static str> {
    Some(match name {
        "half 1.6" | "half 3.1" | "half 11.12" => "min and max of a register and itself keep a NaN",
        "narrow 9.10" | "narrow 15.5" => "neg.s16 of the least number is positive in what follows",
        "predicate 3.0" | "predicate 4.7" => "a constant that slct looks at is taken for a float",
        "reuse 6.2" | "reuse 19.7" => "sub.sat of a sum and its summand does not saturate",
        "vector 2.13" | "vector 15.0" | "vector 15.14" => {
            "where a guard is false, a write to the second part of a vector writes the first part"
        }
        "branch 3.10" => "addc before a branch reads the flag that mad.hi.cc behind it leaves",
        _ => return None,
    })
}

/// The results of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// A hash of all registers, which is recorded.
    Digest,
    /// Every register by itself, which shows where a sequence goes wrong.
    Registers,
}

/// The registers of a class: letter, number, and type.
const CLASSES: &[(char, usize, Scalar)] = &[
    ('r', 6, Scalar::B32),
    ('w', 3, Scalar::B64),
    ('h', 4, Scalar::B16),
    ('c', 2, Scalar::B8),
    ('p', 4, Scalar::Pred),
    ('f', 2, Scalar::F32),
];

/// The initial values of the class's registers, made from the operands `a0` to `a3`.
fn first(class: char) -> &'static str {
    match class {
        'r' => {
            "mov.b32 r0, a0; mov.b32 r1, a1; mov.b32 r2, a2; mov.b32 r3, a3; xor.b32 r4, a0, a2; \
             add.u32 r5, a1, a3;"
        }
        'w' => "mov.b64 w0, {a0, a1}; mov.b64 w1, {a2, a3}; mov.b64 w2, {a3, a0};",
        'h' => "mov.b32 {h0, h1}, a0; mov.b32 {h2, h3}, a1;",
        'c' => "cvt.u8.u32 c0, a2; cvt.u8.u32 c1, a3;",
        'p' => {
            "{ .reg .b32 t; and.b32 t, a2, 1; setp.ne.b32 p1, t, 0; } setp.lt.s32 p0, a0, a1; \
             setp.lt.s32 p2, a3, 0; setp.lt.u32 p3, a2, a3;"
        }
        _ => "mov.b32 f0, a0; mov.b32 f1, a3;",
    }
}

/// The kernels of all sequences.
pub fn all(shown: Shown) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for kind in KINDS {
        for part in 0..kind.count.div_ceil(TOGETHER) {
            let seed = format!("{} {part}", kind.name);
            let forms = (0..TOGETHER).map(|n| form(kind, &format!("{seed}.{n}"), shown)).collect();
            let rows = inputs::rows(&seed, &kind.sorts, ROWS);
            cases.push(Case { name: format!("s{}", cases.len()), forms, rows });
        }
    }
    cases
}

fn form(kind: &Kind, name: &str, shown: Shown) -> Form {
    let mut w = Writer::new(Random::new(name));
    (kind.write)(&mut w, kind);
    let classes = || CLASSES.iter().filter(|(c, ..)| kind.classes.contains(*c));
    let mut code = kind.head.to_string();
    for (class, count, ty) in classes() {
        code += &format!(".reg .{} {class}<{count}>; ", ty.name());
    }
    code += &classes().map(|(class, ..)| first(*class)).collect::<String>();
    code += "\n";
    code += &w.code;
    let mut results = Vec::new();
    let mut put = |value: &str| match shown {
        // Every factor is odd, so that a difference in one register always shows.
        Shown::Digest => format!("{value} mad.lo.u32 d0, d0, 0x9e3779b1, t; "),
        Shown::Registers => {
            results.push(B32);
            format!("{value} mov.b32 d{}, t; ", results.len() - 1)
        }
    };
    let mut end = String::from("{ .reg .b32 t; .reg .b32 u; ");
    for (class, count, _) in classes() {
        for n in 0..*count {
            let r = format!("{class}{n}");
            end += &match class {
                'w' => put(&format!("mov.b64 {{t, u}}, {r};")) + &put("mov.b32 t, u;"),
                'h' => put(&format!("cvt.u32.u16 t, {r};")),
                'c' => put(&format!("cvt.u32.u8 t, {r};")),
                'p' => put(&format!("selp.b32 t, 1, 0, {r};")),
                _ => put(&format!("mov.b32 t, {r};")),
            };
        }
    }
    end += "}";
    if shown == Shown::Digest {
        results = vec![B32];
        code += "mov.b32 d0, 1; ";
    }
    special::form(Op::Mov, name.to_string(), code + &end, &kind.sorts, &results)
}

/// Inputs as for a form with four operands.
const fn four(sort: Scalar) -> [Sort; 4] {
    [Sort::Of(sort); 4]
}
