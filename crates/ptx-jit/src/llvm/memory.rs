//! Loads.
//!
//! Owns when an access is inline: one check says whether all active lanes are in range of device or shared memory, and
//! aligned. Otherwise a helper does the access, and finds the faulting lane; full warps first switch to any-lanes code,
//! so that their loads have one source of a value. Contiguous lanes are one access of a row, others a gather. Must not
//! know what was computed.

use super::address::{LaneAddresses, Row};
use super::emitter::{ALL, Emit, LANES, Refused, Val};
use super::group;
use super::predicate::has_masks;
use crate::simt::plan::shape::Class;
use crate::warp::{INTERFACE, Which};
use cushim_ptx::Level;
use cushim_ptx::ir::{Base, Inst, Src, Symbol};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Space;
use cushim_translate::llvm::{Type, Value};

/// A load whose addresses are known.
struct Load<'a> {
    inst: &'a Inst,
    addresses: &'a LaneAddresses,
    /// The results' classes.
    classes: &'a [Class],
    /// Bytes of each result.
    width: u32,
    /// Whether the load stays if its value is unused.
    keep: bool,
}

impl Load<'_> {
    fn is_uniform(&self) -> bool {
        matches!(self.addresses, LaneAddresses::One(_))
    }
}

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
        if let Some(done) = self.loaded_wide(inst) {
            return done;
        }
        let compact =
            if inst.guard.is_some() || parts != 1 { None } else { self.compact(inst, width) };
        if let Some((compact, here)) = compact {
            return self.quick_or(
                here,
                &mut |e| {
                    let v = e.read_compact(&compact);
                    let to = if e.results(inst)[0] == Class::Wide { 64 } else { 32 };
                    let v = e.vector().extended(v, to, inst.sem.ty().is_signed());
                    e.set(inst.dst[0], Val::Lanes(v))
                },
                &mut |e| e.load_usual(inst),
            );
        }
        self.load_usual(inst)
    }

    /// A load without shuffles of lanes.
    pub(super) fn load_usual(&mut self, inst: &Inst) -> Result<(), Refused> {
        let Operation::Load(access) = inst.sem else { return Ok(()) };
        let (width, parts) = (access.element.bytes(), inst.dst.len());
        let classes = self.results(inst);
        let mask = self.guard_mask();
        let Some(addresses) = self.addresses(inst, width * parts as u32)? else {
            return self.guarded(inst, None, mask, &mut |_| Ok(()), &mut |e| {
                e.load_by_helper(inst, &classes, mask)?;
                for (k, c) in classes.iter().enumerate() {
                    let v = e.receive(k, *c, false);
                    e.set(inst.dst[k], v)?;
                }
                Ok(())
            });
        };
        let load = Load {
            inst,
            addresses: &addresses,
            classes: &classes,
            width,
            keep: self.is_kept(inst),
        };
        let total = width * parts as u32;
        self.guarded(
            inst,
            Some((&addresses, total)).filter(|_| !matches!(addresses, LaneAddresses::Each { .. })),
            mask,
            &mut |e| e.load_in_range(&load, ALL),
            &mut |e| e.load_some(&load, mask),
        )
    }

    /// A load whose addresses are in range.
    fn load_in_range(&mut self, load: &Load<'_>, mask: Value) -> Result<(), Refused> {
        for k in 0..load.classes.len() {
            let v = self.read(load, k as u32, mask);
            self.put_loaded(load, k, v)?;
        }
        Ok(())
    }

    /// A load for the lanes of a mask.
    fn load_some(&mut self, load: &Load<'_>, mask: Value) -> Result<(), Refused> {
        let Load { inst, addresses, classes, width, .. } = *load;
        let total = width * classes.len() as u32;
        if self.without_slow_path(inst, addresses, total, mask) {
            return self.load_in_range(load, mask);
        }
        // Both paths store to allocas, which LLVM turns into phis.
        let (uniform, bits) = (load.is_uniform(), width * 8);
        let mut merged = Vec::new();
        for _ in classes {
            let name = format!("%m{}", self.b.number());
            let ty = if uniform { format!("i{bits}") } else { format!("<32 x i{bits}>") };
            self.b.variable(&format!("{name} = alloca {ty}"));
            merged.push(name);
        }
        let (fast, slow, merge) = (self.label(), self.label(), self.label());
        self.branch_if_in_range((inst, addresses), total, mask, &fast, &slow);
        self.b.label(&fast);
        for (k, name) in merged.iter().enumerate() {
            let v = self.read(load, k as u32, mask);
            let b = if uniform { self.scalar() } else { self.vector() };
            let v = b.typed(v);
            self.b.line(&format!("store {v}, ptr {name}"));
        }
        self.jump(&merge);
        self.b.label(&slow);
        self.load_by_helper(inst, classes, mask)?;
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
            self.put_loaded(load, k, v)?;
        }
        Ok(())
    }

    /// Writes result `k` of a load.
    fn put_loaded(&mut self, load: &Load<'_>, k: usize, v: Value) -> Result<(), Refused> {
        let (inst, uniform) = (load.inst, load.is_uniform());
        let to = if load.classes[k] == Class::Wide { 64 } else { 32 };
        let b = if uniform { self.scalar() } else { self.vector() };
        let v = b.extended(v, to, inst.sem.ty().is_signed());
        self.set(inst.dst[k], if uniform { Val::one(v) } else { Val::Lanes(v) })
    }

    /// Whether a load stays if its value is unused: it may fault. Shared memory and variables of the module are always
    /// mapped.
    pub(super) fn is_kept(&self, inst: &Inst) -> bool {
        inst.space(0) != Space::Shared && !group::of_variable(self.module, inst)
    }

    /// Whether an access is inline without a slow path: it needs no check, its group's check precedes it, or it is in
    /// full-warp code, which a warp leaves here if the check fails.
    pub(super) fn without_slow_path(
        &mut self,
        inst: &Inst,
        addresses: &LaneAddresses,
        total: u32,
        mask: Value,
    ) -> bool {
        if inst.guard.is_none()
            && (group::of_variable(self.module, inst) || self.in_checked_group())
        {
            return true;
        }
        if self.full {
            let go = self.in_range(addresses, inst, total, mask);
            self.leave_unless(go);
        }
        self.full
    }

    /// The value of the first lane of a mask; of lane 0 if the mask is empty.
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
        self.without_helpers()?;
        let address = self.address(inst)?;
        let site = self.site(inst, vec![address.1], classes.to_vec());
        self.pass(&[address], false);
        self.call(Which::Load, site, mask);
        Ok(())
    }

    /// Loads a parameter at a known offset.
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
            let p = self.offset_by(&params, at as usize + k * width as usize);
            let bits = width as u32 * 8;
            let b = self.scalar();
            let text = format!("load i{bits}, ptr {p}, align 1, !invariant.load !0");
            let v = b.result(Type::Int(bits), &text);
            let v = b.extended(v, if c == Class::Wide { 64 } else { 32 }, ty.is_signed());
            self.set(inst.dst[k], Val::one(v))?;
        }
        Ok(true)
    }

    /// Reads part `k` of an access whose addresses are in range.
    fn read(&mut self, load: &Load<'_>, k: u32, mask: Value) -> Value {
        let (width, parts) = (load.width, load.classes.len() as u32);
        let v = self.read_part(load.addresses, width, k, parts, mask);
        match (load.keep, load.addresses) {
            (false, _) => {}
            (true, LaneAddresses::One(_)) => self.keep_alive_scalar(v),
            (true, LaneAddresses::Row(Row { first, .. })) if parts == 1 && self.full => {
                let first = first.clone();
                self.keep_alive(v);
                // Other accesses of a group read nearly the same cache lines.
                if self.groups.is_first(self.at) {
                    self.look_ahead(&first, (width * LANES) as usize);
                }
            }
            (true, _) => self.keep_alive(v),
        }
        v
    }

    fn read_part(
        &mut self,
        addresses: &LaneAddresses,
        width: u32,
        k: u32,
        parts: u32,
        mask: Value,
    ) -> Value {
        let bits = width * 8;
        let more = u64::from(k * width);
        match addresses {
            LaneAddresses::One(p) => {
                let p = self.offset_by(p, more as usize);
                let text = format!("load i{bits}, ptr {p}, align {width}");
                self.scalar().result(Type::Int(bits), &text)
            }
            LaneAddresses::Row(Row { first, .. }) if parts == 1 => {
                let first = first.clone();
                self.read_row(&first, bits, mask)
            }
            LaneAddresses::Row(Row { first, .. }) if mask == ALL => {
                let first = first.clone();
                self.read_words(&first, bits, (k, parts))
            }
            LaneAddresses::Row(Row { first, stride }) => {
                let (first, stride) = (first.clone(), *stride);
                let p = self.filled_row(&first, stride, more, mask);
                self.gather(&p, bits, mask)
            }
            LaneAddresses::Known(at) => self.read_known(at, bits),
            LaneAddresses::Each { base, index, apart } => {
                let taken = if has_masks() { *index } else { self.fill_inactive(*index, mask) };
                let p = self.pointers(base, taken, more);
                if parts > 1 || width < 4 || *apart {
                    return self.gather(&p, bits, mask);
                }
                let (row, each, next) = (self.label(), self.label(), self.label());
                let pieces = self.branch_if_pieces((base, *index), width, &row, &each);
                let name = format!("%m{}", self.b.number());
                self.b.variable(&format!("{name} = alloca <32 x i{bits}>"));
                self.b.label(&row);
                let v = self.read_pieces(&pieces, bits, mask);
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
        if mask == ALL {
            let text = format!("load <32 x i{bits}>, ptr {first}, align {align}");
            return self.vector().result(Type::Int(bits), &text);
        }
        let lanes = self.lanes_of_mask(mask);
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

    /// The same for a scalar.
    fn keep_alive_scalar(&mut self, v: Value) {
        let b = self.scalar();
        let v = b.fit(v, v.ty.bits().max(32));
        let v = b.typed(v);
        b.line(&format!("call void asm sideeffect \"\", \"r\"({v})"));
    }

    /// Keeps a load whose value nobody reads, as it may fault. LLVM cannot merge volatile loads, so each register of
    /// the value is an operand of empty inline assembly.
    pub(super) fn keep_alive(&mut self, v: Value) {
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

    /// The pointers of a row's lanes; inactive lanes get an active lane's if all lanes will be read.
    fn filled_row(&mut self, first: &str, stride: i64, more: u64, mask: Value) -> String {
        if has_masks() || mask == ALL {
            return self.pointers_of_row(first, stride, more);
        }
        let b = self.scalar();
        let at = b.result(Type::Int(64), &format!("ptrtoint ptr {first} to i64"));
        let at = self.splat(at);
        let steps: Vec<String> =
            (0..i64::from(LANES)).map(|l| format!("i64 {}", l * stride)).collect();
        let at = self.vector().typed(at);
        let all = format!("add {at}, <{}>", steps.join(", "));
        let all = self.vector().result(Type::Int(64), &all);
        let taken = self.fill_inactive(all, mask);
        self.pointers("null", taken, more)
    }

    fn gather(&mut self, pointers: &str, bits: u32, mask: Value) -> Value {
        if !has_masks() {
            return self.gather_by_lanes(pointers, bits);
        }
        let lanes = self.lanes_of_mask(mask);
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
}
