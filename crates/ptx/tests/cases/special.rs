//! Forms that the table alone cannot produce: carry chains, instructions that
//! read other lanes, atomic operations, and moves of vectors.

use super::forms::Form;
use super::inputs::Sort;
use cushim_ptx::table::Op;
use cushim_ptx::types::Scalar::{self, B16, B32, B64, F16, F16x2, F32, F64, Pred};

pub(super) fn form(op: Op, name: String, code: String, sorts: &[Sort], results: &[Scalar]) -> Form {
    let ty = match sorts.first() {
        Some(Sort::Of(t)) => *t,
        _ => B32,
    };
    Form {
        name,
        op,
        types: vec![ty],
        words: Vec::new(),
        code,
        sorts: sorts.to_vec(),
        results: results.to_vec(),
        device: true,
        lane: true,
    }
}

pub fn all() -> Vec<Form> {
    let mut forms = Vec::new();
    carries(&mut forms);
    moves(&mut forms);
    lanes(&mut forms);
    atomics(&mut forms);
    super::video::all(&mut forms);
    forms
}

/// Every instruction with a carry: the carry in is the fourth operand's
/// lowest bit, the carry out is the second result.
fn carries(forms: &mut Vec<Form>) {
    for ty in [Scalar::U32, Scalar::S32, Scalar::U64, Scalar::S64] {
        let (reg, t) = (if ty.bits() == 32 { "b32" } else { "b64" }, ty.name());
        let sort = Sort::Of(ty);
        let d = Sort::Of(ty).register();
        for (op, add, out) in [
            (Op::AddCarry, "add", "addc.u32 d1, 0, 0;"),
            (Op::SubCarry, "sub", "subc.u32 d1, 0, 0;"),
        ] {
            let code = format!("{add}.cc.{t} d0, a0, a1; {out}");
            forms.push(form(op, format!("{add}.cc.{t}"), code, &[sort; 2], &[d, B32]));
            let into =
                if add == "add" { "add.cc.u32 t, t, 0xffffffff;" } else { "sub.cc.u32 t, 0, t;" };
            let head = format!(".reg .b32 t; selp.u32 t, 1, 0, a2; {into}");
            let name = format!("{add}c.cc.{t}");
            let code = format!("{head} {name} d0, a0, a1; {out}");
            let sorts = [sort, sort, Sort::Of(Pred)];
            forms.push(form(op, name, code, &sorts, &[d, B32]));
            let name = format!("{add}c.{t}");
            let code = format!("{head} {name} d0, a0, a1;");
            forms.push(form(op, name, code, &sorts, &[d]));
        }
        for half in ["lo", "hi"] {
            let out = "addc.u32 d1, 0, 0;";
            let name = format!("mad.{half}.cc.{t}");
            let code = format!("{name} d0, a0, a1, a2; {out}");
            forms.push(form(Op::MadCarry, name, code, &[sort; 3], &[d, B32]));
            let head = ".reg .b32 t; selp.u32 t, 1, 0, a3; add.cc.u32 t, t, 0xffffffff;";
            let sorts = [sort, sort, sort, Sort::Of(Pred)];
            let name = format!("madc.{half}.cc.{t}");
            let code = format!("{head} {name} d0, a0, a1, a2; {out}");
            forms.push(form(Op::MadCarry, name, code, &sorts, &[d, B32]));
            let name = format!("madc.{half}.{t}");
            let code = format!("{head} {name} d0, a0, a1, a2;");
            forms.push(form(Op::MadCarry, name, code, &sorts, &[d]));
        }
        // A sum over two registers, and the final carry.
        let name = format!("add.cc, addc.cc, addc ({t})");
        let code = format!(
            ".reg .{reg} t; add.cc.{t} d0, a0, a1; addc.cc.{t} t, a1, a2; addc.{t} d1, a0, t;"
        );
        forms.push(form(Op::AddCarry, name, code, &[sort; 3], &[d, d]));
    }
}

fn moves(forms: &mut Vec<Form>) {
    let mut push = |name: &str, code: &str, sorts: &[Scalar], results: &[Scalar]| {
        let sorts: Vec<Sort> = sorts.iter().map(|t| Sort::Of(*t)).collect();
        forms.push(form(Op::Mov, name.to_string(), code.to_string(), &sorts, results));
    };
    for ty in [B16, B32, B64, F32, F64] {
        push(&format!("mov.{}", ty.name()), &format!("mov.{} d0, a0;", ty.name()), &[ty], &[ty]);
    }
    push("mov.pred", "mov.pred d0, a0;", &[Pred], &[Pred]);
    push("mov.b32 to f32", "mov.b32 d0, a0;", &[B32], &[F32]);
    push("mov.b32 from f32", "mov.b32 d0, a0;", &[F32], &[B32]);
    push("mov.b64 from f64", "mov.b64 d0, a0;", &[F64], &[B64]);
    push("mov.b64 packed", "mov.b64 d0, {a0, a1};", &[B32, B32], &[B64]);
    push("mov.b64 from singles", "mov.b64 d0, {a0, a1};", &[F32, F32], &[B64]);
    push("mov.b64 unpacked", "mov.b64 {d0, d1}, a0;", &[B64], &[B32, B32]);
    push("mov.b64 to singles", "mov.b64 {d0, d1}, a0;", &[F64], &[F32, F32]);
    push("mov.b32 packed", "mov.b32 d0, {a0, a1};", &[B16, B16], &[B32]);
    push("mov.b32 unpacked", "mov.b32 {d0, d1}, a0;", &[B32], &[B16, B16]);
    push("mov.b64 of four", "mov.b64 d0, {a0, a1, a2, a3};", &[B16; 4], &[B64]);
    for op in ["and", "or", "xor"] {
        let code = format!(
            ".reg .pred p; .reg .pred q; setp.lt.s32 p, a0, a1; setp.gt.u32 q, a0, a2;
             {op}.pred d0, p, q; not.pred d1, d0;"
        );
        push(&format!("{op}.pred of comparisons"), &code, &[B32; 3], &[Pred, Pred]);
    }
}

/// Values that a lane gets from others. All lanes of the warp run.
fn lanes(forms: &mut Vec<Form>) {
    let mut push = |op, name: String, code: String, sorts: &[Sort], results: &[Scalar]| {
        let f = form(op, name, code, sorts, results);
        forms.push(Form { lane: false, ..f });
    };
    let any = Sort::Of(B32);
    for mode in ["up", "down", "bfly", "idx"] {
        let name = format!("shfl.sync.{mode}.b32");
        let code = format!("{name} d0|d1, a0, a1, a2, -1;");
        push(Op::Shfl, name.clone(), code, &[any, Sort::Lane, Sort::Segment], &[B32, Pred]);
        for (by, clamp) in [(1, 0x1f), (16, 0x1f), (4, 0x181f), (3, 0), (31, 0x1c03)] {
            let name = format!("{name} {by}, {clamp:#x}");
            let code = format!("shfl.sync.{mode}.b32 d0|d1, a0, {by}, {clamp}, -1;");
            push(Op::Shfl, name, code, &[any, Sort::Lane, Sort::Segment], &[B32, Pred]);
        }
    }
    for mode in ["all", "any", "uni"] {
        for (what, test) in [
            ("mixed", "setp.lt.s32 p, a0, 0;"),
            ("all", "setp.ge.u32 p, a0, 0;"),
            ("none", "setp.lt.u32 p, a0, 0;"),
        ] {
            let name = format!("vote.sync.{mode}.pred ({what})");
            let code = format!(".reg .pred p; {test} vote.sync.{mode}.pred d0, p, -1;");
            push(Op::Vote, name, code, &[any], &[Pred]);
        }
    }
    let code = ".reg .pred p; setp.lt.s32 p, a0, 0; vote.sync.ballot.b32 d0, !p, -1;";
    push(Op::Vote, "vote.sync.ballot.b32".to_string(), code.to_string(), &[any], &[B32]);
    for ty in ["b32", "b64"] {
        let reg = if ty == "b32" { B32 } else { B64 };
        for (how, sorts) in [("any", vec![Sort::Few]), ("all", vec![Sort::Few])] {
            // Values with many duplicates, extended to the operand's width.
            let wide = if ty == "b64" { "cvt.s64.s32 v, a0;" } else { "mov.b32 v, a0;" };
            let results: &[Scalar] = if how == "all" { &[B32, Pred] } else { &[B32] };
            let d = if how == "all" { "d0|d1" } else { "d0" };
            let name = format!("match.{how}.sync.{ty}");
            let code = format!(".reg .{ty} v; {wide} {name} {d}, v, -1;");
            push(Op::Match, name.clone(), code, &sorts, results);
            if how == "all" {
                let code = format!(".reg .{ty} v; mov.{ty} v, 77; {name} {d}, v, -1;");
                push(Op::Match, format!("{name} (same)"), code, &sorts, results);
            }
        }
        let _ = reg;
    }
    for (op, types) in [
        ("add", &["u32", "s32"][..]),
        ("min", &["u32", "s32"]),
        ("max", &["u32", "s32"]),
        ("and", &["b32"]),
        ("or", &["b32"]),
        ("xor", &["b32"]),
    ] {
        for ty in types {
            let name = format!("redux.sync.{op}.{ty}");
            let code = format!("{name} d0, a0, -1;");
            push(Op::Redux, name.clone(), code, &[any], &[B32]);
            // Only the lower twenty lanes.
            let code = format!(
                ".reg .pred p; .reg .b32 l; mov.u32 l, %laneid; setp.lt.u32 p, l, 20;
                 mov.b32 d0, 0; @p {name} d0, a0, 0xfffff;"
            );
            push(Op::Redux, format!("{name} of twenty"), code, &[any], &[B32]);
        }
    }
}

/// Each lane on its own cell: the old value, and the cell's value afterwards.
fn atomics(forms: &mut Vec<Form>) {
    let integers = [Scalar::U32, Scalar::S32, Scalar::U64, Scalar::S64];
    let floats = [F32, F64, F16, Scalar::Bf16, F16x2, Scalar::Bf16x2];
    let bits = [B32, B64];
    let mut list: Vec<(&str, &[Scalar])> = vec![("inc", &[Scalar::U32]), ("dec", &[Scalar::U32])];
    list.extend([("add", &integers[..]), ("add", &floats), ("cas", &bits), ("cas", &[B16])]);
    list.extend(["min", "max"].map(|op| (op, &integers[..])));
    list.extend(["and", "or", "xor", "exch"].map(|op| (op, &bits[..])));
    for (op, types) in list {
        for ty in types {
            // This form does not exist: the unsigned sum is the same.
            if (op, *ty) == ("add", Scalar::S64) {
                continue;
            }
            for space in ["global", "shared"] {
                atomic(forms, op, *ty, space);
            }
        }
    }
}

fn atomic(forms: &mut Vec<Form>, op: &str, ty: Scalar, space: &str) {
    let small = matches!(ty, F16 | Scalar::Bf16 | F16x2 | Scalar::Bf16x2);
    let noftz = if small { ".noftz" } else { "" };
    let sort = Sort::Of(ty);
    let reg = sort.register();
    let (b, t) = (ty.bits(), ty.name());
    // A cell in shared memory of the lane's own, or in the kernel's scratch memory.
    let head = if space == "shared" {
        ".shared .align 8 .b8 cells[1024]; .reg .b32 at; mov.u32 at, cells; mad.lo.u32 at, %i, 8, at;"
    } else {
        ".reg .b64 at; mov.b64 at, %cell;"
    };
    let second = if op == "cas" { ", a2" } else { "" };
    let sorts = if op == "cas" { vec![sort; 3] } else { vec![sort; 2] };
    let name = format!("atom.{space}.{op}{noftz}.{t}");
    let body = format!("st.{space}.b{b} [at], a0; ");
    let code = format!("{head} {body} {name} d0, [at], a1{second}; ld.{space}.b{b} d1, [at];");
    forms.push(form(Op::Atom, name, code, &sorts, &[reg, reg]));
    if op == "cas" || op == "exch" {
        return;
    }
    let name = format!("red.{space}.{op}{noftz}.{t}");
    let code = format!("{head} {body} {name} [at], a1; ld.{space}.b{b} d0, [at];");
    forms.push(form(Op::Atom, name, code, &sorts, &[reg]));
}
