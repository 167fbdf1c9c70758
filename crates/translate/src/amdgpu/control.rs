//! Control flow: branches, returns, exits.
//!
//! Owns the plain control-flow graph, which LLVM's structurizer converts to masks. Divergent lanes reconverge where
//! it lets them.

use super::function::Emitter;
use crate::llvm::Value;
use crate::refusal::Refused;
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::Control;

impl Emitter<'_> {
    /// Translates the instruction that ends a block; returns whether the block's IR continues.
    pub(super) fn control(
        &mut self,
        inst: &Inst,
        what: Control,
        block: u32,
    ) -> Result<bool, Refused> {
        let guard = self.guard(inst.guard);
        if let (Control::Branch, Some(Src::Target(to))) = (what, inst.src.first()) {
            let to = self.block_of(*to);
            let to = self.way(block, to);
            match guard {
                None => self.b.line(&format!("br label %{to}")),
                Some(guard) => self.part(guard, &to, block),
            }
            return Ok(false);
        }
        let within = guard.map(|guard| {
            let n = self.b.number();
            self.part(guard, &format!("do{n}"), block);
            self.b.label(&format!("do{n}"));
        });
        match what {
            Control::BranchTable => self.table(inst, block)?,
            Control::Return => self.leave()?,
            Control::Exit if self.f.entry => self.leave()?,
            Control::Exit => return Err(self.refused("`exit` in a function")),
            Control::Trap => self.trap(),
            Control::Branch | Control::Call => return Err(self.refused("a branch to nowhere")),
        }
        let _ = within;
        Ok(false)
    }

    /// Jumps to a label if the guard is true, else continues after the block.
    fn part(&mut self, guard: Value, to: &str, block: u32) {
        let guard = self.b.typed(guard);
        let next = block as usize + 1;
        if next < self.f.blocks.len() {
            let next = self.way(block, next as u32);
            self.b.line(&format!("br {guard}, label %{to}, label %{next}"));
        } else {
            self.b.line(&format!("br label %{to}"));
        }
    }

    fn block_of(&self, instruction: u32) -> u32 {
        self.f.block_of.get(instruction as usize).copied().unwrap_or(0)
    }

    /// `brx.idx`: an index past the end of the list falls through.
    fn table(&mut self, inst: &Inst, block: u32) -> Result<(), Refused> {
        let (Some(index), Some(Src::Targets(list))) = (inst.src.first(), inst.src.get(1)) else {
            return Err(self.refused("a branch without targets"));
        };
        let index = self.operand(index)?;
        let index = self.b.fit(index, 32);
        let next = block as usize + 1;
        let mut cases = String::new();
        for (n, to) in list.iter().enumerate() {
            let to = self.block_of(*to);
            cases += &format!(" i32 {n}, label %{}", self.way(block, to));
        }
        let beyond = if next < self.f.blocks.len() { next as u32 } else { block };
        let beyond = self.way(block, beyond);
        let index = self.b.typed(index);
        self.b.line(&format!("switch {index}, label %{beyond} [{cases} ]"));
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Refused> {
        match (&self.steps, self.f.entry) {
            (Some(_), _) => self.b.line("br label %over"),
            (None, true) => self.b.line("br label %end"),
            (None, false) => self.give_results(),
        }
        Ok(())
    }

    /// Stops the wave, and with it the launch.
    pub(super) fn trap(&mut self) {
        self.b.declare("declare void @llvm.trap()");
        self.b.line("call void @llvm.trap()");
        self.b.line("unreachable");
    }
}
