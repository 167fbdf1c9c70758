//! Images in memory that are almost valid. The test needs its own process: an image ends at the end of a mapping, and
//! another thread could map the page after it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use cushim_image::arch::{Arch, SmVariant};
use cushim_image::fatbin::{Image, Kind, write};
use cushim_image::{Codec, Limits};
use cushim_testkit::numbers::Numbers;
use cushim_testkit::{corpus, vcuda as targets};

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
    corpus::regressions("vcuda_image", targets::image);
}
