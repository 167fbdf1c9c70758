//! Loads, stores and atomic operations.
//!
//! Owns when the code does an access itself: one check says whether the places of all lanes that take part are inside device
//! or shared memory and aligned. What is not goes through a helper, which finds the lane to blame; of whole warps, that is
//! done in the text for any lanes, so that theirs has no other way for a load's value to come. Where lanes lie side by
//! side, the access is one of the whole row; else each lane has its own. Must not know what was computed.

use super::address::{Places, Row};
use super::emitter::{Emit, LANES, Refused, Val};
use super::group;
use crate::simt::plan::shape::Class;
use crate::warp::{INTERFACE, Which};
use cushim_ptx::Level;
use cushim_ptx::ir::{Base, Inst, Src, Symbol};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Space;
use cushim_translate::llvm::{Type, Value};

impl Emit<'_> {
    pub(super) fn load(&mut self, inst: &Inst) -> Result<(), Refused> {
        let Operation::Load(access) = inst.sem else { return Ok(()) };
        if access.is_shared() || access.element.bytes() > 8 {
            return Err("a load that others look at");
        }
        if self.parameter(inst)? {
            return Ok(());
        }
        let (width, parts) = (access.element.bytes(), inst.dst.len());
        let classes = self.results(inst);
        let mask = self.lanes_of_guard();
        let Some(places) = self.places(inst, width * parts as u32)? else {
            self.load_by_helper(inst, &classes, mask)?;
            for (k, c) in classes.iter().enumerate() {
                let v = self.receive(k, *c, false);
                self.set(inst.dst[k], v)?;
            }
            return Ok(());
        };
        let uniform = matches!(places, Places::One(_));
        let keep = self.is_kept(inst);
        if self.goes_here(inst, &places, width * parts as u32, mask) {
            for (k, class) in classes.iter().enumerate() {
                let v = self.read(&places, width, k as u32, parts as u32, mask, keep);
                self.put_loaded(inst, k, *class, v, uniform)?;
            }
            return Ok(());
        }
        // What either way gives is in variables, which LLVM merges.
        let bits = width * 8;
        let mut merged = Vec::new();
        for _ in 0..parts {
            let name = format!("%m{}", self.b.number());
            let ty = if uniform { format!("i{bits}") } else { format!("<32 x i{bits}>") };
            self.b.variable(&format!("{name} = alloca {ty}"));
            merged.push(name);
        }
        let (fast, slow, merge) = (self.label(), self.label(), self.label());
        let go = self.inside(&places, inst, width * parts as u32, mask);
        self.likely(go, &fast, &slow);
        self.b.label(&fast);
        for (k, name) in merged.iter().enumerate() {
            let v = self.read(&places, width, k as u32, parts as u32, mask, keep);
            let b = if uniform { self.scalar() } else { self.vector() };
            let v = b.typed(v);
            self.b.line(&format!("store {v}, ptr {name}"));
        }
        self.jump(&merge);
        self.b.label(&slow);
        self.load_by_helper(inst, &classes, mask)?;
        for (k, name) in merged.iter().enumerate() {
            let v = self.receive(k, classes[k], false);
            let v = self.lanes(&v, bits);
            let v = if uniform { self.first_of(v, mask) } else { v };
            let b = if uniform { self.scalar() } else { self.vector() };
            let v = b.typed(v);
            self.b.line(&format!("store {v}, ptr {name}"));
        }
        self.jump(&merge);
        self.b.label(&merge);
        for (k, name) in merged.iter().enumerate() {
            let b = if uniform { self.scalar() } else { self.vector() };
            let ty = b.ty(Type::Int(bits));
            let v = b.result(Type::Int(bits), &format!("load {ty}, ptr {name}"));
            self.put_loaded(inst, k, classes[k], v, uniform)?;
        }
        Ok(())
    }

    /// Result `k` of a load.
    fn put_loaded(
        &mut self,
        inst: &Inst,
        k: usize,
        class: Class,
        v: Value,
        uniform: bool,
    ) -> Result<(), Refused> {
        let to = if class == Class::Wide { 64 } else { 32 };
        let b = if uniform { self.scalar() } else { self.vector() };
        let v = b.extended(v, to, inst.sem.ty().is_signed());
        self.set(inst.dst[k], if uniform { Val::one(v) } else { Val::Lanes(v) })
    }

    /// Whether a load is done although nobody needs its value: there may be nothing at its address. Shared memory and
    /// variables of the module are always there.
    fn is_kept(&self, inst: &Inst) -> bool {
        inst.space(0) != Space::Shared && !group::of_variable(self.module, inst)
    }

    /// Whether the code does an access itself from here on, without another way beside: it needs no check, or that of its
    /// group stands before it, or it is one of whole warps, which leave their text where its check does not hold. Where no
    /// lane of a guarded access of one place takes part, that would be each time.
    fn goes_here(&mut self, inst: &Inst, places: &Places, total: u32, mask: Value) -> bool {
        let one = matches!(places, Places::One(_));
        if inst.guard.is_none()
            && (group::of_variable(self.module, inst) || self.groups.has(self.at))
        {
            return true;
        }
        if !self.full || (one && inst.guard.is_some()) {
            return false;
        }
        let go = self.inside(places, inst, total, mask);
        self.leave_unless(go);
        true
    }

    /// The value of the first lane of a mask; of lane 0, where there is none.
    pub(super) fn first_of(&mut self, v: Value, mask: Value) -> Value {
        let b = self.scalar();
        let first =
            b.intrinsic("llvm.cttz", &[Type::Int(32)], Type::Int(32), &[mask], &["i1 false"]);
        let first = b.with("and", first, 31);
        let first = b.typed(first);
        let all = self.vector().typed(v);
        self.scalar().result(v.ty, &format!("extractelement {all}, {first}"))
    }

    fn load_by_helper(
        &mut self,
        inst: &Inst,
        classes: &[Class],
        mask: Value,
    ) -> Result<(), Refused> {
        let address = self.address(inst)?;
        let site = self.site(inst, vec![address.1], classes.to_vec());
        self.pass(&[address], false);
        self.call(Which::Load, site, mask);
        Ok(())
    }

    /// A parameter at a known place.
    fn parameter(&mut self, inst: &Inst) -> Result<bool, Refused> {
        if inst.space(0) != Space::Param {
            return Ok(false);
        }
        let Some(Src::Memory(base, offset)) = inst.src.first() else { return Ok(false) };
        let at = match base {
            Base::Symbol(Symbol::Param(at)) => i64::from(*at) + offset,
            Base::Zero => *offset,
            _ => return Err("a parameter at a computed place"),
        };
        let ty = inst.sem.ty();
        let width = i64::from(ty.bytes());
        let end = at + width * inst.dst.len() as i64;
        if at < 0 || end > i64::from(self.f.params_size) {
            return Err("a parameter that is not there");
        }
        let params = self.constant_pointer(INTERFACE.warp.params);
        for (k, c) in self.results(inst).into_iter().enumerate() {
            let p = self.behind(&params, at as usize + k * width as usize);
            let bits = width as u32 * 8;
            let b = self.scalar();
            let text = format!("load i{bits}, ptr {p}, align 1, !invariant.load !0");
            let v = b.result(Type::Int(bits), &text);
            let v = b.extended(v, if c == Class::Wide { 64 } else { 32 }, ty.is_signed());
            self.set(inst.dst[k], Val::one(v))?;
        }
        Ok(true)
    }

    /// Reads part `k` of an access whose places are inside.
    fn read(
        &mut self,
        places: &Places,
        width: u32,
        k: u32,
        parts: u32,
        mask: Value,
        keep: bool,
    ) -> Value {
        let v = self.read_place(places, width, k, parts, mask);
        match (keep, places) {
            (false, _) => {}
            (true, Places::One(_)) => self.used_one(v),
            (true, Places::Row(Row { first, .. })) if parts == 1 && self.full => {
                let first = first.clone();
                self.used(v);
                self.look_ahead(&first, (width * LANES) as usize);
            }
            (true, _) => self.used(v),
        }
        v
    }

    fn read_place(
        &mut self,
        places: &Places,
        width: u32,
        k: u32,
        parts: u32,
        mask: Value,
    ) -> Value {
        let bits = width * 8;
        let more = u64::from(k * width);
        match places {
            Places::One(p) => {
                let p = self.behind(p, more as usize);
                let text = format!("load i{bits}, ptr {p}, align {width}");
                self.scalar().result(Type::Int(bits), &text)
            }
            Places::Row(Row { first, .. }) if parts == 1 => {
                let first = first.clone();
                self.read_row(&first, bits, mask)
            }
            Places::Row(Row { first, stride }) => {
                let (first, stride) = (first.clone(), *stride);
                let p = self.pointers_of_row(&first, stride, more);
                self.gather(&p, bits, mask)
            }
            Places::Each { base, index } => {
                let p = self.pointers(base, *index, more);
                if parts > 1 || width < 4 {
                    return self.gather(&p, bits, mask);
                }
                // Are they side by side?
                let (row, each, next) = (self.label(), self.label(), self.label());
                let (first, together) = self.together(base, *index, width, mask);
                let name = format!("%m{}", self.b.number());
                self.b.variable(&format!("{name} = alloca <32 x i{bits}>"));
                self.branch(together, &row, &each);
                self.b.label(&row);
                let v = self.read_row(&first, bits, mask);
                let v = self.vector().typed(v);
                self.b.line(&format!("store {v}, ptr {name}"));
                self.jump(&next);
                self.b.label(&each);
                let v = self.gather(&p, bits, mask);
                let v = self.vector().typed(v);
                self.b.line(&format!("store {v}, ptr {name}"));
                self.jump(&next);
                self.b.label(&next);
                let text = format!("load <32 x i{bits}>, ptr {name}");
                self.vector().result(Type::Int(bits), &text)
            }
        }
    }

    fn read_row(&mut self, first: &str, bits: u32, mask: Value) -> Value {
        let align = bits / 8;
        if mask.constant() == Some(0xffff_ffff) {
            let text = format!("load <32 x i{bits}>, ptr {first}, align {align}");
            return self.vector().result(Type::Int(bits), &text);
        }
        let lanes = self.truths(mask);
        let lanes = self.vector().typed(lanes);
        let name = format!("@llvm.masked.load.v32i{bits}.p0");
        self.b.declare(&format!(
            "declare <32 x i{bits}> {name}(ptr, i32, <32 x i1>, <32 x i{bits}>)"
        ));
        let text = format!(
            "call <32 x i{bits}> {name}(ptr {first}, i32 {align}, {lanes}, <32 x i{bits}> zeroinitializer)"
        );
        self.vector().result(Type::Int(bits), &text)
    }

    /// The same of one value.
    fn used_one(&mut self, v: Value) {
        let b = self.scalar();
        let v = b.fit(v, v.ty.bits().max(32));
        let v = b.typed(v);
        b.line(&format!("call void asm sideeffect \"\", \"r\"({v})"));
    }

    /// A load that is done even where nobody reads what it gives: its address may be a fault. A volatile one could be joined
    /// with no other, so each part goes, as a register, to assembly of no instructions.
    fn used(&mut self, v: Value) {
        let bits = v.ty.bits();
        let (register, class) = match Level::in_use() {
            Ok(Level::V4) => (512, "v"),
            Ok(Level::V3) => (256, "x"),
            _ => (128, "x"),
        };
        let lanes = (register / bits).min(LANES);
        let all = self.vector().typed(v);
        for first in (0..LANES).step_by(lanes as usize) {
            let part = self.pointer();
            let which: Vec<String> = (first..first + lanes).map(|l| format!("i32 {l}")).collect();
            self.b.line(&format!(
                "{part} = shufflevector {all}, <32 x i{bits}> poison, <{lanes} x i32> <{}>",
                which.join(", ")
            ));
            let text =
                format!("call void asm sideeffect \"\", \"{class}\"(<{lanes} x i{bits}> {part})");
            self.b.line(&text);
        }
    }

    fn gather(&mut self, pointers: &str, bits: u32, mask: Value) -> Value {
        if !matches!(Level::in_use(), Ok(Level::V4)) {
            return self.gather_by_lanes(pointers, bits, mask);
        }
        let lanes = self.truths(mask);
        let lanes = self.vector().typed(lanes);
        let name = format!("@llvm.masked.gather.v32i{bits}.v32p0");
        self.b.declare(&format!(
            "declare <32 x i{bits}> {name}(<32 x ptr>, i32, <32 x i1>, <32 x i{bits}>)"
        ));
        let text = format!(
            "call <32 x i{bits}> {name}(<32 x ptr> {pointers}, i32 {}, {lanes}, <32 x i{bits}> zeroinitializer)",
            bits / 8
        );
        self.vector().result(Type::Int(bits), &text)
    }

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
        let mask = self.lanes_of_guard();
        let Some(places) = self.places(inst, width * parts as u32)? else {
            return self.store_by_helper(inst, &values, mask);
        };
        if self.goes_here(inst, &places, width * parts as u32, mask) {
            self.write_parts(&places, width, &values, mask);
            return Ok(());
        }
        let (fast, slow, next) = (self.label(), self.label(), self.label());
        let go = self.inside(&places, inst, width * parts as u32, mask);
        self.likely(go, &fast, &slow);
        self.b.label(&fast);
        self.write_parts(&places, width, &values, mask);
        self.jump(&next);
        self.b.label(&slow);
        self.store_by_helper(inst, &values, mask)?;
        self.jump(&next);
        self.b.label(&next);
        Ok(())
    }

    fn write_parts(&mut self, places: &Places, width: u32, values: &[(Val, Class)], mask: Value) {
        for (k, (v, _)) in values.iter().enumerate() {
            match (places, v.uniform()) {
                // Whoever is the last to write, it is this.
                (Places::One(p), Some(v)) if mask.constant().is_some() => {
                    let p = self.behind(p, k * width as usize);
                    let b = self.scalar();
                    let v = b.fit(v, width * 8);
                    let v = b.typed(v);
                    b.line(&format!("store {v}, ptr {p}, align {width}"));
                }
                _ => {
                    let v = self.lanes(v, width * 8);
                    self.write(places, width, k as u32, values.len() as u32, v, mask);
                }
            }
        }
    }

    fn write(&mut self, places: &Places, width: u32, k: u32, parts: u32, v: Value, mask: Value) {
        let more = u64::from(k * width);
        match places {
            Places::One(p) => {
                // The last lane's value stays.
                let p = self.behind(p, more as usize);
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
            Places::Row(Row { first, .. }) if parts == 1 => self.write_row(first, v, mask),
            Places::Row(Row { first, stride }) => {
                let p = self.pointers_of_row(first, *stride, more);
                self.scatter(&p, v, mask);
            }
            Places::Each { base, index } => {
                let p = self.pointers(base, *index, more);
                if parts > 1 || width < 4 {
                    self.scatter(&p, v, mask);
                    return;
                }
                let (row, each, next) = (self.label(), self.label(), self.label());
                let (first, together) = self.together(base, *index, width, mask);
                self.branch(together, &row, &each);
                self.b.label(&row);
                self.write_row(&first, v, mask);
                self.jump(&next);
                self.b.label(&each);
                self.scatter(&p, v, mask);
                self.jump(&next);
                self.b.label(&next);
            }
        }
    }

    fn write_row(&mut self, first: &str, v: Value, mask: Value) {
        let bits = v.ty.bits();
        let align = bits / 8;
        let v = self.vector().typed(v);
        if mask.constant() == Some(0xffff_ffff) {
            self.b.line(&format!("store {v}, ptr {first}, align {align}"));
            return;
        }
        let lanes = self.truths(mask);
        let lanes = self.vector().typed(lanes);
        let name = format!("@llvm.masked.store.v32i{bits}.p0");
        self.b.declare(&format!("declare void {name}(<32 x i{bits}>, ptr, i32, <32 x i1>)"));
        self.b.line(&format!("call void {name}({v}, ptr {first}, i32 {align}, {lanes})"));
    }

    fn scatter(&mut self, pointers: &str, v: Value, mask: Value) {
        if mask.constant().is_none() && !matches!(Level::in_use(), Ok(Level::V4)) {
            return self.scatter_by_lanes(pointers, v, mask);
        }
        let bits = v.ty.bits();
        let v = self.vector().typed(v);
        let lanes = self.truths(mask);
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
