//! Accesses whose lanes are contiguous within each register-sized piece of the warp, found at run time: whole rows, two rows of a
//! tile that is half a warp wide, and steps of sorting networks.
//!
//! Owns that check, and loads and stores piece by piece; stores of rows under a mask, too. Must not know what is loaded or
//! stored.

use super::emitter::{ALL, Emit, LANES};
use super::lookup::line;
use super::predicate::has_masks;
use cushim_translate::llvm::{Body, Type, Value};

/// Lanes of a piece.
fn count() -> u32 {
    if has_masks() { LANES / 2 } else { LANES / 4 }
}

/// Whether lanes at these steps are contiguous within each piece.
pub(super) fn are_pieces(steps: &[i64; 32], width: u32) -> bool {
    let contiguous = |piece: &[i64]| piece.windows(2).all(|p| p[1] - p[0] == i64::from(width));
    steps.chunks(count() as usize).all(contiguous)
}

/// Lane numbers of a shuffle.
fn order(lanes: impl Iterator<Item = u32>) -> String {
    let all: Vec<String> = lanes.map(|lane| format!("i32 {lane}")).collect();
    format!("<{} x i32> <{}>", all.len(), all.join(", "))
}

/// Joins parts of `lanes` lanes each to a vector of `of` lanes; returns its name.
pub(super) fn joined(
    b: &mut Body,
    bits: u32,
    (mut lanes, of): (u32, u32),
    mut parts: Vec<String>,
) -> String {
    while parts.len() > 1 {
        let (ty, both) = (format!("<{lanes} x i{bits}>"), order(0..2 * lanes));
        let pairs = parts.chunks(2);
        let join = |pair: &[String]| {
            line(b, &format!("shufflevector {ty} {}, {ty} {}, {both}", pair[0], pair[1]))
        };
        (parts, lanes) = (pairs.map(join).collect(), 2 * lanes);
    }
    let all = parts.pop().unwrap_or_default();
    line(b, &format!("freeze <{of} x i{bits}> {all}"))
}

/// Lanes `from` to `from + n` of a typed vector of `bits` bits.
fn part(b: &mut Body, all: &str, bits: u32, from: u32, n: u32) -> String {
    let which = order(from..from + n);
    line(b, &format!("shufflevector {all}, <{LANES} x i{bits}> poison, {which}"))
}

impl Emit<'_> {
    /// Word `k` of `of` of each lane, from a row whose lanes have several words.
    pub(super) fn read_words(&mut self, first: &str, bits: u32, (k, of): (u32, u32)) -> Value {
        let b = self.vector();
        let ty = format!("<{} x i{bits}>", LANES * of);
        let all = line(b, &format!("load {ty}, ptr {first}, align {}", bits / 8));
        let own = order((0..LANES).map(|lane| lane * of + k));
        b.result(Type::Int(bits), &format!("shufflevector {ty} {all}, {ty} poison, {own}"))
    }

    /// Stores all lanes' words to a row.
    pub(super) fn write_words(&mut self, first: &str, words: &[Value]) {
        let Some(bits) = words.first().map(|v| v.ty.bits()) else { return };
        let of = words.len() as u32;
        let b = self.vector();
        let pairs = words.chunks(2).map(|pair| {
            let [x, y] = [pair[0], pair[pair.len() - 1]].map(|v| b.typed(v));
            line(b, &format!("shufflevector {x}, {y}, {}", order(0..2 * LANES)))
        });
        let pairs = pairs.collect();
        let all = joined(b, bits, (2 * LANES, LANES * of), pairs);
        let ty = format!("<{} x i{bits}>", LANES * of);
        let own = order((0..LANES * of).map(|at| at % of * LANES + at / of));
        let all = line(b, &format!("shufflevector {ty} {all}, {ty} poison, {own}"));
        b.line(&format!("store {ty} {all}, ptr {first}, align {}", bits / 8));
    }

    /// Branches to `yes` if the lanes of each piece, active or not, are contiguous, else to `no`; returns the pieces'
    /// pointers.
    pub(super) fn branch_if_pieces(
        &mut self,
        (base, index): (&str, Value),
        width: u32,
        yes: &str,
        no: &str,
    ) -> Vec<String> {
        let (bits, n, near) = (index.ty.bits(), count(), self.label());
        let all = self.vector().typed(index);
        let b = self.scalar();
        // Usually the first two lanes tell.
        let [first, second] =
            [0, 1].map(|lane| b.result(index.ty, &format!("extractelement {all}, i32 {lane}")));
        let apart = b.op("sub", second, first);
        let next = b.icmp_with("eq", apart, width.into());
        self.branch(next, &near, no);
        self.b.label(&near);
        let firsts = order((0..LANES).map(|lane| lane - lane % n));
        let b = self.vector();
        let text = format!("shufflevector {all}, <{LANES} x i{bits}> poison, {firsts}");
        let firsts = b.result(index.ty, &text);
        let firsts = b.typed(firsts);
        let steps: Vec<String> =
            (0..LANES).map(|lane| format!("i{bits} {}", lane % n * width)).collect();
        let wanted = b.result(index.ty, &format!("add {firsts}, <{}>", steps.join(", ")));
        let others = b.op("xor", wanted, index);
        let others = self.or_of_lanes(others);
        let fits = self.scalar().icmp_with("eq", others, 0);
        let pointers = (0..LANES).step_by(n as usize).map(|lane| {
            let b = self.scalar();
            let at = b.result(index.ty, &format!("extractelement {all}, i32 {lane}"));
            // In shared memory (32 bits), inactive lanes may be below its begin.
            let at = b.extended(at, 64, true);
            let at = b.typed(at);
            match base {
                "null" => line(b, &format!("inttoptr {at} to ptr")),
                base => line(b, &format!("getelementptr i8, ptr {base}, {at}")),
            }
        });
        let pointers = pointers.collect();
        self.branch(fits, yes, no);
        pointers
    }

    /// The active lanes' values.
    pub(super) fn read_pieces(&mut self, pointers: &[String], bits: u32, mask: Value) -> Value {
        let (n, align) = (count(), bits / 8);
        let ty = format!("<{n} x i{bits}>");
        let whole = mask == ALL;
        let lanes = (!whole).then(|| self.typed_lanes(mask));
        let name = format!("@llvm.masked.load.v{n}i{bits}.p0");
        let b = self.scalar();
        let mut parts = Vec::new();
        for (k, p) in (0..).zip(pointers) {
            parts.push(match &lanes {
                None => line(b, &format!("load {ty}, ptr {p}, align {align}")),
                Some(lanes) => {
                    b.declare(&format!("declare {ty} {name}(ptr, i32, <{n} x i1>, {ty})"));
                    let own = part(b, lanes, 1, k * n, n);
                    let rest = format!("<{n} x i1> {own}, {ty} zeroinitializer");
                    line(b, &format!("call {ty} {name}(ptr {p}, i32 {align}, {rest})"))
                }
            });
        }
        let all = joined(b, bits, (n, LANES), parts);
        self.vector().result(Type::Int(bits), &format!("freeze <{LANES} x i{bits}> {all}"))
    }

    /// Stores the active lanes' values in order. `ours`: all lanes are in range of memory that no other thread accesses.
    pub(super) fn write_pieces(&mut self, pointers: &[String], v: Value, mask: Value, ours: bool) {
        let (n, bits) = (count(), v.ty.bits());
        let (ty, align) = (format!("<{n} x i{bits}>"), bits / 8);
        let whole = mask == ALL;
        let lanes = (!whole).then(|| self.typed_lanes(mask));
        let all = self.vector().typed(v);
        for (k, p) in (0..).zip(pointers) {
            let b = self.scalar();
            let own = part(b, &all, bits, k * n, n);
            let plain = format!("store {ty} {own}, ptr {p}, align {align}");
            let Some(lanes) = &lanes else {
                b.line(&plain);
                continue;
            };
            let active = part(b, lanes, 1, k * n, n);
            if ours {
                let old = line(b, &format!("load {ty}, ptr {p}, align {align}"));
                let choice = format!("select <{n} x i1> {active}, {ty} {own}, {ty} {old}");
                let new = line(b, &choice);
                b.line(&format!("store {ty} {new}, ptr {p}, align {align}"));
                continue;
            }
            let name = format!("@llvm.masked.store.v{n}i{bits}.p0");
            b.declare(&format!("declare void {name}({ty}, ptr, i32, <{n} x i1>)"));
            // Stores under a mask are slow on some processors (Zen 3: 12 cycles).
            let here = b.with("lshr", mask, (k * n).into());
            let here = b.with("and", here, (1 << n) - 1);
            let every = b.icmp_with("eq", here, (1 << n) - 1);
            let [full, some, next] = [(); 3].map(|()| self.label());
            self.branch(every, &full, &some);
            self.b.label(&full);
            self.b.line(&plain);
            self.jump(&next);
            self.b.label(&some);
            self.b.line(&format!(
                "call void {name}({ty} {own}, ptr {p}, i32 {align}, <{n} x i1> {active})"
            ));
            self.jump(&next);
            self.b.label(&next);
        }
    }

    /// The pointers of a row's pieces.
    pub(super) fn pieces_of_row(&mut self, first: &str, width: u32) -> Vec<String> {
        (0..LANES)
            .step_by(count() as usize)
            .map(|l| self.offset_by(first, (l * width) as usize))
            .collect()
    }

    fn typed_lanes(&mut self, mask: Value) -> String {
        let lanes = self.lanes_of_mask(mask);
        self.vector().typed(lanes)
    }
}
