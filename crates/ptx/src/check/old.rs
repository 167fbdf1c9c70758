//! Modules of old PTX versions and for devices of the first generation.
//!
//! Owns the changes since: it adds the modifiers that were implied then. Source: an H200, whose driver still accepts
//! such modules. Must not know operands or names.

use crate::ast::{Function, Instruction, Statement, Variable};
use crate::table::needs::{Needs, Target};
use crate::table::{Form, Op, Word};
use crate::types::{Scalar, Space};
use std::borrow::Cow;

/// The text's version and target device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dialect {
    version: (u32, u32),
    target: Target,
}

/// From this version on operations name their approximation, and parameters of kernels are in a list.
const EXPLICIT: (u32, u32) = (1, 4);
/// From this version on conversions between singles and doubles flush, too.
const FLUSHING: (u32, u32) = (1, 5);

impl Dialect {
    pub(super) fn new(version: (u32, u32), target: Target) -> Dialect {
        Dialect { version, target }
    }

    /// Whether a variable outside of functions is a register: each thread has it once.
    /// NVIDIA's driver takes them in every version, and calls without a stack then.
    pub(super) fn is_register(self, v: &Variable<'_>) -> bool {
        v.space == Space::Reg
    }

    /// The modifiers of an instruction, including those that were once implied.
    pub(super) fn modifiers<'i, 'a>(self, i: &'i Instruction<'a>) -> Cow<'i, [&'a str]> {
        if self.version >= EXPLICIT {
            return Cow::Borrowed(&i.modifiers);
        }
        let approximate = match (i.opcode, i.modifiers.as_slice()) {
            ("div" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2", ["f32"]) => true,
            ("rsqrt", ["f64"]) => true,
            ("div" | "sqrt" | "mad", ["f64"]) => false,
            _ => return Cow::Borrowed(&i.modifiers),
        };
        Cow::Owned(vec![if approximate { "approx" } else { "rn" }, i.modifiers[0]])
    }

    /// The form that an instruction has: devices of the first generation knew no
    /// subnormal singles.
    pub(super) fn form(self, form: Form) -> Form {
        let types = &form.types[..form.row.slots().len()];
        let single = types.contains(&Scalar::F32);
        let double = types.contains(&Scalar::F64);
        let kept = form.row.op == Op::Cvt && double && self.version < FLUSHING;
        if self.first_generation() && single && !kept { form.with(Word::Ftz) } else { form }
    }

    /// Features that instructions may need and that such PTX lacks.
    pub(super) fn needs(self) -> Needs {
        Needs::new(self.version, self.target)
    }

    fn first_generation(self) -> bool {
        (10..20).contains(&self.target.number)
    }

    /// The parameters of a function: those of old kernels are declared in the body.
    pub(super) fn parameters<'f, 'a>(self, f: &'f Function<'a>) -> Vec<&'f Variable<'a>> {
        let inside = f.entry && self.version < EXPLICIT;
        let body = f.body.as_deref().unwrap_or_default();
        let declared = body.iter().filter_map(|s| match s {
            Statement::Variable(v) if inside && v.space == Space::Param => Some(v),
            _ => None,
        });
        f.params.iter().chain(declared).collect()
    }

    /// Whether a variable in a body is one of these.
    pub(super) fn is_parameter(self, entry: bool, v: &Variable<'_>) -> bool {
        entry && self.version < EXPLICIT && v.space == Space::Param
    }
}
