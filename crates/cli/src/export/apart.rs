//! Events other than calls (GPU work and the program's own ranges), in the terms that all formats share.
//!
//! Owns: the names of such events, the numbers that connect them with their calls, and the assignment of overlapping
//! events to rows. Must not know: any format.

use cushim_trace::event::Gpu;
use cushim_trace::layout::{GPU_COPY, GPU_SET};

use cushim_analysis::arguments::copy_direction;
use cushim_analysis::known::Kernel;

/// The most rows for work that runs at the same time on one stream: branches of a graph.
const ROWS_MAX: usize = 64;

/// The name of GPU work.
pub fn name(gpu: &Gpu, kernel: Option<&Kernel>) -> String {
    match gpu.what {
        GPU_COPY => format!("copy {}", copy_direction(gpu.direction)),
        GPU_SET => "set".to_owned(),
        _ => kernel.map_or_else(|| "kernel".to_owned(), |kernel| kernel.name.short.clone()),
    }
}

/// A number for the call of `link` of file `source` that is unique in the export and exact in a
/// double. The lower 40 bits of a link count the calls of its process.
pub fn number(source: usize, link: u64) -> u64 {
    (source as u64 + 1) << 40 | link & ((1 << 40) - 1)
}

/// When each row of a stream is free again.
#[derive(Default)]
pub struct Rows(Vec<u64>);

impl Rows {
    /// The first row that is free at `begin`, which is taken until `end`.
    pub fn take(&mut self, begin: u64, end: u64) -> usize {
        let free = self.0.iter().position(|until| *until <= begin);
        let row = free.unwrap_or_else(|| self.0.len().min(ROWS_MAX - 1));
        match self.0.get_mut(row) {
            Some(until) => *until = end.max(*until),
            None => self.0.push(end),
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_not_overlap() {
        let mut rows = Rows::default();
        let taken =
            [(0, 10), (5, 8), (10, 20), (8, 9), (3, 4), (20, 30)].map(|(a, b)| rows.take(a, b));
        // A late event goes onto a track that is free at its time.
        assert_eq!(taken, [0, 1, 0, 1, 2, 0]);
    }

    #[test]
    fn numbers_are_exact_and_apart() {
        assert_ne!(number(0, 7 << 40 | 5), number(1, 7 << 40 | 5));
        assert_eq!(number(0, 7 << 40 | 5), number(0, 5));
        assert!(number(8000, u64::MAX) < 1 << 53);
    }
}
