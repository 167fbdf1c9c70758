//! Reductions of vectors to one number: dot products, norms, sums of absolute values, and the index of the greatest
//! or smallest element.
//!
//! One block computes it; each of its threads handles every 256th element, always in the same order. Sums are
//! doubles. For the norm of doubles, elements are divided by a power of two, so that no square overflows or
//! underflows.
//!
//! Owns: the kernels' PTX and parameter. Source: cuBLAS' documentation, "cuBLAS Level-1 Function Reference". Must not
//! know: how they are launched.

use std::fmt::Write as _;
use std::mem::offset_of;

use crate::kind::{Kind, Part};
use crate::product::Operand;

/// Threads of the block.
pub const THREADS: u32 = 256;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// The sum of products.
    Dot,
    /// The same, where the first vector is conjugate.
    Conjugate,
    /// The square root of the sum of squares.
    Norm,
    /// The sum of absolute values, of complex numbers those of both parts.
    Sum,
    /// The number of the first element whose absolute value is the greatest, from 1 on. NaNs are skipped.
    Greatest,
    /// The smallest.
    Smallest,
}

/// The type of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// A number.
    Number(Kind),
    /// An index of so many bytes, 4 or 8.
    Index(u8),
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// What is computed.
    pub what: What,
    /// The elements.
    pub kind: Kind,
    /// The result's type.
    pub answer: Answer,
    /// Elements.
    pub length: i64,
    /// The vectors; `leading` is the increment. The second is read by products only.
    pub vectors: [Operand; 2],
}

/// The kernel's parameter. Steps are bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// The first element of each vector.
    pub at: [u64; 2],
    /// To the next one.
    pub step: [i64; 2],
    /// Elements.
    pub length: u64,
    /// Where the result goes.
    pub result: u64,
}

impl Answer {
    /// Bytes.
    pub fn size(self) -> u64 {
        match self {
            Answer::Number(kind) => kind.size(),
            Answer::Index(bytes) => bytes.into(),
        }
    }
}

impl Reduction {
    fn is_dot(&self) -> bool {
        matches!(self.what, What::Dot | What::Conjugate)
    }

    fn is_index(&self) -> bool {
        matches!(self.what, What::Greatest | What::Smallest)
    }

    /// The parameter, without the result's address. Without elements, or for one vector whose increment is not
    /// positive, the result is 0.
    pub fn plan(&self) -> Parameter {
        let [x, y] = self.vectors;
        let nothing = self.length <= 0 || (!self.is_dot() && x.leading <= 0);
        let length = if nothing { 0 } else { self.length };
        let vectors = [x, y].map(|vector| vector.forward(length, self.kind));
        Parameter {
            at: vectors.map(|vector| vector.at),
            step: vectors.map(|vector| vector.leading.wrapping_mul(self.kind.size() as i64)),
            length: length as u64,
            result: 0,
        }
    }

    /// The kernel's name.
    pub fn name(&self) -> String {
        let what = match self.what {
            What::Dot => "dot",
            What::Conjugate => "dotc",
            What::Norm => "nrm2",
            What::Sum => "asum",
            What::Greatest => "amax",
            What::Smallest => "amin",
        };
        let answer = match self.answer {
            Answer::Number(kind) => kind.word(),
            Answer::Index(bytes) => format!("i{}", u32::from(bytes) * 8),
        };
        format!("cushim_{what}_{}_{answer}", self.kind.word())
    }

    /// The kernel.
    pub fn text(&self) -> String {
        let name = self.name();
        let mut text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry {name}(.param .align 8 .b8 p[{}])\n{{\n\
             .shared .align 16 .b8 s[{}];\n\
             .reg .pred %p, %q;\n.reg .b16 %h;\n.reg .b32 %t, %u, %at, %other;\n.reg .f32 %f;\n\
             .reg .b64 %n, %i, %x, %y, %sx, %sy, %to, %best, %ob, %e;\n\
             .reg .f64 %sr, %si, %xr, %xi, %yr, %yi, %or, %oi, %scale;\n\
             mov.u32 %t, %tid.x;\nmov.u32 %at, s;\nmad.lo.u32 %at, %t, 16, %at;\nld.param.u64 %n, [p+{n}];\n\
             mov.f64 %scale, 0d3FF0000000000000;\n",
            size_of::<Parameter>(),
            THREADS * 16,
            n = offset_of!(Parameter, length),
        );
        if self.what == What::Norm && self.kind.part == Part::F64 {
            self.scale(&mut text);
        }
        self.begin(&mut text);
        text.push_str("NEXT:\nsetp.ge.u64 %p, %i, %n;\n@%p bra REST;\n");
        self.take(&mut text);
        self.advance(&mut text, "NEXT", "REST");
        self.join(&mut text, "", |text| self.combine(text));
        self.answer(&mut text);
        text.push_str("END:\nret;\n}\n");
        text
    }

    /// The thread's first element, and empty sums.
    fn begin(&self, text: &mut String) {
        let [at, step] = [offset_of!(Parameter, at), offset_of!(Parameter, step)];
        text.push_str("cvt.u64.u32 %i, %t;\n");
        for (number, name) in ["x", "y"].iter().enumerate() {
            let (at, step) = (at + number * 8, step + number * 8);
            let _ = write!(
                text,
                "ld.param.u64 %{name}, [p+{at}];\nld.param.u64 %s{name}, [p+{step}];\n\
                 mad.lo.s64 %{name}, %i, %s{name}, %{name};\nmul.lo.s64 %s{name}, %s{name}, {THREADS};\n"
            );
        }
        text.push_str("mov.f64 %sr, 0d0000000000000000;\nmov.f64 %si, %sr;\nmov.u64 %best, -1;\n");
    }

    fn advance(&self, text: &mut String, next: &str, rest: &str) {
        let _ = write!(
            text,
            "add.u64 %i, %i, {THREADS};\nadd.s64 %x, %x, %sx;\nadd.s64 %y, %y, %sy;\nbra {next};\n{rest}:\n"
        );
    }

    /// Reads an element as doubles: `%NAMEr` and `%NAMEi`.
    fn load(&self, text: &mut String, name: &str) {
        let parts: &[&str] = if self.kind.complex { &["r", "i"] } else { &["r"] };
        for (number, part) in parts.iter().enumerate() {
            let from = format!("[%{name}+{}]", number * self.kind.part.size() as usize);
            let to = format!("%{name}{part}");
            let _ = match self.kind.part {
                Part::F64 => writeln!(text, "ld.global.f64 {to}, {from};"),
                Part::F16 => write!(
                    text,
                    "ld.global.b16 %h, {from};\ncvt.f32.f16 %f, %h;\ncvt.f64.f32 {to}, %f;\n"
                ),
                Part::Bf16 => write!(
                    text,
                    "ld.global.b16 %h, {from};\ncvt.u32.u16 %u, %h;\nshl.b32 %u, %u, 16;\nmov.b32 %f, %u;\n\
                     cvt.f64.f32 {to}, %f;\n"
                ),
                _ => write!(text, "ld.global.f32 %f, {from};\ncvt.f64.f32 {to}, %f;\n"),
            };
        }
    }

    /// `%xr`: the absolute value, of a complex number the sum of both.
    fn absolute(&self, text: &mut String) {
        text.push_str("abs.f64 %xr, %xr;\n");
        if self.kind.complex {
            text.push_str("abs.f64 %xi, %xi;\nadd.rn.f64 %xr, %xr, %xi;\n");
        }
    }

    /// Adds an element to what the thread has.
    fn take(&self, text: &mut String) {
        self.load(text, "x");
        match self.what {
            What::Dot | What::Conjugate => {
                self.load(text, "y");
                text.push_str("fma.rn.f64 %sr, %xr, %yr, %sr;\n");
                if self.kind.complex {
                    if self.what == What::Conjugate {
                        text.push_str("neg.f64 %xi, %xi;\n");
                    }
                    text.push_str(
                        "fma.rn.f64 %si, %xr, %yi, %si;\nfma.rn.f64 %si, %xi, %yr, %si;\nneg.f64 %xi, %xi;\n\
                         fma.rn.f64 %sr, %xi, %yi, %sr;\n",
                    );
                }
            }
            What::Norm => {
                text.push_str("mul.rn.f64 %xr, %xr, %scale;\nfma.rn.f64 %sr, %xr, %xr, %sr;\n");
                if self.kind.complex {
                    text.push_str("mul.rn.f64 %xi, %xi, %scale;\nfma.rn.f64 %sr, %xi, %xi, %sr;\n");
                }
            }
            What::Sum => {
                self.absolute(text);
                text.push_str("add.rn.f64 %sr, %sr, %xr;\n");
            }
            What::Greatest | What::Smallest => {
                self.absolute(text);
                text.push_str("mov.f64 %or, %xr;\nmov.u64 %ob, %i;\n");
                self.better(text, "");
            }
        }
    }

    /// Replaces `%sr` at `%best` by `%or` at `%ob`, if it is better, or as good and before it.
    fn better(&self, text: &mut String, end: &str) {
        let order = if self.what == What::Greatest { "gt" } else { "lt" };
        let _ = write!(
            text,
            "setp.nan.f64 %p, %or, %or;\n@%p bra KEPT{end};\nsetp.eq.u64 %p, %ob, -1;\n@%p bra KEPT{end};\n\
             setp.eq.u64 %p, %best, -1;\n@%p bra TAKEN{end};\nsetp.{order}.f64 %p, %or, %sr;\n@%p bra TAKEN{end};\n\
             setp.neu.f64 %p, %or, %sr;\n@%p bra KEPT{end};\nsetp.gt.u64 %p, %ob, %best;\n@%p bra KEPT{end};\n\
             TAKEN{end}:\nmov.f64 %sr, %or;\nmov.u64 %best, %ob;\nKEPT{end}:\n"
        );
    }

    /// Joins what another thread has, `%or` with `%oi` or `%ob`, to what this one has.
    fn combine(&self, text: &mut String) {
        if self.is_index() {
            self.better(text, "2");
        } else {
            text.push_str("add.rn.f64 %sr, %sr, %or;\nadd.rn.f64 %si, %si, %oi;\n");
        }
    }

    /// All threads' parts become one, which all of them have.
    fn join(&self, text: &mut String, label: &str, combine: impl Fn(&mut String)) {
        let second = if self.is_index() { "%best" } else { "%si" };
        let other = if self.is_index() { "%ob" } else { "%oi" };
        let ty = if self.is_index() { "u64" } else { "f64" };
        let _ = write!(
            text,
            "mov.u32 %other, {half};\nHALF{label}:\nst.shared.f64 [%at], %sr;\nst.shared.{ty} [%at+8], {second};\nbar.sync 0;\n\
             setp.ge.u32 %p, %t, %other;\n@%p bra IDLE{label};\nmad.lo.u32 %u, %other, 16, %at;\nld.shared.f64 %or, [%u];\n\
             ld.shared.{ty} {other}, [%u+8];\n",
            half = THREADS / 2
        );
        combine(text);
        let _ = write!(
            text,
            "IDLE{label}:\nbar.sync 0;\nshr.u32 %other, %other, 1;\nsetp.ne.u32 %p, %other, 0;\n@%p bra HALF{label};\n\
             setp.ne.u32 %p, %t, 0;\n@%p bra WAIT{label};\nst.shared.f64 [%at], %sr;\nst.shared.{ty} [%at+8], {second};\n\
             WAIT{label}:\nbar.sync 0;\nmov.u32 %u, s;\nld.shared.f64 %sr, [%u];\nld.shared.{ty} {second}, [%u+8];\nbar.sync 0;\n"
        );
    }

    /// `%scale`: a power of two that makes the greatest absolute value one of 1 to 2, or as near as one can.
    fn scale(&self, text: &mut String) {
        self.begin(text);
        text.push_str("MORE:\nsetp.ge.u64 %p, %i, %n;\n@%p bra SEEN;\n");
        self.load(text, "x");
        text.push_str("abs.f64 %xr, %xr;\nmax.f64 %sr, %sr, %xr;\n");
        if self.kind.complex {
            text.push_str("abs.f64 %xi, %xi;\nmax.f64 %sr, %sr, %xi;\n");
        }
        self.advance(text, "MORE", "SEEN");
        self.join(text, "S", |text| text.push_str("max.f64 %sr, %sr, %or;\n"));
        // 2046 less its exponent's field, between those of the smallest and of the greatest power.
        text.push_str(
            "mov.b64 %e, %sr;\nshr.u64 %e, %e, 52;\nsub.s64 %e, 2046, %e;\nmax.s64 %e, %e, 1;\nmin.s64 %e, %e, 2046;\n\
             shl.b64 %e, %e, 52;\nmov.b64 %scale, %e;\n",
        );
    }

    /// The first thread writes the result.
    fn answer(&self, text: &mut String) {
        let _ = write!(
            text,
            "setp.ne.u32 %p, %t, 0;\n@%p bra END;\nld.param.u64 %to, [p+{}];\n",
            offset_of!(Parameter, result)
        );
        if self.what == What::Norm {
            text.push_str("sqrt.rn.f64 %sr, %sr;\ndiv.rn.f64 %sr, %sr, %scale;\n");
        }
        let kind = match self.answer {
            Answer::Index(bytes) => {
                // Where nothing is a number, the first one is it.
                let _ = write!(
                    text,
                    "setp.eq.u64 %p, %best, -1;\nselp.b64 %best, 0, %best, %p;\nadd.u64 %best, %best, 1;\n\
                     setp.eq.u64 %p, %n, 0;\nselp.b64 %best, 0, %best, %p;\nst.global.u{} [%to], %best;\n",
                    u32::from(bytes) * 8
                );
                return;
            }
            Answer::Number(kind) => kind,
        };
        let parts: &[&str] = if kind.complex { &["r", "i"] } else { &["r"] };
        for (number, part) in parts.iter().enumerate() {
            let at = number * kind.part.size() as usize;
            let single = format!("cvt.rn.f32.f64 %f, %s{part};\n");
            let _ = match kind.part {
                Part::F64 => writeln!(text, "st.global.f64 [%to+{at}], %s{part};"),
                Part::F16 => {
                    write!(text, "{single}cvt.rn.f16.f32 %h, %f;\nst.global.b16 [%to+{at}], %h;\n")
                }
                Part::Bf16 => {
                    write!(text, "{single}cvt.rn.bf16.f32 %h, %f;\nst.global.b16 [%to+{at}], %h;\n")
                }
                _ => writeln!(text, "{single}st.global.f32 [%to+{at}], %f;"),
            };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::kind::{C, D, H, S, Z};

    fn reduction(what: What, kind: Kind, answer: Answer) -> Reduction {
        let vector = |at, leading| Operand { at, leading, batch: 0 };
        Reduction {
            what,
            kind,
            answer,
            length: 9,
            vectors: [vector(0x1000, 2), vector(0x2000, -3)],
        }
    }

    #[test]
    fn texts_are_right() {
        use What::{Conjugate, Dot, Greatest, Norm, Smallest, Sum};
        for kind in [S, D, C, Z, H, Kind { part: Part::Bf16, complex: false }] {
            for what in [Dot, Conjugate, Norm, Sum, Greatest, Smallest] {
                for answer in [Answer::Number(kind), Answer::Index(4), Answer::Index(8)] {
                    let text = reduction(what, kind, answer).text();
                    let module = cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree));
                    assert!(module.is_ok(), "{:?}\n{text}", module.err());
                }
            }
        }
    }

    #[test]
    fn vectors_begin_at_their_first_element() {
        let dot = reduction(What::Dot, S, Answer::Number(S));
        let expected =
            Parameter { at: [0x1000, 0x2000 + 8 * 3 * 4], step: [8, -12], length: 9, result: 0 };
        assert_eq!(dot.plan(), expected);
        assert_eq!(Reduction { length: -1, ..dot }.plan().length, 0);
        // A single vector has no consecutive elements in that direction.
        let sum = Reduction { what: What::Sum, ..dot };
        let [x, y] = sum.vectors;
        assert_eq!(sum.plan().length, 9);
        assert_eq!(Reduction { vectors: [y, x], ..sum }.plan().length, 0);
    }
}
