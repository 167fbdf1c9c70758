//! The launches of a transform, in order.
//!
//! Owns: the kernels and their parameters. Must not know: how they are launched, or where memory comes from.

use crate::factor::{UNROLLED, Way};
use crate::kernel::{Kernel, Parameter, What};
use crate::kind::Map;
use crate::layout::Strides;
use crate::plan::Plan;
use crate::table::Table;

/// A launch: a kernel, and its parameter, which says how many threads have work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kernel.
    pub kernel: Kernel,
    /// Its parameter.
    pub parameter: Parameter,
}

/// What is transformed.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The addresses of input and output.
    pub data: [u64; 2],
    /// Complex numbers are transformed back.
    pub inverse: bool,
    /// The work area.
    pub work: u64,
}

/// The tables that a plan needs, each once.
pub fn tables(plan: &Plan) -> Vec<Table> {
    let mut found: Vec<Table> = Vec::new();
    for dimension in &plan.dimensions {
        let length = dimension.length;
        let needed = match dimension.way {
            Way::Passes(_) => vec![Table::Roots(length)],
            Way::Chirp(padded) => {
                vec![Table::Roots(padded), Table::Chirp(length), Table::Convolved(length, padded)]
            }
        };
        for table in needed {
            if !found.contains(&table) {
                found.push(table);
            }
        }
    }
    found
}

/// The steps for the transforms of the batch from `first` on that are done at a time. `tables` returns a table's
/// address.
pub fn steps(plan: &Plan, call: &Call, first: u64, tables: &dyn Fn(Table) -> u64) -> Vec<Step> {
    let Some(strides) = plan.strides(call.data[0] == call.data[1]) else { return Vec::new() };
    let transforms = plan.at_once.min(plan.batch.saturating_sub(first));
    let size = plan.buffer * plan.kind.part.work().size();
    let mut row = Row {
        plan,
        tables,
        first,
        transforms: transforms as u32,
        buffers: [call.work, call.work.wrapping_add(size)],
        found: Vec::new(),
    };
    row.load(call, strides[0]);
    for dimension in &plan.dimensions {
        row.dimension(dimension.length, dimension.inner, &dimension.way);
    }
    row.store(call, strides[1]);
    row.found
}

/// The steps so far.
struct Row<'a> {
    plan: &'a Plan,
    tables: &'a dyn Fn(Table) -> u64,
    /// The number of the first transform in the batch.
    first: u64,
    transforms: u32,
    /// The buffer with the data, and the other.
    buffers: [u64; 2],
    found: Vec<Step>,
}

impl Row<'_> {
    fn push(&mut self, what: What, parameter: Parameter) {
        let kernel = Kernel { work: self.plan.kind.part.work(), what };
        self.found.push(Step { kernel, parameter });
    }

    /// Numbers of all transforms, of `last` elements in the last dimension.
    fn elements(&self, last: u32) -> u32 {
        let [slow, middle, _] = self.plan.lengths;
        self.transforms.wrapping_mul(slow).wrapping_mul(middle).wrapping_mul(last)
    }

    /// The program's memory on one side.
    fn memory(&self, at: u64, strides: Strides, last: u32) -> (u64, Parameter) {
        let before = (self.first as i64).wrapping_mul(strides.batch);
        let parameter = Parameter {
            batch: strides.batch,
            strides: strides.of,
            lengths: self.plan.lengths,
            last,
            count: self.elements(last),
            ..Parameter::default()
        };
        (at.wrapping_add_signed(before), parameter)
    }

    fn load(&mut self, call: &Call, strides: Strides) {
        let kind = self.plan.kind;
        let (from, parameter) = self.memory(call.data[0], strides, self.plan.lengths[2]);
        let mirrored = kind.map == Map::ToReal;
        let conjugate = mirrored || kind.map == Map::Complex && call.inverse;
        let [complex, _] = kind.complex();
        let what = What::Load { part: kind.part, complex, conjugate, mirrored };
        self.push(what, Parameter { from, to: self.buffers[0], ..parameter });
    }

    fn store(&mut self, call: &Call, strides: Strides) {
        let kind = self.plan.kind;
        let [.., length] = self.plan.lengths;
        let last = if kind.map == Map::FromReal { length / 2 + 1 } else { length };
        let (to, parameter) = self.memory(call.data[1], strides, last);
        let [_, complex] = kind.complex();
        let conjugate = kind.map == Map::Complex && call.inverse;
        let what = What::Store { part: kind.part, complex, conjugate };
        self.push(what, Parameter { from: self.buffers[0], to, ..parameter });
    }

    /// From the buffer with the data into the other one, which then has it.
    fn turn(&mut self, what: What, parameter: Parameter) {
        let [from, to] = self.buffers;
        self.push(what, Parameter { from, to, ..parameter });
        self.buffers = [to, from];
    }

    fn dimension(&mut self, length: u32, inner: u32, way: &Way) {
        let all = self.elements(self.plan.lengths[2]);
        let padded = match way {
            Way::Passes(factors) => return self.passes(length, inner, all, factors),
            Way::Chirp(padded) => *padded,
        };
        let lines = all / length;
        let wide = lines * padded;
        let factors = crate::factor::factors(padded).unwrap_or_default();
        let base = Parameter { inner, length, padded, ..Parameter::default() };
        let table = (self.tables)(Table::Chirp(length));
        self.turn(What::Chirp, Parameter { table, count: wide, ..base });
        self.passes(padded, inner, wide, &factors);
        let [from, _] = self.buffers;
        let product = (self.tables)(Table::Convolved(length, padded));
        let parameter = Parameter { from, to: from, table: product, count: wide, ..base };
        self.push(What::Product, parameter);
        self.passes(padded, inner, wide, &factors);
        self.turn(What::Back, Parameter { table, count: all, ..base });
    }

    fn passes(&mut self, length: u32, inner: u32, all: u32, factors: &[u32]) {
        let table = (self.tables)(Table::Roots(length));
        let mut done = 1;
        for factor in factors.iter().copied() {
            let apart = length / factor;
            let step = apart / done;
            let unrolled = UNROLLED.contains(&factor);
            let what = match unrolled {
                true => What::Pass { factor, first: done == 1 },
                false => What::Loop,
            };
            let count = if unrolled { all / factor } else { all };
            let parameter = Parameter {
                table,
                count,
                inner,
                length,
                done,
                factor,
                apart,
                step,
                ..Parameter::default()
            };
            self.turn(what, parameter);
            done *= factor;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::kind::{Kind, Part};

    fn of(map: Map, lengths: &[i64], batch: i64) -> (Plan, Vec<Step>) {
        let plan = Plan::new(Kind { map, part: Part::F32 }, lengths, batch, None).unwrap();
        let call = Call { data: [1000, 2000], inverse: true, work: 1 << 20 };
        let steps = steps(&plan, &call, 0, &|_| 77);
        (plan, steps)
    }

    #[test]
    fn every_step_reads_what_the_one_before_wrote() {
        for lengths in [&[1][..], &[2], &[60], &[67], &[8, 67], &[71, 4, 6], &[13, 1, 17]] {
            for map in [Map::Complex, Map::FromReal, Map::ToReal] {
                let (plan, steps) = of(map, lengths, 3);
                assert_eq!(steps[0].parameter.from, 1000);
                assert_eq!(steps.last().unwrap().parameter.to, 2000);
                let end = (1 << 20) + plan.work_size();
                for pair in steps.windows(2) {
                    assert_eq!(pair[0].parameter.to, pair[1].parameter.from, "{lengths:?}");
                    assert!(pair[0].parameter.to >= 1 << 20 && pair[0].parameter.to < end);
                }
                let most = steps.iter().map(|s| u64::from(s.parameter.count)).max().unwrap();
                assert!(most <= plan.buffer);
            }
        }
    }

    #[test]
    fn a_batch_is_done_some_at_a_time() {
        let kind = Kind { map: Map::FromReal, part: Part::F64 };
        let plan = Plan::new(kind, &[1000], 10_000, None).unwrap();
        let call = Call { data: [1 << 40, 1 << 41], inverse: false, work: 1 << 20 };
        let last = steps(&plan, &call, 2 * plan.at_once, &|_| 77);
        let rest = 10_000 - 2 * plan.at_once;
        assert_eq!(last[0].parameter.from, (1 << 40) + 2 * plan.at_once * 8000);
        assert_eq!(u64::from(last[0].parameter.count), rest * 1000);
        assert_eq!(u64::from(last.last().unwrap().parameter.count), rest * 501);
    }

    #[test]
    fn dimensions_of_one_length_share_a_table() {
        let plan = of(Map::Complex, &[12, 67, 12], 1).0;
        let expected =
            [Table::Roots(12), Table::Roots(256), Table::Chirp(67), Table::Convolved(67, 256)];
        assert_eq!(tables(&plan), expected);
    }
}
