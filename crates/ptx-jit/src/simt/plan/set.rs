//! Sets of small numbers.
//!
//! Owns sets whose cost depends on their members, not on their range: each aligned group of 64 numbers with a member
//! has a word. Must not know what the numbers mean.

use cushim_ptx::work;
use std::cmp::Ordering;

/// A set of numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Set(Vec<(u32, u64)>);

impl Set {
    pub(crate) fn new() -> Set {
        Set::default()
    }

    fn place(&self, word: u32) -> Result<usize, usize> {
        match self.0.last() {
            // Mostly numbers come in order.
            Some((last, _)) if *last < word => Err(self.0.len()),
            _ => self.0.binary_search_by_key(&word, |(w, _)| *w),
        }
    }

    pub(crate) fn insert(&mut self, n: usize) {
        self.add((n / 64) as u32, 1 << (n % 64));
    }

    /// Adds members of one word.
    pub(crate) fn add(&mut self, word: u32, bits: u64) {
        match self.place(word) {
            Ok(at) => self.0[at].1 |= bits,
            Err(at) if bits != 0 => self.0.insert(at, (word, bits)),
            Err(_) => {}
        }
    }

    pub(crate) fn has(&self, n: usize) -> bool {
        self.place((n / 64) as u32).is_ok_and(|at| self.0[at].1 >> (n % 64) & 1 != 0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds everything in `other`; whether that changed anything.
    pub(crate) fn unite(&mut self, other: &Set) -> bool {
        self.unite_words(&other.0)
    }

    /// Adds the members of `other` that are greater than `n`; returns whether that changed anything.
    pub(crate) fn unite_above(&mut self, other: &Set, n: usize) -> bool {
        let (word, low) = ((n / 64) as u32, u64::MAX.checked_shl(n as u32 % 64 + 1).unwrap_or(0));
        let from = other.0.partition_point(|(w, _)| *w < word);
        let rest = &other.0[from..];
        match rest.first() {
            Some((w, bits)) if *w == word => {
                let first = self.unite_words(&[(word, bits & low)]);
                self.unite_words(&rest[1..]) || first
            }
            _ => self.unite_words(rest),
        }
    }

    fn unite_words(&mut self, other: &[(u32, u64)]) -> bool {
        let (mut at, mut changed, mut missing) = (0, false, 0);
        for (word, bits) in other {
            while self.0.get(at).is_some_and(|(w, _)| w < word) {
                at += 1;
            }
            match self.0.get_mut(at) {
                Some((w, own)) if w == word => {
                    changed |= bits & !*own != 0;
                    *own |= bits;
                }
                _ => missing += usize::from(*bits != 0),
            }
        }
        work::step(at + other.len());
        if missing == 0 {
            return changed;
        }
        // From the end on, so that each word moves once.
        let mut from = self.0.len();
        self.0.resize(from + missing, (0, 0));
        let mut to = self.0.len();
        for (word, bits) in other.iter().rev().filter(|(_, bits)| *bits != 0) {
            while from > 0 && self.0[from - 1].0 > *word {
                (from, to) = (from - 1, to - 1);
                self.0[to] = self.0[from];
            }
            if from == 0 || self.0[from - 1].0 != *word {
                to -= 1;
                self.0[to] = (*word, *bits);
            }
        }
        work::step(self.0.len());
        true
    }

    /// Takes everything in `other` out.
    pub(crate) fn subtract(&mut self, other: &Set) {
        let mut at = 0;
        work::step(self.0.len().min(other.0.len()));
        self.0.retain_mut(|(word, bits)| {
            while other.0.get(at).is_some_and(|(w, _)| *w < *word) {
                at += 1;
            }
            if let Some((w, taken)) = other.0.get(at)
                && *w == *word
            {
                *bits &= !taken;
            }
            *bits != 0
        });
    }

    /// Takes the members from one number to before another out, and gives them.
    pub(crate) fn take_range(&mut self, first: usize, end: usize) -> Set {
        let mut taken = Set::new();
        work::step(self.0.len());
        self.0.retain_mut(|(word, bits)| {
            let base = *word as usize * 64;
            let below = |n: usize| match n.saturating_sub(base) {
                n @ 0..64 => (1u64 << n) - 1,
                _ => u64::MAX,
            };
            let out = *bits & below(end) & !below(first);
            taken.add(*word, out);
            *bits &= !out;
            *bits != 0
        });
        taken
    }

    /// Whether a number is in both.
    pub(crate) fn meets(&self, other: &Set) -> bool {
        let (mut a, mut b) = (self.0.iter(), other.0.iter());
        let (mut x, mut y) = (a.next(), b.next());
        while let (Some((v, m)), Some((w, n))) = (x, y) {
            work::step(1);
            match v.cmp(w) {
                Ordering::Less => x = a.next(),
                Ordering::Greater => y = b.next(),
                Ordering::Equal if m & n != 0 => return true,
                Ordering::Equal => (x, y) = (a.next(), b.next()),
            }
        }
        false
    }

    /// The least member.
    pub(crate) fn first(&self) -> Option<usize> {
        self.0.first().map(|(w, bits)| *w as usize * 64 + bits.trailing_zeros() as usize)
    }

    /// The least member that is greater than a number.
    pub(crate) fn above(&self, n: usize) -> Option<usize> {
        let (word, low) = ((n / 64) as u32, u64::MAX.checked_shl(n as u32 % 64 + 1).unwrap_or(0));
        let rest = &self.0[self.0.partition_point(|(w, _)| *w < word)..];
        let bits = rest.iter().map(|(w, bits)| (*w, if *w == word { bits & low } else { *bits }));
        let mut some = bits.filter(|(_, bits)| *bits != 0);
        some.next().map(|(w, bits)| w as usize * 64 + bits.trailing_zeros() as usize)
    }

    /// Words that have members, from the least: 64 times the first number, and a bit for each from there on.
    pub(crate) fn words(&self) -> impl Iterator<Item = (u32, u64)> {
        self.0.iter().copied()
    }

    /// Members, from the least.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().flat_map(|(k, w)| {
            let mut rest = *w;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let n = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    *k as usize * 64 + n
                })
            })
        })
    }
}

impl FromIterator<usize> for Set {
    /// Costs least where numbers come in order.
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Set {
        let mut set = Set::new();
        numbers.into_iter().for_each(|n| set.insert(n));
        set
    }
}

/// Numbers that wait for their turn, in rounds from the least to the greatest.
pub(crate) struct Rounds {
    words: Vec<u64>,
    at: usize,
}

impl Rounds {
    /// All numbers below a bound wait.
    pub(crate) fn all(bound: usize) -> Rounds {
        let mut words = vec![u64::MAX; bound.div_ceil(64)];
        if let Some(last) = words.last_mut().filter(|_| !bound.is_multiple_of(64)) {
            *last = (1 << (bound % 64)) - 1;
        }
        Rounds { words, at: 0 }
    }

    pub(crate) fn push(&mut self, n: usize) {
        self.words[n / 64] |= 1 << (n % 64);
    }

    /// The next: of this round if there is one.
    pub(crate) fn pop(&mut self) -> Option<usize> {
        let all = self.words.len();
        for k in 0..=all {
            work::step(1);
            let word = (self.at / 64 + k) % all.max(1);
            let low = if k == 0 { u64::MAX << (self.at % 64) } else { u64::MAX };
            let bits = self.words.get(word)? & low;
            if bits != 0 {
                let n = word * 64 + bits.trailing_zeros() as usize;
                self.words[word] &= !(1 << (n % 64));
                self.at = n;
                return Some(n);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Pseudo-random numbers.
    fn numbers(seed: u64, count: usize, below: usize) -> Vec<usize> {
        let mut x = seed | 1;
        let mut next = || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 20) as usize % below
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_set_does_what_a_plain_one_does() {
        for seed in 1..400 {
            let below = [3, 64, 130, 2000][seed as usize % 4];
            let (a, b) = (numbers(seed, 20, below), numbers(seed * 77, 15, below));
            let (mut s, t): (Set, Set) = (a.iter().copied().collect(), b.iter().copied().collect());
            let (mut p, q): (BTreeSet<usize>, BTreeSet<usize>) =
                (a.into_iter().collect(), b.into_iter().collect());
            assert_eq!(s.meets(&t), !p.is_disjoint(&q));
            let n = below / 2;
            let above = q.range(n + 1..).copied().collect::<BTreeSet<_>>();
            assert_eq!(t.above(n), above.first().copied());
            let (mut u, before) = (s.clone(), p.clone());
            let changed = u.unite_above(&t, n);
            let united: BTreeSet<usize> = before.union(&above).copied().collect();
            assert_eq!(u.iter().collect::<BTreeSet<_>>(), united);
            assert_eq!(changed, united != before);
            assert_eq!(s.unite(&t), !q.is_subset(&p));
            p.extend(&q);
            assert!(s.iter().eq(p.iter().copied()));
            assert_eq!(s.first(), p.first().copied());
            let mut u = s.clone();
            u.subtract(&t);
            assert!(u.iter().eq(p.difference(&q).copied()));
            assert!(u.words().all(|(_, bits)| bits != 0));
            let taken = s.take_range(below / 3, n);
            assert!(taken.iter().eq(p.range(below / 3..n).copied()));
            assert!(s.iter().eq(p.iter().copied().filter(|n| !taken.has(*n))));
        }
    }

    #[test]
    fn rounds_go_up_and_begin_anew() {
        let mut rounds = Rounds::all(70);
        assert!((0..70).all(|n| rounds.pop() == Some(n)));
        assert_eq!(rounds.pop(), None);
        rounds.push(3);
        rounds.push(69);
        assert_eq!((rounds.pop(), rounds.pop(), rounds.pop()), (Some(69), Some(3), None));
        assert_eq!(Rounds::all(0).pop(), None);
    }
}
