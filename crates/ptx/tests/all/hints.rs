//! Cache hints: every form is accepted, and none changes a kernel's results.

use crate::common;

use common::device::Device;

/// Runs statements that leave 41 in `d`; `in` has the address of 41, 42, 43, 44,
/// `out` that of room for results, and `pol` a cache policy.
fn run(statements: &str) -> u32 {
    let text = format!(
        ".version 9.0\n.target sm_100\n.address_size 64\n
         .shared .align 16 .b8 sh[64];
         .entry k(.param .u64 given, .param .u64 taken) {{
           .reg .b64 in; .reg .b64 out; .reg .b64 pol; .reg .b64 x; .reg .b64 y;
           .reg .b32 i; .reg .b32 a; .reg .b32 b; .reg .b32 c; .reg .b32 d; .reg .pred p;
           .reg .f32 f; .reg .b32 q<8>; .local .b32 l;
           ld.param.u64 in, [given]; ld.param.u64 out, [taken];
           mov.u32 i, 41; mov.u32 d, 0; mov.f32 f, 0f3F000000; setp.eq.u32 p, i, 0;
           createpolicy.fractional.L2::evict_first.b64 pol, 1.0;
           {statements}
           st.global.u32 [out], d; ret; }}"
    );
    let device = Device::new(&text);
    let given = device.upload(&[41u32, 42, 43, 44, 45, 46, 47, 48], |v| v.to_le_bytes());
    let out = device.alloc(256);
    device.launch("k", 1, 1, &[given, out]).unwrap_or_else(|e| panic!("{statements}: {e}"));
    device.u32s(out, 1)[0]
}

#[test]
fn loads_take_hints() {
    for load in [
        "ld.global.L1::no_allocate.u32 d, [in];",
        "ld.global.L1::evict_first.L2::256B.u32 d, [in];",
        "ld.global.L1::evict_unchanged.L2::64B.u32 d, [in];",
        "ld.global.L2::128B.u32 d, [in];",
        "ld.L1::no_allocate.L2::cache_hint.L2::128B.u32 d, [in], pol;",
        "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.u32 d, [in], pol;",
        "ld.global.nc.L2::cache_hint.v4.u32 {d, a, b, c}, [in], pol;",
        "ld.global.ca.nc.L2::cache_hint.u32 d, [in], pol;",
        "ld.relaxed.gpu.global.L1::evict_last.L2::cache_hint.u32 d, [in], pol;",
        "ld.acquire.sys.L2::cache_hint.u32 d, [in], pol;",
        "ld.volatile.global.L2::128B.u32 d, [in];",
        "ld.weak.global.L1::no_allocate.u32 d, [in];",
        "ld.mmio.relaxed.sys.global.u32 d, [in];",
        "ld.global.L2::cache_hint.v2.u64 {x, y}, [in], pol; cvt.u32.u64 d, x;",
        "ld.global.cg.L2::64B.u32 d, [in];",
        "ld.global.L2::evict_last.v8.b32 {d, a, b, c, q0, q1, q2, q3}, [in];",
        "ld.global.L2::cache_hint.u32 d, [in], 0x14F0000000000000;",
        "ld.global.lu.u32 d, [in];",
        "ldu.global.u32 d, [in];",
    ] {
        assert_eq!(run(load), 41, "{load}");
    }
}

#[test]
fn stores_and_atomic_operations_take_hints() {
    for store in [
        "st.global.L1::no_allocate.u32 [out+4], i;",
        "st.global.L1::evict_first.L2::cache_hint.u32 [out+4], i, pol;",
        "st.L2::cache_hint.v2.u32 [out], {i, i}, pol;",
        "st.global.wb.L2::cache_hint.u32 [out+4], i, pol;",
        "st.release.gpu.global.L2::cache_hint.u32 [out+4], i, pol;",
        "st.relaxed.sys.L1::evict_last.L2::cache_hint.u32 [out+4], i, pol;",
        "st.mmio.relaxed.sys.global.u32 [out+4], i;",
        "atom.global.add.L2::cache_hint.u32 a, [out+4], i, pol;",
        "atom.relaxed.gpu.global.add.L2::cache_hint.u32 a, [out+4], i, pol;",
        "atom.relaxed.gpu.global.exch.L2::cache_hint.b32 a, [out+4], i, pol;",
        "atom.global.cas.L2::cache_hint.b32 a, [out+4], 0, i, pol;",
        "red.global.add.L2::cache_hint.u32 [out+4], i, pol;",
        "red.relaxed.gpu.global.max.L2::cache_hint.s32 [out+4], i, pol;",
    ] {
        assert_eq!(run(&format!("{store} ld.global.u32 d, [out+4];")), 41, "{store}");
    }
    let sums = "mov.b32 a, 0f42240000; st.global.u32 [out+8], 0;
        red.relaxed.gpu.global.add.L2::cache_hint.v2.f32 [out+8], {a, a}, pol;
        ld.global.u32 b, [out+8]; mov.b32 f, b; cvt.rzi.u32.f32 d, f;";
    assert_eq!(run(sums), 41);
}

#[test]
fn what_only_tells_caches_does_nothing() {
    for hint in [
        "prefetch.global.L1 [in];",
        "prefetch.global.L2 [in];",
        "prefetch.L1 [in+64];",
        "prefetch.local.L1 [l];",
        "prefetch.global.L2::evict_last [in];",
        "prefetch.global.L2::evict_normal [in];",
        "prefetchu.L1 [in];",
        "prefetch.const.tensormap [in];",
        "applypriority.global.L2::evict_normal [in], 128;",
        "discard.global.L2 [out+128], 128;",
    ] {
        assert_eq!(run(&format!("{hint} mov.u32 d, i;")), 41, "{hint}");
    }
}

#[test]
fn copies_take_hints() {
    for copy in [
        "cp.async.ca.shared.global.L2::cache_hint [sh], [in], 4, pol;",
        "cp.async.cg.shared.global.L2::128B [sh], [in], 16;",
        "cp.async.cg.shared::cta.global.L2::cache_hint.L2::256B [sh], [in], 16, 8, pol;",
        "cp.async.ca.shared.global.L2::64B [sh], [in], 8, 4;",
        "cp.async.ca.shared.global.L2::cache_hint [sh], [in], 8, p, pol;",
    ] {
        assert_eq!(run(&format!("{copy} cp.async.wait_all; ld.shared.u32 d, [sh];")), 41, "{copy}");
    }
}

#[test]
fn policies_are_values() {
    for policy in [
        "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 pol, 0.5;",
        "createpolicy.fractional.L2::evict_normal.b64 pol;",
        "createpolicy.fractional.L2::evict_unchanged.L2::evict_first.b64 pol, 0f3E800000;",
        "createpolicy.range.global.L2::evict_last.L2::evict_first.b64 pol, [in], 0x1000, 0x2000;",
        "mov.u32 a, 0x1000; createpolicy.range.L2::evict_last.b64 pol, [in], a, a;",
        "createpolicy.cvt.L2.b64 pol, 0x14F0000000000000;",
        "mov.b64 x, 0x12F0000000000000; @p createpolicy.cvt.L2.b64 pol, x;",
    ] {
        assert_eq!(run(&format!("{policy} ld.global.L2::cache_hint.u32 d, [in], pol;")), 41);
    }
    let same = "createpolicy.cvt.L2.b64 pol, 0x14F0000000000029; cvt.u32.u64 d, pol;";
    assert_eq!(run(same), 41);
}
