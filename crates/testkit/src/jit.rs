//! Random valid kernels, run in the interpreter and as compiled code.
//!
//! The bytes choose instructions and branches; every kernel ends, because each
//! block uses up fuel. A function panics only if both results differ.

mod between;
mod choices;
mod parting;
mod sums;

use std::fmt::Write;

use crate::device::Device;
use choices::Choices;
pub use choices::random;

const BLOCKS: u32 = 6;

/// Functions that kernels call: inlined, shared, recursive, and through pointers.
const FUNCTIONS: &str = "
 .func (.param .b32 o) fn0(.param .b32 a) {
   .reg .b32 x; .reg .b32 y; ld.param.b32 x, [a]; mad.lo.s32 y, x, 3, 7; xor.b32 x, x, y; st.param.b32 [o], x; ret; }
 .func (.param .b32 o) fn1(.param .b32 a) {
   .reg .b32 x; .reg .pred p; ld.param.b32 x, [a]; setp.gt.s32 p, x, 40; @p bra E;
   shl.b32 x, x, 1; st.param.b32 [o], x; ret;
   E: sub.s32 x, 40, x; st.param.b32 [o], x; ret; }
 .func (.param .b32 o) fn2(.param .b32 a) {
   .reg .b32 x; .reg .b32 y; .reg .pred p; .local .b32 l[2];
   ld.param.b32 x, [a]; and.b32 y, x, 7; setp.eq.s32 p, y, 0; @p bra Z; st.local.b32 [l+4], x; sub.s32 y, y, 1;
   { .param .b32 i; .param .b32 u; st.param.b32 [i], y; call (u), fn2, (i); ld.param.b32 y, [u]; }
   ld.local.b32 x, [l+4]; add.s32 x, x, y;
   Z: st.param.b32 [o], x; ret; }
 .func (.param .b32 o) fn3(.param .b32 a);
 .global .align 8 .u64 table[4] = {fn0, fn1, fn2, ";

/// It calls one of the first two through a pointer whose value is not known.
const LAST: &str = "};
 .func (.param .b32 o) fn3(.param .b32 a) {
   .reg .b32 x; .reg .b32 y; .reg .b64 w; .reg .b64 v; ld.param.b32 x, [a]; and.b32 y, x, 1; mul.wide.u32 w, y, 8;
   mov.b64 v, table; add.s64 v, v, w; ld.global.b64 v, [v];
   { .param .b32 i; .param .b32 u; P: .callprototype (.param .b32 _) _ (.param .b32 _);
     st.param.b32 [i], x; call (u), v, (i), P; ld.param.b32 y, [u]; }
   sub.s32 x, y, x; st.param.b32 [o], x; ret; }
";

/// Any bytes as an object file of LLVM's: the extracted code is no larger than the file.
pub fn object(data: &[u8]) {
    if let Ok(code) = cushim_ptx_jit::flat(data) {
        // Sections may share bytes, and begin at multiples of 4,096.
        let sections =
            data.get(60..62).map_or(0, |n| usize::from(u16::from_le_bytes([n[0], n[1]])));
        assert!(!code.is_empty() && code.len() <= sections * (data.len() + 4096));
    }
}

/// Any bytes as the messages between a program and the process that has LLVM's library.
pub fn wire(data: &[u8]) {
    cushim_ptx_jit::read_wire(data);
}

/// The text of a kernel.
pub fn program(data: &[u8]) -> String {
    let mut c = Choices(data);
    let mut s = String::from(".version 8.3\n.target sm_90\n.address_size 64\n");
    let last = ["fn3", "fn1"][c.below(2) as usize];
    s += &[FUNCTIONS, last, LAST].concat();
    s += ".global .b32 g[64];\n
         .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {
         .reg .pred p<4>; .reg .pred q; .reg .b32 r<8>; .reg .b64 d<4>; .reg .f32 f<4>;
         .reg .f64 e<2>; .reg .b16 h<2>;
         .reg .b64 base; .reg .b64 to; .reg .b32 fuel; .reg .b32 t; .reg .b64 w; .reg .b64 v; .reg .b32 own;
         .reg .b32 rounds;
         .shared .b32 sh[128]; .local .b32 lo[8];
         ld.param.u64 base, [in]; ld.param.u64 to, [out]; ld.param.u32 r7, [n];
         mov.u32 fuel, 24;
         mov.u32 r0, %tid.x; mov.u32 r1, %ctaid.x; mov.u32 t, %ntid.x; mad.lo.s32 r2, r1, t, r0;
         mov.u32 r3, %laneid; mov.u32 r4, %tid.y; mov.u32 r5, %ntid.x; mov.u32 r6, 77;
         mul.wide.u32 w, r0, 4; add.s64 d0, base, w; mov.b64 d1, base; mov.b64 d2, 5;
         cvt.s64.s32 d3, r3; mov.f32 f0, 0f3F800000; cvt.rn.f32.u32 f1, r0;
         mov.f32 f2, 0f80000000; cvt.rn.f32.s32 f3, r2; mov.f64 e0, 0d3FF8000000000000;
         cvt.rn.f64.s32 e1, r0; mov.b16 h0, 7; cvt.u16.u32 h1, r0;
         setp.lt.u32 p0, r0, 17; setp.eq.u32 p1, r1, 0; setp.gt.u32 p2, r7, 3; setp.ne.u32 p3, r3, 5;
         mov.u32 t, %ntid.y; mov.u32 own, %tid.z; mad.lo.u32 own, own, t, r4; mad.lo.u32 own, own, r5, r0;
         mul.lo.u32 t, t, r5; mov.u32 fuel, %ntid.z; mul.lo.u32 t, t, fuel; mad.lo.u32 t, r1, t, own;
         mul.wide.u32 w, t, 128; add.s64 to, to, w; mov.u32 fuel, 24;
         shl.b32 own, own, 2; mov.u32 t, sh; add.u32 own, own, t; st.shared.b32 [own], r2;\n";
    // Few: the compiler treats a kernel in which lanes may wait for others in another way.
    match c.below(6) {
        0 => between::handshake(&mut s, &mut c),
        1 => between::both_ways(&mut s, &mut c),
        _ => {}
    }
    for block in 0..BLOCKS {
        let _ =
            writeln!(s, "L{block}: sub.s32 fuel, fuel, 1; setp.lt.s32 q, fuel, 0; @q bra DONE;");
        for _ in 0..c.below(8) {
            instruction(&mut s, &mut c);
        }
        if c.below(3) == 0 {
            // A loop without branches, with the same number of rounds for all lanes, or different ones.
            let rounds = match c.below(3) {
                0 => String::from("mov.u32 rounds, 3"),
                1 => format!("and.b32 rounds, r{}, 7", c.below(8)),
                _ => String::from("shr.u32 rounds, own, 5"),
            };
            let _ = writeln!(s, "{rounds};\nR{block}:");
            for _ in 0..c.below(5) {
                instruction(&mut s, &mut c);
            }
            let _ = writeln!(
                s,
                "sub.s32 rounds, rounds, 1; setp.ge.s32 q, rounds, 0; @q bra R{block};"
            );
        }
        match c.below(8) {
            0..3 => {
                let (p, target) = (c.below(4), c.below(BLOCKS));
                let not = if c.below(2) == 0 { "!" } else { "" };
                let _ = writeln!(s, "@{not}p{p} bra L{target};");
            }
            3 => {
                let _ = writeln!(s, "bra L{};", c.below(BLOCKS));
            }
            4 => {
                let (r, a, b) = (c.below(8), c.below(BLOCKS), c.below(BLOCKS));
                let _ = writeln!(s, "T{block}: .branchtargets L{a}, L{b}, DONE;");
                let _ = writeln!(s, "and.b32 t, r{r}, 3; brx.idx t, T{block};");
            }
            5 => {
                let _ = writeln!(s, "@p{} ret;", c.below(4));
            }
            6 if c.below(4) == 0 => {
                let _ = writeln!(s, "@p{} bar.sync 0;", c.below(4));
            }
            6 => s += "bar.sync 0;\n",
            _ => {}
        }
    }
    s += "DONE:\n";
    for k in 0..8 {
        let _ = write!(s, "st.global.b32 [to+{}], r{k};", 4 * k);
    }
    for k in 0..4 {
        let _ = write!(s, "st.global.b64 [to+{}], d{k};", 32 + 8 * k);
        let _ = write!(s, "st.global.f32 [to+{}], f{k};", 64 + 4 * k);
        let _ = write!(s, "selp.u32 t, 1, 0, p{k}; st.global.u32 [to+{}], t;", 80 + 4 * k);
    }
    s += "st.global.f64 [to+96], e0; st.global.f64 [to+104], e1; st.global.b16 [to+112], h0;
          st.global.b16 [to+114], h1; ret; }";
    s
}

/// An instruction that reads or writes the carry flag.
fn carry(c: &mut Choices<'_>) -> String {
    const NAMES: [&str; 10] = [
        "add.cc",
        "addc",
        "addc.cc",
        "sub.cc",
        "subc",
        "subc.cc",
        "mad.lo.cc",
        "mad.hi.cc",
        "madc.lo.cc",
        "madc.hi",
    ];
    let name = NAMES[c.below(10) as usize];
    let (class, count, width) = if c.below(3) == 0 { ('d', 4, 64) } else { ('r', 8, 32) };
    let sign = ['u', 's'][c.below(2) as usize];
    let operands = if name.starts_with("mad") { 4 } else { 3 };
    let list: Vec<String> = (0..operands).map(|_| format!("{class}{}", c.below(count))).collect();
    format!("{name}.{sign}{width} {}", list.join(", "))
}

// A table: one arm for each kind of instruction.
fn instruction(s: &mut String, c: &mut Choices<'_>) {
    let guard = match c.below(12) {
        0 => format!("@p{} ", c.below(4)),
        1 => format!("@!p{} ", c.below(4)),
        _ => String::new(),
    };
    let r = |c: &mut Choices<'_>| match c.below(10) {
        9 => format!("{}", c.next() as i32 - 100),
        n => format!("r{}", n.min(7)),
    };
    let f = |c: &mut Choices<'_>| format!("f{}", c.below(4));
    let d = |c: &mut Choices<'_>| format!("d{}", c.below(4));
    let (x, y) = (c.below(8), c.below(4));
    let one = |c: &mut Choices<'_>, of: &[&'static str]| of[c.below(of.len() as u32) as usize];
    let text = match c.below(55) {
        0 => format!("add.s32 r{x}, {}, {}", r(c), r(c)),
        1 => format!("sub.s32 r{x}, {}, {}", r(c), r(c)),
        2 => format!("mad.lo.s32 r{x}, {}, {}, {}", r(c), r(c), r(c)),
        3 => format!("shl.b32 r{x}, {}, {}", r(c), c.below(40)),
        4 => format!("shr.s32 r{x}, {}, {}", r(c), r(c)),
        5 => format!("xor.b32 r{x}, {}, {}", r(c), r(c)),
        6 => format!("and.b32 r{x}, {}, {}", r(c), c.next()),
        7 => {
            let how = one(c, &["lt", "ge", "ne", "lt.and", "eq.or"]);
            let second = format!("|p{}", (y + 1) % 4);
            let second = if c.below(2) == 0 { &second } else { "" };
            let with = format!(", !p{}", c.below(4));
            let with = if how.contains('.') { &with } else { "" };
            format!("setp.{how}.s32 p{y}{second}, {}, {}{with}", r(c), r(c))
        }
        8 => format!("selp.b32 r{x}, {}, {}, p{y}", r(c), r(c)),
        9 => format!("fma.rn.f32 f{y}, {}, {}, {}", f(c), f(c), f(c)),
        10 => match c.below(6) {
            0 => format!("ex2.approx.ftz.f32 f{y}, {}", f(c)),
            1 => format!("ex2.approx.f32 f{y}, {}", f(c)),
            2 => format!("fma.rm.f32 f{y}, {}, 0f437C0000, 0f4B400001", f(c)),
            3 => format!("fma.rp.ftz.f32 f{y}, 0f3F7FFFFF, {}, {}", f(c), f(c)),
            4 => format!("div.rn.f32 f{y}, {}, {}", f(c), f(c)),
            _ => format!("mul.f32 f{y}, {}, {}", f(c), f(c)),
        },
        11 => format!("min.f32 f{y}, {}, {}", f(c), f(c)),
        12 => format!("mov.b32 r{x}, {}", f(c)),
        13 => format!("setp.ltu.f32 p{y}, {}, {}", f(c), f(c)),
        14 => format!("add.s64 d{y}, {}, {}", d(c), d(c)),
        15 => format!("mul.wide.s32 d{y}, {}, {}", r(c), r(c)),
        16 => format!("cvt.u32.u64 r{x}, {}", d(c)),
        // Each thread's own memory: accesses of two threads to one address have no order.
        17 => match (c.below(6), r(c)) {
            (3, k) => format!(
                "and.b32 t, {k}, 62; mul.wide.u32 w, t, 4; add.s64 w, base, w;
                 {guard} ld.global.v2.b32 {{r{x}, r{}}}, [w]",
                (x + 1) % 8
            ),
            (4, k) => format!(
                "and.b32 t, {k}, 62; mul.wide.u32 w, t, 4; add.s64 w, base, w;
                 {guard} ld.b64 d{y}, [w]"
            ),
            (5, k) => {
                let what =
                    ["add.u32", "min.s32", "max.u32", "and.b32", "xor.b32", "exch.b32", "inc.u32"];
                let what = what[c.below(7) as usize];
                let (whose, place) = [("shared", "own"), ("global", "to")][c.below(2) as usize];
                format!("mov.b32 t, {k}; {guard} atom.{whose}.{what} r{x}, [{place}], t")
            }
            (0, k) => format!(
                "and.b32 t, {k}, 63; mul.wide.u32 w, t, 4; add.s64 w, base, w;
                 {guard} ld.global.b32 r{x}, [w]"
            ),
            (1, _) => format!("mov.b32 t, own; {guard} ld.shared.b32 r{x}, [t]"),
            (_, k) => format!("and.b32 t, {k}, 28; {guard} ld.local.b32 r{x}, [t]"),
        },
        18 => format!("mov.u32 t, {}; {guard} st.shared.b32 [own], t", r(c)),
        19 => format!("mov.u32 t, {}; {guard} st.local.b32 [lo+{}], t", r(c), 4 * c.below(8)),
        20 => format!(
            "shfl.sync.{}.b32 r{x}, r{}, {}, 0x1f, -1",
            ["bfly", "down", "up", "idx"][c.below(4) as usize],
            c.below(8),
            c.below(32)
        ),
        21 => format!("vote.sync.ballot.b32 r{x}, p{y}, -1"),
        50 => one(
            c,
            &["fence.sc.gpu", "membar.sys", "fence.acq_rel.cta", "fence.acquire.gpu", "fence.proxy.alias"],
        )
        .to_string(),
        // Ordered accesses, to the thread's own memory.
        51 => match c.below(4) {
            0 => format!("mov.u32 t, {}; {guard} st.release.gpu.global.b32 [to], t", r(c)),
            1 => format!("mov.b64 w, to; {guard} ld.acquire.sys.global.b32 r{x}, [w]"),
            2 => format!("mov.b64 w, to; {guard} ld.volatile.global.v2.b32 {{r{x}, r{}}}, [w]", (x + 1) % 8),
            _ => format!("mov.b32 t, {}; {guard} atom.acq_rel.sys.add.u32 r{x}, [to], t", r(c)),
        },
        52..55 => sums::some(c),
        48 => format!(
            "mov.u32 t, {}; {{ .param .b32 i; .param .b32 u; st.param.b32 [i], t;
             {guard} call (u), fn{y}, (i); {guard} ld.param.b32 r{x}, [u]; }}",
            r(c)
        ),
        49 => format!(
            "and.b32 t, {}, 3; mul.wide.u32 w, t, 8; mov.b64 v, table; add.s64 v, v, w; ld.global.b64 v, [v];
             {{ .param .b32 i; .param .b32 u; P: .callprototype (.param .b32 _) _ (.param .b32 _);
             st.param.b32 [i], {}; {guard} call (u), v, (i), P; {guard} ld.param.b32 r{x}, [u]; }}",
            r(c), r(c)
        ),
        23 => format!(
            "cvt.{}.{}.f32 r{x}, {}",
            one(c, &["rzi", "rni", "rmi"]),
            one(c, &["s32", "u32"]),
            f(c)
        ),
        24 => format!("cvt.rn.f32.{} f{y}, {}", one(c, &["s32", "u32"]), r(c)),
        25 => {
            format!("cvt.{}.f32.f32 f{y}, {}", one(c, &["rni", "rzi", "rpi", "ftz", "sat"]), f(c))
        }
        26 => format!("cvt.{}f64.f32 e{}, {}", one(c, &["", "ftz."]), c.below(2), f(c)),
        27 => format!("cvt.{}.f32.f64 f{y}, e{}", one(c, &["rn", "rz", "rn.ftz"]), c.below(2)),
        28 => format!("cvt.{}.s32.f64 r{x}, e{}", one(c, &["rzi", "rni"]), c.below(2)),
        29 => format!("mov.b64 e{}, {}", c.below(2), d(c)),
        30 => format!("mov.b64 {}, e{}", d(c), c.below(2)),
        31 => format!(
            "{}.f64 e{}, e{}",
            one(c, &["neg", "abs", "sqrt.rn", "rcp.rn"]),
            c.below(2),
            c.below(2)
        ),
        32 => format!(
            "{}.f64 e{}, e{}, e{}",
            one(c, &["add", "sub", "mul", "min", "max", "div.rn", "add.rm"]),
            c.below(2),
            c.below(2),
            c.below(2)
        ),
        33 => format!(
            "{}.f32 f{y}, {}, {}",
            one(
                c,
                &[
                    "add",
                    "sub.ftz",
                    "add.sat",
                    "max",
                    "div.rn",
                    "div.approx",
                    "add.rz",
                    "mul.rp.ftz"
                ]
            ),
            f(c),
            f(c)
        ),
        34 => format!(
            "{}.f32 f{y}, {}",
            one(
                c,
                &[
                    "neg",
                    "abs.ftz",
                    "sqrt.rn",
                    "ex2.approx",
                    "sin.approx",
                    "rcp.approx.ftz",
                    "rsqrt.approx"
                ]
            ),
            f(c)
        ),
        35 => format!(
            "fma.{}.f32 f{y}, {}, {}, {}",
            one(c, &["rn.ftz", "rn.sat", "rz", "rm", "rp.ftz"]),
            f(c),
            f(c),
            f(c)
        ),
        36 => format!("mov.b32 f{y}, {}", if c.below(4) == 0 { "0x7fa12345".into() } else { r(c) }),
        37 => format!(
            "{} r{x}, {}, {}",
            one(
                c,
                &[
                    "div.s32",
                    "rem.u32",
                    "mul.hi.s32",
                    "max.u32",
                    "min.s32",
                    "mul.lo.u32",
                    "add.sat.s32"
                ]
            ),
            r(c),
            r(c)
        ),
        38 => format!(
            "{} r{x}, {}",
            one(c, &["popc.b32", "clz.b32", "brev.b32", "not.b32", "abs.s32", "bfind.u32"]),
            r(c)
        ),
        39 => format!(
            "{} r{x}, {}, {}, {}",
            one(
                c,
                &["bfe.s32", "prmt.b32", "shf.l.wrap.b32", "sad.u32", "dp4a.u32.s32", "mad.hi.u32"]
            ),
            r(c),
            r(c),
            r(c)
        ),
        40 => format!("lop3.b32 r{x}, {}, {}, {}, {}", r(c), r(c), r(c), c.next()),
        41 => format!(
            "{}.u32.s32.u32{} r{x}, r{}.{}, r{}.{}, {}",
            one(c, &["vadd", "vsub", "vabsdiff", "vmin"]),
            one(c, &[".sat.add", ".min"]),
            c.below(8),
            one(c, &["b0", "b3", "h1"]),
            c.below(8),
            one(c, &["b1", "h0"]),
            r(c)
        ),
        42 => format!(
            "{} r{x}, r{}, r{}, {}",
            one(c, &["vabsdiff4.u32.u32.u32.add", "vmax2.s32.s32.s32", "vset4.u32.s32.lt"]),
            c.below(8),
            c.below(8),
            r(c)
        ),
        43 => {
            // The flag passes from one kind to the next, across code that other lanes skip.
            let mut all = String::new();
            for _ in 0..2 + c.below(4) {
                let guard = one(c, &["", "", "", "@p1 ", "@!p2 "]);
                all += &format!("{guard}{}; ", carry(c));
            }
            all + &format!("{guard}addc.u32 r{x}, {}, 0", r(c))
        }
        44 => format!("mad.wide.{} d{y}, {}, {}, {}", one(c, &["s32", "u32"]), r(c), r(c), d(c)),
        45 => format!(
            "{} d{y}, {}, {}",
            one(c, &["mul.lo.s64", "sub.u64", "and.b64", "min.s64", "xor.b64"]),
            d(c),
            d(c)
        ),
        46 => format!("{}.b64 d{y}, {}, {}", one(c, &["shl", "shr"]), d(c), r(c)),
        47 => format!("slct.f32.s32 f{y}, {}, {}, {}", f(c), f(c), r(c)),
        22 => format!("fma.rn.f64 e{}, e{}, e{}, e0", c.below(2), c.below(2), c.below(2)),
        _ => format!("add.u16 h{}, h{}, h{}", c.below(2), c.below(2), c.below(2)),
    };
    let collective = text.starts_with("shfl") || text.starts_with("vote");
    let prefixed = text.contains(';') || collective;
    let _ = writeln!(s, "{}{text};", if prefixed { "" } else { &guard });
}

/// Runs both ways on several block shapes; panics if they differ.
pub fn run(data: &[u8]) {
    run_text(&program(data));
}

/// The maximum number of steps of planning and compiling per byte of text: for three layouts of blocks, once or twice.
const STEPS: u64 = 600;

/// Bytes that choose a kernel of [`parting`].
pub const PARTING: usize = 1000;

/// The text of a kernel whose lanes diverge often.
pub fn parting(data: &[u8]) -> String {
    parting::program(data)
}

/// Runs such a kernel both ways with two block shapes, and says which those are; panics if results differ.
pub fn run_parting(data: &[u8]) -> (Device, [[u32; 3]; 2]) {
    let d = fused(&parting(data));
    let input: Vec<u32> = (0..512u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> (i % 20)).collect();
    let (input, out) = (d.upload(&input, |v| v.to_le_bytes()), d.alloc(parting::RESULTS));
    let shapes = [0, 1]
        .map(|n| parting::BLOCKS[usize::from(data[data.len() - 1 - n]) % parting::BLOCKS.len()]);
    for block in shapes {
        let done = d.launch_with("k", [2, 1, 1], block, 0, false, &[input, out, 9]);
        done.unwrap_or_else(|e| panic!("{block:?}: {e}"));
    }
    (d, shapes)
}

/// A device with a module whose products and sums are fused as a GPU does.
fn fused(text: &str) -> Device {
    let module = cushim_ptx::parse(text).and_then(|m| cushim_ptx::check(&m));
    let mut module = module.unwrap_or_else(|e| panic!("{e}\n{text}"));
    cushim_ptx::contract(&mut module);
    Device::of(module)
}

/// The same for a given text, with products and sums fused as a GPU does.
pub fn run_text(text: &str) {
    cushim_ptx::work::listen(|| std::time::Duration::ZERO);
    let d = fused(text);
    let input: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> (i % 20)).collect();
    let (input, out) = (d.upload(&input, |v| v.to_le_bytes()), d.alloc(128 * 4096));
    for block in [[32, 1, 1], [70, 1, 1], [16, 4, 1], [5, 3, 2]] {
        // A deadlock is a valid result if both report it.
        let _ = d.launch_with("k", [2, 1, 1], block, 0, false, &[input, out, 9]);
    }
    let steps: u64 = cushim_ptx::work::heard().iter().map(|phase| phase.steps).sum();
    assert!(steps <= STEPS * text.len() as u64, "{steps} steps for {} bytes", text.len());
}
