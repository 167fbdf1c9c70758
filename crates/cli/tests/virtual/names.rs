//! The names by which programs look for CUDA devices, on the CPU: libnvidia-ml.so.1 and nvidia-smi.

use std::path::Path;
use std::process::{Command, Output};

fn command(words: &[&str], devices: &str) -> Command {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(Path::new(cushim).with_file_name("libvcuda.so").exists(), "run `cargo build` first");
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "100", cushim, "run", "--backend", "cpu"]).args(words);
    command.env("CUSHIM_CPU_DEVICES", devices);
    command
}

fn run(words: &[&str], devices: &str) -> Output {
    command(words, devices).output().unwrap()
}

fn stdout(done: &Output) -> String {
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn nvidia_smi_lists_the_devices() {
    let list = stdout(&run(&["nvidia-smi", "-L"], "2"));
    let lines: Vec<&str> = list.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].starts_with("GPU 0: ") && lines[1].starts_with("GPU 1: "),
        "{list}"
    );
    let identifier = |line: &str| line.split_once("(UUID: GPU-").unwrap().1.to_owned();
    assert_eq!(identifier(lines[0]).len(), "01234567-0123-0123-0123-0123456789ab)".len());
    assert_ne!(identifier(lines[0]), identifier(lines[1]));

    let query = "--query-gpu=index,compute_cap,utilization.gpu,fan.speed";
    let done = run(&["nvidia-smi", query, "--format=csv,noheader"], "2");
    assert_eq!(stdout(&done), "0, 8.0, 0 %, [N/A]\n1, 8.0, 0 %, [N/A]\n");
    let done = run(&["nvidia-smi", "-i", "1", query, "--format=csv,nounits"], "2");
    let head = "index, compute_cap, utilization.gpu [%], fan.speed";
    assert_eq!(stdout(&done), format!("{head}\n1, 8.0, 0, [N/A]\n"));
    assert!(stdout(&run(&["nvidia-smi"], "1")).contains("CUDA Version: 13.5"));
    assert_eq!(run(&["nvidia-smi", "--reset"], "1").status.code(), Some(2));
}

/// A program with the calls of an NVML binding: counts, memory, and values that a CPU does not have.
#[test]
fn nvml_says_what_the_driver_says() {
    let script = "
import ctypes
nvml = ctypes.CDLL('libnvidia-ml.so.1')
assert nvml.nvmlInit_v2() == 0
device, number = ctypes.c_void_p(), ctypes.c_uint(7)
assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(number)) == 0 and number.value == 1
assert nvml.nvmlDeviceGetCount_v2(None) == 2
assert nvml.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(device)) == 2 and not device.value
assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
name, small = ctypes.create_string_buffer(96), ctypes.create_string_buffer(4)
assert nvml.nvmlDeviceGetName(device, name, 96) == 0 and name.value
assert nvml.nvmlDeviceGetUUID(device, small, 4) == 7 and not small.value
assert nvml.nvmlDeviceGetUUID(device, name, 96) == 0
same = ctypes.c_void_p()
assert nvml.nvmlDeviceGetHandleByUUID(name, ctypes.byref(same)) == 0 and same.value == device.value
same.value = None
assert nvml.nvmlDeviceGetHandleByUUID(name[4:], ctypes.byref(same)) == 0 and same.value == device.value
assert nvml.nvmlDeviceGetHandleByUUID(name[5:], ctypes.byref(same)) == 6
memory = (ctypes.c_uint64 * 3)()
assert nvml.nvmlDeviceGetMemoryInfo(device, memory) == 0
cuda, total = ctypes.CDLL('libcuda.so.1'), ctypes.c_size_t()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceTotalMem_v2(ctypes.byref(total), 0) == 0
assert memory[0] == total.value == memory[1] + memory[2]
number.value = 7
assert nvml.nvmlDeviceGetTemperature(device, 0, ctypes.byref(number)) == 3 and number.value == 7
assert nvml.nvmlDeviceGetTemperature(ctypes.c_void_p(99), 0, ctypes.byref(number)) == 2
assert nvml.nvmlDeviceGetTemperatureThreshold(device, 0, ctypes.byref(number)) == 3 and number.value == 7
assert nvml.nvmlDeviceGetComputeMode(device, ctypes.byref(number)) == 0 and number.value == 0
pci = (ctypes.c_uint8 * 68)()
assert nvml.nvmlDeviceGetPciInfo_v3(device, pci) == 0
bus = bytes(pci[36:]).rstrip(b'\\0')
for text in bus, bus[4:], bus[9:], bus.upper():
    same.value = None
    assert nvml.nvmlDeviceGetHandleByPciBusId_v2(text, ctypes.byref(same)) == 0 and same.value == device.value, text
for text, result in (b'0000:ff:00.0', 6), (b'nowhere', 2), (b'0:0:0:0:0', 2), (None, 2):
    assert nvml.nvmlDeviceGetHandleByPciBusId_v2(text, ctypes.byref(same)) == result, text
old = (ctypes.c_uint32 * 10)(*[9] * 10)
assert nvml.nvmlDeviceGetPciInfo(device, old) == 0 and bytes(old)[:28] == bytes(pci)[:28] and list(old)[8:] == [9, 9]
major, minor = ctypes.c_int(), ctypes.c_int()
assert nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor)) == 0
architectures = {(8, 0): 7, (9, 0): 9, (10, 0): 10, (12, 0): 10}
assert nvml.nvmlDeviceGetArchitecture(device, ctypes.byref(number)) == 0
assert number.value == architectures[major.value, minor.value]
import os, sys
assert nvml.nvmlSystemGetProcessName(os.getpid(), name, 4) == 7
own = ctypes.create_string_buffer(4096)
assert nvml.nvmlSystemGetProcessName(os.getpid(), own, 4096) == 0 and own.value.decode() == os.path.realpath(sys.executable)
assert nvml.nvmlUnitGetCount(ctypes.byref(number)) == 0 and number.value == 0
assert nvml.nvmlEventSetCreate(ctypes.byref(same)) == 3
nvml.nvmlErrorString.restype = ctypes.c_char_p
assert nvml.nvmlErrorString(15) == b'GPU is lost' and nvml.nvmlErrorString(-1) == nvml.nvmlErrorString(31) == b'Unknown Error'
assert nvml.nvmlErrorString(3) == b'Not Supported' and nvml.nvmlShutdown() == 0
print('well')
";
    let done = run(&["python3", "-c", script], "1");
    assert_eq!(stdout(&done), "well\n", "{}", String::from_utf8_lossy(&done.stderr));
}

/// Some programs look for libcuda in the folders of LD_LIBRARY_PATH before they open it. It must be
/// the one that is loaded already, also for a program that has a folder of its own there.
#[test]
fn libraries_are_files_in_a_folder_of_the_loaders_path() {
    let script = "
import ctypes, os
folders = os.environ['LD_LIBRARY_PATH'].split(':')
assert folders[0] == '/nowhere/at/all', folders
for name, function in ('libcuda.so.1', 'cuInit'), ('libcuda.so', 'cuInit'), ('libnvidia-ml.so.1', 'nvmlInit_v2'), ('libnvidia-ml.so', 'nvmlInit_v2'):
    [path] = [os.path.join(folder, name) for folder in folders if os.path.exists(os.path.join(folder, name))]
    here, there = ctypes.CDLL(path), ctypes.CDLL(name)
    address = lambda library: ctypes.cast(getattr(library, function), ctypes.c_void_p).value
    assert here._handle == there._handle and address(here) == address(there), name
    assert here[function](0) == 0
print('well')
";
    let mut command = command(&["python3", "-c", script], "1");
    let done = command.env("LD_LIBRARY_PATH", "/nowhere/at/all").output().unwrap();
    assert_eq!(stdout(&done), "well\n", "{}", String::from_utf8_lossy(&done.stderr));
}

/// Some programs have a compiler link what they have written with libcuda, as if a driver were installed.
#[test]
fn a_compiler_in_the_program_links_with_libcuda() {
    let dir = tempfile::tempdir().unwrap();
    let source = "int cuInit(unsigned); int cuDeviceGetCount(int *);\n\
                  int main(void) { int n = -1; return cuInit(0) || cuDeviceGetCount(&n) ? 99 : n; }\n";
    std::fs::write(dir.path().join("count.c"), source).unwrap();
    let script = "cc -o count count.c -lcuda && { ./count; echo $?; }; cc -shared -fPIC -o count.so count.c -lcuda && \
                  echo ${LIBRARY_PATH%%:*}";
    let mut command = command(&["sh", "-c", script], "3");
    let done =
        command.current_dir(dir.path()).env("LIBRARY_PATH", "/nowhere/at/all").output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(stdout(&done), "3\n/nowhere/at/all\n", "{said}");
}
