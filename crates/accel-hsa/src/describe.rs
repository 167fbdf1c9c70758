//! The properties of an AMD GPU as a CUDA device.
//!
//! Owns the description; it lists only what the GPU has. Must not know: how the GPU is queried.
//!
//! The capability is 8.0, for the same reason as the CPU's: by default compilers make PTX for earlier targets, and
//! the features of 9.0 are missing. NVIDIA's machine code for 8.0 is not accepted.

use cushim_accel::Device;

use crate::agents::Gpu;

/// Major, minor.
pub const CAPABILITY: (u32, u32) = (8, 0);
/// The most threads of a block: CUDA's minimum, and the hardware's maximum.
pub const MAX_THREADS: u32 = 1024;

/// The device of a GPU.
pub fn device(gpu: &Gpu) -> Device {
    let threads = gpu.workgroup.min(MAX_THREADS);
    let shared = gpu.group;
    // By default as much as on NVIDIA's GPUs.
    let unasked = shared.min(48 << 10);
    let per_unit = gpu.waves.saturating_mul(gpu.wavefront).max(threads);
    Device {
        name: name(gpu),
        capability: CAPABILITY,
        memory: gpu.memory,
        processors: gpu.units,
        warp: 32,
        max_threads: threads,
        shared: (unasked, shared),
        clock: kilohertz(gpu.clock),
        host_visible: false,
        uuid: uuid(gpu),
        // CUdevice_attribute (cuda.h).
        attributes: vec![
            (9, 64 << 10),               // constant memory: what CUDA promises; here it is ordinary
            (12, registers(gpu) as i32), // registers of a block
            (33, (gpu.bdf >> 8 & 0xff) as i32), // PCI bus
            (34, (gpu.bdf >> 3 & 0x1f) as i32), // PCI device
            (36, kilohertz(gpu.memory_clock) as i32), // memory clock
            (37, gpu.memory_width as i32), // memory bus
            (38, clamp(gpu.cache)),      // L2
            (39, clamp(per_unit)),       // threads of a multiprocessor
            (50, gpu.domain as i32),     // PCI domain
            (81, clamp(shared)),         // shared memory of a multiprocessor
            (82, registers(gpu) as i32), // registers of a multiprocessor
            (86, 0),                     // host atomics over the bus: not promised
            (95, 1),                     // cooperative launch
            (96, 0),                     // and of several devices
            (106, clamp((per_unit / 64).clamp(1, 32))), // blocks of a multiprocessor
        ],
        isas: Box::leak(gpu.isas.clone().into_boxed_slice()),
    }
}

/// Its product name, and its instruction set.
fn name(gpu: &Gpu) -> String {
    match gpu.product.as_str() {
        "" => format!("AMD GPU ({})", gpu.name),
        product => format!("{product} ({})", gpu.name),
    }
}

/// Vector registers of a compute unit, 32 bits each, all lanes counted: 512 for a lane of gfx90a and gfx94x, 256 of
/// earlier ones, times 64 lanes and four SIMDs; a gfx10 has as many as the latter (AMD's ISA documents).
pub fn registers(gpu: &Gpu) -> u32 {
    let of_a_lane =
        if gpu.name.starts_with("gfx90a") || gpu.name.starts_with("gfx94") { 512 } else { 256 };
    of_a_lane * 64 * 4
}

/// The 16 digits of `GPU-0123456789abcdef`; for a device without them, its PCI address.
fn uuid(gpu: &Gpu) -> [u8; 16] {
    let digits =
        gpu.uuid.strip_prefix("GPU-").filter(|digits| digits.len() == 16 && *digits != "XX");
    let own = digits.and_then(|digits| digits.as_bytes().try_into().ok());
    own.unwrap_or_else(|| {
        let mut place = *b"AMD GPU \0\0\0\0\0\0\0\0";
        let numbers = gpu.domain.to_le_bytes().into_iter().chain(gpu.bdf.to_le_bytes());
        place.iter_mut().skip(8).zip(numbers).for_each(|(to, byte)| *to = byte);
        place
    })
}

fn kilohertz(megahertz: u32) -> u32 {
    megahertz.saturating_mul(1000)
}

fn clamp(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_device_says_what_the_gpu_has() {
        let gpu = Gpu {
            name: "gfx90a".into(),
            group: 64 << 10,
            wavefront: 64,
            workgroup: 1024,
            waves: 32,
            units: 104,
            clock: 1700,
            bdf: 0xc1 << 8 | 2 << 3,
            uuid: "GPU-0123456789abcdef".into(),
            ..Gpu::default()
        };
        let device = device(&gpu);
        let of = |number| device.attributes.iter().find(|(id, _)| *id == number).unwrap().1;
        assert_eq!((device.shared, device.warp, device.max_threads), ((49_152, 65_536), 32, 1024));
        assert_eq!((of(12), of(33), of(34), of(39), of(95)), (131_072, 0xc1, 2, 2048, 1));
        assert_eq!((device.clock, &device.uuid), (1_700_000, b"0123456789abcdef"));
        assert_eq!(device.name, "AMD GPU (gfx90a)");
        let nameless = Gpu { uuid: "GPU-XX".into(), bdf: 0x0102, ..gpu };
        assert_eq!(&uuid(&nameless), b"AMD GPU \0\0\0\0\x02\x01\0\0");
    }
}
