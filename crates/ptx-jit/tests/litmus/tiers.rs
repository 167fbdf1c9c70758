//! Runs a litmus kernel: each role on its own thread, in the interpreter and in the code of both compilers.

use crate::kernel::{Among, HEAD, RESULT, Shape, TURN};
use crate::model::{Access, Litmus, Place, Seen, TESTS, Way};
use crate::storm::ROW;
use cushim_ptx::exec::{Host, KernelLaunch};
use cushim_ptx::interp;
use cushim_ptx::ir::Module;
use cushim_ptx_jit::{Arena, Kernel};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

/// The engine that runs a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tier {
    Interpreter,
    Quick,
    Best,
}

/// The time limit of a launch.
const LONGEST: Duration = Duration::from_secs(40);

/// A kernel, ready to run.
pub struct Ready {
    module: Arc<Module>,
    kernel: Option<Kernel>,
    among: Among,
    shape: Shape,
}

/// A host that ends a launch that hangs, and yields the processor to other threads while roles wait.
struct Patient {
    since: Instant,
    asked: AtomicU32,
}

impl Host for Patient {
    fn print(&self, _: &[u8]) {}

    fn allocate(&self, _: u64) -> u64 {
        0
    }

    fn free(&self, _: u64) {}

    fn nanoseconds(&self) -> u64 {
        if self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(1 << 14) {
            std::thread::yield_now();
        }
        0
    }

    fn interrupted(&self) -> bool {
        self.since.elapsed() > LONGEST
    }
}

/// Device memory.
pub struct Room {
    arena: Arena,
    layout: Layout,
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.arena.base() as *mut u8, self.layout) };
    }
}

impl Room {
    pub fn new(steps: u32) -> Room {
        let most = HEAD + u64::from(steps) * 32 * (2 * 64 + 8 * RESULT);
        let size = most.max(Arena::LEAST) as usize;
        let layout = Layout::from_size_align(size, 4096).unwrap();
        // SAFETY: the size is not zero.
        let base = unsafe { alloc_zeroed(layout) };
        assert!(!base.is_null());
        // SAFETY: the memory is ours until `drop`, and all accesses use raw pointers.
        let arena = unsafe { Arena::new(base.expose_provenance() as u64, size as u64) }.unwrap();
        Room { arena, layout }
    }

    /// Clears the memory of this many steps.
    fn clear(&self, shape: Shape, steps: u32) {
        self.clear_bytes(HEAD + u64::from(steps) * (2 * shape.row() + 8 * shape.results()));
    }

    fn clear_bytes(&self, bytes: u64) {
        assert!(bytes <= self.layout.size() as u64);
        // SAFETY: nothing runs on the memory now.
        unsafe { std::ptr::write_bytes(self.arena.base() as *mut u8, 0, bytes as usize) };
    }

    /// All words after the head; nothing runs meanwhile.
    fn words(&self) -> &[u32] {
        let count = (self.layout.size() - HEAD as usize) / 4;
        // SAFETY: inside the memory, and aligned; only kernels and [`host_role`] change it.
        unsafe { std::slice::from_raw_parts((self.arena.base() + HEAD) as *const u32, count) }
    }

    fn cell(&self, at: u64) -> &AtomicU32 {
        // SAFETY: inside the memory, and aligned; kernels access it atomically meanwhile.
        unsafe { AtomicU32::from_ptr((self.arena.base() + at) as *mut u32) }
    }
}

impl Ready {
    pub fn new(text: &str, tier: Tier, among: Among, shape: Shape) -> Ready {
        let module = cushim_ptx::parse(text).and_then(|m| cushim_ptx::check(&m));
        let module = Arc::new(module.unwrap_or_else(|e| panic!("{e}\n{text}")));
        let refused = module.refusals(0);
        assert!(refused.is_empty(), "{refused:?}");
        let block = block(among, 4);
        let kernel = (tier != Tier::Interpreter).then(|| {
            let kernel = Kernel::new(&module, 0, block).unwrap_or_else(|e| panic!("{e}\n{text}"));
            if tier == Tier::Best {
                kernel.improve(block).unwrap_or_else(|e| panic!("{e}\n{text}"));
            }
            kernel
        });
        Ready { module, kernel, among, shape }
    }

    /// Runs a test for some steps; returns the number of odd outcomes, and the first one.
    pub fn run(
        &self,
        room: &Room,
        way: &Way,
        number: usize,
        steps: u32,
    ) -> (usize, Option<String>) {
        let test = &TESTS[number];
        let roles = test.roles.len() as u32;
        room.clear(self.shape, steps);
        let mut params = room.arena.base().to_le_bytes().to_vec();
        for v in [number as u32, roles, steps] {
            params.extend(v.to_le_bytes());
        }
        let blocks = if self.among == Among::Blocks { roles } else { 1 };
        let role = || host_role(room, self.shape, way, test, steps);
        let host = (self.among == Among::Host).then_some(&role as &(dyn Fn() + Sync));
        self.launch(room, blocks, block(self.among, 4), &params, host);
        self.judge(room, test, steps)
    }

    /// Runs rows of store buffering ([`crate::storm`]) with this many meetings; returns how often both roles read old values.
    pub fn storm(&self, room: &Room, meetings: u32) -> usize {
        room.clear_bytes(HEAD + u64::from(meetings * ROW) * 4 * 128);
        let mut params = room.arena.base().to_le_bytes().to_vec();
        params.extend(meetings.to_le_bytes());
        self.launch(room, 2, [32, 1, 1], &params, None);
        let count = (meetings * ROW * 32) as usize;
        let read = &room.words()[2 * count..][..2 * count];
        // Most lanes of a row have the same outcome.
        (0..count).step_by(9).filter(|n| read[*n] == 0 && read[count + n] == 0).count()
    }

    /// Counts the machine instructions that are fences: a lock prefix, with or without REX, before an operation on
    /// memory at a register plus displacement. The displacement of a stack slot (`f0 09 00 00`) can look like such an
    /// instruction with a register alone.
    pub fn locked(&self) -> usize {
        let code = self.kernel.as_ref().map_or(vec![], |k| k.code([32, 1, 1]).unwrap());
        let operation = |code: &[u8]| match code {
            [0x09 | 0x81 | 0x83, modrm, ..] | [0x0f, 0xb1 | 0xc1, modrm, ..] => {
                (0x40..0xc0).contains(modrm)
            }
            _ => false,
        };
        let is_locked = |at: &[u8]| match at {
            [0xf0, 0x40..=0x4f, code @ ..] | [0xf0, code @ ..] => operation(code),
            _ => false,
        };
        (0..code.len()).filter(|n| is_locked(&code[*n..])).count()
    }

    /// Runs each block on its own thread, and the host's role on another.
    fn launch(
        &self,
        room: &Room,
        blocks: u32,
        block: [u32; 3],
        params: &[u8],
        other: Option<&(dyn Fn() + Sync)>,
    ) {
        let launch = KernelLaunch {
            module: &self.module,
            kernel: 0,
            globals: &[],
            grid: [blocks, 1, 1],
            block,
            dynamic_shared: 0,
            params,
            cluster: [1; 3],
            explicit_cluster: false,
            cooperative: false,
            workspace: 0,
            local_limit: 1 << 16,
        };
        let host = Patient { since: Instant::now(), asked: AtomicU32::new(1) };
        let one = |n: u32| {
            let (n, taken) = (u64::from(n), AtomicBool::new(false));
            let take = || (!taken.swap(true, Ordering::Relaxed)).then_some(n);
            let ended = match &self.kernel {
                Some(kernel) => {
                    let next = |_| take().map_or(0..0, |n| n..n + 1);
                    kernel.run_blocks(&launch, &room.arena, &room.arena, &host, &next)
                }
                None => interp::run_blocks(&launch, &room.arena, &host, &take),
            };
            ended.unwrap_or_else(|e| panic!("{e}"));
        };
        std::thread::scope(|s| {
            for n in 1..blocks {
                let one = &one;
                s.spawn(move || one(n));
            }
            if let Some(other) = other {
                s.spawn(other);
            }
            one(0);
        });
    }

    fn judge(&self, room: &Room, test: &Litmus, steps: u32) -> (usize, Option<String>) {
        let (stride, size) = (self.shape.stride(), u64::from(steps) * self.shape.row());
        let lanes = match (self.among, self.shape) {
            (_, Shape::One) => 1,
            (Among::Lanes, _) => 8,
            _ => 32,
        };
        let parts = if self.shape.wide() || self.shape == Shape::Vector { 2 } else { 1 };
        let words = room.words();
        let (size, row) =
            ((size / 4) as usize, steps as usize * (self.shape.results() / 4) as usize);
        let (mut count, mut first) = (0, None);
        for i in 0..steps as usize {
            for lane in 0..lanes {
                let at = if self.shape.mixed() { lane ^ lane >> 1 } else { lane };
                let mut seen = [Seen::default(); 2];
                for (k, s) in seen.iter_mut().enumerate().take(parts) {
                    let place =
                        i * (self.shape.row() / 4) as usize + at * (stride / 4) as usize + k;
                    (s.x, s.y) = (words[place], words[place + size]);
                    for role in 0..test.roles.len() {
                        for n in 0..2 {
                            let from = 2 * size
                                + (2 * role + n) * row
                                + i * (self.shape.results() / 4) as usize;
                            s.r[role][n] = words[from + lane * (RESULT / 4) as usize + k];
                        }
                    }
                }
                let torn = self.shape.wide() && seen[0] != seen[1];
                assert!(!torn, "{}: halves of a value: {seen:?}", test.name);
                for s in &seen[..parts] {
                    if (test.odd)(s) {
                        count += 1;
                        first.get_or_insert_with(|| format!("step {i}, lane {lane}: {s:?}"));
                    }
                }
            }
        }
        (count, first)
    }
}

fn block(among: Among, roles: u32) -> [u32; 3] {
    match among {
        Among::Blocks | Among::Host | Among::Lanes => [32, 1, 1],
        Among::Warps => [32 * roles, 1, 1],
    }
}

/// Role 1 of a test with two roles, as a host thread: adjacent locations of 32 bits.
fn host_role(room: &Room, shape: Shape, way: &Way, test: &Litmus, steps: u32) {
    let size = u64::from(steps) * shape.row();
    let gate = room.cell(0);
    let started = Instant::now();
    for i in 0..steps {
        if i % shape.steps() == 0 {
            gate.fetch_add(1, Ordering::Relaxed);
        }
        let mut turns = 0u32;
        while gate.load(Ordering::Relaxed) < 2 * (i / shape.steps() + 1) {
            turns += 1;
            if turns.is_multiple_of(4096) {
                assert!(started.elapsed() < LONGEST, "the kernel does not come");
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
        let i = i ^ (TURN - 1);
        for lane in 0..32 {
            let at = |p: &Place| {
                HEAD + u64::from(i) * shape.row()
                    + lane * shape.stride()
                    + if *p == Place::Y { size } else { 0 }
            };
            let mut results = 0;
            for (k, access) in test.roles[1].iter().enumerate() {
                if k > 0 {
                    if way.fence.contains("sc") || way.fence.contains("membar") {
                        fence(Ordering::SeqCst);
                    } else if !way.fence.is_empty() {
                        fence(Ordering::AcqRel);
                    }
                }
                let by_access = way.fence.is_empty();
                match access {
                    Access::Store(p, v) => room.cell(at(p)).store(*v, Ordering::Relaxed),
                    Access::Release(p, v) if by_access => {
                        room.cell(at(p)).store(*v, Ordering::Release)
                    }
                    Access::Release(p, v) => room.cell(at(p)).store(*v, Ordering::Relaxed),
                    Access::Load(p) | Access::Acquire(p) => {
                        let order = match access {
                            Access::Acquire(_) if by_access => Ordering::Acquire,
                            _ => Ordering::Relaxed,
                        };
                        let v = room.cell(at(p)).load(order);
                        let to = HEAD + 2 * size + (2 + results) * u64::from(steps) * 32 * RESULT;
                        room.cell(to + (32 * u64::from(i) + lane) * RESULT)
                            .store(v, Ordering::Relaxed);
                        results += 1;
                    }
                }
            }
        }
    }
}
