//! Compares the readers with cuobjdump, on the output of NVIDIA's compilers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cushim_image::inventory::{self, Image, ImageKind};
use cushim_image::kernel::{Kernel, Stack};
use cushim_image::{Codec, Cubin, Limits, fatbin};

use cushim_testkit::sample;

use crate::tools::{folder, run, source, toolkit};

/// One image in the output of `cuobjdump -all -res-usage`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Printed {
    kind: String,
    arch: String,
    version: String,
    compressed: bool,
    debug: bool,
    identifier: String,
    /// Kernel name to `REG:… STACK:… SHARED:… LOCAL:… CONSTANT[0]:…`.
    kernels: Vec<(String, String)>,
}

/// Parses cuobjdump's text. The head of a group is no image; its members are.
fn parse(text: &str) -> Vec<Printed> {
    let mut out: Vec<Printed> = Vec::new();
    let mut group = false;
    for line in text.lines() {
        let member = line.starts_with('\t');
        let line = line.trim();
        if let Some(kind) = line.strip_prefix("Fatbin ").and_then(|l| l.strip_suffix(" code:")) {
            group = if kind == HEAD { true } else { group && member };
            let kind = kind.to_owned();
            // The head of a group says for all its members whether they are compressed.
            out.push(Printed { kind, compressed: group, ..Printed::default() });
            continue;
        }
        let Some(image) = out.last_mut() else { continue };
        if let Some(arch) = line.strip_prefix("arch = ") {
            image.arch = arch.to_owned();
        } else if let Some(version) = line.strip_prefix("code version = ") {
            image.version = version.to_owned();
        } else if line == "compressed" {
            image.compressed = true;
        } else if line == "has debug info" {
            image.debug = true;
        } else if let Some(identifier) = line.strip_prefix("identifier = ") {
            image.identifier = identifier.to_owned();
        } else if let Some(name) = line.strip_prefix("Function ") {
            image.kernels.push((name.trim_end_matches(':').to_owned(), String::new()));
        } else if line.starts_with("REG:")
            && let Some((_, numbers)) = image.kernels.last_mut()
        {
            let end = line.find(" TEXTURE").unwrap_or(line.len());
            *numbers = line[..end].to_owned();
        }
    }
    out.retain(|image| image.kind != HEAD);
    out
}

/// The word that cuobjdump prints for a kind of image.
const HEAD: &str = "concatenated entry";

/// Our kernel's numbers in the same form.
fn ours(image: &Image<'_>) -> Printed {
    let kind = match image.kind {
        ImageKind::Cubin => "elf",
        ImageKind::Ptx => "ptx",
        ImageKind::LtoIr => "nvvm",
        other => panic!("unexpected {other}"),
    };
    let (major, minor) = image.version.expect("a version");
    let mut kernels = Vec::new();
    if image.kind == ImageKind::Cubin {
        let read = image.with_bytes(&Limits::DEFAULT, |bytes| {
            Cubin::read(bytes, &Limits::DEFAULT)?.functions(&Limits::DEFAULT)
        });
        let read = read.expect("unpacks").expect("functions");
        kernels = read.iter().map(|kernel| (kernel.name.clone(), numbers(kernel))).collect();
    }
    Printed {
        kind: kind.to_owned(),
        arch: image.arch.to_string(),
        version: format!("[{major},{minor}]"),
        compressed: image.packing().0 != Codec::None,
        debug: image.flags & fatbin::flags::DEBUG != 0,
        identifier: image.identifier.clone().unwrap_or_default(),
        kernels,
    }
}

fn numbers(kernel: &Kernel) -> String {
    let stack = match kernel.stack {
        Some(Stack::Unbounded) => "UNKNOWN".to_owned(),
        Some(Stack::Bytes(bytes)) => bytes.to_string(),
        // The stack size is unknown before device linking.
        None => "0".to_owned(),
    };
    let mut text = format!(
        "REG:{} STACK:{stack} SHARED:{} LOCAL:{}",
        kernel.registers.unwrap_or(0),
        kernel.shared.unwrap_or(0),
        kernel.local.unwrap_or(0)
    );
    for (bank, bytes) in &kernel.constants {
        text += &format!(" CONSTANT[{bank}]:{bytes}");
    }
    text
}

/// Compares cushim's listing of `file` with cuobjdump's, and the extracted images.
pub fn compare(cuobjdump: &Path, folder: &Path, file: &str) {
    let bytes = std::fs::read(folder.join(file)).expect("the compiled file");
    let inventory = inventory::read(&bytes, &Limits::DEFAULT);
    assert_eq!(inventory.problems, [], "{file}");
    let printed = parse(&run(folder, cuobjdump, &["-all", "-res-usage", file]));
    let listed: Vec<Printed> = inventory.images.iter().map(ours).collect();
    assert!(!printed.is_empty(), "{file}: cuobjdump prints nothing");
    let sorted = |mut images: Vec<Printed>| {
        for image in &mut images {
            // cuobjdump prints kernels in an order of its own, and
            // omits empty constant banks.
            image.kernels.sort();
        }
        images
    };
    assert_eq!(sorted(listed), sorted(printed), "{file}");
    for (kind, list, extract) in
        [(ImageKind::Cubin, "-lelf", "-xelf"), (ImageKind::Ptx, "-lptx", "-xptx")]
    {
        let names: Vec<String> = run(folder, cuobjdump, &["-all", list, file])
            .lines()
            .filter_map(|line| line.split_once(':').filter(|(l, _)| l.contains(" file ")))
            .map(|(_, name)| name.trim().to_owned())
            .collect();
        let images: Vec<_> = inventory.images.iter().filter(|i| i.kind == kind).collect();
        assert_eq!(names.len(), images.len(), "{file} {list}");
        let out = folder.join(format!("{file}{extract}"));
        std::fs::create_dir_all(&out).expect("a folder in target");
        let path = folder.join(file);
        run(&out, cuobjdump, &["-all", extract, "all", path.to_str().expect("UTF-8")]);
        // Units with the same identifier share one file name: the last one remains.
        let last: HashMap<&String, &&Image<'_>> = names.iter().zip(&images).collect();
        for (name, image) in last {
            let theirs = std::fs::read(out.join(name)).expect("an extracted file");
            let same = image.with_bytes(&Limits::DEFAULT, |ours| ours == theirs).expect("unpacks");
            assert!(same, "{file}: {name} differs, {} bytes there", theirs.len());
        }
    }
}

/// The options of one program in the matrix.
struct Case {
    name: &'static str,
    arguments: &'static [&'static str],
}

const fn case(name: &'static str, arguments: &'static [&'static str]) -> Case {
    Case { name, arguments }
}

/// Options that every toolkit supports. Usually older toolkits take one in three of them, as what they write differs
/// little, and the newest one in two.
const COMMON: [Case; 9] = [
    case("plain.o", &["-arch=sm_80", "-c"]),
    case(
        "archs.o",
        &[
            "-gencode=arch=compute_75,code=sm_75",
            "-gencode=arch=compute_80,code=[sm_80,compute_80]",
            "-gencode=arch=compute_86,code=sm_86",
            "-gencode=arch=compute_89,code=sm_89",
            "-c",
        ],
    ),
    case(
        "all.o",
        &["-Xfatbin", "-compress-all", "-gencode=arch=compute_80,code=[sm_80,compute_80]", "-c"],
    ),
    case(
        "none.o",
        &["-Xfatbin", "-compress=false", "-gencode=arch=compute_80,code=[sm_80,compute_80]", "-c"],
    ),
    case("rdc.o", &["-rdc=true", "-gencode=arch=compute_80,code=[sm_80,compute_80]", "-c"]),
    case("debug.o", &["-G", "-arch=sm_80", "-c"]),
    case("lines.o", &["-lineinfo", "-arch=sm_80", "-c"]),
    case("bare.fatbin", &["-gencode=arch=compute_80,code=[sm_80,compute_80]", "-fatbin"]),
    case("lto.o", &["-rdc=true", "-gencode=arch=compute_80,code=[lto_80,sm_80]", "-c"]),
];

fn matrix(name: &str, extra: &[&str], cases: &[Case], tried: impl Fn(usize) -> bool) {
    let Some(toolkit) = toolkit(name) else { return };
    let bin = toolkit.join("bin");
    let folder = folder(name);
    let resources = source("resources.cu");
    for (_, case) in cases.iter().enumerate().filter(|(n, _)| tried(*n)) {
        let file = case.name;
        let mut arguments = extra.to_vec();
        arguments.extend_from_slice(case.arguments);
        arguments.extend_from_slice(&["-w", "-o", file, resources.to_str().expect("UTF-8")]);
        run(&folder, &bin.join("nvcc"), &arguments);
        compare(&bin.join("cuobjdump"), &folder, file);
    }
    link(&bin, &folder, extra);
}

/// Executables, device links and archives.
fn link(bin: &Path, folder: &Path, extra: &[&str]) {
    let (nvcc, cuobjdump) = (bin.join("nvcc"), bin.join("cuobjdump"));
    let sources: Vec<PathBuf> = ["resources.cu", "kernels.cu"].map(source).to_vec();
    let with = |more: &[&str]| -> Vec<String> {
        let common = extra.iter().chain(&["-w", "-arch=sm_80"]);
        common.chain(more).map(|argument| (*argument).to_owned()).collect()
    };
    let nvcc = |arguments: Vec<String>| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(folder, &nvcc, &arguments);
    };
    for (index, source) in sources.iter().enumerate() {
        let mut arguments = with(&["-rdc=true", "-c", "-o"]);
        arguments.push(format!("unit{index}.o"));
        arguments.push(source.to_string_lossy().into_owned());
        nvcc(arguments);
    }
    nvcc(with(&["-cudadevrt", "none", "-dlink", "-o", "linked.o", "unit0.o", "unit1.o"]));
    nvcc(with(&["-cudadevrt", "none", "-cudart", "shared", "-o", "program", "unit0.o", "unit1.o"]));
    nvcc(with(&["-lib", "-o", "library.a", "unit0.o", "unit1.o"]));
    for file in ["linked.o", "program", "library.a"] {
        compare(&cuobjdump, folder, file);
    }
}

#[test]
fn cuda_13_5() {
    let more = [
        case(
            "variants.o",
            &[
                "-gencode=arch=compute_90a,code=sm_90a",
                "-gencode=arch=compute_100f,code=sm_100f",
                "-gencode=arch=compute_120a,code=[sm_120a,compute_120a]",
                "-gencode=arch=compute_90,code=sm_90",
                "-c",
            ],
        ),
        case(
            "size.o",
            &["--compress-mode=size", "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-c"],
        ),
        case(
            "speed.o",
            &[
                "--compress-mode=speed",
                "-Xfatbin",
                "-compress-all",
                "-gencode=arch=compute_90,code=[sm_90,compute_90]",
                "-c",
            ],
        ),
        case(
            "balance.o",
            &["--compress-mode=balance", "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-c"],
        ),
        case(
            "unpacked.o",
            &["--compress-mode=none", "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-c"],
        ),
    ];
    matrix("cuda-13.5", &[], &COMMON, |n| sample::takes(n, 2));
    if let Some(toolkit) = toolkit("cuda-13.5") {
        let (bin, folder) = (toolkit.join("bin"), folder("cuda-13.5-more"));
        let resources = source("resources.cu");
        for case in more {
            let mut arguments = case.arguments.to_vec();
            arguments.extend_from_slice(&[
                "-w",
                "-o",
                case.name,
                resources.to_str().expect("UTF-8"),
            ]);
            run(&folder, &bin.join("nvcc"), &arguments);
            compare(&bin.join("cuobjdump"), &folder, case.name);
        }
        groups(&bin, &folder);
        written(&bin, &folder);
        let names = ["90", "90a", "100", "100a", "103a", "120", "120a"];
        targets(&bin, &folder, &sample::of(names.to_vec(), 3));
    }
}

/// Plain cubins name their target.
fn targets(bin: &Path, folder: &Path, names: &[&str]) {
    std::fs::write(folder.join("one.cu"), "__global__ void one() {}\n").expect("a file");
    for name in names {
        let arch = format!("sm_{name}");
        let flags = ["-cudadevrt", "none", "-w", "-cubin", "-o", "one.cubin", "one.cu"];
        run(folder, &bin.join("nvcc"), &[&[format!("-arch={arch}").as_str()], &flags[..]].concat());
        let bytes = std::fs::read(folder.join("one.cubin")).expect("a cubin");
        let cubin = Cubin::read(&bytes, &Limits::DEFAULT).expect("reads");
        assert_eq!(cubin.arch().to_string(), arch);
    }
}

/// The output of `fatbinary -concat`.
fn groups(bin: &Path, folder: &Path) {
    let kernels = source("kernels.cu");
    let kernels = kernels.to_str().expect("UTF-8");
    for sm in ["75", "80", "100"] {
        let arguments =
            [&format!("-arch=sm_{sm}"), "-cubin", "-o", &format!("{sm}.cubin"), kernels];
        run(folder, &bin.join("nvcc"), &arguments);
    }
    for (mode, file) in [("size", "group.fatbin"), ("speed", "group-lz4.fatbin")] {
        let images =
            ["75", "80", "100"].map(|sm| format!("-image3=kind=elf,sm={sm},file={sm}.cubin"));
        let mode = format!("--compress-mode={mode}");
        let mut arguments = vec!["-64", "-concat", "-compress-all", &mode, "-create", file];
        arguments.extend(images.iter().map(String::as_str));
        run(folder, &bin.join("fatbinary"), &arguments);
        compare(&bin.join("cuobjdump"), folder, file);
    }
}

/// cuobjdump reads the images that cushim writes.
fn written(bin: &Path, folder: &Path) {
    use cushim_image::arch::{Arch, SmVariant};
    use fatbin::{Image, Kind};
    let kernels = source("kernels.cu");
    let kernels = kernels.to_str().expect("UTF-8");
    run(folder, &bin.join("nvcc"), &["-arch=sm_90a", "-cubin", "-o", "w.cubin", kernels]);
    run(folder, &bin.join("nvcc"), &["-arch=compute_90a", "-ptx", "-o", "w.ptx", kernels]);
    let read = |name| std::fs::read(folder.join(name)).expect("a compiled file");
    let (cubin, ptx) = (read("w.cubin"), read("w.ptx"));
    let arch = Arch::Sm(90, SmVariant::Specific);
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let image = |kind, version, data| Image { kind, arch: arch.clone(), version, codec, data };
        let bytes = fatbin::write(&[
            image(Kind::Cubin, (1, 8), cubin.as_slice()),
            image(Kind::Ptx, (9, 5), &ptx),
        ])
        .expect("writes");
        let file = format!("written-{codec}.fatbin");
        std::fs::write(folder.join(&file), bytes).expect("a file in target");
        compare(&bin.join("cuobjdump"), folder, &file);
        let out = folder.join(format!("{file}-xelf"));
        let extracted = std::fs::read_dir(&out).expect("extracted").next().expect("one");
        assert_eq!(std::fs::read(extracted.expect("an entry").path()).expect("a file"), cubin);
    }
}

#[test]
fn cuda_12_4() {
    matrix("cuda-12.4", &["-cudadevrt", "none"], &COMMON, |n| sample::takes(n, 3));
    if let Some(toolkit) = toolkit("cuda-12.4") {
        targets(&toolkit.join("bin"), &folder("cuda-12.4-targets"), &["52", "89", "90", "90a"]);
    }
}

#[test]
fn cuda_11_8() {
    let extra = ["-cudadevrt", "none", "-allow-unsupported-compiler"];
    matrix("cuda-11.8", &extra, &COMMON, |n| sample::takes(n + 1, 3));
}
