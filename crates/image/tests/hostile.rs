//! Runs the fuzz targets' functions on seeds, damaged seeds and every input with which fuzzing once found a fault: a
//! short fuzzing run in every test run.

use cushim_testkit::{corpus, image as targets};

use std::path::{Path, PathBuf};

use cushim_image::Codec;
use cushim_image::arch::Arch;
use cushim_image::codec::pack;
use cushim_image::{Error, Limits, fatbin, inventory, offload};

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 9] = [
    ("image_file", targets::file),
    ("image_fatbin", targets::fatbin),
    ("image_cubin", targets::cubin),
    ("image_ptx", targets::ptx),
    ("image_offload", targets::offload),
    ("image_bundle", targets::bundle),
    ("image_amdgpu", targets::amdgpu),
    ("image_extent", targets::extent),
    ("image_written", targets::written),
];

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap()).collect()
}

/// Images of every format, from compilers and from cushim's own writers.
fn seeds() -> Vec<Vec<u8>> {
    let limits = Limits::DEFAULT;
    let mut seeds = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"));
    let mut images = Vec::new();
    for seed in &seeds {
        for image in inventory::read(seed, &limits).images {
            images.push(image.place.unpack(&limits).unwrap().into_vec());
        }
    }
    assert!(images.len() >= 7, "the fixtures are missing");
    let ptx = images.iter().find(|image| cushim_image::ptx::is_ptx(image)).unwrap().clone();
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let image = fatbin::Image {
            kind: fatbin::Kind::Ptx,
            arch: Arch::parse("sm_90a"),
            version: (8, 0),
            codec,
            data: &ptx[..600],
        };
        seeds.push(fatbin::write(&[image]).unwrap());
    }
    let image = |data| offload::Image {
        kind: offload::ImageKind::Ptx,
        producer: 1,
        strings: vec![("triple", "nvptx64-nvidia-cuda"), ("arch", "sm_80")],
        data,
    };
    seeds.push(offload::write(&[image(&ptx[..200]), image(b"x")]));
    seeds.push(offload::write_single(&image(b"anything")));
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    let id = b"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+";
    for word in [1, 128, ptx.len() as u64, id.len() as u64] {
        bundle.extend_from_slice(&word.to_le_bytes());
    }
    bundle.extend_from_slice(id);
    bundle.resize(128, 0);
    bundle.extend_from_slice(&ptx);
    for codec in [Codec::Zstd, Codec::Zlib] {
        let packed = pack(codec, &bundle, 3).unwrap();
        let mut ccob = b"CCOB\x02\0".to_vec();
        ccob.extend_from_slice(&u16::from(codec == Codec::Zstd).to_le_bytes());
        ccob.extend_from_slice(&(packed.len() as u32 + 24).to_le_bytes());
        ccob.extend_from_slice(&(bundle.len() as u32).to_le_bytes());
        ccob.extend_from_slice(&[0; 8]);
        ccob.extend_from_slice(&packed);
        seeds.push(ccob);
    }
    seeds.push(bundle);
    seeds.extend(images);
    seeds
}

/// Writes the seeds to the folder of `cargo fuzz`; `scripts/fuzz` runs it.
#[test]
fn seeds_for_fuzzing() {
    for (target, _) in TARGETS {
        corpus::seeds(target, seeds());
    }
}

#[test]
fn seeds_and_regressions() {
    for (name, target) in TARGETS {
        corpus::regressions(name, target);
    }
    for seed in seeds() {
        for (_, target) in TARGETS {
            target(&seed);
        }
    }
}

/// Pseudo-random damage, the same in every run: bytes, words that look like sizes,
/// cuts, repeated parts.
#[test]
fn damaged_seeds() {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let seeds = seeds();
    let words = [0, 1, 8, 0x7F, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 40, u64::MAX];
    for round in 0..6000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=random(4) {
            let (at, length) = (random(bytes.len()), bytes.len());
            match random(6) {
                // Headers contain the sizes.
                0 | 1 => bytes[at % length.min(300)] = random(256) as u8,
                2 => bytes[at] ^= 1 << random(8),
                3 => {
                    let word = words[random(words.len())].to_le_bytes();
                    let (at, width) = (at & !3, [2, 4, 8][random(3)]);
                    let end = (at + width).min(length);
                    bytes[at..end].copy_from_slice(&word[..end - at]);
                }
                4 => bytes.truncate(at.max(1)),
                _ => {
                    let from = random(length);
                    let part = bytes[from..(from + random(64)).min(length)].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        let (_, target) = TARGETS[random(TARGETS.len())];
        target(&bytes);
    }
}

#[allow(dead_code)]
#[path = "../../cli/examples/hostile_bench/elf.rs"]
mod elf;

/// Variables of a code object that all have one name of half of the file.
#[test]
fn variables_of_one_long_name() {
    let read = |bytes| {
        cushim_image::amdgpu::globals(&elf::symbols(bytes, 224, 11, true), &Limits::DEFAULT)
    };
    let count = read(2000).map(|globals| globals.len());
    assert!(matches!(count, Ok(2..)), "{count:?}");
    let refused = read(1 << 20);
    assert!(matches!(refused, Err(Error::TooBig { name: "max_looks", .. })), "{refused:?}");
}
