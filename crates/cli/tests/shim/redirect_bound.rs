//! Replacements that use the program's variables, with a CUDA that has variables: each launch reads the program's
//! variables through the table of addresses in the rewritten PTX. In the driver's line of a launch the stub logs
//! the values of the image's variables (`variables=`), and for the table the values that it points to.

use std::fs;
use std::path::PathBuf;

use crate::lab::{How, Lab, Ran, stub};
use crate::redirect::{ALPHA, ALPHA_PARAMS, Way, ptx, under, ways};

/// Variables of both images, and a variable that only the replacement has.
const SCALE: &str = ".visible .const .align 4 .u32 scale = 9;\n";
const CELLS: &str = ".visible .global .align 4 .u32 cells[2] = {9, 9};\n";
const PRIVATE: &str = ".global .align 4 .u32 private = 9;\n";

/// Writes a rule for `alpha`, with a replacement that contains these declarations.
fn rule(lab: &Lab, declared: &str, more: &str) -> PathBuf {
    let text = ptx(&[(ALPHA, ALPHA_PARAMS)]).replace("64\n", &format!("64\n{declared}"));
    fs::write(lab.path("new.ptx"), text).unwrap();
    let file = lab.path("rules.toml");
    let rules = format!(
        "[[redirect]]\nname = 'it'\nmatch = {{ kernel = 'alpha' }}\nimage = 'new.ptx'\n{more}"
    );
    fs::write(&file, rules).unwrap();
    file
}

/// The same rule with a condition on launches, in a file of its own.
fn asked(lab: &Lab, declared: &str) -> PathBuf {
    let rules = fs::read_to_string(rule(lab, declared, "")).unwrap();
    let file = lab.path("asked.toml");
    fs::write(&file, rules.replace("'alpha' }", "'alpha', grid = [1, '*', '*'] }")).unwrap();
    file
}

/// The variables that the driver's launches and nodes of a kernel saw, or their status if they failed.
fn seen(ran: &Ran, kernel: &str) -> Vec<String> {
    let lines = ran.log.iter().filter(|line| line.is_launch() && line.library == "cuda");
    let lines = lines.filter(|line| line.value("kernel") == Some(kernel));
    let text = |line: &crate::log::Line| match line.value("status") {
        Some("0") => line.value("variables").unwrap_or("none").to_owned(),
        status => format!("status {}", status.unwrap_or("?")),
    };
    lines.map(text).collect()
}

fn with_memory(how: How) -> How {
    how.with("STUB_DRIVER", "1").with("STUB_MEMORY", "1").with("STUB_CONTEXTS", "1")
}

fn programs(lab: &Lab) -> Vec<Way> {
    let all = ways(lab, "bound.c").into_iter();
    all.map(|way| Way { how: with_memory(way.how), ..way }).collect()
}

fn bare(lab: &Lab, way: &Way, arguments: &[&str]) -> Ran {
    lab.run(&way.program, arguments, &How { shim: false, ..way.how.clone() })
}

/// Checks that the program's results are unchanged and that there was no message.
fn unnoticed(ran: &Ran, bare: &Ran) {
    assert_eq!((&ran.stdout, &ran.end, ran.stderr.as_str()), (&bare.stdout, &bare.end, ""));
}

#[test]
fn launches_see_what_the_program_has_set() {
    let lab = Lab::new();
    let own: Vec<String> = [0x40, 0x50, 0x60]
        .iter()
        .flat_map(|to| vec![format!("scale:{to:x},cells:{:x},unseen:4", to + 1); 2])
        .collect();
    let bound: Vec<String> = [0x40, 0x50, 0x60]
        .iter()
        .flat_map(|to| vec![format!("cushim_bound:{:x}:{to:x}", to + 1); 2])
        .collect();
    for way in programs(&lab) {
        let bare = bare(&lab, &way, &["launches"]);
        assert_eq!(seen(&bare, ALPHA), own);
        for file in
            [rule(&lab, &format!("{SCALE}{CELLS}"), ""), asked(&lab, &format!("{SCALE}{CELLS}"))]
        {
            let ran = under(&way, &lab, &["launches"], &file);
            unnoticed(&ran, &bare);
            assert_eq!(seen(&ran, ALPHA), bound);
            // A kernel that is not replaced sees its own variables.
            assert_eq!(seen(&ran, "_Z4betav"), seen(&bare, "_Z4betav"));
        }
        // A variable that only the replacement has keeps its value. A variable that the program's host code did not
        // register still belongs to the program.
        let more = ".visible .global .align 4 .u32 unseen = 9;\n";
        let file = rule(&lab, &format!("{SCALE}{PRIVATE}{more}"), "");
        let ran = under(&way, &lab, &["launches"], &file);
        unnoticed(&ran, &bare);
        assert_eq!(seen(&ran, ALPHA)[5], "cushim_bound:60:4,private:9");
    }
}

#[test]
fn variables_of_its_own_keep_their_values() {
    let lab = Lab::new();
    for way in programs(&lab) {
        let bare = bare(&lab, &way, &["launches"]);
        let file = rule(&lab, &format!("{SCALE}{CELLS}"), "own = ['scale']\n");
        let ran = under(&way, &lab, &["launches"], &file);
        unnoticed(&ran, &bare);
        assert_eq!(seen(&ran, ALPHA)[4], "cushim_bound:61,scale:9");
        let file = rule(&lab, &format!("{SCALE}{CELLS}"), "own = ['scale', 'cells']\n");
        let ran = under(&way, &lab, &["launches"], &file);
        unnoticed(&ran, &bare);
        assert_eq!(seen(&ran, ALPHA)[4], "scale:9,cells:9");
        // A rule for the whole image: the program's host code sets these variables.
        let all = ptx(&[
            (ALPHA, ALPHA_PARAMS),
            ("_Z4betav", ""),
            ("_Z5gamma4pairc", ".param .align 8 .b8 a[24], .param .u8 b"),
        ]);
        let file = rule(&lab, "", "whole = true\n");
        let text = all.replace("64\n", &format!("64\n{SCALE}{CELLS}{PRIVATE}"));
        fs::write(lab.path("new.ptx"), text).unwrap();
        let ran = under(&way, &lab, &["launches"], &file);
        unnoticed(&ran, &bare);
        assert_eq!(seen(&ran, ALPHA)[4], "scale:60,cells:61,private:9");
    }
}

#[test]
fn each_device_has_its_table() {
    let lab = Lab::new();
    for way in programs(&lab) {
        let bare = bare(&lab, &way, &["devices"]);
        assert_eq!(
            seen(&bare, ALPHA).iter().map(|line| &line[..9]).collect::<Vec<_>>(),
            [
                "scale:100",
                "scale:200",
                "scale:300",
                "scale:100",
                "scale:200",
                "scale:300",
                "scale:200"
            ]
        );
        for file in [rule(&lab, SCALE, ""), asked(&lab, SCALE)] {
            let ran = under(&way, &lab, &["devices"], &file);
            unnoticed(&ran, &bare);
            let bound = ["100", "200", "300", "100", "200", "300", "200"];
            assert_eq!(seen(&ran, ALPHA), bound.map(|value| format!("cushim_bound:{value}")));
        }
    }
}

#[test]
fn a_library_is_closed_and_opened_again() {
    let lab = Lab::new();
    for (major, way) in [11, 12, 13].into_iter().zip(programs(&lab)) {
        let folder = format!("-L{}", stub().display());
        let arguments = [&format!("-DMAJOR={major}"), "-DPLUGIN", "-shared", "-fPIC", &folder];
        let runtime = format!("-l:{}", crate::lab::cudart(major));
        let shared = lab.build("shared.so", "bound.c", &[&arguments[..], &[&runtime]].concat());
        let more = ["-DPLUGIN", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-lpthread", "-ldl"];
        let inside = lab.with_static_runtime("static.so", "bound.c", major, &more);
        for library in [shared, inside] {
            let arguments = ["plugin", library.to_str().unwrap()];
            let bare = bare(&lab, &way, &arguments);
            let values = ["700", "800", "710", "810", "720", "820"];
            let lines = seen(&bare, ALPHA);
            assert_eq!(lines.len(), 6, "{}", bare.stdout);
            for (line, value) in lines.iter().zip(values) {
                assert!(line.starts_with(&format!("scale:{value},")), "{lines:?}");
            }
            for file in [rule(&lab, SCALE, ""), asked(&lab, SCALE)] {
                let ran = under(&way, &lab, &arguments, &file);
                unnoticed(&ran, &bare);
                assert_eq!(seen(&ran, ALPHA), values.map(|value| format!("cushim_bound:{value}")));
            }
        }
    }
}

#[test]
fn launches_that_go_straight_to_the_driver_see_them() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        let program = lab.program("bound.c", major);
        let how = with_memory(How::shim()).with("CUSHIM_DIRECT", "1");
        let way = Way { program, face: "cudart", how };
        for arguments in ["launches", "devices"] {
            let bare = bare(&lab, &way, &[arguments]);
            let file = rule(&lab, SCALE, "");
            let ran = under(&way, &lab, &[arguments], &file);
            unnoticed(&ran, &bare);
            let own = seen(&bare, ALPHA).into_iter();
            let bound: Vec<_> = own
                .map(|line| line.split(',').next().unwrap().replace("scale", "cushim_bound"))
                .collect();
            assert_eq!(seen(&ran, ALPHA), bound);
            let by_runtime = ran
                .log
                .iter()
                .filter(|line| line.is_launch() && line.library.starts_with("cudart"));
            let by_runtime = by_runtime.filter(|line| line.value("kernel") == Some(ALPHA)).count();
            // If each launch is on another device than the one before, all of them go through the runtime.
            let all = arguments == "devices";
            assert_eq!(by_runtime < bound.len(), !all, "{by_runtime} of {}", bound.len());
        }
    }
}

/// Modules in two contexts, unloaded and loaded again; a library's kernel in graph nodes that name their context.
#[test]
fn contexts_and_nodes_of_the_driver() {
    let lab = Lab::new();
    let folder = format!("-L{}", stub().display());
    let program = lab.build("program", "bound_driver.c", &[&folder, "-l:libcuda.so.1"]);
    let way = Way { program, face: "cuda", how: with_memory(How::shim()) };
    let own = [
        "32", "31", "33", "31", "33", "!400", "34", "51", "52", "52", "51", "52", "61", "51", "51",
        "!400",
    ];
    let lines = |name: &str| -> Vec<String> {
        let line = |value: &&str| match value.strip_prefix('!') {
            Some(status) => format!("status {status}"),
            None => format!("{name}:{value}"),
        };
        own.iter().map(line).collect()
    };
    let bare = bare(&lab, &way, &[]);
    assert_eq!(seen(&bare, ALPHA), lines("scale"));
    // Launches of a replacement that was unloaded with its module do not reach the driver.
    for (file, unloaded) in [(rule(&lab, SCALE, ""), 0), (asked(&lab, SCALE), 2)] {
        let ran = under(&way, &lab, &[], &file);
        unnoticed(&ran, &bare);
        let (refused, reached): (Vec<String>, Vec<String>) =
            seen(&ran, ALPHA).into_iter().partition(|line| line.starts_with("status"));
        assert_eq!(refused, vec!["status 400"; unloaded]);
        let expected = lines("cushim_bound").into_iter().filter(|line| !line.starts_with("status"));
        assert_eq!(reached, expected.collect::<Vec<_>>());
    }
}

/// Kernels of which one has the handle that a replacement had, before it was unloaded: they are launched.
#[test]
fn a_handle_that_another_kernel_has_got() {
    let lab = Lab::new();
    let folder = format!("-L{}", stub().display());
    let program = lab.build("program", "bound_driver.c", &[&folder, "-l:libcuda.so.1"]);
    let how = with_memory(How::shim()).with("STUB_SAME_HANDLES", "1");
    let way = Way { program, face: "cuda", how };
    let bare = bare(&lab, &way, &["again"]);
    assert_eq!(bare.stdout, "first 0\n0 0 again 1\n");
    for file in [rule(&lab, SCALE, ""), asked(&lab, SCALE)] {
        let ran = under(&way, &lab, &["again"], &file);
        unnoticed(&ran, &bare);
        assert_eq!(seen(&ran, ALPHA), ["cushim_bound:31"]);
        assert_eq!(
            (seen(&ran, "one"), seen(&ran, "two")),
            (seen(&bare, "one"), seen(&bare, "two"))
        );
    }
}

/// Variables that cannot be bound or do not exist: the rule is refused with the reason, and the program's own kernel runs.
#[test]
fn what_does_not_fit_is_refused_with_the_reason() {
    let lab = Lab::new();
    let refused = [
        (
            ".visible .const .align 8 .u64 scale;\n",
            "",
            "variable scale is 8 bytes in .const, expected 4 bytes in .const",
        ),
        (
            ".visible .global .align 4 .u32 scale;\n",
            "",
            "variable scale is 4 bytes in .global, expected 4 bytes in .const",
        ),
        (
            SCALE,
            "own = ['sclae']\n",
            "`own` names sclae, which is not a variable of the replacement",
        ),
        (
            ".extern .const .align 4 .u32 other;\n",
            "",
            "other is declared .extern, but the program's image does not define it",
        ),
    ];
    for way in programs(&lab) {
        let bare = bare(&lab, &way, &["launches"]);
        for (declared, more, why) in refused {
            let ran = under(&way, &lab, &["launches"], &rule(&lab, declared, more));
            assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
            assert_eq!((&ran.stdout, &ran.end), (&bare.stdout, &bare.end));
            assert_eq!(seen(&ran, ALPHA), seen(&bare, ALPHA));
        }
    }
}
