//! A library with a static runtime, built by the installed compiler: its functions are found, and damaged copies do
//! no harm.

use cushim_testkit::{corpus, patch as fuzz};

use std::process::Command;

use cushim_patch::{Error, Exports, File, JUMP, Plan, Runtime, jump};

/// A small runtime 12: three functions of its interface, two unrelated ones, one that the library itself
/// exports under a runtime's name, and device code.
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

/// A file in an archive.
fn member(body: &[u8]) -> Vec<u8> {
    let header =
        format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "part.o/", 0, 0, 0, 644, body.len());
    [header.as_bytes(), body, if body.len() % 2 == 1 { b"\n" } else { b"" }].concat()
}

/// The archive of `source`, made by the installed tools.
fn archive(source: &str, flags: &[&str]) -> Vec<u8> {
    [b"!<arch>\n", member(&build("part.o", source, &[&["-c"], flags].concat())).as_slice()].concat()
}

/// A runtime with many functions: each interface function (`cudaNumbered…`) calls one of its own, whose code is unique.
/// `step` changes the interface's code, `longer` makes each function longer, `without` leaves one out, `more` adds code.
fn many(step: u32, longer: &str, without: usize, more: &str) -> String {
    let own = |n: usize| {
        let sums: String =
            (0..n % 7 + 2).map(|k| format!("at[n + {k}] *= n + {}; ", n * 31 + k)).collect();
        format!("NOINLINE int own{n}(int n) {{ {sums} return at[0]; }}\n")
    };
    let offered = |n: usize| {
        format!(
            "HIDDEN int cudaNumbered{n}(int n) {{ int all = shared(n, {step}); {longer}
             if (all > {n}) all += own{n}(n); return last(all + {step}); }}\n"
        )
    };
    let numbers = || (0..40).filter(|n| *n != without);
    format!(
        "{SOURCE}
        #define NOINLINE __attribute__((noinline, noipa, visibility(\"hidden\")))
        static volatile int at[64];
        NOINLINE int shared(int a, int b) {{ return at[a] + b; }} NOINLINE int last(int a) {{ return at[a]; }}
        {}{more}{}
        HIDDEN int behind(int a) {{ at[7] *= a + 123456; at[8] ^= a * 1234567; return at[9]; }}",
        numbers().map(own).collect::<String>(),
        numbers().map(offered).collect::<String>()
    )
}

/// The functions that the symbols of `whole` give, those that the archive gives for `stripped`, and those it does not find.
type Told = (Vec<(Vec<u8>, u64)>, Vec<(Vec<u8>, u64)>, Vec<String>);

fn told(source: &str, of: &str) -> Option<Told> {
    let (whole, stripped) =
        (build("libwhole.so", source, &[]), build("libstripped.so", source, &["-s"]));
    let (whole, stripped) = (File::parse(&whole).unwrap(), File::parse(&stripped).unwrap());
    let places = |runtime: &Runtime<'_>| -> Vec<(Vec<u8>, u64)> {
        runtime.functions.iter().map(|f| (f.name.to_vec(), f.address)).collect()
    };
    let expected = Runtime::find(&whole, &whole.facts(), &whole).unwrap().unwrap();
    let data = archive(of, &[]);
    let found = Runtime::of_archive(&stripped, &data)?;
    assert_eq!(found.major, 12);
    assert!(found.functions.iter().all(|f| f.room >= JUMP as u64), "{:?}", found.functions);
    let unknown = found.unknown.iter().map(|n| String::from_utf8_lossy(n).into_owned()).collect();
    Some((places(&expected), places(&found), unknown))
}

#[test]
fn the_archive_of_a_stripped_runtime() {
    let source = many(5, "", 99, "");
    let (expected, found, unknown) = told(&source, &source).unwrap();
    assert_eq!((found, unknown), (expected, vec![]));
    assert!(told(&source, SOURCE).is_none(), "too little to be no accident");
}

/// No function is ever found at another function's address, whatever differs.
#[test]
fn archives_of_near_versions() {
    let program = many(5, "", 99, "");
    for (name, near, found_all) in [
        ("another number in each function", many(6, "", 99, ""), true),
        ("each function is longer", many(5, "all ^= at[3] * 77; all |= at[5];", 99, ""), true),
        ("one function is not in the archive", many(5, "", 17, ""), true),
        (
            "one function of the archive is not in the program",
            many(6, "", 99, "HIDDEN int cudaLater(void) { return at[9]; }"),
            true,
        ),
    ] {
        let (expected, found, unknown) = told(&program, &near).unwrap_or_else(|| panic!("{name}"));
        for place in &found {
            assert!(expected.contains(place), "{name}: {place:?}");
        }
        let named = |list: &[(Vec<u8>, u64)]| {
            list.iter().filter(|f| f.0.starts_with(b"cudaNumbered")).count()
        };
        let all = if name.ends_with("in the archive") { 39 } else { 40 };
        if found_all {
            assert_eq!((named(&found), unknown.len()), (all, 0), "{name}: {unknown:?}");
        }
    }
    // Two functions in the other order.
    let begin = |n: usize| program.find(&format!("HIDDEN int cudaNumbered{n}(")).unwrap();
    let (three, four, five) = (begin(3), begin(4), begin(5));
    let parts = [&program[..three], &program[four..five], &program[three..four], &program[five..]];
    for near in [&program, &many(6, "", 99, "")] {
        let (expected, found, _) = told(&parts.concat(), near).unwrap();
        assert!(found.iter().all(|place| expected.contains(place)));
    }
    // A function that was replaced by another, and no difference elsewhere shows it.
    let other = program.replace("own17(n); return last", "own18(n) * own19(n); return own20");
    if let Some((expected, found, _)) = told(&other, &program) {
        assert!(found.iter().all(|place| expected.contains(place)));
    }
}

#[test]
fn broken_archives() {
    let source = many(5, "", 99, "");
    let stripped = build("libstripped.so", &many(6, "", 99, ""), &["-s"]);
    let both = [archive(&source, &[]), member(&stripped)].concat();
    let file = File::parse(&stripped).unwrap();
    for cut in (0..both.len()).step_by(4001) {
        let _ = Runtime::of_archive(&file, &both[..cut]);
    }
    let tables = (0..0x100).chain((0x100..both.len()).step_by(397));
    for at in tables.filter(|at| both[*at] != 0xff) {
        let mut broken = both.clone();
        broken[at] = 0xff;
        fuzz::archive(&broken);
    }
}

/// Inputs with which fuzzing once found a fault.
#[test]
fn regressions() {
    corpus::regressions("patch_archive", fuzz::archive);
    corpus::regressions("patch_object", fuzz::object);
}

/// Files that are cut off anywhere, and files with each byte of the tables changed.
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

/// A library without device code that calls CUDA: imports and text identify its runtime.
#[test]
fn stripped_and_without_device_code() {
    let source = |name: &str| {
        format!(
            "#include <dlfcn.h>\n#include <fcntl.h>\n#include <sys/mman.h>\nconst char *error(int n) {{ return n ? \"{name}\" : \"\"; }}\n\
             void *f(char *n) {{ shm_open(n, O_RDWR, 0); return dlsym(dlopen(n, 2), n); }}"
        )
    };
    let build = |out: &str, name: &str, options: &[&str]| build(out, &source(name), options);
    let hidden = build("libhidden.so", "cudaErrorCudartUnloading", &["-s"]);
    let file = File::parse(&hidden).unwrap();
    let facts = file.facts();
    assert!(facts.looks_like_runtime && !facts.registers && facts.may_have_runtime());
    assert_eq!(Runtime::find(&file, &facts, &file), Err(Error::NoSymbols));
    let other = build("libshares.so", "another error", &["-s"]);
    let facts = File::parse(&other).map(|file| file.facts().may_have_runtime());
    assert_eq!(facts, Ok(false), "no text of a runtime");
    let own = build("libkept.so", "cudaErrorCudartUnloading", &[]);
    let file = File::parse(&own).unwrap();
    assert!(!file.facts().looks_like_runtime, "its symbols can tell");
    assert_eq!(Runtime::find(&file, &file.facts(), &file), Ok(None));
}

/// Every look-up of a name reads the name to its end: a crafted file whose sections share a name of megabytes once
/// took quadratic time.
#[test]
fn sections_with_a_name_of_any_length() {
    let with_name = |length: usize| {
        let mut data = vec![0; 192];
        data[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        let mut put = |at: usize, bytes: &[u8]| data[at..at + bytes.len()].copy_from_slice(bytes);
        put(16, &[3, 0, 62, 0, 1]);
        // The section table follows the header; the second of two sections holds the names.
        put(40, &64u64.to_le_bytes());
        put(52, &[64, 0]);
        put(58, &[64, 0, 2, 0, 1, 0]);
        put(128 + 4, &3u32.to_le_bytes());
        put(128 + 24, &192u64.to_le_bytes());
        put(128 + 32, &(length as u64 + 2).to_le_bytes());
        data.extend([&[0][..], &vec![b'n'; length], &[0]].concat());
        data
    };
    assert!(File::parse(&with_name(4096)).is_ok());
    let Err(error) = File::parse(&with_name(4097)) else { panic!("it is read") };
    assert!(error.to_string().contains("more than 4096 bytes"), "{error}");
}
