//! The bodies of the fuzz targets for the data that programs pass to LLVM's libomptarget: descriptors, tables of entries,
//! kernel arguments, places in the source, names of regions.
//!
//! A function panics only if the code under test breaks a promise.

use cushim_abi::offload::layout::*;

/// Two bytes, which choose sizes, and the bytes of everything.
pub fn tables(data: &[u8]) {
    if let Some(list) = entries(data) {
        assert!(list.len() * 56 == data.len() || list.len() * 32 == data.len());
        for entry in list.iter().filter(|entry| entry.is_region()) {
            assert!(entry.address != 0 && entry.name != 0 && entry.size == 0);
        }
    }
    if let Some(bytes) = data.first_chunk::<DESCRIPTOR>() {
        let descriptor = Descriptor::read(bytes).expect("all its bytes are there");
        assert!(descriptor.images <= i32::MAX as u32);
        assert!(descriptor.entries_size() <= descriptor.entries_end);
        let _ = DeviceImage::read(bytes).expect("all its bytes are there");
    }
    match KernelArgs::read(data) {
        Some(args) => {
            let size = KernelArgs::size(args.version).expect("a version that is known");
            assert!(size <= data.len() && size <= KERNEL_ARGS);
            // Nothing reads the bytes after it.
            assert_eq!(data.get(..size).and_then(KernelArgs::read), Some(args));
            assert!(args.version > 2 || args.teams == [0; 3]);
        }
        None => {
            let version = data.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
            let size = version.and_then(KernelArgs::size);
            assert!(size.is_none_or(|size| data.len() < size));
        }
    }
}

/// A source text as the compiler writes it.
pub fn place(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for place in [Place::of_call(&text), Place::of_variable(&text)] {
        assert!(text.contains(place.file) && text.contains(place.name));
    }
    // The parsed text equals the written one, whatever the name contains.
    let name = text.replace('\0', "");
    let written = format!(";{name};a.c;12;5;;");
    let read = Place::of_variable(&written);
    let expected = if name == "unknown" { "" } else { &name };
    assert_eq!((read.name, read.file, read.line, read.column), (expected, "a.c", 12, 5));
}

/// Runs all of them.
pub fn everything(data: &[u8]) {
    tables(data);
    place(data);
}
