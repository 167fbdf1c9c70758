//! Loops that read memory, in which values stay in registers for some rounds: same results as the interpreter's, wherever
//! lanes leave the loop, and whatever invalid address a round touches.

use crate::common;

use common::Device;

const LOOPS: &str = ".version 8.0\n.target sm_80\n.address_size 64\n
.entry sum(.param .u64 in, .param .u64 out, .param .u32 n) {
  .reg .pred p; .reg .b32 r<8>; .reg .b64 d<4>; .reg .f32 f<4>;
  ld.param.u64 d1, [in]; ld.param.u64 d2, [out]; ld.param.u32 r3, [n];
  mov.u32 r1, %tid.x; mov.u32 r2, %ntid.x; mov.u32 r4, r1; mov.f32 f1, 0f3f800000;
LOOP:
  mul.wide.s32 d3, r4, 4; add.s64 d3, d1, d3; ld.global.f32 f2, [d3];
  add.f32 f1, f1, f2; add.s32 r4, r4, r2; setp.lt.s32 p, r4, r3; @p bra LOOP;
  mad.wide.u32 d2, r1, 4, d2; st.global.f32 [d2], f1; ret; }
.entry pointer(.param .u64 in, .param .u64 out, .param .u32 n) {
  .reg .pred p; .reg .pred q; .reg .b32 r<8>; .reg .b64 d<6>; .reg .b64 s<3>;
  ld.param.u64 d1, [in]; ld.param.u64 d2, [out]; ld.param.u32 r3, [n];
  mov.u32 r1, %tid.x; mov.u32 r2, %ntid.x; mul.wide.u32 d4, r2, 8; mad.wide.u32 d3, r1, 8, d1;
  mad.wide.u32 d5, r3, 8, d1; mov.u32 r5, 0; mov.u32 r6, 77;
LOOP:
  ld.global.v2.u32 {r4, r6}, [d3]; xor.b32 r5, r5, r4; add.s64 d3, d3, d4;
  setp.gt.u32 q, r6, r5; @q add.u32 r5, r5, 3; setp.ge.u64 p, d3, d5; @!p bra LOOP;
  mad.wide.u32 d2, r1, 4, d2; add.u32 r5, r5, r6; st.global.u32 [d2], r5; ret; }
.entry four(.param .u64 in, .param .u64 out, .param .u32 n) {
  .reg .pred p; .reg .b32 r<12>; .reg .b64 d<6>;
  ld.param.u64 d1, [in]; ld.param.u64 d2, [out]; ld.param.u32 r3, [n];
  mov.u32 r1, %tid.x; mov.u32 r2, %ntid.x; shl.b32 r9, r2, 2; mul.wide.u32 d4, r9, 4;
  mad.wide.u32 d3, r1, 4, d1; mov.u32 r4, 0; mov.u32 r5, 1;
LOOP:
  ld.global.u32 r6, [d3]; mad.lo.u32 r5, r5, 3, r6; ld.global.u32 r7, [d3+1024]; mad.lo.u32 r5, r5, 3, r7;
  ld.global.u32 r8, [d1]; ld.global.u32 r7, [d3+2048]; mad.lo.u32 r5, r8, r5, r7;
  add.s64 d3, d3, d4; add.u32 r4, r4, r9; setp.lt.u32 p, r4, r3; @p bra LOOP;
  mad.wide.u32 d2, r1, 4, d2; add.u32 r5, r5, r7; st.global.u32 [d2], r5; ret; }
.entry lanes(.param .u64 in, .param .u64 out, .param .u32 n) {
  .reg .pred p; .reg .b32 r<8>; .reg .b64 d<4>;
  ld.param.u64 d1, [in]; ld.param.u64 d2, [out]; ld.param.u32 r3, [n];
  mov.u32 r1, %tid.x; mov.u32 r2, %ntid.x; mov.u32 r4, r1; and.b32 r6, r1, 3; mad.lo.u32 r3, r6, r2, r3;
LOOP:
  mul.wide.u32 d3, r4, 4; add.s64 d3, d1, d3; ld.global.u32 r5, [d3];
  add.u32 r6, r6, r5; add.u32 r4, r4, r2; setp.lt.u32 p, r4, r3; @p bra LOOP;
  mad.wide.u32 d2, r1, 4, d2; st.global.u32 [d2], r6; ret; }
";

const NAMES: [&str; 4] = ["sum", "pointer", "four", "lanes"];

#[test]
fn rounds_hand_on_values() {
    let d = Device::new(LOOPS);
    let input: Vec<u32> = (0..16384u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 3).collect();
    let input = d.upload(&input, |v| v.to_le_bytes());
    let out = d.alloc(4 * 256);
    for name in NAMES {
        for threads in [256, 96, 70, 32, 20] {
            // The smallest number of rounds, a few, the number for which values stay in registers, one more, and many.
            for rounds in [1, 2, 7, 8, 9, 16, 17, 25] {
                for more in [0, 1, 33] {
                    let n = (rounds * threads + more).min(7000);
                    d.launch(name, 1, threads, &[input, out, n.into()]).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_late_round_names_who_is_wrong() {
    let d = Device::new(LOOPS);
    let out = d.alloc(4 * 256);
    let end = d.arena.base() + d.arena.size();
    for name in NAMES {
        for threads in [64u32, 32] {
            // Memory ends in the middle of a warp's access, some rounds after the start.
            for rounds in [0, 3, 8, 12] {
                let from = end - u64::from(4 * threads * rounds + 4 * 40) / 8 * 8;
                let fault = d.launch(name, 1, threads, &[from, out, 4096]).unwrap_err();
                assert_eq!(fault.kernel, name, "{fault}");
            }
        }
        d.launch(name, 1, 64, &[d.arena.base() + 2, out, 4096]).unwrap_err();
        d.launch(name, 1, 64, &[0, out, 4096]).unwrap_err();
    }
}
