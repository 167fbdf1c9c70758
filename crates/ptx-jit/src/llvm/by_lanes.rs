//! Gathers and scatters on processors without AVX-512.
//!
//! Owns their IR: loads lane by lane and without branches, as gathers of 32 bytes are no faster (Zen 3), and LLVM would
//! test each lane's bit; and stores under a mask as a loop over its lanes, in order. Branch-free stores of all lanes,
//! with inactive lanes storing to an alloca, take longer (Zen 3 does one store per cycle). Must not know instructions.

use super::emitter::{Emit, LANES};
use super::lookup::line;
use cushim_translate::llvm::{Body, Type, Value};

/// A vector of one scalar per lane.
fn of_lanes(b: &mut Body, bits: u32, one: impl Fn(&mut Body, u32) -> String) -> String {
    (0..LANES).fold("poison".to_owned(), |all, lane| {
        let v = one(b, lane);
        line(b, &format!("insertelement <32 x i{bits}> {all}, i{bits} {v}, i32 {lane}"))
    })
}

impl Emit<'_> {
    /// A gather for all lanes, active or not.
    pub(super) fn gather_by_lanes(&mut self, pointers: &str, bits: u32) -> Value {
        let align = bits / 8;
        let one = |b: &mut Body, lane: u32| {
            let p = line(b, &format!("extractelement <32 x ptr> {pointers}, i32 {lane}"));
            line(b, &format!("load i{bits}, ptr {p}, align {align}"))
        };
        let all = of_lanes(self.vector(), bits, one);
        self.vector().result(Type::Int(bits), &format!("freeze <32 x i{bits}> {all}"))
    }

    /// A scatter for the lanes of a mask, in the order of lanes.
    pub(super) fn scatter_by_lanes(&mut self, pointers: &str, v: Value, mask: Value) {
        let bits = v.ty.bits();
        let align = bits / 8;
        let [addresses, values, left] =
            ["p", "v", "m"].map(|what| format!("%s{what}{}", self.b.number()));
        self.b.variable(&format!("{addresses} = alloca <32 x ptr>"));
        self.b.variable(&format!("{values} = alloca <32 x i{bits}>"));
        self.b.variable(&format!("{left} = alloca i32"));
        let (next, one, done) = (self.label(), self.label(), self.label());
        let v = self.vector().typed(v);
        self.b.line(&format!("store <32 x ptr> {pointers}, ptr {addresses}"));
        self.b.line(&format!("store {v}, ptr {values}"));
        let mask = self.scalar().typed(mask);
        self.b.line(&format!("store {mask}, ptr {left}"));
        self.jump(&next);
        self.b.label(&next);
        let b = self.scalar();
        let lanes = b.result(Type::Int(32), &format!("load i32, ptr {left}"));
        let none = b.icmp_with("eq", lanes, 0);
        self.branch(none, &done, &one);
        self.b.label(&one);
        let b = self.scalar();
        let lane =
            b.intrinsic("llvm.cttz", &[Type::Int(32)], Type::Int(32), &[lanes], &["i1 false"]);
        let less = b.with("add", lanes, 0xffff_ffff);
        let rest = b.op("and", lanes, less);
        let rest = b.typed(rest);
        b.line(&format!("store {rest}, ptr {left}"));
        let lane = b.with("and", lane, 31);
        let lane = b.typed(lane);
        let at = line(b, &format!("getelementptr [32 x ptr], ptr {addresses}, i32 0, {lane}"));
        let p = line(b, &format!("load ptr, ptr {at}"));
        let at = line(b, &format!("getelementptr [32 x i{bits}], ptr {values}, i32 0, {lane}"));
        let v = line(b, &format!("load i{bits}, ptr {at}"));
        b.line(&format!("store i{bits} {v}, ptr {p}, align {align}"));
        self.jump(&next);
        self.b.label(&done);
    }
}
