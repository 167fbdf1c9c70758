//! A timeline of activity in bounded memory: a fixed number of bins that widen as the trace grows.
//!
//! Owns: the bins. Must not know: what a lane stands for.

/// So many bins at most; a power of two.
pub const BINS: usize = 2048;

/// Number of kinds of host time that are told apart.
pub const KINDS: usize = 4;

/// One bin: host time by kind, ns, and launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Host time in calls within this bin, by kind, ns.
    pub ns: [u64; KINDS],
    /// Launches that began in it.
    pub launches: u32,
}

impl Bin {
    fn add(&mut self, other: &Bin) {
        self.ns.iter_mut().zip(other.ns).for_each(|(to, from)| *to = to.saturating_add(from));
        self.launches = self.launches.saturating_add(other.launches);
    }
}

/// One lane of the overview. Time counts from an origin that the caller chose.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Width of a bin is `1 << shift` ns.
    shift: u32,
    bins: Vec<Bin>,
}

impl Default for Timeline {
    fn default() -> Self {
        // 1 µs and a bit.
        Timeline { shift: 10, bins: Vec::new() }
    }
}

impl Timeline {
    /// A call of this kind that began `at` ns after the origin and took `ns`: its time goes to all the bins
    /// that it lasted through, the launch to the first.
    pub fn add(&mut self, at: u64, kind: usize, ns: u64, is_launch: bool) {
        let end = at.saturating_add(ns);
        while end >> self.shift >= BINS as u64 {
            self.widen();
        }
        let (mut from, mut launches) = (at, u32::from(is_launch));
        loop {
            let next = ((from >> self.shift) + 1).saturating_mul(1 << self.shift).min(end);
            let mut bin = Bin { launches, ..Bin::default() };
            if let Some(slot) = bin.ns.get_mut(kind) {
                *slot = next.saturating_sub(from);
            }
            self.put(from, &bin);
            (from, launches) = (next, 0);
            if from >= end {
                return;
            }
        }
    }

    fn put(&mut self, at: u64, bin: &Bin) {
        while at >> self.shift >= BINS as u64 {
            self.widen();
        }
        let place = (at >> self.shift) as usize;
        if place >= self.bins.len() {
            self.bins.resize(place + 1, Bin::default());
        }
        if let Some(slot) = self.bins.get_mut(place) {
            slot.add(bin);
        }
    }

    fn widen(&mut self) {
        self.shift += 1;
        let mut half = Vec::with_capacity(self.bins.len().div_ceil(2));
        for pair in self.bins.chunks(2) {
            let mut sum = Bin::default();
            pair.iter().for_each(|bin| sum.add(bin));
            half.push(sum);
        }
        self.bins = half;
    }

    /// Width of a bin as a power of two, ns.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// The bins in time order, each with when it begins, ns after the origin.
    pub fn bins(&self) -> impl Iterator<Item = (u64, &Bin)> {
        self.bins.iter().enumerate().map(|(n, bin)| ((n as u64) << self.shift, bin))
    }

    /// Takes in another lane whose origin lies `later` ns behind this one's.
    pub fn merge(&mut self, other: &Timeline, later: u64) {
        while self.shift < other.shift {
            self.widen();
        }
        for (at, bin) in other.bins().filter(|(_, bin)| **bin != Bin::default()) {
            self.put(at.saturating_add(later), bin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_bins_widen() {
        let mut lane = Timeline::default();
        for n in 0..10_000u64 {
            lane.add(n * 7_919, (n % 4) as usize, n, n % 2 == 0);
        }
        lane.add(u64::MAX - 5, 0, 5, true);
        assert!(lane.bins().count() <= BINS);
        let launches: u64 = lane.bins().map(|(_, b)| u64::from(b.launches)).sum();
        let ns: u64 = lane.bins().flat_map(|(_, b)| b.ns).sum();
        assert_eq!((launches, ns), (5_001, (0..10_000).sum::<u64>() + 5));
        let mut long = Timeline::default();
        long.add(512, 2, 2_048, true);
        let all: Vec<(u64, u64, u32)> =
            long.bins().map(|(at, b)| (at, b.ns[2], b.launches)).collect();
        assert_eq!(all, [(0, 512, 1), (1_024, 1_024, 0), (2_048, 512, 0)]);
        let mut sum = Timeline::default();
        sum.merge(&lane, 100);
        assert_eq!(sum.bins().map(|(_, b)| u64::from(b.launches)).sum::<u64>(), 5_001);
    }
}
