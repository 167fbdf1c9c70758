//! Modules, libraries, launches and occupancy of cushim's driver, called as programs call it, on the CPU: PTX text
//! in, values of variables out.
//!
//! There is a single test, because the driver's state belongs to the process.

#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use std::ffi::{CStr, c_void};

use cushim_abi::structs::{DriverLaunchConfig, LaunchAttribute};
use cushim_abi::types::*;
use vcuda::api;
use vcuda::driver::{accelerator, context, library, module};

const PTX: &CStr = c"
.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 total = 3;
.visible .const .align 4 .u32 step[2] = {10, 20};
.visible .global .align 8 .u64 seen;
.visible .entry add (.param .u32 by, .param .u64 word) .maxntid 64, 1, 1 {
  .reg .u32 %b, %s, %o; .reg .u64 %w;
  ld.param.u32 %b, [by]; ld.param.u64 %w, [word];
  ld.const.u32 %s, [step];
  add.u32 %b, %b, %s;
  atom.global.add.u32 %o, [total], %b;
  st.global.u64 [seen], %w;
  ret;
}
.visible .entry wide () { .shared .align 4 .b8 room[4000]; .reg .u64 %a; mov.u64 %a, room; ret; }
.visible .entry exactly () .reqntid 32, 1, 1 {
  .reg .u32 %s; .reg .u64 %w;
  mov.u32 %s, %dynamic_smem_size;
  cvt.u64.u32 %w, %s;
  st.global.u64 [seen], %w;
  ret;
}
.visible .entry never () { tcgen05.wait::ld.sync.aligned; ret; }
";
const NOTHING: Ptr = Ptr(0);

fn at<T>(value: &T) -> Ptr {
    Ptr((&raw const *value).expose_provenance())
}

fn text(value: &CStr) -> Str {
    Str(value.as_ptr().expose_provenance())
}

fn word(address: Ptr) -> u64 {
    let value = 0u64;
    accelerator().copy_now(at(&value).0 as u64, address.0 as u64, 8).unwrap();
    unsafe { (&raw const value).read_volatile() }
}

unsafe fn global(of: Module, name: &CStr) -> Ptr {
    let (mut address, mut size) = (NOTHING, 0);
    let (a, s) = (Out(&raw mut address), Out(&raw mut size));
    assert_eq!(unsafe { api::cuModuleGetGlobal_v2(a, s, of, text(name)) }, 0);
    assert!(size >= 4);
    address
}

unsafe fn run(f: Func, grid: u32, block: u32, shared: u32, params: Ptr, extra: Ptr) -> i32 {
    unsafe { api::cuLaunchKernel(f, grid, 1, 1, block, 1, 1, shared, Stream(0), params, extra) }
}

unsafe fn attribute(f: Func, number: i32) -> i32 {
    let mut value = -7;
    assert_eq!(unsafe { api::cuFuncGetAttribute(Out(&raw mut value), number, f) }, 0);
    value
}

#[test]
fn code_is_loaded_and_run() {
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("CUSHIM_BACKEND", "cpu") };
    let (mut own, mut context) = (Module(0), Context(0));
    let image = Ptr(PTX.as_ptr().expose_provenance());
    unsafe {
        let to = Out(&raw mut own);
        assert_eq!(api::cuModuleLoadData(to, image), 3, "before cuInit");
        assert_eq!(api::cuInit(Flags(0)), 0);
        assert_eq!(api::cuModuleLoadData(to, image), 201, "no context");
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0)), 0);
        assert_eq!(api::cuCtxSetCurrent(context), 0);
    }
    unsafe { modules(image) };
    unsafe { libraries(image) };
    unsafe { linking() };
    unsafe { names() };
    // A context's modules end with it.
    unsafe {
        assert_eq!(api::cuModuleLoadData(Out(&raw mut own), image), 0);
        assert_eq!(api::cuDevicePrimaryCtxRelease_v2(Device(0)), 0);
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0)), 0);
        assert_eq!(api::cuModuleUnload(own), 400);
        assert!(module::MODULES.all().is_empty() && library::LIBRARIES.all().is_empty());
        assert!(context::current().is_ok());
    }
}

/// A launch with a launch configuration (`cuLaunchKernelEx`).
unsafe fn configured(f: Func, total: Ptr, good: Ptr) {
    unsafe {
        let mut cluster = LaunchAttribute { id: 4, pad: 0, value: [1; 16] };
        let one = Dim3 { x: 1, y: 1, z: 1 };
        let config = |attribute: &LaunchAttribute| DriverLaunchConfig {
            grid: one,
            block: one,
            shared: 0,
            stream: 0,
            attributes: at(attribute).0,
            attribute_count: 1,
        };
        let before = word(total) as u32;
        assert_eq!(api::cuLaunchKernelEx(at(&config(&cluster)), f, good, NOTHING), 0);
        cluster.value[1] = 2;
        assert_eq!(
            api::cuLaunchKernelEx(at(&config(&cluster)), f, good, NOTHING),
            912,
            "no multiple"
        );
        assert_eq!(api::cuLaunchKernelEx(NOTHING, f, good, NOTHING), 1);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert!((before + 14..before + 29).contains(&(word(total) as u32)));
    }
}

/// The attributes of a function, and those that may be set.
unsafe fn described(f: Func, own: Module) {
    unsafe {
        let get =
            |to: &mut Func, of, name: &CStr| api::cuModuleGetFunction(Out(to), of, text(name));
        let mut wide = Func(0);
        assert_eq!(get(&mut wide, own, c"wide"), 0);
        assert_eq!((attribute(f, 0), attribute(f, 2), attribute(f, 5)), (64, 8, 80));
        let of_wide = [0, 1, 2, 8, 9].map(|number| attribute(wide, number));
        assert_eq!(of_wide, [1024, 4000, 8, 49_152 - 4000, -1]);
        assert_eq!(api::cuFuncSetAttribute(wide, 8, 60_000), 0);
        assert_eq!(api::cuFuncSetAttribute(wide, 8, 163 << 10), 1, "its own 4000 are too many");
        assert_eq!(api::cuFuncSetAttribute(wide, 4, 5), 1);
        assert_eq!(attribute(wide, 8), 60_000);
        assert_eq!(run(wide, 1, 1, 60_000, NOTHING, NOTHING), 0);
        let (mut offset, mut bytes) = (0, 0);
        let info = |n, o: &mut usize, b: &mut usize| api::cuFuncGetParamInfo(f, n, Out(o), Out(b));
        assert_eq!((info(1, &mut offset, &mut bytes), offset, bytes), (0, 8, 8));
        assert_eq!(info(2, &mut offset, &mut bytes), 1);
        let mut name = Str(0);
        assert_eq!(api::cuFuncGetName(Out(&raw mut name), f), 0);
        assert_eq!(CStr::from_ptr(name.0 as *const _), c"add");
        let mut count = 0;
        assert_eq!(api::cuModuleGetFunctionCount(Out(&raw mut count), own), 0);
        let functions = [Func(0); 4];
        assert_eq!(api::cuModuleEnumerateFunctions(at(&functions), 4, own), 0);
        assert_eq!((count, functions[0], functions[1]), (4, f, wide));
        occupancy(f, wide);
    }
}

/// Invalid images.
unsafe fn damaged() {
    unsafe {
        let (mut none, mut errors) = (Module(0), [0u8; 256]);
        let broken = c".version 7.0\n.target sm_80\nbroken";
        let (options, values) = ([5i32, 6], [errors.as_mut_ptr() as usize, errors.len()]);
        let mut load = |image: &CStr, n: u32| {
            let image = Ptr(image.as_ptr().expose_provenance());
            api::cuModuleLoadDataEx(Out(&raw mut none), image, n, at(&options), at(&values))
        };
        assert_eq!(load(broken, 2), 218);
        assert!(CStr::from_bytes_until_nul(&errors).unwrap().to_str().unwrap().contains("broken"));
        assert_eq!(load(c"something else", 0), 200);
        assert_eq!(load(c".version 6.0\n.target sm_9\n.address_size 64\n", 0), 218);
        assert_eq!(api::cuModuleLoadData(Out(&raw mut none), NOTHING), 1);
        assert_eq!(api::cuModuleLoad(Out(&raw mut none), text(c"/nowhere/at.all")), 301);
        assert_eq!(none, Module(0), "outputs stay on error");
    }
}

unsafe fn modules(image: Ptr) {
    let (mut own, mut other, mut f) = (Module(0), Module(0), Func(0));
    unsafe {
        assert_eq!(api::cuModuleLoadData(Out(&raw mut own), image), 0);
        assert_eq!(api::cuModuleLoadData(Out(&raw mut other), image), 0);
        let get =
            |to: &mut Func, of, name: &CStr| api::cuModuleGetFunction(Out(to), of, text(name));
        assert_eq!(get(&mut f, own, c"ad"), 500);
        assert_eq!(get(&mut f, Module(16), c"add"), 400);
        assert_eq!(api::cuModuleGetFunction(Out(&raw mut f), own, Str(0)), 1);
        assert_eq!(get(&mut f, own, c"add"), 0);
        let mut same = Func(0);
        assert_eq!((get(&mut same, own, c"add"), same), (0, f), "one handle");

        // Arguments one by one, and packed.
        let (by, seen) = (4u32, 0x1122_3344_5566_7788u64);
        let params: [*const c_void; 2] = [(&raw const by).cast(), (&raw const seen).cast()];
        assert_eq!(run(f, 2, 64, 0, at(&params), NOTHING), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        let total = global(own, c"total");
        assert_eq!(word(total) as u32, 3 + 128 * 14);
        assert_eq!(word(global(own, c"seen")), seen);
        assert_eq!(word(global(other, c"total")) as u32, 3, "each module has its own");
        let mut packed = [0u8; 16];
        packed[0] = 5;
        packed[8] = 9;
        let size = packed.len();
        let extra = [1, at(&packed).0, 2, at(&size).0, 0];
        assert_eq!(run(f, 1, 1, 0, NOTHING, at(&extra)), 0);
        let short = 12usize;
        let wrong = [1, at(&packed).0, 2, at(&short).0, 0];
        assert_eq!(run(f, 1, 1, 0, NOTHING, at(&wrong)), 1);
        let long = 24usize;
        let wrong = [1, at(&packed).0, 2, at(&long).0, 0];
        assert_eq!(run(f, 1, 1, 0, NOTHING, at(&wrong)), 701, "more than there are parameters");
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!((word(total) as u32, word(global(own, c"seen"))), (3 + 128 * 14 + 15, 9));

        // The launch calls from before CUDA 4.
        assert_eq!(api::cuFuncSetBlockShape(f, 2, 1, 1), 0);
        assert_eq!(api::cuParamSeti(f, 0, 6), 0);
        assert_eq!(api::cuParamSetv(f, 8, at(&seen), 8), 0);
        assert_eq!(api::cuParamSeti(f, -4, 6), 1);
        assert_eq!(api::cuLaunchGrid(f, 3, 1), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(word(total) as u32, 3 + 128 * 14 + 15 + 6 * 16);

        // Refused launches.
        let (good, both) = (at(&params), at(&extra));
        assert_eq!(run(f, 1, 65, 0, good, NOTHING), 1, "more threads than it allows");
        assert_eq!(run(f, 0, 1, 0, good, NOTHING), 1);
        assert_eq!(run(f, 1 << 31, 1, 0, good, NOTHING), 1);
        assert_eq!(run(f, 1, 1, 0, good, both), 1);
        assert_eq!(run(f, 1, 1, 0, NOTHING, NOTHING), 1);
        assert_eq!(run(f, 1, 1, 49_153, good, NOTHING), 1);
        assert_eq!(run(Func(0), 1, 1, 0, good, NOTHING), 400);
        let (mut exactly, mut broken, mut captured) = (Func(0), Graph(0), Stream(0));
        assert_eq!(get(&mut exactly, own, c"exactly"), 0);
        assert_eq!(run(exactly, 1, 64, 0, NOTHING, NOTHING), 1, "more than .reqntid");
        assert_eq!(run(exactly, 1, 16, 0, NOTHING, NOTHING), 1, "less than .reqntid");
        assert_eq!(run(exactly, 1, 32, 4000, NOTHING, NOTHING), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(word(global(own, c"seen")), 4000, "dynamic shared memory");
        // A refused launch invalidates the capture.
        assert_eq!(api::cuStreamCreate(Out(&raw mut captured), Flags(1)), 0);
        assert_eq!(api::cuStreamBeginCapture_v2(captured, 2), 0);
        let shape =
            |threads| api::cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, captured, good, NOTHING);
        assert_eq!((shape(1), shape(65)), (0, 1));
        assert_eq!(api::cuStreamEndCapture(captured, Out(&raw mut broken)), 901);
        let mut never = Func(0);
        assert_eq!(get(&mut never, own, c"never"), 0);
        assert_eq!(run(never, 1, 1, 0, NOTHING, NOTHING), 801, "an instruction that is not run");
        let many = 1 << 20;
        let stream = Stream(0);
        let cooperative = api::cuLaunchCooperativeKernel;
        assert_eq!(cooperative(f, many, 1, 1, 64, 1, 1, 0, stream, good), 720);
        assert_eq!(cooperative(f, 1, 1, 1, 1, 1, 1, 0, stream, good), 0);

        configured(f, total, good);
        described(f, own);

        damaged();
        assert_eq!(api::cuModuleUnload(own), 0);
        assert_eq!(run(f, 1, 1, 0, good, NOTHING), 400, "unloaded");
        assert_eq!(api::cuModuleUnload(other), 0);
    }
}

unsafe fn occupancy(f: Func, wide: Func) {
    let mut blocks = 0;
    let mut active = |f, threads, shared| {
        let to = Out(&raw mut blocks);
        let status =
            unsafe { api::cuOccupancyMaxActiveBlocksPerMultiprocessor(to, f, threads, shared) };
        (status, blocks)
    };
    assert_eq!(active(wide, 256, 0), (0, 8));
    assert_eq!(active(wide, 1, 0), (0, 32));
    assert_eq!(active(wide, 32, 50_000), (0, 3));
    assert_eq!(active(f, 65, 0), (0, 0));
    assert_eq!(active(wide, 32, 1 << 20), (0, 0));
    assert_eq!(active(wide, 0, 0), (1, 0));
    let (mut grid, mut block) = (0, 0);
    let mut potential = |shared_of: Ptr, limit| unsafe {
        let (g, b) = (Out(&raw mut grid), Out(&raw mut block));
        let status = api::cuOccupancyMaxPotentialBlockSize(g, b, wide, shared_of, 0, limit);
        (status, block)
    };
    type SharedOf = extern "C" fn(i32) -> usize;
    extern "C" fn kibibyte_a_thread(threads: i32) -> usize {
        threads as usize * 1024
    }
    assert_eq!(potential(NOTHING, 0), (0, 1024));
    assert_eq!(potential(NOTHING, 100), (0, 64), "of equals the largest that wastes nothing");
    assert_eq!(
        potential(Ptr((kibibyte_a_thread as SharedOf as *const ()).expose_provenance()), 0),
        (0, 128)
    );
    assert!(grid > 0);
    let mut free = 0;
    let mut available = |blocks| unsafe {
        let to = Out(&raw mut free);
        let status = api::cuOccupancyAvailableDynamicSMemPerBlock(to, wide, blocks, 128);
        (status, free)
    };
    assert_eq!(available(2), (0, 60_000), "no more than its attribute");
    assert_eq!(available(3), (0, ((164 << 10) / 3 - 4000) / 128 * 128));
    assert_eq!(available(17).0, 1);
}

unsafe fn libraries(image: Ptr) {
    let (mut library, mut kernel, mut module) = (Module(0), Func(0), Module(0));
    unsafe {
        let load = |to: &mut Module, code| {
            api::cuLibraryLoadData(Out(to), code, NOTHING, NOTHING, 0, NOTHING, NOTHING, 0)
        };
        let mut copy = PTX.to_owned().into_bytes_with_nul().into_boxed_slice();
        assert_eq!(load(&mut library, NOTHING), 1);
        assert_eq!(load(&mut library, Ptr(copy.as_ptr().expose_provenance())), 0);
        // The driver copied the image.
        copy.fill(0);
        let get =
            |to: &mut Func, name: &CStr| api::cuLibraryGetKernel(Out(to), library, text(name));
        assert_eq!(get(&mut kernel, c"third"), 500);
        assert_eq!(get(&mut kernel, c"add"), 0);
        let (by, seen) = (1u32, 2u64);
        let params: [*const c_void; 2] = [(&raw const by).cast(), (&raw const seen).cast()];
        assert_eq!(run(kernel, 1, 1, 0, at(&params), NOTHING), 0);
        let mut function = Func(0);
        assert_eq!(api::cuKernelGetFunction(Out(&raw mut function), kernel), 0);
        assert_ne!(function, kernel);
        let (mut context, mut o, mut b) = (Context(0), 7, 7);
        let mut info = || api::cuKernelGetParamInfo(kernel, 1, Out(&raw mut o), Out(&raw mut b));
        let with = (info(), api::cuCtxPopCurrent_v2(Out(&raw mut context)));
        assert_eq!((with, info(), api::cuCtxPushCurrent_v2(context)), ((0, 0), 201, 0));
        assert_eq!((o, b), (8, 8));
        assert_eq!(run(function, 1, 1, 0, at(&params), NOTHING), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(api::cuLibraryGetModule(Out(&raw mut module), library), 0);
        assert_eq!(word(global(module, c"total")) as u32, 3 + 22);
        let (mut address, mut size) = (NOTHING, 0);
        let mut variable = |name: &CStr| {
            let (a, s) = (Out(&raw mut address), Out(&raw mut size));
            (api::cuLibraryGetGlobal(a, s, library, text(name)), address, size)
        };
        assert_eq!(variable(c"total"), (0, global(module, c"total"), 4));
        assert_eq!(variable(c"nothing").0, 500);

        // An attribute set for a kernel applies to its functions.
        assert_eq!(api::cuKernelSetAttribute(8, 1000, kernel, Device(0)), 0);
        assert_eq!(attribute(function, 8), 1000);
        assert_eq!(api::cuKernelSetAttribute(8, 1000, kernel, Device(9)), 101);
        assert_eq!(api::cuKernelSetAttribute(8, 1000, function, Device(0)), 400);
        let mut count = 0;
        assert_eq!(api::cuLibraryGetKernelCount(Out(&raw mut count), library), 0);
        let kernels = [Func(0); 2];
        assert_eq!(api::cuLibraryEnumerateKernels(at(&kernels), 2, library), 0);
        assert_eq!((count, kernels[0]), (4, kernel));
        assert_ne!(kernels[1], Func(0));

        // A new context has its own copies of the variables.
        let mut second = Context(0);
        assert_eq!(api::cuCtxCreate_v2(Out(&raw mut second), Flags(0), Device(0)), 0);
        assert_eq!(run(kernel, 1, 1, 0, at(&params), NOTHING), 0);
        assert_eq!(run(function, 1, 1, 0, at(&params), NOTHING), 400, "of another context");
        assert_eq!(api::cuCtxSynchronize(), 0);
        let mut there = Module(0);
        assert_eq!(api::cuLibraryGetModule(Out(&raw mut there), library), 0);
        assert_eq!(word(global(there, c"total")) as u32, 3 + 11);
        assert_eq!(api::cuCtxDestroy_v2(second), 0);
        assert_eq!(run(kernel, 1, 1, 0, at(&params), NOTHING), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);

        assert_eq!(api::cuLibraryUnload(library), 0);
        assert_eq!(api::cuLibraryUnload(library), 400);
        assert_eq!(run(kernel, 1, 1, 0, at(&params), NOTHING), 400);

        // The driver does not copy the image if the program says that it stays valid.
        let (preserved, yes) = ([1i32], [1usize]);
        let (ids, values) = (at(&preserved), at(&yes));
        let to = Out(&raw mut library);
        assert_eq!(api::cuLibraryLoadData(to, image, NOTHING, NOTHING, 0, ids, values, 1), 0);
        assert_eq!(api::cuLibraryGetKernel(Out(&raw mut kernel), library, text(c"add")), 0);
        assert_eq!(api::cuLibraryUnload(library), 0);
    }
}

const CALLER: &CStr = c"
.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .u32 r) twice (.param .u32 a);
.extern .global .align 4 .u32 result;
.visible .entry compute (.param .u32 n) {
  .reg .u32 %n;
  ld.param.u32 %n, [n];
  { .param .u32 a; .param .u32 r;
    st.param.u32 [a], %n;
    call (r), twice, (a);
    ld.param.u32 %n, [r]; }
  st.global.u32 [result], %n;
  ret;
}
";
const CALLED: &CStr = c"
.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 result;
.visible .func (.param .u32 r) twice (.param .u32 a) {
  .reg .u32 %n; ld.param.u32 %n, [a]; add.u32 %n, %n, %n; st.param.u32 [r], %n; ret;
}
";

unsafe fn linking() {
    let (mut link, mut image, mut size) = (NOTHING, NOTHING, 0);
    unsafe {
        let add = |link, text: &CStr| {
            let (data, size) = (Ptr(text.as_ptr().expose_provenance()), text.count_bytes() + 1);
            api::cuLinkAddData_v2(link, 1, data, size, Str(0), 0, NOTHING, NOTHING)
        };
        let create = |to| api::cuLinkCreate_v2(0, NOTHING, NOTHING, to);
        assert_eq!(create(Out(std::ptr::null_mut())), 1);
        assert_eq!(create(Out(&raw mut link)), 0);
        assert_eq!(
            (add(link, CALLER), add(link, c"nonsense"), add(NOTHING, CALLER)),
            (0, 218, 400)
        );
        let complete = |link, image: &mut Ptr, size: &mut usize| {
            api::cuLinkComplete(link, Out(image), Out(size))
        };
        assert_eq!(complete(link, &mut image, &mut size), 218, "something is missing");
        assert_eq!((image, size), (NOTHING, 0));
        assert_eq!(add(link, CALLED), 0);
        assert_eq!(complete(link, &mut image, &mut size), 0);

        // The program's own copy outlives the link.
        let from: *const u8 = std::ptr::with_exposed_provenance(image.0);
        let copy = std::slice::from_raw_parts(from, size).to_vec();
        assert_eq!(api::cuLinkDestroy(link), 0);
        assert_eq!(api::cuLinkDestroy(link), 400);
        let (mut module, mut compute) = (Module(0), Func(0));
        let load = |module: &mut Module, image: &[u8]| {
            api::cuModuleLoadData(Out(module), Ptr(image.as_ptr().expose_provenance()))
        };
        assert_eq!(load(&mut module, &copy), 0);
        let name = text(c"compute");
        assert_eq!(api::cuModuleGetFunction(Out(&raw mut compute), module, name), 0);
        let n = 21u32;
        let params: [*const c_void; 1] = [(&raw const n).cast()];
        assert_eq!(run(compute, 1, 1, 0, at(&params), NOTHING), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        let mut value = 0u32;
        let result = global(module, c"result");
        assert_eq!(api::cuMemcpyDtoH_v2(Ptr((&raw mut value).expose_provenance()), result, 4), 0);
        assert_eq!(value, 42);
        assert_eq!(api::cuModuleUnload(module), 0);
        let mut damaged = copy;
        damaged.iter_mut().skip(16).take(1).for_each(|count| *count = 9);
        assert_eq!(load(&mut module, &damaged), 200);
    }
}

unsafe fn names() {
    let (mut function, how, mut name) = (7usize, 9i32, Str(7));
    unsafe {
        let mut ask = |symbol: &CStr, version, flags| {
            let (to, how) = (Ptr((&raw mut function).expose_provenance()), at(&how));
            let status = api::cuGetProcAddress_v2(text(symbol), to, version, Flags64(flags), how);
            (status, function != 0)
        };
        assert_eq!(ask(c"cuLaunchKernel", 12000, 0), (0, true));
        assert_eq!(ask(c"cuNoSuchThing", 12000, 0), (0, false));
        assert_eq!((&raw const how).read_volatile(), 1);
        assert_eq!(ask(c"cuInit", 12000, 9), (1, false));
        let to = Ptr((&raw mut function).expose_provenance());
        let ask = |symbol: &CStr| api::cuGetProcAddress(text(symbol), to, 11030, Flags64(0));
        assert_eq!((ask(c"cuNoSuchThing"), ask(c"cuCtxGetDevice")), (500, 0));
        let real = std::mem::transmute::<usize, unsafe extern "C" fn(*mut Device) -> i32>(
            to_address(&function),
        );
        let mut device = Device(7);
        assert_eq!((real(&raw mut device), device), (0, Device(0)));
        assert_eq!(api::cuGetErrorName(700, Out(&raw mut name)), 0);
        assert_eq!(CStr::from_ptr(name.0 as *const _), c"CUDA_ERROR_ILLEGAL_ADDRESS");
        assert_eq!(api::cuGetErrorString(700, Out(&raw mut name)), 0);
        let said = CStr::from_ptr(name.0 as *const _);
        assert_eq!(said, c"an illegal memory access was encountered");
        assert_eq!((api::cuGetErrorName(77, Out(&raw mut name)), name), (1, Str(0)));
        let mut table = NOTHING;
        assert_eq!(api::cuGetExportTable(Out(&raw mut table), at(&[0u8; 16])), 500);
        assert_eq!((api::cuProfilerStart(), api::cuProfilerStop()), (0, 0));
    }
}

fn to_address(place: &usize) -> usize {
    unsafe { (&raw const *place).read_volatile() }
}
