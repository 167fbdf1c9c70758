//! Registers of 128 bits, and atomic operations on them: the results that the ISA says, in all tiers.

use crate::common;

use common::Device;
use cushim_ptx::exec::Memory as _;

const TEXT: &str = ".version 8.3
.target sm_90
.address_size 64
// Each thread adds (1, 3) to the pair at p, by a loop of compare-and-swap. The first word of out gets the sum of the
// first words that they replaced, the second counts pairs whose halves were of two.
.entry add(.param .u64 p, .param .u64 out) {
  .reg .b128 q<3>; .reg .u64 p, o, lo, hi, a, b, t; .reg .pred same, whole;
  ld.param.u64 p, [p]; ld.param.u64 o, [out];
  ld.relaxed.gpu.global.b128 q0, [p];
again:
  mov.b128 {lo, hi}, q0;
  mad.lo.u64 t, lo, 3, -5; setp.eq.u64 whole, t, hi;
  @!whole atom.global.add.u64 t, [o+8], 1;
  add.u64 a, lo, 1; add.u64 b, hi, 3;
  mov.b128 q1, {a, b};
  atom.global.cas.b128 q2, [p], q0, q1;
  mov.b128 {a, b}, q2;
  setp.eq.u64 same, a, lo; setp.eq.and.u64 same, b, hi, same;
  mov.b128 q0, q2;
  @!same bra again;
  atom.global.add.u64 t, [o], lo;
  ret; }
// The lanes of a block pass pairs through one of shared memory; every other thread does not.
.entry pass(.param .u64 p, .param .u64 out) {
  .shared .align 16 .b8 s[16];
  .reg .b128 q, w; .reg .u64 o, a, b, t; .reg .u32 r, x<4>; .reg .pred odd;
  ld.param.u64 o, [out];
  mov.u32 r, %tid.x;
  mov.b128 q, 0; st.shared.b128 [s], q;
  bar.sync 0;
  add.u32 x0, r, 100; mov.b128 q, {x0, r, r, 5};
  and.b32 x1, r, 1; setp.ne.u32 odd, x1, 0;
  mov.b128 w, q;
  @odd atom.shared.exch.b128 w, [s], q;
  bar.sync 0;
  mul.wide.u32 t, r, 16; add.u64 o, o, t;
  @odd st.global.b128 [o], w;
  @!odd st.global.v2.b64 [o], {t, t};
  setp.ne.u32 odd, r, 0;
  @odd bra done;
  ld.shared.b128 w, [s]; ld.param.u64 o, [p]; st.global.b128 [o], w;
done:
  ret; }";

fn pairs(d: &Device, at: u64, count: usize) -> Vec<[u64; 2]> {
    let mut bytes = vec![0; 16 * count];
    d.arena.load(at, &mut bytes).unwrap();
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap());
    bytes.chunks_exact(16).map(|pair| [word(&pair[..8]), word(&pair[8..])]).collect()
}

#[test]
fn pairs_are_exchanged_at_once() {
    let mut d = Device::new(TEXT);
    let (at, out) = (d.alloc(16), d.alloc(16));
    for round in 0..22 {
        if round == 1 {
            d.kernel(d.find("add")).unwrap().improve([70, 1, 1]).unwrap();
        }
        // Several threads may change a pair at the same time.
        d.threads = if round < 2 { 1 } else { 4 };
        let all = 70 * if round < 2 { 8 } else { 64 };
        for (place, pair) in [(at, [0, -5i64 as u64]), (out, [0; 2])] {
            d.arena.store(place, pair.map(u64::to_le_bytes).as_flattened()).unwrap();
        }
        d.launch("add", (all / 70) as u32, 70, &[at, out]).unwrap();
        assert_eq!(pairs(&d, at, 1), [[all, 3 * all - 5]]);
        assert_eq!(pairs(&d, out, 1), [[all * (all - 1) / 2, 0]]);
    }
}

#[test]
fn pairs_in_shared_memory_move_on() {
    let d = Device::new(TEXT);
    let (at, out) = (d.alloc(16), d.alloc(16 * 70));
    for better in [false, true] {
        if better {
            d.kernel(d.find("pass")).unwrap().improve([70, 1, 1]).unwrap();
        }
        d.launch("pass", 1, 70, &[at, out]).unwrap();
        let own = |r: u64| [(r + 100) | r << 32, r | 5 << 32];
        let seen = pairs(&d, out, 70);
        let evens = (0..70).step_by(2).all(|r| seen[r] == [16 * r as u64; 2]);
        assert!(evens, "{seen:?}");
        let mut odd: Vec<[u64; 2]> = (1..70).step_by(2).map(|r| seen[r]).collect();
        odd.extend(pairs(&d, at, 1));
        odd.sort_unstable();
        let mut expected: Vec<[u64; 2]> = (1..70).step_by(2).map(|r| own(r as u64)).collect();
        expected.push([0; 2]);
        expected.sort_unstable();
        assert_eq!(odd, expected);
    }
}
