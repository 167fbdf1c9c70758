//! Compares clang's AMDGPU code objects with llvm-readelf, and its bundles with clang-offload-bundler.

use std::collections::BTreeMap;
use std::path::Path;

use cushim_image::amdgpu;
use cushim_image::inventory::{self, ImageKind};
use cushim_image::kernel::Stack;
use cushim_image::{Codec, Limits};

use crate::tools::{folder, run, source, toolkit};

/// Processors, and the code-object versions that clang 19 can write for them.
const TARGETS: [(&str, &str); 6] = [
    ("gfx90a", "4"),
    ("gfx90a:xnack+", "5"),
    ("gfx942:sramecc+:xnack-", "5"),
    ("gfx1100", "4"),
    ("gfx1201", "5"),
    ("gfx9-generic", "6"),
];

/// A kernel's resource numbers and arguments, by the names in the metadata.
type Numbers = (BTreeMap<String, String>, Vec<(u32, u32, String)>);

/// The kernels that `llvm-readelf --notes` prints, by name.
fn printed(text: &str) -> BTreeMap<String, Numbers> {
    let mut kernels: Vec<Numbers> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("amdhsa.kernels:") {
            inside = true;
        } else if !line.starts_with(' ') {
            inside = false;
        }
        if !inside {
            continue;
        }
        if line.starts_with("  - ") {
            kernels.push(Numbers::default());
        }
        let Some((numbers, arguments)) = kernels.last_mut() else { continue };
        if line.starts_with("      - ") {
            arguments.push((0, 0, String::new()));
        }
        let field = line.trim_start_matches([' ', '-']);
        let Some((key, value)) = field.split_once(':') else { continue };
        let value = value.trim();
        match (line.starts_with("      "), arguments.last_mut()) {
            (true, Some(argument)) => match key {
                ".offset" => argument.0 = value.parse().expect("a number"),
                ".size" => argument.1 = value.parse().expect("a number"),
                ".value_kind" => argument.2 = value.to_owned(),
                _ => {}
            },
            _ => _ = numbers.insert(key.to_owned(), value.to_owned()),
        }
    }
    kernels.into_iter().map(|kernel| (kernel.0[".name"].clone(), kernel)).collect()
}

fn compile(clang: &Path, folder: &Path, target: &str, version: &str) -> String {
    let (target_flag, version) =
        (format!("-mcpu={target}"), format!("-mcode-object-version={version}"));
    let name = format!("{target}.co").replace(':', "_");
    let amd = source("amd.c");
    let flags = ["--target=amdgcn-amd-amdhsa", &target_flag, &version, "-nogpulib", "-O1", "-w"];
    let rest = ["-o", &name, amd.to_str().expect("UTF-8")];
    run(folder, clang, &[&flags[..], &rest[..]].concat());
    name
}

#[test]
fn code_objects() {
    let Some(toolkit) = toolkit("clang-19") else { return };
    let (bin, folder) = (toolkit.join("bin"), folder("code-objects"));
    for (target, version) in TARGETS {
        let name = compile(&bin.join("clang"), &folder, target, version);
        let bytes = std::fs::read(folder.join(&name)).expect("a code object");
        let object = amdgpu::read(&bytes, &Limits::DEFAULT).expect("reads");
        assert_eq!(object.arch.to_string(), target);
        assert_eq!(object.version.to_string(), version, "{target}");
        // The ELF header alone gives the same target, with its own order of features.
        let header = amdgpu::arch(&bytes).expect("reads");
        assert_eq!(header.to_string(), target);
        let printed = printed(&run(&folder, &bin.join("llvm-readelf"), &["--notes", &name]));
        assert_eq!(printed.len(), 2, "{target}");
        assert_eq!(object.kernels.len(), 2, "{target}");
        for kernel in &object.kernels {
            let (numbers, arguments) = &printed[&kernel.kernel.name];
            let ours: Vec<_> =
                kernel.arguments.iter().map(|a| (a.offset, a.size, a.kind.clone())).collect();
            assert_eq!(&ours, arguments, "{target}");
            let number = |key: &str| numbers[key].parse::<u32>().expect("a number");
            assert_eq!(kernel.symbol, numbers[".symbol"]);
            assert_eq!(kernel.kernarg_size, number(".kernarg_segment_size"));
            assert_eq!(kernel.kernarg_align, number(".kernarg_segment_align"));
            let kernel = &kernel.kernel;
            assert_eq!(kernel.registers, Some(number(".vgpr_count")));
            assert_eq!(kernel.scalar_registers, Some(number(".sgpr_count")));
            assert_eq!(kernel.shared, Some(number(".group_segment_fixed_size")));
            assert_eq!(kernel.wavefront, Some(number(".wavefront_size")));
            assert_eq!(kernel.stack, Some(Stack::Bytes(number(".private_segment_fixed_size"))));
            assert_eq!(kernel.max_threads, Some([number(".max_flat_workgroup_size"), 1, 1]));
        }
    }
}

#[test]
fn bundles() {
    let Some(toolkit) = toolkit("clang-19") else { return };
    let (bin, folder) = (toolkit.join("bin"), folder("bundles"));
    let targets = ["gfx90a", "gfx942:sramecc+:xnack-"];
    let names = targets.map(|target| compile(&bin.join("clang"), &folder, target, "5"));
    let ids = targets.map(|target| format!("hipv4-amdgcn-amd-amdhsa--{target}"));
    let list = format!("-targets=host-x86_64-unknown-linux-gnu-,{}", ids.join(","));
    let inputs = names.clone().map(|name| format!("-input={name}"));
    for (flags, codec, file) in [
        (&["-bundle-align=4096"][..], Codec::None, "plain.hipfb"),
        (&["-bundle-align=4096", "-compress"], Codec::Zstd, "packed.hipfb"),
    ] {
        let output = format!("-output={file}");
        let mut arguments = flags.to_vec();
        arguments.extend(["-type=o", &list, "-input=/dev/null", &inputs[0], &inputs[1], &output]);
        run(&folder, &bin.join("clang-offload-bundler"), &arguments);
        let bytes = std::fs::read(folder.join(file)).expect("a bundle");
        let inventory = inventory::read(&bytes, &Limits::DEFAULT);
        assert_eq!(inventory.problems, [], "{file}");
        assert_eq!(inventory.images.len(), 2, "{file}");
        for (image, (target, name)) in inventory.images.iter().zip(targets.iter().zip(&names)) {
            assert_eq!(image.kind, ImageKind::AmdgpuObject);
            assert_eq!(image.arch.to_string(), *target);
            assert_eq!(image.triple.as_deref(), Some("amdgcn-amd-amdhsa"));
            assert_eq!(image.producer.as_deref(), Some("hipv4"));
            assert_eq!(image.packing(), (codec, codec != Codec::None));
            let original = std::fs::read(folder.join(name)).expect("a code object");
            let same = image.with_bytes(&Limits::DEFAULT, |bytes| bytes == original);
            assert!(same.expect("unpacks"), "{file}: {name}");
            assert_eq!(image.kernels(&Limits::DEFAULT).expect("reads").len(), 2);
        }
        let listed = run(
            &folder,
            &bin.join("clang-offload-bundler"),
            &["-type=o", "-list", &format!("-input={file}")],
        );
        for id in &ids {
            assert!(listed.contains(id.as_str()), "{file}: {listed}");
        }
    }
}

/// HIP objects as clang makes them, plain and compressed: the code objects equal
/// those that clang-offload-bundler extracts from the section.
#[test]
fn hip_objects() {
    let Some(toolkit) = toolkit("clang-19") else { return };
    let (bin, folder) = (toolkit.join("bin"), folder("hip-objects"));
    let hip = source("object.hip");
    for (flag, file) in [("--no-offload-compress", "plain.o"), ("--offload-compress", "packed.o")] {
        let flags = ["-x", "hip", "--offload-arch=gfx90a", "--offload-arch=gfx1100", "-nogpulib"];
        let rest = ["-nogpuinc", flag, "-c", "-o", file, hip.to_str().expect("UTF-8")];
        run(&folder, &bin.join("clang++"), &[&flags[..], &rest[..]].concat());
        let section = format!("{file}.section");
        let only = ["-O", "binary", "--only-section=.hip_fatbin", "--set-section-flags"];
        let rest = [".hip_fatbin=alloc", file, &section];
        run(&folder, &bin.join("llvm-objcopy"), &[&only[..], &rest[..]].concat());
        let bytes = std::fs::read(folder.join(file)).expect("an object");
        let inventory = inventory::read(&bytes, &Limits::DEFAULT);
        assert_eq!(inventory.problems, [], "{file}");
        assert_eq!(inventory.wrappers.len(), 1, "{file}");
        assert_eq!(inventory.images.len(), 2, "{file}");
        for image in &inventory.images {
            let target = format!("-targets=hip-amdgcn-amd-amdhsa--{}", image.arch);
            let (input, output) = (format!("-input={section}"), "-output=theirs");
            let unbundle = ["-unbundle", "-type=o", &target, &input, output];
            run(&folder, &bin.join("clang-offload-bundler"), &unbundle);
            let theirs = std::fs::read(folder.join("theirs")).expect("a code object");
            let same = image.with_bytes(&Limits::DEFAULT, |bytes| bytes == theirs);
            assert!(same.expect("unpacks"), "{file}: {}", image.arch);
            let kernels = image.kernels(&Limits::DEFAULT).expect("reads");
            assert_eq!(kernels[0].name, "store");
            assert_eq!(kernels[0].params.params.len(), 2);
        }
    }
}
