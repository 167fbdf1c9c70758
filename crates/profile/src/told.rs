//! The lines that report launches.
//!
//! Owns the file's format: each line is a JSON object. A launch's line has rows, one for each class of instructions
//! at one source line; `n` has the counters in the order of [`Count::ALL`]. Must not know how anything was counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cushim_check::json::{Object, list};
use cushim_check::lines::Lines;
use cushim_check::options::names_kernel;
use cushim_names::Name;
use cushim_ptx::exec::{Cause, Fault, Spot, shared_layout, shared_size};
use cushim_ptx::sem::Class;

use super::count::{Count, Counts};
use super::options::Options;
use super::registers;
use super::sums::{Launched, Sums};
use super::traced::Traced;

/// Tells launches.
pub struct Profiler {
    /// What is counted.
    pub options: Options,
    file: Lines,
    traced: Option<Traced>,
    launches: AtomicU64,
}

/// A row's position: function, file and line of the source, else its position in the PTX.
type Place = (Option<String>, Option<(String, u32)>, Option<String>);

impl Profiler {
    /// Opens an existing file that is no link. `None` if it cannot be written.
    pub fn open(options: Options) -> Option<Profiler> {
        let file = Lines::open(&options.file)?;
        let traced = if options.traced { Traced::find() } else { None };
        let launches = AtomicU64::new(0);
        let profiler = Profiler { options, file, traced, launches };
        profiler.file.write(Object::new().raw("begin", std::process::id()).end());
        Some(profiler)
    }

    /// Whether launches are reported to the trace, too.
    pub fn is_traced(&self) -> bool {
        self.traced.is_some()
    }

    /// Whether a launch of this kernel is counted; it counts as one.
    pub fn counts(&self, symbol: &str) -> bool {
        let wanted = self.options.kernel.as_deref();
        if wanted.is_some_and(|wanted| !names_kernel(wanted, symbol)) {
            return false;
        }
        let behind = self.launches.fetch_add(1, Relaxed).checked_sub(self.options.skip);
        behind.is_some_and(|n| self.options.count.is_none_or(|count| n < count))
    }

    /// Reports a launch that ended at `end_ns`.
    pub fn tell(&self, of: &Launched, sums: &Sums, end_ns: u64) {
        let Some(kernel) = of.module.functions.get(of.kernel as usize) else { return };
        let three = |n: [u32; 3]| list(n.iter().map(u32::to_string));
        let (_, fixed) = shared_layout(&of.module, of.kernel);
        let shared = shared_size(fixed, of.dynamic_shared);
        if let Some(traced) = &self.traced {
            traced.tell(of, &kernel.name, shared, sums, end_ns);
        }
        let rows = rows(of, sums).into_iter().map(|((class, place), counts)| {
            let (function, source, ptx) = place;
            let mut row = Object::new()
                .text("class", class.name())
                .maybe("function", function.as_deref())
                .maybe("ptx", ptx.as_deref());
            if let Some((file, line)) = source {
                row = row.text("file", &file).raw("line", line);
            }
            row.raw("n", list(counts.all().iter().map(u64::to_string))).end()
        });
        let line = Object::new()
            .raw("pid", std::process::id())
            .text("kernel", &Name::new(&kernel.name).full)
            .text("symbol", &kernel.name)
            .raw("grid", three(of.grid))
            .raw("block", three(of.block))
            .raw("shared", shared)
            .raw("registers", registers::estimate(&of.module, of.kernel))
            .raw("local", kernel.local_size)
            .raw("dram_written", sums.written)
            .raw("rows", list(rows));
        self.file.write(line.end());
    }
}

fn rows(of: &Launched, sums: &Sums) -> BTreeMap<(Class, Place), Counts> {
    let mut rows: BTreeMap<(Class, Place), Counts> = BTreeMap::new();
    for (number, counts) in sums.counts.iter().enumerate() {
        let Some(function) = of.module.functions.get(number) else { continue };
        for (inst, counts) in function.code.iter().zip(counts) {
            if counts.get(Count::Instructions) == 0 {
                continue;
            }
            let fault =
                Fault::new(&of.module, of.kernel, Cause::Trap, Some(inst.pos), [0; 3], [0; 3]);
            let place = fault.spot.as_deref().map(place).unwrap_or_default();
            rows.entry((inst.sem.class(), place)).or_default().merge(counts);
        }
    }
    rows
}

fn place(spot: &Spot) -> Place {
    let function = spot.function.as_deref().map(|name| Name::new(name).full);
    match spot.source.first() {
        Some(line) => (function, Some((line.file.clone(), line.line)), None),
        None => (function, None, Some(spot.to_string())),
    }
}
