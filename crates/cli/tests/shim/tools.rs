//! Tools: what they see and change, and how they fail. Programs run against the test-only CUDA.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::lab::{How, Lab, Ran, root, stub};
use crate::redirect::{code, replacement};

/// Builds a tool of `c-tests/tools`.
fn tool(lab: &Lab, source: &str) -> String {
    let into = lab.path(&format!("lib{source}.so"));
    let compiler = if source.ends_with(".cpp") { "g++" } else { "gcc" };
    let done = Command::new(compiler)
        .args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(root().join("include"))
        .arg(root().join("c-tests/tools").join(source))
        .arg("-o")
        .arg(&into)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    into.to_str().unwrap().to_owned()
}

/// A program with a shared and with a static runtime, and the library in whose log its launches appear.
fn programs(lab: &Lab, source: &str) -> Vec<(PathBuf, &'static str, How)> {
    let mut all = Vec::new();
    for major in [11, 12, 13] {
        all.push((lab.program(source, major), "cudart", How::shim().with("STUB_DRIVER", "1")));
        all.push((lab.static_program(source, major), "cuda", How::shim().with("STUB_DRIVER", "1")));
    }
    all
}

fn launches(ran: &Ran, library: &str, keys: &[&str]) -> Vec<String> {
    let lines = ran.log.iter().filter(|l| l.is_launch() && l.library.starts_with(library));
    let words = |line: &crate::log::Line| {
        keys.iter().map(|k| line.value(k).unwrap_or("?").to_owned()).collect::<Vec<_>>().join(" ")
    };
    lines.map(words).collect()
}

#[test]
fn what_a_tool_sees() {
    let lab = Lab::new();
    let probe = tool(&lab, "probe.c");
    for (program, face, how) in programs(&lab, "steps.c") {
        let bare = lab.run(&program, &["launch", "2"], &How { shim: false, ..how.clone() });
        let how = how.with("CUSHIM_TOOL", &probe).with("PROBE", "see");
        let ran = lab.run(&program, &["launch", "2"], &how);
        assert_eq!((&ran.stdout, &ran.end), (&bare.stdout, &bare.end));
        let said: Vec<&str> = ran.stderr.lines().collect();
        let all = &ran.stderr;
        let images = said.iter().filter(|l| l.starts_with("image ")).count();
        assert_eq!(images, 1, "{all}");
        assert!(all.contains("owner=1 bytes=1"), "{all}");
        assert!(all.contains("function _Z5alphaPfif"), "{all}");
        let begins: Vec<_> = said.iter().filter(|l| l.starts_with("begin ")).collect();
        assert_eq!(begins.len(), 2, "a launch inside a launch is not shown: {all}");
        assert!(
            begins[1].contains(" alpha(float*, int, float) grid=1 args=000000000000000001000000"),
            "{all}"
        );
        assert!(begins[1].ends_with("image=1"), "{all}");
        assert_eq!(said.iter().filter(|l| l.starts_with("end 0 user=")).count(), 2);
        assert!(all.contains("end 0 user=20"), "{all}");
        assert!(
            said.iter().any(|l| l.starts_with("call register ") || l.starts_with("call module ")),
            "{all}"
        );
        // The runtime unregisters its images in an exit handler that was registered earlier: no call follows.
        assert_eq!(said.last(), Some(&"end of process"), "{all}");
        let keys = ["kernel", "grid", "args", "status"];
        assert_eq!(launches(&ran, face, &keys), launches(&bare, face, &keys));
        assert!(ran.traces[0].is_whole());
    }
}

#[test]
fn what_a_tool_changes() {
    let lab = Lab::new();
    let probe = tool(&lab, "probe.c");
    let image = lab.path("new.ptx");
    fs::write(&image, replacement()).unwrap();
    for (program, face, how) in programs(&lab, "steps.c") {
        let run = |what: &str, kernel: &str| {
            let how = how.clone().with("CUSHIM_TOOL", &probe).with("PROBE", what);
            let how = how.with("PROBE_IMAGE", image.to_str().unwrap());
            let how = if kernel.is_empty() { how } else { how.with("PROBE_KERNEL", kernel) };
            let ran = lab.run(&program, &["launch", "3"], &how);
            assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
            ran
        };
        let new = code(replacement());
        let alpha = "_Z5alphaPfif";
        let swapped = run("swap", "");
        assert_eq!(
            launches(&swapped, face, &["kernel", "code"]),
            vec![format!("{alpha} {new}"); 3]
        );
        let other = run("other", "");
        assert_eq!(launches(&other, face, &["kernel", "code"]), vec![format!("{alpha} {new}"); 3]);
        let named = run("other", "faster");
        assert_eq!(launches(&named, face, &["kernel", "code"]), vec![format!("faster {new}"); 3]);
        let wrong = run("other", "two");
        assert!(
            wrong.stderr.contains("takes 3 parameters in 16 bytes (8 4 4), but two of"),
            "{}",
            wrong.stderr
        );
        assert!(launches(&wrong, face, &["code"]).iter().all(|c| *c != new));
        let args = launches(&run("skip", ""), face, &["args"]);
        assert!(args.len() == 2 && args[1].contains("02000000"), "{args:?}");
        assert_eq!(launches(&run("shape", ""), face, &["grid"]), ["9,1,1"; 3]);
        let args = launches(&run("args", ""), face, &["args"]);
        assert!(args.iter().all(|a| a[16..24] == *"4d000000"), "{args:?}");
        // A CUDA call inside a callback is not shown to the tool.
        let again = run("again see", "");
        assert!(!again.stderr.contains("call memory"), "{}", again.stderr);
        assert_eq!(launches(&again, face, &["kernel"]).len(), 3);
    }
}

/// A tool's kernel is loaded once in each context, also in one that has the handle of a context that was destroyed.
#[test]
fn another_kernel_in_each_context() {
    let lab = Lab::new();
    let image = lab.path("new.ptx");
    fs::write(&image, replacement()).unwrap();
    let folder = format!("-L{}", stub().display());
    let program = lab.build("devices", "devices.c", &[&folder, "-l:libcuda.so.1"]);
    let how = How::shim().with("STUB_CONTEXTS", "1").with("STUB_SAME_HANDLES", "1");
    let how = how.with("CUSHIM_TOOL", tool(&lab, "probe.c")).with("PROBE", "other");
    let ran = lab.run(&program, &[], &how.with("PROBE_IMAGE", image.to_str().unwrap()));
    // Contexts on devices 0 and 1, one after the other: a module, a launch, the end.
    let both = "created 0 0 0 0 0\ncreated 0 0 0 0 0\n";
    assert!(ran.stdout.ends_with(both), "{}{}", ran.stdout, ran.stderr);
    let all = launches(&ran, "cuda", &["device", "code", "status"]);
    let last = [0, 1].map(|device| format!("{device} {} 0", code(replacement())));
    assert!(all.ends_with(&last), "{all:?}");
}

/// The same in a primary context: it is loaded anew once the context was reset or released for the last time.
#[test]
fn another_kernel_in_a_primary_context() {
    let lab = Lab::new();
    let image = lab.path("new.ptx");
    fs::write(&image, replacement()).unwrap();
    let folder = format!("-L{}", stub().display());
    let program = lab.build("handles", "handles.c", &[&folder, "-l:libcuda.so.1"]);
    let bare = lab.run(&program, &["primary"], &How::bare());
    let how = How::shim().with("CUSHIM_TOOL", tool(&lab, "probe.c")).with("PROBE", "other");
    let how = how.with("PROBE_IMAGE", image.to_str().unwrap());
    let ran = lab.run(&program, &["primary"], &how);
    assert_eq!((&ran.stdout, &ran.end), (&bare.stdout, &bare.end), "{}", ran.stderr);
    let expected = vec![format!("{} 0", code(replacement())); 4];
    assert_eq!(launches(&ran, "cuda", &["code", "status"]), expected);
    let loads = |ran: &Ran| ran.log.iter().filter(|l| l.function == "cuModuleLoadData").count();
    assert_eq!((loads(&bare), loads(&ran)), (4, 7), "once before and once after each end");
}

/// A tool that calls CUDA by name reaches cushim's export. Its own call is not shown to it: otherwise it could
/// recurse without end.
#[test]
fn a_tools_own_calls_are_not_shown_to_it() {
    let lab = Lab::new();
    let probe = tool(&lab, "probe.c");
    for major in [11, 12, 13] {
        let program = lab.program("steps.c", major);
        let how = How::shim().with("CUSHIM_TOOL", &probe).with("PROBE", "hook see");
        let ran = lab.run(&program, &["launch", "2"], &how);
        assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
        let said = |what: &str| ran.stderr.lines().filter(|l| l.starts_with(what)).count();
        assert_eq!((said("hook 0"), said("begin "), said("end 0")), (2, 2, 2), "{}", ran.stderr);
        assert_eq!(said("call memory"), 0, "{}", ran.stderr);
    }
}

/// Destructors run after exit handlers: their launches are not shown to a tool that was told of the process's end.
#[test]
fn after_the_end_no_tool_is_asked() {
    let lab = Lab::new();
    let program = lab.program("late.c", 12);
    let how = How::shim().with("CUSHIM_TOOL", tool(&lab, "probe.c")).with("PROBE", "see");
    let ran = lab.run(&program, &[], &how);
    assert_eq!(ran.end, "exit 5", "{}", ran.stderr);
    assert!(ran.stdout.contains("destructor "), "it launches: {}", ran.stdout);
    let said: Vec<&str> = ran.stderr.lines().collect();
    let begins = said.iter().filter(|l| l.starts_with("begin ")).count();
    assert!(begins >= 2, "{}", ran.stderr);
    assert_eq!(said.last(), Some(&"end of process"), "{}", ran.stderr);
}

#[test]
fn marks_are_recorded() {
    let lab = Lab::new();
    let how = How::shim().with("CUSHIM_TOOL", tool(&lab, "probe.c")).with("PROBE", "-");
    let ran = lab.run(&lab.program("steps.c", 12), &["launch", "2"], &how);
    let marks: Vec<_> = ran.traces[0].metadata.marks.iter().map(|m| m.text.as_str()).collect();
    assert_eq!(marks, ["probe", "probe"]);
}

/// Any fault of a tool causes a message, and the program runs as without it.
#[test]
fn tools_that_are_none() {
    let lab = Lab::new();
    let probe = tool(&lab, "probe.c");
    let program = lab.program("steps.c", 13);
    let plain =
        lab.build("libplain.so", "plugin.c", &["-shared", "-fPIC", "-DMAJOR=13", "-DGRID=1"]);
    let text = lab.path("text.so");
    fs::write(&text, "no library").unwrap();
    let cases = [
        ("refuse", probe.as_str(), "the tool refused to start"),
        ("old", &probe, "made with version 7 of cushim.h, and this cushim speaks version 1"),
        ("short", &probe, "its table has 4 bytes"),
        ("", "/no/such/tool.so", "cannot open shared object file"),
        ("", text.to_str().unwrap(), "text.so"),
        ("", plain.to_str().unwrap(), "it is not a tool: it has no function cushim_tool"),
    ];
    let bare = lab.run(&program, &["launch", "2"], &How::bare());
    for (what, file, why) in cases {
        let how = How::shim().with("CUSHIM_TOOL", file).with("PROBE", what);
        let ran = lab.run(&program, &["launch", "2"], &how);
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
        assert_eq!((&ran.stdout, &ran.end), (&bare.stdout, &bare.end));
    }
    // A newer tool of the same version works without the callbacks that cushim does not know.
    let how = How::shim().with("CUSHIM_TOOL", &probe).with("PROBE", "long see");
    let ran = lab.run(&program, &["launch", "1"], &how);
    assert!(ran.stderr.contains("it uses callbacks that cushim"), "{}", ran.stderr);
    assert!(ran.stderr.contains("begin 1"), "{}", ran.stderr);
}

#[test]
fn several_tools_in_their_order() {
    let lab = Lab::new();
    let both = format!("{}:{}", tool(&lab, "probe.c"), tool(&lab, "histogram.c"));
    let counts = lab.path("counts");
    for (program, ..) in programs(&lab, "shapes.c") {
        let how =
            How::shim().with("CUSHIM_TOOL", &both).with("PROBE", "shape").with("STUB_DRIVER", "1");
        let ran = lab.run(&program, &[], &how.with("HISTOGRAM", counts.to_str().unwrap()));
        assert_eq!(ran.end, "exit 3", "{}", ran.stderr);
        let rows = fs::read_to_string(&counts).unwrap();
        // The second tool sees the launch as the first tool changed it.
        assert!(rows.lines().all(|row| row.contains("<<<(9, ")), "{rows}");
        assert!(
            rows.contains("alpha(float*, int, float)<<<(9, 2, 3), (4, 5, 6), 1024>>>"),
            "{rows}"
        );
    }
}

#[test]
fn the_nan_checker_finds_them() {
    let lab = Lab::new();
    let nan = tool(&lab, "nan.cpp");
    for (program, _, how) in programs(&lab, "buffers.c") {
        let how = how.with("STUB_MEMORY", "1").with("CUSHIM_TOOL", &nan);
        let fine = lab.run(&program, &["1"], &how);
        let said = fine.stderr.contains("NaN");
        // The stub's "kernel" adds its image's hash to each byte: the test looks for a replacement that turns the
        // bytes 252 to 255 of the first pattern into those of a NaN.
        assert!(!said, "{}", fine.stderr);
        let text = (0..).map(|n| format!("{}// {n}\n", replacement())).find(|text| {
            let add = u8::from_str_radix(&code(text)[6..], 16).unwrap();
            // Element 15 holds 60, 61, 62, 63.
            let bytes: [u8; 4] = [60, 61, 62, 63].map(|b: u8| b.wrapping_add(add));
            f32::from_le_bytes(bytes).is_nan()
        });
        let Some(text) = text else { unreachable!() };
        let image = lab.path("nan.ptx");
        fs::write(&image, text).unwrap();
        let how = how.with("CUSHIM_REPLACE", format!("alpha={}", image.display()));
        let found = lab.run(&program, &["1"], &how);
        assert!(
            found.stderr.contains("alpha(float*, int, float): parameter 0 points to"),
            "{}",
            found.stderr
        );
    }
}

/// Captures a launch of a program into a folder, and replays it from there.
#[test]
fn a_launch_is_captured_and_replayed() {
    let lab = Lab::new();
    let capture = crate::lab::capture();
    let image = lab.path("new.ptx");
    fs::write(&image, replacement()).unwrap();
    for (number, (program, _, how)) in programs(&lab, "buffers.c").into_iter().enumerate() {
        let folder = lab.path(&format!("captured-{number}"));
        let how = how.with("STUB_MEMORY", "1").with("CUSHIM_TOOL", capture.to_str().unwrap());
        let how = how.with("CAPTURE_KERNEL", "alpha(").with("CAPTURE_NTH", "2");
        let how = how.with("CAPTURE_DIR", folder.to_str().unwrap());
        let ran = lab.run(&program, &["3"], &how);
        assert!(ran.stderr.contains("capture: launch 2 is in "), "{}", ran.stderr);
        let text = fs::read_to_string(folder.join("launch.json")).unwrap();
        let launch: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(launch["kernel"], "_Z5alphaPfif");
        assert_eq!(launch["buffers"][0]["pointers"][0]["offset"], 8, "{text}");
        assert_eq!(fs::read(folder.join("buffer-0.in")).unwrap().len(), 64);
        // An existing folder is not overwritten.
        let again = lab.run(&program, &["3"], &how);
        assert!(again.stderr.contains("is there already"), "{}", again.stderr);
        if number > 1 {
            continue;
        }
        let folder = folder.to_str().unwrap();
        let replay = |arguments: &[&str]| {
            let how = How::bare().with("STUB_MEMORY", "1");
            let all = [&["replay"], arguments, &[folder]].concat();
            lab.run(env!("CARGO_BIN_EXE_cushim").as_ref(), &all, &how)
        };
        let alike = replay(&[]);
        assert_eq!(alike.end, "exit 0", "{}{}", alike.stdout, alike.stderr);
        assert!(alike.stdout.contains("alpha(float*, int, float)<<<(2, 1, 1), (32, 1, 1), 0>>>"));
        assert!(alike.stdout.contains("outputs: as captured (1 buffers)"), "{}", alike.stdout);
        assert!(alike.stdout.contains("20 launches: 2.000 µs at least"), "{}", alike.stdout);
        let launched = launches(&alike, "cuda", &["kernel", "grid"]);
        assert_eq!(launched, vec!["_Z5alphaPfif 2,1,1"; 21]);
        // Settings that an outer launcher passed to the library apply to this process, too.
        for (events, traces) in [("all", 1), ("none", 0)] {
            let how = How::shim().with("STUB_MEMORY", "1").with("CUSHIM_LAUNCHER", "1");
            let how = how.with("CUSHIM_EVENTS", events);
            let ran = lab.run(env!("CARGO_BIN_EXE_cushim").as_ref(), &["replay", folder], &how);
            assert_eq!((ran.end.as_str(), ran.traces.len()), ("exit 0", traces), "{}", ran.stderr);
            let left: Vec<_> = fs::read_dir(&ran.folder).unwrap().flatten().collect();
            let left = left.iter().filter(|file| file.path().extension().is_some());
            assert_eq!(left.count(), 0);
        }
        let other = replay(&[
            "--image",
            image.to_str().unwrap(),
            "--kernel",
            "faster",
            "--grid",
            "5",
            "--repeat",
            "0",
        ]);
        assert_eq!(other.end, "exit 1", "{}", other.stderr);
        assert!(other.stdout.contains("buffer 0: 64 of 64 elements differ"), "{}", other.stdout);
        assert_eq!(launches(&other, "cuda", &["kernel", "grid"]), ["faster 5,1,1"]);
        let none = replay(&["--kernel", "nothing"]);
        assert!(none.stderr.contains("the image has no kernel nothing"), "{}", none.stderr);
        assert_eq!(none.end, "exit 125");
        let far = replay(&["--device", "7"]);
        assert!(far.stderr.contains("cuDeviceGet failed: 101"), "{}", far.stderr);
        fs::write(lab.path("captured-0/buffer-0.out"), "short").unwrap();
        let broken = replay(&[]);
        assert!(
            number > 0 || broken.stderr.contains("buffers of 64 and 5 bytes"),
            "{}",
            broken.stderr
        );
    }
}
