//! Every hooked function, argument by argument. A library that echoes arguments is generated from the tables
//! of `cushim_abi`, with a program that calls each function with a different value in every argument. The
//! arguments that arrive, and those in the trace, must be these values, in full width.
//!
//! `headers` checks that the tables agree with NVIDIA's headers.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use cushim_abi::{Argument, Class, DRIVER, Function, RUNTIME, runtime_node};

use crate::lab::{How, Lab, cudart};
use crate::trace::Recorded;

/// The runtime's major; `None` for the driver.
type Face = Option<u32>;

fn functions(face: Face) -> Vec<&'static Function> {
    match face {
        Some(major) => RUNTIME.iter().filter(|f| f.majors.contains(&major)).collect(),
        None => DRIVER.iter().collect(),
    }
}

/// The C type of an argument, and the C expression of each of its words.
fn c_type(arg: &Argument, at: usize) -> (&'static str, Vec<String>) {
    let name = format!("a{at}");
    let fields = |names: &[&str]| names.iter().map(|f| format!("{name}.{f}")).collect();
    let plain = |ty| (ty, vec![name.clone()]);
    match (arg.size, arg.shape.word()) {
        (1, _) => plain("unsigned char"),
        (2, _) => plain("unsigned short"),
        (4, "int" | "memcpykind" | "device") => plain("int"),
        (4, _) => plain("unsigned"),
        (8, "value") => ("struct location", vec![format!("pack({name})")]),
        (8, _) => plain("unsigned long"),
        (12, _) => ("struct dim3", fields(&["x", "y", "z"])),
        (24, _) => ("struct extent", fields(&["x", "y", "z"])),
        (32, _) => ("struct pitched", fields(&["p", "x", "y", "z"])),
        (size, shape) => panic!("{}: {size} bytes of {shape}", arg.name),
    }
}

/// Whether CUDA or the shim may read through the pointer: the argument then points to zeros.
fn is_address(arg: &Argument) -> bool {
    arg.out || arg.size == 8 && !matches!(arg.shape.word(), "size" | "u64" | "flags" | "value")
}

/// A different value for every word.
fn value(arg: &Argument, at: usize, word: usize) -> u64 {
    let n = (at * 16 + word + 1) as u64;
    match (arg.size, arg.shape.word()) {
        (1, _) => 0xe0 + n % 16,
        (2, _) => 0xfe00 + n,
        (4, "int" | "memcpykind" | "device") => (-1000 - n as i64) as u64,
        (4, _) | (12, _) => 0x8000_1000 + n,
        _ => 0xfedc_ba98_0000_0000 + n,
    }
}

const COMMON: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct dim3 { unsigned x, y, z; };
struct extent { unsigned long x, y, z; };
struct pitched { unsigned long p, x, y, z; };
struct location { int type, id; };
static inline unsigned long pack(struct location l) { return (unsigned)l.type | (unsigned long)(unsigned)l.id << 32; }
static inline void say(int fd, const char *name, int n, const unsigned long *words) {
    char line[600];
    int at = snprintf(line, sizeof line, "%s", name);
    for (int i = 0; i < n; i++) at += snprintf(line + at, sizeof line - at, " %lx", words[i]);
    line[at++] = '\n';
    if (write(fd, line, at) != at) abort();
}
"#;

fn signature(f: &Function, with_names: bool) -> String {
    let arg = |(i, a): (usize, &Argument)| {
        let name = if with_names { format!(" a{i}") } else { String::new() };
        format!("{}{name}", c_type(a, i).0)
    };
    let args: Vec<String> = f.args.iter().enumerate().map(arg).collect();
    format!(
        "long {}({})",
        f.name,
        if args.is_empty() { "void".to_owned() } else { args.join(", ") }
    )
}

/// The value that a successful call writes to out argument `at`.
fn written(at: usize) -> u64 {
    0xabcd_0000_0000_0000 + at as u64
}

fn library_source(functions: &[&Function]) -> String {
    let mut c = COMMON.to_owned();
    c.push_str(
        "static int fd(void) { static int fd = -1; if (fd < 0) fd = open(getenv(\"ECHO\"), O_WRONLY | O_APPEND | O_CREAT, 0600); return fd; }\n\
         static long status(void) { const char *s = getenv(\"ECHO_STATUS\"); return s ? atol(s) : 0; }\n",
    );
    for f in functions {
        let words: Vec<String> = f
            .args
            .iter()
            .enumerate()
            .flat_map(|(i, a)| c_type(a, i).1)
            .map(|w| format!("(unsigned long)({w})"))
            .collect();
        let _ = writeln!(c, "{} {{", signature(f, true));
        let _ = writeln!(
            c,
            "    unsigned long words[] = {{{}}};",
            if words.is_empty() { "0".to_owned() } else { words.join(", ") }
        );
        let _ = writeln!(c, "    say(fd(), \"{}\", {}, words);", f.name, words.len());
        for (i, _) in f.args.iter().enumerate().filter(|(_, a)| a.out) {
            let _ = writeln!(c, "    if (!status()) *(unsigned long *)a{i} = {:#x};", written(i));
        }
        c.push_str("    return status();\n}\n");
    }
    c
}

fn program_source(functions: &[&Function]) -> String {
    let mut c = COMMON.to_owned();
    c.push_str("static char zeros[1 << 16] __attribute__((aligned(4096)));\nstatic char same[1 << 16];\nint main(void) {\n");
    c.push_str("    int failing = getenv(\"ECHO_STATUS\") != NULL;\n");
    for f in functions {
        let _ = writeln!(c, "    {{ extern {};", signature(f, false));
        for (i, arg) in f.args.iter().enumerate() {
            let (ty, words) = c_type(arg, i);
            let text = |word: usize| match is_address(arg) {
                true => format!("(unsigned long)zeros + {}", 2048 + i * 1024),
                false => format!("{:#x}", value(arg, i, word)),
            };
            let _ = match ty {
                "struct location" => writeln!(
                    c,
                    "      {ty} a{i} = {{{:#x}, {:#x}}};",
                    i + 0x7654_0000,
                    i + 0x1234_0000
                ),
                _ if words.len() > 1 => {
                    let all: Vec<String> = (0..words.len()).map(text).collect();
                    writeln!(c, "      {ty} a{i} = {{{}}};", all.join(", "))
                }
                _ => writeln!(c, "      {ty} a{i} = ({ty})({});", text(0)),
            };
        }
        let words: Vec<String> = f
            .args
            .iter()
            .enumerate()
            .flat_map(|(i, a)| c_type(a, i).1)
            .map(|w| format!("(unsigned long)({w})"))
            .collect();
        let names: Vec<String> = (0..f.args.len()).map(|i| format!("a{i}")).collect();
        let _ = writeln!(
            c,
            "      unsigned long words[] = {{{}}};",
            if words.is_empty() { "0".to_owned() } else { words.join(", ") }
        );
        let _ = writeln!(c, "      say(1, \"{}\", {}, words);", f.name, words.len());
        let _ = writeln!(c, "      (void){}({});", f.name, names.join(", "));
        let _ = writeln!(
            c,
            "      if (failing && memcmp(zeros, same, sizeof same)) {{ puts(\"{} wrote\"); return 1; }}",
            f.name
        );
        c.push_str("      memset(zeros, 0, sizeof zeros); }\n");
    }
    c.push_str("    return 0;\n}\n");
    c
}

fn build(lab: &Lab, face: Face) -> PathBuf {
    let functions = functions(face);
    let (name, map) = match face {
        Some(major) => (
            cudart(major),
            format!("{} {{ global: cuda*; __cuda*; local: *; }};", runtime_node(major as usize)),
        ),
        None => ("libcuda.so.1", "{ global: cu*; local: *; };".to_owned()),
    };
    let write = |file: &str, text: &str| {
        std::fs::write(lab.path(file), text).unwrap();
        lab.path(file).to_str().unwrap().to_owned()
    };
    let library = write("library.c", &library_source(&functions));
    let map = format!("-Wl,--version-script,{},-soname,{name}", write("library.map", &map));
    lab.build(name, &library, &["-O0", "-shared", "-fPIC", &map]);
    let program = write("program.c", &program_source(&functions));
    let (folder, link) = (format!("-L{}", lab.path("").display()), format!("-l:{name}"));
    lab.build("program", &program, &["-O0", "-no-pie", &folder, &link])
}

/// Not recorded on purpose: the launch shows everything, and a runtime asks for hundreds of names.
fn is_silent(function: &str) -> bool {
    function.ends_with("CallConfiguration") || function.starts_with("cuGetProcAddress")
}

/// Whether the function's result is not a status.
fn has_no_status(function: &str) -> bool {
    function.starts_with("__cudaRegister")
        || function.starts_with("__cudaUnregister")
        || function == "__cudaInitModule"
}

/// First all calls succeed, then all fail: their outputs stay unwritten, and the trace has their statuses.
/// A trace of launches alone has the failed calls of all kinds, but of the successful ones only launches.
fn check(face: Face) {
    let lab = Lab::new();
    let program = build(&lab, face);
    run(&lab, &program, face, None, "all");
    run(&lab, &program, face, Some(719), "all");
    run(&lab, &program, face, Some(719), "launch");
    run(&lab, &program, face, None, "launch");
}

fn run(lab: &Lab, program: &Path, face: Face, status: Option<i32>, classes: &str) {
    let echo = lab.path(&format!("echo-{classes}-{status:?}"));
    let mut how = How::shim()
        .with("LD_LIBRARY_PATH", lab.path("").to_str().unwrap())
        .with("ECHO", echo.to_str().unwrap())
        .with("CUSHIM_EVENTS", classes);
    if let Some(status) = status {
        how = how.with("ECHO_STATUS", status.to_string());
    }
    let ran = lab.run(program, &[], &how);
    assert_eq!(ran.end, "exit 0", "{} {}", ran.stdout.lines().last().unwrap_or(""), ran.stderr);
    let arrived = std::fs::read_to_string(&echo).unwrap();
    for (sent, arrived) in ran.stdout.lines().zip(arrived.lines()) {
        assert_eq!(sent, arrived, "sent and arrived");
    }
    assert_eq!(ran.stdout.lines().count(), arrived.lines().count());

    let trace = &ran.traces[0];
    assert!(trace.is_whole());
    let expected = ran.stdout.lines().zip(functions(face)).filter(|(_, f)| !is_silent(f.name));
    let is_wanted = |function: &Function| match (classes, status) {
        ("all", _) => true,
        (_, Some(_)) => !has_no_status(function.name),
        (_, None) => function.class == Class::launch,
    };
    let expected: Vec<_> = expected.filter(|(_, f)| is_wanted(f)).collect();
    assert!(!expected.is_empty());
    let names = |calls: &[Recorded]| calls.iter().map(|c| c.function.clone()).collect::<Vec<_>>();
    let expected_names: Vec<_> = expected.iter().map(|(_, f)| f.name.to_owned()).collect();
    let multi = |name: &String| !name.contains("MultiDevice");
    let recorded: Vec<Recorded> =
        trace.calls.iter().filter(|c| multi(&c.function)).cloned().collect();
    assert_eq!(expected_names.into_iter().filter(multi).collect::<Vec<_>>(), names(&recorded));
    let expected = expected.iter().filter(|(_, f)| multi(&f.name.to_owned()));
    for ((sent, function), call) in expected.zip(&recorded) {
        let asked = if has_no_status(function.name) { 0 } else { status.unwrap_or(0) };
        assert_eq!(call.status, Some(asked), "{}", function.name);
        if call.launch.is_some() {
            continue;
        }
        let mut words: Vec<u64> =
            sent.split(' ').skip(1).map(|w| u64::from_str_radix(w, 16).unwrap()).collect();
        let mut at = 0;
        for (i, arg) in function.args.iter().enumerate() {
            if arg.out && asked == 0 {
                words[at] = written(i);
            }
            at += arg.words;
        }
        assert_eq!(words, call.words, "words of {}", function.name);
    }
}

#[test]
fn runtime_11() {
    check(Some(11));
}

#[test]
fn runtime_12() {
    check(Some(12));
}

#[test]
fn runtime_13() {
    check(Some(13));
}

#[test]
fn driver() {
    check(None);
}
