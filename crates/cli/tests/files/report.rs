//! Reports of made-up trace files. `UPDATE_GOLDEN=1 cargo test` writes the golden files anew.

use crate::manual;
use cushim_testkit::{analysis as fuzz, corpus};

use std::path::{Path, PathBuf};
use std::process::Command;

use cushim_trace::event::{Body, Call, Counters, Event, Gpu, LaunchEvent, Texts, Words};
use cushim_trace::layout::{GPU_COPY, GPU_KERNEL, GpuBody, LaunchBody, Lost};
use cushim_trace::meta::{Kernel, Process};
use cushim_trace::testing::FileBuilder;
use manual::documented;

const LAUNCH: u16 = 1;
const MEMCPY: u16 = 2;
const SYNC: u16 = 3;

/// A process that launches two kernels `rounds` times and copies; `rank` is its rank in a job.
fn process(pid: u32, rank: Option<u32>, rounds: u64, slow: u64, second: &str) -> FileBuilder {
    let mut file = FileBuilder::new(&Process {
        pid,
        ppid: 1,
        exe: "/usr/local/bin/app".into(),
        argv: vec!["app".into(), "</script><b>\"1,024\"".into()],
        host: "node7".into(),
        rank,
        version: "0.1.0".into(),
    });
    file.api(LAUNCH, "cudaLaunchKernel", "launch", "");
    let copy = "dst:ptr,src:ptr,count:size,kind:memcpykind";
    file.api(MEMCPY, "cudaMemcpy", "copy", copy);
    file.api(SYNC, "cudaDeviceSynchronize", "sync", "");
    for (id, mangled) in [(1, "_Z4initPfi"), (2, second)] {
        let kernel = Kernel {
            mangled: mangled.into(),
            owner: "/home/u/app".into(),
            params: Ok(vec![(0, 8), (8, 4)]),
            ..Kernel::default()
        };
        file.kernel(id, &kernel);
    }
    let mut now = 0;
    let mut put = |tid: u32, api: u16, ns: u64, status: i32, body: Body<'_>| {
        now += 1_000;
        let (id, depth, parent) = (0, 0, None);
        let (call_ns, status) = (Some(ns), Some(status));
        file.event(&Event {
            id,
            parent,
            tid,
            api,
            depth,
            begin_ns: now,
            call_ns,
            status,
            link: 0,
            body,
        });
        now += ns;
    };
    let words: Vec<u8> =
        [0x7f00u64, 0x7ffc, 1 << 20, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    let copy = |words| Call { kernel: 0, outs: 0, words, texts: Texts::default() };
    put(pid, MEMCPY, 1_000_000, 0, Body::Call(copy(Words::new(&words))));
    for n in 0..rounds {
        let mut args = 0x7f3a_0000_0000u64.to_le_bytes().to_vec();
        args.extend((n as i32).to_le_bytes());
        let (grid, block) = ([16, 1, 1], [256, 1, 1]);
        let mut stored = LaunchBody { kernel: 1, grid, block, ..LaunchBody::default() };
        let launch = |stored| Body::Launch(LaunchEvent { stored, args: &args });
        put(pid, LAUNCH, 2_000 + n, 0, launch(stored));
        (stored.kernel, stored.grid, stored.stream) = (2, [16 << (n % 2), 4, 1], 0x5566_0010);
        put(pid + 1, LAUNCH, slow, if n == 3 { 98 } else { 0 }, launch(stored));
    }
    put(pid, SYNC, 50_000, 0, Body::Call(copy(Words::new(&[]))));
    put(pid, 0, 0, 0, Body::Mark("epoch 2"));
    file.lost[Lost::Limit as usize] = 12;
    file
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        let files = [
            ("a.cushim", process(100, Some(0), 10, 5_000, "_Z4stepIfEvPT_i")),
            ("b.cushim", process(200, Some(1), 12, 7_000, "_Z4stepIdEvPT_i")),
        ];
        for (name, file) in files {
            file.write(&folder.at(name)).unwrap();
        }
        folder
    }
    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    fn report(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
        let run = command.arg("report").args(args).env("LC_ALL", "C.UTF-8");
        let run = run.current_dir(self.0.path()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (run.status.code().unwrap(), text(run.stdout), text(run.stderr))
    }
    fn good(&self, args: &[&str]) -> String {
        let (status, stdout, stderr) = self.report(args);
        assert_eq!((status, stderr.as_str()), (0, ""), "{args:?}");
        stdout
    }
}

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} differs; now:\n{text}");
}

#[test]
fn text_csv_and_changes() {
    let folder = Folder::new();
    golden("report-one.txt", &folder.good(&["a.cushim"]));
    golden("report-two.txt", &folder.good(&["."]));
    golden("report-shapes.csv", &folder.good(&[".", "--by", "shape", "--format", "csv"]));
    golden("report-changes.txt", &folder.good(&["a.cushim", "--vs", "b.cushim"]));
    for by in ["kernel", "stream", "thread", "rank", "api", "copy", "gap"] {
        let table = folder.good(&[".", "--by", by, "--format", "csv"]);
        let fields = table.lines().next().unwrap().split(',').count();
        assert!(table.ends_with("\r\n") && table.lines().count() > 1 && fields > 4, "{table}");
    }
}

#[test]
fn sorting_top_and_filter() {
    let folder = Folder::new();
    let by_name = folder.good(&[".", "--format", "csv", "--sort", "name", "--top", "1"]);
    assert!(by_name.lines().nth(1).unwrap().ends_with(",init"), "{by_name}");
    assert_eq!(by_name.lines().count(), 2);
    for filter in ["step<double>", "k3"] {
        let only = folder.good(&[".", "-k", filter, "--format", "json"]);
        let only: serde_json::Value = serde_json::from_str(&only).unwrap();
        assert_eq!(only["kernels"].as_array().unwrap().len(), 1);
        assert_eq!(
            (&only["kernels"][0]["kernel"], &only["launches"]),
            (&"step<double>".into(), &12.into())
        );
        assert_eq!(only["streams"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn json_is_true_and_documented() {
    let folder = Folder::new();
    let one: serde_json::Value =
        serde_json::from_str(&folder.good(&["a.cushim", "--format", "json"])).unwrap();
    assert_eq!(one["format"], "cushim-report-1");
    assert_eq!((&one["launches"], &one["events"]), (&20.into(), &23.into()));
    let init = one["kernels"].as_array().unwrap().iter().find(|k| k["kernel"] == "init").unwrap();
    assert_eq!(init["call_ns"]["total"], (2_000..2_010).sum::<u64>());
    assert_eq!((&init["call_ns"]["max"], &init["calls"]), (&2_009.into(), &10.into()));
    let arguments = init["arguments"].as_array().unwrap();
    assert_eq!(
        (&arguments[0]["constant"], &arguments[1]["constant"]),
        (&true.into(), &false.into())
    );
    assert_eq!(arguments[0]["value"], "0x7f3a00000000");
    assert_eq!(one["copies"][0]["bytes"], 1 << 20);
    assert_eq!(one["copies"][0]["host_bytes_per_s"], f64::from(1 << 20) * 1e3);
    assert_eq!(one["processes"][0]["lost"]["limit"], 12);
    assert_eq!(one["failures"][0]["calls"], 1);
    documented(&one, "report-json.md");
    let changes = folder.good(&["a.cushim", "--vs", "b.cushim", "--format", "json"]);
    let changes: serde_json::Value = serde_json::from_str(&changes).unwrap();
    for side in ["before", "after"] {
        for kernel in changes["kernels"].as_array().unwrap() {
            assert!(kernel[side].is_null() || kernel[side]["launches"].is_u64());
        }
    }
    let fate = |name: &str| {
        let all = changes["kernels"].as_array().unwrap();
        all.iter().find(|k| k["name"] == name).unwrap()["change"].clone()
    };
    assert_eq!((fate("init"), fate("step<float>")), ("changed".into(), "vanished".into()));
    assert_eq!(fate("step<double>"), "new");
}

/// The page of a comparison shows the changes first, gives each column its own name, and has B's tables.
#[test]
fn changes_as_a_page() {
    let folder = Folder::new();
    let page = folder.good(&["a.cushim", "--vs", "b.cushim", "--format", "html"]);
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let text = folder.good(&["a.cushim", "--vs", "b.cushim"]);
    assert_eq!(data["compared"].as_str(), text.lines().next());
    let changes = &data["tables"][0];
    assert_eq!(changes["id"], "change");
    let columns: Vec<&str> =
        changes["columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    assert!(columns.starts_with(&[
        "change",
        "launches A",
        "launches B",
        "total A",
        "total B",
        "B/A"
    ]));
    let json = folder.good(&["a.cushim", "--vs", "b.cushim", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let (rows, kernels) =
        (changes["rows"].as_array().unwrap(), json["kernels"].as_array().unwrap());
    assert_eq!(rows.len(), kernels.len());
    for (row, kernel) in rows.iter().zip(kernels) {
        assert_eq!(
            (&row[0], row.as_array().unwrap().last()),
            (&kernel["change"], Some(&kernel["name"]))
        );
        let launches = |side: &str| kernel[side]["launches"].as_f64();
        assert_eq!(
            (row[1][0].as_f64(), row[2][0].as_f64()),
            (launches("before"), launches("after"))
        );
    }
    let alone = folder.good(&["b.cushim", "--format", "json"]);
    let alone: serde_json::Value = serde_json::from_str(&alone).unwrap();
    assert_eq!((&data["launches"], &data["events"]), (&alone["launches"], &alone["events"]));
    assert!(data["tables"].as_array().unwrap().iter().any(|table| table["id"] == "kernel"));
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    for args in [
        &["a.cushim", "--vs", "b.cushim", "--by", "api"][..],
        &["a.cushim", "-e", "all", "--by", "api"],
        &["a.cushim", "-o", "a.cushim"],
        &["none.cushim"],
    ] {
        let (status, stdout, stderr) = folder.report(args);
        assert_eq!((status, stdout.as_str(), stderr.lines().count()), (125, "", 1), "{stderr}");
    }
    let events = folder.good(&["a.cushim", "-e", "launch"]);
    assert!(events.starts_with("k1 init<<<16, 256>>>("), "{events}");
}

/// A process whose names contain HTML, whose kernels have GPU times, with marks.
fn hostile() -> FileBuilder {
    let mut file = process(300, None, 9, 4_000, "<img src=x onerror=alert(1)></script><b>'\"&amp;");
    for n in 0..9u64 {
        let stored = GpuBody {
            what: if n == 8 { GPU_COPY } else { GPU_KERNEL },
            direction: 1,
            stream: 7,
            kernel: if n == 8 { 0 } else { 1 + (n % 2) as u32 },
            bytes: if n == 8 { 4096 } else { 0 },
            grid: [16, 1, 1],
            block: [256, 1, 1],
            ..GpuBody::default()
        };
        let body = Body::Gpu(Gpu { stored, ..Gpu::default() });
        let begin_ns = 1_020_000 + n * 9_000;
        let (call_ns, status) = (Some(4_000 + n), None);
        let event = Event {
            id: 0,
            parent: None,
            tid: 0,
            api: 0,
            depth: 0,
            begin_ns,
            call_ns,
            status,
            link: 0,
            body,
        };
        file.event(&event);
    }
    let body = Body::Mark("<i>half</i> \u{1b}[2J");
    let (call_ns, status) = (Some(0), Some(0));
    file.event(&Event {
        id: 0,
        parent: None,
        tid: 300,
        api: 0,
        depth: 0,
        begin_ns: 1_050_000,
        call_ns,
        status,
        link: 0,
        body,
    });
    file
}

/// Sums of counters over launches and files with different lists of counters; work of other kernels, and
/// work without a list, does not count.
#[test]
fn counters_are_summed_by_kernel() {
    let folder = Folder::new();
    for (name, names, values) in [
        ("c.cushim", "sectors flops none", [[3u64, 40, 0], [5, 60, 0]]),
        ("d.cushim", "flops \u{1b}[2J u64", [[7, 1, u64::MAX], [0, 1, 2]]),
    ] {
        let mut file = process(300, None, 1, 4_000, "_Z3addPf");
        file.counters(4, names);
        let list = values.into_iter().map(|values| (4, 1, values));
        for (names, kernel, values) in list.chain([(4, 2, [9, 9, 9]), (0, 1, [8, 8, 8])]) {
            let bytes: Vec<u8> = values.into_iter().flat_map(u64::to_le_bytes).collect();
            let stored = GpuBody { what: GPU_KERNEL, kernel, ..GpuBody::default() };
            let counters = Counters { names, bytes: &bytes };
            file.event(&Event {
                id: 0,
                parent: None,
                tid: 0,
                api: 0,
                depth: 0,
                begin_ns: 1_020_000,
                call_ns: Some(10),
                status: None,
                link: 0,
                body: Body::Gpu(Gpu { stored, counters }),
            });
        }
        file.write(&folder.at(name)).unwrap();
    }
    let files = ["c.cushim", "d.cushim"];
    let report = |more: &[&str]| folder.good(&[&files, more].concat());
    let json: serde_json::Value =
        serde_json::from_str(&report(&["--format", "json", "-k", "init"])).unwrap();
    let counted = &json["kernels"][0]["counted"];
    assert_eq!(json["kernels"][0]["gpu"]["count"], 6);
    assert_eq!(counted["count"], 4);
    let sums =
        serde_json::json!({"sectors": 8, "flops": 107, "none": 0, "\u{1b}[2J": 2, "u64": u64::MAX});
    assert_eq!(counted["sums"], sums);
    let csv = report(&["--by", "counter", "--format", "csv", "-k", "init"]);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows[0], "sum,counted,counter,kernel_id,kernel");
    assert!(
        rows.contains(&"107,4,flops,k1,init") && rows.contains(&"8,4,sectors,k1,init"),
        "{csv}"
    );
    assert_eq!(rows.len(), 1 + 4, "what is zero has no row: {csv}");
    assert!(!csv.contains('\u{1b}'));
    let text = report(&[]);
    assert!(text.contains("counters: of 2 kernels; --by counter shows their sums"), "{text}");
    let nothing = folder.good(&["a.cushim"]);
    assert!(!nothing.contains("counters:"));
}

/// If `$CUSHIM_PAGE_TRACES` names a folder, the traces stay there: `scripts/report-check` opens their
/// page in a browser.
#[test]
fn page_is_one_file_and_holds_the_report() {
    let folder = Folder::new();
    hostile().write(&folder.at("c.cushim")).unwrap();
    if let Some(kept) = std::env::var_os("CUSHIM_PAGE_TRACES") {
        for name in ["a.cushim", "b.cushim", "c.cushim"] {
            std::fs::copy(folder.at(name), Path::new(&kept).join(name)).unwrap();
        }
    }
    let page = folder.good(&[".", "--format", "html"]);
    // Three script elements are cushim's: the text for browsers without scripts, the data, the script.
    assert_eq!(page.matches("</script>").count(), 2, "{page}");
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        let ours = page.replace("<img src=x", "").replace("\\u003cimg src=x", "");
        assert!(!ours.contains(outside), "{outside}");
    }
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let json = folder.good(&[".", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for field in ["events", "launches", "duration_ns", "processes", "failures", "marks"] {
        assert_eq!(data[field], json[field], "{field}");
    }
    let tables: Vec<&str> =
        data["tables"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
    let expected = [
        "kernel",
        "shape",
        "api",
        "copy",
        "gpu-copy",
        "gpu-stream",
        "stream",
        "thread",
        "rank",
        "gap",
        "mark",
    ];
    assert_eq!(tables, expected);
    let lanes = data["lanes"].as_array().unwrap();
    let gpu: Vec<_> = lanes.iter().filter(|lane| lane["gpu"] == true).collect();
    let bins = gpu[0]["bins"].as_array().unwrap().iter();
    let ns = bins.map(|bin| bin[1].as_u64().unwrap() + bin[2].as_u64().unwrap()).sum::<u64>();
    assert_eq!((gpu.len(), ns), (1, (4_000..4_009).sum()));
    let only = folder.good(&["a.cushim", "--format", "html", "--by", "stream", "--top", "1"]);
    assert!(only.contains("\"id\":\"stream\"") && !only.contains("\"id\":\"api\""), "{only}");
}

/// Any bytes in a file give an answer or a one-line error, and no panic.
#[test]
fn damaged_files() {
    let whole = process(7, None, 40, 100, "_Z4stepIfEvPT_i").bytes();
    let folder = Folder::new();
    let mut seed = 9u64;
    for round in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..1 + round % 30 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 20) as usize % bytes.len();
            bytes[at] = (seed >> 56) as u8;
        }
        bytes.truncate(if round % 3 == 0 { bytes.len() / 2 + round } else { bytes.len() });
        std::fs::write(folder.at("x.cushim"), &bytes).unwrap();
        let format = ["text", "json", "csv", "html"][round % 4];
        let (status, _, stderr) = folder.report(&["x.cushim", "--format", format]);
        assert!([0, 125].contains(&status) && !stderr.contains("panicked"), "{status} {stderr}");
    }
}

/// Seeds for `scripts/fuzz`, and inputs with which fuzzing once found a fault.
#[test]
fn seeds_for_fuzzing() {
    let targets = [("trace_report", fuzz::report as fn(&[u8])), ("trace_export", fuzz::export)];
    for (target, run) in targets {
        corpus::regressions(target, run);
        let seeds = [process(1, Some(0), 3, 100, "_Z4stepIfEvPT_i").bytes(), hostile().bytes()];
        seeds.iter().for_each(|seed| run(seed));
        corpus::seeds(target, seeds);
    }
}

/// Reports and exports of damaged files are valid, or there is an error.
#[test]
fn damaged_files_in_every_format() {
    let whole = hostile().bytes();
    let mut seed = 11u64;
    for round in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..1 + round % 20 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 20) as usize % bytes.len();
            bytes[at] = (seed >> 56) as u8;
        }
        fuzz::report(&bytes);
        fuzz::export(&bytes);
    }
}

/// `-o` writes to devices, follows the user's own links, and replaces whole files.
#[test]
fn output_paths() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let trace = at("x.cushim");
    process(7, None, 3, 10, "_Z4stepPfi").write(&trace).unwrap();
    let report = |output: &Path| {
        Command::new(env!("CARGO_BIN_EXE_cushim"))
            .args(["report", "--format", "json", "-o"])
            .args([output, &trace])
            .output()
            .unwrap()
    };
    let well = |output: &Path| {
        let done = report(output);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    };
    well(Path::new("/dev/null"));
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(well(Path::new("/dev/stdout")).starts_with(b"{"));
    std::fs::write(at("old"), "old").unwrap();
    std::fs::set_permissions(at("old"), std::fs::Permissions::from_mode(0o644)).unwrap();
    symlink("old", at("link")).unwrap();
    well(&at("link"));
    assert!(at("link").symlink_metadata().unwrap().is_symlink(), "the link stays");
    assert!(std::fs::read(at("old")).unwrap().starts_with(b"{"));
    assert_eq!(at("old").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // A report that fails leaves the old file.
    std::fs::write(at("kept"), "old").unwrap();
    std::fs::write(&trace, "no trace").unwrap();
    assert!(!report(&at("kept")).status.success());
    assert_eq!(std::fs::read(at("kept")).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4, "nothing is left aside");
}
