//! The bodies of the fuzz targets for the readers of `cushim-image`, one function for each
//! target.
//!
//! A function panics only if a reader breaks a promise.

use cushim_image::Codec;
use cushim_image::fatbin::{self, Kind};
use cushim_image::inventory;
use cushim_image::offload::{self, OffloadBinary};
use cushim_image::{Cubin, Extent, Limits, amdgpu, bundle, find_params, index, ptx, sniff};

/// Limits that are so small that a false size cannot slow fuzzing down.
const LIMITS: Limits = Limits {
    max_image: 1 << 22,
    max_items: 4096,
    max_depth: 6,
    max_total: 1 << 24,
    ..Limits::DEFAULT
};

/// A whole file of any kind.
pub fn file(data: &[u8]) {
    let inventory = inventory::read(data, &LIMITS);
    for image in &inventory.images {
        let _ = image.trail.to_string();
        let _ = image.kernels(&LIMITS);
        if let Ok(bytes) = image.place.unpack(&LIMITS)
            && image.place.codec != Codec::None
        {
            assert_eq!(bytes.len() as u64, image.place.unpacked);
        }
    }
    for problem in &inventory.problems {
        let _ = problem.error.to_string();
    }
}

/// Fat binaries and the parameters in them.
pub fn fatbin(data: &[u8]) {
    for container in fatbin::containers(data, 0) {
        let Ok(container) = container else { continue };
        for entry in container.entries(&LIMITS) {
            let Ok(entry) = entry else { break };
            let _ = (entry.arch().to_string(), fatbin::flags::names(entry.flags));
            let bytes = entry.unpack(&LIMITS);
            for member in entry.members(&LIMITS).unwrap_or_default() {
                if let Ok(bytes) = &bytes {
                    let _ = member.slice(bytes);
                }
            }
        }
    }
    let kernels = index(data, &LIMITS);
    if let Some((name, layout)) = kernels.ok().and_then(|all| all.into_iter().next()) {
        for param in &layout.params {
            let _ = u64::from(param.offset) + u64::from(param.size);
        }
        let _ = find_params(data, &name, &LIMITS);
    }
    let _ = find_params(data, "kernel", &LIMITS);
}

/// Cubins.
pub fn cubin(data: &[u8]) {
    let Ok(cubin) = Cubin::read(data, &LIMITS) else { return };
    let _ = (cubin.arch(), cubin.abi(), cubin.is_relocatable());
    if let Some(maker) = cubin.maker() {
        // The text may be printed on terminals.
        assert!(maker.to_string().bytes().all(|byte| matches!(byte, b' '..=b'~')));
    }
    let _ = (cubin.globals(&LIMITS), cubin.memory(), cubin.all_params(&LIMITS));
    let functions = cubin.functions(&LIMITS);
    let kernels = cubin.kernels(&LIMITS);
    if let (Ok(functions), Ok(kernels)) = (functions, kernels) {
        assert!(kernels.len() <= functions.len());
        assert_eq!(kernels.len(), cubin.entries().count());
    }
}

/// PTX.
pub fn ptx(data: &[u8]) {
    let Ok(ptx) = ptx::scan(data, &LIMITS) else { return };
    for entry in &ptx.entries {
        assert_eq!(entry.layout().params.len(), entry.params.len());
    }
}

/// OffloadBinaries.
pub fn offload(data: &[u8]) {
    let Ok(binary) = OffloadBinary::read(data, 0) else { return };
    if let (Ok(Some((_, range, _))), Ok(header)) = (binary.compressed(), binary.restored_header()) {
        assert!(range.end <= data.len() as u64 && header.len() as u64 == range.start);
    }
    for entry in binary.entries(&LIMITS).unwrap_or_default() {
        assert!(entry.start + entry.image_size <= data.len() as u64);
    }
    file(data);
}

/// Bundles, plain and compressed.
pub fn bundle(data: &[u8]) {
    if let Ok(entries) = bundle::entries(data, 0, &LIMITS) {
        let _ = bundle::total_size(&entries);
        for entry in &entries {
            let _ = (entry.producer(), entry.target());
        }
    }
    if let Ok(header) = bundle::compressed(data, 0, &LIMITS) {
        assert!(header.start <= header.size && header.size <= data.len() as u64);
    }
    file(data);
}

/// AMDGPU code objects.
pub fn amdgpu(data: &[u8]) {
    let _ = amdgpu::arch(data);
    let _ = amdgpu::read(data, &LIMITS);
    let _ = amdgpu::msgpack::read(data, 0);
}

/// Lengths from prefixes.
pub fn extent(data: &[u8]) {
    let _ = sniff(data);
    assert!(cushim_image::sniff::trim(data).len() <= data.len());
    match cushim_image::extent(data, &LIMITS) {
        Ok(Extent::Exact(size)) => assert!(size <= LIMITS.max_image),
        Ok(Extent::Need(size)) => assert!(size > data.len() as u64 && size <= LIMITS.max_image),
        _ => {}
    }
}

/// Written images can be read again.
pub fn written(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let codec = [Codec::None, Codec::Lz4, Codec::Zstd][usize::from(choice) % 3];
    let image = fatbin::Image {
        kind: Kind::Cubin,
        arch: cushim_image::Arch::parse(
            ["sm_80", "sm_90a", "sm_100f"][usize::from(choice >> 2) % 3],
        ),
        version: (1, 8),
        codec,
        data,
    };
    let bytes = fatbin::write(&[image.clone(), image.clone()]).expect("an NVIDIA target");
    let entries: Vec<_> = fatbin::Fatbin::read(&bytes, 0).unwrap().entries(&LIMITS).collect();
    assert_eq!(entries.len(), 2);
    for entry in entries {
        let entry = entry.unwrap();
        assert_eq!(entry.arch(), image.arch);
        assert_eq!(entry.unpack(&LIMITS).unwrap()[..data.len()], *data);
    }
    let image = |kind| offload::Image { kind, producer: 1, strings: vec![("arch", "x")], data };
    let one = offload::write_single(&image(offload::ImageKind::Object));
    let two = offload::write(&[image(offload::ImageKind::Ptx), image(offload::ImageKind::Cubin)]);
    for (bytes, count) in [(one, 1), (two, 2)] {
        let binary = OffloadBinary::read(&bytes, 0).unwrap();
        let entries = binary.entries(&LIMITS).unwrap();
        assert_eq!(entries.len(), count);
        for entry in entries {
            assert_eq!(entry.string("arch"), Some("x"));
            let range = entry.start as usize..(entry.start + entry.image_size) as usize;
            assert_eq!(bytes[range], *data);
        }
    }
}
