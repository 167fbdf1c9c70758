//! AMD GPUs as an accelerator, over AMD's own HSA runtime.
//!
//! Owns the devices that stand for the GPUs of the machine. Each module has one subject: [`api`] finding the runtime,
//! `callback` its callbacks, `agents` its GPUs, `describe` a GPU's properties as a CUDA device, `memory` addresses,
//! `signals` and `ring` the runtime's signals and queues, `wire` bytes of packets and arguments, `calls`, `answers`
//! and `heap` requests of kernels to their host, `loaded` code objects, `code` their contents, `variables` their
//! variables, `ptx` translation, `cooperative` launches, `launch` what the device does by itself, `stream` the order
//! of device and host work, `flight` and `fault` failures. Must not know: CUDA's handles, containers of code.

mod agents;
mod answers;
pub mod api;
mod callback;
mod calls;
mod code;
mod cooperative;
mod describe;
mod fault;
pub mod ffi;
mod flight;
mod heap;
mod kernargs;
mod launch;
mod loaded;
mod memory;
mod ptx;
mod rectangle;
mod ring;
mod runtime;
mod signals;
mod stream;
mod variables;
mod wire;

use std::alloc::Layout;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use api::Api;
use code::{Beside, HsaCode};
use cushim_accel::{
    Accelerator, Code, Device, Dispatch, Failure, Image, ImageKind, MemoryKind, Queue,
};
use runtime::Core;
use stream::Stream;

/// The GPUs of a machine.
pub struct Hsa {
    devices: Vec<Device>,
    /// `None` where there is no runtime.
    core: Option<Arc<Core>>,
}

/// The GPUs that AMD's runtime finds; none where it is not installed or does not start, with a
/// message on standard error.
pub fn new() -> Hsa {
    let started = Api::open().and_then(|api| Hsa::over(api).map_err(|why| why.to_string()));
    match started {
        Ok(hsa) if hsa.devices.is_empty() => {
            cushim_accel::say("backend hsa: AMD's runtime finds no GPU");
            hsa
        }
        Ok(hsa) => hsa,
        Err(why) => {
            cushim_accel::say(&format!("backend hsa: {why}"));
            Hsa { devices: Vec::new(), core: None }
        }
    }
}

impl Hsa {
    /// The GPUs of a runtime.
    ///
    /// # Errors
    /// What it says, and to which call.
    pub fn over(api: Api) -> Result<Hsa, Failure> {
        let core = Core::start(api)?;
        let devices = core.devices.iter().map(|device| describe::device(&device.gpu)).collect();
        Ok(Hsa { devices, core: Some(core) })
    }

    fn core(&self) -> Result<&Arc<Core>, Failure> {
        self.core.as_ref().ok_or_else(|| Failure::Device("AMD's runtime is not there".into()))
    }

    fn device(&self, number: usize) -> Result<&runtime::Device, Failure> {
        self.core()?.device(number)
    }

    /// Version of the runtime, for messages: major, minor.
    pub fn version(&self) -> Option<(u16, u16)> {
        runtime::version(&self.core().ok()?.api).ok()
    }
}

impl Accelerator for Hsa {
    fn devices(&self) -> &[Device] {
        &self.devices
    }

    fn allocate(&self, device: usize, kind: MemoryKind, layout: Layout) -> Result<u64, Failure> {
        self.core()?.memory.allocate(device, kind, layout)
    }

    fn free(&self, address: u64) {
        if let Ok(core) = self.core() {
            core.memory.free(address);
        }
    }

    fn register_host(&self, address: u64, bytes: usize) -> Result<u64, Failure> {
        self.core()?.memory.register(address, bytes as u64)
    }

    fn unregister_host(&self, address: u64) {
        if let Ok(core) = self.core() {
            core.memory.unregister(address);
        }
    }

    fn load(&self, device: usize, image: &Image<'_>) -> Result<Arc<dyn Code>, Failure> {
        Ok(Arc::new(HsaCode::load(self.core()?, device, image)?))
    }

    fn accepts(&self, kind: ImageKind) -> bool {
        matches!(kind, ImageKind::CodeObject | ImageKind::Ptx)
    }

    fn check(&self, dispatch: &Dispatch) -> Result<(), Failure> {
        if dispatch.cluster.is_some_and(|sides| sides != [1; 3]) {
            let why = "a launch with clusters of several blocks: backend hsa has none";
            return Err(Failure::NotSupported(why.into()));
        }
        // Checked when the launch is made, not when its turn comes.
        match dispatch.code.as_any().downcast_ref::<HsaCode>() {
            Some(code) => code.prepare(dispatch, &Beside::default()).map(drop),
            None => Ok(()),
        }
    }

    fn queue(&self, device: usize, priority: i32) -> Result<Arc<dyn Queue>, Failure> {
        let core = self.core()?;
        let ring = core.device(device)?.rings.take(priority < 0)?;
        Ok(Arc::new(Stream::new(core.clone(), device, ring)))
    }

    fn copy_now(&self, to: u64, from: u64, bytes: usize) -> Result<(), Failure> {
        self.core()?.memory.copy_bytes(to, from, bytes)
    }

    fn now(&self) -> u64 {
        self.core().map_or(0, |core| core.now())
    }

    fn set_heap_limit(&self, device: usize, bytes: u64) {
        if let Ok(device) = self.device(device) {
            device.heap.set_limit(bytes);
        }
    }

    fn set_stack_limit(&self, device: usize, bytes: u64) {
        if let Ok(device) = self.device(device) {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            device.stack.store(bytes, Ordering::Relaxed);
        }
    }

    fn is_heap_used(&self, device: usize) -> bool {
        self.device(device).is_ok_and(|device| device.heap.is_used())
    }
}
