//! Shapes of control flow: branches, loops, switches, and graphs that no high-level language produces.

use super::{Text, line};

/// `%p` is true in some lanes.
fn parting(t: &mut Text, k: usize) {
    line!(t, "and.b32 %x, %a, {};", k % 1000 + 1);
    line!(t, "setp.ne.s32 %p, %x, 0;");
}

pub fn ifs(n: usize) -> String {
    let mut t = Text::new();
    for k in 0..n / 5 {
        parting(&mut t, k);
        line!(t, "@%p bra L{k};");
        line!(t, "mad.lo.s32 %a, %a, 3, {k};");
        line!(t, "xor.b32 %a, %a, %t;");
        line!(t, "L{k}:");
    }
    t.done()
}

pub fn ifs_else(n: usize) -> String {
    let mut t = Text::new();
    for k in 0..n / 6 {
        parting(&mut t, k);
        line!(t, "@%p bra L{k};");
        line!(t, "mad.lo.s32 %a, %a, 3, {k};");
        line!(t, "bra M{k};");
        line!(t, "L{k}:");
        line!(t, "xor.b32 %a, %a, {k};");
        line!(t, "M{k}:");
    }
    t.done()
}

pub fn ifs_nested(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 6;
    for k in 0..m {
        line!(t, "mad.lo.s32 %a, %a, 1664525, {k};");
        line!(t, "shr.u32 %x, %a, 27;");
        line!(t, "setp.eq.s32 %p, %x, %t;");
        line!(t, "@%p bra L{k};");
        line!(t, "add.s32 %a, %a, {k};");
    }
    for k in (0..m).rev() {
        line!(t, "L{k}:");
        line!(t, "xor.b32 %a, %a, {k};");
    }
    t.done()
}

/// Checks that all branch to one exit.
pub fn exits(n: usize) -> String {
    let mut t = Text::new();
    for k in 0..n / 4 {
        line!(t, "mad.lo.s32 %a, %a, 1664525, {};", 2 * k + 1);
        line!(t, "shr.u32 %x, %a, 24;");
        line!(t, "setp.eq.s32 %p, %x, %t;");
        line!(t, "@%p bra END;");
    }
    line!(t, "END:");
    t.done()
}

pub fn loops(n: usize) -> String {
    let mut t = Text::new();
    for k in 0..n / 6 {
        line!(t, "and.b32 %y, %a, 3;");
        line!(t, "L{k}:");
        line!(t, "mad.lo.s32 %a, %a, 5, {k};");
        line!(t, "xor.b32 %a, %a, %t;");
        line!(t, "sub.s32 %y, %y, 1;");
        line!(t, "setp.gt.s32 %p, %y, 0;");
        line!(t, "@%p bra L{k};");
    }
    t.done()
}

pub fn loops_nested(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 6;
    t.declare(format_args!(".reg .b32 %c<{m}>;"));
    for k in 0..m {
        // The outermost loop runs as many rounds as the lane's number, the others run once.
        line!(t, "mov.u32 %c{k}, {};", if k == 0 { "%t" } else { "1" });
        line!(t, "L{k}:");
        line!(t, "add.s32 %a, %a, {k};");
    }
    for k in (0..m).rev() {
        line!(t, "xor.b32 %a, %a, {k};");
        line!(t, "sub.s32 %c{k}, %c{k}, 1;");
        line!(t, "setp.gt.s32 %p, %c{k}, 0;");
        line!(t, "@%p bra L{k};");
    }
    t.done()
}

/// One loop with many exits to as many targets.
pub fn loop_exits(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 6;
    line!(t, "mov.u32 %y, 0;");
    line!(t, "LOOP:");
    for k in 0..m {
        line!(t, "mad.lo.s32 %a, %a, 1664525, {};", 2 * k + 1);
        line!(t, "shr.u32 %x, %a, 26;");
        line!(t, "setp.eq.s32 %p, %x, %t;");
        line!(t, "@%p bra L{k};");
    }
    line!(t, "add.s32 %y, %y, 1;");
    line!(t, "setp.lt.s32 %p, %y, 4;");
    line!(t, "@%p bra LOOP;");
    line!(t, "bra END;");
    for k in 0..m {
        line!(t, "L{k}:");
        line!(t, "xor.b32 %a, %a, {k};");
        line!(t, "bra END;");
    }
    line!(t, "END:");
    t.done()
}

/// Nested loops with atomics; the loops' conditions do not depend on these.
pub fn loops_atomic(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 7;
    t.declare(format_args!(".reg .b32 %c<{m}>;"));
    for k in 0..m {
        line!(t, "mov.u32 %c{k}, {};", if k == 0 { "%t" } else { "1" });
        line!(t, "L{k}:");
        line!(t, "atom.global.add.u32 %x, [%o], 1;");
        line!(t, "add.s32 %a, %a, %x;");
    }
    for k in (0..m).rev() {
        line!(t, "xor.b32 %a, %a, {k};");
        line!(t, "sub.s32 %c{k}, %c{k}, 1;");
        line!(t, "setp.gt.s32 %p, %c{k}, 0;");
        line!(t, "@%p bra L{k};");
    }
    t.done()
}

fn cases(t: &mut Text, index: &str, m: usize) {
    let names: Vec<String> = (0..m).map(|k| format!("C{k}")).collect();
    line!(t, "LIST: .branchtargets {};", names.join(", "));
    line!(t, "brx.idx {index}, LIST;");
    for k in 0..m {
        line!(t, "C{k}:");
        line!(t, "mad.lo.s32 %a, %a, {}, %t;", k + 3);
        line!(t, "xor.b32 %a, %a, {k};");
        line!(t, "bra END;");
    }
    line!(t, "END:");
}

/// A switch whose lanes take different cases.
pub fn switch(n: usize) -> String {
    let mut t = Text::new();
    let m = (n / 3).max(1);
    line!(t, "rem.u32 %x, %a, {m};");
    cases(&mut t, "%x", m);
    t.done()
}

/// A switch whose lanes all take the same case.
pub fn switch_uniform(n: usize) -> String {
    let mut t = Text::new();
    let m = (n / 3).max(1);
    line!(t, "rem.u32 %x, %n, {m};");
    cases(&mut t, "%x", m);
    t.done()
}

/// Loops with two entries.
pub fn irreducible(n: usize) -> String {
    let mut t = Text::new();
    for k in 0..n / 10 {
        line!(t, "and.b32 %y, %a, 3;");
        parting(&mut t, k);
        line!(t, "@%p bra M{k};");
        line!(t, "L{k}:");
        line!(t, "mad.lo.s32 %a, %a, 5, {k};");
        line!(t, "M{k}:");
        line!(t, "xor.b32 %a, %a, %t;");
        line!(t, "add.s32 %a, %a, 7;");
        line!(t, "sub.s32 %y, %y, 1;");
        line!(t, "setp.gt.s32 %p, %y, 0;");
        line!(t, "@%p bra L{k};");
    }
    t.done()
}

/// Loops with two entries, nested.
pub fn irreducible_nested(n: usize) -> String {
    let mut t = Text::new();
    let m = n / 10;
    line!(t, "mov.u32 %y, 50;");
    for k in 0..m {
        parting(&mut t, k);
        line!(t, "@%p bra M{k};");
        line!(t, "L{k}:");
        line!(t, "mad.lo.s32 %a, %a, 5, {k};");
        line!(t, "M{k}:");
        line!(t, "xor.b32 %a, %a, %t;");
    }
    for k in (0..m).rev() {
        line!(t, "add.s32 %a, %a, 7;");
        line!(t, "sub.s32 %y, %y, 1;");
        line!(t, "setp.gt.s32 %p, %y, 0;");
        line!(t, "@%p bra L{k};");
        line!(t, "xor.b32 %a, %a, {k};");
    }
    t.done()
}

/// Blocks that branch anywhere, for a limited number of steps.
pub fn tangle(n: usize) -> String {
    let mut t = Text::new();
    let m = (n / 7).max(1);
    line!(t, "mov.u32 %y, 50;");
    for k in 0..m {
        let to = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        line!(t, "L{k}:");
        line!(t, "sub.s32 %y, %y, 1;");
        line!(t, "setp.lt.s32 %q, %y, 0;");
        line!(t, "@%q bra END;");
        line!(t, "mad.lo.s32 %a, %a, 1664525, {k};");
        parting(&mut t, 1 << (k % 8));
        line!(t, "@%p bra L{};", to as usize % m);
    }
    line!(t, "END:");
    t.done()
}
