//! PTX's memory model: litmus tests of two to four threads, run often and concurrently, between blocks, between
//! warps and lanes of a block, and between a kernel and a host thread.
//!
//! Outcomes that the model forbids must not happen; outcomes that it allows are counted and printed (`--nocapture`). Two
//! environment variables: `CUSHIM_LITMUS_ROUNDS` is the number of meetings of the roles (2), with 256 or 4,096 steps each;
//! `CUSHIM_LITMUS_SHAPES=all` runs every shape for every way instead of one, `few` runs three ways only.

mod kernel;
mod model;
mod storm;
mod tiers;

use kernel::{Among, SHAPES, Shape};
use model::{Needs, Scope, TESTS, WAYS, Way, forbids, is_of};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tiers::{Ready, Room, Tier};

/// The tests of this program run one after another, as the roles need the processors at the same time.
static ALONE: Mutex<()> = Mutex::new(());

/// The default number of meetings.
const ROUNDS: u32 = 2;

/// How long to look for store buffering in each way that forbids it.
const LONG: Duration = Duration::from_millis(250);

fn rounds() -> u32 {
    match std::env::var("CUSHIM_LITMUS_ROUNDS") {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("CUSHIM_LITMUS_ROUNDS={text}: expected a number")),
        Err(_) => ROUNDS,
    }
}

/// Runs all ways in some shapes, with one engine, between partners in this scope.
fn all(tier: Tier, among: Among, between: Scope) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let rounds = rounds();
    let room = Room::new(Shape::Row.steps() * rounds);
    let every = std::env::var("CUSHIM_LITMUS_SHAPES").is_ok_and(|v| v == "all");
    let few = std::env::var("CUSHIM_LITMUS_SHAPES").is_ok_and(|v| v == "few");
    let (mut forbidden, mut allowed, mut instances) = (Vec::new(), Vec::new(), 0);
    let reach = |way: &Way| match among {
        Among::Blocks => way.scope >= between,
        // Within a block, or with the host: ways of exactly this scope; with `all` wider ones, too.
        _ => way.scope == between || every && way.scope >= between,
    };
    let ways = WAYS.iter().enumerate().filter(|(_, way)| reach(way));
    for (w, way) in ways.take(if few { 3 } else { WAYS.len() }) {
        let some = [SHAPES[w % SHAPES.len()], Shape::Mixed];
        let shapes: &[Shape] = match (among, every) {
            (Among::Host, _) => &[Shape::Row],
            (_, true) => &SHAPES,
            _ if w == 0 => &some,
            _ => &some[..1],
        };
        // Vector accesses do not exist for mmio.
        let alone = way.store.contains("mmio");
        let shapes = shapes.iter().filter(|s| **s != Shape::Vector || !alone);
        let tests: Vec<usize> = (0..TESTS.len()).filter(|n| is_of(&TESTS[*n], way)).collect();
        let mut count = |shape: Shape| {
            let ready = Ready::new(&kernel::text(way, shape, among, &tests), tier, among, shape);
            for n in &tests {
                let test = &TESTS[*n];
                if among == Among::Host && test.roles.len() != 2 {
                    continue;
                }
                // More than two roles mostly have to share the processors.
                let steps =
                    shape.steps() * if test.roles.len() == 2 { rounds } else { rounds.div_ceil(2) };
                let (odd, first) = ready.run(&room, way, *n, steps);
                instances += u64::from(steps);
                let what = format!("{}, {shape:?}, {}: {odd}", way.name, test.name);
                if odd > 0 && forbids(test, way, between) {
                    forbidden.push(format!("{what}: {}", first.unwrap_or_default()));
                } else if odd > 0 {
                    allowed.push(what);
                }
            }
        };
        shapes.for_each(|shape| count(*shape));
        let plain = !way.store.starts_with("atom");
        if among == Among::Blocks && way.gives == Needs::Total && plain {
            let ready = Ready::new(&storm::text(way), tier, among, Shape::One);
            let (started, mut odd) = (Instant::now(), 0);
            while started.elapsed() < LONG * rounds / ROUNDS {
                odd += ready.storm(&room, 64);
                instances += u64::from(64 * storm::ROW);
            }
            if odd > 0 {
                forbidden.push(format!("{}, SB in a row: {odd}", way.name));
            }
        }
    }
    println!("{tier:?}, {among:?}: {instances} steps; allowed: {allowed:#?}");
    assert!(forbidden.is_empty(), "{tier:?}, {among:?}: forbidden: {forbidden:#?}");
}

#[test]
fn blocks_of_the_interpreter() {
    all(Tier::Interpreter, Among::Blocks, Scope::Device);
}

#[test]
fn blocks_of_quick_code() {
    all(Tier::Quick, Among::Blocks, Scope::Device);
}

#[test]
fn blocks_of_the_best_code() {
    all(Tier::Best, Among::Blocks, Scope::Device);
}

#[test]
fn warps_of_a_block() {
    for tier in [Tier::Interpreter, Tier::Best] {
        all(tier, Among::Warps, Scope::Block);
    }
}

#[test]
fn lanes_of_a_warp() {
    for tier in [Tier::Interpreter, Tier::Best] {
        all(tier, Among::Lanes, Scope::Block);
    }
}

#[test]
fn a_kernel_and_the_host() {
    for tier in [Tier::Interpreter, Tier::Best] {
        all(tier, Among::Host, Scope::System);
    }
}

/// Checks the test's own model: which outcomes it forbids, by the manual's text.
#[test]
fn the_model_tells_what_orders() {
    let way = |name: &str| WAYS.iter().find(|w| w.name == name).unwrap();
    let test = |name: &str| TESTS.iter().find(|t| t.name == name).unwrap();
    let told = |t: &str, w: &str, s| forbids(test(t), way(w), s);
    assert!(
        told("SB", "fence.sc.gpu", Scope::Device) && !told("SB", "fence.sc.gpu", Scope::System)
    );
    assert!(!told("SB", "fence.acq_rel.gpu", Scope::Device));
    assert!(
        told("MP", "fence.acq_rel.gpu", Scope::Device) && !told("MP", "relaxed.gpu", Scope::Device)
    );
    assert!(told("MP", "fence.acq_rel.gpu, weak data", Scope::Device));
    assert!(!told("CoRR", "fence.acq_rel.gpu, weak data", Scope::Device));
    assert!(
        told("SB", "membar.cta, volatile", Scope::Block)
            && !told("SB", "fence.sc.cta", Scope::Device)
    );
    assert!(
        told("CoRR", "relaxed.gpu", Scope::Device)
            && told("IRIW", "membar.gl, volatile", Scope::Device)
    );
    assert_eq!(TESTS.iter().filter(|t| t.needs == Needs::Total).count(), 4);
}

/// Runs this program again for processors with fewer instructions.
#[test]
fn on_processors_that_have_less() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let most = cushim_ptx::Level::of_processor();
    for level in cushim_ptx::Level::ALL.into_iter().filter(|level| *level < most) {
        let done = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "blocks_of_the_interpreter", "blocks_of_the_best_code"])
            .env(cushim_ptx::level::VARIABLE, level.name())
            .env("CUSHIM_LITMUS_SHAPES", "few")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(
            done.status.success() && text.contains("2 passed; 0 failed"),
            "{}:\n{text}",
            level.name()
        );
    }
}

/// On any machine: the code of both compilers contains the full fences, and no others.
#[test]
fn full_fences_alone_are_in_the_code() {
    let way = |name: &str| WAYS.iter().find(|w| w.name == name).unwrap();
    for tier in [Tier::Quick, Tier::Best] {
        let locked = |name: &str| {
            let text = storm::text(way(name));
            Ready::new(&text, tier, Among::Blocks, Shape::Row).locked()
        };
        let none = locked("relaxed.gpu");
        for weak in ["fence.acq_rel.gpu", "fence.sc.cta", "fences of one way"] {
            assert_eq!(locked(weak), none, "{weak}");
        }
        for full in ["fence.sc.gpu", "fence.sc.sys", "membar.gl, volatile", "membar.sys, volatile"]
        {
            assert_eq!(locked(full), none + 2 * storm::ROW as usize, "{full}");
        }
    }
}
