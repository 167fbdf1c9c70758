//! How programs find functions: `dlsym`, `dlvsym`, `dlopen`, and the results of `cuGetProcAddress`.
//!
//! The exported functions (root package) ask this module what to do, and tail-jump to the real function if the call
//! does not concern CUDA, so that the caller's RTLD_NEXT, RUNPATH and namespace apply.
//!
//! Must not know: the assembly of the exports.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::life;
use crate::lock;
pub use crate::real::{Real, real};
use crate::shadow;
use crate::site::{Home, Site};
use cushim_process::elf::{self, Version};
use cushim_process::table::PointerTable;

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type Dlvsym = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
type Dlopen = unsafe extern "C" fn(*const c_char, i32) -> *mut c_void;

/// `name` if it may be one of cushim's: its first letters decide nearly every lookup.
///
/// # Safety
/// `name` is null or a C string.
unsafe fn concerns_us<'a>(name: *const c_char) -> Option<&'a CStr> {
    if name.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) };
    let bytes = name.to_bytes();
    let ours = match bytes {
        // The driver's and the runtime's. NVML's are not hooked, but the program may have variables of their names.
        [b'c', b'u', ..] | [b'n', b'v', b'm', b'l', ..] => true,
        [b'_', b'_', rest @ ..] => {
            [&b"cuda"[..], b"tgt_", b"llvmPush", b"hip"].iter().any(|start| rest.starts_with(start))
        }
        [b'o', b'm', b'p', b'_', ..] => true,
        [b'l', b'l', b'v', b'm', ..] => true,
        [b'h', b'i', b'p', ..] => true,
        // Names of HIP's C++ exports.
        [b'_', b'Z', b'2', b'4', b'h', b'i', b'p', ..] => true,
        _ => false,
    };
    ours.then_some(name)
}

/// What `dlsym(handle, name)` returns to the code at `caller`; `None`: jump into the real one.
///
/// # Safety
/// The arguments of a call of `dlsym`.
pub unsafe fn dlsym(
    home: &'static Home,
    handle: *mut c_void,
    name: *const c_char,
    caller: usize,
) -> Option<*mut c_void> {
    shadow::look_if_opened();
    // SAFETY: the caller's name.
    let text = unsafe { concerns_us(name) }?;
    shadow::look_for(text, caller);
    if !is_hooked(home, text) {
        return None;
    }
    // What follows RTLD_NEXT depends on the caller: only the real function can tell. It may return
    // cushim's export, which is right if a later object defines the function to forward to.
    if handle == libc::RTLD_NEXT {
        let nothing_behind = elf::next(text, Version::Any, |_| true).is_none();
        return nothing_behind.then(|| between(caller, text));
    }
    let real = real(Real::Dlsym);
    if real.is_null() {
        return None;
    }
    // SAFETY: the real dlsym.
    let real: Dlsym = unsafe { std::mem::transmute(real) };
    // SAFETY: the caller's arguments. For RTLD_DEFAULT the global scope is the same for everybody.
    let mut found = unsafe { real(handle, name) };
    if is_ours(found) {
        // Our own export does not show that CUDA is there: the definition behind it does. SAFETY:
        // the caller's name; RTLD_NEXT is relative to this library.
        found = unsafe { real(libc::RTLD_NEXT, name) };
        if found.is_null() && handle == libc::RTLD_DEFAULT {
            // SAFETY: `caller` is a return address.
            found = unsafe { in_scope_of(caller, real, name) };
        }
        if is_ours(found) {
            found = std::ptr::null_mut();
        }
    }
    Some(wrap(home, text, found))
}

/// As [`dlsym`] for `dlvsym(handle, name, version)`.
///
/// # Safety
/// The arguments of a call of `dlvsym`.
pub unsafe fn dlvsym(
    home: &'static Home,
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
) -> Option<*mut c_void> {
    shadow::look_if_opened();
    // SAFETY: the caller's name.
    let text = unsafe { concerns_us(name) }?;
    shadow::look();
    if handle == libc::RTLD_NEXT || version.is_null() || !is_hooked(home, text) {
        return None;
    }
    let real = real(Real::Dlvsym);
    if real.is_null() {
        return None;
    }
    // SAFETY: the real dlvsym.
    let real: Dlvsym = unsafe { std::mem::transmute(real) };
    // SAFETY: the caller's arguments.
    let mut found = unsafe { real(handle, name, version) };
    if is_ours(found) {
        // SAFETY: the caller's names; RTLD_NEXT is relative to this library.
        found = unsafe { real(libc::RTLD_NEXT, name, version) };
    }
    Some(wrap(home, text, found))
}

/// Called before a `dlopen`. If it opens the driver, references to variables are bound again
/// ([`shadow`]). Where an object was unloaded since the last one, a known runtime may
/// be gone and come back elsewhere: its functions are forgotten before anything is mapped. A
/// library opened with RTLD_DEEPBIND bypasses every preloaded one: that is reported.
///
/// Returns whether `caller` must not find the driver: see [`Refused`].
///
/// # Safety
/// The arguments of a call of `dlopen`.
pub unsafe fn dlopen(
    home: &Home,
    refused: &Refused,
    file: *const c_char,
    flags: i32,
    caller: usize,
) -> bool {
    // SAFETY: `file` is null or a text that ends with a NUL: an argument of `dlopen`.
    if unsafe { names_driver(file) } {
        if refused.contains(caller) {
            tell_refused(caller);
            return true;
        }
        shadow::look();
    }
    shadow::opens();
    static UNLOADS: AtomicU64 = AtomicU64::new(0);
    let unloads = elf::unloads();
    if UNLOADS.swap(unloads, Ordering::AcqRel) != unloads {
        home.forget_runtime();
        crate::offload::place::forget();
        crate::redirect::holder::forget_runtime();
    }
    if flags & libc::RTLD_DEEPBIND == 0 || file.is_null() {
        return false;
    }
    // SAFETY: not null, hence a text that ends with a NUL: an argument of `dlopen`.
    let file = unsafe { CStr::from_ptr(file) }.to_string_lossy();
    if let Some(recorder) = life::current().and_then(|g| g.recorder.as_ref()) {
        let note = format!("{file} was opened with RTLD_DEEPBIND: its own CUDA calls are not seen");
        recorder.write_meta(&cushim_trace::meta::encode_note(&note));
    }
    false
}

/// Libraries whose functions use cushim's kernels if [`COMPUTING`] is loaded, which itself reports the
/// functions that do not run (`crates/compilers`).
const COMPUTED: [&[u8]; 2] = [b"libcublas", b"libcufft"];
const COMPUTING: &[u8] = b"libcushim_compilers.so";

/// A path without its folders.
fn file_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Says why the first library that asks for the driver gets none: most programs load such libraries
/// and never call them. For the program itself, libcushim_audit.so has said it.
#[cold]
fn tell_refused(caller: usize) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let library = elf::object_at(caller).map(|o| o.file_name().to_string_lossy().into_owned());
    let library = library.filter(|name| !name.is_empty());
    let (Some(library), false) = (library, TOLD.load(Ordering::Relaxed)) else { return };
    let is_computed = COMPUTED.iter().any(|begin| file_of(library.as_bytes()).starts_with(begin));
    let is_computing =
        |object: elf::Object| (file_of(object.file_name().to_bytes()) == COMPUTING).then_some(());
    if is_computed && elf::find_object(is_computing).is_some() {
        return;
    }
    if TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    // The log's settings come with a recorder, where there is one.
    if life::current().is_none()
        && let Some(settings) = crate::config::variable(c"CUSHIM_LOG")
    {
        crate::log::configure(&settings);
    }
    crate::log::line(
        crate::log::Level::Error,
        format_args!(
            "{library}: its own CUDA runtime, linked statically and stripped, cannot be redirected and finds no CUDA \
             driver: calls of this library fail. Others like it are not named again (CUSHIM_LOG=info names each)"
        ),
    );
}

/// Parts of the process that must not find a driver: code of NVIDIA's runtime that could not be
/// redirected to virtual CUDA, and that crashes with a driver other than NVIDIA's.
/// libcushim_audit.so writes pairs of begin and end, the end last; an end of 0 marks a free entry.
pub struct Refused(pub [[AtomicUsize; 2]; 64]);

impl Refused {
    /// Nothing is refused.
    pub const fn none() -> Self {
        Refused([const { [const { AtomicUsize::new(0) }; 2] }; 64])
    }

    /// Whether code at `address` is among them.
    fn contains(&self, address: usize) -> bool {
        self.0.iter().any(|[begin, end]| {
            let end = end.load(Ordering::Acquire);
            address < end && address >= begin.load(Ordering::Relaxed)
        })
    }
}

/// Whether `file` has the driver's name, in any folder.
///
/// # Safety
/// `file` is null or a C string.
unsafe fn names_driver(file: *const c_char) -> bool {
    if file.is_null() {
        return false;
    }
    // SAFETY: as the caller promises.
    let path = unsafe { CStr::from_ptr(file) }.to_bytes();
    file_of(path).starts_with(b"libcuda.so")
}

/// The definition of `name` in an object after the caller's and before cushim's (another preloaded library).
fn between(caller: usize, name: &CStr) -> *mut c_void {
    let mut behind = false;
    let found = elf::find_object(|object| {
        if object.is_own() || !behind {
            behind |= object.contains(caller);
            return None;
        }
        object.symbol(name, Version::Any)
    });
    found.unwrap_or(0) as *mut c_void
}

fn is_hooked(home: &Home, name: &CStr) -> bool {
    let runtime = home.runtime.iter().any(|sites| sites.first().is_some_and(|s| s.name == name));
    runtime
        || home.driver_site(name).is_some()
        || home.offload_site(name).is_some()
        || home.hip_site(name).is_some()
}

fn is_ours(address: *mut c_void) -> bool {
    !address.is_null() && elf::object_at(address as usize).is_some_and(|o| o.is_own())
}

/// What `name` means to the object that `caller` lies in, if it was opened with RTLD_LOCAL: its own
/// dependencies count, and we are not among them.
unsafe fn in_scope_of(caller: usize, dlsym: Dlsym, name: *const c_char) -> *mut c_void {
    let none = std::ptr::null_mut();
    let Some(object) = elf::object_at(caller) else { return none };
    let dlopen = real(Real::Dlopen);
    if object.file_name().is_empty() || object.is_own() || dlopen.is_null() {
        return none;
    }
    // SAFETY: the real dlopen; the object is loaded, so this only finds its handle. The handle is
    // not closed: that would need the real dlclose, and the object stays loaded anyway while its
    // code calls us.
    unsafe {
        let dlopen: Dlopen = std::mem::transmute(dlopen);
        let handle = dlopen(object.file_name().as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() { none } else { dlsym(handle, name) }
    }
}

/// The hook for `found`, which the real loader returned for `name`, or `found` itself where it is
/// not a function of CUDA's.
fn wrap(home: &'static Home, name: &CStr, found: *mut c_void) -> *mut c_void {
    if found.is_null() {
        return found;
    }
    let Some(object) = elf::object_at(found as usize) else { return found };
    let site = if let Some(site) = home.driver_site(name) {
        // A library with this name but without `cuInit` is not the driver.
        let is_driver = object.symbol(c"cuInit", Version::Any).is_some();
        is_driver.then_some(site)
    } else if let Some(site) = home.offload_site(name) {
        // libomp and others have functions of these names for their own use.
        let is_libomptarget = object.symbol(c"__tgt_register_lib", Version::Any).is_some();
        is_libomptarget.then_some(site)
    } else if let Some(site) = home.hip_site(name) {
        // Only AMD's own runtime: others with HIP's functions (chipStar) have other images.
        let is_hip = object.symbol(c"__hipRegisterFatBinary", Version::Node(c"hip_4.2")).is_some();
        is_hip.then_some(site)
    } else {
        object.soname().and_then(|soname| home.runtime_site(name, soname))
    };
    match site {
        Some(site) => {
            site.real.store(found.cast(), Ordering::Release);
            site.hook.0.cast_mut().cast()
        }
        None => found,
    }
}

/// Replaces the pointer at `out`, which `hipGetProcAddress` wrote for `symbol`, by its hook, in the
/// per-thread default stream form if it is that form's.
///
/// # Safety
/// A successful call wrote a pointer at `out`, or `out` is null.
pub unsafe fn wrap_hip_pointer(home: &'static Home, symbol: &CStr, out: usize) {
    if out == 0 {
        return;
    }
    let to = out as *mut usize;
    // SAFETY: as the caller promises.
    let found = unsafe { to.read_unaligned() };
    let wanted = symbol.to_bytes();
    let mut sites = home.hip.iter().filter(|site| {
        cushim_abi::function(site.id)
            .is_some_and(|f| [f.name, f.manual].iter().any(|name| name.as_bytes() == wanted))
    });
    if let Some(site) = sites.find(|site| site.real() as usize == found) {
        // SAFETY: as the caller promises; the program's own place.
        unsafe { to.write_unaligned(site.hook.0 as usize) };
    }
}

/// The hooks by the real functions they stand for, in the driver that is loaded.
static BY_REAL: PointerTable<Site> = PointerTable::new();
/// The base of the driver whose functions are in [`BY_REAL`].
static DRIVER: AtomicUsize = AtomicUsize::new(0);

/// Replaces the function pointer at `out`, which the driver wrote, by its hook. The pointer
/// decides, not the name: only the driver knows which form `(symbol, version, flags)` selects.
///
/// # Safety
/// A successful call wrote a pointer at `out`, or `out` is null.
pub unsafe fn wrap_driver_pointer(home: &'static Home, out: usize) {
    if out == 0 {
        return;
    }
    // SAFETY: as the caller promises.
    let found = unsafe { (out as *const usize).read_unaligned() };
    if let Some(hook) = hook_of_driver(home, found) {
        // SAFETY: as the caller promises.
        unsafe { (out as *mut usize).write_unaligned(hook) };
    }
}

fn hook_of_driver(home: &'static Home, found: usize) -> Option<usize> {
    if found == 0 {
        return None;
    }
    if BY_REAL.get(found).is_none() {
        learn_driver(home, found)?;
    }
    let site = BY_REAL.get(found)?;
    site.real.store(found as *mut (), Ordering::Release);
    Some(site.hook.0 as usize)
}

/// Looks all hooked functions up in the driver that `found` lies in, once per driver.
#[cold]
fn learn_driver(home: &'static Home, found: usize) -> Option<()> {
    let object = elf::object_at(found)?;
    let init = object.symbol(c"cuInit", Version::Any)?;
    if DRIVER.load(Ordering::Acquire) == init {
        return Some(());
    }
    // Two threads may both do this: they store the same. Known only once it is complete.
    for site in home.driver {
        if let Some(address) = object.symbol(site.name, Version::Any) {
            lock::registry(|held| BY_REAL.set(&mut held.tables, address, Some(site)));
        }
    }
    DRIVER.store(init, Ordering::Release);
    Some(())
}
