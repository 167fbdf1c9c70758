//! What a long region does not keep at hand.
//!
//! Owns the choice of values that go to the frame, or are forgotten as they lie there, before a region ends: those of all
//! lanes that nobody has touched for a while. The allocator of registers would keep each in a place of its own till the
//! end, and the better one takes time by the square of how many live side by side. Must not know what is computed.

use super::Emit;
use super::value::Val;
use crate::simt::plan::shape::Shape;
use std::collections::{HashMap, VecDeque};

/// So many instructions after they were touched last.
const KEPT: usize = 64;
/// So many instructions from one look to the next.
const EACH: usize = 32;

/// When registers were touched, in a long region.
#[derive(Default)]
pub(super) struct Touched {
    long: bool,
    last: HashMap<u32, usize>,
    order: VecDeque<(usize, u32)>,
}

impl Touched {
    /// Nothing yet, in a region of so many instructions.
    pub(super) fn begin(&mut self, length: usize) {
        self.long = length > 2 * KEPT;
        self.last.clear();
        self.order.clear();
    }

    /// By an instruction.
    pub(super) fn touch(&mut self, register: u32, at: usize) {
        if self.long && self.last.insert(register, at) != Some(at) {
            self.order.push_back((at, register));
        }
    }

    /// Those that only instructions before this one have touched; each once.
    fn before(&mut self, at: usize) -> Vec<u32> {
        let mut all = Vec::new();
        while let Some((touched, register)) = self.order.front().copied().filter(|t| t.0 < at) {
            self.order.pop_front();
            if self.last.get(&register) == Some(&touched) {
                all.push(register);
            }
        }
        all
    }
}

impl Emit<'_> {
    /// After an instruction of a region.
    pub(super) fn let_go(&mut self) {
        // What is to be done again must find the frame as it was.
        let again = self.stay.is_some();
        if !self.touched.long || again || !self.at.is_multiple_of(EACH) || self.at < KEPT {
            return;
        }
        let live_out = &self.plan.regions[self.region].live_out;
        let mut old = self.touched.before(self.at - KEPT);
        old.retain(|r| {
            let lanes = matches!(self.cache.get(r), Some(Val::Lanes(_) | Val::Mask { .. }));
            let place = self.plan.slots[*r as usize].is_some();
            // Of what does not live behind the region, lanes that wait elsewhere may have values of their own there.
            let there = !self.written.contains(r) || live_out.has(*r as usize);
            lanes && place && there && self.plan.forms[*r as usize] == Shape::Varying
        });
        let written = old.iter().copied().filter(|r| self.written.remove(r)).collect();
        self.write_back(written);
        old.iter().for_each(|r| drop(self.cache.remove(r)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_touched_again_stays() {
        let mut touched = Touched::default();
        touched.begin(1000);
        for (r, at) in [(1, 0), (2, 1), (1, 2), (3, 2), (3, 2), (2, 9)] {
            touched.touch(r, at);
        }
        assert_eq!(touched.before(2), []);
        assert_eq!(touched.before(3), [1, 3]);
        assert_eq!(touched.before(9), []);
        assert_eq!(touched.before(10), [2]);
    }
}
