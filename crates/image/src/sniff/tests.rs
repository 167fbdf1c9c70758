//! Recognition and lengths, of complete and of truncated images.

use super::*;
use crate::fatbin::Fatbin;

const LZ4: &[u8] = include_bytes!("../../tests/data/lz4.fatbin");

fn cubin() -> Vec<u8> {
    let limits = Limits::DEFAULT;
    let entry = Fatbin::read(LZ4, 0).unwrap().entries(&limits).next().unwrap().unwrap();
    entry.unpack(&limits).unwrap().into_owned()
}

/// Follows `Need` with prefixes of `image`, as one with a pointer would.
fn walk(image: &[u8]) -> Extent {
    let mut length = MIN_PREFIX;
    for _ in 0..1000 {
        match extent(&image[..length], &Limits::DEFAULT).unwrap() {
            Extent::Need(more) => length = more as usize,
            answer => return answer,
        }
    }
    panic!("no end");
}

#[test]
fn lengths_of_real_images() {
    assert_eq!(sniff(LZ4), Format::Fatbin);
    assert_eq!(walk(LZ4), Extent::Exact(LZ4.len() as u64));
    let cubin = cubin();
    assert_eq!(sniff(&cubin), Format::Cubin);
    assert_eq!(walk(&cubin), Extent::Exact(cubin.len() as u64));
    let padded = [cubin.as_slice(), &[0; 7]].concat();
    assert_eq!(trim(&padded), cubin);
    assert_eq!(trim(b".version 8.0\0\0"), b".version 8.0");
    assert_eq!(walk(&[b"// made by hand\n".as_slice(), &[b' '; 99]].concat()), Extent::Text);
}

#[test]
fn lengths_of_bundles() {
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bundle.extend_from_slice(&2u64.to_le_bytes());
    for (offset, size) in [(4096u64, 0u64), (4096, 100)] {
        bundle.extend_from_slice(&offset.to_le_bytes());
        bundle.extend_from_slice(&size.to_le_bytes());
        bundle.extend_from_slice(&4u64.to_le_bytes());
        bundle.extend_from_slice(b"host");
    }
    bundle.resize(4196, 1);
    assert_eq!(walk(&bundle), Extent::Exact(4196));
}

#[test]
fn lying_headers_are_refused() {
    let mut fatbin = LZ4[..64].to_vec();
    fatbin[8..16].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let error = extent(&fatbin, &Limits::DEFAULT).unwrap_err();
    assert!(matches!(error, Error::TooBig { name: "max_image", .. }), "{error}");
    let mut elf = cubin();
    elf[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
    let error = extent(&elf, &Limits::DEFAULT).unwrap_err();
    assert!(matches!(error, Error::TooBig { .. }), "{error}");
    assert!(extent(b"junk", &Limits::DEFAULT).is_err());
    assert!(extent(b"", &Limits::DEFAULT).is_err());
}

#[test]
fn any_prefix_and_any_byte() {
    let cubin = cubin();
    for image in [LZ4, &cubin] {
        for length in 0..200 {
            let _ = extent(&image[..length], &Limits::DEFAULT);
        }
        let mut bytes = image[..64.min(image.len())].to_vec();
        for at in 0..bytes.len() {
            let saved = std::mem::replace(&mut bytes[at], 0xFF);
            if let Ok(Extent::Exact(size) | Extent::Need(size)) = extent(&bytes, &Limits::DEFAULT) {
                assert!(size <= Limits::DEFAULT.max_image);
            }
            bytes[at] = saved;
        }
    }
}

/// An ELF header of a cubin with two sections; what it says of itself can be changed.
fn small_elf() -> Vec<u8> {
    let mut out = vec![0; 64 + 2 * 64];
    out[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (out[18], out[40], out[52], out[58], out[60]) = (190, 64, 64, 64, 2);
    out
}

#[test]
fn headers_of_another_kind_have_no_length() {
    let whole = |bytes: &[u8]| extent(bytes, &Limits::DEFAULT);
    let sound = small_elf();
    assert_eq!(whole(&sound), Ok(Extent::Exact(192)));
    // Class, byte order, and the length of a section header.
    for (at, value) in [(4, 1), (5, 2), (58, 63)] {
        let mut bytes = sound.clone();
        bytes[at] = value;
        assert!(matches!(whole(&bytes), Err(Error::Field { .. })), "{at}: {:?}", whole(&bytes));
    }
}

#[test]
fn only_padding_is_trimmed() {
    let mut bytes = small_elf();
    // The second section ends at an odd place.
    bytes[128 + 4] = 1;
    bytes[128 + 24] = 192;
    bytes[128 + 32] = 3;
    bytes.extend_from_slice(&[7, 7, 7, 0, 0, 0, 0, 0]);
    assert_eq!(trim(&bytes).len(), 195);
    bytes.extend_from_slice(b"and more");
    assert_eq!(trim(&bytes).len(), bytes.len(), "what is more than padding stays");
}
