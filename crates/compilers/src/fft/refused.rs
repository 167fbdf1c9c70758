//! The parts of cuFFT that do not run on the CPU: callbacks, which are machine code or LTO-IR linked into NVIDIA's
//! kernels; several GPUs; limits of a work area.
//!
//! Owns: these functions, and the messages about them. Must not know: plans.

use cushim_fft::status;
use cushim_vbase::code::say_once;

/// Says once of a function why it does not run.
fn refuse(name: &'static str, why: &'static str) -> i32 {
    say_once(&format!("{name} of libcufft does not run on the CPU: {why}"));
    status::NOT_SUPPORTED
}

macro_rules! refused {
    ($($why:literal: $($name:literal $function:ident)+;)+) => {$($(
        #[doc = concat!("`", $name, "`.")]
        pub unsafe extern "C" fn $function<const K: usize>() -> i32 {
            refuse($name, $why)
        }
    )+)+};
}

refused! {
    "there are no callbacks":
        "cufftXtSetCallback" xt_set_callback
        "cufftXtClearCallback" xt_clear_callback
        "cufftXtSetCallbackSharedSize" xt_set_callback_shared_size
        "cufftXtSetJITCallback" xt_set_jit_callback;
    "there is one device":
        "cufftXtSetGPUs" xt_set_gpus
        "cufftXtSetWorkArea" xt_set_work_area
        "cufftXtMalloc" xt_malloc
        "cufftXtMemcpy" xt_memcpy
        "cufftXtFree" xt_free
        "cufftXtQueryPlan" xt_query_plan
        "cufftXtSetDistribution" xt_set_distribution
        "cufftXtSetSubformatDefault" xt_set_subformat
        "cufftXtExecDescriptor" xt_exec_descriptor
        "cufftXtExecDescriptorC2C" xt_exec_descriptor_c2c
        "cufftXtExecDescriptorR2C" xt_exec_descriptor_r2c
        "cufftXtExecDescriptorC2R" xt_exec_descriptor_c2r
        "cufftXtExecDescriptorZ2Z" xt_exec_descriptor_z2z
        "cufftXtExecDescriptorD2Z" xt_exec_descriptor_d2z
        "cufftXtExecDescriptorZ2D" xt_exec_descriptor_z2d;
    "work areas have no limit":
        "cufftXtSetWorkAreaPolicy" xt_set_work_area_policy;
}
