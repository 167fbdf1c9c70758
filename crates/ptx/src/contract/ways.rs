//! Backward data flow: from uses of values to the writes that produce them.
//!
//! Owns the analysis for registers with more than one write: which of them are live at the start and end of blocks,
//! as bit sets. Must not know what is done with the writes.

use super::usage::{Chains, Read};
use crate::ir::Function;
use crate::work;
use std::collections::BTreeSet;

pub(super) struct Ways {
    words: usize,
    /// The number of each register among those with more than one write.
    number: Vec<u32>,
    registers: Vec<u32>,
    before: Vec<Vec<u32>>,
    /// Per block: the registers that it writes, those that are needed at its start and at its end, and those whose
    /// writes were searched.
    written: Vec<u64>,
    begin: Vec<u64>,
    end: Vec<u64>,
    done: Vec<u64>,
    /// Blocks at whose ends something is new.
    waiting: BTreeSet<u32>,
}

impl Ways {
    pub(super) fn of(f: &Function, chains: &Chains) -> Ways {
        let mut number = vec![u32::MAX; f.registers.len()];
        let mut registers = Vec::new();
        for (r, _) in chains.ends.iter().enumerate().filter(|(_, ends)| ends.len() > 1) {
            number[r] = registers.len() as u32;
            registers.push(r as u32);
        }
        let words = registers.len().div_ceil(64);
        let none = vec![0; words * f.blocks.len()];
        let mut before = vec![Vec::new(); f.blocks.len()];
        for (b, block) in f.blocks.iter().enumerate() {
            block.successors.iter().for_each(|s| before[*s as usize].push(b as u32));
        }
        let mut written = none.clone();
        for (n, r) in registers.iter().enumerate() {
            for (b, _) in &chains.ends[*r as usize] {
                written[*b as usize * words + n / 64] |= 1 << (n % 64);
            }
        }
        let (begin, end, done) = (none.clone(), none.clone(), none);
        let waiting = BTreeSet::new();
        Ways { words, number, registers, before, written, begin, end, done, waiting }
    }

    /// A register with several writes is needed at the end of a block.
    pub(super) fn leave(&mut self, register: u32, block: u32) {
        let n = self.number[register as usize] as usize;
        self.end[block as usize * self.words + n / 64] |= 1 << (n % 64);
        self.waiting.insert(block);
    }

    /// The same where a block begins.
    pub(super) fn enter(&mut self, register: u32, block: u32) {
        let n = self.number[register as usize] as usize;
        self.come(block, n / 64, 1 << (n % 64));
    }

    /// Some of a word are needed where a block begins.
    fn come(&mut self, block: u32, word: usize, bits: u64) {
        let at = &mut self.begin[block as usize * self.words + word];
        let new = bits & !*at;
        *at |= new;
        if new == 0 {
            return;
        }
        work::step(self.before[block as usize].len());
        for p in &self.before[block as usize] {
            self.end[*p as usize * self.words + word] |= new;
            self.waiting.insert(*p);
        }
    }

    /// Processes one block, and adds the writes in it that are needed; returns whether there was one.
    pub(super) fn step(&mut self, chains: &Chains, found: &mut Vec<Read>) -> bool {
        let Some(block) = self.waiting.pop_last() else { return false };
        work::step(self.words);
        for word in 0..self.words {
            let at = block as usize * self.words + word;
            let new = self.end[at] & !self.done[at];
            self.done[at] |= new;
            let mut here = new & self.written[at];
            while here != 0 {
                let register = self.registers[word * 64 + here.trailing_zeros() as usize];
                here &= here - 1;
                let ends = &chains.ends[register as usize];
                let place = ends.binary_search_by_key(&block, |(b, _)| *b);
                found.extend(place.ok().map(|n| Read::Write(ends[n].1)));
            }
            self.come(block, word, new & !self.written[at]);
        }
        true
    }
}
