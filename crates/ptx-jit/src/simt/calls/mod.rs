//! Call lowering: a kernel and the functions it calls become one function without calls.
//!
//! Owns how calls are lowered before a plan is made. A small function is inlined; another exists once, with a
//! register that holds each lane's return point, so that lanes from several calls may run in one body, and lanes of
//! one call in several. A recursive function saves live registers on a stack ([`Activation::Save`],
//! [`Activation::Restore`]) and keeps the start of its frame in a register ([`Activation::Enter`] checks the frame's
//! end). Arguments and results become registers if possible. Must not know: plans, code.
//!
//! The only remaining [`Control::Call`]s call functions of the device runtime, with the arguments as operands, or
//! targets that are no function.

mod body;
mod bytes;
mod call;
mod cells;
mod gate;
mod graph;
mod guards;
mod instance;
mod make;
mod masks;
mod pointer;
mod saved;

use crate::error::NotCompiled;
use crate::simt::plan::region::Term;
use crate::simt::plan::{Layout, Plan};
use cushim_ptx::Pos;
use cushim_ptx::ir::{Base, Dst, Function, Inst, Module, Sense, Src, Symbol};
use cushim_ptx::sem::Control;
use cushim_ptx::types::Scalar;
use graph::Calls;
use instance::{Back, Circular, Frame, Instance, Place};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A function is copied to its calls if it has at most so many instructions, or one call.
const SMALL: usize = 300;
/// As long as all of them together have no more than these.
const COPIED: usize = 12_000;
/// The most instructions at all.
const MOST: usize = 100_000;

/// What call lowering adds to PTX around a call that may recurse, and where frames move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Activation {
    /// A frame begins at operand 0 and ends operand 1 bytes later: the launch fails if no stack is that large.
    Enter,
    /// The operands are kept on the lane's stack.
    Save,
    /// The results are what the last [`Activation::Save`] kept.
    Restore,
}

/// A kernel without calls.
#[derive(Debug, Clone)]
pub(crate) struct Lowered {
    pub(crate) function: Function,
    /// Instructions, by number, that are not PTX: each has operands and results in the code, and the operation
    /// [`cushim_ptx::sem::Operation::Refused`].
    pub(crate) activations: BTreeMap<usize, Activation>,
    /// Frames of local memory have no fixed offset, and may exceed [`Function::local_size`].
    pub(crate) moving: bool,
}

/// Makes one function of a kernel and the functions it calls.
///
/// # Errors
/// [`NotCompiled`]: the quantity that is too large.
pub(crate) fn lower(module: &Module, kernel: u32) -> Result<Lowered, NotCompiled> {
    let mut lowered = without_calls(module, kernel)?;
    if !lowered.moving && lowered.activations.is_empty() {
        guards::short(&mut lowered.function);
    }
    Ok(lowered)
}

fn without_calls(module: &Module, kernel: u32) -> Result<Lowered, NotCompiled> {
    let calls = Calls::of(module, kernel);
    let mut apart = BTreeSet::new();
    loop {
        let mut made = Lowering::new(&calls, kernel, &apart).whole()?;
        // Frames that move come back to a function by other ways than its blocks say.
        if !made.0.moving && made.0.activations.is_empty() {
            masks::constant(&mut made.0.function);
        }
        let f = &made.0.function;
        let guarded = |i: &Inst| crate::simt::plan::region::is_collective(i) && i.guard.is_some();
        if !f.code.iter().any(guarded) {
            return Ok(made.0);
        }
        // A guarded collective at which lanes may wait becomes an unguarded one with a branch around it.
        let plan = Plan::new(f, Layout::Any);
        let before = apart.len();
        for region in &plan.regions {
            if let Term::Wait { inst, .. } = region.term
                && f.code[inst].guard.is_some()
            {
                apart.insert(made.1[inst]);
            }
        }
        if apart.len() == before {
            return Ok(made.0);
        }
    }
}

struct Lowering<'a> {
    calls: &'a Calls<'a>,
    /// Instructions that lanes go round whose guards are false.
    apart: &'a BTreeSet<Place>,
    out: Function,
    activations: BTreeMap<usize, Activation>,
    /// The origin of each instruction.
    origins: Vec<Place>,
    at: Place,
    /// The instruction of each label.
    labels: Vec<u32>,
    instances: Vec<Instance>,
    shared: HashMap<u32, usize>,
    /// Instructions of all instances so far, those to come included.
    total: usize,
    circular: Vec<Circular>,
    /// Where lanes of an instance select their return point.
    returning: Vec<(usize, usize)>,
    /// Where lanes of a gate choose where they fault, and the calls of each gate, in the order of its sites.
    refusing: Vec<(usize, usize)>,
    gated: HashMap<usize, Vec<(Place, Pos)>>,
    local_size: u32,
}

impl<'a> Lowering<'a> {
    fn new(calls: &'a Calls<'a>, kernel: u32, apart: &'a BTreeSet<Place>) -> Self {
        let k = calls.function(kernel);
        let mut out = k.clone();
        out.code = Vec::new();
        out.registers = Vec::new();
        out.variables = Vec::new();
        out.callees = Vec::new();
        let mut this = Lowering {
            calls,
            apart,
            out,
            activations: BTreeMap::new(),
            origins: Vec::new(),
            at: (kernel, 0),
            labels: Vec::new(),
            instances: Vec::new(),
            shared: HashMap::new(),
            total: 0,
            circular: Vec::new(),
            returning: Vec::new(),
            refusing: Vec::new(),
            gated: HashMap::new(),
            local_size: 0,
        };
        this.add(kernel, Frame::Fixed(0), Back::Exit);
        this
    }

    /// Writes all instances, those that come up meanwhile too.
    fn whole(mut self) -> Result<(Lowered, Vec<Place>), NotCompiled> {
        let mut n = 0;
        while n < self.instances.len() {
            // The code of calls through pointers may be larger than the bodies.
            let found = self.total.max(self.out.code.len());
            if found > MOST {
                return Err(NotCompiled::TooLarge {
                    kernel: self.out.name.clone(),
                    what: "instructions with those of the functions it calls",
                    found,
                    limit: MOST,
                });
            }
            self.body(n);
            n += 1;
        }
        self.faults();
        for (n, at) in std::mem::take(&mut self.returning) {
            let Back::Many { sites, .. } = &self.instances[n].back else { continue };
            let sites = sites.clone();
            self.choices(at, sites);
        }
        self.resolve();
        let moving = self.calls.reached.iter().any(|f| self.calls.is_moving(*f));
        self.out.local_size = self.local_size.next_multiple_of(64);
        self.out.find_blocks();
        saved::find(&mut self.out, &self.circular, &self.instances);
        let lowered = Lowered { function: self.out, activations: self.activations, moving };
        Ok((lowered, self.origins))
    }

    /// Begins a table of labels, which [`Self::choices`] ends: the register selects one.
    fn table(&mut self, register: u32, pos: Pos) {
        let mut choose = make::control(Control::BranchTable, pos);
        choose.src.push(Src::Reg(register));
        self.push(choose);
        self.push(make::control(Control::Branch, pos));
    }

    fn choices(&mut self, at: usize, mut labels: Vec<u32>) {
        // An index past the list continues behind it.
        let last = labels.pop().unwrap_or(0);
        self.out.code[at].src.push(Src::Targets(labels));
        self.out.code[at + 1].src.push(Src::Target(last));
    }

    /// A new instance of a function, to be written later.
    fn add(&mut self, function: u32, frame: Frame, back: Back) -> usize {
        let f = self.calls.function(function);
        let first = self.out.registers.len() as u32;
        self.out.registers.extend(&f.registers);
        let mut cells = HashMap::new();
        for (n, v) in self.calls.cells[function as usize].variables.iter().enumerate() {
            for (at, width) in v.cells.iter().flatten() {
                cells.insert((n, *at), self.out.registers.len() as u32);
                self.out.registers.push(bits(*width));
            }
        }
        let label = self.labels.len() as u32;
        self.labels.resize(self.labels.len() + f.code.len() + 1, 0);
        self.total += f.code.len();
        if let Frame::Fixed(at) = frame {
            self.local_size = self.local_size.max(at + f.local_size);
        }
        let registers = (first, self.out.registers.len() as u32);
        self.instances.push(Instance { function, registers, cells, frame, back, label });
        self.instances.len() - 1
    }

    /// The one instance of a function that all calls use that are not inlined.
    fn common(&mut self, function: u32) -> usize {
        if let Some(n) = self.shared.get(&function) {
            return *n;
        }
        let (first, register) = (self.out.registers.len() as u32, self.register(Scalar::U32));
        let frame = match self.calls.is_moving(function) {
            true => Frame::Moving(self.register(Scalar::U32), 0),
            false => Frame::Fixed(self.calls.base[function as usize]),
        };
        let label = self.label();
        let n = self.add(function, frame, Back::Many { register, sites: Vec::new(), label });
        // The instance also owns these two registers, which precede the others.
        self.instances[n].registers.0 = first;
        self.shared.insert(function, n);
        n
    }

    fn register(&mut self, ty: Scalar) -> u32 {
        self.out.registers.push(ty);
        self.out.registers.len() as u32 - 1
    }

    fn label(&mut self) -> u32 {
        self.labels.push(0);
        self.labels.len() as u32 - 1
    }

    /// A label is here.
    fn place(&mut self, label: u32) {
        self.labels[label as usize] = self.out.code.len() as u32;
    }

    fn push(&mut self, inst: Inst) {
        self.out.code.push(inst);
        self.origins.push(self.at);
    }

    /// Adds an instruction that is not PTX.
    fn activate(&mut self, what: Activation, inst: Inst) {
        self.activations.insert(self.out.code.len(), what);
        self.push(inst);
    }

    fn jump(&mut self, guard: Option<(u32, Sense)>, label: u32, pos: Pos) {
        let mut inst = make::control(Control::Branch, pos);
        inst.guard = guard;
        inst.src.push(Src::Target(label));
        self.push(inst);
    }

    /// Labels become instructions.
    fn resolve(&mut self) {
        let labels = &self.labels;
        for src in self.out.code.iter_mut().flat_map(|i| &mut i.src) {
            match src {
                Src::Target(label) => *label = labels[*label as usize],
                Src::Targets(list) => list.iter_mut().for_each(|l| *l = labels[*l as usize]),
                _ => {}
            }
        }
    }

    /// An offset in a frame, as the operand of an access to local memory.
    fn local(&self, frame: Frame, offset: i64) -> Src {
        match frame {
            Frame::Fixed(at) => Src::Memory(Base::Symbol(Symbol::Local(0)), i64::from(at) + offset),
            Frame::Moving(r, at) => Src::Memory(Base::Reg(r, 32), i64::from(at) + offset),
        }
    }
}

/// The type of a register for so many bytes.
fn bits(width: u32) -> Scalar {
    match width {
        8 => Scalar::B64,
        4 => Scalar::B32,
        _ => Scalar::B16,
    }
}

/// An unsigned number of so many bits.
fn unsigned(bits: u32) -> Scalar {
    match bits {
        0..=8 => Scalar::U8,
        9..=16 => Scalar::U16,
        17..=32 => Scalar::U32,
        _ => Scalar::U64,
    }
}

fn signed(bits: u32) -> Scalar {
    match bits {
        0..=8 => Scalar::S8,
        9..=16 => Scalar::S16,
        17..=32 => Scalar::S32,
        _ => Scalar::S64,
    }
}

fn opposite(sense: Sense) -> Sense {
    match sense {
        Sense::True => Sense::False,
        Sense::False => Sense::True,
    }
}

/// A register as a result.
fn to(register: u32, registers: &[Scalar]) -> Dst {
    Dst::Reg(register, registers[register as usize].bits())
}
