//! What fuzzing does, with a few thousand inputs made from good ones: in every run of the tests.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use cushim_testkit::vcuda as targets;

use cushim_image::arch::{Arch, SmVariant};
use cushim_image::fatbin::{Image, Kind, write};
use cushim_image::{Codec, Limits};

/// Numbers that are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    /// A copy with some bytes changed, perhaps cut.
    fn spoil(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bad = good.to_vec();
        for _ in 0..self.next(5) {
            let at = self.next(bad.len());
            if let Some(byte) = bad.get_mut(at) {
                *byte = [0, 1, 0x7f, 0xff, self.next(256) as u8][self.next(5)];
            }
        }
        if self.next(3) == 0 {
            bad.truncate(self.next(good.len()));
        }
        bad
    }
}

#[test]
fn spoiled_images_are_chosen_or_refused() {
    let text = b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n\0";
    let image = |codec| Image {
        kind: Kind::Ptx,
        arch: Arch::Sm(80, SmVariant::Plain),
        version: (7, 0),
        codec,
        data: text,
    };
    let fatbin = write(&[image(Codec::Zstd), image(Codec::None), image(Codec::Lz4)]).unwrap();
    assert!(cushim_image::extent(&fatbin, &Limits::DEFAULT).is_ok());
    let parts = [text.as_slice().into(), b"".as_slice().into()];
    let linked = vcuda::code::linked::write(&parts);
    let mut numbers = Numbers(88_172_645_463_325_252);
    for good in [&*fatbin, &*linked, text] {
        targets::image(good);
        for _ in 0..2000 {
            targets::image(&numbers.spoil(good));
        }
    }
}

#[test]
fn launches_of_any_shape_are_answered() {
    let mut good = Vec::new();
    for word in [1u32, 1, 1, 64, 1, 1, 0, 0, 0] {
        good.extend(word.to_le_bytes());
    }
    good.extend([7; 29]);
    let mut numbers = Numbers(2_463_534_242);
    targets::launch(&good);
    for _ in 0..2000 {
        targets::launch(&numbers.spoil(&good));
    }
}

#[test]
fn shared_memory_and_conditions_with_any_values_are_answered() {
    let mut numbers = Numbers(9_876_543_211);
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..600).map(|_| numbers.next(256) as u8).collect();
        cushim_testkit::vcuda_shared::calls(&bytes);
    }
}
