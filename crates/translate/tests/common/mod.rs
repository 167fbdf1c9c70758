//! Runs translated kernels on the emulated GPU, without AMD's runtime: this file loads code objects and makes dispatches.

#![allow(dead_code)] // each test binary uses a part

use cushim_amdgpu::launch::{Dispatch, Failure, Worker, launch};
use cushim_amdgpu::memory::{Memory, Range};
use cushim_ptx::ir::Module;
use cushim_translate::abi::{Facts, Lanes, LaunchArguments};
use cushim_translate::{Compiler, Target, amdgpu};
use object::elf;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSymbol, RelocationTarget};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::path::Path;

/// Page-aligned memory.
pub struct Buffer {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: plain memory, accessed by raw pointers.
unsafe impl Sync for Buffer {}
// SAFETY: plain memory, accessed by raw pointers.
unsafe impl Send for Buffer {}

impl Buffer {
    pub fn new(bytes: usize) -> Buffer {
        let layout = Layout::from_size_align(bytes.max(1).next_multiple_of(4096), 4096).unwrap();
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        assert!(!start.is_null());
        Buffer { start, layout }
    }

    pub fn with(bytes: &[u8]) -> Buffer {
        let buffer = Buffer::new(bytes.len());
        buffer.write(0, bytes);
        buffer
    }

    pub fn address(&self) -> u64 {
        self.start as u64
    }

    pub fn write(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.layout.size());
        // SAFETY: inside the buffer, as asserted above.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.start.add(at), bytes.len()) };
    }

    pub fn read(&self, at: usize, bytes: usize) -> Vec<u8> {
        assert!(at + bytes <= self.layout.size());
        // SAFETY: inside the buffer, as asserted above.
        unsafe { std::slice::from_raw_parts(self.start.add(at), bytes) }.to_vec()
    }

    pub fn u32s(&self, n: usize) -> Vec<u32> {
        let words = self.read(0, 4 * n);
        words.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
    }

    pub fn u64s(&self, n: usize) -> Vec<u64> {
        let words = self.read(0, 8 * n);
        words.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect()
    }

    fn range(&self) -> Range {
        let start = self.address();
        Range { start, end: start + self.layout.size() as u64, write: true }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and not used any more.
        unsafe { dealloc(self.start, self.layout) };
    }
}

struct Machine(Vec<Range>);

// SAFETY: the ranges belong to buffers that live as long as the launch.
unsafe impl Memory for Machine {
    fn find(&self, address: u64) -> Option<Range> {
        self.0.iter().copied().find(|r| r.start <= address && address < r.end)
    }

    fn interrupt(&self, _: u32) {}
}

/// A code object, loaded into memory.
pub struct Loaded {
    image: Buffer,
    symbols: std::collections::HashMap<String, u64>,
    pub kernels: Vec<Facts>,
}

/// The compiler; without one, reports that the test was left out.
pub fn compiler() -> Option<Compiler> {
    let fetched = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/toolkits/clang-19/bin/clang");
    let found = Compiler::at(Path::new(fetched), None).map_or_else(|| Compiler::find(None), Ok);
    match found {
        Ok(compiler) => Some(compiler),
        Err(e) => {
            let what = "kernels translated for AMD's GPU";
            cushim_testkit::needs::left_out(&format!(
                "{what}: {e}; scripts/cuda-toolkits clang installs one"
            ));
            None
        }
    }
}

pub fn module(text: &str) -> Module {
    let module = cushim_ptx::parse(text).and_then(|tree| cushim_ptx::check(&tree));
    module.unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The code object of a module for the emulated GPU; the translator may refuse none of its kernels.
pub fn translated(compiler: &Compiler, module: &Module) -> Loaded {
    let target = Target::from_name("gfx90a").unwrap();
    let text = amdgpu::emit(module, &target);
    assert!(text.refused.is_empty(), "{}", text.refused[0]);
    if let Some(path) = std::env::var_os("CUSHIM_TEST_IR") {
        std::fs::write(path, &text.ir).unwrap();
    }
    let object = compiler.compile(&text.ir, &target).unwrap_or_else(|e| panic!("{e}"));
    Loaded::new(&object, text.kernels)
}

impl Loaded {
    pub fn new(object: &[u8], kernels: Vec<Facts>) -> Loaded {
        let file = ElfFile64::<LittleEndian>::parse(object).unwrap();
        let header = file.elf_header();
        let segments = header.program_headers(LittleEndian, object).unwrap();
        let loads = || segments.iter().filter(|s| s.p_type(LittleEndian) == elf::PT_LOAD);
        let end = loads().map(|s| s.p_vaddr(LittleEndian) + s.p_memsz(LittleEndian)).max().unwrap();
        // The GPU may fetch instructions beyond the code's end.
        let image = Buffer::new(end as usize + 4096);
        for s in loads() {
            let data = s.data(LittleEndian, object).unwrap();
            image.write(s.p_vaddr(LittleEndian) as usize, data);
        }
        let base = image.address();
        for (at, r) in file.dynamic_relocations().into_iter().flatten() {
            let symbol = match r.target() {
                RelocationTarget::Symbol(n) => {
                    let table = file.dynamic_symbol_table().unwrap();
                    let symbol = object::ObjectSymbolTable::symbol_by_index(&table, n).unwrap();
                    assert!(!symbol.is_undefined(), "{:?} is not defined", symbol.name());
                    symbol.address()
                }
                _ => 0,
            };
            let value = base + symbol + r.addend() as u64;
            image.write(at as usize, &value.to_le_bytes());
        }
        let symbols = file.dynamic_symbols();
        let symbols = symbols.map(|s| (s.name().unwrap().to_owned(), base + s.address())).collect();
        Loaded { image, symbols, kernels }
    }

    pub fn facts(&self, kernel: &str) -> &Facts {
        self.kernels.iter().find(|f| f.name == kernel).unwrap_or_else(|| panic!("{kernel}"))
    }

    /// The address of a variable.
    pub fn variable(&self, name: &str) -> u64 {
        *self.symbols.get(name).unwrap_or_else(|| panic!("{name}"))
    }

    /// Runs a kernel in a lane layout.
    pub fn launch(
        &self,
        kernel: &str,
        [grid, block]: [[u32; 3]; 2],
        dynamic: u32,
        lanes: Lanes,
        parameters: &[u8],
        memory: &[&Buffer],
    ) -> Result<u64, Failure> {
        let facts = self.facts(kernel);
        assert_eq!(parameters.len(), facts.parameter_bytes as usize, "{kernel}");
        let threads = block.iter().product();
        let items = lanes.work_items(threads).expect("a block that fits");
        let launch_data = LaunchArguments {
            grid,
            block,
            dynamic_shared_bytes: dynamic,
            lanes_layout: lanes as u32,
            ..LaunchArguments::default()
        };
        let arguments = Buffer::new(facts.argument_bytes() as usize + 256);
        arguments.write(0, parameters);
        arguments.write(facts.launch_offset as usize, &launch_data.bytes());
        let descriptor = self.variable(&format!("{kernel}.kd"));
        let at = (descriptor - self.image.address()) as usize;
        let word = |n: usize| {
            u32::from_le_bytes(self.image.read(at + 4 * n, 4).try_into().expect("four bytes"))
        };
        let mut ranges = vec![self.image.range(), arguments.range()];
        ranges.extend(memory.iter().map(|buffer| buffer.range()));
        let dispatch = Dispatch {
            grid: [grid[0] * items, grid[1], grid[2]],
            group: [items, 1, 1],
            // Room for stack frames of calls that LLVM does not count.
            private: word(1) + 16384,
            lds: word(0) + dynamic,
            kernel: descriptor,
            arguments: arguments.address(),
            ..Dispatch::default()
        };
        launch(&Machine(ranges), &dispatch, &mut Worker::default(), 1)
    }
}

/// Packs parameters of eight bytes each.
pub fn parameters(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}
