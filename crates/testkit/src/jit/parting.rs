//! Kernels whose lanes diverge and reconverge often, of instructions that all emitters support.
//!
//! Each kernel has some parts, one after the other, with a barrier of all threads between them. In a part, branches
//! lead forward to any of its blocks, and back a few times. A kernel ends at several points that read some of the
//! registers. So many registers are dead in one branch while lanes in another still need them: uniform ones, affine
//! ones, and varying ones.

use super::choices::Choices;
use std::fmt::Write;

/// What other emitters than the first leave to it.
const OTHERS: [&str; 12] = [
    "local", "call", "volatile", "acq", "release", "fence", "membar", "ld.b64", "shfl", "vote",
    "atom", "brx",
];

/// Names of the registers that may be stored, and of their types.
const REGISTERS: [(&str, &str, u32); 6] = [
    ("r", "b32", 4),
    ("s", "b32", 2),
    ("a", "b32", 2),
    ("f", "f32", 2),
    ("d", "b64", 2),
    ("p", "pred", 3),
];

/// Bytes of a column of results: 8 of each thread of two blocks.
const COLUMN: u32 = 2 * 128 * 8;
/// Bytes of all results: a column for each register, and one that threads use freely.
pub const RESULTS: u64 = 32 * COLUMN as u64;
/// The block shapes with which kernels run in turn: whole warps, partial ones, rows in a warp, and none of these.
pub const BLOCKS: [[u32; 3]; 8] =
    [[32, 1, 1], [96, 1, 1], [70, 1, 1], [16, 4, 1], [8, 8, 2], [5, 3, 2], [33, 2, 1], [4, 4, 3]];

/// The text of a kernel.
pub fn program(data: &[u8]) -> String {
    let mut c = Choices(data);
    let mut s = String::from(
        ".version 8.3\n.target sm_90\n.address_size 64\n
         .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {
         .reg .pred p<4>; .reg .pred q<2>; .reg .pred g; .reg .b32 r<8>; .reg .b64 d<4>; .reg .f32 f<4>;
         .reg .f64 e<2>; .reg .b16 h<2>; .reg .b32 s<4>; .reg .b32 u<2>; .reg .b32 b<2>; .reg .b32 a<3>;
         .reg .b64 base; .reg .b64 to; .reg .b64 row; .reg .b32 fuel; .reg .b32 t; .reg .b64 w; .reg .b64 v; .reg .b32 own;
         .reg .b32 rounds; .shared .b32 sh[128];
         ld.param.u64 base, [in]; ld.param.u64 to, [out]; ld.param.u32 r7, [n];
         mov.u32 fuel, 12; mov.u32 r0, %tid.x; mov.u32 r1, %ctaid.x; mov.u32 r4, %tid.y; mov.u32 r5, %ntid.x;
         mov.u32 t, %ntid.y; mov.u32 own, %tid.z; mad.lo.u32 own, own, t, r4; mad.lo.u32 own, own, r5, r0;
         mul.lo.u32 t, t, r5; mov.u32 r2, %ntid.z; mul.lo.u32 t, t, r2; mad.lo.u32 t, r1, t, own;
         mul.wide.u32 w, t, 8; add.s64 to, to, w; mul.wide.u32 w, own, 4; add.s64 row, base, w; shl.b32 own, own, 2; mov.u32 t, sh; add.u32 own, own, t;
         mov.u32 r3, %laneid; mov.u32 r6, 77; mov.b64 d0, row; mov.b64 d1, base; mov.b64 d2, 5;
         mov.u32 s0, %ctaid.x; mov.u32 s1, 3; mov.u32 s2, %nctaid.x; mov.u32 s3, %ntid.x;
         mov.u32 u0, %ctaid.x; mov.u32 u1, 9; mov.u32 b0, own; add.u32 b1, own, u0; mov.u32 a0, %tid.x; add.u32 a1, a0, 9; shl.b32 a2, a0, 2; ld.global.u32 r2, [row];
         cvt.s64.s32 d3, r3; mov.f32 f0, 0f3F800000; cvt.rn.f32.u32 f1, r0; mov.f32 f2, 0f80000000; cvt.rn.f32.s32 f3, r2;
         mov.f64 e0, 0d3FF8000000000000; cvt.rn.f64.s32 e1, r0; mov.b16 h0, 7; cvt.u16.u32 h1, r0;
         setp.lt.u32 p0, r0, 17; setp.eq.u32 p1, r1, 0; setp.gt.u32 p2, r2, r7; setp.ne.u32 p3, r3, 5;
         setp.gt.u32 q0, s2, 1; setp.ne.u32 q1, s0, 0; st.shared.b32 [own], r2;\n",
    );
    let parts = 1 + c.below(2);
    for part in 0..parts {
        some(&mut s, &mut c, 3);
        if c.below(2) == 0 {
            together(&mut s, &mut c);
        }
        blocks(&mut s, &mut c, part, part + 1 == parts);
        if part + 1 < parts {
            exchange(&mut s, &mut c);
        }
    }
    for end in 0..ENDS {
        let _ = writeln!(s, "E{end}:");
        results(&mut s, &mut c);
        s += "ret;\n";
    }
    s + "}"
}

/// Places where a kernel ends.
const ENDS: u32 = 3;

/// Blocks that lead to one another, and to the begin of what follows, or the ends.
fn blocks(s: &mut String, c: &mut Choices<'_>, part: u32, last: bool) {
    let count = 3 + c.below(4);
    for block in 0..count {
        let _ = writeln!(s, "P{part}B{block}:");
        some(s, c, 3);
        if c.below(2) == 0 {
            way_round(s, c, &format!("P{part}B{block}"));
        }
        let onwards = |c: &mut Choices<'_>| match block + 1 + c.below(count - block) {
            next if next < count => format!("P{part}B{next}"),
            _ if last => format!("E{}", c.below(ENDS)),
            _ => format!("P{part}END"),
        };
        match c.below(12) {
            0..7 => {
                let guard = guard(s, c);
                let _ = writeln!(s, "{guard}bra {};", onwards(c));
            }
            7 => {
                let _ = writeln!(s, "bra {};", onwards(c));
            }
            8 | 9 => {
                let how = ["rounds", "fuel"][c.below(2) as usize];
                let _ = writeln!(s, "sub.s32 fuel, fuel, 1; sub.s32 rounds, rounds, 1; min.s32 rounds, rounds, fuel;
                    setp.gt.s32 g, {how}, 0; @g bra P{part}B{};", c.below(block + 1));
            }
            // What some lanes write here is dead afterwards; other lanes wait and still need the old values.
            10 | 11 => {
                let guard = if c.below(3) == 0 { guard(s, c) } else { String::new() };
                last_writes(s, c);
                results(s, c);
                let _ = writeln!(s, "{guard}ret;");
            }
            _ => {}
        }
    }
    if last {
        let _ = writeln!(s, "bra E{};", c.below(ENDS));
    }
    let _ = writeln!(s, "P{part}END:");
}

/// What a branch asks: often of each lane something else than of its neighbours.
fn guard(s: &mut String, c: &mut Choices<'_>) -> String {
    let not = ["", "!"][c.below(2) as usize];
    let which = ["p0", "p1", "p2", "p0", "p1", "p2", "p2", "q0"][c.below(8) as usize];
    if which != "q0" && c.below(2) == 0 {
        let bit = 4 << c.below(5);
        let _ = writeln!(s, "and.b32 t, own, {bit}; setp.eq.u32 {which}, t, 0;");
    }
    format!("@{not}{which} ")
}

/// Some lanes take a path on which a register has another value, which is dead before they meet the others; the
/// others arrive with their own value in it.
fn way_round(s: &mut String, c: &mut Choices<'_>, label: &str) {
    let (x, by) = (c.below(4), 1 + c.below(3));
    let (y, bit) = ((x + by) % 4, 4 << c.below(5));
    let _ = writeln!(s, "and.b32 t, own, {bit}; setp.ne.u32 g, t, 0; @g bra {label}L;");
    let _ = writeln!(s, "mad.lo.u32 r{x}, r{y}, 3, {}; xor.b32 r{y}, r{y}, r{x};", c.next());
    let _ = writeln!(s, "setp.gt.u32 g, r{y}, {}; @g bra {label}M;", c.next());
    some(s, c, 1);
    let _ = writeln!(s, "add.u32 r{y}, r{y}, 5;\n{label}M: shl.b32 r{x}, r{y}, 1;");
    let _ = writeln!(s, "{label}L: add.u32 r{y}, r{y}, r{x};");
}

/// Writes to registers that are dead after the following results: other lanes still have the old values.
fn last_writes(s: &mut String, c: &mut Choices<'_>) {
    for _ in 0..1 + c.below(3) {
        let (x, y, z) = (c.below(4), c.below(2), c.below(2));
        let _ = match c.below(4) {
            0 => writeln!(s, "mov.u32 u{y}, {}; add.u32 r{x}, r{x}, u{y};", c.next()),
            1 => writeln!(s, "add.u32 u{y}, u{z}, {}; mad.lo.u32 r{x}, u{y}, 3, r{x};", c.next()),
            2 => writeln!(s, "add.u32 b{y}, b{z}, {}; xor.b32 r{x}, r{x}, b{y};", c.next()),
            _ => writeln!(s, "setp.gt.u32 q1, u{y}, {}; @q1 add.u32 r{x}, r{x}, 1;", c.next()),
        };
    }
}

/// A word of each thread for others, which have all come.
fn exchange(s: &mut String, c: &mut Choices<'_>) {
    let (x, y, by) = (c.below(4), c.below(4), 4 << c.below(5));
    let other = match c.below(3) {
        0 => format!("xor.b32 t, own, {by}; and.b32 t, t, 508;"),
        1 => format!("add.u32 t, own, {by}; and.b32 t, t, 508;"),
        _ => format!("mov.u32 t, {by};"),
    };
    let _ = writeln!(
        s,
        "st.shared.b32 [own], r{x}; bar.sync 0; {other} ld.shared.b32 r{y}, [t]; bar.sync 0;"
    );
}

/// What all lanes of a warp do together.
fn together(s: &mut String, c: &mut Choices<'_>) {
    let (x, y, p) = (c.below(4), c.below(4), c.below(3));
    let _ = match c.below(3) {
        0 => writeln!(s, "vote.sync.ballot.b32 s{}, p{p}, -1;", x % 2),
        1 => writeln!(s, "vote.sync.any.pred q0, p{p}, -1;"),
        _ => {
            let how = ["bfly", "down", "up", "idx"][c.below(4) as usize];
            writeln!(s, "shfl.sync.{how}.b32 r{x}, r{y}, {}, 0x1f, -1;", c.below(32))
        }
    };
}

/// Stores some of the registers, each to its address.
fn results(s: &mut String, c: &mut Choices<'_>) {
    let mut at = 0;
    for (name, ty, count) in REGISTERS {
        let which = c.next() & if matches!(ty, "f32" | "b64") { c.next() } else { 255 };
        for k in 0..count {
            if which >> k & 1 == 0 {
            } else if ty == "pred" {
                let _ = write!(
                    s,
                    "selp.u32 t, 1, 0, {name}{k}; st.global.u32 [to+{}], t; ",
                    COLUMN * (at + k)
                );
            } else {
                let _ = write!(s, "st.global.{ty} [to+{}], {name}{k}; ", COLUMN * (at + k));
            }
        }
        at += count;
    }
    s.push('\n');
}

/// Some instructions, at most so many.
fn some(s: &mut String, c: &mut Choices<'_>, most: u32) {
    for _ in 0..c.below(most + 1) {
        match c.below(9) {
            0..3 => uniform(s, c),
            3 => steps(s, c),
            4 => memory(s, c),
            _ => usual(s, c),
        }
    }
}

/// Operations on any values: mostly ones that are cheap to compile for all lanes; else those of other random kernels.
fn usual(s: &mut String, c: &mut Choices<'_>) {
    let guard = ["", "", "", "", "@p0 ", "@!p1 "][c.below(6) as usize];
    let (x, y, z) = (c.below(4), c.below(4), c.below(4));
    let text = match c.below(13) {
        0 => format!("add.u32 r{x}, r{y}, r{z}"),
        1 => format!("mad.lo.u32 r{x}, r{y}, 5, r{z}"),
        2 => format!("xor.b32 r{x}, r{y}, {}", c.next()),
        3 => format!("shr.u32 r{x}, r{y}, {}", c.below(9)),
        4 | 5 => format!("mov.b32 r{x}, r{y}"),
        6 => format!("setp.lt.u32 p{}, r{y}, r{z}", x % 3),
        7 => format!("setp.gt.s32 p{}, r{y}, {}", x % 3, c.next()),
        8 => format!("add.f32 f{}, f{}, f{}", x % 2, y % 2, z % 2),
        9 => format!("cvt.rn.f32.s32 f{}, r{y}", x % 2),
        10 => format!("selp.b32 r{x}, r{y}, r{z}, p{}", c.below(3)),
        11 => format!("mov.b32 r{x}, f{}", y % 2),
        _ => String::new(),
    };
    if !text.is_empty() {
        let _ = writeln!(s, "{guard}{text};");
        return;
    }
    for _ in 0..4 {
        let mut text = String::new();
        super::instruction(&mut text, c);
        if !OTHERS.iter().any(|other| text.contains(other)) {
            *s += &text;
            return;
        }
    }
}

/// Operations on uniform values, where all lanes have taken the same path.
fn uniform(s: &mut String, c: &mut Choices<'_>) {
    let guard = ["", "", "", "", "@q0 ", "@!q1 ", "@p0 "][c.below(7) as usize];
    let (x, y, z) = (c.below(2), c.below(2), c.below(2));
    let text = match c.below(14) {
        0 | 10 | 11 => format!("mov.u32 s{x}, {}", c.next()),
        12 => format!("xor.b32 r{}, r{y}, u{z}", c.below(4)),
        13 => format!("add.u32 r{}, r{y}, b{z}", c.below(4)),
        1 => format!("add.u32 s{x}, s{y}, s{z}"),
        2 => format!("mad.lo.u32 s{x}, s{y}, 3, {}", c.next()),
        3 => format!("xor.b32 s{x}, s{y}, {}", c.next()),
        4 => format!("setp.gt.u32 q0, s{y}, {}", c.next()),
        5 => format!("setp.ne.u32 q0, s{y}, s{z}"),
        6 => format!("add.u32 r{}, r{y}, s{z}", c.below(4)),
        7 => format!("mov.u32 s{x}, %ctaid.x"),
        8 => format!("mov.u32 rounds, {}", c.below(5)),
        _ => format!("selp.b32 s{x}, s{y}, s{z}, q{}", c.below(2)),
    };
    let _ = writeln!(s, "{guard}{text};");
}

/// Operations on values that increase from lane to lane.
fn steps(s: &mut String, c: &mut Choices<'_>) {
    let guard = ["", "", "", "@q1 ", "@p3 "][c.below(5) as usize];
    let (x, y, z) = (c.below(2), c.below(2), c.below(2));
    let text = match c.below(8) {
        0 => format!("add.u32 a{x}, a{y}, s{z}"),
        1 => format!("sub.u32 a{x}, a{y}, {}", c.next()),
        2 => format!("mov.u32 a{x}, %tid.{}", ["x", "y"][z as usize]),
        3 => format!("mad.lo.u32 a{x}, a{y}, 4, s{z}"),
        4 => format!("setp.lt.u32 p{z}, a{y}, s{}", c.below(2)),
        5 => format!("mul.wide.u32 d{z}, a{y}, 8"),
        6 => format!("setp.ge.s32 p{z}, a{y}, {}", c.below(40)),
        _ => format!("xor.b32 r{z}, a{y}, a{x}"),
    };
    let _ = writeln!(s, "{guard}{text};");
}

/// Accesses to the thread's row, to one address for all, and to the thread's own address.
fn memory(s: &mut String, c: &mut Choices<'_>) {
    let guard = ["", "", "", "@q0 ", "@p1 ", "@!p2 "][c.below(6) as usize];
    let (x, y, at) = (c.below(4), c.below(2), 4 * c.below(40));
    let _ = match c.below(9) {
        0 | 1 => writeln!(s, "{guard}ld.global.b32 r{x}, [row+{at}];"),
        2 => writeln!(s, "{guard}ld.global.b32 s{y}, [base+{at}];"),
        3 => writeln!(s, "{guard}ld.global.f32 f{y}, [base+{at}];"),
        4 => writeln!(s, "{guard}st.shared.b32 [own], r{x};"),
        5 => writeln!(s, "{guard}ld.shared.b32 r{x}, [own];"),
        6 => writeln!(s, "{guard}st.global.v2.b32 [to+{}], {{r{x}, s{y}}};", 31 * COLUMN),
        7 => writeln!(s, "{guard}ld.global.v2.b32 {{r{x}, s{y}}}, [to+{}];", 31 * COLUMN),
        _ => writeln!(
            s,
            "and.b32 t, s{y}, 63; mul.wide.u32 w, t, 4; add.s64 w, w, row; {guard}ld.global.b32 r{x}, [w];"
        ),
    };
}
