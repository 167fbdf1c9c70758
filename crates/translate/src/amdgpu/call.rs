//! Calls: passing arguments and results between functions.
//!
//! Owns how a call passes arguments and receives results. Indirect calls use the signature in the call, which is the
//! function's.

use super::function::Emitter;
use super::locals::Part;
use super::signature::{passed, results};
use crate::llvm::{Type, Value};
use crate::refusal::Refused;
use cushim_ptx::ir::{Arg, Callee, Dst, Inst, Param, Place, Src};

/// The bytes of an argument or result.
fn size(arg: &Arg) -> u32 {
    match arg {
        Arg::Memory(_, bytes) => *bytes,
        Arg::Reg(_, bits) => bits.div_ceil(8),
        Arg::Imm(_) => 8,
        Arg::Sink => 4,
    }
}

/// Where a parameter is, as an argument of a call names it.
fn place(p: &Param) -> Arg {
    match p.place {
        Place::Memory(offset) => Arg::Memory(offset, p.size),
        Place::Register(r) => Arg::Reg(r, p.ty.bits()),
    }
}

impl Emitter<'_> {
    /// Puts a function's arguments where it looks for them.
    pub(super) fn accept_arguments(&mut self) {
        for (n, p) in self.f.params.iter().enumerate() {
            self.accept(&place(p), &passed(p.size), &format!("%a{n}"));
        }
    }

    /// Returns, with the results.
    pub(super) fn give_results(&mut self) {
        let f = self.f;
        if f.returns.is_empty() {
            self.b.line("ret void");
            return;
        }
        let types: Vec<String> = f.returns.iter().map(|p| passed(p.size)).collect();
        let ty = results(&types);
        let mut whole = "undef".to_owned();
        for (n, p) in f.returns.iter().enumerate() {
            let v = self.argument(&place(p), p.size);
            let to = self.b.number();
            self.b.line(&format!("%c{to} = insertvalue {ty} {whole}, {v}, {n}"));
            whole = format!("%c{to}");
        }
        self.b.line(&format!("ret {ty} {whole}"));
    }

    /// `call`.
    pub(super) fn call(&mut self, inst: &Inst) -> Result<(), Refused> {
        let Some(Src::Call(call)) = inst.src.first() else {
            return Err(self.refused("a call of nothing"));
        };
        let (target, sizes) = match call.callee {
            Callee::Direct(n) => {
                let Some(f) = self.module.functions.get(n as usize) else {
                    return Err(self.refused("a call of a function that is not there"));
                };
                if !f.defined {
                    return self.outside(f, call);
                }
                if f.entry || f.params.len() != call.args.len() {
                    return Err(
                        self.refused(format!("a call of `{}` with other arguments", f.name))
                    );
                }
                let of = |p: &[Param]| p.iter().map(|p| p.size).collect::<Vec<_>>();
                (self.names.function(n).to_owned(), [of(&f.params), of(&f.returns)])
            }
            Callee::Register(r) => {
                let v = self.register(r);
                let v = self.b.fit(v, 64);
                let n = self.b.number();
                self.b.line(&format!("%f{n} = inttoptr {} to ptr", self.b.typed(v)));
                let of = |args: &[Arg]| args.iter().map(size).collect::<Vec<_>>();
                (format!("%f{n}"), [of(&call.args), of(&call.returns)])
            }
        };
        let [params, returns] = sizes;
        let given: String = (call.args.iter().zip(&params))
            .map(|(arg, bytes)| format!(", {}", self.argument(arg, *bytes)))
            .collect();
        let types: Vec<String> = returns.iter().map(|bytes| passed(*bytes)).collect();
        let ty = results(&types);
        let line = format!("call {ty} {target}(ptr addrspace(4) %launch{given}) #1");
        if returns.is_empty() {
            self.b.line(&line);
            return Ok(());
        }
        let n = self.b.number();
        self.b.line(&format!("%c{n} = {line}"));
        for (k, (to, ty)) in call.returns.iter().zip(&types).enumerate() {
            let part = self.b.number();
            self.b.line(&format!("%c{part} = extractvalue {} %c{n}, {k}", results(&types)));
            self.accept(to, ty, &format!("%c{part}"));
        }
        Ok(())
    }

    /// An argument with its type, as the call passes it.
    pub(super) fn argument(&mut self, arg: &Arg, bytes: u32) -> String {
        let ty = passed(bytes);
        let bits = if bytes <= 4 { 32 } else { 64 };
        let value = match arg {
            Arg::Reg(r, _) => self.register(*r),
            Arg::Imm(v) => Value::int(64, (*v).into()),
            Arg::Sink => Value::int(32, 0),
            Arg::Memory(offset, size) if bytes <= 8 => {
                let pointer = self.frame(*offset);
                // Narrower or odd sizes are read byte by byte, so that no neighbouring byte is touched.
                self.bytes_of(&pointer, (*size).min(bytes))
            }
            Arg::Memory(offset, size) => {
                let pointer = self.frame(*offset);
                return format!("{ty} {}", self.words_of(&pointer, (*size).min(bytes), &ty));
            }
        };
        if bytes > 8 {
            return format!("{ty} zeroinitializer");
        }
        let value = self.b.fit(value, bits);
        self.b.typed(value)
    }

    /// Puts a passed value where it belongs.
    pub(super) fn accept(&mut self, to: &Arg, ty: &str, name: &str) {
        match to {
            Arg::Reg(r, bits) => {
                if ty.starts_with('[') {
                    return;
                }
                let wide = if ty == "i64" { 64 } else { 32 };
                let n = self.b.number();
                self.b.line(&format!("%x{n} = freeze {ty} {name}"));
                let v = self.b.result(Type::Int(wide), &format!("add {ty} %x{n}, 0"));
                self.write(Dst::Reg(*r, *bits), v);
            }
            Arg::Memory(offset, size) => {
                let pointer = self.frame(*offset);
                match ty {
                    "i32" | "i64" => {
                        let wide = if ty == "i64" { 64 } else { 32 };
                        let v = self.b.result(Type::Int(wide), &format!("add {ty} {name}, 0"));
                        self.put_bytes(&pointer, v, (*size).min(wide / 8), 0);
                    }
                    _ => self.put_words(&pointer, name, ty, *size),
                }
            }
            Arg::Imm(_) | Arg::Sink => {}
        }
    }

    /// An address in the frame.
    fn frame(&mut self, offset: u32) -> String {
        let part = self.locals.part(offset);
        let part = part.unwrap_or(Part { number: 0, start: offset, end: offset });
        let base = format!("%local{}", part.number);
        self.moved("ptr addrspace(5)", &base, i64::from(offset) - i64::from(part.start))
    }

    /// So many bytes, 8 at most, as an integer.
    fn bytes_of(&mut self, pointer: &str, bytes: u32) -> Value {
        if matches!(bytes, 1 | 2 | 4 | 8) {
            let bits = bytes * 8;
            return self.b.result(Type::Int(bits), &format!("load i{bits}, {pointer}, align 1"));
        }
        let mut whole = Value::int(64, 0);
        for k in 0..bytes {
            let at = self.further(pointer, k);
            let v = self.b.result(Type::Int(8), &format!("load i8, {at}, align 1"));
            let v = self.b.fit(v, 64);
            let v = self.b.with("shl", v, (8 * k).into());
            whole = self.b.op("or", whole, v);
        }
        whole
    }

    /// Stores the lowest bytes of an integer, `by` bytes after a pointer.
    fn put_bytes(&mut self, pointer: &str, v: Value, bytes: u32, by: u32) {
        let at = self.further(pointer, by);
        if matches!(bytes, 1 | 2 | 4 | 8) {
            let v = self.b.fit(v, bytes * 8);
            self.b.line(&format!("store {}, {at}, align 1", self.b.typed(v)));
            return;
        }
        for k in 0..bytes {
            let part = self.b.with("lshr", v, (8 * k).into());
            let part = self.b.fit(part, 8);
            let at = self.further(&at, k);
            self.b.line(&format!("store {}, {at}, align 1", self.b.typed(part)));
        }
    }

    fn words_of(&mut self, pointer: &str, bytes: u32, ty: &str) -> String {
        let mut whole = "zeroinitializer".to_owned();
        for k in 0..bytes.div_ceil(4) {
            let at = self.further(pointer, 4 * k);
            let v = self.bytes_of(&at, (bytes - 4 * k).min(4));
            let v = self.b.fit(v, 32);
            let n = self.b.number();
            self.b.line(&format!("%c{n} = insertvalue {ty} {whole}, {}, {k}", self.b.typed(v)));
            whole = format!("%c{n}");
        }
        whole
    }

    fn put_words(&mut self, pointer: &str, name: &str, ty: &str, bytes: u32) {
        let words = ty.trim_start_matches('[').split(' ').next().and_then(|n| n.parse().ok());
        for k in 0..bytes.div_ceil(4).min(words.unwrap_or(0)) {
            let v = self.b.result(Type::Int(32), &format!("extractvalue {ty} {name}, {k}"));
            self.put_bytes(pointer, v, (bytes - 4 * k).min(4), 4 * k);
        }
    }

    /// A pointer with its type, some bytes further.
    fn further(&mut self, pointer: &str, by: u32) -> String {
        match pointer.rsplit_once(' ') {
            Some((ty, name)) => self.moved(ty, name, by.into()),
            None => pointer.to_owned(),
        }
    }
}
