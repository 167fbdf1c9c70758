//! Replacement: the images and kernels that reach the test-only CUDA under rules. At each launch the stub logs
//! in `code=` the image that the kernel came from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::lab::{How, Lab, Ran};

/// The stub's `stub_code`: FNV-1a of an image.
pub fn code(image: impl AsRef<[u8]>) -> String {
    let hash = image
        .as_ref()
        .iter()
        .fold(2_166_136_261u32, |hash, b| (hash ^ u32::from(*b)).wrapping_mul(16_777_619));
    format!("{hash:08x}")
}

/// PTX with kernels of these names and parameters.
pub fn ptx(kernels: &[(&str, &str)]) -> String {
    let head = ".version 7.0\n.target sm_52\n.address_size 64\n".to_owned();
    let entry =
        |(name, params): &(&str, &str)| format!(".visible .entry {name}({params})\n{{ ret; }}\n");
    head + &kernels.iter().map(entry).collect::<String>()
}

pub const ALPHA: &str = "_Z5alphaPfif";
pub const ALPHA_PARAMS: &str = ".param .u64 a, .param .u32 b, .param .f32 c";

/// A rewritten `alpha`, and one of another name.
pub fn replacement() -> String {
    ptx(&[(ALPHA, ALPHA_PARAMS), ("faster", ALPHA_PARAMS), ("two", ".param .u64 a, .param .u32 b")])
}

/// The values of these keys, for the launches that reached libraries whose names begin with `library`.
pub fn launches(ran: &Ran, library: &str, keys: &[&str]) -> Vec<String> {
    let lines = ran.log.iter().filter(|line| line.is_launch() && line.library.starts_with(library));
    let words = lines.map(|line| {
        keys.iter().map(|key| line.value(key).unwrap_or("?")).collect::<Vec<_>>().join(" ")
    });
    words.collect()
}

/// A program, how to run it, and the library in whose log its launches appear.
pub struct Way {
    pub program: PathBuf,
    pub face: &'static str,
    pub how: How,
}

/// `source` with a shared and a static runtime of each major.
pub fn ways(lab: &Lab, source: &str) -> Vec<Way> {
    let majors = [11, 12, 13];
    let shared = majors.map(|major| Way {
        program: lab.program(source, major),
        face: "cudart",
        how: How::shim(),
    });
    let inside = majors.map(|major| Way {
        program: lab.static_program(source, major),
        face: "cuda",
        how: How::shim().with("STUB_DRIVER", "1"),
    });
    shared.into_iter().chain(inside).collect()
}

/// Writes a manifest and its images; returns the manifest's path.
pub fn manifest(lab: &Lab, rules: &str) -> PathBuf {
    fs::write(lab.path("new.ptx"), replacement()).unwrap();
    let file = lab.path("rules.toml");
    fs::write(&file, rules).unwrap();
    file
}

pub fn under(way: &Way, lab: &Lab, arguments: &[&str], manifest: &Path) -> Ran {
    lab.run(&way.program, arguments, &with_rules(&way.how, manifest))
}

/// Adds a manifest in the form in which the launcher passes it.
pub fn with_rules(how: &How, manifest: &Path) -> How {
    let rules = compiled_rules(manifest);
    how.clone().with("CUSHIM_REDIRECT", manifest.to_str().unwrap()).with("CUSHIM_RULES", rules)
}

fn compiled_rules(manifest: &Path) -> String {
    let rules = cushim_manifest::Manifest::read(manifest).unwrap().rules;
    cushim_rules::compiled::write(manifest, &rules)
}

#[test]
fn a_kernel_of_another_image_is_launched() {
    let lab = Lab::new();
    let file = manifest(&lab, "[[redirect]]\nmatch = { kernel = '^alpha' }\nimage = 'new.ptx'\n");
    for way in ways(&lab, "shapes.c") {
        let bare = lab.run(&way.program, &[], &How { shim: false, ..way.how.clone() });
        let ran = under(&way, &lab, &[], &file);
        assert_eq!(
            (&ran.stdout, &ran.end),
            (&bare.stdout, &bare.end),
            "the program notices nothing"
        );
        assert_eq!(ran.stderr, "");
        // The same launches with the same arguments; only alpha comes from the new image.
        let keys = ["kernel", "grid", "args", "code"];
        let expected: Vec<String> = launches(&bare, way.face, &keys)
            .into_iter()
            .map(|line| match line.rsplit_once(' ') {
                Some((rest, _)) if line.starts_with(ALPHA) => {
                    format!("{rest} {}", code(replacement()))
                }
                _ => line,
            })
            .collect();
        assert_eq!(launches(&ran, way.face, &keys), expected);
        assert!(expected.iter().any(|line| !line.starts_with(ALPHA)), "others stay");
        // The runtime is told of the end of each registration.
        let handles = |function: &str| -> BTreeSet<&str> {
            let of = ran.log.iter().filter(|line| line.function == function);
            of.map(|line| line.value("handle").unwrap()).collect()
        };
        let begun = handles("__cudaRegisterFatBinary");
        assert_eq!(begun, handles("__cudaRegisterFatBinaryEnd"));
        assert_eq!(begun.len(), if way.face == "cudart" { 2 } else { 1 });
    }
}

#[test]
fn by_another_name_and_by_the_option() {
    let lab = Lab::new();
    let rules =
        "[[redirect]]\nmatch = { kernel = 'alpha' }\nimage = 'new.ptx'\nkernel = 'faster'\n";
    let file = manifest(&lab, rules);
    for way in ways(&lab, "steps.c") {
        let ran = under(&way, &lab, &["launch", "2"], &file);
        let expected = format!("faster {}", code(replacement()));
        assert_eq!(launches(&ran, way.face, &["kernel", "code"]), [expected.clone(), expected]);
        let option = format!("alpha={}", lab.path("new.ptx").display());
        let ran = lab.run(
            &way.program,
            &["launch", "1"],
            &way.how.clone().with("CUSHIM_REPLACE", option),
        );
        let expected = format!("{ALPHA} {}", code(replacement()));
        assert_eq!(launches(&ran, way.face, &["kernel", "code"]), [expected]);
        // The trace shows what was launched.
        assert!(ran.traces[0].launches().iter().all(|l| l.contains(ALPHA)));
    }
}

#[test]
fn conditions_on_a_launch() {
    let lab = Lab::new();
    let new = code(replacement());
    for way in ways(&lab, "steps.c") {
        let rule = |condition: &str| {
            let rules = format!(
                "[[redirect]]\nmatch = {{ kernel = 'alpha', {condition} }}\nimage = 'new.ptx'\n"
            );
            let ran = under(&way, &lab, &["launch", "4"], &manifest(&lab, &rules));
            let codes = launches(&ran, way.face, &["code"]);
            codes.iter().map(|code| if *code == new { 'n' } else { 'o' }).collect::<String>()
        };
        assert_eq!(rule("nth = 2"), "onoo");
        assert_eq!(rule("nth = '3..'"), "oonn");
        assert_eq!(rule("nth = '1..2'"), "nnoo");
        assert_eq!(rule("grid = [1, '*', 1]"), "nnnn");
        assert_eq!(rule("grid = [2, '*', '*']"), "oooo");
        assert_eq!(rule("block = [32, 1, 1], nth = 1"), "nooo");
        assert_eq!(rule("block = [33, 1, 1]"), "oooo");
    }
}

#[test]
fn another_shape_and_no_launch() {
    let lab = Lab::new();
    for way in ways(&lab, "steps.c") {
        let rules = "[[redirect]]\nmatch = { kernel = 'alpha', nth = 2 }\nlaunch = { grid = [7, 8, 9], shared = 64 }\n\
                     [[redirect]]\nmatch = { kernel = 'alpha', nth = 3 }\nskip = true\n";
        let ran = under(&way, &lab, &["launch", "4"], &manifest(&lab, rules));
        assert_eq!(ran.end, "exit 0");
        assert_eq!(
            launches(&ran, way.face, &["grid", "block", "shared"]),
            ["1,1,1 32,1,1 0", "7,8,9 32,1,1 64", "1,1,1 32,1,1 0"],
        );
        // The third line has the fourth launch's argument: the third launch was skipped.
        let args = launches(&ran, way.face, &["args"]);
        assert!(args[2].contains("03000000"), "{args:?}");
    }
}

#[test]
fn images_are_told_apart() {
    let lab = Lab::new();
    for way in ways(&lab, "steps.c") {
        let dump = lab.path("dump");
        let how = way.how.clone().with("CUSHIM_DUMP_IMAGES", dump.to_str().unwrap());
        lab.run(&way.program, &["launch", "1"], &how);
        let index = fs::read_to_string(dump.join("images.jsonl")).unwrap();
        let line: serde_json::Value = serde_json::from_str(index.lines().next().unwrap()).unwrap();
        assert!(line["kernels"].as_array().unwrap().iter().any(|k| k == ALPHA), "{line}");
        let bytes = fs::read(dump.join(line["file"].as_str().unwrap())).unwrap();
        assert!(bytes.starts_with(b".version 7.0"), "the text itself");
        let replaced = |condition: &str| {
            let rules = format!("[[redirect]]\nmatch = {{ {condition} }}\nimage = 'new.ptx'\n");
            let ran = under(&way, &lab, &["launch", "1"], &manifest(&lab, &rules));
            let says = ran.stderr.contains("never matched");
            let new = launches(&ran, way.face, &["code"]) == [code(replacement())];
            assert!(new != says, "{condition}: {}", ran.stderr);
            new
        };
        let hash = line["hash"].as_str().unwrap();
        assert!(replaced(&format!("hash = '{hash}', kernel = 'alpha'")));
        assert!(replaced(&format!("hash = '{}', kernel = 'alpha'", &hash[..6])));
        assert!(!replaced("hash = 'dead0000beef', kernel = 'alpha'"));
        assert!(replaced("arch = 'compute_52', kernel = 'alpha'"));
        assert!(!replaced("arch = 'sm_52', kernel = 'alpha'"));
        assert!(!replaced("arch = 'compute_90', kernel = 'alpha'"));
        let name = way.program.file_name().unwrap().to_str().unwrap();
        assert!(replaced(&format!("owner = '{name}$', kernel = 'alpha'")));
        assert!(!replaced("owner = 'libother', kernel = 'alpha'"));
        fs::remove_dir_all(dump).unwrap();
    }
}

#[test]
fn a_whole_image() {
    let lab = Lab::new();
    let all = ptx(&[
        (ALPHA, ALPHA_PARAMS),
        ("_Z4betav", ""),
        ("_Z5gamma4pairc", ".param .align 8 .b8 a[24], .param .u8 b"),
    ]);
    fs::write(lab.path("all.ptx"), &all).unwrap();
    let file = manifest(
        &lab,
        "[[redirect]]\nmatch = { kernel = 'alpha' }\nimage = 'all.ptx'\nwhole = true\n",
    );
    for way in ways(&lab, "shapes.c") {
        let ran = under(&way, &lab, &[], &file);
        assert_eq!(ran.end, "exit 3");
        let lines = launches(&ran, way.face, &["kernel", "code"]);
        for line in &lines {
            let other_image = line.starts_with("lib_kernel");
            assert_eq!(line.ends_with(&code(&all)), !other_image, "{lines:?}");
        }
        assert!(lines.len() >= 8);
    }
}

#[test]
fn graphs_hold_the_replacement() {
    let lab = Lab::new();
    let file = manifest(&lab, "[[redirect]]\nmatch = { kernel = 'alpha' }\nimage = 'new.ptx'\n");
    for major in [11, 12, 13] {
        let program = lab.program("capture.c", major);
        let way = Way { program, face: "cudart", how: How::shim() };
        let ran = under(&way, &lab, &[], &file);
        let nodes =
            ran.log.iter().filter(|l| l.function.contains("Graph") && l.value("grid").is_some());
        let codes: Vec<_> = nodes
            .filter(|l| l.value("status") == Some("0"))
            .map(|l| l.value("code").unwrap())
            .collect();
        assert!(codes.len() >= 3 && codes.iter().all(|c| *c == code(replacement())), "{codes:?}");
        let captured = launches(&ran, "cudart", &["kernel", "code"]);
        assert!(captured[..10].iter().all(|l| l.ends_with(&code(replacement()))), "{captured:?}");
    }
}

#[test]
fn kernels_of_the_driver() {
    let lab = Lab::new();
    let file = manifest(&lab, "[[redirect]]\nmatch = { kernel = 'alpha' }\nimage = 'new.ptx'\n");
    let folder = format!("-L{}", crate::lab::stub().display());
    let linked = lab.build("linked", "driver.c", &[&folder, "-l:libcuda.so.1"]);
    let opened = lab.build("opened", "driver.c", &["-DOPENED", "-ldl"]);
    for (program, arguments) in
        [(linked, &[][..]), (opened.clone(), &["opened"]), (opened, &["default"])]
    {
        let bare = lab.run(&program, arguments, &How::bare());
        let way = Way { program, face: "cuda", how: How::shim() };
        let ran = under(&way, &lab, arguments, &file);
        assert_eq!(ran.stdout, bare.stdout);
        let keys = ["kernel", "grid", "args", "status"];
        assert_eq!(launches(&ran, "cuda", &keys), launches(&bare, "cuda", &keys));
        let alpha = ran.log.iter().filter(|l| l.value("kernel") == Some(ALPHA));
        let codes: Vec<_> = alpha.filter_map(|l| l.value("code")).collect();
        assert!(codes.len() >= 8 && codes.iter().all(|c| *c == code(replacement())), "{codes:?}");
    }
}

#[test]
fn what_cannot_be_applied_says_why_and_passes_or_stops() {
    let lab = Lab::new();
    fs::write(lab.path("garbage.ptx"), "nothing of the kind").unwrap();
    fs::write(lab.path("amd.hipfb"), crate::redirect_more::bundle()).unwrap();
    let cases = [
        (
            "image = 'new.ptx'\nkernel = 'two'".to_owned(),
            &["takes 3 parameters in 16 bytes (8 4 4)", "2 parameters in 12 bytes (8 4)"][..],
        ),
        (
            "image = 'new.ptx'\nkernel = 'none'".to_owned(),
            &["has no kernel none; it has _Z5alphaPfif, faster, two"],
        ),
        ("image = 'gone.ptx'".to_owned(), &["gone.ptx", "No such file"]),
        ("image = 'amd.hipfb'".to_owned(), &["gfx90a", "only backend hsa can launch"]),
        ("image = 'garbage.ptx'".to_owned(), &["no device image can be read", "a device image"]),
    ];
    for way in ways(&lab, "steps.c") {
        for (action, words) in &cases {
            let rule = format!("[[redirect]]\nmatch = {{ kernel = 'alpha' }}\n{action}\n");
            let bare =
                lab.run(&way.program, &["launch", "2"], &How { shim: false, ..way.how.clone() });
            let passes = under(&way, &lab, &["launch", "2"], &manifest(&lab, &rule));
            for word in *words {
                assert!(passes.stderr.contains(word), "{word:?} in {}", passes.stderr);
            }
            assert_eq!(passes.end, "exit 0");
            let keys = ["kernel", "args", "code"];
            assert_eq!(launches(&passes, way.face, &keys), launches(&bare, way.face, &keys));
            let stops = under(
                &way,
                &lab,
                &["launch", "2"],
                &manifest(&lab, &(rule + "on-failure = 'stop'\n")),
            );
            assert_eq!(stops.end, "exit 78", "{}", stops.stderr);
            assert!(launches(&stops, way.face, &keys).is_empty());
        }
        let quiet = under(
            &way,
            &lab,
            &["launch", "1"],
            &manifest(
                &lab,
                "[[redirect]]\nname = 'mine'\nmatch = { kernel = 'delta' }\nskip = true\n",
            ),
        );
        assert!(quiet.stderr.contains("mine: never matched"), "{}", quiet.stderr);
    }
}

/// Invalid rules, rules of another manifest, and a manifest that was not compiled: a message says so, and the program
/// runs unchanged. Rules without the manifest's name are ignored.
#[test]
fn broken_rules_change_nothing() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let file = manifest(&lab, "[[redirect]]\nmatch = { kernel = 'a' }\nskip = true\n");
    let (file, good) = (file.to_str().unwrap(), compiled_rules(&file));
    let cases = [
        (Some(file), Some(&good[..good.len() - 1]), "field 17 of CUSHIM_RULES"),
        (Some(file), Some("rules0,=/m,0,"), "field 1 of CUSHIM_RULES"),
        (Some(file), Some("[[redirect]]"), "field 1 of CUSHIM_RULES"),
        (Some("/other.toml"), Some(&good[..]), "CUSHIM_RULES holds the rules of /"),
        (Some("/other.toml"), None, "manifests are read by the launcher"),
        (Some("0"), Some(&good[..]), ""),
        (None, Some(&good[..]), ""),
    ];
    for (file, rules, why) in cases {
        let mut how = How::shim();
        for (name, value) in [("CUSHIM_REDIRECT", file), ("CUSHIM_RULES", rules)] {
            how = value.into_iter().fold(how, |how, value| how.with(name, value));
        }
        let ran = lab.run(&program, &["launch", "1"], &how);
        assert!(ran.stderr.contains(why), "{file:?} {rules:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.is_empty(), why.is_empty(), "{file:?} {rules:?}: {}", ran.stderr);
        assert_eq!((ran.end.as_str(), launches(&ran, "cudart", &["kernel"]).len()), ("exit 0", 1));
    }
}

/// Both kernels run on the same data; their results are compared, and the program keeps those that the rule names.
#[test]
fn results_are_compared() {
    let lab = Lab::new();
    let new = code(replacement());
    for way in ways(&lab, "buffers.c") {
        let how = way.how.clone().with("STUB_DRIVER", "1").with("STUB_MEMORY", "1");
        let way = Way { how, ..way };
        let bare = lab.run(&way.program, &["3"], &How { shim: false, ..way.how.clone() });
        assert!(bare.stdout.contains("launch 0\ndown 0: "), "{}", bare.stdout);
        let rule = |image: &str, compare: &str| {
            manifest(
                &lab,
                &format!(
                    "[[redirect]]\nname = 'try'\nmatch = {{ kernel = 'alpha' }}\nimage = '{image}'\ncompare = {compare}\n"
                ),
            )
        };
        let ran = under(&way, &lab, &["3"], &rule("new.ptx", "{}"));
        assert_eq!(ran.stdout, bare.stdout, "the program keeps its own results");
        assert!(ran.stderr.contains("parameter 0: 64 of 64 elements differ"), "{}", ran.stderr);
        assert!(ran.stderr.contains("try: 3 launches compared, 3 differ"), "{}", ran.stderr);
        let codes = launches(&ran, "cuda", &["code"]);
        let own = launches(&bare, "cuda", &["code"])[0].clone();
        let driver: Vec<_> = launches(&ran, "cuda", &["library", "code"]);
        assert_eq!(driver.len(), codes.len());
        assert!(codes.contains(&new) && codes.contains(&own), "{codes:?}");

        // With `keep = 'replacement'` the program gets the replacement's results.
        let kept =
            under(&way, &lab, &["3"], &rule("new.ptx", "{ keep = 'replacement', type = 'i32' }"));
        let plain = "[[redirect]]\nmatch = { kernel = 'alpha' }\nimage = 'new.ptx'\n";
        let replaced = under(&way, &lab, &["3"], &manifest(&lab, plain));
        assert_eq!(kept.stdout, replaced.stdout);
        assert_ne!(kept.stdout, bare.stdout);
        assert!(kept.stderr.contains("16 of 16 elements differ"), "{}", kept.stderr);
        // Whichever ran first, messages name the differences in the same order.
        let told = |ran: &Ran| {
            let mut lines = ran.stderr.lines();
            let line = lines.find(|line| line.contains("(original and replacement)"));
            line.expect("a launch that differs").to_owned()
        };
        let own = under(&way, &lab, &["3"], &rule("new.ptx", "{ type = 'i32' }"));
        assert_eq!(told(&own), told(&kept));

        // With the program's own image as replacement the results are the same.
        let dump = lab.path("own");
        let how = way.how.clone().with("CUSHIM_DUMP_IMAGES", dump.to_str().unwrap());
        lab.run(&way.program, &["1"], &how);
        let ptx = fs::read_dir(&dump).unwrap().map(|e| e.unwrap().path());
        let ptx = ptx.into_iter().find(|p| p.extension().is_some_and(|e| e == "ptx")).unwrap();
        let alike = under(&way, &lab, &["2"], &rule(ptx.to_str().unwrap(), "{ type = 'f32' }"));
        assert_eq!(alike.stderr, "cushim: redirect: try: 2 launches compared, all alike\n");
        fs::remove_dir_all(dump).unwrap();

        // A parameter that is no pointer: a message says so, and the launch is unchanged.
        let none = under(&way, &lab, &["1"], &rule("new.ptx", "{ parameters = [1] }"));
        let why = "a launch is not compared: parameter 1 holds no address of device memory";
        assert!(none.stderr.contains(why), "{}", none.stderr);
        assert!(bare.stdout.starts_with(none.stdout.split("other").next().unwrap()));
        // Only the second launch is compared.
        let file = manifest(
            &lab,
            "[[redirect]]\nname = 'try'\nmatch = { kernel = 'alpha', nth = 2 }\nimage = 'new.ptx'\ncompare = {}\n",
        );
        let second = under(&way, &lab, &["3"], &file);
        assert!(second.stderr.contains("try: 1 launches compared, 1 differ"), "{}", second.stderr);
        assert_eq!(second.stdout, bare.stdout);
    }
}
