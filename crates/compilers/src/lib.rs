//! libcushim_compilers.so: makes NVIDIA's compilers inside a program return PTX instead of machine code, and runs the
//! functions of cuBLAS and cuFFT by cushim's kernels.
//!
//! A program asks NVRTC or nvJitLink for a cubin of the GPU that it found, and loads it. The backend cpu cannot run a
//! cubin, but the compilers have PTX just before. So some functions of libnvrtc and libnvJitLink, whichever the
//! program opens, are redirected here: NVRTC compiles for the virtual architecture, and its PTX takes the cubin's
//! place; nvJitLink's PTX inputs go to the linker of cushim's driver, and only LLVM's intermediate code goes to
//! NVIDIA's. The results are images that every CUDA driver accepts, or cushim's own. cuBLAS has machine code for most
//! GPUs, so the functions of libcublas that multiply matrices are redirected as well (`blas`), and so are all
//! functions of libcufft that take a plan (`fft`). libcurand has PTX, and uses it if it is told of a GPU that it does
//! not know (`rand`).
//!
//! The audit library (`crates/audit`) redirects the functions when a library is loaded, and stores the original
//! functions in [`real`]. It reads the list of functions from [`table`].
//!
//! Owns: the replacement of each function. Must not know: how programs are started, or how symbols are redirected.

mod blas;
mod fft;
mod link;
mod nvrtc;
mod rand;
pub mod real;
pub mod rows;
mod session;
pub mod table;
