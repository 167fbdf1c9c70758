//! Calls of cushim's driver on the CPU about mapped and shared memory and conditional nodes, with any values.
//!
//! Owns the list of calls: virtual memory management, handles for other processes, pools with descriptors, conditional
//! nodes of graphs. Handles and data that programs pass between processes come back damaged. Promised and checked:
//! no call faults or hangs, a failed call leaves its output unchanged, and after all frees nothing is in use.

use std::sync::OnceLock;

use cushim_abi::types::*;
use vcuda::api;

const UNIT: usize = 2 << 20;
/// The value of outputs before a call.
const BEFORE: usize = 0xa5a5_a5a5;

fn start() {
    static START: OnceLock<()> = OnceLock::new();
    START.get_or_init(|| {
        let mut context = Context(0);
        // SAFETY: places for the results; no other thread runs yet.
        unsafe {
            std::env::set_var("CUSHIM_BACKEND", "cpu");
            // Free memory depends on nothing else on the machine.
            std::env::set_var("CUSHIM_CPU_MEMORY", "1G");
            assert_eq!(api::cuInit(Flags(0)), 0);
            assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0)), 0);
            assert_eq!(api::cuCtxSetCurrent(context), 0);
        }
    });
}

/// Memory that nodes may write at any time.
fn target() -> u64 {
    static TARGET: OnceLock<usize> = OnceLock::new();
    *TARGET.get_or_init(|| {
        let mut at = Ptr(0);
        // SAFETY: a place for the result.
        assert_eq!(unsafe { api::cuMemAlloc_v2(Out(&raw mut at), 256) }, 0);
        at.0
    }) as u64
}

fn place<T>(value: &mut T) -> Ptr {
    Ptr(std::ptr::from_mut(value).expose_provenance())
}

/// Reads numbers from the input; zeros once it has ended.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(*first)
    }

    fn one(&mut self, of: &[usize]) -> usize {
        let at = self.byte();
        match at % 16 {
            0 => 0,
            1 => at,
            2 => usize::MAX - at,
            _ => of.get(at % of.len().max(1)).copied().unwrap_or(0),
        }
    }

    /// A size in bytes: mostly whole units.
    fn size(&mut self) -> usize {
        let n = self.byte();
        match n % 8 {
            0 => n,
            1 => n << 12,
            2 => UNIT << (n >> 3),
            3 => usize::MAX - (n << 12),
            _ => (n % 5) * UNIT,
        }
    }

    /// Changes some of 64 bytes.
    fn damage(&mut self, bytes: &mut [u8; 64]) {
        for _ in 0..self.byte() % 4 {
            let at = self.byte() % 64;
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= self.byte() as u8;
            }
        }
    }
}

/// The objects that earlier calls created.
#[derive(Default)]
struct World {
    addresses: Vec<(usize, usize)>,
    memory: Vec<usize>,
    device: Vec<usize>,
    pools: Vec<usize>,
    events: Vec<usize>,
    graphs: Vec<usize>,
    instances: Vec<usize>,
    /// Handles of conditions, and whether the value can differ from 0.
    conditions: Vec<(usize, bool)>,
    descriptors: Vec<i32>,
    told: Vec<[u8; 64]>,
}

impl World {
    fn address(&self, input: &mut Input<'_>) -> usize {
        let all: Vec<usize> = self.addresses.iter().map(|(at, _)| *at).collect();
        input.one(&all).wrapping_add((input.byte() % 4) * UNIT)
    }

    fn told(&self, input: &mut Input<'_>) -> [u8; 64] {
        let at = input.byte() % self.told.len().max(1);
        let mut bytes = self.told.get(at).copied().unwrap_or([7; 64]);
        input.damage(&mut bytes);
        bytes
    }

    fn descriptor(&self, input: &mut Input<'_>) -> usize {
        let all: Vec<usize> = self.descriptors.iter().map(|fd| *fd as usize).collect();
        input.one(&all)
    }
}

/// Keeps what a call created; a failed call must not have written.
fn keep(code: i32, made: usize, to: &mut Vec<usize>) {
    match code {
        0 => to.push(made),
        _ => assert_eq!(made, BEFORE, "answered {code} and wrote"),
    }
}

/// Makes calls until the input ends, and frees everything.
pub fn calls(data: &[u8]) {
    start();
    target();
    let (mut world, mut input) = (World::default(), Input(data));
    let before = free();
    while !input.0.is_empty() {
        match input.byte() % 3 {
            0 => mapped(&mut world, &mut input),
            1 => shared(&mut world, &mut input),
            _ => chosen(&mut world, &mut input),
        }
    }
    end(world);
    assert_eq!(free(), before, "all was given back");
}

fn free() -> usize {
    let (mut free, mut total) = (0usize, 0usize);
    // SAFETY: places for the results.
    let code = unsafe { api::cuMemGetInfo_v2(Out(&raw mut free), Out(&raw mut total)) };
    assert_eq!(code, 0);
    free
}

fn mapped(world: &mut World, input: &mut Input<'_>) {
    let none = Flags64(u64::from(input.byte().is_multiple_of(32)));
    let mut made = BEFORE;
    let to = Out((&raw mut made).cast::<Ptr>());
    let at = world.address(input);
    let handle = Ptr(input.one(&world.memory));
    let bytes = input.size();
    let mut words = [1, 1, 1, 0, 0, 0, 0, 0];
    if input.byte().is_multiple_of(4)
        && let Some(word) = words.get_mut(input.byte() % 8)
    {
        *word = input.byte() as i32 - 2;
    }
    // SAFETY: handles and addresses are looked up; places for results, and structures as large as they must be.
    unsafe {
        match input.byte() % 10 {
            0 => {
                let code = api::cuMemAddressReserve(to, bytes, input.size(), Ptr(at & !4095), none);
                match code {
                    0 => world.addresses.push((made, bytes)),
                    _ => assert_eq!(made, BEFORE),
                }
            }
            1 => {
                if api::cuMemAddressFree(Ptr(at), bytes) == 0 {
                    world.addresses.retain(|(known, _)| *known != at);
                }
            }
            2 => {
                let code = api::cuMemCreate(to, bytes, place(&mut words), none);
                keep(code, made, &mut world.memory);
            }
            3 => {
                if api::cuMemRelease(handle) == 0 {
                    let gone = world.memory.iter().position(|known| *known == handle.0);
                    gone.map(|gone| world.memory.swap_remove(gone));
                }
            }
            4 => drop(api::cuMemMap(Ptr(at), bytes, input.one(&[0, 0, UNIT]), handle, none)),
            5 => drop(api::cuMemUnmap(Ptr(at), bytes)),
            6 => {
                let mut desc = [1, 0, [3, 3, 3, 0, 1, 2][input.byte() % 6]];
                api::cuMemSetAccess(Ptr(at), bytes, place(&mut desc), 1);
            }
            7 => {
                let (mut flags, mut location) = (9u64, [1, input.byte() as i32 % 3]);
                api::cuMemGetAccess(Out(&raw mut flags), place(&mut location), Ptr(at));
                let code = api::cuMemRetainAllocationHandle(to, Ptr(at));
                keep(code, made, &mut world.memory);
            }
            8 => {
                let mut found = [9i32; 8];
                let code = api::cuMemGetAllocationPropertiesFromHandle(place(&mut found), handle);
                assert!((code == 0) != (found == [9; 8]));
            }
            _ => {
                let width = input.byte();
                api::cuMemsetD8_v2(Ptr(at), 7, width);
            }
        }
    }
}

fn shared(world: &mut World, input: &mut Input<'_>) {
    let mut made = BEFORE;
    let to = Out((&raw mut made).cast::<Ptr>());
    let (mut told, mut fd) = ([0u8; 64], -1i32);
    let none = Flags64(0);
    let handle = Ptr(input.one(&world.memory));
    let pool = Ptr(input.one(&world.pools));
    let pointer = Ptr(input.one(&world.device));
    let event = Event(input.one(&world.events));
    // SAFETY: handles and addresses are looked up; places are variables of ours; handle data have 64 bytes.
    unsafe {
        match input.byte() % 12 {
            0 => keep(api::cuMemAlloc_v2(to, input.byte() << 8), made, &mut world.device),
            1 => {
                let mut props = [0i32; 22];
                props[..4].copy_from_slice(&[1, 1, 1, 0]);
                keep(api::cuMemPoolCreate(to, place(&mut props)), made, &mut world.pools);
            }
            2 => {
                let code = api::cuMemAllocFromPoolAsync(to, 1 + input.byte() * 99, pool, Stream(0));
                keep(code, made, &mut world.device);
            }
            3 => {
                if api::cuMemFree_v2(pointer) == 0 {
                    world.device.retain(|known| *known != pointer.0);
                }
            }
            4 => {
                let made = Out((&raw mut made).cast::<Event>());
                let code = api::cuEventCreate(made, Flags(6));
                keep(code, made.0.cast::<usize>().read(), &mut world.events);
            }
            5 => {
                let codes = [
                    api::cuIpcGetMemHandle(place(&mut told), pointer),
                    api::cuIpcGetEventHandle(place(&mut told), event),
                    api::cuMemPoolExportPointer(place(&mut told), pointer),
                ];
                if codes.contains(&0) {
                    world.told.push(told);
                }
            }
            6 => {
                let code = match input.byte() % 2 {
                    0 => api::cuMemExportToShareableHandle(place(&mut fd), handle, 1, none),
                    _ => api::cuMemPoolExportToShareableHandle(place(&mut fd), pool, 1, none),
                };
                assert!((code == 0) == (fd >= 0));
                world.descriptors.extend((code == 0).then_some(fd));
            }
            7 => {
                let osfd = Ptr(world.descriptor(input));
                let code = api::cuMemImportFromShareableHandle(to, osfd, 1);
                keep(code, made, &mut world.memory);
            }
            8 => {
                let osfd = Ptr(world.descriptor(input));
                let code = api::cuMemPoolImportFromShareableHandle(to, osfd, 1, none);
                keep(code, made, &mut world.pools);
            }
            9 => {
                let mut told = world.told(input);
                let code = api::cuMemPoolImportPointer(to, pool, place(&mut told));
                keep(code, made, &mut world.device);
            }
            10 => {
                let told = IpcHandle(world.told(input));
                // It refuses its own handles; it does not know those of other processes.
                assert_ne!(api::cuIpcOpenMemHandle_v2(to, told, Flags(1)), 0);
                let event = Out((&raw mut made).cast::<Event>());
                assert_ne!(api::cuIpcOpenEventHandle(event, told), 0);
                assert_eq!(made, BEFORE);
            }
            _ => {
                api::cuEventRecord(event, Stream(0));
                api::cuStreamWaitEvent(Stream(0), event, Flags(0));
                api::cuIpcCloseMemHandle(pointer);
            }
        }
    }
}

fn chosen(world: &mut World, input: &mut Input<'_>) {
    let mut made = BEFORE;
    let graph = Graph(input.one(&world.graphs));
    // SAFETY: handles are looked up; places are variables of ours with the sizes that the calls need.
    unsafe {
        match input.byte() % 6 {
            0 => {
                let to = Out((&raw mut made).cast::<Graph>());
                let code = api::cuGraphCreate(to, Flags(0));
                keep(code, to.0.cast::<usize>().read(), &mut world.graphs);
            }
            1 => {
                // A loop on a value that is never 0 would not end.
                let (mut handle, default, flags) = (0u64, input.byte() % 3, input.byte() % 3);
                let (to, flags) = (Out(&raw mut handle), Flags(flags as u32));
                let create = api::cuGraphConditionalHandleCreate;
                if create(to, graph, Context(0), default as u32, flags) == 0 {
                    world.conditions.push((handle as usize, default != 0));
                }
            }
            2 => {
                let known = world.conditions.get(input.byte() % world.conditions.len().max(1));
                let (handle, some) = known.copied().unwrap_or((input.byte(), true));
                let kind = [0, if some { 2 } else { 1 }, 2, 3][input.byte() % 4];
                let count = [1, 2, 3, 0, u64::from(u32::MAX)][input.byte() % 5];
                let mut raw = [0u64; 32];
                (raw[0], raw[2], raw[3]) = (13, handle as u64, kind | count << 32);
                let to = Out((&raw mut made).cast::<Node>());
                if api::cuGraphAddNode(to, graph, Ptr(0), 0, place(&mut raw)) == 0 {
                    let bodies = std::ptr::with_exposed_provenance::<usize>(raw[4] as usize);
                    world.graphs.extend((0..count as usize).map(|n| bodies.add(n).read()));
                    let mut back = [0u64; 32];
                    assert_eq!(api::cuGraphNodeGetParams(Node(made), place(&mut back)), 0);
                    assert_eq!(
                        (back[0], back[2], back[3]),
                        (13, handle as u64, kind | count << 32)
                    );
                }
            }
            3 => {
                let mut fill = [target(), 0, 1 << 32, 1, 1];
                let (to, raw) = (Out((&raw mut made).cast::<Node>()), place(&mut fill));
                api::cuGraphAddMemsetNode(to, graph, Ptr(0), 0, raw, Context(0));
            }
            4 => {
                let to = Out((&raw mut made).cast::<GraphExec>());
                let code = api::cuGraphInstantiateWithFlags(to, graph, Flags64(0));
                keep(code, to.0.cast::<usize>().read(), &mut world.instances);
            }
            _ => {
                let exec = GraphExec(input.one(&world.instances));
                if api::cuGraphLaunch(exec, Stream(0)) == 0 {
                    assert_eq!(api::cuCtxSynchronize(), 0);
                }
            }
        }
    }
}

/// Frees everything.
fn end(world: World) {
    // SAFETY: handles are looked up; descriptors were returned by the driver and are closed once.
    unsafe {
        assert_eq!(api::cuCtxSynchronize(), 0);
        for exec in world.instances {
            api::cuGraphExecDestroy(GraphExec(exec));
        }
        for graph in world.graphs {
            api::cuGraphDestroy(Graph(graph));
        }
        for event in world.events {
            api::cuEventDestroy_v2(Event(event));
        }
        for pointer in world.device {
            assert_eq!(api::cuMemFree_v2(Ptr(pointer)), 0);
        }
        for pool in world.pools {
            assert_eq!(api::cuMemPoolDestroy(Ptr(pool)), 0);
        }
        for (at, bytes) in world.addresses {
            let whole = bytes.next_multiple_of(UNIT);
            assert_eq!(api::cuMemUnmap(Ptr(at), whole), 0);
            assert_eq!(api::cuMemAddressFree(Ptr(at), bytes), 0);
        }
        for handle in world.memory {
            assert_eq!(api::cuMemRelease(Ptr(handle)), 0);
        }
        for fd in world.descriptors {
            assert_eq!(libc::close(fd), 0);
        }
    }
}
