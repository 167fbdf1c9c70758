//! Sets of small numbers.

/// A set of numbers below a bound fixed at its making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    pub(crate) fn new(bound: usize) -> Set {
        Set(vec![0; bound.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, n: usize) {
        self.0[n / 64] |= 1 << (n % 64);
    }

    pub(crate) fn remove(&mut self, n: usize) {
        self.0[n / 64] &= !(1 << (n % 64));
    }

    pub(crate) fn has(&self, n: usize) -> bool {
        self.0[n / 64] >> (n % 64) & 1 != 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|w| *w == 0)
    }

    /// Adds everything in `other`; whether that changed anything.
    pub(crate) fn unite(&mut self, other: &Set) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= *b & !*a != 0;
            *a |= b;
        }
        changed
    }

    /// Members, from the least.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(k, w)| {
            let mut rest = *w;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let n = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    k * 64 + n
                })
            })
        })
    }
}
