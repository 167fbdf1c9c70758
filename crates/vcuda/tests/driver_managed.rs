//! Managed variables of libraries and modules on two devices of the CPU.
//!
//! There is a single test, because the driver's state belongs to the process.

#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use std::ffi::CStr;

use cushim_abi::types::*;
use vcuda::api;

const PTX: &CStr = c"
.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 own = 1;
.visible .global .attribute(.managed) .align 4 .u32 shared = 5;
.visible .entry add () {
  .reg .u32 %o;
  atom.global.add.u32 %o, [own], 1;
  atom.global.add.u32 %o, [shared], 10;
  ret;
}
";
const NOTHING: Ptr = Ptr(0);

fn text(value: &CStr) -> Str {
    Str(value.as_ptr().expose_provenance())
}

fn value(at: Ptr) -> u32 {
    let mut value = 0u32;
    let to = Ptr((&raw mut value).expose_provenance());
    assert_eq!(unsafe { api::cuMemcpyDtoH_v2(to, at, 4) }, 0);
    value
}

unsafe fn global(library: Module, name: &CStr) -> Ptr {
    let (mut at, mut bytes) = (NOTHING, 0);
    let (a, b) = (Out(&raw mut at), Out(&raw mut bytes));
    assert_eq!(unsafe { api::cuLibraryGetGlobal(a, b, library, text(name)) }, 0);
    assert_eq!(bytes, 4);
    at
}

#[test]
fn a_managed_variable_is_one_for_all_devices() {
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var("CUSHIM_BACKEND", "cpu");
        std::env::set_var("CUSHIM_CPU_DEVICES", "2");
    }
    let (mut contexts, mut library, mut kernel) = ([Context(0); 2], Module(0), Func(0));
    let image = Ptr(PTX.as_ptr().expose_provenance());
    unsafe {
        assert_eq!(api::cuInit(Flags(0)), 0);
        for (n, context) in (0..).zip(&mut contexts) {
            assert_eq!(api::cuDevicePrimaryCtxRetain(Out(context), Device(n)), 0);
        }
        let to = Out(&raw mut library);
        let code = api::cuLibraryLoadData(to, image, NOTHING, NOTHING, 0, NOTHING, NOTHING, 0);
        assert_eq!(code, 0);
        let found = api::cuLibraryGetKernel(Out(&raw mut kernel), library, text(c"add"));
        assert_eq!(found, 0);
        let mut places = [(NOTHING, NOTHING); 2];
        for (context, place) in contexts.iter().zip(&mut places) {
            assert_eq!(api::cuCtxSetCurrent(*context), 0);
            let launch =
                api::cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, Stream(0), NOTHING, NOTHING);
            assert_eq!((launch, api::cuCtxSynchronize()), (0, 0));
            *place = (global(library, c"own"), global(library, c"shared"));
            assert_eq!(value(place.0), 2, "each device has its own");
        }
        let [(first, shared), (second, again)] = places;
        assert_ne!(first, second);
        assert_eq!((shared, value(shared)), (again, 25));
        // The host reads it at the same address.
        let host = std::ptr::with_exposed_provenance_mut::<u32>(shared.0);
        assert_eq!(host.read_volatile(), 25);
        // A module has its own copy.
        let (mut module, mut at, mut bytes) = (Module(0), NOTHING, 0);
        assert_eq!(api::cuModuleLoadData(Out(&raw mut module), image), 0);
        let to = (Out(&raw mut at), Out(&raw mut bytes));
        assert_eq!(api::cuModuleGetGlobal_v2(to.0, to.1, module, text(c"shared")), 0);
        assert_ne!(at, shared);
        assert_eq!((value(at), api::cuModuleUnload(module)), (5, 0));
        // One device's context ends: the other's module still has the variable, and the driver still knows it.
        assert_eq!(api::cuDevicePrimaryCtxReset_v2(Device(0)), 0);
        assert_eq!(value(shared), 25);
        assert_eq!(api::cuLibraryUnload(library), 0);
    }
}
