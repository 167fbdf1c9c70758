//! The state of the program's memory, and the rules for its use.
//!
//! Owns the table of allocations with the marks of their bytes, and the rules: which bytes may be accessed, which
//! have been written. A byte is marked if any access of it is valid: in a live allocation and, if reads of unwritten
//! memory are checked, written. Must not know how kernels run.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::ThreadId;

use cushim_accel::Trail;
use cushim_accel::locks::lock;
use cushim_ptx::exec::beside;

use super::bits::Bits;
use super::blocks::{Block, Blocks, Kind, red_zone};
use super::finding::{Finding, Findings, Near};
use super::options::{Options, Tool, names_kernel};
use super::race::Races;
use super::stray::{Stray, stray};
use super::trail;
use super::variable::Variable;

/// Whether bytes lie in accessible memory whose allocation was not reported.
pub type Elsewhere = Box<dyn Fn(u64, u64) -> bool + Send + Sync>;

/// Reads bytes of memory; false where there are none.
pub type Read = Box<dyn Fn(u64, &mut [u8]) -> bool + Send + Sync>;

/// The errors of a thread that the program has not looked at.
#[derive(Debug)]
struct Pending {
    name: String,
    by: Trail,
    count: u64,
}

/// What is known.
pub struct Checker {
    /// The enabled checks.
    pub options: Options,
    pub(super) bits: Bits,
    pub(super) blocks: Mutex<Blocks>,
    pub(super) races: Mutex<Races>,
    findings: Findings,
    elsewhere: Elsewhere,
    read: Read,
    pending: Mutex<HashMap<ThreadId, Pending>>,
    launches: AtomicU64,
    /// A launch failed: every later call fails, frees among them.
    broken: AtomicBool,
}

/// The verdict on an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Right,
    /// Nobody has written this byte, the first of them.
    Unwritten(u64),
    /// It is not inside a live allocation.
    Outside,
}

impl Checker {
    /// For the range of addresses of all device memory. `None` if there is no memory for it, or findings cannot be
    /// reported.
    pub fn new(
        options: Options,
        (first, size): (u64, u64),
        elsewhere: Elsewhere,
        read: Read,
    ) -> Option<Checker> {
        let findings = Findings::open(&options.file, options.stacks)?;
        let Some(bits) = Bits::new(first, size) else {
            findings.none();
            return None;
        };
        let (blocks, pending) = (Mutex::default(), Mutex::default());
        let (launches, broken) = (AtomicU64::new(0), AtomicBool::new(false));
        let races = Mutex::default();
        Some(Checker {
            options,
            bits,
            blocks,
            races,
            findings,
            elsewhere,
            read,
            pending,
            launches,
            broken,
        })
    }

    /// Whether a check is enabled.
    pub fn has(&self, tool: Tool) -> bool {
        self.options.tools.has(tool)
    }

    /// Whether accesses of kernels to device memory are checked.
    pub fn looks_at_kernels(&self) -> bool {
        [Tool::Memory, Tool::Init, Tool::Race, Tool::Sync].into_iter().any(|tool| self.has(tool))
    }

    /// Whether it matters which bytes are there, and were written.
    pub(super) fn looks_at_bytes(&self) -> bool {
        self.has(Tool::Memory) || self.has(Tool::Init)
    }

    /// Bytes after an allocation that belong to nothing.
    pub fn red_zone(&self, bytes: u64) -> u64 {
        red_zone(bytes)
    }

    /// Reads bytes of memory; false where there are none.
    pub(super) fn peek(&self, at: u64, bytes: &mut [u8]) -> bool {
        (self.read)(at, bytes)
    }

    /// An allocation is there from now on.
    pub fn allocated(&self, at: u64, bytes: u64, kind: Kind) {
        if self.has(Tool::Race) {
            lock(&self.races).forget(at, bytes);
        }
        // Variables have initial values, and the host's writes to its own memory are not observed.
        let written = !matches!(kind, Kind::Device) && !kind.is_of_kernels();
        let marked = written || !self.has(Tool::Init);
        let by_program = !matches!(kind, Kind::Variable(_)) && !kind.is_of_kernels();
        let made = by_program.then(trail::here);
        lock(&self.blocks).add(at, Block { bytes, kind, made, leaves: None, freed: None });
        if marked {
            self.bits.set(at, bytes);
        } else {
            self.bits.clear(at, bytes);
        }
    }

    /// An allocation is freed: returns what to release now. `None`: such an allocation was never reported.
    pub fn freed(&self, at: u64) -> Option<Vec<u64>> {
        let mut blocks = lock(&self.blocks);
        let by = blocks.at(at)?.leaves.clone().unwrap_or_else(trail::here);
        let (bytes, back) = blocks.free(at, Some(by))?;
        self.bits.clear(at, bytes);
        Some(back)
    }

    /// The program gives an allocation back, which goes when a stream gets there.
    pub(super) fn leaves(&self, at: u64) {
        lock(&self.blocks).leave(at, trail::here());
    }

    /// A variable is gone with its module.
    pub fn forget(&self, at: u64) {
        if let Some(block) = lock(&self.blocks).remove(at) {
            self.bits.clear(at, block.bytes);
        }
    }

    /// The verdict on an access. An unwritten byte is reported once.
    pub fn judge(&self, address: u64, bytes: u64, writes: bool, reads: bool) -> Verdict {
        if self.bits.are_set(address, bytes) || !self.bits.holds(address, 1) {
            return Verdict::Right;
        }
        let blocks = lock(&self.blocks);
        match blocks.owner(address, bytes) {
            Some((block, true)) if block.freed.is_none() => {
                let clear = self.bits.first_clear(address, bytes);
                if reads || writes {
                    self.bits.set(address, bytes);
                }
                match clear.filter(|_| reads && self.has(Tool::Init)) {
                    Some(at) => Verdict::Unwritten(at),
                    None => Verdict::Right,
                }
            }
            Some(_) => Verdict::Outside,
            _ if (self.elsewhere)(address, bytes) => Verdict::Right,
            _ => Verdict::Outside,
        }
    }

    /// The address range of the program's live allocation of device memory that contains an address, as first address
    /// and end.
    pub(super) fn of_program(&self, address: u64) -> Option<[u64; 2]> {
        lock(&self.blocks).whole(address, 1).and_then(|(at, block)| {
            let known = matches!(block.kind, Kind::Device | Kind::Managed);
            known.then(|| [at, at.saturating_add(block.bytes)])
        })
    }

    /// Whether bytes are all in one live allocation.
    pub(super) fn is_in_use(&self, address: u64, bytes: u64) -> bool {
        lock(&self.blocks).whole(address, bytes).is_some()
    }

    /// Bytes were copied; returns the first unwritten byte that the copy read, if that is checked and no later check
    /// would see it.
    pub fn copied(&self, to: u64, from: u64, bytes: u64) -> Option<u64> {
        let (known, told) = (self.bits.holds(from, bytes), self.bits.holds(to, bytes));
        match (known, told) {
            (true, true) => self.bits.copy(to, from, bytes),
            (false, true) => self.bits.set(to, bytes),
            (true, false) if self.has(Tool::Init) => {
                let clear = self.bits.first_clear(from, bytes)?;
                return (self.judge(clear, 1, false, true) != Verdict::Right).then_some(clear);
            }
            _ => {}
        }
        None
    }

    /// Memory was written.
    pub fn set(&self, at: u64, bytes: u64) {
        self.bits.set(at, bytes);
    }

    /// Whether a launch of this kernel is reported on; it counts as one.
    pub fn reports_on(&self, symbol: &str) -> bool {
        let wanted = self.options.kernel.as_deref();
        let named = wanted.is_none_or(|wanted| names_kernel(wanted, symbol));
        if !named {
            return false;
        }
        let number = self.launches.fetch_add(1, Relaxed);
        let behind = number.checked_sub(self.options.skip);
        behind.is_some_and(|n| self.options.count.is_none_or(|count| n < count))
    }

    /// A launch failed, and with it its context: consequences are not reported.
    pub fn break_off(&self) {
        self.broken.store(true, Relaxed);
    }

    /// Whether a launch has failed.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }

    /// Reports a finding, if its check is enabled.
    pub fn tell(&self, finding: &Finding) {
        if self.has(finding.tool) {
            self.findings.tell(finding);
        }
    }

    /// The start of the allocation nearest to an address.
    pub(super) fn allocation(&self, address: u64, bytes: u64) -> u64 {
        lock(&self.blocks).nearest(address, bytes).map_or(0, |(at, ..)| at)
    }

    /// What an address is that no allocation explains.
    pub(super) fn stray(&self, blocks: &Blocks, address: u64, bytes: u64) -> Option<Stray> {
        let nearest = blocks.nearest(address, bytes).map(|(at, block, _)| (at, block.bytes));
        stray(address, nearest, self.bits.holds(address, 1))
    }

    /// The allocation nearest to an address.
    pub fn near(&self, address: u64, bytes: u64) -> Option<Near> {
        let blocks = lock(&self.blocks);
        if let Some(stray) = self.stray(&blocks, address, bytes) {
            return Some(Near { text: stray.unexpected(), ..Near::default() });
        }
        let (at, block, _) = blocks.nearest(address, bytes)?;
        let whole = format!("{} of {} bytes at {at:#x}", block.kind.words(), block.bytes);
        let of = match block.freed {
            Some(_) => format!("{whole}, which was freed"),
            None => whole,
        };
        let text = beside((address, bytes), (at, block.bytes), &of);
        let mut trails = Vec::new();
        if let Some(made) = &block.made {
            trails.push(("allocated".to_owned(), Some(made.clone())));
        }
        if let Some(Some(freed)) = &block.freed {
            trails.push(("freed".to_owned(), Some(freed.clone())));
        }
        let variable = match &block.kind {
            Kind::Variable(of) => Some(Variable {
                symbol: of.symbol.clone(),
                space: if of.constant { "const" } else { "global" },
                offset: address.wrapping_sub(at) as i64,
                bytes: block.bytes,
            }),
            _ => None,
        };
        Some(Near { text, trails, variable })
    }

    /// A call of this thread failed.
    pub(super) fn pend(&self, error: i32, name: &str) {
        if !self.has(Tool::Api) || self.is_broken() {
            return;
        }
        let mut all = lock(&self.pending);
        let name = format!("{name} ({error})");
        all.entry(std::thread::current().id())
            .and_modify(|pending| pending.count += 1)
            .or_insert_with(|| Pending { name, by: trail::here(), count: 1 });
    }

    /// This thread looked at its errors.
    pub(super) fn looked_at(&self) {
        if self.has(Tool::Api) {
            lock(&self.pending).remove(&std::thread::current().id());
        }
    }

    /// Reports what is known only at the end.
    pub(super) fn finish(&self) {
        for (_, pending) in std::mem::take(&mut *lock(&self.pending)) {
            self.tell(&unseen(pending));
        }
        let blocks: Vec<(u64, Block)> =
            lock(&self.blocks).in_use().map(|(at, block)| (at, block.clone())).collect();
        self.tell_leaks(blocks);
        self.findings.end();
    }

    /// Reports allocations that the program has not freed: those of one stack together.
    pub(super) fn tell_leaks(&self, blocks: Vec<(u64, Block)>) {
        if !self.has(Tool::Leak) || self.is_broken() {
            return;
        }
        // In the order of addresses, so that the same program has the same report.
        let mut places: Vec<(String, (u64, u64, Block))> = Vec::new();
        for (_, block) in blocks {
            let Some(made) = &block.made else { continue };
            let place = format!("{} {:?}", block.kind.words(), trail::frames(made));
            match places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, sum)) => (sum.0, sum.1) = (sum.0 + 1, sum.1 + block.bytes),
                None => places.push((place, (1, block.bytes, block))),
            }
        }
        for (_, (count, bytes, block)) in places {
            let what = block.kind.words();
            let message = match count {
                1 => format!("{bytes} bytes of {what} are never freed"),
                _ => format!("{bytes} bytes of {what} in {count} allocations are never freed"),
            };
            let trails = vec![("allocated".to_owned(), block.made)];
            let (tool, kind) = (Tool::Leak, "leak");
            self.tell(&Finding { tool, kind, message, at: None, variable: None, trails });
        }
    }
}

fn unseen(Pending { name, by, count }: Pending) -> Finding {
    let call = trail::frames(&by).call.unwrap_or_else(|| "a call".into());
    let more = match count {
        1 => String::new(),
        2 => ", and another error of the thread behind it".into(),
        _ => format!(", and {} more errors of the thread behind it", count - 1),
    };
    let message =
        format!("{call} failed with {name}, and the program never asked for the error{more}");
    let trails = vec![("called".to_owned(), Some(by))];
    let (tool, kind) = (Tool::Api, "error not looked at");
    Finding { tool, kind, message, at: None, variable: None, trails }
}
