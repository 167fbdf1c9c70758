//! A thread's open ranges, by domain, and which of them were recorded: if a range began outside the window, its end
//! is not recorded either, and vice versa.
//!
//! Must not know: what a range means.

/// Levels with a bit of their own; deeper ones are recorded if the last of these is.
const LEVELS: u32 = u64::BITS;

/// The ranges of a thread that are open.
#[derive(Debug, Default)]
pub struct Open {
    domains: Vec<Domain>,
}

#[derive(Debug)]
struct Domain {
    handle: usize,
    depth: u32,
    /// Bit n: the range at level n was recorded.
    recorded: u64,
}

impl Open {
    /// Opens a range, which is recorded if `wanted`; returns its level, from 0, and whether it is
    /// recorded.
    pub fn push(&mut self, handle: usize, wanted: bool) -> (u32, bool) {
        let place = self.domains.iter().position(|d| d.handle == handle);
        if place.is_none() {
            self.domains.push(Domain { handle, depth: 0, recorded: 0 });
        }
        let found = match place {
            Some(place) => self.domains.get_mut(place),
            None => self.domains.last_mut(),
        };
        let Some(domain) = found else { return (0, false) };
        let level = domain.depth;
        domain.depth = level.saturating_add(1);
        if level < LEVELS {
            let bit = 1u64 << level;
            domain.recorded = domain.recorded & !bit | if wanted { bit } else { 0 };
        }
        (level, domain.has(level))
    }

    /// Closes a range; returns its level and whether it was recorded. `None` where none is open.
    pub fn pop(&mut self, handle: usize) -> Option<(u32, bool)> {
        let domain = self.domains.iter_mut().find(|d| d.handle == handle)?;
        let level = domain.depth.checked_sub(1)?;
        domain.depth = level;
        Some((level, domain.has(level)))
    }

    /// After a fork: marks all as not recorded, as this process's trace has none of them.
    pub fn forget(&mut self) {
        for domain in &mut self.domains {
            domain.recorded = 0;
        }
    }
}

impl Domain {
    fn has(&self, level: u32) -> bool {
        self.recorded >> level.min(LEVELS - 1) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_and_ends_belong_together() {
        let mut open = Open::default();
        assert_eq!(open.pop(0), None);
        assert_eq!((open.push(0, true), open.push(0, false)), ((0, true), (1, false)));
        assert_eq!(open.push(7, true), (0, true));
        assert_eq!((open.pop(0), open.push(0, true)), (Some((1, false)), (1, true)));
        assert_eq!(
            (open.pop(0), open.pop(0), open.pop(0)),
            (Some((1, true)), Some((0, true)), None)
        );
        open.forget();
        assert_eq!((open.pop(7), open.pop(7)), (Some((0, false)), None));
    }

    #[test]
    fn deeper_than_is_told_apart() {
        let mut open = Open::default();
        for level in 0..100 {
            assert_eq!(open.push(1, level < 70), (level, true));
        }
        for level in (0..100).rev() {
            assert_eq!(open.pop(1), Some((level, true)));
        }
    }
}
