//! Requests of kernels to their host: `vprintf`, `malloc`, `free`, `__assertfail`.
//!
//! Owns the calls; the functions behind them (`library/client.ll`) talk to the host by LLVM's RPC protocol through
//! the buffer of [`crate::abi::LaunchArguments::rpc`]. All active lanes of a wave make one request together. Must not
//! know: who replies.

use super::function::Emitter;
use crate::abi::calls;
use crate::llvm::{Type, Value};
use crate::refusal::Refused;
use cushim_ptx::exec::DeviceFunction;
use cushim_ptx::ir::{Arg, Call, Callee, Function, Module, Special, Src};

/// The device-runtime function with this name that the host implements.
fn answered(name: &str) -> Option<DeviceFunction> {
    use DeviceFunction::{Allocate, AssertFail, Free, Print};
    DeviceFunction::from_name(name).filter(|f| matches!(f, Print | Allocate | Free | AssertFail))
}

/// Whether a function asks its host.
fn asks(module: &Module, f: &Function) -> bool {
    f.code.iter().flat_map(|inst| &inst.src).any(|src| match src {
        Src::Call(call) => match call.callee {
            Callee::Direct(n) => module
                .functions
                .get(n as usize)
                .is_some_and(|f| !f.defined && answered(&f.name).is_some()),
            Callee::Register(_) => false,
        },
        _ => false,
    })
}

/// Whether a kernel, or a function that it may call, makes requests to its host.
pub(super) fn is_asked(module: &Module, kernel: u32) -> bool {
    let reached = module.reachable(kernel);
    reached.iter().filter_map(|n| module.functions.get(*n as usize)).any(|f| asks(module, f))
}

impl Emitter<'_> {
    /// A call of a function that no module defines.
    pub(super) fn outside(&mut self, f: &Function, call: &Call) -> Result<(), Refused> {
        let known = DeviceFunction::from_name(&f.name);
        if known == Some(DeviceFunction::SetCondition) {
            return self.set_condition(call);
        }
        let Some(function) = answered(&f.name) else {
            let what = if known.is_some() {
                "of CUDA's device runtime"
            } else {
                "which no module defines"
            };
            return Err(self.refused(format!("a call of `{}`, {what}", f.name)));
        };
        let args: Vec<String> = (0..call.args.len()).map(|n| self.given(call, n, 64)).collect();
        let of = |n: usize| args.get(n).map_or("i64 0", String::as_str);
        let launch = "ptr addrspace(4) %launch";
        match function {
            DeviceFunction::Print => {
                let line = format!("call i32 @cushim.print({launch}, {}, {}) #1", of(0), of(1));
                let v = self.b.result(Type::Int(32), &line);
                self.answer(call, v);
            }
            DeviceFunction::Allocate => {
                let v = self.ask(calls::MALLOC, of(0));
                self.answer(call, v);
            }
            DeviceFunction::Free => drop(self.ask(calls::FREE, of(0))),
            _ => self.assertion(call, [of(0), of(1), of(3)])?,
        }
        Ok(())
    }

    /// `cudaGraphSetConditional`: the handle is where the value lies.
    fn set_condition(&mut self, call: &Call) -> Result<(), Refused> {
        let (handle, value) = (self.given(call, 0, 64), self.given(call, 1, 64));
        let value = self.b.result(Type::Int(32), &format!("trunc {value} to i32"));
        let (value, n) = (self.b.typed(value), self.b.number());
        self.b.line(&format!("%p{n} = inttoptr {handle} to ptr addrspace(1)"));
        self.b.line(&format!("store atomic {value}, ptr addrspace(1) %p{n} monotonic, align 4"));
        Ok(())
    }

    /// Argument `n` with its type.
    fn given(&mut self, call: &Call, n: usize, bits: u32) -> String {
        match call.args.get(n) {
            Some(Arg::Memory(_, 5..) | Arg::Reg(..) | Arg::Imm(_)) => {
                let arg = call.args.get(n).cloned().unwrap_or(Arg::Sink);
                self.argument(&arg, 8)
            }
            Some(arg) => {
                let narrow = self.argument(&arg.clone(), 4);
                let v = self.b.result(Type::Int(bits), &format!("zext {narrow} to i{bits}"));
                self.b.typed(v)
            }
            None => format!("i{bits} 0"),
        }
    }

    fn ask(&mut self, opcode: u32, value: &str) -> Value {
        let line =
            format!("call i64 @cushim.rpc.ask(ptr addrspace(4) %launch, i32 {opcode}, {value}) #1");
        self.b.result(Type::Int(64), &line)
    }

    fn answer(&mut self, call: &Call, v: Value) {
        let Some(to) = call.returns.first() else { return };
        let ty = if v.ty == Type::Int(32) { "i32" } else { "i64" };
        let name = self.b.name(v);
        self.accept(to, ty, &name);
    }

    /// Shows the message, then stops.
    fn assertion(&mut self, call: &Call, texts: [&str; 3]) -> Result<(), Refused> {
        let line = self.given(call, 2, 64);
        let line = self.b.result(Type::Int(32), &format!("trunc {line} to i32"));
        let line = self.b.typed(line);
        let mut place = String::new();
        for special in [Special::Ctaid as fn(u8) -> Special, Special::Tid] {
            for axis in 0..3 {
                let v = self.special(special(axis))?;
                place += &format!(", {}", self.b.typed(v));
            }
        }
        let [message, file, function] = texts;
        self.b.line(&format!(
            "call void @cushim.assert(ptr addrspace(4) %launch, {message}, {file}, {line}, \
             {function}{place}) #1"
        ));
        self.trap();
        let n = self.b.number();
        self.b.label(&format!("after{n}"));
        Ok(())
    }
}
