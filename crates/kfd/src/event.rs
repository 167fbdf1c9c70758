//! Events: threads of the runtime wait for them; queues and kernels raise them.
//!
//! Owns: HsaEvent structures, their states, the mailboxes. Must not know: signals.
//!
//! Raising an event wakes all threads that wait for it. It stays raised only if it is reset manually, or if nobody
//! waited. A flag that the first waiter clears would lose wake-ups.

use std::ptr::NonNull;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::status::Status;

/// Bytes of HsaEvent.
const SIZE: usize = 48;
/// The most events: one mailbox each.
pub const MOST: usize = 4096;
/// Types.
pub const MEMORY: u32 = 8;
/// Wait for ever.
const FOREVER: u32 = u32::MAX - 1;

struct State {
    kind: u32,
    manual: bool,
    raised: bool,
    waiting: u32,
    /// Counts raisings.
    count: u64,
    /// The runtime's structure of the event.
    shown: usize,
}

struct Table {
    events: Vec<Option<State>>,
}

static TABLE: Mutex<Table> = Mutex::new(Table { events: Vec::new() });
static RAISED: Condvar = Condvar::new();

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(|e| e.into_inner())
}

impl Table {
    fn get(&mut self, id: u32) -> Option<&mut State> {
        self.events.get_mut((id as usize).checked_sub(1)?)?.as_mut()
    }

    fn forget(&mut self, id: u32) {
        let place = (id as usize).checked_sub(1);
        if let Some(slot) = place.and_then(|place| self.events.get_mut(place)) {
            *slot = None;
        }
    }

    fn raise(&mut self, id: u32) {
        if let Some(state) = self.get(id) {
            state.count += 1;
            if state.manual || state.waiting == 0 {
                state.raised = true;
            }
        }
    }
}

/// The number of an event that the runtime passes.
///
/// # Safety
///
/// `event` is null or an HsaEvent of [`create`].
unsafe fn number(event: *const u8) -> u32 {
    if event.is_null() {
        return 0;
    }
    // SAFETY: not null, so an HsaEvent by the caller's promise; the number is its first field.
    unsafe { event.cast::<u32>().read_unaligned() }
}

/// hsaKmtCreateEvent. `mailboxes` is the address of the first mailbox.
///
/// # Safety
///
/// `to` is null or points to a pointer.
pub unsafe fn create(
    kind: u32,
    manual: bool,
    raised: bool,
    mailboxes: u64,
    to: *mut *mut u8,
) -> Status {
    let Some(to) = NonNull::new(to) else { return Status::InvalidParameter };
    let mut table = table();
    let free = table.events.iter().position(Option::is_none).unwrap_or(table.events.len());
    if free >= MOST {
        return Status::NoMemory;
    }
    let id = free as u32 + 1;
    let mailbox = mailboxes + 8 * free as u64;
    let mut bytes = [0u8; SIZE];
    bytes[0..4].copy_from_slice(&id.to_le_bytes());
    bytes[4..8].copy_from_slice(&kind.to_le_bytes());
    bytes[28..36].copy_from_slice(&u64::from(id).to_le_bytes());
    bytes[36..44].copy_from_slice(&mailbox.to_le_bytes());
    bytes[44..48].copy_from_slice(&id.to_le_bytes());
    let shown = Box::into_raw(Box::new(bytes)).cast::<u8>();
    let state = State { kind, manual, raised, waiting: 0, count: 0, shown: shown as usize };
    match table.events.get_mut(free) {
        Some(slot) => *slot = Some(state),
        None => table.events.push(Some(state)),
    }
    // SAFETY: a place for a pointer, by the caller's promise.
    unsafe { to.as_ptr().write_unaligned(shown) };
    Status::Success
}

/// hsaKmtDestroyEvent.
///
/// # Safety
///
/// `event` is null or an HsaEvent of [`create`] that is no longer used.
pub unsafe fn destroy(event: *mut u8) -> Status {
    // SAFETY: null or an event that `create` made and nobody destroyed, by the caller's promise.
    let id = unsafe { number(event) };
    let mut table = table();
    match table.get(id) {
        Some(state) if state.shown == event as usize => {}
        _ => return Status::InvalidHandle,
    }
    table.forget(id);
    RAISED.notify_all();
    // SAFETY: it was made by `create` from such a box, and the table, which held it, has forgotten it.
    drop(unsafe { Box::from_raw(event.cast::<[u8; SIZE]>()) });
    Status::Success
}

/// Raises an event by its number; ignores unknown numbers.
pub fn raise(id: u32) {
    table().raise(id);
    RAISED.notify_all();
}

/// An interrupt by a kernel: it has eight bits of the event's number; the mailboxes have the rest.
pub fn interrupt(partial: u32, mailbox: impl Fn(usize) -> bool) {
    let mut table = table();
    for id in 1..=table.events.len() as u32 {
        if id & 0xff == partial & 0xff && mailbox(id as usize - 1) {
            table.raise(id);
        }
    }
    drop(table);
    RAISED.notify_all();
}

/// hsaKmtSetEvent.
///
/// # Safety
///
/// `event` is null or an HsaEvent of [`create`].
pub unsafe fn set(event: *const u8) -> Status {
    // SAFETY: null or an event that `create` made and nobody destroyed, by the caller's promise.
    let id = unsafe { number(event) };
    if table().get(id).is_none() {
        return Status::InvalidHandle;
    }
    raise(id);
    Status::Success
}

/// Stores a fault in all memory events and raises them.
pub fn fault(node: u32, address: u64, present: bool, write: bool) {
    let mut table = table();
    for id in 1..=table.events.len() as u32 {
        let Some(state) = table.get(id).filter(|state| state.kind == MEMORY) else { continue };
        let shown = state.shown as *mut u8;
        let failure = u32::from(!present) | u32::from(present && write) << 1;
        // SAFETY: the structure lives while the table holds it; the runtime reads it only after the event.
        unsafe {
            shown.add(8).cast::<u32>().write_unaligned(node);
            shown.add(12).cast::<u64>().write_unaligned(address);
            shown.add(20).cast::<u32>().write_unaligned(failure);
            shown.add(24).cast::<u32>().write_unaligned(1);
        }
        table.raise(id);
    }
    drop(table);
    RAISED.notify_all();
}

/// hsaKmtWaitOnMultipleEvents.
///
/// # Safety
///
/// `events` holds `count` pointers to HsaEvents of [`create`].
pub unsafe fn wait(events: *const *mut u8, count: u32, all: bool, milliseconds: u32) -> Status {
    if events.is_null() && count > 0 {
        return Status::InvalidParameter;
    }
    // SAFETY: the caller promises `count` pointers there, each to an event of `create`.
    let ids: Vec<u32> =
        (0..count as usize).map(|i| unsafe { number(events.add(i).read_unaligned()) }).collect();
    let end = (milliseconds < FOREVER)
        .then(|| Instant::now() + Duration::from_millis(u64::from(milliseconds)));
    let mut table = table();
    let mut counts = Vec::with_capacity(ids.len());
    for id in &ids {
        let Some(state) = table.get(*id) else { return Status::InvalidHandle };
        state.waiting += 1;
        counts.push(state.count);
    }
    let status = loop {
        let came = |(id, count): &(&u32, &u64)| {
            table.get(**id).is_none_or(|s| s.raised || s.count != **count)
        };
        let ready = ids.iter().zip(&counts).filter(came).count();
        if ready == ids.len() || ready > 0 && !all {
            break Status::Success;
        }
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            break Status::WaitTimeout;
        }
        let most = left.unwrap_or(Duration::from_secs(3600));
        table = RAISED.wait_timeout(table, most).unwrap_or_else(|e| e.into_inner()).0;
    };
    for id in ids {
        if let Some(state) = table.get(id) {
            state.waiting -= 1;
            if status == Status::Success && !state.manual {
                state.raised = false;
            }
        }
    }
    status
}
