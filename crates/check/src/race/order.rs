//! The order of accesses of a block's threads.
//!
//! Owns a vector clock for each warp, and the effects of barriers and fences on the clocks. If it cannot know, it
//! treats accesses as ordered: clocks belong to warps, so a lane that is ordered after another warp orders its whole
//! warp; all fences of a block share one clock. Must not know memory.

#![allow(clippy::indexing_slicing, reason = "indices are taken modulo the arrays' lengths")]

use cushim_ptx::Pos;

use super::record::{MOST_EPOCHS, MOST_STEPS, When};

/// Warps of a block, at most.
const WARPS: usize = 32;
/// Barriers of a block.
const BARRIERS: usize = cushim_ptx::sem::BARRIERS as usize;

/// A vector clock: the epoch of each warp whose earlier accesses are ordered before.
pub type Clock = [u16; WARPS];

fn join(to: &mut Clock, from: &Clock) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = (*to).max(*from));
}

/// A barrier of a block.
#[derive(Debug, Clone, Default)]
struct Barrier {
    /// The clocks of the warps that arrived since the last release.
    open: Clock,
    /// What all brought before.
    closed: Clock,
    /// Arrived lanes, by warp.
    came: [u32; WARPS],
    /// How often it has released its threads.
    turn: u32,
    /// The number of threads, if the arriving ones gave it.
    count: Option<u32>,
    /// Where the last arrived lanes are in the code, by warp.
    at: [Option<Pos>; WARPS],
}

/// Lanes that wait at a barrier.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    lanes: u32,
    turn: u32,
}

/// What is wrong with a barrier that releases threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incomplete {
    /// The barrier.
    pub number: usize,
    /// An instruction at which threads arrived.
    pub at: Pos,
    /// Warp and lane of a thread that arrived.
    pub came: (u32, usize),
    /// Exited threads, as lanes by warp.
    pub ended: [u32; WARPS],
}

/// The order in one block.
#[derive(Debug)]
pub struct Order {
    clocks: [Clock; WARPS],
    steps: [u16; WARPS],
    waiting: Vec<[Waiting; 16]>,
    /// For each warp, the barriers at which lanes of it wait.
    waits: [u16; WARPS],
    barriers: Vec<Barrier>,
    /// Where all fences meet.
    fences: Clock,
    /// The existing lanes.
    full: [u32; WARPS],
    /// A warp has no epochs left.
    spent: bool,
}

impl Order {
    /// At the begin of a block.
    pub fn new(threads: u32) -> Order {
        let full = std::array::from_fn(|warp| {
            let left = threads.saturating_sub(warp as u32 * 32).min(32);
            ((1u64 << left) - 1) as u32
        });
        Order {
            clocks: [[0; WARPS]; WARPS],
            steps: [0; WARPS],
            waiting: vec![Default::default(); WARPS],
            waits: [0; WARPS],
            barriers: vec![Barrier::default(); BARRIERS],
            fences: [0; WARPS],
            full,
            spent: false,
        }
    }

    /// At the begin of another block, of as many threads.
    pub fn restart(&mut self) {
        (self.clocks, self.steps, self.fences) = ([[0; WARPS]; WARPS], [0; WARPS], [0; WARPS]);
        self.waiting.fill(Default::default());
        self.waits = [0; WARPS];
        self.barriers.fill(Barrier::default());
        self.spent = false;
    }

    /// An access by a thread of the block of this number, now.
    pub fn now(&self, block: u32, warp: u32, lane: usize) -> When {
        let w = warp as usize % WARPS;
        When::new(block, self.clocks[w][w], self.steps[w], warp, lane)
    }

    /// Whether an access of the same block is over for a thread.
    pub fn is_over(&self, old: When, warp: u32) -> bool {
        let w = warp as usize % WARPS;
        if old.warp() != w {
            return self.clocks[w][old.warp()] > old.epoch();
        }
        self.now(0, warp, 0).moment() > old.moment()
    }

    /// Whether lanes of a warp wait at a barrier.
    #[inline]
    pub fn waits(&self, warp: u32) -> bool {
        self.waits[warp as usize % WARPS] != 0
    }

    /// Whether a warp has no epochs left.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.spent
    }

    fn next_epoch(&mut self, w: usize) {
        self.clocks[w][w] = self.clocks[w][w].saturating_add(1);
        self.spent |= self.clocks[w][w] >= MOST_EPOCHS;
        self.steps[w] = 0;
    }

    /// A warp hears of what others have told.
    fn hear(&mut self, w: usize, of: &Clock) {
        join(&mut self.clocks[w], of);
        self.spent |= self.clocks[w][w] >= MOST_EPOCHS;
    }

    /// Lanes of a warp meet.
    pub fn meet(&mut self, warp: u32) {
        let w = warp as usize % WARPS;
        match self.steps[w] < MOST_STEPS {
            true => self.steps[w] += 1,
            false => self.next_epoch(w),
        }
    }

    /// A warp publishes what it has done to its block; returns its clock.
    pub fn release(&mut self, warp: u32) -> Clock {
        let w = warp as usize % WARPS;
        self.next_epoch(w);
        join(&mut self.fences, &self.clocks[w]);
        self.clocks[w]
    }

    /// A warp hears of what the others have told.
    pub fn acquire(&mut self, warp: u32) {
        self.hear(warp as usize % WARPS, &{ self.fences });
    }

    /// Lanes arrive at a barrier, and wait there or continue.
    pub fn arrive(
        &mut self,
        warp: u32,
        lanes: u32,
        at: Pos,
        number: u32,
        count: Option<u32>,
        waits: bool,
    ) {
        let (w, n) = (warp as usize % WARPS, number as usize % BARRIERS);
        self.next_epoch(w);
        let barrier = &mut self.barriers[n];
        join(&mut barrier.open, &self.clocks[w]);
        barrier.came[w] |= lanes;
        barrier.count = count.or(barrier.count);
        barrier.at[w] = Some(at);
        if waits {
            let turn = barrier.turn;
            let waiting = &mut self.waiting[w][n];
            *waiting = Waiting { lanes: waiting.lanes | lanes, turn };
            self.waits[w] |= 1 << n;
        }
    }

    /// Lanes run again, so the barriers at which they waited have released them.
    pub fn go_on(&mut self, warp: u32, lanes: u32, tell: &mut dyn FnMut(Incomplete)) {
        let w = warp as usize % WARPS;
        if self.waits[w] == 0 {
            return;
        }
        let waits = self.waits[w];
        for n in (0..16).filter(|n| waits >> n & 1 != 0) {
            let waiting = self.waiting[w][n];
            if waiting.lanes & lanes == 0 {
                continue;
            }
            if waiting.turn == self.barriers[n].turn {
                self.let_go(n).into_iter().for_each(&mut *tell);
            }
            self.hear(w, &{ self.barriers[n].closed });
            self.waiting[w][n].lanes &= !lanes;
            if self.waiting[w][n].lanes == 0 {
                self.waits[w] &= !(1 << n);
            }
        }
    }

    /// Releases the first waiting phase: all expected threads have arrived or exited.
    fn let_go(&mut self, n: usize) -> Option<Incomplete> {
        let barrier = &mut self.barriers[n];
        let mut incomplete = None;
        if barrier.count.is_none() {
            let mut ended = [0; WARPS];
            for (w, full) in self.full.iter().enumerate() {
                ended[w] = full & !barrier.came[w];
                if *full != 0 && barrier.came[w] == 0 {
                    // What threads that ended have done is over, too.
                    let all = self.clocks[w][w].saturating_add(1);
                    barrier.open[w] = barrier.open[w].max(all);
                }
            }
            let came = barrier.came.iter().position(|lanes| *lanes != 0).unwrap_or(0);
            let lane = barrier.came[came].trailing_zeros() as usize % 32;
            if ended != [0; WARPS] {
                let at = barrier.at[came];
                let came = (came as u32, lane);
                incomplete = at.map(|at| Incomplete { number: n, at, came, ended });
            }
        }
        join(&mut barrier.closed, &barrier.open);
        (barrier.open, barrier.came, barrier.count) = ([0; WARPS], [0; WARPS], None);
        barrier.at = [None; WARPS];
        barrier.turn = barrier.turn.wrapping_add(1);
        incomplete
    }

    /// The position where lanes of a warp have arrived at the coming phase of a barrier.
    pub fn place(&self, number: u32, warp: u32) -> Option<Pos> {
        self.barriers[number as usize % BARRIERS].at[warp as usize % WARPS]
    }

    /// How many threads that turn is for, as another one of the block said, and where.
    pub fn count(&self, number: u32) -> Option<(u32, Pos)> {
        let barrier = &self.barriers[number as usize % BARRIERS];
        Some((barrier.count?, barrier.at.iter().flatten().next().copied()?))
    }

    /// How many warps of the block there are.
    pub fn warps(&self) -> u32 {
        self.full.iter().filter(|lanes| **lanes != 0).count() as u32
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    const BAR: Pos = Pos { line: 7, column: 1 };

    fn silent(incomplete: Incomplete) {
        panic!("{incomplete:?}");
    }

    /// A whole warp arrives at barrier 0.
    fn come(order: &mut Order, warp: u32) {
        order.arrive(warp, u32::MAX, BAR, 0, None, true);
    }

    #[test]
    fn a_barrier_orders_what_is_before_it_and_nothing_behind_it() {
        let mut order = Order::new(96);
        let before = order.now(1, 1, 3);
        assert!(!order.is_over(before, 0));
        (0..3).for_each(|warp| come(&mut order, warp));
        // The first warp continues and reaches the next barrier before the others have continued.
        order.go_on(0, u32::MAX, &mut silent);
        assert!(order.is_over(before, 0));
        let behind = order.now(1, 0, 0);
        come(&mut order, 0);
        order.go_on(1, u32::MAX, &mut silent);
        assert!(order.is_over(before, 1) && !order.is_over(behind, 1));
        order.go_on(2, u32::MAX, &mut silent);
        come(&mut order, 1);
        come(&mut order, 2);
        order.go_on(2, u32::MAX, &mut silent);
        assert!(order.is_over(behind, 2));
    }

    #[test]
    fn threads_that_ended_are_waited_for_and_told() {
        let mut order = Order::new(64);
        let before = order.now(1, 1, 3);
        order.arrive(0, 0xffff, BAR, 0, None, true);
        let mut told = Vec::new();
        order.go_on(0, 1, &mut |incomplete| told.push(incomplete));
        assert!(order.is_over(before, 0));
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].ended[0], told[0].ended[1]), (0xffff_0000, u32::MAX));
    }

    #[test]
    fn who_comes_and_goes_on_hears_of_nothing() {
        let mut order = Order::new(64);
        let produced = order.now(1, 0, 0);
        order.arrive(0, u32::MAX, BAR, 3, Some(64), false);
        let (later, consumed) = (order.now(1, 0, 0), order.now(1, 1, 0));
        order.arrive(1, u32::MAX, BAR, 3, Some(64), true);
        order.go_on(0, u32::MAX, &mut silent);
        order.go_on(1, u32::MAX, &mut silent);
        assert!(order.is_over(produced, 1));
        assert!(!order.is_over(later, 1) && !order.is_over(consumed, 0));
    }

    #[test]
    fn fences_and_meetings_order() {
        let mut order = Order::new(64);
        let before = order.now(1, 0, 5);
        assert!(!order.is_over(before, 0), "another lane of the warp");
        order.acquire(1);
        assert!(!order.is_over(before, 1), "nobody has told");
        order.release(0);
        order.acquire(1);
        assert!(order.is_over(before, 1) && order.is_over(before, 0));
        let before = order.now(1, 0, 5);
        order.meet(0);
        assert!(order.is_over(before, 0) && !order.is_over(before, 1));
    }
}
