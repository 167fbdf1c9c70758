//! Every form of the table that computes per lane, on edge values and random
//! inputs: compares the compiler with the interpreter, bit for bit. Operands
//! differ by lane, are the same in all lanes, or are constants.

use crate::common;

use common::Device;
use cushim_ptx::exec::Memory as _;
use cushim_ptx::types::{Kind, Scalar};
use cushim_testkit::sample;

/// A small random number generator (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Edge values of every type, and others.
    fn value(&mut self) -> u64 {
        const EDGES: [u64; 34] = [
            0,
            1,
            2,
            3,
            5,
            7,
            31,
            32,
            33,
            63,
            64,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0x8000,
            0xffff,
            0x3c00,
            0x7c00,
            0x7e01,
            0x3f80_0000,
            0xbf80_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_1234,
            0x0040_0000,
            0x8000_0001,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x4f00_0000,
            0x3ff0_0000_0000_0000,
            0x8000_0000_0000_0000,
            0xffff_ffff_ffff_ffff,
        ];
        match self.next() % 8 {
            0..3 => EDGES[(self.next() % EDGES.len() as u64) as usize],
            3 => u64::from((((self.next() % 2000) as f32 - 1000.0) / 8.0).to_bits()),
            4 => ((self.next() % 2000) as f64 / 16.0 - 50.0).to_bits(),
            5 => self.next() % 100,
            _ => self.next(),
        }
    }
}

fn register(ty: Scalar) -> &'static str {
    match (ty.kind(), ty.bits()) {
        (Kind::Pred, _) => "pred",
        (_, 64) => "b64",
        (_, 16) => "b16",
        (_, 8) => "b16",
        _ => "b32",
    }
}

/// An instruction to test: modifiers, result type, operand types.
struct Case {
    name: String,
    result: Scalar,
    operands: Vec<Scalar>,
}

fn case(name: impl Into<String>, result: Scalar, operands: &[Scalar]) -> Case {
    Case { name: name.into(), result, operands: operands.to_vec() }
}

// A table: the forms of each operation.
fn cases() -> Vec<Case> {
    use Scalar::*;
    let mut all = Vec::new();
    let ints = [U16, S16, U32, S32, U64, S64];
    for t in ints {
        let n = t.name();
        for op in ["add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"] {
            all.push(case(format!("{op}.{n}"), t, &[t, t]));
        }
        for op in ["mad.lo", "mad.hi", "sad"] {
            all.push(case(format!("{op}.{n}"), t, &[t, t, t]));
        }
        all.push(case(format!("shr.{n}"), t, &[t, U32]));
        for c in ["eq", "ne", "lt", "le", "gt", "ge"] {
            all.push(case(format!("setp.{c}.{n}"), Pred, &[t, t]));
            all.push(case(format!("setp.{c}.and.{n}"), Pred, &[t, t, Pred]));
        }
        if !t.is_signed() {
            for c in ["lo", "ls", "hi", "hs"] {
                all.push(case(format!("setp.{c}.{n}"), Pred, &[t, t]));
            }
        } else {
            all.push(case(format!("abs.{n}"), t, &[t]));
            all.push(case(format!("neg.{n}"), t, &[t]));
        }
        all.push(case(format!("selp.{n}"), t, &[t, t, Pred]));
        all.push(case(format!("slct.{n}.s32"), t, &[t, t, S32]));
    }
    for (t, w) in [(U16, U32), (S16, S32), (U32, U64), (S32, S64)] {
        all.push(case(format!("mul.wide.{}", t.name()), w, &[t, t]));
        all.push(case(format!("mad.wide.{}", t.name()), w, &[t, t, w]));
    }
    for t in [B16, B32, B64] {
        let n = t.name();
        for op in ["and", "or", "xor"] {
            all.push(case(format!("{op}.{n}"), t, &[t, t]));
        }
        all.push(case(format!("not.{n}"), t, &[t]));
        all.push(case(format!("cnot.{n}"), t, &[t]));
        all.push(case(format!("shl.{n}"), t, &[t, U32]));
    }
    for t in [B32, B64] {
        let n = t.name();
        all.push(case(format!("popc.{n}"), U32, &[t]));
        all.push(case(format!("clz.{n}"), U32, &[t]));
        all.push(case(format!("brev.{n}"), t, &[t]));
        all.push(case(format!("bfi.{n}"), t, &[t, t, U32, U32]));
    }
    for t in [U32, S32, U64, S64] {
        all.push(case(format!("bfe.{}", t.name()), t, &[t, U32, U32]));
        all.push(case(format!("bfind.{}", t.name()), U32, &[t]));
    }
    for op in ["and", "or", "xor"] {
        all.push(case(format!("{op}.pred"), Pred, &[Pred, Pred]));
    }
    all.push(case("not.pred", Pred, &[Pred]));
    for op in ["shf.l.wrap", "shf.r.wrap", "shf.l.clamp", "shf.r.clamp"] {
        all.push(case(format!("{op}.b32"), B32, &[B32, B32, U32]));
    }
    all.push(case("prmt.b32", B32, &[B32, B32, U32]));
    all.push(case("dp4a.s32.u32", B32, &[B32, B32, B32]));
    all.push(case("dp2a.lo.u32.s32", B32, &[B32, B32, B32]));
    all.push(case("add.sat.s32", S32, &[S32, S32]));
    all.push(case("mul24.lo.s32", S32, &[S32, S32]));
    for (t, modes) in [
        (F32, &["rn", "rn.ftz", "rn.sat", "rn.ftz.sat", "rz", "rm", "rp", "rm.ftz"][..]),
        (F64, &["rn", "rz", "rm", "rp"][..]),
    ] {
        let n = t.name();
        for m in modes {
            for op in ["add", "sub", "mul"] {
                all.push(case(format!("{op}.{m}.{n}"), t, &[t, t]));
            }
            all.push(case(format!("fma.{m}.{n}"), t, &[t, t, t]));
            if !m.contains("sat") {
                all.push(case(format!("div.{m}.{n}"), t, &[t, t]));
                all.push(case(format!("sqrt.{m}.{n}"), t, &[t]));
                all.push(case(format!("rcp.{m}.{n}"), t, &[t]));
            }
        }
        for c in [
            "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
            "nan",
        ] {
            all.push(case(format!("setp.{c}.{n}"), Pred, &[t, t]));
            all.push(case(format!("setp.{c}.xor.{n}"), Pred, &[t, t, Pred]));
            all.push(case(format!("set.{c}.u32.{n}"), U32, &[t, t]));
        }
        for op in ["min", "max", "copysign"] {
            all.push(case(format!("{op}.{n}"), t, &[t, t]));
        }
        all.push(case(format!("neg.{n}"), t, &[t]));
        all.push(case(format!("abs.{n}"), t, &[t]));
        all.push(case(format!("selp.{n}"), t, &[t, t, Pred]));
        all.push(case(format!("testp.subnormal.{n}"), Pred, &[t]));
    }
    for op in ["ex2", "lg2", "sin", "cos", "rsqrt", "rcp", "sqrt", "tanh"] {
        all.push(case(format!("{op}.approx.f32"), F32, &[F32]));
        if op != "tanh" {
            all.push(case(format!("{op}.approx.ftz.f32"), F32, &[F32]));
        }
    }
    for t in [F16, Bf16, F16x2, Bf16x2] {
        let n = t.name();
        for op in ["add", "mul", "min", "max"] {
            all.push(case(format!("{op}.{n}"), t, &[t, t]));
        }
        all.push(case(format!("fma.rn.{n}"), t, &[t, t, t]));
    }
    let numbers = [U8, S8, U16, S16, U32, S32, U64, S64, F16, F32, F64];
    for d in numbers {
        for s in numbers {
            let names = format!("{}.{}", d.name(), s.name());
            let (df, sf) = (d.kind() == Kind::Float, s.kind() == Kind::Float);
            let modes: &[&str] = match (df, sf) {
                (false, false) => &["", ".sat"],
                (true, false) => &[".rn", ".rz"],
                (false, true) => &[".rni", ".rzi", ".rmi", ".rpi"],
                _ if d.bits() < s.bits() => &[".rn", ".rz"],
                _ if d == s => &["", ".rni", ".rzi", ".sat"],
                _ => &[""],
            };
            for m in modes {
                all.push(case(format!("cvt{m}.{names}"), d, &[s]));
            }
        }
    }
    all.push(case("cvt.ftz.f32.f32", F32, &[F32]));
    all.push(case("cvt.rzi.ftz.s32.f32", S32, &[F32]));
    all.push(case("cvt.rn.f16x2.f32", B32, &[F32, F32]));
    all.push(case("cvt.rn.bf16.f32", Bf16, &[F32]));
    all
}

/// How an operand is made: from each lane's input, from one input, or as a constant
/// in the instruction.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Lanes,
    One,
    Steps,
    Constant(u64),
}

/// A kernel that runs one instruction on its inputs.
fn kernel(name: &str, c: &Case, sources: &[Source]) -> String {
    let mut declare = String::new();
    let mut fetch = String::new();
    let mut operands = Vec::new();
    for (k, (ty, source)) in c.operands.iter().zip(sources).enumerate() {
        let reg = register(*ty);
        let bits = if reg == "pred" { 32 } else { reg[1..].parse::<u32>().unwrap() };
        let load = match source {
            Source::Lanes => format!("ld.global.b{bits} q{k}, [%rd1+{}];", 8 * k),
            Source::One => format!("ld.global.b{bits} q{k}, [%rd3+{}];", 8 * k),
            Source::Steps if bits == 64 => {
                format!("cvt.s64.s32 q{k}, %r2; add.s64 q{k}, q{k}, %rd3;")
            }
            Source::Steps if bits == 32 => format!("mad.lo.s32 q{k}, %r1, 3, %r3;"),
            Source::Steps => format!("cvt.u16.u32 q{k}, %r1;"),
            Source::Constant(v) => {
                let v = if bits == 64 { *v } else { v & ((1 << bits) - 1) };
                if *ty == Scalar::Pred {
                    format!("mov.b32 q{k}, {v};")
                } else {
                    operands.push(match ty {
                        Scalar::F32 => format!("0f{v:08X}"),
                        Scalar::F64 => format!("0d{v:016X}"),
                        _ => format!("0x{v:x}"),
                    });
                    continue;
                }
            }
        };
        fetch += &load;
        if reg == "pred" {
            declare += &format!(".reg .b32 q{k}; .reg .pred p{k};");
            fetch += &format!("and.b32 q{k}, q{k}, 1; setp.ne.u32 p{k}, q{k}, 0;");
            operands.push(format!("p{k}"));
        } else {
            declare += &format!(".reg .{reg} q{k};");
            operands.push(format!("q{k}"));
        }
    }
    let reg = register(c.result);
    let (finish, out) = match reg {
        "pred" => ("selp.b32 %r9, 1, 0, d;", "st.global.b32 [%rd2], %r9;".to_string()),
        r => ("", format!("st.global.{r} [%rd2], d;")),
    };
    format!(
        ".entry {name}(.param .u64 in, .param .u64 out) {{
           .reg .b64 %rd<4>; .reg .b32 %r<10>; .reg .{reg} d; {declare}
           ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.b64 %rd3, %rd1;
           mov.u32 %r1, %tid.x; mad.lo.s32 %r2, %r1, 7, 100; ld.global.u32 %r3, [%rd3];
           mad.wide.u32 %rd1, %r1, 40, %rd1; mad.wide.u32 %rd2, %r1, 8, %rd2;
           {fetch}
           {} d, {};
           {finish}
           {out}
           ret; }}\n",
        c.name,
        operands.join(", ")
    )
}

#[test]
fn every_form_gives_the_same_bits() {
    let mut numbers = Numbers(7);
    let all = sample::of(cases(), 3);
    let mut failed = Vec::new();
    for group in all.chunks(40) {
        let mut text = String::from(".version 8.3\n.target sm_90\n.address_size 64\n");
        let mut names = Vec::new();
        for (n, c) in group.iter().enumerate() {
            let k = c.operands.len();
            let mut plans = vec![vec![Source::Lanes; k], vec![Source::One; k]];
            let mut mixed = vec![Source::Lanes; k];
            mixed[k - 1] = Source::One;
            plans.push(mixed.clone());
            mixed[k - 1] = Source::Constant(numbers.value());
            plans.push(mixed);
            if !matches!(c.operands[0].kind(), Kind::Float | Kind::Packed | Kind::Pred) {
                let mut steps = vec![Source::One; k];
                steps[0] = Source::Steps;
                plans.push(steps.clone());
                if k > 1 {
                    steps[1] = Source::Constant(numbers.value() % 70);
                    plans.push(steps);
                }
            }
            for (m, sources) in plans.iter().enumerate() {
                let name = format!("k{n}_{m}_");
                text += &kernel(&name, c, sources);
                names.push((name, c.name.clone()));
            }
        }
        let d = Device::new(&text);
        let (input, out) = (d.alloc(5 * 8 * 64), d.alloc(8 * 64));
        for (name, instruction) in names {
            let values: Vec<u64> = (0..5 * 64).map(|_| numbers.value()).collect();
            let values: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            d.arena.store(input, &values).unwrap();
            let run = || d.launch(&name, 1, 50, &[input, out]).unwrap();
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
                failed.push(instruction);
            }
        }
    }
    failed.dedup();
    assert!(failed.is_empty(), "{failed:?}");
}
