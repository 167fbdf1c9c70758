//! The compiler that makes code objects from LLVM IR: an installed clang, with its linker.
//!
//! Owns where it is searched, how it is queried, and the message if there is none. Must not know PTX.

mod find;
mod kept;

use crate::cache::Cache;
use crate::target::Target;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no compiler.
    #[error(
        "no clang with AMD's targets was found, expected one in $CUSHIM_CLANG, $PATH or /opt/rocm/llvm/bin (looked at: \
         {0})"
    )]
    Missing(String),
    /// It cannot be started, or returns nothing.
    #[error("{program}: {problem}")]
    Started {
        /// The compiler.
        program: PathBuf,
        /// What went wrong.
        problem: String,
    },
    /// It does not take the code.
    #[error("{program} for {target} ended with {status}:\n{said}")]
    Failed {
        /// The compiler.
        program: PathBuf,
        /// For which target.
        target: String,
        /// Its status.
        status: String,
        /// Its messages.
        said: String,
    },
}

/// A clang with AMD's targets.
#[derive(Debug, Clone)]
pub struct Compiler {
    program: PathBuf,
    /// Its version string.
    version: String,
    /// Target triple and data layout, as it wants them at the head of a module.
    head: String,
    /// It said this in an earlier run, and was not started since.
    kept: bool,
}

/// The longest message that is kept, in bytes.
const LONGEST: usize = 4000;

/// A compiler to be started. Libraries preloaded into the translating process are not meant for the compiler.
fn started(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("LD_PRELOAD").env_remove("LD_AUDIT");
    command
}

impl Compiler {
    /// The first compiler found: `$CUSHIM_CLANG` alone if it is set, else `clang` and its numbered names in `$PATH`,
    /// else ROCm's. A program's report about itself is cached, and the program is not asked again while its file is
    /// unchanged.
    ///
    /// # Errors
    /// [`Error::Missing`] if none has AMD's targets.
    pub fn find(cache: Option<&Cache>) -> Result<Compiler, Error> {
        let candidates = find::candidates();
        for program in &candidates {
            if let Some(compiler) = Compiler::at(program, cache) {
                return Ok(compiler);
            }
        }
        let shown: Vec<String> = candidates.iter().map(|p| p.display().to_string()).collect();
        Err(Error::Missing(if shown.is_empty() {
            "nothing there".into()
        } else {
            shown.join(", ")
        }))
    }

    /// The compiler at a path, if it is one and knows AMD's targets.
    pub fn at(program: &Path, cache: Option<&Cache>) -> Option<Compiler> {
        let keep = cache.zip(kept::key(program));
        if let Some((cache, key)) = &keep
            && let Some((version, head)) = kept::load(cache, key)
        {
            return Some(Compiler { program: program.to_owned(), version, head, kept: true });
        }
        let compiler = Compiler::asked(program)?;
        if let Some((cache, key)) = &keep {
            kept::store(cache, key, &compiler.version, &compiler.head);
        }
        Some(compiler)
    }

    /// Starts the compiler at a path: its output for an empty input has its version, and the head of a module.
    fn asked(program: &Path) -> Option<Compiler> {
        let output = started(program)
            .args(["--target=amdgcn-amd-amdhsa", "-nogpulib", "-x", "c", "-S", "-emit-llvm"])
            .args(["-o", "-", "-"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines =
            |start: &'static str| text.lines().filter(move |line: &&str| line.starts_with(start));
        let head: String = lines("target ").map(|line| line.to_owned() + "\n").collect();
        let version: String = lines("!").collect();
        let knows = output.status.success() && head.contains("\"amdgcn-amd-amdhsa\"");
        knows.then(|| Compiler { program: program.to_owned(), version, head, kept: false })
    }

    /// Where it is.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its version string: if it differs, so may the code.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn run(&self, mut command: Command, input: &str, target: &Target) -> Result<Output, Error> {
        let program = PathBuf::from(command.get_program());
        let problem =
            |e: std::io::Error| Error::Started { program: program.clone(), problem: e.to_string() };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(problem)?;
        // A compiler that does not read all of it reports why.
        let pipe = child.stdin.take();
        let output = std::thread::scope(|scope| {
            scope.spawn(|| pipe.map(|mut pipe| pipe.write_all(input.as_bytes())));
            child.wait_with_output()
        });
        let output = output.map_err(problem)?;
        if output.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let end = said.char_indices().map(|(at, _)| at).take_while(|at| *at < LONGEST).last();
        Err(Error::Failed {
            program: program.clone(),
            target: target.name().to_owned(),
            status: output.status.to_string(),
            said: said.get(..end.unwrap_or(0)).unwrap_or_default().to_owned(),
        })
    }

    /// A code object of a module's IR without triple and data layout.
    ///
    /// # Errors
    /// The compiler cannot be started, or refuses the IR.
    pub fn compile(&self, ir: &str, target: &Target) -> Result<Vec<u8>, Error> {
        let made = self.compile_once(ir, target);
        // Its libraries may have changed since it was queried, and need another module header.
        if self.kept
            && matches!(made, Err(Error::Failed { .. }))
            && let Some(now) = Compiler::asked(&self.program)
            && now.head != self.head
        {
            return now.compile_once(ir, target);
        }
        made
    }

    /// As [`Compiler::compile`], with the cached facts about the compiler. The linker is called directly: a driver
    /// with two jobs starts itself once more for the first.
    fn compile_once(&self, ir: &str, target: &Target) -> Result<Vec<u8>, Error> {
        let problem = |what: &str, e: std::io::Error| Error::Started {
            program: self.program.clone(),
            problem: format!("{what}: {e}"),
        };
        let folder = find::temporary().map_err(|e| problem("a folder for its output", e))?;
        let [object, out] = ["object", "code"].map(|name| folder.path().join(name));
        let mut command = started(&self.program);
        let cpu = format!("-mcpu={}", target.name());
        command.args(["--target=amdgcn-amd-amdhsa", &cpu, "-nogpulib", "-O3"]);
        // Local memory stays local: shared memory is the launch's, whose dynamic part the compiler does not know.
        command.args(["-mllvm", "-disable-promote-alloca-to-lds", "-x", "ir", "-"]);
        let text = self.head.clone() + ir;
        // The linker beside it, so that nothing of another version takes part.
        match find::linker(&self.program) {
            Some(linker) => {
                command.arg("-c").arg("-o").arg(&object);
                self.run(command, &text, target)?;
                let mut link = started(&linker);
                link.args(["--no-undefined", "-shared"]).arg(&object).arg("-o").arg(&out);
                self.run(link, "", target)?;
            }
            None => {
                command.arg("-o").arg(&out);
                self.run(command, &text, target)?;
            }
        }
        std::fs::read(&out).map_err(|e| problem("its output cannot be read", e))
    }
}
