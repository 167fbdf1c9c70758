//! Whether a rule matches a kernel, an image, a launch.
//!
//! Must not know: what the rule does.

use std::ops::RangeInclusive;

use regex_lite::Regex;

/// What a rule applies to; what is not given matches everything.
#[derive(Clone, Debug, Default)]
pub struct Match {
    /// Over the symbol, the full and the short name.
    pub kernel: Option<Regex>,
    /// Over the path of the file that the image came from.
    pub owner: Option<Regex>,
    /// The beginning of a content hash (xxh3, 64 bits, lower-case hexadecimal) of the image or of one in it.
    pub hash: Option<String>,
    /// An architecture that the image holds, such as `sm_90` or `compute_80`.
    pub arch: Option<String>,
    /// When: conditions on a launch.
    pub launch: Condition,
}

/// Conditions on one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Blocks in x, y, z; `None` for any.
    pub grid: [Option<u32>; 3],
    /// Threads of a block in x, y, z; `None` for any.
    pub block: [Option<u32>; 3],
    /// Which launches of the kernel, counted from 1 in this process.
    pub nth: Option<RangeInclusive<u64>>,
}

/// A kernel's names.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The symbol.
    pub mangled: &'a str,
    /// The declaration.
    pub full: &'a str,
    /// Without parameters.
    pub short: &'a str,
}

/// What rules are matched against. Expensive questions are asked only if a rule needs them.
pub trait Subject {
    /// The file that holds the image; empty for memory.
    fn owner(&self) -> &str;
    /// Whether the content hash of the image, or of one in it, begins so (lower-case hexadecimal).
    fn has_hash(&self, beginning: &str) -> bool;
    /// Whether the image has code for this architecture.
    fn has_arch(&self, arch: &str) -> bool;
}

impl Match {
    /// Whether the rule matches this image.
    pub fn image(&self, subject: &impl Subject) -> bool {
        self.owner.as_ref().is_none_or(|owner| owner.is_match(subject.owner()))
            && self.hash.as_ref().is_none_or(|hash| subject.has_hash(hash))
            && self.arch.as_ref().is_none_or(|arch| subject.has_arch(arch))
    }

    /// Whether it matches this kernel; the image is matched separately.
    pub fn names(&self, names: Names<'_>) -> bool {
        self.kernel.as_ref().is_none_or(|kernel| {
            [names.mangled, names.full, names.short].iter().any(|name| kernel.is_match(name))
        })
    }
}

impl Condition {
    /// Whether any launch meets it.
    pub fn is_always(&self) -> bool {
        *self == Condition::default()
    }

    /// Whether the `nth` launch (from 1) of this shape meets it.
    pub fn holds(&self, grid: [u32; 3], block: [u32; 3], nth: u64) -> bool {
        let fits = |wanted: &[Option<u32>; 3], given: [u32; 3]| {
            wanted.iter().zip(given).all(|(wanted, given)| wanted.is_none_or(|w| w == given))
        };
        fits(&self.grid, grid)
            && fits(&self.block, block)
            && self.nth.as_ref().is_none_or(|range| range.contains(&nth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions() {
        let any = Condition::default();
        assert!(any.is_always() && any.holds([1; 3], [1; 3], 1));
        let some =
            Condition { grid: [Some(4), None, None], nth: Some(2..=3), ..Condition::default() };
        assert!(some.holds([4, 9, 9], [1; 3], 2) && some.holds([4, 1, 1], [7; 3], 3));
        assert!(!some.holds([5, 1, 1], [1; 3], 2));
        assert!(!some.holds([4, 1, 1], [1; 3], 1) && !some.holds([4, 1, 1], [1; 3], 4));
    }
}
