//! The names by which programs look for CUDA devices, on the CPU: libnvidia-ml.so.1 and nvidia-smi.

use std::path::Path;
use std::process::{Command, Output};

fn run(words: &[&str], devices: &str) -> Output {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(Path::new(cushim).with_file_name("libvcuda.so").exists(), "run `cargo build` first");
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "100", cushim, "run", "--backend", "cpu"]).args(words);
    command.env("CUSHIM_CPU_DEVICES", devices).output().unwrap()
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
nvml.nvmlErrorString.restype = ctypes.c_char_p
assert nvml.nvmlErrorString(3) == b'Not Supported' and nvml.nvmlShutdown() == 0
print('well')
";
    let done = run(&["python3", "-c", script], "1");
    assert_eq!(stdout(&done), "well\n", "{}", String::from_utf8_lossy(&done.stderr));
}
