//! The mock's code: a text that lists kernels and variables, and functions that the tests define.
//!
//! ```text
//! cushim mock
//! kernel add params=8,4 shared=0 local=0 max_threads=1024
//! variable count bytes=4 init=05000000
//! variable table bytes=64 constant
//! ```
//!
//! Owns parsing it and calling the functions. Arguments reach a function as HSA passes them: a buffer laid out from
//! metadata, with the launch's shape after the explicit arguments. Must not know: CUDA.

use std::alloc::Layout;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, RwLock};

use super::memory::Memory;
use cushim_accel::locks::{read, write};
use cushim_accel::{
    Code, Dispatch, Failure, Image, ImageKind, Kernel, MemoryKind, Symbols, Variable,
};

/// How every image of the mock begins.
pub const MAGIC: &[u8] = b"cushim mock\n";

type Function = Arc<dyn Fn(&MockLaunch<'_>) -> Result<(), Failure> + Send + Sync>;

static FUNCTIONS: LazyLock<RwLock<HashMap<String, Function>>> = LazyLock::new(RwLock::default);

/// Sets the function that a kernel of this name runs, once for the whole grid.
pub fn define(
    name: &str,
    function: impl Fn(&MockLaunch<'_>) -> Result<(), Failure> + Send + Sync + 'static,
) {
    write(&FUNCTIONS).insert(name.to_owned(), Arc::new(function));
}

/// The arguments of a kernel's function.
pub struct MockLaunch<'a> {
    memory: &'a Memory,
    kernel: &'a Kernel,
    kernarg: Vec<u8>,
    /// The launch itself.
    pub dispatch: &'a Dispatch,
}

impl MockLaunch<'_> {
    fn word<const N: usize>(&self, at: usize) -> Result<[u8; N], Failure> {
        let bytes = self.kernarg.get(at..at + N).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| Failure::Launch(format!("{}: no argument at {at}", self.kernel.name)))
    }

    fn offset(&self, index: usize) -> usize {
        self.kernel.params.get(index).map_or(usize::MAX / 2, |param| param.0 as usize)
    }

    /// Argument `index`, 8 bytes.
    ///
    /// # Errors
    /// It has no such argument.
    pub fn u64(&self, index: usize) -> Result<u64, Failure> {
        Ok(u64::from_le_bytes(self.word(self.offset(index))?))
    }

    /// Argument `index`, 4 bytes.
    ///
    /// # Errors
    /// It has no such argument.
    pub fn u32(&self, index: usize) -> Result<u32, Failure> {
        Ok(u32::from_le_bytes(self.word(self.offset(index))?))
    }

    fn hidden(&self, index: usize) -> u32 {
        let start = (self.kernel.params_size as usize).next_multiple_of(8);
        self.word(start + index * 4).map_or(0, u32::from_le_bytes)
    }

    /// Blocks, from the buffer.
    pub fn grid(&self) -> [u32; 3] {
        [self.hidden(0), self.hidden(1), self.hidden(2)]
    }

    /// Threads of a block, from the buffer.
    pub fn block(&self) -> [u32; 3] {
        [self.hidden(3), self.hidden(4), self.hidden(5)]
    }

    /// Reads memory as a kernel does.
    ///
    /// # Errors
    /// [`Failure::IllegalAddress`].
    pub fn read<const N: usize>(&self, address: u64) -> Result<[u8; N], Failure> {
        let place = self.memory.at(address, N).map_err(|_| self.illegal(address, "read", N))?;
        let mut bytes = [0; N];
        // SAFETY: that many bytes of memory.
        unsafe { place.copy_to(bytes.as_mut_ptr(), N) };
        Ok(bytes)
    }

    /// Writes memory as a kernel does.
    ///
    /// # Errors
    /// [`Failure::IllegalAddress`].
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.memory.at(address, bytes.len());
        let place = place.map_err(|_| self.illegal(address, "write", bytes.len()))?;
        // SAFETY: that many bytes of memory.
        unsafe { place.copy_from(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn illegal(&self, address: u64, what: &str, bytes: usize) -> Failure {
        let name = &self.kernel.name;
        Failure::IllegalAddress(format!(
            "kernel {name}, block (0,0,0), thread (0,0,0): {what} of {bytes} bytes at {address:#x}, \
             where no memory is"
        ))
    }
}

/// Runs a launch.
pub(super) fn run(memory: &Memory, dispatch: &Dispatch) -> Result<(), Failure> {
    let kernel = dispatch.code.kernels().get(dispatch.kernel);
    let kernel = kernel.ok_or_else(|| Failure::Launch("the module has no such kernel".into()))?;
    let function = read(&FUNCTIONS).get(&kernel.name).cloned();
    let Some(function) = function else {
        return Err(Failure::Launch(format!("kernel {}: no function is defined", kernel.name)));
    };
    let mut kernarg = dispatch.arguments.to_vec();
    kernarg.resize((kernel.params_size as usize).next_multiple_of(8), 0);
    for value in dispatch.grid.iter().chain(&dispatch.block) {
        kernarg.extend(value.to_le_bytes());
    }
    function(&MockLaunch { memory, kernel, kernarg, dispatch })
}

/// Loaded code.
pub struct MockCode {
    symbols: Symbols,
}

impl MockCode {
    pub(super) fn load(
        memory: &Memory,
        device: usize,
        image: &Image<'_>,
    ) -> Result<MockCode, Failure> {
        if image.kind != ImageKind::Own {
            return Err(Failure::NoImage(format!("{:?} is not code of the mock", image.kind)));
        }
        let mut code = MockCode { symbols: Symbols::default() };
        for part in image.parts {
            let text = part.strip_prefix(MAGIC).and_then(|text| std::str::from_utf8(text).ok());
            let text = text.ok_or_else(|| invalid("an image does not begin with its mark"))?;
            for line in text.trim_end_matches('\0').lines().filter(|line| !line.is_empty()) {
                code.line(memory, device, image, line)?;
            }
        }
        Ok(code)
    }

    fn line(
        &mut self,
        memory: &Memory,
        device: usize,
        image: &Image<'_>,
        line: &str,
    ) -> Result<(), Failure> {
        let mut words = line.split(' ');
        let what = words.next().unwrap_or_default();
        let name = words.next().ok_or_else(|| invalid("a line without a name"))?.to_owned();
        let rest: HashMap<&str, &str> =
            words.map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
        let number = |key: &str| match rest.get(key) {
            None => Ok(0),
            Some(text) => text.parse().map_err(|_| invalid(&format!("{key}={text}"))),
        };
        match what {
            "kernel" => {
                let mut kernel = Kernel { name, ..Kernel::default() };
                for size in rest.get("params").iter().flat_map(|text| text.split(',')) {
                    let size: u32 = size.parse().map_err(|_| invalid(line))?;
                    let align = size.clamp(1, 8).next_power_of_two();
                    let offset = kernel.params_size.next_multiple_of(align);
                    kernel.params.push((offset, size));
                    kernel.params_size = offset.checked_add(size).ok_or_else(|| invalid(line))?;
                }
                kernel.static_shared = number("shared")?;
                kernel.local = number("local")?;
                kernel.max_threads = match number("max_threads")? {
                    0 => 1024,
                    given => given,
                };
                kernel.registers = 32;
                kernel.versions = (90, 90);
                self.symbols.kernels.push(kernel);
            }
            "variable" => {
                let bytes = number("bytes")? as usize;
                let managed = rest.contains_key("managed");
                let constant = rest.contains_key("constant");
                let there = if managed { image.managed(&name, bytes) } else { None };
                let symbol = |address| Variable {
                    name,
                    address,
                    bytes,
                    constant,
                    managed,
                    reference: false,
                };
                if let Some(address) = there {
                    self.symbols.variables.push(symbol(address));
                    return Ok(());
                }
                let kind = if managed { MemoryKind::Managed } else { MemoryKind::Device };
                let layout = Layout::from_size_align(bytes, 256).map_err(|_| invalid(line))?;
                let address = memory.allocate(device, kind, layout)?;
                let init = rest.get("init").copied().unwrap_or_default().as_bytes();
                for (at, digits) in init.chunks(2).enumerate().take(bytes) {
                    let digits = std::str::from_utf8(digits).unwrap_or_default();
                    let byte = u8::from_str_radix(digits, 16).map_err(|_| invalid(line))?;
                    let place = memory.at(address + at as u64, 1)?;
                    // SAFETY: one byte of the variable.
                    unsafe { place.write(byte) };
                }
                self.symbols.variables.push(symbol(address));
            }
            _ => return Err(invalid(line)),
        }
        Ok(())
    }
}

fn invalid(what: &str) -> Failure {
    Failure::InvalidImage(format!("mock code: {what}: expected a kernel or a variable"))
}

impl Code for MockCode {
    fn symbols(&self) -> &Symbols {
        &self.symbols
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
