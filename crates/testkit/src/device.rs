//! A device on a range of this process's memory: every launch runs twice, by
//! the interpreter and by compiled code, and must leave the same bytes, the
//! same output and the same fault.

use cushim_ptx::exec::{self, Fault, Host, KernelLaunch, Memory as _};
use cushim_ptx::interp;
use cushim_ptx::ir::Module;
use cushim_ptx_jit::{Arena, Kernel, NotCompiled};
use std::alloc::{Layout, alloc_zeroed};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const SIZE: usize = 16 << 20;

pub struct Device {
    pub module: Arc<Module>,
    pub globals: Vec<u64>,
    pub arena: Arena,
    used: Mutex<u64>,
    pub printed: Mutex<Vec<u8>>,
    ticks: AtomicU64,
    kernels: Mutex<HashMap<u32, Arc<Kernel>>>,
    pub threads: usize,
}

fn layout() -> Layout {
    Layout::from_size_align(SIZE, 4096).unwrap()
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { std::alloc::dealloc(self.arena.base() as *mut u8, layout()) };
    }
}

impl Device {
    pub fn new(text: &str) -> Device {
        let module = cushim_ptx::parse(text).and_then(|m| cushim_ptx::check(&m));
        Device::of(module.unwrap_or_else(|e| panic!("{e}\n{text}")))
    }

    pub fn of(module: Module) -> Device {
        let module = Arc::new(module);
        // SAFETY: the size is not zero.
        let base = unsafe { alloc_zeroed(layout()) };
        assert!(!base.is_null());
        // SAFETY: the memory is ours until `drop`, and all accesses use raw pointers.
        let arena = unsafe { Arena::new(base as u64, SIZE as u64) }.unwrap();
        let mut d = Device {
            module,
            globals: Vec::new(),
            arena,
            used: Mutex::new(0),
            printed: Mutex::default(),
            ticks: AtomicU64::new(0),
            kernels: Mutex::default(),
            threads: 1,
        };
        d.globals = d.module.globals.iter().map(|g| d.alloc(g.size)).collect();
        for n in 0..d.module.globals.len() as u32 {
            let bytes = exec::initial_bytes(&d.module, n, &d.globals);
            d.arena.store(d.globals[n as usize], &bytes).unwrap();
        }
        d
    }

    pub fn alloc(&self, bytes: u64) -> u64 {
        let mut used = self.used.lock().unwrap_or_else(|e| e.into_inner());
        let at = used.next_multiple_of(256);
        *used = at + bytes.max(1);
        assert!(*used <= SIZE as u64, "the arena is full");
        self.arena.base() + at
    }

    pub fn upload<const N: usize, T>(&self, values: &[T], bytes: impl Fn(&T) -> [u8; N]) -> u64 {
        let at = self.alloc((values.len() * N) as u64);
        let all: Vec<u8> = values.iter().flat_map(&bytes).collect();
        self.arena.store(at, &all).unwrap();
        at
    }

    pub fn u32s(&self, at: u64, n: usize) -> Vec<u32> {
        let mut bytes = vec![0; n * 4];
        self.arena.load(at, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
    }

    pub fn f32s(&self, at: u64, n: usize) -> Vec<f32> {
        self.u32s(at, n).into_iter().map(f32::from_bits).collect()
    }

    fn bytes(&self) -> Vec<u8> {
        let mut all = vec![0; *self.used.lock().unwrap_or_else(|e| e.into_inner()) as usize];
        self.arena.load(self.arena.base(), &mut all).unwrap();
        all
    }

    /// The number of the kernel whose name contains `name`.
    pub fn find(&self, name: &str) -> u32 {
        let find = |f: &cushim_ptx::ir::Function| f.entry && f.name.contains(name);
        self.module.functions.iter().position(find).expect(name) as u32
    }

    pub fn kernel(&self, n: u32) -> Result<Arc<Kernel>, NotCompiled> {
        let mut all = self.kernels.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(k) = all.get(&n) {
            return Ok(k.clone());
        }
        let k = Arc::new(Kernel::new(&self.module, n, [32, 1, 1])?);
        all.insert(n, k.clone());
        Ok(k)
    }

    pub fn launch(&self, name: &str, grid: u32, block: u32, args: &[u64]) -> Result<(), Fault> {
        self.launch_with(name, [grid, 1, 1], [block, 1, 1], 0, false, args)
    }

    /// Runs a kernel in both ways; compares what the kernel promises.
    pub fn launch_with(
        &self,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        cooperative: bool,
        args: &[u64],
    ) -> Result<(), Fault> {
        let number = self.find(name);
        let kernel = self.kernel(number).unwrap_or_else(|e| panic!("{e}"));
        let f = &self.module.functions[number as usize];
        let params = f.packed(args);
        let launch = KernelLaunch {
            module: &self.module,
            kernel: number,
            globals: &self.globals,
            grid,
            block,
            dynamic_shared,
            params: &params,
            cluster: f.shape("reqnctapercluster").unwrap_or([1; 3]),
            explicit_cluster: f.shape("reqnctapercluster").is_some(),
            cooperative,
            workspace: if cooperative { self.alloc(64) } else { 0 },
            local_limit: 1 << 20,
        };
        let used = *self.used.lock().unwrap_or_else(|e| e.into_inner());
        let before = self.bytes();
        let expected = interp::run(&launch, &self.arena, self);
        let expected_bytes = self.bytes();
        let expected_print =
            std::mem::take(&mut *self.printed.lock().unwrap_or_else(|e| e.into_inner()));
        self.arena.store(self.arena.base(), &before).unwrap();
        *self.used.lock().unwrap_or_else(|e| e.into_inner()) = used;
        // Both compilers have their turn: the length of the kernel's code decides which.
        if f.code.len().is_multiple_of(2) {
            kernel.improve(block).unwrap_or_else(|e| panic!("{e}"));
        }
        let done = kernel.run(&launch, &self.arena, self, self.threads);
        assert_eq!(done, expected, "{name}");
        if done.is_ok() {
            let bytes = self.bytes();
            let differs = (0..bytes.len()).step_by(4).find(|i| {
                let end = (*i + 4).min(bytes.len());
                bytes[*i..end] != expected_bytes[*i..end]
            });
            if let Some(i) = differs {
                panic!(
                    "{name}: byte {i}: compiled {:x?}, interpreted {:x?}",
                    &bytes[i..(i + 16).min(bytes.len())],
                    &expected_bytes[i..(i + 16).min(bytes.len())]
                );
            }
        }
        let asserted = |fault: &Fault| matches!(*fault.cause, exec::Cause::Assert);
        if done.as_ref().err().is_none_or(asserted) {
            assert_eq!(
                *self.printed.lock().unwrap_or_else(|e| e.into_inner()),
                expected_print,
                "{name}"
            );
        }
        done
    }
}

impl Host for Device {
    fn print(&self, bytes: &[u8]) {
        self.printed.lock().unwrap_or_else(|e| e.into_inner()).extend(bytes);
    }

    fn allocate(&self, bytes: u64) -> u64 {
        self.alloc(bytes)
    }

    fn free(&self, _: u64) {}

    fn nanoseconds(&self) -> u64 {
        self.ticks.fetch_add(1000, Ordering::Relaxed)
    }

    fn call(&self, function: &str, arguments: &[u64]) -> Option<u64> {
        (function == "host_sum").then(|| arguments.iter().sum())
    }

    fn interrupted(&self) -> bool {
        // No test kernel takes so many turns: it hangs.
        self.ticks.fetch_add(1, Ordering::Relaxed) > 100_000_000
    }
}
