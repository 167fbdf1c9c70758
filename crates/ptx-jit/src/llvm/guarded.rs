//! Accesses under a guard.
//!
//! Owns the ways that need no lanes' masks: where the guard holds for no lane there is nothing to do, and where it holds for a
//! whole warp whose row is inside, the access is that of the row. Must not know what is loaded or stored.

use super::address::Places;
use super::emitter::{Emit, Refused};
use cushim_ptx::ir::Inst;
use cushim_translate::llvm::Value;

const ALL: Value = Value::int(32, 0xffff_ffff);

impl Emit<'_> {
    /// Does an access for the lanes of a mask: `whole` for all of a warp, whose places are known to be inside, `some` for
    /// others, of which there are some.
    pub(super) fn guarded(
        &mut self,
        inst: &Inst,
        places: Option<(&Places, u32)>,
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
        if let (true, Some((places, total))) = (self.full, places) {
            let every = self.scalar().icmp("eq", mask, ALL);
            let guard = self.guard.take();
            let here = self.inside(places, inst, total, ALL);
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
