//! Containers as toolkits write them, created by `cushim_image::fatbin::write`.

use cushim_abi::structs::{FAT_BINARY_WRAPPER_MAGIC, FatBinaryWrapper};
use cushim_image::Codec;
use cushim_image::arch::SmVariant;
use cushim_image::fatbin::{Image, Kind, write};

use cushim_image::arch::Arch;

use super::*;
use cushim_accel::ImageKind;

const CPU: Target = Target { capability: (8, 0), cubin: false, ptx: true, later: true, isas: &[] };

fn ptx(sm: u32) -> String {
    format!(".version 7.0\n.target sm_{sm}\n.address_size 64\n// made for {sm}\n")
}

/// A fat binary: `c75` is machine code for sm_75, `p80` PTX.
fn fatbin(images: &[&str]) -> Vec<u8> {
    let data: Vec<(Kind, Arch, Vec<u8>)> = images
        .iter()
        .map(|name| {
            let (digits, variant) = match name.as_bytes()[name.len() - 1] {
                b'a' => (&name[1..name.len() - 1], SmVariant::Specific),
                b'f' => (&name[1..name.len() - 1], SmVariant::Family),
                _ => (&name[1..], SmVariant::Plain),
            };
            let sm = digits.parse().unwrap();
            match name.starts_with('p') {
                true => (Kind::Ptx, Arch::Sm(sm, variant), ptx(sm).into_bytes()),
                false => (Kind::Cubin, Arch::Sm(sm, variant), vec![sm as u8; 64]),
            }
        })
        .collect();
    let images: Vec<Image<'_>> = data
        .iter()
        .map(|(kind, arch, data)| Image {
            kind: *kind,
            arch: arch.clone(),
            version: (7, 0),
            codec: if *kind == Kind::Ptx { Codec::Zstd } else { Codec::None },
            data,
        })
        .collect();
    write(&images).unwrap()
}

fn chosen(images: &[&str], target: &Target) -> Option<(ImageKind, String)> {
    let source = Source::owned(fatbin(images));
    choose(&source, target).ok().map(|c| (c.kind, c.arch.to_string()))
}

fn address<T: ?Sized>(of: &T) -> usize {
    std::ptr::from_ref(of).cast::<u8>().expose_provenance()
}

#[test]
fn a_gpu_gets_machine_code_of_its_major_else_ptx() {
    let on = |major, minor, images: &[&str]| chosen(images, &Target::nvidia(major, minor));
    let cubin = |name: &str| Some((ImageKind::Cubin, name.to_owned()));
    let text = |name: &str| Some((ImageKind::Ptx, name.to_owned()));
    assert_eq!(on(8, 6, &["c80", "c75", "c86", "c89", "p90"]), cubin("sm_86"));
    assert_eq!(on(8, 0, &["c75", "c86", "p70", "p80", "p90"]), text("sm_80"));
    assert_eq!(on(9, 0, &["c80", "c90", "c90a"]), cubin("sm_90a"));
    assert_eq!(on(10, 3, &["c100", "c100a", "c100f", "c90"]), cubin("sm_100f"));
    assert_eq!(on(12, 0, &["c100f", "c100a", "p90a", "p100f", "p90"]), text("sm_90"));
    assert_eq!(on(9, 0, &["c80", "p100"]), None);
}

#[test]
fn the_cpu_takes_ptx_and_a_later_one_rather_than_none() {
    let text = |name: &str| Some((ImageKind::Ptx, name.to_owned()));
    assert_eq!(chosen(&["c80", "p52", "p75", "p90"], &CPU), text("sm_75"));
    assert_eq!(chosen(&["c80", "p100", "p90a", "p90"], &CPU), text("sm_90"));
    assert_eq!(chosen(&["p90a", "p100"], &CPU), text("sm_90a"));
    let source = Source::owned(fatbin(&["c90", "c80"]));
    let error = choose(&source, &CPU).unwrap_err();
    assert_eq!(error.status(), 209);
    let text = error.to_string();
    for part in ["cubin for sm_80, cubin for sm_90", "8.0 needs PTX", "code=compute_80", "redirect"]
    {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_refusal_says_which_tool_made_the_machine_code() {
    // Of CUDA 13.5: a cubin and PTX.
    let fixture = include_bytes!("../../../image/tests/data/zstd.fatbin");
    let limits = cushim_image::Limits::DEFAULT;
    let images = cushim_image::inventory::read(fixture, &limits).images;
    let kind = cushim_image::inventory::ImageKind::Cubin;
    let image = images.into_iter().find(|image| image.kind == kind).unwrap();
    let cubin = image.with_bytes(&limits, <[u8]>::to_vec).unwrap();
    let said = |bytes| choose(&Source::owned(bytes), &CPU).unwrap_err().to_string();
    let alone = said(cubin.clone());
    assert!(alone.contains("cubin for sm_80 (made by ptxas 13.5.37); "), "{alone}");
    assert!(alone.contains("delete its cache"), "{alone}");
    assert!(alone.contains("NVRTC with --gpu-architecture=compute_80"), "{alone}");
    let arch = Arch::Sm(80, SmVariant::Plain);
    let image =
        Image { kind: Kind::Cubin, arch, version: (7, 0), codec: Codec::Zstd, data: &cubin };
    let packed = said(write(&[image]).unwrap());
    assert!(packed.contains("cubin for sm_80 (made by ptxas 13.5.37); "), "{packed}");
    assert!(packed.contains("Rebuild with -gencode arch=compute_80,code=compute_80"), "{packed}");
}

#[test]
fn texts_come_unpacked_and_without_their_end() {
    let source = Source::owned(fatbin(&["p70", "p80"]));
    let found = choose(&source, &CPU).unwrap();
    assert_eq!(found.parts.len(), 1);
    assert_eq!(&*found.parts[0], ptx(80).as_bytes());
}

#[test]
fn pointers_of_every_kind_are_followed() {
    // Behind the image others follow, as in `.nv_fatbin`.
    let mut bytes = fatbin(&["p80"]);
    let length = bytes.len();
    bytes.extend(fatbin(&["p70"]));
    let wrapper = FatBinaryWrapper {
        magic: FAT_BINARY_WRAPPER_MAGIC,
        version: 1,
        data: address(&*bytes),
        filename_or_list: 0,
    };
    let text = format!("{}\0", ptx(75));
    // SAFETY: a wrapper, a fat binary and a text.
    let [wrapped, bare, text] = unsafe {
        [Source::at(address(&wrapper)), Source::at(address(&*bytes)), Source::at(address(&*text))]
    };
    assert_eq!(wrapped.unwrap().whole.len(), length);
    assert_eq!(bare.unwrap().whole.len(), length);
    let text = text.unwrap();
    assert_eq!(&*text.whole, ptx(75).as_bytes());
    assert_eq!(choose(&text, &CPU).unwrap().arch.to_string(), "sm_75");
}

#[test]
fn parts_of_a_device_link_are_joined_where_the_link_has_nothing() {
    let (whole, one, two) = (fatbin(&["c75"]), fatbin(&["c75", "p70", "p75"]), fatbin(&["p70"]));
    let list = [address(&*one), address(&*two), 0];
    let wrapper = FatBinaryWrapper {
        magic: FAT_BINARY_WRAPPER_MAGIC,
        version: 2,
        data: address(&*whole),
        filename_or_list: address(&list),
    };
    // SAFETY: a wrapper with its list.
    let source = unsafe { Source::at(address(&wrapper)) }.unwrap().into_owned();
    assert_eq!(source.linked.len(), 2);
    let found = choose(&source, &CPU).unwrap();
    let parts: Vec<&[u8]> = found.parts.iter().map(|part| &**part).collect();
    assert_eq!(parts, [ptx(75).as_bytes(), ptx(70).as_bytes()]);
    assert_eq!(choose(&source, &Target::nvidia(7, 5)).unwrap().kind, ImageKind::Cubin);
    // One unit without PTX spoils it.
    let three = fatbin(&["c75"]);
    let mut short = source.clone();
    short.linked.push(std::borrow::Cow::Owned(three));
    assert_eq!(choose(&short, &CPU).unwrap_err().status(), 209);
}

#[test]
fn what_is_no_image_says_so() {
    // SAFETY: memory that is there, or the null pointer.
    unsafe {
        assert_eq!(Source::at(0).unwrap_err().status(), 1);
        assert_eq!(Source::at(address("something else\0")).unwrap_err().status(), 200);
        assert_eq!(Source::at(address("\0")).unwrap_err().status(), 200);
    }
    // A length that no memory has.
    let mut bytes = fatbin(&["p80"]);
    bytes[8..16].copy_from_slice(&(1u64 << 31).to_le_bytes());
    // SAFETY: the head of a fat binary, which is read before its length is believed.
    let error = unsafe { Source::at(address(&*bytes)) }.unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error}");
    // SAFETY: nothing is there; it is asked for.
    let error = unsafe { Source::at(8) }.unwrap_err();
    assert_eq!(error.status(), 200);
}

#[test]
fn an_amd_gpu_gets_code_of_its_processor_and_features() {
    use cushim_image::offload::{Image, ImageKind as Is, write};
    // An ELF header for gfx90a, with xnack on or off or either (e_flags: processor, and two bits each).
    let object = |xnack: u32| {
        let mut elf = vec![0_u8; 64];
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        (elf[7], elf[8]) = (64, 2);
        elf[16..20].copy_from_slice(&[3, 0, 224, 0]);
        elf[20] = 1;
        elf[48..52].copy_from_slice(&(0x3f_u32 | xnack << 8 | 1 << 10).to_le_bytes());
        elf[52] = 64;
        elf
    };
    let objects =
        [(object(3), "gfx90a:xnack+"), (object(1), "gfx90a"), (object(2), "gfx90a:xnack-")];
    let packed = |names: &[&str]| {
        let chosen = objects.iter().filter(|(_, name)| names.contains(name));
        let images = chosen.map(|(data, name)| Image {
            kind: Is::Object,
            producer: 4,
            strings: vec![("arch", *name), ("triple", "amdgcn-amd-amdhsa")],
            data,
        });
        write(&images.collect::<Vec<_>>())
    };
    let isas: &'static [String] =
        Box::leak(vec![String::from("gfx90a:sramecc+:xnack-")].into_boxed_slice());
    let target = Target { capability: (8, 0), cubin: false, ptx: false, later: true, isas };
    let got = |names: &[&str]| {
        let source = Source::owned(packed(names));
        choose(&source, &target).map(|chosen| (chosen.kind, chosen.arch.to_string()))
    };
    let code = |name: &str| (ImageKind::CodeObject, name.to_owned());
    assert_eq!(got(&["gfx90a:xnack+", "gfx90a", "gfx90a:xnack-"]).unwrap(), code("gfx90a:xnack-"));
    assert_eq!(got(&["gfx90a:xnack+", "gfx90a"]).unwrap(), code("gfx90a"));
    let why = got(&["gfx90a:xnack+"]).unwrap_err();
    assert_eq!(why.status(), 209);
    assert!(
        why.to_string()
            .ends_with("a GPU of type gfx90a:sramecc+:xnack- needs an AMD code object for it")
    );
    let nvidia = Source::owned(packed(&["gfx90a"]));
    assert!(choose(&nvidia, &Target::nvidia(9, 0)).is_err());
}
