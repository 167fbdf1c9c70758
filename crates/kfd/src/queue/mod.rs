//! Queues: one thread each, which polls the doorbell and executes packets.
//!
//! Owns: creating, stopping, waiting for work. Must not know: the contents of packets.

pub mod aql;
pub mod machine;
pub mod sdma;
mod shared;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::model;
use crate::status::{Status, say};
use machine::Machine;
use shared::Shared;

/// HSA_QUEUE_TYPE.
const SDMA: [u32; 2] = [2, 5];
const AQL: u32 = 21;

struct Queue {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

static QUEUES: Mutex<BTreeMap<u64, Queue>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

/// hsaKmtCreateQueue.
///
/// # Safety
///
/// `ring` has `bytes` bytes as long as the queue exists; `resource` is an HsaQueueResource, for AQL
/// with the pointers into the runtime's amd_queue_t.
pub unsafe fn create(node: u32, kind: u32, ring: u64, bytes: u64, resource: *mut u8) -> Status {
    if resource.is_null() || ring == 0 || !bytes.is_power_of_two() || bytes < 256 {
        return Status::InvalidParameter;
    }
    let Some(model) = model::of(node) else { return Status::InvalidNode };
    let (aql, first) = match kind {
        AQL => (true, -1),
        kind if SDMA.contains(&kind) => (false, 0),
        _ => return Status::NotSupported,
    };
    let shared = Arc::new(Shared {
        doorbell: AtomicI64::new(first),
        read: AtomicU64::new(0),
        write: AtomicU64::new(0),
        stop: Arc::new(AtomicBool::new(false)),
    });
    // SAFETY: an HsaQueueResource, by the caller's promise.
    let read_pointer = unsafe { resource.add(24).cast::<u64>().read_unaligned() };
    if aql && read_pointer == 0 {
        return Status::InvalidParameter;
    }
    let mine = shared.clone();
    let work = move || {
        let machine = Machine { stop: &mine.stop, node };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if aql {
                // The queue's description holds the pointer at 0x80.
                aql::work(&mine, &machine, model.isa, (ring, bytes / 64), read_pointer - 0x80);
            } else {
                sdma::work(&mine, &machine, ring, bytes);
            }
        }));
        if result.is_err() && aql {
            aql::broken(&machine, read_pointer - 0x80);
        } else if result.is_err() {
            say("a copy engine stopped by an internal error");
        }
    };
    let Some(thread) = spawn(work) else { return Status::NoMemory };
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    // SAFETY: an HsaQueueResource, by the caller's promise; the cells live in `shared`, which the table holds.
    unsafe {
        resource.cast::<u64>().write_unaligned(id);
        resource.add(8).cast::<u64>().write_unaligned(shared.doorbell.as_ptr() as u64);
        if !aql {
            resource.add(16).cast::<u64>().write_unaligned(shared.write.as_ptr() as u64);
            resource.add(24).cast::<u64>().write_unaligned(shared.read.as_ptr() as u64);
        }
    }
    QUEUES
        .lock()
        .unwrap_or_else(|e| e.into_inner())
        .insert(id, Queue { shared, thread: Some(thread) });
    Status::Success
}

/// Starts a thread that receives none of the program's signals.
fn spawn(work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    // SAFETY: both sets are valid; the mask is put back.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let thread = std::thread::Builder::new().name("gpu-queue".to_owned()).spawn(work);
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
        thread.ok()
    }
}

/// hsaKmtDestroyQueue: running work is cancelled.
pub fn destroy(id: u64) -> Status {
    let queue = QUEUES.lock().unwrap_or_else(|e| e.into_inner()).remove(&id);
    let Some(mut queue) = queue else { return Status::InvalidParameter };
    queue.shared.stop.store(true, Ordering::SeqCst);
    if let Some(thread) = queue.thread.take()
        && thread.thread().id() != std::thread::current().id()
    {
        let _ = thread.join();
    }
    Status::Success
}

/// hsaKmtUpdateQueue: priorities and shares have no effect here.
pub fn update(id: u64) -> Status {
    let known = QUEUES.lock().unwrap_or_else(|e| e.into_inner()).contains_key(&id);
    if known { Status::Success } else { Status::InvalidParameter }
}
