//! Hostile inputs by size.
//!
//! Must not know: their readers.

use cushim_image::{Codec, codec, fatbin, offload};

/// `.version` and the other directives at the start.
const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
/// The first bytes of a fat binary.
pub const MAGIC: [u8; 4] = fatbin::MAGIC.to_le_bytes();

/// The parts, repeated.
pub fn repeat(parts: &[&[u8]], n: usize) -> Vec<u8> {
    let one = parts.concat();
    one.repeat(n / one.len())
}

pub fn magics(n: usize) -> Vec<u8> {
    repeat(&[&MAGIC, &offload::MAGIC, b"CCOB", b"__CLANG_OFFLOAD_BUNDLE__"], n)
}

pub fn comments(n: usize) -> Vec<u8> {
    repeat(&[&MAGIC, &[1, 0, 16, 0], &[0; 8], b"/*      "], n)
}

pub fn noise(n: usize) -> Vec<u8> {
    (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Numbered lines.
pub fn many(n: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut out = Vec::with_capacity(n + 64);
    let mut lines = (0..).map(line);
    while out.len() < n {
        out.extend_from_slice(lines.next().expect("no end").as_bytes());
    }
    out
}

/// PTX at module level.
pub fn after_head(text: &[u8]) -> Vec<u8> {
    [HEAD.as_bytes(), text].concat()
}

/// PTX in a kernel.
pub fn body(text: &[u8]) -> Vec<u8> {
    [HEAD.as_bytes(), b".entry k() { .reg .b32 r; ", text, b" ret; }"].concat()
}

/// A list of variables; the first has a long name.
pub fn ptx_list(n: usize) -> Vec<u8> {
    after_head(&[b".global .b8 ", &vec![b'a'; n / 2][..], &b",b".repeat(n / 4), b";"].concat())
}

pub fn long_array(n: usize) -> Vec<u8> {
    [&[0xDD][..], &(n as u32 - 5).to_be_bytes(), &vec![0; n - 5]].concat()
}

/// A symbol in which each part is twice as long as the one before.
pub fn doubled(n: usize) -> Vec<u8> {
    let mut out = b"_Z1fI1aE".to_vec();
    for index in 0..n / 12 {
        let last = index.checked_sub(1).map(radix36).unwrap_or_default();
        out.extend_from_slice(format!("1bIS{last}_S{last}_E").as_bytes());
    }
    out
}

fn radix36(mut number: usize) -> String {
    let mut out = Vec::new();
    while number > 0 || out.is_empty() {
        out.insert(0, b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36]);
        number /= 36;
    }
    String::from_utf8(out).expect("ASCII")
}

fn words(out: &mut Vec<u8>, words: &[u64]) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

/// One container of entries without payload.
pub fn entries(n: usize) -> Vec<u8> {
    let count = n / 64;
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&[1, 0, 16, 0]);
    words(&mut out, &[64 * count as u64]);
    for _ in 0..count {
        words(&mut out, &[(64 << 32) | 0x0101_0001, 0, 0, 80 << 32, 0, 0, 0, 0]);
    }
    out
}

/// As many entries as fit, all with the same image and string of these sizes.
pub fn offload_binary(n: usize, image: usize, string: usize) -> Vec<u8> {
    let count = (n.saturating_sub(image + string) / 40).max(1) as u64;
    let table = 32 + 40 * count;
    let text = table + 24;
    let start = text + 2 + string as u64 + 1;
    let mut out = offload::MAGIC.to_vec();
    out.extend_from_slice(&2u32.to_le_bytes());
    words(&mut out, &[start + image as u64, 32, count]);
    for _ in 0..count {
        words(&mut out, &[5, table, 1, start, image as u64]);
    }
    words(&mut out, &[text, text + 2, string as u64]);
    out.extend_from_slice(b"k\0");
    out.extend_from_slice(&vec![b's'; string + 1]);
    out.extend_from_slice(&HEAD.as_bytes()[..HEAD.len().min(image)]);
    out.resize((start + image as u64) as usize, b' ');
    out
}

/// Bundles whose tables overlap.
pub fn bundles(n: usize) -> Vec<u8> {
    let magic = b"__CLANG_OFFLOAD_BUNDLE__";
    let mut one = Vec::new();
    words(&mut one, &[0, 0, 32]);
    one.extend_from_slice(magic);
    words(&mut one, &[1_000_000]);
    [&magic[..], &1_000_000u64.to_le_bytes(), &one.repeat(n / one.len())].concat()
}

/// Compressed bundles whose frames share blocks.
pub fn streams(n: usize) -> Vec<u8> {
    let mut one = b"CCOB\x01\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    one.extend_from_slice(&[0x28, 0xB5, 0x2F, 0xFD, 0, 0x58]);
    let block = (one.len() as u32) << 3;
    one.extend_from_slice(&block.to_le_bytes()[..3]);
    one.repeat(n / one.len())
}

/// Compressed OffloadBinaries of 32 MiB of zeros.
pub fn bombs(n: usize) -> Vec<u8> {
    let zeros = vec![0; 32 << 20];
    let packed = codec::pack(Codec::Zstd, &zeros, 3).expect("zeros can be packed");
    let mut one = offload::MAGIC.to_vec();
    one.extend_from_slice(&3u32.to_le_bytes());
    words(&mut one, &[40 + packed.len() as u64, 40, 1, 40 + zeros.len() as u64]);
    one.extend_from_slice(&packed);
    one.resize(one.len().next_multiple_of(8), 0);
    one.repeat(n / one.len())
}

/// Members that may all have the same name, of half of the file.
pub fn archive(n: usize, long: bool) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    let mut member = |name: &str, data: &[u8]| {
        let size = data.len();
        let head = format!("{name:<16}0           0     0     100644  {size:<10}`\n");
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(2), b'\n');
    };
    if long {
        member("//", &[&vec![b'n'; n / 2][..], b"/\n"].concat());
    }
    for _ in 0..n / 2 / 80 {
        member(if long { "/0" } else { "a/" }, b".version 8.0\n");
    }
    out
}

fn header(machine: u16, size: usize) -> Vec<u8> {
    let mut out = vec![0; size];
    out[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0");
    out[16..18].copy_from_slice(&3u16.to_le_bytes());
    out[18..20].copy_from_slice(&machine.to_le_bytes());
    out[20] = 1;
    out[52] = 64;
    out
}

/// Half of the file, and sections of that name and type that all contain it.
pub fn sections(n: usize, name: &str, kind: u64, machine: u16) -> Vec<u8> {
    let mut out = header(machine, n / 2);
    let at = out.len() as u64;
    let count = (n / 2 / 64).min(60_000) as u64;
    out[40..48].copy_from_slice(&at.to_le_bytes());
    out[58..60].copy_from_slice(&64u16.to_le_bytes());
    out[60..62].copy_from_slice(&(count as u16).to_le_bytes());
    out[62..64].copy_from_slice(&1u16.to_le_bytes());
    out[65..65 + name.len()].copy_from_slice(name.as_bytes());
    words(&mut out, &[0; 8]);
    for index in 1..count {
        let (kind, start) = if index == 1 { (3, 64) } else { (kind, 256 + 24 * (index % 997)) };
        let size = (at - start) / 24 * 24;
        words(&mut out, &[(kind << 32) | 1, 0, 0x1000, start, size, 0, 8, 24]);
    }
    out
}

/// Sections that all have the same name, of half of the file.
pub fn long_names(n: usize, machine: u16) -> Vec<u8> {
    let mut out = sections(n, "n\0", 1, machine);
    out[65..n / 2 - 1].fill(b'n');
    out
}

/// Half of the file, and segments that all contain it.
pub fn segments(n: usize) -> Vec<u8> {
    let mut out = header(62, n / 2);
    let at = out.len() as u64;
    let count = (n / 2 / 56).min(60_000);
    out[32..40].copy_from_slice(&at.to_le_bytes());
    out[54..56].copy_from_slice(&56u16.to_le_bytes());
    out[56..58].copy_from_slice(&(count as u16).to_le_bytes());
    for _ in 0..count {
        words(&mut out, &[(5 << 32) | 1, 0, 0, 0, at, at, 4096]);
    }
    out
}
