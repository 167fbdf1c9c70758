//! The PTX of a kernel that runs litmus tests with one way of ordering.

use crate::model::{Access, Place, TESTS, Way};
use std::fmt::Write;

/// Where the lanes of a role have their locations; each lane runs its own instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Adjacent locations.
    Row,
    /// Each location in its own cache line.
    Spread,
    /// In mixed order.
    Mixed,
    /// A single lane, under a guard.
    One,
    /// Adjacent locations of 64 bits.
    Wide,
    WideMixed,
    /// Two values in one access.
    Vector,
}

pub const SHAPES: [Shape; 7] = [
    Shape::Row,
    Shape::Spread,
    Shape::Mixed,
    Shape::One,
    Shape::Wide,
    Shape::WideMixed,
    Shape::Vector,
];

impl Shape {
    /// Bytes between the locations of two lanes.
    pub fn stride(self) -> u64 {
        match self {
            Shape::Row | Shape::Mixed => 4,
            Shape::Spread | Shape::One => 64,
            Shape::Wide | Shape::WideMixed | Shape::Vector => 8,
        }
    }

    /// Bytes of all locations of one step.
    pub fn row(self) -> u64 {
        if self == Shape::One { 64 } else { 32 * self.stride() }
    }

    /// Bytes of one result of all lanes.
    pub fn results(self) -> u64 {
        if self == Shape::One { RESULT } else { 32 * RESULT }
    }

    /// Steps between two meetings of the roles: a power of 2; more where a step needs little memory.
    pub fn steps(self) -> u32 {
        if self == Shape::One { 4096 } else { 256 }
    }

    /// The state space of the accesses; some shapes use generic addresses.
    fn space(self) -> &'static str {
        if matches!(self, Shape::Spread | Shape::One | Shape::WideMixed) { "" } else { ".global" }
    }

    pub fn mixed(self) -> bool {
        matches!(self, Shape::Mixed | Shape::WideMixed)
    }

    pub fn wide(self) -> bool {
        matches!(self, Shape::Wide | Shape::WideMixed)
    }
}

/// Between whom the roles are split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Among {
    Blocks,
    Warps,
    /// Each role is eight lanes of a warp.
    Lanes,
    /// A host thread runs role 1.
    Host,
}

/// Bytes of the counter at which the roles meet.
pub const HEAD: u64 = 128;
/// Bytes of a lane's result.
pub const RESULT: u64 = 8;

/// One access: `r{n}` is the lane's `n`th result.
fn access(s: &mut String, way: &Way, shape: Shape, access: Access, n: usize) {
    let (place, name) = match access {
        Access::Store(p, _) => (p, way.store),
        Access::Release(p, _) => (p, way.release),
        Access::Load(p) => (p, way.load),
        Access::Acquire(p) => (p, way.acquire),
    };
    let at = if place == Place::X { "x" } else { "y" };
    let guard = if shape == Shape::One { "@lead " } else { "" };
    let bits = if shape.wide() { 64 } else { 32 };
    let value = match access {
        Access::Store(_, v) | Access::Release(_, v) => Some(v),
        _ => None,
    };
    // Both halves of a wide value are equal: a value of two stores' halves shows a torn access.
    let of = |v: u32| if shape.wide() { u64::from(v) << 32 | u64::from(v) } else { v.into() };
    let vector = shape == Shape::Vector;
    let name = &format!("{name}{}", shape.space());
    let text = match (name.starts_with("atom"), value) {
        (true, Some(v)) if vector => {
            format!("{guard}{name}.exch.b64 u{n}, [{at}], {}", u64::from(v) << 32 | u64::from(v))
        }
        (true, None) if vector => {
            format!("{guard}{name}.or.b64 u{n}, [{at}], 0;\n  mov.b64 {{r{n}, q{n}}}, u{n}")
        }
        (true, Some(v)) => format!("{guard}{name}.exch.b{bits} old, [{at}], {}", of(v)),
        (true, None) => format!("{guard}{name}.or.b{bits} r{n}, [{at}], 0"),
        (false, Some(v)) if vector => {
            format!("mov.b32 v, {v};\n  {guard}{name}.v2.b32 [{at}], {{v, v}}")
        }
        (false, None) if vector => format!("{guard}{name}.v2.b32 {{r{n}, q{n}}}, [{at}]"),
        (false, Some(v)) => format!("mov.b{bits} v, {};\n  {guard}{name}.b{bits} [{at}], v", of(v)),
        (false, None) => format!("{guard}{name}.b{bits} r{n}, [{at}]"),
    };
    let _ = writeln!(s, "  {text};");
}

/// Every second role visits the locations of this many steps in the opposite order: so both roles use the same
/// location at the same time once, whichever is ahead.
pub const TURN: u32 = 64;

/// The kernel of some tests. Parameters: memory, the test's number, the roles, and the number of steps, a multiple of [`Shape::steps`].
pub fn text(way: &Way, shape: Shape, among: Among, tests: &[usize]) -> String {
    let bits = if shape.wide() { 64 } else { 32 };
    let (role, lane, mask) = match among {
        Among::Blocks | Among::Host => ("mov.u32 role, %ctaid.x", "mov.u32 lane, %tid.x", "-1"),
        Among::Warps => {
            ("mov.u32 role, %tid.x; shr.u32 role, role, 5", "mov.u32 lane, %laneid", "-1")
        }
        Among::Lanes => (
            "mov.u32 role, %tid.x; shr.u32 role, role, 3",
            "mov.u32 lane, %tid.x; and.b32 lane, lane, 7",
            "member",
        ),
    };
    let place =
        if shape.mixed() { "shr.u32 t, lane, 1; xor.b32 at, lane, t" } else { "mov.u32 at, lane" };
    let mut s = format!(
        ".version 8.6\n.target sm_90\n.address_size 64
.entry litmus(.param .u64 base, .param .u32 p1, .param .u32 p2, .param .u32 p3) {{
  .reg .pred lead; .reg .pred p;
  .reg .b32 role; .reg .b32 lane; .reg .b32 at; .reg .b32 t; .reg .b32 i; .reg .b32 n; .reg .b32 all; .reg .b32 test;
  .reg .b32 roles; .reg .b32 member; .reg .b32 which; .reg .b64 to0;
  .reg .b64 gate; .reg .b64 x; .reg .b64 y; .reg .b64 x0; .reg .b64 size; .reg .b64 to; .reg .b64 step; .reg .b64 w;
  .reg .b{bits} r<2>; .reg .b32 q<2>; .reg .b64 u<2>; .reg .b{bits} v; .reg .b{bits} old;
  ld.param.u64 gate, [base]; ld.param.u32 test, [p1]; ld.param.u32 roles, [p2]; ld.param.u32 all, [p3];
  {role}; {lane}; {place};
  shl.b32 t, role, 3; mov.b32 member, 255; shl.b32 member, member, t;
  setp.eq.u32 lead, lane, 0;
  mul.lo.u32 t, all, {row}; cvt.u64.u32 size, t;
  add.s64 x0, gate, {HEAD}; mul.wide.u32 w, at, {stride}; add.s64 x0, x0, w;
  mul.lo.u32 t, all, {results}; mul.lo.u32 t, t, role; shl.b32 t, t, 1; cvt.u64.u32 to0, t;
  add.s64 to0, to0, gate; add.s64 to0, to0, {HEAD}; add.s64 to0, to0, size; add.s64 to0, to0, size;
  mul.wide.u32 w, lane, {RESULT}; add.s64 to0, to0, w;
  mul.wide.u32 step, all, {results};
  shl.b32 which, test, 2; add.u32 which, which, role;
  mov.u32 i, 0; mov.u32 n, 0;
STEP:
  setp.ge.u32 p, i, all; @p bra END;
  and.b32 t, i, {last}; setp.ne.u32 p, t, 0; @p bra MET;
  add.u32 n, n, roles;
  @!lead bra MET;
  red.relaxed.sys.global.add.u32 [gate], 1;
SPIN:
  mov.u64 w, %globaltimer; ld.relaxed.sys.u32 t, [gate]; setp.lt.u32 p, t, n; @p bra SPIN;
MET:
  bar.warp.sync {mask};
  and.b32 t, role, 1; setp.ne.u32 p, t, 0; xor.b32 t, i, {turn}; selp.b32 at, t, i, p;
  mul.wide.u32 w, at, {row}; add.s64 x, x0, w; add.s64 y, x, size;
  mul.wide.u32 w, at, {results}; add.s64 to, to0, w;
  mov.b{bits} r0, 0; mov.b{bits} r1, 0; mov.b32 q0, 0; mov.b32 q1, 0;
",
        row = shape.row(),
        stride = shape.stride(),
        results = shape.results(),
        last = shape.steps() - 1,
        turn = TURN - 1,
    );
    let mut bodies = String::new();
    let mut targets = Vec::new();
    for (t, test) in TESTS.iter().enumerate() {
        for role in 0..4 {
            let Some(part) = test.roles.get(role).filter(|_| tests.contains(&t)) else {
                targets.push("DONE".to_string());
                continue;
            };
            let label = format!("T{t}_{role}");
            let _ = writeln!(bodies, "{label}:");
            let mut loads = 0;
            for (k, a) in part.iter().enumerate() {
                if k > 0 && !way.fence.is_empty() {
                    let _ = writeln!(bodies, "  {};", way.fence);
                }
                access(&mut bodies, way, shape, *a, loads);
                loads += usize::from(matches!(a, Access::Load(_) | Access::Acquire(_)));
            }
            bodies += "  bra DONE;\n";
            targets.push(label);
        }
    }
    let _ = writeln!(s, "  TARGETS: .branchtargets {};", targets.join(", "));
    s += "  brx.idx which, TARGETS;\n  bra DONE;\n";
    s += &bodies;
    s += "DONE:\n";
    for n in 0..2 {
        let at = if n == 0 { "[to]" } else { "[w]" };
        if n == 1 {
            s += "  add.s64 w, to, step;\n";
        }
        let _ = match shape {
            Shape::Vector => writeln!(s, "  st.global.v2.b32 {at}, {{r{n}, q{n}}};"),
            Shape::One => writeln!(s, "  @lead st.global.b{bits} {at}, r{n};"),
            _ => writeln!(s, "  st.global.b{bits} {at}, r{n};"),
        };
    }
    s += "  add.u32 i, i, 1;\n  bra STEP;\nEND:\n  ret;\n}\n";
    s
}
