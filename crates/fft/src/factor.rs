//! The algorithm for a length: one pass for each factor, or, if a prime factor is large, a convolution whose length
//! is a power of two (Bluestein's algorithm).
//!
//! Owns: the choice. Must not know: kernels.

/// The largest prime for which a pass adds that many products for each element.
pub const PRIME_MAX: u32 = 61;
/// Factors whose passes are written out; others are loops.
pub const UNROLLED: [u32; 5] = [4, 2, 3, 5, 7];

/// How a length is transformed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// One pass for each factor.
    Passes(Vec<u32>),
    /// A convolution of this length, a power of two that is at least twice the length less one.
    Chirp(u32),
}

/// The factors of a length, in the order of their passes; none where one is too large.
pub fn factors(length: u32) -> Option<Vec<u32>> {
    let (mut rest, mut found) = (length.max(1), Vec::new());
    let others = (11..=PRIME_MAX).step_by(2);
    for factor in UNROLLED.into_iter().chain(others) {
        while rest % factor == 0 {
            found.push(factor);
            rest /= factor;
        }
    }
    (rest == 1).then_some(found)
}

/// How a length is transformed; none where a convolution would be too long.
pub fn way(length: u32) -> Option<Way> {
    if let Some(factors) = factors(length) {
        return Some(Way::Passes(factors));
    }
    let wanted = length.checked_mul(2)?.checked_sub(1)?;
    Some(Way::Chirp(wanted.checked_next_power_of_two()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn factors_make_the_length() {
        for length in 1..5000 {
            match way(length).unwrap() {
                Way::Passes(factors) => {
                    assert_eq!(factors.iter().product::<u32>(), length);
                    assert!(factors.iter().all(|f| *f <= PRIME_MAX));
                }
                Way::Chirp(padded) => {
                    assert!(padded.is_power_of_two() && padded >= 2 * length - 1);
                    assert!(padded < 4 * length);
                    assert!((PRIME_MAX + 1..=length).any(|f| length % f == 0));
                }
            }
        }
        assert_eq!(way(1), Some(Way::Passes(vec![])));
        assert_eq!(way(67), Some(Way::Chirp(256)));
        assert_eq!(way(u32::MAX), None);
    }
}
