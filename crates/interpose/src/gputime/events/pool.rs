//! Unused event pairs, and pairs whose events the GPU has yet to reach.
//!
//! Owns: one pool per context, in tables that never move: a launch takes a pair and returns it without a lock or an
//! allocation. Must not know: the driver.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use cushim_process::memory;

/// How many contexts of a process are timed.
pub const CONTEXTS: usize = crate::loaded::POOLS;
/// The most pairs of a pool, and so the most launches that wait for the GPU at a time.
pub const PAIRS: usize = 1 << 14;
/// [`Pool::context`] of a context that is gone.
const GONE: usize = 1;

/// A launch between two events.
#[derive(Clone, Copy)]
pub struct Data {
    /// The events.
    pub begin: usize,
    /// See `begin`.
    pub end: usize,
    /// The stream they are in.
    pub stream: usize,
    /// `CLOCK_MONOTONIC` before the first event was recorded, ns.
    pub called_ns: u64,
    /// The same when the launch was recorded, just before it was forwarded.
    pub forwarded_ns: u64,
    /// The same after the second event was recorded.
    pub over_ns: u64,
    /// The link of the launch, 0 while it has none.
    pub link: u64,
    /// Whether the launch loads its kernel's code, so that there is nothing to time.
    pub loads: bool,
    /// Number of the kernel.
    pub kernel: u32,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads per block.
    pub block: [u32; 3],
}

/// The storage of a pair.
pub struct Pair {
    next: AtomicU32,
    data: UnsafeCell<Data>,
}

/// A stack of pairs by their number; 0 is none. The upper half is a count against the ABA problem.
struct Stack(AtomicU64);

/// The pairs of one context.
pub struct Pool {
    /// Its handle; 0: not in use.
    context: AtomicUsize,
    pairs: AtomicPtr<Pair>,
    made: AtomicU32,
    available: AtomicI32,
    free: Stack,
    launched: Stack,
}

static POOLS: [Pool; CONTEXTS] = [const { Pool::new() }; CONTEXTS];

/// All pools, by number.
pub fn all() -> impl Iterator<Item = (usize, &'static Pool)> {
    POOLS.iter().enumerate().take_while(|(_, pool)| pool.context.load(Ordering::Acquire) != 0)
}

/// The pool of `context`.
#[inline]
pub fn of(context: usize) -> Option<(usize, &'static Pool)> {
    all().find(|(_, pool)| pool.context.load(Ordering::Relaxed) == context)
}

/// The pool of that number.
pub fn at(number: usize) -> Option<&'static Pool> {
    POOLS.get(number)
}

/// A free pool; one caller at a time. It is in use once [`Pool::open`] was called.
pub fn unused() -> Option<(usize, &'static Pool)> {
    let (number, pool) =
        POOLS.iter().enumerate().find(|(_, p)| p.context.load(Ordering::Acquire) == 0)?;
    if pool.pairs.load(Ordering::Acquire).is_null() {
        // All zeroes are pairs without events; untouched pages take no memory.
        let pages = memory::pages(PAIRS * size_of::<Pair>())?;
        pool.pairs.store(pages.cast(), Ordering::Release);
    }
    Some((number, pool))
}

impl Pool {
    const fn new() -> Self {
        Pool {
            context: AtomicUsize::new(0),
            pairs: AtomicPtr::new(std::ptr::null_mut()),
            made: AtomicU32::new(0),
            available: AtomicI32::new(0),
            free: Stack(AtomicU64::new(0)),
            launched: Stack(AtomicU64::new(0)),
        }
    }

    /// The context, while it lives.
    pub fn context(&self) -> Option<usize> {
        Some(self.context.load(Ordering::Acquire)).filter(|&context| context > GONE)
    }

    /// From now on this is the pool of `context`.
    pub fn open(&self, context: usize) {
        self.context.store(context, Ordering::Release);
    }

    /// The context is gone, and all events with it.
    pub fn close(&self) {
        self.context.store(GONE, Ordering::Release);
    }

    fn pair(&self, number: u32) -> Option<&Pair> {
        let pairs = self.pairs.load(Ordering::Acquire);
        let made = self.made.load(Ordering::Acquire);
        // SAFETY: there is room for `PAIRS`, of which `made` have been handed out.
        (number > 0 && number <= made).then(|| unsafe { &*pairs.add(number as usize - 1) })
    }

    /// The data of a pair that the caller took.
    #[allow(clippy::mut_from_ref)] // only the taker uses it
    pub fn data(&self, number: u32) -> Option<&mut Data> {
        // SAFETY: the taker of a pair has it alone until it goes back to a stack.
        self.pair(number).map(|pair| unsafe { &mut *pair.data.get() })
    }

    /// Adds a pair of two new events; one caller at a time. False where the table is full.
    pub fn add(&self, begin: usize, end: usize) -> bool {
        let made = self.made.load(Ordering::Acquire);
        if made as usize >= PAIRS {
            return false;
        }
        self.made.store(made + 1, Ordering::Release);
        if let Some(data) = self.data(made + 1) {
            (data.begin, data.end) = (begin, end);
        }
        self.give_back(made + 1);
        true
    }

    /// Takes a pair for a launch.
    #[inline]
    pub fn take(&self) -> Option<u32> {
        let mut head = self.free.0.load(Ordering::Acquire);
        loop {
            let number = head as u32;
            let next = self.pair(number)?.next.load(Ordering::Relaxed);
            let after = (head >> 32).wrapping_add(1) << 32 | u64::from(next);
            match self.free.0.compare_exchange_weak(
                head,
                after,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    self.available.fetch_sub(1, Ordering::Relaxed);
                    return Some(number);
                }
                Err(now) => head = now,
            }
        }
    }

    /// Puts back a pair, which may then be taken again.
    #[inline]
    pub fn give_back(&self, number: u32) {
        self.available.fetch_add(1, Ordering::Relaxed);
        self.put(&self.free, number);
    }

    /// Adds a pair whose launch was issued.
    #[inline]
    pub fn launched(&self, number: u32) {
        self.put(&self.launched, number);
    }

    fn put(&self, stack: &Stack, number: u32) {
        let Some(pair) = self.pair(number) else { return };
        let mut head = stack.0.load(Ordering::Acquire);
        loop {
            pair.next.store(head as u32, Ordering::Relaxed);
            let after = (head >> 32).wrapping_add(1) << 32 | u64::from(number);
            match stack.0.compare_exchange_weak(head, after, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes all pairs whose launches were issued, the earliest first.
    pub fn take_launched(&self) -> Vec<u32> {
        let mut head = self.launched.0.load(Ordering::Acquire);
        loop {
            let after = (head >> 32).wrapping_add(1) << 32;
            match self.launched.0.compare_exchange_weak(
                head,
                after,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        let mut taken = Vec::new();
        let mut number = head as u32;
        while let Some(pair) = self.pair(number) {
            taken.push(number);
            number = pair.next.load(Ordering::Relaxed);
        }
        taken.reverse();
        taken
    }

    /// How many pairs should be added so that launches find some.
    pub fn wanted(&self) -> usize {
        let made = self.made.load(Ordering::Relaxed) as usize;
        let available = self.available.load(Ordering::Relaxed).max(0) as usize;
        if available * 2 < made { made.min(PAIRS - made.min(PAIRS)) } else { 0 }
    }
}

// SAFETY: `next` is an atomic; `data` belongs to whoever took the pair from a stack.
unsafe impl Sync for Pair {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pairs_go_round_between_threads() {
        let (_, pool) = unused().unwrap();
        for n in 0..100 {
            assert!(pool.add(2 * n + 2, 2 * n + 3));
        }
        let done = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let done = &done;
                scope.spawn(move || {
                    let mut launched = 0;
                    while launched < 20_000 {
                        let Some(pair) = pool.take() else { continue };
                        let data = pool.data(pair).unwrap();
                        assert_eq!(
                            (data.begin + 1, data.link),
                            (data.end, 0),
                            "nobody else has it"
                        );
                        data.link = thread + 1;
                        launched += 1;
                        pool.launched(pair);
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
            let mut seen = 0;
            while seen < 80_000 {
                let over = done.load(Ordering::SeqCst) == 4;
                let taken = pool.take_launched();
                assert!(!over || !taken.is_empty(), "none is lost");
                for pair in taken {
                    let data = pool.data(pair).unwrap();
                    assert!(data.link > 0);
                    data.link = 0;
                    seen += 1;
                    pool.give_back(pair);
                }
            }
        });
        let mut all = Vec::new();
        while let Some(pair) = pool.take() {
            all.push(pair);
        }
        all.sort_unstable();
        assert_eq!(all, (1..=100).collect::<Vec<_>>());
        assert_eq!(pool.wanted(), 100);
    }
}
