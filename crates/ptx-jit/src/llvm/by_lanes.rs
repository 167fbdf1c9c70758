//! Accesses at places of lanes' own on processors without AVX-512.
//!
//! Owns the text of it: loads lane by lane and without branches, as gathers of 32 bytes do no better (Zen 3), where LLVM would
//! test each lane's bit; and stores of some lanes in a loop over these, in their order. Must not know instructions.

use super::emitter::{Emit, LANES};
use super::lookup::line;
use cushim_translate::llvm::{Body, Type, Value};

/// A vector of what each lane has.
fn of_lanes(b: &mut Body, bits: u32, one: impl Fn(&mut Body, u32) -> String) -> String {
    (0..LANES).fold("poison".to_owned(), |all, lane| {
        let v = one(b, lane);
        line(b, &format!("insertelement <32 x i{bits}> {all}, i{bits} {v}, i32 {lane}"))
    })
}

impl Emit<'_> {
    /// Loads of lanes from their own places; of those that do not take part, zero.
    pub(super) fn gather_by_lanes(&mut self, pointers: &str, bits: u32, mask: Value) -> Value {
        let align = bits / 8;
        let whole = mask.constant() == Some(0xffff_ffff);
        let mut from = pointers.to_owned();
        let lanes = self.truths(mask);
        if !whole {
            // Who takes no part reads where the first lane does that takes part, or in the warp's own memory.
            let own = self.warp();
            let b = self.scalar();
            let first =
                b.intrinsic("llvm.cttz", &[Type::Int(32)], Type::Int(32), &[mask], &["i1 false"]);
            let first = b.with("and", first, 31);
            let first = b.typed(first);
            let none = b.icmp_with("eq", mask, 0);
            let none = b.typed(none);
            let place = line(b, &format!("extractelement <32 x ptr> {pointers}, {first}"));
            let place = line(b, &format!("select {none}, ptr {own}, ptr {place}"));
            let one = line(b, &format!("insertelement <32 x ptr> poison, ptr {place}, i32 0"));
            let all = line(
                b,
                &format!(
                    "shufflevector <32 x ptr> {one}, <32 x ptr> poison, <32 x i32> zeroinitializer"
                ),
            );
            let taking = self.vector().typed(lanes);
            from = line(
                &mut self.b,
                &format!("select {taking}, <32 x ptr> {pointers}, <32 x ptr> {all}"),
            );
        }
        let one = |b: &mut Body, lane: u32| {
            let p = line(b, &format!("extractelement <32 x ptr> {from}, i32 {lane}"));
            line(b, &format!("load i{bits}, ptr {p}, align {align}"))
        };
        let all = of_lanes(self.vector(), bits, one);
        let v = self.vector().result(Type::Int(bits), &format!("freeze <32 x i{bits}> {all}"));
        if whole {
            return v;
        }
        let zero = Value::int(bits, 0);
        self.vector().select(lanes, v, zero)
    }

    /// Stores of those lanes to their own places, in the order of lanes.
    pub(super) fn scatter_by_lanes(&mut self, pointers: &str, v: Value, mask: Value) {
        let bits = v.ty.bits();
        let align = bits / 8;
        let [places, values, left] =
            ["p", "v", "m"].map(|what| format!("%s{what}{}", self.b.number()));
        self.b.variable(&format!("{places} = alloca <32 x ptr>"));
        self.b.variable(&format!("{values} = alloca <32 x i{bits}>"));
        self.b.variable(&format!("{left} = alloca i32"));
        let (next, one, done) = (self.label(), self.label(), self.label());
        let v = self.vector().typed(v);
        self.b.line(&format!("store <32 x ptr> {pointers}, ptr {places}"));
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
        let at = line(b, &format!("getelementptr [32 x ptr], ptr {places}, i32 0, {lane}"));
        let p = line(b, &format!("load ptr, ptr {at}"));
        let at = line(b, &format!("getelementptr [32 x i{bits}], ptr {values}, i32 0, {lane}"));
        let v = line(b, &format!("load i{bits}, ptr {at}"));
        b.line(&format!("store i{bits} {v}, ptr {p}, align {align}"));
        self.jump(&next);
        self.b.label(&done);
    }
}
