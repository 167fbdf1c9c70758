//! PTX of old versions and for the first generation of devices: results of an H200
//! with a driver for CUDA 13.0, compared with the interpreter and compiled code.

use crate::common;

use common::Device;

/// Runs a kernel with the address of the results in `d` at its start; `i` is the thread.
fn launch(text: &str) -> Vec<u32> {
    let device = Device::new(text);
    let out = device.alloc(32 * 8);
    device.launch("k", 1, 32, &[out, 0x3ff8_0000_0000_0000]).unwrap();
    device.u32s(out, 32)
}

fn refusal(text: &str) -> String {
    let module = cushim_ptx::parse(text).and_then(|m| cushim_ptx::check(&m));
    module.err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn parameters_in_the_body_and_special_registers_of_16_bits() {
    let text = ".version 1.3\n.target sm_11, map_f64_to_f32\n
        .entry k\n{\n .param .u64 __cudaparm_o; .param .u64 __cudaparm_n;
        .reg .u16 $rh<3>; .reg .u32 $r<4>; .reg .u64 $rd<4>;
        .loc 14 4 0\n$LBB1_k:
        mov.u16 $rh1, %ctaid.x; mov.u16 $rh2, %ntid.x; mul.wide.u16 $r1, $rh1, $rh2;
        cvt.u32.u16 $r2, %tid.x; add.u32 $r1, $r1, $r2;
        ld.param.u64 $rd1, [__cudaparm_o]; cvt.u64.s32 $rd2, $r1; mul.lo.u64 $rd2, $rd2, 4;
        add.u64 $rd1, $rd1, $rd2; mul24.lo.u32 $r3, $r1, 3; add.s32 $r3, $r3, 100;
        st.global.s32 [$rd1+0], $r3;\n exit;\n$LDWend_k:\n }\n";
    assert_eq!(launch(text), (0..32).map(|n| 100 + 3 * n).collect::<Vec<u32>>());
}

#[test]
fn registers_of_the_module_are_one_for_all_functions() {
    for head in [".version 1.4\n.target sm_13\n", ".version 7.0\n.target sm_70\n"] {
        let text = format!(
            "{head}.reg .u32 state; .reg .u32 %ra<3>;
             .func (.reg .u32 $ret) f (.reg .u32 a)
             {{ add.u32 $ret, a, 5; add.u32 state, state, 1; ret; }}
             .func g {{ .reg .pred p; setp.gt.u32 p, %ra1, 40; @p ret; add.u32 state, state, 10;
               mov.u32 %ra2, 7; ret; }}
             .func h {{ call.uni g; call g; ret; }}
             .entry k (.param .u64 o)
             {{ .reg .u64 rd; .reg .u64 re; .reg .u32 r; ld.param.u64 rd, [o];
             cvt.u32.u16 r, %tid.x; cvt.u64.u32 re, r; mul.lo.u64 re, re, 4; add.u64 rd, rd, re;
             mov.u32 state, r; mul.lo.u32 %ra1, r, 2; mov.u32 %ra2, 0; call (r), f, (r);
             call.uni h; mad.lo.u32 r, state, 1000, r; mad.lo.u32 r, %ra2, 1000000, r;
             st.global.u32 [rd], r; exit; }}"
        );
        let expected = |n: u32| {
            let twice = if 2 * n > 40 { 0 } else { 20 };
            (n + 1 + twice) * 1000 + n + 5 + if twice == 0 { 0 } else { 7_000_000 }
        };
        assert_eq!(launch(&text), (0..32).map(expected).collect::<Vec<_>>());
    }
}

#[test]
fn shared_memory_by_name_without_an_address_size() {
    for mov in [
        "mov.u64 rd, s; add.u64 rd, rd, re;",
        "mov.u32 q, s; cvt.u64.u32 rd, q; add.u64 rd, rd, re;",
    ] {
        let text = format!(
            ".version 1.4\n.target sm_10, map_f64_to_f32\n.shared .align 4 .b8 s[128];
             .tex .u32 texture;\n.const .align 4 .b8 c[8] = {{1, 2, 3, 4, 5, 6, 7, 8}};
             .entry k (.param .u64 o)
             {{ .shared .u32 z[4]; .reg .u64 rd, re, ro; .reg .u32 r, q; ld.param.u64 ro, [o];
             cvt.u32.u16 r, %tid.x; cvt.u64.u32 re, r; mul.lo.u64 re, re, 4; {mov}
             st.shared.u32 [rd+0], r; bar.sync 0; ld.shared.u32 q, [s+8]; add.u32 q, q, r;
             add.u64 ro, ro, re; ld.const.u32 r, [c+4]; xor.b32 q, q, r; st.global.u32 [ro], q;
             exit; }}"
        );
        let expected: Vec<u32> = (0..32).map(|n| (n + 2) ^ 0x0807_0605).collect();
        assert_eq!(launch(&text), expected, "{mov}");
    }
}

#[test]
fn doubles_stay_doubles() {
    let text = ".version 1.4\n.target sm_10, map_f64_to_f32
        .entry k (.param .u64 o, .param .f64 x)
        { .reg .u64 ro; .reg .f64 f, g; .local .f64 l; ld.param.u64 ro, [o]; ld.param.f64 f, [x];
        add.f64 g, f, f; st.global.f64 [ro], f; st.global.f64 [ro+8], g; st.local.f64 [l], g;
        ld.local.f64 f, [l]; add.f64 f, f, 0d3ff0000000000000; st.global.f64 [ro+16], f;
        mov.f64 f, 0d3ff8000000000000; mul.f64 f, f, 2.5; st.global.f64 [ro+24], f; exit; }";
    let got = launch(text);
    assert_eq!(got[..8], [0, 0x3ff8_0000, 0, 0x4008_0000, 0, 0x4010_0000, 0, 0x400e_0000]);
}

/// The operands `a`, `b` and `c`, row by row.
const ROWS: [[u32; 3]; 7] = [
    [0x3a83_126f, 0x006c_e3ee, 0x0001_16c2],
    [0x0000_0001, 0x3f80_0000, 0x0000_0000],
    [0x0040_0000, 0x3f00_0000, 0x0000_0001],
    [0x807f_ffff, 0x3f80_0000, 0x0000_0000],
    [0x0080_0000, 0x3e80_0000, 0x0000_0000],
    [0xbfc0_0000, 0x0000_0001, 0x0000_0000],
    [0x7fc0_0001, 0x3f80_0000, 0x0000_0000],
];

/// The value of `d` after an instruction, in each row.
fn singles(head: &str, code: &str) -> Vec<u32> {
    let text = format!(
        "{head}.entry k (.param .u64 in, .param .u64 out)
         {{ .reg .u64 in, out, n; .reg .u32 r; .reg .f32 a, b, c, d; .reg .f64 f; .reg .pred p;
         ld.param.u64 in, [in_]; ld.param.u64 out, [out_]; cvt.u64.u16 n, %tid.x;
         mul.lo.u64 n, n, 12; add.u64 in, in, n; cvt.u64.u16 n, %tid.x; mul.lo.u64 n, n, 4;
         add.u64 out, out, n; ld.global.f32 a, [in]; ld.global.f32 b, [in+4];
         ld.global.f32 c, [in+8]; {code} st.global.f32 [out], d; exit; }}"
    )
    .replace(".param .u64 in, .param .u64 out", ".param .u64 in_, .param .u64 out_");
    let text = if head.contains("1.3") {
        text.replace("(.param .u64 in_, .param .u64 out_)", "")
            .replace("{ .reg", "{ .param .u64 in_; .param .u64 out_; .reg")
    } else {
        text
    };
    let device = Device::new(&text);
    let given = device.upload(&ROWS, |r| {
        let mut bytes = [0; 12];
        bytes.chunks_mut(4).zip(r).for_each(|(to, v)| to.copy_from_slice(&v.to_le_bytes()));
        bytes
    });
    let out = device.alloc(64);
    device.launch("k", 1, ROWS.len() as u32, &[given, out]).unwrap();
    device.u32s(out, ROWS.len())
}

#[test]
fn the_first_generation_knows_no_subnormal_singles() {
    // An H200's results for sm_1x, and for later targets.
    #[rustfmt::skip]
    let cases: [(&str, [u32; 7], [u32; 7]); 11] = [
        ("mul.f32 d, a, b;",
            [0, 0, 0, 0x80000000, 0, 0x80000000, 0x7fffffff],
            [0x1be0, 1, 0x200000, 0x807fffff, 0x200000, 0x80000002, 0x7fffffff]),
        ("min.f32 d, a, b;",
            [0, 0, 0, 0x80000000, 0x800000, 0xbfc00000, 0x3f800000],
            [0x6ce3ee, 1, 0x400000, 0x807fffff, 0x800000, 0xbfc00000, 0x3f800000]),
        ("max.f32 d, a, b;",
            [0x3a83126f, 0x3f800000, 0x3f000000, 0x3f800000, 0x3e800000, 0, 0x3f800000],
            [0x3a83126f, 0x3f800000, 0x3f000000, 0x3f800000, 0x3e800000, 1, 0x3f800000]),
        ("add.rz.f32 d, a, b;",
            [0x3a83126f, 0x3f800000, 0x3f000000, 0x3f800000, 0x3e800000, 0xbfc00000, 0x7fffffff],
            [0x3a83126f, 0x3f800000, 0x3f000000, 0x3f7fffff, 0x3e800000, 0xbfbfffff, 0x7fffffff]),
        ("mad.f32 d, a, b, c;",
            [0, 0, 0, 0, 0, 0, 0x7fffffff],
            [0x132a2, 1, 0x200001, 0x807fffff, 0x200000, 0x80000002, 0x7fffffff]),
        ("abs.f32 d, a;",
            [0x3a83126f, 0, 0, 0, 0x800000, 0x3fc00000, 0x7fffffff],
            [0x3a83126f, 1, 0x400000, 0x7fffff, 0x800000, 0x3fc00000, 0x7fffffff]),
        ("neg.f32 d, a;",
            [0xba83126f, 0x80000000, 0x80000000, 0, 0x80800000, 0x3fc00000, 0x7fffffff],
            [0xba83126f, 0x80000001, 0x80400000, 0x7fffff, 0x80800000, 0x3fc00000, 0x7fffffff]),
        ("cvt.f32.f32 d, a;",
            [0x3a83126f, 0, 0, 0x80000000, 0x800000, 0xbfc00000, 0x7fffffff],
            [0x3a83126f, 1, 0x400000, 0x807fffff, 0x800000, 0xbfc00000, 0x7fc00001]),
        ("cvt.rpi.f32.f32 d, a;",
            [0x3f800000, 0, 0, 0x80000000, 0x3f800000, 0xbf800000, 0x7fffffff],
            [0x3f800000, 0x3f800000, 0x3f800000, 0x80000000, 0x3f800000, 0xbf800000, 0x7fffffff]),
        ("setp.eq.f32 p, a, 0f00000000; selp.u32 r, 1, 0, p; mov.b32 d, r;",
            [0, 1, 1, 1, 0, 0, 0], [0; 7]),
        ("set.gt.u32.f32 r, a, 0f00000000; mov.b32 d, r;",
            [!0, 0, 0, 0, !0, 0, 0], [!0, !0, !0, 0, !0, 0, 0]),
    ];
    for (code, first, later) in cases {
        for head in
            ["1.3\n.target sm_10", "1.4\n.target sm_13", "2.0\n.target sm_12", "3.0\n.target sm_10"]
        {
            let head = format!(".version {head}\n");
            assert_eq!(singles(&head, code), first, "{head}{code}");
        }
        // The last version and target that accept it without a rounding.
        let newest =
            if code.starts_with("mad") { "3.1\n.target sm_30" } else { "7.0\n.target sm_70" };
        for head in ["2.0\n.target sm_20", newest] {
            let head = format!(".version {head}\n");
            assert_eq!(singles(&head, code), later, "{head}{code}");
        }
    }
    // Conversions from and to doubles flush subnormals since version 1.5.
    let code = "cvt.f64.f32 f, a; mul.f64 f, f, 2.0; cvt.rn.f32.f64 d, f;";
    let kept = [0x3b03_126f, 2, 0x0080_0000, 0x80ff_fffe, 0x0100_0000, 0xc040_0000, 0x7fff_ffff];
    let flushed = [0x3b03_126f, 0, 0, 0x8000_0000, 0x0100_0000, 0xc040_0000, 0x7fff_ffff];
    for (head, expected) in [
        (".version 1.4\n.target sm_13\n", kept),
        (".version 2.0\n.target sm_13\n", flushed),
        (".version 2.0\n.target sm_20\n", kept),
    ] {
        assert_eq!(singles(head, code)[..6], expected[..6], "{head}");
    }
}

#[test]
fn operations_that_did_not_name_their_approximation() {
    for (old, new) in [
        ("div.f32 d, a, b;", "div.approx.ftz.f32 d, a, b;"),
        ("rcp.f32 d, a;", "rcp.approx.ftz.f32 d, a;"),
        ("sqrt.f32 d, a;", "sqrt.approx.ftz.f32 d, a;"),
        ("rsqrt.f32 d, b;", "rsqrt.approx.ftz.f32 d, b;"),
        ("sin.f32 d, a;", "sin.approx.ftz.f32 d, a;"),
        ("lg2.f32 d, b;", "lg2.approx.ftz.f32 d, b;"),
        ("ex2.f32 d, a;", "ex2.approx.ftz.f32 d, a;"),
        (
            "cvt.f64.f32 f, b; sqrt.f64 f, f; div.f64 f, f, 3.0; mad.f64 f, f, f, f; cvt.rn.f32.f64 d, f;",
            "cvt.f64.f32 f, b; sqrt.rn.f64 f, f; div.rn.f64 f, f, 3.0; fma.rn.f64 f, f, f, f; cvt.rn.f32.f64 d, f;",
        ),
    ] {
        let (before, after) = (".version 1.3\n.target sm_13\n", ".version 3.1\n.target sm_30\n");
        assert_eq!(singles(before, old), singles(after, new), "{old}");
    }
    // From 1.4 on a rounding is required, and NVIDIA's driver refuses an instruction without it.
    let text = ".version 1.4\n.target sm_10\n.entry k { .reg .f32 a; sqrt.f32 a, a; exit; }";
    assert!(refusal(text).contains("found no rounding"), "{}", refusal(text));
}

#[test]
fn texts_for_32_bits_are_refused() {
    let why = "32-bit addressing is not supported on sm_90 or higher";
    let text = ".version 2.3\n.target sm_20\n.address_size 32\n.entry k { exit; }";
    assert!(refusal(text).contains(why), "{}", refusal(text));
    for head in [".version 1.4\n.target sm_10\n", ".version 6.0\n.target sm_50\n.address_size 64\n"]
    {
        for code in [
            "st.global.u32 [r], 1;",
            "ld.global.u32 r, [r];",
            "atom.global.add.u32 r, [r], 1;",
            "mov.u32 r, g;",
            "ld.u32 r, [r];",
        ] {
            // Generic addresses came with version 2.0; devices before sm_11 have no atomics.
            let later = code.starts_with("ld.u32") || code.starts_with("atom");
            if later && head.contains("sm_10") {
                continue;
            }
            let text = format!(
                "{head}.global .u32 g;\n.entry k (.param .u32 o) {{ .reg .u32 r; ld.param.u32 r, [o]; {code} exit; }}"
            );
            assert!(refusal(&text).contains(why), "{code} {}", refusal(&text));
        }
        // Addresses of shared and local memory may have 32 bits, and so may parameters.
        let text = format!(
            "{head}.shared .u32 s;\n.entry k (.param .u32 o)
             {{ .local .u32 l; .reg .u32 r, q; ld.param.u32 q, [o]; mov.u32 r, s;
             st.shared.u32 [r], q; mov.u32 r, l; ld.local.u32 q, [r]; exit; }}"
        );
        assert_eq!(refusal(&text), "");
    }
}
