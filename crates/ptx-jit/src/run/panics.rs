//! Deliberate panics, in builds that are not for users: in each helper in turn, to test how the launch ends, and in
//! the compiler, to test that the interpreter takes over.

use crate::warp::Which;
use std::cell::Cell;
use std::sync::OnceLock;

thread_local! {
    /// The helper that panics on this thread.
    static NEXT: Cell<Option<Which>> = const { Cell::new(None) };
    /// The compiler panics on this thread.
    static COMPILER: Cell<bool> = const { Cell::new(false) };
}

/// What `TEST_PANIC_OF_CUSHIM` names.
fn named() -> Option<&'static str> {
    static NAMED: OnceLock<Option<String>> = OnceLock::new();
    NAMED.get_or_init(|| std::env::var("TEST_PANIC_OF_CUSHIM").ok()).as_deref()
}

/// Panics while code is made, where a test wants it or `TEST_PANIC_OF_CUSHIM` is `Compiler`.
pub(super) fn inject_compiler() {
    if COMPILER.get() || named() == Some("Compiler") {
        let none: &[u32] = &[];
        std::hint::black_box(none[std::hint::black_box(7)]);
    }
}

/// Panics in the helper that a test has named, or `TEST_PANIC_OF_CUSHIM`.
pub(super) fn inject(which: Which) {
    let here = NEXT.get() == Some(which);
    if here || named().is_some_and(|n| n == format!("{which:?}")) {
        let none: &[u32] = &[];
        // As a helper would do it.
        std::hint::black_box(none[std::hint::black_box(which as usize)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::helpers::TABLE;
    use crate::run::launch::Exec;
    use crate::run::trap;
    use crate::warp::{FAULT, Warp};
    use crate::{Arena, Kernel, NotCompiled};
    use cushim_ptx::exec::{Cause, Fault, Host, KernelLaunch};
    use cushim_ptx::ir::Module;
    use std::sync::Arc;

    const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64
.shared .align 16 .b8 room[256];
.entry k(.param .u64 at) {
  .reg .u64 p, c, d; .reg .u32 i, j, v; .reg .u16 h; .reg .f32 f, g; .reg .pred q, r;
  ld.param.u64 p, [at]; mov.u32 i, %tid.x; mul.lo.u32 j, i, i; and.b32 j, j, 31; mad.wide.u32 p, j, 8, p;
  setp.lt.u32 q, j, 9; @q bra A;
  ld.global.u16 h, [p]; st.global.u16 [p+2], h; atom.global.cas.b32 v, [p+4], 0, i;
  bar.sync 0; bra B;
A: mov.u64 c, %clock64; bar.sync 0;
B: vote.sync.ballot.b32 v, q, -1; shfl.sync.idx.b32 v, j, i, 31, -1; match.any.sync.b32 v, j, -1;
  cvt.rn.f32.u32 f, j; ex2.approx.f32 f, f; lg2.approx.f32 g, f; sin.approx.f32 f, g; cos.approx.f32 g, f;
  tanh.approx.f32 f, g; fma.rm.f32 f, f, g, g; fma.rn.f32 g, f, f, g; div.u32 v, i, j; bfind.u32 v, j;
  mov.u64 c, room; cvta.shared.u64 c, c; and.b32 v, j, 28; cvt.u64.u32 d, v; add.u64 c, c, d; ld.u32 v, [c]; st.u32 [c], v;
  cvta.to.global.u64 c, p; cp.async.ca.shared.global [room], [c], 4;
  cvt.rzi.u32.f32 v, g; st.global.u32 [p], v; ret; }
.entry e() { trap; ret; }";

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

    fn module() -> Arc<Module> {
        Arc::new(cushim_ptx::parse(TEXT).and_then(|m| cushim_ptx::check(&m)).unwrap())
    }

    fn launch<'a>(module: &'a Module, kernel: u32, params: &'a [u8]) -> KernelLaunch<'a> {
        KernelLaunch {
            module,
            kernel,
            globals: &[],
            grid: [1, 1, 1],
            block: [64, 1, 1],
            dynamic_shared: 0,
            params,
            cluster: [1; 3],
            explicit_cluster: false,
            cooperative: false,
            workspace: 0,
            local_limit: 1 << 16,
        }
    }

    fn with_arena<T>(body: impl FnOnce(Arena) -> T) -> T {
        let mut memory = vec![0u64; (1 << 14) + 8];
        let base = (memory.as_mut_ptr() as u64).next_multiple_of(Arena::ALIGNED);
        // SAFETY: the memory stays allocated, and only kernels use it.
        let arena = unsafe { Arena::new(base, 8 << 14) }.unwrap();
        body(arena)
    }

    fn run(kernel: &Kernel, launch: &KernelLaunch<'_>) -> Result<(), Fault> {
        with_arena(|arena| {
            let params = arena.base().next_multiple_of(64).to_le_bytes();
            let launch = KernelLaunch { params: &params, ..*launch };
            let given = Cell::new(false);
            let next = |_| if given.replace(true) { 0..0 } else { 0..1 };
            kernel.run_blocks(&launch, &arena, &arena, &Quiet, &next)
        })
    }

    /// Keeps the warnings that it gets.
    #[derive(Default)]
    struct Warned(std::cell::RefCell<Vec<String>>);

    impl Host for Warned {
        fn print(&self, _: &[u8]) {}
        fn allocate(&self, _: u64) -> u64 {
            0
        }
        fn free(&self, _: u64) {}
        fn nanoseconds(&self) -> u64 {
            0
        }
        fn warn(&self, message: &str) {
            self.0.borrow_mut().push(message.to_owned());
        }
    }

    #[test]
    fn a_kernel_whose_compiler_panics_is_interpreted() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64
.entry k(.param .u64 at) { .reg .u64 p; .reg .u32 x, y; ld.param.u64 p, [at]; mov.u32 x, %tid.x; mov.u32 y, %tid.y;
  mad.lo.u32 y, y, 5, x; mad.wide.u32 p, y, 4, p; add.u32 y, y, 100; st.global.u32 [p], y; ret; }";
        let module = Arc::new(cushim_ptx::parse(text).and_then(|m| cushim_ptx::check(&m)).unwrap());
        COMPILER.set(true);
        let none = Kernel::new(&module, 0, [64, 1, 1]);
        COMPILER.set(false);
        let Err(why) = none else { panic!("there is code") };
        let NotCompiled::Panicked { kernel, message } = &why else { panic!("{why}") };
        assert_eq!(kernel, "k");
        assert!(message.contains("index out of bounds"), "{why}");
        // Code for one block shape exists; compiling it for another panics, and so does optimising it.
        let kernel = Kernel::new(&module, 0, [64, 1, 1]).unwrap();
        let host = Warned::default();
        let run = |block: [u32; 3]| {
            with_arena(|arena| {
                let at = arena.base().next_multiple_of(64);
                let params = at.to_le_bytes();
                let launch = KernelLaunch { params: &params, block, ..launch(&module, 0, &[]) };
                let given = Cell::new(false);
                let next = |_| if given.replace(true) { 0..0 } else { 0..1 };
                let done = kernel.run_blocks(&launch, &arena, &arena, &host, &next);
                let mut bytes = [0; 4 * 25];
                cushim_ptx::exec::Memory::load(&arena, at, &mut bytes).unwrap();
                (done, bytes)
            })
        };
        let expected: Vec<u8> = (100..125u32).flat_map(u32::to_le_bytes).collect();
        COMPILER.set(true);
        assert!(matches!(kernel.improve([64, 1, 1]), Err(NotCompiled::Panicked { .. })));
        for _ in 0..2 {
            let (done, bytes) = run([5, 5, 1]);
            assert_eq!((done, &bytes[..]), (Ok(()), &expected[..]));
        }
        assert_eq!(run([64, 1, 1]).0, Ok(()));
        COMPILER.set(false);
        let warned = host.0.take();
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].ends_with("the interpreter runs it"), "{warned:?}");
    }

    /// Also helpers whose result the code ignores.
    #[test]
    fn a_launch_whose_helper_panics_ends_with_an_error_and_the_next_does_not() {
        let module = module();
        let kernel = Kernel::new(&module, 0, [64, 1, 1]).unwrap();
        let better = Kernel::new(&module, 0, [64, 1, 1]).unwrap();
        better.improve([64, 1, 1]).unwrap();
        let launch = launch(&module, 0, &[]);
        let mut met = Vec::new();
        for kernel in [&kernel, &better] {
            for which in Which::ALL {
                NEXT.set(Some(*which));
                let done = run(kernel, &launch);
                NEXT.set(None);
                assert_eq!(run(kernel, &launch), Ok(()), "after {which:?}");
                let Err(fault) = done else { continue };
                met.push(*which);
                let Cause::Internal { place, message } = &*fault.cause else { panic!("{fault}") };
                assert_eq!(*place, format!("helper `{}`", format!("{which:?}").to_lowercase()));
                assert!(message.contains("index out of bounds"), "{fault}");
                assert_eq!(fault.kernel, "k");
            }
        }
        // Which helpers generated code replaces depends on the processor; it always calls these.
        for which in [
            Which::Load,
            Which::Store,
            Which::Atom,
            Which::Dispatch,
            Which::CopyAsync,
            Which::Arrive,
        ] {
            assert!(met.contains(&which), "{which:?}: {met:?}");
        }
    }

    thread_local! {
        static CALLED: Cell<(Which, bool)> = const { Cell::new((Which::Pure, false)) };
    }

    /// Acts as generated code: calls one helper, which must never return.
    unsafe extern "C" fn calls_one(w: *mut Warp) -> u32 {
        let (which, preserving) = CALLED.get();
        // SAFETY: the arguments that generated code passes.
        unsafe {
            let helpers = (*w).helpers;
            if preserving {
                let call: extern "C" fn(*mut Warp, u32, u32, u32) =
                    std::mem::transmute((*w).preserve_all);
                call(w, 0, 1, which as u32);
            } else {
                type Helper = extern "C" fn(*mut Warp, u32, u32) -> u32;
                let call: Helper = std::mem::transmute(*helpers.add(which as usize));
                call(w, 0, 1);
            }
        }
        std::process::abort()
    }

    #[test]
    fn every_helper_is_left_behind() {
        let module = module();
        let kernel = Kernel::new(&module, 0, [32, 1, 1]).unwrap();
        let variant = kernel.variant(crate::simt::plan::Layout::of([32, 1, 1])).unwrap();
        let (launch, hot) = (launch(&module, 0, &[]), || ());
        assert_eq!(Which::ALL.len(), TABLE.len());
        with_arena(|arena| {
            let exec = Exec {
                launch: &launch,
                variant: &variant,
                hot: &hot,
                arena,
                memory: &arena,
                host: &Quiet,
                shared_size: 256,
                local_size: 64,
                threads: 32,
                start: std::time::Instant::now(),
                stack: 0,
                by_llvm: false.into(),
            };
            let mut slot = crate::run::block::BlockSlot::new(&exec);
            for which in Which::ALL {
                for preserving in [false, true] {
                    CALLED.set((*which, preserving));
                    NEXT.set(Some(*which));
                    // SAFETY: a slot's warp, and code that uses it as generated code does.
                    let (status, _) = unsafe { trap::enter(calls_one, (0, 0), slot.first(), 0) };
                    NEXT.set(None);
                    assert_eq!(status, FAULT, "{which:?}");
                    let fault = slot.fault();
                    assert!(
                        fault.is_some_and(|f| matches!(*f.cause, Cause::Internal { .. })),
                        "{which:?}"
                    );
                }
            }
        });
    }
}
