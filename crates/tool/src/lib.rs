//! The C interface of tools, from which `include/cushim.h` is generated.
//!
//! Owns: the structures that the preloaded library and a tool exchange. Must not know: who fills them. Everything is
//! plain data; new fields are appended to a structure, whose `size` says how much of it is present.

// It runs in other people's processes: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

use std::ffi::{c_char, c_int, c_void};

/// The version of this interface. A tool of another version is not loaded.
pub const CUSHIM_ABI: u32 = 1;

/// Numbers in x, y and z.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CushimDim3 {
    /// In x.
    pub x: u32,
    /// In y.
    pub y: u32,
    /// In z.
    pub z: u32,
}

/// The position of a parameter in the parameter block.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CushimParam {
    /// Bytes from the block's beginning.
    pub offset: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

/// A device image that the program registers or loads. Pointers are valid during the callback.
#[repr(C)]
pub struct CushimImage {
    /// Bytes of this structure.
    pub size: u32,
    /// Not used.
    pub reserved: u32,
    /// The image: a fat binary, a cubin, or PTX text; null if it cannot be read.
    pub data: *const c_void,
    /// Bytes of the image.
    pub bytes: u64,
    /// The file that contains it; empty for memory.
    pub owner: *const c_char,
    /// The CUDA function that receives it.
    pub call: *const c_char,
    /// To be set: a replacement image (PTX, cubin, fat binary, or a container of these). It is copied. Null: the
    /// image stays.
    pub other: *const c_void,
    /// To be set: bytes of `other`.
    pub other_bytes: u64,
}

/// A kernel that became known. Pointers are valid during the callback.
#[repr(C)]
pub struct CushimFunction {
    /// Bytes of this structure.
    pub size: u32,
    /// Not used.
    pub reserved: u32,
    /// Its symbol.
    pub name: *const c_char,
    /// The file that contains its image; empty for memory.
    pub owner: *const c_char,
    /// The host stub or handle by which it is launched.
    pub handle: u64,
}

/// A launch. Pointers are valid during the callback.
#[repr(C)]
pub struct CushimLaunch {
    /// Bytes of this structure.
    pub size: u32,
    /// To be set in `launch_begin`: if it is not 0, the launch does not happen, and the call returns success.
    pub skip: u32,
    /// The kernel's symbol; empty if unknown.
    pub name: *const c_char,
    /// The CUDA function that launches.
    pub call: *const c_char,
    /// The file that contains the kernel's image; empty for memory.
    pub owner: *const c_char,
    /// The launched host stub or handle.
    pub handle: u64,
    /// The launch's number in this process, from 1.
    pub number: u64,
    /// Blocks; may be changed in `launch_begin`.
    pub grid: CushimDim3,
    /// Threads of a block; may be changed in `launch_begin`.
    pub block: CushimDim3,
    /// Dynamic shared memory, bytes; may be changed in `launch_begin`.
    pub shared: u32,
    /// The number of parameters; 0 also if they are unknown.
    pub param_count: u32,
    /// The stream: a CUDA handle; 0, 1 and 2 are the special ones.
    pub stream: u64,
    /// The parameters.
    pub params: *const CushimParam,
    /// A copy of the parameter block: its bytes may be changed in `launch_begin`. Null if unknown.
    pub args: *mut c_void,
    /// Bytes of the parameter block.
    pub args_bytes: u64,
    /// The image that contains the kernel; null if it cannot be read.
    pub image: *const c_void,
    /// Bytes of the image.
    pub image_bytes: u64,
    /// To be set in `launch_begin`: the number of an image from `add_image`, whose kernel is launched instead; 0:
    /// none.
    pub other_image: u64,
    /// To be set in `launch_begin`: the symbol of the kernel in `other_image`; null for the same symbol.
    pub other_kernel: *const c_char,
    /// For the tool: a value that it stores here in `launch_begin` is there in `launch_end`. Null at first.
    pub user: *mut c_void,
}

/// A call that returned, of any class except launches. Pointers are valid during the callback.
#[repr(C)]
pub struct CushimCall {
    /// Bytes of this structure.
    pub size: u32,
    /// Its status: 0 for success.
    pub status: c_int,
    /// Its class: `memory`, `copy`, `stream`, `event`, `sync`, `graph`, `module`, `register` or `profiler`.
    pub class_name: *const c_char,
    /// The function, such as `cudaMemcpyAsync`.
    pub function: *const c_char,
    /// Its arguments, one word each (a structure passed by value takes several).
    pub words: *const u64,
    /// The number of words.
    pub word_count: u32,
    /// Bit `n`: word `n` points to a value that the call wrote, and `outs[n]` is that value.
    pub out_mask: u32,
    /// The written values.
    pub outs: *const u64,
}

/// The functions that cushim offers to a tool. They may only be called from callbacks.
#[repr(C)]
pub struct CushimHost {
    /// cushim's `CUSHIM_ABI`.
    pub abi: u32,
    /// Bytes of this structure.
    pub size: u32,
    /// cushim's version, for messages.
    pub version: *const c_char,
    /// Writes a line to the destination of cushim's own messages.
    pub say: unsafe extern "C" fn(text: *const c_char),
    /// Stores a mark with this text in the recording. Returns 0, or -1 if nothing is recorded.
    pub mark: unsafe extern "C" fn(text: *const c_char) -> c_int,
    /// The address of CUDA's own function of this name; cushim does not see such calls. Null if it is not loaded.
    pub symbol: unsafe extern "C" fn(name: *const c_char) -> *mut c_void,
    /// Writes a symbol's readable name to `to`, NUL-terminated, and truncated if `room` bytes are not enough.
    pub readable: unsafe extern "C" fn(symbol: *const c_char, to: *mut c_char, room: u64),
    /// The allocation that contains device address `at`. Returns 0, or CUDA's error.
    pub range: unsafe extern "C" fn(at: u64, base: *mut u64, bytes: *mut u64) -> c_int,
    /// Copies device memory to the host, when the copy may happen: see `synchronize`. Returns 0, or CUDA's error.
    pub read: unsafe extern "C" fn(to: *mut c_void, from: u64, bytes: u64) -> c_int,
    /// Copies host memory to the device. Returns 0, or CUDA's error.
    pub write: unsafe extern "C" fn(to: u64, from: *const c_void, bytes: u64) -> c_int,
    /// Waits for all work of a launch's stream. Returns 0, or CUDA's error.
    pub synchronize: unsafe extern "C" fn(launch: *const CushimLaunch) -> c_int,
    /// Whether a launch's stream is being captured: then it must not be waited for, and nothing copied.
    pub capturing: unsafe extern "C" fn(launch: *const CushimLaunch) -> c_int,
    /// Keeps a copy of an image for `other_image`. Returns its number, or 0 with a message if it cannot be used.
    pub add_image: unsafe extern "C" fn(data: *const c_void, bytes: u64) -> u64,
}

/// A tool and its callbacks. Null callbacks are not called. Callbacks come from any thread, several at once; tools do
/// not see CUDA calls that a tool makes inside a callback.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CushimTool {
    /// `CUSHIM_ABI` of the header that the tool was compiled with.
    pub abi: u32,
    /// Bytes of this structure in that header.
    pub size: u32,
    /// Its name, for messages.
    pub name: *const c_char,
    /// A device image is registered or loaded; it may be replaced.
    pub image: Option<unsafe extern "C-unwind" fn(image: *mut CushimImage)>,
    /// A kernel became known.
    pub function: Option<unsafe extern "C-unwind" fn(function: *const CushimFunction)>,
    /// A launch is about to happen; it may be changed, skipped, or go to another kernel.
    pub launch_begin: Option<unsafe extern "C-unwind" fn(launch: *mut CushimLaunch)>,
    /// The launching call returned with `status`; the kernel itself may not have run yet.
    pub launch_end: Option<unsafe extern "C-unwind" fn(launch: *const CushimLaunch, status: c_int)>,
    /// Another call returned: memory, copies, streams, …
    pub call: Option<unsafe extern "C-unwind" fn(call: *const CushimCall)>,
    /// The process ends through `exit`; no callback comes after it.
    pub end: Option<unsafe extern "C-unwind" fn()>,
}

// SAFETY: a table of functions, and of a string that stays.
unsafe impl Sync for CushimHost {}
// SAFETY: a table of constants; the pointers are to functions and to a name that stays.
unsafe impl Sync for CushimTool {}
// SAFETY: a table of constants, which no thread writes; the pointers are to functions and to a name that stays.
unsafe impl Send for CushimTool {}

/// The export of a tool, under the name `cushim_tool`: it receives cushim's functions, which stay valid, and returns
/// its own table, which must stay valid, too; null if the tool does not want to run.
pub type CushimToolMain = unsafe extern "C-unwind" fn(host: *const CushimHost) -> *const CushimTool;

/// The most lanes of a conversation.
pub const CUSHIM_RPC_LANES: usize = 64;
/// Words of a packet.
pub const CUSHIM_RPC_WORDS: usize = 8;

/// The data that one lane of a GPU sends or receives at once.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CushimRpcPacket {
    /// 64 bytes.
    pub data: [u64; CUSHIM_RPC_WORDS],
}

/// A conversation that device code began with an opcode of the library. It begins with a packet of the device, which
/// `receive` or `receive_bytes` takes. All functions return 0, or -1 if the conversation cannot continue: then the
/// handler must return. Valid until then.
#[repr(C)]
pub struct CushimRpcPort {
    /// Bytes of this structure.
    pub size: u32,
    /// The opcode that the device requests.
    pub opcode: u32,
    /// The mask of requesting lanes.
    pub mask: u64,
    /// For cushim.
    pub own: *mut c_void,
    /// The next packet of each requesting lane, by lane: `packets` has room for `CUSHIM_RPC_LANES`.
    pub receive:
        unsafe extern "C" fn(port: *mut CushimRpcPort, packets: *mut CushimRpcPacket) -> c_int,
    /// A packet to each requesting lane, by lane.
    pub send:
        unsafe extern "C" fn(port: *mut CushimRpcPort, packets: *const CushimRpcPacket) -> c_int,
    /// A message of each requesting lane: its address and size in bytes, by lane. The port owns the bytes.
    pub receive_bytes: unsafe extern "C" fn(
        port: *mut CushimRpcPort,
        bytes: *mut *const c_void,
        sizes: *mut u64,
    ) -> c_int,
    /// A message to each requesting lane, by lane.
    pub send_bytes: unsafe extern "C" fn(
        port: *mut CushimRpcPort,
        bytes: *const *const c_void,
        sizes: *const u64,
    ) -> c_int,
}

/// Serves a conversation: returns 0, or another number, which ends the program with a message.
pub type CushimRpcHandler =
    unsafe extern "C" fn(port: *mut CushimRpcPort, user: *mut c_void) -> c_int;

/// The functions that `cushim load` offers to a library of `--rpc`, while its `cushim_rpc` runs.
#[repr(C)]
pub struct CushimRpcHost {
    /// cushim's `CUSHIM_ABI`.
    pub abi: u32,
    /// Bytes of this structure.
    pub size: u32,
    /// For cushim.
    pub own: *mut c_void,
    /// Makes `handler` serve an opcode, which may be one of LLVM's. Returns 0, or -1 if another library has it.
    pub serve: unsafe extern "C" fn(
        host: *const CushimRpcHost,
        opcode: u32,
        handler: CushimRpcHandler,
        user: *mut c_void,
    ) -> c_int,
    /// Writes the address of `function` to the image's variable `symbol` (a pointer), so that device code can call it
    /// (`LIBC_HOST_CALL`): it gets a copy of the arguments. Returns 0, or -1 if there is no such variable.
    pub give: unsafe extern "C" fn(
        host: *const CushimRpcHost,
        symbol: *const c_char,
        function: CushimRpcFunction,
    ) -> c_int,
}

/// A host function that device code calls.
pub type CushimRpcFunction = unsafe extern "C" fn(arguments: *mut c_void) -> u64;

/// The export of a library of `--rpc`, under the name `cushim_rpc`: called once, after the image was loaded and
/// before it runs. Returns 0, or another number if the program must not run.
pub type CushimRpcMain = unsafe extern "C" fn(host: *const CushimRpcHost) -> c_int;
