//! A histogram of durations in bounded memory: 64 buckets for each power of two.
//!
//! Owns: the buckets, and percentiles. Must not know: what was measured.
//!
//! A percentile is the middle of its bucket, so it is off by at most 1/128 of its value; below 128 ns it
//! is exact. The smallest and the largest value bound it, so that p99 is never above the maximum.

/// Buckets for each power of two.
const STEPS: u64 = 64;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Counts of durations.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// By bucket; only as long as the largest value needs.
    buckets: Vec<u64>,
    count: u64,
    total: u64,
    min: u64,
    max: u64,
}

fn bucket(value: u64) -> usize {
    if value < 2 * STEPS {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - STEP_BITS;
    (u64::from(shift) * STEPS + (value >> shift)) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let shift = bucket / STEPS - 1;
    let first = (bucket % STEPS + STEPS) << shift;
    first + (1 << shift >> 1)
}

impl Histogram {
    /// Takes in one value.
    pub fn add(&mut self, value: u64) {
        let place = bucket(value);
        if place >= self.buckets.len() {
            self.buckets.resize(place + 1, 0);
        }
        if let Some(count) = self.buckets.get_mut(place) {
            *count += 1;
        }
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.count += 1;
        self.total = self.total.saturating_add(value);
        self.max = self.max.max(value);
    }
    /// Takes in all values of another one.
    pub fn merge(&mut self, other: &Histogram) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(to, from)| *to += from);
        self.min = match (self.count, other.count) {
            (_, 0) => self.min,
            (0, _) => other.min,
            _ => self.min.min(other.min),
        };
        self.count += other.count;
        self.total = self.total.saturating_add(other.total);
        self.max = self.max.max(other.max);
    }
    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Their sum.
    pub fn total(&self) -> u64 {
        self.total
    }
    /// The largest, 0 where there is none.
    pub fn max(&self) -> u64 {
        self.max
    }
    /// The value that `share` of all values (0 to 1) are not above; 0 where there is none.
    pub fn percentile(&self, share: f64) -> u64 {
        let rank = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (place, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle(place).clamp(self.min, self.max);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_grow_and_hold_their_middle() {
        let mut last = 0;
        let mut value = 0u64;
        while value < u64::MAX / 3 {
            let place = bucket(value);
            assert!(place >= last && bucket(middle(place)) == place, "{value}");
            let off = middle(place).abs_diff(value) as f64;
            assert!(off <= value as f64 / 128.0 + 0.5, "{value} {}", middle(place));
            last = place;
            value += 1 + value / 97;
        }
        assert!(bucket(u64::MAX) < 4096);
        assert_eq!(bucket(middle(bucket(u64::MAX))), bucket(u64::MAX));
    }

    #[test]
    fn percentiles_of_known_values() {
        let mut all = Histogram::default();
        assert_eq!((all.percentile(0.5), all.max()), (0, 0));
        let (mut even, mut odd) = (Histogram::default(), Histogram::default());
        (1..=100).for_each(|n| if n % 2 == 0 { even.add(n) } else { odd.add(n) });
        all.merge(&even);
        all.merge(&odd);
        assert_eq!((all.count(), all.total(), all.max()), (100, 5050, 100));
        assert_eq!((all.percentile(0.5), all.percentile(0.99), all.percentile(1.0)), (50, 99, 100));
        all.add(1_000_000);
        assert_eq!(all.percentile(1.0), 1_000_000);
        let p = all.percentile(0.995);
        assert!((992_000..=1_000_000).contains(&p), "{p}");
    }
}
