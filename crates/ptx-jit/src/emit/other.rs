//! Special registers, address spaces, traps.

use super::emitter::Emit;
use super::val::Val;
use crate::simt::plan::shape::{Class, Shape};
use crate::simt::plan::special;
use crate::warp::{INTERFACE, Uniform, Which};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cushim_ptx::exec::cluster::RANK_SIZE;
use cushim_ptx::exec::{FUNCTION_WINDOW, SHARED_WINDOW, window};
use cushim_ptx::ir::{Inst, Special};
use cushim_ptx::sem::{Address, AddressOp, Operation};
use cushim_ptx::types::Space;

impl Emit<'_> {
    pub(super) fn special(&mut self, s: Special, class: Class) -> Val {
        let v = match (s, special(s, self.plan.layout)) {
            (Special::Tid(axis), shape) if axis < 3 => {
                let at = INTERFACE.warp.tid + axis as usize * 128;
                match shape {
                    Shape::Varying => {
                        let all = (0..8).map(|k| {
                            let flags = super::emitter::OWN.with_readonly().with_can_move();
                            let at = (at + 16 * k) as i32;
                            self.b.ins().load(types::I32X4, flags, self.warp, at)
                        });
                        Val::Lanes(all.collect())
                    }
                    Shape::Affine { steps, .. } => {
                        // Lane 0 adds nothing.
                        let base = self.constant_field(types::I32, at);
                        Val::Known(Shape::Affine { base, steps })
                    }
                    _ => Self::known(self.constant_field(types::I32, at)),
                }
            }
            (Special::LaneId, Shape::Affine { steps, .. }) => {
                let base = self.i32(0);
                Val::Known(Shape::Affine { base, steps })
            }
            (
                Special::LanemaskEq
                | Special::LanemaskLe
                | Special::LanemaskLt
                | Special::LanemaskGe
                | Special::LanemaskGt,
                _,
            ) => {
                let all = (0..8u32).map(|k| {
                    let lanes = std::array::from_fn(|j| {
                        let bit = 1u32 << (4 * k + j as u32);
                        match s {
                            Special::LanemaskEq => bit,
                            Special::LanemaskLe => bit | (bit - 1),
                            Special::LanemaskLt => bit - 1,
                            Special::LanemaskGe => !(bit - 1),
                            _ => !(bit | (bit - 1)),
                        }
                    });
                    self.vector_of(lanes)
                });
                Val::Lanes(all.collect())
            }
            _ => return self.uniform_special(s, class),
        };
        if class != Class::Wide {
            return v;
        }
        // A narrow register read as a wide one: zeros above.
        match v.uniform() {
            Some(u) => Self::known(self.extend64(u, false)),
            None => {
                let all = self.vectors(&v, Class::Narrow);
                Val::Lanes(self.widen(&all, false))
            }
        }
    }

    fn uniform_special(&mut self, s: Special, class: Class) -> Val {
        let wide = class == Class::Wide;
        let fit = |e: &mut Self, v: Value| if wide { e.extend64(v, false) } else { v };
        let at = |u: Uniform, k: u8| INTERFACE.warp.uniform + 4 * (u as usize + k as usize);
        let which = match s {
            Special::Ntid(k) if k < 3 => at(Uniform::Ntid, k),
            Special::Ctaid(k) if k < 3 => {
                let v =
                    self.warp_loop_field(types::I32, INTERFACE.warps.block + 4 * usize::from(k));
                return Self::known(fit(self, v));
            }
            Special::Nctaid(k) if k < 3 => at(Uniform::Nctaid, k),
            Special::WarpId => at(Uniform::WarpId, 0),
            Special::NWarpId => at(Uniform::NWarpId, 0),
            Special::EnvReg(1) => at(Uniform::Env1, 0),
            Special::EnvReg(2) => at(Uniform::Env2, 0),
            Special::DynamicSharedSize => at(Uniform::Dynamic, 0),
            Special::TotalSharedSize => at(Uniform::Total, 0),
            Special::ClusterNctaid(k) if k < 3 => at(Uniform::ClusterNctaid, k),
            Special::ExplicitCluster => {
                let v = self.constant_field(types::I32, at(Uniform::ExplicitCluster, 0));
                let v = if class == Class::Predicate { self.b.ins().ineg(v) } else { fit(self, v) };
                return Self::known(v);
            }
            s if is_cluster(s) => {
                let v = self.cluster_special(s);
                return Self::known(fit(self, v));
            }
            Special::NSmId => {
                let one = self.i32(1);
                return Self::known(fit(self, one));
            }
            Special::Clock
            | Special::ClockHi
            | Special::Clock64
            | Special::GlobalTimer
            | Special::GlobalTimerLo
            | Special::GlobalTimerHi
            | Special::CurrentGraph => {
                let which = match s {
                    Special::Clock | Special::ClockHi | Special::Clock64 => 0,
                    Special::CurrentGraph => 2,
                    _ => 1,
                };
                let zero = self.i32(0);
                self.call_raw(Which::Clock, which, zero);
                let t = self.field(types::I64, super::pure::slot(0) as usize);
                let high = matches!(s, Special::ClockHi | Special::GlobalTimerHi);
                let by = self.i32(if high { 32 } else { 0 });
                let t = self.b.ins().ushr(t, by);
                return Self::known(self.fit(t, class));
            }
            _ => {
                let zero = self.i32(0);
                return Self::known(fit(self, zero));
            }
        };
        let v = self.constant_field(types::I32, which);
        Self::known(fit(self, v))
    }

    /// A register about the block's cluster: from its index, as blocks follow one another in the code.
    fn cluster_special(&mut self, s: Special) -> Value {
        let side = |e: &mut Self, k: u8| {
            let at =
                INTERFACE.warp.uniform + 4 * (Uniform::ClusterNctaid as usize + usize::from(k));
            e.constant_field(types::I32, at)
        };
        let block = |e: &mut Self, k: u8| {
            e.warp_loop_field(types::I32, INTERFACE.warps.block + 4 * usize::from(k))
        };
        match s {
            Special::ClusterId(k) if k < 3 => {
                let (block, side) = (block(self, k), side(self, k));
                self.b.ins().udiv(block, side)
            }
            Special::NClusterId(k) if k < 3 => {
                let at = INTERFACE.warp.uniform + 4 * (Uniform::Nctaid as usize + usize::from(k));
                let (grid, side) = (self.constant_field(types::I32, at), side(self, k));
                self.b.ins().udiv(grid, side)
            }
            Special::ClusterCtaid(k) if k < 3 => {
                let (block, side) = (block(self, k), side(self, k));
                self.b.ins().urem(block, side)
            }
            Special::ClusterCtarank | Special::ClusterNctarank => {
                let rank = s == Special::ClusterCtarank;
                let mut sum = self.i32(if rank { 0 } else { 1 });
                for k in [2, 1, 0] {
                    let side = side(self, k);
                    sum = self.b.ins().imul(sum, side);
                    if rank {
                        let block = block(self, k);
                        let within = self.b.ins().urem(block, side);
                        sum = self.b.ins().iadd(sum, within);
                    }
                }
                sum
            }
            _ => self.i32(0),
        }
    }

    pub(super) fn cvta(&mut self, inst: &Inst) {
        let class = self.class_of(inst, 0);
        let v = self.operand(&inst.src[0], class);
        let Operation::Address(Address { op, space }) = inst.sem else { return };
        let v = match window(space) {
            None => v,
            Some(w) => {
                let w = if op == AddressOp::FromGeneric { w.wrapping_neg() } else { w };
                let w = Self::known(self.constant_of_class(class, w));
                self.map(class, &[v, w], &mut |e, a, _| e.b.ins().iadd(a[0], a[1]))
            }
        };
        self.set(inst, inst.dst[0], v);
    }

    fn constant_of_class(&mut self, class: Class, v: u64) -> Value {
        if class == Class::Wide { self.i64(v as i64) } else { self.i32(v as i64) }
    }

    pub(super) fn isspacep(&mut self, inst: &Inst) {
        let class = self.class_of(inst, 0);
        let v = self.operand(&inst.src[0], class);
        let Operation::Address(Address { space, op }) = inst.sem else { return };
        let window = window(space);
        let (base, size, inverted) = match window {
            // The block's own shared memory, not that of other blocks of its cluster.
            Some(SHARED_WINDOW) if op == AddressOp::IsIn => (SHARED_WINDOW, RANK_SIZE, false),
            Some(w) => (w, 1u64 << 32, false),
            None => (SHARED_WINDOW, FUNCTION_WINDOW - SHARED_WINDOW, true),
        };
        let never = space == Space::Const;
        let one = |e: &mut Self, u: Value| {
            let u = if class == Class::Wide { u } else { e.extend64(u, false) };
            let from = e.b.ins().iadd_imm_s(u, (base as i64).wrapping_neg());
            let size = e.i64(size as i64);
            let c = e.b.ins().icmp(IntCC::UnsignedLessThan, from, size);
            let c = e.b.ins().uextend(types::I32, c);
            let c = e.b.ins().ineg(c);
            if inverted { e.b.ins().bnot(c) } else { c }
        };
        let out = if never {
            Self::known(self.i32(0))
        } else if let Some(u) = v.uniform() {
            Self::known(one(self, u))
        } else {
            let all = self.vectors(&v, class);
            let all = if class == Class::Wide { all } else { self.widen(&all, false) };
            let flip = self.all(Class::Wide, true, 1 << 63);
            let limit = self.all(Class::Wide, true, size ^ 1 << 63);
            let back = self.all(Class::Wide, true, base.wrapping_neg());
            let hits: Vec<Value> = all
                .iter()
                .map(|x| {
                    let from = self.b.ins().iadd(*x, back);
                    let from = self.b.ins().bxor(from, flip);
                    let c = self.b.ins().icmp(IntCC::SignedLessThan, from, limit);
                    if inverted { self.b.ins().bnot(c) } else { c }
                })
                .collect();
            Val::Mask { lanes: Some(self.narrow(&hits, false)), bits: None }
        };
        self.set(inst, inst.dst[0], out);
    }

    pub(super) fn trap(&mut self, inst: &Inst) {
        let mask = self.guard(inst).unwrap_or(self.act);
        let site = self.site(inst, Vec::new(), Vec::new());
        self.call(Which::Trap, site, mask);
    }
}

fn is_cluster(s: Special) -> bool {
    use Special::*;
    matches!(s, ClusterId(_) | NClusterId(_) | ClusterCtaid(_) | ClusterCtarank | ClusterNctarank)
}
