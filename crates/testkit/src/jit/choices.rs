//! Choices from a fuzzer's bytes, or from random ones.

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

/// A number from the environment, for long runs apart from the tests: other kernels, or more.
fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")),
        Err(_) => otherwise,
    }
}

/// Does something with random bytes, so many at a time and so often; a failure shows the PTX.
pub fn random(
    bytes: usize,
    times: u64,
    run: &mut dyn FnMut(&[u8]),
    text: &dyn Fn(&[u8]) -> String,
) {
    let mut state = number("CUSHIM_RANDOM_SEED", 1);
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as u8
    };
    for n in 0..number("CUSHIM_RANDOM_KERNELS", times) {
        let data: Vec<u8> = (0..bytes).map(|_| next()).collect();
        let run = || run(&data);
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            panic!("kernel {n}:\n{}", text(&data));
        }
    }
}
