//! The functions by which programs' constructors register (crt/host_runtime.h).
//!
//! Owns their forms. An invalid handle is ignored: these functions return nothing that could report it. Must not
//! know: the tables.

use cushim_abi::types::*;

use super::table::{Kind, add_binary, add_kernel, add_variable, binary};

/// Registers a fat binary by its wrapper; the handle.
///
/// # Safety
/// The wrapper stays until it is unregistered.
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaRegisterFatBinary<const MAJOR: usize>(fatCubin: Ptr) -> usize {
    std::ptr::from_ref(add_binary(fatCubin.0)).expose_provenance()
}

/// Says that all of a fat binary is registered.
///
/// # Safety
/// None.
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaRegisterFatBinaryEnd<const MAJOR: usize>(_: Ptr) {}

/// Forgets a fat binary with its kernels and variables.
///
/// # Safety
/// None.
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary<const MAJOR: usize>(fatCubinHandle: Ptr) {
    if let Some(binary) = binary(fatCubinHandle) {
        binary.unload();
    }
}

/// Registers a kernel under its host stub.
///
/// # Safety
/// The name is a string that stays until the image is unregistered.
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaRegisterFunction<const MAJOR: usize>(
    fatCubinHandle: Ptr,
    hostFun: Func,
    _deviceFun: Str,
    deviceName: Str,
    _thread_limit: i32,
    _tid: Ptr,
    _bid: Ptr,
    _bDim: Ptr,
    _gDim: Ptr,
    _wSize: Ptr,
) -> i32 {
    if let Some(binary) = binary(fatCubinHandle) {
        add_kernel(binary, hostFun.0, deviceName.0);
    }
    0
}

/// Registers a `__device__` or `__constant__` variable.
///
/// # Safety
/// As [`__cudaRegisterFunction`].
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaRegisterVar<const MAJOR: usize>(
    fatCubinHandle: Ptr,
    hostVar: Ptr,
    _deviceAddress: Str,
    deviceName: Str,
    _ext: i32,
    size: usize,
    _constant: i32,
    _global: i32,
) {
    if let Some(binary) = binary(fatCubinHandle) {
        add_variable(binary, Kind::Device, hostVar.0, deviceName.0, size);
    }
}

/// Registers a `__managed__` variable: `hostVarPtrAddress` is where the program keeps its address.
///
/// # Safety
/// As [`__cudaRegisterFunction`]; the place stays writable.
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaRegisterManagedVar<const MAJOR: usize>(
    fatCubinHandle: Ptr,
    hostVarPtrAddress: Ptr,
    _deviceAddress: Str,
    deviceName: Str,
    _ext: i32,
    size: usize,
    _constant: i32,
    _global: i32,
) {
    if let Some(binary) = binary(fatCubinHandle) {
        add_variable(binary, Kind::Managed, hostVarPtrAddress.0, deviceName.0, size);
    }
}

/// The symbol of a texture or surface reference in the image. The declared address is that symbol's
/// name, while the name is the C++ one, with `::` (crt/host_runtime.h of 11.8; measured: a driver
/// of 13.0 knows the symbol only).
fn symbol(device_address: Ptr, device_name: Str) -> usize {
    if device_address.0 == 0 { device_name.0 } else { device_address.0 }
}

/// Registers a texture reference (11).
///
/// # Safety
/// As [`__cudaRegisterFunction`].
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaRegisterTexture<const MAJOR: usize>(
    fatCubinHandle: Ptr,
    hostVar: Ptr,
    deviceAddress: Ptr,
    deviceName: Str,
    _dim: i32,
    norm: i32,
    _ext: i32,
) {
    if let Some(binary) = binary(fatCubinHandle) {
        let name = symbol(deviceAddress, deviceName);
        add_variable(binary, Kind::Reference, hostVar.0, name, usize::from(norm != 0));
    }
}

/// Registers a surface reference (11).
///
/// # Safety
/// As [`__cudaRegisterFunction`].
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaRegisterSurface<const MAJOR: usize>(
    fatCubinHandle: Ptr,
    hostVar: Ptr,
    deviceAddress: Ptr,
    deviceName: Str,
    _dim: i32,
    _ext: i32,
) {
    if let Some(binary) = binary(fatCubinHandle) {
        let name = symbol(deviceAddress, deviceName);
        add_variable(binary, Kind::Reference, hostVar.0, name, 0);
    }
}

/// Loads an image because the host is about to use a managed variable of it: 1 if that went well.
/// Programs call it again at the next use if it failed (measured: 0 without a driver).
///
/// # Safety
/// None.
#[allow(non_snake_case)]
pub unsafe extern "C" fn __cudaInitModule<const MAJOR: usize>(fatCubinHandle: Ptr) -> i32 {
    match binary(fatCubinHandle).map(|binary| binary.load()) {
        Some(Ok(_)) => 1,
        Some(Err(error)) => {
            crate::error::failed(error);
            0
        }
        None => 0,
    }
}
