//! The kinds of sequences, and the instructions of each.

use super::super::inputs::Sort;
use super::four;
use super::template::Writer;
use cushim_ptx::types::Scalar::{Bf16x2, F16x2, U32};

pub struct Kind {
    pub name: &'static str,
    /// The number of sequences: a multiple of a kernel's.
    pub count: usize,
    /// The letters of the register classes.
    pub classes: &'static str,
    /// Declarations and other code before the first instruction.
    pub head: &'static str,
    pub sorts: [Sort; 4],
    list: &'static [&'static str],
    pub write: fn(&mut Writer, &Kind),
}

pub const KINDS: &[Kind] = &[
    Kind {
        name: "carry",
        count: 640,
        classes: "rwp",
        head: "",
        sorts: four(U32),
        list: CARRIES,
        write: carries,
    },
    Kind {
        name: "branch",
        count: 320,
        classes: "rwp",
        head: "",
        sorts: four(U32),
        list: CARRIES,
        write: branches,
    },
    Kind {
        name: "predicate",
        count: 320,
        classes: "rwp",
        head: "",
        sorts: four(U32),
        list: PREDICATES,
        write: plain,
    },
    Kind {
        name: "half",
        count: 320,
        classes: "rhpf",
        head: "",
        sorts: [Sort::Of(F16x2), Sort::Of(F16x2), Sort::Of(Bf16x2), Sort::Of(U32)],
        list: HALVES,
        write: plain,
    },
    Kind {
        name: "narrow",
        count: 320,
        classes: "rwhcp",
        head: MEMORY,
        sorts: four(U32),
        list: NARROW,
        write: plain,
    },
    Kind {
        name: "vector",
        count: 320,
        classes: "rwhp",
        head: MEMORY,
        sorts: four(U32),
        list: VECTORS,
        write: plain,
    },
    Kind {
        name: "reuse",
        count: 320,
        classes: "rwp",
        head: "",
        sorts: four(U32),
        list: REUSE,
        write: plain,
    },
];

const MEMORY: &str = ".local .align 16 .b8 l[32]; .reg .b64 at; .reg .v2 .b32 m; .reg .v4 .b32 v; mov.u64 at, l; \
    mov.b32 m.x, a1; mov.b32 m.y, a0; mov.b32 v.x, a0; mov.b32 v.y, a3; mov.b32 v.z, a2; mov.b32 v.w, a1; \
    st.local.v4.b32 [l], {a0, a1, a2, a3}; st.local.v4.b32 [l+16], {a3, a1, a0, a2}; ";

/// Instructions that read or write the carry flag, and instructions that must leave it unchanged.
const CARRIES: &[&str] = &[
    "(add|sub).cc.(u32|s32) $r, $x, $x",
    "(add|sub).cc.(u64|s64) $w, $y, $y",
    "(addc|subc).(u32|s32) $r, $x, $x",
    "(addc|subc).(u64|s64) $w, $y, $y",
    "(addc|subc).cc.(u32|s32) $r, $x, $x",
    "(addc|subc).cc.(u64|s64) $w, $y, $y",
    "mad.(lo|hi).cc.(u32|s32) $r, $x, $x, $x",
    "madc.(lo|hi).cc.(u32|s32) $r, $x, $x, $x",
    "madc.(lo|hi).(u32|s32) $r, $x, $x, $x",
    "mad.(lo|hi).cc.(u64|s64) $w, $y, $y, $y",
    "madc.(lo|hi).cc.(u64|s64) $w, $y, $y, $y",
    "madc.(lo|hi).(u64|s64) $w, $y, $y, $y",
    "(addc|subc).u32 $r, 0, 0",
    "(add|sub).(s32|u32) $r, $x, $x",
    "(add|sub).(s64|u64) $w, $y, $y",
    "(add.s64|mul.lo.u64|sub.s64) $w, $y, $y",
    "(mul.lo.u32|xor.b32|min.s32|mul.hi.s32) $r, $x, $x",
    "mad.(lo|hi).(u32|s32) $r, $x, $x, $x",
    "setp.(lt|ge|ne|hi).u32 $p, $x, $x",
    "mov.b64 $w, {$r, $r}",
    "mov.b64 {$r0, $r1}, $w",
];

const PREDICATES: &[&str] = &[
    "setp.(lt|le|gt|ge|eq|ne).(u32|s32) $p, $x, $x",
    "setp.(lo|ls|hi|hs).u32 $p, $x, $x",
    "setp.(lt|ge|eq|ne).(u64|s64) $p0|$p1, $y, $y",
    "setp.(lt|le|gt|ge|eq|ne).(u32|s32) $p0|$p1, $x, $x",
    "setp.(lt|le|gt|ge|eq|ne).(and|or|xor).(u32|s32) $p, $x, $x, $q",
    "setp.(lt|le|gt|ge|eq|ne).(and|or|xor).(u32|s32) $p0|$p1, $x, $x, $q",
    "(and|or|xor).pred $p, $p, $p",
    "not.pred $p, $p",
    "mov.pred $p, $p",
    "selp.(b32|s32|u32) $r, $x, $x, $p",
    "selp.b64 $w, $y, $y, $p",
    "set.(lt|le|gt|ge|eq|ne).(u32|s32).(u32|s32) $r, $x, $x",
    "set.(lt|ge|eq|ne).(and|or|xor).(u32|s32).(u32|s32) $r, $x, $x, $q",
    "popc.b32 $r, $r",
    "popc.b64 $r, $w",
    "lop3.(and|or).b32 $r|$p, $x, $x, $x, $k, $q",
    "slct.(s32|u32|b32).s32 $r, $x, $x, $x",
    "(add|sub).s32 $r, $x, $x",
    "(and|or|xor).b32 $r, $x, $x",
    "(add|sub).u64 $w, $y, $y",
];

const HALVES: &[&str] = &[
    "mov.b32 $r, {$h, $h}",
    "mov.b32 {$h0, $h1}, $r",
    "mov.b16 $h, $h",
    "prmt.b32 $r, $x, $x, $s",
    "prmt.b32.(f4e|b4e|rc8|ecl|ecr|rc16) $r, $x, $x, $x",
    "(add|sub|mul).rn.(f16x2|bf16x2|ftz.f16x2|sat.f16x2) $r, $r, $r",
    "(add|sub|mul).rn.(f16|bf16) $h, $h, $h",
    "fma.rn.(f16x2|bf16x2|relu.f16x2|sat.f16x2|relu.bf16x2) $r, $r, $r, $r",
    "fma.rn.(f16|bf16|ftz.f16) $h, $h, $h, $h",
    "(neg|abs).(f16x2|bf16x2) $r, $r",
    "(neg|abs).(f16|bf16) $h, $h",
    "(min|max).(f16x2|bf16x2|NaN.f16x2|NaN.bf16x2) $r, $r, $r",
    "(min|max).(f16|bf16|NaN.f16) $h, $h, $h",
    "set.(lt|ge|eq|neu).f16x2.f16x2 $r, $r, $r",
    "setp.(lt|ge|eq|neu|num).(f16|bf16) $p, $h, $h",
    "setp.(lt|ge|neu).f16x2 $p0|$p1, $r, $r",
    "selp.b16 $h, $h, $h, $p",
    "cvt.f32.(f16|bf16) $f, $h",
    "cvt.rn.(f16|bf16).f32 $h, $f",
    "cvt.rn.(f16x2|bf16x2).f32 $r, $f, $f",
    "cvt.(rni|rzi).(s16|u16).f16 $h, $h",
    "cvt.rn.f16.(s16|u16) $h, $h",
    "cvt.(u32.u16|s32.s16) $r, $h",
    "cvt.(u16.u32|s16.s32) $h, $r",
    "mov.b32 $f, $r",
    "mov.b32 $r, $f",
    "(add|sub|mul).rn.f32 $f, $f, $f",
    "fma.rn.f32 $f, $f, $f, $f",
    "(add.u16x2|add.s16x2|min.s16x2|max.u16x2) $r, $r, $r",
    "(add.u16|sub.s16|mul.lo.u16|min.s16|max.u16) $h, $h, $h",
    "(and|or|xor).b16 $h, $h, $h",
    "shl.b16 $h, $h, $k",
];

const NARROW: &[&str] = &[
    "cvt.u8.(u16|s16) $c, $h",
    "cvt.(u8|s8).(u32|s32) $c, $r",
    "cvt.(u8|s8).(u64|s64) $c, $w",
    "cvt.sat.(u8|s8).(u32|s32) $c, $r",
    "cvt.(u16|s16).(u8|s8) $h, $c",
    "cvt.(u32|s32).(u8|s8) $r, $c",
    "cvt.(u64|s64).(u8|s8) $w, $c",
    "cvt.(u16|s16).(u8|s8) $h, $h",
    "cvt.(u32|s32).(u8|s8) $r, $r",
    "cvt.(u32|s32).(u16|s16) $r, $h",
    "cvt.(u32|s32).(u16|s16) $r, $r",
    "cvt.(u64|s64).(u8|s8|u16|s16|u32|s32) $w, $w",
    "cvt.(u8|s8|u16|s16).(u32|s32) $h, $r",
    "cvt.(u8|s8|u16|s16).(u32|s32) $r, $r",
    "cvt.(sat.u8|sat.s8|sat.u16|sat.s16).(u32|s32) $r, $r",
    "cvt.(u64|s64).(u32|s32) $w, $r",
    "cvt.(sat.s32|sat.u32|u32|s32).(u64|s64) $r, $w",
    "(add|sub|mul.lo|min|max|mul.hi).(u16|s16) $h, $h, $h",
    "mad.lo.(u16|s16) $h, $h, $h, $h",
    "mul.wide.(u16|s16) $r, $h, $h",
    "shr.(u16|s16|b16) $h, $h, $k",
    "shl.b16 $h, $h, $k",
    "(and|or|xor).b16 $h, $h, $h",
    "(neg.s16|not.b16|abs.s16|cnot.b16) $h, $h",
    "setp.(lt|ge|eq|ne).(u16|s16) $p, $h, $h",
    "selp.b16 $h, $h, $h, $p",
    "mov.b32 $r, {$h, $h}",
    "mov.b32 {$h0, $h1}, $r",
    "mov.b64 $w, {$h, $h, $h, $h}",
    "st.local.(b8|u8|s8) [l+$k], $c",
    "st.local.(u8|s8|b8) [l+$k], ($r|$h|$w)",
    "st.local.(u16|s16|b16) [l+(0|2|6|14|20)], ($r|$h|$w)",
    "st.local.(u32|b32) [l+(0|4|8|16|28)], ($r|$w)",
    "ld.local.(b8|u8|s8) $c, [l+$k]",
    "ld.local.(u8|s8|b8) ($r|$h|$w), [l+$k]",
    "ld.local.(u16|s16|b16) ($r|$h|$w), [l+(0|2|6|14|20)]",
    "ld.local.(u32|s32|b32) ($r|$w), [l+(0|4|8|16|28)]",
];

const VECTORS: &[&str] = &[
    "mov.b64 $w, {$r, $r}",
    "mov.b64 {$r0, $r1}, $w",
    "mov.b64 $w, {$h, $h, $h, $h}",
    "mov.b64 {$h0, $h1, $h2, $h3}, $w",
    "mov.b32 $r, {$h, $h}",
    "mov.b32 {$h0, $h1}, $r",
    "mov.b64 {m.y, m.x}, $w",
    "mov.b64 $w, {m.x, m.y}",
    "mov.b64 {v.x, v.w}, $w",
    "mov.b32 (m.x|m.y|v.x|v.y|v.z|v.w), $r",
    "mov.b32 $r, (m.x|m.y|v.x|v.y|v.z|v.w)",
    "add.s32 (m.x|v.y|v.w), (m.y|v.z|$r), $r",
    "st.local.v2.b32 [l+(0|8|24)], {$r, $r}",
    "st.local.v4.b32 [l+(0|16)], {$r, $r, $r, $r}",
    "st.local.v2.b64 [l+(0|16)], {$w, $w}",
    "st.local.v2.b32 [l+(0|8|16)], m",
    "st.local.v4.b32 [l+(0|16)], v",
    "st.local.v4.(b16|u16) [l+(0|8|24)], {$h, $h, $h, $h}",
    "st.local.v4.b8 [l+(0|4|12|28)], {$r, $r, $r, $r}",
    "st.local.v2.u8 [l+(0|2|14)], {$h, $h}",
    "ld.local.v2.b32 {$r0, $r1}, [l+(0|8|24)]",
    "ld.local.v4.b32 {$r3, $r1, $r0, $r2}, [l+(0|16)]",
    "ld.local.v2.b64 {$w0, $w1}, [l+(0|16)]",
    "ld.local.v2.b32 m, [l+(0|8|16)]",
    "ld.local.v4.b32 v, [l+(0|16)]",
    "ld.local.v4.(b16|u16|s16) {$h2, $h1, $h3, $h0}, [l+(0|8|24)]",
    "ld.local.v4.(u8|s8) {$r1, $r0, $r3, $r2}, [l+(0|4|12|28)]",
    "ld.local.v2.(u8|s8|u16|s16) {$r0, $r1}, [l+(0|4|12)]",
    "mov.u64 $w0, l; ld.local.b64 $w0, [$w0+(0|8|24)]",
    "mov.u64 $w0, l; ld.local.v2.b64 {$w1, $w0}, [$w0+(0|16)]",
    "mov.u64 $w0, l; ld.local.v2.b64 {$w0, $w2}, [$w0+(0|16)]",
    "st.global.v2.b32 [%cell], {$r, $r}; ld.global.v2.b32 {$r1, $r0}, [%cell]",
    "st.global.b64 [%cell], $w; ld.global.v4.(u16|s16) {$r1, $r0, $r3, $r4}, [%cell]",
    "st.global.v4.b16 [%cell], {$h, $h, $h, $h}; ld.global.v2.b32 {$r1, $r0}, [%cell]",
    "(add|sub).s32 $r, $r, $r",
    "add.s64 $w, $w, $w",
    "xor.b16 $h, $h, $h",
];

const REUSE: &[&str] = &[
    "(add|sub|mul.lo|min|max|mul.hi).(u32|s32) $r, $x, $x",
    "mad.(lo|hi).(u32|s32) $r, $x, $x, $x",
    "mul24.(lo|hi).(u32|s32) $r, $x, $x",
    "mad24.(lo|hi).(u32|s32) $r, $x, $x, $x",
    "shr.(u32|s32|b32) $r, $x, ($x|$k)",
    "shl.b32 $r, $x, ($x|$k)",
    "shr.(u64|s64|b64) $w, $y, ($x|$k)",
    "shl.b64 $w, $y, ($x|$k)",
    "shf.(l|r).(wrap|clamp).b32 $r, $x, $x, ($x|$k)",
    "bfe.(u32|s32) $r, $x, $k, $k",
    "bfe.(u64|s64) $w, $y, $k, ($k|$r)",
    "bfi.b32 $r, $x, $x, ($k|$r), $k",
    "bfi.b64 $w, $y, $y, $k, $k",
    "(popc|clz).b32 $r, $x",
    "(popc|clz).b64 $r, $y",
    "bfind.(u32|s32|shiftamt.u32|shiftamt.s32) $r, $x",
    "brev.b32 $r, $x",
    "(abs|neg).s32 $r, $x",
    "(abs|neg).s64 $w, $y",
    "sad.(u32|s32) $r, $x, $x, $x",
    "(div|rem).(u32|s32) $r, $r, $r",
    "(div|rem).(u64|s64) $w, $w, $w",
    "mul.wide.(u32|s32) $w, $x, $x",
    "mad.wide.(u32|s32) $w, $x, $x, $y",
    "(mul.lo|mul.hi|min|max).(u64|s64) $w, $y, $y",
    "mad.lo.s64 $w, $y, $y, $y",
    "lop3.b32 $r, $x, $x, $x, ($k|0x96|0xe8|0xca|0x1b)",
    "(and|or|xor).b64 $w, $y, $y",
    "dp4a.(u32|s32).(u32|s32) $r, $x, $x, $x",
    "dp2a.(lo|hi).(u32|s32).(u32|s32) $r, $x, $x, $x",
    "szext.(wrap|clamp).(u32|s32) $r, $x, ($x|$k)",
    "bmsk.(wrap|clamp).b32 $r, ($x|$k), ($x|$k)",
    "add.sat.s32 $r, $x, $x",
    "sub.sat.s32 $r, $x, $x",
    "cvt.(u64|s64).(u32|s32) $w, $r",
    "cvt.(sat.s32|u32|s32).(u64|s64) $r, $w",
    "setp.(lt|ge).(u32|s32) $p, $x, $x",
    "selp.b32 $r, $x, $x, $p",
    "(not|cnot).b32 $r, $x",
    "mov.b64 {$r0, $r1}, $w",
    "prmt.b32 $r, $x, $x, ($s|$x)",
];

fn plain(w: &mut Writer, kind: &Kind) {
    for _ in 0..8 + w.below(9) {
        w.instruction(kind.list);
    }
}

/// The first instruction sets the flag, and the last reads it.
fn carries(w: &mut Writer, kind: &Kind) {
    w.put("(add|sub).cc.u32 $r, $r, $r;");
    plain(w, kind);
    w.put("addc.u32 $r, 0, 0;");
}

/// The same with lanes that diverge, converge, loop and wait.
fn branches(w: &mut Writer, kind: &Kind) {
    w.put("(add|sub).cc.u32 $r, $r, $r;");
    for _ in 0..2 + w.below(3) {
        let label = w.label();
        let some = 1 + w.below(3);
        match w.below(4) {
            0 => {
                // Lanes that skip the code keep their flag.
                w.branch(&label);
                (0..some).for_each(|_| w.instruction(kind.list));
                w.code += &format!("{label}:\n");
            }
            1 => {
                let end = w.label();
                w.branch(&label);
                (0..some).for_each(|_| w.instruction(kind.list));
                w.code += &format!("bra {end};\n{label}:\n");
                (0..some).for_each(|_| w.instruction(kind.list));
                w.code += &format!("{end}:\n");
            }
            2 => {
                w.code += "{ .reg .b32 n; .reg .pred more;\n";
                w.put("(and.b32 n, $r, 3;|mov.b32 n, 2;)");
                w.code += &format!("{label}:\n");
                (0..some).for_each(|_| w.instruction(kind.list));
                w.code += "sub.s32 n, n, 1; setp.ge.s32 more, n, 0;\n";
                w.code += &format!("@more bra {label}; }}\n");
            }
            _ => {
                (0..some).for_each(|_| w.instruction(kind.list));
                w.code += "bar.sync 0;\n";
            }
        }
    }
    w.put("addc.u32 $r, 0, 0;");
}
