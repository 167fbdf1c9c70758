//! Loads a tool, and reports why one cannot be loaded.
//!
//! Must not know: what tools are called for.

use std::ffi::{CStr, CString, c_char, c_void};

use cushim_tool::{CUSHIM_ABI, CushimTool, CushimToolMain};

use super::host;
use super::tool::{Tool, calling, say};
use crate::log::{self, Level};
use crate::real::{Real, real};

/// Bytes of the table's first version: everything up to the name.
const LEAST: usize = std::mem::offset_of!(CushimTool, image);

/// The tool in `file`; says why, where it cannot be used.
pub fn tool(file: &str) -> Option<Tool> {
    match read(file) {
        Ok(tool) => Some(tool),
        Err(why) => {
            say(file, format_args!("{why}"));
            None
        }
    }
}

fn read(file: &str) -> Result<Tool, String> {
    let path = CString::new(file).map_err(|_| "the file name contains a NUL byte".to_owned())?;
    let main = symbol(&path)?;
    // SAFETY: the header declares a function of this name so. Tools are the user's own code.
    let main: CushimToolMain = unsafe { std::mem::transmute::<*mut c_void, CushimToolMain>(main) };
    // SAFETY: the host's table stays.
    let table = calling(|| unsafe { main(host::table()) });
    if table.is_null() {
        return Err("the tool refused to start".to_owned());
    }
    // SAFETY: every version of a table begins with these two.
    let (abi, size) = unsafe { ((*table).abi, (*table).size as usize) };
    if abi != CUSHIM_ABI {
        return Err(format!(
            "it was made with version {abi} of cushim.h, and this cushim speaks version {CUSHIM_ABI}: \
             compile it anew with include/cushim.h of cushim {}",
            env!("CARGO_PKG_VERSION")
        ));
    }
    if size < LEAST {
        return Err(format!("its table has {size} bytes, expected {LEAST} or more"));
    }
    let known = size_of::<CushimTool>();
    let mut ours = CushimTool {
        abi,
        size: size as u32,
        name: std::ptr::null(),
        image: None,
        function: None,
        launch_begin: None,
        launch_end: None,
        call: None,
        end: None,
    };
    // SAFETY: both have so many bytes; an absent callback is null, which is `None`.
    unsafe {
        (&raw mut ours).cast::<u8>().copy_from_nonoverlapping(table.cast::<u8>(), size.min(known));
        if size > known {
            let rest = std::slice::from_raw_parts(table.cast::<u8>().add(known), size - known);
            if rest.iter().any(|byte| *byte != 0) {
                say(
                    file,
                    format_args!(
                        "it uses callbacks that cushim {} does not have; they are not called",
                        env!("CARGO_PKG_VERSION")
                    ),
                );
            }
        }
    }
    let name = match ours.name.is_null() {
        true => file.to_owned(),
        // SAFETY: the tool's own string.
        false => unsafe { CStr::from_ptr(ours.name) }.to_string_lossy().into_owned(),
    };
    log::line(Level::Info, format_args!("tool {name}: loaded from {file}"));
    Ok(Tool { name, table: ours })
}

/// Loads `path` and finds its `cushim_tool`.
fn symbol(path: &CStr) -> Result<*mut c_void, String> {
    type Dlopen = unsafe extern "C" fn(*const c_char, i32) -> *mut c_void;
    type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    let (dlopen, dlsym) = (real(Real::Dlopen), real(Real::Dlsym));
    if dlopen.is_null() || dlsym.is_null() {
        return Err("this process has no dlopen".to_owned());
    }
    // SAFETY: the loader's own functions, with their signatures.
    unsafe {
        let dlopen = std::mem::transmute::<*mut c_void, Dlopen>(dlopen);
        let dlsym = std::mem::transmute::<*mut c_void, Dlsym>(dlsym);
        let library = dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if library.is_null() {
            let why = libc::dlerror();
            return Err(match why.is_null() {
                true => "it cannot be loaded".to_owned(),
                false => CStr::from_ptr(why).to_string_lossy().into_owned(),
            });
        }
        let found = dlsym(library, c"cushim_tool".as_ptr());
        match found.is_null() {
            true => Err("it is not a tool: it has no function cushim_tool".to_owned()),
            false => Ok(found),
        }
    }
}

/// Has `work` called when the process ends through `exit`: before the destructors of objects loaded
/// so far, so that a tool's data still exist.
pub fn at_exit(work: fn()) {
    unsafe extern "C" {
        fn __cxa_atexit(
            run: extern "C" fn(*mut c_void),
            data: *mut c_void,
            object: *mut c_void,
        ) -> i32;
    }
    extern "C" fn call(work: *mut c_void) {
        // SAFETY: the function that was given below.
        let work = unsafe { std::mem::transmute::<*mut c_void, fn()>(work) };
        let _ = std::panic::catch_unwind(work);
    }
    // SAFETY: a function that stays: this library is never unloaded.
    unsafe { __cxa_atexit(call, work as *mut c_void, std::ptr::null_mut()) };
}
