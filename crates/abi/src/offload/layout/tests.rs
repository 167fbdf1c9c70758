use super::*;

fn old(address: u64, name: u64, size: u64, flags: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    [address, name, size].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes.extend(flags.to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes
}

fn new(kind: u16, flags: u32, address: u64, name: u64, size: u64) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    [address, name, size, 0, 0].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes
}

#[test]
fn both_forms_of_entries() {
    let table = [old(0x1000, 0x2000, 0, 0), old(0x1010, 0x2010, 40, 1)].concat();
    let found = entries(&table).unwrap();
    assert_eq!((found[0].address, found[0].name, found[0].is_region()), (0x1000, 0x2000, true));
    assert!(!found[1].is_region(), "a variable");
    let table = [new(1, 0, 0x1000, 0x2000, 0), new(2, 0, 0x1010, 0x2010, 0)].concat();
    let found = entries(&table).unwrap();
    assert_eq!(found.iter().map(|e| e.kind).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((found[1].address, found[1].name), (0x1010, 0x2010));
    assert_eq!(entries(&[]), Some(vec![]));
    assert_eq!(entries(&[0; 40]), None);
}

/// What `omp requires` says stands first in a table of LLVM 19, with no address.
#[test]
fn an_old_entry_without_an_address() {
    let table = [old(0, 0x2000, 0, 0x10), old(0x1000, 0x2010, 0, 0)].concat();
    let found = entries(&table).unwrap();
    assert_eq!(found.iter().map(Entry::is_region).collect::<Vec<_>>(), [false, true]);
    // As many bytes as both forms may have: 7 and 4 entries.
    let table =
        [vec![old(0, 0x2000, 0, 0x10)], vec![old(0x1000, 0x2010, 0, 0); 6]].concat().concat();
    assert_eq!(entries(&table).unwrap().len(), 7);
}

#[test]
fn arguments_of_each_version() {
    let mut bytes = vec![0u8; KERNEL_ARGS];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(4, &2u32.to_le_bytes());
    put(56, &100u64.to_le_bytes());
    put(64, &1u64.to_le_bytes());
    put(72, &8u32.to_le_bytes());
    put(84, &128u32.to_le_bytes());
    for version in 0..8u32 {
        bytes[..4].copy_from_slice(&version.to_le_bytes());
        let read = KernelArgs::read(&bytes);
        assert_eq!(read.is_some(), (1..=5).contains(&version), "version {version}");
        let Some(args) = read else { continue };
        assert_eq!((args.count, args.trip_count), (2, 100));
        assert_eq!(args.flags, u64::from(version > 1), "version {version}");
        let teams = if version < 3 { ([0; 3], [0; 3]) } else { ([8, 0, 0], [128, 0, 0]) };
        assert_eq!((args.teams, args.threads), teams, "version {version}");
    }
    bytes[..4].copy_from_slice(&1u32.to_le_bytes());
    assert!(KernelArgs::read(&bytes[..64]).is_some() && KernelArgs::read(&bytes[..63]).is_none());
}

#[test]
fn places_and_types() {
    let place = Place::of_call(";src/a.c;main;6;3;;");
    assert_eq!((place.file, place.name, place.line, place.column), ("src/a.c", "main", 6, 3));
    assert_eq!(Place::of_call(";unknown;unknown;0;0;;"), Place::default());
    let variable = Place::of_variable(";a[f(\";\")];a.c;4;7;;");
    assert_eq!((variable.name, variable.file, variable.line), ("a[f(\";\")]", "a.c", 4));
    for odd in ["", ";", ";;", ";;;", "x", ";a;b;99999999999;-1;;"] {
        let _ = (Place::of_call(odd), Place::of_variable(odd));
    }
    let words = [0x23, 0x21, 0x22, 0x20, 0x320].map(map_word);
    assert_eq!(words, ["tofrom", "to", "from", "alloc", "literal"]);
}

#[test]
fn descriptors() {
    let mut bytes = [0u8; DESCRIPTOR];
    bytes[0] = 3;
    bytes[16] = 64;
    bytes[24] = 128;
    let descriptor = Descriptor::read(&bytes).unwrap();
    assert_eq!((descriptor.images, descriptor.entries_size()), (3, 64));
    bytes[..4].copy_from_slice(&(-1i32).to_le_bytes());
    bytes[24] = 1;
    let descriptor = Descriptor::read(&bytes).unwrap();
    assert_eq!((descriptor.images, descriptor.entries_size()), (0, 0));
}
