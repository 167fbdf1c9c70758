//! The accesses that engines report to a checker: the interpreter and compiled code report the same; compiled code need
//! not report bytes that are marked as valid.

use cushim_ptx::exec::{
    Access, BlockWatch, Caller, Cause, Host, KernelLaunch, Marks, Memory as _, RuntimeCall, Touch,
    Watch, lanes,
};
use cushim_ptx::ir::{Inst, Module};
use cushim_ptx_jit::{Arena, Checked, Kernel, interpret};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Accesses of all kinds and with all forms of addresses, and barriers that some lanes skip.
const TEXT: &str = "
.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 room[512];
.visible .entry k(.param .u64 at) {
    .reg .b32 %r<16>;
    .reg .b64 %rd<16>;
    .reg .pred %p<4>;
    ld.param.u64 %rd1, [at];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    st.global.u32 [%rd3+1024], %r2;
    ld.global.u32 %r3, [%rd1+2048];
    mul.lo.u32 %r4, %r1, %r1;
    and.b32 %r4, %r4, 63;
    mul.wide.u32 %rd4, %r4, 8;
    add.u64 %rd5, %rd1, %rd4;
    ld.global.v2.u32 {%r5, %r6}, [%rd5];
    atom.global.add.u32 %r7, [%rd1+3072], %r5;
    mov.u64 %rd6, room;
    cvta.shared.u64 %rd7, %rd6;
    add.u64 %rd8, %rd7, %rd2;
    st.u32 [%rd8], %r6;
    membar.gl;
    bar.warp.sync 0xffffffff;
    bar.sync 0;
    ld.shared.u32 %r8, [room+16];
    setp.lt.u32 %p1, %r1, 40;
    @%p1 st.global.u32 [%rd3+4096], %r8;
    @!%p1 bra DONE;
    bar.sync 1, 64;
DONE:
    ret;
}
";

/// A call of the device runtime, which writes to the caller's local memory.
const CALLS: &str = "
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 result) cudaGetDevice(.param .b64 place);
.visible .entry k(.param .u64 at) {
    .local .align 8 .b8 own[16];
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    mov.u64 %rd1, own;
    cvta.local.u64 %rd2, %rd1;
    add.u64 %rd3, %rd2, 8;
    {
    .param .b64 place;
    st.param.b64 [place], %rd3;
    .param .b32 result;
    call.uni (result), cudaGetDevice, (place);
    ld.param.b32 %r1, [result];
    }
    ld.local.u32 %r2, [%rd1+8];
    ret;
}
";

/// A reported access: block, thread, kind and place, address, bytes; for a barrier its number.
type Shown = BTreeSet<(u32, u32, String, u64, u64)>;

#[derive(Clone)]
struct Looks {
    shown: Arc<Mutex<Shown>>,
    marks: u64,
    refused: Option<u64>,
    bounds: Vec<[u64; 2]>,
}

struct Looking(Looks, u32);

impl Watch for Looks {
    fn marks(&self) -> Marks {
        Marks { base: self.marks }
    }

    fn bounds(&self) -> &[[u64; 2]] {
        &self.bounds
    }

    fn blocks(&self) -> Box<dyn BlockWatch> {
        Box::new(Looking(self.clone(), 0))
    }
}

impl BlockWatch for Looking {
    fn begin(&mut self, block: [u32; 3], shared: u64) {
        assert!(shared == 512 || shared == 0);
        self.1 = block[0];
    }

    fn touch(&mut self, touch: &Touch<'_>) -> Result<(), (usize, Cause)> {
        for lane in lanes(touch.lanes) {
            let at = touch.addresses[lane];
            if Some(at) == self.0.refused {
                let bytes = touch.bytes as u32;
                return Err((lane, Cause::Address { address: at, bytes, space: "global" }));
            }
            let thread = touch.warp * 32 + lane as u32;
            let what = format!("{:?} {}", touch.access, touch.inst.pos);
            self.0.shown.lock().unwrap().insert((self.1, thread, what, at, touch.bytes));
        }
        Ok(())
    }

    fn arrive(&mut self, warp: u32, mask: u32, inst: &Inst, barrier: u32, count: Option<u32>) {
        for lane in lanes(mask) {
            let what = format!("barrier {}", inst.pos);
            let (number, count) = (barrier.into(), count.unwrap_or(0).into());
            let thread = warp * 32 + lane as u32;
            self.0.shown.lock().unwrap().insert((self.1, thread, what, number, count));
        }
    }

    fn order(&mut self, warp: u32, mask: u32, inst: &Inst, members: Option<&[u32; 32]>) {
        for lane in lanes(mask) {
            let what = format!("order {}", inst.pos);
            let named = members.map_or(0, |members| members[lane].into());
            let thread = warp * 32 + lane as u32;
            self.0.shown.lock().unwrap().insert((self.1, thread, what, named, 0));
        }
    }

    fn end(&mut self) {
        self.0.shown.lock().unwrap().insert((self.1, 0, "end".into(), 0, 0));
    }
}

impl Host for Looks {
    fn print(&self, _: &[u8]) {}
    fn allocate(&self, _: u64) -> u64 {
        0
    }
    fn free(&self, _: u64) {}
    fn nanoseconds(&self) -> u64 {
        0
    }
    fn runtime(&self, call: RuntimeCall, caller: &mut dyn Caller) -> Option<Result<u64, Cause>> {
        assert_eq!(call, RuntimeCall::Device);
        assert!(caller.write(caller.argument(0), &[0; 4]));
        Some(Ok(0))
    }
    fn watch(&self) -> Option<&dyn Watch> {
        Some(self)
    }
}

/// Bytes of memory.
const SIZE: usize = 8 << 14;

/// Memory with a mark bit for each byte.
struct Room {
    memory: Vec<u64>,
    marks: Vec<u8>,
}

impl Room {
    fn new() -> Room {
        Room { memory: vec![1; SIZE / 8 + 8], marks: vec![0xff; (1 << 14) + 128] }
    }

    fn at(&self) -> u64 {
        (self.memory.as_ptr() as u64).next_multiple_of(Arena::ALIGNED)
    }

    fn arena(&self) -> Arena {
        // SAFETY: inside the vector; no reference into it exists while kernels run.
        unsafe { Arena::new(self.at(), SIZE as u64) }.unwrap()
    }

    fn looks(&self, refused: Option<u64>) -> Looks {
        let marks = (self.marks.as_ptr() as u64 + 64).wrapping_sub(self.at() / 8);
        Looks { shown: Arc::default(), marks, refused, bounds: Vec::new() }
    }

    /// Marks or unmarks one byte.
    fn mark(&mut self, offset: u64, on: bool) {
        let n = (self.at() + offset) / 8 - self.at() / 8 + 64;
        let bit = 1 << ((self.at() + offset) % 8);
        let byte = &mut self.marks[n as usize];
        *byte = if on { *byte | bit } else { *byte & !bit };
    }
}

fn module(text: &str) -> Arc<Module> {
    Arc::new(cushim_ptx::texts::module(&[text.as_bytes()], true).unwrap())
}

/// Runs two blocks of 64 threads of [`TEXT`]: compiled with these checks, or interpreted.
fn run(room: &Room, looks: &Looks, checked: Option<Checked>) -> Result<(), String> {
    run_text(TEXT, room, looks, checked)
}

fn run_text(
    text: &str,
    room: &Room,
    looks: &Looks,
    checked: Option<Checked>,
) -> Result<(), String> {
    let (module, arena, at) = (module(text), room.arena(), room.at());
    let kernel_number = module.functions.iter().position(|f| f.name == "k").unwrap() as u32;
    let launch = KernelLaunch {
        module: &module,
        kernel: kernel_number,
        globals: &[],
        grid: [2, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        params: &at.to_le_bytes(),
        cluster: [1; 3],
        explicit_cluster: false,
        cooperative: false,
        workspace: 0,
        local_limit: 1 << 16,
    };
    let next = std::cell::Cell::new(0);
    let next = |_| {
        let n = next.replace(next.get() + 1);
        if n < 2 { n..n + 1 } else { 0..0 }
    };
    assert!(arena.load(at, &mut [0]).is_ok());
    let ended = match checked {
        Some(checked) => {
            let kernel =
                Kernel::checked(&module, launch.kernel, launch.block, None, checked).unwrap();
            kernel.run_blocks(&launch, &arena, &arena, looks, &next)
        }
        None => interpret(&launch, &arena, looks, &next),
    };
    ended.map_err(|fault| fault.to_string())
}

fn all() -> Checked {
    Checked { global: true, bounds: true, every: true, shared: true, local: true, barriers: true }
}

#[test]
fn engines_show_the_same() {
    let room = Room::new();
    let (one, other) = (room.looks(None), room.looks(None));
    run(&room, &one, None).unwrap();
    run(&room, &other, Some(all())).unwrap();
    let (mut one, other) = (one.shown.lock().unwrap().clone(), other.shown.lock().unwrap().clone());
    // Compiled code reads parameters directly, at offsets that were checked at compile time.
    let parameters = one.extract_if(.., |s| s.2 == "Read 10:5").count();
    assert_eq!(parameters, 128);
    assert_eq!(one.iter().filter(|s| s.2.starts_with("barrier")).count(), 2 * (64 + 40));
    assert_eq!(one.iter().filter(|s| s.2.contains(&format!("{:?}", Access::Atomic))).count(), 128);
    assert_eq!(one.iter().filter(|s| s.2 == "end").count(), 2);
    assert_eq!(one, other);
}

#[test]
fn what_the_host_writes_for_a_call_is_shown() {
    let room = Room::new();
    let (one, other) = (room.looks(None), room.looks(None));
    run_text(CALLS, &room, &one, None).unwrap();
    run_text(CALLS, &room, &other, Some(all())).unwrap();
    for shown in [one, other] {
        let shown = shown.shown.lock().unwrap().clone();
        let writes = shown.iter().filter(|s| s.2 == "Write 17:5" && s.4 == 4);
        assert_eq!(writes.count(), 128, "{shown:?}");
    }
}

#[test]
fn code_shows_each_access_to_a_byte_that_is_not_marked() {
    let mut room = Room::new();
    let every = room.looks(None);
    run(&room, &every, Some(all())).unwrap();
    let every = every.shown.lock().unwrap().clone();
    let checked = Checked { global: true, ..Checked::default() };
    // Generic addresses may be in any space, and those with an unknown stride go to the helper.
    for offset in [0, 3, 4, 124, 127, 128, 255, 1024, 1279, 2048, 2051, 3072, 4096, 4255, 9000] {
        room.mark(offset, false);
        let looks = room.looks(None);
        run(&room, &looks, Some(checked)).unwrap();
        let at = room.at() + offset;
        let touched = |s: &&(u32, u32, String, u64, u64)| {
            !s.2.starts_with("barrier") && s.2 != "end" && s.3 <= at && at < s.3 + s.4
        };
        let shown = looks.shown.lock().unwrap().clone();
        let missed: Vec<_> = every.iter().filter(touched).filter(|s| !shown.contains(s)).collect();
        assert!(missed.is_empty(), "{offset}: {missed:?}");
        room.mark(offset, true);
    }
    let looks = room.looks(None);
    run(&room, &looks, Some(checked)).unwrap();
    let shown = looks.shown.lock().unwrap();
    let needless = shown.iter().filter(|s| s.3 >= room.at() + 1024 && s.3 < room.at() + (1 << 16));
    assert_eq!(needless.count(), 0, "what is marked, and has known steps, is not shown");
}

#[test]
fn code_shows_each_access_that_leaves_what_its_parameter_points_into() {
    let room = Room::new();
    let every = room.looks(None);
    run(&room, &every, Some(all())).unwrap();
    let every = every.shown.lock().unwrap().clone();
    let checked = Checked { global: true, bounds: true, ..Checked::default() };
    let origins = cushim_ptx::origin::origins(&module(TEXT), 0);
    assert!(origins.len() > 3 && origins.values().all(|at| *at == 0), "{origins:?}");
    let of_parameter = |s: &&(u32, u32, String, u64, u64)| {
        origins.keys().any(|pos| s.2.ends_with(&format!(" {pos}")))
    };
    for (low, end) in [(0, 4096), (1, 1 << 20), (1024, 1280), (1028, 1279), (2048, 2049), (3, 4)] {
        let (low, end) = (room.at() + low, room.at() + end);
        let mut looks = room.looks(None);
        looks.bounds = vec![[low, end]];
        run(&room, &looks, Some(checked)).unwrap();
        let shown = looks.shown.lock().unwrap().clone();
        let leaves = |s: &&(u32, u32, String, u64, u64)| s.3 < low || s.3 + s.4 > end;
        let missed: Vec<_> = every
            .iter()
            .filter(of_parameter)
            .filter(leaves)
            .filter(|s| !shown.contains(s))
            .collect();
        assert!(missed.is_empty(), "{low:#x} {end:#x}: {missed:?}");
    }
}

#[test]
fn what_is_refused_ends_the_launch_with_the_lane() {
    let mut room = Room::new();
    let at = room.at() + 1024 + 4 * 35;
    room.mark(1024 + 4 * 35, false);
    for checked in [None, Some(all()), Some(Checked { global: true, ..Checked::default() })] {
        let why = run(&room, &room.looks(Some(at)), checked).unwrap_err();
        assert!(why.contains("invalid global write of 4 bytes"), "{why}");
        assert!(why.contains("thread (35,0,0)"), "{why}");
    }
}
