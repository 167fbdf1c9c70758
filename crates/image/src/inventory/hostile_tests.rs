//! Files whose tables claim the same bytes again and again: the walk ends within a multiple of the file's length, and
//! still finds the valid images.

use super::*;
use crate::codec::pack;
use crate::error::Error;
use crate::packing::Codec;
use crate::{fatbin, offload};

/// Bytes of a hostile file.
const SIZE: usize = 1 << 20;

/// The walk kept its bound; whether it had to give up is the answer.
fn gave_up(file: &[u8]) -> bool {
    let (found, work) = measured(file, &Limits::DEFAULT);
    // A charge may cross the bound once, by the length of the file at most.
    let bytes = file.len() as u64 + work.unpacked();
    assert!(work.spent() <= (Limits::DEFAULT.max_looks + 2) * bytes + (1 << 20), "{work:?}");
    let over = |name| {
        let is = |error: &Error| matches!(error, Error::TooBig { name: said, .. } if *said == name);
        found.problems.iter().any(|problem| match &problem.error {
            Error::Inside { source, .. } => is(source),
            error => is(error),
        })
    };
    assert_eq!(work.is_over(), over("max_looks"), "what was left out is said");
    work.is_over()
}

/// A program header, or another table's row, of 64-bit words.
fn words(out: &mut Vec<u8>, words: &[u64]) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn host(size: usize) -> Vec<u8> {
    let mut out = vec![0; size];
    out[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    out[20] = 1;
    out[52] = 64;
    out
}

#[test]
fn magic_numbers_that_begin_nothing() {
    // A wrong header size, again and again; at the end a sound container.
    let wrong = [fatbin::MAGIC.to_le_bytes(), [1, 0, 0, 0]].concat();
    let mut file = wrong.repeat(SIZE / 8);
    file.extend_from_slice(include_bytes!("../../tests/data/zstd.fatbin"));
    let (found, work) = measured(&file, &Limits::DEFAULT);
    assert_eq!(found.images.len(), 2, "what stands behind the damage is found");
    assert!(work.spent() < 4 * file.len() as u64, "{work:?}");
    let last = &found.problems.last().unwrap().error;
    assert!(matches!(last, Error::TooBig { what: "damaged parts of a file", .. }), "{last}");
    assert!(found.problems.len() < 2000);
}

#[test]
fn comments_are_not_read_at_every_place() {
    // Empty containers, and between them what begins like a comment before PTX.
    let mut one = fatbin::MAGIC.to_le_bytes().to_vec();
    one.extend_from_slice(&[1, 0, 16, 0]);
    one.extend_from_slice(&0u64.to_le_bytes());
    one.extend_from_slice(b"/*      ");
    assert!(!gave_up(&one.repeat(SIZE / one.len())));
}

#[test]
fn sections_that_lie_upon_each_other() {
    let mut file = host(SIZE / 2);
    let at = file.len() as u64;
    file[40..48].copy_from_slice(&at.to_le_bytes());
    file[58..60].copy_from_slice(&64u16.to_le_bytes());
    file[60..62].copy_from_slice(&8000u16.to_le_bytes());
    file[62..64].copy_from_slice(&1u16.to_le_bytes());
    file[64..75].copy_from_slice(b".nv_fatbin\0");
    words(&mut file, &[0; 8]);
    for index in 1..8000u64 {
        let kind = if index == 1 { 3 } else { 1 };
        let start = if index == 1 { 64 } else { 128 + 8 * index };
        let name = 0;
        words(&mut file, &[kind << 32 | name, 0, 0, start, at - start, 0, 8, 0]);
    }
    assert!(gave_up(&file));
}

#[test]
fn segments_that_lie_upon_each_other() {
    let mut file = host(SIZE / 2);
    let at = file.len() as u64;
    file[32..40].copy_from_slice(&at.to_le_bytes());
    file[54..56].copy_from_slice(&56u16.to_le_bytes());
    file[56..58].copy_from_slice(&8000u16.to_le_bytes());
    for _ in 0..8000 {
        words(&mut file, &[5 << 32 | 1, 0, 0, 0, at, at, 4096]);
    }
    assert!(gave_up(&file));
}

#[test]
fn long_names_of_sections() {
    // Every section's name is the same half of the file.
    let mut file = host(SIZE / 2);
    file[128..SIZE / 2 - 1].fill(b'n');
    let at = file.len() as u64;
    file[40..48].copy_from_slice(&at.to_le_bytes());
    file[58..60].copy_from_slice(&64u16.to_le_bytes());
    file[60..62].copy_from_slice(&8000u16.to_le_bytes());
    file[62..64].copy_from_slice(&1u16.to_le_bytes());
    words(&mut file, &[0; 8]);
    for index in 1..8000u64 {
        let kind = if index == 1 { 3 } else { 1 };
        words(&mut file, &[kind << 32, 0, 0, 128, at - 128, 0, 1, 0]);
    }
    assert!(!gave_up(&file), "names that long are none of ours");
}

/// An OffloadBinary whose `count` entries have the same image and strings.
fn shared_binary(count: u64, image: &[u8], value: &str) -> Vec<u8> {
    let one = offload::write(&[offload::Image {
        kind: offload::ImageKind::Ptx,
        producer: 1,
        strings: vec![("arch", value)],
        data: image,
    }]);
    let entry = one[32..72].to_vec();
    let mut out = one[..32].to_vec();
    let added = 40 * (count - 1);
    let moved = |word: &[u8]| u64::from_le_bytes(word.try_into().unwrap()) + added;
    for _ in 0..count {
        out.extend_from_slice(&entry[..8]);
        out.extend_from_slice(&moved(&entry[8..16]).to_le_bytes());
        out.extend_from_slice(&entry[16..24]);
        out.extend_from_slice(&moved(&entry[24..32]).to_le_bytes());
        out.extend_from_slice(&entry[32..40]);
    }
    out.extend_from_slice(&moved(&one[72..80]).to_le_bytes());
    out.extend_from_slice(&moved(&one[80..88]).to_le_bytes());
    out.extend_from_slice(&one[88..]);
    let size = out.len() as u64;
    out[8..16].copy_from_slice(&size.to_le_bytes());
    out[24..32].copy_from_slice(&count.to_le_bytes());
    out
}

#[test]
fn entries_with_one_image_or_one_string() {
    let ptx = [b".version 8.0\n.target sm_80\n".as_slice(), &vec![b' '; SIZE / 2]].concat();
    assert_eq!(read(&shared_binary(3, &ptx, "sm_80"), &Limits::DEFAULT).images.len(), 3);
    assert!(gave_up(&shared_binary(8000, &ptx, "sm_80")));
    let long = "s".repeat(SIZE / 2);
    assert_eq!(read(&shared_binary(3, b"image", &long), &Limits::DEFAULT).images.len(), 3);
    let file = shared_binary(8000, b"image", &long);
    let error = offload::OffloadBinary::read(&file, 0).unwrap().entries(&Limits::DEFAULT);
    assert!(matches!(error, Err(Error::TooBig { name: "max_looks", .. })), "{error:?}");
}

#[test]
fn bundles_that_share_one_table() {
    // Each entry's id holds the header of a bundle whose table continues with the next entry.
    let mut one = Vec::new();
    words(&mut one, &[0, 0, 24 + 8]);
    one.extend_from_slice(crate::bundle::MAGIC);
    one.extend_from_slice(&1_000_000u64.to_le_bytes());
    let mut file = crate::bundle::MAGIC.to_vec();
    file.extend_from_slice(&1_000_000u64.to_le_bytes());
    file.extend_from_slice(&one.repeat(SIZE / one.len()));
    assert!(gave_up(&file));
    // And streams that share one chain of blocks: version 1 says no length.
    let mut one = b"CCOB\x01\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    // A frame without content size, its window descriptor, and a raw block that
    // holds the next of these.
    one.extend_from_slice(&[0x28, 0xB5, 0x2F, 0xFD, 0, 0x58]);
    one.extend_from_slice(&((one.len() as u32) << 3).to_le_bytes()[..3]);
    assert!(gave_up(&one.repeat(SIZE / one.len())));
}

#[test]
fn bombs_beside_each_other() {
    // 4 KiB or so that unpack to 60 MiB each: below the limit of an image, and of the ratio that
    // large ones must meet.
    let zeros = vec![0; 60 << 20];
    let packed = pack(Codec::Zstd, &zeros, 3).unwrap();
    let mut one = offload::MAGIC.to_vec();
    one.extend_from_slice(&3u32.to_le_bytes());
    let size = 40 + packed.len() as u64;
    words(&mut one, &[size, 40, 1, 40 + zeros.len() as u64]);
    one.extend_from_slice(&packed);
    one.resize(one.len().next_multiple_of(8), 0);
    let file = one.repeat(200);
    let (found, work) = measured(&file, &Limits::DEFAULT);
    let most = Limits::TOTAL_FLOOR + 100 * 200 * one.len() as u64;
    assert!(work.unpacked() <= most, "{work:?}");
    let refused = found
        .problems
        .iter()
        .filter(|problem| problem.error.to_string().contains("unpacked images together"));
    assert!(refused.count() > 100);
}

#[test]
fn members_of_a_group_lie_side_by_side() {
    let group = include_bytes!("../../tests/data/group.fatbin");
    // The size of the second member in the directory becomes the whole group's.
    let sound = read(group, &Limits::DEFAULT);
    let sizes: Vec<u64> = sound.images[1..].iter().map(|image| image.place.stored).collect();
    let mut file = group.to_vec();
    let at = (0..file.len() - 8)
        .find(|&at| file[at..at + 8] == sizes[0].to_le_bytes() && at > 16)
        .unwrap();
    let Space::Blob(blob) = &sound.images[1].place.space else { panic!("no group") };
    file[at..at + 8].copy_from_slice(&blob.packed().unpacked.to_le_bytes());
    let found = read(&file, &Limits::DEFAULT);
    let said = found.problems.iter().any(|p| p.error.to_string().contains("of a group together"));
    assert!(said, "{:?}", found.problems);
}
