//! Video instructions: results by the ISA manual's text for chosen operands, and statements that are refused.

use crate::common;

use common::device::Device;
use cushim_ptx::{check, parse};

fn text(code: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n
         .entry k(.param .u64 in, .param .u64 out) {{
         .reg .b64 %rd<3>; .reg .b32 a, b, c, d; .reg .b16 h;
         ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.b32 d, 0;
         ld.global.b32 a, [%rd1]; ld.global.b32 b, [%rd1+4]; ld.global.b32 c, [%rd1+8];
         {code}\nst.global.b32 [%rd2], d; ret; }}"
    )
}

fn one(code: &str, a: u32, b: u32, c: u32) -> u32 {
    let device = Device::new(&text(code));
    let input = device.upload(&[a, b, c], |v| v.to_le_bytes());
    let out = device.alloc(4);
    device.launch("k", 1, 1, &[input, out]).unwrap();
    device.u32s(out, 1)[0]
}

#[test]
fn parts_are_taken_and_put() {
    assert_eq!(one("vadd.u32.u32.u32 d, a.b1, b.h1;", 0x1234_ff78, 0x1_ffff, 0), 0xff + 1);
    assert_eq!(one("vadd.s32.s32.u32 d, a.b1, b.h1;", 0x1234_ff78, 0x1_ffff, 0), 0);
    assert_eq!(one("vsub.s32.s32.s32 d, a.h0, b.b3;", 0x8000, 0x8000_0000, 0), 0xffff_8080);
    // The result replaces one part; the rest comes from the third operand.
    assert_eq!(one("vadd.u32.u32.u32 d.b2, a, b, c;", 0x1ff, 2, 0xaabb_ccdd), 0xaa01_ccdd);
    assert_eq!(one("vadd.u32.u32.u32.sat d.h1, a, b, c;", 0x1_0000, 2, 0xaabb_ccdd), 0xffff_ccdd);
    assert_eq!(one("vsub.s32.u32.u32.sat d.b0, a, b, c;", 0, 300, 0xaabb_ccdd), 0xaabb_cc80);
    assert_eq!(one("vadd.u32.s32.s32.sat d, a, 3;", 0xffff_fff0, 0, 0), 0);
}

#[test]
fn a_second_operation_follows() {
    assert_eq!(one("vabsdiff.u32.u32.u32.add d, a.b0, b.b0, c;", 3, 250, 1000), 1247);
    assert_eq!(one("vmin.s32.s32.s32.max d, a, b, c;", -5i32 as u32, 7, 2), 2);
    assert_eq!(one("vmax.s32.s32.s32.min d, a, b, c;", -5i32 as u32, 7, 2), 2);
    assert_eq!(one("vset.u32.s32.lt.add d, a, b, c;", 3, -1i32 as u32, 41), 41);
    assert_eq!(one("vset.u32.u32.lt.add d, a, b, c;", 3, -1i32 as u32, 41), 42);
    assert_eq!(one("vset.u32.u32.ge d.b3, a, b, c;", 3, 3, 0xaabb_ccdd), 0x01bb_ccdd);
}

#[test]
fn shifts_clamp_and_wrap() {
    assert_eq!(one("vshl.u32.u32.u32.clamp d, a, b;", 3, 33, 0), 0);
    assert_eq!(one("vshl.u32.u32.u32.wrap d, a, b;", 3, 33, 0), 6);
    assert_eq!(one("vshr.s32.s32.u32.clamp d, a, b;", 0x8000_0000, 99, 0), 0xffff_ffff);
    assert_eq!(one("vshr.u32.u32.u32.wrap.add d, a.b3, b, c;", 0x8000_0000, 36, 7), 15);
}

#[test]
fn products_are_negated_and_scaled() {
    assert_eq!(one("vmad.s32.s32.s32 d, a.h0, b.h0, c;", 0xfffe, 5, 100), 90);
    assert_eq!(one("vmad.s32.s32.s32 d, -a.h0, b.h0, c;", 0xfffe, 5, 100), 110);
    assert_eq!(one("vmad.s32.s32.s32 d, -a.h0, -b, c;", 0xfffe, 5, 100), 90);
    assert_eq!(one("vmad.u32.u32.u32.sat d, a, b, -c;", 2, 3, 10), -4i32 as u32);
    assert_eq!(one("vmad.u32.u32.u32.po.shr7 d, a, b, c;", 100, 100, 0), 10001 >> 7);
    assert_eq!(one("vmad.u32.u32.u32.sat d, a, b, c;", 1 << 31, 2, 0), u32::MAX);
    assert_eq!(one("vmad.u32.u32.u32.shr15 d, a, b, c;", 1 << 23, 1 << 23, 0), 0x8000_0000);
}

#[test]
fn parts_side_by_side() {
    let (a, b, c) = (0x10ff_2003, 0x0f01_3004, 0x1111_1111);
    // The sum of absolute differences, as CUDA's header writes it.
    assert_eq!(one("vabsdiff4.u32.u32.u32.add d, a, b, c;", a, b, c), c + 1 + 254 + 16 + 1);
    assert_eq!(one("vabsdiff4.s32.s32.s32 d, a, b, c;", a, b, c), 0x0102_1001);
    assert_eq!(one("vadd4.u32.u32.u32.sat d, a, b, c;", a, b, c), 0x1fff_5007);
    assert_eq!(one("vadd4.u32.u32.u32 d.b20, a, b, c;", a, b, c), 0x1100_1107);
    assert_eq!(one("vavrg4.u32.u32.u32 d, a, b, c;", a, b, c), 0x1080_2804);
    assert_eq!(one("vsub2.s32.s32.s32.sat d, a, b, c;", 0x8000_0005, 0x0001_0009, c), 0x8000_fffc);
    assert_eq!(one("vmin2.s32.s32.s32 d.h1, a, b, c;", 0x8000_0005, 0x0001_0009, c), 0x8000_1111);
    assert_eq!(one("vset2.u32.u32.gt.add d, a, b, c;", 0x8000_0005, 0x0001_0009, c), c + 1);
    assert_eq!(one("vset4.s32.s32.ne d, a, b, c;", 0x0102_0304, 0x0100_0300, 0), 0x0001_0001);
    // Each operand may select parts of both words.
    assert_eq!(one("vmax4.u32.u32.u32 d, a.b7030, b.b4444, c;", 0x44, 0x55 << 24, 0), 0x5544_0044);
    assert_eq!(
        one("vadd2.u32.u32.u32 d, a.h01, b.h33, c;", 0x0002_0001, 0x10_0000, 0),
        0x0011_0012
    );
}

#[test]
fn what_cannot_be_written() {
    let error = |code: &str| match parse(&text(code)).and_then(|m| check(&m)) {
        Ok(m) => m.functions[0].refusals.first().map(|r| r.reason.clone()).unwrap_or_default(),
        Err(e) => e.to_string(),
    };
    for (code, part) in [
        ("vadd.s32.s32.u32.add d.b1, a, b, c;", "a selector of the result"),
        ("vadd.s32.s32.u32 d.b1, a, b;", "expected a third"),
        ("vadd.s32.s32.u32.max d, a, b;", "expected a third"),
        ("vadd.s32.s32.u32 d, a.b4, b;", "an unknown selector"),
        ("vadd.s32.s32.u32 d, -a, b;", "a negated operand"),
        ("vadd.s32.s32.u32 d, h, b;", "found a register of type .b16"),
        ("vmad.s32.s32.u32 d, -a, b, -c;", "found these signs"),
        ("vmad.s32.s32.u32.po d, -a, b, c;", "found these signs"),
        ("vadd2.s32.s32.u32 d.h01, a, b, c;", "an unknown selector"),
        ("vadd2.s32.s32.u32 d, a.h4, b, c;", "an unknown selector"),
        ("vadd4.s32.s32.u32 d, a.b3218, b, c;", "an unknown selector"),
        ("vadd4.s32.s32.u32 d, a, b, c.b0;", "a selector of the third operand"),
        ("vadd4.s32.s32.u32 d, a, b;", "found 3 operands"),
        ("vadd4.s32.s32.u32.sat.add d, a, b, c;", "known forms"),
        ("vshr.u32.s32.u32 d, a, b;", "known forms"),
        ("vset.u32.s32.ls d, a, b;", "known forms"),
    ] {
        let found = error(code);
        assert!(found.contains(part), "{code}: {found}");
    }
    assert_eq!(error("vadd.s32.s32.u32 d, a, b;"), "");
}
