//! Parameter layouts, from images in memory.
//!
//! Owns: turning a raw pointer that CUDA was given into bytes of known length, and the index of the kernels in them.
//! A fat binary in a loaded file is read when one of its kernels is first launched; the program may free anything
//! else after the call, so it is read at once.
//! Must not know: registration, events.

use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use cushim_abi::structs::{FAT_BINARY_WRAPPER_MAGIC, FatBinaryWrapper, HIP_WRAPPER_MAGIC};
use cushim_image::{Extent, Format, Limits};

pub use cushim_image::{Param, ParamLayout, ParamType};

use cushim_process::elf::{self, Version};

mod content;

pub use content::Content;

/// A kernel's parameters as the hot path needs them.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Bytes of the parameter block.
    pub size: usize,
    /// Offset and size of each parameter.
    pub params: Box<[Param]>,
    /// The type of each; empty where the image does not say.
    pub types: Box<[ParamType]>,
}

impl From<ParamLayout> for Layout {
    fn from(layout: ParamLayout) -> Self {
        Layout {
            size: layout.size as usize,
            params: layout.params.into(),
            types: layout.types.into(),
        }
    }
}

/// The image of a module.
pub struct Code {
    /// Where it is or was.
    address: AtomicUsize,
    /// Its length where it can still be read.
    length: usize,
    kind: &'static str,
    /// The file that the program named, if it did.
    file: Option<String>,
    /// Kernels by name, once read.
    index: Guarded,
    /// A copy of bytes that the program may free.
    kept: OnceLock<Box<[u8]>>,
    content: Content,
}

/// An index behind a lock that gives up: another thread may have held it when this process was forked.
struct Guarded {
    lock: AtomicU32,
    index: UnsafeCell<Option<Index>>,
}

// SAFETY: `index` is only reached with `lock` held.
unsafe impl Sync for Guarded {}

impl Guarded {
    const fn new() -> Self {
        Guarded { lock: AtomicU32::new(0), index: UnsafeCell::new(None) }
    }

    fn with<R>(&self, work: impl FnOnce(&mut Option<Index>) -> R) -> Option<R> {
        struct Release<'a>(&'a AtomicU32);
        impl Drop for Release<'_> {
            fn drop(&mut self) {
                self.0.store(0, Ordering::Release);
            }
        }
        if !crate::lock::acquire(&self.lock) {
            return None;
        }
        let _release = Release(&self.lock);
        // SAFETY: the lock is held.
        Some(work(unsafe { &mut *self.index.get() }))
    }

    fn get_mut(&mut self) -> &mut Option<Index> {
        self.index.get_mut()
    }
}

type Index = Result<HashMap<String, ParamLayout>, String>;

/// An image in another process's memory is read with the default limits, but an index is not worth
/// more than this many unpacked bytes.
const LIMITS: Limits = Limits { max_image: 1 << 30, ..Limits::DEFAULT };

impl Code {
    /// No image.
    pub const fn nothing() -> Self {
        Code {
            address: AtomicUsize::new(0),
            length: 0,
            kind: "unknown",
            file: None,
            index: Guarded::new(),
            kept: OnceLock::new(),
            content: Content::Unknown,
        }
    }

    /// What `code` points to, as `__cudaRegisterFatBinary`, `cuLibraryLoadData`, `cuModuleLoadData` and HIP's functions
    /// like these take it: a wrapper, a fat binary, a cubin, PTX text, a bundle of clang's, a code object of AMD's.
    ///
    /// # Safety
    /// `code` is what the program passed and CUDA accepted.
    pub unsafe fn from_pointer(code: usize) -> Self {
        let nothing = Code { address: AtomicUsize::new(code), ..Code::nothing() };
        if code == 0 {
            return nothing;
        }
        let mut data = code;
        // SAFETY: CUDA read these four bytes; PTX text has at least ".version".
        let magic = unsafe { (code as *const u32).read_unaligned() };
        if matches!(magic, FAT_BINARY_WRAPPER_MAGIC | HIP_WRAPPER_MAGIC) {
            // SAFETY: the magic says that it is a wrapper.
            data = unsafe { (code as *const FatBinaryWrapper).read_unaligned() }.data;
        }
        // SAFETY: as the caller promises.
        let measured = std::panic::catch_unwind(|| unsafe { measure(data) });
        let Some((length, kind)) = measured.ok().flatten() else { return nothing };
        let mut code = Code { address: AtomicUsize::new(data), length, kind, ..Code::nothing() };
        code.content = match elf::object_at(data) {
            Some(object) => Content::of_object(&object, data, length),
            None => {
                code.read();
                code.bytes().map_or(Content::Unknown, Content::of)
            }
        };
        code
    }

    /// The image in a file that the program had the driver load; `keep`: its bytes are requested later.
    pub fn from_file(path: &str, keep: bool) -> Self {
        let code = Code { file: Some(path.to_owned()), ..Code::nothing() };
        let bytes = std::fs::read(path).map_err(|e| format!("{path}: {e}"));
        let found = bytes.as_ref().map_err(Clone::clone).and_then(|bytes| index(bytes));
        code.index.with(|slot| *slot = Some(found));
        let content = bytes.as_ref().map_or(Content::Unknown, |b| Content::of_file(path, b));
        if let (true, Ok(bytes)) = (keep, bytes) {
            let _ = code.kept.set(bytes.into());
        }
        Code { kind: "file", content, ..code }
    }

    /// The same code, said to come from `file`.
    pub fn of_file(self, file: &str) -> Self {
        Code { file: Some(file.to_owned()), content: Content::Unknown, ..self }
    }

    /// Copies it, if it is in memory that the program may free. To be called while it is there.
    pub fn keep(&self) {
        if elf::object_at(self.address()).is_none()
            && let Some(bytes) = self.bytes()
        {
            let _ = self.kept.set(bytes.into());
        }
    }

    /// Its bytes, where they can still be read: while its module is loaded, during the call that
    /// passed it, or for ever after [`Code::keep`].
    pub fn bytes(&self) -> Option<&[u8]> {
        if let Some(kept) = self.kept.get() {
            return Some(kept);
        }
        // SAFETY: `measure` found `length` bytes from `address` on.
        (self.length != 0).then(|| unsafe {
            std::slice::from_raw_parts(self.address() as *const u8, self.length)
        })
    }

    /// Call this when its module is unloaded. It frees its index, which for a library of a thousand kernels is
    /// most of the memory, and never reads the image again, because its memory may hold something else now.
    ///
    /// False if another thread holds the lock.
    pub fn forget(&self) -> bool {
        // Dropped outside the lock.
        let read = self.index.with(|slot| slot.replace(Err("its module is unloaded".to_owned())));
        read.is_some()
    }

    /// Where it lies.
    pub fn address(&self) -> usize {
        self.address.load(Ordering::Acquire)
    }

    /// The names of its kernels; none where it cannot be read.
    pub fn kernels(&self) -> Vec<String> {
        self.read();
        let names = self.index.with(|index| match index {
            Some(Ok(kernels)) => kernels.keys().cloned().collect(),
            _ => Vec::new(),
        });
        let mut names: Vec<String> = names.unwrap_or_default();
        names.sort_unstable();
        names
    }

    /// What it is, and its length in bytes (0 where unknown).
    pub fn describe(&self) -> (&'static str, u64) {
        (self.kind, self.length as u64)
    }

    /// The file that holds it, empty for memory.
    pub fn owner(&self) -> String {
        if let Some(file) = &self.file {
            return file.clone();
        }
        Code::owner_of(self.address())
    }

    /// The loaded file that `address` lies in, empty for memory.
    pub fn owner_of(address: usize) -> String {
        match elf::object_at(address) {
            Some(object) if !object.file_name().is_empty() => {
                object.file_name().to_string_lossy().into_owned()
            }
            Some(_) => crate::config::executable().to_string_lossy().into_owned(),
            None => String::new(),
        }
    }

    /// The layout of `kernel`, or why it is not known.
    pub fn layout(&self, kernel: &str) -> Result<Layout, String> {
        self.read();
        let answer = self.index.with(|index| match index {
            Some(Ok(kernels)) => match kernels.get(kernel) {
                Some(layout) => Ok(layout.clone().into()),
                None => Err("no readable image of its module contains this kernel".to_owned()),
            },
            Some(Err(why)) => Err(why.clone()),
            None => Err("its module's image was not seen".to_owned()),
        });
        answer.unwrap_or_else(|| {
            Err("its module's image was being read by another thread".to_owned())
        })
    }

    fn read(&self) {
        self.index.with(|slot| {
            if slot.is_some() || self.length == 0 {
                return;
            }
            // SAFETY: `measure` found `length` bytes from `address` on; those of a loaded file stay
            // as long as its module, and memory is read during the call that passed it.
            let bytes =
                unsafe { std::slice::from_raw_parts(self.address() as *const u8, self.length) };
            let read = std::panic::catch_unwind(|| index(bytes));
            *slot = Some(read.unwrap_or_else(|_| Err("reading its image failed".to_owned())));
        });
    }
}

fn index(bytes: &[u8]) -> Index {
    match cushim_image::sniff(bytes) {
        Format::AmdgpuElf | Format::OffloadBinary | Format::Bundle | Format::CompressedBundle => {
            return Ok(listed(bytes));
        }
        _ => {}
    }
    match cushim_image::index(bytes, &LIMITS) {
        Ok(kernels) => Ok(kernels.into_iter().collect()),
        Err(error) => Err(format!("its module's image cannot be read: {error}")),
    }
}

/// The kernels of AMD's code objects and of clang's containers; for each name, the first that can
/// be read.
fn listed(bytes: &[u8]) -> HashMap<String, ParamLayout> {
    let mut all = HashMap::new();
    for image in cushim_image::inventory::read(bytes, &LIMITS).images {
        for kernel in image.kernels(&LIMITS).unwrap_or_default() {
            all.entry(kernel.name).or_insert(kernel.params);
        }
    }
    all
}

/// Length and kind of the image at `data`, from its own header.
///
/// # Safety
/// CUDA accepted an image at `data`.
unsafe fn measure(data: usize) -> Option<(usize, &'static str)> {
    if data == 0 {
        return None;
    }
    // SAFETY: every image has four bytes.
    let magic = unsafe { (data as *const [u8; 4]).read_unaligned() };
    let mut known = match magic {
        [0x50, 0xed, 0x55, 0xba] | [0x10, 0xff, 0x10, 0xad] | [b'C', b'C', b'O', b'B'] => 16,
        [b'_', b'_', b'C', b'L'] => 32,
        [0x7f, b'c', b'u', b'L'] => cushim_image::linked::HEADER,
        [0x7f, b'E', b'L', b'F'] => cushim_image::sniff::MIN_PREFIX,
        // SAFETY: anything else that CUDA accepts here is text that ends with a NUL.
        _ => unsafe { CStr::from_ptr(data as *const libc::c_char) }.to_bytes_with_nul().len(),
    };
    for _ in 0..4 {
        // SAFETY: `known` bytes are there: a header's own length, or what it says of itself.
        let prefix = unsafe { std::slice::from_raw_parts(data as *const u8, known) };
        match cushim_image::extent(prefix, &LIMITS).ok()? {
            Extent::Exact(length) => {
                let kind = match cushim_image::sniff(prefix) {
                    Format::Fatbin => "fatbin",
                    Format::Cubin => "cubin",
                    Format::Ptx => "ptx",
                    Format::LinkedPtx => "linked-ptx",
                    Format::AmdgpuElf => "hsaco",
                    Format::Bundle | Format::CompressedBundle => "bundle",
                    _ => "image",
                };
                return Some((usize::try_from(length).ok()?, kind));
            }
            Extent::Need(more) => known = usize::try_from(more).ok().filter(|m| *m > known)?,
            Extent::Text => return Some((known, "ptx")),
        }
    }
    None
}

/// The layout as the driver tells it (`cuFuncGetParamInfo`, `cuKernelGetParamInfo`: CUDA 12.4), for
/// functions whose image was not seen. `function` is a `CUfunction` or `CUkernel` of the driver's.
pub fn ask_driver(function: usize) -> Option<Layout> {
    [c"cuFuncGetParamInfo", c"cuKernelGetParamInfo"]
        .into_iter()
        .find_map(|name| ask(name, function))
}

fn ask(name: &CStr, function: usize) -> Option<Layout> {
    type GetParamInfo = unsafe extern "C-unwind" fn(usize, usize, *mut usize, *mut usize) -> i32;
    /// CUDA_ERROR_INVALID_VALUE: there is no parameter of this number.
    const NO_MORE: i32 = 1;
    let get = elf::next(name, Version::Any, |_| true)?;
    // SAFETY: the signature of both functions.
    let get: GetParamInfo = unsafe { std::mem::transmute::<usize, GetParamInfo>(get) };
    let mut params = Vec::new();
    let mut size = 0;
    for index in 0..4096 {
        let (mut offset, mut bytes) = (0, 0);
        // SAFETY: the driver gave this handle to the program; both places are valid.
        match unsafe { get(function, index, &mut offset, &mut bytes) } {
            0 => {}
            NO_MORE => break,
            _ => return None,
        }
        size = size.max(offset.saturating_add(bytes));
        params
            .push(Param { offset: u32::try_from(offset).ok()?, size: u32::try_from(bytes).ok()? });
    }
    Some(Layout { size, params: params.into(), types: Box::default() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PTX: &CStr = c".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k(.param .u64 a, .param .f32 b) { ret; }\n";

    #[test]
    fn text_in_memory_is_read_at_once() {
        let copy = PTX.to_owned();
        // SAFETY: a NUL-terminated PTX text.
        let code = unsafe { Code::from_pointer(copy.as_ptr() as usize) };
        drop(copy);
        let layout = code.layout("k").unwrap();
        assert_eq!((layout.size, layout.params.len()), (12, 2));
        assert!(code.layout("other").is_err());
        assert_eq!(code.describe().0, "ptx");
    }

    #[test]
    fn what_is_unloaded_is_not_read() {
        // SAFETY: a NUL-terminated PTX text in this program's file, which stays and is read when it is needed.
        let read = |code: &CStr| unsafe { Code::from_pointer(code.as_ptr() as usize) };
        let (unread, asked) = (read(PTX), read(PTX));
        assert!(asked.layout("k").is_ok());
        for code in [unread, asked] {
            code.forget();
            assert_eq!(code.layout("k").unwrap_err(), "its module is unloaded");
            assert!(code.kernels().is_empty());
        }
    }

    #[test]
    fn a_wrapper_leads_to_its_image() {
        let wrapper = FatBinaryWrapper {
            magic: FAT_BINARY_WRAPPER_MAGIC,
            version: 1,
            data: PTX.as_ptr() as usize,
            filename_or_list: 0,
        };
        // SAFETY: a wrapper around PTX text.
        let code = unsafe { Code::from_pointer((&raw const wrapper) as usize) };
        assert!(code.layout("k").is_ok());
        assert!(!code.owner().is_empty(), "it is a constant of this program");
    }

    #[test]
    fn nothing_and_garbage_have_reasons() {
        assert!(Code::nothing().layout("k").is_err());
        // SAFETY: null is allowed.
        assert!(unsafe { Code::from_pointer(0) }.layout("k").is_err());
        // SAFETY: a NUL-terminated text.
        let code = unsafe { Code::from_pointer(c"hello, this is no PTX".as_ptr() as usize) };
        assert!(code.layout("k").is_err());
        assert!(
            Code::from_file("/no/such/file", false)
                .layout("k")
                .unwrap_err()
                .contains("/no/such/file")
        );
    }
}
