//! Whole kernels, translated and run on the emulated GPU.

use crate::common;

use common::{Buffer, compiler, module, parameters, translated};
use cushim_translate::abi::Lanes;

const HEAD: &str = ".version 8.3\n.target sm_80\n.address_size 64\n";

/// `c[i] = a[i] + b[i]` for `i < n`.
const ADD: &str = "
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {
.reg .b64 %rd<10>; .reg .b32 %r<10>; .reg .f32 %f<4>; .reg .pred %p;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
mad.lo.s32 %r5, %r2, %r3, %r4;
setp.ge.s32 %p, %r5, %r1;
@%p bra done;
cvta.to.global.u64 %rd4, %rd1; mul.wide.s32 %rd5, %r5, 4; add.s64 %rd6, %rd4, %rd5;
cvta.to.global.u64 %rd7, %rd2; add.s64 %rd8, %rd7, %rd5;
ld.global.f32 %f1, [%rd8]; ld.global.f32 %f2, [%rd6]; add.f32 %f3, %f2, %f1;
cvta.to.global.u64 %rd9, %rd3; add.s64 %rd9, %rd9, %rd5; st.global.f32 [%rd9], %f3;
done: ret;
}";

#[test]
fn vectors_are_added_in_both_layouts() {
    let Some(compiler) = compiler() else { return };
    let loaded = translated(&compiler, &module(&format!("{HEAD}{ADD}")));
    for lanes in [Lanes::Half, Lanes::Full] {
        let n = 1000usize;
        let bytes = |scale: f32| -> Vec<u8> {
            (0..n).flat_map(|i| (i as f32 * scale).to_le_bytes()).collect()
        };
        let (a, b, c) = (Buffer::with(&bytes(1.0)), Buffer::with(&bytes(0.5)), Buffer::new(4 * n));
        let mut given = parameters(&[a.address(), b.address(), c.address()]);
        given.extend((n as u32).to_le_bytes());
        let done = loaded.launch("add", [[4, 1, 1], [250, 1, 1]], 0, lanes, &given, &[&a, &b, &c]);
        done.unwrap_or_else(|e| panic!("{e:?}"));
        let found: Vec<f32> = c.u32s(n).into_iter().map(f32::from_bits).collect();
        let expected: Vec<f32> = (0..n).map(|i| i as f32 * 1.5).collect();
        assert_eq!(found, expected, "{lanes:?}");
    }
}

/// The `n` words that a kernel `k(out)` of one block writes, the same in each lane layout that it allows.
fn words(text: &str, threads: u32, n: usize) -> Vec<u32> {
    let Some(compiler) = compiler() else { return Vec::new() };
    let loaded = translated(&compiler, &module(&format!("{HEAD}{text}")));
    let mut found: Option<Vec<u32>> = None;
    for lanes in loaded.facts("k").lanes.clone() {
        let out = Buffer::new(4 * n);
        let given = parameters(&[out.address()]);
        let done = loaded.launch("k", [[1, 1, 1], [threads, 1, 1]], 64, lanes, &given, &[&out]);
        done.unwrap_or_else(|e| panic!("{lanes:?}: {e:?}"));
        let words = out.u32s(n);
        assert_eq!(*found.get_or_insert(words.clone()), words, "{lanes:?}");
    }
    found.unwrap_or_default()
}

/// The start of a kernel: the thread's number in `%t`, the address of its word in `%o`.
const BEGIN: &str = "
.visible .entry k(.param .u64 out) {
.reg .b64 %o; .reg .b64 %rd<9>; .reg .b32 %t; .reg .b32 %r<20>; .reg .pred %p<5>; .reg .f32 %f<5>;
ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o;\n";

#[test]
fn shared_memory_and_barriers_reverse_a_block() {
    let text = format!(
        ".shared .align 4 .b32 cells[256]; .extern .shared .align 16 .b8 more[];
         {BEGIN}
         mov.u32 %r1, cells; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t;
         mov.u32 %r3, more; and.b32 %r4, %t, 15; mad.lo.u32 %r4, %r4, 4, %r3; st.shared.u32 [%r4], 7;
         bar.sync 0;
         sub.u32 %r5, 255, %t; mad.lo.u32 %r5, %r5, 4, %r1;
         cvt.u64.u32 %rd1, %r5; cvta.shared.u64 %rd2, %rd1; ld.u32 %r6, [%rd2];
         ld.shared.u32 %r7, [%r4]; mad.lo.u32 %r6, %r7, 1000, %r6;
         setp.lt.u32 %p1, %t, 100; bar.red.popc.u32 %r8, 0, %p1; mad.lo.u32 %r6, %r8, 100000, %r6;
         bar.red.and.pred %p2, 0, %p1; selp.u32 %r9, 1, 0, %p2; add.u32 %r6, %r6, %r9;
         st.global.u32 [%o], %r6; ret; }}"
    );
    let found = words(&text, 256, 256);
    let expected = (0..256).map(|t| 255 - t + 7000 + 10_000_000);
    assert!(found.is_empty() || found == expected.collect::<Vec<u32>>(), "{found:?}");
}

#[test]
fn warps_shuffle_vote_match_and_reduce() {
    let text = format!(
        "{BEGIN}
         and.b32 %r1, %t, 31;
         shfl.sync.bfly.b32 %r2, %t, 1, 31, -1;
         shfl.sync.up.b32 %r3|%p1, %t, 2, 0, -1;
         setp.gt.u32 %p2, %t, 40; vote.sync.ballot.b32 %r4, %p2, -1;
         and.b32 %r5, %r1, 3; match.any.sync.b32 %r6, %r5, -1;
         redux.sync.add.u32 %r7, %r1, -1;
         setp.lt.u32 %p3, %r1, 5; mov.u32 %r8, 0; @!%p3 bra past;
         activemask.b32 %r8; past:
         selp.u32 %r9, 1, 0, %p1;
         xor.b32 %r10, %r2, %r3; xor.b32 %r10, %r10, %r4; xor.b32 %r10, %r10, %r6;
         mad.lo.u32 %r10, %r7, 65537, %r10; add.u32 %r10, %r10, %r8; mad.lo.u32 %r10, %r9, 77, %r10;
         st.global.u32 [%o], %r10; ret; }}"
    );
    let found = words(&text, 96, 96);
    let expected = (0..96u32).map(|t| {
        let (lane, warp) = (t & 31, t / 32);
        let up = if lane >= 2 { t - 2 } else { t };
        let ballot = (0..32).filter(|l| warp * 32 + l > 40).fold(0u32, |m, l| m | 1 << l);
        let equal = 0x1111_1111u32 << (lane & 3);
        let active = if lane < 5 { 31 } else { 0 };
        let mixed = (t ^ 1) ^ up ^ ballot ^ equal;
        let sum = (496u32 * 65537).wrapping_add(mixed).wrapping_add(active);
        sum.wrapping_add(if lane >= 2 { 77 } else { 0 })
    });
    assert!(found.is_empty() || found == expected.collect::<Vec<u32>>(), "{found:?}");
}

#[test]
fn barrier_objects_lead_warps_through_phases() {
    let text = format!(
        ".shared .align 8 .b64 object; .shared .align 4 .b32 cells[128];
         {BEGIN}
         mov.u32 %r1, object; setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [%r1], 128; bar.sync 0;
         mov.u32 %r2, 0; mov.u32 %r9, 0; mov.u32 %r3, cells; mad.lo.u32 %r4, %t, 4, %r3;
         again: mad.lo.u32 %r5, %r2, 1000, %t; st.shared.u32 [%r4], %r5;
         mbarrier.arrive.shared.b64 %rd1, [%r1];
         wait: mbarrier.test_wait.shared.b64 %p2, [%r1], %rd1; @!%p2 bra wait;
         xor.b32 %r6, %t, 127; mad.lo.u32 %r6, %r6, 4, %r3; ld.shared.u32 %r7, [%r6]; add.u32 %r9, %r9, %r7;
         mbarrier.arrive.shared.b64 %rd1, [%r1]; and.b32 %r8, %r2, 0;
         more: mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 1; @!%p2 bra more;
         add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 3; @%p3 bra again;
         st.global.u32 [%o], %r9; ret; }}"
    );
    let found = words(&text, 128, 128);
    let expected = (0..128u32).map(|t| 3 * (t ^ 127) + 3000);
    assert!(found.is_empty() || found == expected.collect::<Vec<u32>>(), "{found:?}");
}

#[test]
fn functions_call_each_other_themselves_and_through_pointers() {
    let text = format!(
        ".func (.param .b32 r) twice(.param .b32 a) {{ .reg .b32 x; ld.param.b32 x, [a]; add.s32 x, x, x; st.param.b32 [r], x; ret; }}
         .func (.param .b32 r) third(.param .b32 a) {{ .reg .b32 x; ld.param.b32 x, [a]; mul.lo.s32 x, x, 3; st.param.b32 [r], x; ret; }}
         .func (.param .b32 r) sum(.param .b32 a) {{
           .reg .b32 x; .reg .b32 y; .reg .pred p; ld.param.b32 x, [a]; mov.b32 y, 0; setp.eq.s32 p, x, 0; @p bra E;
           sub.s32 y, x, 1;
           {{ .param .b32 i; .param .b32 u; st.param.b32 [i], y; call (u), sum, (i); ld.param.b32 y, [u]; }}
           E: add.s32 x, x, y; st.param.b32 [r], x; ret; }}
         .func (.param .align 8 .b8 r[24]) large(.param .align 8 .b8 a[20], .reg .b64 w) {{
           .reg .b32 x; .reg .b64 y; ld.param.b32 x, [a+16]; st.param.b32 [r+20], x; ld.param.b64 y, [a]; add.s64 y, y, w;
           st.param.b64 [r], y; st.param.b64 [r+8], w; st.param.b32 [r+16], 5; ret; }}
         .global .align 8 .u64 table[2] = {{twice, third}};
         {BEGIN}
         and.b32 %r1, %t, 1; mov.u64 %rd1, table; mad.wide.u32 %rd1, %r1, 8, %rd1; ld.global.u64 %rd2, [%rd1];
         {{ .param .b32 i; .param .b32 u; P: .callprototype (.param .b32 _) _ (.param .b32 _);
            st.param.b32 [i], %t; call (u), %rd2, (i), P; ld.param.b32 %r2, [u]; }}
         and.b32 %r3, %t, 7;
         {{ .param .b32 i; .param .b32 u; st.param.b32 [i], %r3; call (u), sum, (i); ld.param.b32 %r4, [u]; }}
         cvt.u64.u32 %rd3, %t;
         {{ .param .align 8 .b8 i[20]; .param .align 8 .b8 u[24]; st.param.b64 [i], %rd3; st.param.b32 [i+16], %r2;
            call (u), large, (i, %rd3); ld.param.b64 %rd4, [u]; ld.param.b32 %r5, [u+20]; ld.param.b32 %r6, [u+16]; }}
         cvt.u32.u64 %r7, %rd4; mad.lo.u32 %r7, %r7, 1000, %r5; mad.lo.u32 %r7, %r4, 1000000, %r7; add.u32 %r7, %r7, %r6;
         st.global.u32 [%o], %r7; ret; }}"
    );
    let found = words(&text, 64, 64);
    let expected = (0..64u32).map(|t| {
        let n = t & 7;
        t * (2 + (t & 1)) + 2 * t * 1000 + n * (n + 1) / 2 * 1_000_000 + 5
    });
    assert!(found.is_empty() || found == expected.collect::<Vec<u32>>(), "{found:?}");
}

#[test]
fn atomics_add_up_and_tables_choose() {
    let text = format!(
        ".global .align 4 .u32 count = 5; .global .align 4 .f32 total; .const .align 4 .u32 factors[4] = {{2, 3, 5, 7}};
         {BEGIN}
         atom.global.add.u32 %r1, [count], 1;
         atom.add.f32 %f1, [total], 0f3F000000;
         mov.u64 %rd1, factors; and.b32 %r2, %t, 3; mad.wide.u32 %rd1, %r2, 4, %rd1; ld.const.u32 %r3, [%rd1];
         ts: .branchtargets A, B, C;
         brx.idx %r2, ts;
         mov.u32 %r4, 400; bra D;
         A: mov.u32 %r4, 100; bra D;
         B: mov.u32 %r4, 200; bra D;
         C: mov.u32 %r4, 300;
         D: bar.sync 0;
         ld.volatile.global.u32 %r5, [count]; ld.volatile.global.f32 %f2, [total]; cvt.rzi.u32.f32 %r6, %f2;
         mad.lo.u32 %r7, %r5, 10000, %r4; mad.lo.u32 %r7, %r6, 10000000, %r7; add.u32 %r7, %r7, %r3;
         st.global.u32 [%o], %r7; ret; }}"
    );
    // The sums accumulate over layouts, so one layout is enough.
    let Some(compiler) = compiler() else { return };
    let loaded = translated(&compiler, &module(&format!("{HEAD}{text}")));
    let out = Buffer::new(4 * 128);
    let given = parameters(&[out.address()]);
    let done = loaded.launch("k", [[1, 1, 1], [128, 1, 1]], 0, Lanes::Half, &given, &[&out]);
    done.unwrap_or_else(|e| panic!("{e:?}"));
    let factor = [2, 3, 5, 7];
    let expected = (0..128u32)
        .map(|t| 133 * 10_000 + 64 * 10_000_000 + 100 * (1 + (t & 3)) + factor[t as usize & 3]);
    assert_eq!(out.u32s(128), expected.collect::<Vec<_>>());
}

#[test]
fn layouts_are_those_that_kernels_allow() {
    let allowed = |body: &str| {
        let target = cushim_translate::Target::from_name("gfx90a").unwrap();
        let text = format!("{HEAD}.global .u32 lock; {BEGIN}{body} ret; }}");
        let made = cushim_translate::amdgpu::emit(&module(&text), &target);
        made.kernels[0].lanes.clone()
    };
    let both = [Lanes::Full, Lanes::Half];
    assert_eq!(allowed(""), both);
    assert_eq!(allowed("bar.sync 0;"), both);
    // The same number of rounds for all threads, and a branch that all or none take.
    let rounds =
        "mov.u32 %r1, 0; L: bar.sync 0; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L;";
    assert_eq!(allowed(rounds), both);
    let some = "setp.lt.u32 %p1, %t, 40; @%p1 bra L; bar.sync 0; L:";
    assert_eq!(allowed(some), [Lanes::Half]);
    assert_eq!(allowed("setp.lt.u32 %p1, %t, 40; @%p1 bar.sync 0;"), [Lanes::Half]);
    let behind = "setp.lt.u32 %p1, %t, 40; @%p1 bra L; mov.u32 %r2, 1; L: bar.sync 0;";
    assert_eq!(allowed(behind), both);
    let early = "setp.lt.u32 %p1, %t, 40; @%p1 ret; bar.sync 0;";
    assert_eq!(allowed(early), [Lanes::Half]);
    let lock = "L: atom.global.cas.b32 %r1, [lock], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;";
    assert_eq!(allowed(lock), [Lanes::Half]);
    assert_eq!(allowed("red.global.add.u32 [lock], 1;"), both);
    let varying = "ld.global.u32 %r1, [%o]; L: bar.sync 0; sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;";
    assert_eq!(allowed(varying), [Lanes::Half]);
}

#[test]
fn what_is_not_translated_is_refused_by_name_and_line() {
    let text = format!(
        "{HEAD}.extern .func (.param .b32 r) elsewhere(.param .b64 f, .param .b64 a);
.visible .entry good() {{ ret; }}
.visible .entry asks() {{ .reg .pred p; .reg .b64 a; isspacep.param p, a; ret; }}
.visible .entry prints() {{ .reg .b32 r;
 {{ .param .b64 f; .param .b64 a; .param .b32 u; call (u), elsewhere, (f, a); ld.param.b32 r, [u]; }} ret; }}
.global .texref image; .global .surfref plane;
.visible .entry samples() {{ .reg .f32 f<5>; tex.2d.v4.f32.f32 {{f1, f2, f3, f4}}, [image, {{f1, f2}}]; ret; }}
.visible .entry handle() {{ .reg .b64 a; .reg .f32 f<5>; tex.2d.v4.f32.f32 {{f1, f2, f3, f4}}, [a, {{f1, f2}}]; ret; }}
.visible .entry stores() {{ .reg .b32 r<3>; sust.b.1d.b32.trap [plane, {{r1}}], r2; ret; }}
.visible .entry asks_width() {{ .reg .b32 r; txq.width.b32 r, [image]; ret; }}
.visible .entry named() {{ .reg .b64 a; mov.u64 a, image; ret; }}"
    );
    let target = cushim_translate::Target::from_name("gfx1030").unwrap();
    let made = cushim_translate::amdgpu::emit(&module(&text), &target);
    let names: Vec<&str> = made.kernels.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["good"]);
    assert_eq!(made.kernels[0].lanes, [Lanes::Full]);
    let said: Vec<String> = made.refused.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "asks: line 6: whether an address is one of parameters",
            "prints: line 8: a call of `elsewhere`, which no module defines",
            "samples: line 10: an access to a texture (`image`)",
            "handle: line 11: an access to a texture",
            "stores: line 12: an access to a surface (`plane`)",
            "asks_width: line 13: a question about a texture or surface (`image`)",
            "named: line 14: `image`: a texture or surface reference, and no texture is translated",
        ]
    );
    assert!(!made.ir.contains("@\"asks\""), "{}", made.ir);
}

/// Warps 0 and 1 pass values to warps 2 and 3 through barriers with thread counts, three times; the last warp has 20 lanes.
#[test]
fn barriers_count_threads() {
    let text = format!(
        ".shared .align 4 .b32 cells[64];
         {BEGIN}
         mov.u32 %r9, 0; mov.u32 %r2, 0; mov.u32 %r3, cells; and.b32 %r4, %t, 63; mad.lo.u32 %r4, %r4, 4, %r3;
         setp.ge.u32 %p1, %t, 64; @%p1 bra take;
         give: barrier.cta.sync 2, 128; mad.lo.u32 %r5, %r2, 1000, %t; st.shared.u32 [%r4], %r5; bar.arrive 1, 128;
         add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 3; @%p2 bra give; mov.u32 %r9, %t; bra sums;
         take: bar.arrive 2, 128; bar.sync 1, 128; ld.shared.u32 %r6, [%r4]; add.u32 %r9, %r9, %r6;
         add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 3; @%p2 bra take;
         sums: setp.lt.u32 %p3, %t, 70; shr.u32 %r7, %t, 6; add.u32 %r7, %r7, 3;
         bar.red.popc.u32 %r8, %r7, 64, %p3; mad.lo.u32 %r9, %r8, 100000, %r9;
         bar.red.or.pred %p4, %r7, 64, %p3; selp.u32 %r10, 1, 0, %p4; mad.lo.u32 %r9, %r10, 10000000, %r9;
         bar.sync 0;
         st.global.u32 [%o], %r9; ret; }}"
    );
    let found = words(&text, 116, 116);
    let expected = (0..116u32).map(|t| match t {
        0..64 => t + 64 * 100_000 + 10_000_000,
        _ => 3 * (t - 64) + 3000 + 6 * 100_000 + 10_000_000,
    });
    assert!(found.is_empty() || found == expected.collect::<Vec<u32>>(), "{found:?}");
}

/// The same inside called functions; the last warp that receives has 20 lanes, and warp 4 has already ended.
#[test]
fn barriers_count_threads_in_functions() {
    let text = format!(
        ".shared .align 4 .b32 cells[64];
         .func give(.param .b32 which) {{ .reg .b32 %a<5>; ld.param.b32 %a1, [which]; mov.u32 %a2, cells;
         mad.lo.u32 %a2, %a1, 4, %a2; add.u32 %a3, %a1, 1000; st.shared.u32 [%a2], %a3; bar.arrive 1, 128; ret; }}
         .func (.param .b32 got) take(.param .b32 which) {{ .reg .b32 %a<5>; ld.param.b32 %a1, [which];
         bar.sync 1, 128; mov.u32 %a2, cells; mad.lo.u32 %a2, %a1, 4, %a2; ld.shared.u32 %a3, [%a2];
         st.param.b32 [got], %a3; bar.sync 2, 64; ret; }}
         {BEGIN}
         mov.u32 %r9, 7; setp.ge.u32 %p1, %t, 128; @%p1 ret; and.b32 %r1, %t, 63;
         setp.ge.u32 %p1, %t, 64; @%p1 bra take;
         {{ .param .b32 w; st.param.b32 [w], %r1; call give, (w); }} bra end;
         take: {{ .param .b32 w; .param .b32 g; st.param.b32 [w], %r1; call (g), take, (w); ld.param.b32 %r9, [g]; }}
         end: st.global.u32 [%o], %r9; ret; }}"
    );
    for threads in [116, 160] {
        let found = words(&text, threads, threads as usize);
        let expected = (0..threads).map(|t| match t {
            0..64 => 7,
            64..128 => t - 64 + 1000,
            _ => 0,
        });
        assert!(found.is_empty() || found == expected.collect::<Vec<u32>>(), "{found:?}");
    }
}

/// Loops that wait for other lanes are translated in steps, other loops are not.
#[test]
fn loops_that_wait_are_found() {
    let steps = |body: &str| {
        let target = cushim_translate::Target::from_name("gfx1030").unwrap();
        let text = format!("{HEAD}.global .u32 lock; {BEGIN}{body} ret; }}");
        cushim_translate::amdgpu::emit(&module(&text), &target).ir.contains("%stayed")
    };
    let around = "setp.ne.u32 %p1, %r1, %r2; @%p1 bra L;";
    // A spin lock, a flag, and a lock that reads the owner's number before it tries.
    assert!(steps(
        "L: atom.global.cas.b32 %r1, [lock], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;"
    ));
    assert!(steps(&format!("mov.u32 %r2, %t; L: ld.volatile.global.u32 %r1, [lock]; {around}")));
    assert!(steps(&format!(
        "L: ld.volatile.global.u32 %r2, [lock]; and.b32 %r3, %r2, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra L;
         atom.global.cas.b32 %r1, [lock], %r2, 1; {around}"
    )));
    assert!(steps(&format!(
        "L: ld.volatile.global.u32 %r2, [lock]; and.b32 %r2, %r2, 2; atom.global.cas.b32 %r1, [lock], %r2, 1; {around}"
    )));
    // A sum by compare-and-swap, a loop with a counter, and one that a vote ends.
    assert!(!steps(&format!(
        "ld.global.u32 %r1, [lock]; L: mov.u32 %r2, %r1; add.u32 %r3, %r2, %t;
         atom.global.cas.b32 %r1, [lock], %r2, %r3; {around}"
    )));
    assert!(!steps(
        "mov.u32 %r1, 0; L: atom.global.add.u32 %r3, [lock], 1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L;"
    ));
    assert!(!steps(
        "L: ld.volatile.global.u32 %r1, [lock]; setp.ne.u32 %p1, %r1, %t; vote.sync.any.pred %p2, %p1, -1; @%p2 bra L;"
    ));
}

/// Lanes converge at the first instruction after such a loop that all lanes reach; later code needs no checks.
#[test]
fn lanes_come_together_once_behind_a_loop() {
    let places = |body: &str| {
        let target = cushim_translate::Target::from_name("gfx1030").unwrap();
        let lock = "L: atom.global.cas.b32 %r1, [lock], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;";
        let text = format!("{HEAD}.global .u32 lock; {BEGIN}{lock} {body} ret; }}");
        let made = cushim_translate::amdgpu::emit(&module(&text), &target);
        made.ir.lines().filter(|line| line.starts_with("meet")).count()
    };
    let shuffle = "shfl.sync.idx.b32 %r5, %t, 5, 31, -1;";
    let half = "shfl.sync.idx.b32 %r5, %t, 5, 31, 0xffff;";
    assert_eq!(places(shuffle), 1);
    assert_eq!(places(&format!("{shuffle} {shuffle}")), 1);
    assert_eq!(places(&format!("bar.sync 0; {half}")), 1);
    assert_eq!(places(&format!("{half} {half} {shuffle} {half}")), 3);
    assert_eq!(places(&format!("@%p1 {shuffle} {shuffle} {half}")), 2);
    // On both paths of a branch after the loop.
    let ways = format!("setp.lt.u32 %p2, %t, 9; @%p2 bra M; {half} M: {shuffle} {half}");
    assert_eq!(places(&ways), 2);
}

/// Each lane takes a lock that another lane of its warp may hold, then shuffles with lanes that took it at other times.
#[test]
fn lanes_of_a_warp_wait_for_each_other() {
    let text = format!(
        ".global .align 4 .b32 lock; .global .align 4 .b32 count;
         {BEGIN}
         take: atom.global.cas.b32 %r1, [lock], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra take;
         membar.gl; ld.volatile.global.u32 %r2, [count]; add.u32 %r3, %r2, 1;
         st.volatile.global.u32 [count], %r3; membar.gl; atom.global.exch.b32 %r4, [lock], 0;
         shfl.sync.idx.b32 %r5, %t, 5, 31, -1; bar.sync 0;
         ld.volatile.global.u32 %r6, [count]; mad.lo.u32 %r7, %r6, 1000, %r5;
         setp.lt.u32 %p2, %t, 40; vote.sync.ballot.b32 %r8, %p2, -1; popc.b32 %r8, %r8;
         mad.lo.u32 %r7, %r8, 1000000, %r7; st.global.u32 [%o], %r7; ret; }}"
    );
    let found = words(&text, 64, 64);
    let expected =
        (0..64u32).map(|t| 64_000 + (t & 32) + 5 + if t < 32 { 32_000_000 } else { 8_000_000 });
    assert!(found.is_empty() || found == expected.collect::<Vec<u32>>(), "{found:?}");
}

/// A lane waits for a lane that is later in the code, in a function and in a kernel.
#[test]
fn lanes_wait_for_what_others_do_behind_the_loop() {
    let text = format!(
        ".global .align 4 .b32 turn; .global .align 4 .b32 turns;
         .func (.param .b32 r) in_turn(.param .b32 lane) {{ .reg .b32 n, m; .reg .pred p; ld.param.b32 n, [lane];
           L: ld.volatile.global.u32 m, [turn]; setp.ne.u32 p, m, n; @p bra L;
           add.u32 m, m, 1; st.volatile.global.u32 [turn], m; st.param.b32 [r], m; ret; }}
         {BEGIN}
         {{ .param .b32 i; .param .b32 u; st.param.b32 [i], %t; call (u), in_turn, (i); ld.param.b32 %r2, [u]; }}
         wait: ld.volatile.global.u32 %r1, [turns]; setp.ne.u32 %p1, %r1, %t; @%p1 bra wait;
         add.u32 %r1, %r1, 1; st.volatile.global.u32 [turns], %r1;
         bar.warp.sync -1; ld.volatile.global.u32 %r3, [turn]; mad.lo.u32 %r2, %r3, 100, %r2;
         st.global.u32 [%o], %r2; ret; }}"
    );
    let found = words(&text, 32, 32);
    let expected = (0..32u32).map(|t| 3200 + t + 1);
    assert!(found.is_empty() || found == expected.collect::<Vec<u32>>(), "{found:?}");
}

/// Lanes that have ended count at a barrier with a thread count, as warps do on NVIDIA's GPUs.
#[test]
fn ended_lanes_count_at_barriers() {
    let text = format!(
        ".shared .align 4 .b32 cells[64];
         {BEGIN}
         st.global.u32 [%o], %t; and.b32 %r1, %t, 31; setp.gt.u32 %p1, %r1, 19; @%p1 ret;
         mov.u32 %r3, cells; mad.lo.u32 %r4, %t, 4, %r3; st.shared.u32 [%r4], %t;
         bar.sync 1, 64; xor.b32 %r5, %t, 32; mad.lo.u32 %r5, %r5, 4, %r3; ld.shared.u32 %r6, [%r5];
         add.u32 %r6, %r6, 500; st.global.u32 [%o], %r6; ret; }}"
    );
    let found = words(&text, 64, 64);
    let expected = (0..64u32).map(|t| if t & 31 > 19 { t } else { 500 + (t ^ 32) });
    assert!(found.is_empty() || found == expected.collect::<Vec<u32>>(), "{found:?}");
}

/// A barrier of all threads does not wait for warps that have ended, even if its number is also used with a thread count:
/// some warps end before the others arrive, and some while they wait.
#[test]
fn ended_warps_count_at_barriers_of_all() {
    let text = format!(
        "{BEGIN}
         st.global.u32 [%o], %t; setp.lt.u32 %p1, %t, 32; @%p1 ret;
         mov.u32 %r1, 3; mov.u32 %r2, 0; setp.lt.u32 %p2, %t, 64; @%p2 bra late;
         setp.lt.u32 %p3, %t, 70; bar.red.popc.u32 %r4, %r1, %p3; bar.red.popc.u32 %r5, %r1, %p3;
         bar.sync %r1, 64; mad.lo.u32 %r4, %r5, 100, %r4; mad.lo.u32 %r4, %r4, 1000, %t; st.global.u32 [%o], %r4; ret;
         late: add.u32 %r2, %r2, 1; membar.cta; setp.lt.u32 %p4, %r2, 3000; @%p4 bra late; ret; }}"
    );
    let found = words(&text, 128, 128);
    let expected = (0..128u32).map(|t| if t < 64 { t } else { 606_000 + t });
    assert!(found.is_empty() || found == expected.collect::<Vec<u32>>(), "{found:?}");
}
