//! The emitter that counts, on kernels whose numbers of operations are known.

use cushim_ptx::ir::Module;
use cushim_ptx::sem::Class;
use cushim_ptx_jit::{Counts, count};

fn module(body: &str) -> Module {
    let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n{body}");
    cushim_ptx::check(&cushim_ptx::parse(&text).unwrap()).unwrap()
}

fn counts(body: &str, block: [u32; 3]) -> Counts {
    let module = module(body);
    let kernel = module.functions.iter().position(|f| f.entry).unwrap();
    count(&module, kernel as u32, block).unwrap()
}

fn of(counts: &Counts, class: Class) -> (u32, u32, u32) {
    counts.classes.get(&class).map_or((0, 0, 0), |n| (n.all, n.uniform, n.looped))
}

const STRAIGHT: &str = ".entry k(.param .u64 out, .param .u32 n) {
  .reg .b64 o, d; .reg .b32 t, n; .reg .f32 x;
  ld.param.u64 o, [out]; ld.param.u32 n, [n]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 4; add.s64 o, o, d;
  add.s32 n, n, 1; cvt.rn.f32.u32 x, n; fma.rn.f32 x, x, x, x; st.global.f32 [o], x; ret; }";

#[test]
fn operations_are_counted_by_class_and_by_who_has_the_same_operands() {
    let c = counts(STRAIGHT, [64, 1, 1]);
    assert_eq!(of(&c, Class::Load), (2, 2, 0));
    assert_eq!(of(&c, Class::Move), (1, 0, 0));
    // The product and the sum depend on the thread's number; one operation is the same for all threads.
    assert_eq!(of(&c, Class::Integer), (3, 1, 0));
    assert_eq!(of(&c, Class::Conversion), (1, 1, 0));
    assert_eq!(of(&c, Class::Float), (1, 1, 0));
    assert_eq!(of(&c, Class::Store), (1, 0, 0));
    assert_eq!(of(&c, Class::Control).0, 1);
    let spaces: Vec<_> = c.spaces.iter().map(|(s, n)| (*s, *n)).collect();
    assert_eq!(spaces, [("global", 1), ("param", 2)]);
    assert_eq!((c.regions, c.divergent, c.waits), (1, 0, 0));
    assert!(c.longest.is_some());
}

#[test]
fn the_shape_of_blocks_says_what_is_uniform() {
    // With y as the number, the 32 threads of a row share one number.
    let body = STRAIGHT.replace("%tid.x", "%tid.y");
    assert_eq!(of(&counts(&body, [32, 4, 1]), Class::Integer), (3, 3, 0));
    assert_eq!(of(&counts(&body, [5, 5, 1]), Class::Integer), (3, 1, 0));
}

#[test]
fn loops_divergence_waits_and_calls_are_found() {
    let body = ".func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 a; ld.param.b32 a, [x]; shl.b32 a, a, 1; st.param.b32 [r], a; ret; }
.entry k(.param .u64 out, .param .u32 n) {
  .reg .b64 o; .reg .b32 t, n, i, v; .reg .pred p, q; .shared .b32 s;
  ld.param.u64 o, [out]; ld.param.u32 n, [n]; mov.u32 t, %tid.x; mov.u32 i, 0;
LOOP: add.s32 i, i, 1; setp.lt.u32 p, i, n; @p bra LOOP;
  setp.lt.u32 q, t, 7; @q bra SKIP; xor.b32 t, t, i;
SKIP: bar.sync 0;
  { .param .b32 a; .param .b32 u; st.param.b32 [a], t; call (u), twice, (a); ld.param.b32 t, [u]; }
  atom.shared.add.u32 v, [s], t; st.global.u32 [o], v; ret; }";
    let c = counts(body, [64, 1, 1]);
    assert_eq!(of(&c, Class::Integer), (1, 1, 1));
    assert_eq!(of(&c, Class::Comparison), (2, 1, 1));
    assert_eq!(of(&c, Class::Barrier), (1, 1, 0));
    // One operation of the function, one of the kernel: the call was inlined, its arguments are moves.
    assert_eq!(of(&c, Class::Bits).0, 2);
    assert_eq!(of(&c, Class::Call).0, 0);
    assert_eq!(of(&c, Class::Atomic), (1, 0, 0));
    assert_eq!((c.divergent, c.waits, c.longest), (1, 1, None));
    assert_eq!(c.spaces.get("shared"), Some(&1));
    assert!(c.to_string().ends_with("1 divergent branch, 1 wait for other lanes, loops"), "{c}");
}
