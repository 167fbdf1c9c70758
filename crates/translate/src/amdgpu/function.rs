//! A kernel or function.
//!
//! Owns its frame in LLVM IR: registers as variables, which LLVM promotes to values, the blocks, entry and exit, and
//! which file translates which operation.

use super::locals::Locals;
use super::names::Names;
use super::step::Steps;
use crate::abi::{LAUNCH_BYTES, launch_offset};
use crate::llvm::{Body, Type, Value};
use crate::ops;
use crate::refusal::Refused;
use crate::target::Target;
use cushim_ptx::ir::{Arg, Base, Callee, Dst, Function, Inst, Module, Place, Src, Symbol};
use cushim_ptx::sem::{Control, Operation};
use std::collections::BTreeSet;

/// A function, and the declarations that it needs.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) declared: BTreeSet<String>,
}

/// What all functions have; those of `library/` are called (2) or become a part of what calls them (3). Nothing
/// reads the hidden arguments of AMD's runtime.
pub(super) const ATTRIBUTES: &str = r#"attributes #0 = { convergent nounwind "uniform-work-group-size"="true" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "amdgpu-no-dispatch-ptr" "amdgpu-no-dispatch-id" "amdgpu-no-queue-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-heap-ptr" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-default-queue" "amdgpu-no-completion-action" }
attributes #1 = { convergent nounwind }
attributes #2 = { convergent nounwind noinline "uniform-work-group-size"="true" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "amdgpu-no-dispatch-ptr" "amdgpu-no-dispatch-id" "amdgpu-no-queue-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-heap-ptr" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-default-queue" "amdgpu-no-completion-action" }
attributes #3 = { convergent nounwind alwaysinline "uniform-work-group-size"="true" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "amdgpu-no-dispatch-ptr" "amdgpu-no-dispatch-id" "amdgpu-no-queue-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-heap-ptr" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-default-queue" "amdgpu-no-completion-action" }
!llvm.module.flags = !{!0, !1}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!1 = !{i32 1, !"amdgpu_code_object_version", i32 500}
!2 = !{}
"#;

/// Threads of a block at most, by the kernel's directives.
pub(super) fn max_threads(f: &Function) -> u32 {
    let limits = |name: &str| matches!(name.trim_start_matches('.'), "maxntid" | "reqntid");
    let all = f.directives.iter().filter(|(name, _)| limits(name));
    let product = |(_, n): &(String, Vec<u64>)| n.iter().fold(1u64, |p, v| p.saturating_mul(*v));
    all.map(product).filter(|n| *n > 0).min().map_or(1024, |n| n.min(1024) as u32)
}

/// What translates a function.
pub(super) struct Emitter<'a> {
    pub(super) module: &'a Module,
    pub(super) names: &'a Names,
    pub(super) target: &'a Target,
    pub(super) f: &'a Function,
    pub(super) number: u32,
    pub(super) b: Body,
    pub(super) locals: Locals,
    /// The instruction at hand.
    pub(super) inst: Option<&'a Inst>,
    /// Its number in the function's code.
    pub(super) at: u32,
    /// Where registers are written: everywhere, or where this is true.
    pub(super) chosen: Option<Value>,
    /// The work-item, which is also the lane.
    pub(super) item: Value,
    /// The thread of the block.
    pub(super) thread: Value,
    /// The state of lanes that may wait for each other, if each needs independent progress.
    pub(super) steps: Option<Steps>,
}

/// Translates a function.
pub(super) fn emit(
    module: &Module,
    names: &Names,
    target: &Target,
    number: u32,
) -> Result<Text, Refused> {
    let Some(f) = module.functions.get(number as usize) else {
        return Err(Refused {
            pos: Default::default(),
            what: "a function that is not there".into(),
        });
    };
    if !f.defined {
        // The caller adds the rest.
        let (text, declared) = (String::new(), BTreeSet::new());
        return Ok(Text { text, declared });
    }
    let (zero, locals) = (Value::int(32, 0), Locals::of(f));
    let mut emitter = Emitter {
        module,
        names,
        target,
        f,
        number,
        b: Body::new(1),
        locals,
        inst: None,
        at: 0,
        chosen: None,
        item: zero,
        thread: zero,
        steps: Steps::of(module, number),
    };
    emitter.begin()?;
    emitter.blocks()?;
    emitter.end_steps();
    let head = emitter.head();
    let (variables, text, declared) = emitter.b.finish();
    let text = format!("{head} {{\nentry:\n{variables}{text}}}\n");
    Ok(Text { text, declared })
}

/// A function that traps its caller.
pub(super) fn stub(
    module: &Module,
    names: &Names,
    number: u32,
    declared: &mut BTreeSet<&String>,
) -> String {
    static TRAP: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| "declare void @llvm.trap()".to_owned());
    declared.insert(&TRAP);
    let Some(f) = module.functions.get(number as usize) else { return String::new() };
    let (result, params) = super::signature::signature(f);
    let name = names.function(number);
    format!(
        "define internal {result} {name}({params}) #0 {{\n  call void @llvm.trap()\n  unreachable\n}}\n"
    )
}

impl<'a> Emitter<'a> {
    /// That the instruction at hand is not translated.
    pub(super) fn refused(&self, what: impl Into<String>) -> Refused {
        Refused { pos: self.inst.map_or(self.f.pos, |i| i.pos), what: what.into() }
    }

    fn head(&self) -> String {
        let name = self.names.function(self.number);
        if !self.f.entry {
            let (result, params) = super::signature::signature(self.f);
            return format!("define internal {result} {name}({params}) #0");
        }
        let bytes = launch_offset(self.f.params_size) + LAUNCH_BYTES;
        // A block of threads may take twice as many work-items.
        let items = max_threads(self.f).next_multiple_of(32) * 2;
        format!(
            "define protected amdgpu_kernel void {name}(ptr addrspace(4) byref([{bytes} x i8]) align 16 \
             %args) #0 \"amdgpu-flat-work-group-size\"=\"1,{}\"",
            items.min(1024)
        )
    }

    /// Registers, local memory, the lane's thread; a kernel's lanes without a thread end here.
    fn begin(&mut self) -> Result<(), Refused> {
        for r in used(self.f) {
            let bits = self.register_bits(r);
            self.b.variable(&format!("%r{r} = alloca i{bits}, addrspace(5)"));
            self.b.variable(&format!("store i{bits} 0, ptr addrspace(5) %r{r}"));
        }
        for part in self.locals.parts() {
            let (n, size) = (part.number, (part.end - part.start).next_multiple_of(16));
            self.b.variable(&format!("%local{n} = alloca [{size} x i8], align 16, addrspace(5)"));
        }
        if self.f.entry {
            let at = launch_offset(self.f.params_size);
            self.b.line(&format!("%launch = getelementptr i8, ptr addrspace(4) %args, i64 {at}"));
        }
        self.item = self.b.intrinsic("llvm.amdgcn.workitem.id.x", &[], Type::Int(32), &[], &[]);
        self.thread = self.thread_number();
        self.begin_steps();
        if self.f.entry {
            if crate::layout::counted::reached(self.module, self.number) {
                self.b.line("call void @cushim.barriers.begin() #1");
            }
            self.end_idle_lanes();
        } else {
            self.accept_arguments();
            let first = self.first();
            self.b.line(&format!("br label %{first}"));
        }
        Ok(())
    }

    /// The reachable blocks.
    fn blocks(&mut self) -> Result<(), Refused> {
        let f = self.f;
        for n in reached(f) {
            let Some(block) = f.blocks.get(n as usize) else { continue };
            self.b.label(&format!("b{n}"));
            let mut open = true;
            let code = f.code.get(block.start as usize..block.end as usize).unwrap_or_default();
            for (inst, at) in code.iter().zip(block.start..) {
                (self.inst, self.at) = (Some(inst), at);
                open = self.instruction(inst, n)?;
            }
            if open {
                self.go_on(n);
            }
            self.inst = None;
        }
        if f.entry {
            self.b.label("end");
            self.end_at_barriers();
            self.b.line("ret void");
        }
        Ok(())
    }

    /// Jumps to the block after one.
    pub(super) fn go_on(&mut self, block: u32) {
        let next = block as usize + 1;
        match next < self.f.blocks.len() {
            true => {
                let to = self.way(block, next as u32);
                self.b.line(&format!("br label %{to}"));
            }
            false => self.b.line("unreachable"),
        }
    }

    /// Translates an instruction; returns whether it falls through to the next one.
    fn instruction(&mut self, inst: &'a Inst, block: u32) -> Result<bool, Refused> {
        if let Operation::Control(what) = inst.sem
            && what != Control::Call
        {
            return self.control(inst, what, block);
        }
        if self.meets() {
            self.meet(inst)?;
            return Ok(true);
        }
        let guard = self.guard(inst.guard);
        // What has no effects is done by all, and only its results are chosen.
        if inst.sem.is_pure() || inst.sem.is_move() || matches!(inst.sem, Operation::Address(_)) {
            self.chosen = guard;
            self.computed(inst)?;
            self.chosen = None;
            return Ok(true);
        }
        let Some(guard) = guard else {
            self.effect(inst)?;
            return Ok(true);
        };
        let n = self.b.number();
        self.b.line(&format!("br {}, label %do{n}, label %past{n}", self.b.typed(guard)));
        self.b.label(&format!("do{n}"));
        self.effect(inst)?;
        self.b.line(&format!("br label %past{n}"));
        self.b.label(&format!("past{n}"));
        Ok(true)
    }

    /// What a lane computes of its operands alone.
    fn computed(&mut self, inst: &Inst) -> Result<(), Refused> {
        match inst.sem {
            Operation::Move(ty) => self.moved_value(inst, ty.bits()),
            Operation::Address(what) => self.address(inst, what),
            _ => {
                let mut operands = Vec::with_capacity(inst.src.len());
                for src in inst.src.iter().take(5) {
                    operands.push(self.operand(src)?);
                }
                let width = match inst.dst.first() {
                    Some(Dst::Reg(r, _)) => self.register_bits(*r),
                    _ => 64,
                };
                let out = ops::eval(&mut self.b, &inst.sem, width, &operands);
                let out = out.map_err(|what| self.refused(what))?;
                let second = inst.dst.get(1).copied().zip(out.1);
                if let Some(dst) = inst.dst.first() {
                    self.write(*dst, out.0);
                }
                if let Some((dst, v)) = second {
                    self.write(dst, v);
                }
                Ok(())
            }
        }
    }

    /// `mov`: one value, or its parts.
    fn moved_value(&mut self, inst: &Inst, bits: u32) -> Result<(), Refused> {
        let mut value = match inst.src.as_slice() {
            [one] => self.operand(one)?,
            parts => {
                let part = bits / parts.len().max(1) as u32;
                let mut whole = Value::int(bits, 0);
                for (k, src) in parts.iter().enumerate() {
                    let v = self.operand(src)?;
                    let v = self.b.fit(v, part.max(1));
                    let v = self.b.fit(v, bits);
                    let v = self.b.with("shl", v, u128::from(part) * k as u128);
                    whole = self.b.op("or", whole, v);
                }
                whole
            }
        };
        if inst.dst.len() > 1 {
            value = self.b.fit(value, bits);
        }
        let part = bits / inst.dst.len().max(1) as u32;
        for (k, dst) in inst.dst.iter().enumerate() {
            let v = match k {
                0 => value,
                _ => self.b.with("lshr", value, u128::from(part) * k as u128),
            };
            self.write(*dst, v);
        }
        Ok(())
    }

    /// What others see, or what lanes do together.
    pub(super) fn effect(&mut self, inst: &'a Inst) -> Result<(), Refused> {
        match inst.sem {
            Operation::Load(access) => self.load(inst, access),
            Operation::Store(access) => self.store(inst, access),
            Operation::Atomic(what) => self.atomic(inst, what),
            Operation::CopyAsync(what) => self.copy(inst, what),
            Operation::Collective(what) => self.collective(inst, what),
            Operation::Barrier(what) => self.barrier(inst, what),
            Operation::Fence(what) => self.fence(what),
            Operation::ActiveMask => {
                let here = self.here();
                self.give(inst, 0, here);
                Ok(())
            }
            Operation::Sleep => {
                self.b.declare("declare void @llvm.amdgcn.s.sleep(i32)");
                self.b.line("call void @llvm.amdgcn.s.sleep(i32 1)");
                Ok(())
            }
            Operation::Nothing => Ok(()),
            Operation::Control(Control::Call) => self.call(inst),
            Operation::Mbarrier(what) => self.mbarrier(inst, what),
            other => Err(self.refused(format!("{}{}", unknown(&other), self.reference(inst)))),
        }
    }

    /// The texture or surface reference of an instruction, after its kind.
    fn reference(&self, inst: &Inst) -> String {
        let named = inst.src.iter().find_map(|src| match src {
            Src::Address(Symbol::Global(n), _)
            | Src::Memory(Base::Symbol(Symbol::Global(n)), _) => {
                self.module.globals.get(*n as usize)
            }
            _ => None,
        });
        named.filter(|g| g.reference).map_or(String::new(), |g| format!(" (`{}`)", g.name))
    }

    /// Writes result `n`, if it is used.
    pub(super) fn give(&mut self, inst: &Inst, n: usize, v: Value) {
        if let Some(dst) = inst.dst.get(n) {
            self.write(*dst, v);
        }
    }
}

/// The description of an instruction that is not translated.
fn unknown(operation: &Operation) -> &'static str {
    match operation {
        Operation::Texture(_) => "an access to a texture",
        Operation::Surface(_) => "an access to a surface",
        Operation::TextureQuery(_) => "a question about a texture or surface",
        Operation::Asynchronous(_) => "a bulk copy, or an asynchronous store",
        Operation::ClusterAddress(_) => "an address in another block's shared memory",
        _ => "an instruction that is not run",
    }
}

/// The registers that a function names.
fn used(f: &Function) -> BTreeSet<u32> {
    let mut used = BTreeSet::new();
    for inst in &f.code {
        used.extend(inst.guard.map(|(r, _)| r));
        used.extend(inst.dst.iter().filter_map(|dst| match dst {
            Dst::Reg(r, _) => Some(*r),
            Dst::Sink => None,
        }));
        for src in &inst.src {
            match src {
                Src::Reg(r) | Src::Not(r) | Src::Memory(Base::Reg(r, _), _) => {
                    used.insert(*r);
                }
                Src::Call(call) => {
                    let named = call.args.iter().chain(&call.returns);
                    used.extend(named.filter_map(|arg| match arg {
                        Arg::Reg(r, _) => Some(*r),
                        _ => None,
                    }));
                    if let Callee::Register(r) = call.callee {
                        used.insert(r);
                    }
                }
                _ => {}
            }
        }
    }
    for p in f.params.iter().chain(&f.returns) {
        if let Place::Register(r) = p.place {
            used.insert(r);
        }
    }
    used
}

/// The blocks that are reachable from the first, in order.
pub(super) fn reached(f: &Function) -> BTreeSet<u32> {
    let (mut seen, mut stack) = (BTreeSet::new(), vec![0]);
    while let Some(n) = stack.pop() {
        if seen.insert(n) {
            stack.extend(f.blocks.get(n as usize).map_or(&[][..], |b| &b.successors));
        }
    }
    seen
}
