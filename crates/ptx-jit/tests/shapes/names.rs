//! Shapes of named things: variables, labels, places in local memory, functions that the kernel does not call.

use super::{Text, line};

/// Variables of the module, each used once.
pub fn globals(n: usize) -> String {
    let mut t = Text::new();
    t.declare(format_args!(".reg .b64 %g;"));
    for k in 0..n / 3 {
        t.outside(format_args!(".global .align 4 .u32 g{k}[2] = {{ {k}, 7 }};"));
        line!(t, "mov.u64 %g, g{k};");
        line!(t, "ld.global.u32 %x, [%g];");
        line!(t, "add.s32 %a, %a, %x;");
    }
    t.done()
}

/// Shared variables.
pub fn shared(n: usize) -> String {
    let mut t = Text::new();
    for k in 0..n / 4 {
        t.outside(format_args!(".shared .align 4 .b8 s{k}[4];"));
        line!(t, "st.shared.u32 [s{k}], %n;");
        line!(t, "ld.shared.u32 %x, [s{k}];");
        line!(t, "add.s32 %a, %a, %x;");
        line!(t, "xor.b32 %a, %a, {k};");
    }
    t.done()
}

/// Labels without a branch to them, and blocks that only jump to the next.
pub fn labels(n: usize) -> String {
    let mut t = Text::new();
    for k in 0..n / 3 {
        line!(t, "L{k}: M{k}: N{k}:");
        line!(t, "xor.b32 %a, %a, {k};");
        line!(t, "add.s32 %a, %a, %t;");
        line!(t, "bra L{};", k + 1);
    }
    line!(t, "L{}:", n / 3);
    t.done()
}

/// An array in local memory, whose elements are written and read by constant offsets.
pub fn local(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 6;
    t.declare(format_args!(".local .align 8 .b8 l[{}]; .reg .b64 %l, %m;", 4 * m.max(1)));
    line!(t, "mov.u64 %l, l;");
    for k in 0..m {
        line!(t, "st.local.u32 [%l+{}], %a;", 4 * k);
        line!(t, "mad.lo.s32 %a, %a, 1664525, {k};");
        line!(t, "rem.u32 %x, %a, {};", k + 1);
        line!(t, "mul.wide.u32 %m, %x, 4; add.s64 %m, %m, %l;");
        line!(t, "ld.local.u32 %x, [%m];");
        line!(t, "add.s32 %a, %a, %x;");
    }
    t.done()
}

/// Other kernels and functions in the module, with large parameters.
pub fn kernels(n: usize) -> String {
    let mut t = Text::new();
    for k in 0..n / 8 {
        t.outside(format_args!(
            ".visible .entry e{k}(.param .u64 o, .param .align 8 .b8 s[256], .param .u32 n) {{ \
             .reg .b64 %o; .reg .b32 %a, %b; ld.param.u64 %o, [o]; ld.param.u32 %a, [n]; ld.param.u32 %b, [s+{}]; \
             add.s32 %a, %a, %b; xor.b32 %a, %a, {k}; st.global.u32 [%o], %a; ret; }}",
            4 * (k % 64)
        ));
    }
    line!(t, "add.s32 %a, %a, %n;");
    t.done()
}
