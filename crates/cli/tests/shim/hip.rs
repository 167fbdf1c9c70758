//! AMD's HIP: programs that call libamdhip64 in every hooked form, with a test-only libamdhip64
//! (`c-tests/hip/stub.c`), without and with the shim. The stub must see the same, and the trace must hold each call.

use std::path::{Path, PathBuf};
use std::process::Command;

use cushim_trace::event::Body;
use cushim_trace::layout::*;
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;

use crate::compare::behaves;
use crate::headers::toolkit;
use crate::lab::{How, Lab, Ran, root};

/// The folder with the test-only libamdhip64.
fn stub(lab: &Lab) -> PathBuf {
    let map = format!("-Wl,--version-script,{}", root().join("c-tests/hip/stub.map").display());
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libamdhip64.so.5", &map, "-ldl"];
    lab.build("libamdhip64.so.5", "../hip/stub.c", &flags);
    lab.path("")
}

fn program(lab: &Lab, folder: &Path) -> PathBuf {
    let from = format!("-L{}", folder.display());
    lab.build("forms", "../hip/forms.c", &[&from, "-l:libamdhip64.so.5", "-ldl"])
}

fn how(folder: &Path) -> How {
    How::shim().with("LD_LIBRARY_PATH", folder.to_str().unwrap())
}

fn shape(shape: [u32; 3]) -> String {
    shape.map(|n| n.to_string()).join(",")
}

/// An event as a line.
fn line(meta: &Metadata, api: u16, body: &Body<'_>, status: Option<i32>) -> String {
    let name = &meta.apis[&api].name;
    let status = status.unwrap();
    match body {
        Body::Launch(launch) => {
            let kernel = &meta.kernels[&launch.kernel];
            let kernel = if kernel.mangled.is_empty() { "?" } else { &kernel.mangled };
            let cooperative = launch.flags & LAUNCH_COOPERATIVE != 0;
            let cooperative = if cooperative { " cooperative" } else { "" };
            let (grid, block) = (shape(launch.grid), shape(launch.block));
            format!(
                "{name} {kernel} <{grid} | {block} | {}>{cooperative} = {status}",
                launch.shared
            )
        }
        _ => format!("{name} = {status}"),
    }
}

/// All events of a run.
fn lines(ran: &Ran) -> Vec<String> {
    let [trace] = &ran.traces[..] else { panic!("{} traces", ran.traces.len()) };
    assert!(trace.is_whole(), "{:?}", trace.lost);
    let mut file = TraceFile::open(&trace.path).unwrap();
    let mut all = Vec::new();
    file.poll(true, &mut |meta, event| {
        all.push(line(meta, event.api, &event.body, event.status));
    })
    .unwrap();
    all
}

#[test]
fn every_form_of_every_call() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let program = program(&lab, &folder);
    let ran = behaves(&lab, &program, &["forms"], &how(&folder));
    assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
    let (a, b) = ("_Z1aPi <8,2,1 | 64,2,1", "add <8,2,1 | 64,2,1");
    let expected = [
        "__hipRegisterFatBinary = 0".to_owned(),
        "__hipRegisterFunction = 0".to_owned(),
        "__hipRegisterFunction = 0".to_owned(),
        "__hipRegisterVar = 0".to_owned(),
        "__hipRegisterManagedVar = 0".to_owned(),
        "hipStreamCreate = 0".to_owned(),
        format!("hipLaunchKernel {a} | 16> = 0"),
        "hipLaunchKernel _Z1aPi <0,1,1 | 64,2,1 | 0> = 9".to_owned(),
        format!("hipLaunchKernel_spt {b} | 17> = 0"),
        format!("hipExtLaunchKernel {a} | 18> = 0"),
        format!("hipLaunchCooperativeKernel {b} | 19> cooperative = 0"),
        format!("hipLaunchCooperativeKernelMultiDevice {a} | 20> cooperative = 0"),
        "hipLaunchCooperativeKernelMultiDevice add <64,2,1 | 8,2,1 | 21> cooperative = 0"
            .to_owned(),
        format!("hipExtLaunchMultiKernelMultiDevice {a} | 20> = 0"),
        "hipModuleLoadData = 0".to_owned(),
        "hipModuleGetFunction = 0".to_owned(),
        "hipModuleLaunchKernel _Z1bi <4,3,2 | 32,2,1 | 22> = 0".to_owned(),
        "hipModuleLaunchKernel _Z1bi <5,1,1 | 64,1,1 | 0> = 0".to_owned(),
        "hipExtModuleLaunchKernel _Z1bi <4,1,1 | 64,1,1 | 23> = 0".to_owned(),
        "hipHccModuleLaunchKernel _Z1bi <7,1,1 | 100,1,1 | 24> = 0".to_owned(),
        "hipExtModuleLaunchKernel _Z1bi <2,1,1 | 32,1,1 | 25> = 0".to_owned(),
        format!("hipLaunchKernelExC {a} | 40> cooperative = 0"),
        "hipLaunchKernelExC add <0,0,0 | 0,0,0 | 0> = 1".to_owned(),
        "hipDrvLaunchKernelEx _Z1bi <64,2,1 | 8,2,1 | 41> = 0".to_owned(),
        "hipDrvLaunchKernelEx _Z1bi <64,2,1 | 8,2,1 | 41> = 0".to_owned(),
        "hipModuleLaunchCooperativeKernelMultiDevice _Z1bi <8,2,1 | 64,2,1 | 42> cooperative = 0"
            .to_owned(),
        "hipModuleLaunchCooperativeKernelMultiDevice _Z1bi <64,2,1 | 8,2,1 | 43> cooperative = 0"
            .to_owned(),
        "hipModuleUnload = 0".to_owned(),
        "hipGraphCreate = 0".to_owned(),
        format!("hipGraphAddKernelNode {a} | 50> = 0"),
        "hipGraphAddKernelNode = 1".to_owned(),
        format!("hipGraphKernelNodeSetParams {a} | 50> = 0"),
        "hipGraphAddNode add <64,2,1 | 8,2,1 | 51> = 0".to_owned(),
        "hipGraphNodeSetParams add <64,2,1 | 8,2,1 | 51> = 0".to_owned(),
        "hipGraphInstantiate = 0".to_owned(),
        format!("hipGraphExecKernelNodeSetParams {a} | 52> = 0"),
        "hipGraphExecNodeSetParams add <64,2,1 | 8,2,1 | 51> = 0".to_owned(),
        "hipGraphAddNode = 0".to_owned(),
        "hipGraphLaunch = 0".to_owned(),
        "hipGraphExecDestroy = 0".to_owned(),
        "hipGraphDestroy = 0".to_owned(),
        "hipLibraryLoadData = 0".to_owned(),
        "hipLibraryGetKernel = 0".to_owned(),
        "hipModuleLaunchKernel _Z1ci <6,1,1 | 32,1,1 | 0> = 0".to_owned(),
        "hipLibraryUnload = 0".to_owned(),
        "hipModuleLoadFatBinary = 0".to_owned(),
        "hipModuleUnload = 0".to_owned(),
        "hipMalloc = 0".to_owned(),
        "hipMemcpy = 0".to_owned(),
        "hipMemcpy = 1".to_owned(),
        "hipMemcpyAsync = 0".to_owned(),
        "hipMemset = 0".to_owned(),
        "hipMemset3D = 0".to_owned(),
        "hipFree = 0".to_owned(),
        format!("hipLaunchKernel {a} | 30> = 0"),
        format!("hipLaunchKernel_spt {a} | 31> = 0"),
        format!("hipLaunchKernel {a} | 32> = 0"),
        "hipStreamSynchronize = 0".to_owned(),
        "__hipUnregisterFatBinary = 0".to_owned(),
    ];
    assert_eq!(lines(&ran), expected);
}

/// The trace of a program with many launches has each of them, and its registration.
#[test]
fn many_launches() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let program = program(&lab, &folder);
    let quiet = how(&folder).with("STUB_QUIET", "1").with("CUSHIM_EVENTS", "launch");
    let ran = lab.run(&program, &["many", "20000"], &quiet);
    assert_eq!((ran.end.as_str(), lines(&ran).len()), ("exit 0", 20000));
    let none = how(&folder).with("STUB_QUIET", "1").with("CUSHIM_DISABLE", "1");
    let ran = lab.run(&program, &["many", "10"], &none);
    assert_eq!((ran.end.as_str(), ran.traces.len()), ("exit 0", 0));
}

/// Kernel arguments in a bundle, by the metadata of its code objects: once registered, and once loaded as a module whose
/// image the program then frees.
#[test]
fn arguments_by_the_bundle() {
    let lab = Lab::new();
    let folder = stub(&lab);
    let Some(clang) = toolkit("clang-19") else { return };
    let program = program(&lab, &folder);
    let (source, bundle) = (lab.path("add.hip"), lab.path("add.hipfb"));
    std::fs::write(&source, ADD).unwrap();
    let mut command = Command::new(clang.join("bin/clang++"));
    command.args(["-x", "hip", "--offload-device-only", "-nogpuinc", "-nogpulib", "-O1"]);
    command.args(["--offload-arch=gfx90a", "--offload-arch=gfx1030", "-mcode-object-version=4"]);
    let done = command.arg(&source).arg("-o").arg(&bundle).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let ran = behaves(&lab, &program, &["bundle", bundle.to_str().unwrap()], &how(&folder));
    assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
    let metadata = &ran.traces[0].metadata;
    let params = Ok(vec![(0, 8), (8, 8), (16, 8), (24, 4)]);
    let kernels: Vec<_> = metadata.kernels.values().filter(|k| k.mangled == "add").collect();
    assert_eq!(kernels.len(), 2, "by the stub, and of the module");
    assert!(kernels.iter().all(|k| k.params == params), "{kernels:?}");
    let size = std::fs::metadata(&bundle).unwrap().len();
    let images: Vec<_> = metadata.images.iter().map(|i| (&*i.kind, i.size)).collect();
    assert_eq!(images, [("bundle", size); 2]);
}

const ADD: &str = r#"
extern "C" __attribute__((global)) void add(const float *a, const float *b, float *c, int n) {
    int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    if (i < n) c[i] = a[i] + b[i];
}
"#;
