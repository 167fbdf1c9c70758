//! Containers: the reader reads what the writer wrote, and reports damage.

use super::*;
use crate::arch::Arch;
use crate::arch::SmVariant;
use crate::error::Error;
use crate::packing::Codec;

const GROUP: &[u8] = include_bytes!("../../tests/data/group.fatbin");
const LZ4: &[u8] = include_bytes!("../../tests/data/lz4.fatbin");

fn sample(codec: Codec) -> Vec<u8> {
    let ptx = b".version 8.0\n.target sm_90a\n".repeat(10);
    let image = |kind, arch, data| Image { kind, arch, version: (8, 1), codec, data };
    write(&[
        image(Kind::Ptx, Arch::Sm(90, SmVariant::Specific), &ptx),
        image(Kind::Cubin, Arch::Sm(120, SmVariant::Family), &[1, 2, 3, 4, 5, 6, 7, 8]),
    ])
    .unwrap()
}

#[test]
fn written_and_read() {
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let bytes = sample(codec);
        let fatbin = Fatbin::read(&bytes, 0).unwrap();
        assert_eq!((fatbin.size, fatbin.version), (bytes.len() as u64, 1));
        let entries: Vec<_> =
            fatbin.entries(&Limits::DEFAULT).collect::<crate::error::Result<_>>().unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].arch().to_string(), "sm_90a");
        assert_eq!(entries[1].arch().to_string(), "sm_120f");
        for entry in &entries {
            assert_eq!((entry.codec(), entry.major, entry.minor), (codec, 8, 1));
        }
        let ptx = entries[0].unpack(&Limits::DEFAULT).unwrap();
        assert!(ptx.starts_with(b".version 8.0\n") && ptx.contains(&0));
        assert_eq!(*entries[1].unpack(&Limits::DEFAULT).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(total_size(&bytes[..16]).unwrap(), bytes.len() as u64);
    }
}

#[test]
fn groups_have_members() {
    let fatbin = Fatbin::read(GROUP, 0).unwrap();
    let group = fatbin.entries(&Limits::DEFAULT).nth(1).unwrap().unwrap();
    let members = group.members(&Limits::DEFAULT).unwrap();
    let blob = group.unpack(&Limits::DEFAULT).unwrap();
    assert_eq!(
        members.iter().map(|member| member.arch().to_string()).collect::<Vec<_>>(),
        ["sm_75", "sm_80"]
    );
    for member in &members {
        assert_eq!((member.kind, member.major, member.minor), (Kind::Cubin, 1, 8));
        assert!(crate::cubin::is_cubin(member.slice(&blob)));
    }
}

#[test]
fn flags_have_names() {
    let fatbin = Fatbin::read(LZ4, 0).unwrap();
    let cubin = fatbin.entries(&Limits::DEFAULT).next().unwrap().unwrap();
    assert_eq!(flags::names(cubin.flags), ["64bit", "linux", "lz4", "specific"]);
    assert_eq!(flags::names(1 << 63), ["0x8000000000000000"]);
}

#[test]
fn containers_back_to_back() {
    let one = sample(Codec::Lz4);
    let mut section = vec![0; 32];
    for padding in [0, 8, 40] {
        section.extend_from_slice(&one);
        section.resize(section.len() + padding, 0);
    }
    let found: Vec<_> =
        containers(&section, 0x1000).collect::<crate::error::Result<Vec<_>>>().unwrap();
    let size = one.len() as u64;
    assert_eq!(
        found.iter().map(|fatbin| fatbin.offset - 0x1000).collect::<Vec<_>>(),
        [32, 32 + size, 40 + 2 * size]
    );
}

#[test]
fn junk_between_containers_is_named_and_passed() {
    let one = sample(Codec::None);
    let mut section = one.clone();
    section.extend_from_slice(&[7; 16]);
    section.extend_from_slice(&one);
    let found: Vec<_> = containers(&section, 0).collect();
    assert_eq!(found.len(), 3);
    assert!(found[0].is_ok() && found[2].is_ok());
    let at = one.len() as u64;
    assert!(
        matches!(found[1], Err(Error::Field { field: "magic", at: a, found: 0x0707_0707, .. }) if a == at)
    );
}

#[test]
fn a_cut_container_still_lists_its_whole_entries() {
    let bytes = sample(Codec::None);
    let cut = &bytes[..bytes.len() - 4];
    assert!(matches!(Fatbin::read(cut, 0), Err(Error::Truncated { .. })));
    let fatbin = Fatbin::read_truncated(cut, 0).unwrap();
    let entries: Vec<_> = fatbin.entries(&Limits::DEFAULT).collect();
    assert!(entries[0].is_ok());
    assert!(matches!(
        entries[1],
        Err(Error::Truncated { what: "fatbin entry payload", need: 8, have: 4, .. })
    ));
}

#[test]
fn lying_headers_are_named() {
    let good = sample(Codec::Zstd);
    let cases: [(usize, &[u8], &str); 5] = [
        (0, b"X", "magic"),
        (6, &[4, 0], "header size"),
        (8, &[0xFF; 8], "size"),
        (16 + 4, &[8, 0, 0, 0], "header size"),
        (16 + 16, &[0xFF; 4], "compressed size"),
    ];
    for (at, bytes, expected) in cases {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        let read = Fatbin::read(&bad, 0).and_then(|fatbin| {
            fatbin.entries(&Limits::DEFAULT).collect::<crate::error::Result<Vec<_>>>()
        });
        match read {
            Err(Error::Field { field, at: found, .. }) => {
                assert_eq!((field, found), (expected, at as u64));
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
}

/// A payload that is packed and whose flags do not say how: the frame does.
#[test]
fn packing_without_a_flag_is_told_by_the_frame() {
    for codec in [Codec::Lz4, Codec::Zstd] {
        let mut bytes = sample(codec);
        // Both flag bits of both entries, which stand at 0x28 of each.
        let extents: Vec<u64> = Fatbin::read(&bytes, 0)
            .unwrap()
            .entries(&Limits::DEFAULT)
            .map(|entry| entry.unwrap().offset)
            .collect();
        for offset in extents {
            let flags = offset as usize + 0x28;
            bytes[flags + 1] &= !0xA0;
        }
        let fatbin = Fatbin::read(&bytes, 0).unwrap();
        for entry in fatbin.entries(&Limits::DEFAULT) {
            let entry = entry.unwrap();
            assert_eq!(entry.flags & (flags::LZ4 | flags::ZSTD), 0);
            assert_eq!(entry.codec(), codec);
            entry.unpack(&Limits::DEFAULT).unwrap();
        }
    }
}

/// Headers that lie, each by as little as is noticed.
#[test]
fn claims_beyond_what_is_there() {
    let first = |bytes: &[u8]| {
        let fatbin = Fatbin::read(bytes, 0).unwrap();
        let mut entries = fatbin.entries(&Limits::DEFAULT);
        entries.next().unwrap().map(|entry| entry.unpacked_size())
    };
    let sound = sample(Codec::Lz4);
    let at = HEADER as usize;
    let payload = u64::from_le_bytes(sound[at + 8..at + 16].try_into().unwrap());
    for (field, width, least_wrong) in [(0x10, 4, payload + 1), (4, 4, 63), (8, 8, 1 << 40)] {
        let mut bytes = sound.clone();
        bytes[at + field..at + field + width].copy_from_slice(&least_wrong.to_le_bytes()[..width]);
        assert!(first(&bytes).is_err(), "{field:#x} = {least_wrong}");
    }
    assert!(first(&sound).is_ok());
}

#[test]
fn directories_of_groups_that_lie() {
    let members = |bytes: &[u8], limits: &Limits| {
        let fatbin = Fatbin::read(bytes, 0).unwrap();
        let group = fatbin.entries(limits).nth(1).unwrap().unwrap();
        group.members(limits).map(|members| members.len())
    };
    assert_eq!(members(GROUP, &Limits::DEFAULT), Ok(2));
    let few = Limits { max_items: 2, ..Limits::DEFAULT };
    assert_eq!(members(GROUP, &few), Ok(2));
    // Two entries come first, whatever a group may hold.
    let error = {
        let fatbin = Fatbin::read(GROUP, 0).unwrap();
        let group = fatbin.entries(&few).nth(1).unwrap().unwrap();
        group.members(&Limits { max_items: 1, ..few }).unwrap_err()
    };
    assert!(matches!(error, Error::TooBig { name: "max_items", found: 2, .. }), "{error}");
    // The second member begins where it would end behind the group.
    let fatbin = Fatbin::read(GROUP, 0).unwrap();
    let group = fatbin.entries(&Limits::DEFAULT).nth(1).unwrap().unwrap();
    let last = group.members(&Limits::DEFAULT).unwrap().pop().unwrap();
    let mut bytes = GROUP.to_vec();
    let at = last.offset as usize + 4;
    bytes[at..at + 4].copy_from_slice(&(last.start as u32 + 16).to_le_bytes());
    let error = members(&bytes, &Limits::DEFAULT).unwrap_err();
    assert!(error.to_string().contains("an image within the group's"), "{error}");
}
