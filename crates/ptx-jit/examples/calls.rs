//! Measures kernels with calls, interpreted and compiled, on one thread:
//! `cargo run --release -p cushim-ptx-jit --example calls`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::Device;
use cushim_ptx::exec::KernelLaunch;
use cushim_ptx::interp;
use std::time::Instant;

const TEXT: &str = concat!(
    ".version 8.0\n.target sm_80\n.address_size 64\n",
    include_str!("../tests/fib.ptx"),
    "
.func (.param .b32 r) step(.param .b32 x) {
  .reg .b32 a; ld.param.b32 a, [x]; mad.lo.s32 a, a, 1664525, 1013904223; st.param.b32 [r], a; ret; }
.func (.param .b32 r) other(.param .b32 x) {
  .reg .b32 a; ld.param.b32 a, [x]; mad.lo.s32 a, a, 22695477, 1; st.param.b32 [r], a; ret; }
.entry by_name(.param .u64 out) {
  .reg .b64 o; .reg .b64 d; .reg .b32 t; .reg .b32 v; .reg .b32 n; .reg .pred p;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 4; add.s64 o, o, d; mov.u32 v, t; mov.u32 n, 1000;
L: { .param .b32 i; .param .b32 u; st.param.b32 [i], v; call (u), step, (i); ld.param.b32 v, [u]; }
  sub.s32 n, n, 1; setp.ne.s32 p, n, 0; @p bra L; st.global.b32 [o], v; ret; }
.entry by_pointer(.param .u64 out) {
  .reg .b64 o; .reg .b64 d; .reg .b32 t; .reg .b32 v; .reg .b32 n; .reg .pred p; .reg .b64 f; .reg .b64 g;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 4; add.s64 o, o, d; mov.u32 v, t; mov.u32 n, 1000;
  mov.u64 f, step; mov.u64 g, other;
L: and.b32 t, v, 4; setp.ne.s32 p, t, 0; selp.b64 d, f, g, p;
  { .param .b32 i; .param .b32 u; P: .callprototype (.param .b32 _) _ (.param .b32 _);
    st.param.b32 [i], v; call (u), d, (i), P; ld.param.b32 v, [u]; }
  sub.s32 n, n, 1; setp.ne.s32 p, n, 0; @p bra L; st.global.b32 [o], v; ret; }
.entry recursion(.param .u64 out) {
  .reg .b64 o; .reg .b64 d; .reg .b32 t; .reg .b32 v;
  ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 4; add.s64 o, o, d; and.b32 t, t, 1; add.s32 t, t, 12;
  { .param .b32 i; .param .b32 u; st.param.b32 [i], t; call (u), fib, (i); ld.param.b32 v, [u]; }
  st.global.b32 [o], v; ret; }
"
);

fn main() {
    let device = Device::new(TEXT);
    let out = device.alloc(4096);
    println!("{:12} {:>14} {:>12} {:>7}", "ms", "interpreted", "compiled", "times");
    for name in ["by_name", "by_pointer", "recursion"] {
        let kernel = device.find(name);
        let launch = KernelLaunch {
            module: &device.module,
            kernel,
            globals: &[],
            grid: [4, 1, 1],
            block: [256, 1, 1],
            dynamic_shared: 0,
            params: &out.to_le_bytes(),
            cluster: [1; 3],
            explicit_cluster: false,
            cooperative: false,
            workspace: 0,
            local_limit: 512 << 10,
        };
        let code = device.kernel(kernel).unwrap_or_else(|e| panic!("{e}"));
        code.improve(launch.block).unwrap_or_else(|e| panic!("{e}"));
        let least = |run: &dyn Fn()| {
            let once = |_| {
                let start = Instant::now();
                run();
                start.elapsed().as_secs_f64() * 1e3
            };
            (0..5).map(once).fold(f64::MAX, f64::min)
        };
        let slow = least(&|| interp::run(&launch, &device.arena, &device).unwrap());
        let fast = least(&|| code.run(&launch, &device.arena, &device, 1).unwrap());
        println!("{name:12} {slow:14.2} {fast:12.3} {:7.0}", slow / fast);
    }
}
