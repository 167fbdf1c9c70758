//! A queue of the runtime, into which packets are written.
//!
//! Owns the ring, who may write to it, and a device's pool of rings. Every packet waits for the one before it, so the
//! packets of one ring run in order. Must not know: streams, what a packet computes.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use cushim_accel::Failure;
use cushim_accel::locks::lock;

use crate::agents::Gpu;
use crate::api::Api;
use crate::callback::caught;
use crate::calls::Calls;
use crate::fault;
use crate::ffi::*;
use crate::flight::{Flight, Flights};
use crate::heap::Heap;
use crate::memory::Memory;
use crate::wire;

/// The most rings of a device and priority: more streams share them. HIP's runtime has as many by
/// default.
const MOST: usize = 4;
/// Packets of a ring, where the device has room for them.
const SIZE: u32 = 4096;
/// The smallest that is tried.
const LEAST: u32 = 64;

/// A queue.
pub struct Ring {
    api: Api,
    agent: Agent,
    /// Lanes of a wave.
    lanes: u32,
    queue: *mut Queue,
    /// The data of the runtime's callback: at a fixed address as long as the queue exists.
    notice: Box<Notice>,
    /// The service for its kernels' host calls.
    calls: OnceLock<Result<Calls, Failure>>,
    home: Home,
}

/// What a device's rings need.
#[derive(Clone)]
pub struct Home {
    /// Its number.
    pub device: usize,
    /// All memory.
    pub memory: Arc<Memory>,
    /// The heap of kernels' `malloc`.
    pub heap: Arc<Heap>,
}

// SAFETY: the runtime's functions accept its queue on any thread; its slots
// are written with the list of `Notice` locked.
unsafe impl Send for Ring {}
// SAFETY: the runtime's functions accept its queue on any thread; its slots
// are written with the list of `Notice` locked.
unsafe impl Sync for Ring {}

struct Notice {
    api: Api,
    flights: Arc<Flights>,
    /// An assertion has failed in a kernel.
    asserted: Arc<AtomicBool>,
}

/// Why a packet was not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The ring is full for now.
    Full,
    /// The queue has failed.
    Failed(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused::Failed(failure)
    }
}

/// The runtime calls it on its own thread when a queue has stopped.
unsafe extern "C" fn on_error(status: Status, _queue: *mut Queue, data: *mut c_void) {
    if status == SUCCESS {
        return;
    }
    // SAFETY: the notice of this queue, which lives until the queue is destroyed.
    let notice = unsafe { &*data.cast::<Notice>() };
    caught(|| {
        let asserted = notice.asserted.load(Ordering::Acquire);
        notice.flights.fail(|what| fault::of_queue(&notice.api, status, asserted, what));
        SUCCESS
    });
}

impl Ring {
    fn new(api: Api, gpu: &Gpu, home: &Home, urgent: bool) -> Result<Ring, Failure> {
        let notice = Box::new(Notice { api, flights: Arc::default(), asserted: Arc::default() });
        let data = std::ptr::from_ref(&*notice).cast_mut().cast();
        let mut size = SIZE.min(gpu.queue.max(LEAST));
        let queue = loop {
            let mut queue = std::ptr::null_mut();
            // SAFETY: the callback's data stay in place until the queue is destroyed; the runtime chooses sizes of
            // segments by each packet.
            let status = unsafe {
                let (any, kind) = (u32::MAX, QUEUE_MULTI);
                (api.hsa_queue_create)(
                    gpu.agent,
                    size,
                    kind,
                    on_error,
                    data,
                    any,
                    any,
                    &raw mut queue,
                )
            };
            match api.check("hsa_queue_create", status) {
                Ok(()) => break queue,
                Err(Failure::OutOfMemory) if size > LEAST => size /= 2,
                Err(why) => return Err(why),
            }
        };
        // From here on a failure destroys it.
        let (lanes, calls) = (gpu.wavefront, OnceLock::new());
        let ring = Ring { api, agent: gpu.agent, lanes, queue, notice, calls, home: home.clone() };
        // SAFETY: a queue that was just made.
        let status = unsafe { (api.hsa_amd_profiling_set_profiler_enabled)(queue, 1) };
        api.check("hsa_amd_profiling_set_profiler_enabled", status)?;
        if urgent {
            // SAFETY: the queue was made above, and is only destroyed when the ring is dropped.
            let status = unsafe { (api.hsa_amd_queue_set_priority)(queue, PRIORITY_HIGH) };
            api.check("hsa_amd_queue_set_priority", status)?;
        }
        Ok(ring)
    }

    /// Its address, for kernels that need it.
    pub fn address(&self) -> u64 {
        self.queue.expose_provenance() as u64
    }

    /// The service for its kernels' host calls; made when the first such kernel is launched.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn calls(&self) -> Result<&Calls, Failure> {
        let Notice { flights, asserted, .. } = &*self.notice;
        let Home { device, memory, heap } = &self.home;
        let make = || Calls::new(memory, heap, (*device, self.lanes), flights, asserted);
        self.calls.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// The work under way in it.
    pub fn flights(&self) -> &Flights {
        &self.notice.flights
    }

    /// Submits a dispatch, or only a barrier, behind all signals in `waits`.
    ///
    /// # Errors
    /// The ring is full, or has failed.
    pub fn submit(
        &self,
        waits: &[Sig],
        dispatch: Option<&wire::Shape>,
        flight: &Arc<Flight>,
    ) -> Result<(), Refused> {
        let done = flight.signal.sig;
        let mut packets: Vec<Packet> = Vec::with_capacity(2);
        let mut groups = waits.chunks(wire::DEPENDENCIES).peekable();
        while let Some(group) = groups.next() {
            let ends = dispatch.is_none() && groups.peek().is_none();
            packets.push(wire::barrier(group, if ends { done } else { Sig(0) }));
        }
        match dispatch {
            Some(shape) => packets.push(wire::dispatch(shape, done)),
            None if waits.is_empty() => packets.push(wire::barrier(&[], done)),
            None => {}
        }
        self.notice.flights.add(flight, || self.write(&packets))
    }

    /// Writes packets; only one thread may call it at a time.
    fn write(&self, packets: &[Packet]) -> Result<(), Refused> {
        // SAFETY: the queue lives as long as this, and no other thread writes to it.
        unsafe {
            let (base, size) = ((*self.queue).base, u64::from((*self.queue).size));
            let first = (self.api.hsa_queue_load_write_index_relaxed)(self.queue);
            let read = (self.api.hsa_queue_load_read_index_scacquire)(self.queue);
            let end = first + packets.len() as u64;
            if end - read > size {
                return Err(Refused::Full);
            }
            (self.api.hsa_queue_store_write_index_screlease)(self.queue, end);
            for (packet, index) in packets.iter().zip(first..) {
                let slot = base.add((index & (size - 1)) as usize).cast::<u32>();
                slot.add(1).copy_from_nonoverlapping(packet.as_ptr().add(1), packet.len() - 1);
                // The device takes the packet when it sees its first word.
                AtomicU32::from_ptr(slot).store(*packet.as_ptr(), Ordering::Release);
            }
            (self.api.hsa_signal_store_screlease)((*self.queue).doorbell, end as i64 - 1);
        }
        Ok(())
    }

    /// When work ran, in ticks of the system's clock; `None` where the device does not say.
    pub fn times(&self, signal: Sig) -> Option<Times> {
        let mut times = Times::default();
        // SAFETY: a signal that a packet of this agent has completed, and a place for the answer.
        let status = unsafe {
            (self.api.hsa_amd_profiling_get_dispatch_time)(self.agent, signal, &raw mut times)
        };
        (status == SUCCESS).then_some(times)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it is no longer used; its callback is not called after this.
        let _ = unsafe { (self.api.hsa_queue_destroy)(self.queue) };
    }
}

/// The rings of a device: ordinary ones, urgent ones.
pub struct Rings {
    api: Api,
    gpu: Gpu,
    home: Home,
    classes: Mutex<[Vec<Arc<Ring>>; 2]>,
}

impl Rings {
    /// None yet.
    pub fn new(api: Api, gpu: Gpu, home: Home) -> Rings {
        Rings { api, gpu, home, classes: Mutex::default() }
    }

    /// A ring for a new stream: an unused one, a new one, or the one that the fewest streams share.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn take(&self, urgent: bool) -> Result<Arc<Ring>, Failure> {
        let mut classes = lock(&self.classes);
        let [ordinary, pressing] = &mut *classes;
        let rings = if urgent { pressing } else { ordinary };
        rings.retain(|ring| ring.flights().failed().is_none());
        let idlest = rings.iter().min_by_key(|ring| Arc::strong_count(ring)).cloned();
        match idlest {
            // One reference is here, and one in the list.
            Some(ring) if Arc::strong_count(&ring) == 2 || rings.len() >= MOST => Ok(ring),
            other => match Ring::new(self.api, &self.gpu, &self.home, urgent) {
                Ok(ring) => {
                    let ring = Arc::new(ring);
                    rings.push(ring.clone());
                    Ok(ring)
                }
                // The device has fewer rings than the maximum.
                Err(why) => other.ok_or(why),
            },
        }
    }

    /// All rings.
    pub fn all(&self) -> Vec<Arc<Ring>> {
        lock(&self.classes).iter().flatten().cloned().collect()
    }
}
