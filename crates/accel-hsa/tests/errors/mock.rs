//! An HSA runtime for tests: all functions of the table, in this process, synchronous.
//!
//! Owns the list of live objects (which shows leaks), the call that fails next, and a GPU that runs a packet when its
//! doorbell rings. A kernel adds its number of work-items to the word that its argument points to; kernel object
//! [`BAD`] stops its queue, [`WILD`] accesses unmapped memory.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard};

use cushim_accel_hsa::ffi::*;

/// The kernel object of a kernel that stops its queue.
pub const BAD: u64 = 0xbad0;
/// The kernel object of a kernel that touches [`NOWHERE`].
pub const WILD: u64 = 0xbad1;
/// The unmapped address that [`WILD`] touches.
pub const NOWHERE: u64 = 0xdead_b000;

const CPU: Agent = Agent(1);
const GPU: Agent = Agent(2);

/// Live objects, and the call that fails.
#[derive(Default)]
pub struct State {
    /// Live objects by kind.
    pub alive: BTreeMap<&'static str, i64>,
    /// Calls so far, by name.
    pub calls: HashMap<&'static str, u32>,
    /// The call that fails: function, number of the call, status.
    pub fail: Option<(&'static str, u32, Status)>,
    /// Whether that call has failed.
    pub failed: bool,
    /// The status with which [`BAD`] stops its queue.
    pub says: Status,
    /// The kernel object of every kernel.
    pub object: u64,
    /// Private to the mock.
    pub sizes: HashMap<usize, usize>,
    pub queues: HashMap<usize, Told>,
    pub handler: Option<OnEvent>,
}

/// A queue's error callback and indices.
#[derive(Clone, Copy)]
pub struct Told {
    callback: OnQueueError,
    data: usize,
    read: u64,
    write: u64,
    stopped: bool,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Locks the state; creates it at the first use.
pub fn state() -> impl std::ops::DerefMut<Target = State> {
    struct Held(MutexGuard<'static, Option<State>>);
    impl std::ops::Deref for Held {
        type Target = State;
        fn deref(&self) -> &State {
            self.0.as_ref().unwrap()
        }
    }
    impl std::ops::DerefMut for Held {
        fn deref_mut(&mut self) -> &mut State {
            self.0.as_mut().unwrap()
        }
    }
    let mut held = STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    held.get_or_insert_with(State::default);
    Held(held)
}

/// Counts a call; returns an error if this call must fail.
fn enter(name: &'static str) -> Result<(), Status> {
    let mut state = state();
    let calls = state.calls.entry(name).or_default();
    *calls += 1;
    let number = *calls;
    match state.fail {
        Some((which, at, status)) if which == name && at == number => {
            state.failed = true;
            Err(status)
        }
        _ => Ok(()),
    }
}

fn live(kind: &'static str, by: i64) {
    *state().alive.entry(kind).or_default() += by;
}

/// Functions that free something: they free it even when they return an error.
pub const GIVE_BACK: [&str; 7] = [
    "hsa_shut_down",
    "hsa_amd_memory_pool_free",
    "hsa_amd_memory_unlock",
    "hsa_signal_destroy",
    "hsa_queue_destroy",
    "hsa_code_object_reader_destroy",
    "hsa_executable_destroy",
];

/// Functions that return a status: each counts its calls and can fail on request.
macro_rules! calls {
    ($(fn $name:ident($($argument:ident: $ty:ty),*) $body:block)*) => {
        $(unsafe extern "C" fn $name($($argument: $ty),*) -> Status {
            let answer = enter(stringify!($name)).err().unwrap_or(SUCCESS);
            if answer != SUCCESS && !GIVE_BACK.contains(&stringify!($name)) {
                return answer;
            }
            // SAFETY: the arguments are as the function's description says.
            #[allow(unused_unsafe)]
            unsafe { $body }
            answer
        })*

        /// Finds a function by its name.
        pub fn find(name: &CStr) -> *mut c_void {
            match name.to_str().unwrap() {
                $(stringify!($name) => $name as *mut c_void,)*
                "hsa_signal_load_scacquire" => load as *mut c_void,
                "hsa_signal_store_relaxed" | "hsa_signal_store_screlease" => store as *mut c_void,
                "hsa_signal_wait_scacquire" => wait as *mut c_void,
                "hsa_queue_load_read_index_scacquire" => read_index as *mut c_void,
                "hsa_queue_load_write_index_relaxed" => write_index as *mut c_void,
                "hsa_queue_store_write_index_screlease" => set_write_index as *mut c_void,
                _ => std::ptr::null_mut(),
            }
        }
    };
}

unsafe fn put<T>(to: *mut c_void, value: T) {
    // SAFETY: the caller passes a valid place.
    unsafe { to.cast::<T>().write_unaligned(value) };
}

unsafe fn put_text(to: *mut c_void, text: &str) {
    // SAFETY: the caller passes a place with room for the text and a NUL.
    unsafe {
        to.cast::<u8>().copy_from(text.as_ptr(), text.len());
        to.cast::<u8>().add(text.len()).write(0);
    }
}

const ISA: &str = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";

calls! {
    fn hsa_init() { live("runtime", 1) }
    fn hsa_shut_down() { live("runtime", -1) }
    fn hsa_status_string(_status: Status, to: *mut Text) { *to = c"MOCK: it failed.".as_ptr() }
    fn hsa_system_get_info(what: u32, to: *mut c_void) {
        match what {
            system::TIMESTAMP => put(to, now()),
            system::TIMESTAMP_FREQUENCY => put(to, 1_000_000_000_u64),
            _ => put(to, 1_u16),
        }
    }
    fn hsa_iterate_agents(each: EachAgent, data: *mut c_void) {
        each(CPU, data);
        each(GPU, data);
    }
    fn hsa_agent_get_info(of: Agent, what: u32, to: *mut c_void) {
        match what {
            agent::NAME => put_text(to, "gfx90a"),
            agent::PRODUCT => put_text(to, "Mock"),
            agent::UUID => put_text(to, "GPU-0123456789abcdef"),
            agent::DEVICE => put(to, if of == CPU { agent::IS_CPU } else { agent::IS_GPU }),
            agent::FEATURE => put(to, agent::DISPATCHES),
            agent::CACHE_SIZE => put(to, [0_u32, 1 << 20, 0, 0]),
            agent::WAVEFRONT_SIZE => put(to, 64_u32),
            agent::WORKGROUP_MAX_SIZE => put(to, 1024_u32),
            agent::QUEUE_MAX_SIZE => put(to, 128_u32),
            _ => put(to, 8_u32),
        }
    }
    fn hsa_agent_iterate_isas(_of: Agent, each: EachIsa, data: *mut c_void) { each(Isa(1), data); }
    fn hsa_isa_get_info_alt(_isa: Isa, what: u32, to: *mut c_void) {
        if what == isa::NAME_LENGTH { put(to, ISA.len() as u32) } else { put_text(to, ISA) }
    }
    fn hsa_amd_agent_iterate_memory_pools(of: Agent, each: EachPool, data: *mut c_void) {
        for n in if of == CPU { [10, 11] } else { [20, 21] } {
            each(Pool(n), data);
        }
    }
    fn hsa_amd_memory_pool_get_info(pool: Pool, what: u32, to: *mut c_void) {
        match (what, pool.0) {
            (pool::SEGMENT, 21) => put(to, pool::GROUP),
            (pool::SEGMENT, _) => put(to, pool::GLOBAL),
            (pool::FLAGS, 10) => put(to, pool::KERNARG | pool::FINE),
            (pool::FLAGS, 11) => put(to, pool::FINE),
            (pool::FLAGS, _) => put(to, pool::COARSE),
            (pool::SIZE, 21) => put(to, 65_536_usize),
            (pool::SIZE, _) => put(to, 1_usize << 30),
            _ => put(to, true),
        }
    }
    fn hsa_amd_agent_memory_pool_get_info(_of: Agent, _pool: Pool, _what: u32, to: *mut c_void) { put(to, 1_u32) }
    fn hsa_amd_memory_pool_allocate(_pool: Pool, bytes: usize, _flags: u32, to: *mut *mut c_void) {
        let layout = std::alloc::Layout::from_size_align(bytes, 4096).unwrap();
        let at = std::alloc::alloc_zeroed(layout);
        state().sizes.insert(at.addr(), bytes);
        live("memory", 1);
        *to = at.cast();
    }
    fn hsa_amd_memory_pool_free(at: *mut c_void) {
        let bytes = state().sizes.remove(&at.addr()).expect("memory of the pool's");
        std::alloc::dealloc(at.cast(), std::alloc::Layout::from_size_align(bytes, 4096).unwrap());
        live("memory", -1);
    }
    fn hsa_amd_agents_allow_access(count: u32, _agents: *const Agent, _flags: *const u32, _at: *const c_void) {
        assert_eq!(count, 1);
    }
    fn hsa_amd_memory_lock(at: *mut c_void, _bytes: usize, _agents: *const Agent, _count: i32, to: *mut *mut c_void) {
        live("locked", 1);
        *to = at;
    }
    fn hsa_amd_memory_unlock(_at: *mut c_void) { live("locked", -1) }
    fn hsa_amd_memory_async_copy(
        to: *mut c_void, _to_agent: Agent, from: *const c_void, _from_agent: Agent, bytes: usize, count: u32,
        list: *const Sig, done: Sig
    ) {
        assert_eq!(count == 0, list.is_null(), "as AMD's runtime insists");
        for n in 0..count as usize {
            assert_eq!(load(*list.add(n)), 0, "what it waits for has been submitted before it");
        }
        to.cast::<u8>().copy_from(from.cast(), bytes);
        add(done, -1);
    }
    fn hsa_amd_memory_async_copy_rect(
        to: *const Pitched, to_offset: *const Dim3, from: *const Pitched, from_offset: *const Dim3, range: *const Dim3,
        agent: Agent, _direction: u32, count: u32, list: *const Sig, done: Sig
    ) {
        assert_eq!((agent, *to_offset, *from_offset), (GPU, Dim3::default(), Dim3::default()));
        assert_eq!(count == 0, list.is_null(), "as AMD's runtime insists");
        for n in 0..count as usize {
            assert_eq!(load(*list.add(n)), 0, "what it waits for has been submitted before it");
        }
        let (to, from, range) = (*to, *from, *range);
        assert!([to, from].iter().all(|end| end.base % 4 + end.pitch % 4 + end.slice % 4 == 0));
        for z in 0..u64::from(range.z) {
            for y in 0..u64::from(range.y) {
                let at = |end: Pitched| (end.base + z * end.slice + y * end.pitch) as usize;
                let row: *mut u8 = std::ptr::with_exposed_provenance_mut(at(to));
                row.copy_from(std::ptr::with_exposed_provenance(at(from)), range.x as usize);
            }
        }
        add(done, -1);
    }
    fn hsa_memory_copy(to: *mut c_void, from: *const c_void, bytes: usize) {
        to.cast::<u8>().copy_from(from.cast(), bytes);
    }
    fn hsa_amd_memory_fill(to: *mut c_void, value: u32, count: usize) {
        assert!(to.addr().is_multiple_of(4));
        for n in 0..count {
            to.cast::<u32>().add(n).write(value);
        }
    }
    fn hsa_amd_register_system_event_handler(handler: OnEvent, _data: *mut c_void) {
        state().handler = Some(handler);
    }
    fn hsa_amd_profiling_set_profiler_enabled(_queue: *mut Queue, _on: i32) {}
    fn hsa_amd_profiling_async_copy_enable(_on: bool) {}
    fn hsa_amd_profiling_get_dispatch_time(_of: Agent, _done: Sig, to: *mut Times) {
        *to = Times { begin: now(), end: now() };
    }
    fn hsa_amd_profiling_get_async_copy_time(_done: Sig, to: *mut Times) {
        *to = Times { begin: now(), end: now() };
    }
    fn hsa_signal_create(value: i64, _count: u32, _list: *const Agent, to: *mut Sig) {
        live("signals", 1);
        *to = Sig(Box::into_raw(Box::new(AtomicI64::new(value))).expose_provenance() as u64);
    }
    fn hsa_signal_destroy(signal: Sig) {
        live("signals", -1);
        drop(Box::from_raw(std::ptr::with_exposed_provenance_mut::<AtomicI64>(signal.0 as usize)));
    }
    fn hsa_queue_create(
        _of: Agent, size: u32, _kind: u32, callback: OnQueueError, data: *mut c_void, _private: u32, _group: u32,
        to: *mut *mut Queue
    ) {
        let base = vec![[1_u32; 16]; size as usize].leak().as_mut_ptr();
        let doorbell = Sig(1 << 63);
        let queue = Queue { kind: 0, features: 1, base, doorbell, size, reserved: 0, id: 1 };
        let queue = Box::into_raw(Box::new(queue));
        let told = Told { callback, data: data.expose_provenance(), read: 0, write: 0, stopped: false };
        state().queues.insert(queue.addr(), told);
        live("queues", 1);
        // The doorbell's value leads back to the queue.
        (*queue).doorbell = Sig(1 << 63 | queue.expose_provenance() as u64);
        *to = queue;
    }
    fn hsa_queue_destroy(queue: *mut Queue) {
        state().queues.remove(&queue.addr()).expect("a queue");
        let queue = Box::from_raw(queue);
        drop(Vec::from_raw_parts(queue.base, queue.size as usize, queue.size as usize));
        live("queues", -1);
    }
    fn hsa_amd_queue_set_priority(_queue: *mut Queue, _priority: u32) {}
    fn hsa_code_object_reader_create_from_memory(_at: *const c_void, _bytes: usize, to: *mut Reader) {
        live("readers", 1);
        *to = Reader(5);
    }
    fn hsa_code_object_reader_destroy(_reader: Reader) { live("readers", -1) }
    fn hsa_executable_create_alt(_profile: u32, _rounding: u32, _options: Text, to: *mut Executable) {
        live("executables", 1);
        *to = Executable(6);
    }
    fn hsa_executable_destroy(_executable: Executable) { live("executables", -1) }
    fn hsa_executable_load_agent_code_object(_e: Executable, _a: Agent, _r: Reader, _options: Text, _to: *mut u64) {}
    fn hsa_executable_freeze(_executable: Executable, _options: Text) {}
    fn hsa_executable_iterate_agent_symbols(e: Executable, of: Agent, each: EachSymbol, data: *mut c_void) {
        each(e, of, Symbol(7), data);
        each(e, of, Symbol(8), data);
    }
    fn hsa_executable_get_symbol_by_name(_e: Executable, _name: Text, _of: *const Agent, to: *mut Symbol) {
        *to = Symbol(7);
    }
    fn hsa_executable_symbol_get_info(of: Symbol, what: u32, to: *mut c_void) {
        match what {
            symbol::KIND => put(to, u32::from(of == Symbol(7))),
            symbol::NAME_LENGTH => put(to, 5_u32),
            symbol::NAME => put_text(to, "count"),
            symbol::VARIABLE_ADDRESS => put(to, 0x5000_0000_u64),
            symbol::VARIABLE_SIZE => put(to, 4_u32),
            symbol::VARIABLE_IS_CONST | symbol::DYNAMIC_STACK => put(to, 0_u8),
            symbol::KERNEL_OBJECT => { let object = state().object; put(to, object) }
            _ => put(to, 8_u32),
        }
    }
}

fn now() -> u64 {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed().as_nanos() as u64
}

unsafe fn of(signal: Sig) -> &'static AtomicI64 {
    // SAFETY: the signal is alive.
    unsafe { &*std::ptr::with_exposed_provenance::<AtomicI64>(signal.0 as usize) }
}

unsafe fn add(signal: Sig, by: i64) {
    if signal.0 != 0 {
        // SAFETY: the caller passes a live signal.
        unsafe { of(signal) }.fetch_add(by, Ordering::AcqRel);
    }
}

unsafe extern "C" fn load(signal: Sig) -> i64 {
    // SAFETY: the caller passes a live signal.
    unsafe { of(signal) }.load(Ordering::Acquire)
}

unsafe extern "C" fn store(signal: Sig, value: i64) {
    if signal.0 >> 63 == 1 {
        // SAFETY: this signal is a queue's doorbell.
        return unsafe { ring((signal.0 & !(1 << 63)) as usize) };
    }
    // SAFETY: the caller passes a live signal.
    unsafe { of(signal) }.store(value, Ordering::Release);
}

unsafe extern "C" fn wait(signal: Sig, condition: u32, value: i64, _hint: u64, _state: u32) -> i64 {
    assert_eq!(condition, LESS);
    for _ in 0..1000 {
        // SAFETY: the caller passes a live signal.
        let now = unsafe { load(signal) };
        if now < value {
            return now;
        }
        std::thread::yield_now();
    }
    // The real runtime may return early, too.
    // SAFETY: the caller passes a live signal.
    unsafe { load(signal) }
}

unsafe extern "C" fn read_index(queue: *const Queue) -> u64 {
    state().queues.get(&queue.addr()).expect("a queue").read
}

unsafe extern "C" fn write_index(queue: *const Queue) -> u64 {
    state().queues.get(&queue.addr()).expect("a queue").write
}

unsafe extern "C" fn set_write_index(queue: *const Queue, to: u64) {
    state().queues.get_mut(&queue.addr()).expect("a queue").write = to;
}

/// Runs the packets of a queue.
unsafe fn ring(queue: usize) {
    loop {
        let told = *state().queues.get(&queue).expect("a queue");
        if told.read == told.write || told.stopped {
            return;
        }
        // SAFETY: the queue is alive, and the packet was written before the doorbell rang.
        let packet = unsafe {
            let queue = &*std::ptr::with_exposed_provenance::<Queue>(queue);
            *queue.base.add((told.read & u64::from(queue.size - 1)) as usize)
        };
        // SAFETY: the tests submit valid packets.
        if unsafe { execute(&packet, queue, told) } {
            return;
        }
        state().queues.get_mut(&queue).expect("a queue").read += 1;
    }
}

/// Runs a packet; returns whether the queue stops there.
unsafe fn execute(packet: &Packet, queue: usize, told: Told) -> bool {
    let pair = |n: usize| u64::from(packet[n]) | u64::from(packet[n + 1]) << 32;
    assert_eq!(packet[0] & 0xff00, 0x1500, "the barrier bit, and fences of the system's scope");
    if packet[0] & 0xff == 3 {
        for n in (2..12).step_by(2).filter(|n| pair(*n) != 0) {
            // SAFETY: the packet names a live signal.
            let value = unsafe { load(Sig(pair(n))) };
            assert_eq!(value, 0, "what it waits for has been submitted before it");
        }
    } else if matches!(pair(8), BAD | WILD) {
        state().queues.get_mut(&queue).expect("a queue").stopped = true;
        let (says, handler, wild) = {
            let s = state();
            (s.says, s.handler, pair(8) == WILD)
        };
        // On another thread, as the runtime does.
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(2));
            // SAFETY: the registered callback with its data, or the registered handler.
            unsafe {
                if wild {
                    let event = Event { kind: 0, agent: GPU, address: NOWHERE, reasons: 1 };
                    assert_eq!(
                        handler.expect("a handler")(&raw const event, std::ptr::null_mut()),
                        SUCCESS
                    );
                } else {
                    let data = std::ptr::with_exposed_provenance_mut(told.data);
                    (told.callback)(says, std::ptr::with_exposed_provenance_mut(queue), data);
                }
            }
        });
        return true;
    } else {
        let items: u32 = packet[3] * packet[4] * packet[5];
        // SAFETY: the kernarg segment begins with the address of a number.
        unsafe {
            let arguments: *const u64 = std::ptr::with_exposed_provenance(pair(10) as usize);
            let to: *mut u32 = std::ptr::with_exposed_provenance_mut(arguments.read() as usize);
            *to += items;
        }
    }
    // SAFETY: a live signal, or 0.
    unsafe { add(Sig(pair(14)), -1) };
    false
}
