//! libcushim_compilers.so: NVIDIA's compilers inside a program give PTX where they would make machine code, and what cuBLAS and
//! cuFFT compute is computed by kernels of ours.
//!
//! A program asks NVRTC or nvJitLink for a cubin of the GPU that it found, and loads that. On the backend cpu nothing
//! runs a cubin, but the compilers have PTX just before. So some functions of libnvrtc and libnvJitLink, whichever the
//! program opens, are led here: NVRTC compiles for the virtual architecture, and what it hands out as a cubin is its
//! PTX; nvJitLink's PTX inputs go to the linker of our own driver, and only intermediate code of LLVM goes to NVIDIA's.
//! Both results are images that every CUDA driver takes, or ours. cuBLAS has machine code for most GPUs, so the functions
//! of libcublas that multiply matrices are led here as well (`blas`), and so are all of libcufft that take a plan (`fft`).
//! libcurand has PTX, and takes it if it is told of a GPU that it does not know (`rand`).
//!
//! The audit library (`crates/audit`) leads the functions here as a library is loaded, and writes what they were into
//! [`real`]. It reads the [`table`] of what there is.
//!
//! Owns: what each function does instead. Must not know: how programs are started, or how symbols are led.

mod blas;
mod fft;
mod link;
mod nvrtc;
mod rand;
pub mod real;
pub mod rows;
mod session;
pub mod table;
