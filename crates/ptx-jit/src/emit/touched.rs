//! When each register was last used.

use std::collections::{HashMap, VecDeque};

/// So many instructions after they were touched last.
pub(super) const KEPT: usize = 64;

/// When registers were touched, in a long region.
#[derive(Default)]
pub(super) struct Touched {
    long: bool,
    last: HashMap<u32, usize>,
    order: VecDeque<(usize, u32)>,
}

impl Touched {
    pub(super) fn is_long(&self) -> bool {
        self.long
    }

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

    /// The registers that only instructions before this one have used; each once.
    pub(super) fn before(&mut self, at: usize) -> Vec<u32> {
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
