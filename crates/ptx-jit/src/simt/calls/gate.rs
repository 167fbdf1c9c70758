//! Gates: shared dispatch for many indirect calls.
//!
//! A call through a pointer needs a jump to each function that it may mean. For many calls with many possible
//! functions, the code would grow by their product. So calls with the same arguments' layout go to a gate: a function
//! that takes the pointer and the arguments, finds the function, and returns its results. Code then grows by their
//! sum, and every such call takes one more jump each way.
//!
//! Owns which functions an indirect call may mean, which calls get a gate, and a gate's code. Must not know how calls
//! are lowered.

use super::cells::{Cells, Variable};
use super::make;
use cushim_ptx::Pos;
use cushim_ptx::ast::Linkage;
use cushim_ptx::ir::{Arg, Call, Callee, Function, Module, Param, Place, Src, Symbol};
use cushim_ptx::sem::Control;
use cushim_ptx::types::Scalar;
use std::collections::BTreeMap;

/// Calls get a gate if they would need more ways than these without one. With fewer, the additional jumps cost more.
const WAYS: usize = 32;

/// What a call passes: the bytes of each argument and of each result; `None` for a register or a constant, which can
/// have any size.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Signature {
    args: Vec<Option<u32>>,
    returns: Vec<Option<u32>>,
}

impl Signature {
    fn of(call: &Call) -> Signature {
        let size = |a: &Arg| match a {
            Arg::Memory(_, size) => Some(*size),
            _ => None,
        };
        Signature {
            args: call.args.iter().map(size).collect(),
            returns: call.returns.iter().map(size).collect(),
        }
    }

    /// Whether a function takes and returns what such a call passes. A function without parameters may get anything,
    /// as on a GPU: start code calls constructors with the arguments of main, and few use them.
    fn fits(&self, f: &Function) -> bool {
        let same = |sizes: &[Option<u32>], params: &[Param]| {
            let each = |(size, p): (&Option<u32>, &Param)| size.is_none_or(|s| s == p.size);
            sizes.len() == params.len() && sizes.iter().zip(params).all(each)
        };
        (f.params.is_empty() || same(&self.args, &f.params)) && same(&self.returns, &f.returns)
    }
}

/// Calls of one signature.
#[derive(Debug)]
struct Calls {
    /// The functions that they may mean, by number.
    targets: Vec<u32>,
    /// The function and the instruction of each.
    places: Vec<(u32, u32)>,
    gate: Option<u32>,
}

/// All calls through pointers in a launch of a kernel.
pub(super) struct Pointers<'m> {
    module: &'m Module,
    /// Functions whose address is taken.
    addressed: Vec<u32>,
    calls: BTreeMap<Signature, Calls>,
}

/// A gate; its number follows those of the module's functions.
pub(super) struct Gate {
    /// It takes the pointer in register 0, then the arguments. Its first instruction is the call.
    pub(super) function: Function,
    pub(super) cells: Cells,
    pub(super) targets: Vec<u32>,
}

impl<'m> Pointers<'m> {
    pub(super) fn new(module: &'m Module) -> Pointers<'m> {
        Pointers { module, addressed: addressed(module), calls: BTreeMap::new() }
    }

    /// Records an indirect call. Returns the functions that it may mean.
    pub(super) fn note(&mut self, call: &Call, place: (u32, u32)) -> &[u32] {
        let signature = Signature::of(call);
        let (module, addressed) = (self.module, &self.addressed);
        let calls = self.calls.entry(signature.clone()).or_insert_with(|| {
            let fits = |g: &u32| signature.fits(&module.functions[*g as usize]);
            let targets = addressed.iter().copied().filter(fits).collect();
            Calls { targets, places: Vec::new(), gate: None }
        });
        calls.places.push(place);
        &calls.targets
    }

    /// The functions that a recorded call may reach.
    pub(super) fn targets(&self, call: &Call) -> &[u32] {
        self.calls.get(&Signature::of(call)).map_or(&[], |c| &c.targets)
    }

    /// The gate of a recorded call.
    pub(super) fn gate(&self, call: &Call) -> Option<u32> {
        self.calls.get(&Signature::of(call))?.gate
    }

    /// Creates the gates for all recorded calls. `cells`: of the functions that contain them and that they may mean.
    pub(super) fn gates(&mut self, cells: &[Cells]) -> Vec<Gate> {
        let mut gates = Vec::new();
        for (signature, calls) in &mut self.calls {
            let many = calls.places.len() > 1 && calls.places.len() * calls.targets.len() > WAYS;
            if many && let Some(gate) = gate(self.module, signature, calls, cells) {
                calls.gate = Some((self.module.functions.len() + gates.len()) as u32);
                gates.push(gate);
            }
        }
        gates
    }
}

fn addressed(module: &Module) -> Vec<u32> {
    let mut all: Vec<u32> = Vec::new();
    let function = |s: &Symbol| match s {
        Symbol::Function(n) => Some(*n),
        _ => None,
    };
    for g in &module.globals {
        all.extend(g.relocations.iter().filter_map(|r| function(&r.target)));
    }
    for src in module.functions.iter().flat_map(|f| &f.code).flat_map(|i| &i.src) {
        if let Src::Address(symbol, _) = src {
            all.extend(function(symbol));
        }
    }
    all.sort_unstable();
    all.dedup();
    all.retain(|n| module.functions.get(*n as usize).is_some_and(|f| f.defined && !f.entry));
    all
}

/// Bytes that a gate passes on: how many, and the cells into which callers and functions split them, `None` if they
/// stay in memory.
struct Passed {
    size: u32,
    cells: Option<BTreeMap<u32, u32>>,
}

impl Passed {
    /// One side has a variable.
    fn variable(&mut self, cells: &Cells, at: usize, offset: u32, size: u32) {
        self.size = self.size.max(size);
        match cells.find(at, offset).and_then(|v| cells.variables[v].cells.as_ref()) {
            Some(all) => all.iter().for_each(|(at, width)| self.cell(*at, *width)),
            None => self.cells = None,
        }
    }

    /// One side has a register.
    fn register(&mut self, bits: u32) {
        let width = bits.div_ceil(8);
        self.size = self.size.max(width);
        self.cell(0, width);
    }

    /// A side that splits them differently from another makes them stay in memory.
    fn cell(&mut self, at: u32, width: u32) {
        let Some(cells) = &mut self.cells else { return };
        let mut others = cells.range(..at + width).rev().take_while(|(o, w)| **o + **w > at);
        match others.next() {
            Some((o, w)) if (*o, *w) == (at, width) => {}
            Some(_) => self.cells = None,
            None => drop(cells.insert(at, width)),
        }
    }
}

/// What is passed in one position of the lists of arguments or results; `None` if a register is too wide for it.
fn passed<'a>(
    callers: impl Iterator<Item = (&'a Cells, usize, Arg)>,
    targets: impl Iterator<Item = (&'a Cells, &'a Param)>,
) -> Option<Passed> {
    let mut passed = Passed { size: 0, cells: Some(BTreeMap::new()) };
    for (cells, at, arg) in callers {
        match arg {
            Arg::Memory(offset, size) => passed.variable(cells, at, offset, size),
            Arg::Reg(_, bits) if bits > 64 => return None,
            Arg::Reg(_, bits) => passed.register(bits),
            Arg::Imm(_) | Arg::Sink => {}
        }
    }
    for (cells, param) in targets {
        match param.place {
            Place::Memory(offset) => passed.variable(cells, 0, offset, param.size),
            Place::Register(_) if param.ty.bits() > 64 => return None,
            Place::Register(_) => passed.register(param.ty.bits()),
        }
        passed.size = passed.size.max(param.size);
    }
    Some(passed)
}

/// The gate of calls of a signature.
fn gate(module: &Module, signature: &Signature, calls: &Calls, cells: &[Cells]) -> Option<Gate> {
    let callers = || {
        calls.places.iter().filter_map(|(f, at)| {
            let inst = &module.functions[*f as usize].code[*at as usize];
            let Some(Src::Call(call)) = inst.src.first() else { return None };
            Some((&cells[*f as usize], *at as usize, call))
        })
    };
    let targets = || {
        let all = calls.targets.iter().map(|g| *g as usize);
        all.map(|g| (&cells[g], &module.functions[g]))
    };
    let mut all = Vec::new();
    for n in 0..signature.args.len() {
        let callers = callers().map(|(cells, at, call)| (cells, at, call.args[n]));
        all.push(passed(
            callers,
            targets().filter_map(|(cells, g)| Some((cells, g.params.get(n)?))),
        )?);
    }
    for n in 0..signature.returns.len() {
        let callers = callers().map(|(cells, at, call)| (cells, at, call.returns[n]));
        all.push(passed(callers, targets().map(|(cells, g)| (cells, &g.returns[n])))?);
    }
    let (variables, local_size) = places(all);
    let (f, at) = calls.places.first()?;
    let pos = module.functions[*f as usize].code[*at as usize].pos;
    let function = function(&variables, signature.args.len(), local_size, pos);
    Some(Gate { function, cells: Cells::with(variables), targets: calls.targets.clone() })
}

/// Variables in the order in which they are passed, and the bytes of those in memory. Variables in memory come first.
fn places(all: Vec<Passed>) -> (Vec<Variable>, u32) {
    let (mut memory, mut end) = (0, 0);
    let mut offsets = vec![0; all.len()];
    for in_memory in [true, false] {
        for (offset, passed) in offsets.iter_mut().zip(&all) {
            if passed.cells.is_none() == in_memory {
                *offset = end;
                end += passed.size.max(1).next_multiple_of(16);
            }
        }
        if in_memory {
            memory = end.next_multiple_of(64);
            end = memory;
        }
    }
    let variable = |(offset, passed): (u32, Passed)| Variable {
        offset,
        size: passed.size,
        scope: (0, u32::MAX),
        cells: passed.cells,
    };
    (offsets.into_iter().zip(all).map(variable).collect(), memory)
}

/// The gate as a function: the pointer, `args` of the variables as arguments, the others as results.
fn function(variables: &[Variable], args: usize, local_size: u32, pos: Pos) -> Function {
    let pointer = Scalar::U64;
    let param = |ty, size, place| Param { name: String::new(), ty, size, align: 16, place };
    let passed = |v: &Variable| param(Scalar::B8, v.size, Place::Memory(v.offset));
    let handed = |v: &Variable| Arg::Memory(v.offset, v.size);
    let (before, behind) = variables.split_at(args);
    let mut params = vec![param(pointer, pointer.bytes(), Place::Register(0))];
    params.extend(before.iter().map(passed));
    let call = Call {
        callee: Callee::Register(0),
        args: before.iter().map(handed).collect(),
        returns: behind.iter().map(handed).collect(),
    };
    let mut enter = make::control(Control::Call, pos);
    enter.src.push(Src::Call(Box::new(call)));
    let mut f = Function {
        name: String::new(),
        pos,
        entry: false,
        linkage: Linkage::Internal,
        defined: true,
        params,
        params_size: 0,
        returns: behind.iter().map(passed).collect(),
        registers: vec![pointer],
        local_size,
        variables: Vec::new(),
        locals: Vec::new(),
        code: vec![enter, make::control(Control::Return, pos)],
        block_of: Vec::new(),
        blocks: Vec::new(),
        shared_used: Vec::new(),
        callees: Vec::new(),
        calls_indirectly: true,
        refusals: Vec::new(),
        directives: Vec::new(),
    };
    f.find_blocks();
    f
}
