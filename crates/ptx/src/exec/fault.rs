//! The reason why a launch failed.

use super::variable::Variable;
use crate::error::Pos;
use crate::ir::{Inst, Module};
use crate::sem::{MbarrierOp, Operation};
use crate::source::Line;
use crate::types::Space;
use std::fmt;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// An address outside all memory (CUDA error 700).
    Address {
        /// The address.
        address: u64,
        /// How many bytes were accessed.
        bytes: u32,
        /// The space in the instruction.
        space: &'static str,
    },
    /// An address that is no multiple of the access size (CUDA error 716).
    Misaligned {
        /// The address.
        address: u64,
        /// The access size.
        bytes: u32,
    },
    /// `trap` (CUDA error 719).
    Trap,
    /// No texture or surface has this handle (CUDA error 700).
    Handle {
        /// The handle.
        handle: u64,
        /// A surface was expected.
        surface: bool,
    },
    /// Coordinates outside of a surface, where the instruction says `.trap` (CUDA error 700).
    Surface {
        /// x in bytes, y, z or the layer.
        coordinates: [i64; 3],
        /// How many bytes were accessed.
        bytes: u32,
        /// The surface's bytes of a row, rows, planes.
        size: [i64; 3],
    },
    /// There is no tensor map at this address (CUDA error 719).
    TensorMap {
        /// The address.
        address: u64,
    },
    /// Elements of this type cannot be combined in this way (CUDA error 719).
    TensorReduction {
        /// The type.
        element: &'static str,
    },
    /// A box of a tensor cannot begin there (CUDA error 715).
    TensorPlace {
        /// The axis, 0 the innermost.
        axis: usize,
        /// The coordinate.
        coordinate: i32,
        /// What was expected.
        expected: &'static str,
    },
    /// A failed `assert` (CUDA error 710).
    Assert,
    /// Local memory is used up (CUDA error 719).
    Stack {
        /// The limit in bytes.
        limit: u32,
    },
    /// A call through a pointer to no function (CUDA error 718).
    FunctionPointer {
        /// The pointer.
        value: u64,
    },
    /// A call of a function without a definition.
    Undefined {
        /// Its name.
        function: String,
    },
    /// An unsupported instruction (CUDA error 801).
    Refused {
        /// The instruction.
        instruction: String,
        /// The function that contains it.
        function: String,
        /// Why.
        reason: String,
    },
    /// The kernel takes more parameter bytes than were given.
    Parameters {
        /// How many were given.
        found: usize,
        /// How many it takes.
        expected: u32,
    },
    /// Every thread waits for another one.
    Deadlock,
    /// The host asked for an end.
    Interrupted,
    /// The engine panicked: an error of cushim (CUDA error 719).
    Internal {
        /// Where.
        place: String,
        /// What the panic says.
        message: String,
    },
}

/// How memory was accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It was read.
    Read,
    /// It was written.
    Write,
    /// Both, by an atomic operation.
    Atomic,
}

impl Access {
    /// What an instruction does in a space; `None` where it accesses no memory.
    pub fn of(inst: &Inst, space: &str) -> Option<Access> {
        match inst.sem {
            Operation::Load(_) => Some(Access::Read),
            Operation::Store(_) => Some(Access::Write),
            // From global memory to shared.
            Operation::CopyAsync(_) => {
                Some(if space == "shared" { Access::Write } else { Access::Read })
            }
            Operation::Mbarrier(m) => match m.op {
                MbarrierOp::Init => Some(Access::Write),
                MbarrierOp::Pending => None,
                _ => Some(Access::Atomic),
            },
            Operation::Atomic(_) => Some(Access::Atomic),
            _ => None,
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic operation",
        })
    }
}

/// Where in the code a launch failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The position in its text.
    pub pos: Pos,
    /// Which of several texts that were linked, from 1; 0 where there is one.
    pub text: u32,
    /// The function that contains it, if that is not the kernel.
    pub function: Option<String>,
    /// The source line, followed by the call sites of inlined functions; empty if the text does not say.
    pub source: Vec<Line>,
}

impl Spot {
    /// The module's information about a position in it.
    fn new(module: &Module, kernel: u32, pos: Pos) -> Spot {
        let all = module.functions.iter().enumerate();
        let before = all.filter(|(_, f)| f.defined && f.pos <= pos);
        let (number, start) =
            before.max_by_key(|(_, f)| f.pos).map_or((kernel, pos), |(n, f)| (n as u32, f.pos));
        let (own, text) = module.sources.text(pos);
        let name = module.functions.get(number as usize).map(|f| f.name.clone());
        let function = name.filter(|_| number != kernel);
        Spot { pos: own, text, function, source: module.sources.lines(start, pos) }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.source.iter();
        if let Some(line) = lines.next() {
            write!(f, "{line}")?;
            lines.try_for_each(|line| write!(f, ", inlined at {line}"))?;
            f.write_str(", ")?;
        }
        write!(f, "PTX {}", self.pos)?;
        if self.text > 0 { write!(f, " of text {}", self.text) } else { Ok(()) }
    }
}

/// A launch that failed: what, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub cause: Box<Cause>,
    /// The kind of memory access, if that is what failed.
    pub access: Option<Access>,
    /// The kernel, as its symbol is called.
    pub kernel: String,
    /// Where in the code, if at an instruction.
    pub spot: Option<Box<Spot>>,
    /// The block.
    pub block: [u32; 3],
    /// The thread in it.
    pub thread: [u32; 3],
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Address { address, bytes, space } => {
                let s = plural(*bytes);
                write!(f, "access of {bytes} byte{s} of {space} memory at {address:#x}, ")?;
                f.write_str("expected an address inside an allocation")
            }
            Cause::Misaligned { address, bytes } => {
                write!(f, "access of {bytes} bytes at {address:#x}, expected a multiple of {bytes}")
            }
            Cause::Trap => write!(f, "trap"),
            Cause::Handle { handle, surface } => {
                let what = if *surface { "surface" } else { "texture" };
                write!(f, "{handle:#x} is no {what}, expected a {what} object that exists")
            }
            Cause::Surface { coordinates: [x, y, z], bytes, size: [w, h, d] } => {
                write!(f, "surface access of {bytes} bytes at byte {x}, row {y}, plane {z}, ")?;
                write!(f, "expected a place inside {w} bytes by {h} rows by {d} planes")
            }
            Cause::TensorMap { address } => {
                write!(
                    f,
                    "no tensor map is at {address:#x}, expected one that cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col made, for this instruction"
                )
            }
            Cause::TensorReduction { element } => {
                write!(f, "a reduction that elements of type {element} do not have")
            }
            Cause::TensorPlace { axis, coordinate, expected } => {
                write!(
                    f,
                    "a box begins at {coordinate} on axis {axis} of its tensor, expected {expected}"
                )
            }
            Cause::Assert => write!(f, "assertion failed"),
            Cause::Stack { limit } => {
                write!(f, "the local memory of a thread exceeds {limit} bytes")
            }
            Cause::FunctionPointer { value } => {
                write!(f, "call of {value:#x}, expected a pointer to a function")
            }
            Cause::Undefined { function } => {
                write!(f, "call of `{function}`, which is declared but not defined")
            }
            Cause::Refused { instruction, function, reason } => {
                write!(f, "`{instruction}` in {function}: {reason}")
            }
            Cause::Parameters { found, expected } => {
                write!(f, "{found} bytes of parameters, expected {expected}")
            }
            Cause::Deadlock => write!(f, "deadlock: every thread waits for another"),
            Cause::Interrupted => write!(f, "interrupted"),
            Cause::Internal { place, message } => {
                write!(f, "internal error in cushim, in {place}: {message}")
            }
        }
    }
}

fn plural(n: u32) -> &'static str {
    if n == 1 { "" } else { "s" }
}

impl Fault {
    /// A fault in a launch of a kernel of a module.
    pub fn new(
        module: &Module,
        kernel: u32,
        cause: Cause,
        pos: Option<Pos>,
        block: [u32; 3],
        thread: [u32; 3],
    ) -> Fault {
        let name = module.functions.get(kernel as usize).map(|f| f.name.clone());
        let spot = pos.map(|pos| Box::new(Spot::new(module, kernel, pos)));
        let (cause, kernel) = (Box::new(cause), name.unwrap_or_default());
        Fault { cause, access: None, kernel, spot, block, thread }
    }

    /// The same, with what the instruction does to memory.
    #[must_use]
    pub fn by(mut self, inst: &Inst) -> Fault {
        self.access = match *self.cause {
            Cause::Address { space, .. } => Access::of(inst, space),
            Cause::Misaligned { .. } => Access::of(inst, ""),
            _ => None,
        };
        self
    }

    /// The variable of the block's or the thread's own memory that the failed access touches or lies nearest to; `dynamic` is
    /// the launch's shared memory.
    pub fn variable(&self, module: &Module, dynamic: u32) -> Option<Variable> {
        let Cause::Address { address, bytes, space } = *self.cause else { return None };
        let space = match space {
            "shared" => Space::Shared,
            "local" => Space::Local,
            _ => return None,
        };
        self.variable_at(module, dynamic, space, (address, bytes.into()))
    }

    /// As [`Self::variable`], for an access where the fault is.
    pub fn variable_at(
        &self,
        module: &Module,
        dynamic: u32,
        space: Space,
        access: (u64, u64),
    ) -> Option<Variable> {
        let kernel = module.function(&self.kernel)?;
        let own = self.spot.as_ref().and_then(|spot| spot.function.as_deref());
        let function = own.map_or(Some(kernel), |name| module.function(name))?;
        Variable::nearest(module, (kernel, function), dynamic, space, access)
    }

    /// Where in the PTX, if at an instruction: in its own text.
    pub fn pos(&self) -> Option<Pos> {
        self.spot.as_ref().map(|spot| spot.pos)
    }

    /// The message, with functions named by `named`, and `near` after an invalid address.
    pub fn message(&self, named: &dyn Fn(&str) -> String, near: Option<&str>) -> String {
        let mut text = self.what(near);
        text += &format!("; kernel {}", named(&self.kernel));
        let function = self.spot.as_ref().and_then(|spot| spot.function.as_deref());
        if let Some(function) = function {
            text += &format!(", in function {}", named(function));
        }
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        text += &format!(", block ({bx},{by},{bz}), thread ({tx},{ty},{tz})");
        if let Some(spot) = &self.spot {
            text += &format!(", {spot}");
        }
        text
    }

    /// What happened, without where; `near` follows an invalid address.
    pub fn what(&self, near: Option<&str>) -> String {
        match (self.access, &*self.cause) {
            (Some(access), Cause::Address { address, bytes, space }) => {
                let near = near.unwrap_or("expected an address inside an allocation");
                let s = plural(*bytes);
                format!("invalid {space} {access} of {bytes} byte{s} at {address:#x}, {near}")
            }
            (Some(access), Cause::Misaligned { address, bytes }) => {
                format!(
                    "misaligned {access} of {bytes} bytes at {address:#x}, expected a multiple of {bytes}"
                )
            }
            (_, cause) => cause.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(&str::to_string, None))
    }
}

impl std::error::Error for Fault {}
