//! The carry flag across control flow: calls, barriers, loops; as on an H200.

use crate::common;

use common::Device;

fn launch(functions: &str, code: &str) -> Vec<u32> {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n{functions}
         .entry k(.param .u64 o) {{ .reg .b64 ro; .reg .b64 re; .reg .b32 i; .reg .b32 a;
         .reg .b32 b; .reg .b32 d; .reg .pred p; ld.param.u64 ro, [o]; mov.u32 i, %tid.x;
         mul.wide.u32 re, i, 4; add.u64 ro, ro, re; {code} st.global.u32 [ro], d; ret; }}"
    );
    let device = Device::new(&text);
    let out = device.alloc(128);
    device.launch("k", 1, 32, &[out]).unwrap();
    device.u32s(out, 32)
}

/// A call between an addition, which carries from lane 16 on, and the use of the flag.
fn called(functions: &str) -> Vec<u32> {
    let code = "{ .param .b32 x; .param .b32 y; add.cc.u32 a, i, 0xfffffff0; and.b32 b, i, 3;
        st.param.b32 [x], b; call (y), f, (x); addc.u32 d, 0, 0; ld.param.b32 b, [y];
        mad.lo.u32 d, b, 16, d; }";
    launch(functions, code)
}

#[test]
fn calls_neither_see_nor_change_the_flag() {
    let f = ".func (.param .b32 o) f(.param .b32 ia) { .reg .b32 a; ld.param.b32 a, [ia];
        sub.cc.u32 a, 0, a; addc.cc.u32 a, a, 0; st.param.b32 [o], a; ret; }\n";
    let expected = |n: u32| {
        let given = n & 3;
        let left = 0u32.wrapping_sub(given).wrapping_add(u32::from(given == 0));
        left.wrapping_mul(16) + u32::from(n >= 16)
    };
    assert_eq!(called(f), (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn each_call_of_itself_has_a_flag() {
    let f = ".func (.param .b32 o) f(.param .b32 ia) { .reg .b32 a, u, v; .reg .pred p;
        ld.param.b32 a, [ia]; mov.u32 v, 5; setp.eq.u32 p, a, 0; @p bra E; sub.u32 a, a, 1;
        add.cc.u32 u, a, 0xfffffffe; { .param .b32 x; .param .b32 y; st.param.b32 [x], a;
        call (y), f, (x); ld.param.b32 v, [y]; } addc.u32 v, v, v; E: st.param.b32 [o], v; ret; }\n";
    let of_four = [0x50, 0xa0, 0x140, 0x290];
    let expected = |n: usize| of_four[n % 4] + u32::from(n >= 16);
    assert_eq!(called(f), (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn barriers_other_lanes_and_memory_leave_it() {
    for between in [
        "bar.sync 0;",
        "shfl.sync.bfly.b32 b, i, 1, 31, -1; vote.sync.ballot.b32 b, p, -1;",
        "st.global.u32 [ro], a; ld.global.u32 b, [ro]; div.u32 b, b, i; div.s64 re, 77, re;",
        "mov.b32 b, 3; L: sub.u32 b, b, 1; setp.ne.u32 p, b, 0; @p bra L;",
    ] {
        let code = format!("add.cc.u32 a, i, 0xfffffff0; {between} addc.u32 d, 0, 0;");
        let expected: Vec<u32> = (0..32).map(|n| u32::from(n >= 16)).collect();
        assert_eq!(launch("", &code), expected, "{between}");
    }
}

#[test]
fn lanes_that_skip_keep_theirs() {
    for skip in ["@p sub.cc.u32 a, 0, i;", "@!p bra L; sub.cc.u32 a, 0, i; L:"] {
        let code = format!(
            "add.cc.u32 a, i, 0xfffffff0; and.b32 b, i, 1; setp.eq.u32 p, b, 0; {skip}
             addc.u32 d, 0, 0;"
        );
        let expected = |n: u32| u32::from(if n.is_multiple_of(2) { n == 0 } else { n >= 16 });
        assert_eq!(launch("", &code), (0..32).map(expected).collect::<Vec<_>>(), "{skip}");
    }
}
