//! Element-wise operations: `d = alpha * op(a) + beta * op(b)`, `d = a * b`, and the same for vectors.
//!
//! Each thread handles one row, and iterates over columns. `d` may be `a` or `b`, unless that is transposed.
//!
//! Owns: the kernels' PTX and parameter, and which arguments are valid. Source: cuBLAS' documentation, "geam()",
//! "dgmm()", "axpy()", "scal()", "copy()". Must not know: how they are launched.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::mem::offset_of;

use crate::kind::{Kind, Part};
use crate::product::Operand;
use crate::status;

/// The operation on the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// `alpha * a + beta * b`. What is multiplied by zero is not read.
    Add,
    /// `alpha * a + b`.
    Into,
    /// `alpha * a`.
    Scale,
    /// `a`.
    Copy,
    /// `a * b`.
    Times,
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// What is computed.
    pub what: What,
    /// The elements' type.
    pub kind: Kind,
    /// The type of alpha and beta.
    pub scale: Kind,
    /// Rows and columns of `d`.
    pub sizes: [i64; 2],
    /// `a`, `b` and `d`.
    pub matrices: [Matrix; 3],
    /// Bits 0 and 1: `a`, `b` is conjugate.
    pub conjugate: u32,
    /// Alpha and beta, or null if there is none.
    pub scalars: [*const c_void; 2],
    /// They are in device memory.
    pub on_device: bool,
}

/// A matrix: its address, and bytes from row to row and from column to column.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// The first element.
    pub at: u64,
    /// To the next row.
    pub row: i64,
    /// To the next column.
    pub column: i64,
}

/// The kernel's parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Parameter {
    /// `a`, `b` and `d`.
    pub matrices: [Matrix; 3],
    /// Rows.
    pub rows: u64,
    /// Columns.
    pub columns: u64,
    /// The address of alpha and beta in device memory, or 0.
    pub scalars_at: [u64; 2],
    /// Their bytes, if they lie nowhere.
    pub scalars: [[u64; 2]; 2],
    /// As in the call.
    pub conjugate: u32,
}

impl Elements {
    /// For vectors, whose increments are `leading`: `x`, and `y`, which is the result. `None` if there is nothing to
    /// compute.
    pub fn of_vectors(
        what: What,
        [kind, scale]: [Kind; 2],
        length: i64,
        [x, y]: [Operand; 2],
        alpha: *const c_void,
        on_device: bool,
    ) -> Option<Elements> {
        if length <= 0 {
            return None;
        }
        let matrix = |vector: Operand| {
            let vector = vector.forward(length, kind);
            let row = vector.leading.wrapping_mul(kind.size() as i64);
            Matrix { at: vector.at, row, column: 0 }
        };
        let [x, y] = [matrix(x), matrix(y)];
        Some(Elements {
            what,
            kind,
            scale,
            sizes: [length, 1],
            matrices: [x, y, y],
            conjugate: 0,
            scalars: [alpha, std::ptr::null()],
            on_device,
        })
    }

    /// The sum of two matrices, either turned by its `cublasOperation_t`. One of the scalars may be null, which is zero: cuSOLVER turns
    /// matrices so.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE`, as documented.
    pub fn of_sum(
        kind: Kind,
        operations: [i32; 2],
        [m, n]: [i64; 2],
        operands: [Operand; 3],
        scalars: [*const c_void; 2],
        on_device: bool,
    ) -> Result<Elements, i32> {
        let ([op_a, op_b], [a, b, d]) = (operations, operands);
        let rows = |operation: i32| if operation == 0 { m } else { n };
        let wrong = m < 0
            || n < 0
            || operations.iter().any(|operation| !(0..=2).contains(operation))
            || a.leading < rows(op_a).max(1)
            || b.leading < rows(op_b).max(1)
            || d.leading < m.max(1)
            || scalars.iter().all(|scalar| scalar.is_null());
        if wrong {
            return Err(status::INVALID_VALUE);
        }
        let matrix = |operand: Operand, turned: bool| {
            let (near, far) =
                (kind.size() as i64, operand.leading.wrapping_mul(kind.size() as i64));
            let (row, column) = if turned { (far, near) } else { (near, far) };
            Matrix { at: operand.at, row, column }
        };
        Ok(Elements {
            what: What::Add,
            kind,
            scale: kind,
            sizes: [m, n],
            matrices: [matrix(a, op_a != 0), matrix(b, op_b != 0), matrix(d, false)],
            conjugate: u32::from(op_a == 2) | u32::from(op_b == 2) << 1,
            scalars,
            on_device,
        })
    }

    /// A matrix times a diagonal one, whose elements are `x`; `side` 0: from the left.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE`, as documented.
    pub fn of_diagonal(
        kind: Kind,
        side: i32,
        [m, n]: [i64; 2],
        [a, x, d]: [Operand; 3],
    ) -> Result<Elements, i32> {
        let narrow = a.leading < m.max(1) || d.leading < m.max(1);
        if m < 0 || n < 0 || narrow || !(0..=1).contains(&side) {
            return Err(status::INVALID_VALUE);
        }
        let size = kind.size() as i64;
        let matrix = |operand: Operand| Matrix {
            at: operand.at,
            row: size,
            column: operand.leading.wrapping_mul(size),
        };
        let x = x.forward(if side == 0 { m } else { n }, kind);
        let step = x.leading.wrapping_mul(size);
        let (row, column) = if side == 0 { (step, 0) } else { (0, step) };
        Ok(Elements {
            what: What::Times,
            kind,
            scale: kind,
            sizes: [m, n],
            matrices: [matrix(a), Matrix { at: x.at, row, column }, matrix(d)],
            conjugate: 0,
            scalars: [std::ptr::null(); 2],
            on_device: false,
        })
    }

    /// The parameter without alpha and beta.
    pub fn plan(&self) -> Parameter {
        let [m, n] = self.sizes;
        Parameter {
            matrices: self.matrices,
            rows: m as u64,
            columns: n as u64,
            conjugate: self.conjugate,
            ..Parameter::default()
        }
    }

    /// The kernel's name.
    pub fn name(&self) -> String {
        let what = match self.what {
            What::Add => "geam",
            What::Into => "axpy",
            What::Scale => "scal",
            What::Copy => "copy",
            What::Times => "dgmm",
        };
        format!("cushim_{what}_{}_{}", self.kind.word(), self.scale.word())
    }

    fn parts(&self) -> &'static [&'static str] {
        if self.kind.complex { &["r", "i"] } else { &["r"] }
    }

    /// Reads a value of the elements' type (`kind`), or of the scalars'.
    fn load(&self, text: &mut String, kind: Kind, space: &str, base: &str, at: usize, name: &str) {
        let ty = kind.part.word();
        for (number, part) in ["r", "i"].iter().enumerate().take(1 + usize::from(kind.complex)) {
            let at = at + number * kind.part.size() as usize;
            let _ = writeln!(text, "ld.{space}.{ty} %{name}{part}, [{base}+{at}];");
        }
    }

    /// `%d += x * y`, where `x` is complex or not.
    fn add(&self, text: &mut String, x: &str, y: &str, is_complex: bool) {
        let ty = self.kind.part.word();
        for part in self.parts() {
            let _ = writeln!(text, "fma.rn.{ty} %d{part}, %{x}r, %{y}{part}, %d{part};");
        }
        if is_complex {
            let _ = write!(
                text,
                "fma.rn.{ty} %di, %{x}i, %{y}r, %di;\nneg.{ty} %e, %{x}i;\nfma.rn.{ty} %dr, %e, %{y}i, %dr;\n"
            );
        }
    }

    /// Registers, the row of the thread, and the scalars.
    fn head(&self) -> String {
        let ty = self.kind.part.word();
        let zero = zero(self.kind.part);
        let mut text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry {}(.param .align 8 .b8 p[{}])\n{{\n\
             .reg .pred %p, %q, %noa, %nob, %ca, %cb;\n.reg .b32 %t, %u;\n\
             .reg .b64 %i, %j, %m, %n, %x, %a, %b, %d, %as, %bs, %ds;\n\
             .reg .{ty} %ar, %ai, %br, %bi, %dr, %di, %alphar, %alphai, %betar, %betai, %e;\n\
             mov.u32 %t, %ctaid.x;\nmov.u32 %u, %ntid.x;\nmul.wide.u32 %i, %t, %u;\nmov.u32 %u, %tid.x;\ncvt.u64.u32 %x, %u;\n\
             add.u64 %i, %i, %x;\nld.param.u64 %m, [p+{rows}];\nsetp.ge.u64 %p, %i, %m;\n@%p bra END;\n\
             ld.param.u64 %n, [p+{columns}];\nmov.u32 %t, %ctaid.y;\ncvt.u64.u32 %j, %t;\nmov.u32 %t, %nctaid.y;\ncvt.u64.u32 %x, %t;\n\
             mov.u64 %m, %x;\nld.param.u32 %t, [p+{conjugate}];\nand.b32 %u, %t, 1;\nsetp.ne.u32 %ca, %u, 0;\nand.b32 %u, %t, 2;\nsetp.ne.u32 %cb, %u, 0;\n",
            self.name(),
            size_of::<Parameter>(),
            rows = offset_of!(Parameter, rows),
            columns = offset_of!(Parameter, columns),
            conjugate = offset_of!(Parameter, conjugate),
        );
        for (number, name) in ["a", "b", "d"].iter().enumerate() {
            let at = number * size_of::<Matrix>();
            let (row, column) = (at + offset_of!(Matrix, row), at + offset_of!(Matrix, column));
            let _ = write!(
                text,
                "ld.param.u64 %{name}, [p+{at}];\nld.param.u64 %x, [p+{row}];\nmad.lo.s64 %{name}, %i, %x, %{name};\n\
                 ld.param.u64 %x, [p+{column}];\nmad.lo.s64 %{name}, %j, %x, %{name};\nmul.lo.s64 %{name}s, %m, %x;\n"
            );
        }
        let wanted: &[&str] = match self.what {
            What::Add => &["alpha", "beta"],
            What::Into | What::Scale => &["alpha"],
            What::Copy | What::Times => &[],
        };
        for (number, name) in wanted.iter().enumerate() {
            let at = offset_of!(Parameter, scalars_at) + number * 8;
            let value = offset_of!(Parameter, scalars) + number * 16;
            let up = name.to_uppercase();
            let _ =
                write!(text, "ld.param.u64 %x, [p+{at}];\nsetp.eq.u64 %p, %x, 0;\n@%p bra {up};\n");
            self.load(&mut text, self.scale, "global", "%x", 0, name);
            let _ = write!(text, "bra {up}READ;\n{up}:\n");
            self.load(&mut text, self.scale, "param", "p", value, name);
            let _ = writeln!(text, "{up}READ:");
            if self.what == What::Add {
                let unread = if number == 0 { "%noa" } else { "%nob" };
                let _ = writeln!(text, "setp.eq.{ty} {unread}, %{name}r, {zero};");
                if self.scale.complex {
                    let _ = write!(
                        text,
                        "setp.eq.{ty} %q, %{name}i, {zero};\nand.pred {unread}, {unread}, %q;\n"
                    );
                }
            }
        }
        text
    }

    /// Reads an element of `a` or `b`, conjugated if requested.
    fn element(&self, text: &mut String, name: &str) {
        self.load(text, self.kind, "global", &format!("%{name}"), 0, name);
        if self.kind.complex {
            let _ = writeln!(text, "@%c{name} neg.{} %{name}i, %{name}i;", self.kind.part.word());
        }
    }

    /// The kernel.
    pub fn text(&self) -> String {
        let (ty, zero) = (self.kind.part.word(), zero(self.kind.part));
        let mut text = self.head();
        text.push_str("NEXT:\nsetp.ge.u64 %p, %j, %n;\n@%p bra END;\n");
        let negative =
            if self.kind.part == Part::F64 { "0d8000000000000000" } else { "0f80000000" };
        // A product alone is added to the zero that keeps the sign of zeros.
        let begin = if self.what == What::Add { zero } else { negative };
        for part in self.parts() {
            let _ = writeln!(text, "mov.{ty} %d{part}, {begin};");
        }
        match self.what {
            What::Add => {
                text.push_str("@%noa bra SECOND;\n");
                self.element(&mut text, "a");
                self.add(&mut text, "alpha", "a", self.scale.complex);
                text.push_str("SECOND:\n@%nob bra STORE;\n");
                self.element(&mut text, "b");
                self.add(&mut text, "beta", "b", self.scale.complex);
            }
            What::Into => {
                self.element(&mut text, "a");
                self.load(&mut text, self.kind, "global", "%b", 0, "d");
                self.add(&mut text, "alpha", "a", self.scale.complex);
            }
            What::Scale => {
                self.element(&mut text, "a");
                self.add(&mut text, "alpha", "a", self.scale.complex);
            }
            What::Copy => self.load(&mut text, self.kind, "global", "%a", 0, "d"),
            What::Times => {
                self.element(&mut text, "a");
                self.element(&mut text, "b");
                self.add(&mut text, "a", "b", self.kind.complex);
            }
        }
        text.push_str("STORE:\n");
        for (number, part) in self.parts().iter().enumerate() {
            let at = number * self.kind.part.size() as usize;
            let _ = writeln!(text, "st.global.{ty} [%d+{at}], %d{part};");
        }
        text.push_str(
            "add.s64 %a, %a, %as;\nadd.s64 %b, %b, %bs;\nadd.s64 %d, %d, %ds;\nadd.u64 %j, %j, %m;\nbra NEXT;\nEND:\nret;\n}\n",
        );
        text
    }
}

fn zero(part: Part) -> &'static str {
    if part == Part::F64 { "0d0000000000000000" } else { "0f00000000" }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::kind::{C, D, S, Z};

    fn operand(at: u64, leading: i64) -> Operand {
        Operand { at, leading, batch: 0 }
    }

    #[test]
    fn texts_are_right() {
        for (kind, scale) in [(S, S), (D, D), (C, C), (Z, Z), (C, S), (Z, D)] {
            for what in [What::Add, What::Into, What::Scale, What::Copy, What::Times] {
                let vectors = [operand(0x1000, 1), operand(0x2000, 1)];
                let alpha = std::ptr::null();
                let of = Elements::of_vectors(what, [kind, scale], 4, vectors, alpha, false);
                let text = of.unwrap().text();
                let module = cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree));
                assert!(module.is_ok(), "{:?}\n{text}", module.err());
            }
        }
    }

    #[test]
    fn matrices_are_turned_and_looked_at() {
        let one = std::ptr::from_ref(&1.0f32).cast();
        let operands = [operand(0x1000, 7), operand(0x2000, 5), operand(0x3000, 5)];
        let sum =
            |operations, sizes| Elements::of_sum(S, operations, sizes, operands, [one, one], false);
        let turned = sum([2, 0], [5, 7]).unwrap();
        assert_eq!(turned.conjugate, 1);
        assert_eq!(turned.matrices.map(|m| (m.row, m.column)), [(28, 4), (4, 20), (4, 20)]);
        for (operations, sizes) in
            [([0, 3], [1, 1]), ([0, 0], [6, 1]), ([1, 0], [5, 8]), ([0, 0], [-1, 1])]
        {
            assert_eq!(sum(operations, sizes).unwrap_err(), status::INVALID_VALUE);
        }
        let null = std::ptr::null();
        let with = |scalars| Elements::of_sum(S, [0, 0], [1, 1], operands, scalars, false);
        assert!(with([one, null]).is_ok() && with([null, one]).is_ok());
        assert_eq!(with([null, null]).unwrap_err(), status::INVALID_VALUE);
        let diagonal = |side| {
            Elements::of_diagonal(
                S,
                side,
                [5, 3],
                [operand(0x1000, 5), operand(0x2000, -2), operand(0x3000, 6)],
            )
        };
        assert_eq!(
            diagonal(0).unwrap().matrices[1],
            Matrix { at: 0x2000 + 4 * 8, row: -8, column: 0 }
        );
        assert_eq!(
            diagonal(1).unwrap().matrices[1],
            Matrix { at: 0x2000 + 2 * 8, row: 0, column: -8 }
        );
        assert_eq!(diagonal(2).unwrap_err(), status::INVALID_VALUE);
    }
}
