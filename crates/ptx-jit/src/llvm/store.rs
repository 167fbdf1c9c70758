//! Stores.
//!
//! Owns what a store writes, and in which order lanes write to one address. Must not know what was computed.

use super::address::{LaneAddresses, Row};
use super::emitter::{ALL, Emit, LANES, Refused, Val};
use super::predicate::has_masks;
use crate::simt::plan::shape::Class;
use crate::warp::{INTERFACE, Which};
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Space;
use cushim_translate::llvm::{Type, Value};

/// A value of a store.
#[derive(Clone, Copy)]
struct Part {
    /// Its bytes, its number, and how many the store has.
    width: u32,
    k: u32,
    of: u32,
    /// Whether it goes to shared memory, which no other thread accesses meanwhile.
    shared: bool,
}

impl Emit<'_> {
    pub(super) fn store(&mut self, inst: &Inst) -> Result<(), Refused> {
        let Operation::Store(access) = inst.sem else { return Ok(()) };
        if access.is_shared() || access.element.bytes() > 8 {
            return Err("a store that others look at");
        }
        let parts = inst.src.len() - 2;
        let width = access.element.bytes();
        let mut values = Vec::new();
        for src in &inst.src[1..=parts] {
            let c = match src {
                Src::Reg(r) => self.class(*r),
                _ => Class::of(access.element),
            };
            values.push((self.operand(src, c)?, c));
        }
        let mask = self.guard_mask();
        if let Some((compact, here)) = self.compact(inst, width * parts as u32) {
            let v = self.lanes(&values[0].0, width * 8);
            return self.quick_or(
                here,
                &mut |e| {
                    e.write_compact(&compact, v, mask);
                    Ok(())
                },
                &mut |e| e.store_usual(inst, &values, mask),
            );
        }
        self.store_usual(inst, &values, mask)
    }

    /// A store without shuffles of lanes.
    fn store_usual(
        &mut self,
        inst: &Inst,
        values: &[(Val, Class)],
        mask: Value,
    ) -> Result<(), Refused> {
        let Operation::Store(access) = inst.sem else { return Ok(()) };
        let (width, parts) = (access.element.bytes(), values.len());
        let Some(addresses) = self.addresses(inst, width * parts as u32)? else {
            return self.guarded(inst, None, mask, &mut |_| Ok(()), &mut |e| {
                e.store_by_helper(inst, values, mask)
            });
        };
        let total = width * parts as u32;
        let whole = &mut |e: &mut Self| {
            e.write_parts(inst, &addresses, width, values, ALL);
            Ok(())
        };
        let some = &mut |e: &mut Self| e.store_some(inst, &addresses, (total, width), values, mask);
        self.guarded(
            inst,
            Some((&addresses, total)).filter(|_| !matches!(addresses, LaneAddresses::Each { .. })),
            mask,
            whole,
            some,
        )
    }

    /// A store for the lanes of a mask; `total`: bytes per lane, `width`: bytes per value.
    fn store_some(
        &mut self,
        inst: &Inst,
        addresses: &LaneAddresses,
        (total, width): (u32, u32),
        values: &[(Val, Class)],
        mask: Value,
    ) -> Result<(), Refused> {
        if self.without_slow_path(inst, addresses, total, mask) {
            self.write_parts(inst, addresses, width, values, mask);
            return Ok(());
        }
        let (fast, slow, next) = (self.label(), self.label(), self.label());
        self.branch_if_in_range((inst, addresses), total, mask, &fast, &slow);
        self.b.label(&fast);
        self.write_parts(inst, addresses, width, values, mask);
        self.jump(&next);
        self.b.label(&slow);
        self.store_by_helper(inst, values, mask)?;
        self.jump(&next);
        self.b.label(&next);
        Ok(())
    }

    fn write_parts(
        &mut self,
        inst: &Inst,
        addresses: &LaneAddresses,
        width: u32,
        values: &[(Val, Class)],
        mask: Value,
    ) {
        let shared = inst.space(0) == Space::Shared;
        if let LaneAddresses::Row(Row { first, .. }) = addresses
            && values.len() > 1
            && mask == ALL
        {
            let words: Vec<Value> = values.iter().map(|(v, _)| self.lanes(v, width * 8)).collect();
            return self.write_words(first, &words);
        }
        for (k, (v, _)) in values.iter().enumerate() {
            match (addresses, v.uniform()) {
                // All lanes store this value, so one store does.
                (LaneAddresses::One(p), Some(v)) if mask.constant().is_some() => {
                    let p = self.offset_by(p, k * width as usize);
                    let b = self.scalar();
                    let v = b.fit(v, width * 8);
                    let v = b.typed(v);
                    b.line(&format!("store {v}, ptr {p}, align {width}"));
                }
                _ => {
                    let v = self.lanes(v, width * 8);
                    let part = Part { width, k: k as u32, of: values.len() as u32, shared };
                    self.write(addresses, part, v, mask);
                }
            }
        }
    }

    fn write(&mut self, addresses: &LaneAddresses, part: Part, v: Value, mask: Value) {
        let Part { width, k, of: parts, shared } = part;
        let more = u64::from(k * width);
        match addresses {
            LaneAddresses::One(p) => {
                // The last active lane's value stays.
                let p = self.offset_by(p, more as usize);
                let b = self.scalar();
                let above = b.intrinsic(
                    "llvm.ctlz",
                    &[Type::Int(32)],
                    Type::Int(32),
                    &[mask],
                    &["i1 false"],
                );
                let last = b.op("sub", Value::int(32, u128::from(LANES) - 1), above);
                let last = b.with("and", last, 31);
                let last = b.typed(last);
                let all = self.vector().typed(v);
                let one = self.scalar().result(v.ty, &format!("extractelement {all}, {last}"));
                let one = self.scalar().typed(one);
                self.b.line(&format!("store {one}, ptr {p}, align {width}"));
            }
            LaneAddresses::Row(Row { first, .. }) if parts == 1 => {
                self.write_row(first, v, mask, shared);
            }
            LaneAddresses::Row(Row { first, stride }) => {
                let p = self.pointers_of_row(first, *stride, more);
                self.scatter(&p, v, mask);
            }
            LaneAddresses::Known(at) => self.write_known(at, v),
            LaneAddresses::Each { base, index, apart } => {
                let p = self.pointers(base, *index, more);
                if parts > 1 || width < 4 || *apart {
                    self.scatter(&p, v, mask);
                    return;
                }
                let (row, each, next) = (self.label(), self.label(), self.label());
                let pieces = self.branch_if_pieces((base, *index), width, &row, &each);
                self.b.label(&row);
                let ours = shared && mask.constant().is_none() && !has_masks();
                if ours {
                    let (all, here) = (self.all_in_range(*index, true, width, width), self.label());
                    self.branch(all, &here, &each);
                    self.b.label(&here);
                }
                self.write_pieces(&pieces, v, mask, ours);
                self.jump(&next);
                self.b.label(&each);
                self.scatter(&p, v, mask);
                self.jump(&next);
                self.b.label(&next);
            }
        }
    }

    fn write_row(&mut self, first: &str, v: Value, mask: Value, shared: bool) {
        let bits = v.ty.bits();
        let align = bits / 8;
        if mask == ALL {
            let v = self.vector().typed(v);
            self.b.line(&format!("store {v}, ptr {first}, align {align}"));
            return;
        }
        if has_masks() {
            let lanes = self.lanes_of_mask(mask);
            let [v, lanes] = [v, lanes].map(|v| self.vector().typed(v));
            let name = format!("@llvm.masked.store.v32i{bits}.p0");
            self.b.declare(&format!("declare void {name}(<32 x i{bits}>, ptr, i32, <32 x i1>)"));
            self.b.line(&format!("call void {name}({v}, ptr {first}, i32 {align}, {lanes})"));
            return;
        }
        let pieces = self.pieces_of_row(first, align);
        if !shared {
            return self.write_pieces(&pieces, v, mask, false);
        }
        let [whole, some, next] = [(); 3].map(|()| self.label());
        let all = self.all_in_shared(first, (LANES * align).into(), align);
        self.branch(all, &whole, &some);
        self.b.label(&whole);
        self.write_pieces(&pieces, v, mask, true);
        self.jump(&next);
        self.b.label(&some);
        self.write_pieces(&pieces, v, mask, false);
        self.jump(&next);
        self.b.label(&next);
    }

    fn scatter(&mut self, pointers: &str, v: Value, mask: Value) {
        if mask.constant().is_none() && !has_masks() {
            return self.scatter_by_lanes(pointers, v, mask);
        }
        let bits = v.ty.bits();
        let v = self.vector().typed(v);
        let lanes = self.lanes_of_mask(mask);
        let lanes = self.vector().typed(lanes);
        let name = format!("@llvm.masked.scatter.v32i{bits}.v32p0");
        self.b.declare(&format!("declare void {name}(<32 x i{bits}>, <32 x ptr>, i32, <32 x i1>)"));
        self.b.line(&format!(
            "call void {name}({v}, <32 x ptr> {pointers}, i32 {}, {lanes})",
            bits / 8
        ));
    }

    fn store_by_helper(
        &mut self,
        inst: &Inst,
        values: &[(Val, Class)],
        mask: Value,
    ) -> Result<(), Refused> {
        let mut all = vec![self.address(inst)?];
        all.extend(values.iter().cloned());
        if all.len() > INTERFACE.slots {
            return Err("more operands than helpers are given");
        }
        let classes = all.iter().map(|(_, c)| *c).collect();
        self.pass(&all, false);
        let site = self.site(inst, classes, Vec::new());
        self.call(Which::Store, site, mask);
        Ok(())
    }
}
