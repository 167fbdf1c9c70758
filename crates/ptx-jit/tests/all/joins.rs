//! An instruction with a result that is the last one before a branch target: lanes that jump there keep their values.
//!
//! The code may write the results of waiting lanes where lanes join again. Lanes that come by the jump, or whose guard is
//! false, must not get such a result, whichever lanes arrive first. Interpreted, and compiled by both code generators.

use crate::common;

use common::Device;

const THREADS: u32 = 64;

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n
 .global .align 8 .b32 cells[64];
 .func (.param .b32 o) twice(.param .b32 a) { .reg .b32 x; ld.param.b32 x, [a]; add.u32 x, x, x; st.param.b32 [o], x; ret; }
 .func (.param .b32 o) down(.param .b32 a) { .reg .b32 x; .reg .pred z; ld.param.b32 x, [a]; setp.eq.u32 z, x, 0; @z bra E;
   sub.u32 x, x, 1; { .param .b32 i; .param .b32 u; st.param.b32 [i], x; call (u), down, (i); ld.param.b32 x, [u]; }
   add.u32 x, x, 3; E: st.param.b32 [o], x; ret; }\n";

/// A kernel in which the threads for which `jumps` holds skip `code`, by a jump or by its guards.
fn text(jumps: &str, code: &str) -> String {
    format!(
        "{HEAD}.entry k(.param .u64 out) {{
         .reg .pred p, q, s; .reg .b32 tid, lane, warp, r, t, m; .reg .b64 to, w, g, st; .shared .align 8 .b64 bar[2];
         ld.param.u64 to, [out]; mov.u32 tid, %tid.x; mov.u32 lane, %laneid; shr.u32 warp, tid, 5;
         mul.wide.u32 w, tid, 8; add.u64 to, to, w; add.u32 r, tid, 1000; and.b32 t, tid, 1; setp.ne.u32 q, t, 0;
         mul.wide.u32 w, tid, 4; mov.u64 g, cells; add.u64 g, g, w; setp.ne.u32 s, tid, 0;
         @!s mbarrier.init.shared.b64 [bar], 64; setp.ge.u32 s, lane, 100; bar.sync 0;
         {jumps};\n {code}\n
         st.global.u32 [to], r; selp.u32 t, 1, 0, s; st.global.u32 [to+4], t; ret; }}"
    )
}

/// Code that selects the jumping threads, and the same selection in Rust.
type Jump = (&'static str, fn(u32) -> bool);

/// The upper half of each warp jumps; the whole first warp jumps; single lanes jump.
const JUMPS: [Jump; 3] = [
    ("setp.ge.u32 p, lane, 16", |t| t % 32 >= 16),
    ("setp.eq.u32 p, warp, 0", |t| t < 32),
    ("and.b32 m, lane, 3; setp.eq.u32 p, m, 1", |t| t % 4 == 1),
];

/// The mask of the second warp's lanes that do not jump, and the number of threads in warps that have such lanes.
fn members(jumps: fn(u32) -> bool) -> (u32, u32) {
    let mask = (32..64).filter(|t| !jumps(*t)).fold(0, |m, t| m | 1 << (t - 32));
    (mask, 32 * (0..2).filter(|w| (32 * w..32 * w + 32).any(|t| !jumps(t))).count() as u32)
}

/// `instruction` writes `r` and `s`; `expected` computes them from the thread's number and the mask.
#[track_caller]
fn check(instruction: &str, expected: impl Fn(u32, u32) -> (u32, bool)) {
    for (jump, jumps) in JUMPS {
        let (mask, count) = members(jumps);
        let one =
            instruction.replace("MASK", &mask.to_string()).replace("COUNT", &count.to_string());
        let ways = [
            format!("@p bra L;\n {one};\nL:"),
            // The jumping lanes wait at the end of the same path.
            format!("@!p bra M;\n bra L;\nM: {one};\nL:"),
            // Under a guard, if it is a single instruction.
            if one.contains(';') { String::new() } else { format!("@!p {one};") },
        ];
        for code in ways.iter().filter(|c| !c.is_empty()) {
            let device = Device::new(&text(jump, code));
            let out = device.alloc(u64::from(8 * THREADS));
            for better in [false, true] {
                let number = device.find("k");
                if better {
                    device.kernel(number).unwrap().improve([THREADS, 1, 1]).unwrap();
                }
                device.launch("k", 1, THREADS, &[out]).unwrap_or_else(|e| panic!("{code}: {e}"));
                let got = device.u32s(out, 2 * THREADS as usize);
                for t in 0..THREADS {
                    let (r, s) = match jumps(t) {
                        true => (1000 + t, false),
                        false => expected(t, mask),
                    };
                    let at = 2 * t as usize;
                    assert_eq!(
                        (got[at], got[at + 1]),
                        (r, s.into()),
                        "{jump}: {code}: thread {t}, better: {better}"
                    );
                }
            }
        }
    }
}

/// The number of odd threads among those that do not jump.
fn odd(jumps: fn(u32) -> bool) -> u32 {
    (0..THREADS).filter(|t| !jumps(*t) && t % 2 == 1).count() as u32
}

#[test]
fn barriers_that_reduce() {
    for (jump, jumps) in JUMPS {
        let (_, count) = members(jumps);
        for (code, r, s) in [
            (format!("barrier.cta.red.popc.u32 r, 1, {count}, q"), Some(odd(jumps)), false),
            (format!("barrier.cta.red.or.pred s, 1, {count}, q"), None, odd(jumps) > 0),
            (format!("barrier.cta.red.and.pred s, 1, {count}, !q"), None, odd(jumps) == 0),
        ] {
            for code in [format!("@p bra L;\n {code};\nL:"), format!("@!p {code};")] {
                let device = Device::new(&text(jump, &code));
                let out = device.alloc(u64::from(8 * THREADS));
                for better in [false, true] {
                    if better {
                        device.kernel(device.find("k")).unwrap().improve([THREADS, 1, 1]).unwrap();
                    }
                    device
                        .launch("k", 1, THREADS, &[out])
                        .unwrap_or_else(|e| panic!("{code}: {e}"));
                    let got = device.u32s(out, 2 * THREADS as usize);
                    for t in 0..THREADS {
                        let own = (1000 + t, 0);
                        let want = if jumps(t) { own } else { (r.unwrap_or(own.0), s.into()) };
                        let at = 2 * t as usize;
                        assert_eq!(
                            (got[at], got[at + 1]),
                            want,
                            "{jump}: {code}: thread {t}, better: {better}"
                        );
                    }
                }
            }
        }
    }
}

/// Each warp has its own barrier; both complete at the same time.
#[test]
fn barriers_that_are_complete_together() {
    let code = "add.u32 t, warp, 1; @p bra L;\n barrier.cta.red.popc.u32 r, t, 32, q;\nL:";
    let device = Device::new(&text("setp.eq.u32 p, lane, 99; setp.lt.u32 q, tid, 40", code));
    let out = device.alloc(u64::from(8 * THREADS));
    for better in [false, true] {
        if better {
            device.kernel(device.find("k")).unwrap().improve([THREADS, 1, 1]).unwrap();
        }
        device.launch("k", 1, THREADS, &[out]).unwrap();
        let got = device.u32s(out, 2 * THREADS as usize);
        for t in 0..THREADS as usize {
            assert_eq!(got[2 * t], if t < 32 { 32 } else { 8 }, "thread {t}, better: {better}");
        }
    }
}

#[test]
fn votes_and_shuffles() {
    let least = |m: u32| m.trailing_zeros();
    check("vote.sync.ballot.b32 r, q, MASK", |_, m| (m & 0xaaaa_aaaa, false));
    check("vote.sync.any.pred s, q, MASK", |t, m| (1000 + t, m & 0xaaaa_aaaa != 0));
    check("vote.sync.all.pred s, q, MASK", |t, m| (1000 + t, m & !0xaaaa_aaaa == 0));
    check("match.any.sync.b32 r, r, MASK", |t, _| (1 << (t % 32), false));
    check("redux.sync.max.u32 r, r, MASK", |t, m| {
        (1000 + (t & 32) + 31 - m.leading_zeros(), false)
    });
    check("redux.sync.min.u32 r, r, MASK", move |t, m| (1000 + (t & 32) + least(m), false));
    let first = |t: u32, m: u32| 1000 + (t & 32) + least(m);
    check("shfl.sync.idx.b32 r, r, 0, 0x1f, MASK", move |t, m| (first(t, m), false));
    check("shfl.sync.idx.b32 r|s, r, 0, 0x1f, MASK", |t, m| (first(t, m), true));
}

#[test]
fn atomics_loads_and_calls() {
    check("atom.global.or.b32 r, [g], 0", |_, _| (0, false));
    check("atom.global.add.u32 r, [g], 0; ld.global.b32 r, [g]", |_, _| (0, false));
    check("activemask.b32 r; mov.u32 r, 9", |_, _| (9, false));
    check(
        "{ .param .b32 i, u; st.param.b32 [i], r; call (u), twice, (i); ld.param.b32 r, [u]; }",
        |t, _| (2000 + 2 * t, false),
    );
    check(
        "{ .param .b32 i, u; st.param.b32 [i], lane; call (u), down, (i); ld.param.b32 r, [u]; }",
        |t, _| (3 * (t % 32), false),
    );
}

/// The code makes guards of short branches round loads.
#[test]
fn loads_behind_a_branch() {
    // A row, one address for all lanes, and a sum of the loaded values.
    check("ld.global.u32 r, [g]", |_, _| (0, false));
    check("ld.global.u32 r, [cells+8]", |_, _| (0, false));
    check("add.u64 st, g, 0; ld.global.u32 r, [st]; add.u32 r, r, tid", |t, _| (t, false));
    check("st.global.u32 [g], tid; ld.global.u32 r, [g]", |t, _| (t, false));
    // Addresses of lanes' own; those of lanes that jump are nowhere.
    check("selp.b64 st, 8, g, p; ld.global.u32 r, [st]", |_, _| (0, false));
    // Two loads, and a predicate of the loaded values.
    check("ld.global.u32 t, [g]; ld.global.u32 r, [cells]; setp.eq.u32 s, r, t", |_, _| (0, true));
}
