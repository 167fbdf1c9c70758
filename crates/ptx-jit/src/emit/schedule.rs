//! The order of machine operations within a block of code.
//!
//! Code is generated operation by operation, each for all vectors of a warp register: two such registers fill all
//! vector registers of the processor, so that nearly every value would be spilled. This pass moves the operations of
//! the first lanes first, as far as dependences allow it, and then those of the next: values stay in registers. A
//! constant that was just loaded is not loaded again. Must not know what is computed; it tells lanes apart by the
//! source locations that [`super::Emit::lanes_from`] sets.

use cranelift_codegen::ir::{
    Constant, Function, Inst, InstructionData, Opcode, Type, Value, ValueDef,
};
use std::collections::{HashMap, HashSet};

/// Lanes that go together: four vectors, so that the processor finds work while one waits.
const TOGETHER: u32 = 16;
/// The most operations that are reordered together. Values that the last lanes need from the first ones are live
/// until those have all gone: across a whole series, that is thousands of values, for which the better register
/// allocator takes time proportional to their number times the series' length (1.6 s for a series of 1,000
/// instructions, 0.06 s with this limit).
const WINDOW: usize = 1024;
/// The distance in operations after which a constant is loaded again: a free register is worth more.
const NEAR: usize = 24;

/// A group of lanes: what belongs to a lower one comes first.
type Group = u8;

/// Not a group: dropped.
const GONE: Group = Group::MAX;

/// What is known of memory within a run of operations.
#[derive(Default)]
struct Memory {
    /// Groups of the last write of each 16 bytes of private memory, and of the last read.
    own: HashMap<(Value, i32), [Group; 2]>,
    /// The last write and the last read anywhere in it.
    last: [Group; 2],
    /// The same for all other memory: such accesses stay in order, which determines the first fault.
    other: [Group; 2],
}

impl Memory {
    /// The group of an access that belongs to `group` if nothing delays it. `place`: in private memory, relative to a
    /// base. A read that may pass others (`free`) waits for writes only.
    fn access(
        &mut self,
        group: Group,
        (write, free): (bool, bool),
        place: Option<(Value, i32, i32)>,
    ) -> Group {
        let Some((base, first, size)) = place else {
            let own = if write { self.last[0].max(self.last[1]) } else { self.last[0] };
            let read = if free { 0 } else { self.other[1] };
            let group = group.max(own).max(self.other[0]).max(read);
            let last = &mut self.other[usize::from(!write)];
            *last = group.max(*last);
            return group;
        };
        let cells = first.div_euclid(16)..=(first + size - 1).div_euclid(16);
        let mut group = group.max(self.other[0]);
        if write {
            group = group.max(self.other[1]);
        }
        for cell in cells.clone() {
            let [written, read] = self.own.get(&(base, cell)).copied().unwrap_or_default();
            group = group.max(written).max(if write { read } else { 0 });
        }
        let kind = usize::from(!write);
        for cell in cells {
            let at = self.own.entry((base, cell)).or_default();
            at[kind] = at[kind].max(group);
        }
        self.last[kind] = self.last[kind].max(group);
        group
    }
}

/// Orders every block. `own` are the bases of memory that nothing else reads or writes; no block uses two of them.
pub(super) fn order(func: &mut Function, own: &HashSet<Value>) {
    let mut groups: Vec<Group> = vec![0; func.dfg.num_insts()];
    let blocks: Vec<_> = func.layout.blocks().collect();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for block in blocks {
        before.clear();
        before.extend(func.layout.block_insts(block));
        after.clear();
        let mut changed = false;
        let mut from = 0;
        for inst in &before {
            if stays(func, *inst) {
                changed |= order_run(func, own, &mut groups, &mut after, from);
                after.push(*inst);
                from = after.len();
            } else {
                after.push(*inst);
                if after.len() - from >= WINDOW {
                    changed |= order_run(func, own, &mut groups, &mut after, from);
                    from = after.len();
                }
            }
        }
        if changed {
            for inst in &after {
                func.layout.remove_inst(*inst);
            }
            for inst in &after {
                func.layout.append_inst(*inst, block);
            }
        }
    }
}

/// What nothing may pass.
fn stays(func: &Function, inst: Inst) -> bool {
    let op = func.dfg.insts[inst].opcode();
    let access = matches!(func.dfg.insts[inst], InstructionData::Load { .. })
        || matches!(func.dfg.insts[inst], InstructionData::Store { .. });
    let effect = op.is_call() || op.is_branch() || op.is_terminator() || op.other_side_effects();
    effect || (op.can_load() || op.can_store() || op.can_trap()) && !access
}

/// Orders operations that may pass each other; whether that changed anything.
fn order_run(
    func: &mut Function,
    own: &HashSet<Value>,
    groups: &mut [Group],
    run: &mut Vec<Inst>,
    from: usize,
) -> bool {
    let mut memory = Memory::default();
    let mut most = 0;
    let mut changed = false;
    let mut constants: HashMap<(Constant, Type, Group), (usize, Value)> = HashMap::new();
    for (at, inst) in run.iter().copied().enumerate().skip(from) {
        let loc = func.srcloc(inst);
        let lane = if loc.is_default() { 0 } else { loc.bits() & 31 };
        let mut group = (lane / TOGETHER) as Group;
        for v in func.dfg.inst_values(inst) {
            if let ValueDef::Result(of, _) = func.dfg.value_def(v) {
                group = group.max(groups[of.as_u32() as usize]);
            }
        }
        let place = |arg: Value, offset: i32, size: u32| {
            let base = func.dfg.resolve_aliases(arg);
            own.contains(&base).then_some((base, offset, size as i32))
        };
        match func.dfg.insts[inst] {
            InstructionData::Load { arg, offset, opcode, flags } => {
                let ty = func.dfg.value_type(func.dfg.first_result(inst));
                let size = if opcode == Opcode::Load { ty.bytes() } else { 8 };
                let free = func.dfg.mem_flags[flags].can_move();
                group = memory.access(group, (false, free), place(arg, offset.into(), size));
            }
            InstructionData::Store { args, offset, .. } => {
                let size = func.dfg.value_type(args[0]).bytes();
                group = memory.access(group, (true, false), place(args[1], offset.into(), size));
            }
            InstructionData::UnaryConst { constant_handle, .. } => {
                let value = func.dfg.first_result(inst);
                let key = (constant_handle, func.dfg.value_type(value), group);
                match constants.get(&key) {
                    Some((before, same)) if at - before < NEAR => {
                        let same = *same;
                        func.dfg.clear_results(inst);
                        func.dfg.change_to_alias(value, same);
                        func.layout.remove_inst(inst);
                        group = GONE;
                        changed = true;
                    }
                    _ => {
                        constants.insert(key, (at, value));
                    }
                }
            }
            _ => {}
        }
        groups[inst.as_u32() as usize] = group;
        changed |= group < most;
        most = most.max(group);
    }
    if changed {
        // The sort is stable within a group, and no operation depends on one of a higher group.
        run[from..].sort_by_key(|inst| groups[inst.as_u32() as usize]);
        while run.len() > from
            && run.last().is_some_and(|inst| groups[inst.as_u32() as usize] == GONE)
        {
            run.pop();
        }
    }
    for inst in &run[from..] {
        groups[inst.as_u32() as usize] = 0;
    }
    changed
}

#[cfg(test)]
mod tests;
