//! The checked IR: every name resolved, every instruction a form of the table.
//!
//! A function is a list of instructions divided into basic blocks. Blocks have a rank, an order in which divergent
//! lanes reconverge as early as they can (a loop's blocks come before what follows the loop). The IR contains no text
//! and must not know how it is executed; an interpreter and a compiler both read it.

use crate::ast::Linkage;
use crate::error::Pos;
pub use crate::operand::{Arg, Base, Call, Callee, Dst, Sense, Src, Symbol};
use crate::sem::Operation;
use crate::source::Sources;
pub use crate::special::Special;
use crate::types::{Scalar, Space};

/// A checked module.
#[derive(Debug, Clone)]
pub struct Module {
    /// `.version`.
    pub version: (u32, u32),
    /// The number of the `sm_` target; 0 where the text names none.
    pub sm: u32,
    /// Global and constant variables. A symbol's number is its index here.
    pub globals: Vec<Global>,
    /// Shared variables of all functions and of the module.
    pub shared: Vec<SharedVar>,
    /// Kernels and functions, with the declared-only ones.
    pub functions: Vec<Function>,
    /// The source lines that it was compiled from.
    pub sources: Sources,
}

/// A variable the host lays out and initialises.
#[derive(Debug, Clone)]
pub struct Global {
    /// Its name (function-scope statics keep theirs).
    pub name: String,
    /// `Global` or `Const`.
    pub space: Space,
    /// Its visibility.
    pub linkage: Linkage,
    /// In bytes.
    pub size: u64,
    /// In bytes.
    pub align: u32,
    /// `.attribute(.managed)`.
    pub managed: bool,
    /// A texture or surface reference: eight bytes for the handle of its binding.
    pub reference: bool,
    /// Initial bytes, at most `size`; the rest is zero.
    pub bytes: Vec<u8>,
    /// Addresses to write into the bytes.
    pub relocations: Vec<Relocation>,
}

/// An address inside an initial value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// Where in the variable, in bytes.
    pub offset: u64,
    /// How many bytes are written.
    pub width: u32,
    /// The symbol whose address it is.
    pub target: Symbol,
    /// Added to it.
    pub addend: i64,
    /// Which bits of the address, moved down to bit 0.
    pub mask: Option<u64>,
}

/// A variable in shared memory.
#[derive(Debug, Clone)]
pub struct SharedVar {
    /// Its name.
    pub name: String,
    /// In bytes; 0 for `.extern .shared x[]`.
    pub size: u64,
    /// In bytes.
    pub align: u32,
    /// It is the dynamic shared memory of the launch.
    pub dynamic: bool,
}

/// A register of a function: its declared type.
pub type Register = Scalar;

/// A parameter or return value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Element type.
    pub ty: Scalar,
    /// In bytes.
    pub size: u32,
    /// In bytes.
    pub align: u32,
    /// Where it is.
    pub place: Place,
}

/// Where a parameter is: in memory, at an offset, or in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Byte offset: in the parameters of a kernel, in a function's local memory.
    Memory(u32),
    /// The register with this number.
    Register(u32),
}

/// A kernel or function.
#[derive(Debug, Clone, Hash)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub pos: Pos,
    /// A kernel.
    pub entry: bool,
    /// Its visibility.
    pub linkage: Linkage,
    /// It has a body here.
    pub defined: bool,
    /// Parameters, in order.
    pub params: Vec<Param>,
    /// Size of a kernel's parameters together, in bytes.
    pub params_size: u32,
    /// Return values.
    pub returns: Vec<Param>,
    /// Registers, by number.
    pub registers: Vec<Register>,
    /// Local memory of one activation, in bytes, a multiple of 64.
    pub local_size: u32,
    /// Variables for arguments and results of calls, which the body declares.
    pub variables: Vec<Variable>,
    /// Variables of space `.local` that the body declares.
    pub locals: Vec<Local>,
    /// Instructions.
    pub code: Vec<Inst>,
    /// The block of each instruction.
    pub block_of: Vec<u32>,
    /// Basic blocks.
    pub blocks: Vec<Block>,
    /// Shared variables this function itself names.
    pub shared_used: Vec<u32>,
    /// Functions this one calls by name.
    pub callees: Vec<u32>,
    /// It calls through pointers.
    pub calls_indirectly: bool,
    /// Instructions this crate does not run, in order.
    pub refusals: Vec<Refusal>,
    /// `.maxntid`, `.reqntid`, ... as written.
    pub directives: Vec<(String, Vec<u64>)>,
}

impl Function {
    /// The three numbers of a directive such as `reqntid`; missing ones are 1.
    pub fn shape(&self, directive: &str) -> Option<[u32; 3]> {
        let found = self.directives.iter().find(|(name, _)| name.ends_with(directive));
        found.map(|(_, values)| {
            [0, 1, 2].map(|k: usize| values.get(k).map_or(1, |v| (*v).min(1 << 20) as u32))
        })
    }

    /// A kernel's parameter block: the low bytes of each argument at its offset, at most eight of them, zeros
    /// elsewhere.
    pub fn packed(&self, arguments: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0; self.params_size as usize];
        for ((at, size), argument) in self.places().into_iter().zip(arguments) {
            let place = bytes.get_mut(at as usize..).unwrap_or_default();
            let place = place.iter_mut().take(size as usize);
            place.zip(argument.to_le_bytes()).for_each(|(to, byte)| *to = byte);
        }
        bytes
    }

    /// Offset and size of each of a kernel's parameters, in bytes.
    pub fn places(&self) -> Vec<(u32, u32)> {
        let place = |param: &Param| match param.place {
            Place::Memory(offset) => Some((offset, param.size)),
            Place::Register(_) => None,
        };
        self.params.iter().filter_map(place).collect()
    }
}

/// A variable of space `.param` in a body, in local memory. Variables of disjoint scopes may share their memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Byte offset in the local memory of an activation.
    pub offset: u32,
    /// In bytes.
    pub size: u32,
    /// The first instruction that may use it, and the one after the last.
    pub scope: (u32, u32),
}

/// A variable of space `.local` in a body. Variables of disjoint scopes may share their memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// Byte offset in the local memory of an activation.
    pub offset: u32,
    /// In bytes.
    pub size: u32,
}

/// An instruction that makes a kernel unlaunchable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// Where.
    pub pos: Pos,
    /// The instruction with its modifiers.
    pub instruction: String,
    /// Why.
    pub reason: String,
}

/// Straight-line code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Block {
    /// First instruction.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// Lanes in blocks of lower rank run first.
    pub rank: u32,
    /// Blocks that may come next.
    pub successors: Vec<u32>,
}

/// An instruction.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Inst {
    /// What it does, and to values of which types ([`Operation::ty`]).
    pub sem: Operation,
    /// Run only where this predicate holds.
    pub guard: Option<(u32, Sense)>,
    /// Results.
    pub dst: Vec<Dst>,
    /// Operands.
    pub src: Vec<Src>,
    /// Where in the text.
    pub pos: Pos,
}

impl Inst {
    /// An instruction on every lane, without operands.
    pub fn new(sem: Operation, pos: Pos) -> Inst {
        Inst { sem, guard: None, dst: Vec::new(), src: Vec::new(), pos }
    }

    /// The state space of operand `n` of an access; generic if none is given.
    pub fn space(&self, n: usize) -> Space {
        self.sem.space(n)
    }
}

impl Module {
    /// The function or kernel with this name.
    pub fn function(&self, name: &str) -> Option<u32> {
        self.functions.iter().position(|f| f.name == name).map(|i| i as u32)
    }

    /// Every function that may run in a launch of `kernel`: those called by name, and if there is an indirect call,
    /// all defined functions that are no kernels.
    pub fn reachable(&self, kernel: u32) -> Vec<u32> {
        let mut seen = vec![false; self.functions.len()];
        let mut stack = vec![kernel];
        let mut out = Vec::new();
        while let Some(f) = stack.pop() {
            let Some(mark) = seen.get_mut(f as usize) else { continue };
            if std::mem::replace(mark, true) {
                continue;
            }
            out.push(f);
            let Some(function) = self.functions.get(f as usize) else { continue };
            stack.extend(&function.callees);
            if function.calls_indirectly {
                let all = self.functions.iter().enumerate();
                stack.extend(all.filter(|(_, g)| g.defined && !g.entry).map(|(i, _)| i as u32));
            }
        }
        out
    }

    /// The reasons why `kernel` cannot be launched: unsupported instructions of it, and of functions that it calls by
    /// name, with the function.
    pub fn refusals(&self, kernel: u32) -> Vec<(u32, &Refusal)> {
        let mut seen = vec![false; self.functions.len()];
        let mut stack = vec![kernel];
        let mut out = Vec::new();
        while let Some(f) = stack.pop() {
            let Some(mark) = seen.get_mut(f as usize) else { continue };
            if std::mem::replace(mark, true) {
                continue;
            }
            let Some(function) = self.functions.get(f as usize) else { continue };
            out.extend(function.refusals.iter().map(|r| (f, r)));
            stack.extend(&function.callees);
        }
        out
    }
}
