//! The registers that are live on each edge between regions.
//!
//! Owns the data flow: registers that a region reads before it writes them, propagated backwards along the edges
//! until nothing changes. Must not know what lanes do.

use super::region::{Region, Term, reads, writes};
use super::set::{Rounds, Set};
use cushim_ptx::ir::{Function, Inst};
use cushim_ptx::work;

/// What code reads and writes, from its begin on.
pub(crate) struct Effects {
    /// In which run of code a register was seen to be read first, and to be written.
    read: Vec<u32>,
    written: Vec<u32>,
    run: u32,
    exposed: Vec<u32>,
    killed: Vec<u32>,
    list: Vec<u32>,
}

impl Effects {
    pub(crate) fn new(f: &Function) -> Effects {
        let none = vec![u32::MAX; f.registers.len()];
        let (exposed, killed, list) = (Vec::new(), Vec::new(), Vec::new());
        Effects { read: none.clone(), written: none, run: 0, exposed, killed, list }
    }

    pub(crate) fn read(&mut self, inst: &Inst) {
        let mut list = std::mem::take(&mut self.list);
        reads(inst, &mut list);
        if inst.guard.is_some() {
            // Where the guard is false the register keeps its old value.
            list.extend(writes(inst));
        }
        list.iter().for_each(|r| self.expose(*r));
        self.list = list;
    }

    fn expose(&mut self, r: u32) {
        let (read, written) = (&mut self.read[r as usize], self.written[r as usize]);
        work::step(1);
        if written != self.run && *read != self.run {
            *read = self.run;
            self.exposed.push(r);
        }
    }

    /// Whatever its guard says.
    pub(crate) fn write(&mut self, inst: &Inst) {
        for r in writes(inst) {
            if std::mem::replace(&mut self.written[r as usize], self.run) != self.run {
                self.killed.push(r);
            }
        }
    }

    pub(crate) fn instruction(&mut self, inst: &Inst) {
        self.read(inst);
        if inst.guard.is_none() {
            self.write(inst);
        }
    }

    /// The registers that the run reads before it writes them, and those that it writes; the next begins.
    pub(crate) fn end(&mut self) -> (Set, Set) {
        self.run += 1;
        let set = |list: &mut Vec<u32>| {
            list.sort_unstable();
            list.drain(..).map(|r| r as usize).collect()
        };
        (set(&mut self.exposed), set(&mut self.killed))
    }
}

/// The predecessors of each region.
pub(crate) fn before(regions: &[Region]) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); regions.len()];
    for (k, p) in regions.iter().enumerate() {
        p.next.iter().for_each(|s| before[*s].push(k));
    }
    before
}

/// Computes the live registers at the start and at the end of each region.
pub(super) fn find(f: &Function, regions: &mut [Region]) {
    let mut effects = Effects::new(f);
    let mut killed = Vec::with_capacity(regions.len());
    for p in &mut *regions {
        if let Some(inst) = p.result {
            effects.write(&f.code[inst]);
        }
        f.code[p.start..p.end].iter().for_each(|inst| effects.instruction(inst));
        match &p.term {
            Term::Branch { guard, .. } => effects.expose(guard.0),
            Term::Table { inst, .. } | Term::Wait { inst, .. } => effects.read(&f.code[*inst]),
            Term::Jump(_) => {}
        }
        let (exposed, written) = effects.end();
        p.live_in = exposed;
        killed.push(written);
    }
    let before = before(regions);
    // From the last region to the first, as often as there is something new.
    let n = regions.len();
    let mut rounds = Rounds::all(n);
    while let Some(k) = rounds.pop().map(|turn| n - 1 - turn) {
        let mut through = regions[k].live_out.clone();
        through.subtract(&killed[k]);
        regions[k].live_in.unite(&through);
        let entered = std::mem::take(&mut regions[k].live_in);
        for b in &before[k] {
            if regions[*b].live_out.unite(&entered) {
                rounds.push(n - 1 - *b);
            }
        }
        regions[k].live_in = entered;
    }
}

/// For each register, the regions at whose start it is live.
pub(super) fn by_register(regions: &[Region], registers: usize) -> Vec<Set> {
    let mut all = vec![Set::new(); registers];
    let mut words: Vec<(u32, u32, u64)> = Vec::new();
    for (group, regions) in regions.chunks(64).enumerate() {
        words.clear();
        for (k, p) in regions.iter().enumerate() {
            words.extend(p.live_in.words().map(|(word, bits)| (word, k as u32, bits)));
        }
        words.sort_unstable();
        work::step(words.len());
        for same in words.chunk_by(|a, b| a.0 == b.0) {
            let mut square = [0; 64];
            same.iter().for_each(|(_, k, bits)| square[*k as usize] = *bits);
            transpose(&mut square);
            let rows = square.iter().enumerate().filter(|(_, row)| **row != 0);
            rows.for_each(|(bit, row)| all[same[0].0 as usize * 64 + bit].add(group as u32, *row));
        }
    }
    all
}

/// Row `i` becomes bit `i` of all rows.
fn transpose(square: &mut [u64; 64]) {
    let mut mask = u64::from(u32::MAX);
    let mut width = 32;
    while width != 0 {
        for k in (0..64).filter(|k| k & width == 0) {
            let moved = (square[k] >> width ^ square[k + width]) & mask;
            square[k] ^= moved << width;
            square[k + width] ^= moved;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_square_is_turned_over() {
        let mut x = 88_172_645_463_325_252u64;
        let before: [u64; 64] = std::array::from_fn(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        });
        let mut after = before;
        super::transpose(&mut after);
        let same = |i: usize, j: usize| before[i] >> j & 1 == after[j] >> i & 1;
        assert!((0..64 * 64).all(|n| same(n / 64, n % 64)));
    }
}
