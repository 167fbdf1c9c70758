//! Code by which two blocks communicate: the result is the same, whichever is first.

use super::choices::Choices;
use std::fmt::Write;

/// The second block waits for the first one's number and adds it to its sums. Both reach this code: it is at the start.
pub fn handshake(s: &mut String, c: &mut Choices<'_>) {
    let (release, acquire) = [
        ("st.release.gpu.global.b32 [v], 1", "ld.acquire.gpu.global.b32 t, [v]"),
        (
            "fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [v], 1",
            "ld.relaxed.gpu.global.b32 t, [v]; fence.acq_rel.gpu",
        ),
        ("membar.gl; st.volatile.global.b32 [v], 1", "ld.volatile.global.b32 t, [v]; fence.sc.gpu"),
        ("red.release.gpu.global.or.b32 [v], 1", "atom.acquire.gpu.global.or.b32 t, [v], 0"),
    ][c.below(4) as usize];
    let _ = writeln!(
        s,
        "mov.b64 w, g; add.s64 v, w, 4; setp.ne.u32 q, r1, 0; @q bra SECOND; setp.ne.u32 q, r0, 0; @q bra BOTH;
         st.weak.global.b32 [w], {}; {release}; bra BOTH;
         SECOND: {acquire}; setp.eq.u32 q, t, 0; @q bra SECOND; ld.weak.global.b32 t, [w]; add.s32 r6, r6, t;
         BOTH:",
        77 + c.below(100)
    );
}

/// Each block sets its flag, reads the other's, and passes on what it saw. With a fence between, at least one of them
/// sees the other's flag; the test counts if neither does. Afterwards the state is as before.
pub fn both_ways(s: &mut String, c: &mut Choices<'_>) {
    let (store, fence, load) = [
        ("st.relaxed.gpu.global.b32", "fence.sc.gpu", "ld.relaxed.gpu.global.b32"),
        ("st.volatile.global.b32", "membar.gl", "ld.volatile.global.b32"),
        ("st.relaxed.sys.global.b32", "fence.sc.sys", "ld.relaxed.sys.global.b32"),
        ("st.weak.global.b32", "membar.sys", "ld.volatile.global.b32"),
    ][c.below(4) as usize];
    // An additional fence does not weaken the order.
    let more = ["", "fence.acq_rel.gpu;", "fence.proxy.alias;", "membar.cta;"][c.below(4) as usize];
    let _ = writeln!(
        s,
        "{{ .reg .b64 me, you; .reg .b32 a, b; setp.ne.u32 q, own, 0; @q bra TOLD;
         mov.b64 w, g; mul.wide.u32 me, r1, 4; add.s64 me, me, w; xor.b32 a, r1, 1; mul.wide.u32 you, a, 4;
         add.s64 you, you, w; {store} [me+64], 1; {more} {fence}; {load} a, [you+64]; add.u32 a, a, 1;
         st.release.gpu.global.b32 [me+128], a;
         TELL: ld.acquire.gpu.global.b32 b, [you+128]; setp.eq.u32 q, b, 0; @q bra TELL;
         st.relaxed.gpu.global.b32 [me+64], 0; st.relaxed.gpu.global.b32 [you+128], 0;
         add.u32 a, a, b; setp.eq.u32 q, a, 2; selp.u32 a, 1000, 0, q; add.u32 r6, r6, a; }}
         TOLD:"
    );
}
