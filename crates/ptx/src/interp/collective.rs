//! Instructions that lanes of a warp execute together: shuffle, vote, match, redux, `bar.warp.sync`.
//!
//! Lanes in the mask wait for one another, wherever each of them is.

use super::flow::Flow;
use super::launch::Exec;
use super::warp::{Lanes, State, Waiting, Warp, lanes};
use crate::exec::lanes::with_lanes;
use crate::exec::{collective as run, participants};
use crate::ir::{Inst, Src};
use crate::sem::{CollectiveOp, Operation};

impl Exec<'_> {
    /// Runs a collective instruction for lanes `active` of the first fragment.
    pub(super) fn collective(
        &self,
        warp: &mut Warp,
        inst: &Inst,
        active: u32,
        inputs: &[Lanes],
        members: Lanes,
    ) -> Flow {
        let frame = warp.fragments[0].frame;
        let Operation::Collective(what) = inst.sem else { return Flow::Next };
        let pc = warp.fragments[0].pc;
        // Without `.sync`, all active lanes take part.
        if !what.sync {
            self.complete(warp, what.op, &[(frame, active, inst, inputs)]);
            warp.fragments[0].pc += 1;
            return Flow::Next;
        }
        // Mostly every lane names all of them, and they are here.
        let first = members[active.trailing_zeros() as usize % 32];
        let same = lanes(active).all(|l| members[l] as u32 == first as u32);
        if same && (active == warp.live || first as u32 & warp.live & !active == 0) {
            let participants = participants(what.op, first as u32, active, active);
            give(warp, what.op, participants, inputs, &[(frame, active, inst)]);
            warp.fragments[0].pc += 1;
            return Flow::Next;
        }
        let mut rest = active;
        let mut all_here = true;
        let mut groups = Vec::new();
        while rest != 0 {
            let member = members[rest.trailing_zeros() as usize] as u32;
            let group = lanes(rest).filter(|l| members[*l] as u32 == member);
            let group = group.fold(0, |m, l| m | 1 << l);
            rest &= !group;
            all_here &= member & warp.live & !group == 0;
            groups.push((member, group));
        }
        if all_here || active == warp.live {
            for (member, group) in groups {
                let participants = participants(what.op, member, group, active);
                give(warp, what.op, participants, inputs, &[(frame, group, inst)]);
            }
            warp.fragments[0].pc += 1;
            return Flow::Next;
        }
        for (member, group) in groups {
            let f = warp.split(0, group, pc);
            let waiting = Waiting { what, member, inputs: inputs.into() };
            warp.fragments[f].state = State::Collective(Box::new(waiting));
        }
        self.settle(warp);
        Flow::Switch
    }

    /// Completes collectives whose members have all arrived.
    pub(super) fn settle(&self, warp: &mut Warp) {
        for k in 0..warp.fragments.len() {
            let State::Collective(w) = &warp.fragments[k].state else { continue };
            let same = |o: &Waiting| o.what == w.what && o.member == w.member;
            let mut here = 0;
            let mut parts = Vec::new();
            for (n, f) in warp.fragments.iter().enumerate() {
                if let State::Collective(o) = &f.state
                    && same(o)
                {
                    here |= f.mask;
                    parts.push(n);
                }
            }
            if w.member & warp.live & !here != 0 {
                continue;
            }
            let mut taken = Vec::new();
            for n in &parts {
                let f = &mut warp.fragments[*n];
                let State::Collective(w) = std::mem::replace(&mut f.state, State::Ready) else {
                    continue;
                };
                let frame = &warp.frames[f.frame];
                let function = &self.module.functions[frame.function as usize];
                taken.push((f.frame, f.mask, &function.code[f.pc as usize], w));
                f.pc += 1;
            }
            let list: Vec<_> = taken.iter().map(|(f, m, i, w)| (*f, *m, *i, &*w.inputs)).collect();
            if let Some((.., first)) = taken.first() {
                self.complete(warp, first.what.op, &list);
            }
        }
    }

    /// Computes and writes the results of lanes that came together.
    fn complete(&self, warp: &mut Warp, op: CollectiveOp, parts: &[(usize, u32, &Inst, &[Lanes])]) {
        let to: Vec<_> =
            parts.iter().map(|(frame, mask, inst, _)| (*frame, *mask, *inst)).collect();
        with_lanes(op.operands(), |inputs| {
            let mut here = 0u32;
            for (_, mask, _, values) in parts {
                here |= mask;
                for (to, from) in inputs.iter_mut().zip(values.iter()) {
                    lanes(*mask).for_each(|l| to[l] = from[l]);
                }
            }
            give(warp, op, here, inputs, &to);
        });
    }

    /// The member mask among the operands.
    pub(super) fn member_operand(inst: &Inst) -> Option<&Src> {
        match inst.sem {
            Operation::Collective(c) if c.op == CollectiveOp::Barrier => inst.src.first(),
            _ => inst.src.last(),
        }
    }
}

/// Computes what lanes `here` get together, and writes it to some of them.
fn give(
    warp: &mut Warp,
    op: CollectiveOp,
    here: u32,
    inputs: &[Lanes],
    to: &[(usize, u32, &Inst)],
) {
    with_lanes(op.results(), |out| {
        run(op, here, inputs, out);
        for (frame, mask, inst) in to {
            for (dst, values) in inst.dst.iter().zip(&*out) {
                warp.write(*frame, *dst, *mask, values);
            }
        }
    });
}
