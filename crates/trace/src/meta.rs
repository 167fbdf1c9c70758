//! Metadata: the records that events refer to by number. Written once, never dropped, readable at any time.
//!
//! A record is `kind: u16, fields: u16, size: u32` and its fields, each `size: u32` and bytes padded to
//! four; the record is padded to eight. Fields are only ever added at the end; unknown kinds are skipped.
//!
//! Must not know: what a class, a shape or a layout means to CUDA.

use std::collections::BTreeMap;

use crate::contexts::Contexts;

/// Record kind: the process.
pub const META_PROCESS: u16 = 1;
/// Record kind: a function.
pub const META_API: u16 = 2;
/// Record kind: a kernel.
pub const META_KERNEL: u16 = 3;
/// Record kind: a context and its device.
pub const META_CONTEXT: u16 = 4;
/// Record kind: a note to the user about the tracing itself.
pub const META_NOTE: u16 = 5;
/// Record kind: a loaded or registered image.
pub const META_IMAGE: u16 = 6;
/// Record kind: a mark that was made from outside the process.
pub const META_MARK: u16 = 7;
/// Record kind: the launcher's run that the process belongs to.
pub const META_RUN: u16 = 8;
/// Record kind: a name that events refer to by number.
pub const META_NAME: u16 = 9;
/// Record kind: names of counters with spaces between, which events refer to by number.
pub const META_COUNTERS: u16 = 10;

/// The traced process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// The executable's path.
    pub exe: String,
    /// Its arguments.
    pub argv: Vec<String>,
    /// Host name.
    pub host: String,
    /// Rank among the job's processes, from the launcher's environment variable.
    pub rank: Option<u32>,
    /// Version of the recording library.
    pub version: String,
}

/// A function that events refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Api {
    /// Its exported name.
    pub name: String,
    /// The event class, a word such as `launch` or `copy`.
    pub class: String,
    /// Its arguments, `name:shape` each.
    pub args: Vec<(String, String)>,
}

/// A kernel that events refer to.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The symbol, empty where it is unknown.
    pub mangled: String,
    /// What the program passed to launch it: host stub or handle.
    pub address: u64,
    /// The file whose image holds it, empty where unknown.
    pub owner: String,
    /// (offset, size) in bytes of each parameter, in order, or why they are not known.
    pub params: Result<Vec<(u32, u32)>, String>,
    /// The type of each parameter, a letter of [`types`] each; empty where the image does not say.
    pub types: String,
}

/// The letters of [`Kernel::types`].
pub mod types {
    /// Not known.
    pub const UNKNOWN: char = '-';
    /// A floating-point number of 32 bits.
    pub const FLOAT: char = 'f';
    /// One of 64 bits.
    pub const DOUBLE: char = 'd';
    /// An integer with a sign.
    pub const SIGNED: char = 's';
    /// An address.
    pub const POINTER: char = 'p';
}

/// A device image that was registered or loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// The handle that the program was given.
    pub handle: u64,
    /// The function that took it.
    pub api: String,
    /// The file it came from, empty where it is not in a file.
    pub owner: String,
    /// What it is: `fatbin`, `cubin`, `ptx` …
    pub kind: String,
    /// Its size in bytes, 0 where unknown.
    pub size: u64,
}

/// A text that a user put into the trace from outside the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// Number of the mark in its file, from 1.
    pub number: u32,
    /// When, in ticks of the file.
    pub ticks: u64,
    /// The text.
    pub text: String,
}

/// Everything that events refer to.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// The process; default until its record was read.
    pub process: Process,
    /// Functions by number.
    pub apis: BTreeMap<u16, Api>,
    /// Kernels by number.
    pub kernels: BTreeMap<u32, Kernel>,
    /// Devices of contexts.
    pub contexts: Contexts,
    /// Images in the order of their registration.
    pub images: Vec<Image>,
    /// Notes to the user about the tracing itself.
    pub notes: Vec<String>,
    /// Marks made from outside, in the order in which the process took them in.
    pub marks: Vec<Mark>,
    /// The launcher's run that the process belongs to, empty where there was no launcher.
    pub run: String,
    /// Names by number: symbols of kernels that a GPU ran, domains of ranges.
    pub names: BTreeMap<u32, String>,
    /// Names of counters by number, in the order in which events have them.
    pub counters: BTreeMap<u32, Vec<String>>,
    /// Records that could not be understood.
    pub foreign: u64,
}

/// Builds one record.
pub struct Encoder {
    bytes: Vec<u8>,
    fields: u16,
}

impl Encoder {
    /// An empty record of `kind`.
    pub fn new(kind: u16) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&[0; 6]);
        Encoder { bytes, fields: 0 }
    }
    /// Appends a field of bytes.
    pub fn bytes(mut self, field: &[u8]) -> Self {
        self.bytes.extend_from_slice(&(field.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(field);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.fields += 1;
        self
    }
    /// Appends a text field.
    pub fn text(self, field: &str) -> Self {
        self.bytes(field.as_bytes())
    }
    /// Appends a number, eight bytes.
    pub fn number(self, field: u64) -> Self {
        self.bytes(&field.to_le_bytes())
    }
    /// The finished record, a multiple of eight bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let size = self.bytes.len() as u32;
        for (to, from) in self
            .bytes
            .iter_mut()
            .skip(2)
            .zip(self.fields.to_le_bytes().into_iter().chain(size.to_le_bytes()))
        {
            *to = from;
        }
        self.bytes
    }
}

/// The fields of one record, in order; a missing or cut field reads as empty.
pub struct Fields<'a> {
    rest: &'a [u8],
    left: u16,
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let size = u32::from_le_bytes(self.rest.get(..4)?.try_into().ok()?) as usize;
        let field = self.rest.get(4..4usize.checked_add(size)?)?;
        self.rest = self.rest.get(4 + size.next_multiple_of(4)..).unwrap_or(&[]);
        Some(field)
    }
    fn text(&mut self) -> String {
        self.next().map(|b| String::from_utf8_lossy(b).into_owned()).unwrap_or_default()
    }
    fn number(&mut self) -> u64 {
        self.next().and_then(|b| b.try_into().ok()).map(u64::from_le_bytes).unwrap_or_default()
    }
}

impl Process {
    /// The record.
    pub fn encode(&self) -> Vec<u8> {
        Encoder::new(META_PROCESS)
            .number(self.pid.into())
            .number(self.ppid.into())
            .text(&self.exe)
            .text(&self.argv.join("\0"))
            .text(&self.host)
            .number(self.rank.map_or(u64::MAX, u64::from))
            .text(&self.version)
            .finish()
    }
}

impl Api {
    /// The record of function `id`; `args` is `name:shape,name:shape`.
    pub fn encode(id: u16, name: &str, class: &str, args: &str) -> Vec<u8> {
        Encoder::new(META_API).number(id.into()).text(name).text(class).text(args).finish()
    }
}

impl Default for Kernel {
    fn default() -> Self {
        let (mangled, owner) = (String::new(), String::new());
        let params = Err("unknown".to_owned());
        Kernel { mangled, address: 0, owner, params, types: String::new() }
    }
}

impl Kernel {
    /// The record of kernel `id`.
    pub fn encode(&self, id: u32) -> Vec<u8> {
        let mut layout = Vec::new();
        let mut why = "";
        match &self.params {
            Ok(params) => {
                for (offset, size) in params {
                    layout.extend_from_slice(&offset.to_le_bytes());
                    layout.extend_from_slice(&size.to_le_bytes());
                }
            }
            Err(reason) => why = if reason.is_empty() { "unknown" } else { reason },
        }
        Encoder::new(META_KERNEL)
            .number(id.into())
            .text(&self.mangled)
            .number(self.address)
            .text(&self.owner)
            .bytes(&layout)
            .text(why)
            .text(&self.types)
            .finish()
    }
}

impl Image {
    /// The record.
    pub fn encode(&self) -> Vec<u8> {
        Encoder::new(META_IMAGE)
            .number(self.handle)
            .text(&self.api)
            .text(&self.owner)
            .text(&self.kind)
            .number(self.size)
            .finish()
    }
}

impl Mark {
    /// The record.
    pub fn encode(&self) -> Vec<u8> {
        let number = Encoder::new(META_MARK).number(self.number.into());
        number.number(self.ticks).text(&self.text).finish()
    }
}

/// The record of the run that the process belongs to.
pub fn encode_run(run: &str) -> Vec<u8> {
    Encoder::new(META_RUN).text(run).finish()
}

/// The record of name `number`.
pub fn encode_name(number: u32, name: &str) -> Vec<u8> {
    Encoder::new(META_NAME).number(number.into()).text(name).finish()
}

/// The record of the names of counters, with spaces between, that events refer to by number.
pub fn encode_counters(number: u32, names: &str) -> Vec<u8> {
    Encoder::new(META_COUNTERS).number(number.into()).text(names).finish()
}

/// The record that context `context` belongs to device `device`, from `ticks` of the file on.
pub fn encode_context(context: u64, device: i32, ticks: u64) -> Vec<u8> {
    Encoder::new(META_CONTEXT).number(context).number(device as i64 as u64).number(ticks).finish()
}

/// The record of a note to the user.
pub fn encode_note(text: &str) -> Vec<u8> {
    Encoder::new(META_NOTE).text(text).finish()
}

impl Metadata {
    /// Takes in the first record of `bytes`; returns its size, or `None` if it is not complete.
    pub fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        let kind = u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?);
        let left = u16::from_le_bytes(bytes.get(2..4)?.try_into().ok()?);
        let size = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?) as usize;
        if size < 8 || !size.is_multiple_of(8) {
            return None;
        }
        let mut f = Fields { rest: bytes.get(8..size)?, left };
        match kind {
            META_PROCESS => {
                self.process = Process {
                    pid: f.number() as u32,
                    ppid: f.number() as u32,
                    exe: f.text(),
                    argv: f.text().split('\0').map(str::to_owned).collect(),
                    host: f.text(),
                    rank: u32::try_from(f.number()).ok(),
                    version: f.text(),
                }
            }
            META_API => {
                let id = f.number() as u16;
                let api = Api {
                    name: f.text(),
                    class: f.text(),
                    args: f
                        .text()
                        .split(',')
                        .filter_map(|a| a.split_once(':'))
                        .map(|(name, shape)| (name.to_owned(), shape.to_owned()))
                        .collect(),
                };
                self.apis.insert(id, api);
            }
            META_KERNEL => {
                let id = f.number() as u32;
                let (mangled, address, owner) = (f.text(), f.number(), f.text());
                let layout = f.next().unwrap_or(&[]);
                let why = f.text();
                let word = |p: &[u8], at: usize| {
                    let bytes = p.get(at..).and_then(<[u8]>::first_chunk);
                    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
                };
                let params = match why.is_empty() {
                    true => Ok(layout.chunks_exact(8).map(|p| (word(p, 0), word(p, 4))).collect()),
                    false => Err(why),
                };
                let types = f.text();
                self.kernels.insert(id, Kernel { mangled, address, owner, params, types });
            }
            META_CONTEXT => {
                let (context, device, ticks) = (f.number(), f.number() as i32, f.number());
                self.contexts.told(context, device, ticks);
            }
            META_NOTE => self.notes.push(f.text()),
            META_MARK => self.marks.push(Mark {
                number: f.number() as u32,
                ticks: f.number(),
                text: f.text(),
            }),
            META_RUN => self.run = f.text(),
            META_NAME => {
                let number = f.number() as u32;
                self.names.insert(number, f.text());
            }
            META_COUNTERS => {
                let (number, names) = (f.number() as u32, f.text());
                self.counters.insert(number, names.split(' ').map(str::to_owned).collect());
            }
            META_IMAGE => self.images.push(Image {
                handle: f.number(),
                api: f.text(),
                owner: f.text(),
                kind: f.text(),
                size: f.number(),
            }),
            _ => self.foreign += 1,
        }
        Some(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let process = Process {
            pid: 7,
            ppid: 1,
            exe: "/bin/x".into(),
            argv: vec!["x".into(), "".into(), "é".into()],
            host: "h".into(),
            rank: Some(3),
            version: "0".into(),
        };
        let kernel = Kernel {
            mangled: "_Z1kPf".into(),
            address: 0x10,
            owner: "o".into(),
            params: Ok(vec![(0, 8), (8, 4)]),
            types: "pf".into(),
        };
        let unknown = Kernel { params: Err("no image".into()), ..Kernel::default() };
        let mut bytes = process.encode();
        bytes.extend(Api::encode(5, "cudaMalloc", "memory", "devPtr:out,size:size"));
        bytes.extend(kernel.encode(1));
        bytes.extend(unknown.encode(2));
        bytes.extend(encode_context(0x55, -1, 9));
        bytes.extend(encode_note("hello"));
        let mark = Mark { number: 2, ticks: 77, text: "step 3".into() };
        bytes.extend(mark.encode());
        bytes.extend(encode_run("12.34"));
        bytes.extend(encode_name(9, "_Z1kPf"));
        bytes.extend(encode_counters(2, "lanes waits"));
        bytes.extend(Encoder::new(999).text("later").finish());
        let (mut meta, mut at) = (Metadata::default(), 0);
        while let Some(size) = meta.read(&bytes[at..]) {
            at += size;
        }
        assert_eq!(at, bytes.len());
        assert_eq!(meta.process, process);
        assert_eq!(meta.kernels[&1], kernel);
        assert_eq!(meta.kernels[&2], unknown);
        assert_eq!(meta.apis[&5].args[1], ("size".into(), "size".into()));
        assert_eq!((meta.marks[0].clone(), meta.run.as_str()), (mark, "12.34"));
        assert_eq!(meta.names[&9], "_Z1kPf");
        assert_eq!(meta.counters[&2], ["lanes", "waits"]);
        assert_eq!(
            (meta.contexts.device(0x55), meta.notes[0].as_str(), meta.foreign),
            (Some(-1), "hello", 1)
        );
    }

    #[test]
    fn cut_records_are_refused() {
        let bytes = Kernel::default().encode(1);
        for cut in 0..bytes.len() {
            assert_eq!(Metadata::default().read(&bytes[..cut]), None);
        }
    }
}
