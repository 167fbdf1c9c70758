//! Grids that kernels launch, and their order.
//!
//! Owns the order: a grid's children run after its blocks, in the order of their launches, each with everything that
//! it launches itself; then its tail launches, one by one. So each stream keeps its order, a wait for an event comes
//! after the event, a grid is complete when its children are, and a tail launch of a tail launch comes before the
//! next one (CUDA Programming Guide, "CUDA Dynamic Parallelism"; an H200 keeps the same orders). Must not know: how
//! work is done.

use std::collections::VecDeque;

use cushim_accel::{Failure, Work};

/// What one grid has launched.
#[derive(Default)]
pub struct Launched {
    /// In streams.
    pub children: VecDeque<Work>,
    /// When all of these are complete.
    pub tails: VecDeque<Work>,
}

impl Launched {
    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty() && self.tails.is_empty()
    }

    fn next(&mut self) -> Option<Work> {
        self.children.pop_front().or_else(|| self.tails.pop_front())
    }
}

/// Runs all of it by `execute`, which gives what a work has launched.
///
/// # Errors
/// The first of `execute`.
pub fn run(
    launched: Launched,
    execute: &mut dyn FnMut(&Work) -> Result<Launched, Failure>,
) -> Result<(), Failure> {
    let mut grids = vec![launched];
    while let Some(grid) = grids.last_mut() {
        let Some(work) = grid.next() else {
            grids.pop();
            continue;
        };
        // Grids without unfinished children are forgotten: a grid may launch itself as its tail without end.
        if grid.is_empty() {
            grids.pop();
        }
        let launched = execute(&work)?;
        if !launched.is_empty() {
            grids.push(launched);
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use cushim_accel::Fill;

    /// Work with a number.
    fn work(number: u32) -> Work {
        Work::Fill(Fill { to: 0, value: number, size: 1, width: 0, height: 0, pitch: 0 })
    }

    fn launched(children: &[u32], tails: &[u32]) -> Launched {
        let all = |numbers: &[u32]| numbers.iter().map(|n| work(*n)).collect();
        Launched { children: all(children), tails: all(tails) }
    }

    #[test]
    fn children_come_before_tails_and_with_all_of_theirs() {
        let mut order = Vec::new();
        let first = launched(&[1, 2], &[3, 4]);
        run(first, &mut |work| {
            let Work::Fill(fill) = work else { return Ok(Launched::default()) };
            order.push(fill.value);
            Ok(match fill.value {
                1 => launched(&[10, 11], &[12]),
                10 => launched(&[100], &[]),
                3 => launched(&[30], &[31]),
                _ => Launched::default(),
            })
        })
        .unwrap();
        assert_eq!(order, [1, 10, 100, 11, 12, 2, 3, 30, 31, 4]);
    }

    #[test]
    fn an_error_ends_all() {
        let mut count = 0;
        let ended = run(launched(&[1, 2], &[]), &mut |_| {
            count += 1;
            Err(Failure::OutOfMemory)
        });
        assert!(ended.is_err());
        assert_eq!(count, 1);
    }
}
