//! A device for tests with one flat memory: allocate, launch, read back.

#![allow(dead_code)] // each test binary uses a part

use cushim_ptx::exec::{self, Fault, Host, KernelLaunch, Memory, PlainMemory};
use cushim_ptx::interp;
use cushim_ptx::ir::Module;
use std::cell::{Cell, RefCell};

const BASE: u64 = 0x7000_0000_0000;

pub struct Device {
    pub module: Module,
    globals: Vec<u64>,
    pub memory: PlainMemory,
    pub printed: RefCell<Vec<u8>>,
    ticks: Cell<u64>,
}

impl Device {
    pub fn new(text: &str) -> Device {
        let module = cushim_ptx::parse(text).and_then(|m| cushim_ptx::check(&m));
        Device::of(module.unwrap_or_else(|e| panic!("{e}\n{text}")))
    }

    pub fn of(module: Module) -> Device {
        let mut d = Device {
            module,
            globals: Vec::new(),
            memory: PlainMemory::new(BASE, Vec::new()),
            printed: RefCell::default(),
            ticks: Cell::new(0),
        };
        d.globals = d.module.globals.iter().map(|g| d.alloc(g.size)).collect();
        for n in 0..d.module.globals.len() as u32 {
            let bytes = exec::initial_bytes(&d.module, n, &d.globals);
            d.memory.store(d.globals[n as usize], &bytes).unwrap();
        }
        d
    }

    pub fn alloc(&self, bytes: u64) -> u64 {
        self.memory.grow(bytes.max(1), 256)
    }

    pub fn upload<const N: usize, T>(&self, values: &[T], bytes: impl Fn(&T) -> [u8; N]) -> u64 {
        let at = self.alloc((values.len() * N) as u64);
        let all: Vec<u8> = values.iter().flat_map(&bytes).collect();
        self.memory.store(at, &all).unwrap();
        at
    }

    pub fn u32s(&self, at: u64, n: usize) -> Vec<u32> {
        let mut bytes = vec![0; n * 4];
        self.memory.load(at, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
    }

    pub fn u64s(&self, at: u64, n: usize) -> Vec<u64> {
        let mut bytes = vec![0; n * 8];
        self.memory.load(at, &mut bytes).unwrap();
        bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect()
    }

    pub fn f32s(&self, at: u64, n: usize) -> Vec<f32> {
        self.u32s(at, n).into_iter().map(f32::from_bits).collect()
    }

    /// The kernel with this name, or whose name contains it, with arguments of 8 bytes or less.
    pub fn launch(&self, name: &str, grid: u32, block: u32, args: &[u64]) -> Result<(), Fault> {
        self.launch_with(name, [grid, 1, 1], [block, 1, 1], 0, false, args)
    }

    pub fn launch_with(
        &self,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        cooperative: bool,
        args: &[u64],
    ) -> Result<(), Fault> {
        let find = |wanted: &dyn Fn(&str) -> bool| {
            self.module.functions.iter().position(|f| f.entry && wanted(&f.name))
        };
        let kernel = find(&|n| n == name).or_else(|| find(&|n| n.contains(name))).expect(name);
        let f = &self.module.functions[kernel];
        let params = f.packed(args);
        let launch = KernelLaunch {
            module: &self.module,
            kernel: kernel as u32,
            globals: &self.globals,
            grid,
            block,
            dynamic_shared,
            params: &params,
            cluster: [1; 3],
            explicit_cluster: false,
            cooperative,
            workspace: self.alloc(64),
            local_limit: 1 << 20,
        };
        interp::run(&launch, &self.memory, self)
    }
}

impl Host for Device {
    fn print(&self, bytes: &[u8]) {
        self.printed.borrow_mut().extend(bytes);
    }

    fn allocate(&self, bytes: u64) -> u64 {
        self.alloc(bytes)
    }

    fn free(&self, _: u64) {}

    fn nanoseconds(&self) -> u64 {
        self.ticks.set(self.ticks.get() + 1000);
        self.ticks.get()
    }

    fn interrupted(&self) -> bool {
        // No test kernel takes a billion ticks: it hangs.
        self.ticks.set(self.ticks.get() + 1);
        self.ticks.get() > 1_000_000_000
    }
}
