//! The same kernel has the same layout in every container and format.

use super::*;
use crate::arch::{Arch, SmVariant};
use crate::fatbin::{Fatbin, Image, write};

const ZSTD: &[u8] = include_bytes!("../../tests/data/zstd.fatbin");
const LZ4: &[u8] = include_bytes!("../../tests/data/lz4.fatbin");
const GROUP: &[u8] = include_bytes!("../../tests/data/group.fatbin");
const MIXED: &str = "_Z5mixediPKf5Mixedc";

fn layout(size: u32, params: &[(u32, u32)]) -> ParamLayout {
    let params = params.iter().map(|&(offset, size)| Param { offset, size }).collect();
    ParamLayout { size, params, types: Vec::new() }
}

/// What the source says, by the C++ layout rules.
fn expected() -> Vec<(String, ParamLayout)> {
    let mut all = vec![
        (MIXED, layout(41, &[(0, 4), (8, 8), (16, 24), (40, 1)])),
        ("_Z4tileIfEvPT_S0_", layout(12, &[(0, 8), (8, 4)])),
        ("_Z4tileIdEvPT_S0_", layout(16, &[(0, 8), (8, 8)])),
        ("_Z5emptyv", layout(0, &[])),
        ("_Z5printi", layout(4, &[(0, 4)])),
    ];
    all.sort();
    all.into_iter().map(|(name, layout)| (name.to_owned(), layout)).collect()
}

impl PartialOrd for ParamLayout {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ParamLayout {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.size.cmp(&other.size)
    }
}

/// Every image of `container`, unpacked.
fn images(container: &[u8]) -> Vec<(Kind, Vec<u8>)> {
    let limits = Limits::DEFAULT;
    let entries = Fatbin::read(container, 0).unwrap().entries(&limits);
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.kind, entry.unpack(&limits).unwrap().into_owned()))
        .collect()
}

#[test]
fn every_container_says_the_same() {
    for (name, image) in [("zstd", ZSTD), ("lz4", LZ4), ("group", GROUP)] {
        let mut found = index(image, &Limits::DEFAULT).unwrap();
        found.sort();
        assert_eq!(found, expected(), "{name}");
        for (kernel, layout) in expected() {
            let found = find_params(image, &kernel, &Limits::DEFAULT).unwrap();
            assert_eq!(found, Some(layout), "{name}: {kernel}");
        }
        assert_eq!(find_params(image, "_Z4nonev", &Limits::DEFAULT).unwrap(), None);
    }
}

#[test]
fn bare_images_say_the_same() {
    for (kind, image) in images(ZSTD).into_iter().chain(images(LZ4)) {
        let mut found = index(&image, &Limits::DEFAULT).unwrap();
        found.sort();
        assert_eq!(found, expected(), "{kind:?}");
        let found = find_params(&image, MIXED, &Limits::DEFAULT).unwrap();
        assert_eq!(found.as_ref(), expected().iter().find(|e| e.0 == MIXED).map(|e| &e.1));
    }
}

#[test]
fn groups_alone_are_opened() {
    let limits = Limits::DEFAULT;
    let group = Fatbin::read(GROUP, 0).unwrap().entries(&limits).nth(1).unwrap().unwrap();
    assert_eq!(group.kind, Kind::Group);
    let start = group.offset as usize;
    let mut alone = GROUP[..16].to_vec();
    alone[8..16].copy_from_slice(&((GROUP.len() - start) as u64).to_le_bytes());
    alone.extend_from_slice(&GROUP[start..]);
    let mut found = index(&alone, &limits).unwrap();
    found.sort();
    assert_eq!(found, expected());
    assert!(find_params(&alone, MIXED, &limits).unwrap().is_some());
}

/// The images of one container may be of different translation units.
#[test]
fn a_kernel_is_found_wherever_it_is() {
    let one = b".version 8.0\n.target sm_80\n.address_size 64\n.entry one(.param .u64 p){ret;}";
    let two = b".version 8.0\n.target sm_80\n.address_size 64\n.entry two(.param .u32 p){ret;}";
    let image = |data| Image {
        kind: Kind::Ptx,
        arch: Arch::Sm(80, SmVariant::Plain),
        version: (8, 0),
        codec: Codec::None,
        data,
    };
    let mut bytes = write(&[image(one), image(two)]).unwrap();
    let limits = Limits::DEFAULT;
    assert_eq!(find_params(&bytes, "one", &limits).unwrap(), Some(layout(8, &[(0, 8)])));
    assert_eq!(find_params(&bytes, "two", &limits).unwrap(), Some(layout(4, &[(0, 4)])));
    assert_eq!(index(&bytes, &limits).unwrap().len(), 2);
    // Back to back containers, as a linker leaves them.
    let second = write(&[image(two)]).unwrap();
    let mut two_containers = write(&[image(one)]).unwrap();
    two_containers.extend_from_slice(&[0; 24]);
    two_containers.extend_from_slice(&second);
    assert_eq!(index(&two_containers, &limits).unwrap().len(), 2);
    // One unreadable image beside a good one: the good one answers, and a
    // kernel that neither has gives the error.
    let entry = Fatbin::read(&bytes, 0).unwrap().entries(&limits).next().unwrap().unwrap();
    let dot = entry.payload_offset as usize + 1;
    bytes[dot] = b'X';
    assert!(find_params(&bytes, "two", &limits).unwrap().is_some());
    assert!(find_params(&bytes, "one", &limits).is_err());
}

/// Every prefix and every flipped byte: an answer or an error, never a panic.
#[test]
fn damaged_images_are_answered() {
    let limits = Limits { max_image: 1 << 20, ..Limits::DEFAULT };
    for image in [ZSTD, LZ4, GROUP] {
        for length in 0..image.len() {
            let _ = find_params(&image[..length], MIXED, &limits);
        }
        let mut bytes = image.to_vec();
        for at in 0..bytes.len() {
            for value in [0xFF, bytes[at] ^ 0x80] {
                let saved = std::mem::replace(&mut bytes[at], value);
                let _ = index(&bytes, &limits);
                bytes[at] = saved;
            }
        }
    }
    for (_, image) in images(LZ4) {
        let mut bytes = image.clone();
        for at in 0..bytes.len().min(12_000) {
            let saved = std::mem::replace(&mut bytes[at], 0xFF);
            let _ = index(&bytes, &limits);
            bytes[at] = saved;
        }
    }
}

/// PTX texts from cushim's own linker are modules of one program, and give the types that they know.
#[test]
fn linked_texts() {
    use std::borrow::Cow;
    let text = |entry: &str| {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {entry} {{ ret; }}\n"
        )
    };
    let first = text("a(.param .f32 x, .param .u32 n, .param .u64 .ptr .global .align 16 p)");
    let second = text("b(.param .f64 x, .param .s32 n, .param .align 4 .b8 y[4])");
    let parts = [Cow::Borrowed(first.as_bytes()), Cow::Borrowed(second.as_bytes())];
    let image = crate::linked::write(&parts);
    let limits = Limits::DEFAULT;
    assert_eq!(sniff(&image), Format::LinkedPtx);
    let extent = crate::extent(&image[..crate::linked::HEADER], &limits);
    assert_eq!(extent, Ok(crate::Extent::Exact(image.len() as u64)));
    let found = index(&image, &limits).unwrap();
    assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    use ParamType::*;
    assert_eq!(found[0].1.types, [Float, Unknown, Pointer]);
    assert_eq!(found[1].1.types, [Double, Signed, Unknown]);
    assert_eq!(
        find_params(&image, "b", &limits).unwrap(),
        Some(layout(16, &[(0, 8), (8, 4), (12, 4)]))
    );
    let all = crate::inventory::read(&image, &limits);
    assert_eq!((all.images.len(), all.problems.len()), (2, 0));
    let names = all.images.iter().map(|i| i.kernels(&limits).unwrap()[0].name.clone());
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);
    // If it is cut short, an error is reported and nothing is found in it.
    let all = crate::inventory::read(&image[..image.len() - 1], &limits);
    assert_eq!((all.images.len(), all.problems.len()), (0, 1));
    assert_eq!(index(&image[..30], &limits).unwrap(), []);
}
