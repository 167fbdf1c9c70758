//! Large copies and fills, on all threads.
//!
//! Owns the size from which that pays, and the division into parts. Must not know: queues, and which addresses are
//! valid: [`Memory`] checks that before the first byte of each part moves.

use std::sync::{Arc, Mutex};

use cushim_accel::locks::lock;
use cushim_accel::{Copy, Failure, Fill};

use super::memory::Memory;
use super::pool::Pool;

/// The size from which threads share the work: far above the size where waking threads costs what it gains.
const LEAST: usize = 4 << 20;
/// Bytes of a part, about: a multiple of a page and of each value's size.
const PART: usize = 1 << 20;

/// Copies rows and planes.
///
/// # Errors
/// [`Failure::InvalidAddress`].
pub fn copy(pool: &Pool, memory: &Arc<Memory>, copy: &Copy) -> Result<(), Failure> {
    let Some((steps, each)) = copy_steps(copy).filter(|_| shared(pool, memory)) else {
        return memory.copy(copy);
    };
    memory.may_copy_all(copy)?;
    let copy = *copy;
    share(pool, memory, steps, each, move |memory, from, count| {
        memory.copy(&part_of_copy(&copy, from, count))
    })
}

/// Repeats a value.
///
/// # Errors
/// [`Failure::InvalidAddress`].
pub fn fill(pool: &Pool, memory: &Arc<Memory>, fill: &Fill) -> Result<(), Failure> {
    let row = fill.width.saturating_mul(fill.size);
    let large = row.saturating_mul(fill.height) >= LEAST;
    let flat = fill.height <= 1;
    if !large || !shared(pool, memory) {
        return memory.fill(fill);
    }
    memory.may_fill_all(fill)?;
    let (steps, each) = if flat { (fill.width, fill.size) } else { (fill.height, row) };
    let fill = *fill;
    share(pool, memory, steps, each, move |memory, from, count| {
        memory.fill(&match flat {
            true => Fill { to: fill.to + (from * fill.size) as u64, width: count, ..fill },
            false => Fill { to: fill.to + (from * fill.pitch) as u64, height: count, ..fill },
        })
    })
}

/// Whether there are threads to share with. A checker observes the program's accesses in order, so it excludes that.
fn shared(pool: &Pool, memory: &Memory) -> bool {
    pool.width > 1 && memory.checker.is_none()
}

/// What a copy is shared out by (bytes, rows or planes), how many, and the bytes of each; `None` where one thread does it:
/// a small one, and one whose sides overlap, as the order of its bytes counts.
fn copy_steps(copy: &Copy) -> Option<(usize, usize)> {
    let plane = copy.width.checked_mul(copy.height.max(1))?;
    let total = plane.checked_mul(copy.depth.max(1))?;
    let (to, from) = (extent(copy, 0)?, extent(copy, 1)?);
    let apart = copy.to.checked_add(to)? <= copy.from || copy.from.checked_add(from)? <= copy.to;
    let steps = match copy.linear() {
        Some((_, _, bytes)) => (bytes, 1),
        None if copy.depth > 1 => (copy.depth, plane),
        None => (copy.height, copy.width),
    };
    (apart && total >= LEAST).then_some(steps)
}

/// Bytes from the first to the last that a side of a copy touches.
fn extent(copy: &Copy, side: usize) -> Option<u64> {
    let rows = copy.row.get(side)?.checked_mul(copy.height.saturating_sub(1))?;
    let planes = copy.plane.get(side)?.checked_mul(copy.depth.saturating_sub(1))?;
    copy.width.checked_add(rows)?.checked_add(planes).map(|bytes| bytes as u64)
}

/// So many of the steps of [`copy_steps`].
fn part_of_copy(copy: &Copy, first: usize, count: usize) -> Copy {
    if let Some((to, from, _)) = copy.linear() {
        return Copy::line(to + first as u64, from + first as u64, count);
    }
    let [to, from] = if copy.depth > 1 { copy.plane } else { copy.row };
    let (to, from) = (copy.to + (first * to) as u64, copy.from + (first * from) as u64);
    match copy.depth > 1 {
        true => Copy { to, from, depth: count, ..*copy },
        false => Copy { to, from, height: count, ..*copy },
    }
}

/// Runs `work(memory, first, count)` for parts of so many steps of so many bytes each.
fn share(
    pool: &Pool,
    memory: &Arc<Memory>,
    steps: usize,
    each: usize,
    work: impl Fn(&Memory, usize, usize) -> Result<(), Failure> + Send + Sync + 'static,
) -> Result<(), Failure> {
    let count = (PART / each.max(1)).max(1);
    let ended: Arc<Mutex<Option<Failure>>> = Arc::default();
    let (first, memory) = (ended.clone(), memory.clone());
    pool.run(steps.div_ceil(count) as u64, move |job| {
        while let Some(n) = job.next(1).next() {
            let from = n as usize * count;
            if let Err(failure) = work(&memory, from, count.min(steps - from)) {
                lock(&first).get_or_insert(failure);
                job.stop();
            }
        }
    });
    let failure = lock(&ended).take();
    failure.map_or(Ok(()), Err)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn sides() -> (Pool, Arc<Memory>, Vec<u8>) {
        let bytes = (0..3 * LEAST as u32).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24) as u8);
        (Pool::new(3), Arc::new(Memory::new()), bytes.collect())
    }

    fn at(bytes: &mut [u8]) -> u64 {
        bytes.as_mut_ptr().expose_provenance() as u64
    }

    #[test]
    fn copies_on_all_threads_are_those_of_one() {
        let (pool, memory, mut source) = sides();
        let from = at(&mut source);
        let (row, plane) = ([700, 600], [700 * 500, 600 * 480]);
        for (width, height, depth) in
            [(LEAST + 12345, 1, 1), (599, 7003, 1), (599, 470, 31), (600, 480, 30)]
        {
            let copy = |to| Copy { to, from, width, height, depth, row, plane };
            let (mut one, mut all) = (vec![1; 4 * LEAST], vec![1; 4 * LEAST]);
            memory.copy(&copy(at(&mut one))).unwrap();
            assert!(copy_steps(&copy(at(&mut all))).is_some(), "{width} {height} {depth}");
            super::copy(&pool, &memory, &copy(at(&mut all))).unwrap();
            assert!(one == all, "{width} {height} {depth}");
        }
    }

    #[test]
    fn a_copy_onto_itself_keeps_the_order() {
        let (pool, memory, mut bytes) = sides();
        let mut expected = bytes.clone();
        expected.copy_within(0..2 * LEAST, 777);
        let from = at(&mut bytes);
        let copy = Copy::line(from + 777, from, 2 * LEAST);
        assert_eq!(copy_steps(&copy), None);
        super::copy(&pool, &memory, &copy).unwrap();
        assert!(bytes == expected);
    }

    #[test]
    fn fills_on_all_threads_are_those_of_one() {
        let (pool, memory, bytes) = sides();
        for (size, width, height, pitch) in
            [(1, LEAST + 3, 1, 0), (2, LEAST, 1, 0), (4, LEAST / 4 + 1, 1, 0), (4, 100, 12000, 700)]
        {
            let fill = |to| Fill { to, value: 0x1234_5678, size, width, height, pitch };
            let (mut one, mut all) = (bytes.clone(), bytes.clone());
            memory.fill(&fill(at(&mut one))).unwrap();
            super::fill(&pool, &memory, &fill(at(&mut all))).unwrap();
            assert!(one == all, "{size} {width} {height}");
        }
    }

    #[test]
    fn memory_that_is_nobodys_is_refused_before_a_byte_moves() {
        let (pool, memory, mut source) = sides();
        let to = memory.allocate(cushim_check::Kind::Device, LEAST as u64, 4096).unwrap();
        let from = at(&mut source);
        let (width, height, depth, row, plane) = (2 * LEAST, 1, 1, [0; 2], [0; 2]);
        let long = Copy { to, from, width, height, depth, row, plane };
        assert_eq!(super::copy(&pool, &memory, &long), Err(Failure::InvalidAddress(to)));
        let mut first = [1u8; 16];
        memory.copy_bytes(at(&mut first), to, 16).unwrap();
        assert_eq!(first, [0; 16]);
        let long = Fill { to, value: 7, size: 4, width: LEAST, height: 1, pitch: 0 };
        assert_eq!(super::fill(&pool, &memory, &long), Err(Failure::InvalidAddress(to)));
        memory.copy_bytes(at(&mut first), to, 16).unwrap();
        assert_eq!(first, [0; 16]);
    }
}
