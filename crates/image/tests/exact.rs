//! Compares written and refused images byte for byte; other readers would accept some of the refused ones.

use cushim_image::fatbin::{self, Fatbin, Kind, flags};
use cushim_image::{Arch, Codec, Limits, Work, codec, index, offload, ptx, wrapper};

fn image<'a>(kind: Kind, arch: &str, codec: Codec, data: &'a [u8]) -> fatbin::Image<'a> {
    fatbin::Image { kind, arch: Arch::parse(arch), version: (8, 0), codec, data }
}

const PTX: &[u8] =
    b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 a) { ret; }\n";

fn first_entry(bytes: &[u8]) -> (u64, Vec<u8>) {
    let file = Fatbin::read(bytes, 0).unwrap();
    let entry = file.entries(&Limits::DEFAULT).next().unwrap().unwrap();
    (entry.flags, entry.unpack(&Limits::DEFAULT).unwrap().into_owned())
}

#[test]
fn only_cubins_from_sm_100_on_are_mercury() {
    for (kind, arch, is) in
        [(Kind::Cubin, "sm_100", true), (Kind::Cubin, "sm_90", false), (Kind::Ptx, "sm_100", false)]
    {
        let written = fatbin::write(&[image(kind, arch, Codec::None, b"\x7fELFxyz")]).unwrap();
        let (found, _) = first_entry(&written);
        assert_eq!(found & flags::MERCURY != 0, is, "{kind:?} {arch}");
    }
}

#[test]
fn ptx_ends_with_one_nought_and_machine_code_as_it_is() {
    for (kind, data, unpacked) in [
        (Kind::Ptx, &b"abc"[..], &b"abc\0"[..]),
        (Kind::Ptx, b"abc\0", b"abc\0"),
        (Kind::Cubin, b"abcd", b"abcd"),
    ] {
        let written = fatbin::write(&[image(kind, "sm_80", Codec::Lz4, data)]).unwrap();
        assert_eq!(first_entry(&written).1, unpacked, "{kind:?}");
    }
}

/// Packed images that unpack to more than `max_total` are refused; unpacked images have no such limit.
#[test]
fn looking_for_parameters_minds_what_unpacks() {
    let limits = Limits { max_total: 16, ..Limits::DEFAULT };
    for (codec, is) in [(Codec::None, true), (Codec::Zstd, false), (Codec::Lz4, false)] {
        let written = fatbin::write(&[image(Kind::Ptx, "sm_80", codec, PTX)]).unwrap();
        let found = index(&written, &limits);
        assert_eq!(found.as_ref().is_ok_and(|all| all.len() == 1), is, "{codec}: {found:?}");
        assert_eq!(index(&written, &Limits::DEFAULT).unwrap().len(), 1, "{codec}");
    }
}

#[test]
fn a_comment_in_a_body_ends_where_it_does() {
    let text = ".version 8.0\n.target sm_80\n.entry a() { /*/ } */ } .entry b() { // }\n } .entry c() { /**/ }";
    let names: Vec<String> = ptx::scan(text.as_bytes(), &Limits::DEFAULT)
        .unwrap()
        .entries
        .into_iter()
        .map(|e| e.name)
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn a_space_before_the_type_is_that_of_a_pointer() {
    let scan = |parameter: &str| {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k({parameter}) {{ ret; }}"
        );
        ptx::scan(text.as_bytes(), &Limits::DEFAULT)
    };
    assert!(scan(".param .ptr .global .align 8 .u64 a").is_ok());
    assert!(scan(".param .global .u64 a").is_err());
}

/// A stream that is longer than a decoder's output buffer.
#[test]
fn the_beginning_of_a_long_stream() {
    let data: Vec<u8> = (0..3_000_000u32)
        .flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 9).to_le_bytes())
        .collect();
    for kind in [Codec::Zstd, Codec::Zlib] {
        let packed = codec::pack(kind, &data, 1).unwrap();
        for want in [1, 1000, 300_000, data.len() - 1, data.len()] {
            let found = codec::unpack_prefix(kind, &packed, want, 0).unwrap();
            assert!(found == data[..want], "{kind} {want}");
        }
    }
}

#[test]
fn work_is_counted() {
    let mut work = Work::new(1000, &Limits::DEFAULT);
    work.look(7, 0).unwrap();
    work.look(5, 0).unwrap();
    work.unpack(100, 0, &Limits::DEFAULT).unwrap();
    assert_eq!((work.spent(), work.unpacked()), (12, 100));
}

#[test]
fn a_wrapper_of_the_device_linker() {
    let wrapper = |magic: u32, version: u32| {
        let mut bytes = [magic.to_le_bytes(), version.to_le_bytes()].concat();
        bytes.extend([0; 16]);
        wrapper::Wrapper::read(&bytes, 0).unwrap().is_linked()
    };
    assert!(wrapper(wrapper::CUDA_MAGIC, 2));
    assert!(!wrapper(wrapper::CUDA_MAGIC, 1));
    assert!(!wrapper(wrapper::HIP_MAGIC, 1));
}

/// LLVM's `OffloadBinary`, version 1: header, entry, string table and strings follow each other.
#[test]
fn an_offload_binary_has_no_gaps() {
    let one = offload::Image {
        kind: offload::ImageKind::Ptx,
        producer: 1,
        strings: vec![("triple", "t"), ("arch", "sm_80")],
        data: b"data",
    };
    let written = offload::write_single(&one);
    let word = |at: usize| u64::from_le_bytes(written[at..at + 8].try_into().unwrap());
    // The entry is at 32: the offset of its strings is at 8 in it, their number at 16.
    assert_eq!((word(16), word(32 + 8), word(32 + 16)), (32, 32 + 40, 2));
    // Two pairs of offsets of 8 bytes each, then the strings.
    assert_eq!(word(72), 72 + 32);
    assert_eq!(&written[104..104 + 20], b"triple\0t\0arch\0sm_80\0");
}
