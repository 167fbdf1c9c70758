//! Analysis of lanes: known bits of thread numbers, addresses that are adjacent between lanes, and votes.

use crate::common;

use common::Device;
use std::fmt::Write as _;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Blocks of every layout, with partial warps.
const BLOCKS: [[u32; 3]; 9] = [
    [96, 1, 1],
    [70, 1, 1],
    [32, 3, 1],
    [16, 6, 1],
    [8, 4, 3],
    [1, 70, 1],
    [4, 8, 2],
    [5, 7, 2],
    [64, 1, 2],
];

/// Runs a kernel in the interpreter, with the quick code and with the optimised code, and compares the results.
fn run(d: &Device, block: [u32; 3], args: &[u64]) {
    for better in [false, true] {
        if better {
            d.kernel(d.find("k")).unwrap().improve(block).unwrap();
        }
        d.launch_with("k", [2, 1, 1], block, 0, false, args).unwrap();
    }
}

/// A kernel that hashes into `h` the values that `code` puts into `v` (32 bits) and `w` (64), and stores it for each thread.
fn folding(code: &[String]) -> String {
    let mut text = format!(
        "{HEAD}.entry k(.param .u64 out, .param .u32 n) {{
  .reg .u64 o, d, w, x; .reg .u32 t, y, z, l, n, v, h, i, a, b; .reg .pred p, q;
  ld.param.u64 o, [out]; ld.param.u32 n, [n];
  mov.u32 t, %tid.x; mov.u32 y, %tid.y; mov.u32 z, %tid.z; mov.u32 l, %laneid; mov.u32 h, 1;\n"
    );
    for line in code {
        let _ = writeln!(
            text,
            "mov.u32 v, 3; mov.u64 w, 5; {line}\nmad.lo.u32 h, h, 31, v; cvt.u32.u64 a, w; mad.lo.u32 h, h, 31, a;"
        );
    }
    text += "mov.u32 a, %ntid.x; mov.u32 b, %ntid.y; mad.lo.u32 i, z, b, y; mad.lo.u32 i, i, a, t;
  mul.lo.u32 a, a, b; mov.u32 b, %ntid.z; mul.lo.u32 a, a, b; mov.u32 b, %ctaid.x; mad.lo.u32 i, a, b, i;
  mul.wide.u32 d, i, 4; add.u64 o, o, d; st.global.u32 [o], h; ret; }\n";
    text
}

#[test]
fn bits_of_thread_numbers() {
    let mut code = Vec::new();
    for x in ["t", "y", "l"] {
        for (op, c) in [
            ("and.b32", 31),
            ("and.b32", 7),
            ("and.b32", -32),
            ("and.b32", 0x15),
            ("or.b32", -32),
            ("or.b32", 64),
            ("or.b32", 5),
            ("xor.b32", 1),
            ("xor.b32", -1),
            ("xor.b32", 48),
            ("shr.u32", 5),
            ("shr.u32", 3),
            ("shr.s32", 7),
            ("shl.b32", 27),
        ] {
            code.push(format!("{op} v, {x}, {c};"));
            code.push(format!("shl.b32 a, {x}, 3; or.b32 a, a, 4; {op} v, a, {c};"));
        }
        for op in ["and.b32", "or.b32", "xor.b32"] {
            code.push(format!("shl.b32 a, n, 6; {op} v, {x}, a;"));
            code.push(format!("shl.b32 a, n, 2; {op} v, a, {x};"));
        }
        for ty in ["u32", "s32"] {
            code.push(format!(
                "or.b32 a, {x}, -64; cvt.{}.{ty} w, a; shr.{ty} v, a, 4;",
                ty.replace("32", "64")
            ));
            code.push(format!("or.b32 a, {x}, -2147483648; mul.wide.{ty} w, a, 12;"));
            code.push(format!("shl.b32 a, {x}, 26; mad.wide.{ty} w, a, -3, 77;"));
        }
        code.push(format!(
            "cvt.u64.u32 w, {x}; and.b64 w, w, 31; shl.b32 a, n, 8; cvt.s64.s32 x, a; or.b64 w, w, x; shl.b64 w, w, 2;"
        ));
        for ty in ["u32", "s32"] {
            for (cc, c) in [
                ("lt", 64),
                ("ge", 32),
                ("le", 63),
                ("gt", 31),
                ("lt", 33),
                ("le", 64),
                ("eq", 32),
                ("lt", -32),
                ("gt", -1),
            ] {
                code.push(format!("setp.{cc}.{ty} p, {x}, {c}; selp.u32 v, 9, 4, p;"));
                code.push(format!("setp.{cc}.{ty} p, {c}, {x}; @p add.u32 v, v, {x};"));
                code.push(format!(
                    "or.b32 a, {x}, -32; shl.b32 b, n, 5; setp.{cc}.{ty} p, a, b; @!p add.u32 v, a, b;"
                ));
            }
        }
        // As the counter of a loop over a row.
        code.push(format!(
            "or.b32 a, {x}, -32; L{x}: add.u32 v, v, a; add.u32 a, a, 32; setp.lt.s32 p, a, 96; @p bra L{x};"
        ));
    }
    let d = Device::new(&folding(&code));
    let out = d.alloc(2 * 128 * 4);
    for block in BLOCKS {
        for n in [0, 1, 7] {
            run(&d, block, &[out, n]);
        }
    }
}

/// The active lanes access the elements that a table gives.
fn table(space: &str, bits: u32, op: &str) -> String {
    let bytes = bits / 8;
    let global = space == "global";
    let (ty, at) = (format!("u{bits}"), if global { "u64" } else { "u32" });
    let access = match op {
        "ld" => format!("ld.{space}.{ty} v, [a];"),
        "st" => format!("st.{space}.{ty} [a], v;"),
        "atom" => format!("atom.{space}.add.{ty} v, [a], v;"),
        _ => format!("red.{space}.max.{ty} [a], v;"),
    };
    let place = if global {
        "mad.wide.u32 a, i, BYTES, m;".replace("BYTES", &bytes.to_string())
    } else {
        format!("mov.u32 a, row; mad.lo.u32 a, i, {bytes}, a;")
    };
    format!(
        "{HEAD}.entry k(.param .u64 places, .param .u64 memory, .param .u64 out, .param .u32 mask) {{
  .reg .u64 p, m, o, d; .reg .u32 t, i, k, l; .reg .{at} a; .reg .{ty} v; .reg .pred q;
  .shared .align 8 .b8 row[{}];
  ld.param.u64 p, [places]; ld.param.u64 m, [memory]; ld.param.u64 o, [out]; ld.param.u32 k, [mask];
  mov.u32 t, %tid.x; mul.wide.u32 d, t, 4; add.u64 p, p, d; ld.global.u32 i, [p];
  mul.wide.u32 d, t, 8; add.u64 o, o, d; mov.u32 l, row; mad.lo.u32 l, t, {bytes}, l; cvt.{ty}.u32 v, t; mad.lo.{ty} v, v, 3, 1;
  st.shared.{ty} [l], v; add.{ty} v, v, 1000; bar.sync 0; {place}
  mov.u32 l, %laneid; shr.u32 k, k, l; and.b32 k, k, 1; setp.eq.u32 q, k, 0; @q bra E; {access}
E: bar.sync 0; st.global.{ty} [o], v; mov.u32 l, row; mad.lo.u32 l, t, {bytes}, l; ld.shared.{ty} v, [l]; st.global.{ty} [o+512], v; ret; }}\n",
        64 * bytes
    )
}

#[test]
fn places_that_lie_side_by_side_or_are_one() {
    let places: [fn(u32) -> u32; 7] = [
        |k| k,
        |_| 5,
        |k| k ^ 1,
        |k| 63 - k,
        |k| if k == 31 { 3 } else { k },
        |k| k / 2,
        |k| k * 37 % 64,
    ];
    for space in ["global", "shared"] {
        for (bits, op) in
            [32, 64].into_iter().flat_map(|b| ["ld", "st", "atom", "red"].map(|o| (b, o)))
        {
            let d = Device::new(&table(space, bits, op));
            for place in places {
                let list = d.upload(&(0..64).map(place).collect::<Vec<_>>(), |v| v.to_le_bytes());
                let memory = d.upload(&(0..128).collect::<Vec<u32>>(), |v| v.to_le_bytes());
                let out = d.alloc(64 * 16);
                for mask in [u32::MAX, 1, 0x8000_0000, 0xffff_fffe, 0x0ff0_1234, 0] {
                    // One block only: a second would race with it.
                    for better in [false, true] {
                        if better {
                            d.kernel(d.find("k")).unwrap().improve([64, 1, 1]).unwrap();
                        }
                        let args = [list, memory, out, mask.into()];
                        d.launch_with("k", [1, 1, 1], [64, 1, 1], 0, false, &args).unwrap();
                        d.launch_with("k", [1, 1, 1], [50, 1, 1], 0, false, &args).unwrap();
                    }
                }
            }
        }
    }
}

#[test]
fn votes() {
    let mut code = Vec::new();
    for (cc, c) in [("lt", 13), ("ge", 0), ("gt", 200), ("eq", 31), ("ne", 64)] {
        let ask = format!("setp.{cc}.u32 p, t, {c};");
        for how in ["all", "any", "uni"] {
            code.push(format!("{ask} vote.sync.{how}.pred q, p, -1; selp.u32 v, 1, 2, q;"));
            code.push(format!("{ask} vote.sync.{how}.pred q, !p, 0xffff; selp.u32 v, 1, 2, q;"));
        }
        code.push(format!("{ask} vote.sync.ballot.b32 v, p, -1;"));
        code.push(format!("{ask} vote.sync.ballot.b32 v, !p, -1; popc.b32 v, v;"));
        code.push(format!(
            "{ask} setp.gt.u32 q, l, 9; @q bra V{cc}; vote.sync.ballot.b32 v, p, 0x3ff; V{cc}:"
        ));
        code.push(format!("{ask} setp.gt.u32 q, n, 3; @q vote.sync.ballot.b32 v, p, -1;"));
    }
    let d = Device::new(&folding(&code));
    let out = d.alloc(2 * 128 * 4);
    for block in BLOCKS {
        for n in [0, 7] {
            run(&d, block, &[out, n]);
        }
    }
}
