//! Addresses of 32 bits.
//!
//! Owns where they are valid: shared, local and parameter memory have such addresses. If a module uses one for device
//! memory, NVIDIA's driver treats the whole module as 32-bit, whatever its directives say, and devices from sm_90 on
//! do not run 32-bit modules.

use super::function::Lower;
use super::instruction::Draft;
use crate::ast;
use crate::error::Error;
use crate::ir::{Base, Refusal, Src, Symbol};
use crate::table::Op;
use crate::types::Space;

impl<'a> Lower<'a, '_> {
    /// Looks at the addresses of an instruction.
    pub(super) fn check_addresses(
        &mut self,
        i: &ast::Instruction<'a>,
        inst: &Draft,
    ) -> Result<(), Error> {
        let narrow = inst.src.iter().enumerate().find_map(|(n, src)| match src {
            Src::Memory(Base::Reg(_, 32), _) => self.device_memory(inst, n),
            Src::Address(Symbol::Global(g), _) if inst.types[0].bits() == 32 => {
                let global = self.module.globals.get(*g as usize);
                (inst.op == Op::Mov).then_some(global.map_or(Space::Global, |g| g.space))
            }
            _ => None,
        });
        match narrow {
            None => Ok(()),
            // A driver runs these; here constants are in device memory.
            Some(Space::Const) => {
                let reason = "32-bit addresses of constant memory are not supported".into();
                let instruction = i.full_name();
                self.out.refusals.push(Refusal { pos: i.pos, instruction, reason });
                Ok(())
            }
            Some(_) => self.wrong(
                i,
                "an address of 32 bits",
                "one of 64 bits, as 32-bit addressing is not supported on sm_90 or higher",
            ),
        }
    }

    /// The space of the device's memory that an operand is in, if it is.
    fn device_memory(&self, inst: &Draft, n: usize) -> Option<Space> {
        let space = match inst.op {
            Op::CpAsync if n == 0 => Space::Shared,
            Op::Ld
            | Op::St
            | Op::Atom
            | Op::CpAsync
            | Op::Ldmatrix
            | Op::Stmatrix
            | Op::WmmaLoad
            | Op::WmmaStore => crate::sem::checked_space(&inst.statement(), n, self.out.entry),
            _ => return None,
        };
        match space {
            Space::Const | Space::Global | Space::Generic => Some(space),
            _ => None,
        }
    }
}
