//! The JSON lines: their fields, in order.
//!
//! Must not know: where the values come from.

use std::collections::BTreeMap;

use cushim_names::Value;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

#[derive(Serialize)]
pub(super) struct Header<'a> {
    pub(super) event: &'static str,
    pub(super) format: &'static str,
    pub(super) version: &'static str,
    pub(super) clock: &'static str,
    pub(super) host: &'a str,
    pub(super) rank: Option<u32>,
    pub(super) argv: &'a [String],
}

#[derive(Serialize)]
pub(super) struct Process<'a> {
    pub(super) event: &'static str,
    pub(super) pid: u32,
    pub(super) ppid: u32,
    pub(super) exe: &'a str,
    pub(super) argv: &'a [String],
    pub(super) host: &'a str,
    pub(super) rank: Option<u32>,
    pub(super) version: &'a str,
}

#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) event: &'a str,
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) api: &'a str,
    pub(super) kernel: Option<&'a str>,
    pub(super) demangled: Option<&'a str>,
    pub(super) mangled: Option<&'a str>,
    pub(super) kernel_id: Option<String>,
    pub(super) device: Option<i32>,
    pub(super) context: Option<String>,
    pub(super) grid: Option<[u32; 3]>,
    pub(super) block: Option<[u32; 3]>,
    pub(super) cluster: Option<[u8; 3]>,
    pub(super) cooperative: Option<bool>,
    pub(super) shared: Option<u32>,
    pub(super) stream: Option<String>,
    pub(super) stream_handle: Option<String>,
    pub(super) graph: Option<String>,
    pub(super) args: Option<Vec<Argument<'a>>>,
    pub(super) args_why: Option<&'a str>,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) depth: u8,
    pub(super) t_ns: i64,
    pub(super) call_ns: Option<u64>,
    pub(super) status: Option<i32>,
    pub(super) status_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<&'a str>,
    /// The number by which lines of kind `gpu` refer to the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) link: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) range: Option<Range<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<Region>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<Place<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mappings: Option<Vec<MappingLine<'a>>>,
    /// How many mappings there were; `mappings` may have fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mapping_count: Option<u32>,
}

/// A target region, or a call that maps data.
#[derive(Serialize)]
pub(super) struct Region {
    pub(super) what: &'static str,
    pub(super) device: i64,
    pub(super) nowait: bool,
    pub(super) teams: Option<[u32; 3]>,
    pub(super) threads: Option<[u32; 3]>,
    pub(super) trip_count: Option<u64>,
    pub(super) shared: Option<u32>,
    pub(super) version: Option<u16>,
    pub(super) args_known: bool,
    pub(super) bytes_to: u64,
    pub(super) bytes_from: u64,
    pub(super) fallback: Option<&'static str>,
}

/// A place in the source.
#[derive(Serialize)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) function: &'a str,
    pub(super) line: u32,
    pub(super) column: u32,
}

#[derive(Serialize)]
pub(super) struct MappingLine<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) kind: &'static str,
    pub(super) words: Vec<&'static str>,
    pub(super) bytes: Option<i64>,
    pub(super) address: Option<String>,
    pub(super) value: Option<JsonValue>,
    pub(super) bits: String,
}

/// The begin or end of a range that the program set, or its mark.
#[derive(Serialize)]
pub(super) struct Range<'a> {
    pub(super) what: &'static str,
    pub(super) domain: Option<&'a str>,
    pub(super) id: Option<u64>,
    pub(super) payload: Option<Number>,
    pub(super) category: u32,
    pub(super) color: Option<String>,
}

/// A number of any kind; text where JSON cannot express it.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Number {
    Natural(u64),
    Negative(i64),
    Real(f64),
    Text(String),
}

/// Work that a GPU did.
#[derive(Serialize)]
pub(super) struct GpuLine<'a> {
    pub(super) event: &'static str,
    pub(super) id: u64,
    pub(super) what: &'static str,
    pub(super) link: Option<u64>,
    pub(super) kernel: Option<&'a str>,
    pub(super) mangled: Option<&'a str>,
    pub(super) kernel_id: Option<String>,
    pub(super) device: u32,
    pub(super) gpu_context: u32,
    pub(super) gpu_stream: u32,
    pub(super) grid: Option<[u32; 3]>,
    pub(super) block: Option<[u32; 3]>,
    pub(super) shared: Option<u32>,
    pub(super) direction: Option<&'static str>,
    pub(super) bytes: Option<u64>,
    pub(super) graph_node: Option<u64>,
    pub(super) pid: u32,
    pub(super) t_ns: i64,
    pub(super) gpu_ns: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) counters: BTreeMap<&'a str, u64>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Argument<'a> {
    /// Of a kernel.
    Bytes {
        offset: u32,
        size: u32,
        hex: Option<String>,
        r#type: Option<&'a str>,
        value: Option<JsonValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'static str>,
    },
    /// Of another call.
    Word {
        name: &'a str,
        r#type: &'a str,
        value: JsonValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        out: bool,
    },
}

#[derive(Serialize)]
pub(super) struct Summary<'a> {
    pub(super) event: &'static str,
    pub(super) events: u64,
    pub(super) calls: u64,
    pub(super) launches: u64,
    pub(super) graph_nodes: u64,
    pub(super) failed: u64,
    pub(super) pending: u64,
    pub(super) processes: u64,
    pub(super) lost: Lost,
    pub(super) overwritten: u64,
    pub(super) damaged: u64,
    pub(super) kernels: Vec<KernelSummary<'a>>,
    pub(super) apis: Vec<ApiSummary<'a>>,
    pub(super) notes: &'a [String],
}

#[derive(Serialize)]
pub(super) struct Lost {
    pub(super) limit: u64,
    pub(super) no_space: u64,
    pub(super) not_ready: u64,
    pub(super) cut_arguments: u64,
    pub(super) file_size: u64,
    pub(super) behind: u64,
}

#[derive(Serialize)]
pub(super) struct KernelSummary<'a> {
    pub(super) kernel: &'a str,
    pub(super) demangled: &'a str,
    pub(super) mangled: Option<&'a str>,
    pub(super) kernel_id: String,
    pub(super) owner: &'a str,
    pub(super) calls: u64,
    pub(super) failed: u64,
    pub(super) shapes: usize,
    pub(super) call_ns_total: u64,
    pub(super) call_ns_avg: f64,
    pub(super) call_ns_max: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gpu: Option<GpuSummary>,
}

#[derive(Serialize)]
pub(super) struct GpuSummary {
    pub(super) calls: u64,
    pub(super) ns_total: u64,
    pub(super) ns_avg: f64,
    pub(super) ns_max: u64,
}

#[derive(Serialize)]
pub(super) struct ApiSummary<'a> {
    pub(super) api: &'a str,
    pub(super) calls: u64,
    pub(super) failed: u64,
    pub(super) call_ns_total: u64,
    pub(super) call_ns_avg: f64,
    pub(super) call_ns_max: u64,
}

/// A value as JSON: numbers as numbers, addresses as `"0x…"`, vectors as arrays; infinities and
/// NaN, which JSON cannot express, as text.
pub(crate) struct JsonValue(pub(crate) Value);

impl Serialize for JsonValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Char(byte) => serializer.serialize_i8(*byte as i8),
            Value::Signed(value) => match i64::try_from(*value) {
                Ok(value) => serializer.serialize_i64(value),
                Err(_) => serializer.collect_str(value),
            },
            Value::Unsigned(value) => match u64::try_from(*value) {
                Ok(value) => serializer.serialize_u64(value),
                Err(_) => serializer.collect_str(value),
            },
            Value::Real(value, text) => match text.parse::<f64>() {
                // The shortest decimal of a narrow type, not the digits of its double.
                Ok(short) if value.is_finite() => serializer.serialize_f64(short),
                _ => serializer.serialize_str(text),
            },
            Value::Address(address) => serializer.collect_str(&format_args!("{address:#x}")),
            Value::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                for value in list {
                    seq.serialize_element(&JsonValue(value.clone()))?;
                }
                seq.end()
            }
            Value::Bytes(_) => serializer.serialize_none(),
        }
    }
}
