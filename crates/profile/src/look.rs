//! Counts while a kernel runs.
//!
//! Owns which counters an instruction adds to. An instruction is counted when the engine reports that it executes;
//! its accesses are reported after that, some in pieces, and are counted when all of it is known. Must not know how
//! kernels run.

use std::sync::{Arc, Mutex};

use cushim_accel::locks::lock;
use cushim_ptx::exec::watch::resolve;
use cushim_ptx::exec::{Access, BlockWatch, Cause, Marks, Ran, Touch, Watch, lanes};
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{Barrier, Class, Control, Operation};
use cushim_ptx::types::Space;

use super::access::{LINE, Piece, SECTOR, contention, turns, units};
use super::cache::Cache;
use super::count::{Count, Counts};
use super::flops;
use super::sums::{Launched, Sums};
use super::told::Profiler;

/// A counted launch.
pub struct CountedLaunch {
    pub(super) profiler: Arc<Profiler>,
    /// What was launched.
    pub of: Launched,
    sums: Mutex<Sums>,
}

impl CountedLaunch {
    /// Nothing was counted yet.
    pub fn new(profiler: Arc<Profiler>, of: Launched) -> CountedLaunch {
        CountedLaunch { profiler, of, sums: Mutex::default() }
    }

    /// The launch ended at this time: reports its counts.
    pub fn finish(&self, end_ns: u64) {
        self.profiler.tell(&self.of, &std::mem::take(&mut *lock(&self.sums)), end_ns);
    }
}

/// Counts at a launch.
pub struct Profile(pub Arc<CountedLaunch>);

impl Watch for Profile {
    fn marks(&self) -> Marks {
        Marks { base: 0 }
    }

    fn blocks(&self) -> Box<dyn BlockWatch> {
        let options = &self.0.profiler.options;
        Box::new(Counting {
            launch: self.0.clone(),
            sums: Sums::default(),
            now: (0, 0),
            touched: Vec::new(),
            l1: Cache::new(options.l1),
            l2: Cache::new(options.l2),
        })
    }
}

/// What the current instruction accesses.
struct Touched {
    access: Access,
    space: Space,
    pieces: Vec<Piece>,
}

/// Counts at blocks, one after the other.
struct Counting {
    launch: Arc<CountedLaunch>,
    sums: Sums,
    /// The current instruction: function, and index in it.
    now: (u32, u32),
    touched: Vec<Touched>,
    l1: Cache,
    l2: Cache,
}

impl Counting {
    /// Counts what the current instruction has accessed.
    fn flush(&mut self) {
        for touched in std::mem::take(&mut self.touched) {
            let bytes = touched.pieces.iter().map(|(_, bytes)| bytes).sum::<u64>();
            let counts = self.sums.at(self.now);
            if touched.access == Access::Atomic {
                let (addresses, most) = contention(&touched.pieces);
                counts.add(Count::AtomicLanes, touched.pieces.len() as u64);
                counts.add(Count::AtomicAddresses, addresses);
                counts.add(Count::AtomicTurns, most);
            }
            match touched.space {
                Space::Shared => shared(counts, &touched),
                Space::Local => {
                    counts.add(Count::LocalRequests, 1);
                    counts.add(Count::LocalBytes, bytes);
                }
                Space::Param => {}
                _ => self.global(&touched, bytes),
            }
        }
    }

    fn global(&mut self, touched: &Touched, bytes: u64) {
        let sectors = units(&touched.pieces, SECTOR);
        let lines = units(&touched.pieces, LINE).len() as u64;
        let counts = self.sums.at(self.now);
        let names = match touched.access {
            Access::Read => {
                [Count::LoadRequests, Count::LoadSectors, Count::LoadLines, Count::LoadBytes]
            }
            Access::Write => {
                [Count::StoreRequests, Count::StoreSectors, Count::StoreLines, Count::StoreBytes]
            }
            Access::Atomic => {
                counts.add(Count::AtomicRequests, 1);
                counts.add(Count::AtomicSectors, sectors.len() as u64);
                return self.cached(&sectors, touched.access);
            }
        };
        let values = [1, sectors.len() as u64, lines, bytes];
        names.into_iter().zip(values).for_each(|(name, value)| counts.add(name, value));
        self.cached(&sectors, touched.access);
    }

    /// Updates the model of caches: loads go to L1 first, stores go through it, atomic operations execute in L2.
    fn cached(&mut self, sectors: &[u64], access: Access) {
        let counts = self.sums.at(self.now);
        let mut written = 0;
        for sector in sectors {
            if access == Access::Read && self.l1.touch(*sector, false).hit {
                counts.add(Count::L1Hits, 1);
                continue;
            }
            let outcome = self.l2.touch(*sector, access != Access::Read);
            written += u64::from(outcome.written_back);
            if access == Access::Write {
                counts.add(Count::L2Writes, 1);
                continue;
            }
            counts.add(Count::L2Reads, 1);
            counts.add(if outcome.hit { Count::L2Hits } else { Count::DramReads }, 1);
        }
        self.sums.written += written;
    }
}

fn shared(counts: &mut Counts, touched: &Touched) {
    let names = match touched.access {
        Access::Read => [Count::SharedLoads, Count::SharedLoadTurns, Count::SharedLoadConflicts],
        _ => [Count::SharedStores, Count::SharedStoreTurns, Count::SharedStoreConflicts],
    };
    let (all, least) = turns(&touched.pieces);
    let values = [1, all, all.saturating_sub(least)];
    names.into_iter().zip(values).for_each(|(name, value)| counts.add(name, value));
}

/// The counters of an instruction, besides those of its accesses.
fn operation(counts: &mut Counts, ran: &Ran<'_>) {
    let active = u64::from(ran.active.count_ones());
    counts.add(Count::Instructions, 1);
    counts.add(Count::Lanes, ran.mask.count_ones().into());
    counts.add(Count::ActiveLanes, active);
    if let Some((count, each, whole)) = flops::of(&ran.inst.sem) {
        counts.add(count, each * active + if active > 0 { whole } else { 0 });
    }
    match ran.inst.sem {
        Operation::Control(Control::Branch | Control::BranchTable) => {
            counts.add(Count::Branches, 1);
            let parted = ran.active != 0 && ran.active != ran.mask;
            counts.add(Count::DivergentBranches, parted.into());
        }
        Operation::Barrier(Barrier::ClusterArrive | Barrier::ClusterWait) if active > 0 => {
            counts.add(Count::Waits, 1);
        }
        _ if active == 0 => {}
        Operation::Barrier(_) => counts.add(Count::Barriers, 1),
        Operation::Mbarrier(_) => counts.add(Count::Waits, 1),
        Operation::Collective(what) if what.sync => counts.add(Count::Waits, 1),
        _ => {}
    }
}

impl BlockWatch for Counting {
    fn begin(&mut self, _block: [u32; 3], _shared: u64) {
        self.l1.clear();
    }

    fn run(&mut self, ran: &Ran<'_>) {
        self.flush();
        self.now = (ran.function, ran.pc);
        operation(self.sums.at(self.now), ran);
    }

    fn touch(&mut self, touch: &Touch<'_>) -> Result<(), (usize, Cause)> {
        // Constants have a separate cache; barrier objects are counted as waits.
        let constant = matches!(touch.inst.sem, Operation::Load(access) if access.constant);
        if constant || touch.inst.sem.class() == Class::Barrier {
            return Ok(());
        }
        for lane in lanes(touch.lanes) {
            let Some(at) = touch.addresses.get(lane) else { continue };
            let (space, at) = resolve(touch.space, *at);
            let piece = (at, touch.bytes);
            let mut known = self.touched.iter_mut();
            match known.find(|known| known.access == touch.access && known.space == space) {
                Some(known) => known.pieces.push(piece),
                None => {
                    let pieces = vec![piece];
                    self.touched.push(Touched { access: touch.access, space, pieces });
                }
            }
        }
        Ok(())
    }

    fn arrive(&mut self, _: u32, _: u32, _: &Inst, _: u32, _: Option<u32>) {}

    fn order(&mut self, _: u32, _: u32, _: &Inst, _: Option<&[u32; 32]>) {}

    fn end(&mut self) {
        self.flush();
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.flush();
        self.sums.written += self.l2.written();
        lock(&self.launch.sums).merge(&self.sums);
    }
}
