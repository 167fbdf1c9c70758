//! The reason why a kernel has no machine code.

use cushim_ptx::Pos;
use cushim_ptx::ir::Module;

/// What stays with the interpreter, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotCompiled {
    /// The module has no kernel of this number with a body.
    #[error("function {0} of the module: expected a kernel with a body")]
    NoKernel(u32),
    /// An instruction that only the interpreter runs.
    #[error("kernel {kernel}, PTX {pos}: `{instruction}`: {reason}")]
    Instruction {
        /// The kernel.
        kernel: String,
        /// Where.
        pos: Pos,
        /// The operation.
        instruction: String,
        /// What is missing.
        reason: &'static str,
    },
    /// The kernel is too large.
    #[error("kernel {kernel}: {found} {what}, expected at most {limit}")]
    TooLarge {
        /// The kernel.
        kernel: String,
        /// The quantity that is over its limit, such as the instructions.
        what: &'static str,
        /// How much was found.
        found: usize,
        /// The bound.
        limit: usize,
    },
    /// This machine cannot run what the compiler makes.
    #[error("this processor: {0}")]
    Machine(String),
    /// The variable that chooses for which processors code is made names none.
    #[error("{variable}={found}: expected x86-64, x86-64-v2, x86-64-v3 or x86-64-v4", variable = cushim_ptx::level::VARIABLE)]
    Level {
        /// What it says.
        found: String,
    },
    /// The code generator refused, which is an error of this crate.
    #[error("kernel {kernel}: code generation: {message}")]
    Generator {
        /// The kernel.
        kernel: String,
        /// Its message.
        message: String,
    },
    /// The compiler panicked, which is an error of cushim.
    #[error("kernel {kernel}: the compiler failed: {message}")]
    Panicked {
        /// The kernel.
        kernel: String,
        /// What the panic says.
        message: String,
    },
    /// No memory for code.
    #[error("cannot map {0} bytes of memory for code: {1}")]
    Memory(usize, String),
}

impl NotCompiled {
    /// The same, with the position in its own text.
    pub(crate) fn in_text(mut self, module: &Module) -> NotCompiled {
        if let NotCompiled::Instruction { pos, .. } = &mut self {
            *pos = module.sources.text(*pos).0;
        }
        self
    }
}

/// Why no code is kept in a folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CacheRefused {
    /// It cannot be made or opened.
    #[error("{0}: expected a folder for compiled kernels: {1}")]
    Folder(std::path::PathBuf, String),
    /// Somebody else could put code there, which would be executed.
    #[error(
        "{path}: owned by user {owner}, mode {mode:o}; expected a folder that only this user can write to"
    )]
    Writable {
        /// The folder.
        path: std::path::PathBuf,
        /// The function that owns it.
        owner: u32,
        /// Its permissions.
        mode: u32,
    },
}
