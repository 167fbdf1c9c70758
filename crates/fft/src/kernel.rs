//! The kernels: their names, their common parameter, and the PTX of those that read and write the program's memory.
//!
//! Each thread handles one element. An inverse transform is the forward one of conjugate numbers, conjugated again:
//! only these two kernels know about it.
//!
//! Owns: these. Must not know: how lengths are transformed ([`super::pass`]), how kernels are loaded.

use std::fmt::Write as _;
use std::mem::offset_of;

use crate::kind::{Part, Work};
use crate::pass;

/// What a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// Reads the program's elements into a buffer.
    Load {
        /// Their type.
        part: Part,
        /// They are complex.
        complex: bool,
        /// They become conjugate.
        conjugate: bool,
        /// The last dimension has its first half alone; the others are their conjugates.
        mirrored: bool,
    },
    /// A pass for one of [`crate::factor::UNROLLED`].
    Pass {
        /// The factor.
        factor: u32,
        /// It is the first pass, which multiplies by no roots.
        first: bool,
    },
    /// A pass for any factor.
    Loop,
    /// Multiplies lines by a chirp, and pads them with zeros.
    Chirp,
    /// Multiplies padded lines by the transform of the chirp, and conjugates them.
    Product,
    /// Multiplies the conjugates of padded lines by the chirp, and cuts them.
    Back,
    /// Writes a buffer into the program's elements.
    Store {
        /// Their type.
        part: Part,
        /// They are complex; else imaginary parts are lost.
        complex: bool,
        /// They become conjugate.
        conjugate: bool,
    },
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// What is computed with.
    pub work: Work,
    /// What it does.
    pub what: What,
}

/// The parameter. Counts are elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// What is read.
    pub from: u64,
    /// What is written.
    pub to: u64,
    /// Roots, or other factors.
    pub table: u64,
    /// Bytes between transforms in the program's memory.
    pub batch: i64,
    /// Bytes between elements of each dimension there.
    pub strides: [i64; 3],
    /// The lengths of the dimensions.
    pub lengths: [u32; 3],
    /// Elements of the last dimension to read or write.
    pub last: u32,
    /// Threads with work.
    pub count: u32,
    /// From an element of the line to the next.
    pub inner: u32,
    /// The line's length.
    pub length: u32,
    /// Its length when it is padded.
    pub padded: u32,
    /// The product of the completed factors.
    pub done: u32,
    /// The factor.
    pub factor: u32,
    /// The length over the factor.
    pub apart: u32,
    /// The length divided by the factor and the completed ones.
    pub step: u32,
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> String {
        let work = self.work.word();
        let elements = |part: Part, complex: bool| {
            format!("{}{}", if complex { "c" } else { "" }, part.word())
        };
        let mark = |is: bool, text: &'static str| if is { text } else { "" };
        match self.what {
            What::Load { part, complex, conjugate, mirrored } => format!(
                "cushim_fft_{work}_load_{}{}{}",
                elements(part, complex),
                mark(conjugate, "_conjugate"),
                mark(mirrored, "_mirrored")
            ),
            What::Pass { factor, first } => {
                format!("cushim_fft_{work}_pass_{factor}{}", mark(first, "_first"))
            }
            What::Loop => format!("cushim_fft_{work}_pass"),
            What::Chirp => format!("cushim_fft_{work}_chirp"),
            What::Product => format!("cushim_fft_{work}_product"),
            What::Back => format!("cushim_fft_{work}_back"),
            What::Store { part, complex, conjugate } => format!(
                "cushim_fft_{work}_store_{}{}",
                elements(part, complex),
                mark(conjugate, "_conjugate")
            ),
        }
    }

    /// Its text.
    pub fn text(&self) -> String {
        let mut text = self.head();
        match self.what {
            What::Load { part, complex, conjugate, mirrored } => {
                self.load(&mut text, part, complex, conjugate, mirrored);
            }
            What::Store { part, complex, conjugate } => {
                self.store(&mut text, part, complex, conjugate);
            }
            What::Pass { factor, first } => pass::unrolled(&mut text, self.work, factor, first),
            What::Loop => pass::any(&mut text, self.work),
            What::Chirp => pass::chirp(&mut text, self.work),
            What::Product => pass::product(&mut text, self.work),
            What::Back => pass::back(&mut text, self.work),
        }
        text.push_str("END:\nret;\n}\n");
        text
    }

    /// Registers, and the thread's number `%t`; threads without work end.
    fn head(&self) -> String {
        let mut text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry {}(.param .align 8 .b8 p[{}])\n{{\n\
             .reg .pred %p, %q;\n.reg .b16 %h;\n.reg .f32 %f;\n.reg .b32 %t, %u, %v, %w, %i0, %i1, %i2, %k;\n\
             .reg .b64 %x, %y, %from, %to, %table;\n.reg .{} %r, %i, %wr, %wi, %e, %g;\n\
             mov.u32 %u, %ctaid.x;\nmov.u32 %v, %ntid.x;\nmov.u32 %t, %tid.x;\nmad.lo.u32 %t, %u, %v, %t;\n",
            self.name(),
            size_of::<Parameter>(),
            self.work.word()
        );
        number(&mut text, "%u", offset_of!(Parameter, count));
        text.push_str("setp.ge.u32 %p, %t, %u;\n@%p bra END;\n");
        address(&mut text, "%from", offset_of!(Parameter, from));
        address(&mut text, "%to", offset_of!(Parameter, to));
        address(&mut text, "%table", offset_of!(Parameter, table));
        text
    }

    /// Computes the index of the thread's element in each dimension, `%i0` to `%i2`, and in the batch, `%v`; `%t` is
    /// unchanged.
    fn place(&self, text: &mut String) {
        let lengths = offset_of!(Parameter, lengths);
        text.push_str("mov.u32 %v, %t;\n");
        for (at, index) in
            [(offset_of!(Parameter, last), "%i2"), (lengths + 4, "%i1"), (lengths, "%i0")]
        {
            number(text, "%u", at);
            split(text, "%v", index, "%u");
        }
    }

    /// Adds the offset in the program's memory to `base`.
    fn memory(&self, text: &mut String, base: &str) {
        let strides = offset_of!(Parameter, strides);
        let places = [
            ("%v", offset_of!(Parameter, batch)),
            ("%i0", strides),
            ("%i1", strides + 8),
            ("%i2", strides + 16),
        ];
        for (index, at) in places {
            let _ = write!(
                text,
                "ld.param.u64 %x, [p+{at}];\ncvt.u64.u32 %y, {index};\nmad.lo.s64 {base}, %x, %y, {base};\n"
            );
        }
    }

    fn load(&self, text: &mut String, part: Part, complex: bool, conjugate: bool, mirrored: bool) {
        let work = self.work.word();
        self.place(text);
        if mirrored {
            let lengths = offset_of!(Parameter, lengths);
            number(text, "%u", lengths + 8);
            text.push_str(
                "shr.u32 %w, %u, 1;\nsetp.gt.u32 %q, %i2, %w;\nsub.u32 %w, %u, %i2;\nselp.b32 %i2, %w, %i2, %q;\n",
            );
            for (index, at) in [("%i1", lengths + 4), ("%i0", lengths)] {
                number(text, "%u", at);
                let _ = write!(
                    text,
                    "sub.u32 %w, %u, {index};\nsetp.eq.u32 %p, {index}, 0;\nselp.b32 %w, 0, %w, %p;\n\
                     selp.b32 {index}, %w, {index}, %q;\n"
                );
            }
        }
        self.memory(text, "%from");
        read(text, self.work, part, "%r", 0);
        if complex {
            read(text, self.work, part, "%i", part.size());
        } else {
            let _ = writeln!(text, "mov.{work} %i, {};", self.work.constant(0.0));
        }
        let turned = match (mirrored, conjugate) {
            (true, true) => Some("@!%q "),
            (true, false) => Some("@%q "),
            (false, true) => Some(""),
            (false, false) => None,
        };
        if let Some(guard) = turned {
            let _ = writeln!(text, "{guard}neg.{work} %i, %i;");
        }
        element(text, self.work, "%to", "%t");
        let _ = writeln!(text, "st.global.v2.{work} [%to], {{%r, %i}};");
    }

    fn store(&self, text: &mut String, part: Part, complex: bool, conjugate: bool) {
        let work = self.work.word();
        let lengths = offset_of!(Parameter, lengths);
        self.place(text);
        text.push_str("mov.u32 %w, %v;\n");
        for (index, at) in [("%i0", lengths), ("%i1", lengths + 4), ("%i2", lengths + 8)] {
            number(text, "%u", at);
            let _ = writeln!(text, "mad.lo.u32 %w, %w, %u, {index};");
        }
        element(text, self.work, "%from", "%w");
        let _ = writeln!(text, "ld.global.v2.{work} {{%r, %i}}, [%from];");
        self.memory(text, "%to");
        write_part(text, self.work, part, "%r", 0);
        if complex {
            if conjugate {
                let _ = writeln!(text, "neg.{work} %i, %i;");
            }
            write_part(text, self.work, part, "%i", part.size());
        }
    }
}

/// Reads a number of the parameter.
pub(crate) fn number(text: &mut String, to: &str, at: usize) {
    let _ = writeln!(text, "ld.param.u32 {to}, [p+{at}];");
}

fn address(text: &mut String, to: &str, at: usize) {
    let _ = writeln!(text, "ld.param.u64 {to}, [p+{at}];");
}

/// `rest = value % by; value = value / by`.
pub(crate) fn split(text: &mut String, value: &str, rest: &str, by: &str) {
    let _ = write!(
        text,
        "div.u32 %w, {value}, {by};\nmul.lo.u32 {rest}, %w, {by};\nsub.u32 {rest}, {value}, {rest};\nmov.u32 {value}, %w;\n"
    );
}

/// Adds `index` complex numbers to an address.
pub(crate) fn element(text: &mut String, work: Work, base: &str, index: &str) {
    let _ = writeln!(text, "mad.wide.u32 {base}, {index}, {}, {base};", work.size());
}

/// Reads a real number of the program at `%from`, converted to the type of the computation.
fn read(text: &mut String, work: Work, part: Part, to: &str, at: u64) {
    let _ = match part {
        Part::F16 => write!(text, "ld.global.b16 %h, [%from+{at}];\ncvt.f32.f16 {to}, %h;\n"),
        Part::Bf16 => write!(
            text,
            "ld.global.b16 %h, [%from+{at}];\ncvt.u32.u16 %u, %h;\nshl.b32 %u, %u, 16;\nmov.b32 {to}, %u;\n"
        ),
        Part::F32 | Part::F64 => writeln!(text, "ld.global.{} {to}, [%from+{at}];", work.word()),
    };
}

/// Writes a real number of the program's at `%to`.
fn write_part(text: &mut String, work: Work, part: Part, from: &str, at: u64) {
    let _ = match part {
        Part::F16 => write!(text, "cvt.rn.f16.f32 %h, {from};\nst.global.b16 [%to+{at}], %h;\n"),
        Part::Bf16 => write!(text, "cvt.rn.bf16.f32 %h, {from};\nst.global.b16 [%to+{at}], %h;\n"),
        Part::F32 | Part::F64 => writeln!(text, "st.global.{} [%to+{at}], {from};", work.word()),
    };
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::factor::UNROLLED;

    fn all() -> Vec<Kernel> {
        let mut found = Vec::new();
        for part in [Part::F16, Part::Bf16, Part::F32, Part::F64] {
            let work = part.work();
            for flags in 0..8 {
                let [complex, conjugate, mirrored] = [1, 2, 4].map(|bit| flags & bit != 0);
                found
                    .push(Kernel { work, what: What::Load { part, complex, conjugate, mirrored } });
                if !mirrored {
                    found.push(Kernel { work, what: What::Store { part, complex, conjugate } });
                }
            }
        }
        for work in [Work::F32, Work::F64] {
            for factor in UNROLLED {
                for first in [false, true] {
                    found.push(Kernel { work, what: What::Pass { factor, first } });
                }
            }
            for what in [What::Loop, What::Chirp, What::Product, What::Back] {
                found.push(Kernel { work, what });
            }
        }
        found
    }

    #[test]
    fn texts_are_right() {
        for kernel in all() {
            let text = kernel.text();
            let module = cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree));
            let module = module.unwrap_or_else(|e| panic!("{}: {e}\n{text}", kernel.name()));
            assert!(module.functions.iter().any(|f| f.entry && *f.name == *kernel.name()));
        }
    }

    #[test]
    fn names_tell_kernels_apart() {
        let mut names: Vec<String> = all().iter().map(Kernel::name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
