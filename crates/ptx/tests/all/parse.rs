//! The grammar: layouts, scopes, declarations, and texts of errors.

use cushim_ptx::ast::{Const, Init, OperandKind, Statement};
use cushim_ptx::parse;
use cushim_ptx::types::{Scalar, Space};

const HEAD: &str = ".version 8.3\n.target sm_80\n.address_size 64\n";

fn module(body: &str) -> String {
    format!("{HEAD}{body}")
}

fn error(body: &str) -> String {
    parse(&module(body)).unwrap_err().to_string()
}

#[test]
fn headers() {
    let m = parse(".version 7.8 .target sm_52, debug .address_size 64").unwrap();
    assert_eq!((m.version, m.targets, m.address_size), ((7, 8), vec!["sm_52", "debug"], 64));
    assert!(parse("// nothing").is_err());
    assert!(parse(".version 8.0\n.target sm_80\n.address_size 16").is_err());
}

#[test]
fn variables_and_initial_values() {
    let text = module(
        ".visible .global .align 8 .b8 tab[2][8] = {{1, 2}, {0xFF(f), 0xFF00(f)}}, z;
         .const .f32 pi = 0f40490FDB; .extern .shared .align 16 .b8 dyn[];
         .global .attribute(.managed) .align 4 .u32 m = (3 << 4) | 5 * (2 + 1);
         .global .u64 p[2] = {generic(tab)+8, tab-4}; .global .texref t;",
    );
    let m = parse(&text).unwrap();
    let v = &m.variables;
    assert_eq!(v.len(), 7);
    assert_eq!(v[0].dims, [Some(2), Some(8)]);
    assert_eq!((v[1].name, v[1].dims.len()), ("z", 0));
    assert_eq!(v[2].init, Some(Init::Value(Const::F32(0x4049_0fdb))));
    assert_eq!((v[3].space, v[3].dims.as_slice()), (Space::Shared, &[None][..]));
    assert!(v[4].managed);
    assert_eq!(v[4].init, Some(Init::Value(Const::Int { value: 63, unsigned: false })));
    let Some(Init::List(list)) = &v[5].init else { panic!() };
    assert!(matches!(list[0], Init::Address { addend: 8, generic: true, .. }));
    assert!(matches!(list[1], Init::Address { addend: -4, generic: false, .. }));
    assert_eq!(v[6].ty, Scalar::Texref);
}

#[test]
fn functions_and_statements() {
    let text = module(
        ".func (.param .b32 r) f (.param .b64 a, .param .align 8 .b8 s[16]) .noreturn ;
         .visible .entry k(.param .u64 .ptr .global .align 8 p) .maxntid 256, 1, 1
         .minnctapersm 2 {
           .reg .pred %p<3>; .reg .b32 %r<9>, x; .pragma \"nounroll\";
           .loc 1 22 3, function_name $L__info0, inlined_at 1 2 3
           { .reg .u32 t; mov.u32 t, %laneid; add.u32 x, t, (4+5)*2; }
           @!%p1 bra $L__BB0; setp.lt.and.s32 %p1|%p2, %r1, -1, !%p0;
           shfl.sync.down.b32 %r1|%p1, %r2, 1, 0x1f, -1;
           { .param .b64 q; st.param.b64 [q+0], 5; call (_), f, (q, x);
             call.uni %r1, (q), proto; }
           ld.global.v4.u32 {%r1, _, %r2, %r3}, [%rd1+-16];
           tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r1, %r2}];
           ts: .branchtargets $L__BB0, $L__BB0; brx.idx x, ts;
           proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _);
         $L__BB0: ret; }",
    );
    let m = parse(&text).unwrap();
    assert!(m.functions[0].body.is_none());
    let k = &m.functions[1];
    assert_eq!(k.directives, [("maxntid", vec![256, 1, 1]), ("minnctapersm", vec![2])]);
    assert_eq!(k.params[0].pointee, Some((Space::Global, 8)));
    let body = k.body.as_ref().unwrap();
    let inst = |name: &str| {
        body.iter().find_map(|s| match s {
            Statement::Instruction(i) if i.opcode == name => Some(i),
            _ => None,
        })
    };
    let setp = inst("setp").unwrap();
    assert!(matches!(setp.operands[0].kind, OperandKind::Pair(..)));
    assert!(matches!(setp.operands[3].kind, OperandKind::Not("%p0")));
    assert!(inst("bra").unwrap().guard.unwrap().negated);
    let OperandKind::Memory(a, rest) = &inst("tex").unwrap().operands[1].kind else { panic!() };
    assert_eq!((a.base, rest.len()), (Some("%rd1"), 1));
    let OperandKind::Memory(a, _) = &inst("ld").unwrap().operands[1].kind else { panic!() };
    assert_eq!(a.offset, -16);
}

#[test]
fn errors_say_where_what_and_what_else() {
    assert_eq!(error(".global u32 x;"), "4:9: found `u32`, expected a type such as `.u32`");
    assert_eq!(error(".entry k() { add.u32 %r1 %r2; }"), "4:26: found `%r2`, expected `;`");
    assert_eq!(
        error(".entry k() { ret; "),
        "4:19: found the end of the text, expected an instruction, a declaration or `}`"
    );
    assert_eq!(
        error(".global .align 3 .u32 x;"),
        "4:16: found the number 3, expected a power of two"
    );
    assert_eq!(
        error(".global .u32 x = 1/0;"),
        "4:19: found a division by zero, expected another divisor"
    );
    let deep = format!(".entry k() {{ {} }}", "{".repeat(5000));
    assert!(error(&deep).contains("the nesting is 101, expected at most 100"));
}

/// Source locations may hold anything up to the line's end, and no program is refused because of them.
#[test]
fn places_in_sources() {
    let text = module(
        ".file
         .file 1
         .file \"x\"
         .file 3 \"a/b.cu\", 1, 2
         .loc
         .visible .entry k()
         .loc 3 0 0
         {
         .loc 3 5 1
         .reg .b32 r;
         .loc 3
         .loc 3 99999999999 1
         .loc 3 6 1, function_name $L__info_string0, inlined_at
         .loc 3 7 1, inlined_at 3 2 1, function_name $L__info_string0+4
         mov.b32 r, 1; .loc 9 9 9
         ret; }",
    );
    let m = parse(&text).and_then(|m| cushim_ptx::check(&m)).unwrap();
    let f = &m.functions[0];
    let lines = |n: usize| m.sources.lines(f.pos, f.code[n].pos);
    let shown: Vec<String> = lines(0).iter().map(|l| format!("{l} of {}", l.file)).collect();
    assert_eq!(shown, ["b.cu:7 of a/b.cu", "b.cu:2 of a/b.cu"]);
    assert!(lines(1).is_empty(), "no file has that number");
}
