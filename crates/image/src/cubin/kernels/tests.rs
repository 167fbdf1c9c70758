//! Cubins whose symbols all claim the same bytes: reading and copying is bounded.

use super::*;
use crate::error::Error;

/// A section: name, type, data, `sh_link`, `sh_info`.
type Section<'d> = (&'static str, u32, &'d [u8], u32, u32);

const STRTAB: u32 = 3;
const SYMTAB: u32 = 2;
const PROGBITS: u32 = 1;

/// A cubin of these sections, the first of which holds all names.
fn cubin(names: &[u8], sections: &[Section<'_>]) -> Vec<u8> {
    let mut strings = names.to_vec();
    strings.push(0);
    let starts: Vec<u32> = sections
        .iter()
        .map(|(name, ..)| {
            let start = strings.len() as u32;
            strings.extend_from_slice(name.as_bytes());
            strings.push(0);
            start
        })
        .collect();
    let mut out = vec![0; 64];
    out[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (out[16], out[18], out[20], out[52]) = (2, 190, 1, 64);
    let mut headers = vec![0; 64];
    let all = [("", STRTAB, strings.as_slice(), 0, 0)];
    for (index, (_, kind, data, link, info)) in all.iter().chain(sections).enumerate() {
        let name = if index == 0 { 0 } else { starts[index - 1] };
        headers.extend_from_slice(&[name.to_le_bytes(), kind.to_le_bytes()].concat());
        for word in [0, 0, out.len() as u64, data.len() as u64] {
            headers.extend_from_slice(&word.to_le_bytes());
        }
        headers.extend_from_slice(&[link.to_le_bytes(), info.to_le_bytes()].concat());
        for word in [1u64, if *kind == SYMTAB { 24 } else { 0 }] {
            headers.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    let at = out.len() as u64;
    out[40..48].copy_from_slice(&at.to_le_bytes());
    (out[58], out[60], out[62]) = (64, sections.len() as u8 + 2, 1);
    out.extend_from_slice(&headers);
    out
}

/// So many kernels whose name and code are the same.
fn symbols(count: usize, name: u32) -> Vec<u8> {
    let mut one = name.to_le_bytes().to_vec();
    // A function that is an entry, in section 3.
    one.extend_from_slice(&[2, 0x10, 3, 0]);
    one.extend_from_slice(&[0; 16]);
    [&[0; 24][..], &one.repeat(count)].concat()
}

fn refused<T: std::fmt::Debug>(read: Result<T>) {
    let error = read.unwrap_err();
    assert!(matches!(error, Error::TooBig { name: "max_looks", .. }), "{error}");
}

fn sections<'d>(symbols: &'d [u8], info: &'d [u8], more: &[Section<'d>]) -> Vec<Section<'d>> {
    let mut out = vec![
        (".symtab", SYMTAB, symbols, 1, 0),
        (".text.k", PROGBITS, b"code".as_slice(), 0, 0),
        (".nv.info.k", PROGBITS, info, 0, 3),
    ];
    out.extend_from_slice(more);
    out
}

#[test]
fn symbols_of_one_long_name() {
    let long = [&[0][..], &vec![b'n'; 1 << 17]].concat();
    let read = |count| {
        let table = symbols(count, 1);
        let bytes = cubin(&long, &sections(&table, &[], &[]));
        Cubin::read(&bytes, &Limits::DEFAULT).map(|cubin| cubin.entries().count())
    };
    assert_eq!(read(40), Ok(40));
    refused(read(4000));
}

/// Reading such a name runs to the end of the strings, and finds none.
#[test]
fn symbols_of_a_name_without_an_end() {
    let read = |count| {
        let table = symbols(count, 1);
        let mut bytes = cubin(&[0], &sections(&table, &[], &[]));
        // The third section becomes the strings of the symbols.
        let long = vec![b'n'; 1 << 17];
        let at = bytes.len();
        bytes.extend_from_slice(&long);
        let headers = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
        let code = headers + 3 * 64;
        bytes[code + 24..code + 32].copy_from_slice(&(at as u64).to_le_bytes());
        bytes[code + 32..code + 40].copy_from_slice(&(long.len() as u64).to_le_bytes());
        bytes[code + 4] = STRTAB as u8;
        bytes[headers + 2 * 64 + 40] = 3;
        Cubin::read(&bytes, &Limits::DEFAULT).map(|cubin| cubin.entries().count())
    };
    assert_eq!(read(40), Ok(0));
    refused(read(4000));
}

#[test]
fn kernels_of_one_text() {
    // Records of nothing: format 1, attribute 1.
    let info = [1, 1, 0, 0].repeat(1 << 15);
    let read = |count| {
        let table = symbols(count, 1);
        let bytes = cubin(b"\0k", &sections(&table, &info, &[]));
        let cubin = Cubin::read(&bytes, &Limits::DEFAULT).unwrap();
        let names = |kernels: Vec<_>| kernels.len();
        (
            cubin.kernels(&Limits::DEFAULT).map(|k| k.len()),
            cubin.all_params(&Limits::DEFAULT).map(names),
        )
    };
    assert_eq!(read(40), (Ok(40), Ok(40)));
    let (kernels, params) = read(4000);
    refused(kernels);
    refused(params);
}

#[test]
fn constants_of_one_text() {
    let table = symbols(30_000, 1);
    let constants = [(".nv.constant0.k.x", PROGBITS, &b"c"[..], 0, 3)].repeat(200);
    let bytes = cubin(b"\0k", &sections(&table, &[], &constants));
    refused(Cubin::read(&bytes, &Limits::DEFAULT).unwrap().kernels(&Limits::DEFAULT));
}

#[test]
fn externs_of_one_long_name() {
    let long = [&b"\0k\0"[..], &vec![b'n'; 1 << 16]].concat();
    let mut table = symbols(1, 1);
    table.extend_from_slice(&symbols(1, 3)[24..]);
    // Symbol 2, again and again: format 4, attribute EXTERNS.
    let info = |count: u16| {
        let mut out = [&[4, EXTERNS][..], &(4 * count).to_le_bytes()].concat();
        out.extend_from_slice(&2u32.to_le_bytes().repeat(count.into()));
        out
    };
    let read = |count| {
        let info = info(count);
        let bytes = cubin(&long, &sections(&table, &info, &[]));
        let cubin = Cubin::read(&bytes, &Limits::DEFAULT).unwrap();
        cubin.kernels(&Limits::DEFAULT).map(|kernels| kernels[0].externs.len())
    };
    assert_eq!(read(20), Ok(20));
    refused(read(2000));
}
