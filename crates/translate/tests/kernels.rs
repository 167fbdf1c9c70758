//! Whole kernels, translated and run on the GPU in software.

mod common;

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
