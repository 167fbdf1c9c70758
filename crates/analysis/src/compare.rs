//! The differences between two reports.
//!
//! Owns: which kernels are the same in both: those with the same symbol, whatever file contains it. Must not know:
//! trace files, how changes are shown.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::{CallNs, Kernel, Report};
use crate::words::dim;

/// What became of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// Only in the second.
    New,
    /// Only in the first.
    Vanished,
    /// Other numbers of launches or other shapes.
    Changed,
    /// The same launches with the same shapes; times may differ.
    Same,
}

/// One side of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// Launches.
    pub launches: u64,
    /// Host time in the call; `mean` and `max` over all files, percentiles of the kernel with most launches.
    pub call_ns: CallNs,
    /// Shapes, as text, with launches.
    pub shapes: BTreeMap<String, u64>,
}

/// A kernel in both reports.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Symbol, or the name where there is none.
    pub kernel: String,
    /// Short name.
    pub name: String,
    /// What became of it.
    pub change: Fate,
    /// In the first.
    pub before: Option<Side>,
    /// In the second.
    pub after: Option<Side>,
}

/// All changes.
#[derive(Clone, Debug, Serialize)]
pub struct Changes {
    /// `cushim-report-changes-1`.
    pub format: &'static str,
    /// Launches, and host time in all calls in ns, before and after.
    pub launches: [u64; 2],
    /// Durations, ns.
    pub duration_ns: [u64; 2],
    /// By kernel, the largest difference of host time first.
    pub kernels: Vec<Change>,
}

fn sides(report: &Report) -> BTreeMap<String, (String, Side)> {
    let mut all: BTreeMap<String, (String, Side)> = BTreeMap::new();
    for kernel in report.kernels.iter().filter(|kernel| kernel.calls.calls > 0) {
        let key = kernel.mangled.clone().unwrap_or_else(|| kernel.kernel.clone());
        let (_, side) = all.entry(key).or_insert_with(|| (kernel.kernel.clone(), Side::default()));
        side.add(kernel);
    }
    all
}

impl Side {
    fn add(&mut self, kernel: &Kernel) {
        let new = kernel.calls.call_ns;
        let total = self.call_ns.total.saturating_add(new.total);
        let launches = self.launches + kernel.calls.calls;
        let most = if kernel.calls.calls > self.launches { new } else { self.call_ns };
        let max = self.call_ns.max.max(new.max);
        self.call_ns = CallNs { total, max, mean: total as f64 / launches.max(1) as f64, ..most };
        self.launches = launches;
        for shape in &kernel.shapes {
            let mut name = format!("<<<{}, {}", dim(shape.grid), dim(shape.block));
            if shape.shared > 0 {
                name.push_str(&format!(", {}", shape.shared));
            }
            name.push_str(">>>");
            *self.shapes.entry(name).or_default() += shape.calls.calls;
        }
    }
}

/// What changed from `before` to `after`.
pub fn compare(before: &Report, after: &Report) -> Changes {
    let (mut old, new) = (sides(before), sides(after));
    let mut kernels = Vec::new();
    for (kernel, (name, side)) in new {
        let before = old.remove(&kernel).map(|(_, side)| side);
        let change = match &before {
            None => Fate::New,
            Some(b) if b.launches == side.launches && b.shapes == side.shapes => Fate::Same,
            Some(_) => Fate::Changed,
        };
        kernels.push(Change { kernel, name, change, before, after: Some(side) });
    }
    for (kernel, (name, side)) in old {
        let change = Fate::Vanished;
        kernels.push(Change { kernel, name, change, before: Some(side), after: None });
    }
    kernels.sort_by_key(|change| std::cmp::Reverse(change.difference().unsigned_abs()));
    Changes {
        format: "cushim-report-changes-1",
        launches: [before.launches, after.launches],
        duration_ns: [before.duration_ns, after.duration_ns],
        kernels,
    }
}

impl Change {
    fn difference(&self) -> i64 {
        let total = |side: &Option<Side>| side.as_ref().map_or(0, |s| s.call_ns.total) as i64;
        total(&self.after).saturating_sub(total(&self.before))
    }
    /// What became of it, a word.
    pub fn word(&self) -> &'static str {
        match self.change {
            Fate::New => "new",
            Fate::Vanished => "vanished",
            Fate::Changed => "changed",
            Fate::Same => "same",
        }
    }
    /// Shapes that only the first side has, and those that only the second has, as text.
    pub fn shapes(&self) -> [Vec<&str>; 2] {
        [(&self.before, &self.after), (&self.after, &self.before)].map(|(one, other)| {
            let has = |shape: &&str| other.as_ref().is_some_and(|s| s.shapes.contains_key(*shape));
            let all = one.iter().flat_map(|side| side.shapes.keys().map(String::as_str));
            all.filter(|shape| !has(shape)).collect()
        })
    }
}
