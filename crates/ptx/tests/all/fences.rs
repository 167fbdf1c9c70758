//! Fences: their forms, and the fence requests that reach memory.

use cushim_ptx::exec::{BadAddress, Host, KernelLaunch, Memory};
use cushim_ptx::interp;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Memory that records the requests that it gets, and holds one value.
#[derive(Default)]
struct Noted(RefCell<Vec<&'static str>>);

impl Memory for Noted {
    fn load(&self, _: u64, bytes: &mut [u8]) -> Result<(), BadAddress> {
        self.0.borrow_mut().push("load");
        bytes.fill(0);
        Ok(())
    }

    fn store(&self, _: u64, _: &[u8]) -> Result<(), BadAddress> {
        self.0.borrow_mut().push("store");
        Ok(())
    }

    fn update(&self, _: u64, _: u32, new: &mut dyn FnMut(u64) -> u64) -> Result<u64, BadAddress> {
        new(0);
        Ok(0)
    }

    fn update_pair(
        &self,
        _: u64,
        new: &mut dyn FnMut([u64; 2]) -> [u64; 2],
    ) -> Result<[u64; 2], BadAddress> {
        new([0; 2]);
        Ok([0; 2])
    }

    fn fence(&self, total: bool) {
        self.0.borrow_mut().push(if total { "total" } else { "fence" });
    }
}

impl Host for Noted {
    fn print(&self, _: &[u8]) {}

    fn allocate(&self, _: u64) -> u64 {
        0
    }

    fn free(&self, _: u64) {}

    fn nanoseconds(&self) -> u64 {
        0
    }
}

fn module(instruction: &str) -> cushim_ptx::ir::Module {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.entry k() {{ .reg .b64 d; .reg .b32 a; mov.b64 d, 64;
         st.relaxed.gpu.global.b32 [d], 1;\n {instruction};\n ld.relaxed.gpu.global.b32 a, [d]; ret; }}"
    );
    cushim_ptx::parse(&text).and_then(|m| cushim_ptx::check(&m)).unwrap()
}

/// The requests that memory gets between a store and a load.
fn between(instruction: &str) -> Vec<&'static str> {
    let module = module(instruction);
    assert!(module.refusals(0).is_empty(), "{instruction}: {:?}", module.refusals(0));
    let noted = Noted::default();
    let launch = KernelLaunch {
        module: &module,
        kernel: 0,
        globals: &[],
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        params: &[],
        cluster: [1; 3],
        explicit_cluster: false,
        cooperative: false,
        workspace: 0,
        local_limit: 1 << 10,
    };
    interp::run(&launch, &noted, &noted).unwrap();
    let all = noted.0.into_inner();
    assert_eq!((all.first(), all.last()), (Some(&"store"), Some(&"load")), "{instruction}");
    all[1..all.len() - 1].to_vec()
}

#[test]
fn full_fences_are_those_of_one_order_beyond_a_block() {
    for i in ["fence.sc.gpu", "fence.sc.sys", "fence.sc.cluster", "membar.gl", "membar.sys"] {
        assert_eq!(between(i), ["total"], "{i}");
    }
}

/// The forms that ptxas 13.0 accepts for sm_90, and those that it refuses.
#[test]
fn forms_are_those_of_the_assembler() {
    for i in [
        "membar.cta",
        "fence.sc.cta",
        "fence.gpu",
        "fence.cta",
        "fence.acq_rel.cluster",
        "fence.acquire.gpu",
        "fence.release.sys",
        "fence.acquire.sync_restrict::shared::cluster.cluster",
        "fence.release.sync_restrict::shared::cta.cluster",
        "fence.mbarrier_init.release.cluster",
        "fence.proxy.alias",
        "fence.proxy.async",
        "fence.proxy.async.global",
        "fence.proxy.async.shared::cta",
        "fence.proxy.async.shared::cluster",
        "fence.proxy.tensormap::generic.release.gpu",
        "fence.proxy.tensormap::generic.acquire.gpu [d], 128",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
        "membar.proxy.alias",
    ] {
        assert_eq!(between(i), ["fence"], "{i}");
    }
    for i in [
        "membar.gpu",
        "membar.cluster",
        "membar",
        "fence",
        "fence.sc",
        "fence.relaxed.gpu",
        "fence.sc.gl",
        "fence.acq_rel.sc.gpu",
        "fence.acquire.sync_restrict::shared::cta.cluster",
        "fence.acquire.sync_restrict::shared::cluster.gpu",
        "fence.mbarrier_init.release.cta",
        "fence.mbarrier_init.cluster",
        "fence.proxy.async.local",
        "fence.proxy.generic",
        "membar.proxy.async",
        "fence.sc.gpu.frobnicate",
        "ld.mmio.acquire.sys.global.u32 a, [d]",
        "ld.mmio.relaxed.gpu.global.u32 a, [d]",
        "ld.mmio.u32 a, [d]",
        "st.mmio.release.sys.u32 [d], a",
    ] {
        assert_eq!(module(i).refusals(0).len(), 1, "{i}");
    }
    assert!(between("ld.mmio.relaxed.sys.global.u32 a, [d]").contains(&"load"));
}

/// Memory with the default fences of [`Memory`].
struct Plain;

impl Memory for Plain {
    fn load(&self, _: u64, _: &mut [u8]) -> Result<(), BadAddress> {
        Err(BadAddress)
    }

    fn store(&self, _: u64, _: &[u8]) -> Result<(), BadAddress> {
        Err(BadAddress)
    }

    fn update(&self, _: u64, _: u32, _: &mut dyn FnMut(u64) -> u64) -> Result<u64, BadAddress> {
        Err(BadAddress)
    }
    fn update_pair(
        &self,
        _: u64,
        new: &mut dyn FnMut([u64; 2]) -> [u64; 2],
    ) -> Result<[u64; 2], BadAddress> {
        new([0; 2]);
        Ok([0; 2])
    }
}

/// Two threads each store, then load the other's location: with full fences at least one of them sees the store. The
/// interpreter itself is too slow to show this.
#[test]
fn a_full_fence_is_one_of_the_processor() {
    const STEPS: usize = 1 << 13;
    const LINE: usize = 16;
    let zeros = |n: usize| (0..n).map(|_| AtomicU32::new(0)).collect::<Vec<_>>();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(600) {
        let (x, y) = (zeros(STEPS * LINE), zeros(STEPS * LINE));
        let (seen, gate) = ([zeros(STEPS), zeros(STEPS)], AtomicU32::new(0));
        let role = |mine: &[AtomicU32], other: &[AtomicU32], turn: usize| {
            for i in 0..STEPS {
                if i.is_multiple_of(64) {
                    let all = 2 * (gate.fetch_add(1, Ordering::Relaxed) / 2 + 1);
                    let mut spins = 0;
                    while gate.load(Ordering::Relaxed) < all {
                        spins += 1;
                        if spins % 4096 == 0 {
                            std::thread::yield_now();
                        }
                    }
                }
                // In opposite orders, so that both use the same location at the same time once.
                let at = i ^ turn;
                mine[at * LINE].store(1, Ordering::Relaxed);
                Plain.fence(true);
                let v = other[at * LINE].load(Ordering::Relaxed);
                seen[usize::from(turn != 0)][at].store(v, Ordering::Relaxed);
            }
        };
        std::thread::scope(|s| {
            s.spawn(|| role(&x, &y, 0));
            role(&y, &x, 63);
        });
        let [a, b] = &seen;
        let odd = a
            .iter()
            .zip(b)
            .filter(|(a, b)| a.load(Ordering::Relaxed) == 0 && b.load(Ordering::Relaxed) == 0);
        assert_eq!(odd.count(), 0, "steps in which neither saw the other");
    }
}
