//! The Python stack of a thread in a Python process.
//!
//! Owns how Python is asked, and its output. Must not know why somebody asks.
//!
//! Python's own `_Py_DumpTraceback`, which `faulthandler` uses, writes a thread's frames into a file. It takes no
//! lock and no reference: the thread is inside a call, so its frames do not change, whether it holds the
//! interpreter's lock or has released it for the call (as ctypes and PyTorch do). Waiting for that lock could block
//! for ever. Python 3.9, 3.10 and all versions from 3.13 on do not export the function: there are no Python frames
//! then.

use std::ffi::{CStr, c_int, c_void};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd};

type Dump = unsafe extern "C" fn(c_int, *mut c_void);
type State = unsafe extern "C" fn() -> *mut c_void;

fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a name that ends with a zero.
    let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!at.is_null()).then_some(at)
}

/// The Python stack of this thread; `None` if there is no Python, or the thread runs none.
pub fn here() -> Option<String> {
    let dump = symbol(c"_Py_DumpTraceback")?;
    let state = symbol(c"PyGILState_GetThisThreadState")?;
    // SAFETY: Python's functions of these names have had these signatures since 3.3.
    let (dump, state) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Dump>(dump),
            std::mem::transmute::<*mut c_void, State>(state),
        )
    };
    // SAFETY: may be called at any time, by any thread.
    let state = unsafe { state() };
    if state.is_null() {
        return None;
    }
    // SAFETY: a name, and a flag.
    let fd = unsafe { libc::memfd_create(c"python".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return None;
    }
    // SAFETY: a new descriptor, which is nobody else's.
    let mut file = unsafe { File::from_raw_fd(fd) };
    // SAFETY: the state is this thread's, which does not go on before the function has ended.
    unsafe { dump(file.as_raw_fd(), state) };
    let mut bytes = Vec::new();
    file.rewind().ok()?;
    file.read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The frames in what Python says, the innermost first: function, and file with line.
pub fn frames(text: &str) -> Vec<(String, String)> {
    let frame = |line: &str| {
        let (file, rest) = line.trim_start().strip_prefix("File \"")?.rsplit_once("\", line ")?;
        let (number, function) = rest.split_once(" in ")?;
        let line: u32 = number.parse().ok()?;
        Some((function.to_owned(), format!("{file}:{line}")))
    };
    text.lines().filter_map(frame).collect()
}

/// Whether a function is Python's own, or what Python calls C functions with.
pub fn is_interpreter(function: &str) -> bool {
    [
        "Py",
        "_Py",
        "ffi_call",
        "_ctypes_",
        "_call_function_pointer",
        "cfunction_",
        "method_vectorcall",
        "builtin_",
    ]
    .iter()
    .any(|begin| function.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Stack (most recent call first):
  File \"/home/u/train \\\"x\\\".py\", line 12 in step
  File \"<string>\", line 1 in <module>
  ...
";

    #[test]
    fn frames_are_functions_with_lines() {
        let found = frames(TEXT);
        let told: Vec<_> = found.iter().map(|(f, place)| (f.as_str(), place.as_str())).collect();
        assert_eq!(told, [("step", "/home/u/train \\\"x\\\".py:12"), ("<module>", "<string>:1")]);
    }

    #[test]
    fn any_text_is_read() {
        for text in ["", "File \"", "  File \"a\", line x in f", "  File \"a\", line 1"] {
            assert_eq!(frames(text), []);
        }
        assert_eq!(here(), None, "no Python runs here");
    }
}
