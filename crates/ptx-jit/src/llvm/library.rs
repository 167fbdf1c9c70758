//! LLVM's library: its path and its C interface.
//!
//! Owns finding and opening it (`CUSHIM_LLVM`), and compiling LLVM IR to an object file. A separate process does both
//! ([`super::serve`]). Must not know what the IR says, or how kernels run.

use super::asked::{VARIABLE, path as asked_path};
use super::wire::{self, Made};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

/// The versions that have the interface below.
const VERSIONS: std::ops::RangeInclusive<u32> = 17..=22;

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions that are used, as LLVM's headers declare them.
        struct Functions {
            $($field: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
        }

        impl Functions {
            /// # Safety
            /// `handle` is what `dlopen` gave for a library of LLVM.
            unsafe fn of(handle: *mut c_void) -> Result<Functions, String> {
                let find = |name: &CStr| {
                    // SAFETY: the caller's promise.
                    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
                    if found.is_null() { Err(format!("it has no {name:?}")) } else { Ok(found) }
                };
                Ok(Functions {
                    $($field: {
                        let found = find($name)?;
                        // SAFETY: LLVM's C interface declares the function so in all supported versions.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) $(-> $ret)?>(found)
                        }
                    },)*
                })
            }
        }
    };
}

type Ref = *mut c_void;

functions! {
    version = c"LLVMGetVersion": fn(*mut c_uint, *mut c_uint, *mut c_uint);
    target_info = c"LLVMInitializeX86TargetInfo": fn();
    target = c"LLVMInitializeX86Target": fn();
    target_code = c"LLVMInitializeX86TargetMC": fn();
    printer = c"LLVMInitializeX86AsmPrinter": fn();
    context = c"LLVMContextCreate": fn() -> Ref;
    end_context = c"LLVMContextDispose": fn(Ref);
    set_handler = c"LLVMContextSetDiagnosticHandler": fn(Ref, unsafe extern "C" fn(Ref, *mut c_void), *mut c_void);
    description = c"LLVMGetDiagInfoDescription": fn(Ref) -> *mut c_char;
    severity = c"LLVMGetDiagInfoSeverity": fn(Ref) -> c_int;
    text = c"LLVMCreateMemoryBufferWithMemoryRangeCopy": fn(*const c_char, usize, *const c_char) -> Ref;
    parse = c"LLVMParseIRInContext": fn(Ref, Ref, *mut Ref, *mut *mut c_char) -> c_int;
    find_target = c"LLVMGetTargetFromTriple": fn(*const c_char, *mut Ref, *mut *mut c_char) -> c_int;
    machine = c"LLVMCreateTargetMachine": fn(Ref, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Ref;
    end_machine = c"LLVMDisposeTargetMachine": fn(Ref);
    data_layout = c"LLVMCreateTargetDataLayout": fn(Ref) -> Ref;
    end_data_layout = c"LLVMDisposeTargetData": fn(Ref);
    set_data_layout = c"LLVMSetModuleDataLayout": fn(Ref, Ref);
    options = c"LLVMCreatePassBuilderOptions": fn() -> Ref;
    end_options = c"LLVMDisposePassBuilderOptions": fn(Ref);
    passes = c"LLVMRunPasses": fn(Ref, *const c_char, Ref, Ref) -> Ref;
    error_text = c"LLVMGetErrorMessage": fn(Ref) -> *mut c_char;
    end_error_text = c"LLVMDisposeErrorMessage": fn(*mut c_char);
    emit = c"LLVMTargetMachineEmitToMemoryBuffer": fn(Ref, Ref, c_int, *mut *mut c_char, *mut Ref) -> c_int;
    start = c"LLVMGetBufferStart": fn(Ref) -> *const c_char;
    size = c"LLVMGetBufferSize": fn(Ref) -> usize;
    end_buffer = c"LLVMDisposeMemoryBuffer": fn(Ref);
    end_module = c"LLVMDisposeModule": fn(Ref);
    end_message = c"LLVMDisposeMessage": fn(*mut c_char);
}

/// An opened library.
pub(super) struct Library {
    functions: Functions,
    about: wire::Library,
}

/// The library that the environment asks for, opened.
///
/// # Errors
/// Why it cannot be opened.
pub(super) fn find() -> Result<Library, String> {
    match asked_path() {
        None => search(),
        Some(path) => open(Path::new(path)),
    }
}

/// Bytes of the stack that LLVM may not count: saved registers, alignment.
const PUSHED: u32 = 256;

/// LLVM's diagnostics while it compiles.
struct Said<'a> {
    functions: &'a Functions,
    stack: u32,
    error: Option<String>,
}

impl Said<'_> {
    fn new(functions: &Functions) -> Said<'_> {
        Said { functions, stack: 0, error: None }
    }

    /// A message and its severity, as LLVM numbers them: 0 an error, 1 a warning, then remarks and notes.
    fn note(&mut self, severity: c_int, text: &str) {
        // "stack frame size (1234) exceeds limit (0) in function 'kernel'": asked for by an attribute of the function.
        if severity == 1 && text.contains("frame size") {
            let size = text.split(['(', ')']).nth(1).and_then(|n| n.parse().ok());
            match size {
                Some(size) => self.stack = self.stack.max(size),
                None => self.error = Some(text.to_owned()),
            }
        }
        if severity == 0 {
            self.error = Some(text.to_owned());
        }
    }
}

/// LLVM's diagnostic handler: without one, LLVM prints messages, and ends the process at an error.
unsafe extern "C" fn diagnosed(what: Ref, said: *mut c_void) {
    // SAFETY: LLVM hands on what `object` gave it, which nobody else uses meanwhile.
    let said = unsafe { &mut *said.cast::<Said<'_>>() };
    let f = said.functions;
    // SAFETY: as the headers say; the message is freed once.
    unsafe {
        let text = (f.description)(what);
        let severity = (f.severity)(what);
        let shown = CStr::from_ptr(text).to_string_lossy().into_owned();
        (f.end_message)(text);
        said.note(severity, &shown);
    }
}

/// The passes, by LLVM's names: allocas to registers, loop-invariant code motion, one round of simplification.
/// Inlining, vectorising and unrolling have nothing to do here, and take most of the time.
fn passes(version: u32) -> &'static CStr {
    match version {
        17 => c"function(sroa,early-cse,simplifycfg,instcombine,loop-mssa(licm),early-cse,adce)",
        // Later versions end the process if one round leaves something to do, unless told otherwise.
        _ => {
            c"function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,loop-mssa(licm),early-cse,adce)"
        }
    }
}

impl Library {
    pub(super) fn about(&self) -> &wire::Library {
        &self.about
    }

    /// Compiles LLVM IR to an object file, optimised for a processor.
    ///
    /// # Errors
    /// LLVM's error.
    pub(super) fn object(&self, text: &str, cpu: &str) -> Result<Made, String> {
        let cpu = CString::new(cpu).map_err(|e| e.to_string())?;
        let (f, mut said) = (&self.functions, Said::new(&self.functions));
        // SAFETY: LLVM's functions, called as its headers say: what one gives another takes, and each thing is ended once.
        // The context is this thread's alone, and what it says goes to `said`, which outlives it.
        unsafe {
            let context = (f.context)();
            (f.set_handler)(context, diagnosed, (&raw mut said).cast());
            let made = self.module(context, text).and_then(|module| {
                let made = self.made(module, &cpu);
                (f.end_module)(module);
                made
            });
            (f.end_context)(context);
            let object = made?;
            match said.error {
                Some(error) => Err(error),
                None => Ok(Made { object, stack: said.stack.saturating_add(PUSHED) }),
            }
        }
    }

    /// # Safety
    /// The context is LLVM's, and nobody else's.
    unsafe fn module(&self, context: Ref, text: &str) -> Result<Ref, String> {
        let f = &self.functions;
        let (mut module, mut message) = (null_mut(), null_mut());
        // SAFETY: the buffer copies the IR; parsing frees the buffer; the message is freed if there is one.
        unsafe {
            let buffer = (f.text)(text.as_ptr().cast(), text.len(), c"kernel".as_ptr());
            match (f.parse)(context, buffer, &raw mut module, &raw mut message) {
                0 => Ok(module),
                _ => Err(self.said(message)),
            }
        }
    }

    /// # Safety
    /// The module is LLVM's, and stays the caller's.
    unsafe fn made(&self, module: Ref, cpu: &CStr) -> Result<Vec<u8>, String> {
        let f = &self.functions;
        let triple = c"x86_64-unknown-linux-gnu".as_ptr();
        let (mut target, mut message) = (null_mut(), null_mut());
        // SAFETY: as the headers say; numbers are those of their enumerations: aggressive code generation, position
        // independent, the small code model, an object file.
        unsafe {
            if (f.find_target)(triple, &raw mut target, &raw mut message) != 0 {
                return Err(self.said(message));
            }
            let machine = (f.machine)(target, triple, cpu.as_ptr(), c"".as_ptr(), 3, 2, 3);
            if machine.is_null() {
                return Err("it has no machine for this processor".into());
            }
            let layout = (f.data_layout)(machine);
            (f.set_data_layout)(module, layout);
            (f.end_data_layout)(layout);
            let options = (f.options)();
            let error =
                (f.passes)(module, passes(self.about.version[0]).as_ptr(), machine, options);
            (f.end_options)(options);
            let made = if error.is_null() {
                let mut buffer = null_mut();
                match (f.emit)(machine, module, 1, &raw mut message, &raw mut buffer) {
                    0 => {
                        let (start, size) = ((f.start)(buffer), (f.size)(buffer));
                        let bytes = std::slice::from_raw_parts(start.cast::<u8>(), size).to_vec();
                        (f.end_buffer)(buffer);
                        Ok(bytes)
                    }
                    _ => Err(self.said(message)),
                }
            } else {
                let text = (f.error_text)(error);
                let said = CStr::from_ptr(text).to_string_lossy().into_owned();
                (f.end_error_text)(text);
                Err(said)
            };
            (f.end_machine)(machine);
            made
        }
    }

    /// # Safety
    /// The message is LLVM's, or null; it is freed.
    unsafe fn said(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return "it failed and does not say why".into();
        }
        // SAFETY: the caller's promise: a string that ends in zero.
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.functions.end_message)(message);
            text
        }
    }
}

/// The newest library of a supported version: by the loader's own rules, then where distributions and ROCm have it.
fn search() -> Result<Library, String> {
    let mut why = format!("no libLLVM of version {} to {}", VERSIONS.start(), VERSIONS.end());
    for version in VERSIONS.rev() {
        let names = [
            format!("libLLVM.so.{version}.1"),
            format!("libLLVM-{version}.so.1"),
            format!("libLLVM-{version}.so"),
            format!("/usr/lib/llvm-{version}/lib/libLLVM.so.1"),
            format!("/usr/lib/llvm-{version}/lib/libLLVM.so"),
            format!("/usr/lib/llvm{version}/lib/libLLVM.so"),
            format!("/usr/lib64/llvm{version}/lib64/libLLVM.so.{version}.1"),
            format!("/opt/rocm/lib/llvm/lib/libLLVM.so.{version}.0git"),
            format!("/opt/rocm/lib/llvm/lib/libLLVM-{version}.so"),
            format!("/opt/rocm/llvm/lib/libLLVM-{version}.so"),
        ];
        for name in names {
            match open(&PathBuf::from(&name)) {
                Ok(library) => return Ok(library),
                // Report why a library that exists is refused.
                Err(said) if name.starts_with('/') && PathBuf::from(&name).exists() => why = said,
                Err(_) => {}
            }
        }
    }
    // Names without a version.
    for name in ["libLLVM.so", "/opt/rocm/lib/llvm/lib/libLLVM.so", "/opt/rocm/llvm/lib/libLLVM.so"]
    {
        if let Ok(library) = open(Path::new(name)) {
            return Ok(library);
        }
    }
    Err(why)
}

/// Opens a library; sets no option of LLVM.
fn open(path: &Path) -> Result<Library, String> {
    let shown = path.display();
    let name = CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| format!("{VARIABLE}: expected a path"))?;
    // SAFETY: a library's constructors run, as those of any library that the user names.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(format!("{shown}: not a library that can be opened"));
    }
    // SAFETY: just opened; it is closed only where none of the functions is used any more.
    let functions = unsafe { Functions::of(handle) }.map_err(|e| format!("{shown}: {e}"))?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the three numbers are written; the initialisers take nothing and may be called in any order.
    unsafe {
        (functions.version)(&raw mut major, &raw mut minor, &raw mut patch);
        if !VERSIONS.contains(&major) {
            libc::dlclose(handle);
            let (least, most) = (VERSIONS.start(), VERSIONS.end());
            return Err(format!("{shown}: LLVM {major}, expected {least} to {most}"));
        }
        (functions.target_info)();
        (functions.target)();
        (functions.target_code)();
        (functions.printer)();
    }
    let path = file(&functions).unwrap_or_else(|| shown.to_string());
    Ok(Library { functions, about: wire::Library { version: [major, minor, patch], path } })
}

/// The path of an opened library.
fn file(functions: &Functions) -> Option<String> {
    // SAFETY: what is asked about is a function of the library; its name is the loader's, which stays.
    unsafe {
        let mut about: libc::Dl_info = std::mem::zeroed();
        let known = libc::dladdr(functions.version as *const c_void, &raw mut about);
        (known != 0 && !about.dli_fname.is_null())
            .then(|| CStr::from_ptr(about.dli_fname).to_string_lossy().into_owned())
    }
}
