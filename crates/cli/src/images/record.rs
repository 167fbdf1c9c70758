//! The JSON shapes of `ls --json` and `extract`'s `index.json`, as `docs/formats-json.md` describes
//! them. Fields are only ever added within a version.

use std::collections::BTreeMap;

use cushim_image::inventory::{FoundWrapper, Image, Problem, Trail};
use cushim_image::kernel::{Kernel, Stack};
use cushim_image::{fatbin, wrapper};
use cushim_names::Name;
use serde::Serialize;

use super::tool;

/// Version of both documents.
pub const VERSION: u32 = 1;

/// A container on the path to an image.
#[derive(Serialize)]
pub struct ContainerRecord {
    format: String,
    ordinal: u32,
    offset: u64,
}

/// The path to an image.
#[derive(Serialize)]
pub struct TrailRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<String>,
    containers: Vec<ContainerRecord>,
    entry: u32,
}

impl From<&Trail> for TrailRecord {
    fn from(trail: &Trail) -> Self {
        let container = |step: &cushim_image::inventory::Step| ContainerRecord {
            format: step.format.to_string(),
            ordinal: step.ordinal,
            offset: step.offset,
        };
        Self {
            member: trail.member.as_deref().map(str::to_owned),
            section: trail.section.as_deref().map(str::to_owned),
            containers: trail.containers.iter().map(container).collect(),
            entry: trail.entry,
        }
    }
}

/// One image.
#[derive(Serialize)]
pub struct ImageRecord {
    number: usize,
    kind: String,
    arch: Option<String>,
    offset: u64,
    packed: Option<u64>,
    unpacked: u64,
    codec: String,
    shared_stream: bool,
    /// XXH3-64 of the stored bytes, 16 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_hash: Option<String>,
    /// XXH3-64 of the image itself: unpacked, without padding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    #[serde(flatten)]
    trail: TrailRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    triple: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    producer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identifier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    strings: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'static str>,
}

impl ImageRecord {
    /// All that is known without opening the image.
    pub fn new(number: usize, image: &Image<'_>) -> Self {
        let (codec, shared) = image.packing();
        Self {
            number,
            kind: image.kind.to_string(),
            arch: Some(image.arch.to_string()).filter(|arch| arch != "-"),
            offset: image.place.start,
            packed: (!shared).then_some(image.place.stored),
            unpacked: image.place.unpacked,
            codec: codec.to_string(),
            shared_stream: shared,
            stored_hash: None,
            content_hash: None,
            trail: (&image.trail).into(),
            version: image.version.map(|(major, minor)| format!("{major}.{minor}")),
            flags: fatbin::flags::names(image.flags),
            triple: image.triple.clone(),
            producer: image.producer.clone(),
            identifier: image.identifier.clone(),
            options: image.options.as_deref().map(printable),
            strings: image.strings.iter().cloned().collect(),
            tool: tool(image.kind),
        }
    }
}

/// Text as it is; anything else (copies of attribute records) as hexadecimal digits.
fn printable(bytes: &[u8]) -> String {
    let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    match std::str::from_utf8(text) {
        Ok(text) if !text.chars().any(char::is_control) => text.trim_end().to_owned(),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// One parameter: `[offset, size]`.
type ParamRecord = [u32; 2];

/// A kernel as one image has it.
#[derive(Clone, Serialize)]
pub struct KernelImageRecord {
    image: usize,
    kind: String,
    arch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scalar_registers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accumulation_registers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local: Option<u32>,
    /// Bytes, or null where recursion or indirect calls leave it unknown.
    stack: Option<u32>,
    stack_unbounded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_threads: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required_threads: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_registers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    barriers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wavefront: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    constants: BTreeMap<u32, u64>,
    param_bytes: u32,
    params: Vec<ParamRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    externs: Vec<String>,
}

impl KernelImageRecord {
    /// `kernel` of image `number`.
    pub fn new(number: usize, image: &Image<'_>, kernel: &Kernel) -> Self {
        let stack = match kernel.stack {
            Some(Stack::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        Self {
            image: number,
            kind: image.kind.to_string(),
            arch: Some(image.arch.to_string()).filter(|arch| arch != "-"),
            registers: kernel.registers,
            scalar_registers: kernel.scalar_registers,
            accumulation_registers: kernel.accumulation_registers,
            shared: kernel.shared,
            local: kernel.local,
            stack,
            stack_unbounded: kernel.stack == Some(Stack::Unbounded),
            max_threads: kernel.max_threads,
            required_threads: kernel.required_threads,
            cluster: kernel.cluster,
            max_registers: kernel.max_registers,
            barriers: kernel.barriers,
            wavefront: kernel.wavefront,
            code: kernel.code,
            constants: kernel.constants.iter().copied().collect(),
            param_bytes: kernel.params.size,
            params: kernel.params.params.iter().map(|p| [p.offset, p.size]).collect(),
            externs: kernel.externs.clone(),
        }
    }
}

/// A kernel and the images that define it.
#[derive(Serialize)]
pub struct KernelRecord {
    name: String,
    demangled: String,
    images: Vec<KernelImageRecord>,
}

impl KernelRecord {
    /// The kernel whose symbol is `name`.
    pub fn new(name: &str, images: Vec<KernelImageRecord>) -> Self {
        Self { name: name.to_owned(), demangled: Name::new(name).full, images }
    }
}

/// A registration wrapper.
#[derive(Serialize)]
pub struct WrapperRecord {
    runtime: &'static str,
    version: u32,
    offset: u64,
    /// File offset of the container it points to.
    target: Option<u64>,
}

impl From<&FoundWrapper> for WrapperRecord {
    fn from(found: &FoundWrapper) -> Self {
        let cuda = found.wrapper.magic == wrapper::CUDA_MAGIC;
        Self {
            runtime: if cuda { "cuda" } else { "hip" },
            version: found.wrapper.version,
            offset: found.offset,
            target: found.target,
        }
    }
}

/// What could not be read.
#[derive(Serialize)]
pub struct ProblemRecord {
    #[serde(flatten)]
    trail: TrailRecord,
    error: String,
}

impl From<&Problem> for ProblemRecord {
    fn from(problem: &Problem) -> Self {
        Self { trail: (&problem.trail).into(), error: problem.error.to_string() }
    }
}
