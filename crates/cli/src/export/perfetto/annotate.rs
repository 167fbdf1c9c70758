//! The annotations of a slice: arguments, shapes, results.
//!
//! Owns: the names and values of annotations. Must not know: tracks or times.

use std::collections::HashMap;

use cushim_abi::errors;
use cushim_names::Value;
use cushim_trace::event::{Body, Call, Event, LaunchEvent, Mapped};
use cushim_trace::layout::{LAUNCH_ARGS_CUT, LAUNCH_COOPERATIVE};
use cushim_trace::meta::Metadata;

use super::intern::{Place, Texts, Told};
use super::schema::{annotation as field, event as track_event};
use super::wire::Wire;
use crate::view::KernelFilter;
use crate::view::word_value;
use cushim_analysis::arguments::{arguments, words};
use cushim_analysis::facts::Facts;
use cushim_analysis::known::{Handle, Known};
use cushim_analysis::mapped::{self, mappings};

/// The names of an event, as numbers of texts.
pub struct Subject {
    /// The event class.
    pub class: u32,
    /// The slice's name.
    pub name: u32,
    /// The function's name.
    pub api: u32,
    /// Index of the kernel in [`Known::kernels`].
    pub kernel: Option<usize>,
}

/// Cached numbers of texts, so that no text is looked up twice.
#[derive(Default)]
pub struct Annotator {
    pub texts: Texts,
    pub known: Known,
    all: KernelFilter,
    /// Class and name by file and function.
    apis: HashMap<(usize, u16), (u32, u32)>,
    /// Short name and declaration by kernel.
    kernels: Vec<(u32, u32)>,
    streams: HashMap<(usize, u64), u32>,
    names: Option<Names>,
}

/// Annotation names that every trace has.
#[derive(Clone, Copy)]
struct Names {
    api: u32,
    args: u32,
    block: u32,
    cluster: u32,
    cooperative: u32,
    cut: u32,
    declaration: u32,
    device: u32,
    grid: u32,
    id: u32,
    kernel: u32,
    returned: u32,
    shared: u32,
    status: u32,
    stream: u32,
}

impl Names {
    fn new(texts: &mut Texts) -> Self {
        Names {
            api: texts.number("api"),
            args: texts.number("args"),
            block: texts.number("block"),
            cluster: texts.number("cluster"),
            cooperative: texts.number("cooperative"),
            cut: texts.number("args_cut"),
            declaration: texts.number("declaration"),
            device: texts.number("device"),
            grid: texts.number("grid"),
            id: texts.number("id"),
            kernel: texts.number("kernel"),
            returned: texts.number("returned"),
            shared: texts.number("shared"),
            status: texts.number("status"),
            stream: texts.number("stream"),
        }
    }
}

/// Writes annotations of one event.
struct Writer<'a> {
    wire: &'a mut Wire,
    told: &'a mut Told,
}

impl Writer<'_> {
    #[inline]
    fn one(&mut self, name: u32, write: impl FnOnce(&mut Wire)) {
        let open = self.wire.begin(track_event::DEBUG_ANNOTATIONS);
        self.wire.number(field::NAME_IID, self.told.refer(Place::AnnotationName, name));
        write(self.wire);
        self.wire.end(open);
    }
    fn text(&mut self, name: u32, text: u32) {
        let iid = self.told.refer(Place::AnnotationText, text);
        self.one(name, |wire| wire.number(field::TEXT_IID, iid));
    }
    fn numbers(&mut self, name: u32, numbers: [u64; 3]) {
        self.one(name, |wire| {
            for number in numbers {
                let open = wire.begin(field::ARRAY);
                wire.number(field::UINT, number);
                wire.end(open);
            }
        });
    }
}

/// Writes one annotation, a text.
pub fn note(wire: &mut Wire, told: &mut Told, name: u32, text: &str) {
    Writer { wire, told }.one(name, |wire| wire.text(field::TEXT, text));
}

/// Writes one annotation, a number.
pub fn count(wire: &mut Wire, told: &mut Told, name: u32, n: u64) {
    Writer { wire, told }.one(name, |wire| wire.number(field::UINT, n));
}

impl Annotator {
    /// The names of `event`.
    pub fn subject(
        &mut self,
        source: usize,
        meta: &Metadata,
        event: &Event<'_>,
        facts: &Facts<'_>,
    ) -> Subject {
        let texts = &mut self.texts;
        let (class, api) = match event.body {
            Body::Mark(_) | Body::Gpu(_) | Body::Range(_) => (texts.number(facts.class), 0),
            _ => *self.apis.entry((source, event.api)).or_insert_with(|| {
                let name = match facts.name {
                    "" => texts.number(&format!("function {}", event.api)),
                    name => texts.number(name),
                };
                (texts.number(facts.class), name)
            }),
        };
        let kernel = facts.kernel.map(|id| self.known.kernel(&self.all, source, meta, id));
        for kernel in self.known.kernels().iter().skip(self.kernels.len()) {
            let names = (texts.number(&kernel.name.short), texts.number(&kernel.name.full));
            self.kernels.push(names);
        }
        let named = kernel.and_then(|place| self.kernels.get(place)).map(|names| names.0);
        let name = match event.body {
            Body::Launch(_) | Body::Mapped(_) => named.unwrap_or(api),
            _ => api,
        };
        Subject { class, name, api, kernel }
    }

    /// Writes the annotations of `event` into its track event.
    #[allow(clippy::too_many_arguments)] // They are one event's, and it is called from one place.
    pub fn event(
        &mut self,
        wire: &mut Wire,
        told: &mut Told,
        source: usize,
        meta: &Metadata,
        event: &Event<'_>,
        facts: &Facts<'_>,
        subject: &Subject,
    ) {
        let names = *self.names.get_or_insert_with(|| Names::new(&mut self.texts));
        let mut out = Writer { wire, told };
        out.one(names.id, |wire| wire.number(field::UINT, event.id));
        match &event.body {
            Body::Mark(_) | Body::Gpu(_) | Body::Range(_) => return,
            Body::Launch(launch) => {
                out.text(names.api, subject.api);
                self.launch(&mut out, &names, source, meta, launch, facts, subject);
            }
            Body::Mapped(mapped) => {
                out.text(names.api, subject.api);
                self.mapped(&mut out, meta, mapped);
            }
            Body::Call(call) => self.call(&mut out, &names, source, call, facts, subject),
        }
        match event.status {
            None => out.one(names.returned, |wire| wire.number(field::BOOL, 0)),
            Some(0) => {}
            Some(status) => match errors::error_name(facts.name, status) {
                Some(name) => out.one(names.status, |wire| wire.text(field::TEXT, name)),
                None => out.one(names.status, |wire| wire.number(field::INT, status as i64 as u64)),
            },
        }
    }

    fn mapped(&mut self, out: &mut Writer<'_>, meta: &Metadata, mapped: &Mapped<'_>) {
        for (name, value) in mapped::facts(mapped, meta) {
            let name = self.texts.number(name);
            out.one(name, |wire| wire.text(field::TEXT, &value));
        }
        let name = self.texts.number("mapping");
        for mapping in mappings(mapped, meta) {
            out.one(name, |wire| wire.text(field::TEXT, &mapping.text("...")));
        }
    }

    #[allow(clippy::too_many_arguments)] // As above.
    fn launch(
        &mut self,
        out: &mut Writer<'_>,
        names: &Names,
        source: usize,
        meta: &Metadata,
        launch: &LaunchEvent<'_>,
        facts: &Facts<'_>,
        subject: &Subject,
    ) {
        if let Some((_, declaration)) = subject.kernel.and_then(|place| self.kernels.get(place)) {
            out.text(names.declaration, *declaration);
        }
        out.numbers(names.grid, launch.grid.map(u64::from));
        out.numbers(names.block, launch.block.map(u64::from));
        if launch.cluster.iter().any(|&n| n > 0) {
            out.numbers(names.cluster, launch.cluster.map(u64::from));
        }
        if launch.shared > 0 {
            out.one(names.shared, |wire| wire.number(field::UINT, launch.shared.into()));
        }
        if launch.flags & LAUNCH_COOPERATIVE != 0 {
            out.one(names.cooperative, |wire| wire.number(field::BOOL, 1));
        }
        if !facts.is_node {
            let (known, texts) = (&mut self.known, &mut self.texts);
            let stream = self.streams.entry((source, launch.stream)).or_insert_with(|| {
                texts.number(&known.handle(source, Handle::Stream, launch.stream))
            });
            out.text(names.stream, *stream);
        }
        if let Some(device) = meta.contexts.device(launch.context) {
            out.one(names.device, |wire| wire.number(field::INT, i64::from(device) as u64));
        }
        let Some(kernel) = subject.kernel.and_then(|place| self.known.kernels().get(place)) else {
            return;
        };
        match arguments(launch, kernel, meta) {
            Ok(list) if list.is_empty() => {}
            Ok(list) => out.one(names.args, |wire| {
                for argument in &list {
                    let open = wire.begin(field::ARRAY);
                    match &argument.value {
                        Some(value) => self::value(wire, value),
                        None => wire.text(field::TEXT, "?"),
                    }
                    wire.end(open);
                }
            }),
            Err(why) => out.one(names.args, |wire| wire.text(field::TEXT, why)),
        }
        if launch.flags & LAUNCH_ARGS_CUT != 0 {
            out.one(names.cut, |wire| wire.number(field::BOOL, 1));
        }
    }

    fn call(
        &mut self,
        out: &mut Writer<'_>,
        names: &Names,
        source: usize,
        call: &Call<'_>,
        facts: &Facts<'_>,
        subject: &Subject,
    ) {
        if let Some((short, _)) = subject.kernel.and_then(|place| self.kernels.get(place)) {
            out.text(names.kernel, *short);
        }
        for (n, word) in words(call, facts.api).into_iter().enumerate() {
            let name = match word.name {
                "" => self.texts.number(&format!("argument {n}")),
                name => self.texts.number(name),
            };
            let first = word.words.first().copied().unwrap_or(0);
            if word.shape == "stream" {
                let text = self.known.handle(source, Handle::Stream, first);
                let text = self.texts.number(&text);
                out.text(name, text);
                continue;
            }
            out.one(name, |wire| match &word.text {
                Some(text) => wire.text(field::TEXT, text),
                None => value(wire, &word_value(word.shape, &word.words)),
            });
        }
    }
}

/// The value of an annotation.
fn value(wire: &mut Wire, value: &Value) {
    match value {
        Value::Bool(value) => wire.number(field::BOOL, u64::from(*value)),
        Value::Char(byte) => wire.number(field::INT, i64::from(*byte as i8) as u64),
        Value::Signed(number) => match i64::try_from(*number) {
            Ok(number) => wire.number(field::INT, number as u64),
            Err(_) => wire.text(field::TEXT, &number.to_string()),
        },
        Value::Unsigned(number) => match u64::try_from(*number) {
            Ok(number) => wire.number(field::UINT, number),
            Err(_) => wire.text(field::TEXT, &number.to_string()),
        },
        Value::Real(number, _) => wire.double(field::DOUBLE, *number),
        Value::Address(address) => wire.number(field::POINTER, *address),
        Value::List(list) => {
            for element in list {
                let open = wire.begin(field::ARRAY);
                self::value(wire, element);
                wire.end(open);
            }
        }
        Value::Bytes(_) => wire.text(field::TEXT, &value.text("...")),
    }
}
