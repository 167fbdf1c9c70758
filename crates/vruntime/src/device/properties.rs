//! `cudaDeviceProp`: all properties of a device in one structure, whose layout differs between majors.
//!
//! Owns the fields in their order, and which majors have them (driver_types.h of 11.8, 12.4 and 13.5; 12 exports the
//! form of 11, too, under the name without `_v2`). Sizes are checked against those of the headers: 728, 1032 and 1008
//! bytes. Must not know: who asks.
//! headers: 728, 1032 and 1008 bytes. Must not know: who asks.

use cushim_abi::types::*;

use super::asked::Asked;
use crate::error::code;
use crate::forward::{done, functions, give};
use crate::{context, device};

/// Where a field's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// 256 bytes of text.
    Name,
    /// 16 bytes.
    Uuid,
    /// 8 bytes and a mask: only on Windows.
    Luid,
    /// `size_t`: cuDeviceTotalMem.
    Memory,
    /// `size_t`: an attribute.
    Size(i32),
    /// `int` each: attributes.
    Ints(&'static [i32]),
    /// `int` each: reserved.
    Reserved(usize),
}

use Source::{Ints, Luid, Memory, Name, Reserved, Size, Uuid};

/// Forms of the structure.
const V11: u8 = 1;
const V12: u8 = 2;
const V13: u8 = 4;
const OLD: u8 = V11 | V12;
const NEW: u8 = V12 | V13;
const ALL: u8 = V11 | V12 | V13;

#[rustfmt::skip]
const FIELDS: &[(u8, Source)] = &[
    (ALL, Name), (ALL, Uuid), (ALL, Luid), (ALL, Memory),
    (ALL, Size(8)), (ALL, Ints(&[12, 10])), (ALL, Size(11)),  // shared memory, registers, warp, pitch
    (ALL, Ints(&[1, 2, 3, 4, 5, 6, 7])), (OLD, Ints(&[13])),  // blocks, grids, clock
    (ALL, Size(9)), (ALL, Ints(&[75, 76])),                   // constants, capability
    (ALL, Size(14)), (ALL, Size(51)),                         // alignment of textures
    (OLD, Ints(&[15])), (ALL, Ints(&[16])), (OLD, Ints(&[17])), (ALL, Ints(&[18, 19])), (OLD, Ints(&[20])),
    (ALL, Ints(&[21, 77])), (OLD, Ints(&[69])),               // textures of one dimension
    (ALL, Ints(&[22, 23, 73, 74, 70, 71, 72, 45, 46])),       // of two
    (ALL, Ints(&[24, 25, 26, 47, 48, 49])),                   // of three
    (ALL, Ints(&[52, 42, 43, 27, 28, 29, 53, 54])),           // cubes and layers
    (ALL, Ints(&[55, 56, 57, 58, 59, 60])),                   // surfaces
    (ALL, Ints(&[61, 62, 63, 64, 65, 66, 67, 68])),           // their layers and cubes
    (ALL, Size(30)), (ALL, Ints(&[31, 32, 33, 34, 50, 35, 40, 41])),
    (OLD, Ints(&[36])), (ALL, Ints(&[37, 38, 108, 39, 78, 79, 80])),
    (ALL, Size(81)), (ALL, Ints(&[82, 83, 84, 85, 86])), (OLD, Ints(&[87])),
    (ALL, Ints(&[88, 89, 90, 91, 95])), (OLD, Ints(&[96])),
    (ALL, Size(97)), (ALL, Ints(&[100, 101, 106, 109])), (ALL, Size(111)),
    (NEW, Ints(&[99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 125, 120, 129])),
    (V12, Reserved(63)),
    (V13, Ints(&[130, 131, 133, 134, 139, 140, 143])), (V13, Reserved(56)),
];

/// The longest form.
const LONGEST: usize = 1032;

/// Bytes being laid out as a C compiler does.
struct Layout {
    bytes: [u8; LONGEST],
    at: usize,
}

impl Layout {
    fn put(&mut self, align: usize, field: &[u8]) {
        self.at = self.at.next_multiple_of(align);
        if let Some(to) = self.bytes.get_mut(self.at..self.at + field.len()) {
            to.copy_from_slice(field);
        }
        self.at += field.len();
    }
}

/// The structure in one of its forms, with its size.
fn properties(device: i32, form: u8) -> Result<([u8; LONGEST], usize), Status> {
    let asked = Asked::of(device, context::devices)?;
    let mut layout = Layout { bytes: [0; LONGEST], at: 0 };
    for (_, field) in FIELDS.iter().filter(|(forms, _)| forms & form != 0) {
        match field {
            Name => layout.put(1, &asked.name),
            Uuid => layout.put(1, &asked.uuid),
            Luid => {
                layout.put(1, &[0; 8]);
                layout.put(4, &[0; 4]);
            }
            Memory => layout.put(8, &asked.memory.to_ne_bytes()),
            Size(number) => {
                let value = usize::try_from(asked.attribute(*number)).unwrap_or(0);
                layout.put(8, &value.to_ne_bytes());
            }
            Ints(numbers) => numbers
                .iter()
                .for_each(|number| layout.put(4, &asked.attribute(*number).to_ne_bytes())),
            Reserved(count) => (0..*count).for_each(|_| layout.put(4, &[0; 4])),
        }
    }
    let size = layout.at.next_multiple_of(8);
    Ok((layout.bytes, size))
}

fn tell(to: Ptr, device: Device, form: u8) -> Result<(), Status> {
    // The answer is known also after CUDA has ended.
    context::devices()?;
    if to.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    let (bytes, size) = properties(device.0, form)?;
    let bytes = bytes.get(..size).unwrap_or(&bytes);
    // SAFETY: the program's place for a structure of this form, which has that size.
    unsafe {
        std::ptr::with_exposed_provenance_mut::<u8>(to.0)
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
    Ok(())
}

/// The form of a major's own headers.
const fn form(major: usize) -> u8 {
    match major {
        11 => V11,
        12 => V12,
        _ => V13,
    }
}

/// The fields that cudaChooseDevice compares: offset in the requested properties, attribute. A
/// field of 0 requests nothing.
fn wishes(form: u8) -> impl Iterator<Item = (usize, bool, i32)> {
    let mut at = 0_usize;
    FIELDS.iter().filter(move |(forms, _)| forms & form != 0).flat_map(move |(_, field)| {
        let mut found = Vec::new();
        let mut step = |align: usize, size: usize, number: i32| {
            at = at.next_multiple_of(align);
            if number > 0 {
                found.push((at, size == 8, number));
            }
            at += size;
        };
        match field {
            Name => step(1, 256, 0),
            Uuid => step(1, 16, 0),
            Luid => {
                step(1, 8, 0);
                step(4, 4, 0);
            }
            Memory => step(8, 8, 0),
            Size(number) => step(8, 8, *number),
            Ints(numbers) => numbers.iter().for_each(|number| step(4, 4, *number)),
            Reserved(count) => step(4, 4 * count, 0),
        }
        found
    })
}

/// Attributes of which more is at least as good: threads, registers, memories, processors, clock,
/// capabilities.
const COMPARED: [i32; 14] = [1, 8, 9, 11, 12, 13, 15, 16, 17, 18, 19, 31, 40, 41];

/// The valid device that meets the most requests; the first of several.
fn choose(wish: Ptr, form: u8) -> Result<i32, Status> {
    let candidates = device::candidates()?;
    if wish.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    let read = |at: usize, wide: bool| -> i64 {
        let place = std::ptr::with_exposed_provenance::<u8>(wish.0 + at);
        // SAFETY: a field of the program's structure.
        unsafe {
            match wide {
                true => place.cast::<i64>().read_unaligned(),
                false => place.cast::<i32>().read_unaligned().into(),
            }
        }
    };
    let wishes: Vec<(i32, i64)> = wishes(form)
        .filter(|(_, _, number)| COMPARED.contains(number) || matches!(number, 75 | 76))
        .map(|(at, wide, number)| (number, read(at, wide)))
        .filter(|(_, wanted)| *wanted > 0)
        .collect();
    let capability = |of: &dyn Fn(i32) -> i64| of(75) * 100 + of(76);
    let wanted_of = |number| wishes.iter().find(|(n, _)| *n == number).map_or(0, |(_, w)| *w);
    let score = |device: i32| -> usize {
        let Ok(asked) = Asked::of(device, context::devices) else { return 0 };
        let has = |number| i64::from(asked.attribute(number));
        let met = wishes
            .iter()
            .filter(|(number, wanted)| COMPARED.contains(number) && has(*number) >= *wanted)
            .count();
        // A sufficient compute capability outweighs everything else.
        met + if capability(&has) >= capability(&wanted_of) { wishes.len() } else { 0 }
    };
    let best = candidates.iter().rev().max_by_key(|device| score(**device));
    best.copied().ok_or(code::NO_DEVICE)
}

functions! {
    cudaGetDeviceProperties (prop: Ptr, device: Device) {
        // CUDA 12's function of this name is for programs built with 11.
        done(tell(prop, device, if MAJOR >= 13 { V13 } else { V11 }))
    }

    cudaGetDeviceProperties_v2 (prop: Ptr, device: Device) {
        done(tell(prop, device, V12))
    }

    cudaChooseDevice (device: Out<i32>, prop: Ptr) {
        // SAFETY: the program's place for a number, or null.
        done(choose(prop, form(MAJOR)).and_then(|found| unsafe { give(device, found) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_have_the_sizes_of_the_headers() {
        for (form, size) in [(V11, 728), (V12, 1032), (V13, 1008)] {
            let last = wishes(form).last().map(|(at, wide, _)| at + if wide { 8 } else { 4 });
            let reserved = match form {
                V12 => 63 * 4,
                V13 => 56 * 4,
                _ => 0,
            };
            let end = last.unwrap_or(0) + reserved;
            assert_eq!(end.next_multiple_of(8), size, "form {form}");
        }
    }

    #[test]
    fn fields_lie_where_the_headers_have_them() {
        let at = |form, number| wishes(form).find(|(_, _, n)| *n == number).map(|(at, _, _)| at);
        // Offsets by offsetof with each header.
        for (form, number, offset) in OFFSETS {
            assert_eq!(at(form, number), Some(offset), "form {form}, attribute {number}");
        }
    }

    const OFFSETS: [(u8, i32, usize); 12] = [
        (V11, 75, 360),
        (V11, 30, 568),
        (V11, 41, 604),
        (V11, 111, 720),
        (V12, 116, 748),
        (V12, 120, 772),
        (V12, 129, 776),
        (V13, 30, 552),
        (V13, 41, 588),
        (V13, 111, 696),
        (V13, 129, 752),
        (V13, 143, 780),
    ];
}
