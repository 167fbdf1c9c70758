//! A tool that captures one launch: image, arguments, and the buffers before and after it, in a folder that
//! `cushim replay` runs.
//!
//! `CAPTURE_KERNEL` is part of the kernel's readable name or symbol (any kernel, if empty), `CAPTURE_NTH` says which of
//! its launches (from 1), `CAPTURE_DIR` where to (`capture`, if empty). The folder appears whole or not at all.
//!
//! It captures every allocation that a word of the parameter block points into; not the memory to which pointers
//! inside buffers lead, nor the image's variables.

use std::ffi::{CStr, CString, OsStr, c_int};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use cushim_tool::{CUSHIM_ABI, CushimHost, CushimLaunch, CushimTool};
use cushim_trace::private::Folder;
use serde_json::json;

/// The functions that cushim passes to the tool.
static HOST: OnceLock<&'static CushimHost> = OnceLock::new();
/// The number of matching launches so far.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// The data of a launch between its two callbacks.
struct Captured {
    args: Vec<u8>,
    buffers: Vec<Buffer>,
}

/// A captured allocation.
struct Buffer {
    base: u64,
    before: Vec<u8>,
    /// The offset in the parameter block of an address in it, and that address's offset in the allocation.
    pointers: Vec<(usize, u64)>,
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// # Safety
/// `at` is a NUL-terminated string from cushim.
unsafe fn text(at: *const std::ffi::c_char) -> String {
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

fn readable(host: &CushimHost, symbol: *const std::ffi::c_char) -> String {
    let mut name = [0; 1024];
    // SAFETY: the buffer has the size that the call says; the result is NUL-terminated.
    unsafe {
        (host.readable)(symbol, name.as_mut_ptr(), name.len() as u64);
        text(name.as_ptr())
    }
}

fn say(host: &CushimHost, line: &str) {
    if let Ok(line) = CString::new(format!("capture: {line}")) {
        // SAFETY: a NUL-terminated string.
        unsafe { (host.say)(line.as_ptr()) };
    }
}

/// Whether this is the launch to capture.
fn wanted(host: &CushimHost, launch: &CushimLaunch) -> bool {
    let part = variable("CAPTURE_KERNEL");
    // SAFETY: a string from cushim.
    let symbol = unsafe { text(launch.name) };
    if !symbol.contains(&part) && !readable(host, launch.name).contains(&part) {
        return false;
    }
    let nth = variable("CAPTURE_NTH").parse().unwrap_or(1);
    SEEN.fetch_add(1, Ordering::Relaxed) + 1 == nth
}

fn read(host: &CushimHost, base: u64, bytes: usize) -> Result<Vec<u8>, String> {
    let mut content = vec![0; bytes];
    // SAFETY: the caller has this many bytes.
    match unsafe { (host.read)(content.as_mut_ptr().cast(), base, bytes as u64) } {
        0 => Ok(content),
        error => Err(format!("reading {bytes} bytes of a buffer: error {error}")),
    }
}

fn begin(host: &CushimHost, launch: &CushimLaunch) -> Result<Captured, String> {
    if launch.args.is_null() || launch.image.is_null() {
        return Err("its image and parameters are not known".to_owned());
    }
    // SAFETY: the launch that cushim passed to the tool.
    if unsafe { (host.capturing)(launch) } != 0 {
        return Err("it is captured into a graph".to_owned());
    }
    // SAFETY: the launch that cushim passed to the tool.
    let error = unsafe { (host.synchronize)(launch) };
    if error != 0 {
        return Err(format!("waiting for its stream: error {error}"));
    }
    // SAFETY: cushim gives the number of elements.
    let args = unsafe {
        std::slice::from_raw_parts(launch.args.cast::<u8>(), launch.args_bytes as usize).to_vec()
    };
    let mut buffers: Vec<Buffer> = Vec::new();
    for at in (0..args.len().saturating_sub(7)).step_by(8) {
        let address = u64::from_le_bytes(args[at..at + 8].try_into().unwrap_or_default());
        let (mut base, mut bytes) = (0, 0);
        // SAFETY: both places are valid.
        if address <= 0xffff || unsafe { (host.range)(address, &mut base, &mut bytes) } != 0 {
            continue;
        }
        let pointer = (at, address - base);
        match buffers.iter_mut().find(|buffer| buffer.base == base) {
            Some(buffer) => buffer.pointers.push(pointer),
            None => {
                let before = read(host, base, bytes as usize)?;
                buffers.push(Buffer { base, before, pointers: vec![pointer] });
            }
        }
    }
    Ok(Captured { args, buffers })
}

fn end(host: &CushimHost, launch: &CushimLaunch, captured: &Captured) -> Result<PathBuf, String> {
    // SAFETY: the launch that cushim passed to the tool.
    let error = unsafe { (host.synchronize)(launch) };
    if error != 0 {
        return Err(format!("the kernel failed: error {error}"));
    }
    let folder = match variable("CAPTURE_DIR").as_str() {
        "" => PathBuf::from("capture"),
        folder => PathBuf::from(folder),
    };
    if folder.exists() {
        return Err(format!("{} is there already", folder.display()));
    }
    let fresh = folder.with_extension(format!("{}.tmp", std::process::id()));
    let written = write(host, launch, captured, &fresh).and_then(|()| {
        fs::rename(&fresh, &folder).map_err(|e| format!("{}: {e}", folder.display()))
    });
    if written.is_err() {
        let _ = fs::remove_dir_all(&fresh);
    }
    written.map(|()| folder)
}

fn write(
    host: &CushimHost,
    launch: &CushimLaunch,
    captured: &Captured,
    folder: &Path,
) -> Result<(), String> {
    let failed = |name: &str, e| format!("{}: {e}", folder.join(name).display());
    // Buffers are the program's data: only its user may read them.
    let made = Folder::create_new(folder).map_err(|e| failed("", e))?;
    let put = |name: &str, bytes: &[u8]| {
        made.replace(OsStr::new(name), bytes).map_err(|e| failed(name, e))
    };
    // SAFETY: cushim gives the number of elements.
    put("image", unsafe {
        std::slice::from_raw_parts(launch.image.cast::<u8>(), launch.image_bytes as usize)
    })?;
    put("arguments", &captured.args)?;
    let mut buffers = Vec::new();
    for (number, buffer) in captured.buffers.iter().enumerate() {
        let (before, after) = (format!("buffer-{number}.in"), format!("buffer-{number}.out"));
        put(&before, &buffer.before)?;
        put(&after, &read(host, buffer.base, buffer.before.len())?)?;
        let pointers =
            buffer.pointers.iter().map(|(at, offset)| json!({"at": at, "offset": offset}));
        buffers.push(json!({
            "before": before, "after": after, "bytes": buffer.before.len(), "pointers": pointers.collect::<Vec<_>>(),
        }));
    }
    // SAFETY: the launch's parameters, as many as it says, and its strings.
    let (params, kernel) = unsafe {
        let params: &[cushim_tool::CushimParam] = match launch.param_count {
            0 => &[],
            count => std::slice::from_raw_parts(launch.params, count as usize),
        };
        (params, text(launch.name))
    };
    let three = |d: cushim_tool::CushimDim3| [d.x, d.y, d.z];
    let description = json!({
        "format": 1,
        "kernel": kernel,
        "name": readable(host, launch.name),
        "grid": three(launch.grid),
        "block": three(launch.block),
        "shared": launch.shared,
        "image": "image",
        "arguments": "arguments",
        "parameters": params.iter().map(|p| json!({"offset": p.offset, "bytes": p.bytes})).collect::<Vec<_>>(),
        "buffers": buffers,
    });
    put("launch.json", format!("{description:#}\n").as_bytes())
}

unsafe extern "C-unwind" fn launch_begin(launch: *mut CushimLaunch) {
    // SAFETY: cushim's launch is valid during the callback.
    let (Some(host), Some(launch)) = (HOST.get(), unsafe { launch.as_mut() }) else { return };
    if !wanted(host, launch) {
        return;
    }
    match begin(host, launch) {
        Ok(captured) => launch.user = Box::into_raw(Box::new(captured)).cast(),
        Err(why) => say(host, &format!("launch {} is not captured: {why}", launch.number)),
    }
}

unsafe extern "C-unwind" fn launch_end(launch: *const CushimLaunch, status: c_int) {
    // SAFETY: null, or the launch that cushim ends, which is valid during this call.
    let (Some(host), Some(launch)) = (HOST.get(), unsafe { launch.as_ref() }) else { return };
    if launch.user.is_null() {
        return;
    }
    // SAFETY: the value that `launch_begin` stored there.
    let captured = unsafe { Box::from_raw(launch.user.cast::<Captured>()) };
    let done = match status {
        0 => end(host, launch, &captured),
        error => Err(format!("the launch answered {error}")),
    };
    match done {
        Ok(folder) => say(host, &format!("launch {} is in {}", launch.number, folder.display())),
        Err(why) => say(host, &format!("launch {} is not captured: {why}", launch.number)),
    }
}

/// The entry point of a tool, which cushim calls first.
///
/// # Safety
/// Called by cushim.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cushim_tool(host: *const CushimHost) -> *const CushimTool {
    static TABLE: CushimTool = CushimTool {
        abi: CUSHIM_ABI,
        size: size_of::<CushimTool>() as u32,
        name: c"capture".as_ptr(),
        image: None,
        function: None,
        launch_begin: Some(launch_begin),
        launch_end: Some(launch_end),
        call: None,
        end: None,
    };
    // SAFETY: cushim's table is never freed.
    let Some(host) = (unsafe { host.as_ref() }) else { return std::ptr::null() };
    HOST.get_or_init(|| host);
    &raw const TABLE
}
