//! Calls that remain after call lowering: functions of the device runtime, and frames of recursive functions; and
//! barrier objects.

use super::emitter::Emit;
use super::val::Val;
use crate::simt::plan::shape::{Class, Shape};
use crate::warp::{INTERFACE, Which};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::MbarrierOp;

impl Emit<'_> {
    /// A call of a host function, or of an invalid target.
    pub(super) fn device_runtime(&mut self, inst: &Inst) {
        let args = inst.src.iter().skip(1).map(|src| self.argument(src)).collect();
        self.by_helper(inst, Which::Call, args);
    }

    /// An operand of a helper that accepts registers of any class, and everything else in 64 bits.
    pub(super) fn argument(&mut self, src: &Src) -> (Val, Class) {
        let class = match src {
            Src::Reg(r) => self.class(*r),
            _ => Class::Wide,
        };
        (self.operand(src, class), class)
    }

    /// Has a helper do the instruction for the lanes of its guard.
    fn by_helper(&mut self, inst: &Inst, helper: Which, args: Vec<(Val, Class)>) {
        self.pass(0, &args, false);
        let results = self.results(inst);
        let site = self.site(inst, args.iter().map(|(_, c)| *c).collect(), results.clone());
        let mask = self.guard(inst).unwrap_or(self.act);
        self.call(helper, site, mask);
        for (n, (dst, class)) in inst.dst.iter().zip(results).enumerate() {
            let v = self.receive(n, class, false);
            self.set(inst, *dst, v);
        }
    }

    /// A frame must end within local memory, which may have to grow.
    pub(super) fn enter(&mut self, inst: &Inst) {
        let v = self.operand(&inst.src[0], Class::Narrow);
        let Some(Src::Imm(size)) = inst.src.get(1) else { return };
        let limit = self.field(types::I64, INTERFACE.warp.local_size);
        let limit = self.b.ins().ireduce(types::I32, limit);
        let size = self.i32(*size as i64);
        let room = self.b.ins().isub(limit, size);
        let past = match &v {
            Val::Known(Shape::Uniform(u)) => self.b.ins().icmp(IntCC::SignedGreaterThan, *u, room),
            _ => {
                let all = self.vectors(&v, Class::Narrow);
                let room = self.b.ins().splat(types::I32X4, room);
                let hits =
                    all.iter().map(|v| self.b.ins().icmp(IntCC::SignedGreaterThan, *v, room));
                let hits = Val::Mask { lanes: Some(hits.collect()), bits: None };
                let bits = self.bits(&hits);
                self.b.ins().band(bits, self.act)
            }
        };
        let (ask, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(ask);
        self.b.ins().brif(past, ask, &[], next, &[]);
        self.b.switch_to_block(ask);
        let known = self.lanes_of.clone();
        self.pass(0, &[(v, Class::Narrow)], false);
        let site = self.site(inst, vec![Class::Narrow], Vec::new());
        self.call(Which::Enter, site, self.act);
        self.lanes_of = known;
        self.jump(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Texture and surface instructions: a reference, coordinates and values.
    pub(super) fn textured(&mut self, inst: &Inst) {
        let args = inst.src.iter().map(|src| self.argument(src)).collect();
        self.by_helper(inst, Which::Texture, args);
    }

    pub(super) fn mbarrier(&mut self, inst: &Inst, op: MbarrierOp) {
        let mut args = Vec::new();
        if op != MbarrierOp::Pending {
            args.push(self.address(inst, 0));
        }
        let more = inst.src.iter().skip(args.len()).take_while(|s| !matches!(s, Src::None)).take(1);
        args.extend(more.map(|src| self.argument(src)));
        self.by_helper(inst, Which::Mbarrier, args);
    }

    /// Asynchronous stores, reductions and bulk copies, which are done at once.
    pub(super) fn asynchronous(&mut self, inst: &Inst) {
        let mut args = Vec::new();
        for (n, src) in inst.src.iter().enumerate() {
            args.push(match src {
                Src::Memory(..) => self.address(inst, n),
                Src::None => (Self::known(self.i64(0)), Class::Wide),
                src => self.argument(src),
            });
        }
        self.by_helper(inst, Which::Asynchronous, args);
    }
}
