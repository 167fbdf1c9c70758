//! LLVM's offloading: programs that call libomptarget in every form, with a test-only libomptarget
//! (`c-tests/offload`), without and with the shim. The stub must see the same, and the trace must hold each call.

use std::path::{Path, PathBuf};
use std::process::Command;

use cushim_trace::event::{Body, Mapped};
use cushim_trace::layout::*;
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;
use serde_json::Value;

use crate::compare::behaves;
use crate::lab::{How, Lab, Ran, root};

/// The folder with the test-only libomptarget.
fn stub(lab: &Lab) -> PathBuf {
    let folder = root().join("c-tests/offload");
    let map = format!("-Wl,--version-script,{}", folder.join("stub.map").display());
    let soname = "-Wl,-soname,libomptarget.so.19.1";
    lab.build("libomptarget.so.19.1", "../offload/stub.c", &["-shared", "-fPIC", soname, &map]);
    lab.path("")
}

fn program(lab: &Lab, folder: &Path, name: &str) -> PathBuf {
    let from = format!("-L{}", folder.display());
    let flags = [&from, "-l:libomptarget.so.19.1", "-ldl"];
    lab.build(name, &format!("../offload/{name}.c"), &flags)
}

fn how(folder: &Path) -> How {
    How::shim().with("LD_LIBRARY_PATH", folder.to_str().unwrap())
}

/// An argument from the trace as text: `to data 400`, `literal n=42`.
fn argument(arg: &MappedArg, meta: &Metadata) -> String {
    let name = meta.names.get(&arg.name).map_or("-", |name| name.split(';').nth(1).unwrap());
    format!("{name} {:x} {}", arg.kind, arg.size)
}

fn shape(shape: [u32; 3]) -> String {
    shape.map(|n| n.to_string()).join(",")
}

/// A region or mapping as a line of text.
fn line(mapped: &Mapped<'_>, meta: &Metadata, status: Option<i32>) -> String {
    let args: Vec<String> = mapped.args.iter().map(|arg| argument(&arg, meta)).collect();
    let place = meta.names.get(&mapped.place).map_or("-", String::as_str);
    let more =
        format!("device {} bits {} at {place} ({})", mapped.device, mapped.bits, args.join(", "));
    match mapped.what {
        0 => {
            let kernel = &meta.kernels[&mapped.kernel];
            let name = if kernel.mangled.is_empty() { "?" } else { &kernel.mangled };
            format!(
                "region {name} <{} | {} | {}> {} v{} {more} = {} {}",
                shape(mapped.teams),
                shape(mapped.threads),
                mapped.shared,
                mapped.trip_count,
                mapped.version,
                status.unwrap(),
                mapped.fallback
            )
        }
        what => format!("map {what} {more}"),
    }
}

/// All regions and mappings of a run, and the other libomptarget calls by name with their results.
fn lines(ran: &Ran) -> Vec<String> {
    let [trace] = &ran.traces[..] else { panic!("{} traces", ran.traces.len()) };
    assert!(trace.is_whole(), "{:?}", trace.lost);
    let mut file = TraceFile::open(&trace.path).unwrap();
    let mut all = Vec::new();
    file.poll(true, &mut |meta, event| match &event.body {
        Body::Mapped(mapped) => all.push(line(mapped, meta, event.status)),
        Body::Call(call) => {
            let name = &meta.apis[&event.api].name;
            let last = call.words.len().wrapping_sub(1);
            let result =
                (call.outs >> last.min(15) & 1 == 1).then(|| call.words.get(last).unwrap());
            let result = result.map_or(String::new(), |r| format!(" -> {}", i32::from(r != 0)));
            all.push(format!("{name}{result} = {}", event.status.unwrap()));
        }
        _ => panic!("{event:?}"),
    })
    .unwrap();
    all
}

fn regions(ran: &Ran) -> Vec<String> {
    lines(ran).into_iter().filter(|line| line.starts_with("region")).collect()
}

const A: &str = "__omp_offloading_10_2a_work_l12";
const B: &str = "__omp_offloading_10_2a__Z4workPi_l20_1";

#[test]
fn every_form_of_every_call() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let program = program(&lab, &folder, "forms");
    let ran = behaves(&lab, &program, &["forms"], &how(&folder));
    assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
    assert!(ran.stdout.contains("depend 1 1 2 1\n") && ran.stdout.contains("teams_nowait_mapper"));
    let (place, all) = (";forms.c;work;12;5;;", "data 23 400, data[10:10] 25 40, n 320 4");
    let (bare, two) = ("- 23 400, - 25 40, - 320 4", "- 23 400, - 25 40");
    let mut expected = vec![
        "__tgt_register_lib = 0".to_owned(),
        format!(
            "region {A} <8,2,1 | 128,1,1 | 64> 1000 v3 device -1 bits 0 at {place} ({all}) = 0 0"
        ),
        format!(
            "region {B} <8,2,1 | 128,1,1 | 64> 1000 v3 device 0 bits 2 at {place} ({all}) = 0 0"
        ),
        format!("region {A} <1,1,1 | 0,0,0 | 0> 0 v0 device -1 bits 0 at - ({bare}) = 0 0"),
        format!("region {A} <1,1,1 | 0,0,0 | 0> 0 v0 device 0 bits 2 at - ({two}) = 0 0"),
        format!(
            "region {A} <1,1,1 | 0,0,0 | 0> 0 v0 device 0 bits 0 at {place} (data 23 400) = 0 0"
        ),
        format!(
            "region {A} <1,1,1 | 0,0,0 | 0> 0 v0 device 0 bits 2 at {place} (data 23 400) = 0 0"
        ),
        format!("region {A} <16,1,1 | 64,1,1 | 0> 0 v0 device 0 bits 0 at - ({two}) = 0 0"),
        format!("region {A} <17,1,1 | 65,1,1 | 0> 0 v0 device 0 bits 2 at - ({two}) = 0 0"),
        format!("region {A} <18,1,1 | 66,1,1 | 0> 0 v0 device 0 bits 0 at {place} ({all}) = 0 0"),
        format!("region {A} <19,1,1 | 67,1,1 | 0> 0 v0 device 0 bits 2 at {place} ({all}) = 0 0"),
        format!(
            "region ? <8,2,1 | 128,1,1 | 64> 1000 v3 device -1 bits 0 at {place} ({all}) = 0 0"
        ),
    ];
    for what in [MAP_BEGIN, MAP_UPDATE, MAP_END] {
        expected.push(format!("map {what} device 0 bits 0 at - ({two})"));
        expected.push(format!("map {what} device 0 bits 2 at - ({two})"));
        expected.push(format!("map {what} device -1 bits 0 at {place} ({all})"));
        expected.push(format!("map {what} device 0 bits 2 at {place} (- 23 400)"));
    }
    expected.push("__llvmPushCallConfiguration = 0".to_owned());
    expected.push(format!("region {B} <3,2,1 | 64,2,1 | 256> 0 v0 device -1 bits 0 at - () = 0 0"));
    let rest = [
        "omp_target_alloc -> 1 = 0",
        "omp_target_is_present -> 1 = 0",
        "omp_target_memcpy = 0",
        "omp_target_memcpy = -1",
        "omp_target_memcpy_rect = 0",
        "omp_target_associate_ptr = 0",
        "omp_target_memset -> 1 = 0",
        "omp_target_free = 0",
        "omp_target_alloc -> 0 = 0",
        "__tgt_unregister_lib = 0",
    ];
    expected.extend(rest.map(str::to_owned));
    assert_eq!(lines(&ran), expected);
    let images: Vec<_> = ran.traces[0].metadata.images.iter().map(|i| (&*i.kind, i.size)).collect();
    assert_eq!(images, [("object", 24), ("ptx", 45)]);
}

/// Arguments of versions 1 to 5 are decoded; other versions pass through, and the trace shows no arguments.
#[test]
fn versions_of_arguments() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let program = program(&lab, &folder, "forms");
    let ran = behaves(&lab, &program, &["versions"], &how(&folder));
    let found = regions(&ran);
    assert_eq!(found.len(), 10);
    for (version, line) in found.iter().enumerate() {
        let (shape, known) = match version {
            1 | 2 => ("<5,1,1 | 33,1,1 | ", true),
            3..=5 => ("<8,2,1 | 128,1,1 | 64>", true),
            _ => ("<5,1,1 | 33,1,1 | 0>", false),
        };
        assert!(line.contains(shape), "version {version}: {line}");
        assert_eq!(line.contains("bits 0"), known, "version {version}: {line}");
        assert_eq!(line.contains("data 23 400"), known, "version {version}: {line}");
        assert!(line.contains(&format!(" v{version} ")), "{line}");
    }
}

/// The recorder keeps data of a construct between calls, and notices when it changes; values for which the
/// short form of an event has no room go into the long form, next to it.
#[test]
fn a_region_again_and_again() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let program = program(&lab, &folder, "forms");
    let ran = behaves(&lab, &program, &["again"], &how(&folder));
    let line = |teams: &str, device: u32, args: &str, end: &str| {
        let head = format!("region {A} <{teams} | 0,0,0 | 0> 1000 v3 device {device} bits 0");
        format!("{head} at ;forms.c;work;12;5;; ({args}) = {end}")
    };
    let (none, two) = ("0,0,0", "data 23 400, data[10:10] 25 40");
    let all = format!("{two}, n 320 4");
    let other = all.replace("data[10:10]", "other");
    let large = all.replace("25 40", "25 5000000000");
    let refused = format!("-1 {FALLBACK_NO_SUCH_DEVICE}");
    let expected = [
        line(none, 0, &all, "0 0"),
        line("9,1,1", 0, &all, "0 0"),
        line(none, 0, two, "0 0"),
        line(none, 0, &other, "0 0"),
        line(none, 0, &all, "0 0"),
        line(none, 0, &large, "0 0"),
        line(none, 7, &all, &refused),
        line(none, 1 << 20, &all, &refused),
    ];
    assert_eq!(regions(&ran), expected);
}

#[test]
fn both_forms_of_entries() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let program = program(&lab, &folder, "forms");
    for form in ["old", "new"] {
        let ran = behaves(&lab, &program, &["entries", form], &how(&folder));
        let names: Vec<_> =
            regions(&ran).iter().map(|l| l.split(' ').nth(1).unwrap().to_owned()).collect();
        // After unregistering, the address has no meaning.
        assert_eq!(names, [B, "?"], "{form}");
    }
}

/// rustc registers an empty descriptor around each call: it is no image, and its removal removes none.
#[test]
fn calls_of_rustc() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let program = program(&lab, &folder, "forms");
    let ran = behaves(&lab, &program, &["rustc"], &how(&folder));
    let found = regions(&ran);
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|line| line.starts_with(&format!("region {A} <8,2,1"))), "{found:?}");
    assert_eq!(ran.traces[0].metadata.images.len(), 2);
}

/// The same by rustc itself: a nightly rustc, if installed, compiles the host part of its offloading.
#[test]
fn an_object_of_rustc() {
    let lab = Lab::new();
    let folder = stub(&lab);
    lab.build("rust.o", "../offload/rust.c", &["-c"]);
    let mut rustc = Command::new("rustc");
    rustc.args(["+nightly", "-Zoffload=Test", "-Clto=fat", "-Cpanic=abort", "-Copt-level=3"]);
    rustc.args(["-Clink-arg=rust.o", "-Clink-arg=-l:libomptarget.so.19.1", "-Clink-arg=-L."]);
    // Only that object file refers to the table of entries.
    rustc.args(["-Clink-arg=-Wl,-z,nostart-stop-gc", "-o", "rust"]);
    let done = rustc.arg(root().join("c-tests/offload/rust.rs")).current_dir(&folder).output();
    match done {
        Ok(done) if done.status.success() => {}
        // rustc's options and intrinsics change from one nightly to the next.
        other => {
            let why = other.map_or_else(
                |error| error.to_string(),
                |done| String::from_utf8_lossy(&done.stderr).lines().take(5).collect(),
            );
            return cushim_testkit::needs::left_out(&format!("rustc's own offloading: {why}"));
        }
    }
    let ran = behaves(&lab, &lab.path("rust"), &[], &how(&folder));
    assert!(
        ran.stdout.contains("kernel device -1 teams 256 threads 32: 2048 20"),
        "{}",
        ran.stdout
    );
    let calls = [
        "map 1 device -1 bits 0 at ;unknown;unknown;0;0;; (- 1 2048)",
        "region device_scale <256,1,1 | 32,1,1 | 0> 0 v3 device -1 bits 0 at ;unknown;unknown;0;0;; (- 20 2048) = 0 0",
        "map 2 device -1 bits 0 at ;unknown;unknown;0;0;; (- 2 2048)",
    ];
    let found: Vec<_> =
        lines(&ran).into_iter().filter(|line| !line.starts_with("__tgt_")).collect();
    assert_eq!(found, [calls; 3].concat());
}

/// Regions that the runtime does not offload, and the reason.
#[test]
fn regions_on_the_host() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let program = program(&lab, &folder, "forms");
    let none = how(&folder).with("STUB_DEVICES", "0");
    let reasons = |how: &How, word: &[&str]| {
        let ran = behaves(&lab, &program, word, how);
        let last = |line: &String| line.rsplit_once("= ").unwrap().1.to_owned();
        regions(&ran).iter().map(last).collect::<Vec<_>>()
    };
    let found = reasons(&none, &["entries", "old"]);
    // The second region belongs to a descriptor that was unregistered.
    assert_eq!(found, [format!("-1 {FALLBACK_NO_DEVICE}"), format!("-1 {FALLBACK_NO_IMAGE}")]);
    let disabled = none.clone().with("OMP_TARGET_OFFLOAD", "Disabled");
    assert_eq!(reasons(&disabled, &["entries", "new"])[0], format!("-1 {FALLBACK_DISABLED}"));
    // Failed regions are recorded even when regions are not selected.
    let others = none.with("CUSHIM_EVENTS", "register");
    assert_eq!(reasons(&others, &["entries", "old"])[0], format!("-1 {FALLBACK_NO_DEVICE}"));
}

/// Libraries with their own regions are loaded and unloaded, at the same addresses in turn.
#[test]
fn libraries_come_and_go() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let from = format!("-L{}", folder.display());
    let plugins = [7, 8].map(|line| {
        let line_is = format!("-DLINE=\"{line}\"");
        let flags = ["-shared", "-fPIC", &from, "-l:libomptarget.so.19.1", &line_is];
        lab.build(&format!("libplugin{line}.so"), "../offload/plugin.c", &flags)
    });
    // The program is not linked with libomptarget: each plug-in loads it for itself.
    let program = lab.build("loads", "../offload/loads.c", &["-ldl"]);
    let plugins = plugins.each_ref().map(|plugin| plugin.to_str().unwrap());
    let ran = behaves(&lab, &program, &plugins, &how(&folder));
    assert_eq!(ran.end, "exit 0", "{}", ran.stdout);
    let found = regions(&ran);
    assert_eq!(found.len(), 20);
    for (turn, found) in found.iter().enumerate() {
        let line = 7 + turn % 2;
        assert!(
            found.starts_with(&format!("region __omp_offloading_1_2_plugin_run_l{line} ")),
            "{found}"
        );
        assert!(found.contains(&format!("at ;plugin.c;plugin_run;{line};1;;")), "{found}");
    }
}

/// cushim's exports must not suggest that there is a libomptarget, however a program looks; if there is one,
/// programs find it as without cushim.
#[test]
fn nobody_is_deceived() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let without = lab.build("without", "../offload/probe.c", &["-ldl"]);
    let ran = behaves(&lab, &without, &[], &how(&folder));
    assert!(!ran.stdout.contains('1') && ran.traces.is_empty(), "{}", ran.stdout);
    let from = format!("-L{}", folder.display());
    let flags = ["-Wl,--no-as-needed", &from, "-l:libomptarget.so.19.1", "-ldl"];
    let with = lab.build("with", "../offload/probe.c", &flags);
    let ran = behaves(&lab, &with, &[], &how(&folder));
    assert!(!ran.stdout.contains('0') || ran.stdout.contains("present 1"), "{}", ran.stdout);
    // Through the weak reference, and through dlsym.
    let calls = lines(&ran);
    assert_eq!(calls, ["omp_target_is_present -> 1 = 0"; 2], "{}", ran.stdout);
}

/// A function that the loaded libomptarget lacks ends the program at its call, with and without cushim.
#[test]
fn a_function_that_is_not_there() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let from = format!("-L{}", folder.display());
    let lazy = ["-Wl,-z,lazy", &from, "-l:libomptarget.so.19.1"];
    let program = lab.build("forms", "../offload/forms.c", &lazy);
    let older = lab.path("older");
    std::fs::create_dir(&older).unwrap();
    let map = root().join("c-tests/offload/stub.map");
    let map = format!("-Wl,--version-script,{}", map.display());
    let soname = "-Wl,-soname,libomptarget.so.19.1";
    let flags = ["-shared", "-fPIC", "-DOLDER", soname, &map];
    lab.build("older/libomptarget.so.19.1", "../offload/stub.c", &flags);
    for how in [How::bare(), How::shim()] {
        let ran =
            lab.run(&program, &["forms"], &how.with("LD_LIBRARY_PATH", older.to_str().unwrap()));
        assert_eq!(ran.end, "exit 127", "{}", ran.stderr);
        let said = "symbol lookup error: ";
        let missing = "undefined symbol: omp_target_memset, version VERS1.0";
        assert!(ran.stderr.contains(said) && ran.stderr.contains(missing), "{}", ran.stderr);
        // Calls before it work.
        assert!(ran.stdout.contains("associate 1 1 100 0 0"), "{}", ran.stdout);
    }
}

/// The launcher records regions by default, and every view shows them.
#[test]
fn regions_in_every_view() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let program = program(&lab, &folder, "forms");
    let cushim = |arguments: &[&str], devices: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
        command.args(arguments).current_dir(lab.path("")).env("LD_LIBRARY_PATH", &folder);
        command.env("STUB_QUIET", "1").env("STUB_DEVICES", devices);
        let done = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
        (text(&done.stdout), text(&done.stderr))
    };
    let program = program.to_str().unwrap();
    let (_, seen) = cushim(&["trace", "--color", "never", "--", program, "rustc"], "1");
    let region = "region k1 work:12 teams (8, 2) threads 128(tofrom 400 B, always to 40 B) [forms.c:12, 1000 iterations]";
    assert_eq!(seen.lines().filter(|line| *line == region).count(), 3, "{seen}");
    assert!(seen.contains("map begin(tofrom 400 B, always to 40 B) [forms.c:12]"), "{seen}");
    assert!(seen.contains("3 launches of 1 kernel"), "{seen}");
    let (_, seen) = cushim(&["trace", "--color", "never", "--", program, "entries", "new"], "0");
    let reason = "k1 work(int*):20#1";
    assert!(seen.contains("on the host: no device for its images"), "{seen}");
    assert!(seen.contains("OFFLOAD_FAIL") && !seen.contains(reason), "{seen}");

    cushim(&["record", "-o", "run.cushim", "--", program, "forms"], "1");
    let (lines, _) = cushim(&["report", "run.cushim", "-e", "all", "--format", "jsonl"], "1");
    let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let regions: Vec<Value> = all.filter(|line| line["event"] == "region").collect();
    assert_eq!(regions.len(), 12);
    let first = &regions[0];
    assert_eq!((&first["kernel"], &first["mangled"]), (&"work:12".into(), &A.into()));
    assert_eq!(first["region"]["teams"], serde_json::json!([8, 2, 1]));
    let bytes = (&first["region"]["bytes_to"], &first["region"]["bytes_from"]);
    assert_eq!(bytes, (&440.into(), &400.into()));
    assert_eq!(first["place"]["line"], 12);
    let mappings = first["mappings"].as_array().unwrap();
    assert_eq!((&mappings[1]["name"], &mappings[1]["kind"]), (&"data[10:10]".into(), &"to".into()));
    assert_eq!(mappings[2]["value"], 42);
    assert_eq!(
        (&regions[1]["kernel"], &regions[1]["region"]["nowait"]),
        (&"work:20#1".into(), &true.into())
    );

    let (json, _) = cushim(&["report", "run.cushim", "--format", "json"], "1");
    let report: Value = serde_json::from_str(&json).unwrap();
    let rows = report["mappings"].as_array().unwrap();
    let of = |name: &str| {
        let row =
            rows.iter().find(|row| row["mapping"] == name && row["kind"] == "tofrom").unwrap();
        assert_eq!(row["place"], "forms.c:12");
        ["calls", "bytes_to", "bytes_from", "again"].map(|field| row[field].as_u64().unwrap())
    };
    // Seven regions, and one call of each mapping kind; the end of a mapping does not count again.
    assert_eq!(of("data"), [10, 9 * 400, 9 * 400, 8]);
    for (to, name) in [("perfetto", "run.pftrace"), ("chrome", "run.json"), ("parquet", "lake")] {
        cushim(&["export", "run.cushim", "--to", to, "-o", name], "1");
    }
    let chrome = std::fs::read_to_string(lab.path("run.json")).unwrap();
    let chrome: Value = serde_json::from_str(&chrome).unwrap();
    let events = chrome["traceEvents"].as_array().unwrap();
    assert_eq!(events.iter().filter(|e| e["cat"] == "region").count(), 12);
    assert_eq!(events.iter().filter(|e| e["cat"] == "map").count(), 12);
    let perfetto = std::fs::read(lab.path("run.pftrace")).unwrap();
    let holds = |text: &[u8]| perfetto.windows(text.len()).any(|part| part == text);
    assert!(holds(b"work:12") && holds(b"always to data[10:10] 40 B"));
}

/// A program that was linked without the version node calls libomptarget directly, past cushim.
#[test]
fn references_without_a_version() {
    let lab = Lab::new();
    let plain = lab.path("plain");
    std::fs::create_dir(&plain).unwrap();
    let soname = "-Wl,-soname,libomptarget.so.19.1";
    lab.build("plain/libomptarget.so.19.1", "../offload/stub.c", &["-shared", "-fPIC", soname]);
    let program = program(&lab, &plain, "forms");
    let ran = behaves(&lab, &program, &["rustc"], &how(&plain));
    assert_eq!((ran.end.as_str(), ran.traces.len()), ("exit 0", 0));
    // With a versioned libomptarget the loader binds the same program to it, past cushim too.
    let versioned = stub(&lab);
    let ran = behaves(&lab, &program, &["rustc"], &how(&versioned));
    assert_eq!((ran.end.as_str(), ran.traces.len()), ("exit 0", 0));
}
