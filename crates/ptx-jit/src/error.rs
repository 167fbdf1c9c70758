//! Why a kernel has no machine code.

use cushim_ptx::Pos;

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
        /// What there is too much of.
        what: &'static str,
        /// How much was found.
        found: usize,
        /// The bound.
        limit: usize,
    },
    /// This machine cannot run what the compiler makes.
    #[error("this processor: {0}")]
    Machine(String),
    /// The code generator refused, which is an error of this crate.
    #[error("kernel {kernel}: code generation: {message}")]
    Generator {
        /// The kernel.
        kernel: String,
        /// Its message.
        message: String,
    },
    /// No memory for code.
    #[error("memory for {0} bytes of code cannot be had: {1}")]
    Memory(usize, String),
}
