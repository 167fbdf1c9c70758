//! Compares OffloadBinaries and clang's CUDA and OpenMP objects with clang-offload-packager, llvm-objdump and
//! cuobjdump.

use std::path::Path;

use cushim_image::inventory::{self, ImageKind};
use cushim_image::{Limits, offload};

use crate::cuda::compare;
use crate::tools::{folder, run, source, toolkit};

/// `[kind, arch, triple, producer]` of each image that llvm-objdump prints.
fn printed(bin: &Path, folder: &Path, file: &str) -> Vec<[String; 4]> {
    let mut out: Vec<[String; 4]> = Vec::new();
    for line in run(folder, &bin.join("llvm-objdump"), &["--offloading", file]).lines() {
        if line.starts_with("OFFLOADING IMAGE") {
            out.push(Default::default());
        }
        let Some(image) = out.last_mut() else { continue };
        for (index, key) in ["kind", "arch", "triple", "producer"].into_iter().enumerate() {
            if let Some(value) = line.strip_prefix(key).filter(|v| v.starts_with(' ')) {
                image[index] = value.trim().to_owned();
            }
        }
    }
    out
}

/// Compares the images in the OffloadBinaries of `file`.
fn listed(bin: &Path, folder: &Path, file: &str) -> usize {
    let bytes = std::fs::read(folder.join(file)).expect("a file");
    let inventory = inventory::read(&bytes, &Limits::DEFAULT);
    assert_eq!(inventory.problems, [], "{file}");
    let ours: Vec<[String; 3]> = inventory
        .images
        .iter()
        .map(|image| {
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            [image.arch.to_string(), text(&image.triple), text(&image.producer)]
        })
        .collect();
    let theirs: Vec<[String; 3]> =
        printed(bin, folder, file).into_iter().map(|[_, a, t, p]| [a, t, p]).collect();
    assert_eq!(ours, theirs, "{file}");
    ours.len()
}

#[test]
fn offload_binaries() {
    let Some(toolkit) = toolkit("clang-19") else { return };
    let (bin, folder) = (toolkit.join("bin"), folder("offload-binaries"));
    let packager = bin.join("clang-offload-packager");
    let contents: [&[u8]; 2] = [b"first image, of any bytes", &[0xA5; 1000]];
    for (name, bytes) in ["a.bin", "b.bin"].iter().zip(contents) {
        std::fs::write(folder.join(name), bytes).expect("a file");
    }
    let image = "--image=file=a.bin,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda";
    let other = "--image=file=b.bin,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=openmp";
    run(&folder, &packager, &["-o", "packed.bin", image, other]);
    assert_eq!(listed(&bin, &folder, "packed.bin"), 2);
    let bytes = std::fs::read(folder.join("packed.bin")).expect("a file");
    let inventory = inventory::read(&bytes, &Limits::DEFAULT);
    for (image, original) in inventory.images.iter().zip(contents) {
        assert_eq!(*image.place.unpack(&Limits::DEFAULT).expect("unpacks"), *original);
    }

    // LLVM's tools read the images that cushim writes, in version 1, which LLVM 19 knows.
    let image = |arch, data| offload::Image {
        kind: offload::ImageKind::Object,
        producer: 2,
        strings: vec![("triple", "nvptx64-nvidia-cuda"), ("arch", arch)],
        data,
    };
    let mut bytes = offload::write_single(&image("sm_80", contents[0]));
    bytes.extend(offload::write_single(&image("sm_90", contents[1])));
    std::fs::write(folder.join("ours.bin"), bytes).expect("a file");
    assert_eq!(listed(&bin, &folder, "ours.bin"), 2);
    for (arch, original) in ["sm_80", "sm_90"].iter().zip(contents) {
        let wanted = format!("--image=file=out.bin,arch={arch}");
        run(&folder, &packager, &["ours.bin", &wanted]);
        assert_eq!(std::fs::read(folder.join("out.bin")).expect("a file"), original);
    }
}

#[test]
fn clang_objects() {
    let (Some(clang), Some(cuda)) = (toolkit("clang-19"), toolkit("cuda-12.4")) else { return };
    let (bin, folder) = (clang.join("bin"), folder("clang-objects"));
    let kernels = source("kernels.cu");
    let (include, path) = (clang.join("cuda-include"), cuda.clone());
    let include = format!("-I{}", include.display());
    let path = format!("--cuda-path={}", path.display());
    let common =
        [&include, &path, "--cuda-gpu-arch=sm_80", "-Wno-unknown-cuda-version", "-w", "-c"];
    let compile = |flags: &[&str], file: &str| {
        let rest = ["-o", file, kernels.to_str().expect("UTF-8")];
        let arguments = [&common.map(|flag: &str| flag)[..], flags, &rest[..]].concat();
        run(&folder, &bin.join("clang++"), &arguments);
    };
    for (flags, file) in [
        (&["--no-offload-new-driver"][..], "old.o"),
        (&["--offload-new-driver", "--cuda-gpu-arch=sm_75"], "new.o"),
    ] {
        compile(flags, file);
        compare(&cuda.join("bin/cuobjdump"), &folder, file);
    }
    compile(&["--offload-new-driver", "--cuda-gpu-arch=sm_75", "-fgpu-rdc"], "rdc.o");
    assert_eq!(listed(&bin, &folder, "rdc.o"), 2);
}

#[test]
fn openmp_objects() {
    let Some(clang) = toolkit("clang-19") else { return };
    let (bin, folder) = (clang.join("bin"), folder("openmp-objects"));
    let text =
        "int main() { int x = 0;\n#pragma omp target map(tofrom: x)\n x = 1;\n return x - 1; }\n";
    std::fs::write(folder.join("omp.c"), text).expect("a file");
    let flags = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-c", "-o", "omp.o", "omp.c"];
    run(&folder, &bin.join("clang"), &flags);
    assert_eq!(listed(&bin, &folder, "omp.o"), 1);
    let bytes = std::fs::read(folder.join("omp.o")).expect("a file");
    let inventory = inventory::read(&bytes, &Limits::DEFAULT);
    let kind = inventory.images[0].kind;
    assert!(matches!(kind, ImageKind::Object | ImageKind::Bitcode), "{kind}");
}
