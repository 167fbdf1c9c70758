//! Counts and times of the shown events.
//!
//! Owns: sums by kernel and by function. The time is the host time inside the call, and nothing else. Must not know:
//! how a table looks.

use std::collections::{BTreeMap, HashMap, HashSet};

use cushim_trace::event::{LaunchEvent, Mapped};

use cushim_analysis::known::{Kernel, Known};

/// Sums over calls.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// How many there were, including those that did not return.
    pub calls: u64,
    /// How many failed.
    pub failed: u64,
    /// How many did not come back.
    pub pending: u64,
    /// Host time in the call, all that came back, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

impl Times {
    fn add(&mut self, ns: Option<u64>, failed: bool) {
        self.calls += 1;
        self.failed += u64::from(failed);
        match ns {
            Some(ns) => {
                self.total_ns = self.total_ns.saturating_add(ns);
                self.max_ns = self.max_ns.max(ns);
            }
            None => self.pending += 1,
        }
    }
    /// The mean of those that came back, ns; 0 where none did.
    pub fn average_ns(&self) -> f64 {
        match self.calls - self.pending {
            0 => 0.0,
            n => self.total_ns as f64 / n as f64,
        }
    }
}

/// The shape of a launch: grid, block, cluster, shared memory.
type Shape = ([u32; 3], [u32; 3], [u8; 3], u32);

/// Sums over the launches of one kernel.
#[derive(Debug, Default)]
pub struct KernelRow {
    /// Times.
    pub times: Times,
    /// The shapes that were used.
    pub shapes: HashSet<Shape>,
    /// When a GPU ran it.
    pub gpu: Times,
}

/// All sums.
#[derive(Default)]
pub struct Stats {
    kernels: HashMap<usize, KernelRow>,
    apis: BTreeMap<String, Times>,
    failures: BTreeMap<(String, i32), u64>,
    pending: BTreeMap<String, u64>,
}

impl Stats {
    /// A launch of the kernel at `place`.
    pub fn launch(
        &mut self,
        place: usize,
        launch: &LaunchEvent<'_>,
        ns: Option<u64>,
        failed: bool,
    ) {
        let row = self.kernels.entry(place).or_default();
        row.times.add(ns, failed);
        row.shapes.insert((launch.grid, launch.block, launch.cluster, launch.shared));
    }
    /// A target region, whose kernel is at `place`.
    pub fn region(&mut self, place: usize, region: &Mapped<'_>, ns: Option<u64>, failed: bool) {
        let row = self.kernels.entry(place).or_default();
        row.times.add(ns, failed);
        row.shapes.insert((region.teams, region.threads, [0; 3], region.shared));
    }
    /// A GPU ran the kernel at `place`.
    pub fn gpu(&mut self, place: usize, ns: Option<u64>) {
        self.kernels.entry(place).or_default().gpu.add(ns, false);
    }
    /// Any other call.
    pub fn call(&mut self, api: &str, ns: Option<u64>, failed: bool) {
        match self.apis.get_mut(api) {
            Some(times) => times.add(ns, failed),
            None => self.apis.entry(api.to_owned()).or_default().add(ns, failed),
        }
    }
    /// Any call that did not come back.
    pub fn pending(&mut self, api: &str) {
        *self.pending.entry(api.to_owned()).or_default() += 1;
    }
    /// A failure of any call.
    pub fn failure(&mut self, api: &str, status: i32) {
        *self.failures.entry((api.to_owned(), status)).or_default() += 1;
    }

    /// Kernels by total time, the longest first.
    pub fn kernels<'a>(&'a self, known: &'a Known) -> Vec<(&'a Kernel, &'a KernelRow)> {
        let kernels = known.kernels();
        let mut rows: Vec<_> = self
            .kernels
            .iter()
            .filter_map(|(place, row)| Some((kernels.get(*place)?, row)))
            .collect();
        rows.sort_by_key(|(kernel, row)| (std::cmp::Reverse(row.times.total_ns), kernel.number));
        rows
    }
    /// Functions by total time, the longest first.
    pub fn apis(&self) -> Vec<(&str, &Times)> {
        let mut rows: Vec<_> = self.apis.iter().map(|(api, times)| (api.as_str(), times)).collect();
        rows.sort_by_key(|(_, times)| std::cmp::Reverse(times.total_ns));
        rows
    }
    /// Calls that did not come back, by function, the most frequent first.
    pub fn not_returned(&self) -> Vec<(&str, u64)> {
        let mut rows: Vec<_> = self.pending.iter().map(|(api, n)| (api.as_str(), *n)).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.1));
        rows
    }
    /// Failures by function and status, the most frequent first.
    pub fn failures(&self) -> Vec<(&str, i32, u64)> {
        let mut rows: Vec<_> =
            self.failures.iter().map(|((api, status), n)| (api.as_str(), *status, *n)).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.2));
        rows
    }
}
