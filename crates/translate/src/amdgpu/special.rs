//! Special registers, and the thread of a lane.
//!
//! Owns how thread and lane numbers are computed from the work-item's. The layouts are those of
//! [`crate::abi::Lanes`].

use super::function::Emitter;
use crate::abi::Lanes;
use crate::llvm::{Type, Value};
use crate::refusal::Refused;
use cushim_ptx::ir::Special;

/// Where fields of [`crate::abi::LaunchArguments`] are.
const GRID: u32 = 0;
const BLOCK: u32 = 12;
const DYNAMIC_SHARED: u32 = 24;
const LAYOUT: u32 = 28;
const WORKSPACE: u32 = 40;

impl Emitter<'_> {
    /// A word of what the launch says.
    fn launch_word(&mut self, at: u32) -> Value {
        let pointer = self.moved("ptr addrspace(4)", "%launch", at.into());
        let text = format!("load i32, {pointer}, align 4, !invariant.load !2");
        self.b.result(Type::Int(32), &text)
    }

    /// The thread of the block, by the work-item.
    pub(super) fn thread_number(&mut self) -> Value {
        let item = self.item;
        if self.target.wave == 32 {
            return item;
        }
        let layout = self.launch_word(LAYOUT);
        let half = self.b.icmp_with("eq", layout, Lanes::Half as u128);
        let warp = self.b.with("lshr", item, 6);
        let warp = self.b.with("shl", warp, 5);
        let lane = self.b.with("and", item, 31);
        let thread = self.b.op("or", warp, lane);
        self.b.select(half, thread, item)
    }

    pub(super) fn threads(&mut self) -> Value {
        let [x, y, z] = [0, 4, 8].map(|at| self.launch_word(BLOCK + at));
        let plane = self.b.op("mul", x, y);
        self.b.op("mul", plane, z)
    }

    /// Ends the lanes without a thread: the upper half of a wave, and the rest of a partial last warp.
    pub(super) fn end_idle_lanes(&mut self) {
        let threads = self.threads();
        let mut idle = self.b.icmp("uge", self.thread, threads);
        if self.target.wave == 64 {
            let layout = self.launch_word(LAYOUT);
            let half = self.b.icmp_with("eq", layout, Lanes::Half as u128);
            let upper = self.b.with("and", self.item, 32);
            let upper = self.b.icmp_with("ne", upper, 0);
            let also = self.b.op("and", half, upper);
            idle = self.b.op("or", idle, also);
        }
        let idle = self.b.typed(idle);
        let first = self.first();
        self.b.line(&format!("br {idle}, label %end, label %{first}"));
    }

    /// The lane of the warp.
    pub(super) fn lane(&mut self) -> Value {
        self.b.with("and", self.item, 31)
    }

    /// The wave's number of the warp's first lane: 0, or 32 for the second warp of a wave.
    pub(super) fn first_lane(&mut self) -> Value {
        match self.target.wave {
            64 => self.b.with("and", self.item, 32),
            _ => Value::int(32, 0),
        }
    }

    pub(super) fn special(&mut self, s: Special) -> Result<Value, Refused> {
        let word = |v| Value::int(32, v);
        Ok(match s {
            Special::Tid(axis) => self.thread_index(axis),
            Special::Ntid(axis) if axis < 3 => self.launch_word(BLOCK + 4 * u32::from(axis)),
            Special::Nctaid(axis) if axis < 3 => self.launch_word(GRID + 4 * u32::from(axis)),
            Special::Ctaid(axis) if axis < 3 => {
                let name = ["x", "y", "z"].get(usize::from(axis)).unwrap_or(&"x");
                let name = format!("llvm.amdgcn.workgroup.id.{name}");
                self.b.intrinsic(&name, &[], Type::Int(32), &[], &[])
            }
            Special::Ntid(_) | Special::Nctaid(_) | Special::Ctaid(_) => word(0),
            Special::LaneId => self.lane(),
            Special::WarpId => self.b.with("lshr", self.thread, 5),
            Special::NWarpId => {
                let threads = self.threads();
                let threads = self.b.with("add", threads, 31);
                self.b.with("lshr", threads, 5)
            }
            Special::LanemaskEq
            | Special::LanemaskLe
            | Special::LanemaskLt
            | Special::LanemaskGe
            | Special::LanemaskGt => self.lane_mask(s),
            Special::Clock | Special::ClockHi | Special::Clock64 => {
                let v = self.time("llvm.amdgcn.s.memtime");
                if s == Special::ClockHi { self.b.with("lshr", v, 32) } else { v }
            }
            Special::GlobalTimer | Special::GlobalTimerLo | Special::GlobalTimerHi => {
                // Its clock has 100 MHz.
                let v = self.time("llvm.amdgcn.s.memrealtime");
                let v = self.b.with("mul", v, 10);
                if s == Special::GlobalTimerHi { self.b.with("lshr", v, 32) } else { v }
            }
            // Cooperative groups find the workspace of a grid here.
            Special::EnvReg(1) => self.launch_word(WORKSPACE + 4),
            Special::EnvReg(2) => self.launch_word(WORKSPACE),
            Special::DynamicSharedSize => self.launch_word(DYNAMIC_SHARED),
            Special::TotalSharedSize => {
                if !self.f.entry {
                    return Err(self.refused("the size of shared memory in a function"));
                }
                let (_, fixed) = cushim_ptx::exec::shared_layout(self.module, self.number);
                let dynamic = self.launch_word(DYNAMIC_SHARED);
                self.b.with("add", dynamic, fixed.into())
            }
            // There are no clusters: each block is a cluster of one.
            Special::ClusterId(axis) => return self.special(Special::Ctaid(axis)),
            Special::NClusterId(axis) => return self.special(Special::Nctaid(axis)),
            Special::NSmId | Special::ClusterNctaid(_) | Special::ClusterNctarank => word(1),
            Special::ClusterCtaid(_) | Special::ClusterCtarank | Special::ExplicitCluster => {
                word(0)
            }
            Special::SmId
            | Special::GridId
            | Special::EnvReg(_)
            | Special::CurrentGraph
            | Special::Zero => word(0),
        })
    }

    fn thread_index(&mut self, axis: u8) -> Value {
        let [x, y] = [0, 4].map(|at| self.launch_word(BLOCK + at));
        match axis {
            0 => self.b.op("urem", self.thread, x),
            1 => {
                let row = self.b.op("udiv", self.thread, x);
                self.b.op("urem", row, y)
            }
            2 => {
                let plane = self.b.op("mul", x, y);
                self.b.op("udiv", self.thread, plane)
            }
            _ => Value::int(32, 0),
        }
    }

    fn lane_mask(&mut self, s: Special) -> Value {
        let lane = self.lane();
        let bit = self.b.op("shl", Value::int(32, 1), lane);
        let below = self.b.with("sub", bit, 1);
        match s {
            Special::LanemaskEq => bit,
            Special::LanemaskLt => below,
            Special::LanemaskLe => self.b.op("or", bit, below),
            Special::LanemaskGe => self.b.not(below),
            _ => {
                let up_to = self.b.op("or", bit, below);
                self.b.not(up_to)
            }
        }
    }

    fn time(&mut self, name: &str) -> Value {
        self.b.intrinsic(name, &[], Type::Int(64), &[], &[])
    }
}
