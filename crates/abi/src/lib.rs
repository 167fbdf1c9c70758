//! CUDA's own types, error codes and function signatures, each declared once.
//!
//! Owns: the tables of hooked functions ([`runtime_functions!`], [`driver_functions!`], [`offload_functions!`]:
//! LLVM's libomptarget; [`hip_functions!`]: AMD's HIP runtime), from which exports, recording and printing are
//! generated; the tables of all other functions ([`runtime_queries!`], [`driver_queries!`]; both together:
//! [`all_runtime_functions!`], [`all_driver_functions!`]); argument types; structure layouts. Must not know: what
//! is done with a call. No dependencies.

// It runs in other people's processes: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

#[macro_use]
mod runtime;
#[macro_use]
mod driver;
#[macro_use]
mod runtime_queries;
#[macro_use]
mod driver_queries;
#[macro_use]
pub mod offload;
#[macro_use]
pub mod hip;
pub mod counted;
pub mod errors;
pub mod index;
pub mod named;
pub mod structs;
pub mod types;
pub mod work;

use types::Shape;
use work::Work;

/// The version node of a runtime major in NVIDIA's libraries (measured: one node each).
pub const fn runtime_node(major: usize) -> &'static str {
    match major {
        11 => "libcudart.so.11.0",
        12 => "libcudart.so.12",
        13 => "libcudart.so.13",
        _ => "",
    }
}

/// The runtime major with this version node.
pub fn runtime_major(node: &[u8]) -> Option<usize> {
    (11..=13).find(|major| runtime_node(*major).as_bytes() == node)
}

/// The class of a function, by which users select events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types, missing_docs)]
#[repr(u8)]
pub enum Class {
    launch,
    graph,
    memory,
    copy,
    stream,
    event,
    sync,
    module,
    register,
    profiler,
    nvtx,
    region,
    map,
}

/// All classes, in the order of their bits.
pub const CLASSES: [(Class, &str); 13] = [
    (Class::launch, "launch"),
    (Class::graph, "graph"),
    (Class::memory, "memory"),
    (Class::copy, "copy"),
    (Class::stream, "stream"),
    (Class::event, "event"),
    (Class::sync, "sync"),
    (Class::module, "module"),
    (Class::register, "register"),
    (Class::profiler, "profiler"),
    (Class::nvtx, "nvtx"),
    (Class::region, "region"),
    (Class::map, "map"),
];

impl Class {
    /// Its bit in a set of classes.
    pub const fn bit(self) -> u32 {
        1 << self as u8
    }
    /// Its name, as users write it.
    pub fn name(self) -> &'static str {
        CLASSES.iter().find(|(class, _)| *class == self).map_or("", |(_, name)| name)
    }
}

/// The library that has a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// CUDA's runtime, libcudart.
    Runtime,
    /// CUDA's driver, libcuda.
    Driver,
    /// LLVM's libomptarget.
    Offload,
    /// HIP's runtime, libamdhip64.
    Hip,
}

/// One hooked function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The exported name; for C++ exports, the name in the source.
    pub name: &'static str,
    /// Its name in the manual ([`work::manual_name`]).
    pub manual: &'static str,
    /// The library that has it.
    pub library: Library,
    /// Its class.
    pub class: Class,
    /// Runtime majors that export it with these arguments; empty for other libraries.
    pub majors: &'static [u32],
    /// Name, shape and number of words of each argument.
    pub args: &'static [Argument],
    /// A stream of 0 means the calling thread's own ([`work::has_own_stream`]).
    pub own_stream: bool,
    /// The GPU work of its calls.
    pub work: Work,
}

/// One argument of a hooked function.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name in CUDA's headers.
    pub name: &'static str,
    /// How to interpret its words.
    pub shape: Shape,
    /// How many words it takes.
    pub words: usize,
    /// Its size in bytes as it is passed, for checks against the headers.
    pub size: usize,
    /// Whether a successful call writes what it points to.
    pub out: bool,
}

impl Function {
    /// The arguments in the form of trace metadata: `name:shape` for each word, separated by
    /// commas.
    pub fn spec(&self) -> String {
        let mut spec = String::new();
        for arg in self.args {
            for word in 0..arg.words {
                let comma = if spec.is_empty() { "" } else { "," };
                let part = if arg.words == 1 { String::new() } else { format!(".{word}") };
                spec.push_str(&format!("{comma}{}{part}:{}", arg.name, arg.shape.word()));
            }
        }
        spec
    }
}

/// An exported name: its own, or the one behind `=`.
#[doc(hidden)]
#[macro_export]
macro_rules! exported_name {
    ($name:ident []) => {
        stringify!($name)
    };
    ($name:ident [$exported:ident]) => {
        stringify!($exported)
    };
}

macro_rules! arguments {
    (($($arg:ident : $type:ty),*)) => {
        &[$(Argument {
            name: stringify!($arg),
            shape: <$type as Arg>::SHAPE,
            words: <$type as Arg>::WORDS,
            size: size_of::<$type>(),
            out: <$type as Arg>::OUT,
        }),*]
    };
    // The function's result, behind the arguments.
    (($($arg:ident : $type:ty),*; $result:ident : $answer:ty)) => {
        &[$(Argument {
            name: stringify!($arg),
            shape: <$type as Arg>::SHAPE,
            words: <$type as Arg>::WORDS,
            size: size_of::<$type>(),
            out: <$type as Arg>::OUT,
        },)* Argument {
            name: stringify!($result),
            shape: <$answer as Arg>::SHAPE,
            words: <$answer as Arg>::WORDS,
            size: size_of::<$answer>(),
            out: true,
        }]
    };
}

// A row has several names and one list of arguments: expanding it name by name needs a macro of its own,
// so the tables are flattened in two steps.
macro_rules! flatten {
    ($id:ident $library:ident $table:ident $doc:literal; $($class:ident $how:tt $([$($major:literal)*])? {$($name:ident $exported:tt)+} $args:tt;)*) => {
        #[doc = $doc]
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum $id { $($($name,)+)* }

        #[doc = $doc]
        pub static $table: [Function; [$($(stringify!($name),)+)*].len()] = {
            use types::*;
            const ROWS: &[(&[&str], Function)] = &[$((
                &[$(exported_name!($name $exported)),+],
                Function {
                    name: "",
                    manual: "",
                    library: Library::$library,
                    class: Class::$class,
                    majors: &[$($($major),*)?],
                    args: arguments!($args),
                    own_stream: false,
                    work: Work::Nothing,
                },
            )),*];
            flat(ROWS)
        };
    };
}

/// A function for each name of each row.
#[allow(clippy::indexing_slicing, reason = "what is not there is found when this is compiled")]
const fn flat<const N: usize>(rows: &[(&[&'static str], Function)]) -> [Function; N] {
    const NONE: Function = Function {
        name: "",
        manual: "",
        library: Library::Runtime,
        class: Class::launch,
        majors: &[],
        args: &[],
        own_stream: false,
        work: Work::Nothing,
    };
    let mut all = [NONE; N];
    let (mut row, mut at) = (0, 0);
    while row < rows.len() {
        let (names, function) = rows[row];
        let mut n = 0;
        while n < names.len() {
            let name = names[n];
            all[at] = Function {
                name,
                manual: work::manual_name(name),
                own_stream: work::has_own_stream(name),
                work: Work::of(function.class, name),
                ..function
            };
            (n, at) = (n + 1, at + 1);
        }
        row += 1;
    }
    all
}

macro_rules! declare_runtime {
    ($($class:ident $how:tt [$($major:literal)*] [$($name:ident $(= $exported:ident)?)+] $args:tt -> $ret:ty;)*) => {
        flatten! {
            Runtime Runtime RUNTIME "The hooked functions of the runtime; the number of one is its place here.";
            $($class $how [$($major)*] {$($name [$($exported)?])+} $args;)*
        }
    };
}

macro_rules! declare_driver {
    ($($class:ident $how:tt [$($name:ident)+] $args:tt -> $ret:ty;)*) => {
        flatten! {
            Driver Driver DRIVER "The hooked functions of the driver; the number of one is its place here plus [`DRIVER_BASE`].";
            $($class $how {$($name [])+} $args;)*
        }
    };
}

macro_rules! declare_offload {
    ($($class:ident $how:tt [$($name:ident)+] $args:tt -> $ret:tt;)*) => {
        flatten! {
            Offload Offload OFFLOAD "The hooked functions of libomptarget; the number of one is its place here plus [`OFFLOAD_BASE`].";
            $($class $how {$($name [])+} $args;)*
        }
    };
}

// A function that C++ exports has its name in the header.
macro_rules! declare_hip {
    ($($class:ident $how:tt $node:literal [$($name:ident $(= $mangled:ident)?)+] $args:tt -> $ret:tt;)*) => {
        flatten! {
            Hip Hip HIP "The hooked functions of HIP's runtime; the number of one is its place here plus [`HIP_BASE`].";
            $($class $how {$($name [])+} $args;)*
        }
    };
}

runtime_functions!(declare_runtime);
driver_functions!(declare_driver);
offload_functions!(declare_offload);
hip_functions!(declare_hip);

/// A function that CUDA exports, hooked or not.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// Its name in the tables: the exported name, with a suffix for an older form.
    pub identifier: &'static str,
    /// The exported name.
    pub name: &'static str,
    /// Runtime majors that export it with these arguments; empty for the driver.
    pub majors: &'static [u32],
    /// Its arguments; none where no header declares it.
    pub args: Option<&'static [Argument]>,
    /// The size of its result in bytes, where that is known.
    pub result: Option<usize>,
}

macro_rules! known {
    (args ? $ret:tt) => {
        None
    };
    (args $args:tt $ret:tt) => {
        Some(arguments!($args))
    };
    (result ? $ret:tt) => {
        None
    };
    (result $args:tt $ret:tt) => {
        Some(size_of::<$ret>())
    };
}

macro_rules! majors {
    ([$($major:literal)*]) => {
        &[$($major),*]
    };
}

macro_rules! signatures {
    ($table:ident $($majors:tt [$($name:ident $(= $exported:ident)?)+] $args:tt -> $ret:tt;)*) => {
        /// One list per row.
        static $table: &[&[Signature]] = {
            use types::*;
            &[$(&[$(Signature {
                identifier: stringify!($name),
                name: exported_name!($name [$($exported)?]),
                majors: majors!($majors),
                args: known!(args $args $ret),
                result: known!(result $args $ret),
            }),+]),*]
        };
    };
}

macro_rules! driver_signatures {
    ($($names:tt $args:tt -> $ret:tt;)*) => {
        signatures! { ALL_DRIVER $([] $names $args -> $ret;)* }
    };
}

all_runtime_functions!(signatures ALL_RUNTIME);
all_driver_functions!(driver_signatures);

/// Every function that a libcudart exports, by form.
pub fn all_runtime() -> impl Iterator<Item = &'static Signature> {
    ALL_RUNTIME.iter().copied().flatten()
}

/// Every function that libcuda exports.
pub fn all_driver() -> impl Iterator<Item = &'static Signature> {
    ALL_DRIVER.iter().copied().flatten()
}

/// The first number of driver functions.
pub const DRIVER_BASE: u16 = 1024;

/// The first number of libomptarget's functions.
pub const OFFLOAD_BASE: u16 = 1792;

/// The first number of HIP's functions.
pub const HIP_BASE: u16 = 1888;

/// The function with number `id`, by which events refer to it.
pub fn function(id: u16) -> Option<&'static Function> {
    if let Some(hip) = id.checked_sub(HIP_BASE) {
        return HIP.get(usize::from(hip));
    }
    if let Some(offload) = id.checked_sub(OFFLOAD_BASE) {
        return OFFLOAD.get(usize::from(offload));
    }
    match id.checked_sub(DRIVER_BASE) {
        Some(driver) => DRIVER.get(usize::from(driver)),
        None => RUNTIME.get(usize::from(id)),
    }
}

const _: () = assert!(RUNTIME.len() < DRIVER_BASE as usize);
const _: () = assert!(DRIVER.len() < (OFFLOAD_BASE - DRIVER_BASE) as usize);
const _: () = assert!(OFFLOAD.len() < (HIP_BASE - OFFLOAD_BASE) as usize);
const _: () = assert!(HIP.len() < 2048 - HIP_BASE as usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_their_functions() {
        assert_eq!(function(Runtime::cudaMalloc as u16).map(|f| f.name), Some("cudaMalloc"));
        let id = DRIVER_BASE + Driver::cuLaunchKernel_ptsz as u16;
        assert_eq!(function(id).map(|f| f.name), Some("cuLaunchKernel_ptsz"));
        assert_eq!(RUNTIME[Runtime::cudaMemAdvise_12 as usize].name, "cudaMemAdvise");
        let id = OFFLOAD_BASE + Offload::__tgt_target_kernel as u16;
        assert_eq!(function(id).map(|f| f.name), Some("__tgt_target_kernel"));
        let id = HIP_BASE + Hip::hipExtModuleLaunchKernel as u16;
        assert_eq!(function(id).map(|f| f.name), Some("hipExtModuleLaunchKernel"));
        assert!(function(u16::MAX).is_none());
    }

    #[test]
    fn a_name_has_one_form_per_major() {
        let mut seen = std::collections::BTreeSet::new();
        for f in &RUNTIME {
            assert!(!f.majors.is_empty(), "{}", f.name);
            for major in f.majors {
                assert!(seen.insert((f.name, major)), "{} twice for {major}", f.name);
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        assert!(DRIVER.iter().chain(&OFFLOAD).chain(&HIP).all(|f| seen.insert(f.name)));
    }

    #[test]
    fn words_fit_an_event() {
        for f in RUNTIME.iter().chain(&DRIVER).chain(&OFFLOAD).chain(&HIP) {
            let words: usize = f.args.iter().map(|a| a.words).sum();
            assert!(words <= 16, "{} has {words} words", f.name);
            assert_eq!(f.spec().split(',').filter(|a| !a.is_empty()).count(), words);
        }
    }
}
