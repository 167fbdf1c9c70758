//! The options of every command that shows events, declared once: `trace` and `report` flatten
//! [`ViewArgs`].
//!
//! Owns: names, help texts, environment names and defaults. Must not know: how anything is shown.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use cushim_analysis::{Children, KernelFilter, NameForm};

use super::options::{Classes, Target, ViewOptions, utf8_locale};
use crate::Error;

/// How events are chosen and shown.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What to show")]
pub struct ViewArgs {
    /// Show these classes of calls
    ///
    /// By default launch,graph,copy,region,map. A call that failed, or never came back, is shown whatever its class.
    #[arg(
        short = 'e',
        long = "events",
        value_name = "CLASS,...",
        value_delimiter = ',',
        help = "Show these classes of calls [default: launch,graph,copy,region,map]"
    )]
    pub events: Vec<Class>,

    /// Show only kernels whose name matches; !REGEX leaves out those that match
    ///
    /// The expression is searched for anywhere in the short, the demangled and the mangled name. Given
    /// several times, a kernel is shown if one matches and no !REGEX does. k2 alone means the kernel that
    /// the output calls k2 (write ^k2$ for one whose name is k2). Other calls are then shown only where
    /// --events asks for them. In the environment, one expression per line.
    #[arg(
        short = 'k',
        long = "kernel",
        value_name = "REGEX",
        value_delimiter = '\n',
        allow_hyphen_values = true
    )]
    pub kernels: Vec<String>,

    /// How kernels are named
    #[arg(long, value_name = "FORM", default_value = "short", value_parser = name_forms())]
    pub names: NameForm,

    /// Show only calls that failed
    #[arg(long)]
    pub failed: bool,

    /// Show the calls that CUDA makes inside a call too, indented
    ///
    /// The runtime calls the driver: cudaLaunchKernel ends in cuLaunchKernel. By default only the
    /// outermost call is shown, which is the one that the program made.
    #[arg(long)]
    pub nested: bool,

    /// Show only the summary
    #[arg(short = 'c', long = "summary")]
    pub summary: bool,

    /// Show every line on a terminal, not only the first 200
    #[arg(long)]
    pub all: bool,

    /// Whether processes that the program starts are shown: all, none, or those whose name matches REGEX
    #[arg(long, value_name = "all|none|REGEX", default_value = "all")]
    pub children: String,

    /// When to use colors; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorWhen,
}

/// A class of calls, as `--events` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Class {
    /// Kernel launches.
    Launch,
    /// Graphs, their kernel nodes and their launches.
    Graph,
    /// Allocation and release.
    Memory,
    /// Copies and sets.
    Copy,
    /// Streams.
    Stream,
    /// Events.
    Event,
    /// Waiting for the device, a stream or an event.
    Sync,
    /// Loading of modules and libraries.
    Module,
    /// What a program registers before main.
    Register,
    /// The program's own profiler range.
    Profiler,
    /// The program's own ranges and marks (NVTX).
    Nvtx,
    /// Target regions of LLVM's offloading (OpenMP, rustc).
    Region,
    /// Data that are mapped for them.
    Map,
    /// Every class, also those that this version does not know.
    All,
}

/// `--names`, each with its help.
pub fn name_forms() -> impl TypedValueParser<Value = NameForm> {
    let form = |name: &'static str, help: &'static str| PossibleValue::new(name).help(help);
    let forms = PossibleValuesParser::new([
        form(
            "short",
            "No return type, no parameters; template arguments stay; shortened in the middle to fit a terminal",
        ),
        form("full", "As C++ declares it"),
        form("mangled", "The symbol"),
    ]);
    forms.map(|name| match name.as_str() {
        "full" => NameForm::Full,
        "mangled" => NameForm::Mangled,
        _ => NameForm::Short,
    })
}

/// How the output is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One line per call in CUDA's notation, then a table
    #[default]
    Text,
    /// One JSON object per line
    Jsonl,
}

/// When to use colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ViewArgs {
    /// Whether an option was given that only applies to a list of events.
    pub fn asks_for_events(&self) -> bool {
        !self.events.is_empty() || self.failed || self.nested || self.summary || self.all
    }
    /// The options as the view needs them; `target` is where its output goes, and `format` how, where the
    /// user said so.
    pub fn options(&self, format: Option<Format>, target: &Target) -> Result<ViewOptions, Error> {
        let color = match self.color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => {
                target.terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        let limit = (target.terminal && !self.all).then_some(200);
        let format = format.unwrap_or(target.format);
        Ok(ViewOptions {
            format,
            classes: match self.events.as_slice() {
                [] => Classes::default(),
                chosen => Classes::of(chosen),
            },
            classes_chosen: !self.events.is_empty(),
            kernels: KernelFilter::new(&self.kernels).map_err(|e| of("--kernel", &e))?,
            children: Children::new(&self.children).map_err(|e| of("--children", &e))?,
            names: self.names,
            failed_only: self.failed,
            nested: self.nested,
            lines: !self.summary,
            summary: true,
            limit: limit.filter(|_| format == Format::Text),
            width: target.width,
            color: color && format == Format::Text,
            utf8: utf8_locale(),
            root: None,
            may_time_gpu: true,
        })
    }
}

/// What is wrong with the value of an option.
fn of(option: &str, error: &cushim_analysis::Error) -> Error {
    Error::Usage(format!("{option}: {error}"))
}
