//! The driver calls that textures make, over a test driver.

use std::cell::Cell;

use cushim_abi::index::Driver;
use cushim_abi::types::*;

use super::reference::*;
use super::*;
use crate::error::take_last;
use crate::registry;
use crate::testing::with_driver;

thread_local! {
    static RESOURCE: Cell<DriverResourceDesc> = Cell::default();
    static TEXTURE: Cell<DriverTextureDesc> = Cell::default();
    static LEVELS: Cell<[u32; 2]> = const { Cell::new([9; 2]) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

unsafe fn at<T: Copy>(from: Ptr) -> T {
    // SAFETY: the caller's structure.
    unsafe { std::ptr::with_exposed_provenance::<T>(from.0).read() }
}

unsafe extern "C" fn create_texture(to: Out<u64>, resource: Ptr, texture: Ptr, view: Ptr) -> i32 {
    // SAFETY: what the driver is given.
    unsafe {
        RESOURCE.set(at(resource));
        TEXTURE.set(at(texture));
        if view.0 != 0 {
            LEVELS.set(at::<DriverResourceViewDesc>(view).view.levels);
        }
        to.0.write(7);
    }
    0
}

unsafe extern "C" fn resource_of(to: Ptr, object: u64) -> i32 {
    if object != 7 {
        return 400;
    }
    // SAFETY: the caller's place.
    unsafe { put(to, RESOURCE.get()) };
    0
}

unsafe extern "C" fn texture_of(to: Ptr, object: u64) -> i32 {
    if object != 7 {
        return 400;
    }
    // SAFETY: the caller's place.
    unsafe { put(to, TEXTURE.get()) };
    0
}

unsafe extern "C" fn describe(to: Ptr, _: Ptr) -> i32 {
    // SAFETY: the caller's place.
    unsafe {
        put(to, ArrayDescriptor { format: 0x20, channels: 1, width: 8, ..Default::default() })
    };
    0
}

#[test]
fn objects_come_back_as_they_were_described() {
    let _driver = with_driver(&[
        (Driver::cuTexObjectCreate, create_texture as *const ()),
        (Driver::cuTexObjectGetResourceDesc, resource_of as *const ()),
        (Driver::cuTexObjectGetTextureDesc, texture_of as *const ()),
        (Driver::cuArray3DGetDescriptor_v2, describe as *const ()),
    ]);
    let desc = ChannelDesc { x: 8, y: 8, z: 0, w: 0, f: 1 };
    let resource = ResourceDesc { kind: 3, at: 0x1000, desc, width: 5, height: 6, pitch: 512 };
    let texture = TextureDesc {
        normalized: 1,
        seamless: 1,
        filter_mode: 1,
        read_mode: 1,
        ..Default::default()
    };
    let view = ResourceViewDesc { levels: [1, 3], ..Default::default() };
    let mut object = 0;
    let mut told = ResourceDesc::default();
    let mut again = TextureDesc::default();
    // SAFETY: structures of the test.
    unsafe {
        let status = cudaCreateTextureObject::<12>(
            Out(&mut object),
            address(&resource),
            address(&texture),
            address(&view),
        );
        assert_eq!((status, object, LEVELS.get()), (0, 7, [1, 3]));
        assert_eq!(TEXTURE.get().flags, flag::NORMALIZED_COORDINATES | flag::SEAMLESS);
        let seen = RESOURCE.get();
        assert_eq!((seen.format, seen.channels, seen.pitch, seen.height), (1, 2, 512, 6));
        assert_eq!(cudaGetTextureObjectResourceDesc::<12>(address_mut(&mut told), 7), 0);
        assert_eq!(cudaGetTextureObjectTextureDesc::<12>(address_mut(&mut again), 7), 0);
    }
    assert_eq!((told.desc, told.width, told.pitch), (desc, 5, 512));
    assert_eq!(again, texture);

    // The form of 11 ends one field earlier, and elements of floats are no integers.
    let array = ResourceDesc { kind: 0, at: 0x2000, ..Default::default() };
    let mut short = TextureDesc { seamless: 77, ..Default::default() };
    // SAFETY: structures of the test.
    unsafe {
        let (array, none) = (address(&array), Ptr(0));
        let plain = TextureDesc { seamless: 1, ..Default::default() };
        assert_eq!(
            cudaCreateTextureObject::<11>(Out(&mut object), array, address(&plain), none),
            0
        );
        assert_eq!(TEXTURE.get().flags, 0);
        assert_eq!(cudaGetTextureObjectTextureDesc::<11>(address_mut(&mut short), 7), 0);
    }
    assert_eq!((short.read_mode, short.seamless), (0, 77));
}

#[test]
fn failures_leave_what_was_there() {
    let _driver = with_driver(&[
        (Driver::cuTexObjectCreate, create_texture as *const ()),
        (Driver::cuTexObjectGetResourceDesc, resource_of as *const ()),
    ]);
    let (mut object, mut told) = (5, ResourceDesc { width: 3, ..Default::default() });
    let bad = ResourceDesc { kind: 9, ..Default::default() };
    let texture = TextureDesc::default();
    // SAFETY: structures of the test, or none.
    unsafe {
        let to = Out(&raw mut object);
        assert_eq!(cudaCreateTextureObject::<13>(to, Ptr(0), address(&texture), Ptr(0)), 1);
        assert_eq!(cudaCreateTextureObject::<12>(to, address(&bad), address(&texture), Ptr(0)), 1);
        assert_eq!(cudaGetTextureObjectResourceDesc::<12>(address_mut(&mut told), 8), 400);
        assert_eq!(cudaGetSurfaceObjectResourceDesc::<12>(Ptr(0), 7), 1);
        assert_eq!(cudaCreateSurfaceObject::<12>(to, Ptr(0)), 1);
    }
    assert_eq!((object, told.width, take_last()), (5, 3, 1));
}

unsafe extern "C" fn load(to: Out<Module>, _: Ptr) -> i32 {
    // SAFETY: the caller's place.
    unsafe { to.0.write(Module(0x31)) };
    0
}

unsafe extern "C" fn current(to: Out<Context>) -> i32 {
    // SAFETY: the caller's place.
    unsafe { to.0.write(Context(7)) };
    0
}

unsafe extern "C" fn tex_ref(to: Out<Ptr>, module: Module, name: Str) -> i32 {
    let name = std::ptr::with_exposed_provenance(name.0);
    // SAFETY: a string that the test registered.
    let name = unsafe { std::ffi::CStr::from_ptr(name) };
    assert_eq!(name, c"texels", "the symbol, not the name in C++");
    // SAFETY: the caller's place.
    unsafe { to.0.write(Ptr(module.0 + 1)) };
    0
}

unsafe extern "C" fn set_format(found: Ptr, format: i32, channels: i32) -> i32 {
    assert_eq!((found, format, channels), (Ptr(0x32), 1, 4));
    CALLS.set(CALLS.get() + 1);
    0
}

unsafe extern "C" fn set_flags(_: Ptr, flags: Flags) -> i32 {
    // Read as fractions, by places from 0 to 1.
    assert_eq!(flags.0, flag::NORMALIZED_COORDINATES);
    CALLS.set(CALLS.get() + 1);
    0
}

unsafe extern "C" fn accept(_: Ptr, _: i32, _: i32) -> i32 {
    0
}

unsafe extern "C" fn set_address(offset: Out<usize>, _: Ptr, at: Ptr, bytes: usize) -> i32 {
    assert_eq!(bytes, 0x100 - 0x10);
    // SAFETY: the caller's place.
    unsafe { offset.0.write(at.0 % 0x100) };
    0
}

unsafe extern "C" fn range(base: Out<Ptr>, bytes: Out<usize>, _: Ptr) -> i32 {
    // SAFETY: the caller's places.
    unsafe {
        base.0.write(Ptr(0x4000));
        bytes.0.write(0x100);
    }
    0
}

unsafe extern "C" fn version(to: Out<i32>) -> i32 {
    // SAFETY: the caller's place.
    unsafe { to.0.write(12_000) };
    0
}

#[test]
fn references_are_bound_in_their_module() {
    let _driver = with_driver(&[
        (Driver::cuDriverGetVersion, version as *const ()),
        (Driver::cuCtxGetCurrent, current as *const ()),
        (Driver::cuModuleLoadData, load as *const ()),
        (Driver::cuModuleGetTexRef, tex_ref as *const ()),
        (Driver::cuTexRefSetFormat, set_format as *const ()),
        (Driver::cuTexRefSetFlags, set_flags as *const ()),
        (Driver::cuTexRefSetFilterMode, accept as *const ()),
        (Driver::cuTexRefSetAddressMode, accept as *const ()),
        (Driver::cuTexRefSetMaxAnisotropy, accept as *const ()),
        (Driver::cuTexRefSetAddress_v2, set_address as *const ()),
        (Driver::cuMemGetAddressRange_v2, range as *const ()),
    ]);
    let texref = TextureReference { normalized: 1, ..Default::default() };
    let here = address(&texref);
    let [symbol, name] = [c"texels", c"::texels"].map(|text| text.as_ptr().expose_provenance());
    // SAFETY: what nvcc registers; the image is the driver's to look at, and strings stay.
    unsafe {
        let handle = Ptr(registry::__cudaRegisterFatBinary::<11>(Ptr(0xb900)));
        registry::__cudaRegisterTexture::<11>(handle, here, Ptr(symbol), Str(name), 1, 1, 0);
    }
    let desc = ChannelDesc { x: 8, y: 8, z: 8, w: 8, f: 1 };
    let mut offset = 99;
    // SAFETY: structures of the test.
    unsafe {
        assert_eq!(cudaGetTextureAlignmentOffset::<11>(Out(&mut offset), here), 19);
        let all = u32::MAX as usize;
        let to = Out(&raw mut offset);
        assert_eq!(cudaBindTexture::<11>(to, here, Ptr(0x4010), address(&desc), all), 0);
        assert_eq!((offset, CALLS.get()), (0x10, 2));
        offset = 99;
        assert_eq!(cudaGetTextureAlignmentOffset::<11>(Out(&mut offset), here), 0);
        assert_eq!(offset, 0x10);
        // A program that would have to know the offset and does not ask.
        let none = Out(std::ptr::null_mut());
        assert_eq!(cudaBindTexture::<11>(none, here, Ptr(0x4010), address(&desc), all), 1);
        assert_eq!(cudaUnbindTexture::<11>(Ptr(0x55)), 18);
        let mut same = Ptr(0);
        assert_eq!((cudaGetTextureReference::<11>(Out(&mut same), here), same), (0, here));
        assert_eq!(cudaGetSurfaceReference::<11>(Out(&mut same), Ptr(0x55)), 37);
    }
    take_last();
}
