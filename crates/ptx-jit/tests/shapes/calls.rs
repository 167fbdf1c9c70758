//! Shapes of calls.

use super::{Text, line};

/// A call of a function with one number as argument.
fn call(to: &str, k: usize) -> String {
    format!(
        "{{ .param .b32 i; .param .b32 r; st.param.b32 [i], %a; call (r), {to}{k}, (i); ld.param.b32 %a, [r]; }}"
    )
}

const HEAD: &str = ".reg .b32 %a, %x; .reg .pred %p; ld.param.b32 %a, [i];";
const TAIL: &str = "st.param.b32 [r], %a; ret; }";

fn function(t: &mut Text, name: &str, k: usize, body: &str) {
    t.outside(format_args!(
        ".func (.param .b32 r) {name}{k}(.param .b32 i) {{ {HEAD}\n  {body}\n  {TAIL}"
    ));
}

/// Many small functions, each called twice.
pub fn functions(n: usize) -> String {
    let mut t = Text::new();
    for k in 0..n / 18 {
        let body = format!(
            "and.b32 %x, %a, {}; setp.ne.s32 %p, %x, 0; @%p bra L; mad.lo.s32 %a, %a, 3, {k}; L: xor.b32 %a, %a, {k};",
            k + 1
        );
        function(&mut t, "f", k, &body);
        let call = call("f", k);
        line!(t, "{call}");
        line!(t, "{call}");
    }
    t.done()
}

/// Each function calls the next.
pub fn deep(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 10;
    for k in (0..m).rev() {
        let inner = if k + 1 < m { call("f", k + 1) } else { String::new() };
        let body = format!(
            "and.b32 %x, %a, {}; setp.eq.s32 %p, %x, 1; @%p bra L; mad.lo.s32 %a, %a, 3, {k}; {inner} L: xor.b32 %a, %a, {k};",
            k + 1
        );
        function(&mut t, "f", k, &body);
    }
    let first = call("f", 0);
    line!(t, "{first}");
    t.done()
}

/// One function that is too large to be inlined, with many call sites.
pub fn many(n: usize) -> String {
    let mut t = Text::new();
    let body: Vec<String> = (0..320).map(|k| format!("mad.lo.s32 %a, %a, 1664525, {k};")).collect();
    function(&mut t, "f", 0, &body.join(" "));
    let call = call("f", 0);
    for k in 0..n / 5 {
        line!(t, "{call}");
        line!(t, "xor.b32 %a, %a, {k};");
    }
    t.done()
}

/// Functions that call each other in a cycle.
pub fn circle(n: usize) -> String {
    let mut t = Text::new();
    let m = (n / 14).max(1);
    t.outside(format_args!(".func (.param .b32 r) f0(.param .b32 i);"));
    for k in (0..m).rev() {
        // The function's own number is live across the call.
        let body = format!(
            ".reg .b32 %own; shr.u32 %own, %a, 1; setp.lt.u32 %p, %a, 2; @%p bra L; shr.u32 %a, %a, 1; {} add.s32 %a, %a, %own; L: xor.b32 %a, %a, {};",
            call("f", (k + 1) % m),
            k & 7
        );
        function(&mut t, "f", k, &body);
    }
    let first = call("f", 0);
    line!(t, "and.b32 %a, %a, 255;");
    line!(t, "{first}");
    t.done()
}

/// Functions called through a pointer.
pub fn pointers(n: usize) -> String {
    let mut t = Text::new();
    let m = (n / 12).max(1);
    let names: Vec<String> = (0..m).map(|k| format!("f{k}")).collect();
    for k in 0..m {
        function(&mut t, "f", k, &format!("mad.lo.s32 %a, %a, 3, {k}; xor.b32 %a, %a, 9;"));
    }
    t.outside(format_args!(".global .align 8 .u64 table[{m}] = {{ {} }};", names.join(", ")));
    t.declare(format_args!(".reg .b64 %f, %g;"));
    for _ in 0..8 {
        line!(
            t,
            "rem.u32 %x, %a, {m}; mul.wide.u32 %f, %x, 8; mov.u64 %g, table; add.s64 %f, %f, %g;"
        );
        line!(t, "ld.global.u64 %f, [%f];");
        line!(
            t,
            "{{ .param .b32 i; .param .b32 r; P: .callprototype (.param .b32 _) _ (.param .b32 _); \
             st.param.b32 [i], %a; call (r), %f, (i), P; ld.param.b32 %a, [r]; }}"
        );
    }
    t.done()
}
