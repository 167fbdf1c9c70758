//! The hooked functions of LLVM's libomptarget, each declared once. A row is `class how [names] (arguments) ->
//! result;`. `how` is `observe` or `record` as in [`crate::runtime`], `value` (the call is recorded with its result,
//! stored after the arguments under the name [`RESULT`]), or a handler's name in `cushim_interpose::offload`.
//!
//! Since LLVM 12 all of them have the version node [`NODE`]. Not hooked: queries (`omp_get_num_devices`, which libomp
//! has too, `__tgt_target_nowait_query`), calls that pass on parts of a mapper (`__tgt_push_mapper_component`), and
//! functions whose arguments differ between releases (`__tgt_target_kernel_replay`).
//!
//! Source: `offload/include/omptarget.h`, `offload/libomptarget/interface.cpp` and `exports` of LLVM 15 to 22.

pub mod layout;

/// The version node of libomptarget's functions.
pub const NODE: &str = "VERS1.0";

/// The name under which the trace has the result of a `value` function, behind its arguments.
pub const RESULT: &str = "result";

/// Passes the whole table to macro `$then`, with `$extra` tokens in front.
#[macro_export]
macro_rules! offload_functions {
    ($then:ident $($extra:tt)*) => { $crate::offload_functions! { {$then} $($extra)* } };
    // A macro by its path.
    ({$($then:tt)+} $($extra:tt)*) => { $($then)+! { $($extra)*
        // ---- registration
        register (register_lib) [__tgt_register_lib] (desc: Ptr) -> ();
        register (unregister_lib) [__tgt_unregister_lib] (desc: Ptr) -> ();
        register record [__tgt_init_all_rtls __tgt_rtl_init __tgt_rtl_deinit] () -> ();
        register record [__tgt_register_requires] (flags: Flags64) -> ();

        // ---- regions
        region (kernel) [__tgt_target_kernel] (loc: Ptr, device_id: Device64, num_teams: i32, thread_limit: i32, host_ptr: Func, args: Ptr) -> i32;
        region (kernel_nowait) [__tgt_target_kernel_nowait] (loc: Ptr, device_id: Device64, num_teams: i32, thread_limit: i32, host_ptr: Func, args: Ptr, dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr) -> i32;
        region (target) [__tgt_target] (device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr) -> i32;
        region (target_nowait) [__tgt_target_nowait] (device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr, dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr) -> i32;
        region (target_mapper) [__tgt_target_mapper] (loc: Ptr, device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr, arg_names: Ptr, arg_mappers: Ptr) -> i32;
        region (target_nowait_mapper) [__tgt_target_nowait_mapper] (loc: Ptr, device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr, arg_names: Ptr, arg_mappers: Ptr, dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr) -> i32;
        region (teams) [__tgt_target_teams] (device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr, num_teams: i32, thread_limit: i32) -> i32;
        region (teams_nowait) [__tgt_target_teams_nowait] (device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr, num_teams: i32, thread_limit: i32, dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr) -> i32;
        region (teams_mapper) [__tgt_target_teams_mapper] (loc: Ptr, device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr, arg_names: Ptr, arg_mappers: Ptr, num_teams: i32, thread_limit: i32) -> i32;
        region (teams_nowait_mapper) [__tgt_target_teams_nowait_mapper] (loc: Ptr, device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr, arg_names: Ptr, arg_mappers: Ptr, num_teams: i32, thread_limit: i32, dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr) -> i32;

        // ---- CUDA programs whose launches go through libomptarget (-foffload-via-llvm)
        register record [__llvmPushCallConfiguration] (grid: Dim3, block: Dim3, shared: usize, stream: Stream) -> u32;
        region (launch_kernel) [llvmLaunchKernel] (func: Func, grid: Dim3, block: Dim3, args: Ptr, shared: usize, stream: Stream) -> i32;

        // ---- data
        map (data) [__tgt_target_data_begin __tgt_target_data_end __tgt_target_data_update] (device_id: Device64, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr) -> ();
        map (data_nowait) [__tgt_target_data_begin_nowait __tgt_target_data_end_nowait __tgt_target_data_update_nowait] (device_id: Device64, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr, dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr) -> ();
        map (data_mapper) [__tgt_target_data_begin_mapper __tgt_target_data_end_mapper __tgt_target_data_update_mapper] (loc: Ptr, device_id: Device64, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr, arg_names: Ptr, arg_mappers: Ptr) -> ();
        map (data_nowait_mapper) [__tgt_target_data_begin_nowait_mapper __tgt_target_data_end_nowait_mapper __tgt_target_data_update_nowait_mapper] (loc: Ptr, device_id: Device64, arg_num: i32, args_base: Ptr, args: Ptr, arg_sizes: Ptr, arg_types: Ptr, arg_names: Ptr, arg_mappers: Ptr, dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr) -> ();

        // ---- the program's own calls
        memory value [omp_target_alloc llvm_omp_target_alloc_device llvm_omp_target_alloc_host llvm_omp_target_alloc_shared] (size: usize, device_num: Device; result: Ptr) -> Ptr;
        memory record [omp_target_free llvm_omp_target_free_device llvm_omp_target_free_host llvm_omp_target_free_shared] (ptr: Ptr, device_num: Device) -> ();
        memory value [llvm_omp_target_lock_mem] (ptr: Ptr, size: usize, device_num: Device; result: Ptr) -> Ptr;
        memory record [llvm_omp_target_unlock_mem] (ptr: Ptr, device_num: Device) -> ();
        memory observe [omp_target_associate_ptr] (host_ptr: Ptr, device_ptr: Ptr, size: usize, device_offset: usize, device_num: Device) -> i32;
        memory observe [omp_target_disassociate_ptr] (ptr: Ptr, device_num: Device) -> i32;
        memory value [omp_target_is_present] (ptr: Ptr, device_num: Device; result: i32) -> i32;
        memory value [omp_target_is_accessible] (ptr: Ptr, size: usize, device_num: Device; result: i32) -> i32;
        memory value [omp_get_mapped_ptr] (ptr: Ptr, device_num: Device; result: Ptr) -> Ptr;
        copy observe [omp_target_memcpy] (dst: Ptr, src: Ptr, length: usize, dst_offset: usize, src_offset: usize, dst_device_num: Device, src_device_num: Device) -> i32;
        copy observe [omp_target_memcpy_async] (dst: Ptr, src: Ptr, length: usize, dst_offset: usize, src_offset: usize, dst_device_num: Device, src_device_num: Device, depobj_count: i32, depobj_list: Ptr) -> i32;
        copy observe [omp_target_memcpy_rect] (dst: Ptr, src: Ptr, element_size: usize, num_dims: i32, volume: Ptr, dst_offsets: Ptr, src_offsets: Ptr, dst_dimensions: Ptr, src_dimensions: Ptr, dst_device_num: Device, src_device_num: Device) -> i32;
        copy observe [omp_target_memcpy_rect_async] (dst: Ptr, src: Ptr, element_size: usize, num_dims: i32, volume: Ptr, dst_offsets: Ptr, src_offsets: Ptr, dst_dimensions: Ptr, src_dimensions: Ptr, dst_device_num: Device, src_device_num: Device, depobj_count: i32, depobj_list: Ptr) -> i32;
        copy value [omp_target_memset] (ptr: Ptr, value: i32, count: usize, device_num: Device; result: Ptr) -> Ptr;
        copy value [omp_target_memset_async] (ptr: Ptr, value: i32, count: usize, device_num: Device, depobj_count: i32, depobj_list: Ptr; result: Ptr) -> Ptr;

        // ---- interop objects; the width of some numbers differs between releases, see `Narrow`
        stream record [__tgt_interop_init] (loc: Ptr, gtid: Narrow, interop: Ptr, interop_type: Narrow, device_id: Narrow, dep_num: Narrow, dep_list: Ptr, have_nowait: Narrow) -> ();
        stream record [__tgt_interop_use __tgt_interop_destroy] (loc: Ptr, gtid: Narrow, interop: Ptr, device_id: Narrow, dep_num: Narrow, dep_list: Ptr, have_nowait: Narrow) -> ();
    } };
}
