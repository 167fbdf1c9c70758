//! Shapes of data: long straight code, many registers, lanes that cooperate.

use super::{Text, line};

/// An unrolled loop: loads, arithmetic, stores.
pub fn straight(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 4;
    t.declare(format_args!(".reg .b32 %r<{}>;", 2 * m));
    for k in 0..m {
        line!(t, "ld.global.u32 %r{}, [%o];", 2 * k);
        line!(t, "mad.lo.s32 %r{}, %r{}, 1664525, {k};", 2 * k + 1, 2 * k);
        line!(t, "xor.b32 %a, %a, %r{};", 2 * k + 1);
        line!(t, "st.global.u32 [%o], %a;");
    }
    t.done()
}

/// Values that are all live from the start to the end, across branches.
pub fn live(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 10;
    t.declare(format_args!(".reg .b32 %r<{m}>;"));
    for k in 0..m {
        line!(t, "mad.lo.s32 %r{k}, %a, {}, %t;", k + 3);
        line!(t, "add.s32 %a, %a, %r{k};");
    }
    for k in 0..m {
        line!(t, "and.b32 %x, %a, {};", k + 1);
        line!(t, "setp.ne.s32 %p, %x, 0;");
        line!(t, "@%p bra L{k};");
        line!(t, "add.s32 %r{k}, %r{k}, %a;");
        line!(t, "add.s32 %a, %a, %r{k};");
        line!(t, "xor.b32 %a, %a, 5;");
        line!(t, "L{k}:");
    }
    for k in 0..m {
        line!(t, "xor.b32 %r{k}, %r{k}, {k};");
        line!(t, "add.s32 %a, %a, %r{k};");
    }
    t.done()
}

/// Predicates that are all live across branches.
pub fn predicates(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 8;
    t.declare(format_args!(".reg .pred %c<{m}>;"));
    for k in 0..m {
        line!(t, "mad.lo.s32 %a, %a, 1664525, {k};");
        line!(t, "shr.u32 %x, %a, {};", k % 31);
        line!(t, "and.b32 %x, %x, 1;");
        line!(t, "setp.ne.s32 %c{k}, %x, 0;");
    }
    for k in 0..m {
        line!(t, "@%c{k} bra L{k};");
        line!(t, "xor.b32 %a, %a, {k};");
        line!(t, "L{k}:");
        line!(t, "selp.b32 %x, {k}, %a, %c{};", (k * 7 + 3) % m.max(1));
        line!(t, "add.s32 %a, %a, %x;");
    }
    t.done()
}

/// Instructions under guards.
pub fn guards(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 5;
    t.declare(format_args!(".reg .pred %c<{m}>; .reg .b32 %r<{m}>;"));
    for k in 0..m {
        line!(t, "and.b32 %x, %a, {};", k + 1);
        line!(t, "setp.eq.s32 %c{k}, %x, {};", k & 3);
        line!(t, "mov.u32 %r{k}, %t;");
        line!(t, "@%c{k} add.s32 %r{k}, %r{k}, %a;");
        line!(t, "@!%c{k} add.s32 %a, %a, %r{k};");
    }
    t.done()
}

/// Products and sums that may be fused, of registers that are written twice and live across branches.
pub fn products(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 9;
    t.declare(format_args!(".reg .f32 %f<{m}>, %g;"));
    for k in 0..m {
        line!(t, "mad.lo.s32 %a, %a, 1664525, {k};");
        line!(t, "cvt.rn.f32.s32 %f{k}, %a;");
    }
    for k in 0..m {
        line!(t, "and.b32 %x, %a, {};", k + 1);
        line!(t, "setp.ne.s32 %p, %x, 0;");
        line!(t, "@%p bra L{k};");
        line!(t, "mul.f32 %f{k}, %f{k}, %f{};", (k + 1) % m);
        line!(t, "L{k}:");
        line!(t, "add.f32 %g, %f{k}, %f{};", (k * 7 + 3) % m);
        line!(t, "mov.b32 %x, %g;");
        line!(t, "xor.b32 %a, %a, %x;");
    }
    t.done()
}

/// Long straight code that some lanes run while others wait at its end, with many live registers.
pub fn parted(n: usize) -> String {
    let mut t = Text::new();
    t.declare(format_args!(".reg .b32 %r<100>; .reg .b64 %w<10>;"));
    (0..100).for_each(|k| line!(t, "mad.lo.s32 %r{k}, %a, {}, %t;", 2 * k + 3));
    (0..10).for_each(|k| line!(t, "mul.wide.s32 %w{k}, %r{k}, %a;"));
    for k in 0..n.saturating_sub(200).div_ceil(400) {
        line!(t, "shr.u32 %x, %t, {};", k % 5);
        line!(t, "and.b32 %x, %x, 1;");
        line!(t, "setp.eq.s32 %p, %x, 0;");
        line!(t, "@%p bra L{k};");
        for j in 0..180 {
            line!(t, "mad.lo.s32 %r{}, %a, 5, %r{};", j * 7 % 100, j * 11 % 100);
            line!(t, "xor.b32 %a, %a, %r{};", j * 13 % 100);
        }
        (0..10).for_each(|j| line!(t, "add.s64 %w{j}, %w{j}, %w{};", (j + 3) % 10));
        line!(t, "L{k}:");
    }
    (0..100).for_each(|k| line!(t, "xor.b32 %a, %a, %r{k};"));
    (0..10).for_each(|k| line!(t, "cvt.u32.u64 %x, %w{k}; add.s32 %a, %a, %x;"));
    t.done()
}

/// A loop that copies values from register to register, so that a fact about one register reaches the next only
/// in the next round.
pub fn copies(n: usize) -> String {
    let mut t = Text::new();
    t.declare(format_args!(".reg .b32 %r<{}>;", n + 1));
    (0..=n).for_each(|k| line!(t, "mov.u32 %r{k}, {k};"));
    line!(t, "mov.u32 %x, 0;");
    line!(t, "L:");
    (0..n).for_each(|k| line!(t, "mov.u32 %r{k}, %r{};", k + 1));
    line!(t, "mov.u32 %r{n}, %a;");
    line!(t, "add.s32 %x, %x, 1;");
    line!(t, "setp.lt.u32 %p, %x, %n;");
    line!(t, "@%p bra L;");
    line!(t, "add.s32 %a, %a, %r0;");
    t.done()
}

/// Barriers with accesses to shared memory between them.
pub fn barriers(n: usize) -> String {
    let mut t = Text::new();
    t.outside(format_args!(".shared .align 4 .b8 s[4096];"));
    t.declare(format_args!(".reg .b32 %s, %z;"));
    line!(t, "mov.u32 %s, s; shl.b32 %x, %t, 2; add.s32 %s, %s, %x; xor.b32 %z, %s, 4;");
    for k in 0..n / 6 {
        line!(t, "st.shared.u32 [%s], %a;");
        line!(t, "bar.sync 0;");
        line!(t, "ld.shared.u32 %x, [%z];");
        line!(t, "mad.lo.s32 %a, %x, 3, {k};");
        line!(t, "bar.sync 0;");
        line!(t, "add.s32 %a, %a, %t;");
    }
    t.done()
}

/// Lanes that diverge, converge and exchange values.
pub fn collectives(n: usize) -> String {
    let mut t = Text::new();
    for k in 0..n / 7 {
        line!(t, "and.b32 %x, %a, {};", k + 1);
        line!(t, "setp.ne.s32 %p, %x, 0;");
        line!(t, "@%p bra L{k};");
        line!(t, "add.s32 %a, %a, {k};");
        line!(t, "L{k}:");
        line!(t, "shfl.sync.bfly.b32 %x, %a, 1, 31, -1;");
        line!(t, "add.s32 %a, %a, %x;");
        line!(t, "vote.sync.ballot.b32 %y, %p, -1;");
    }
    t.done()
}

/// The same, while lanes of outer branches wait.
pub fn collectives_nested(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 7;
    for k in 0..m {
        line!(t, "shr.u32 %x, %t, {};", (k + 5).min(31));
        line!(t, "setp.ne.s32 %p, %x, 0;");
        line!(t, "@%p bra L{k};");
        line!(t, "activemask.b32 %y;");
        line!(t, "shfl.sync.bfly.b32 %x, %a, 1, 31, %y;");
        line!(t, "add.s32 %a, %a, %x;");
    }
    for k in (0..m).rev() {
        line!(t, "L{k}:");
        line!(t, "xor.b32 %a, %a, {k};");
    }
    t.done()
}
