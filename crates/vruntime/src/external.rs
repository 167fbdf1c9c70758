//! External memory and semaphores, and resources of graphics libraries.
//!
//! Owns the structures that the runtime pads to the driver's. The driver implements everything here; if it cannot,
//! the functions return "not supported". Must not know: graphics.

use cushim_abi::types::*;

use super::context;
use super::error::code;
use super::forward::{address, done, forwards, functions, pass};
use super::layout::*;
use cushim_vbase::api;

forwards! {
    cudaDestroyExternalMemory (extMem: Ptr) = cuDestroyExternalMemory(extMem);
    cudaDestroyExternalSemaphore (extSem: Ptr) = cuDestroyExternalSemaphore(extSem);
    cudaSignalExternalSemaphoresAsync / cudaSignalExternalSemaphoresAsync_ptsz (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) = cuSignalExternalSemaphoresAsync(extSemArray, paramsArray, numExtSems, stream);
    cudaSignalExternalSemaphoresAsync_v2 / cudaSignalExternalSemaphoresAsync_v2_ptsz (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) = cuSignalExternalSemaphoresAsync(extSemArray, paramsArray, numExtSems, stream);
    cudaWaitExternalSemaphoresAsync / cudaWaitExternalSemaphoresAsync_ptsz (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) = cuWaitExternalSemaphoresAsync(extSemArray, paramsArray, numExtSems, stream);
    cudaWaitExternalSemaphoresAsync_v2 / cudaWaitExternalSemaphoresAsync_v2_ptsz (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) = cuWaitExternalSemaphoresAsync(extSemArray, paramsArray, numExtSems, stream);

    cudaGraphicsEGLRegisterImage (pCudaResource: Out<Ptr>, image: Ptr, flags: Flags) = cuGraphicsEGLRegisterImage(pCudaResource, image, flags);
    cudaGraphicsGLRegisterBuffer (resource: Out<Ptr>, buffer: u32, flags: Flags) = cuGraphicsGLRegisterBuffer(resource, buffer, flags);
    cudaGraphicsGLRegisterImage (resource: Out<Ptr>, image: u32, target: u32, flags: Flags) = cuGraphicsGLRegisterImage(resource, image, target, flags);
    cudaGraphicsVDPAURegisterOutputSurface (resource: Out<Ptr>, vdpSurface: u32, flags: Flags) = cuGraphicsVDPAURegisterOutputSurface(resource, vdpSurface, flags);
    cudaGraphicsVDPAURegisterVideoSurface (resource: Out<Ptr>, vdpSurface: u32, flags: Flags) = cuGraphicsVDPAURegisterVideoSurface(resource, vdpSurface, flags);
    cudaGraphicsResourceGetMappedPointer (devPtr: Out<Ptr>, size: Out<usize>, resource: Ptr) = cuGraphicsResourceGetMappedPointer_v2(devPtr, size, resource);
    cudaGraphicsResourceGetMappedMipmappedArray (mipmappedArray: Out<Ptr>, resource: Ptr) = cuGraphicsResourceGetMappedMipmappedArray(mipmappedArray, resource);
    cudaGraphicsSubResourceGetMappedArray (array: Out<Ptr>, resource: Ptr, arrayIndex: u32, mipLevel: u32) = cuGraphicsSubResourceGetMappedArray(array, resource, arrayIndex, mipLevel);
    cudaGraphicsResourceSetMapFlags (resource: Ptr, flags: Flags) = cuGraphicsResourceSetMapFlags_v2(resource, flags);
    cudaGraphicsUnregisterResource (resource: Ptr) = cuGraphicsUnregisterResource(resource);
    cudaEGLStreamConsumerConnect (conn: Ptr, eglStream: Ptr) = cuEGLStreamConsumerConnect(conn, eglStream);
    cudaEGLStreamConsumerConnectWithFlags (conn: Ptr, eglStream: Ptr, flags: Flags) = cuEGLStreamConsumerConnectWithFlags(conn, eglStream, flags);
    cudaEGLStreamConsumerDisconnect (conn: Ptr) = cuEGLStreamConsumerDisconnect(conn);
    cudaEGLStreamProducerConnect (conn: Ptr, eglStream: Ptr, width: i32, height: i32) = cuEGLStreamProducerConnect(conn, eglStream, width, height);
    cudaEGLStreamProducerDisconnect (conn: Ptr) = cuEGLStreamProducerDisconnect(conn);
    cudaEGLStreamConsumerAcquireFrame (conn: Ptr, pCudaResource: Out<Ptr>, pStream: Out<Stream>, timeout: u32) = cuEGLStreamConsumerAcquireFrame(conn, pCudaResource, pStream, timeout);
    cudaEGLStreamConsumerReleaseFrame (conn: Ptr, pCudaResource: Ptr, pStream: Ptr) = cuEGLStreamConsumerReleaseFrame(conn, pCudaResource, pStream);

    cudaGLGetDevices (pCudaDeviceCount: Out<u32>, pCudaDevices: Ptr, cudaDeviceCount: u32, deviceList: i32) = cuGLGetDevices_v2(pCudaDeviceCount, pCudaDevices, cudaDeviceCount, deviceList);
    cudaGLRegisterBufferObject (bufObj: u32) = cuGLRegisterBufferObject(bufObj);
    cudaGLUnmapBufferObject (bufObj: u32) = cuGLUnmapBufferObject(bufObj);
    cudaGLUnmapBufferObjectAsync (bufObj: u32, stream: Stream) = cuGLUnmapBufferObjectAsync(bufObj, stream);
    cudaGLUnregisterBufferObject (bufObj: u32) = cuGLUnregisterBufferObject(bufObj);
    cudaGLSetBufferObjectMapFlags (bufObj: u32, flags: Flags) = cuGLSetBufferObjectMapFlags(bufObj, flags);
    cudaVDPAUGetDevice (device: Out<i32>, vdpDevice: u32, vdpGetProcAddress: Ptr) = cuVDPAUGetDevice(Out(device.0.cast()), vdpDevice, vdpGetProcAddress);
}

/// A count; negative numbers are refused here, not by the driver.
fn counted(count: i32) -> Result<u32, Status> {
    u32::try_from(count).map_err(|_| code::INVALID_VALUE)
}

functions! {
    cudaGraphicsMapResources (count: i32, resources: Ptr, stream: Stream) {
        match counted(count) {
            Ok(count) => pass!(cuGraphicsMapResources(count, resources, stream)),
            Err(error) => done(Err(error)),
        }
    }

    cudaGraphicsUnmapResources (count: i32, resources: Ptr, stream: Stream) {
        match counted(count) {
            Ok(count) => pass!(cuGraphicsUnmapResources(count, resources, stream)),
            Err(error) => done(Err(error)),
        }
    }

    // The driver's function also returns the size.
    cudaGLMapBufferObject (devPtr: Out<Ptr>, bufObj: u32) {
        let mut size = 0;
        let to = Out(&raw mut size);
        pass!(cuGLMapBufferObject_v2(devPtr, to, bufObj))
    }

    cudaGLMapBufferObjectAsync (devPtr: Out<Ptr>, bufObj: u32, stream: Stream) {
        let mut size = 0;
        let to = Out(&raw mut size);
        pass!(cuGLMapBufferObjectAsync_v2(devPtr, to, bufObj, stream))
    }

    // Since CUDA 5.0 that only chooses the device (CUDA Runtime API, cudaGLSetGLDevice).
    cudaGLSetGLDevice (device: Device) {
        done(context::set_device::<MAJOR>(device.0))
    }

    cudaImportExternalMemory (extMem_out: Out<Ptr>, memHandleDesc: Ptr) {
        // SAFETY: a cudaExternalMemoryHandleDesc, of which the part that every major has is read.
        let Some(mut desc) = (unsafe { head::<ExternalMemoryHandleDesc>(memHandleDesc, 36) }) else {
            return done(Err(code::INVALID_VALUE));
        };
        desc.reserved = [0; 16];
        done(context::attempt(|| {
            // SAFETY: the program's place, and a descriptor of ours in the driver's layout.
            unsafe { api::cuImportExternalMemory(extMem_out, address(&desc)) }
        }))
    }

    cudaImportExternalSemaphore (extSem_out: Out<Ptr>, semHandleDesc: Ptr) {
        // SAFETY: a cudaExternalSemaphoreHandleDesc, of which the part that every major has is read.
        let Some(mut desc) = (unsafe { head::<ExternalSemaphoreHandleDesc>(semHandleDesc, 28) }) else {
            return done(Err(code::INVALID_VALUE));
        };
        desc.reserved = [0; 16];
        done(context::attempt(|| {
            // SAFETY: the program's place for a handle, and a structure of ours.
            unsafe { api::cuImportExternalSemaphore(extSem_out, address(&desc)) }
        }))
    }

    cudaExternalMemoryGetMappedBuffer (devPtr: Out<Ptr>, extMem: Ptr, bufferDesc: Ptr) {
        // SAFETY: a cudaExternalMemoryBufferDesc, of which the part that every major has is read.
        let Some(mut desc) = (unsafe { head::<ExternalMemoryBufferDesc>(bufferDesc, 20) }) else {
            return done(Err(code::INVALID_VALUE));
        };
        desc.reserved = [0; 16];
        done(context::attempt(|| {
            // SAFETY: the program's place for an address, and a structure of ours.
            unsafe { api::cuExternalMemoryGetMappedBuffer(devPtr, extMem, address(&desc)) }
        }))
    }
}

/// Semaphores with the parameters from before 11.2, for programs that were built then.
///
/// # Safety
/// `params` is null or `count` structures `V`, whose first words are the driver's and whose flags are those.
unsafe fn of_before<V: Copy>(
    (params, count): (Ptr, u32),
    parts: impl Fn(&V) -> (&[u64], u32),
    call: impl Fn(Ptr) -> i32,
) -> Result<(), Status> {
    if params.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    let all = (0..count as usize).map(|at| {
        let from = std::ptr::with_exposed_provenance::<V>(params.0 + at * size_of::<V>());
        // SAFETY: `at` is below `count`, and there are as many structures by the caller's promise.
        let given = unsafe { from.read_unaligned() };
        let (words, flags) = parts(&given);
        let mut ours = SemaphoreParams { flags, ..Default::default() };
        ours.params.iter_mut().zip(words).for_each(|(to, from)| *to = *from);
        ours
    });
    let all: Vec<SemaphoreParams> = all.collect();
    let at = Ptr(all.as_ptr().expose_provenance());
    context::attempt(|| call(at))
}

functions! {
    cudaSignalExternalSemaphoresAsync_12 / cudaSignalExternalSemaphoresAsync_ptsz_12 (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) {
        let given = (paramsArray, numExtSems);
        // SAFETY: an array of `numExtSems` cudaExternalSemaphoreSignalParams_v1; our own array goes
        // to the driver.
        done(unsafe {
            of_before::<SignalParamsV1>(given, |one| (&one.params, one.flags), |at| {
                api::cuSignalExternalSemaphoresAsync(extSemArray, at, numExtSems, stream)
            })
        })
    }

    cudaWaitExternalSemaphoresAsync_12 / cudaWaitExternalSemaphoresAsync_ptsz_12 (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) {
        let given = (paramsArray, numExtSems);
        // SAFETY: an array of `numExtSems` cudaExternalSemaphoreWaitParams_v1; our own array goes
        // to the driver.
        done(unsafe {
            of_before::<WaitParamsV1>(given, |one| (&one.params, one.flags), |at| {
                api::cuWaitExternalSemaphoresAsync(extSemArray, at, numExtSems, stream)
            })
        })
    }
}

/// The first `bytes` of a structure of the program, followed by zeros; none for null.
///
/// # Safety
/// `from` is null or the start of a structure of at least `bytes` bytes; every bit pattern is a `T`.
unsafe fn head<T: Default>(from: Ptr, bytes: usize) -> Option<T> {
    if from.0 == 0 || bytes > size_of::<T>() {
        return None;
    }
    let mut whole = T::default();
    let source = std::ptr::with_exposed_provenance::<u8>(from.0);
    // SAFETY: both have as many bytes.
    unsafe { std::ptr::copy_nonoverlapping(source, (&raw mut whole).cast::<u8>(), bytes) };
    Some(whole)
}
