//! A library with a runtime inside, made by the compiler that is here: what is found in it, and that no
//! broken copy of it does harm.

use cushim_testkit::patch as fuzz;

use std::process::Command;

use cushim_patch::{Error, Exports, File, JUMP, Plan, Runtime, jump};

/// A small runtime 12: three functions of its interface, two that are nobody else's business, one that
/// the library offers under such a name, and device code.
const SOURCE: &str = r#"
#include <dlfcn.h>
#define HIDDEN __attribute__((visibility("hidden"), used))
__attribute__((section(".nvFatBinSegment"), used)) int wrapper[6] = {0x466243b1, 1};
HIDDEN void *__cudaRegisterFatBinary(void *w) { return w ? dlsym(dlopen("libcuda.so.1", 2), "cuInit") : w; }
HIDDEN int cudaGetDeviceProperties_v2(void) { return 2; }
static int __attribute__((used)) cudaMalloc(void) { return 3; }
HIDDEN int __cudart77(void) { return 4; }
HIDDEN int cudaHelperOfTheProgram(void) { return 5; }
int cudaOffered(void) { return 6; }
"#;

fn build(name: &str, source: &str, flags: &[&str]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.c"), dir.path().join(name));
    std::fs::write(&input, source).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC", "-O1", "-falign-functions=16"]).args(flags);
    let done = gcc.arg(&input).arg("-o").arg(&output).arg("-ldl").output().expect("gcc");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::read(output).unwrap()
}

fn names<'a>(functions: impl Iterator<Item = &'a [u8]>) -> Vec<&'a str> {
    let mut names: Vec<&str> = functions.map(|n| std::str::from_utf8(n).unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_runtime_and_its_plan() {
    let bytes = build("libruntime.so", SOURCE, &["-Wl,-soname,libruntime.so"]);
    let file = File::parse(&bytes).unwrap();
    let facts = file.facts();
    assert_eq!(facts.soname, Some(&b"libruntime.so"[..]));
    assert!(facts.registers && facts.opens_libraries && facts.has_symbols);
    assert!(!facts.wants_runtime && !facts.is_runtime && facts.may_have_runtime());
    let runtime = Runtime::find(&file, &facts, &file).unwrap().unwrap();
    assert_eq!(runtime.major, 12);
    assert_eq!(
        names(runtime.functions.iter().map(|f| f.name)),
        [
            "__cudaRegisterFatBinary",
            "cudaGetDeviceProperties_v2",
            "cudaHelperOfTheProgram",
            "cudaMalloc"
        ]
    );
    assert!(runtime.functions.iter().all(|f| f.room >= JUMP as u64), "{:?}", runtime.functions);

    let map = "libcudart.so.12 { global: cuda*; __cuda*; local: *; };";
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("map");
    std::fs::write(&script, map).unwrap();
    let script = format!("-Wl,--version-script,{}", script.display());
    let offered = "void __cudaRegisterFatBinary(void) {} void cudaMalloc(void) {} int cudaData;
        void cudaGetDeviceProperties_v2(void) {} int cushim_refused[4];";
    let bytes = build("libfront.so", offered, &[&script]);
    let front = File::parse(&bytes).unwrap();
    assert!(front.facts().is_runtime && !front.facts().may_have_runtime());
    assert!(Exports::of(&front, "libcudart.so.13").is_none());
    let exports = Exports::of(&front, "libcudart.so.12").unwrap();
    assert_eq!((exports.function(b"cudaData"), exports.function(b"cudaNone")), (None, None));
    assert_eq!(front.variable(b"cushim_refused"), None, "it is local");
    let target = |name: &[u8]| exports.function(name).map(|a| a + 0x7000_0000_0000);
    let plan = Plan::new(&file, &runtime, "libcudart.so.12", target).unwrap();
    let led = ["__cudaRegisterFatBinary", "cudaGetDeviceProperties_v2", "cudaMalloc"];
    assert_eq!(names(plan.patches.iter().map(|p| p.name)), led);
    assert_eq!(plan.flags, 5, "readable and executable");
    for patch in &plan.patches {
        assert_eq!(Some(patch.target), target(patch.name));
        assert_ne!(patch.before, jump(patch.target));
    }
    let nothing = Plan::new(&file, &runtime, "libcudart.so.12", |_| None);
    assert_eq!(nothing, Err(Error::NoTarget { node: "libcudart.so.12" }));
}

#[test]
fn stripped_and_none() {
    let stripped = build("libstripped.so", SOURCE, &["-s"]);
    let file = File::parse(&stripped).unwrap();
    let facts = file.facts();
    assert!(facts.may_have_runtime() && !facts.has_symbols);
    assert_eq!(Runtime::find(&file, &facts, &file), Err(Error::NoSymbols));
    let none = build(
        "libnone.so",
        "#include <dlfcn.h>\nvoid *f(char *n) { return dlsym(dlopen(n, 2), n); }",
        &[],
    );
    let file = File::parse(&none).unwrap();
    assert!(file.facts().may_have_runtime(), "only its symbols can tell");
    assert_eq!(Runtime::find(&file, &file.facts(), &file), Ok(None));
    assert!(File::parse(b"\x7fELF").is_err() && File::parse(&[]).is_err());
}

/// The archive of `source`, made by the tools that are here.
fn archive(source: &str, flags: &[&str]) -> Vec<u8> {
    let object = build("part.o", source, &[&["-c"], flags].concat());
    let header =
        format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "part.o/", 0, 0, 0, 644, object.len());
    [&b"!<arch>\n"[..], header.as_bytes(), &object].concat()
}

#[test]
fn the_archive_of_a_stripped_runtime() {
    // Long enough that it is found nowhere by accident.
    let long = "int grows(int n) { static volatile int at[2]; ".to_owned()
        + &"at[n] *= n + 77; ".repeat(400)
        + "return at[0]; }";
    let source = format!("{SOURCE}{long}");
    let whole = build("libwhole.so", &source, &[]);
    let stripped = build("libstripped.so", &source, &["-s"]);
    let (whole, stripped) = (File::parse(&whole).unwrap(), File::parse(&stripped).unwrap());
    let expected = Runtime::find(&whole, &whole.facts(), &whole).unwrap().unwrap();
    let same = archive(&source, &[]);
    let found = Runtime::of_archive(&stripped, &same).unwrap();
    let places = |runtime: &Runtime<'_>| -> Vec<(Vec<u8>, u64)> {
        runtime.functions.iter().map(|f| (f.name.to_vec(), f.address)).collect()
    };
    assert_eq!((found.major, places(&found)), (12, places(&expected)));
    assert!(found.functions.iter().all(|f| f.room >= JUMP as u64), "{:?}", found.functions);

    let other = archive(&source.replacen("n + 77", "n + 78", 1), &[]);
    assert_eq!(Runtime::of_archive(&stripped, &other), None, "one instruction differs");
    assert_eq!(Runtime::of_archive(&stripped, &archive(SOURCE, &[])), None, "too short");
    for cut in (0..same.len()).step_by(53) {
        let _ = Runtime::of_archive(&stripped, &same[..cut]);
    }
    for at in (0..0x200).chain(same.len().saturating_sub(0x1000)..same.len()) {
        let mut broken = same.clone();
        broken[at] = 0xff;
        fuzz::archive(&broken);
    }
}

/// Cut off anywhere, and each byte of the tables changed.
#[test]
fn broken_files() {
    let bytes = build("libruntime.so", SOURCE, &[]);
    for cut in (0..bytes.len()).step_by(97) {
        fuzz::object(&bytes[..cut]);
    }
    let tables = (0..0x400).chain(bytes.len().saturating_sub(0x1800)..bytes.len());
    for at in tables {
        for value in [0, 0x7f, 0xff] {
            let mut broken = bytes.clone();
            broken[at] = value;
            fuzz::object(&broken);
        }
    }
    fuzz::object(&bytes);
}
