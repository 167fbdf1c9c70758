//! Launches that skip the runtime and go straight to the driver: the driver must see the same calls, and the
//! program the same results, as through the runtime. Programs run against the test-only CUDA.

use std::path::Path;

use crate::lab::{How, Lab, Ran, root};

const KEYS: [&str; 6] = ["kernel", "grid", "block", "shared", "args", "device"];

fn how() -> How {
    How::shim().with("STUB_DRIVER", "1").with("STUB_CONTEXTS", "1").with("CUSHIM_LOG", "info")
}

/// The driver's launches: the values of some keys, and the stream that the handle means.
fn driven(ran: &Ran) -> Vec<String> {
    let lines = ran.log.iter().filter(|line| line.is_launch() && line.library == "cuda");
    let text = |line: &crate::log::Line| {
        let value = |key| line.value(key).unwrap_or("?");
        let values = KEYS.map(value).join(" ");
        let values = format!("{values} {} code {}", value("status"), value("code"));
        let stream = match line.value("stream").unwrap() {
            "0" if line.function.ends_with("_ptsz") => "0x2",
            "0" => "0x1",
            other => other,
        };
        format!("{values} {stream}")
    };
    lines.map(text).collect()
}

/// The launches that came through the runtime.
fn through(ran: &Ran) -> usize {
    ran.log.iter().filter(|line| line.is_launch() && line.library.starts_with("cudart")).count()
}

fn run(lab: &Lab, program: &Path, how: &How) -> Ran {
    lab.run(program, &[], how)
}

#[test]
fn the_driver_gets_the_same() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        let program = lab.program("direct.c", major);
        let bare = run(&lab, &program, &How { shim: false, ..how() });
        let by_runtime = run(&lab, &program, &how());
        assert_eq!(bare.end, "exit 4");
        assert_eq!(driven(&by_runtime), driven(&bare));
        for (name, value) in
            [("CUSHIM_EVENTS", "launch"), ("CUSHIM_EVENTS", "none"), ("CUSHIM_NESTED", "1")]
        {
            let ran = run(&lab, &program, &how().with("CUSHIM_DIRECT", "1").with(name, value));
            assert_eq!(
                (&ran.stdout, &ran.end),
                (&bare.stdout, &bare.end),
                "{major} {name}={value}"
            );
            // The runtime repeats a launch that failed: only those may be in excess.
            let well =
                |ran| driven(ran).into_iter().filter(|line| line.contains(" 0 code")).collect();
            let (wanted, got): (Vec<_>, Vec<_>) = (well(&bare), well(&ran));
            assert!(wanted.len() > 30);
            assert_eq!(got, wanted, "{major} {name}={value}");
            assert!(
                through(&ran) * 2 < through(&bare) + 30,
                "{} of {}",
                through(&ran),
                through(&bare)
            );
            // A captured stream's launches are all the runtime's.
            let captured = |ran: &Ran| {
                let lines = ran.log.iter().filter(|line| line.library.starts_with("cudart"));
                lines.filter(|l| l.is_launch() && l.value("stream") == Some("0x40")).count()
            };
            assert_eq!((captured(&bare), captured(&ran)), (2, 2), "{major} {name}={value}");
            assert!(ran.stderr.contains("kernels were launched by the driver"), "{}", ran.stderr);
        }
    }
}

/// The runtime's share of the same launches, one by one.
#[test]
fn what_goes_straight() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        let program = lab.program("steps.c", major);
        for (variable, count) in [("0", 5), ("1", 1)] {
            let how = how().with("CUSHIM_DIRECT", variable);
            let ran = lab.run(&program, &["launch", "5"], &how);
            assert_eq!((through(&ran), driven(&ran).len()), (count, 5), "{major}");
            assert_eq!(ran.traces[0].launches().len(), 5, "all are recorded");
        }
        // Not over a backend other than NVIDIA's, whatever the environment says.
        let how = how().with("CUSHIM_DIRECT", "1").with("CUSHIM_BACKEND", "driver");
        assert_eq!(through(&lab.run(&program, &["launch", "5"], &how)), 5);
    }
}

/// Only a thread whose context the runtime has just used launches directly: its first launch is the runtime's.
#[test]
fn the_first_launch_of_each_thread_is_the_runtimes() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        let program = lab.program("steps.c", major);
        let how = how().with("CUSHIM_DIRECT", "1");
        let ran = lab.run(&program, &["threads", "6", "5"], &how);
        assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
        assert_eq!((through(&ran), driven(&ran).len()), (6, 30), "{major}");
    }
}

#[test]
fn rules_and_tools_see_no_difference() {
    let lab = Lab::new();
    let rules = "[[redirect]]\nmatch = { kernel = 'alpha', nth = 2 }\nlaunch = { grid = [7, 8, 9], shared = 64 }\n\
                 [[redirect]]\nmatch = { kernel = 'alpha', nth = 3 }\nskip = true\n\
                 [[redirect]]\nmatch = { kernel = 'alpha', nth = '4..5' }\nimage = 'new.ptx'\n";
    let file = crate::redirect::manifest(&lab, rules);
    let tool = lab.build(
        "libhistogram.so",
        "../tools/histogram.c",
        &["-shared", "-fPIC", "-I", root().join("include").to_str().unwrap()],
    );
    for major in [11, 12, 13] {
        let program = lab.program("steps.c", major);
        let counts = lab.path("counts");
        let how = crate::redirect::with_rules(&how(), &file)
            .with("CUSHIM_TOOL", tool.to_str().unwrap())
            .with("HISTOGRAM", counts.to_str().unwrap());
        let launch = |how: &How| {
            let ran = lab.run(&program, &["launch", "8"], how);
            let straight = through(&ran);
            (driven(&ran), ran.stderr, std::fs::read_to_string(&counts).unwrap(), straight)
        };
        let (wanted, got) = (launch(&how), launch(&how.clone().with("CUSHIM_DIRECT", "1")));
        assert_eq!((&got.0, &got.2), (&wanted.0, &wanted.2));
        assert_eq!(wanted.0.len(), 7);
        // One for each kernel: the program's and its replacement.
        assert_eq!((wanted.3, got.3), (7, 2), "{major}");
    }
}
