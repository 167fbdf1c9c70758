//! Guarded accesses.
//!
//! Owns the two cases that need no lane mask: if the guard is false for all lanes, nothing is done; if it is true for a
//! full warp whose row is in range, the whole row is accessed. Must not know what is loaded or stored.

use super::address::LaneAddresses;
use super::emitter::{ALL, Emit, Refused};
use cushim_ptx::ir::Inst;
use cushim_translate::llvm::Value;

impl Emit<'_> {
    /// Does an access in one of two ways: `quick` if a check holds. Full warps leave to any-lanes code otherwise.
    pub(super) fn quick_or(
        &mut self,
        holds: Value,
        quick: &mut dyn FnMut(&mut Self) -> Result<(), Refused>,
        usual: &mut dyn FnMut(&mut Self) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        if self.full && self.guard.is_none() {
            self.leave_unless(holds);
            return quick(self);
        }
        let [yes, no, next] = [(); 3].map(|()| self.label());
        self.branch(holds, &yes, &no);
        self.b.label(&yes);
        quick(self)?;
        self.jump(&next);
        self.b.label(&no);
        usual(self)?;
        self.jump(&next);
        self.b.label(&next);
        Ok(())
    }

    /// Does an access for the lanes of a mask: `whole` for a full warp whose addresses are in range, `some` for any
    /// other mask that is not empty.
    pub(super) fn guarded(
        &mut self,
        inst: &Inst,
        addresses: Option<(&LaneAddresses, u32)>,
        mask: Value,
        whole: &mut dyn FnMut(&mut Self) -> Result<(), Refused>,
        some: &mut dyn FnMut(&mut Self) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        if self.guard.is_none() {
            return some(self);
        }
        let [any, all, part, next] = [(); 4].map(|()| self.label());
        let none = self.scalar().icmp_with("eq", mask, 0);
        self.branch(none, &next, &any);
        self.b.label(&any);
        if let (true, Some((addresses, total))) = (self.full, addresses) {
            let every = self.scalar().icmp("eq", mask, ALL);
            let guard = self.guard.take();
            let here = self.in_range(addresses, inst, total, ALL);
            let go = self.scalar().op("and", every, here);
            self.branch(go, &all, &part);
            self.b.label(&all);
            whole(self)?;
            self.guard = guard;
            self.jump(&next);
            self.b.label(&part);
        }
        some(self)?;
        self.jump(&next);
        self.b.label(&next);
        Ok(())
    }
}
