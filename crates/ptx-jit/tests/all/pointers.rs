//! Many indirect calls with many possible targets: the compiler joins them in shared dispatch code (gates). Random programs
//! with such calls, interpreted and compiled, with the same results and the same faults.

use crate::common;

use common::Device;
use cushim_ptx::exec::Cause;
use std::fmt::Write;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % n
    }
}

/// PTX that loads a function pointer from the table into `%f`; it depends on `%a`, and so on the lane.
fn choose(r: &mut Random, table: &str, count: usize) -> String {
    format!(
        "add.u32 %x, %a, {}; rem.u32 %x, %x, {count}; mul.wide.u32 %f, %x, 8; mov.u64 %g, {table}; \
         add.s64 %f, %f, %g; ld.global.u64 %f, [%f];",
        r.below(100)
    )
}

/// An indirect call of a function in one of the tables; `%a` is the argument and the result, `%n` the remaining depth
/// of calls.
fn call(r: &mut Random, counts: [usize; 4]) -> String {
    let [numbers, structs, registers, stores] = counts;
    match r.below(8) {
        0 | 1 => format!(
            "{} {{ .param .align 8 .b8 i[24]; .param .b32 j; .param .align 8 .b8 o[24]; {} st.param.b32 [j], %n;\n\
             P: .callprototype (.param .align 8 .b8 _[24]) _ (.param .align 8 .b8 _[24], .param .b32 _);\n\
             call (o), %f, (i, j), P; {} }}",
            choose(r, "structs", structs),
            [
                "st.param.v2.b32 [i], {%a, %n}; st.param.b64 [i+8], %g; st.param.b16 [i+16], 77;",
                "st.param.b64 [i], %g; st.param.v2.b32 [i+8], {%a, %a}; st.param.b64 [i+16], %f;",
                "st.param.b32 [i], %a; st.param.b32 [i+4], 5; st.param.b32 [i+8], %n; st.param.b32 [i+12], %a; st.param.b64 [i+16], 1;",
            ][r.below(3)],
            [
                "ld.param.v2.b32 {%a, %x}, [o]; add.s32 %a, %a, %x;",
                "ld.param.b64 %g, [o]; cvt.u32.u64 %x, %g; xor.b32 %a, %a, %x;",
                "ld.param.b32 %x, [o+4]; xor.b32 %a, %a, %x;"
            ][r.below(3)],
        ),
        2 => format!(
            "{} P: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b64 _);\n call (%a), %f, (%a, %g), P;",
            choose(r, "registers", registers),
        ),
        3 => format!(
            "{} {{ .param .b64 i; .param .b32 j; st.param.b64 [i], %o; st.param.b32 [j], %a;\n\
             P: .callprototype _ (.param .b64 _, .param .b32 _);\n call %f, (i, j), P; }} ld.global.u32 %a, [%o];",
            choose(r, "stores", stores),
        ),
        _ => format!(
            "{} {{ .param .b32 i; .param .b32 j; .param .b64 k; .param .b32 o; st.param.b32 [i], %a; st.param.b32 [j], %n; st.param.b64 [k], %o;\n\
             P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _, .param .b64 _);\n\
             call (o), %f, (i, j, k), P; ld.param.b32 %a, [o]; }}",
            choose(r, "numbers", numbers),
        ),
    }
}

const REGISTERS: &str =
    ".reg .b32 %a, %x, %n, %own; .reg .b64 %f, %g, %o; .reg .pred %p; .reg .b16 %h;";

/// The body of a function: arithmetic, perhaps with calls, perhaps in divergent lanes.
fn body(r: &mut Random, calls: bool, counts: [usize; 4]) -> String {
    let mut t = format!("mad.lo.s32 %a, %a, {}, {};\n", 2 * r.below(20) + 1, r.below(1000));
    if r.below(3) == 0 {
        t += "mov.u32 %x, %laneid; xor.b32 %a, %a, %x;\n";
    }
    if calls {
        t += "mov.b32 %own, %a; setp.eq.u32 %p, %n, 0; @%p bra END; sub.u32 %n, %n, 1;\n";
        if r.below(2) == 0 {
            let _ = writeln!(
                t,
                "and.b32 %x, %a, {}; setp.ne.u32 %p, %x, 0; @%p bra END;",
                1 << r.below(3)
            );
        }
        for _ in 0..1 + r.below(2) {
            let call = call(r, counts);
            let _ = writeln!(t, "{{ {call} }} xor.b32 %a, %a, %own;");
        }
        t += "END:\n";
    }
    t
}

fn table(t: &mut String, name: &str, count: usize) {
    let names: Vec<String> = (0..count).map(|k| format!("{name}{k}")).collect();
    let _ = writeln!(t, ".global .align 8 .u64 {name}[{count}] = {{ {} }};", names.join(", "));
}

/// A kernel that begins with `places` calls; with `circles`, functions call one another and themselves.
fn program(seed: u64, places: usize, circles: bool) -> String {
    let r = &mut Random(seed);
    let counts = [2 + r.below(9), 1 + r.below(7), 1 + r.below(6), 1 + r.below(6)];
    let mut functions = String::new();
    let heads = [
        "(.param .b32 r) numbers# (.param .b32 x, .param .b32 n, .param .b64 o)",
        "(.param .align 8 .b8 r[24]) structs# (.param .align 8 .b8 x[24], .param .b32 n)",
        "(.reg .b32 r) registers# (.reg .b32 x, .reg .b64 y)",
        "stores# (.param .b64 o, .param .b32 x)",
    ];
    let mut t = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    for (kind, (head, count)) in heads.into_iter().zip(counts).enumerate() {
        for k in 0..count {
            let head = head.replace('#', &k.to_string());
            let _ = writeln!(t, ".func {head};");
            // Only functions of kind 0 take the depth and the output address: only they make calls.
            let calls = circles && kind == 0 && r.below(2) == 0;
            let body = body(r, calls, counts);
            let (before, behind) = match kind {
                0 => (
                    "ld.param.b32 %a, [x]; ld.param.b32 %n, [n]; ld.param.b64 %o, [o];",
                    "st.param.b32 [r], %a;".to_owned(),
                ),
                1 => (
                    [
                        "ld.param.b32 %a, [x]; ld.param.b32 %x, [x+8]; add.s32 %a, %a, %x;",
                        "ld.param.v2.b32 {%a, %x}, [x]; ld.param.b64 %g, [x+8]; cvt.u32.u64 %x, %g; xor.b32 %a, %a, %x;",
                        "mov.b64 %g, x; ld.param.b32 %a, [%g+4];",
                    ][r.below(2)],
                    [
                        "st.param.v2.b32 [r], {%a, 5};",
                        "cvt.u64.u32 %g, %a; st.param.b64 [r], %g; st.param.b64 [r+8], %g; ",
                        "st.param.b32 [r], 3; st.param.b32 [r+4], %a; st.param.b16 [r+20], 4;",
                    ][r.below(3)]
                    .to_owned(),
                ),
                2 => ("cvt.u32.u64 %a, y; add.s32 %a, %a, x;", "mov.b32 r, %a;".into()),
                _ => (
                    "ld.param.b64 %o, [o]; ld.param.b32 %a, [x];",
                    format!("xor.b32 %a, %a, {k}; st.global.u32 [%o], %a;"),
                ),
            };
            let _ = writeln!(
                functions,
                ".func {head} {{ {REGISTERS}\n{before}\n{body}{behind}\nret; }}"
            );
        }
    }
    for (name, count) in ["numbers", "structs", "registers", "stores"].into_iter().zip(counts) {
        table(&mut t, name, count);
    }
    t += &functions;
    let _ = writeln!(
        t,
        ".entry k(.param .u64 out, .param .u32 depth) {{ {REGISTERS} mov.u32 %a, %tid.x; mul.wide.u32 %g, %a, 4;\n\
         ld.param.u64 %o, [out]; add.s64 %o, %o, %g; ld.param.u32 %n, [depth];"
    );
    for _ in 0..places {
        let call = call(r, counts);
        match r.below(3) {
            0 => {
                let _ = writeln!(
                    t,
                    "{{ and.b32 %x, %a, 3; setp.ne.u32 %p, %x, 0; @%p bra OVER;\n{call}\nOVER: }}"
                );
            }
            _ => drop(writeln!(t, "{{ {call} }}")),
        }
        if r.below(4) == 0 {
            t += "bar.sync 0;\n";
        }
    }
    t + "st.global.u32 [%o], %a; ret; }\n"
}

/// A number from the environment, for long runs apart from the tests.
fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")),
        Err(_) => otherwise,
    }
}

#[test]
fn random_programs_do_the_same() {
    for seed in 0..number("CUSHIM_RANDOM_KERNELS", 16) {
        let text = program(seed, 4 + seed as usize % 13, seed % 3 != 0);
        let d = Device::new(&text);
        let out = d.alloc(4 * 96);
        let run = || d.launch("k", 1, [32, 96, 45][seed as usize % 3], &[out, seed % 4]).unwrap();
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            panic!("program {seed}:\n{text}");
        }
    }
}

/// Enough functions and calls for a gate; the pointer of call `k` is at `pointers[k]`.
fn many(functions: usize, places: usize) -> String {
    let mut t = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    for k in 0..functions {
        let _ = writeln!(
            t,
            ".func (.param .b32 r) f{k}(.param .b32 x) {{ .reg .b32 a; ld.param.b32 a, [x]; mad.lo.s32 a, a, 3, {k}; st.param.b32 [r], a; ret; }}"
        );
    }
    table(&mut t, "f", functions);
    t += ".entry k(.param .u64 out, .param .u64 pointers) { .reg .b64 o, f, p, d; .reg .b32 t, a;\n\
          ld.param.u64 o, [out]; ld.param.u64 p, [pointers]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 4; add.s64 o, o, d;\n";
    for k in 0..places {
        let _ = writeln!(
            t,
            "{{ .param .b32 i, u; ld.global.u64 f, [p+{}]; st.param.b32 [i], t;\n\
             Q: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
             call (u), f, (i), Q; ld.param.b32 t, [u]; }}",
            8 * k
        );
    }
    t + "st.global.u32 [o], t; ret; }\n"
}

#[test]
fn what_is_no_function_faults_at_its_call() {
    let (functions, places) = (9, 12);
    let d = Device::new(&many(functions, places));
    let (out, pointers) = (d.alloc(4 * 64), d.alloc(8 * places as u64));
    let handle = |k: usize| cushim_ptx::exec::FUNCTION_WINDOW + 16 * k as u64;
    let good: Vec<u64> = (0..places).map(|k| handle(k % functions)).collect();
    let set = |all: &[u64]| {
        let bytes: Vec<u8> = all.iter().flat_map(|v| v.to_le_bytes()).collect();
        cushim_ptx::exec::Memory::store(&d.arena, pointers, &bytes).unwrap();
    };
    set(&good);
    d.launch("k", 1, 64, &[out, pointers]).unwrap();
    let mut expected: u32 = 7;
    (0..places)
        .for_each(|k| expected = expected.wrapping_mul(3).wrapping_add((k % functions) as u32));
    assert_eq!(d.u32s(out, 64)[7], expected);
    let mut lines = Vec::new();
    for k in 0..places {
        let mut wrong = good.clone();
        wrong[k] = handle(functions + 50) + 1;
        set(&wrong);
        let fault = d.launch("k", 1, 64, &[out, pointers]).unwrap_err();
        assert!(matches!(*fault.cause, Cause::FunctionPointer { value } if value == wrong[k]));
        lines.push(fault.pos().unwrap().line);
    }
    let steps = lines.windows(2).all(|w| w[1] == w[0] + 3);
    assert!(steps, "{lines:?}: each call has its own place");
}

/// The code size grows with the sum of calls and functions, not with their product.
#[test]
fn code_grows_by_calls_and_functions() {
    use cushim_ptx_jit::too_large;
    for (functions, places) in [(40, 40), (400, 400)] {
        let module =
            cushim_ptx::check(&cushim_ptx::parse(&many(functions, places)).unwrap()).unwrap();
        let kernel = module.function("k").unwrap();
        assert!(too_large(&module, kernel).is_none(), "{functions} functions");
    }
}
