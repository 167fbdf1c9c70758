//! A requested transform, checked, and the work area that it needs.
//!
//! The work area has two buffers of complex numbers, between which passes alternate. A large batch is done some
//! transforms at a time, so that the area stays small.
//!
//! Owns: which requests are valid, sizes, the number of transforms at a time. Source: cuFFT's documentation,
//! "cufftPlanMany()" and "cufftXtMakePlanMany()". Must not know: launches.

use crate::factor::{Way, way};
use crate::kind::{Kind, Part};
use crate::layout::{Embed, Lengths, Side, Strides, basic};
use crate::status;

/// Elements that are transformed at a time, if one transform has fewer.
const AT_ONCE: u64 = 1 << 22;
/// Elements of a buffer, whose numbers have 32 bits.
const MOST: u64 = 1 << 31;

/// A dimension to transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its length, 2 or more.
    pub length: u32,
    /// How it is transformed.
    pub way: Way,
    /// Elements from one of the dimension to the next.
    pub inner: u32,
}

/// A transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The type.
    pub kind: Kind,
    /// The lengths, the slowest first.
    pub lengths: [u32; 3],
    /// Transforms.
    pub batch: u64,
    /// Transforms per pass over the batch.
    pub at_once: u64,
    /// Elements of one buffer.
    pub buffer: u64,
    /// What is to be transformed, in order.
    pub dimensions: Vec<Dimension>,
    /// The advanced layout of input and output, or none.
    advanced: Option<[Strides; 2]>,
}

/// The advanced layout of one side as a program gives it: storage dimensions, stride and distance.
pub type Given<'a> = (&'a [i64], i64, i64);

/// Up to three numbers, with `before` in front of them.
fn three(numbers: &[i64], before: i64) -> Option<[i64; 3]> {
    let mut all = [before; 3];
    let at = all.len().checked_sub(numbers.len())?;
    all.get_mut(at..)?.copy_from_slice(numbers);
    Some(all)
}

impl Plan {
    /// A plan of `batch` transforms with these lengths, the slowest first.
    ///
    /// # Errors
    /// A `cufftResult`: a rank that is not 1 to 3, a length or batch below 1 or too large, a stride below 1.
    pub fn new(
        kind: Kind,
        lengths: &[i64],
        batch: i64,
        advanced: Option<[Given<'_>; 2]>,
    ) -> Result<Plan, i32> {
        if lengths.is_empty() {
            return Err(status::INVALID_VALUE);
        }
        let lengths = three(lengths, 1).ok_or(status::INVALID_VALUE)?;
        let short = |length: i64| u32::try_from(length).ok().filter(|n| *n > 0);
        let [Some(slow), Some(middle), Some(last)] = lengths.map(short) else {
            return Err(status::INVALID_SIZE);
        };
        let lengths = [slow, middle, last];
        let batch = u64::try_from(batch).ok().filter(|n| *n > 0).ok_or(status::INVALID_SIZE)?;
        // For halves as documented; the status is an H200's.
        let halves = matches!(kind.part, Part::F16 | Part::Bf16);
        if halves && !lengths.iter().all(|length| length.is_power_of_two()) {
            return Err(status::NOT_SUPPORTED);
        }
        let (dimensions, elements) = dimensions(lengths).ok_or(status::INVALID_SIZE)?;
        let at_once = (AT_ONCE / elements).clamp(1, batch);
        let buffer = at_once * elements;
        if buffer >= MOST {
            return Err(status::INVALID_SIZE);
        }
        let advanced = match advanced {
            Some([input, output]) => {
                let [of_input, of_output] = kind.sizes();
                Some([strides(input, of_input)?, strides(output, of_output)?])
            }
            None => None,
        };
        let plan = Plan { kind, lengths, batch, at_once, buffer, dimensions, advanced };
        let all = [plan.strides(false), plan.strides(true)];
        let far = |side: &Strides| i64::try_from(batch).ok()?.checked_mul(side.batch);
        if !all.iter().all(|sides| sides.is_some_and(|both| both.iter().all(|s| far(s).is_some())))
        {
            return Err(status::INVALID_SIZE);
        }
        Ok(plan)
    }

    /// Strides of input and output, which are the same memory or not.
    pub fn strides(&self, in_place: bool) -> Option<[Strides; 2]> {
        if self.advanced.is_some() {
            return self.advanced;
        }
        let lengths: Lengths = self.lengths.map(u64::from);
        let side = |side| basic(self.kind, lengths, side, in_place);
        Some([side(Side::Input)?, side(Side::Output)?])
    }

    /// Bytes of the work area.
    pub fn work_size(&self) -> u64 {
        2 * self.buffer * self.kind.part.work().size()
    }
}

/// Strides in bytes of an advanced layout.
fn strides((lengths, stride, distance): Given<'_>, size: u64) -> Result<Strides, i32> {
    let lengths = three(lengths, 1).ok_or(status::INVALID_VALUE)?;
    if stride < 1 || distance < 0 || lengths.iter().any(|length| *length < 0) {
        return Err(status::INVALID_VALUE);
    }
    Embed { lengths, stride, distance }.strides(size).ok_or(status::INVALID_SIZE)
}

/// The dimensions, the fastest first, and how many elements a buffer must have for one transform; none where they are too many.
fn dimensions(lengths: [u32; 3]) -> Option<(Vec<Dimension>, u64)> {
    let all = lengths.iter().try_fold(1u64, |all, length| {
        all.checked_mul(u64::from(*length)).filter(|all| *all < MOST)
    })?;
    let (mut found, mut inner, mut elements) = (Vec::new(), 1u32, all);
    for length in lengths.into_iter().rev().filter(|length| *length > 1) {
        let way = way(length)?;
        if let Way::Chirp(padded) = way {
            elements = elements.max(all / u64::from(length) * u64::from(padded));
        }
        found.push(Dimension { length, way, inner });
        inner = inner.checked_mul(length)?;
    }
    Some((found, elements))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::kind::Map;

    const Z: Kind = Kind { map: Map::Complex, part: Part::F64 };

    #[test]
    fn wrong_requests_are_refused() {
        let plan = |lengths: &[i64], batch| Plan::new(Z, lengths, batch, None).map(|_| ());
        assert_eq!(plan(&[4, 5, 6], 2), Ok(()));
        assert_eq!(plan(&[], 1), Err(status::INVALID_VALUE));
        assert_eq!(plan(&[2, 2, 2, 2], 1), Err(status::INVALID_VALUE));
        for lengths in [&[0][..], &[-1], &[4, 0], &[1 << 31], &[1 << 40], &[1 << 16, 1 << 16]] {
            assert_eq!(plan(lengths, 1), Err(status::INVALID_SIZE), "{lengths:?}");
        }
        assert_eq!(plan(&[4], 0), Err(status::INVALID_SIZE));
        assert_eq!(plan(&[4], i64::MAX), Err(status::INVALID_SIZE));
        // A prime whose padded length exceeds the limit of elements.
        assert_eq!(plan(&[1_073_741_827], 1), Err(status::INVALID_SIZE));
        let advanced = |embed: &[i64], stride, distance| {
            let given = (embed, stride, distance);
            Plan::new(Z, &[4, 4], 1, Some([given, given])).map(|_| ())
        };
        assert_eq!(advanced(&[4, 4], 1, 16), Ok(()));
        assert_eq!(advanced(&[4, 4], 0, 16), Err(status::INVALID_VALUE));
        assert_eq!(advanced(&[4, 4], 1, -1), Err(status::INVALID_VALUE));
        assert_eq!(advanced(&[4, i64::MAX], 2, 1), Err(status::INVALID_SIZE));
    }

    #[test]
    fn halves_are_of_powers_of_two() {
        let half = Kind { map: Map::FromReal, part: Part::F16 };
        assert!(Plan::new(half, &[8, 16], 3, None).is_ok());
        assert_eq!(Plan::new(half, &[12], 3, None), Err(status::NOT_SUPPORTED));
    }

    #[test]
    fn the_work_area_is_bounded_by_what_is_done_at_a_time() {
        let plan = Plan::new(Z, &[1000], 1 << 20, None).unwrap();
        assert_eq!((plan.at_once, plan.buffer), (4194, 4_194_000));
        assert_eq!(plan.work_size(), 2 * 4_194_000 * 16);
        // One line of 67 is padded to 256; the others are not.
        let plan = Plan::new(Z, &[67, 8], 1, None).unwrap();
        assert_eq!(plan.buffer, 256 * 8);
        let inner: Vec<u32> = plan.dimensions.iter().map(|d| d.inner).collect();
        assert_eq!(inner, [1, 8]);
        assert!(Plan::new(Z, &[1, 1, 1], 5, None).unwrap().dimensions.is_empty());
    }
}
