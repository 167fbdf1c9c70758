//! Libraries of `--rpc`: the user's opcodes and host functions.
//!
//! Owns: loading them, and the C interface of `include/cushim.h` for them. Must not know: what they do.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;

use cushim_names::Foreign as _;
use cushim_rpc::port::Packet;
use cushim_rpc::{Port, Stop};
use cushim_tool::{
    CUSHIM_ABI, CUSHIM_RPC_LANES, CushimRpcFunction, CushimRpcHandler, CushimRpcHost,
    CushimRpcMain, CushimRpcPacket, CushimRpcPort,
};
use libloading::Library;

use crate::Error;
use crate::driver::{Driver, Module};

/// What the libraries registered.
#[derive(Default)]
pub struct Users {
    handlers: HashMap<u32, (CushimRpcHandler, usize)>,
    functions: HashSet<usize>,
    /// They stay loaded: their functions are called.
    libraries: Vec<Library>,
}

impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Users").field("opcodes", &self.handlers.keys()).finish_non_exhaustive()
    }
}

/// The state of the host's functions while a library registers.
struct Registering<'a> {
    users: &'a mut Users,
    driver: &'a Driver,
    module: Module,
}

impl Users {
    /// Loads libraries and lets each register.
    ///
    /// # Errors
    /// Which library cannot be loaded, or refuses.
    pub fn load(files: &[PathBuf], driver: &Driver, module: Module) -> Result<Self, Error> {
        let mut users = Users::default();
        for file in files {
            let failed = |why: String| Error::Library(format!("--rpc {}: {why}", file.shown()));
            // A name without a folder means a file here, not one of the system's.
            let path = std::path::absolute(file).map_err(|e| Error::io("find", file, e))?;
            // SAFETY: the user asks for its constructors to run.
            let library = unsafe { Library::new(&path) }
                .map_err(|e| failed(format!("cannot be loaded: {e}")))?;
            // SAFETY: the type that include/cushim.h gives this name.
            let main = unsafe { library.get::<CushimRpcMain>(b"cushim_rpc\0") };
            let main = *main.map_err(|_| failed("does not export cushim_rpc".to_owned()))?;
            let mut registering = Registering { users: &mut users, driver, module };
            let host = CushimRpcHost {
                abi: CUSHIM_ABI,
                size: size_of::<CushimRpcHost>() as u32,
                own: std::ptr::from_mut(&mut registering).cast(),
                serve,
                give,
            };
            // SAFETY: as include/cushim.h says.
            match unsafe { main(&host) } {
                0 => users.libraries.push(library),
                status => return Err(failed(format!("its cushim_rpc answered {status}"))),
            }
        }
        Ok(users)
    }

    /// Calls a function that a library registered.
    pub fn call(&self, function: u64, arguments: &mut [u8]) -> Option<u64> {
        let known = self.functions.get(&usize::try_from(function).ok()?)?;
        // SAFETY: `give` accepted it as such a function.
        let function = unsafe { std::mem::transmute::<usize, CushimRpcFunction>(*known) };
        // SAFETY: the library gave it to be called with such arguments.
        Some(unsafe { function(arguments.as_mut_ptr().cast()) })
    }

    /// Serves a conversation whose opcode a library registered.
    pub fn serve(&self, port: &mut Port<'_>) -> Option<Result<(), Stop>> {
        let (handler, user) = *self.handlers.get(&port.opcode())?;
        let (opcode, mask) = (port.opcode(), port.mask());
        let mut talk = Talk { port, messages: Vec::new(), stop: None };
        let mut c = CushimRpcPort {
            size: size_of::<CushimRpcPort>() as u32,
            opcode,
            mask,
            own: std::ptr::from_mut(&mut talk).cast(),
            receive,
            send,
            receive_bytes,
            send_bytes,
        };
        // SAFETY: as include/cushim.h says; `user` is what was registered with it.
        let status = unsafe { handler(&mut c, user as *mut c_void) };
        Some(match (talk.stop, status) {
            (Some(stop), _) => Err(stop),
            (None, 0) => Ok(()),
            (None, status) => Err(Stop::fault(format!(
                "opcode {opcode:#x}: the library that serves it answered {status}"
            ))),
        })
    }
}

unsafe extern "C" fn serve(
    host: *const CushimRpcHost,
    opcode: u32,
    handler: CushimRpcHandler,
    user: *mut c_void,
) -> c_int {
    // SAFETY: libraries hand back what `load` gave them, while `load` waits.
    let registering = unsafe { &mut *(*host).own.cast::<Registering<'_>>() };
    match registering.users.handlers.entry(opcode) {
        std::collections::hash_map::Entry::Occupied(_) => -1,
        std::collections::hash_map::Entry::Vacant(place) => {
            place.insert((handler, user as usize));
            0
        }
    }
}

unsafe extern "C" fn give(
    host: *const CushimRpcHost,
    symbol: *const c_char,
    function: CushimRpcFunction,
) -> c_int {
    // SAFETY: `serve` put its own `Registering` there, and calls this while it has no other reference to it.
    let registering = unsafe { &mut *(*host).own.cast::<Registering<'_>>() };
    // SAFETY: a string, as include/cushim.h says.
    let Ok(name) = unsafe { CStr::from_ptr(symbol) }.to_str() else { return -1 };
    let Ok(Some((at, 8))) = registering.driver.variable(registering.module, name) else {
        return -1;
    };
    let address = function as usize;
    if registering.driver.write(at, &(address as u64).to_le_bytes()).is_err() {
        return -1;
    }
    registering.users.functions.insert(address);
    0
}

/// A conversation while a library serves it.
struct Talk<'a, 'b> {
    port: &'a mut Port<'b>,
    messages: Vec<Vec<Vec<u8>>>,
    stop: Option<Stop>,
}

impl Talk<'_, '_> {
    /// The conversation behind `port`.
    ///
    /// # Safety
    /// [`Users::serve`] passed it, and still waits.
    unsafe fn of<'x>(port: *mut CushimRpcPort) -> &'x mut Talk<'x, 'x> {
        // SAFETY: as the caller promises.
        unsafe { &mut *(*port).own.cast() }
    }

    fn done(&mut self, result: Result<(), Stop>) -> c_int {
        match result {
            Ok(()) => 0,
            Err(stop) => {
                self.stop = Some(stop);
                -1
            }
        }
    }
}

unsafe extern "C" fn receive(port: *mut CushimRpcPort, to: *mut CushimRpcPacket) -> c_int {
    // SAFETY: libraries hand back what they were given.
    let talk = unsafe { Talk::of(port) };
    let received = talk.port.recv(|lane, data| {
        // SAFETY: there is room for all lanes, as include/cushim.h says.
        unsafe { to.add(lane as usize).write(CushimRpcPacket { data }) };
        Ok(())
    });
    talk.done(received)
}

unsafe extern "C" fn send(port: *mut CushimRpcPort, from: *const CushimRpcPacket) -> c_int {
    // SAFETY: the library hands back the port that its function was called with, while that function runs.
    let talk = unsafe { Talk::of(port) };
    // SAFETY: a packet for each lane that asks, as include/cushim.h says.
    let sent = talk.port.send(|lane| -> Packet { unsafe { (*from.add(lane as usize)).data } });
    talk.done(sent)
}

unsafe extern "C" fn receive_bytes(
    port: *mut CushimRpcPort,
    to: *mut *const c_void,
    sizes: *mut u64,
) -> c_int {
    // SAFETY: the library hands back the port that its function was called with, while that function runs.
    let talk = unsafe { Talk::of(port) };
    let received = talk.port.messages().map(|messages| {
        for lane in talk.port.lanes() {
            let message = &messages[lane as usize];
            // SAFETY: there is room for all lanes. The bytes stay where they are while the list of them moves.
            unsafe {
                to.add(lane as usize).write(message.as_ptr().cast());
                sizes.add(lane as usize).write(message.len() as u64);
            }
        }
        talk.messages.push(messages);
    });
    talk.done(received)
}

unsafe extern "C" fn send_bytes(
    port: *mut CushimRpcPort,
    from: *const *const c_void,
    sizes: *const u64,
) -> c_int {
    // SAFETY: the library hands back the port that its function was called with, while that function runs.
    let talk = unsafe { Talk::of(port) };
    let mut messages = vec![Vec::new(); CUSHIM_RPC_LANES];
    for lane in talk.port.lanes().map(|lane| lane as usize) {
        // SAFETY: this many bytes for each lane that asks, as include/cushim.h says.
        let (bytes, size) = unsafe { ((*from.add(lane)).cast::<u8>(), *sizes.add(lane) as usize) };
        if size > 0 {
            // SAFETY: bytes of that size for each lane that asks, as include/cushim.h says.
            messages[lane] = unsafe { std::slice::from_raw_parts(bytes, size) }.to_vec();
        }
    }
    let sent = talk.port.send_messages(&messages);
    talk.done(sent)
}
