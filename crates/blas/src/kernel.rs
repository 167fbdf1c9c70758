//! The kernel of a product, as PTX for its types.
//!
//! A thread computes one row of a tile of columns. Neighbouring threads have neighbouring rows, so that accesses to a
//! matrix without transposition are contiguous. 256 products at a time are summed, and those sums are added: the
//! error grows with `k / 256`, not with `k`.
//!
//! Owns: the PTX, and the layout of its one parameter. Must not know: how it is loaded, what the matrices are for.

use std::fmt::Write as _;
use std::mem::offset_of;

use crate::element::{load, parts, store, zero};
use crate::kind::{Kind, Part};

/// What tells one kernel from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// The elements of both factors.
    pub factor: Kind,
    /// The elements of the result and of the summand.
    pub result: Kind,
    /// The type of alpha and beta.
    pub scale: Kind,
    /// What is computed with: `F32`, `F64` or `S32`.
    pub work: Part,
    /// Columns that a thread computes.
    pub columns: u32,
    /// Elements of one half of the result alone are stored.
    pub half: bool,
    /// Beta is real, where alpha is complex.
    pub real_beta: bool,
}

/// The kernel's parameter. Strides are bytes; where `arrays` is not 0, the matrices are arrays of pointers by the number
/// in the batch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Parameter {
    /// The left factor, with the strides of rows, inner index and batch.
    pub a: Matrix,
    /// The right factor: inner index, columns, batch.
    pub b: Matrix,
    /// What is added, `beta` times: rows, columns, batch.
    pub c: Matrix,
    /// The result.
    pub d: Matrix,
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// Products in a sum.
    pub k: u64,
    /// The address of alpha in device memory, or 0.
    pub alpha_at: u64,
    /// Where beta lies.
    pub beta_at: u64,
    /// Alpha's bytes, if it lies nowhere.
    pub alpha: [u64; 2],
    /// Beta's.
    pub beta: [u64; 2],
    /// The matrices are arrays of pointers.
    pub arrays: u32,
    /// Bits 0 and 1: the left, the right factor is conjugate.
    pub conjugate: u32,
    /// Tiles of rows in a column of tiles.
    pub row_tiles: u32,
    /// The number in the batch of the grid's first plane.
    pub first: u32,
    /// For a half: 1 below the diagonal, 2 above it. Added flags: 4 the diagonal is real; 8 alpha is conjugated.
    pub half: u32,
}

/// A matrix of the parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Matrix {
    /// Its address, or that of the array of addresses.
    pub at: u64,
    /// From an element to the next one of the first index.
    pub first: i64,
    /// The stride of the second index.
    pub second: i64,
    /// To the next matrix of the batch.
    pub batch: i64,
}

impl Form {
    /// The kernel's name.
    pub fn name(&self) -> String {
        let [factor, result] = [self.factor, self.result].map(Kind::word);
        let (scale, work) = (self.scale.word(), self.work.word());
        let what = match (self.half, self.real_beta) {
            (false, _) => "gemm",
            (true, false) => "syrk",
            (true, true) => "herk",
        };
        format!("cushim_{what}_{factor}_{result}_{scale}_{work}_{}", self.columns)
    }

    /// The type of beta.
    pub fn beta(&self) -> Kind {
        Kind { complex: self.scale.complex && !self.real_beta, ..self.scale }
    }

    /// Real and imaginary parts of the computation.
    fn parts(&self) -> &'static [&'static str] {
        parts(self.factor.complex)
    }

    /// The register type of the computation.
    fn ty(&self) -> &'static str {
        self.work.word()
    }

    fn zero(&self) -> &'static str {
        zero(self.work)
    }

    /// `to = x * y + z`.
    fn fused(&self, to: &str, x: &str, y: &str, z: &str) -> String {
        match self.work {
            Part::S32 => format!("mad.lo.s32 {to}, {x}, {y}, {z};\n"),
            _ => format!("fma.rn.{} {to}, {x}, {y}, {z};\n", self.ty()),
        }
    }

    /// The whole text.
    pub fn text(&self) -> String {
        let mut text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry {}(.param .align 8 .b8 p[{}])\n{{\n",
            self.name(),
            size_of::<Parameter>()
        );
        self.registers(&mut text);
        self.place(&mut text);
        self.matrices(&mut text);
        self.scalars(&mut text);
        self.sums(&mut text);
        self.results(&mut text);
        text.push_str("END:\nret;\n}\n");
        text
    }

    fn registers(&self, text: &mut String) {
        let ty = self.ty();
        text.push_str(".reg .pred %p, %nobeta, %arrays, %ca, %cb, %z, %lower, %upper, %real;\n");
        text.push_str(
            ".reg .b16 %h;\n.reg .b32 %t, %u, %tile, %rows;\n.reg .s32 %s;\n.reg .f32 %f;\n",
        );
        text.push_str(
            ".reg .b64 %i, %j, %m, %n, %k, %z0, %x, %y, %a, %b, %c, %d, %ak, %bk, %last, %now;\n",
        );
        for part in self.parts() {
            let _ = writeln!(
                text,
                ".reg .{ty} %alpha{part}, %beta{part}, %va{part}, %vb{part}, %vc{part}, %w{part};"
            );
            for column in 0..self.columns {
                let _ = writeln!(text, ".reg .{ty} %sum{column}{part}, %all{column}{part};");
            }
        }
        let _ = writeln!(text, ".reg .{ty} %e;");
        for column in 0..self.columns {
            let _ = writeln!(text, ".reg .b64 %b{column};");
        }
    }

    /// Row, first column, number in the batch; threads without a row end.
    fn place(&self, text: &mut String) {
        let _ = write!(
            text,
            "ld.param.u64 %m, [p+{m}];\nld.param.u64 %n, [p+{n}];\nld.param.u64 %k, [p+{k}];\n\
             ld.param.u32 %rows, [p+{rows}];\nmov.u32 %t, %ctaid.x;\ndiv.u32 %tile, %t, %rows;\n\
             mul.lo.u32 %u, %tile, %rows;\nsub.u32 %t, %t, %u;\nmov.u32 %u, %ntid.x;\nmul.wide.u32 %i, %t, %u;\n\
             mov.u32 %u, %tid.x;\ncvt.u64.u32 %x, %u;\nadd.u64 %i, %i, %x;\nmul.wide.u32 %j, %tile, {columns};\n\
             ld.param.u32 %t, [p+{first}];\nmov.u32 %u, %ctaid.y;\nadd.u32 %t, %t, %u;\ncvt.u64.u32 %z0, %t;\n\
             setp.ge.u64 %p, %i, %m;\n@%p bra END;\n",
            m = offset_of!(Parameter, m),
            n = offset_of!(Parameter, n),
            k = offset_of!(Parameter, k),
            rows = offset_of!(Parameter, row_tiles),
            first = offset_of!(Parameter, first),
            columns = self.columns,
        );
    }

    /// Addresses of row and columns: `%a`, `%b0` and so on, `%c` and `%d` of the first column.
    fn matrices(&self, text: &mut String) {
        let _ = write!(
            text,
            "ld.param.u32 %t, [p+{}];\nsetp.ne.u32 %arrays, %t, 0;\n",
            offset_of!(Parameter, arrays)
        );
        let matrices = [
            ("a", offset_of!(Parameter, a)),
            ("b", offset_of!(Parameter, b)),
            ("c", offset_of!(Parameter, c)),
            ("d", offset_of!(Parameter, d)),
        ];
        for (name, at) in matrices {
            let (batch, up) = (at + offset_of!(Matrix, batch), name.to_uppercase());
            let _ = write!(
                text,
                "ld.param.u64 %{name}, [p+{at}];\nld.param.u64 %x, [p+{batch}];\nmad.lo.s64 %{name}, %z0, %x, %{name};\n\
                 @!%arrays bra FOUND{up};\nld.global.u64 %{name}, [%{name}];\nFOUND{up}:\n"
            );
        }
        let first = |at: usize| at + offset_of!(Matrix, first);
        let second = |at: usize| at + offset_of!(Matrix, second);
        let [(_, a), (_, b), (_, c), (_, d)] = matrices;
        let _ = write!(
            text,
            "ld.param.u64 %x, [p+{}];\nmad.lo.s64 %a, %i, %x, %a;\nld.param.u64 %ak, [p+{}];\nld.param.u64 %bk, [p+{}];\n",
            first(a),
            second(a),
            first(b)
        );
        for (name, at) in [("c", c), ("d", d)] {
            let _ = write!(
                text,
                "ld.param.u64 %x, [p+{}];\nmad.lo.s64 %{name}, %i, %x, %{name};\nld.param.u64 %x, [p+{}];\n\
                 mad.lo.s64 %{name}, %j, %x, %{name};\n",
                first(at),
                second(at)
            );
        }
        // Columns after the last one repeat it, and are not stored.
        let _ = write!(text, "ld.param.u64 %x, [p+{}];\nsub.u64 %last, %n, 1;\n", second(b));
        for column in 0..self.columns {
            let _ = write!(
                text,
                "add.u64 %y, %j, {column};\nmin.u64 %y, %y, %last;\nmad.lo.s64 %b{column}, %y, %x, %b;\n"
            );
        }
    }

    /// Alpha and beta. Without alpha nothing is multiplied, and without beta nothing is read: not a number times zero is zero.
    fn scalars(&self, text: &mut String) {
        let both = [
            ("alpha", offset_of!(Parameter, alpha_at), offset_of!(Parameter, alpha)),
            ("beta", offset_of!(Parameter, beta_at), offset_of!(Parameter, beta)),
        ];
        for (name, at, value) in both {
            let up = name.to_uppercase();
            let _ =
                write!(text, "ld.param.u64 %x, [p+{at}];\nsetp.eq.u64 %p, %x, 0;\n@%p bra {up};\n");
            let kind = if name == "beta" { self.beta() } else { self.scale };
            self.load(text, kind, "global", "%x", 0, name);
            let _ = write!(text, "bra {up}READ;\n{up}:\n");
            self.load(text, kind, "param", "p", value, name);
            let _ = writeln!(text, "{up}READ:");
        }
        let (ty, zero) = (self.ty(), self.zero());
        let is_zero = |text: &mut String, name: &str, predicate: &str| {
            let _ = writeln!(text, "setp.eq.{ty} {predicate}, %{name}r, {zero};");
            if self.factor.complex {
                let _ = write!(
                    text,
                    "setp.eq.{ty} %z, %{name}i, {zero};\nand.pred {predicate}, {predicate}, %z;\n"
                );
            }
        };
        is_zero(text, "alpha", "%p");
        text.push_str("selp.b64 %k, 0, %k, %p;\n");
        is_zero(text, "beta", "%nobeta");
        let _ = write!(
            text,
            "ld.param.u32 %t, [p+{}];\nand.b32 %u, %t, 1;\nsetp.ne.u32 %ca, %u, 0;\nand.b32 %u, %t, 2;\nsetp.ne.u32 %cb, %u, 0;\n",
            offset_of!(Parameter, conjugate)
        );
        if self.half {
            let _ = writeln!(text, "ld.param.u32 %t, [p+{}];", offset_of!(Parameter, half));
            for (bit, name) in [(1, "lower"), (2, "upper"), (4, "real")] {
                let _ = write!(text, "and.b32 %u, %t, {bit};\nsetp.ne.u32 %{name}, %u, 0;\n");
            }
            if self.scale.complex {
                let _ = write!(
                    text,
                    "and.b32 %u, %t, 8;\nsetp.ne.u32 %z, %u, 0;\n@%z neg.{ty} %alphai, %alphai;\n"
                );
            }
        }
    }

    /// Reads an element, converted: `%NAMEr`, and `%NAMEi` where the form is complex.
    fn load(&self, text: &mut String, kind: Kind, space: &str, base: &str, at: usize, name: &str) {
        load(text, (self.factor.complex, self.work), kind, &format!("{space} {base} {at}"), name);
    }

    /// The sums, `%allCOLUMN`.
    fn sums(&self, text: &mut String) {
        let (ty, zero) = (self.ty(), self.zero());
        let each = |text: &mut String, line: &dyn Fn(u32, &str) -> String| {
            for column in 0..self.columns {
                for part in self.parts() {
                    text.push_str(&line(column, part));
                }
            }
        };
        each(text, &|column, part| format!("mov.{ty} %all{column}{part}, {zero};\n"));
        text.push_str("MORE:\nsetp.eq.u64 %p, %k, 0;\n@%p bra DONE;\nmin.u64 %now, %k, 256;\nsub.u64 %k, %k, %now;\n");
        each(text, &|column, part| format!("mov.{ty} %sum{column}{part}, {zero};\n"));
        text.push_str("NEXT:\n");
        self.load(text, self.factor, "global", "%a", 0, "va");
        if self.factor.complex {
            let _ = writeln!(text, "@%ca neg.{ty} %vai, %vai;");
        }
        for column in 0..self.columns {
            self.load(text, self.factor, "global", &format!("%b{column}"), 0, "vb");
            let real = format!("%sum{column}r");
            text.push_str(&self.fused(&real, "%var", "%vbr", &real));
            if self.factor.complex {
                let imaginary = format!("%sum{column}i");
                let _ = writeln!(text, "@%cb neg.{ty} %vbi, %vbi;");
                text.push_str(&self.fused(&imaginary, "%var", "%vbi", &imaginary));
                text.push_str(&self.fused(&imaginary, "%vai", "%vbr", &imaginary));
                let _ = writeln!(text, "neg.{ty} %e, %vai;");
                text.push_str(&self.fused(&real, "%e", "%vbi", &real));
            }
            let _ = writeln!(text, "add.s64 %b{column}, %b{column}, %bk;");
        }
        text.push_str("add.s64 %a, %a, %ak;\nsub.u64 %now, %now, 1;\nsetp.ne.u64 %p, %now, 0;\n@%p bra NEXT;\n");
        let add = if self.work == Part::S32 { "add" } else { "add.rn" };
        each(text, &|column, part| {
            format!("{add}.{ty} %all{column}{part}, %all{column}{part}, %sum{column}{part};\n")
        });
        text.push_str("bra MORE;\nDONE:\n");
    }

    /// `%w += by * of`.
    fn add(&self, text: &mut String, by: &str, of: &str) {
        let ([real, imaginary], by) = ([format!("{of}r"), format!("{of}i")], format!("%{by}"));
        text.push_str(&self.fused("%wr", &format!("{by}r"), &real, "%wr"));
        if self.factor.complex {
            text.push_str(&self.fused("%wi", &format!("{by}r"), &imaginary, "%wi"));
            text.push_str(&self.fused("%wi", &format!("{by}i"), &real, "%wi"));
            let _ = writeln!(text, "neg.{} %e, {by}i;", self.ty());
            text.push_str(&self.fused("%wr", "%e", &imaginary, "%wr"));
        }
    }

    /// `d = alpha * sum + beta * c`, column by column.
    fn results(&self, text: &mut String) {
        let next = |at: usize| at + offset_of!(Matrix, second);
        for column in 0..self.columns {
            if self.half {
                let _ = write!(
                    text,
                    "setp.lt.u64 %p, %i, %j;\nand.pred %p, %p, %lower;\n@%p bra LEFT{column};\n\
                     setp.gt.u64 %p, %i, %j;\nand.pred %p, %p, %upper;\n@%p bra LEFT{column};\n"
                );
            }
            for part in self.parts() {
                let _ = writeln!(text, "mov.{} %w{part}, {};", self.ty(), self.zero());
            }
            self.add(text, "alpha", &format!("%all{column}"));
            let _ = writeln!(text, "@%nobeta bra STORE{column};");
            self.load(text, self.result, "global", "%c", 0, "vc");
            self.add(text, "beta", "%vc");
            let _ = writeln!(text, "STORE{column}:");
            if self.half && self.factor.complex {
                let _ = write!(
                    text,
                    "setp.eq.u64 %p, %i, %j;\nand.pred %p, %p, %real;\n@%p mov.{} %wi, {};\n",
                    self.ty(),
                    self.zero()
                );
            }
            self.store(text);
            if self.half {
                let _ = writeln!(text, "LEFT{column}:");
            }
            let _ = write!(
                text,
                "add.u64 %j, %j, 1;\nsetp.ge.u64 %p, %j, %n;\n@%p bra END;\n\
                 ld.param.u64 %x, [p+{}];\nadd.s64 %c, %c, %x;\nld.param.u64 %x, [p+{}];\nadd.s64 %d, %d, %x;\n",
                next(offset_of!(Parameter, c)),
                next(offset_of!(Parameter, d))
            );
        }
    }

    /// Writes `%w` to `%d`, rounded to the result's type.
    fn store(&self, text: &mut String) {
        store(text, (self.factor.complex, self.work), self.result, "%d", "w");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::product::compute;

    /// Every form that a product can need.
    fn forms() -> Vec<Form> {
        let kinds = || (0..32).filter_map(Kind::of);
        let mut forms = Vec::new();
        for (factor, result) in kinds().flat_map(|f| kinds().map(move |r| (f, r))) {
            for found in (60..90).filter_map(|number| compute(factor, result, number)) {
                for (columns, half) in
                    [(1, false), (4, false), (8, false), (1, true), (4, true), (8, true)]
                {
                    let (work, scale) = (found.work, found.scale);
                    for real_beta in [false, half && factor.complex] {
                        let form = Form { factor, result, scale, work, columns, half, real_beta };
                        forms.extend((!forms.contains(&form)).then_some(form));
                    }
                }
            }
        }
        forms
    }

    #[test]
    fn texts_are_right() {
        let forms = forms();
        assert!(forms.len() > 60, "{}", forms.len());
        for form in forms {
            let text = form.text();
            let module = cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree));
            let module = module.unwrap_or_else(|error| panic!("{}: {error}\n{text}", form.name()));
            assert!(module.functions.iter().any(|f| f.entry && *f.name == *form.name()));
        }
    }

    #[test]
    fn names_tell_forms_apart() {
        let mut names = std::collections::HashMap::new();
        for form in forms() {
            assert_eq!(*names.entry(form.name()).or_insert(form), form);
        }
    }
}
