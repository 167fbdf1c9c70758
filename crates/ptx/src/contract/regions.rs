//! Regions: the straight-line code inside which products are fused.
//!
//! A region is what NVIDIA's compiler has as a basic block while it fuses: PTX blocks joined if one is the only
//! predecessor of the next, and split at instructions that were expanded into several blocks before.

use crate::ir::{Function, Inst};
use crate::sem::{Control, Fence, FloatOp, IntegerOp, Operation, Precision};
use crate::types::Scalar;

/// The regions of a function; unreachable code is in none.
pub(super) struct Regions {
    /// Instructions of each, in the order in which they run.
    pub code: Vec<Vec<u32>>,
    /// Regions that may come next.
    pub successors: Vec<Vec<u32>>,
}

impl Regions {
    /// `dead`: instructions that count as not there.
    pub(super) fn of(f: &Function, dead: &[bool]) -> Regions {
        let next = ways_out(f, dead);
        let into = ways_in(&next);
        let only = |b: usize| match next[b].as_slice() {
            [next] => Some(*next as usize),
            _ => None,
        };
        // A block that does not follow the one way of the only block before it begins a region.
        let mut heads = vec![true; f.blocks.len()];
        for b in (0..f.blocks.len()).filter(|b| into[*b] > 0) {
            if let Some(next) = only(b).filter(|n| into[*n] == 1) {
                heads[next] = false;
            }
        }
        let mut out = Regions { code: Vec::new(), successors: Vec::new() };
        let mut first = vec![u32::MAX; f.blocks.len()];
        let mut last = Vec::new();
        for head in (0..f.blocks.len()).filter(|b| into[*b] > 0 && heads[*b]) {
            first[head] = out.code.len() as u32;
            let mut open = Vec::new();
            let mut at = head;
            loop {
                let block = &f.blocks[at];
                for n in block.start..block.end {
                    open.push(n);
                    if cuts(&f.code[n as usize], dead[n as usize]) {
                        out.code.push(std::mem::take(&mut open));
                        out.successors.push(vec![out.code.len() as u32]);
                    }
                }
                match only(at).filter(|next| !heads[*next]) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            out.code.push(open);
            out.successors.push(Vec::new());
            last.push((out.code.len() - 1, at));
        }
        for (region, block) in last {
            let heads = next[block].iter().map(|s| first[*s as usize]);
            out.successors[region] = heads.filter(|r| *r != u32::MAX).collect();
        }
        out
    }
}

/// Where each block leads, past blocks that do nothing.
fn ways_out(f: &Function, dead: &[bool]) -> Vec<Vec<u32>> {
    let passed: Vec<Option<u32>> = f
        .blocks
        .iter()
        .map(|block| {
            let idle = |n: u32| {
                dead[n as usize] || f.code[n as usize].sem == Operation::Control(Control::Branch)
            };
            match block.successors.as_slice() {
                [next] if (block.start..block.end).all(idle) => Some(*next),
                _ => None,
            }
        })
        .collect();
    // An empty loop is endless.
    let real = |mut b: u32| {
        for _ in 0..64 {
            match passed[b as usize] {
                Some(next) => b = next,
                None => break,
            }
        }
        b
    };
    let out = f.blocks.iter().map(|block| {
        let mut list: Vec<u32> = block.successors.iter().map(|s| real(*s)).collect();
        list.sort_unstable();
        list.dedup();
        list
    });
    out.collect()
}

/// How many ways lead into each block: 0 where none does. The entry counts as one.
fn ways_in(next: &[Vec<u32>]) -> Vec<u32> {
    let mut ways = vec![0; next.len()];
    let mut stack = vec![0u32];
    while let Some(b) = stack.pop() {
        ways[b as usize] += 1;
        if ways[b as usize] == 1 {
            stack.extend(&next[b as usize]);
        }
    }
    ways
}

/// Whether an instruction ends a basic block of NVIDIA's compiler: an instruction with an effect, or that may fail,
/// gets a branch around it for its guard; some divisions and roots are loops and branches; so are fences. Dead
/// divisions of integers are removed by then, other dead instructions are not.
fn cuts(inst: &Inst, dead: bool) -> bool {
    // The blocks say where a branch ends a region.
    if matches!(inst.sem, Operation::Control(Control::Branch | Control::BranchTable)) {
        return false;
    }
    let guardable =
        inst.sem.is_pure() || matches!(inst.sem, Operation::Move(_) | Operation::Address(_));
    if inst.guard.is_some() && !guardable {
        return true;
    }
    match inst.sem {
        Operation::Integer(i) if matches!(i.op, IntegerOp::Div | IntegerOp::Rem) => {
            i.ty != Scalar::U32 && !dead
        }
        Operation::Float(f) => match f.op {
            FloatOp::Div(how) | FloatOp::Rcp(how) | FloatOp::Sqrt(how) => how == Precision::Rounded,
            FloatOp::Rsqrt => f.ty == Scalar::F64 && !f.flush,
            _ => false,
        },
        // Fences with an explicit scope and no operand.
        Operation::Fence(Fence::Sequential(_) | Fence::AcquireRelease(Some(_))) => {
            inst.dst.is_empty() && inst.src.is_empty()
        }
        Operation::Control(Control::Call) => true,
        _ => false,
    }
}
