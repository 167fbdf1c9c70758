//! Stand-ins for NVIDIA's programs that other programs start: `cushim` acts as one when it is started by its name.
//!
//! Owns: the list of them, the name by which this program was started, and the folder of links to it that the
//! launcher passes to the program (PATH, Triton's and JAX's variables). Must not know: backends.

mod nvcc;
mod ptxas;
mod smi;
mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::{Error, environ, preload};

/// A stand-in: the name of the program, and the function that takes its arguments.
type StandIn = (&'static str, fn(Vec<OsString>) -> ExitCode);

const ALL: [StandIn; 2] = [("ptxas", ptxas::run), ("nvidia-smi", smi::run)];

/// Does the work of the stand-in by whose name this program was started; `None` under its own name.
pub fn work() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let started = arguments.next()?;
    let name = Path::new(&started).file_name()?;
    let (_, run) = ALL.iter().find(|(stand_in, _)| name == *stand_in)?;
    Some(run(arguments.collect()))
}

/// A folder with links to this program by the names of the stand-ins, and nothing else.
///
/// # Errors
/// No folder can be made that only this user can write.
pub fn folder() -> Result<PathBuf, Error> {
    let own = std::env::current_exe().map_err(|e| Error::io("find", Path::new("cushim"), e))?;
    preload::links("programs", &ALL.map(|(name, _)| (name, own.as_path())))
}

/// The variables by which the program finds them: `path` is whether PATH is to be among them.
///
/// # Errors
/// As [`folder`].
pub fn environment(path: bool) -> Result<Vec<(&'static str, OsString)>, Error> {
    let folder = folder()?;
    let ptxas = folder.join("ptxas");
    let mut set: Vec<_> =
        PTXAS.iter().map(|name| (*name, ptxas.clone().into_os_string())).collect();
    set.push((environ::PTXAS, ptxas.into_os_string()));
    if std::env::var_os(TOOLKIT_OF_JAX).is_none() {
        set.push((TOOLKIT_OF_JAX, preload::links("cuda", &[("bin", &folder)])?.into_os_string()));
    }
    if path {
        let now = std::env::var_os("PATH").unwrap_or_default();
        let others = std::env::split_paths(&now).filter(|entry| *entry != folder);
        let joined = std::env::join_paths(std::iter::once(folder.clone()).chain(others));
        set.extend(joined.ok().map(|value| ("PATH", value)));
    }
    Ok(set)
}

/// The variables by which programs find cushim's libraries, each with the names of NVIDIA's, as files: Triton links a module
/// of its own with libcuda at the first kernel, and asks `ldconfig -p` without such a variable; others search the folders of
/// LD_LIBRARY_PATH before they open a library (tinygrad, Python's `find_library`), or have a compiler link with `-lcuda`
/// (KeOps). `path` is whether the folder is to be among those of the loader and the linker.
///
/// # Errors
/// As [`folder`].
pub fn libraries(
    files: &[(&str, &Path)],
    path: bool,
) -> Result<Vec<(&'static str, OsString)>, Error> {
    let folder = preload::links("libraries", files)?;
    let mut set = vec![("TRITON_LIBCUDA_PATH", folder.clone().into_os_string())];
    if path {
        set.extend(FOLDERS.into_iter().filter_map(|name| Some((name, last(name, &folder)?))));
    }
    Ok(set)
}

/// The list of folders in a variable with this one behind the program's own, so that nothing of these is hidden; `None`
/// where it is there.
fn last(variable: &str, folder: &Path) -> Option<OsString> {
    let mut all = std::env::var_os(variable).unwrap_or_default();
    if std::env::split_paths(&all).any(|entry| entry == folder) {
        return None;
    }
    if !all.is_empty() {
        all.push(":");
    }
    all.push(folder);
    Some(all)
}

/// Where the loader looks for libraries before the system's folders, and where gcc and clang have the linker look behind
/// those of `-L`.
const FOLDERS: [&str; 2] = ["LD_LIBRARY_PATH", "LIBRARY_PATH"];

/// The variables that disable programs' checks that only NVIDIA's driver passes, where the user has
/// not set them. JAX asks for the version of each of NVIDIA's libraries when it starts, and CUPTI
/// crashes without that driver.
pub fn constraints() -> Vec<(&'static str, OsString)> {
    let is_unset = |name: &&str| std::env::var_os(name).is_none();
    [CHECK_OF_JAX].into_iter().filter(is_unset).map(|name| (name, OsString::from("1"))).collect()
}

/// The variable that has XLA multiply matrices by cuBLAS, which is fast here; XLA would first compile and time several dozen
/// kernels of Triton's for each product: minutes, of which a GPU's compiler takes seconds. What the user says of
/// it stays, and so does a value that names a file.
pub fn products() -> Option<(&'static str, OsString)> {
    let before = std::env::var_os(FLAGS_OF_XLA).unwrap_or_default().into_string().ok()?;
    let is_file = !before.is_empty() && !before.trim_start().starts_with('-');
    if is_file || before.contains(PRODUCTS_OF_XLA) {
        return None;
    }
    let all = format!("{before} {PRODUCTS_OF_XLA}=false");
    Some((FLAGS_OF_XLA, OsString::from(all.trim_start())))
}

/// Flags of XLA, separated by spaces, or the file that has them; a flag that XLA does not know ends the process.
const FLAGS_OF_XLA: &str = "XLA_FLAGS";

/// Whether kernels of Triton's may multiply matrices. XLA has had it since 2022.
const PRODUCTS_OF_XLA: &str = "--xla_gpu_enable_triton_gemm";

/// JAX skips that check where it is not empty (undocumented; `jax_plugins/xla_cuda*`).
const CHECK_OF_JAX: &str = "JAX_SKIP_CUDA_CONSTRAINTS_CHECK";

/// The toolkit whose `bin/ptxas` JAX has XLA use, ahead of that of NVIDIA's wheels and of PATH
/// (undocumented; `jax/_src/lib/__init__.py`).
const TOOLKIT_OF_JAX: &str = "CUDA_ROOT";

/// Triton's variables for the assembler: for GPUs before 10.0 (until 3.8; later before 9.0), and
/// for the others.
const PTXAS: [&str; 2] = ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"];
