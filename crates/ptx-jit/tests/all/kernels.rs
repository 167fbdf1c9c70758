//! Whole kernels, compiled and interpreted, on blocks of several shapes.

use crate::common;

use common::Device;

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

#[test]
fn vector_sum_and_saxpy() {
    let text = format!(
        "{HEAD}
        .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n) {{
          .reg .pred p; .reg .b32 r<6>; .reg .b64 d<6>; .reg .f32 f<5>;
          ld.param.u64 d1, [x]; ld.param.u64 d2, [y]; ld.param.f32 f1, [a]; ld.param.u32 r5, [n];
          mov.u32 r1, %ctaid.x; mov.u32 r2, %ntid.x; mov.u32 r3, %tid.x;
          mad.lo.s32 r4, r1, r2, r3;
          setp.ge.s32 p, r4, r5;
          @p bra OUT;
          cvta.to.global.u64 d3, d1; cvta.to.global.u64 d4, d2;
          mul.wide.s32 d5, r4, 4;
          add.s64 d3, d3, d5; add.s64 d4, d4, d5;
          ld.global.f32 f2, [d3]; ld.global.f32 f3, [d4];
          fma.rn.f32 f4, f1, f2, f3;
          st.global.f32 [d4], f4;
        OUT: ret; }}"
    );
    for (grid, block, n) in [(1, 32, 32), (4, 64, 256), (3, 100, 290), (5, 7, 33), (2, 256, 512)] {
        let d = Device::new(&text);
        let x: Vec<f32> = (0..n).map(|i| i as f32 * 0.5 - 7.0).collect();
        let y: Vec<f32> = (0..n).map(|i| 1.0 / (i as f32 + 1.0)).collect();
        let (px, py) = (d.upload(&x, |v| v.to_le_bytes()), d.upload(&y, |v| v.to_le_bytes()));
        let a = 2.5f32;
        d.launch("saxpy", grid, block, &[px, py, a.to_bits().into(), n as u64]).unwrap();
        let got = d.f32s(py, n as usize);
        for i in 0..n as usize {
            let expected = if i < (grid * block) as usize { a.mul_add(x[i], y[i]) } else { y[i] };
            assert_eq!(got[i], expected, "{i}");
        }
    }
}

fn fixture(name: &str) -> Device {
    Device::new(match name {
        "warps" => include_str!("../../../ptx/tests/fixtures/warps.ptx"),
        _ => include_str!("../../../ptx/tests/fixtures/memory.ptx"),
    })
}

#[test]
fn a_lane_may_wait_for_another_lane() {
    let d = fixture("warps");
    let flags = d.alloc(4 * 128);
    d.launch("relay", 1, 128, &[flags]).unwrap();
    assert_eq!(d.u32s(flags, 128), (1..=128).rev().collect::<Vec<u32>>());
}

#[test]
fn locks_are_taken_in_turn() {
    for threads in [1, 3] {
        let mut d = fixture("warps");
        d.threads = threads;
        let (lock, count) = (d.alloc(4), d.alloc(4));
        d.launch("lock", 4, 70, &[lock, count]).unwrap();
        assert_eq!((d.u32s(count, 1)[0], d.u32s(lock, 1)[0]), (280, 0));
    }
}

#[test]
fn scan_in_shared_memory() {
    let d = fixture("warps");
    for n in [1u32, 31, 32, 33, 200, 1024] {
        let values: Vec<u32> = (0..n).map(|i| i * i % 91).collect();
        let data = d.upload(&values, |v| v.to_le_bytes());
        d.launch_with("scan", [1; 3], [n, 1, 1], n * 4, false, &[data]).unwrap();
    }
}

#[test]
fn named_barriers_and_meeting_lanes() {
    let d = fixture("warps");
    let out = d.alloc(4 * 96);
    d.launch("named", 1, 96, &[out]).unwrap();
    let out = d.alloc(8 * 32);
    d.launch("meet", 1, 32, &[out]).unwrap();
}

#[test]
fn blocks_may_wait_for_blocks() {
    for threads in [1, 2, 4] {
        let mut d = fixture("warps");
        d.threads = threads;
        for (n, cooperative, reverse) in [(40, false, 0), (40, true, 1), (20, false, 1)] {
            let flags = d.alloc(4 * 40);
            d.launch_with("chain", [n, 1, 1], [1; 3], 0, cooperative, &[flags, reverse]).unwrap();
        }
    }
}

#[test]
fn a_deadlock_is_an_error() {
    let d = fixture("warps");
    let fault = d.launch("stuck", 1, 64, &[]).unwrap_err().to_string();
    assert!(fault.starts_with("deadlock: every thread waits for another; "), "{fault}");
}

#[test]
fn spaces_tables_and_atomics() {
    let d = fixture("memory");
    let out = d.alloc(4 * 64);
    d.launch("jump", 1, 8, &[out]).unwrap();
    d.launch("spaces", 1, 40, &[5 << 32, out]).unwrap();
    let cells = d.alloc(4 * 12);
    d.launch("atomics", 1, 32, &[cells]).unwrap();
}

#[test]
fn tiled_matrix_product() {
    let d = fixture("memory");
    let n = 32;
    let a: Vec<f32> = (0..n * n).map(|i| (i % 13) as f32 - 6.0).collect();
    let b: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32 * 0.25).collect();
    let (pa, pb) = (d.upload(&a, |v| v.to_le_bytes()), d.upload(&b, |v| v.to_le_bytes()));
    let pc = d.alloc(4 * 1024);
    d.launch_with("matmul", [2, 2, 1], [16, 16, 1], 0, false, &[pa, pb, pc]).unwrap();
}

#[test]
fn a_wrong_address_is_a_fault_that_names_the_thread() {
    let text = format!(
        "{HEAD}
        .entry k(.param .u64 out, .param .u32 step) {{
          .reg .b64 d<4>; .reg .b32 r<4>;
          ld.param.u64 d1, [out]; ld.param.u32 r2, [step];
          mov.u32 r1, %tid.x; mul.lo.s32 r2, r1, r2;
          mul.wide.u32 d2, r2, 4; add.s64 d3, d1, d2;
          st.global.u32 [d3], r1; ret; }}
        .entry one(.param .u64 out) {{
          .reg .b64 d<4>; .reg .b32 r<4>;
          ld.param.u64 d1, [out];
          ld.global.u32 r1, [d1]; st.global.u32 [d1], r1; ret; }}"
    );
    let d = Device::new(&text);
    let out = d.alloc(4 * 64);
    let end = d.arena.base() + d.arena.size();
    for (out, step) in [(out, 1), (out, 1 << 26), (end - 4 * 40, 1), (0, 1), (out + 2, 1)] {
        let done = d.launch("k", 1, 64, &[out, step]);
        assert_eq!(done.is_ok(), step == 1 && out % 4 == 0 && out != 0 && out < end - 160);
    }
    for out in [0, end, end - 3, u64::MAX - 3, 1] {
        d.launch("one", 3, 40, &[out]).unwrap_err();
    }
}

#[test]
fn code_that_runs_for_long_is_made_again() {
    let text = format!(
        "{HEAD}
        .entry turns(.param .u64 to, .param .u32 n) {{
          .reg .pred p; .reg .b32 r<6>; .reg .b64 d<4>;
          ld.param.u64 d1, [to]; ld.param.u32 r1, [n];
          mov.u32 r2, %tid.x; mov.u32 r3, 0; mov.u32 r4, r2;
        AGAIN: mad.lo.u32 r4, r4, 1664525, 1013904223; xor.b32 r4, r4, r2;
          add.u32 r3, r3, 1; setp.lt.u32 p, r3, r1;
          @p bra AGAIN;
          mul.wide.u32 d2, r2, 4; add.u64 d3, d1, d2;
          st.global.u32 [d3], r4;
          ret; }}"
    );
    let d = Device::new(&text);
    let number = d.find("turns");
    // Kernels with an even number of operations get the optimised code at once (see `launch_with`).
    assert_eq!(d.module.functions[number as usize].code.len() % 2, 1);
    let kernel = d.kernel(number).unwrap();
    let quick = kernel.code_size([32, 1, 1]).unwrap();
    let to = d.alloc(128);
    let start = std::time::Instant::now();
    while kernel.code_size([32, 1, 1]).unwrap() == quick {
        d.launch("turns", 1, 32, &[to, 20_000]).unwrap();
        assert!(start.elapsed().as_secs() < 120, "it stays as it was");
    }
    d.launch("turns", 1, 32, &[to, 20_000]).unwrap();
}

/// A mask that names inactive lanes: undefined in PTX, but accepted.
#[test]
fn a_mask_taken_for_a_filter() {
    let text = include_str!("../../../ptx/tests/fixtures/mask_filter.ptx");
    let d = Device::new(text);
    let out = d.alloc(8 * 32);
    d.launch("prefix", 1, 32, &[out]).unwrap();
    let expected = (0..32u32).flat_map(|lane| [0xeeee_eeee & ((1 << lane) - 1), lane ^ 1]);
    assert_eq!(d.u32s(out, 64), expected.collect::<Vec<u32>>());
}

#[test]
fn warps_that_end_or_come_elsewhere_keep_nobody_at_a_barrier() {
    // Each round has one warp less; in odd rounds the warps reach the barrier at different instructions.
    let text = format!(
        "{HEAD}
        .entry rounds(.param .u64 out, .param .u32 mixed) {{
          .reg .pred p; .reg .b32 r<12>; .reg .b64 d<4>; .shared .b32 sum[16];
          ld.param.u64 d1, [out]; ld.param.u32 r10, [mixed];
          mov.u32 r1, %tid.x; shr.u32 r2, r1, 5; mov.u32 r3, 0; mov.u32 r4, 0;
        AGAIN:
          setp.gt.u32 p, r3, r2;
          @p bra OUT;
          and.b32 r5, r1, 31; setp.ne.u32 p, r5, 0; @p bra MEET;
          mov.u32 r6, sum; mad.lo.u32 r6, r2, 4, r6; add.u32 r7, r3, 1; st.shared.u32 [r6], r7;
        MEET:
          add.u32 r8, r3, r2; and.b32 r8, r8, r10; setp.ne.u32 p, r8, 0;
          @p bra OTHER;
          bar.sync 0;
          bra GO;
        OTHER:
          bar.sync 0;
        GO:
          ld.shared.u32 r9, [sum+28]; mad.lo.u32 r4, r4, 3, r9;
          bar.sync 1;
          add.u32 r3, r3, 1; setp.lt.u32 p, r3, 8;
          @p bra AGAIN;
        OUT:
          mov.u32 r6, %ctaid.x; mov.u32 r7, %ntid.x; mad.lo.u32 r6, r6, r7, r1;
          mul.wide.u32 d2, r6, 4; add.s64 d1, d1, d2; st.global.u32 [d1], r4; ret; }}"
    );
    let d = Device::new(&text);
    let out = d.alloc(4 * 4 * 256);
    for (threads, mixed) in [(256, 0), (256, 1), (250, 0), (250, 1), (32, 1)] {
        d.launch("rounds", 4, threads, &[out, mixed]).unwrap();
    }
    d.launch("rounds", 4, 256, &[out, 0]).unwrap();
    let got = d.u32s(out, 1024);
    let after = |rounds: u32| (1..=rounds).fold(0u32, |sum, n| sum.wrapping_mul(3).wrapping_add(n));
    for (k, v) in got.iter().enumerate() {
        assert_eq!(*v, after((k as u32 % 256 / 32 + 1).min(8)), "{k}");
    }
}

#[test]
fn many_blocks_in_turn_are_each_their_own() {
    let text = format!(
        "{HEAD}
        .entry mark(.param .u64 out, .param .u32 bad) {{
          .reg .pred p; .reg .b32 r<12>; .reg .b64 d<4>;
          ld.param.u64 d1, [out]; ld.param.u32 r10, [bad];
          mov.u32 r1, %tid.x; mov.u32 r2, %ctaid.x; mov.u32 r3, %ctaid.y; mov.u32 r4, %nctaid.x;
          mad.lo.u32 r5, r3, r4, r2; mov.u32 r6, %ntid.x; mad.lo.u32 r6, r5, r6, r1;
          setp.eq.u32 p, r6, r10; selp.b64 d1, 64, d1, p;
          addc.u32 r7, r5, 0; add.cc.u32 r8, r6, 0xffffff00;
          mul.wide.u32 d2, r6, 4; selp.b64 d2, 0, d2, p; add.s64 d1, d1, d2;
          setp.gt.u32 p, r1, 60; @p bra OUT;
          st.global.u32 [d1], r7;
        OUT: ret; }}"
    );
    for threads in [1, 3] {
        let mut d = Device::new(&text);
        d.threads = threads;
        let out = d.alloc(4 * 900 * 70);
        let launch =
            |bad: u32| d.launch_with("mark", [300, 3, 1], [70, 1, 1], 0, false, &[out, bad.into()]);
        launch(u32::MAX).unwrap();
        for (k, v) in d.u32s(out, 900 * 70).iter().enumerate() {
            assert_eq!(*v, if k % 70 > 60 { 0 } else { k as u32 / 70 }, "{k}");
        }
        if threads == 1 {
            let fault = launch(70 * 555 + 37).unwrap_err();
            assert_eq!((fault.block, fault.thread), ([255, 1, 0], [37, 0, 0]));
        }
    }
}

#[test]
fn warps_that_stride_through_memory_may_come_apart() {
    // The number of rounds by warp: the same for all, one more for the first warps, or the warp's number. Some
    // warps end while others are at a barrier, and a second loop follows directly.
    let text = format!(
        "{HEAD}
        .entry stride(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 more, .param .u32 last) {{
          .reg .pred p; .reg .b32 r<14>; .reg .b64 d<6>; .shared .b32 sum[8];
          ld.param.u64 d1, [in]; ld.param.u64 d2, [out]; ld.param.u32 r10, [n];
          ld.param.u32 r11, [more]; ld.param.u32 r12, [last];
          mov.u32 r1, %tid.x; shr.u32 r2, r1, 5; mov.u32 r3, %ctaid.x; mov.u32 r4, %ntid.x;
          mad.lo.u32 r11, r11, r2, r10;
          mov.u32 r5, r1; mov.u32 r6, 0;
        LOOP:
          mul.wide.u32 d3, r5, 4; add.s64 d3, d1, d3; ld.global.u32 r7, [d3];
          mad.lo.u32 r6, r6, 5, r7; add.u32 r5, r5, r4; setp.lt.u32 p, r5, r11;
          @p bra LOOP;
          setp.gt.u32 p, r2, r12; @p bra STORE;
          mov.u32 r8, sum; mad.lo.u32 r8, r2, 4, r8; st.shared.u32 [r8], r6;
          mov.u32 r5, r1;
          bar.sync 0;
        AGAIN:
          mul.wide.u32 d3, r5, 4; add.s64 d3, d1, d3; ld.global.u32 r7, [d3];
          mad.lo.u32 r6, r6, 7, r7; add.u32 r5, r5, r4; setp.lt.u32 p, r5, r10;
          @p bra AGAIN;
          ld.shared.u32 r7, [sum]; add.u32 r6, r6, r7;
        STORE:
          mad.lo.u32 r5, r3, r4, r1; mul.wide.u32 d4, r5, 4; add.s64 d2, d2, d4;
          st.global.u32 [d2], r6; ret; }}"
    );
    let d = Device::new(&text);
    let input: Vec<u32> = (0..8192u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let input = d.upload(&input, |v| v.to_le_bytes());
    let out = d.alloc(4 * 3 * 256);
    for threads in [256, 96, 70, 32] {
        for (n, more) in [(4096, 0), (4000, 0), (1, 0), (300, 256), (2048, 40)] {
            for last in [8, 2, 0] {
                // Here all lanes of a warp store the same value to an address.
                let warp = if threads % 32 == 0 { last } else { 8 };
                d.launch("stride", 3, threads, &[input, out, n, more, warp]).unwrap();
            }
        }
    }
}

/// One block repeatedly writes pairs of equal numbers; the other reads them, and counts unequal pairs.
#[test]
fn sixteen_bytes_that_others_look_at_move_at_once() {
    let texts = [
        ("v2.u64", ".b64", "{v, v}", "{a, b}", "ne.u64"),
        ("v4.u32", ".b32", "{v, v, v, v}", "{a, c, c, b}", "ne.u32"),
    ];
    for (vector, register, write, read, differ) in texts {
        let kind = &register[1..];
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n
.entry pairs(.param .u64 at, .param .u64 out) {{
  .reg .pred p; .reg .pred q; .reg .b32 r<8>; .reg .b64 d<4>; .reg {register} a; .reg {register} b; .reg {register} c; .reg {register} v;
  ld.param.u64 d1, [at]; ld.param.u64 d2, [out]; mov.u32 r1, %tid.x; mov.u32 r2, %ctaid.x; mad.wide.u32 d1, r1, 16, d1;
  mov.u32 r3, 0; mov.u32 r4, 0; mov.{kind} v, 0; setp.eq.u32 p, r2, 0; @p bra WRITE;
READ:
  ld.relaxed.gpu.{vector} {read}, [d1]; setp.{differ} q, a, b; @q add.u32 r4, r4, 1;
  add.u32 r3, r3, 1; setp.lt.u32 p, r3, 20000; @p bra READ;
  mad.wide.u32 d2, r1, 4, d2; st.global.u32 [d2], r4; ret;
WRITE:
  st.relaxed.gpu.{vector} [d1], {write}; add.{signed} v, v, 1;
  add.u32 r3, r3, 1; setp.lt.u32 p, r3, 20000; @p bra WRITE; ret; }}
",
            signed = kind.replace('b', "u"),
        );
        let mut d = Device::new(&text);
        d.threads = 2;
        let (at, out) = (d.alloc(16 * 32), d.alloc(4 * 32));
        d.launch("pairs", 2, 32, &[at, out]).unwrap();
        assert_eq!(d.u32s(out, 32), [0; 32], "{vector}");
    }
}

/// More live values than the quick compiler's code can keep on a thread's stack.
#[test]
fn much_that_is_live_fits_on_the_stack() {
    use std::fmt::Write as _;
    const MANY: usize = 4500;
    let mut text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n
.entry many(.param .u64 at) {{
  .reg .b32 t; .reg .b64 at; .reg .b64 d<{MANY}>;
  ld.param.u64 at, [at]; mov.u32 t, %tid.x; mad.wide.u32 at, t, 8, at; ld.global.u64 d0, [at];\n"
    );
    for k in 1..MANY {
        let _ = writeln!(text, "  mad.lo.u64 d{k}, d{}, 3, {k};", k - 1);
    }
    text.push_str("  st.global.u64 [at], d4499; ret; }\n");
    let d = Device::new(&text);
    let input: Vec<u64> = (0..32).collect();
    let at = d.upload(&input, |v| v.to_le_bytes());
    d.kernel(0).unwrap();
    std::thread::scope(|s| {
        let small = std::thread::Builder::new().stack_size(1 << 20);
        let run = || d.launch("many", 1, 32, &[at]).unwrap();
        small.spawn_scoped(s, run).unwrap().join().unwrap();
    });
    let mut expected = input;
    for v in &mut expected {
        for k in 1..MANY as u64 {
            *v = v.wrapping_mul(3).wrapping_add(k);
        }
    }
    let expected: Vec<u32> = expected.iter().flat_map(|v| [*v as u32, (*v >> 32) as u32]).collect();
    assert_eq!(d.u32s(at, 64), expected);
}

/// Shared memory comes in units of 128 bytes, as on a GPU: Numba's kernels read four elements at the last three.
#[test]
fn shared_memory_to_the_end_of_its_unit() {
    let d = Device::new(
        ".version 7.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 d[];\n\
         .visible .entry k(.param .u64 out, .param .u32 at_)\n{\n.reg .b32 s, at, v, x<4>; .reg .b64 o;\n\
         ld.param.u64 o, [out]; ld.param.u32 at, [at_]; mov.u32 s, d; mov.u32 v, 7; st.shared.u32 [s+24], v;\n\
         add.u32 s, s, at; ld.shared.v4.u32 {x0, x1, x2, x3}, [s];\n\
         st.global.u32 [o], x2; mov.u32 v, %total_smem_size; st.global.u32 [o+4], v;\n\
         mov.u32 v, %dynamic_smem_size; st.global.u32 [o+8], v; ret;\n}\n",
    );
    let out = d.alloc(16);
    let run = |at: u64| d.launch_with("k", [1; 3], [1; 3], 28, false, &[out, at]);
    run(16).unwrap();
    assert_eq!(d.u32s(out, 3), [7, 128, 28]);
    assert!(run(112).is_ok() && run(128).is_err());
}
