//! Generic addresses that all lanes have in common: of device memory, of shared memory, and of local memory, where each
//! lane finds its own. Interpreted and compiled, and the values are known.

use crate::common;

use common::Device;

const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n
.shared .align 8 .b8 tile[256];
.entry common(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u64 x; .reg .u64 r; .reg .u32 t; .reg .u32 b; .reg .pred d; .reg .u32 n; .reg .u32 s; .reg .u32 v; .reg .u32 w; .reg .pred c;
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 t, %tid.x; mad.lo.u32 v, %ctaid.x, 64, t; mul.wide.u32 r, v, 4; add.u64 q, q, r;
  mov.u64 x, tile; cvta.shared.u64 x, x; setp.lt.u32 c, t, 32; mad.lo.u32 s, t, 7, 3; shl.b32 v, t, 2; mov.u32 w, tile; add.u32 v, v, w;
  st.shared.u32 [v], s; bar.sync 0;
  // Even blocks read device memory, odd ones shared memory.
  and.b32 b, %ctaid.x, 1; setp.eq.u32 d, b, 1; selp.b64 p, x, p, d;
  ld.u32 n, [p]; ld.u32 w, [p+4]; mov.u32 s, 0; and.b32 n, n, 7;
LOOP:
  add.u32 v, n, t; shfl.sync.down.b32 v, v, 3, 31, -1; mad.lo.u32 s, s, 5, v; sub.u32 n, n, 1; setp.gt.s32 c, n, 0; @c bra LOOP;
  add.u32 s, s, w; st.u32 [q], s; ret; }
.entry own(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u64 x; .reg .u64 r; .reg .u32 t; .reg .u32 b; .reg .pred d; .reg .u32 v; .reg .u32 n; .reg .u32 s; .reg .pred c; .local .align 8 .b8 l[16];
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 t, %tid.x; mad.lo.u32 v, %ctaid.x, 64, t; mul.wide.u32 r, v, 4; add.u64 q, q, r;
  mov.u64 x, l; cvta.local.u64 x, x; mad.lo.u32 s, t, 7, 3; st.u32 [x+4], s; and.b32 b, %ctaid.x, 1; setp.eq.u32 d, b, 1;
  selp.b64 p, x, p, d; ld.u32 s, [p+4]; st.u32 [q], s; ret; }
.func (.param .b32 r) given(.param .b64 a) {
  .reg .u64 p; .reg .u32 v; ld.param.u64 p, [a]; ld.u32 v, [p]; st.param.b32 [r], v; ret; }
.entry calls(.param .u64 from, .param .u64 to) {
  .reg .u64 p; .reg .u64 q; .reg .u64 x; .reg .u64 r; .reg .u32 t; .reg .u32 v; .reg .u32 n; .reg .u32 s; .local .align 8 .b8 l[16];
  ld.param.u64 p, [from]; ld.param.u64 q, [to]; mov.u32 t, %tid.x; mad.lo.u32 v, %ctaid.x, 64, t; mul.wide.u32 r, v, 4; add.u64 q, q, r;
  mov.u64 x, l; cvta.local.u64 x, x; mad.lo.u32 s, t, 9, 1; st.u32 [x], s;
  { .param .b64 a; .param .b32 o; st.param.b64 [a], x; call.uni (o), given, (a); ld.param.b32 n, [o]; }
  { .param .b64 a; .param .b32 o; st.param.b64 [a], p; call.uni (o), given, (a); ld.param.b32 s, [o]; }
  add.u32 n, n, s; st.u32 [q], n; ret; }";

/// What `common` stores: `rounds` and `last` are the two words that all lanes read.
fn sum(t: u32, rounds: u32, last: u32) -> u32 {
    let lane = t % 32;
    let from = if lane + 3 < 32 { t + 3 } else { t };
    let rounds = (1..=rounds & 7).rev();
    rounds.fold(0, |s: u32, n| s.wrapping_mul(5).wrapping_add(n + from)).wrapping_add(last)
}

#[test]
fn an_address_of_all_lanes_is_of_any_memory() {
    let d = Device::new(TEXT);
    let (from, to) = (d.upload(&[0x3005u32, 1000], |w| w.to_le_bytes()), d.alloc(4 * 128));
    for (name, expected) in [
        ("common", |t: u32, odd: bool| if odd { sum(t, 3, 10) } else { sum(t, 0x3005, 1000) }),
        ("own", |t, odd| if odd { 7 * t + 3 } else { 1000 }),
        ("calls", |t, _| 9 * t + 1 + 0x3005),
    ] as [(&str, fn(u32, bool) -> u32); 3]
    {
        d.launch(name, 2, 64, &[from, to]).unwrap();
        let wanted: Vec<u32> = (0..128).map(|n| expected(n % 64, n >= 64)).collect();
        assert_eq!(d.u32s(to, 128), wanted, "{name}");
    }
}
