//! ELF files whose symbols claim the same bytes again and again.
//!
//! Must not know: who reads them. A test of `crates/patch` reads this file, too.

const STRINGS: u32 = 3;
const RELA: u32 = 4;
/// STT_FUNC, global.
const FUNCTION: u8 = 0x12;

#[derive(Default)]
struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    link: u32,
    info: u32,
    entry: u64,
    bytes: Vec<u8>,
}

/// The sections after the empty one; the last has their names.
fn file(machine: u16, kind: u16, mut sections: Vec<Section>) -> Vec<u8> {
    let mut out = vec![0; 64];
    let mut names = vec![0];
    let mut table = vec![0; 64];
    sections.push(Section { kind: STRINGS, ..Section::default() });
    let count = sections.len() + 1;
    for section in &mut sections {
        let name = names.len() as u32;
        names.extend_from_slice(section.name.as_bytes());
        names.push(0);
        if section.bytes.is_empty() {
            section.bytes.clone_from(&names);
        }
        out.resize(out.len().next_multiple_of(8), 0);
        table.extend([name, section.kind].map(u32::to_le_bytes).concat());
        let (at, size) = (out.len() as u64, section.bytes.len() as u64);
        table.extend([section.flags, 0, at, size].map(u64::to_le_bytes).concat());
        table.extend([section.link, section.info].map(u32::to_le_bytes).concat());
        table.extend([1, section.entry].map(u64::to_le_bytes).concat());
        out.extend_from_slice(&section.bytes);
    }
    out.resize(out.len().next_multiple_of(8), 0);
    let at = out.len() as u64;
    out.extend(table);
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\x7fELF\x02\x01\x01");
    if machine == 224 {
        // AMD's HSA, version 4; gfx90a.
        put(7, &[64, 2]);
        put(48, &0x3fu32.to_le_bytes());
    }
    put(16, &[kind.to_le_bytes(), machine.to_le_bytes(), [1, 0]].concat());
    put(40, &at.to_le_bytes());
    put(52, &[64, 0, 56, 0, 0, 0, 64, 0]);
    put(60, &[count as u16, count as u16 - 1].map(u16::to_le_bytes).concat());
    out
}

/// A symbol in section 1.
fn symbol(name: u32, kind: u8, at: u64, size: u64) -> Vec<u8> {
    [&name.to_le_bytes()[..], &[kind, 0, 1, 0], &at.to_le_bytes(), &size.to_le_bytes()].concat()
}

fn table(kind: u32, link: u32, symbols: impl Iterator<Item = Vec<u8>>) -> Section {
    let bytes = [vec![0; 24], symbols.flatten().collect()].concat();
    Section { kind, link, info: 1, entry: 24, bytes, ..Section::default() }
}

fn strings(bytes: Vec<u8>) -> Section {
    Section { kind: STRINGS, bytes, ..Section::default() }
}

/// Half of the file is one name, which may not end, and all symbols have it.
pub fn symbols(n: usize, machine: u16, kind: u32, ends: bool) -> Vec<u8> {
    let mut name = vec![b'n'; n / 2];
    name[..8].copy_from_slice(b"\0__cudaN");
    name[n / 2 - 1] *= u8::from(!ends);
    let variable = if machine == 224 { 0x11 } else { FUNCTION };
    let all = (0..n / 2 / 24).map(|_| symbol(1, variable, 16, 8));
    file(machine, 3, vec![strings(name), table(kind, 1, all)])
}

/// Private functions, all of one name; the hash table has one chain, which claims that all are exported.
pub fn chain(n: usize) -> Vec<u8> {
    let count = (n / 52) as u32;
    let name = b"cudaMalloc";
    let hash = name.iter().fold(5381u32, |h, b| h.wrapping_mul(33).wrapping_add((*b).into()));
    // One bucket, symbols from the first on, a filter that lets all pass.
    let mut words = vec![1, 1, 1, 0, u32::MAX, u32::MAX, 1];
    words.extend((1..=count).map(|number| hash & !1 | u32::from(number == count)));
    let hashes = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let hashes = Section { kind: 0x6FFF_FFF6, link: 3, bytes: hashes, ..Section::default() };
    let own = (0..count).map(|_| symbol(1, FUNCTION, 16, 8));
    let exported = (0..count).map(|_| symbol(12, FUNCTION, 16, 8));
    let names = strings(b"\0cudaMalloc\0cudaMallox\0".to_vec());
    file(62, 3, vec![names, table(2, 1, own), table(11, 1, exported), hashes])
}

/// A runtime's functions.
const RUNTIME: &[u8] = b"\0__cudaRegisterFatBinary\0cudaGetDeviceProperties_v2\0";

/// A runtime under whose version node are many versions of one name.
pub fn versions(n: usize) -> Vec<u8> {
    let names = [RUNTIME, &vec![b'v'; n / 2][..], b"\0"].concat();
    let one = |number: usize| {
        let head = [1u16, 0, number as u16 % 0x7000 + 2, 1].map(u16::to_le_bytes).concat();
        let rest = [0u32, 20, 28, RUNTIME.len() as u32, 0].map(u32::to_le_bytes).concat();
        [head, rest].concat()
    };
    let count = n / 2 / 28;
    let defined = (0..count).flat_map(one).collect();
    let info = count as u32;
    let defined =
        Section { kind: 0x6FFF_FFFD, link: 1, info, bytes: defined, ..Section::default() };
    let own = [symbol(1, FUNCTION, 16, 16), symbol(25, FUNCTION, 32, 16)];
    let numbers = Section { kind: 0x6FFF_FFFF, link: 3, bytes: vec![2, 0], ..Section::default() };
    let exported = table(11, 1, std::iter::empty());
    file(62, 3, vec![strings(names), table(2, 1, own.into_iter()), exported, defined, numbers])
}

/// A runtime whose other functions all begin at one address.
pub fn functions(n: usize) -> Vec<u8> {
    let count = n / 2 / 14;
    let more: String = (0..count).map(|number| format!("cudaA{number:08}\0")).collect();
    let names = [RUNTIME, more.as_bytes()].concat();
    let at = |number: usize| (RUNTIME.len() + 14 * number) as u32;
    let own = [symbol(1, FUNCTION, 16, 16), symbol(25, FUNCTION, 32, 16)];
    let rest = (0..count).map(|number| symbol(at(number), FUNCTION, 48, 16));
    let begins = (0..count).map(|number| symbol(0, 0x10, 64 + number as u64, 0));
    file(62, 3, vec![strings(names), table(2, 1, own.into_iter().chain(rest).chain(begins))])
}

/// An archive of one file.
fn archive(body: &[u8]) -> Vec<u8> {
    let head = format!("{:<16}0           0     0     100644  {:<10}`\n", "a/", body.len());
    [b"!<arch>\n", head.as_bytes(), body].concat()
}

/// An object file with the functions of a runtime, `more` of them, and relocations that so many sections claim.
fn object(more: impl Iterator<Item = Vec<u8>>, code: usize, claims: usize) -> Vec<u8> {
    let names = [RUNTIME, b"cudaA\0"].concat();
    let own = [symbol(1, FUNCTION, 0, 16), symbol(25, FUNCTION, 16, 16)];
    let mut code = vec![0x90; code];
    code.truncate(code.len() / 24 * 24);
    let text = Section { kind: 1, flags: 6, bytes: code, ..Section::default() };
    let all = table(2, 2, own.into_iter().chain(more));
    let mut out = file(62, 1, vec![text, strings(names), all]);
    // The sections' headers are last: more of them, which claim the code as relocations.
    let at = u64::from_le_bytes(out[40..48].try_into().expect("eight bytes")) as usize;
    let mut claim = out[at + 64..at + 128].to_vec();
    claim[4..8].copy_from_slice(&RELA.to_le_bytes());
    claim[40..48].copy_from_slice(&[3u32, 1].map(u32::to_le_bytes).concat());
    claim[56..64].copy_from_slice(&24u64.to_le_bytes());
    out.extend(claim.repeat(claims));
    out[60..62].copy_from_slice(&(5 + claims as u16).to_le_bytes());
    archive(&out)
}

/// A runtime's object file, half of which many sections claim as relocations.
pub fn relocations(n: usize) -> Vec<u8> {
    object(std::iter::empty(), n / 2, (n / 2 / 64).min(60_000))
}

/// A runtime's object file with functions that all end where the code does.
pub fn upon(n: usize) -> Vec<u8> {
    let code = n / 2;
    let begin = |number: usize| (32 + number) as u64;
    let more = (0..n / 2 / 24).map(|number| symbol(52, FUNCTION, begin(number), (code / 2) as u64));
    object(more, code, 1)
}
