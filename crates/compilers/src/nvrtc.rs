//! NVRTC: a program for `sm_80` is compiled for `compute_80`, and its PTX takes the cubin's place.
//!
//! Owns: which options name an architecture, and for which programs machine code was requested. Other outputs (PTX,
//! LTO-IR, OptiX) are unchanged. Source: NVRTC's user guide, "Supported Compile Options". Must not know: PTX.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::real::call;

/// `NVRTC_ERROR_INTERNAL_ERROR`: there is no NVRTC in this slot.
const GONE: i32 = 11;

type Program = usize;
type Size = *mut usize;
type Text = *mut c_char;
type Words = *const *const c_char;

/// Programs, by slot, for which machine code was requested.
static MACHINE_CODE: Mutex<Option<HashSet<(usize, Program)>>> = Mutex::new(None);

fn asked() -> MutexGuard<'static, Option<HashSet<(usize, Program)>>> {
    MACHINE_CODE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wanted<const K: usize>(program: Program) -> bool {
    asked().as_ref().is_some_and(|programs| programs.contains(&(K, program)))
}

/// What follows from a list of options.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    /// No machine code is requested.
    None,
    /// The list with the virtual architecture.
    Virtual(Vec<CString>),
}

/// Replaces a real architecture by the virtual one, unless link-time optimisation is requested.
fn change(options: &[&CStr]) -> Change {
    let is_lto = |word: &&CStr| {
        let word = word.to_bytes();
        [&b"-dlto"[..], b"--dlink-time-opt", b"-dlink-time-opt"].contains(&word)
    };
    if options.iter().any(is_lto) {
        return Change::None;
    }
    let mut new: Vec<CString> = options.iter().map(|word| CString::from(*word)).collect();
    let mut changed = false;
    let mut behind = false;
    for word in &mut new {
        let bytes = word.to_bytes();
        let name = [&b"--gpu-architecture"[..], b"-gpu-architecture", b"-arch", b"--arch"]
            .into_iter()
            .find_map(|name| Some((name, bytes.strip_prefix(name)?)));
        let (front, value): (Vec<u8>, _) = match name {
            Some((_, b"")) => {
                behind = true;
                continue;
            }
            Some((name, rest)) if rest.starts_with(b"=") || rest.starts_with(b" ") => {
                let blank = 1 + rest.iter().skip(1).take_while(|b| **b == b' ').count();
                let value = rest.get(blank..).unwrap_or_default();
                (bytes.get(..name.len() + blank).unwrap_or_default().to_vec(), value)
            }
            _ if behind => (Vec::new(), bytes),
            _ => continue,
        };
        behind = false;
        if let Some(number) = value.strip_prefix(b"sm_") {
            let text = [&front[..], b"compute_", number].concat();
            if let Ok(text) = CString::new(text) {
                *word = text;
                changed = true;
            }
        }
    }
    if changed { Change::Virtual(new) } else { Change::None }
}

/// `nvrtcCompileProgram`.
pub unsafe extern "C" fn compile<const K: usize>(
    program: Program,
    count: i32,
    options: Words,
) -> i32 {
    let length = usize::try_from(count).unwrap_or(0);
    let words: &[*const c_char] = match options.is_null() || length == 0 {
        true => &[],
        // SAFETY: the program's list of that length.
        false => unsafe { std::slice::from_raw_parts(options, length) },
    };
    let change = match words.iter().any(|word| word.is_null()) {
        true => Change::None,
        false => {
            // SAFETY: each is a C string of the program's.
            let read = words.iter().map(|word| unsafe { CStr::from_ptr(*word) });
            change(&read.collect::<Vec<_>>())
        }
    };
    let mut programs = asked();
    let programs_of = programs.get_or_insert_default();
    let Change::Virtual(new) = change else {
        programs_of.remove(&(K, program));
        drop(programs);
        return call!(K, COMPILE: fn(Program, i32, Words), GONE, program, count, options);
    };
    programs_of.insert((K, program));
    drop(programs);
    let pointers: Vec<*const c_char> = new.iter().map(|word| word.as_ptr()).collect();
    call!(K, COMPILE: fn(Program, i32, Words), GONE, program, count, pointers.as_ptr())
}

/// `nvrtcDestroyProgram`.
pub unsafe extern "C" fn destroy<const K: usize>(program: *mut Program) -> i32 {
    if !program.is_null() {
        // SAFETY: the program's own variable.
        let handle = unsafe { program.read() };
        if let Some(programs) = &mut *asked() {
            programs.remove(&(K, handle));
        }
    }
    call!(K, DESTROY_PROGRAM: fn(*mut Program), GONE, program)
}

/// `nvrtcGetPTXSize`.
pub unsafe extern "C" fn ptx_size<const K: usize>(program: Program, size: Size) -> i32 {
    call!(K, PTX_SIZE: fn(Program, Size), GONE, program, size)
}

/// `nvrtcGetPTX`.
pub unsafe extern "C" fn ptx<const K: usize>(program: Program, text: Text) -> i32 {
    call!(K, PTX: fn(Program, Text), GONE, program, text)
}

/// `nvrtcGetCUBINSize`.
pub unsafe extern "C" fn cubin_size<const K: usize>(program: Program, size: Size) -> i32 {
    match wanted::<K>(program) {
        // SAFETY: the caller's arguments; both functions take the same.
        true => unsafe { ptx_size::<K>(program, size) },
        false => call!(K, CUBIN_SIZE: fn(Program, Size), GONE, program, size),
    }
}

/// `nvrtcGetCUBIN`.
pub unsafe extern "C" fn cubin<const K: usize>(program: Program, image: Text) -> i32 {
    match wanted::<K>(program) {
        // SAFETY: the caller's arguments; both functions take the same, and the sizes are said alike.
        true => unsafe { ptx::<K>(program, image) },
        false => call!(K, CUBIN: fn(Program, Text), GONE, program, image),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn changed(options: &[&str]) -> Option<Vec<String>> {
        let words: Vec<CString> = options.iter().map(|word| CString::new(*word).unwrap()).collect();
        match change(&words.iter().map(CString::as_c_str).collect::<Vec<_>>()) {
            Change::None => None,
            Change::Virtual(new) => {
                Some(new.into_iter().map(|word| word.into_string().unwrap()).collect())
            }
        }
    }

    #[test]
    fn a_real_architecture_becomes_its_virtual_one() {
        let virtually = Some(vec!["-I/x".to_owned(), "-arch=compute_90a".to_owned()]);
        assert_eq!(changed(&["-I/x", "-arch=sm_90a"]), virtually);
        assert_eq!(
            changed(&["--gpu-architecture=sm_80"]).unwrap(),
            ["--gpu-architecture=compute_80"]
        );
        assert_eq!(changed(&["-arch", "sm_80", "-w"]).unwrap(), ["-arch", "compute_80", "-w"]);
        assert_eq!(changed(&["-arch sm_80"]).unwrap(), ["-arch compute_80"]);
    }

    #[test]
    fn what_else_is_asked_for_stays() {
        assert_eq!(changed(&["-arch=compute_80", "-DX=sm_80"]), None);
        assert_eq!(changed(&["-arch=sm_80", "-dlto"]), None);
        assert_eq!(changed(&["-DARCH", "sm_80"]), None);
        assert_eq!(changed(&[]), None);
    }
}
