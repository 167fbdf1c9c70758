//! Accesses of generated code to unmapped memory: the launch ends, the host thread
//! continues, and the program keeps its own faults.

use cushim_ptx::exec::{BadAddress, Cause, Fault, Host, KernelLaunch, Memory};
use cushim_ptx_jit::{Arena, Kernel, Mapped};
use std::process::Command;
use std::sync::Arc;

const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n
.entry read(.param .u64 from) {
  .reg .u64 p; .reg .u32 i; .reg .f32 v;
  ld.param.u64 p, [from]; mov.u32 i, %tid.x; mad.wide.u32 p, i, 4, p;
  ld.global.f32 v, [p]; add.f32 v, v, v; st.global.f32 [p], v; ret; }
.entry guarded(.param .u64 from, .param .u32 count) {
  .reg .u64 p; .reg .u32 i; .reg .u32 n; .reg .f32 v; .reg .pred q;
  ld.param.u64 p, [from]; ld.param.u32 n, [count]; mov.u32 i, %tid.x; setp.ge.u32 q, i, n;
  @q bra END;
  mad.wide.u32 p, i, 4, p; ld.global.f32 v, [p]; add.f32 v, v, v; st.global.f32 [p], v;
END: ret; }
.entry strides(.param .u64 from, .param .u32 count) {
  .reg .u64 p; .reg .u32 i; .reg .u32 n; .reg .f32 v; .reg .f32 s; .reg .pred q;
  ld.param.u64 p, [from]; ld.param.u32 n, [count]; mov.u32 i, %tid.x; mad.wide.u32 p, i, 4, p; mov.f32 s, 0f00000000;
LOOP:
  ld.global.f32 v, [p]; add.f32 s, s, v; add.u64 p, p, 256; add.u32 i, i, 64; setp.lt.u32 q, i, n; @q bra LOOP;
  st.global.f32 [p+-256], s; ret; }
.entry squares(.param .u64 from, .param .u32 first) {
  .reg .u64 p; .reg .u32 i; .reg .u32 n; .reg .u32 v; .reg .pred q;
  ld.param.u64 p, [from]; ld.param.u32 n, [first]; mov.u32 i, %tid.x; setp.lt.u32 q, i, n;
  mul.lo.u32 v, i, i; mad.wide.u32 p, v, 4, p;
  @q bra END;
  ld.global.u32 v, [p]; st.global.u32 [p], v;
END: ret; }
.entry adds(.param .u64 from, .param .u32 zero) {
  .reg .u64 p; .reg .u32 i; .reg .u32 v;
  ld.param.u64 p, [from]; mov.u32 i, %tid.x; mul.lo.u32 v, i, i; mad.wide.u32 p, v, 4, p;
  atom.global.add.u32 v, [p], v; ret; }
.entry puts(.param .u64 from, .param .u32 zero) {
  .reg .u64 p; .reg .u32 i; .reg .u32 v;
  ld.param.u64 p, [from]; mov.u32 i, %tid.x; mul.lo.u32 v, i, i; mad.wide.u32 p, v, 4, p;
  st.global.u32 [p], v; ret; }";

/// Memory whose second half is not mapped.
struct Half(Arena);

impl Memory for Half {
    fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress> {
        let holds = self.holds(address, bytes.len() as u64);
        if holds { self.0.load(address, bytes) } else { Err(BadAddress) }
    }
    fn store(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress> {
        let holds = self.holds(address, bytes.len() as u64);
        if holds { self.0.store(address, bytes) } else { Err(BadAddress) }
    }
    fn update(
        &self,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, BadAddress> {
        let holds = self.holds(address, bytes.into());
        if holds { self.0.update(address, bytes, new) } else { Err(BadAddress) }
    }
    fn update_pair(
        &self,
        address: u64,
        new: &mut dyn FnMut([u64; 2]) -> [u64; 2],
    ) -> Result<[u64; 2], BadAddress> {
        if self.holds(address, 16) { self.0.update_pair(address, new) } else { Err(BadAddress) }
    }
}

impl Mapped for Half {
    fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.0.base() && address + bytes <= self.0.base() + self.0.size() / 2
    }
}

struct Quiet;

impl Host for Quiet {
    fn print(&self, _: &[u8]) {}
    fn allocate(&self, _: u64) -> u64 {
        0
    }
    fn free(&self, _: u64) {}
    fn nanoseconds(&self) -> u64 {
        0
    }
}

fn run(name: &str, at: i64, n: u64) -> Result<(), Fault> {
    let module = Arc::new(cushim_ptx::parse(TEXT).and_then(|m| cushim_ptx::check(&m)).unwrap());
    let kernel = module.functions.iter().position(|f| f.name == name).unwrap() as u32;
    let code = Kernel::new(&module, kernel, [64, 1, 1]).unwrap();
    let size = 1u64 << 20;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let base =
        unsafe { libc::mmap(std::ptr::null_mut(), size as usize, libc::PROT_NONE, flags, -1, 0) };
    assert_ne!(base, libc::MAP_FAILED);
    // SAFETY: inside the mapping made above.
    unsafe { libc::mprotect(base, size as usize / 2, libc::PROT_READ | libc::PROT_WRITE) };
    let base = base as u64;
    // SAFETY: the mapping is ours and never unmapped.
    let arena = unsafe { Arena::new(base, size) }.unwrap();
    let middle = base + size / 2;
    let mut params = middle.wrapping_add_signed(at).to_le_bytes().to_vec();
    params.extend(n.to_le_bytes());
    let launch = KernelLaunch {
        module: &module,
        kernel,
        globals: &[],
        grid: [1, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        params: &params,
        cluster: [1; 3],
        explicit_cluster: false,
        cooperative: false,
        workspace: 0,
        local_limit: 1 << 16,
    };
    let given = std::cell::Cell::new(false);
    let next = |_| if given.replace(true) { 0..0 } else { 0..1 };
    let done = code.run_blocks(&launch, &arena, &Half(arena), &Quiet, &next);
    if let Err(fault) = &done
        && let Cause::Address { address, .. } = *fault.cause
    {
        assert_eq!(address, middle, "{fault}");
    }
    done
}

#[test]
fn a_page_that_is_not_there_ends_the_launch() {
    assert_eq!(run("read", -256, 0), Ok(()));
    for _ in 0..3 {
        let fault = run("read", -240, 0).unwrap_err();
        assert_eq!((fault.kernel.as_str(), fault.thread), ("read", [60, 0, 0]), "{fault}");
        assert!(fault.pos().is_some_and(|p| p.line == 8), "{fault}");
        let fault = run("read", -128, 0).unwrap_err();
        assert_eq!(fault.thread, [32, 0, 0]);
    }
}

#[test]
fn lanes_that_do_not_take_part_touch_nothing() {
    assert_eq!(run("guarded", -8, 2), Ok(()));
    assert_eq!(run("guarded", -240, 60), Ok(()));
    assert_eq!(run("guarded", -240, 61).unwrap_err().thread, [60, 0, 0]);
}

#[test]
fn a_page_that_is_not_there_ends_a_loop_through_memory() {
    // Faults from the first round to the twenty-first.
    for rounds in [0, 1, 7, 8, 9, 20] {
        let from = -256 * rounds;
        if rounds > 0 {
            assert_eq!(run("strides", from, 64 * rounds as u64), Ok(()));
        }
        for lane in [0, 1, 20, 31] {
            let fault = run("strides", from - 4 * i64::from(lane), 4096).unwrap_err();
            assert_eq!((fault.kernel.as_str(), fault.thread), ("strides", [lane, 0, 0]), "{fault}");
            assert!(fault.pos().is_some_and(|p| p.line == 19), "{fault}");
        }
    }
}

/// The threads' addresses are four times the square of their numbers.
#[test]
fn of_lanes_with_addresses_of_their_own_the_first_is_named() {
    for name in ["squares", "adds", "puts"] {
        for first in [10i64, 31, 32, 45] {
            let fault = run(name, -4 * first * first, 0).unwrap_err();
            assert_eq!(fault.thread, [first as u32, 0, 0], "{name}: {fault}");
        }
        assert_eq!(run(name, -4 * 64 * 64, 0), Ok(()));
    }
    // Lanes before the faulting one are inactive, or all of them fault.
    for (there, first) in [(20i64, 7), (20, 20), (33, 33), (50, 40)] {
        let fault = run("squares", -4 * there * there, first).unwrap_err();
        assert_eq!(fault.thread, [there as u32, 0, 0], "{fault}");
    }
    assert_eq!(run("squares", -4 * 64 * 64, 5), Ok(()));
}

extern "C" fn own(_: i32) {
    // SAFETY: ends the process, which a signal handler may do.
    unsafe { libc::_exit(77) };
}

/// Runs this test again as a child, which dies of its own fault after a kernel's fault.
#[test]
fn the_programs_own_faults_stay_its_own() {
    let which = std::env::var("CUSHIM_TEST_FAULT").unwrap_or_default();
    if which.is_empty() {
        for (which, expected) in [("handler", Some(77)), ("later", Some(77)), ("default", None)] {
            let this = std::env::current_exe().unwrap();
            let name = "faults::the_programs_own_faults_stay_its_own";
            let mut command = Command::new(this);
            let status = command.args([name, "--exact"]).env("CUSHIM_TEST_FAULT", which);
            let status = status.output().unwrap().status;
            use std::os::unix::process::ExitStatusExt;
            assert_eq!(status.code(), expected, "{which}");
            assert_eq!(status.signal(), expected.is_none().then_some(libc::SIGSEGV), "{which}");
        }
        return;
    }
    // The test harness has a handler of its own.
    // SAFETY: sets handlers that do nothing unusual.
    let set = |handler: usize| unsafe { libc::signal(libc::SIGSEGV, handler) };
    set(if which == "handler" { own as *const () as usize } else { libc::SIG_DFL });
    assert!(run("read", -128, 0).is_err());
    if which == "later" {
        set(own as *const () as usize);
        assert!(run("read", -128, 0).is_err());
    }
    // SAFETY: none: this is the fault to see.
    unsafe { std::ptr::without_provenance_mut::<u32>(64).write_volatile(1) };
}
