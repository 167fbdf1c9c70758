//! Plans are the least facts that satisfy the rules, which these tests state independently and apply to all regions
//! until nothing changes. Also: the number of steps grows with the size of the code only linearly.

use super::region::{self, Region, Term, writes};
use super::set::Set;
use super::shape::{Class, Shape};
use super::{Facts, Layout, Plan, spin};
use cushim_ptx::ir::{Function, Module};
use cushim_ptx::work;
use std::collections::BTreeSet;
use std::time::Duration;

#[path = "../../../tests/shapes/mod.rs"]
mod shapes;

fn module(text: &str) -> Module {
    let checked = cushim_ptx::parse(text).and_then(|tree| cushim_ptx::check(&tree));
    checked.unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn kernel(module: &Module) -> u32 {
    module.functions.iter().position(|f| f.entry).unwrap() as u32
}

/// For each region, where other lanes may wait; which registers are blended; and the shape of each register.
type Plain = (Vec<BTreeSet<usize>>, Vec<Set>, Vec<Option<Shape<()>>>);

fn plain(f: &Function, regions: &[Region], layout: Layout) -> Plain {
    let n = regions.len();
    let classes: Vec<Class> = f.registers.iter().map(|t| Class::of(*t)).collect();
    let fair = spin::may_spin(f, regions);
    let low = super::low::Low::of(f, layout);
    let mut facts = Facts {
        f,
        layout,
        low: &low,
        regions,
        classes: &classes,
        fair,
        local_is_generic: super::local_is_generic(f),
        shapes: vec![None; f.registers.len()],
        above: vec![Set::new(); n],
        parked: Set::new(),
        blend: vec![Set::new(); n],
        left: vec![false; n],
    };
    for r in regions[0].live_in.iter() {
        facts.shapes[r] = Some(Shape::Uniform(()));
    }
    let nowhere = if fair { (0..n).collect() } else { BTreeSet::new() };
    let mut waiting: Vec<BTreeSet<usize>> = vec![nowhere; n];
    loop {
        let before = (waiting.clone(), facts.blend.clone(), facts.shapes.clone());
        for (k, waiting) in waiting.iter().enumerate() {
            // Only whether these sets are empty matters.
            facts.above[k] = waiting.iter().copied().collect();
            for p in waiting {
                facts.blend[k].unite(&regions[*p].live_in);
            }
        }
        for (k, region) in regions.iter().enumerate() {
            for at in region.writers() {
                let inst = &f.code[at];
                let Some(result) = facts.result(inst, k) else { continue };
                for (n, r) in writes(inst).enumerate() {
                    let parted = region.live_out.has(r as usize) && facts.blend[k].has(r as usize);
                    let guarded = inst.guard.is_some_and(|(p, _)| !facts.is_uniform(p));
                    let lanes = n > 0 || classes[r as usize] == Class::Predicate;
                    let shape = match &result {
                        _ if parted || guarded => Shape::Varying,
                        Shape::Uniform(()) => Shape::Uniform(()),
                        _ if lanes => Shape::Varying,
                        other => other.clone(),
                    };
                    facts.lower(r, shape);
                }
            }
        }
        let waits =
            |k: &usize| !waiting[*k].is_empty() && matches!(regions[*k].term, Term::Wait { .. });
        let parked: Vec<usize> =
            (0..n).filter(waits).flat_map(|k| regions[k].next.clone()).collect();
        waiting.iter_mut().for_each(|w| w.extend(&parked));
        for (k, region) in regions.iter().enumerate() {
            let groups: Vec<Vec<usize>> = if facts.parts(&region.term) {
                vec![region.next.clone()]
            } else {
                region.next.iter().map(|s| vec![*s]).collect()
            };
            for group in groups {
                let all: BTreeSet<usize> = waiting[k].iter().copied().chain(group).collect();
                for t in &all {
                    waiting[*t].extend(all.range(t + 1..));
                }
            }
        }
        if before == (waiting.clone(), facts.blend.clone(), facts.shapes.clone()) {
            let Facts { blend, shapes, .. } = facts;
            return (waiting, blend, shapes);
        }
    }
}

/// Compares a plan with the rules.
fn holds(name: &str, f: &Function, layout: Layout) {
    let plan = Plan::new(f, layout);
    let (waiting, blend, shapes) = plain(f, &plan.regions, layout);
    for (r, shape) in shapes.into_iter().enumerate() {
        assert_eq!(plan.shapes[r], shape.unwrap_or(Shape::Uniform(())), "{name}: r{r}");
    }
    for (k, p) in plan.regions.iter().enumerate() {
        assert_eq!(plan.alone[k], waiting[k].is_empty(), "{name}: region {k}");
        for r in p.writers().flat_map(|at| writes(&f.code[at])).map(|r| r as usize) {
            if p.live_out.has(r) {
                assert_eq!(plan.blend[k].has(r), blend[k].has(r), "{name}: region {k}, r{r}");
            }
        }
    }
    lives(name, f, &plan.regions);
}

/// A register is live if some path reads it before it is written.
fn lives(name: &str, f: &Function, regions: &[Region]) {
    let mut list = Vec::new();
    let mut live = vec![(BTreeSet::new(), BTreeSet::new()); regions.len()];
    loop {
        let before = live.clone();
        for (k, p) in regions.iter().enumerate() {
            let mut now: BTreeSet<usize> = p.next.iter().flat_map(|s| live[*s].0.clone()).collect();
            live[k].1.clone_from(&now);
            match &p.term {
                Term::Branch { guard, .. } => {
                    now.insert(guard.0 as usize);
                }
                Term::Table { inst, .. } | Term::Wait { inst, .. } => {
                    region::reads(&f.code[*inst], &mut list);
                    now.extend(list.iter().map(|r| *r as usize));
                }
                Term::Jump(_) => {}
            }
            for at in (p.start..p.end).rev() {
                let inst = &f.code[at];
                if inst.guard.is_none() {
                    writes(inst).for_each(|r| {
                        now.remove(&(r as usize));
                    });
                } else {
                    now.extend(writes(inst).map(|r| r as usize));
                }
                region::reads(inst, &mut list);
                now.extend(list.iter().map(|r| *r as usize));
            }
            if let Some(inst) = p.result {
                writes(&f.code[inst]).for_each(|r| {
                    now.remove(&(r as usize));
                });
            }
            live[k].0 = now;
        }
        if before == live {
            break;
        }
    }
    for (k, p) in regions.iter().enumerate() {
        assert!(p.live_in.iter().eq(live[k].0.iter().copied()), "{name}: region {k}");
        assert!(p.live_out.iter().eq(live[k].1.iter().copied()), "{name}: region {k}");
    }
}

#[test]
fn plans_of_all_shapes_satisfy_the_rules() {
    for (name, make) in shapes::ALL {
        let module = module(&make(150));
        let lowered = crate::simt::calls::lower(&module, kernel(&module)).unwrap();
        for layout in [Layout::Row, Layout::Rows(4), Layout::Any] {
            holds(name, &lowered.function, layout);
        }
    }
}

/// Branches that go anywhere, on what may be uniform or not, with barriers and lanes that exchange values between.
fn random(seed: u64) -> String {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut pick = |below: u64| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 20) % below
    };
    let blocks = 3 + pick(12);
    let mut text = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u32 n) {\n.reg .b32 %r<8>; .reg .pred %p<3>;\n\
         mov.u32 %r0, %tid.x; ld.param.u32 %r1, [n]; mov.u32 %r2, %laneid;\n",
    );
    for b in 0..blocks {
        text += &format!("L{b}:\n");
        for _ in 0..pick(5) {
            let (d, s, t, p) = (pick(8), pick(8), pick(8), pick(3));
            text += &match pick(12) {
                0 => format!("setp.lt.u32 %p{p}, %r{s}, %r{t};\n"),
                1 => format!("@%p{p} mov.u32 %r{d}, %r{s};\n"),
                2 => format!("shl.b32 %r{d}, %r{s}, {t};\n"),
                3 => "bar.sync 0;\n".into(),
                4 => format!("shfl.sync.bfly.b32 %r{d}, %r{s}, 1, 31, -1;\n"),
                5 => format!("vote.sync.any.pred %p{p}, %p{}, -1;\n", pick(3)),
                6 => format!("bar.red.popc.u32 %r{d}, 0, %p{p};\n"),
                7 if seed.is_multiple_of(4) => format!("atom.shared.add.u32 %r{d}, [%r{s}], 1;\n"),
                8 => format!("mov.u32 %r{d}, {t};\n"),
                9 => format!("ld.param.u32 %r{d}, [n];\n"),
                _ => format!("add.u32 %r{d}, %r{s}, %r{t};\n"),
            };
        }
        let (p, to) = (pick(3), pick(blocks));
        text += &match pick(8) {
            0 => format!("bra L{to};\n"),
            1 => format!(
                "T{b}: .branchtargets L{to}, L{}, L{};\nbrx.idx %r{}, T{b};\n",
                pick(blocks),
                pick(blocks),
                pick(8)
            ),
            2 => format!("@%p{p} ret;\n"),
            3 => String::new(),
            _ => format!("@%p{p} bra L{to};\n"),
        };
    }
    text + "ret;\n}\n"
}

#[test]
fn plans_of_random_graphs_satisfy_the_rules() {
    for seed in 0..1500 {
        let module = module(&random(seed));
        let f = &module.functions[0];
        holds(
            &format!("seed {seed}"),
            f,
            [Layout::Row, Layout::Rows(8), Layout::Any][seed as usize % 3],
        );
    }
}

/// Steps of one phase after the other for a kernel of about so many instructions, and how many it has without calls.
fn steps(make: fn(usize) -> String, size: usize) -> (u64, Vec<(&'static str, u64)>) {
    work::listen(|| Duration::ZERO);
    let module = module(&make(size));
    work::mark("check");
    let lowered = crate::simt::calls::lower(&module, kernel(&module)).unwrap();
    work::mark("calls");
    Plan::new(&lowered.function, Layout::Row);
    work::mark("plan");
    let count = lowered.function.code.len().max(size) as u64;
    (count, work::heard().into_iter().map(|p| (p.name, p.steps)).collect())
}

/// A bound that is small compared with compiling an instruction, which takes tens of microseconds. So much may grow
/// faster: sets have a word for 64 members, and regions have sets.
const CHEAP: u64 = 250;
/// No instruction takes more.
const MOST: u64 = 640;

/// Twice the code takes twice the steps, and a little more; four times would be one that looks at all for each.
#[test]
fn steps_grow_as_code_does() {
    let mut grew = Vec::new();
    for (name, make) in shapes::ALL {
        let ((_, small), (count, large)) = (steps(*make, 2000), steps(*make, 4000));
        for ((phase, a), (_, b)) in small.into_iter().zip(large) {
            let grows = b as f64 / a.max(1) as f64;
            println!("{name:20} {phase:8} {count:6} {a:9} {b:9} {grows:5.2}");
            if b > CHEAP * count && grows > 2.7 || b > MOST * count {
                grew.push(format!("{name}, {phase}: {a} steps, then {b} for {count} instructions"));
            }
        }
    }
    assert!(grew.is_empty(), "{grew:#?}");
}

#[test]
fn warps_began_at_the_last_barrier_or_anywhere() {
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.entry k() {\n.reg .u32 %r<4>; .reg .pred %p;\n\
        mov.u32 %r0, %tid.x; setp.lt.u32 %p, %r0, 7; @%p bra A;\n\
        mov.u32 %r1, 1; bar.sync 0; A: bar.sync 0;\n\
        L: add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, 9; @%p bra L; bar.sync 0; ret; }";
    let module = module(text);
    let f = &module.functions[kernel(&module) as usize];
    let regions = region::cut(f, &|_| false);
    let found = region::begun(f, &regions);
    // Each region by the ways that lead to it, all of them walked.
    for (k, found) in found.iter().enumerate() {
        let (mut from, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut left = vec![(0, 0)];
        while let Some((at, begun)) = left.pop() {
            if !seen.insert((at, begun)) {
                continue;
            }
            if at == k {
                from.insert(begun);
            }
            let barrier = matches!(regions[at].term, Term::Wait { .. });
            left.extend(regions[at].next.iter().map(|n| (*n, if barrier { *n } else { begun })));
        }
        let one = if from.len() == 1 { from.first().copied() } else { None };
        assert_eq!(*found, one, "region {k}: {from:?}");
    }
    let several = found.iter().filter(|n| n.is_none()).count();
    assert!(several > 0 && several < found.len(), "{found:?}");
}

/// A loop whose bound comes from a generic address that all lanes have: its collectives find all lanes, unless a generic
/// address may be one of local memory.
#[test]
fn a_generic_load_of_one_address_gives_one_value_where_no_local_memory_is_generic() {
    let text = |local: &str| {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 from) {{
             .reg .u64 p; .reg .u64 x; .reg .u32 n; .reg .u32 v; .reg .pred c; .local .align 8 .b8 l[8];
             mov.u64 x, l; {local} ld.param.u64 p, [from]; ld.u32 n, [p]; mov.u32 v, %tid.x;
             L: shfl.sync.down.b32 v, v, 3, 31, -1; sub.u32 n, n, 1; setp.gt.s32 c, n, 0; @c bra L;
             st.u32 [p], v; ret; }}"
        )
    };
    for (local, alone) in [("", true), ("cvta.local.u64 x, x;", false)] {
        let module = module(&text(local));
        let plan = Plan::new(&module.functions[kernel(&module) as usize], Layout::Rows(1));
        assert_eq!(
            (plan.local_is_generic, plan.alone.iter().all(|a| *a)),
            (!alone, alone),
            "{local}"
        );
    }
}
