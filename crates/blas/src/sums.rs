//! The sums of a matrix' rows, as a vector: the gradient of a bias.
//!
//! Each thread handles one row, and adds its elements in order.
//!
//! Owns: the PTX, and the layout of its one parameter. Must not know: how it is launched.

use std::fmt::Write as _;
use std::mem::offset_of;

use crate::element::{load, store, zero};
use crate::kernel::Matrix;
use crate::kind::{Kind, Part};

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// The elements.
    pub from: Kind,
    /// What is computed with.
    pub work: Part,
    /// The sums.
    pub to: Kind,
    /// Where the elements are: `first` from a row to the next, `second` within one.
    pub matrix: Matrix,
    /// Where the sums go.
    pub result: Matrix,
    /// Rows.
    pub count: i64,
    /// Elements of a row.
    pub length: i64,
}

/// The kernel's parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Parameter {
    /// The elements.
    pub matrix: Matrix,
    /// The sums.
    pub result: Matrix,
    /// Rows.
    pub count: u64,
    /// Elements of a row.
    pub length: u64,
    /// The number in the batch of the grid's first plane.
    pub first: u32,
}

impl Sums {
    /// The kernel's name.
    pub fn name(&self) -> String {
        format!("cushim_sums_{}_{}_{}", self.from.word(), self.work.word(), self.to.word())
    }

    /// Its parameter.
    pub fn plan(&self) -> Parameter {
        Parameter {
            matrix: self.matrix,
            result: self.result,
            count: self.count as u64,
            length: self.length as u64,
            first: 0,
        }
    }

    /// The kernel.
    pub fn text(&self) -> String {
        let (ty, zero) = (self.work.word(), zero(self.work));
        let mut text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry {}(.param .align 8 .b8 p[{}])\n{{\n\
             .reg .pred %p;\n.reg .b16 %h;\n.reg .b32 %t, %u;\n.reg .s32 %s;\n.reg .b64 %i, %n, %x, %z, %from, %to, %step;\n\
             .reg .{ty} %vr, %sumr;\n\
             mov.u32 %t, %ctaid.x;\nmov.u32 %u, %ntid.x;\nmul.wide.u32 %i, %t, %u;\nmov.u32 %t, %tid.x;\ncvt.u64.u32 %x, %t;\n\
             add.u64 %i, %i, %x;\nld.param.u64 %n, [p+{count}];\nsetp.ge.u64 %p, %i, %n;\n@%p bra END;\n\
             mov.u32 %t, %ctaid.y;\nld.param.u32 %u, [p+{first}];\nadd.u32 %t, %t, %u;\ncvt.u64.u32 %z, %t;\nmov.{ty} %sumr, {zero};\n",
            self.name(),
            size_of::<Parameter>(),
            count = offset_of!(Parameter, count),
            first = offset_of!(Parameter, first),
        );
        let both = [("from", offset_of!(Parameter, matrix)), ("to", offset_of!(Parameter, result))];
        for (name, at) in both {
            let (first, batch) = (at + offset_of!(Matrix, first), at + offset_of!(Matrix, batch));
            let _ = write!(
                text,
                "ld.param.u64 %{name}, [p+{at}];\nld.param.u64 %x, [p+{first}];\nmad.lo.s64 %{name}, %i, %x, %{name};\n\
                 ld.param.u64 %x, [p+{batch}];\nmad.lo.s64 %{name}, %z, %x, %{name};\n"
            );
        }
        let _ = write!(
            text,
            "ld.param.u64 %step, [p+{}];\nld.param.u64 %n, [p+{}];\nNEXT:\nsetp.eq.u64 %p, %n, 0;\n@%p bra DONE;\n",
            offset_of!(Parameter, matrix) + offset_of!(Matrix, second),
            offset_of!(Parameter, length),
        );
        load(&mut text, (false, self.work), self.from, "global %from 0", "v");
        let _ = write!(
            text,
            "add.rn.{ty} %sumr, %sumr, %vr;\nadd.s64 %from, %from, %step;\nsub.u64 %n, %n, 1;\nbra NEXT;\nDONE:\n"
        );
        store(&mut text, (false, self.work), self.to, "%to", "sum");
        text.push_str("END:\nret;\n}\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::{D, H, S};

    #[test]
    fn texts_are_right() {
        for (from, work, to) in [(H, Part::F32, H), (S, Part::F32, S), (D, Part::F64, D)] {
            let (matrix, result) = (Matrix::default(), Matrix::default());
            let text = Sums { from, work, to, matrix, result, count: 1, length: 1 }.text();
            let module = cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree));
            assert!(module.is_ok(), "{:?}\n{text}", module.err());
        }
    }
}
