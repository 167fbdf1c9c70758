//! Modules that refer to each other, linked and run.

use crate::common;

use common::device::Device;
use cushim_ptx::{Error, check, ir::Module, link, parse};

const HEAD: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

fn module(text: &str) -> Module {
    let text = format!("{HEAD}{text}");
    parse(&text).and_then(|m| check(&m)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A kernel that calls `twice` and adds `bias`, which another module defines.
const USER: &str = "
.extern .func (.param .b32 r) twice (.param .b32 a);
.extern .global .align 4 .u32 bias;
.global .align 4 .u32 own = 5;
.visible .entry k (.param .u64 out) {
  .reg .u64 %p; .reg .u32 %a, %b; .param .b32 x; .param .b32 y;
  ld.param.u64 %p, [out];
  ld.global.u32 %a, [own];
  st.param.b32 [x], %a;
  call (y), twice, (x);
  ld.param.b32 %a, [y];
  ld.global.u32 %b, [bias];
  add.u32 %a, %a, %b;
  st.global.u32 [%p], %a;
  ret;
}";

/// The module that defines them; its internal variable has a name that the other module also uses.
const MAKER: &str = "
.visible .global .align 4 .u32 bias = 100;
.global .align 4 .u32 own = 2;
.visible .global .align 8 .u64 where = bias;
.visible .func (.param .b32 r) twice (.param .b32 a) {
  .reg .u32 %a, %b;
  ld.param.b32 %a, [a];
  ld.global.u32 %b, [own];
  mul.lo.u32 %a, %a, %b;
  st.param.b32 [r], %a;
  ret;
}";

#[test]
fn names_are_found_in_either_order() {
    for texts in [[USER, MAKER], [MAKER, USER]] {
        let linked = link(texts.map(module).into()).unwrap();
        let d = Device::of(linked);
        let out = d.alloc(4);
        d.launch("k", 1, 1, &[out]).unwrap();
        assert_eq!(d.u32s(out, 1), [110]);
    }
}

#[test]
fn a_name_is_defined_once_unless_weak() {
    let twice = link(vec![module(MAKER), module(MAKER)]);
    assert!(matches!(twice, Err(Error::Defined { .. })), "{twice:?}");
    let weak = MAKER.replace(".visible", ".weak");
    let linked = link(vec![module(&weak), module(USER), module(&weak.replace("100", "7"))]);
    let d = Device::of(linked.unwrap());
    let out = d.alloc(4);
    d.launch("k", 1, 1, &[out]).unwrap();
    assert_eq!(d.u32s(out, 1), [110], "the first weak definition counts");
    let linked = link(vec![module(&weak), module(USER), module(MAKER)]).unwrap();
    assert_eq!(linked.functions.iter().filter(|f| f.name == "twice").count(), 1);
}

#[test]
fn what_nobody_defines_stays_declared() {
    let linked = link(vec![module(USER)]).unwrap();
    let twice = linked.function("twice").unwrap();
    assert!(!linked.functions[twice as usize].defined);
    assert!(link(Vec::new()).unwrap().functions.is_empty());
}
