//! The compiler that makes code objects of LLVM IR: whatever clang is there, with its linker.
//!
//! Owns where it is looked for, how it is asked, what is said where there is none. Must not know PTX.

mod find;

use crate::target::Target;
use std::ffi::OsString;
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
    /// It cannot be started, or does not answer.
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

/// A clang that has AMD's targets.
#[derive(Debug, Clone)]
pub struct Compiler {
    program: PathBuf,
    /// What it says of itself.
    version: String,
}

/// The longest message that is kept, in bytes.
const LONGEST: usize = 4000;

/// A compiler to be started. What is preloaded into the process that translates is not for it.
fn started(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("LD_PRELOAD").env_remove("LD_AUDIT");
    command
}

impl Compiler {
    /// The first compiler that is there: `$CUSHIM_CLANG` alone where that is set, else `clang` and its numbered names in
    /// `$PATH`, else ROCm's.
    ///
    /// # Errors
    /// [`Error::Missing`] where none has AMD's targets.
    pub fn find() -> Result<Compiler, Error> {
        let candidates = find::candidates();
        for program in &candidates {
            if let Some(compiler) = Compiler::at(program) {
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
    pub fn at(program: &Path) -> Option<Compiler> {
        let output = started(program)
            .args(["--target=amdgcn-amd-amdhsa", "--version"])
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        let targets =
            started(program).args(["--print-targets"]).stdin(Stdio::null()).output().ok()?;
        let targets = String::from_utf8_lossy(&targets.stdout);
        let knows = output.status.success() && targets.contains("amdgcn");
        knows.then(|| Compiler { program: program.to_owned(), version })
    }

    /// Where it is.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// What it says of itself: other text, other code.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Target triple and data layout, as this compiler wants them at the head of a module.
    fn head(&self, target: &Target) -> Result<String, Error> {
        let mut command = self.command(target);
        command.args(["-x", "c", "-S", "-emit-llvm", "-o", "-", "-"]);
        let output = self.run(command, "", target)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text
            .lines()
            .filter(|line| line.starts_with("target "))
            .map(|l| l.to_owned() + "\n")
            .collect())
    }

    fn command(&self, target: &Target) -> Command {
        let mut command = started(&self.program);
        let cpu = format!("-mcpu={}", target.name());
        command.args(["--target=amdgcn-amd-amdhsa", &cpu, "-nogpulib", "-O3"]);
        command
    }

    fn run(&self, mut command: Command, input: &str, target: &Target) -> Result<Output, Error> {
        let problem = |e: std::io::Error| Error::Started {
            program: self.program.clone(),
            problem: e.to_string(),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(problem)?;
        // Whoever does not read all of it says why.
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
            program: self.program.clone(),
            target: target.name().to_owned(),
            status: output.status.to_string(),
            said: said.get(..end.unwrap_or(0)).unwrap_or_default().to_owned(),
        })
    }

    /// A code object of a module's text without triple and data layout.
    ///
    /// # Errors
    /// The compiler cannot be started, or does not take the text.
    pub fn compile(&self, ir: &str, target: &Target) -> Result<Vec<u8>, Error> {
        let text = self.head(target)? + ir;
        let mut command = self.command(target);
        // Local memory stays local: shared memory is the launch's, whose dynamic part the compiler does not know.
        command.args(["-mllvm", "-disable-promote-alloca-to-lds"]);
        // The linker beside it, so that nothing of another version takes part.
        if let Some(linker) = find::linker(&self.program) {
            let mut option = OsString::from("--ld-path=");
            option.push(linker);
            command.arg(option);
        }
        let folder = find::temporary().map_err(|e| Error::Started {
            program: self.program.clone(),
            problem: format!("a folder for its output: {e}"),
        })?;
        let out = folder.path().join("code");
        command.args(["-x", "ir", "-", "-o"]).arg(&out);
        self.run(command, &text, target)?;
        std::fs::read(&out).map_err(|e| Error::Started {
            program: self.program.clone(),
            problem: format!("its output cannot be read: {e}"),
        })
    }
}
