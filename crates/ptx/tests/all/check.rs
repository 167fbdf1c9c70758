//! The checker's rules, and the instructions that it accepts but notes as refused.

use cushim_ptx::ir::{Module, Src, Symbol};
use cushim_ptx::sem::{Control, Operation};
use cushim_ptx::{Error, check, parse};

fn module(body: &str) -> Result<Module, Error> {
    check(&parse(&format!(".version 8.3\n.target sm_80\n.address_size 64\n{body}"))?)
}

fn kernel(body: &str) -> Result<Module, Error> {
    module(&format!(
        ".entry k(.param .u64 a, .param .u32 n) {{ .reg .pred %p<3>; .reg .b32 %r<9>;
         .reg .b64 %rd<9>; .reg .f32 %f<3>; .reg .b16 %h<3>;\n{body}\n}}"
    ))
}

fn error(body: &str) -> String {
    kernel(body).unwrap_err().to_string()
}

#[test]
fn names_must_be_declared() {
    assert_eq!(error("add.u32 %r1, %r2, %r9;"), "6:19: `%r9` is not declared, expected a variable");
    assert_eq!(error("bra L;"), "6:5: `L` is not declared, expected a label");
    assert_eq!(error("@%r1 ret;"), "6:2: `%r1` is not declared, expected a predicate register");
    assert_eq!(error("L: ret; L: ret;"), "6:9: `L` is declared again, expected one declaration");
    assert_eq!(error("call f;"), "6:6: `f` is not declared, expected a function");
    // A name of an inner scope ends with it, and hides an outer name inside it.
    assert!(kernel("{ .reg .b32 t; mov.u32 t, 1; } mov.u32 %r1, t;").is_err());
    assert!(kernel("{ .reg .b64 %r1; mov.u64 %r1, 1; } mov.u32 %r1, 2;").is_ok());
}

#[test]
fn operands_must_fit() {
    assert_eq!(
        error("add.u32 %r1, %rd2, 1;"),
        "6:1: `add.u32`: found a register of type .b64, expected one as wide as .u32"
    );
    assert_eq!(error("add.u32 %r1, 1;"), "6:1: `add.u32`: found 2 operands, expected 3");
    assert_eq!(
        error("add.u32 %r1, %r2, 1.5;"),
        "6:1: `add.u32`: found a floating-point constant, expected a constant of type .u32"
    );
    assert_eq!(
        error("ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];").split(": ").nth(2),
        Some("found 3 results, expected 2")
    );
    assert!(kernel("ld.global.u8 %r1, [%rd1]; cvt.u64.u8 %rd1, %r1; st.u8 [%rd1], %h1;").is_ok());
    assert!(kernel("ld.global.u32 %h1, [%rd1];").is_err());
    assert!(kernel("mov.b64 %rd1, {%r1, %r2}; mov.b32 {%h1, _}, %r1;").is_ok());
    assert!(kernel("mov.b64 %rd1, {%r1, %h2};").is_err());
    assert!(kernel("and.pred %p1, %p2, %r1;").is_err());
}

#[test]
fn a_vector_has_as_many_members_as_it_says() {
    for (vector, members) in
        [(2, ["x", "y", "r", "g"].as_slice()), (4, &["x", "y", "z", "w", "r", "g", "b", "a"])]
    {
        for member in ["x", "y", "z", "w", "r", "g", "b", "a"] {
            // The next register in the register file is another variable.
            let body = format!(
                ".reg .v{vector} .b32 v; .reg .b32 next; mov.b32 v.{member}, 1; mov.b32 %r1, v.{member};"
            );
            assert_eq!(kernel(&body).is_ok(), members.contains(&member), ".v{vector}, {member}");
        }
    }
}

#[test]
fn what_is_not_run_is_noted_with_its_place() {
    let m = module(
        ".entry good() { ret; }
         .func f() { .reg .b64 d; .reg .f32 x<4>;
           tex.2dms.v4.f32.s32 {x0, x1, x2, x3}, [d, {x0, x1, x2, x3}]; ret; }
         .entry bad() { call f; frobnicate.u32 1; add.sat.u32 1, 2, 3; }",
    )
    .unwrap();
    assert!(m.refusals(m.function("good").unwrap()).is_empty());
    let bad = m.refusals(m.function("bad").unwrap());
    let text: Vec<_> = bad
        .iter()
        .map(|(f, r)| {
            format!("{} {} {}: {}", m.functions[*f as usize].name, r.pos, r.instruction, r.reason)
        })
        .collect();
    assert_eq!(text.len(), 3);
    assert_eq!(text[0], "bad 7:33 frobnicate.u32: no instruction has this name");
    assert!(text[1].starts_with("bad 7:51 add.sat.u32: known forms: add.INT"), "{}", text[1]);
    assert_eq!(
        text[2],
        "f 6:12 tex.2dms.v4.f32.s32: multisampled textures (`.2dms`) are not supported"
    );
}

#[test]
fn globals_get_their_bytes() {
    let m = module(
        ".global .align 8 .b8 s[5] = {72, 105, 0xFF(g)}; .global .f32 g = 1.5; .const .u64 p = s+2;
         .global .u64 t[2] = {f, generic(g)}; .func f() { ret; } .global .s16 n[2] = {-1, 2};",
    )
    .unwrap();
    assert_eq!((m.globals[0].bytes.as_slice(), m.globals[0].size), (&[72, 105, 0][..], 5));
    assert_eq!(m.globals[0].relocations[0].mask, Some(255));
    assert_eq!(m.globals[1].bytes, 1.5f32.to_le_bytes());
    assert_eq!(
        (m.globals[2].relocations[0].target, m.globals[2].relocations[0].addend),
        (Symbol::Global(0), 2)
    );
    assert_eq!(m.globals[3].relocations[0].target, Symbol::Function(0));
    assert_eq!(m.globals[4].bytes, [255, 255, 2, 0]);
    assert!(module(".global .u32 x[1] = {1, 2};").is_err());
    assert!(module(".global .u32 x = 1.5;").is_err());
}

#[test]
fn parameters_and_blocks() {
    let m = kernel(
        "mov.u32 %r1, 0;
         loop: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra loop;
         mov.u32 %r2, 1; ret;",
    )
    .unwrap();
    let k = &m.functions[0];
    assert_eq!((k.params_size, k.params.len()), (12, 2));
    // entry, loop, the block after it, and the end block, which is always added
    assert_eq!(k.blocks.len(), 4);
    assert_eq!(k.blocks[1].successors, [1, 2]);
    assert!(k.blocks[0].rank < k.blocks[1].rank && k.blocks[1].rank < k.blocks[2].rank);
    let bra = k.code.iter().find(|i| i.sem == Operation::Control(Control::Branch)).unwrap();
    assert_eq!(bra.src, [Src::Target(k.blocks[1].start)]);
}

fn wide(body: &str) -> Result<Module, Error> {
    check(&parse(&format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.entry k() {{ .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
         .reg .b16 %h<9>; .reg .b128 q, %q<4>; .shared .align 16 .b8 s[32];\n{body}\nret; }}"
    ))?)
}

/// ptxas 13.5 accepts each of these, and of the others all but those with `xor`, `f`, three parts or a result of 64 bits.
#[test]
fn registers_of_128_bits_are_two_of_64() {
    for good in [
        "mov.b128 q, {%rd1, %rd2}; @%p1 mov.b128 %q3, q; mov.b128 {%rd3, _}, %q3;",
        "mov.b128 q, {%r1, %r2, %r3, %r4}; mov.b128 {%h1, %h2, %h3, %h4, %h5, %h6, _, _}, q; mov.b128 q, 7;",
        "ld.global.b128 q, [%rd1+16]; st.global.b128 [%rd1], q; ld.relaxed.gpu.b128 q, [%rd1];",
        "ld.nc.global.b128 q, [%rd1]; ld.acquire.sys.b128 q, [%rd1]; st.release.sys.b128 [%rd1], q;",
        "atom.cas.b128 %q0, [%rd1], %q1, %q2; atom.global.exch.b128 _, [%rd1], %q1;",
        "atom.relaxed.cta.shared.cas.b128 %q0, [s], %q1, %q1;",
        "atom.global.exch.L2::cache_hint.b128 %q0, [%rd1], %q1, %rd2;",
    ] {
        let module = wide(good).unwrap();
        assert_eq!(module.functions[0].refusals, [], "{good}");
    }
    let registers = &wide("").unwrap().functions[0].registers;
    assert_eq!(registers.iter().filter(|ty| ty.bits() == 64).count(), 9 + 2 * 5);
    for (refused, why) in [
        ("ld.b64 q, [%rd1];", "registers of 128 bits: expected in instructions of type .b128"),
        ("xor.b128 q, q, q;", "known forms: "),
        ("atom.add.b128 q, [%rd1], q;", "known forms: "),
    ] {
        let module = wide(refused).unwrap();
        let [refusal] = module.functions[0].refusals.as_slice() else { panic!("{refused}") };
        assert!(refusal.reason.starts_with(why), "{refusal:?}");
    }
    for (bad, why) in [
        ("mov.b128 q, {%rd1, %r1};", "found a register of type .b32, expected one as wide as .b64"),
        ("mov.b128 q, {%rd1, %rd2, %rd3};", "found 3 parts, expected 128 bits in all"),
        (
            "mov.b128 {%rd1, %rd2}, {%rd1, %rd2};",
            "found vectors on both sides, expected one vector",
        ),
        ("mov.b128 %rd1, q;", "found another operand, expected a register of type .b128"),
        ("mov.b64 {q, %r1}, %rd1;", "found a register of type .b128, expected one as wide as .b64"),
        ("atom.cas.b128 q, [%rd1], q;", "found 3 operands, expected 4"),
        ("mov.b128 q;", "found 1 operands, expected 2"),
    ] {
        let error = wide(bad).unwrap_err().to_string();
        assert_eq!(error.splitn(3, ": ").nth(2), Some(why), "{bad}");
    }
    let old = ".version 8.3\n.target sm_80\n.address_size 64\n.entry k() { .reg .b128 q; .reg .b64 a; atom.cas.b128 q, [a], q, q; }";
    let why = check(&parse(old).unwrap()).unwrap_err().to_string();
    assert!(why.contains("`atom.cas.b128`") && why.contains("sm_90"), "{why}");
}
