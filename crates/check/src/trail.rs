//! The host stack of a call, as text for people.
//!
//! Owns which frames of a stack belong to the program: those after the last frame of cushim or CUDA, up to the
//! thread's start. Must not know why somebody asks.

use std::backtrace::Backtrace;
use std::sync::Arc;

use cushim_accel::{Stack, Trail};
use cushim_names::Name;

use super::python;

/// The most frames of the program that are reported.
const DEEPEST: usize = 16;

/// Where this thread is.
pub fn here() -> Trail {
    Arc::new(Stack { native: Backtrace::force_capture(), python: python::here() })
}

/// A position in the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The function.
    pub function: String,
    /// File and line, where there is debug information.
    pub place: Option<String>,
}

/// A stack as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frames {
    /// CUDA's function that the program called, if known.
    pub call: Option<String>,
    /// The program's own frames, the innermost first.
    pub own: Vec<Frame>,
}

/// What a trail says.
pub fn frames(trail: &Trail) -> Frames {
    let native = read(&trail.native.to_string());
    match &trail.python {
        Some(text) => {
            let frame = |(function, place)| Frame { function, place: Some(place) };
            with_python(native, python::frames(text).into_iter().map(frame).collect())
        }
        None => native,
    }
}

/// Python's frames replace those of its interpreter; of the native frames it called, only the innermost are reported.
fn with_python(native: Frames, python: Vec<Frame>) -> Frames {
    if python.is_empty() {
        return native;
    }
    let called =
        native.own.into_iter().take_while(|frame| !python::is_interpreter(&frame.function));
    let own = called.take(DEEPEST / 2).chain(python).take(DEEPEST).collect();
    Frames { call: native.call, own }
}

/// Reads the text of the standard library's `Backtrace`.
fn read(text: &str) -> Frames {
    let mut all: Vec<Frame> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(place) = line.strip_prefix("at ") {
            if let Some(last) = all.last_mut() {
                last.place = Some(without_column(place).to_owned());
            }
        } else if let Some((number, function)) = line.split_once(": ")
            && number.parse::<u32>().is_ok()
        {
            all.push(Frame { function: function.to_owned(), place: None });
        }
    }
    let begin = all.iter().take_while(|frame| is_ours(frame)).count();
    let call = all.iter().take(begin).rev().find_map(|frame| call(&frame.function));
    let end = all.iter().position(|frame| is_begin(&frame.function)).unwrap_or(all.len());
    let own = all.into_iter().take(end).skip(begin).filter(|frame| !is_stub(frame));
    Frames { call, own: own.take(DEEPEST).map(named).collect() }
}

/// `main.cu:12:5` as `main.cu:12`.
fn without_column(place: &str) -> &str {
    match place.rsplit_once(':') {
        Some((rest, column)) if column.parse::<u32>().is_ok() && rest.contains(':') => rest,
        _ => place,
    }
}

/// Whether a frame belongs to this project, or to the standard library below it. Debug information may have names
/// without paths: then the file decides; a library without symbols has neither.
fn is_ours(frame: &Frame) -> bool {
    const ROOT: &str = env!("CARGO_MANIFEST_DIR");
    let root = ROOT.strip_suffix("/crates/check").unwrap_or(ROOT);
    let place = frame.place.as_deref().unwrap_or_default();
    let path = place.strip_prefix(root).or_else(|| place.strip_prefix('.')).unwrap_or_default();
    let name = &frame.function;
    let known = ["std::", "core::", "<core::", "<std::", "__rust", "<unknown>"];
    ["/crates/", "/src/"].iter().any(|folder| path.starts_with(folder)) && place.contains(".rs")
        || place.starts_with("/rustc/")
        || name.contains("cushim_")
        || known.iter().any(|word| name.starts_with(word))
}

/// What nvcc and CUDA's headers put between the source and CUDA's function.
fn is_stub(frame: &Frame) -> bool {
    let place = frame.place.as_deref().unwrap_or_default();
    ["__cudaLaunchKernel_helper", "__device_stub__"].iter().any(|w| frame.function.contains(w))
        || ["/cuda_runtime.h:", "/cuda_runtime_api.h:"].iter().any(|file| place.contains(file))
}

/// Where threads begin.
fn is_begin(function: &str) -> bool {
    ["__libc_start", "_start", "start_thread", "clone"]
        .iter()
        .any(|word| function.starts_with(word))
}

/// CUDA's name of one of cushim's functions: the last part of its path, without generic arguments.
fn call(function: &str) -> Option<String> {
    let path = function.split("::<").next().unwrap_or(function);
    let name = path.rsplit("::").next()?.split('<').next()?.trim_start_matches('_');
    let mut rest = name.strip_prefix("cu")?.strip_prefix("da").or(name.strip_prefix("cu"))?.chars();
    rest.next().is_some_and(char::is_uppercase).then(|| name.to_owned())
}

fn named(frame: Frame) -> Frame {
    let function = Name::new(&frame.function);
    Frame { function: function.full, place: frame.place }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
   0: cushim_check::trail::here
             at /src/crates/check/src/trail.rs:17:14
   1: std::panicking::catch_unwind
   2: cushim_vruntime::memory::device::cudaMalloc::<13>
   3: hook<13>
             at ./src/hook.rs:73:5
   4: _Z15__device_stub__f
   5: _ZN3app4makeEi
             at /home/u/app.cu:12:5
   6: main
   7: __libc_start_call_main
   8: _start
";

    #[test]
    fn the_program_is_what_lies_behind_our_frames() {
        let found = read(TEXT);
        assert_eq!(found.call.as_deref(), Some("cudaMalloc"));
        let make =
            Frame { function: "app::make(int)".into(), place: Some("/home/u/app.cu:12".into()) };
        assert_eq!(found.own, [make, Frame { function: "main".into(), place: None }]);
    }

    #[test]
    fn python_stands_where_its_interpreter_would() {
        let frame = |name: &str| Frame { function: name.into(), place: None };
        let native =
            ["at::empty", "ffi_call_int", "_PyEval_EvalFrameDefault", "main"].map(frame).into();
        let with = |python: &[&str]| {
            let native = Frames { call: None, own: Vec::clone(&native) };
            let found = with_python(native, python.iter().map(|name| frame(name)).collect());
            found.own.into_iter().map(|frame| frame.function).collect::<Vec<_>>()
        };
        assert_eq!(with(&["step", "<module>"]), ["at::empty", "step", "<module>"]);
        assert_eq!(with(&[]).len(), 4);
        assert_eq!(with(&["f"; 40]).len(), DEEPEST);
    }

    #[test]
    fn calls_are_known_by_their_names() {
        assert_eq!(call("__cudaLaunchKernel<13>").as_deref(), Some("cudaLaunchKernel"));
        assert_eq!(call("a::b::cuMemAlloc_v2").as_deref(), Some("cuMemAlloc_v2"));
        assert_eq!(call("cushim_check::cut"), None);
        assert_eq!(call(""), None);
    }

    #[test]
    fn any_text_is_read() {
        assert_eq!(read(""), Frames::default());
        assert_eq!(read("at nowhere\n  x: y\n 1: \n"), Frames { call: None, own: vec![] });
        assert_eq!(read("disabled backtrace").own, []);
    }

    #[test]
    fn a_stack_of_our_own_is_read() {
        let frames = frames(&here());
        assert_eq!(frames.call, None);
    }
}
