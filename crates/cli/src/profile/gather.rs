//! Merges the processes' reports of their launches, by kernel.
//!
//! Owns the line format of the file, and sums over launches and source lines. Must not know how a profile looks, or
//! any GPU.

use std::collections::{BTreeMap, BTreeSet};

use cushim_profile::{Count, Counts};
use serde::Deserialize;

/// A line of the file.
#[derive(Debug, Deserialize)]
struct Line {
    begin: Option<u32>,
    #[serde(flatten)]
    told: Option<Told>,
}

/// A launch as a process reports it.
#[derive(Debug, Clone, Deserialize)]
struct Told {
    pid: u32,
    kernel: String,
    symbol: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u64,
    registers: u64,
    local: u64,
    dram_written: u64,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Deserialize)]
struct Row {
    class: String,
    function: Option<String>,
    ptx: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    n: Vec<u64>,
}

/// A line of the source, else an instruction of the PTX.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The source's file; empty where the PTX does not say.
    pub file: String,
    /// The line in it.
    pub line: u32,
    /// The instruction's place in the PTX, where there is no file.
    pub ptx: String,
}

impl Place {
    /// For people: the file without its folders.
    pub fn short(&self) -> String {
        match self.file.rsplit('/').next() {
            Some("") | None => self.ptx.clone(),
            Some(name) => format!("{name}:{}", self.line),
        }
    }
}

/// What was launched, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfiledLaunch {
    /// The process.
    pub pid: u32,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of shared memory of a block.
    pub shared: u64,
    /// Sectors that are written into device memory in the model of caches.
    pub written: u64,
    /// All its counts.
    pub counts: Counts,
}

impl ProfiledLaunch {
    /// Threads of a block.
    pub fn threads(&self) -> u64 {
        self.block.iter().fold(1, |all, n| u64::saturating_mul(all, (*n).into()))
    }
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kernel {
    /// As in the source.
    pub name: String,
    /// Its symbol.
    pub symbol: String,
    /// The estimated number of registers that it needs at the same time.
    pub registers: u64,
    /// Bytes of local memory of a thread.
    pub local: u64,
    /// Its launches, in order.
    pub launches: Vec<ProfiledLaunch>,
    /// The sum over all launches.
    pub counts: Counts,
    /// Sectors written by all launches.
    pub written: u64,
    /// Instructions of warps by class.
    pub classes: BTreeMap<String, u64>,
    /// Counts by line, including those of functions.
    pub lines: BTreeMap<Place, Counts>,
    /// Functions besides the kernel that ran.
    pub functions: BTreeSet<String>,
}

/// All profiles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// The kernels, those with most instructions first.
    pub kernels: Vec<Kernel>,
    /// The processes that used CUDA.
    pub processes: BTreeSet<u32>,
}

/// Reads the file. Invalid lines are skipped: a process may have been killed while it wrote one.
pub fn gather(bytes: &[u8]) -> Profile {
    let mut profile = Profile::default();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
        profile.processes.extend(line.begin);
        let Some(told) = line.told else { continue };
        let at = *places.entry(told.symbol.clone()).or_insert(profile.kernels.len());
        if at == profile.kernels.len() {
            let (name, symbol) = (told.kernel.clone(), told.symbol.clone());
            profile.kernels.push(Kernel { name, symbol, ..Kernel::default() });
        }
        if let Some(kernel) = profile.kernels.get_mut(at) {
            kernel.add(told);
        }
    }
    let instructions = |kernel: &Kernel| kernel.counts.get(Count::Instructions);
    profile.kernels.sort_by_key(|kernel| std::cmp::Reverse(instructions(kernel)));
    profile
}

impl Kernel {
    fn add(&mut self, told: Told) {
        let mut counts = Counts::default();
        for row in told.rows {
            let of = Counts::from_all(&row.n);
            counts.merge(&of);
            let instructions = self.classes.entry(row.class).or_default();
            *instructions = instructions.saturating_add(of.get(Count::Instructions));
            self.functions.extend(row.function);
            let (file, line) = (row.file.unwrap_or_default(), row.line.unwrap_or(0));
            let place = Place { file, line, ptx: row.ptx.unwrap_or_default() };
            self.lines.entry(place).or_default().merge(&of);
        }
        self.counts.merge(&counts);
        self.written = self.written.saturating_add(told.dram_written);
        self.registers = self.registers.max(told.registers);
        self.local = self.local.max(told.local);
        let Told { pid, grid, block, shared, dram_written: written, .. } = told;
        self.launches.push(ProfiledLaunch { pid, grid, block, shared, written, counts });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_a_kernel_are_summed() {
        let line = |pid: u32, n: u64| {
            format!(
                r#"{{"pid":{pid},"kernel":"f(int)","symbol":"_Z1fi","grid":[1,1,1],"block":[32,1,1],"shared":0,"registers":9,"local":0,"dram_written":2,"rows":[{{"class":"load","file":"a.cu","line":3,"n":[{n}]}},{{"class":"store","ptx":"PTX 3:1","n":[1,2]}}]}}"#
            )
        };
        let text = [r#"{"begin":7}"#, &line(7, 5), "nonsense", r#"{"begin":8}"#, &line(8, 6)];
        let profile = gather(text.join("\n").as_bytes());
        assert_eq!(profile.processes, BTreeSet::from([7, 8]));
        let kernel = &profile.kernels[0];
        assert_eq!((profile.kernels.len(), kernel.launches.len()), (1, 2));
        assert_eq!(kernel.counts.get(Count::Instructions), 13);
        assert_eq!((kernel.classes["load"], kernel.lines.len(), kernel.written), (11, 2, 4));
    }

    #[test]
    fn any_bytes_are_read() {
        for bytes in [&b""[..], b"\n", b"{}", b"[]", b"\xff", br#"{"pid":1,"rows":3}"#] {
            assert!(gather(bytes).kernels.is_empty());
        }
    }
}
