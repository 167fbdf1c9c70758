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

/// Where a parameter lies in the parameter block.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CushimParam {
    /// Bytes from the block's beginning.
    pub offset: u32,
    /// Bytes that it takes.
    pub bytes: u32,
}

/// A device image that the program registers or loads. Pointers are valid during the callback.
#[repr(C)]
pub struct CushimImage {
    /// Bytes of this structure.
    pub size: u32,
    /// Not used.
    pub reserved: u32,
    /// The image: a fat binary, a cubin, or PTX text; null where it cannot be read.
    pub data: *const c_void,
    /// Bytes of it.
    pub bytes: u64,
    /// The file that it is part of; empty for memory.
    pub owner: *const c_char,
    /// The CUDA function that takes it.
    pub call: *const c_char,
    /// To be set: another image (PTX, cubin, fat binary, or a container that holds such), which takes its place.
    /// It is copied. Null: the image stays.
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
    /// The file that its image is part of; empty for memory.
    pub owner: *const c_char,
    /// The host stub or handle by which it is launched.
    pub handle: u64,
}

/// A launch. Pointers are valid during the callback.
#[repr(C)]
pub struct CushimLaunch {
    /// Bytes of this structure.
    pub size: u32,
    /// To be set in `launch_begin`: not 0, and the launch does not happen and answers success.
    pub skip: u32,
    /// The kernel's symbol; empty where it is not known.
    pub name: *const c_char,
    /// The CUDA function that launches.
    pub call: *const c_char,
    /// The file that the kernel's image is part of; empty for memory.
    pub owner: *const c_char,
    /// The host stub or handle that is launched.
    pub handle: u64,
    /// The launch's number in this process, from 1.
    pub number: u64,
    /// Blocks; may be changed in `launch_begin`.
    pub grid: CushimDim3,
    /// Threads of a block; may be changed in `launch_begin`.
    pub block: CushimDim3,
    /// Dynamic shared memory, bytes; may be changed in `launch_begin`.
    pub shared: u32,
    /// How many parameters there are; 0 where they are not known, too.
    pub param_count: u32,
    /// The stream: a CUDA handle; 0, 1 and 2 are the special ones.
    pub stream: u64,
    /// The parameters.
    pub params: *const CushimParam,
    /// A copy of the parameter block: its bytes may be changed in `launch_begin`. Null where it is not known.
    pub args: *mut c_void,
    /// Bytes of the parameter block.
    pub args_bytes: u64,
    /// The image that holds the kernel; null where it cannot be read.
    pub image: *const c_void,
    /// Bytes of the image.
    pub image_bytes: u64,
    /// To be set in `launch_begin`: an image of `add_image`, from which another kernel is launched; 0: none.
    pub other_image: u64,
    /// To be set in `launch_begin`: the symbol of the kernel in `other_image`; null for the same symbol.
    pub other_kernel: *const c_char,
    /// The tool's own: what it puts here in `launch_begin` it finds in `launch_end`. Null at first.
    pub user: *mut c_void,
}

/// A call that came back: of any class but launches. Pointers are valid during the callback.
#[repr(C)]
pub struct CushimCall {
    /// Bytes of this structure.
    pub size: u32,
    /// What it answered: 0 for success.
    pub status: c_int,
    /// What it is about: `memory`, `copy`, `stream`, `event`, `sync`, `graph`, `module`, `register` or
    /// `profiler`.
    pub class_name: *const c_char,
    /// The function, such as `cudaMemcpyAsync`.
    pub function: *const c_char,
    /// Its arguments, a word for each (a structure that is passed by value takes several).
    pub words: *const u64,
    /// How many words there are.
    pub word_count: u32,
    /// Bit `n`: word `n` points to a value that the call wrote, and `outs[n]` is that value.
    pub out_mask: u32,
    /// The written values.
    pub outs: *const u64,
}

/// What cushim does for a tool. All of it may be called from callbacks only.
#[repr(C)]
pub struct CushimHost {
    /// `CUSHIM_ABI` of cushim.
    pub abi: u32,
    /// Bytes of this structure.
    pub size: u32,
    /// cushim's version, for messages.
    pub version: *const c_char,
    /// Writes a line to where cushim's own messages go.
    pub say: unsafe extern "C" fn(text: *const c_char),
    /// Puts a mark with this text into the recording. Answers 0, or -1 where nothing is recorded.
    pub mark: unsafe extern "C" fn(text: *const c_char) -> c_int,
    /// The address of CUDA's own function of this name, past cushim: such calls are not seen. Null if it is
    /// not loaded.
    pub symbol: unsafe extern "C" fn(name: *const c_char) -> *mut c_void,
    /// Writes a symbol's readable name to `to`, NUL-terminated and cut where `room` bytes are not enough.
    pub readable: unsafe extern "C" fn(symbol: *const c_char, to: *mut c_char, room: u64),
    /// The allocation that device address `at` lies in. Answers 0, or CUDA's error.
    pub range: unsafe extern "C" fn(at: u64, base: *mut u64, bytes: *mut u64) -> c_int,
    /// Copies device memory to the host, when the copy may happen: see `synchronize`. Answers 0, or CUDA's error.
    pub read: unsafe extern "C" fn(to: *mut c_void, from: u64, bytes: u64) -> c_int,
    /// Copies host memory to the device. Answers 0, or CUDA's error.
    pub write: unsafe extern "C" fn(to: u64, from: *const c_void, bytes: u64) -> c_int,
    /// Waits for all work of a launch's stream. Answers 0, or CUDA's error.
    pub synchronize: unsafe extern "C" fn(launch: *const CushimLaunch) -> c_int,
    /// Whether a launch's stream is being captured: then nothing may be waited for or copied.
    pub capturing: unsafe extern "C" fn(launch: *const CushimLaunch) -> c_int,
    /// Keeps a copy of an image for `other_image`. Answers its number, or 0 where it cannot be used, which is
    /// said.
    pub add_image: unsafe extern "C" fn(data: *const c_void, bytes: u64) -> u64,
}

/// A tool: what it wants to be asked. Null callbacks are not called. Callbacks come from any thread, several at
/// once; what CUDA calls a tool makes inside one is not shown to tools.
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
    /// A launch is about to happen; it may be changed, left out, or go to another kernel.
    pub launch_begin: Option<unsafe extern "C-unwind" fn(launch: *mut CushimLaunch)>,
    /// The call that launches came back with `status`; the kernel itself may not have run yet.
    pub launch_end: Option<unsafe extern "C-unwind" fn(launch: *const CushimLaunch, status: c_int)>,
    /// Another call came back: memory, copies, streams, …
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

/// What a tool exports, under the name `cushim_tool`: is given cushim's functions, which stay, and answers its own
/// table, which must stay, too; null where it does not want to work.
pub type CushimToolMain = unsafe extern "C-unwind" fn(host: *const CushimHost) -> *const CushimTool;

/// Lanes that a conversation has at most.
pub const CUSHIM_RPC_LANES: usize = 64;
/// Words of a packet.
pub const CUSHIM_RPC_WORDS: usize = 8;

/// What a lane of a GPU sends or gets at once.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CushimRpcPacket {
    /// 64 bytes.
    pub data: [u64; CUSHIM_RPC_WORDS],
}

/// A conversation that device code began with an opcode of the library's. It begins with a packet of the device's, which
/// `receive` or `receive_bytes` takes. All functions answer 0, or -1 where the conversation cannot go on: then the handler
/// must return. Valid until then.
#[repr(C)]
pub struct CushimRpcPort {
    /// Bytes of this structure.
    pub size: u32,
    /// What the device asks for.
    pub opcode: u32,
    /// Which lanes ask, bit by bit.
    pub mask: u64,
    /// cushim's own.
    pub own: *mut c_void,
    /// The next packet of each lane that asks, by lane: `packets` has room for `CUSHIM_RPC_LANES`.
    pub receive:
        unsafe extern "C" fn(port: *mut CushimRpcPort, packets: *mut CushimRpcPacket) -> c_int,
    /// A packet to each lane that asks, by lane.
    pub send:
        unsafe extern "C" fn(port: *mut CushimRpcPort, packets: *const CushimRpcPacket) -> c_int,
    /// A message of each lane that asks: where it is and how many bytes, by lane. The bytes are the port's.
    pub receive_bytes: unsafe extern "C" fn(
        port: *mut CushimRpcPort,
        bytes: *mut *const c_void,
        sizes: *mut u64,
    ) -> c_int,
    /// A message to each lane that asks, by lane.
    pub send_bytes: unsafe extern "C" fn(
        port: *mut CushimRpcPort,
        bytes: *const *const c_void,
        sizes: *const u64,
    ) -> c_int,
}

/// Serves a conversation: 0, or another number, which ends the program with a message.
pub type CushimRpcHandler =
    unsafe extern "C" fn(port: *mut CushimRpcPort, user: *mut c_void) -> c_int;

/// What `cushim load` does for a library of `--rpc`, while its `cushim_rpc` runs.
#[repr(C)]
pub struct CushimRpcHost {
    /// `CUSHIM_ABI` of cushim.
    pub abi: u32,
    /// Bytes of this structure.
    pub size: u32,
    /// cushim's own.
    pub own: *mut c_void,
    /// Has `handler` serve an opcode, also one of LLVM's. Answers 0, or -1 where another library has it.
    pub serve: unsafe extern "C" fn(
        host: *const CushimRpcHost,
        opcode: u32,
        handler: CushimRpcHandler,
        user: *mut c_void,
    ) -> c_int,
    /// Writes the address of `function` to the image's variable `symbol` (a pointer), so that device code can have it
    /// called (`LIBC_HOST_CALL`): it gets a copy of the arguments. Answers 0, or -1 where there is no such variable.
    pub give: unsafe extern "C" fn(
        host: *const CushimRpcHost,
        symbol: *const c_char,
        function: CushimRpcFunction,
    ) -> c_int,
}

/// A host function that device code calls.
pub type CushimRpcFunction = unsafe extern "C" fn(arguments: *mut c_void) -> u64;

/// What a library of `--rpc` exports, under the name `cushim_rpc`: called once, after the image was loaded and before it
/// runs. Answers 0, or another number where the program must not run.
pub type CushimRpcMain = unsafe extern "C" fn(host: *const CushimRpcHost) -> c_int;
