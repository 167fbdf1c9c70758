//! Visibility of writes after synchronisation: each thread writes, all synchronise, each reads another's value, for many rounds.
//!
//! Synchronisation by barriers of a block (all threads, pairs of warps, one side only arrives), by barrier objects, and of
//! all blocks as in cooperative groups. Interpreted, and compiled by both code generators; blocks run concurrently.
//! Only the synchronisation orders the accesses, which are weak.

use crate::common;

use common::Device;

const THREADS: u32 = 256;
const ROUNDS: u32 = 60;

/// A kernel that runs `code` for this many rounds and counts wrong reads in `bad`. `i` is the thread's number, `n` the
/// round's; each thread writes both numbers in one value.
fn text(code: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.global .align 8 .b32 cells[2048]; .global .b32 gate;
         .entry k(.param .u64 out) {{
         .reg .pred p, q, more; .reg .b32 i, j, n, a, b, bad, all, t, warp; .reg .b64 out, g, w, mine, other, st;
         .shared .align 8 .b32 s[256]; .shared .align 8 .b64 full, empty;
         ld.param.u64 out, [out_]; mov.u32 i, %tid.x; shr.u32 warp, i, 5; mov.u32 bad, 0; mov.u32 n, 0;
         mov.u32 t, %ctaid.x; mad.lo.u32 all, t, {THREADS}, i; mov.u64 g, cells; mul.wide.u32 w, all, 4;
         add.s64 mine, g, w; setp.ne.u32 p, i, 0;
         @!p mbarrier.init.shared.b64 [full], 128; @!p mbarrier.init.shared.b64 [empty], 128; bar.sync 0;
         L:\n {code}
         add.u32 n, n, 1; setp.lt.u32 more, n, {ROUNDS}; @more bra L;
         mul.wide.u32 w, all, 8; add.s64 out, out, w; st.global.u32 [out], bad; st.global.u32 [out+4], n; ret; }}"
    )
    .replace("k(.param .u64 out)", "k(.param .u64 out_)")
}

/// PTX that writes this round's value of thread `i` to `at`; `read` compares the value of thread `j`.
fn write(space: &str, at: &str) -> String {
    format!("mad.lo.u32 a, n, 4096, i; st.{space}.u32 [{at}], a;")
}

fn read(space: &str, from: &str) -> String {
    format!(
        "ld.{space}.u32 b, [{from}]; mad.lo.u32 a, n, 4096, j; setp.ne.u32 q, a, b; @q add.u32 bad, bad, 1;"
    )
}

/// All threads of each block see the round's writes.
#[track_caller]
fn check(blocks: u32, cooperative: bool, code: &str) {
    for better in [false, true] {
        let mut device = Device::new(&text(code));
        device.threads = 4;
        let out = device.alloc(u64::from(blocks * THREADS * 8));
        if better {
            device.kernel(device.find("k")).unwrap().improve([THREADS, 1, 1]).unwrap();
        }
        let shape = ([blocks, 1, 1], [THREADS, 1, 1]);
        device.launch_with("k", shape.0, shape.1, 0, cooperative, &[out]).unwrap();
        let got = device.u32s(out, (blocks * THREADS * 2) as usize);
        for (t, pair) in got.chunks(2).enumerate() {
            assert_eq!(pair, [0, ROUNDS], "thread {t}, better: {better}");
        }
    }
}

/// PTX for the address of a thread's cell in shared memory.
fn cell(of: &str, to: &str) -> String {
    format!("shl.b32 {to}, {of}, 2; mov.u32 b, s; add.u32 {to}, {to}, b;")
}

#[test]
fn threads_of_a_block() {
    for (space, other) in [
        ("shared", cell("j", "t")),
        ("global", "mul.wide.u32 w, j, 4; add.s64 other, g, w;".to_string()),
    ] {
        let (own, at, from) = match space {
            "shared" => (cell("i", "t"), "t", "t"),
            _ => (String::new(), "mine", "other"),
        };
        for step in [1, 37, 128] {
            let neighbour = format!("add.u32 j, i, {step}; and.b32 j, j, 255;");
            for wait in ["bar.sync 0;", "barrier.cta.sync 3;", "bar.red.popc.u32 t, 0, p;"] {
                check(
                    1,
                    false,
                    &format!(
                        "{own} {} {wait} {neighbour} {other} {} {wait}",
                        write(space, at),
                        read(space, from)
                    ),
                );
            }
        }
    }
}

#[test]
fn pairs_of_warps() {
    // Each pair of warps has its own barrier.
    check(
        1,
        false,
        &format!(
            "{} {} shr.u32 a, i, 6; add.u32 a, a, 1; bar.sync a, 64; xor.b32 j, i, 32; {} {}
         shr.u32 a, i, 6; add.u32 a, a, 1; bar.sync a, 64;",
            cell("i", "t"),
            write("shared", "t"),
            cell("j", "t"),
            read("shared", "t")
        ),
    );
}

/// The upper half writes and only arrives; the lower half waits, reads, and signals that it has read.
#[test]
fn those_that_give_and_those_that_take() {
    check(
        1,
        false,
        &format!(
            "setp.ge.u32 p, i, 128; @!p bra TAKE;
         bar.sync 2, 256; {} {} bar.arrive 1, 256; bra DONE;
         TAKE: bar.arrive 2, 256; bar.sync 1, 256; add.u32 j, i, 128; {} {}
         DONE:",
            cell("i", "t"),
            write("shared", "t"),
            cell("j", "t"),
            read("shared", "t")
        ),
    );
}

/// The same with barrier objects: an arrival releases, a wait acquires.
#[test]
fn barrier_objects() {
    for wait in ["mbarrier.test_wait.parity", "mbarrier.try_wait.parity.acquire.cta"] {
        check(
            1,
            false,
            &format!(
                "setp.ge.u32 p, i, 128; and.b32 a, n, 1; xor.b32 t, a, 1; @!p bra TAKE;
             EMPTY: {wait}.shared::cta.b64 q, [empty], t; @!q bra EMPTY;
             {} {} mbarrier.arrive.shared.b64 st, [full]; bra DONE;
             TAKE: FULL: {wait}.shared::cta.b64 q, [full], a; @!q bra FULL;
             add.u32 j, i, 128; {} {} mbarrier.arrive.shared.b64 st, [empty];
             DONE:",
                cell("i", "t"),
                write("shared", "t"),
                cell("j", "t"),
                read("shared", "t")
            ),
        );
    }
}

/// All blocks synchronise: the first thread of each block counts and waits, the block's others wait for it.
#[test]
fn blocks_of_a_cooperative_grid() {
    const BLOCKS: u32 = 4;
    for (before, add, look, after) in [
        (
            "fence.acq_rel.gpu;",
            "red.relaxed.gpu.global.add.u32",
            "ld.relaxed.gpu.global.u32",
            "fence.acq_rel.gpu;",
        ),
        ("", "red.release.gpu.global.add.u32", "ld.acquire.gpu.global.u32", ""),
        ("membar.gl;", "red.global.add.u32", "ld.volatile.global.u32", "membar.gl;"),
    ] {
        // Each block adds one at each synchronisation, and `n` rounds went before.
        let meet = |which: u32| {
            format!(
                "bar.sync 0; setp.ne.u32 p, i, 0; @p bra MET{which};
                 {before} mov.u64 w, gate; {add} [w], 1; mad.lo.u32 t, n, 2, {which}; mul.lo.u32 t, t, {BLOCKS};
                 SPIN{which}: {look} b, [w]; setp.lt.u32 q, b, t; @q bra SPIN{which}; {after}
                 MET{which}: bar.sync 0;"
            )
        };
        // The next block's cell.
        check(
            BLOCKS,
            true,
            &format!(
                "{} {} add.u32 j, all, {THREADS}; and.b32 j, j, {}; mul.wide.u32 w, j, 4; add.s64 other, g, w; {} {}",
                write("global", "mine").replace("4096, i", "4096, all"),
                meet(1),
                BLOCKS * THREADS - 1,
                read("global", "other"),
                meet(2)
            ),
        );
    }
}

/// One lane signals for its warp: the writes of all lanes before they converge are visible after the first lane sets
/// the flag. Each round uses other memory, and the other block replies, so that it always reads when the flag is set.
#[test]
fn a_lane_that_speaks_for_its_warp() {
    const ROUNDS: u32 = 4000;
    for (release, acquire) in [
        ("st.release.gpu.global.u32 [g], t", "ld.acquire.gpu.global.u32 t, [g]"),
        (
            "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [g], t",
            "ld.relaxed.gpu.global.u32 t, [g]; fence.acq_rel.gpu",
        ),
        ("st.release.gpu.global.u32 [g], t", "ld.volatile.global.u32 t, [g]; membar.gl"),
    ] {
        let text = format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n.global .align 8 .b32 flags[64];
             .entry k(.param .u64 out_, .param .u64 data) {{
             .reg .pred p, q, lead, more; .reg .b32 lane, n, t, b, bad; .reg .b64 g, h, w, out, d;
             ld.param.u64 out, [out_]; ld.param.u64 d, [data]; mov.u32 lane, %laneid; mul.wide.u32 w, lane, 4;
             add.s64 d, d, w; add.s64 out, out, w; mov.u64 g, flags; add.s64 h, g, 128; setp.ne.u32 lead, lane, 0;
             mov.u32 t, %ctaid.x; setp.ne.u32 p, t, 0; mov.u32 n, 0; mov.u32 bad, 0; @p bra TAKE;
             GIVE: add.u32 t, n, 1; st.global.u32 [d], t; bar.warp.sync -1; @lead bra GAVE; {release};
             ANSWER: ld.acquire.gpu.global.u32 b, [h]; setp.ne.u32 q, b, t; @q bra ANSWER;
             GAVE: bar.warp.sync -1; add.s64 d, d, 128; add.u32 n, n, 1; setp.lt.u32 more, n, {ROUNDS}; @more bra GIVE;
             bra END;
             TAKE: @lead bra SEEN;
             LOOK: {acquire}; setp.le.u32 q, t, n; @q bra LOOK;
             SEEN: bar.warp.sync -1; ld.global.u32 b, [d]; add.u32 t, n, 1; setp.ne.u32 q, b, t; @q add.u32 bad, bad, 1;
             bar.warp.sync -1; @!lead st.release.gpu.global.u32 [h], t;
             add.s64 d, d, 128; add.u32 n, n, 1; setp.lt.u32 more, n, {ROUNDS}; @more bra TAKE;
             st.global.u32 [out], bad;
             END: ret; }}"
        );
        for better in [false, true] {
            let mut device = Device::new(&text);
            device.threads = 2;
            let (out, data) = (device.alloc(128), device.alloc(u64::from(128 * ROUNDS)));
            if better {
                device.kernel(device.find("k")).unwrap().improve([32, 1, 1]).unwrap();
            }
            device.launch_with("k", [2, 1, 1], [32, 1, 1], 0, true, &[out, data]).unwrap();
            assert_eq!(device.u32s(out, 32), [0; 32], "{release}, better: {better}");
        }
    }
}
