//! Choices from a fuzzer's bytes.

/// Reads choices from bytes; zeros once they are used up.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    /// The next byte.
    pub fn next(&mut self) -> u32 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                u32::from(*first)
            }
            None => 0,
        }
    }

    /// A number less than `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }
}
