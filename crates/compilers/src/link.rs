//! nvJitLink: cushim links its PTX inputs; NVIDIA's library links LLVM's intermediate code to PTX.
//!
//! NVIDIA's link is created beside cushim's, so that it refuses invalid options; it gets `-ptx` with `-lto`, which
//! makes it stop at PTX. Source: nvJitLink's documentation, "User Interface". Must not know: how texts are linked
//! ([`Session`]).

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::real::call;
use super::session::{Input, Session};

/// `NVJITLINK_ERROR_INTERNAL`: there is no library in this slot.
const GONE: i32 = 6;
const SUCCESS: i32 = 0;

type Link = usize;
type Size = *mut usize;
type Words = *const *const c_char;
type Sessions = HashMap<(usize, Link), Session>;

static SESSIONS: Mutex<Option<Sessions>> = Mutex::new(None);

fn sessions() -> MutexGuard<'static, Option<Sessions>> {
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `act` on a link; `None` if the link is unknown.
fn with<const K: usize, R>(link: Link, act: impl FnOnce(&mut Session) -> R) -> Option<R> {
    sessions().as_mut()?.get_mut(&(K, link)).map(act)
}

/// `nvJitLinkCreate`.
pub unsafe extern "C" fn create<const K: usize>(
    link: *mut Link,
    count: u32,
    options: Words,
) -> i32 {
    let words: &[*const c_char] = match options.is_null() || count == 0 {
        true => &[],
        // SAFETY: the program's list of that length.
        false => unsafe { std::slice::from_raw_parts(options, count as usize) },
    };
    // SAFETY: each is a C string of the program's, or null.
    let texts =
        words.iter().filter(|word| !word.is_null()).map(|word| unsafe { CStr::from_ptr(*word) });
    let texts: Vec<_> = texts.map(CStr::to_string_lossy).collect();
    let session = Session::new(texts.iter().map(|text| &**text));
    let mut theirs = words.to_vec();
    if session.lto && !texts.iter().any(|text| text == "-ptx") {
        theirs.push(c"-ptx".as_ptr());
    }
    let number = u32::try_from(theirs.len()).unwrap_or(count);
    let status = call!(K, CREATE: fn(*mut Link, u32, Words), GONE, link, number, theirs.as_ptr());
    if status == SUCCESS && !link.is_null() {
        // SAFETY: the program's variable, which the call has filled.
        let handle = unsafe { link.read() };
        sessions().get_or_insert_default().insert((K, handle), session);
    }
    status
}

/// `nvJitLinkDestroy`.
pub unsafe extern "C" fn destroy<const K: usize>(link: *mut Link) -> i32 {
    if !link.is_null() {
        // SAFETY: the program's own variable.
        let handle = unsafe { link.read() };
        if let Some(sessions) = sessions().as_mut() {
            sessions.remove(&(K, handle));
        }
    }
    call!(K, DESTROY: fn(*mut Link), GONE, link)
}

/// `nvJitLinkAddData`.
pub unsafe extern "C" fn add_data<const K: usize>(
    link: Link,
    kind: i32,
    data: *const u8,
    size: usize,
    name: *const c_char,
) -> i32 {
    let ours = match data.is_null() || size == 0 {
        true => None,
        false => {
            // SAFETY: the program's bytes of that length.
            let bytes = unsafe { std::slice::from_raw_parts(data, size) };
            let text = match name.is_null() {
                true => String::new(),
                // SAFETY: a C string of the program's.
                false => unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned(),
            };
            with::<K, _>(link, |session| session.add(kind, bytes, &text))
        }
    };
    match ours {
        Some(Ok(Input::Ours)) => SUCCESS,
        Some(Err(status)) => status,
        Some(Ok(Input::Theirs)) | None => {
            call!(K, ADD_DATA: fn(Link, i32, *const u8, usize, *const c_char), GONE, link, kind, data, size, name)
        }
    }
}

/// `nvJitLinkAddFile`.
pub unsafe extern "C" fn add_file<const K: usize>(
    link: Link,
    kind: i32,
    path: *const c_char,
) -> i32 {
    let ours = match path.is_null() {
        true => None,
        false => {
            // SAFETY: a C string of the program's.
            let path = unsafe { CStr::from_ptr(path) }.to_string_lossy().into_owned();
            // What cannot be read NVIDIA's library says.
            let bytes = std::fs::read(&path).ok();
            bytes.and_then(|bytes| with::<K, _>(link, |session| session.add(kind, &bytes, &path)))
        }
    };
    match ours {
        Some(Ok(Input::Ours)) => SUCCESS,
        Some(Err(status)) => status,
        Some(Ok(Input::Theirs)) | None => {
            call!(K, ADD_FILE: fn(Link, i32, *const c_char), GONE, link, kind, path)
        }
    }
}

/// `nvJitLinkComplete`.
pub unsafe extern "C" fn complete<const K: usize>(link: Link) -> i32 {
    let known = with::<K, _>(link, |session| session.theirs);
    let Some(theirs) = known else {
        return call!(K, COMPLETE: fn(Link), GONE, link);
    };
    let mut text = None;
    if theirs {
        let status = call!(K, COMPLETE: fn(Link), GONE, link);
        if status != SUCCESS {
            return status;
        }
        match linked_ptx::<K>(link) {
            Ok(ptx) => text = Some(ptx),
            Err(status) => return status,
        }
    }
    let done = with::<K, _>(link, |session| session.complete(text));
    done.map_or(GONE, |done| done.err().unwrap_or(SUCCESS))
}

/// What NVIDIA's library made.
fn linked_ptx<const K: usize>(link: Link) -> Result<String, i32> {
    let mut size = 0;
    // SAFETY: our own variable.
    let status = unsafe { ptx_size::<K>(link, &mut size) };
    if status != SUCCESS {
        return Err(status);
    }
    let mut bytes = vec![0u8; size];
    // SAFETY: as long as was said.
    let status = unsafe { ptx::<K>(link, bytes.as_mut_ptr().cast()) };
    if status != SUCCESS {
        return Err(status);
    }
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `nvJitLinkGetLinkedPtxSize`.
pub unsafe extern "C" fn ptx_size<const K: usize>(link: Link, size: Size) -> i32 {
    call!(K, LINKED_PTX_SIZE: fn(Link, Size), GONE, link, size)
}

/// `nvJitLinkGetLinkedPtx`.
pub unsafe extern "C" fn ptx<const K: usize>(link: Link, text: *mut c_char) -> i32 {
    call!(K, LINKED_PTX: fn(Link, *mut c_char), GONE, link, text)
}

/// Gives the size of `bytes`, or the bytes: `None` where there are none.
unsafe fn put(bytes: Option<Vec<u8>>, size: Option<Size>, to: *mut u8) -> Option<i32> {
    let bytes = bytes?;
    match size {
        // SAFETY: the program's variable.
        Some(size) if !size.is_null() => unsafe { size.write(bytes.len()) },
        None if !to.is_null() => {
            // SAFETY: the program's buffer of the size that it was told.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
        }
        _ => return None,
    }
    Some(SUCCESS)
}

fn image<const K: usize>(link: Link) -> Option<Vec<u8>> {
    with::<K, _>(link, |session| session.image.clone()).flatten()
}

/// Our part of the log with its end, if there is any.
fn log<const K: usize>(link: Link) -> Option<Vec<u8>> {
    let text = with::<K, _>(link, |session| session.log.clone())?;
    (!text.is_empty()).then(|| [text.as_bytes(), b"\0"].concat())
}

/// `nvJitLinkGetLinkedCubinSize`.
pub unsafe extern "C" fn cubin_size<const K: usize>(link: Link, size: Size) -> i32 {
    // SAFETY: the program's variable.
    let ours = unsafe { put(image::<K>(link), Some(size), std::ptr::null_mut()) };
    ours.unwrap_or_else(|| call!(K, LINKED_CUBIN_SIZE: fn(Link, Size), GONE, link, size))
}

/// `nvJitLinkGetLinkedCubin`.
pub unsafe extern "C" fn cubin<const K: usize>(link: Link, image: *mut u8) -> i32 {
    // SAFETY: the program's buffer.
    let ours = unsafe { put(self::image::<K>(link), None, image) };
    ours.unwrap_or_else(|| call!(K, LINKED_CUBIN: fn(Link, *mut u8), GONE, link, image))
}

/// `nvJitLinkGetErrorLogSize`.
pub unsafe extern "C" fn error_log_size<const K: usize>(link: Link, size: Size) -> i32 {
    // SAFETY: the program's variable.
    let ours = unsafe { put(log::<K>(link), Some(size), std::ptr::null_mut()) };
    ours.unwrap_or_else(|| call!(K, ERROR_LOG_SIZE: fn(Link, Size), GONE, link, size))
}

/// `nvJitLinkGetErrorLog`.
pub unsafe extern "C" fn error_log<const K: usize>(link: Link, text: *mut u8) -> i32 {
    // SAFETY: the program's buffer.
    let ours = unsafe { put(log::<K>(link), None, text) };
    ours.unwrap_or_else(|| call!(K, ERROR_LOG: fn(Link, *mut u8), GONE, link, text))
}
