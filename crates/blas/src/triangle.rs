//! Triangular systems of equations: `op(t) * x = alpha * b`, or `x * op(t) = alpha * b`; the result overwrites `b`.
//!
//! A thread computes one right-hand side, element by element, and reads back what it has stored. An upper triangle is
//! traversed in reverse, so that one kernel suffices: a lower triangle, from its first row on.
//!
//! Owns: the kernel's PTX and parameter, and which arguments are valid. Source: cuBLAS' documentation,
//! "`cublas<t>trsm()`". Must not know: how it is launched.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::mem::offset_of;

use crate::kind::{Kind, Part};
use crate::product::{Operand, one};
use crate::status;

/// The call: `side`, `fill`, `operation` and `diagonal` are cuBLAS' numbers.
#[derive(Clone, Copy, Debug)]
pub struct Triangle {
    /// The elements, singles or doubles.
    pub kind: Kind,
    /// 1: the triangle is on the right.
    pub side: i32,
    /// 0: its lower half is read, 1: its upper one.
    pub fill: i32,
    /// As for a product; 3 is conjugated and not transposed, which only [`Triangle::of_vector`] uses.
    pub operation: i32,
    /// 1: its diagonal is one, and is not read.
    pub diagonal: i32,
    /// Rows and columns of `b`.
    pub sizes: [i64; 2],
    /// The triangle, and `b`.
    pub operands: [Operand; 2],
    /// Alpha.
    pub alpha: *const c_void,
    /// It is in device memory.
    pub on_device: bool,
    /// [`Triangle::of_vector`] made it, and looked at the arguments.
    pub is_vector: bool,
}

/// The kernel's parameter. Strides are bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// The triangle's first element, with the strides of rows and columns.
    pub t: [i64; 3],
    /// The same for `b`, whose columns are the right-hand sides.
    pub b: [i64; 3],
    /// Rows of the triangle.
    pub rows: u64,
    /// Right-hand sides.
    pub sides: u64,
    /// The address of alpha in device memory, or 0.
    pub alpha_at: u64,
    /// Alpha's bytes, if it lies nowhere.
    pub alpha: [u64; 2],
    /// Bit 0: conjugate. Bit 1: the diagonal is one.
    pub flags: u32,
}

impl Triangle {
    /// The system `op(t) * x = b` of one vector; the result overwrites `x`, whose increment is `leading`.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE`, as documented.
    pub fn of_vector(
        kind: Kind,
        [fill, operation, diagonal]: [i32; 3],
        length: i64,
        [t, x]: [Operand; 2],
    ) -> Result<Triangle, i32> {
        let words = [fill, diagonal].iter().all(|word| (0..=1).contains(word));
        let narrow = length < 0 || t.leading < length.max(1) || x.leading == 0;
        if !words || narrow || !(0..=2).contains(&operation) {
            return Err(status::INVALID_VALUE);
        }
        // The vector is a row, so the triangle is on the right, transposed once more.
        let operation = match operation {
            0 => 1,
            1 => 0,
            _ => 3,
        };
        let operands = [t, x.forward(length, kind)];
        let (sizes, alpha) = ([1, length], one(kind));
        Ok(Triangle {
            kind,
            side: 1,
            fill,
            operation,
            diagonal,
            sizes,
            operands,
            alpha,
            on_device: false,
            is_vector: true,
        })
    }

    /// The parameter without alpha; none where there is nothing to compute.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE`, as documented.
    pub fn plan(&self) -> Result<Option<Parameter>, i32> {
        let ([m, n], [t, b]) = (self.sizes, self.operands);
        if self.is_vector {
            return Ok((n > 0).then(|| self.place()));
        }
        let rows = if self.side == 0 { m } else { n };
        let words = [self.side, self.fill, self.diagonal].iter().all(|word| (0..=1).contains(word));
        let wide = t.leading >= rows.max(1) && b.leading >= m.max(1);
        if m < 0
            || n < 0
            || !words
            || !(0..=2).contains(&self.operation)
            || !wide
            || self.alpha.is_null()
        {
            return Err(status::INVALID_VALUE);
        }
        Ok((m > 0 && n > 0).then(|| self.place()))
    }

    /// Where everything is.
    fn place(&self) -> Parameter {
        let ([m, n], [t, b]) = (self.sizes, self.operands);
        let rows = if self.side == 0 { m } else { n };
        let size = self.kind.size() as i64;
        let [far_t, far_b] = [t.leading, b.leading].map(|leading| leading.wrapping_mul(size));
        let (mut t, mut b) = ([t.at as i64, size, far_t], [b.at as i64, size, far_b]);
        let turn = |[at, row, column]: [i64; 3]| [at, column, row];
        // Each turn makes the other half of a triangle of it.
        let mut is_upper = self.fill == 1;
        if matches!(self.operation, 1 | 2) {
            (t, is_upper) = (turn(t), !is_upper);
        }
        if self.side == 1 {
            (t, b, is_upper) = (turn(t), turn(b), !is_upper);
        }
        if is_upper {
            let [at, row, column] = t;
            let end = (rows - 1).wrapping_mul(row.wrapping_add(column));
            t = [at.wrapping_add(end), row.wrapping_neg(), column.wrapping_neg()];
            let [at, row, column] = b;
            b = [at.wrapping_add((rows - 1).wrapping_mul(row)), row.wrapping_neg(), column];
        }
        Parameter {
            t,
            b,
            rows: rows as u64,
            sides: if self.side == 0 { n } else { m } as u64,
            flags: u32::from(self.operation >= 2) | u32::from(self.diagonal == 1) << 1,
            ..Parameter::default()
        }
    }

    /// The kernel's name.
    pub fn name(&self) -> String {
        format!("cushim_trsm_{}", self.kind.word())
    }

    /// Registers, the thread's right-hand side, and the way to alpha. `parts`: the real, the imaginary one.
    fn head(&self, parts: &[&str]) -> String {
        let ty = self.kind.part.word();
        let mut text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry {}(.param .align 8 .b8 p[{}])\n{{\n\
             .reg .pred %p, %z, %zi, %conj, %unit;\n.reg .b32 %u, %v;\n.reg .b64 %side, %x, %t, %tr, %tc, %row, %b, %br, %all, %at, %n, %to, %i;\n",
            self.name(),
            size_of::<Parameter>()
        );
        for part in parts {
            let _ =
                writeln!(text, ".reg .{ty} %s{part}, %t{part}v, %x{part}, %alpha{part}, %q{part};");
        }
        let _ = writeln!(text, ".reg .{ty} %e, %g;");
        let [t, b] = [offset_of!(Parameter, t), offset_of!(Parameter, b)];
        let _ = write!(
            text,
            "mov.u32 %u, %ctaid.x;\nmov.u32 %v, %ntid.x;\nmul.wide.u32 %side, %u, %v;\nmov.u32 %u, %tid.x;\n\
             cvt.u64.u32 %x, %u;\nadd.u64 %side, %side, %x;\nld.param.u64 %x, [p+{sides}];\nsetp.ge.u64 %p, %side, %x;\n\
             @%p bra END;\nld.param.u64 %row, [p+{t}];\nld.param.u64 %tr, [p+{tr}];\nld.param.u64 %tc, [p+{tc}];\n\
             ld.param.u64 %b, [p+{b}];\nld.param.u64 %br, [p+{br}];\nld.param.u64 %x, [p+{bc}];\n\
             mad.lo.s64 %b, %side, %x, %b;\nmov.u64 %to, %b;\nld.param.u64 %all, [p+{rows}];\nld.param.u32 %u, [p+{flags}];\n\
             and.b32 %v, %u, 1;\nsetp.ne.u32 %conj, %v, 0;\nand.b32 %v, %u, 2;\nsetp.ne.u32 %unit, %v, 0;\n\
             ld.param.u64 %x, [p+{alpha_at}];\nsetp.eq.u64 %p, %x, 0;\n@%p bra HOST;\n",
            sides = offset_of!(Parameter, sides),
            rows = offset_of!(Parameter, rows),
            flags = offset_of!(Parameter, flags),
            alpha_at = offset_of!(Parameter, alpha_at),
            tr = t + 8,
            tc = t + 16,
            br = b + 8,
            bc = b + 16,
        );
        text
    }

    /// The kernel.
    pub fn text(&self) -> String {
        let ty = self.kind.part.word();
        let parts: &[&str] = if self.kind.complex { &["r", "i"] } else { &["r"] };
        let mut text = self.head(parts);
        let load =
            |text: &mut String, space: &str, (base, from): (&str, usize), names: [&str; 2]| {
                for (number, name) in names.iter().take(parts.len()).enumerate() {
                    let at = from + number * self.kind.part.size() as usize;
                    let _ = writeln!(text, "ld.{space}.{ty} {name}, [{base}+{at}];");
                }
            };
        let fused = |text: &mut String, to: &str, x: &str, y: &str| {
            let _ = writeln!(text, "fma.rn.{ty} {to}, {x}, {y}, {to};");
        };
        load(&mut text, "global", ("%x", 0), ["%alphar", "%alphai"]);
        text.push_str("bra READ;\nHOST:\n");
        load(&mut text, "param", ("p", offset_of!(Parameter, alpha)), ["%alphar", "%alphai"]);
        let zero = if self.kind.part == Part::F64 { "0d0000000000000000" } else { "0f00000000" };
        let _ = writeln!(text, "READ:\nsetp.eq.{ty} %z, %alphar, {zero};");
        if self.kind.complex {
            let _ = writeln!(text, "setp.eq.{ty} %zi, %alphai, {zero};\nand.pred %z, %z, %zi;");
        }
        text.push_str("mov.u64 %i, 0;\nROW:\n");
        load(&mut text, "global", ("%to", 0), ["%xr", "%xi"]);
        let _ = writeln!(text, "mul.rn.{ty} %sr, %alphar, %xr;");
        if self.kind.complex {
            let _ = write!(text, "mul.rn.{ty} %si, %alphar, %xi;\nneg.{ty} %e, %alphai;\n");
            fused(&mut text, "%sr", "%e", "%xi");
            fused(&mut text, "%si", "%alphai", "%xr");
        }
        // Without alpha the result is zero, whatever was there.
        for part in parts {
            let _ = writeln!(text, "@%z mov.{ty} %s{part}, {zero};");
        }
        text.push_str("mov.u64 %t, %row;\nmov.u64 %at, %b;\nmov.u64 %n, 0;\nNEXT:\nsetp.ge.u64 %p, %n, %i;\n@%p bra FOUND;\n");
        load(&mut text, "global", ("%t", 0), ["%trv", "%tiv"]);
        load(&mut text, "global", ("%at", 0), ["%xr", "%xi"]);
        if self.kind.complex {
            let _ = writeln!(text, "@%conj neg.{ty} %tiv, %tiv;");
            fused(&mut text, "%sr", "%tiv", "%xi");
            let _ = writeln!(text, "neg.{ty} %e, %tiv;");
            fused(&mut text, "%si", "%e", "%xr");
        }
        let _ = writeln!(text, "neg.{ty} %e, %trv;");
        fused(&mut text, "%sr", "%e", "%xr");
        if self.kind.complex {
            fused(&mut text, "%si", "%e", "%xi");
        }
        text.push_str(
            "add.s64 %t, %t, %tc;\nadd.s64 %at, %at, %br;\nadd.u64 %n, %n, 1;\nbra NEXT;\nFOUND:\n@%unit bra STORE;\n",
        );
        load(&mut text, "global", ("%t", 0), ["%trv", "%tiv"]);
        if self.kind.complex {
            // Smith's way: the smaller part of the divisor over the greater one, so that no square overflows.
            let _ = write!(
                text,
                "@%conj neg.{ty} %tiv, %tiv;\nabs.{ty} %e, %trv;\nabs.{ty} %g, %tiv;\nsetp.lt.{ty} %p, %e, %g;\n@%p bra STEEP;\n\
                 div.rn.{ty} %e, %tiv, %trv;\nmov.{ty} %g, %trv;\nfma.rn.{ty} %g, %tiv, %e, %g;\nmov.{ty} %qr, %sr;\n\
                 fma.rn.{ty} %qr, %si, %e, %qr;\nneg.{ty} %e, %e;\nmov.{ty} %qi, %si;\nfma.rn.{ty} %qi, %sr, %e, %qi;\nbra DIVIDE;\n\
                 STEEP:\ndiv.rn.{ty} %e, %trv, %tiv;\nmov.{ty} %g, %tiv;\nfma.rn.{ty} %g, %trv, %e, %g;\nmov.{ty} %qr, %si;\n\
                 fma.rn.{ty} %qr, %sr, %e, %qr;\nneg.{ty} %qi, %sr;\nfma.rn.{ty} %qi, %si, %e, %qi;\nDIVIDE:\n\
                 div.rn.{ty} %sr, %qr, %g;\ndiv.rn.{ty} %si, %qi, %g;\n"
            );
        } else {
            let _ = writeln!(text, "div.rn.{ty} %sr, %sr, %trv;");
        }
        text.push_str("STORE:\n");
        for (number, part) in parts.iter().enumerate() {
            let at = number * self.kind.part.size() as usize;
            let _ = writeln!(text, "st.global.{ty} [%to+{at}], %s{part};");
        }
        text.push_str(
            "add.s64 %row, %row, %tr;\nadd.s64 %to, %to, %br;\nadd.u64 %i, %i, 1;\nsetp.lt.u64 %p, %i, %all;\n@%p bra ROW;\nEND:\nret;\n}\n",
        );
        text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::kind::{C, D, S, Z};

    fn triangle(side: i32, fill: i32, operation: i32) -> Triangle {
        static ONE: f64 = 1.0;
        let operand = |at, leading| Operand { at, leading, batch: 0 };
        Triangle {
            kind: D,
            side,
            fill,
            operation,
            diagonal: 0,
            sizes: [4, 3],
            operands: [operand(0x1000, 10), operand(0x8000, 20)],
            alpha: std::ptr::from_ref(&ONE).cast(),
            on_device: false,
            is_vector: false,
        }
    }

    #[test]
    fn texts_are_right() {
        for kind in [S, D, C, Z] {
            let text = Triangle { kind, ..triangle(0, 0, 0) }.text();
            let module = cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree));
            assert!(module.is_ok(), "{:?}\n{text}", module.err());
        }
    }

    #[test]
    fn each_turn_makes_the_other_half() {
        let plan = |side, fill, operation| triangle(side, fill, operation).plan().unwrap().unwrap();
        let lower = plan(0, 0, 0);
        assert_eq!((lower.t, lower.b), ([0x1000, 8, 80], [0x8000, 8, 160]));
        // The last row is solved first.
        let upper = plan(0, 1, 0);
        assert_eq!((upper.t, upper.b), ([0x1000 + 3 * 88, -8, -80], [0x8000 + 3 * 8, -8, 160]));
        assert_eq!(plan(0, 1, 1).t, [0x1000, 80, 8]);
        // The right-hand sides are rows.
        let right = plan(1, 1, 0);
        assert_eq!((right.t, right.b), ([0x1000, 80, 8], [0x8000, 160, 8]));
        assert_eq!((right.rows, right.sides), (3, 4));
    }

    #[test]
    fn a_vector_is_a_row() {
        let operand = |at, leading| Operand { at, leading, batch: 0 };
        let vector = |fill, operation, step| {
            let operands = [operand(0x1000, 10), operand(0x8000, step)];
            Triangle::of_vector(Z, [fill, operation, 0], 4, operands)
        };
        let lower = vector(0, 0, -2).unwrap().plan().unwrap().unwrap();
        assert_eq!((lower.t, lower.b), ([0x1000, 16, 160], [0x8000 + 3 * 32, -32, 16]));
        assert_eq!((lower.rows, lower.sides, lower.flags), (4, 1, 0));
        let upper = vector(1, 2, 1).unwrap().plan().unwrap().unwrap();
        assert_eq!((upper.t, upper.flags), ([0x1000, 160, 16], 1));
        for (fill, operation, step) in [(2, 0, 1), (0, 3, 1), (0, 0, 0)] {
            assert_eq!(vector(fill, operation, step).unwrap_err(), status::INVALID_VALUE);
        }
    }

    #[test]
    fn arguments_are_looked_at() {
        let fine = triangle(0, 0, 0);
        for wrong in [
            Triangle { side: 2, ..fine },
            Triangle { operation: 3, ..fine },
            Triangle { sizes: [-1, 3], ..fine },
            Triangle { sizes: [11, 3], ..fine },
            Triangle { alpha: std::ptr::null(), ..fine },
        ] {
            assert_eq!(wrong.plan(), Err(status::INVALID_VALUE), "{wrong:?}");
        }
        assert_eq!(Triangle { sizes: [0, 3], ..fine }.plan(), Ok(None));
    }
}
