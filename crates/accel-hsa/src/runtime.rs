//! State that all modules share: the runtime, the devices, time.
//!
//! Owns starting the runtime and handling memory faults. Must not know: streams, code.

use std::ffi::c_void;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, Weak};

use cushim_accel::Failure;
use cushim_accel::locks::lock;

use crate::agents::{self, Gpu};
use crate::api::Api;
use crate::callback::caught;
use crate::cooperative::Cooperative;
use crate::fault;
use crate::ffi::*;
use crate::flight::Flights;
use crate::heap::Heap;
use crate::kernargs::Kernargs;
use crate::memory::Memory;
use crate::ring::{Home, Rings};
use crate::signals::Signals;

/// The runtime and its objects.
pub struct Core {
    /// Its functions.
    pub api: Api,
    /// The GPUs.
    pub devices: Vec<Device>,
    /// Segments of arguments.
    pub kernargs: Arc<Kernargs>,
    /// Signals.
    pub signals: Arc<Signals>,
    /// All memory.
    pub memory: Arc<Memory>,
    /// Ticks of the system's clock in a second.
    frequency: u64,
    /// Shut down after all fields above are dropped.
    _started: Started,
}

/// A GPU and its work.
pub struct Device {
    /// Its properties.
    pub gpu: Gpu,
    /// Its queues.
    pub rings: Rings,
    /// Copies of its streams under way.
    pub copies: Flights,
    /// The heap of its kernels' `malloc`.
    pub heap: Arc<Heap>,
    /// The least bytes of a thread's stack, where the compiler does not know its depth.
    pub stack: AtomicU32,
    /// Cooperative launches.
    pub cooperative: Cooperative,
}

/// The receivers of memory faults: the runtime's handler cannot be removed.
static HEARING: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());

impl Core {
    /// Starts the runtime.
    ///
    /// # Errors
    /// The runtime's, and the call that failed.
    pub fn start(api: Api) -> Result<Arc<Core>, Failure> {
        // SAFETY: it may be called at any time, and counts. Its threads run no signal handler of the program.
        let status = masked(|| unsafe { (api.hsa_init)() });
        api.check("hsa_init", status)?;
        let started = Started(api);
        let (gpus, host) = agents::find(&api)?;
        // SAFETY: the only argument is a flag.
        let status = unsafe { (api.hsa_amd_profiling_async_copy_enable)(true) };
        api.check("hsa_amd_profiling_async_copy_enable", status)?;
        let frequency: u64 = system(&api, system::TIMESTAMP_FREQUENCY)?;
        let memory = Arc::new(Memory::new(api, gpus.clone().into(), host));
        let device = |(number, gpu): (usize, &Gpu)| {
            let heap = Arc::new(Heap::of(number));
            let home = Home { device: number, memory: memory.clone(), heap: heap.clone() };
            let rings = Rings::new(api, gpu.clone(), home);
            Device {
                gpu: gpu.clone(),
                rings,
                heap,
                copies: Flights::default(),
                stack: AtomicU32::new(0),
                cooperative: Cooperative::new(number, &memory),
            }
        };
        let devices = gpus.iter().enumerate().map(device).collect();
        let core = Arc::new(Core {
            api,
            signals: Signals::new(api),
            kernargs: Kernargs::new(memory.clone()),
            memory,
            devices,
            frequency: frequency.max(1),
            _started: started,
        });
        let mut hearing = lock(&HEARING);
        hearing.retain(|core| core.strong_count() > 0);
        hearing.push(Arc::downgrade(&core));
        drop(hearing);
        // SAFETY: the handler needs no data and is there for ever.
        let status =
            unsafe { (api.hsa_amd_register_system_event_handler)(on_event, std::ptr::null_mut()) };
        // The runtime accepts a handler only once.
        if status != ERROR {
            api.check("hsa_amd_register_system_event_handler", status)?;
        }
        Ok(core)
    }

    /// A device.
    ///
    /// # Errors
    /// No device has this number.
    pub fn device(&self, number: usize) -> Result<&Device, Failure> {
        let none = || Failure::Device(format!("there is no GPU {number}"));
        self.devices.get(number).ok_or_else(none)
    }

    /// Nanoseconds of the system's clock.
    pub fn now(&self) -> u64 {
        system(&self.api, system::TIMESTAMP).map_or(0, |ticks| self.nanoseconds(ticks))
    }

    /// Ticks as nanoseconds.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let all = u128::from(ticks) * 1_000_000_000 / u128::from(self.frequency);
        u64::try_from(all).unwrap_or(u64::MAX)
    }
}

/// The runtime, which counts how often it was started.
struct Started(Api);

impl Drop for Core {
    fn drop(&mut self) {
        for device in &self.devices {
            device.heap.end(&self.memory);
            device.cooperative.end();
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // SAFETY: called as often as it was started, when nothing of it is in use.
        let _ = unsafe { (self.0.hsa_shut_down)() };
    }
}

/// The runtime calls it on its own thread.
unsafe extern "C" fn on_event(event: *const Event, _: *mut c_void) -> Status {
    // SAFETY: null, or an event of the runtime's.
    let Some(event) = (unsafe { event.as_ref() }) else { return ERROR };
    if event.kind != 0 {
        return ERROR;
    }
    caught(|| if heard(event) { SUCCESS } else { ERROR })
}

/// Ends the work on the GPU with a memory fault. Otherwise the runtime reports it and ends the
/// process.
fn heard(event: &Event) -> bool {
    let all: Vec<_> = lock(&HEARING).iter().filter_map(Weak::upgrade).collect();
    let mut known = false;
    for core in &all {
        for device in core.devices.iter().filter(|device| device.gpu.agent == event.agent) {
            known = true;
            device.fail(event.address, event.reasons);
        }
    }
    known
}

impl Device {
    /// A memory fault has ended all work: the runtime does not report the queue that caused it.
    fn fail(&self, address: u64, reasons: u32) {
        for ring in self.rings.all() {
            ring.flights().fail(|what| fault::of_memory(address, reasons, what));
        }
        self.copies.fail(|what| fault::of_memory(address, reasons, what));
    }
}

fn system(api: &Api, what: u32) -> Result<u64, Failure> {
    let mut value = 0_u64;
    // SAFETY: a place of the attribute's type.
    let status = unsafe { (api.hsa_system_get_info)(what, (&raw mut value).cast()) };
    api.check("hsa_system_get_info", status)?;
    Ok(value)
}

/// Version of the runtime: major, minor.
///
/// # Errors
/// What it says.
pub fn version(api: &Api) -> Result<(u16, u16), Failure> {
    Ok((system(api, system::VERSION_MAJOR)? as u16, system(api, system::VERSION_MINOR)? as u16))
}

/// Runs `work` with all signals blocked, which its new threads inherit.
fn masked<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are written before they are read; the mask of this thread is put back.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(&raw mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let done = work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
        done
    }
}
