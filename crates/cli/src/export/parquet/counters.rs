//! Columns of counters (`cushim profile -o`): one for each counter in a trace.
//!
//! Owns their names, and a row's values. Names come from the trace: a name that no column can have is dropped. Must
//! not know: files.

use cushim_trace::event::Gpu;
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;

/// Prefix of the column of a counter, before its own name.
const PREFIX: &str = "counter_";
/// The most columns.
const MOST: usize = 256;

/// The counters of a trace.
pub struct Counters {
    names: Vec<String>,
    values: Vec<Option<i64>>,
}

impl Counters {
    /// Those that `trace` has, in order.
    pub fn new(trace: &TraceFile) -> Self {
        let is_name = |name: &&String| {
            let is_of = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            name.bytes().all(is_of) && (1..=64).contains(&name.len())
        };
        let mut names: Vec<String> = Vec::new();
        for name in trace.metadata().counters.values().flatten().filter(is_name) {
            if names.len() < MOST && !names.contains(name) {
                names.push(name.clone());
            }
        }
        Counters { values: vec![None; names.len()], names }
    }

    /// A schema with their columns behind its own.
    pub fn schema(&self, schema: &str) -> String {
        let counter = |name: &String| format!("  optional int64 {PREFIX}{name};\n");
        let more: String = self.names.iter().map(counter).collect();
        format!("{}\n{more}}}", schema.trim_end_matches('}').trim_end())
    }

    /// The values in a row: none for events that are no GPU work.
    pub fn of(&mut self, gpu: Option<&Gpu<'_>>, meta: &Metadata) -> &[Option<i64>] {
        self.values.fill(None);
        for (name, n) in gpu.iter().flat_map(|gpu| gpu.counted(meta)) {
            let place = self.names.iter().position(|known| known == name);
            if let Some(value) = place.and_then(|place| self.values.get_mut(place)) {
                *value = i64::try_from(n).ok();
            }
        }
        &self.values
    }
}
