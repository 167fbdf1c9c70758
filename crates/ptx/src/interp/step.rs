//! Executes one instruction of the current fragment, lane by lane. Every instruction except branches can be run
//! this way.

use super::common::Common;
use super::flow::Flow;
use super::launch::Exec;
use super::warp::{Lanes, State, Warp, lanes};
use crate::alu;
use crate::exec::cluster::{self, RANK_SIZE};
use crate::exec::lanes::with_lanes;
use crate::exec::{Cause, FUNCTION_WINDOW, Fault, SHARED_WINDOW, WINDOW_SIZE, window};
use crate::ir::{Dst, Function, Inst, Special, Src, Symbol};
use crate::sem::{Address, AddressOp, Barrier, Control, Operation};
use crate::types::{Scalar, Space};

/// Why an instruction without a meaning here is not run.
fn refused(function: &Function, inst: &Inst) -> Cause {
    let refusal = function.refusals.iter().find(|r| r.pos == inst.pos);
    Cause::Refused {
        instruction: refusal.map_or(String::new(), |r| r.instruction.clone()),
        function: function.name.clone(),
        reason: refusal.map_or(String::new(), |r| r.reason.clone()),
    }
}

impl Exec<'_> {
    /// Runs the instruction at which the first fragment is for lanes `active` of it.
    pub(super) fn step(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        function: &Function,
        inst: &Inst,
        active: u32,
    ) -> Result<Flow, Fault> {
        let fragment = &warp.fragments[0];
        let (frame, mask, pc) = (fragment.frame, fragment.mask, fragment.pc);
        if inst.sem.is_pure() {
            self.pure(common, warp, inst, frame, active);
            return Ok(self.advance(warp, pc));
        }
        match inst.sem {
            Operation::Fence(fence) => self.memory.fence(crate::fence::is_total(fence)),
            Operation::Move(ty) => self.mov(common, warp, inst, ty, frame, active),
            Operation::Address(what) => {
                self.address_space(common, warp, inst, what, frame, active);
            }
            Operation::ActiveMask => warp.write(frame, inst.dst[0], active, &[mask.into(); 32]),
            Operation::Nothing => {}
            Operation::Load(_) => self.load(common, warp, inst, frame, active)?,
            Operation::Store(_) => self.store(common, warp, inst, frame, active)?,
            Operation::Atomic(_) => self.atom(common, warp, inst, frame, active)?,
            Operation::CopyAsync(_) => self.copy_async(common, warp, inst, frame, active)?,
            Operation::Asynchronous(what) => {
                self.asynchronous(common, warp, inst, what, frame, active)?;
            }
            Operation::Barrier(Barrier::ClusterArrive) => {
                common.arrivals.arrive(warp.index as usize, active);
            }
            Operation::Barrier(Barrier::ClusterWait) => {
                self.part(warp, mask, active, pc);
                warp.fragments[0].state = State::Cluster;
                return Ok(Flow::Switch);
            }
            Operation::Texture(_) | Operation::Surface(_) | Operation::TextureQuery(_) => {
                self.textured(common, warp, inst, frame, active)?;
            }
            Operation::Mbarrier(_) => {
                let again = self.mbarrier(common, warp, inst, frame, active)?;
                warp.fragments[0].pc = pc + 1;
                return Ok(if again { Flow::Yield } else { Flow::Next });
            }
            Operation::Collective(what) => {
                self.part(warp, mask, active, pc);
                return Ok(with_lanes(what.op.operands(), |inputs| {
                    for (to, src) in inputs.iter_mut().zip(&inst.src) {
                        self.read(common, warp, frame, src, to);
                    }
                    let mut members = [u64::from(u32::MAX); 32];
                    if let Some(src) = Self::member_operand(inst) {
                        self.read(common, warp, frame, src, &mut members);
                    }
                    self.collective(warp, inst, active, inputs, members)
                }));
            }
            Operation::Barrier(_) => {
                self.part(warp, mask, active, pc);
                return Ok(self.bar(common, warp, inst, frame, active));
            }
            Operation::Control(what) => {
                return self.control(common, warp, inst, what, active);
            }
            Operation::Sleep => {
                warp.fragments[0].pc = pc + 1;
                return Ok(Flow::Yield);
            }
            _ => {
                let lane = active.trailing_zeros() as usize;
                return Err(self.fault_at(common, warp, inst, lane, refused(function, inst)));
            }
        }
        Ok(self.advance(warp, pc))
    }

    /// Indirect branches, calls, and instructions that end lanes.
    fn control(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        what: Control,
        active: u32,
    ) -> Result<Flow, Fault> {
        let (mask, pc) = (warp.fragments[0].mask, warp.fragments[0].pc);
        match what {
            Control::BranchTable => {
                return Ok(self.branch_table(common, warp, inst, mask, active, pc));
            }
            Control::Branch => {
                // Decoded as a jump: it is where its target is an instruction, which it always is.
                if let Some(Src::Target(target)) = inst.src.first() {
                    return Ok(self.branch(warp, mask, active, pc, *target));
                }
            }
            Control::Call => {
                self.part(warp, mask, active, pc);
                return self.call(common, warp, inst, active);
            }
            Control::Return => {
                self.part(warp, mask, active, pc);
                return self.ret(warp, active);
            }
            Control::Exit => {
                self.part(warp, mask, active, pc);
                warp.exit(0, active);
                warp.fragments.retain(|f| f.mask != 0);
                self.settle(warp);
                return Ok(Flow::Switch);
            }
            Control::Trap => {
                let lane = active.trailing_zeros() as usize;
                return Err(self.fault_at(common, warp, inst, lane, Cause::Trap));
            }
        }
        Ok(self.advance(warp, pc))
    }

    /// On to the next instruction; a new block is where lanes may meet.
    pub(super) fn advance(&self, warp: &mut Warp, pc: u32) -> Flow {
        warp.fragments[0].pc = pc + 1;
        if warp.fragments.len() == 1 {
            return Flow::Next;
        }
        let frame = &warp.frames[warp.fragments[0].frame];
        let blocks = &self.module.functions[frame.function as usize].block_of;
        let same = blocks.get(pc as usize + 1) == blocks.get(pc as usize);
        if same { Flow::Next } else { Flow::Switch }
    }

    /// Leaves only `active` at the instruction; the others pass it.
    fn part(&self, warp: &mut Warp, mask: u32, active: u32, pc: u32) {
        if mask != active {
            warp.split(0, mask & !active, pc + 1);
        }
    }

    /// Continues at `target` for lanes `active`, and after the branch for the others.
    pub(super) fn branch(
        &self,
        warp: &mut Warp,
        mask: u32,
        active: u32,
        pc: u32,
        target: u32,
    ) -> Flow {
        if mask != active {
            warp.split(0, mask & !active, pc + 1);
        }
        warp.fragments[0].pc = target;
        if warp.fragments.len() > 1 { Flow::Switch } else { Flow::Next }
    }

    fn branch_table(
        &self,
        common: &Common,
        warp: &mut Warp,
        inst: &Inst,
        mask: u32,
        active: u32,
        pc: u32,
    ) -> Flow {
        let mut index = [0; 32];
        self.read(common, warp, warp.fragments[0].frame, &inst.src[0], &mut index);
        let Some(Src::Targets(targets)) = inst.src.get(1) else { return Flow::Next };
        self.part(warp, mask, active, pc);
        let mut rest = active;
        while rest != 0 {
            let first = index[rest.trailing_zeros() as usize];
            let group = lanes(rest).filter(|l| index[*l] == first).fold(0u32, |m, l| m | 1 << l);
            // Past the end of the list the ISA promises nothing; fall through.
            let to = targets.get(first as usize).copied().unwrap_or(pc + 1);
            if group == rest {
                warp.fragments[0].pc = to;
            } else {
                warp.split(0, group, to);
            }
            rest &= !group;
        }
        Flow::Switch
    }

    fn bar(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        frame: usize,
        active: u32,
    ) -> Flow {
        let lane = active.trailing_zeros() as usize;
        let mut values = [0; 32];
        self.read(common, warp, frame, &inst.src[0], &mut values);
        let Operation::Barrier(what) = inst.sem else { return Flow::Next };
        let id = what.number(values[lane] as u32) as usize;
        let count = match inst.src.get(1) {
            None | Some(Src::None) => None,
            Some(src) => {
                self.read(common, warp, frame, src, &mut values);
                Some(values[lane] as u32)
            }
        };
        let predicate = inst.src.get(2).map(|src| {
            self.read(common, warp, frame, src, &mut values);
            lanes(active).filter(|l| values[*l] & 1 != 0).fold(0u32, |m, l| m | 1 << l)
        });
        if let Some(watch) = &mut common.watch {
            watch.arrive(warp.index, active, inst, id as u32, count);
        }
        common.barriers.arrive(id, warp.index, active, count, predicate);
        if inst.sem == Operation::Barrier(Barrier::Arrive) {
            warp.fragments[0].pc += 1;
            return Flow::Next;
        }
        warp.fragments[0].state = State::Barrier(id);
        Flow::Switch
    }

    pub(super) fn fault_at(
        &self,
        common: &Common,
        warp: &Warp,
        inst: &Inst,
        lane: usize,
        cause: Cause,
    ) -> Fault {
        let thread = self.thread(warp, lane);
        self.fault(cause, Some(inst.pos), common.index, thread).by(inst)
    }

    pub(super) fn thread(&self, warp: &Warp, lane: usize) -> [u32; 3] {
        let t = warp.index * 32 + lane as u32;
        let [x, y, _] = self.launch.block;
        [t % x, t / x % y, t / x / y]
    }

    /// Reads an operand for all lanes.
    pub(super) fn read(
        &self,
        common: &Common,
        warp: &Warp,
        frame: usize,
        src: &Src,
        out: &mut Lanes,
    ) {
        match src {
            Src::Reg(r) => *out = *warp.frames[frame].registers[*r as usize],
            Src::Not(r) => {
                *out = warp.frames[frame].registers[*r as usize].map(|v| v & 1 ^ 1);
            }
            Src::Imm(v) => *out = [*v; 32],
            Src::Special(s) => self.special(common, warp, *s, out),
            Src::Address(symbol, addend) => {
                *out = [self.address_of(warp, frame, *symbol).wrapping_add(*addend as u64); 32];
            }
            _ => *out = [0; 32],
        }
    }

    /// A symbol's address in its own space.
    pub(super) fn address_of(&self, warp: &Warp, frame: usize, symbol: Symbol) -> u64 {
        match symbol {
            Symbol::Local(offset) => u64::from(warp.frames[frame].local_base + offset),
            symbol => self.fixed_address(symbol).unwrap_or(0),
        }
    }

    fn special(&self, common: &Common, warp: &Warp, s: Special, out: &mut Lanes) {
        let launch = self.launch;
        let one = match s {
            Special::Tid(axis) => {
                let [width, height, _] = launch.block;
                let [mut x, mut y, mut z] = self.thread(warp, 0);
                for v in out {
                    *v = [x, y, z, 0][axis as usize & 3].into();
                    x += 1;
                    if x == width {
                        (x, y) = (0, y + 1);
                    }
                    if y == height {
                        (y, z) = (0, z + 1);
                    }
                }
                return;
            }
            Special::LaneId => {
                out.iter_mut().enumerate().for_each(|(l, v)| *v = l as u64);
                return;
            }
            Special::LanemaskEq
            | Special::LanemaskLe
            | Special::LanemaskLt
            | Special::LanemaskGe
            | Special::LanemaskGt => {
                for (lane, v) in out.iter_mut().enumerate() {
                    let bit = 1u64 << lane;
                    *v = match s {
                        Special::LanemaskEq => bit,
                        Special::LanemaskLe => bit | (bit - 1),
                        Special::LanemaskLt => bit - 1,
                        Special::LanemaskGe => !(bit - 1) & alu::mask(32),
                        _ => !(bit | (bit - 1)) & alu::mask(32),
                    };
                }
                return;
            }
            Special::Ntid(axis) => launch.block.get(axis as usize).map_or(0, |v| u64::from(*v)),
            Special::Ctaid(axis) => common.index.get(axis as usize).map_or(0, |v| u64::from(*v)),
            Special::Nctaid(axis) => launch.grid.get(axis as usize).map_or(0, |v| u64::from(*v)),
            Special::WarpId => warp.index.into(),
            Special::NWarpId => self.threads.div_ceil(32).into(),
            Special::Clock => common.steps & alu::mask(32),
            Special::ClockHi => common.steps >> 32,
            Special::Clock64 => common.steps,
            Special::GlobalTimer => self.host.nanoseconds(),
            Special::GlobalTimerLo => self.host.nanoseconds() & alu::mask(32),
            Special::GlobalTimerHi => self.host.nanoseconds() >> 32,
            Special::CurrentGraph => self.host.current_graph(),
            // Cooperative groups find the workspace of a grid here.
            Special::EnvReg(1) => launch.workspace >> 32,
            Special::EnvReg(2) => launch.workspace & alu::mask(32),
            Special::DynamicSharedSize => launch.dynamic_shared.into(),
            Special::TotalSharedSize => self.shared_size.into(),
            Special::NSmId => 1,
            Special::SmId | Special::GridId | Special::EnvReg(_) | Special::Zero => 0,
            s => cluster::special(s, launch, common.index).unwrap_or(0).into(),
        };
        *out = [one; 32];
    }

    fn pure(&self, common: &Common, warp: &mut Warp, inst: &Inst, frame: usize, active: u32) {
        let mut inputs = [[0; 32]; 5];
        let n = inst.src.len().min(5);
        for (to, src) in inputs.iter_mut().zip(&inst.src) {
            self.read(common, warp, frame, src, to);
        }
        let (mut d, mut p) = ([0; 32], [0; 32]);
        for l in lanes(active) {
            let mut a = [0; 5];
            for (to, from) in a.iter_mut().zip(&inputs).take(n) {
                *to = from[l];
            }
            let out = alu::eval(&inst.sem, a);
            (d[l], p[l]) = (out.0, out.1);
        }
        if let Some(dst) = inst.dst.first() {
            warp.write(frame, *dst, active, &d);
        }
        if let Some(dst) = inst.dst.get(1) {
            warp.write(frame, *dst, active, &p);
        }
    }

    fn mov(
        &self,
        common: &Common,
        warp: &mut Warp,
        inst: &Inst,
        ty: Scalar,
        frame: usize,
        active: u32,
    ) {
        let bits = ty.bits();
        let mut value = [0; 32];
        if inst.src.len() > 1 {
            let part = bits / inst.src.len() as u32;
            let mut piece = [0; 32];
            for (k, src) in inst.src.iter().enumerate() {
                self.read(common, warp, frame, src, &mut piece);
                for (v, p) in value.iter_mut().zip(&piece) {
                    *v |= (p & alu::mask(part)) << (part * k as u32);
                }
            }
        } else if let Some(src) = inst.src.first() {
            self.read(common, warp, frame, src, &mut value);
        }
        let part = bits / inst.dst.len().max(1) as u32;
        for (k, dst) in inst.dst.iter().enumerate() {
            let shift = part * k as u32;
            let piece = if k == 0 { value } else { value.map(|v| v >> shift) };
            warp.write(frame, *dst, active, &piece);
        }
    }

    fn address_space(
        &self,
        common: &Common,
        warp: &mut Warp,
        inst: &Inst,
        Address { op, space }: Address,
        frame: usize,
        active: u32,
    ) {
        let mut a = [0; 32];
        self.read(common, warp, frame, &inst.src[0], &mut a);
        let window = window(space);
        let out = a.map(|v| match (op, window) {
            (AddressOp::IsIn, Some(SHARED_WINDOW)) => {
                (SHARED_WINDOW..SHARED_WINDOW + RANK_SIZE).contains(&v).into()
            }
            (AddressOp::IsIn | AddressOp::IsInCluster, Some(w)) => {
                (w..w + WINDOW_SIZE).contains(&v).into()
            }
            (AddressOp::IsInCluster, None) => 0,
            (AddressOp::IsIn, None) if space == Space::Const => 0,
            (AddressOp::IsIn, None) => (!(SHARED_WINDOW..FUNCTION_WINDOW).contains(&v)).into(),
            (AddressOp::FromGeneric, Some(w)) => v.wrapping_sub(w),
            (AddressOp::ToGeneric, Some(w)) => v.wrapping_add(w),
            (_, None) => v,
        });
        let dst = inst.dst.first().copied().unwrap_or(Dst::Sink);
        warp.write(frame, dst, active, &out);
    }
}
