//! A block: its warps and barriers. Its cluster owns its shared memory ([`super::cluster`]).

use super::barrier::Barriers;
use super::common::Common;
use super::flow::Flow;
use super::launch::Exec;
use super::turn::Scratch;
use super::warp::Warp;
use crate::exec::Fault;
use crate::exec::cluster::Arrivals;

pub(super) struct Block {
    pub(super) index: [u32; 3],
    pub(super) warps: Vec<Warp>,
    pub(super) common: Common,
}

/// Instructions of a warp before the next warp has its turn.
const TURN: u64 = 4096;

impl Block {
    /// A block of the launch; [`Block::start`] makes it one with an index.
    pub(super) fn new(exec: &Exec<'_>) -> Block {
        let warps = (0..exec.threads.div_ceil(32)).map(Warp::new).collect::<Vec<_>>();
        let barriers = Barriers::new(warps.len());
        let (shared, arrivals) = (Vec::new(), Arrivals::default());
        let watch = exec.host.watch().map(|watch| watch.blocks());
        let common = Common { index: [0; 3], shared, rank: 0, barriers, arrivals, watch, steps: 0 };
        Block { index: [0; 3], warps, common }
    }

    /// Starts at the first instruction, with registers and local memory all zero, also in a block's reused memory.
    pub(super) fn start(&mut self, exec: &Exec<'_>, index: [u32; 3], rank: usize) {
        self.index = index;
        self.common.index = index;
        self.common.rank = rank;
        self.common.steps = 0;
        if let Some(watch) = &mut self.common.watch {
            watch.begin(index, exec.shared_size.into());
        }
        self.common.barriers.clear();
        self.common.arrivals.clear(self.warps.len());
        let kernel = &exec.module.functions[exec.launch.kernel as usize];
        let (registers, local) = (kernel.registers.len(), kernel.local_size as usize);
        for warp in &mut self.warps {
            let threads = (exec.threads - warp.index * 32).min(32);
            let live = (u64::MAX >> (64 - threads)) as u32;
            warp.start(live, exec.launch.kernel, registers, local);
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.warps.iter().all(|w| w.live == 0)
    }

    /// Runs until nothing can proceed, or about `budget` instructions. Returns how many ran.
    pub(super) fn run(&mut self, exec: &Exec<'_>, budget: u64) -> Result<u64, Fault> {
        let ran = self.run_warps(exec, budget)?;
        if self.is_done()
            && let Some(watch) = &mut self.common.watch
        {
            watch.end();
        }
        Ok(ran)
    }

    fn run_warps(&mut self, exec: &Exec<'_>, budget: u64) -> Result<u64, Fault> {
        let start = self.common.steps;
        loop {
            let before = self.common.steps;
            for warp in &mut self.warps {
                if warp.live != 0 {
                    run_warp(exec, &mut self.common, warp, budget.min(TURN))?;
                }
            }
            let released = self.release(exec);
            let steps = self.common.steps;
            if (steps == before && !released) || steps - start >= budget || self.is_done() {
                return Ok(steps - start);
            }
        }
    }
}

fn run_warp(exec: &Exec<'_>, common: &mut Common, warp: &mut Warp, turn: u64) -> Result<(), Fault> {
    let end = common.steps + turn;
    let mut scratch = Scratch::new();
    while common.steps < end {
        if warp.fragments.len() > 1 {
            warp.tidy();
        }
        if warp.live == 0 || !warp.pick(exec) {
            return Ok(());
        }
        if let Flow::Yield = exec.turn(common, warp, &mut scratch, end)? {
            return Ok(());
        }
    }
    Ok(())
}
