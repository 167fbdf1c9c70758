//! `cushim doctor` on programs that use CUDA in every way; the CUDA functions are empty.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::support::{Bench, Done};

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"))
}

fn examine(bench: &Bench, program: &str) -> (i32, Value) {
    let done = bench.run(&["doctor", "--json", program]);
    (done.code(), json(&done))
}

fn verdict<'a>(findings: &'a Value, feature: &str) -> &'a str {
    let features = findings["features"].as_array().unwrap();
    let found = features.iter().find(|f| f["name"] == feature);
    found.and_then(|f| f["verdict"].as_str()).unwrap_or_else(|| panic!("no {feature}: {findings}"))
}

fn obstacles(findings: &Value) -> Vec<(&str, bool)> {
    let listed = findings["obstacles"].as_array().unwrap();
    listed.iter().map(|o| (o["name"].as_str().unwrap(), o["blocks"].as_bool().unwrap())).collect()
}

fn blocks(bench: &Bench, program: &str, obstacle: &str) {
    let (code, findings) = examine(bench, program);
    assert_eq!(code, 1, "{findings}");
    assert!(obstacles(&findings).contains(&(obstacle, true)), "{findings}");
    assert_eq!(verdict(&findings, "kernel launches"), "no");
    let done = bench.run(&["doctor", program]);
    assert!(done.stdout.lines().last().unwrap().starts_with("Tracing is blocked: "), "{done:?}");
}

const RUNTIME: &str = "int cudaLaunchKernel(void) { return 0; } \
                       void *__cudaRegisterFatBinary(void *p) { return p; }";
const USER: &str = "__attribute__((section(\".nv_fatbin\"))) char image[512] = {1}; \
                    int cudaLaunchKernel(void); int main(void) { return cudaLaunchKernel(); }";

#[test]
fn a_shared_runtime_by_every_way_to_find_it() {
    let bench = Bench::new();
    fs::create_dir(bench.path("lib")).unwrap();
    let soname = "-Wl,-soname,libcudart.so.12";
    bench.compile("lib/libcudart.so.12", RUNTIME, &["-shared", "-fPIC", soname]);
    let library = "lib/libcudart.so.12";
    for (name, flag) in [
        ("runpath", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib"),
        ("rpath", "-Wl,--disable-new-dtags,-rpath,${ORIGIN}/lib"),
    ] {
        bench.compile(name, USER, &[library, flag]);
        let (code, findings) = examine(&bench, &format!("./{name}"));
        assert_eq!(code, 0, "{findings}");
        let [code, runtime] = &findings["cuda"].as_array().unwrap()[..] else {
            panic!("{findings}")
        };
        assert_eq!((&code["what"], &code["device_code"]), (&"device-code".into(), &512.into()));
        assert_eq!((&runtime["what"], &runtime["major"]), (&"shared-runtime".into(), &12.into()));
        assert_eq!(verdict(&findings, "memory, copies, streams, synchronisation"), "yes");
    }
    bench.compile("plain", USER, &[library]);
    blocks(&bench, "./plain", "missing library");
    let mut command = bench.cushim(&["doctor", "./plain"]);
    let done = bench.start(command.env("LD_LIBRARY_PATH", bench.path("lib"))).done();
    assert!(done.code() == 0 && done.stdout.contains("shared runtime 12"), "{done:?}");
}

#[test]
fn rpath_serves_what_a_library_needs_too_and_runpath_does_not() {
    let bench = Bench::new();
    fs::create_dir(bench.path("lib")).unwrap();
    let soname = |name: &str| format!("-Wl,-soname,{name}");
    bench.compile(
        "lib/libcudart.so.11.0",
        RUNTIME,
        &["-shared", "-fPIC", &soname("libcudart.so.11.0")],
    );
    let middle = "int cudaLaunchKernel(void); int middle(void) { return cudaLaunchKernel(); }";
    let flags = ["-shared", "-fPIC", "lib/libcudart.so.11.0", &soname("libmiddle.so")];
    bench.compile("lib/libmiddle.so", middle, &flags);
    let user = "int middle(void); int main(void) { return middle(); }";
    for (tag, code) in [("--disable-new-dtags", 0), ("--enable-new-dtags", 1)] {
        let flag = format!("-Wl,{tag},--allow-shlib-undefined,-rpath,$ORIGIN/lib");
        bench.compile("app", user, &["lib/libmiddle.so", &flag]);
        let (found, findings) = examine(&bench, "./app");
        assert_eq!(found, code, "{tag}: {findings}");
        assert_eq!(findings["cuda"][0]["major"], 11);
    }
}

#[test]
fn a_static_runtime_is_told_from_its_symbols() {
    let bench = Bench::new();
    let runtime = |more: &str| {
        format!(
            "#define HIDDEN __attribute__((visibility(\"hidden\"), used))
             HIDDEN int __cudaRegisterFatBinary(void) {{ return 0; }} {more}
             int main(void) {{ return __cudaRegisterFatBinary(); }}"
        )
    };
    for (major, more) in [
        (11, "HIDDEN void __cudaRegisterTexture(void) {}"),
        (12, "HIDDEN void cudaGetDeviceProperties_v2(void) {}"),
        (13, "HIDDEN void __cudaLaunchKernel(void) {}"),
    ] {
        bench.compile("app", &runtime(more), &[]);
        let (code, findings) = examine(&bench, "./app");
        assert_eq!(code, 0, "{findings}");
        let part = &findings["cuda"][0];
        assert_eq!((&part["what"], &part["in_program"]), (&"static-runtime".into(), &true.into()));
        assert_eq!(part["major"], major, "{findings}");
        assert_eq!(verdict(&findings, "kernel launches"), "yes");
        assert_eq!(verdict(&findings, "memory, copies, streams, synchronisation"), "partly");
    }
}

#[test]
fn a_stripped_static_runtime_in_a_library_is_told_from_its_strings() {
    let bench = Bench::new();
    let source = r#"
        const char *names[] = {"libcuda.so.1", "cuGetProcAddress_v2", "cuLibraryLoadData"};
        __attribute__((section(".nvFatBinSegment"))) int wrapper[6] = {0x466243b1, 1};
        __attribute__((section(".nv_fatbin"))) char image[2048] = {1};
        const char **inside(void) { return names; }"#;
    bench.compile("libinside.so", source, &["-shared", "-fPIC", "-s", "-O1"]);
    let user = "void *inside(void); int main(void) { return inside() == 0; }";
    bench.compile("app", user, &["libinside.so", "-Wl,-rpath,$ORIGIN"]);
    let (code, findings) = examine(&bench, "./app");
    assert_eq!(code, 0, "{findings}");
    let part = &findings["cuda"][0];
    assert_eq!(
        (&part["what"], &part["major"]),
        (&"static-runtime".into(), &13.into()),
        "{findings}"
    );
    assert_eq!((&part["in_program"], &part["stripped"]), (&false.into(), &true.into()));
    assert_eq!(part["device_code"], 2048);
    let (_, alone) = examine(&bench, "./libinside.so");
    assert_eq!(alone["cuda"][0]["what"], "static-runtime", "{alone}");
}

#[test]
fn where_the_symbols_of_a_stripped_runtime_are() {
    let bench = Bench::new();
    bench.backends();
    let source = r#"
        #define INSIDE __attribute__((visibility("hidden"), noinline, used))
        const char *names[] = {"libcuda.so.1", "cuGetProcAddress_v2", "cuLibraryLoadData"};
        __attribute__((section(".nvFatBinSegment"))) int wrapper[6] = {0x466243b1, 1};
        INSIDE void *__cudaRegisterFatBinary(void *p) { return p; }
        INSIDE int __cudaLaunchKernel(int p) { return p + 1; }
        int main(int n, char **a) { return __cudaRegisterFatBinary(names + n) == a; }"#;
    let tool = |name: &str, args: &[&str]| {
        let all = args.iter().map(|a| bench.path(a));
        assert!(std::process::Command::new(name).args(all).status().unwrap().success(), "{name}");
    };
    for id in ["-Wl,--build-id=sha1", "-Wl,--build-id=none"] {
        bench.compile("whole", source, &["-O1", id]);
        bench.compile("other", &source.replace("p + 1", "p * p * p ^ 77"), &["-O1", id]);
        fs::copy(bench.path("whole"), bench.path("app")).unwrap();
        tool("strip", &["app"]);
        let ask = |more: &[&str]| {
            let asked = [&["doctor", "--json", "--backend", "cpu"], more, &["./app"]].concat();
            let done = bench.run(&asked);
            let found = json(&done);
            assert_eq!(u8::try_from(done.code()), Ok(u8::from(found["cpu"]["starts"] == false)));
            (found["cpu"]["why"].as_array().unwrap().clone(), obstacles(&found).len())
        };
        let (why, lost) = ask(&[]);
        assert!(why[0].as_str().unwrap().ends_with("need them (--symbols FILE)"), "{why:?}");
        let (why, _) = ask(&["--symbols", "other"]);
        assert!(why[0].as_str().unwrap().ends_with("--symbols belongs to it"), "{why:?}");
        for named in ["whole", "other:whole"] {
            assert_eq!(ask(&["--symbols", named]), (vec![], lost - 1), "{named}");
        }
        // The debug file, found by the debuglink convention.
        fs::create_dir_all(bench.path(".debug")).unwrap();
        let program = bench.path("app");
        let link = format!("--add-gnu-debuglink={}", bench.path("whole").display());
        let linked = std::process::Command::new("objcopy").arg(link).arg(&program).status();
        assert!(linked.unwrap().success());
        fs::rename(bench.path("whole"), bench.path(".debug/whole")).unwrap();
        assert_eq!(ask(&[]), (vec![], lost - 1));
    }
    // `doctor` refuses a file without symbols, as `run` does.
    bench.compile("bare", "int main(void) { return 0; }", &["-s"]);
    let done = bench.run(&["doctor", "--symbols", "bare", "./app"]);
    assert_eq!(done.code(), 125, "{done:?}");
    assert!(done.stderr.contains("a file without symbols"), "{done:?}");
}

#[test]
fn a_driver_that_is_loaded_by_an_absolute_path() {
    let bench = Bench::new();
    let source = r#"#include <dlfcn.h>
        int main(void) { return dlopen("/opt/x/libcuda.so.1", RTLD_NOW) == 0; }"#;
    bench.compile("app", source, &["-ldl"]);
    let (code, findings) = examine(&bench, "./app");
    assert_eq!((code, &findings["cuda"][0]["what"]), (0, &"driver-loaded".into()), "{findings}");
    assert!(obstacles(&findings).contains(&("absolute path", false)), "{findings}");
}

#[test]
fn what_cannot_be_preloaded_blocks() {
    let bench = Bench::new();
    let empty = "int main(void) { return 0; }";
    bench.compile("static", empty, &["-static"]);
    blocks(&bench, "./static", "static");
    bench.compile("static-pie", empty, &["-static-pie", "-fPIE"]);
    blocks(&bench, "./static-pie", "static");
    bench.compile("musl", empty, &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"]);
    blocks(&bench, "./musl", "libc");
    bench.compile("elsewhere", empty, &["-Wl,--dynamic-linker=/no/such/ld-linux-x86-64.so.2"]);
    blocks(&bench, "./elsewhere", "loader");
    let program = bench.compile("plain", empty, &[]);
    let mut bytes = fs::read(&program).unwrap();
    bytes[18] = 183;
    fs::write(bench.path("arm"), bytes).unwrap();
    blocks(&bench, "./arm", "architecture");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    blocks(&bench, "./plain", "mode");
    let done = bench.start(bench.cushim(&["doctor"]).env("CUSHIM_LIB", "/no/such.so")).done();
    assert_eq!(done.code(), 1, "{done:?}");
}

#[test]
fn a_setuid_program_of_somebody_else_blocks() {
    // Root uses a file of another user; other users use a program of root's.
    let bench = Bench::new();
    let program = bench.compile("app", "int main(void) { return 0; }", &[]);
    // SAFETY: geteuid takes nothing and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let setuid = if root {
        std::os::unix::fs::chown(&program, Some(1), None).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
        program.display().to_string()
    } else {
        let known = ["/usr/bin/su", "/bin/su", "/usr/bin/passwd", "/usr/bin/mount"];
        known.into_iter().find(|p| Path::new(p).exists()).expect("a setuid program").to_owned()
    };
    blocks(&bench, &setuid, "privileges");
}

#[test]
fn a_script_is_followed_to_what_runs_it() {
    let bench = Bench::new();
    let app = bench.compile("app", "int main(void) { return 0; }", &[]);
    let script = bench.path("script");
    fs::write(&script, format!("#!{} -x\n", app.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let (code, findings) = examine(&bench, "./script");
    assert_eq!(code, 0, "{findings}");
    assert_eq!(findings["program"]["path"], app.to_str().unwrap());
    assert_eq!(findings["program"]["script"], "./script");
    fs::write(&script, "#!/usr/bin/env -S sh -e\n").unwrap();
    let (_, findings) = examine(&bench, "./script");
    assert!(findings["program"]["path"].as_str().unwrap().ends_with("/sh"), "{findings}");
    fs::write(bench.path("loop"), format!("#!{}\n", bench.path("loop").display())).unwrap();
    assert_eq!(bench.run(&["doctor", "./loop"]).code(), 125);
}

#[test]
fn who_else_interposes_is_named() {
    let bench = Bench::new();
    let hook = "void *dlsym(void *h, const char *n) { (void)h; (void)n; return 0; }";
    let hook = bench.compile("libhook.so", hook, &["-shared", "-fPIC"]);
    let asan = bench.compile("libasan.so.8", "void __asan_init(void) {}", &["-shared", "-fPIC"]);
    bench.compile("app", "int main(void) { return 0; }", &[]);
    let mut command = bench.cushim(&["doctor", "--json", "./app"]);
    command.env("LD_PRELOAD", format!("{} {}", asan.display(), hook.display()));
    let done = bench.start(&mut command).done();
    let findings = json(&done);
    let listed = findings["interposers"].as_array().unwrap();
    let why = |file: &Path| {
        let found = listed.iter().find(|i| i["file"] == file.to_str().unwrap());
        found.and_then(|i| i["why"].as_str()).unwrap_or_else(|| panic!("{findings}"))
    };
    assert!(why(&hook).contains("dlsym") && why(&asan).contains("AddressSanitizer"), "{findings}");
}

#[test]
fn anything_else_is_a_clear_error() {
    let bench = Bench::new();
    fs::write(bench.path("text"), "hello").unwrap();
    fs::write(bench.path("empty"), "").unwrap();
    fs::write(bench.path("magic"), b"\x7fELF").unwrap();
    for name in ["./text", "./empty", "./magic", "./none", "none-on-path", "/dev/null", "."] {
        let done = bench.run(&["doctor", name]);
        assert_eq!((done.code(), done.stdout.as_str()), (125, ""), "{name}: {done:?}");
        assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
    }
}

#[test]
fn damaged_files_never_panic() {
    let bench = Bench::new();
    let program = bench.compile("app", USER.replace("cudaLaunchKernel()", "0").as_str(), &["-s"]);
    let whole = fs::read(&program).unwrap();
    let read = |bytes: &[u8]| cushim_cli::doctor::elf::parse(Path::new("x"), bytes).is_ok();
    assert!(read(&whole));
    for cut in (0..whole.len()).step_by(7) {
        let _ = read(&whole[..cut]);
    }
    // Each byte of the headers, and pseudo-random bytes elsewhere, set to edge values.
    let mut seed = 1u64;
    for round in 0..4000usize {
        let mut bytes = whole.clone();
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let at = if round < 1024 { round } else { (seed >> 33) as usize % bytes.len() };
        let at = at.min(bytes.len() - 1);
        for value in [0, 1, 0x7f, 0xff] {
            bytes[at] = value;
            let _ = read(&bytes);
        }
    }
}

/// A library whose device code is these fat binaries, one after another.
fn with_images(bench: &Bench, name: &str, fatbins: &[Vec<u8>], source: &str, flags: &[&str]) {
    with_images_in(".nv_fatbin", bench, name, fatbins, source, flags);
}

fn with_images_in(
    section: &str,
    bench: &Bench,
    name: &str,
    fatbins: &[Vec<u8>],
    source: &str,
    flags: &[&str],
) {
    let mut bytes = Vec::new();
    for fatbin in fatbins {
        bytes.extend(fatbin);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    fs::write(bench.path(&format!("{name}.fatbin")), bytes).unwrap();
    let section = format!(".pushsection {section},\\\"a\\\"\\n.balign 8\\n.incbin");
    let code = format!("__asm__(\"{section} \\\"{name}.fatbin\\\"\\n.popsection\"); {source}");
    bench.compile(name, &code, flags);
}

/// Units linked with NVIDIA's device runtime: the host implements its calls, and its kernels do not count.
fn device_runtime(bench: &Bench, cpu: &dyn Fn(i32) -> Value, ptx: &dyn Fn(&str) -> Vec<u8>) {
    let launch = "__cudaCDP2LaunchDeviceV2";
    let kernel = format!(
        ".extern .func (.param .b32 r) {launch}(.param .b64 a, .param .b64 b);\n.visible .entry parent() {{\n\
         .reg .b32 %r<2>; .reg .b64 %d<2>;\n.param .b64 a; .param .b64 b; .param .b32 r;\nmov.u64 %d1, 0;\n\
         st.param.b64 [a], %d1; st.param.b64 [b], %d1;\ncall (r), {launch}, (a, b);\nret; }}"
    );
    let library = format!(
        ".extern .func __cuda_syscall_something();\n.visible .func (.param .b32 r) {launch}(.param .b64 a, .param .b64 b)\n\
         {{ call __cuda_syscall_something; ret; }}\n.visible .entry of_the_library() {{ ret; }}"
    );
    let units = [ptx(&kernel), ptx(&library)];
    with_images_in("__nv_relfatbin", bench, "app", &units, "int main(void) { return 0; }", &[]);
    let found = cpu(0);
    assert_eq!((&found["kernels"], &found["runs"]), (&1.into(), &1.into()), "{found}");
}

/// Libraries with machine code only; and a missing runtime, which the backend brings.
fn libraries(bench: &Bench, cpu: &dyn Fn(i32) -> Value, machine: &[u8], good: &[u8]) {
    with_images(bench, "libmachine.so", &[machine.to_vec()], "int f;", &["-shared", "-fPIC"]);
    let soname = "-Wl,-soname,libcudart.so.12";
    bench.compile("libcudart.so.12", RUNTIME, &["-shared", "-fPIC", soname]);
    let flags = ["-Wl,--no-as-needed", "./libmachine.so", "libcudart.so.12"];
    with_images(bench, "app", &[good.to_vec()], "int main(void) { return 0; }", &flags);
    fs::remove_file(bench.path("libcudart.so.12")).unwrap();
    let found = cpu(1);
    assert_eq!((&found["starts"], &found["runs"]), (&true.into(), &1.into()), "{found}");
    assert_eq!(found["files"][1]["machine_code_only"], true);
    fs::remove_file(bench.path("libmachine.so")).unwrap();
    let found = cpu(1);
    assert_eq!(found["starts"], false);
    assert!(found["why"][0].as_str().unwrap().contains("libmachine.so"), "{found}");
}

/// A kernel that is too large for the compiler runs in the interpreter, and `doctor` names it.
fn large(bench: &Bench, cpu: &dyn Fn(i32) -> Value, image: impl Fn(&str) -> Vec<u8>, good: &str) {
    let main = "int main(void) { return 0; }";
    let jumps: String = (0..4095).map(|k| format!("@p bra L{k}; L{k}:\n")).collect();
    let large = format!(".visible .entry _Z5largev() {{ .reg .pred p; {jumps} ret; }}");
    with_images(bench, "app", &[image(&format!("{good}\n{large}"))], main, &[]);
    let found = cpu(0);
    assert_eq!((&found["kernels"], &found["runs"]), (&2.into(), &2.into()), "{found}");
    let file = found["files"][0]["file"].clone();
    let entry = serde_json::json!([{
        "file": file, "kernel": "_Z5largev", "what": "basic blocks", "found": 4097, "limit": 4096
    }]);
    assert_eq!(found["interpreted"], entry);
    let done = bench.run(&["doctor", "--backend", "cpu", "./app"]);
    let line = "4097 basic blocks, at most 4096 are compiled";
    let named = |l: &str| l.trim().starts_with("large") && l.ends_with(line);
    assert!(done.stdout.lines().any(named), "{done:?}");
    // One of two kernels is compiled; LLVM may compile it if it is installed and not switched off.
    let off = |asked: &[&str]| bench.start(bench.cushim(asked).env("CUSHIM_LLVM", "off")).done();
    assert!(!off(&["doctor", "--backend", "cpu", "./app"]).stdout.contains("LLVM"));
    let without = json(&off(&["doctor", "--json", "--backend", "cpu", "./app"]));
    assert!(without["cpu"]["llvm"].is_null(), "{without}");
    let llvm = &found["llvm"];
    match llvm["version"].as_str() {
        Some(version) => {
            assert_eq!(version.split('.').count(), 3, "{llvm}");
            assert!(llvm["file"].as_str().is_some_and(|file| file.contains("LLVM")), "{llvm}");
            assert_eq!((&llvm["asked"], &llvm["takes"]), (&1.into(), &1.into()));
            assert!(done.stdout.contains("may take 1 of 1 kernels"), "{done:?}");
        }
        None => assert!(llvm["why"].as_str().unwrap().starts_with("no libLLVM"), "{llvm}"),
    }
    let mut asked = bench.cushim(&["doctor", "--backend", "cpu", "./app"]);
    let done = bench.start(asked.env("CUSHIM_LLVM", "/nowhere")).done();
    assert!(done.stdout.contains("not used: /nowhere: not a library"), "{done:?}");
}

#[test]
fn what_the_cpu_makes_of_it() {
    use cushim_image::arch::{Arch, SmVariant};
    use cushim_image::fatbin::{Image, Kind, write};

    let text = |body: &str| format!(".version 7.0\n.target sm_80\n.address_size 64\n{body}");
    let fatbin = |kind, data: &[u8]| {
        let arch = Arch::Sm(80, SmVariant::Plain);
        let codec = cushim_image::Codec::None;
        write(&[Image { kind, arch, version: (7, 0), codec, data }]).unwrap()
    };
    let ptx = |body: &str| fatbin(Kind::Ptx, text(body).as_bytes());
    let good = ".visible .entry _Z4goodv() { ret; }";
    let wide =
        ".visible .entry wide()\n{\n.reg .b32 %r<5>;\ntcgen05.wait::ld.sync.aligned;\nret;\n}";
    let calls = ".extern .func elsewhere();\n.visible .entry calls() { call elsewhere; ret; }";
    let broken = ".visible .entry broken() { mov.u32 %r1, 0; ret; }";
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../image/tests/data/group.fatbin");
    let group = fs::read(data).unwrap();
    let found = cushim_image::inventory::read(&group, &cushim_image::Limits::DEFAULT);
    let cubin = found.images.iter().find(|i| i.kind == cushim_image::inventory::ImageKind::Cubin);
    let limits = &cushim_image::Limits::DEFAULT;
    let machine = cubin.unwrap().with_bytes(limits, |bytes| bytes.to_vec()).unwrap();
    let kernels = cubin.unwrap().kernels(limits).unwrap().len() as u64;
    assert!(kernels > 0);

    let bench = Bench::new();
    bench.backends();
    let asked = ["doctor", "--json", "--backend", "cpu", "./app"];
    let cpu = |code: i32| {
        let done = bench.run(&asked);
        assert_eq!(done.code(), code, "{done:?}");
        json(&done)["cpu"].clone()
    };
    let main = "int main(void) { return 0; }";

    with_images(&bench, "app", &[ptx(good)], main, &[]);
    let found = cpu(0);
    assert_eq!(
        (&found["starts"], &found["kernels"], &found["runs"]),
        (&true.into(), &1.into(), &1.into())
    );
    assert_eq!(found["files"][0]["images"], serde_json::json!(["ptx sm_80"]));
    assert_eq!(found["refused"], serde_json::json!([]));
    let done = bench.run(&["doctor", "--backend", "cpu", "./app"]);
    assert!(done.stdout.contains("1 of 1 run; ptx sm_80"), "{done:?}");
    assert!(!done.stdout.contains("but launches of"), "{done:?}");
    with_images(&bench, "some", &[ptx(&format!("{good}\n{wide}"))], main, &[]);
    let done = bench.run(&["doctor", "--backend", "cpu", "./some"]);
    let last = "The program starts on the CPU, but launches of 1 of its 2 kernels will fail.";
    assert_eq!((done.code(), done.stdout.lines().next_back()), (1, Some(last)), "{done:?}");
    assert_eq!(json(&bench.run(&["doctor", "--json", "./app"]))["cpu"], Value::Null);

    large(&bench, &cpu, ptx, good);
    device_runtime(&bench, &cpu, &ptx);

    let images = [ptx(good), ptx(wide), ptx(calls), ptx(broken), fatbin(Kind::Cubin, &machine)];
    with_images(&bench, "app", &images, main, &[]);
    let found = cpu(1);
    assert_eq!((&found["starts"], &found["runs"]), (&true.into(), &1.into()));
    assert_eq!(found["kernels"], 4 + kernels);
    assert_eq!(found["files"][0]["machine_code_only"], false);
    let refused = |kernel: &str| {
        let all = found["refused"].as_array().unwrap();
        all.iter()
            .find(|r| r["kernel"] == kernel)
            .unwrap_or_else(|| panic!("{kernel}: {found}"))
            .clone()
    };
    let wide = refused("wide");
    assert_eq!((&wide["reason"], &wide["line"]), (&"instruction".into(), &7.into()), "{wide}");
    assert!(wide["instruction"].as_str().unwrap().starts_with("tcgen05.wait"), "{wide}");
    assert_eq!(refused("calls")["reason"], "undefined");
    assert!(refused("calls")["why"].as_str().unwrap().contains("elsewhere"));
    assert_eq!(refused("broken")["reason"], "invalid-ptx");
    let without = found["refused"].as_array().unwrap().iter().filter(|r| r["reason"] == "no-ptx");
    assert_eq!(without.count() as u64, kernels);
    let text = bench.run(&["doctor", "--backend", "cpu", "./app"]).stdout;
    assert!(text.contains("PTX line 7: `tcgen05.wait") && text.contains("-gencode"), "{text}");

    libraries(&bench, &cpu, &fatbin(Kind::Cubin, &machine), &ptx(good));
}
