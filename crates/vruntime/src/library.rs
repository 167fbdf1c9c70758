//! Libraries of device code that the program loads itself (12 and 13): the driver's, through the runtime.
//!
//! Owns which kernel handles the program got, so that the runtime's launches recognise them. Must not know:
//! registered images.

use std::collections::HashMap;
use std::sync::Mutex;

use cushim_abi::types::*;

use super::error::code;
use super::forward::{done, forwards, functions, pass};
use super::{context, registry};
use cushim_accel::locks::lock;
use cushim_vbase::api;

/// The handles of each library that the program has.
static HANDLES: Mutex<Option<HashMap<usize, Vec<usize>>>> = Mutex::new(None);

fn remember(library: Module, kernel: Func) {
    registry::know_handle(kernel.0);
    let mut handles = lock(&HANDLES);
    let of_library = handles.get_or_insert_with(HashMap::new).entry(library.0).or_default();
    if !of_library.contains(&kernel.0) {
        of_library.push(kernel.0);
    }
}

fn enumerate(kernels: Ptr, count: u32, library: Module) -> Result<(), Status> {
    context::ready()?;
    if kernels.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    let (mut found, to) = (0_u32, kernels);
    let all = Out(&raw mut found);
    // SAFETY: a place for a number; the driver knows its libraries.
    context::attempt(|| unsafe { api::cuLibraryGetKernelCount(all, library) })?;
    // SAFETY: room for `count` handles, the program's.
    context::attempt(|| unsafe { api::cuLibraryEnumerateKernels(to, count, library) })?;
    let first = std::ptr::with_exposed_provenance::<Func>(kernels.0);
    for at in 0..count.min(found) as usize {
        // SAFETY: the driver has written that many.
        remember(library, unsafe { first.add(at).read_unaligned() });
    }
    Ok(())
}

functions! {
    cudaLibraryGetKernel (pKernel: Out<Func>, library: Module, name: Str) {
        let status = pass!(cuLibraryGetKernel(pKernel, library, name));
        if status == 0 && !pKernel.0.is_null() {
            // SAFETY: the driver has written it.
            remember(library, unsafe { pKernel.0.read_unaligned() });
        }
        status
    }

    cudaLibraryEnumerateKernels (kernels: Ptr, numKernels: u32, lib: Module) {
        done(enumerate(kernels, numKernels, lib))
    }

    cudaLibraryUnload (library: Module) {
        let known = lock(&HANDLES).as_mut().and_then(|handles| handles.remove(&library.0));
        registry::forget_handles(&known.unwrap_or_default());
        pass!(cuLibraryUnload(library))
    }
}

forwards! {
    cudaLibraryLoadData (library: Out<Module>, code: Ptr, jitOptions: Ptr, jitOptionsValues: Ptr, numJitOptions: u32, libraryOptions: Ptr, libraryOptionValues: Ptr, numLibraryOptions: u32) = cuLibraryLoadData(library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues, numLibraryOptions);
    cudaLibraryLoadFromFile (library: Out<Module>, fileName: Str, jitOptions: Ptr, jitOptionsValues: Ptr, numJitOptions: u32, libraryOptions: Ptr, libraryOptionValues: Ptr, numLibraryOptions: u32) = cuLibraryLoadFromFile(library, fileName, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues, numLibraryOptions);
    cudaLibraryGetGlobal (dptr: Out<Ptr>, bytes: Out<usize>, library: Module, name: Str) = cuLibraryGetGlobal(dptr, bytes, library, name);
    cudaLibraryGetManaged (dptr: Out<Ptr>, bytes: Out<usize>, library: Module, name: Str) = cuLibraryGetManaged(dptr, bytes, library, name);
    cudaLibraryGetUnifiedFunction (fptr: Out<Ptr>, library: Module, symbol: Str) = cuLibraryGetUnifiedFunction(fptr, library, symbol);
    cudaLibraryGetKernelCount (count: Out<u32>, lib: Module) = cuLibraryGetKernelCount(count, lib);
}
