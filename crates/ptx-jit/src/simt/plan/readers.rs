//! The instructions that read each register.
//!
//! Owns the lists, for analyses that follow values. Must not know how a value is used.

use super::region::{Region, Term, reads};
use cushim_ptx::ir::Function;
use cushim_ptx::work;

/// No region.
const NOWHERE: u32 = u32::MAX;

pub(super) struct Readers {
    /// Instructions, and, from their number on, ends of regions.
    all: Vec<u32>,
    /// Where those of each register begin.
    first: Vec<u32>,
    /// The region in which an instruction's results are written.
    home: Vec<u32>,
}

/// A reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// An instruction of a region, or one for whose results lanes waited before it.
    Instruction(u32),
    /// The branch at the end of a region.
    End(usize),
}

impl Readers {
    pub(super) fn of(f: &Function, regions: &[Region]) -> Readers {
        let (count, registers) = (f.code.len(), f.registers.len());
        let mut home = vec![NOWHERE; count];
        let mut found: Vec<(u32, u32)> = Vec::with_capacity(2 * count);
        let mut list = Vec::new();
        for (k, region) in regions.iter().enumerate() {
            for at in region.writers() {
                home[at] = k as u32;
                reads(&f.code[at], &mut list);
                found.extend(list.iter().map(|r| (*r, at as u32)));
            }
            let end = (count + k) as u32;
            match &region.term {
                Term::Branch { guard, .. } => found.push((guard.0, end)),
                Term::Table { inst, .. } => {
                    reads(&f.code[*inst], &mut list);
                    found.extend(list.iter().map(|r| (*r, end)));
                }
                _ => {}
            }
        }
        let mut first = vec![0u32; registers + 1];
        found.iter().for_each(|(r, _)| first[*r as usize + 1] += 1);
        (0..registers).for_each(|r| first[r + 1] += first[r]);
        let mut next = first.clone();
        let mut all = vec![0; found.len()];
        for (r, who) in found {
            let at = &mut next[r as usize];
            all[*at as usize] = who;
            *at += 1;
        }
        work::step(count + registers + all.len());
        Readers { all, first, home }
    }

    pub(super) fn of_register(&self, r: u32) -> impl Iterator<Item = Reader> {
        let (from, to) = (self.first[r as usize], self.first[r as usize + 1]);
        self.all[from as usize..to as usize].iter().map(|who| {
            work::step(1);
            match (*who as usize).checked_sub(self.home.len()) {
                Some(region) => Reader::End(region),
                None => Reader::Instruction(*who),
            }
        })
    }

    /// The region in which an instruction's results are written; `None` if it ends one and has none.
    pub(super) fn home(&self, inst: u32) -> Option<usize> {
        Some(self.home[inst as usize]).filter(|k| *k != NOWHERE).map(|k| k as usize)
    }
}
