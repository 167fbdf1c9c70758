//! Many instances of store buffering in a row, without a branch between them. Without a fence, x86 processors then show
//! it often enough to be seen even on a busy machine.

use crate::kernel::HEAD;
use crate::model::Way;
use std::fmt::Write;

/// Instances between two meetings, each with adjacent locations of its own for the 32 lanes.
pub const ROW: u32 = 32;
/// The second role runs this many in the opposite order: so both roles run the same instance at the same time once.
const TURN: u32 = 16;

/// A kernel of two blocks of 32 threads. Parameters: memory, and the number of meetings.
pub fn text(way: &Way) -> String {
    let mut s = format!(
        ".version 8.6\n.target sm_90\n.address_size 64
.entry storm(.param .u64 p0, .param .u32 p1) {{
  .reg .pred p; .reg .b32 role; .reg .b32 t; .reg .b32 t0; .reg .b32 i; .reg .b32 n; .reg .b32 all; .reg .b32 one; .reg .b32 r<{ROW}>;
  .reg .b64 gate; .reg .b64 x; .reg .b64 y; .reg .b64 to; .reg .b64 w; .reg .b64 size;
  ld.param.u64 gate, [p0]; ld.param.u32 all, [p1]; mov.u32 role, %ctaid.x; mov.u32 one, 1; mov.u32 t0, %tid.x;
  mul.wide.u32 size, all, {bytes}; add.s64 x, gate, {HEAD}; add.s64 y, x, size; add.s64 to, y, size;
  mul.wide.u32 size, all, {results};
  setp.eq.u32 p, role, 0; @p bra FIRST; add.s64 to, to, size;
FIRST:
  mov.u32 t, %tid.x; mul.wide.u32 w, t, 4; add.s64 x, x, w; add.s64 y, y, w; add.s64 to, to, w;
  mov.u32 i, 0; mov.u32 n, 0;
ROUND:
  setp.ge.u32 p, i, all; @p bra END;
  add.u32 n, n, 2; setp.ne.u32 p, t0, 0; @p bra MET;
  red.relaxed.sys.global.add.u32 [gate], 1;
SPIN:
  mov.u64 w, %globaltimer; ld.relaxed.sys.u32 t, [gate]; setp.lt.u32 p, t, n; @p bra SPIN;
MET:
  bar.warp.sync -1;
  setp.eq.u32 p, role, 0; @!p bra OTHER;\n",
        bytes = 128 * ROW,
        results = 128 * ROW,
    );
    for (mine, theirs, turned) in [("x", "y", 0), ("y", "x", TURN - 1)] {
        if turned > 0 {
            s += "OTHER:\n";
        }
        for k in 0..ROW {
            let n = k ^ turned;
            let _ = writeln!(
                s,
                "  {}.global.b32 [{mine}+{at}], one; {}{} {}.global.b32 r{n}, [{theirs}+{at}];",
                way.store,
                way.fence,
                if way.fence.is_empty() { "" } else { ";" },
                way.load,
                at = 128 * n
            );
        }
        s += "  bra DONE;\n";
    }
    s += "DONE:\n";
    for n in 0..ROW {
        let _ = writeln!(s, "  st.global.b32 [to+{}], r{n};", 128 * n);
    }
    let _ = write!(
        s,
        "  add.s64 x, x, {bytes}; add.s64 y, y, {bytes}; add.s64 to, to, {results}; add.u32 i, i, 1; bra ROUND;
END:
  ret;\n}}\n",
        bytes = 128 * ROW,
        results = 128 * ROW,
    );
    s
}
