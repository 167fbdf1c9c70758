//! Events as lines of text, in CUDA's own notation.
//!
//! Owns: the form of a line, folding of repeated launches, the limit of lines on a terminal.
//! Must not know: which events are shown, or the summary.

mod region;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use cushim_abi::named::named;
use cushim_abi::{Library, errors, offload::RESULT};
use cushim_names::{Value, elide};
use cushim_trace::event::{Body, Call, Event, LaunchEvent, Range};
use cushim_trace::layout::{LAUNCH_COOPERATIVE, RANGE_END, RANGE_POP, RANGE_PUSH, RANGE_START};
use cushim_trace::meta::Metadata;

use super::options::ViewOptions;
use super::seen::Seen;
use super::style::{Ink, Style};
use cushim_analysis::NameForm;
use cushim_analysis::arguments::{Word, arguments, copy_kind, why_no_bytes, words};
use cushim_analysis::known::{Handle, Kernel, Known};
use cushim_analysis::words::{dim, printable};

/// A name is not shortened below this, however narrow the terminal.
const NAME_MIN: usize = 24;

/// Writes lines.
pub struct Text {
    style: Style,
    names: NameForm,
    nested: bool,
    width: Option<usize>,
    limit: Option<u64>,
    lines: u64,
    /// The repetitions of each thread, by file and thread: a call and, one level deeper each, the
    /// calls within it.
    folds: HashMap<(usize, u32), Vec<Fold>>,
    /// Command lines of the first processes, until there are several.
    processes: Vec<String>,
}

/// What makes two launches alike.
#[derive(PartialEq, Eq)]
struct Key {
    api: u16,
    kernel: usize,
    depth: u8,
    shape: ([u32; 3], [u32; 3], [u8; 3], u32, u64, u8),
    status: Option<i32>,
}

struct Fold {
    key: Key,
    /// The process of the launches, for the prefix, which depends on how many processes there are
    /// by then.
    who: Who,
    /// The launch without its arguments.
    head: String,
    tail: String,
    /// Launches after the first one, which has its own line.
    more: u64,
    ns: u64,
    /// The line of the second one.
    second: String,
    /// Nothing was added since the last tick.
    idle: bool,
}

impl Text {
    /// Lines as `options` say.
    pub fn new(options: &ViewOptions) -> Self {
        Text {
            style: Style { color: options.color, utf8: options.utf8 },
            names: options.names,
            nested: options.nested,
            width: options.width,
            limit: options.limit,
            lines: 0,
            folds: HashMap::new(),
            processes: Vec::new(),
        }
    }

    /// A further process: from the second one on, lines name their process.
    pub fn process(&mut self, out: &mut dyn Write, meta: &Metadata) -> io::Result<()> {
        let process = &meta.process;
        let command = match process.argv.iter().all(String::is_empty) {
            true => process.exe.clone(),
            false => process.argv.join(" "),
        };
        let line = format!("process {}: {}", process.pid, printable(&command));
        self.processes.push(line);
        let new = match self.processes.len() {
            1 => return Ok(()),
            2 => self.processes.clone(),
            n => self.processes.get(n - 1..).unwrap_or_default().to_vec(),
        };
        new.iter().try_for_each(|line| self.line(out, &self.style.paint(Ink::Faint, line)))
    }

    /// One event.
    pub fn event(
        &mut self,
        out: &mut dyn Write,
        seen: &Seen<'_>,
        known: &mut Known,
    ) -> io::Result<()> {
        if self.limit.is_some_and(|limit| self.lines > limit) {
            return Ok(());
        }
        let event = seen.event;
        let thread = (seen.source.index, event.tid);
        let who = Who { pid: seen.meta.process.pid, depth: event.depth };
        let Body::Launch(launch) = &event.body else {
            self.flush_thread(out, thread, event.depth)?;
            let line = match &event.body {
                Body::Call(call) => self.call(seen, known, call),
                Body::Mark(text) => format!("-- {}", printable(text)),
                Body::Range(range) => range_line(range, seen.meta),
                Body::Mapped(mapped) => self.mapped(seen, known, mapped),
                Body::Launch(_) | Body::Gpu(_) => String::new(),
            };
            return self.line(out, &format!("{}{line}", self.prefix(who)));
        };
        let key = Key {
            api: event.api,
            kernel: seen.kernel.unwrap_or(usize::MAX),
            depth: event.depth,
            shape: (
                launch.grid,
                launch.block,
                launch.cluster,
                launch.shared,
                launch.stream,
                launch.flags & LAUNCH_COOPERATIVE,
            ),
            status: event.status,
        };
        let repeated =
            self.folds.get_mut(&thread).and_then(|f| f.iter_mut().find(|f| f.key == key));
        if let Some(fold) = repeated {
            fold.more += 1;
            fold.ns += event.call_ns.unwrap_or(0);
            fold.idle = false;
            if fold.more == 1 {
                // One repetition is not worth folding: its line is kept until there are more.
                let second = self.launch(seen, known, launch).line;
                let folds = self.folds.get_mut(&thread);
                if let Some(fold) = folds.and_then(|f| f.iter_mut().find(|f| f.key == key)) {
                    fold.second = second;
                }
            }
            return Ok(());
        }
        self.flush_thread(out, thread, event.depth)?;
        let LaunchText { line, head, tail } = self.launch(seen, known, launch);
        let second = String::new();
        let fold = Fold { key, who, head, tail, more: 0, ns: 0, second, idle: false };
        self.folds.entry(thread).or_default().push(fold);
        self.line(out, &format!("{}{line}", self.prefix(who)))
    }

    /// Writes what is held back and has not grown since the last call.
    pub fn tick(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for thread in self.threads() {
            let folds = self.folds.get_mut(&thread);
            if folds.is_some_and(|folds| folds.iter().all(|fold| fold.idle)) {
                self.flush_thread(out, thread, 0)?;
            }
        }
        self.folds.values_mut().flatten().for_each(|fold| fold.idle = true);
        Ok(())
    }

    /// Writes all that is held back.
    pub fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.threads().into_iter().try_for_each(|thread| self.flush_thread(out, thread, 0))
    }

    fn threads(&self) -> Vec<(usize, u32)> {
        let mut threads: Vec<(usize, u32)> = self.folds.keys().copied().collect();
        threads.sort_unstable();
        threads
    }

    /// Writes what a thread repeated, outer calls first. Calls less deep than `depth` may go on being
    /// repeated.
    fn flush_thread(
        &mut self,
        out: &mut dyn Write,
        thread: (usize, u32),
        depth: u8,
    ) -> io::Result<()> {
        let Some(mut folds) = self.folds.remove(&thread) else { return Ok(()) };
        for fold in &mut folds {
            self.count(out, fold)?;
            (fold.more, fold.ns) = (0, 0);
        }
        folds.retain(|fold| fold.key.depth < depth);
        if !folds.is_empty() {
            self.folds.insert(thread, folds);
        }
        Ok(())
    }

    /// The line for the repetitions of one launch.
    fn count(&mut self, out: &mut dyn Write, fold: &Fold) -> io::Result<()> {
        let prefix = self.prefix(fold.who);
        match fold.more {
            0 => Ok(()),
            1 => self.line(out, &format!("{prefix}{}", fold.second)),
            more => {
                let average = self.style.duration(fold.ns as f64 / more as f64);
                let count = format!("{}{more} more, avg {average}", self.style.times());
                let count = self.style.paint(Ink::Faint, &count);
                self.line(out, &format!("{prefix}{}  {count}{}", fold.head, fold.tail))
            }
        }
    }

    fn line(&mut self, out: &mut dyn Write, line: &str) -> io::Result<()> {
        self.lines += 1;
        match self.limit {
            Some(limit) if self.lines == limit + 1 => {
                let note = format!(
                    "{} only the first {limit} lines (--all shows every one)",
                    self.style.ellipsis()
                );
                writeln!(out, "{}", self.style.paint(Ink::Faint, &note))
            }
            Some(limit) if self.lines > limit => Ok(()),
            _ => writeln!(out, "{line}"),
        }
    }

    fn prefix(&self, who: Who) -> String {
        let depth = if self.nested { usize::from(who.depth) } else { 0 };
        let pid = match self.processes.len() {
            0 | 1 => String::new(),
            _ => format!("[{}] ", who.pid),
        };
        format!("{pid}{:1$}", "", 2 * depth)
    }

    fn launch(&self, seen: &Seen<'_>, known: &mut Known, launch: &LaunchEvent<'_>) -> LaunchText {
        let mut shape = format!("<<<{}, {}", dim(launch.grid), dim(launch.block));
        if launch.shared != 0 || launch.stream != 0 {
            let _ = write!(shape, ", {}", launch.shared);
        }
        if launch.stream != 0 {
            // A graph node has the graph instead of the stream.
            let kind = if seen.is_node() { Handle::Graph } else { Handle::Stream };
            let _ = write!(shape, ", {}", known.handle(seen.source.index, kind, launch.stream));
        }
        shape.push_str(">>>");
        let mut extras = Vec::new();
        if launch.flags & LAUNCH_COOPERATIVE != 0 {
            extras.push("cooperative".to_owned());
        }
        if launch.cluster.iter().any(|&n| n > 0) {
            extras.push(format!("cluster {}", dim(launch.cluster.map(u32::from))));
        }
        if seen.is_node() || seen.event.depth > 0 {
            extras.push(printable(seen.name()));
        }
        let extra = match extras.is_empty() {
            true => String::new(),
            false => format!(" [{}]", extras.join(", ")),
        };
        let kernel = seen.kernel.and_then(|place| known.kernels().get(place));
        let arguments = match kernel {
            Some(kernel) => self.arguments(launch, kernel, seen.meta),
            None => "?".to_owned(),
        };
        let prefix = self.prefix(Who { pid: seen.meta.process.pid, depth: seen.event.depth });
        let tail = self.result(seen.name(), seen.event);
        let fixed = prefix.chars().count()
            + shape.chars().count()
            + arguments.chars().count()
            + 2
            + extra.chars().count()
            + tail.plain;
        let name = kernel.map(|k| self.kernel_name(k, fixed)).unwrap_or_default();
        let extra = self.style.paint(Ink::Faint, &extra);
        LaunchText {
            line: format!("{name}{shape}({arguments}){extra}{}", tail.painted),
            head: format!("{name}{shape}{extra}"),
            tail: if tail.is_success { String::new() } else { tail.painted },
        }
    }

    /// `k2 step<float, 256>`, shortened where the line has `fixed` other characters.
    fn kernel_name(&self, kernel: &Kernel, fixed: usize) -> String {
        let number = format!("k{}", kernel.number);
        let name = match self.names {
            NameForm::Short => &kernel.name.short,
            NameForm::Full => &kernel.name.full,
            NameForm::Mangled => kernel.symbol(),
        };
        let room = match self.width {
            Some(width) if matches!(self.names, NameForm::Short) => {
                width.saturating_sub(fixed + number.len() + 1).max(NAME_MIN)
            }
            _ => usize::MAX,
        };
        let name = elide(name, room, self.style.ellipsis());
        format!(
            "{} {}",
            self.style.paint(Ink::Faint, &number),
            self.style.paint(Ink::Kernel, &name)
        )
    }

    fn arguments(&self, launch: &LaunchEvent<'_>, kernel: &Kernel, meta: &Metadata) -> String {
        let list = match arguments(launch, kernel, meta) {
            Ok(list) => list,
            Err(_) => return "?".to_owned(),
        };
        let mark = self.style.ellipsis();
        let texts: Vec<String> = list
            .iter()
            .map(|a| match &a.value {
                Some(value) => value.text(mark),
                None if why_no_bytes(launch) == "not recorded" => "?".to_owned(),
                None => mark.to_owned(),
            })
            .collect();
        texts.join(", ")
    }

    fn call(&self, seen: &Seen<'_>, known: &mut Known, call: &Call<'_>) -> String {
        let words = words(call, seen.api);
        // The result of a function that returns no status.
        let answer = words.last().filter(|word| word.name == RESULT && word.is_out);
        let shown = words.len() - usize::from(answer.is_some());
        let texts: Vec<String> = words
            .iter()
            .take(shown)
            .map(|word| {
                let value = self.word(word, seen, known);
                match word.name {
                    "" => value,
                    name => format!("{}={value}", printable(name)),
                }
            })
            .collect();
        let result = match answer {
            Some(answer) => format!(" = {}", self.word(answer, seen, known)),
            None => self.result(seen.name(), seen.event).painted,
        };
        format!("{}({}){result}", printable(seen.name()), texts.join(", "))
    }

    fn word(&self, word: &Word<'_>, seen: &Seen<'_>, known: &mut Known) -> String {
        let source = seen.source.index;
        if let Some(text) = &word.text {
            return format!("{text:?}");
        }
        let value = word.words.first().copied().unwrap_or(0);
        let mut handle = |kind: Handle| match seen.event.status {
            Some(0) => known.handle(source, kind, value),
            _ => known.seen_handle(source, kind, value),
        };
        let hex = |value: u64| if value == 0 { "NULL".to_owned() } else { format!("{value:#x}") };
        match word.shape {
            "dim" if word.words.len() == 3 => {
                let mut shape = [0; 3];
                shape.iter_mut().zip(&word.words).for_each(|(to, from)| *to = *from as u32);
                dim(shape)
            }
            _ if word.words.len() > 1 => {
                let part = |word: &u64| Value::read(None, &word.to_le_bytes()).text("");
                let parts: Vec<String> = word.words.iter().map(part).collect();
                format!("{{{}}}", parts.join(", "))
            }
            "int" | "device" => (value as i64).to_string(),
            "size" | "uint" | "u64" | "dim" => value.to_string(),
            "flags" if value == 0 => "0".to_owned(),
            "value" => Value::read(None, &value.to_le_bytes()).text(self.style.ellipsis()),
            "memcpykind" => match copy_kind(value) {
                // HIP has CUDA's numbers.
                Some(name) if named(seen.name()).is_some_and(|f| f.library == Library::Hip) => {
                    name.replacen("cuda", "hip", 1)
                }
                Some(name) => name.to_owned(),
                None => value.to_string(),
            },
            "stream" => handle(Handle::Stream),
            "event" => handle(Handle::Event),
            "graph" => handle(Handle::Graph),
            "graphexec" => handle(Handle::GraphExec),
            "node" => handle(Handle::Node),
            // A value that a call wrote is shown as a handle, even if its kernel has a name.
            "func" if word.is_out => hex(value),
            "func" => match seen.kernel.and_then(|place| known.kernels().get(place)) {
                Some(kernel) => self.kernel_name(kernel, 0),
                None => hex(value),
            },
            _ => hex(value),
        }
    }

    fn result(&self, api: &str, event: &Event<'_>) -> ResultText {
        let Some(status) = event.status else {
            let painted = format!(" = {}", self.style.paint(Ink::Bad, "?"));
            return ResultText { painted, plain: 4, is_success: false };
        };
        let name = match status {
            0 => "",
            status => errors::error_name(api, status).unwrap_or("unknown error"),
        };
        let text = if name.is_empty() { status.to_string() } else { format!("{status} {name}") };
        let plain = 3 + text.chars().count();
        let painted = match errors::is_failure(status) {
            true => format!(" = {}", self.style.paint(Ink::Bad, &text)),
            false => format!(" = {text}"),
        };
        ResultText { painted, plain, is_success: status == 0 }
    }
}

/// A range that the program set, in a line.
fn range_line(range: &Range<'_>, meta: &Metadata) -> String {
    let what = match range.what {
        RANGE_PUSH | RANGE_START => "range begins",
        RANGE_POP | RANGE_END => "range ends",
        _ => "mark",
    };
    let domain = meta.names.get(&range.domain).map(|name| format!(" [{}]", printable(name)));
    let domain = domain.unwrap_or_default();
    let id = if range.id == 0 { String::new() } else { format!(" #{}", range.id) };
    let text =
        if range.text.is_empty() { String::new() } else { format!(": {}", printable(range.text)) };
    format!("-- {what}{id}{domain}{text}")
}

/// Process and nesting.
#[derive(Clone, Copy)]
struct Who {
    pid: u32,
    depth: u8,
}

struct LaunchText {
    line: String,
    head: String,
    tail: String,
}

struct ResultText {
    painted: String,
    /// Characters without colors.
    plain: usize,
    is_success: bool,
}
