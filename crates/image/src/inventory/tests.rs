//! Finds images through every container, valid ones beside damaged ones.

use super::*;
use crate::arch::{Arch, SmVariant};
use crate::error::Error;
use crate::packing::Codec;
use crate::{fatbin, offload};
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};

const ZSTD: &[u8] = include_bytes!("../../tests/data/zstd.fatbin");
const GROUP: &[u8] = include_bytes!("../../tests/data/group.fatbin");

/// An object file with the given sections.
fn elf(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for (name, data) in sections {
        let name = name.as_bytes().to_vec();
        let id = object.add_section(Vec::new(), name, SectionKind::ReadOnlyData);
        object.append_section_data(id, data, 8);
    }
    object.write().unwrap()
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, data) in members {
        let size = data.len();
        out.extend_from_slice(
            format!("{:<16}0           0     0     100644  {size:<10}`\n", format!("{name}/"))
                .as_bytes(),
        );
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(2), b'\n');
    }
    out
}

fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = crate::bundle::MAGIC.to_vec();
    out.extend_from_slice(&(entries.len() as u64).to_le_bytes());
    let mut body = Vec::new();
    for (id, data) in entries {
        for word in [4096 + body.len() as u64, data.len() as u64, id.len() as u64] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(id.as_bytes());
        body.extend_from_slice(data);
    }
    out.resize(4096, 0);
    out.extend_from_slice(&body);
    out
}

fn compressed(version: u16, codec: Codec, plain: &[u8]) -> Vec<u8> {
    let packed = crate::codec::pack(codec, plain, 3).unwrap();
    let mut out = b"CCOB".to_vec();
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&u16::from(codec == Codec::Zstd).to_le_bytes());
    let header = [0, 20, 24, 32][usize::from(version)];
    let total = (header + packed.len()) as u64;
    match version {
        1 => out.extend_from_slice(&(plain.len() as u32).to_le_bytes()),
        2 => {
            out.extend_from_slice(&(total as u32).to_le_bytes());
            out.extend_from_slice(&(plain.len() as u32).to_le_bytes());
        }
        _ => {
            out.extend_from_slice(&total.to_le_bytes());
            out.extend_from_slice(&(plain.len() as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(&7u64.to_le_bytes());
    out.extend_from_slice(&packed);
    out
}

fn lines(inventory: &Inventory<'_>) -> Vec<String> {
    let line = |image: &Image<'_>| format!("{} {} {}", image.kind, image.arch, image.trail);
    inventory.images.iter().map(line).collect()
}

fn list(file: &[u8]) -> Vec<String> {
    let inventory = read(file, &Limits::DEFAULT);
    assert_eq!(inventory.problems, []);
    lines(&inventory)
}

#[test]
fn bare_containers() {
    assert_eq!(list(ZSTD), ["cubin sm_80 fatbin 0 entry 0", "ptx sm_80 fatbin 0 entry 1"]);
    assert_eq!(
        list(GROUP),
        [
            "ptx sm_80 fatbin 0 entry 0",
            "cubin sm_75 fatbin 0 group 1 entry 0",
            "cubin sm_80 fatbin 0 group 1 entry 1",
        ]
    );
    let kernels = |file| -> Vec<usize> {
        let inventory = read(file, &Limits::DEFAULT);
        inventory.images.iter().map(|i| i.kernels(&Limits::DEFAULT).unwrap().len()).collect()
    };
    assert_eq!((kernels(ZSTD), kernels(GROUP)), (vec![5, 5], vec![5, 5, 5]));
}

#[test]
fn sections_and_members() {
    let two = [ZSTD, &[0; 64], GROUP].concat();
    let object = elf(&[(".text", b"code"), (".nv_fatbin", &two), ("__nv_relfatbin", ZSTD)]);
    let found = list(&object);
    assert_eq!(found.len(), 7);
    assert_eq!(found[2], "ptx sm_80 .nv_fatbin fatbin 1 entry 0");
    assert_eq!(found[6], "ptx sm_80 __nv_relfatbin fatbin 2 entry 1");
    let library = archive(&[("a.o", &object), ("notes.txt", b"text"), ("b.o", &elf(&[]))]);
    let found = list(&library);
    assert_eq!(found.len(), 7);
    assert_eq!(found[6], "ptx sm_80 (a.o) __nv_relfatbin fatbin 2 entry 1");
}

#[test]
fn llvm_containers() {
    let image = |kind, data, arch| offload::Image {
        kind,
        producer: 2,
        strings: vec![("triple", "nvptx64-nvidia-cuda"), ("arch", arch), ("extra", "1")],
        data,
    };
    let limits = Limits::DEFAULT;
    let container = read(ZSTD, &limits);
    let cubin = container.images[0].place.unpack(&limits).unwrap();
    let binary = offload::write(&[
        image(offload::ImageKind::Cubin, &cubin, "sm_80"),
        image(offload::ImageKind::Fatbinary, ZSTD, "sm_80"),
    ]);
    let expected = [
        "cubin sm_80 .llvm.offloading offload-binary 0 entry 0",
        "cubin sm_80 .llvm.offloading offload-binary 0 fatbin 0 entry 0",
        "ptx sm_80 .llvm.offloading offload-binary 0 fatbin 0 entry 1",
        "cubin sm_80 .llvm.offloading offload-binary 1 entry 0",
    ];
    let again = [binary.as_slice(), &binary].concat();
    let file = elf(&[(".llvm.offloading", &again)]);
    let inventory = read(&file, &limits);
    assert_eq!(lines(&inventory)[..4], expected);
    let first = &inventory.images[0];
    assert_eq!(first.triple.as_deref(), Some("nvptx64-nvidia-cuda"));
    assert_eq!(first.producer.as_deref(), Some("cuda"));
    assert_eq!(first.strings, [("extra".to_owned(), "1".to_owned())]);

    // The same, compressed as version 3 has it.
    for codec in [Codec::Zstd, Codec::Zlib] {
        let mut packed = binary[..8].to_vec();
        packed[4] = 3;
        // A version 3 header is 8 bytes longer: so are all offsets.
        let longer = shifted(&binary);
        let body = crate::codec::pack(codec, &longer[40..], 3).unwrap();
        for word in [40 + body.len() as u64, 40, 2, longer.len() as u64] {
            packed.extend_from_slice(&word.to_le_bytes());
        }
        packed.extend_from_slice(&body);
        let inventory = read(&packed, &limits);
        assert_eq!(inventory.problems, []);
        assert_eq!(inventory.images.len(), 3);
        assert_eq!(inventory.images[0].packing(), (codec, true));
        assert_eq!(*inventory.images[0].place.unpack(&limits).unwrap(), *cubin);
        assert_eq!(inventory.images[2].kernels(&limits).unwrap().len(), 5);
    }
}

/// A version 2 binary rewritten as an uncompressed version 3.
fn shifted(binary: &[u8]) -> Vec<u8> {
    let word = |at: usize| u64::from_le_bytes(binary[at..at + 8].try_into().unwrap());
    let mut out = binary.to_vec();
    out.splice(32..32, [0; 8]);
    let mut put = |at: usize, value: u64| out[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(8, word(8) + 8);
    put(16, 40);
    for entry in (0..word(24) as usize).map(|index| 32 + 40 * index) {
        put(entry + 8 + 8, word(entry + 8) + 8);
        put(entry + 8 + 24, word(entry + 24) + 8);
        for pair in 0..word(entry + 16) as usize {
            let at = word(entry + 8) as usize + 24 * pair;
            put(at + 8, word(at) + 8);
            put(at + 16, word(at + 8) + 8);
        }
    }
    out[4] = 3;
    out
}

#[test]
fn bundles() {
    let limits = Limits::DEFAULT;
    let container = read(ZSTD, &limits);
    let cubin = container.images[0].place.unpack(&limits).unwrap();
    let plain = bundle(&[
        ("host-x86_64-unknown-linux-gnu-", b""),
        ("hip-nvptx64-nvidia-cuda--sm_80", &cubin),
    ]);
    assert_eq!(list(&plain), ["cubin sm_80 bundle 0 entry 1"]);
    for version in 1..=3 {
        for codec in [Codec::Zstd, Codec::Zlib] {
            let one = compressed(version, codec, &plain);
            let mut section = [one.as_slice(), &[0; 40]].concat();
            section.extend_from_slice(&one);
            let file = elf(&[(".hip_fatbin", &section)]);
            assert_eq!(
                list(&file),
                [
                    "cubin sm_80 .hip_fatbin compressed-bundle 0 entry 1",
                    "cubin sm_80 .hip_fatbin compressed-bundle 1 entry 1",
                ]
            );
            let inventory = read(&file, &limits);
            assert_eq!(inventory.images[1].packing(), (codec, true));
            assert_eq!(*inventory.images[1].place.unpack(&limits).unwrap(), *cubin);
        }
    }
}

#[test]
fn bad_ones_do_not_hide_good_ones() {
    let limits = Limits::DEFAULT;
    let image = |data| fatbin::Image {
        kind: fatbin::Kind::Ptx,
        arch: Arch::Sm(80, SmVariant::Plain),
        version: (8, 0),
        codec: Codec::None,
        data,
    };
    let good = fatbin::write(&[image(b".version 8.0"), image(b".version 8.1")]).unwrap();
    let mut cut = good.clone();
    // The second entry's header size.
    cut[16 + 80 + 16 + 4] = 1;
    let section = [cut.as_slice(), b"junk here", &good].concat();
    let file = elf(&[(".nv_fatbin", &section)]);
    let inventory = read(&file, &limits);
    assert_eq!(inventory.images.len(), 3);
    let problems: Vec<_> = inventory.problems.iter().map(|p| p.error.to_string()).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("header size is 0x1, expected at least 0x40"), "{problems:?}");
    assert!(problems[1].contains("magic"), "{problems:?}");
    assert_eq!(inventory.problems[0].trail.to_string(), ".nv_fatbin fatbin 0 entry 1");
}

#[test]
fn nesting_is_bounded() {
    let mut file = ZSTD.to_vec();
    for _ in 0..20 {
        let image = offload::Image {
            kind: offload::ImageKind::Fatbinary,
            producer: 2,
            strings: Vec::new(),
            data: &file,
        };
        file = offload::write(&[image]);
    }
    let inventory = read(&file, &Limits::DEFAULT);
    assert!(inventory.images.is_empty());
    assert!(matches!(inventory.problems[0].error, Error::TooBig { name: "max_depth", .. }));
}

#[test]
fn foreign_files_are_named() {
    for file in [&b""[..], b"x", b"#!/bin/sh\n", &[0; 100]] {
        let inventory = read(file, &Limits::DEFAULT);
        assert!(inventory.images.is_empty());
        assert!(matches!(inventory.problems[0].error, Error::Field { field: "magic", .. }));
    }
}

/// Every prefix and many flipped bytes of files of every kind.
#[test]
fn damaged_files() {
    let limits = Limits { max_image: 1 << 20, ..Limits::DEFAULT };
    let container = read(ZSTD, &limits);
    let ptx = container.images[1].place.unpack(&limits).unwrap();
    let plain = bundle(&[("hip-amdgcn-amd-amdhsa--gfx90a", &ptx[..300])]);
    let binary = offload::write(&[offload::Image {
        kind: offload::ImageKind::Ptx,
        producer: 1,
        strings: vec![("arch", "sm_80")],
        data: &ptx[..300],
    }]);
    let small =
        archive(&[("a.o", &elf(&[(".nv_fatbin", &GROUP[..700]), (".llvm.offloading", &binary)]))]);
    for file in [plain.clone(), compressed(2, Codec::Zstd, &plain), binary, small] {
        let look = |bytes: &[u8]| {
            for image in read(bytes, &limits).images {
                let _ = image.kernels(&limits);
            }
        };
        for length in (0..file.len()).step_by(3) {
            look(&file[..length]);
        }
        let mut bytes = file.clone();
        for at in 0..bytes.len().min(3000) {
            for value in [0xFF, bytes[at] ^ 1] {
                let saved = std::mem::replace(&mut bytes[at], value);
                look(&bytes);
                bytes[at] = saved;
            }
        }
    }
}

#[test]
fn lying_offsets_in_members_of_archives() {
    let wrapper =
        [&crate::wrapper::CUDA_MAGIC.to_le_bytes()[..], &1u32.to_le_bytes(), &[0; 16]].concat();
    let cubin = elf(&[]);
    let bundle = bundle(&[("hip-nvptx64-nvidia-cuda--sm_80", &cubin), ("host-x86_64--", b"")]);
    let object = elf(&[
        (".nv_fatbin", b"no container"),
        (".nvFatBinSegment", &[&wrapper[..], &wrapper].concat()),
        ("__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a", &cubin),
    ]);
    for inner in [bundle, object] {
        for at in (0..inner.len() - 8).step_by(8) {
            for value in [u64::MAX, u64::MAX - 63, 1 << 63] {
                let mut broken = inner.clone();
                broken[at..at + 8].copy_from_slice(&value.to_le_bytes());
                read(&archive(&[("first", b"something"), ("broken", &broken)]), &Limits::DEFAULT);
            }
        }
    }
}

#[test]
fn wrappers_in_a_row_have_places_of_their_own() {
    let wrapper =
        [&crate::wrapper::CUDA_MAGIC.to_le_bytes()[..], &1u32.to_le_bytes(), &[0; 16]].concat();
    let object = elf(&[(".nvFatBinSegment", &wrapper.repeat(3))]);
    let found = read(&object, &Limits::DEFAULT).wrappers;
    let first = found[0].offset;
    let places: Vec<u64> = found.iter().map(|wrapper| wrapper.offset - first).collect();
    assert_eq!(places, [0, 24, 48]);
    let magic = crate::wrapper::CUDA_MAGIC.to_le_bytes();
    assert!(found.iter().all(|wrapper| object[wrapper.offset as usize..].starts_with(&magic)));
}
