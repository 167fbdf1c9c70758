//! Instructions in which lanes of a warp take part together: shuffle, vote,
//! match, redux, `bar.warp.sync`.
//!
//! Lanes named by the mask wait for one another, wherever each of them is.

use super::Exec;
use super::step::Flow;
use super::warp::{Lanes, State, Warp, lanes};
use crate::alu;
use crate::ir::{Inst, Src};
use crate::sem::{Collective, CollectiveOp, Operation, Update, Vote, Way};

/// What a waiting fragment brings.
pub(super) struct Waiting {
    what: Collective,
    member: u32,
    inputs: [Lanes; 3],
}

impl Exec<'_> {
    /// Runs a collective instruction for lanes `active` of the first fragment.
    pub(super) fn collective(
        &self,
        warp: &mut Warp,
        inst: &Inst,
        active: u32,
        inputs: [Lanes; 3],
        members: Lanes,
    ) -> Flow {
        let frame = warp.fragments[0].frame;
        let Operation::Collective(what) = inst.sem else { return Flow::Next };
        let pc = warp.fragments[0].pc;
        // Without `.sync`, whoever is here takes part.
        if !what.sync {
            self.complete(warp, what.op, &[(frame, active, inst, &inputs)]);
            warp.fragments[0].pc += 1;
            return Flow::Next;
        }
        // Mostly every lane names all of them, and they are here.
        let first = members[active.trailing_zeros() as usize % 32];
        let same = lanes(active).all(|l| members[l] as u32 == first as u32);
        if same && (active == warp.live || first as u32 & warp.live & !active == 0) {
            let party = party(what.op, first as u32, active, active);
            let (d, p) = run(what.op, party, &inputs);
            for (dst, values) in inst.dst.iter().zip([&d, &p]) {
                warp.write(frame, *dst, active, values);
            }
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
                let party = party(what.op, member, group, active);
                let (d, p) = run(what.op, party, &inputs);
                for (dst, values) in inst.dst.iter().zip([&d, &p]) {
                    warp.write(frame, *dst, group, values);
                }
            }
            warp.fragments[0].pc += 1;
            return Flow::Next;
        }
        for (member, group) in groups {
            let f = warp.split(0, group, pc);
            let waiting = Waiting { what, member, inputs };
            warp.fragments[f].state = State::Collective(Box::new(waiting));
        }
        self.settle(warp);
        Flow::Switch
    }

    /// Lets collectives go on whose members have all come.
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
            let list: Vec<_> = taken.iter().map(|(f, m, i, w)| (*f, *m, *i, &w.inputs)).collect();
            if let Some((.., first)) = taken.first() {
                self.complete(warp, first.what.op, &list);
            }
        }
    }

    /// Computes and writes the results of lanes that came together.
    fn complete(
        &self,
        warp: &mut Warp,
        op: CollectiveOp,
        parts: &[(usize, u32, &Inst, &[Lanes; 3])],
    ) {
        let mut inputs = [[0; 32]; 3];
        let mut here = 0u32;
        for (_, mask, _, values) in parts {
            here |= mask;
            for (to, from) in inputs.iter_mut().zip(values.iter()) {
                lanes(*mask).for_each(|l| to[l] = from[l]);
            }
        }
        let (d, p) = run(op, here, &inputs);
        for (frame, mask, inst, _) in parts {
            if let Some(dst) = inst.dst.first() {
                warp.write(*frame, *dst, *mask, &d);
            }
            if let Some(dst) = inst.dst.get(1) {
                warp.write(*frame, *dst, *mask, &p);
            }
        }
    }

    /// The place of the member mask among the operands.
    pub(super) fn member_operand(inst: &Inst) -> Option<&Src> {
        match inst.sem {
            Operation::Collective(c) if c.op == CollectiveOp::Barrier => inst.src.first(),
            _ => inst.src.last(),
        }
    }
}

/// Which lanes take part for those of `group`, which came naming `member`, when `here` came together.
///
/// A lane has to be among those that it names, and these have to name the same ones (ISA, `vote.sync`).
/// Programs exist that take masks for a filter instead. Measured by what ptxas makes of it for sm_80: one
/// mask for all counts all, different ones count whom each names; a shuffle reads whoever is there.
pub fn party(op: CollectiveOp, member: u32, group: u32, here: u32) -> u32 {
    match op {
        _ if group == here => group,
        CollectiveOp::Shuffle(_) => here,
        _ => here & member,
    }
}

/// The results of a collective instruction for lanes `here`, from their first
/// three operands.
pub fn run(op: CollectiveOp, here: u32, inputs: &[Lanes; 3]) -> (Lanes, Lanes) {
    let [a, b, c] = inputs;
    let (mut d, mut p) = ([0u64; 32], [0u64; 32]);
    match op {
        CollectiveOp::Shuffle(way) => shuffle(way, here, a, b, c, &mut d, &mut p),
        CollectiveOp::Vote(question) => d = [vote(question, here, a); 32],
        CollectiveOp::Match { ty, all } => {
            let m = alu::mask(ty.bits());
            for l in lanes(here) {
                let equal = lanes(here).filter(|o| a[*o] & m == a[l] & m);
                let equal = equal.fold(0u64, |x, o| x | 1 << o);
                let same = !all || equal == here.into();
                (d[l], p[l]) = (if same { equal } else { 0 }, u64::from(all && same));
            }
        }
        CollectiveOp::Reduce { update, absolute, nan } => {
            d = [reduce(update, absolute, nan, here, a); 32];
        }
        CollectiveOp::Barrier => {}
    }
    (d, p)
}

/// ISA, `shfl`: `c` holds the clamp value in bits 0-4 and the segment mask in
/// bits 8-12.
fn shuffle(way: Way, here: u32, a: &Lanes, b: &Lanes, c: &Lanes, d: &mut Lanes, p: &mut Lanes) {
    for l in lanes(here) {
        let lane = l as i32;
        let (offset, clamp) = ((b[l] & 31) as i32, (c[l] & 31) as i32);
        let segment = (c[l] >> 8 & 31) as i32;
        let bound = lane & segment | clamp & !segment;
        let (from, inside) = match way {
            Way::Up => (lane - offset, lane - offset >= bound),
            Way::Down => (lane + offset, lane + offset <= bound),
            Way::Butterfly => (lane ^ offset, lane ^ offset <= bound),
            Way::Index => {
                let from = lane & segment | offset & !segment;
                (from, from <= bound)
            }
        };
        let from = if inside { (from & 31) as usize } else { l };
        // Reading a lane that takes no part gives an undefined value.
        d[l] = if here >> from & 1 != 0 { a[from] } else { 0 };
        p[l] = u64::from(inside);
    }
}

fn vote(question: Vote, here: u32, a: &Lanes) -> u64 {
    let yes = lanes(here).filter(|l| a[*l] != 0).fold(0u32, |m, l| m | 1 << l);
    u64::from(match question {
        Vote::All => yes == here,
        Vote::Any => yes != 0,
        Vote::Uniform => yes == here || yes == 0,
        Vote::Ballot => return yes.into(),
    })
}

fn reduce(update: Update, absolute: bool, nan: bool, here: u32, a: &Lanes) -> u64 {
    let sign = if absolute { 1 << 31 } else { 0 };
    let values: Vec<u64> = lanes(here).map(|l| a[l] & !sign).collect();
    if nan && values.iter().any(|v| f32::from_bits(*v as u32).is_nan()) {
        return 0x7fff_ffff;
    }
    values.into_iter().reduce(|x, y| alu::atomic(update, x, y, 0)).unwrap_or(0)
}
