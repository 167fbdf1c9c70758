//! Functions of the device runtime (`vprintf`, `malloc`, …) that kernels call: PTX declares them and does not
//! define them.
//!
//! Owns the list of functions and their effects, given a way to read a lane's arguments. A function that is not in
//! the list may be one of the host's ([`Host::call`]). Must not know how an engine passes arguments.

use super::fault::Cause;
use super::host::Host;
use super::printf;
use super::runtime::RuntimeCall;
use crate::ir::{Function, Module};

/// A function of the device runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceFunction {
    /// `vprintf(format, arguments)`: how many arguments it took.
    Print,
    /// `malloc(bytes)`: an address or 0.
    Allocate,
    /// `free(address)`.
    Free,
    /// `__assertfail(message, file, line, function, size)`: ends the launch.
    AssertFail,
    /// `cudaGraphSetConditional(handle, value)`: what a conditional node of a graph goes by.
    SetCondition,
    /// A call of CUDA's device runtime.
    Runtime(RuntimeCall),
}

/// What functions are called in PTX.
const NAMES: [(&str, DeviceFunction); 5] = [
    ("vprintf", DeviceFunction::Print),
    ("malloc", DeviceFunction::Allocate),
    ("free", DeviceFunction::Free),
    ("__assertfail", DeviceFunction::AssertFail),
    ("cudaGraphSetConditional", DeviceFunction::SetCondition),
];

/// The lane that calls.
pub trait Caller {
    /// Its argument `n`, zero-extended; 0 if there is none.
    fn argument(&self, n: usize) -> u64;
    /// How many arguments there are.
    fn arguments(&self) -> usize;
    /// Reads memory at a generic address; returns whether all of it is mapped.
    fn read(&self, address: u64, out: &mut [u8]) -> bool;
    /// Writes to a generic address; whether all of it is there.
    fn write(&mut self, address: u64, bytes: &[u8]) -> bool;
    /// Its block, and its thread.
    fn place(&self) -> ([u32; 3], [u32; 3]);
}

/// The longest string that is read.
const LONGEST: u64 = 1 << 20;

/// A string that ends with a zero byte, or at unmapped memory.
fn string(caller: &dyn Caller, address: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for k in 0..LONGEST {
        let mut byte = [0];
        if !caller.read(address.wrapping_add(k), &mut byte) || byte == [0] {
            break;
        }
        out.extend(byte);
    }
    out
}

impl DeviceFunction {
    /// The one that a text declares by this name.
    pub fn from_name(name: &str) -> Option<DeviceFunction> {
        let own = NAMES.iter().find(|(text, _)| *text == name).map(|(_, function)| *function);
        own.or_else(|| RuntimeCall::from_name(name).map(DeviceFunction::Runtime))
    }

    /// Does it for one lane, and gives its result.
    ///
    /// # Errors
    /// What ends the launch.
    fn run(self, name: &str, caller: &mut dyn Caller, host: &dyn Host) -> Result<u64, Cause> {
        if let DeviceFunction::Runtime(call) = self {
            let undefined = || Err(Cause::Undefined { function: name.into() });
            return host.runtime(call, caller).unwrap_or_else(undefined);
        }
        let caller = &*caller;
        let arg = |n| caller.argument(n);
        match self {
            DeviceFunction::Print => {
                let format = string(caller, arg(0));
                let read = |address: u64, out: &mut [u8]| caller.read(address, out);
                let text = |address| string(caller, address);
                let (out, count) = printf::format(&format, arg(1), &read, &text);
                host.print(&out);
                Ok(count.into())
            }
            DeviceFunction::Allocate => Ok(host.allocate(arg(0))),
            DeviceFunction::Free => {
                host.free(arg(0));
                Ok(0)
            }
            DeviceFunction::AssertFail => {
                let text = |n| String::from_utf8_lossy(&string(caller, arg(n))).into_owned();
                let (file, function, message) = (text(1), text(3), text(0));
                let ([bx, by, bz], [tx, ty, tz]) = caller.place();
                let line = arg(2) as u32;
                host.assert_failed(&format!(
                    "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: \
                     [{tx},{ty},{tz}] Assertion `{message}` failed.\n"
                ));
                Err(Cause::Assert)
            }
            DeviceFunction::SetCondition => match host.set_condition(arg(0), arg(1) as u32) {
                true => Ok(0),
                false => Err(Cause::Address { address: arg(0), bytes: 4, space: "global" }),
            },
            DeviceFunction::Runtime(_) => Ok(0),
        }
    }
}

/// Calls a function that the module only declares, for one lane.
///
/// # Errors
/// What ends the launch; [`Cause::Undefined`] where neither the device runtime nor the host has it.
pub fn call(name: &str, caller: &mut dyn Caller, host: &dyn Host) -> Result<u64, Cause> {
    if let Some(function) = DeviceFunction::from_name(name) {
        return function.run(name, caller, host);
    }
    let arguments: Vec<u64> = (0..caller.arguments()).map(|n| caller.argument(n)).collect();
    let reply = host.call(name, &arguments);
    reply.ok_or_else(|| Cause::Undefined { function: name.into() })
}

impl Module {
    /// Whether it belongs to NVIDIA's device runtime library (libcudadevrt), whose calls the host handles here: its
    /// own code calls a driver that does not exist.
    pub fn is_device_runtime(&self) -> bool {
        self.functions.iter().any(|f| {
            let call = RuntimeCall::from_name(&f.name);
            f.defined && !f.entry && call == Some(RuntimeCall::LaunchV2)
        })
    }

    /// A function that `kernel` may call and that nothing defines, the device runtime neither.
    pub fn undefined(&self, kernel: u32) -> Option<&str> {
        let reached = self.reachable(kernel);
        let mut functions = reached.iter().filter_map(|f| self.functions.get(*f as usize));
        let provided =
            |f: &Function| crate::exec::device::DeviceFunction::from_name(&f.name).is_some();
        let missing = |f: &&Function| !f.defined && !provided(f);
        functions.find(missing).map(|f| f.name.as_str())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Arguments, and the bytes at address 0.
    struct Lane(Vec<u64>, &'static [u8]);

    impl Caller for Lane {
        fn argument(&self, n: usize) -> u64 {
            self.0.get(n).copied().unwrap_or(0)
        }
        fn arguments(&self) -> usize {
            self.0.len()
        }
        fn read(&self, address: u64, out: &mut [u8]) -> bool {
            let from = address as usize;
            let found = self.1.get(from..from + out.len());
            found.inspect(|bytes| out.copy_from_slice(bytes)).is_some()
        }
        fn write(&mut self, _: u64, _: &[u8]) -> bool {
            false
        }
        fn place(&self) -> ([u32; 3], [u32; 3]) {
            ([1, 2, 3], [4, 5, 6])
        }
    }

    #[derive(Default)]
    struct Notes(RefCell<String>);

    impl Host for Notes {
        fn print(&self, bytes: &[u8]) {
            self.0.borrow_mut().push_str(&String::from_utf8_lossy(bytes));
        }
        fn allocate(&self, bytes: u64) -> u64 {
            bytes + 1
        }
        fn free(&self, address: u64) {
            *self.0.borrow_mut() += &format!("free {address}");
        }
        fn nanoseconds(&self) -> u64 {
            0
        }
        fn set_condition(&self, handle: u64, value: u32) -> bool {
            *self.0.borrow_mut() += &format!("{handle}={value}");
            handle == 0
        }
        fn call(&self, name: &str, arguments: &[u64]) -> Option<u64> {
            (name == "sum").then(|| arguments.iter().sum())
        }
    }

    #[test]
    fn the_device_runtime_and_the_host_answer() {
        let host = Notes::default();
        let mut lane = Lane(vec![0, 8, 7, 12], b"n=%d!\0\0\0\x05\0\0\0f\0");
        assert_eq!(call("vprintf", &mut lane, &host), Ok(1));
        assert_eq!(host.0.take(), "n=5!");
        assert_eq!(call("malloc", &mut lane, &host), Ok(1));
        assert_eq!(call("free", &mut lane, &host), Ok(0));
        assert_eq!(host.0.take(), "free 0");
        assert_eq!(call("__assertfail", &mut lane, &host), Err(Cause::Assert));
        let text = host.0.take();
        let expected = "\u{5}:7: f: block: [1,2,3], thread: [4,5,6] Assertion `n=%d!` failed.\n";
        assert_eq!(text, expected);
        assert_eq!(call("cudaGraphSetConditional", &mut lane, &host), Ok(0));
        assert_eq!(host.0.take(), "0=8");
        let mut wrong = Lane(vec![16, 1], b"");
        let cause = Cause::Address { address: 16, bytes: 4, space: "global" };
        assert_eq!(
            call("cudaGraphSetConditional", &mut wrong, &host),
            Err(cause),
            "no such handle"
        );
        assert_eq!(call("sum", &mut lane, &host), Ok(27));
        let why = call("launch", &mut lane, &host).unwrap_err();
        assert_eq!(why, Cause::Undefined { function: "launch".into() });
    }
}
