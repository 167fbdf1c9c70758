//! Replacement in graph nodes, on several devices, of images from files, and with several images for
//! several backends. Programs run against the test-only CUDA.

use std::fs;

use crate::lab::{How, Lab, Ran};
use crate::redirect::{
    ALPHA, ALPHA_PARAMS, Way, code, launches, manifest, ptx, replacement, under,
};

/// The nodes that the program made or changed itself, from the runtime's log.
fn nodes(ran: &Ran, keys: &[&str]) -> Vec<String> {
    let lines = ran.log.iter().filter(|l| {
        l.function.contains("Graph") && l.value("grid").is_some() && l.value("status") == Some("0")
    });
    let words =
        lines.map(|l| keys.iter().map(|k| l.value(k).unwrap_or("?")).collect::<Vec<_>>().join(" "));
    words.collect()
}

fn capture(lab: &Lab, major: u32, rules: &str) -> (Ran, Ran) {
    let program = lab.program("capture.c", major);
    let way = Way { program, face: "cudart", how: How::shim() };
    let bare = lab.run(&way.program, &[], &How::bare());
    let ran = under(&way, lab, &[], &manifest(lab, rules));
    assert_eq!((&ran.stdout, &ran.end), (&bare.stdout, &bare.end));
    (ran, bare)
}

#[test]
fn nodes_in_another_shape() {
    let lab = Lab::new();
    let rules = "[[redirect]]\nmatch = { kernel = 'alpha', grid = [20, '*', '*'] }\nlaunch = { grid = [7, 8, 9], block = [96, 1, 1], shared = 64 }\n";
    for major in [11, 12, 13] {
        let (ran, bare) = capture(&lab, major, rules);
        let keys = ["kernel", "grid", "block", "shared", "args", "code"];
        let expected: Vec<String> = nodes(&bare, &keys)
            .into_iter()
            .map(|line| line.replace("20,3,4 64,1,1 128", "7,8,9 96,1,1 64"))
            .collect();
        assert_eq!(expected.iter().filter(|line| line.contains("7,8,9")).count(), 2);
        assert_eq!(nodes(&ran, &keys), expected);
        // The trace shows the graph's final nodes.
        assert_eq!(ran.traces[0].launches().iter().filter(|l| l.contains("7,8,9")).count(), 2);
        assert_eq!(ran.stderr, "");
    }
}

#[test]
fn nodes_with_another_kernel_by_their_shape() {
    let lab = Lab::new();
    let rules =
        "[[redirect]]\nmatch = { kernel = 'alpha', block = [64, 1, 1] }\nimage = 'new.ptx'\n";
    for major in [11, 12, 13] {
        let (ran, _) = capture(&lab, major, rules);
        let new = code(replacement());
        let got = nodes(&ran, &["block", "code"]);
        assert!(got.len() >= 3);
        for line in got {
            assert_eq!(line.ends_with(&new), line.starts_with("64,1,1"), "{line}");
        }
    }
}

#[test]
fn nodes_that_are_left_out_stay_and_do_nothing() {
    let lab = Lab::new();
    let rules = "[[redirect]]\nmatch = { kernel = 'alpha' }\nskip = true\n";
    for major in [11, 12, 13] {
        let (ran, bare) = capture(&lab, major, rules);
        let keys = ["grid", "block", "shared", "args", "status"];
        assert_eq!(
            nodes(&ran, &keys),
            nodes(&bare, &keys),
            "the same nodes with the same arguments"
        );
        let kernels = nodes(&ran, &["kernel"]);
        assert!(kernels.iter().all(|kernel| kernel == "cushim_nothing"), "{kernels:?}");
        assert!(launches(&ran, "cudart", &["kernel"]).iter().all(|kernel| kernel != ALPHA));
    }
    // Nodes that hold the driver's kernel handles.
    let folder = format!("-L{}", crate::lab::stub().display());
    let program = lab.build("linked", "driver.c", &[&folder, "-l:libcuda.so.1"]);
    let way = Way { program, face: "cuda", how: How::shim() };
    let ran = under(
        &way,
        &lab,
        &[],
        &manifest(&lab, "[[redirect]]\nmatch = { kernel = 'gamma' }\nskip = true\n"),
    );
    let bare = lab.run(&way.program, &[], &How::bare());
    assert_eq!(ran.stdout, bare.stdout);
    assert_eq!(nodes(&ran, &["kernel", "grid"]), ["cushim_nothing 14,1,1"], "{}", ran.stderr);
    assert_eq!(nodes(&ran, &["args"]), nodes(&bare, &["args"]));
}

#[test]
fn what_has_no_meaning_for_nodes_is_refused_once() {
    let lab = Lab::new();
    for (rule, words) in [
        ("match = { kernel = 'alpha', nth = '11..' }\nskip = true", "`nth` counts launches"),
        (
            "match = { kernel = 'alpha' }\nimage = 'new.ptx'\ncompare = {}",
            "`compare` compares launches",
        ),
    ] {
        let rules = format!("[[redirect]]\nname = 'it'\n{rule}\n");
        for major in [11, 12, 13] {
            let (ran, bare) = capture(&lab, major, &rules);
            let keys = ["kernel", "grid", "args", "code"];
            assert_eq!(nodes(&ran, &keys), nodes(&bare, &keys));
            let said = ran.stderr.lines().filter(|line| line.contains("a graph node"));
            let said: Vec<&str> = said.collect();
            assert!(said.len() == 1 && said[0].contains(words), "{}", ran.stderr);
            assert!(said[0].contains("it: _Z5alphaPfif"), "{}", ran.stderr);
        }
        let program = lab.program("capture.c", 12);
        let way = Way { program, face: "cudart", how: How::shim() };
        let stop = manifest(&lab, &format!("{rules}on-failure = 'stop'\n"));
        assert_eq!(under(&way, &lab, &[], &stop).end, "exit 78");
    }
}

/// The launches of devices.c: device, image and status, without the launch of a kernel that was
/// unloaded.
fn devices(ran: &Ran) -> Vec<String> {
    let all = launches(ran, "cuda", &["device", "code", "status"]);
    all.into_iter().filter(|line| !line.ends_with(" 400")).collect()
}

#[test]
fn every_device_has_its_replacement() {
    let lab = Lab::new();
    let folder = format!("-L{}", crate::lab::stub().display());
    let program = lab.build("devices", "devices.c", &[&folder, "-l:libcuda.so.1"]);
    let how = How::shim().with("STUB_CONTEXTS", "1");
    let bare = lab.run(&program, &[], &How { shim: false, ..how.clone() });
    let old = devices(&bare)[0].split(' ').nth(1).unwrap().to_owned();
    let new = code(replacement());
    let loads =
        |ran: &Ran, what: &str| ran.log.iter().filter(|l| l.function.contains(what)).count();
    for (condition, all) in [("", true), (", grid = [1, 1, 1]", true), (", nth = '2..'", false)] {
        let rules =
            format!("[[redirect]]\nmatch = {{ kernel = 'alpha'{condition} }}\nimage = 'new.ptx'\n");
        let way = Way { program: program.clone(), face: "cuda", how: how.clone() };
        let ran = under(&way, &lab, &[], &manifest(&lab, &rules));
        assert_eq!(
            (&ran.stdout, &ran.end),
            (&bare.stdout, &bare.end),
            "{condition}: {}",
            ran.stderr
        );
        if all {
            let expected: Vec<String> =
                devices(&bare).iter().map(|line| line.replace(&old, &new)).collect();
            assert_eq!(devices(&ran), expected, "{condition}");
            // One replacement for each of the program's four modules and its library, though the program asks for kernels
            // again and again. It is unloaded with its module, or with the context.
            assert_eq!((loads(&bare, "cuModuleLoadData"), loads(&ran, "cuModuleLoadData")), (4, 8));
            assert_eq!(
                (loads(&bare, "cuLibraryLoadData"), loads(&ran, "cuLibraryLoadData")),
                (1, 2)
            );
            assert_eq!((loads(&bare, "cuModuleUnload"), loads(&ran, "cuModuleUnload")), (1, 2));
            assert_eq!((loads(&bare, "cuLibraryUnload"), loads(&ran, "cuLibraryUnload")), (1, 2));
        } else {
            // The count of launches (`nth`) is separate for each module's kernel.
            let first = |device: &str| {
                let lines = devices(&ran).into_iter().filter(|line| line.starts_with(device));
                lines.take(3).map(|line| line.contains(&new)).collect::<Vec<_>>()
            };
            assert_eq!(
                (first("0"), first("1")),
                (vec![false, true, true], vec![false, true, true])
            );
        }
    }
}

#[test]
fn whole_images_from_files() {
    let lab = Lab::new();
    let folder = format!("-L{}", crate::lab::stub().display());
    let program = lab.build("devices", "devices.c", &[&folder, "-l:libcuda.so.1"]);
    let own = ptx(&[(ALPHA, ALPHA_PARAMS), ("other", "")]);
    fs::write(lab.path("own.ptx"), &own).unwrap();
    let file = lab.path("own.ptx").to_str().unwrap().to_owned();
    let how = How::shim().with("STUB_CONTEXTS", "1");
    let bare = lab.run(&program, &[&file], &How { shim: false, ..how.clone() });
    assert!(bare.stdout.contains("no file 301\nfile 0 0 0\nfile 0 0 0\n"), "{}", bare.stdout);
    let dump = lab.path("dump");
    let dumped = lab.run(
        &program,
        &[&file],
        &how.clone().with("CUSHIM_DUMP_IMAGES", dump.to_str().unwrap()),
    );
    assert_eq!(dumped.stdout, bare.stdout);
    let index = fs::read_to_string(dump.join("images.jsonl")).unwrap();
    let of_file = index.lines().find(|line| line.contains("own.ptx")).unwrap();
    let hash = serde_json::from_str::<serde_json::Value>(of_file).unwrap()["hash"]
        .as_str()
        .unwrap()
        .to_owned();
    let conditions = [
        "owner = 'own.ptx$'".to_owned(),
        format!("hash = '{hash}'"),
        "kernel = '^other$'".to_owned(),
    ];
    for condition in conditions {
        let rules =
            format!("[[redirect]]\nmatch = {{ {condition} }}\nimage = 'new.ptx'\nwhole = true\n");
        let way = Way { program: program.clone(), face: "cuda", how: how.clone() };
        let ran = under(&way, &lab, &[&file], &manifest(&lab, &rules));
        assert_eq!(
            (&ran.stdout, &ran.end, ran.stderr.as_str()),
            (&bare.stdout, &bare.end, ""),
            "{condition}"
        );
        let all = launches(&ran, "cuda", &["code"]);
        let (last, before) = (&all[all.len() - 2..], &all[..all.len() - 2]);
        assert!(last.iter().all(|c| *c == code(replacement())), "{condition}: {all:?}");
        assert!(before.iter().all(|c| *c != code(replacement())), "{condition}: {all:?}");
    }
}

/// As under `cushim run`: nothing is recorded, but images are replaced and dumped all the same.
#[test]
fn without_recording() {
    let lab = Lab::new();
    let dump = lab.path("dump");
    let how = How::shim().with("STUB_DRIVER", "1").with("CUSHIM_EVENTS", "none");
    for (program, face) in
        [(lab.program("steps.c", 13), "cudart"), (lab.static_program("steps.c", 12), "cuda")]
    {
        let ran = lab.run(
            &program,
            &["launch", "1"],
            &how.clone().with("CUSHIM_DUMP_IMAGES", dump.to_str().unwrap()),
        );
        assert!(ran.traces.is_empty());
        let index = fs::read_to_string(dump.join("images.jsonl")).unwrap();
        assert!(index.contains(ALPHA), "{index}");
        fs::remove_dir_all(&dump).unwrap();
        let rules =
            manifest(&lab, "[[redirect]]\nmatch = { kernel = 'alpha' }\nimage = 'new.ptx'\n");
        let way = Way { program, face, how: how.clone() };
        let ran = under(&way, &lab, &["launch", "1"], &rules);
        assert_eq!(launches(&ran, face, &["code"]), [code(replacement())]);
        assert!(ran.traces.is_empty());
    }
}

/// A bundle as clang's offload bundler writes it, with an entry for an AMD GPU.
pub fn bundle() -> Vec<u8> {
    let id = b"hipv4-amdgcn-amd-amdhsa--gfx90a";
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    for word in [1, 128, 64, id.len() as u64] {
        bundle.extend(u64::to_le_bytes(word));
    }
    bundle.extend(id);
    bundle.resize(128, 0);
    let mut elf = b"\x7fELF\x02\x01\x01\x40\x04".to_vec();
    elf.resize(16, 0);
    elf.extend([3, 0, 224, 0, 1, 0, 0, 0]);
    elf.resize(64, 0);
    bundle.extend(elf);
    bundle
}

#[test]
fn several_images_and_what_needs_another_backend() {
    let lab = Lab::new();
    fs::write(lab.path("amd.hipfb"), bundle()).unwrap();
    let new = code(replacement());
    for major in [11, 13] {
        for (program, face) in [
            (lab.program("steps.c", major), "cudart"),
            (lab.static_program("steps.c", major), "cuda"),
        ] {
            let way = Way { program, face, how: How::shim().with("STUB_DRIVER", "1") };
            let ran = |rules: &str, count: &str| {
                under(&way, &lab, &["launch", count], &manifest(&lab, rules))
            };
            // The first image that this backend can run is used.
            let both = ran(
                "[[redirect]]\nmatch = { kernel = 'alpha' }\nimage = ['amd.hipfb', 'new.ptx']\n",
                "2",
            );
            assert_eq!(launches(&both, face, &["code"]), [new.as_str(), new.as_str()]);
            assert_eq!(both.stderr, "");
            // The rule is accepted, and refused once, at the launch.
            let amd =
                "[[redirect]]\nname = 'it'\nmatch = { kernel = 'alpha' }\nimage = 'amd.hipfb'\n";
            let none = ran(amd, "0");
            assert_eq!((none.end.as_str(), none.stderr.as_str()), ("exit 0", ""));
            let two = ran(amd, "2");
            assert!(launches(&two, face, &["code"]).iter().all(|c| *c != new));
            assert_eq!(
                two.stderr.matches("only backend hsa can launch").count(),
                1,
                "{}",
                two.stderr
            );
            assert!(
                two.stderr.contains("it: _Z5alphaPfif: ") && two.stderr.contains("gfx90a"),
                "{}",
                two.stderr
            );
            // The next rule that applies is used.
            let next = ran(
                &format!(
                    "{amd}[[redirect]]\nmatch = {{ kernel = 'alpha' }}\nlaunch = {{ grid = [5, 5, 5] }}\n"
                ),
                "1",
            );
            assert_eq!(launches(&next, face, &["grid"]), ["5,5,5"]);
        }
    }
}
