//! Pseudo-random numbers for tests: many, and the same in every run.

/// Pseudo-random numbers, the same in every run (xorshift).
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number below `below`; 0 counts as 1.
    pub fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    /// A copy with some bytes changed, perhaps truncated.
    pub fn spoil(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bad = good.to_vec();
        for _ in 0..self.next(5) {
            let at = self.next(bad.len());
            if let Some(byte) = bad.get_mut(at) {
                *byte = [0, 1, 0x7f, 0xff, self.next(256) as u8][self.next(5)];
            }
        }
        if self.next(3) == 0 {
            bad.truncate(self.next(good.len()));
        }
        bad
    }
}
