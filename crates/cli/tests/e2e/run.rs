//! `cushim run` and `--backend`: which libraries each choice preloads.

use std::fs;
use std::process::Command;

use crate::support::{Bench, Done};

const SHOW: &str =
    "echo \"$LD_PRELOAD|$LD_AUDIT|$CUSHIM_BACKEND|$CUSHIM_EVENTS|$CUSHIM_SYMBOLS\"; exit 7";

/// The environment of a shell under `cushim ARGUMENTS sh`, without the path of the bench's folder.
fn shown(bench: &Bench, done: &Done) -> Vec<String> {
    assert_eq!(done.code(), 7, "{done:?}");
    let folder = format!("{}/", bench.dir.path().display());
    done.stdout.trim().split('|').map(|word| word.replace(&folder, "")).collect()
}

fn shell(bench: &Bench, arguments: &[&str], set: &[(&str, &str)]) -> Done {
    let mut command = bench.cushim(arguments);
    command.args(["sh", "-c", SHOW]).envs(set.iter().copied());
    bench.start(&mut command).done()
}

const FRONTS: &str = "libcushim.so:libcushim_cudart11.so:libcushim_cudart12.so:libcushim_cudart13.so:libcushim_cuda.so";
/// The backend cpu also preloads these.
const COMPILERS: &str = "libcushim_compilers.so";
const NVML: &str = "libcushim_nvml.so";

/// The value of LD_PRELOAD for a backend.
fn preloaded(backend: &str) -> String {
    if backend == "cpu" { format!("{FRONTS}:{COMPILERS}:{NVML}") } else { FRONTS.to_owned() }
}

#[test]
fn native_is_the_hooks_alone() {
    let bench = Bench::new();
    let done = shell(&bench, &["run", "--backend", "native"], &[]);
    assert_eq!(shown(&bench, &done), ["libcushim.so", "", "", "none", ""]);
    assert_eq!(done.stderr, "");
}

#[test]
fn others_are_the_stand_ins_and_the_audit_library() {
    let bench = Bench::new();
    bench.backends();
    let symbols = bench.compile("symbols", "int main(void) { return 0; }", &[]);
    for backend in ["driver", "cpu"] {
        let arguments = ["run", "--backend", backend, "--symbols", symbols.to_str().unwrap()];
        let done = shell(&bench, &arguments, &[]);
        let expected = [&preloaded(backend), "libcushim_audit.so", backend, "none", "symbols"];
        assert_eq!(
            (shown(&bench, &done), done.stderr.as_str()),
            (expected.map(str::to_owned).to_vec(), "")
        );
        // CUSHIM_BACKEND selects the backend for the other commands too.
        for command in [&["trace", "-c"][..], &["record", "-o", "x.%p.cushim"], &["run"]] {
            let done = shell(&bench, command, &[("CUSHIM_BACKEND", backend)]);
            let found = shown(&bench, &done);
            assert_eq!(found[..3], [&preloaded(backend), "libcushim_audit.so", backend]);
            assert_eq!(found[3] == "none", command == ["run"], "{found:?}");
        }
    }
}

/// Other programs' entries stay in front, cushim's appear once, and native removes those of an outer run.
#[test]
fn what_is_there_already() {
    let bench = Bench::new();
    bench.backends();
    let other = bench.compile("libother.so", "int other;", &["-shared", "-fPIC"]);
    let audit = "unsigned la_version(unsigned version) { return version; }";
    let auditor = bench.compile("libauditor.so", audit, &["-shared", "-fPIC"]);
    let (other, auditor) = (other.to_str().unwrap(), auditor.to_str().unwrap());
    let own = |name: &str| bench.path(name).to_str().unwrap().to_owned();
    let preload = format!("{}:{other}:{}", own("libcushim_cuda.so"), own("libcushim.so"));
    let audits = format!("{}:{auditor}", own("libcushim_audit.so"));
    let set = [("LD_PRELOAD", preload.as_str()), ("LD_AUDIT", &audits)];
    let done = shell(&bench, &["run", "--backend", "cpu"], &set);
    let expected =
        [&format!("libother.so:{}", preloaded("cpu")), "libauditor.so:libcushim_audit.so", "cpu"];
    assert_eq!(shown(&bench, &done)[..3], expected);
    let done = shell(&bench, &["run", "--backend", "native"], &set);
    assert_eq!(shown(&bench, &done)[..3], ["libother.so:libcushim.so", "libauditor.so", ""]);
    let outer = [&set[..], &[("CUSHIM_BACKEND", "cpu"), ("CUSHIM_LAUNCHER", "outer")]].concat();
    // Values that an outer launcher set are no choice of the user's, and CUSHIM_LIB is not the backend's.
    let library = bench.library.to_str().unwrap();
    let done = shell(&bench, &["run", "--backend", "native", "--lib", library], &outer);
    assert_eq!(shown(&bench, &done)[..3], ["libother.so:libcushim.so", "libauditor.so", ""]);
}

/// An existing libcuda decides, however broken it is.
#[test]
fn auto_is_native_where_a_driver_is() {
    let bench = Bench::new();
    bench.backends();
    fs::create_dir(bench.path("broken")).unwrap();
    fs::write(bench.path("broken/libcuda.so.1"), "no library").unwrap();
    let folder = bench.path("broken");
    let set = [("LD_LIBRARY_PATH", folder.to_str().unwrap())];
    for arguments in [&["run"][..], &["run", "--backend", "auto"], &["record", "-o", "x.%p.cushim"]]
    {
        let done = shell(&bench, arguments, &set);
        assert_eq!(shown(&bench, &done)[..3], ["libcushim.so", "", ""], "{arguments:?}");
    }
    let mut doctor = bench.cushim(&["doctor", "--json"]);
    let done = bench.start(doctor.envs(set)).done();
    let found: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(found["backends"]["auto"], "native");
    assert_eq!(found["backends"]["missing"], serde_json::Value::Null);
    assert!(found["backends"]["why"].as_str().unwrap().contains("broken/libcuda.so.1"));
}

/// A dangling link left by an uninstalled driver counts as a driver; without any driver the CPU is used,
/// and the launcher says so once.
#[test]
fn auto_is_the_cpu_where_no_driver_is() {
    let bench = Bench::new();
    bench.backends();
    let mut doctor = bench.cushim(&["doctor", "--json"]);
    let done = bench.start(&mut doctor).done();
    let found: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let driver = !found["machine"]["driver"].is_null();
    let expected = if driver { "native" } else { "cpu" };
    assert_eq!(found["backends"]["auto"], expected);
    let auto = ["env", "--backend", "auto", "-o", "x.%p.cushim"];
    for arguments in [&["run"][..], &["trace", "-c"], &["record", "-o", "x.%p.cushim"], &auto] {
        let env = arguments[0] == "env";
        let done = if env { bench.run(arguments) } else { shell(&bench, arguments, &[]) };
        let chosen = match env {
            true => done.stdout.contains("CUSHIM_BACKEND=cpu"),
            false => shown(&bench, &done)[2] == "cpu",
        };
        assert_eq!(chosen, !driver, "{done:?}");
        let said = done.stderr.lines().filter(|l| l.contains("kernels run on the CPU")).count();
        assert_eq!(said, usize::from(!driver), "{done:?}");
    }
    let done = bench.run(&["env"]);
    assert!(!done.stdout.contains("CUSHIM_BACKEND") && done.stderr.is_empty(), "{done:?}");

    fs::create_dir(bench.path("gone")).unwrap();
    std::os::unix::fs::symlink("/no/such/driver", bench.path("gone/libcuda.so.1")).unwrap();
    let folder = bench.path("gone");
    let done = shell(&bench, &["run"], &[("LD_LIBRARY_PATH", folder.to_str().unwrap())]);
    assert_eq!((shown(&bench, &done)[2].as_str(), done.stderr.as_str()), ("", ""));
}

#[test]
fn what_is_missing_is_named() {
    let bench = Bench::new();
    bench.backends();
    for name in ["libvcuda.so", "libcushim_cudart12.so", "libcushim_audit.so", COMPILERS, NVML] {
        fs::rename(bench.path(name), bench.path("aside")).unwrap();
        let done = bench.run(&["run", "--backend", "cpu", "true"]);
        assert_eq!(done.code(), 125, "{done:?}");
        assert!(done.stderr.contains(name) && done.stderr.contains("--backend cpu"), "{done:?}");
        assert_eq!(done.stderr.lines().count(), 1);
        fs::rename(bench.path("aside"), bench.path(name)).unwrap();
    }
    for (arguments, word) in [
        (&["run", "--backend", "gpu", "true"][..], "native, driver, cpu"),
        (&["run", "--backend", "cpu", "--symbols", "/no/such", "true"], "/no/such"),
        (&["run", "--backend", "cpu", "--symbols", "stripped", "true"], "without symbols"),
    ] {
        bench.compile("stripped", "int main(void) { return 0; }", &["-s"]);
        let done = bench.run(arguments);
        assert!(done.code() == 125 && done.stderr.contains(word), "{done:?}");
    }
}

/// `run` has the options of `trace` that replace device code; it records nothing.
#[test]
fn what_redirects_is_carried() {
    let bench = Bench::new();
    bench.backends();
    fs::write(bench.path("new.ptx"), ".version 7.0\n.target sm_52\n.address_size 64\n").unwrap();
    let rule = "[[redirect]]\nmatch = { kernel = 'k' }\nimage = 'new.ptx'\n";
    fs::write(bench.path("rules.toml"), rule).unwrap();
    let show = "echo $CUSHIM_EVENTS; echo $CUSHIM_REPLACE; echo $CUSHIM_REDIRECT; echo $CUSHIM_DUMP_IMAGES; \
                echo $CUSHIM_TOOL; echo $CUSHIM_DIRECT";
    let mut options =
        vec!["--replace", "k=new.ptx", "--redirect", "rules.toml", "--dump-images", "dump"];
    options.extend(["--tool", "new.ptx"]);
    for (backend, direct) in [("native", &["--direct"][..]), ("cpu", &[]), ("driver", &[])] {
        let program = ["sh", "-c", show];
        let all = [&["run", "--backend", backend][..], &options, direct, &program].concat();
        let done = bench.run(&all);
        let full = |name: &str| bench.path(name).to_str().unwrap().to_owned();
        let expected = [
            "none".to_owned(),
            format!("k={}", full("new.ptx")),
            full("rules.toml"),
            full("dump"),
            full("new.ptx"),
            if direct.is_empty() { String::new() } else { "1".to_owned() },
        ];
        assert_eq!(done.stdout.lines().collect::<Vec<_>>(), expected, "{done:?}");
    }
    for (options, word) in [
        (&["--backend", "cpu", "--direct"][..], "--backend native, not cpu"),
        (&["--redirect", "none.toml"], "none.toml"),
        (&["--replace", "k=none.ptx"], "none.ptx"),
        (&["--tool", "none.so"], "none.so"),
    ] {
        let done = bench.run(&[&["run"][..], options, &["true"]].concat());
        assert!(done.code() == 125 && done.stderr.contains(word), "{done:?}");
    }
}

#[test]
fn the_program_is_become() {
    let bench = Bench::new();
    let done = bench.run(&["run", "--backend", "native", "sh", "-c", "kill -9 $$"]);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&done.status), Some(9), "{done:?}");
    assert_eq!(bench.run(&["run", "no-such-program"]).code(), 127);
    assert_eq!(bench.run(&["run", "/etc/passwd"]).code(), 126);
    let mut command = bench.cushim(&["run", "sh", "-c", "echo \"<$LD_PRELOAD>\""]);
    let done = bench.start(command.env("CUSHIM_DISABLE", "1")).done();
    assert_eq!(done.stdout, "<>\n");
}

#[test]
fn the_same_as_a_line_of_assignments() {
    let bench = Bench::new();
    bench.backends();
    let script = format!("env $(\"$0\" env --backend cpu -o r.%p.cushim) sh -c '{SHOW}'");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_cushim")]).current_dir(bench.dir.path());
    command.env("CUSHIM_LIB", &bench.library).env_remove("LD_PRELOAD");
    let done = bench.start(&mut command).done();
    assert_eq!(shown(&bench, &done)[..3], [&preloaded("cpu"), "libcushim_audit.so", "cpu"]);
    // `env` does not know where the program will run: its default is native.
    let line = bench.run(&["env"]).stdout;
    assert!(!line.contains("LD_AUDIT") && !line.contains("CUSHIM_BACKEND"), "{line}");
}

/// The libraries look for each other in their own folder: links to them share a folder, too.
#[test]
fn a_path_with_spaces() {
    let bench = Bench::new();
    bench.backends();
    let folder = bench.path("my programs");
    fs::create_dir(&folder).unwrap();
    let files: Vec<_> =
        fs::read_dir(bench.dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "so")) {
        fs::copy(file, folder.join(file.file_name().unwrap())).unwrap();
    }
    let mut command = bench.cushim(&["run", "--backend", "cpu", "sh", "-c", SHOW]);
    let done = bench.start(command.env("CUSHIM_LIB", folder.join("libcushim.so"))).done();
    let found = shown(&bench, &done);
    let preload: Vec<&str> = found[0].split(':').collect();
    assert_eq!(preload.len(), 7, "{found:?}");
    let links = bench.path(preload[0]).parent().unwrap().to_owned();
    for name in [FRONTS, COMPILERS, NVML, "libcushim_audit.so", "libvcuda.so"]
        .iter()
        .flat_map(|n| n.split(':'))
    {
        assert_eq!(fs::read_link(links.join(name)).unwrap(), folder.join(name));
    }
    assert_eq!(bench.path(&found[1]), links.join("libcushim_audit.so"));
}

/// Libraries with static TLS (jemalloc is one) get room although an audit library is loaded; other
/// settings in GLIBC_TUNABLES stay.
#[test]
fn libraries_with_much_data_of_threads() {
    let bench = Bench::new();
    bench.backends();
    let library = "__thread char bytes[300000]; char *get(void) { return bytes; }";
    bench.compile("libmuch.so", library, &["-shared", "-fPIC", "-ftls-model=initial-exec"]);
    let program = "#include <stdio.h>\n#include <stdlib.h>\nchar *get(void);\nint main(void) { get()[299999] = 7; \
         printf(\"%d %s\\n\", get()[299999], getenv(\"GLIBC_TUNABLES\")); return 0; }";
    let flags = ["libmuch.so", "-Wl,-rpath,$ORIGIN"];
    let program = bench.compile("much", program, &flags);
    for command in [&["run"][..], &["trace", "-c"], &["record", "-o", "r.%p.cushim"]] {
        let mut command = bench.cushim(command);
        command.args(["--backend", "cpu"]).arg(&program);
        let done = bench.start(command.env("GLIBC_TUNABLES", "glibc.malloc.perturb=3")).done();
        assert_eq!(done.code(), 0, "{done:?}");
        let set = "7 glibc.malloc.perturb=3:glibc.rtld.optional_static_tls=";
        let room = done.stdout.trim().strip_prefix(set).and_then(|room| room.parse().ok());
        assert!(matches!(room, Some(300_000..310_000)), "{done:?}");
    }
    // Without an audit library the room is the C library's default.
    let mut native = bench.cushim(&["run", "--backend", "native"]);
    let done = bench.start(native.arg(&program).env_remove("GLIBC_TUNABLES")).done();
    assert_eq!(done.stdout, "7 (null)\n", "{done:?}");
}

/// AddressSanitizer's library refuses to start after other libraries unless an option allows it.
#[test]
fn a_program_with_address_sanitizer() {
    let bench = Bench::new();
    bench.backends();
    let sanitizer = bench.compile("libasan.so.8", "int asan;", &["-shared", "-fPIC"]);
    let source = "#include <stdio.h>\n#include <stdlib.h>\nextern int asan;\nint main(void) { char *set = \
         getenv(\"ASAN_OPTIONS\"); printf(\"%s\\n\", set ? set : \"none\"); return asan; }";
    let program = bench.compile("sane", source, &["libasan.so.8", "-Wl,-rpath,$ORIGIN"]);
    let options = |backend: &str, name: &str, value: &str| {
        let mut command = bench.cushim(&["run", "--backend", backend]);
        bench.start(command.arg(&program).env(name, value)).done().stdout.trim().to_owned()
    };
    for backend in ["native", "cpu"] {
        let found = options(backend, "ASAN_OPTIONS", "detect_leaks=0");
        assert_eq!(found, "detect_leaks=0:verify_asan_link_order=0");
        let preloaded = options(backend, "LD_PRELOAD", sanitizer.to_str().unwrap());
        assert_eq!(preloaded, "verify_asan_link_order=0");
        // The user's own setting stays.
        let own = "verify_asan_link_order=1,detect_leaks=0";
        assert_eq!(options(backend, "ASAN_OPTIONS", own), own);
    }
    let source = source.replace("extern int asan;", "").replace("return asan;", "return 0;");
    let plain = bench.compile("plain", &source, &[]);
    let done = bench.run(&["run", "--backend", "cpu", plain.to_str().unwrap()]);
    // A program without AddressSanitizer may start one that has it.
    assert_eq!(done.stdout, "verify_asan_link_order=0\n", "{done:?}");
}

/// As `cargo install` leaves it: the program says which library is missing and what to do.
#[test]
fn a_program_without_its_libraries() {
    let bench = Bench::new();
    let alone = bench.path("alone");
    fs::create_dir(&alone).unwrap();
    let program = alone.join("cushim");
    fs::copy(env!("CARGO_BIN_EXE_cushim"), &program).unwrap();
    let start = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).env_remove("CUSHIM_LIB");
        bench.start(&mut command).done()
    };
    for command in ["run", "trace", "record"] {
        let done = start(&[command, "true"]);
        assert_eq!((done.code(), done.stderr.lines().count()), (125, 1), "{done:?}");
        for words in ["libcushim.so is missing", "cargo build --release", "--lib"] {
            assert!(done.stderr.contains(words), "{done:?}");
        }
    }
    fs::copy(&bench.library, alone.join("libcushim.so")).unwrap();
    assert_eq!(start(&["run", "--backend", "native", "true"]).code(), 0);
    let done = start(&["run", "--backend", "cpu", "true"]);
    assert!(done.code() == 125 && done.stderr.contains("is missing: the backends"), "{done:?}");
    // Commands that read files need no library.
    assert_eq!(start(&["ls", "/bin/true"]).stderr.matches("libcushim").count(), 0);
}

/// The emulated GPU is one library, preloaded after existing entries; options for CUDA are refused.
#[test]
fn emulation_is_one_library() {
    let bench = Bench::new();
    let without = shell(&bench, &["run", "--emulate", "gfx90a"], &[]);
    assert_eq!(without.code(), 125, "{without:?}");
    assert!(
        without.stderr.contains("--emulate: ")
            && without.stderr.contains("libcushim_hsakmt.so is missing"),
        "{without:?}"
    );
    let built = bench.compile("libcushim_hsakmt.so", "int nothing;", &["-shared", "-fPIC"]);
    assert!(built.ends_with("libcushim_hsakmt.so"));
    let done = shell(&bench, &["run", "--emulate", "gfx90a"], &[]);
    assert_eq!(shown(&bench, &done), ["libcushim_hsakmt.so", "", "", "", ""]);
    let twice =
        shell(&bench, &["run", "--emulate", "gfx90a"], &[("LD_PRELOAD", built.to_str().unwrap())]);
    assert_eq!(shown(&bench, &twice)[0], "libcushim_hsakmt.so");
    // For a CUDA program it comes after the libraries of the backend.
    bench.backends();
    let asked = ["--backend", "hsa", "--emulate", "gfx90a"];
    let expected = [&format!("{FRONTS}:libcushim_hsakmt.so"), "libcushim_audit.so", "hsa"];
    for command in [&["run"][..], &["record", "-o", "x.%p.cushim"]] {
        let arguments = [command, &asked].concat();
        let set = [("LD_PRELOAD", built.to_str().unwrap())];
        let done = shell(&bench, &arguments, &set);
        assert_eq!(shown(&bench, &done)[..3], expected, "{command:?}");
    }
    for command in ["trace", "record"] {
        let done = shell(&bench, &[command, "--backend", "cpu", "--emulate", "gfx90a"], &[]);
        assert!(done.stderr.contains("cannot be used with --backend cpu"), "{done:?}");
    }
    for option in [
        &["--backend", "cpu"][..],
        &["--fmad", "off"],
        &["--replace", "a=b.ptx"],
        &["--log", "info"],
    ] {
        let mut arguments = vec!["run", "--emulate", "gfx90a"];
        arguments.extend(option);
        let done = shell(&bench, &arguments, &[]);
        assert!(done.code() == 2 || done.code() == 125, "{done:?}");
        assert!(done.stderr.contains("cannot be used with"), "{done:?}");
    }
    let unknown = shell(&bench, &["run", "--emulate", "gfx1100"], &[]);
    assert!(unknown.stderr.contains("gfx90a"), "{unknown:?}");
}

/// JAX's check of versions calls CUPTI, which needs NVIDIA's driver. The user's own setting stays.
#[test]
fn jax_leaves_out_a_check_that_needs_nvidias_driver() {
    let bench = Bench::new();
    bench.backends();
    let show = "echo \"<${JAX_SKIP_CUDA_CONSTRAINTS_CHECK-unset}>\"";
    for (backend, set, expected) in [
        ("cpu", None, "<1>"),
        ("cpu", Some(""), "<>"),
        ("native", None, "<unset>"),
        ("driver", None, "<unset>"),
    ] {
        let mut command = bench.cushim(&["run", "--backend", backend, "sh", "-c", show]);
        command.env_remove("JAX_SKIP_CUDA_CONSTRAINTS_CHECK");
        command.envs(set.map(|value| ("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", value)));
        let done = bench.start(&mut command).done();
        assert_eq!(done.stdout.trim_end(), expected, "{backend}: {done:?}");
    }
}

/// XLA's search for the fastest kernel of a product takes minutes on the CPU. The user's own setting stays.
#[test]
fn xla_multiplies_by_cublas() {
    let bench = Bench::new();
    bench.backends();
    for (backend, set, expected) in [
        ("cpu", None, "<--xla_gpu_enable_triton_gemm=false>"),
        ("cpu", Some("--xla_dump_to=a"), "<--xla_dump_to=a --xla_gpu_enable_triton_gemm=false>"),
        ("cpu", Some("--xla_gpu_enable_triton_gemm=true"), "<--xla_gpu_enable_triton_gemm=true>"),
        ("cpu", Some("flags.txt"), "<flags.txt>"),
        ("native", None, "<unset>"),
        ("driver", None, "<unset>"),
    ] {
        let show = "echo \"<${XLA_FLAGS-unset}>\"";
        let mut command = bench.cushim(&["run", "--backend", backend, "sh", "-c", show]);
        command.env_remove("XLA_FLAGS");
        command.envs(set.map(|value| ("XLA_FLAGS", value)));
        let done = bench.start(&mut command).done();
        assert_eq!(done.stdout.trim_end(), expected, "{backend}: {done:?}");
    }
}

/// Programs that start ptxas find cushim's: on the backend cpu only, and not with --no-ptxas-stand-in.
#[test]
fn ptxas_has_a_stand_in() {
    let bench = Bench::new();
    bench.backends();
    let home = bench.path("home");
    fs::create_dir(&home).unwrap();
    let run = |arguments: &[&str], script: &str| {
        let mut command = bench.cushim(arguments);
        command.args(["sh", "-c", script]).env("HOME", &home).env_remove("XDG_CACHE_HOME");
        bench.start(&mut command).done()
    };
    let show = "command -v ptxas; echo \"$TRITON_PTXAS_PATH|$TRITON_PTXAS_BLACKWELL_PATH\"";
    let done = run(&["run", "--backend", "cpu"], show);
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert!(
        lines[0].starts_with(home.to_str().unwrap()) && lines[0].ends_with("/ptxas"),
        "{done:?}"
    );
    assert_eq!(lines[1], format!("{0}|{0}", lines[0]));
    for arguments in [
        &["run", "--backend", "cpu", "--no-ptxas-stand-in"][..],
        &["run", "--backend", "driver"],
        &["run", "--backend", "native"],
    ] {
        let done = run(arguments, show);
        assert!(!done.stdout.contains(home.to_str().unwrap()), "{done:?}");
    }
    let kernel = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
                  .reg .f32 %f<3>;\nadd.f32 %f1, %f1, %f2;\nret;\n}\n";
    fs::write(bench.path("good.ptx"), kernel).unwrap();
    fs::write(bench.path("bad.ptx"), kernel.replace("%f1, %f2", "%f1, %g2")).unwrap();
    let cpu = ["run", "--backend", "cpu"];
    assert!(run(&cpu, "ptxas --version").stdout.contains("Cuda compilation tools, release "));
    let done = run(&cpu, "ptxas -v --gpu-name=sm_90a good.ptx -o out --fmad=false");
    let expected = "ptxas info    : Compiling entry function 'k' for 'sm_90a'";
    assert!(done.code() == 0 && done.stderr.contains(expected), "{done:?}");
    let out = fs::read_to_string(bench.path("out")).unwrap();
    assert_eq!(out, kernel.replace("add.f32", "add.rn.f32") + "\0");
    fs::remove_file(bench.path("out")).unwrap();
    for (line, said) in [
        ("-arch sm_80 bad.ptx", "ptxas bad.ptx, line 7; error   : `%g2` is not declared"),
        ("-arch=sm_75 good.ptx", "ptxas fatal   : SM version specified by .target is higher"),
        ("-arch=sm_80 none.ptx", "ptxas fatal   : Input file 'none.ptx' could not be opened"),
        ("", "ptxas fatal   : No input files specified"),
    ] {
        let done = run(&cpu, &format!("ptxas {line} -o out"));
        assert!(done.code() == 255 && done.stderr.starts_with(said), "{done:?}");
        assert!(!bench.path("out").exists());
    }
    // nvcc finds NVIDIA's ptxas, which comes after cushim's in PATH.
    let script = "mkdir real && printf '#!/bin/sh\necho real \"$@\"\n' >real/ptxas && chmod +x real/ptxas && \
                  cp /bin/sh nvcc && PATH=$PATH:$PWD/real ./nvcc -c 'ptxas --version; exit 0'";
    assert_eq!(run(&cpu, script).stdout, "real --version\n");
}
