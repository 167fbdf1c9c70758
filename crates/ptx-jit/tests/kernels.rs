//! Whole kernels, compiled and interpreted, on blocks of several shapes.

mod common;

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
