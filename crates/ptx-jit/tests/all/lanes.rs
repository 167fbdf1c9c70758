//! Accesses in which each lane has its own address, or in which some lanes are inactive.

use crate::common;

use common::Device;
use std::fmt::Write as _;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.const .align 4 .b32 weights[4] = {3, 5, 7, 11};\n";

/// Threads `first` to `last` load at `offset` from their own slots in shared memory, and later store there.
fn part(name: &str, bits: u32, first: u32, last: u32, offset: i32) -> String {
    let (ty, bytes) = (format!("u{bits}"), bits / 8);
    format!(
        ".entry {name}(.param .u64 out) {{
  .reg .u64 p; .reg .u64 d; .reg .u32 t; .reg .u32 a; .reg .u32 c; .reg .{ty} v; .reg .{ty} w; .reg .pred q; .reg .pred s;
  .shared .align 8 .b8 row[{}];
  ld.param.u64 p, [out]; mov.u32 t, %tid.x; mul.lo.u32 a, t, {bytes}; mov.u32 c, row; add.u32 a, a, c;
  cvt.{ty}.u32 v, t; mad.lo.{ty} v, v, 7, 1; mov.{ty} w, 2; st.shared.{ty} [a], v; bar.sync 0;
  setp.lt.u32 q, t, {first}; setp.gt.u32 s, t, {last}; or.pred q, q, s;
  @q bra A; ld.shared.{ty} w, [a+{offset}];
A: bar.sync 0; add.{ty} v, v, w; ld.const.u32 c, [weights+8]; cvt.{ty}.u32 w, c; add.{ty} v, v, w;
  @q bra B; st.shared.{ty} [a+{offset}], v;
B: bar.sync 0; @!q ld.shared.{ty} w, [a+{offset}]; mul.wide.u32 d, t, 8; add.u64 p, p, d;
  ld.shared.{ty} v, [a]; mad.lo.{ty} v, v, 100003, w; st.global.{ty} [p], v; ret; }}\n",
        64 * bytes
    )
}

#[test]
fn a_guard_that_is_written_decides_for_all_results() {
    let mut text = HEAD.to_string();
    let code = [
        "@p setp.gt.u32 p|q, t, 20;",
        "@!p setp.gt.u32 q|p, t, 20;",
        "@p setp.eq.f16x2 p|q, c, t;",
        "@q lop3.or.b32 c|q, t, 5, 9, 0x96, p;",
    ];
    for (n, code) in code.iter().enumerate() {
        let _ = write!(
            text,
            ".entry k{n}(.param .u64 out) {{ .reg .u64 d, o; .reg .u32 t, c, e; .reg .pred p, q;
             ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 4; add.u64 o, o, d;
             and.b32 c, t, 3; setp.eq.u32 p, c, 1; setp.lt.u32 q, t, 25; {code}
             selp.u32 e, 1, 0, p; mad.lo.u32 c, c, 4, e; selp.u32 e, 2, 0, q; add.u32 c, c, e;
             st.global.u32 [o], c; ret; }}\n"
        );
    }
    let device = Device::new(&text);
    for n in 0..code.len() {
        let out = device.alloc(256);
        device.launch(&format!("k{n}"), 1, 64, &[out]).unwrap();
        if n == 0 {
            let expected = |t: u32| {
                let (p, q) = (t & 3 == 1, t < 25);
                let (p, q) = if p { (t > 20, t <= 20) } else { (p, q) };
                (t & 3) * 4 + u32::from(p) + 2 * u32::from(q)
            };
            assert_eq!(device.u32s(out, 64), (0..64).map(expected).collect::<Vec<_>>());
        }
    }
}

#[test]
fn lanes_that_do_not_take_part_may_be_beside_shared_memory() {
    for (bits, first, last, step) in [
        (32, 5, 63, -5),
        (64, 31, 63, -31),
        (32, 0, 20, 11),
        (64, 0, 0, 63),
        (32, 33, 40, 2),
        (32, 9, 3, 0),
    ] {
        let name = format!("part{bits}");
        let d = Device::new(
            &(HEAD.to_owned() + &part(&name, bits, first, last, step * bits as i32 / 8)),
        );
        let out = d.alloc(64 * 8);
        d.launch(&name, 1, 64, &[out]).unwrap();
        d.launch(&name, 1, 61, &[out]).unwrap();
    }
}

#[test]
fn the_first_lane_outside_of_shared_memory_is_named() {
    for (bits, first, last, offset) in
        [(32, 5, 63, -24), (64, 3, 62, 16), (32, 0, 20, 4 * 44), (32, 40, 50, 3), (32, 1, 63, -260)]
    {
        let name = format!("part{bits}");
        let d = Device::new(&(HEAD.to_owned() + &part(&name, bits, first, last, offset)));
        let out = d.alloc(64 * 8);
        d.launch(&name, 1, 64, &[out]).unwrap_err();
    }
}

/// Each thread loads the element that `index` selects, adds to it atomically, and stores elsewhere; `n` threads are
/// active.
fn gather(space: &str, ty: &str, parts: usize, operation: &str) -> String {
    let bytes = if ty.ends_with("64") { 8 } else { 4 };
    let (wide, base) = if space == "shared" {
        ("u32", "mov.u32 b, row;")
    } else {
        ("u64", "ld.param.u64 b, [data];")
    };
    let (vector, list, sum) = match parts {
        1 => (String::new(), "v0".to_owned(), String::new()),
        n => {
            let names: Vec<String> = (0..n).map(|k| format!("v{k}")).collect();
            let sum = (1..n).fold(String::new(), |mut s, k| {
                let _ = write!(s, "mad.lo.{ty} v0, v{k}, {}, v0; ", 2 * k + 1);
                s
            });
            (format!(".v{n}"), format!("{{{}}}", names.join(", ")), sum)
        }
    };
    let size = bytes * parts;
    let red = if operation == "exch" { "xor" } else { operation };
    // A bit type, where the operation is not arithmetic.
    let bits = if matches!(operation, "add" | "min" | "max") {
        ty.to_owned()
    } else {
        format!("b{}", 8 * bytes)
    };
    let extend = if wide == "u64" { "cvt.u64.u32 a, i;" } else { "mov.u32 a, i;" };
    let own = if wide == "u64" { "cvt.u64.u32 o, t;" } else { "mov.u32 o, t;" };
    format!(
        "{HEAD}.entry gather(.param .u64 data, .param .u64 index, .param .u64 out, .param .u32 count) {{
  .reg .u64 p; .reg .u64 d; .reg .u32 t; .reg .u32 i; .reg .u32 n; .reg .{wide} a; .reg .{wide} b; .reg .{wide} o;
  .reg .{ty} v<4>; .reg .{ty} w; .reg .pred q;
  .shared .align 16 .b8 row[{}];
  {base} ld.param.u64 p, [index]; ld.param.u32 n, [count]; mov.u32 t, %tid.x;
  mul.wide.u32 d, t, 4; add.u64 p, p, d; ld.global.u32 i, [p]; {own} mad.lo.{wide} o, o, {size}, b;
  cvt.{ty}.u32 v0, t; mov.{ty} v1, 3; mov.{ty} v2, 5; mov.{ty} v3, 9; st.{space}{vector}.{ty} [o], {list}; bar.sync 0;
  {extend} mad.lo.{wide} a, a, {size}, b; mov.{ty} w, 1; setp.ge.u32 q, t, n; @q bra END;
  ld.{space}{vector}.{ty} {list}, [a]; {sum} mov.{ty} w, v0;
  st.{space}{vector}.{ty} [a+{}], {list}; add.{ty} w, w, 3;
  atom.{space}.{operation}.{bits} w, [a], w; red.{space}.{red}.{bits} [a], 5;
END: ld.param.u64 p, [out]; mul.wide.u32 d, t, 8; add.u64 p, p, d; st.global.{ty} [p], w;
  bar.sync 0; ld.{space}.{ty} w, [o]; st.global.{ty} [p+1024], w; ret; }}\n",
        size * 160,
        size * 64,
    )
}

fn try_gather(space: &str, ty: &str, parts: usize, operation: &str, bad: Option<u32>) {
    let d = Device::new(&gather(space, ty, parts, operation));
    for count in [128, 100, 32, 33, 7, 0] {
        let index = (0..128u32).map(|t| (t * 37 + 11) % 61).enumerate();
        let index: Vec<u32> =
            index.map(|(t, i)| if t == 40 { bad.unwrap_or(i) } else { i }).collect();
        let data = d.alloc(160 * 16);
        let index = d.upload(&index, |i| i.to_le_bytes());
        let out = d.alloc(4096);
        let done = d.launch("gather", 1, 128, &[data, index, out, count]);
        assert_eq!(done.is_err(), bad.is_some() && count > 40, "{space} {ty} {parts}");
    }
}

#[test]
fn every_lane_has_an_address_of_its_own() {
    for space in ["shared", "global"] {
        for (ty, parts) in [("u32", 1), ("u32", 2), ("u32", 4), ("u64", 1), ("u64", 2), ("s32", 1)]
        {
            try_gather(space, ty, parts, "add", None);
        }
        for operation in ["min", "max", "and", "or", "xor", "exch"] {
            try_gather(space, "s32", 1, operation, None);
            try_gather(space, "u64", 1, operation, None);
        }
    }
}

#[test]
fn the_lane_whose_own_address_is_wrong_is_named() {
    for space in ["shared", "global"] {
        for (ty, parts) in [("u32", 1), ("u32", 4), ("u64", 1)] {
            try_gather(space, ty, parts, "add", Some(1 << 24));
        }
    }
}

/// PTX ISA, `shfl`: the source lane, if it is within the bound.
fn read(way: &str, lane: i32, b: i32, c: i32) -> Option<i32> {
    let (mask, clamp) = (c >> 8 & 31, c & 31);
    let (most, least) = (lane & mask | clamp & !mask, lane & mask);
    let from = match way {
        "up" => lane - b,
        "down" => lane + b,
        "bfly" => lane ^ b,
        _ => least | b & !mask,
    };
    (if way == "up" { from >= most } else { from <= most }).then_some(from)
}

/// With constant operands and with the same operands from memory; for a whole warp, for a part of it, and under a guard.
#[test]
fn shuffles_by_constants_read_the_lanes_that_all_others_do() {
    let mut text = HEAD.to_string();
    let mut cases = Vec::new();
    for way in ["up", "down", "bfly", "idx"] {
        for b in [0, 1, 2, 3, 4, 6, 8, 13, 16, 17, 31] {
            for c in [0, 31, 0x1f, 0x181f, 0x1800, 0x1c03, 0x0a15] {
                let n = cases.len();
                let _ = write!(
                    text,
                    ".entry k{n}(.param .u64 out, .param .u32 other) {{ .reg .u64 d, o; .reg .u32 t, i, b, c, v; .reg .pred p, q;
                     ld.param.u64 o, [out]; mov.u32 t, %tid.x; mul.wide.u32 d, t, 12; add.u64 o, o, d;
                     mad.lo.u32 i, t, 40503, 11; mov.u32 b, {b}; mov.u32 c, {c};
                     shfl.sync.{way}.b32 v|p, i, b, c, -1; selp.u32 t, 1, 0, p; mad.lo.u32 v, v, 2, t; st.global.u32 [o], v;
                     mov.u32 t, %tid.x; and.b32 t, t, 1; setp.eq.u32 q, t, 0; mov.u32 v, 5;
                     @q shfl.sync.{way}.b32 v, i, b, c, 0x55555555; st.global.u32 [o+4], v;
                     ld.param.u32 b, [other]; shfl.sync.{way}.b32 v, i, b, c, -1; st.global.u32 [o+8], v; ret; }}\n"
                );
                cases.push((way, b, c));
            }
        }
    }
    let device = Device::new(&text);
    let value = |thread: i32| (thread as u32).wrapping_mul(40503).wrapping_add(11);
    let out = device.alloc(64 * 12);
    for (n, (way, b, c)) in cases.into_iter().enumerate() {
        for threads in [64, 45] {
            device.launch(&format!("k{n}"), 1, threads, &[out, b as u64]).unwrap();
            let got = device.u32s(out, 3 * threads as usize);
            for thread in 0..threads as i32 {
                let (lane, first) = (thread & 31, thread & !31);
                let from = read(way, lane, b, c);
                let at = first + from.unwrap_or(lane);
                let there = at < threads as i32;
                let whole = if there { value(at) } else { 0 };
                let even = if at & 1 == 0 { whole } else { 0 };
                let guarded = if thread & 1 == 0 { even } else { 5 };
                let expected = [whole.wrapping_mul(2) + u32::from(from.is_some()), guarded, whole];
                assert_eq!(
                    got[3 * thread as usize..][..3],
                    expected,
                    "{way} {b} {c:#x}, thread {thread} of {threads}"
                );
            }
        }
    }
}
