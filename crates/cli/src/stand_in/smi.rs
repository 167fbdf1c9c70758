//! `nvidia-smi`: lists the program's devices, for scripts that ask this way.
//!
//! Owns: the queries that it supports (`-L`, `--query-gpu`, none) and the format of its output. It gets the data from
//! libnvidia-ml.so.1, which is cushim's under the launcher. Must not know: backends.

use std::ffi::{CStr, OsString, c_void};
use std::io::Write;
use std::process::ExitCode;

use super::words::{say, text};

/// nvidia-smi's exit status without a driver, and for unknown arguments.
const NO_DRIVER: u8 = 9;
const WRONG: u8 = 2;

/// The NVML functions used here.
struct Nvml(*mut c_void);

impl Nvml {
    fn open() -> Option<Self> {
        // SAFETY: a library without constructors of its own, or NVIDIA's.
        let library = unsafe { libc::dlopen(c"libnvidia-ml.so.1".as_ptr(), libc::RTLD_NOW) };
        let nvml = (!library.is_null()).then_some(Nvml(library))?;
        (nvml.call(c"nvmlInit_v2", 0, 0, 0)? == 0).then_some(nvml)
    }

    /// Calls a function of at most three words; `None` where there is none of that name.
    fn call(&self, name: &CStr, a: usize, b: usize, c: usize) -> Option<i32> {
        // SAFETY: an open library.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if address.is_null() {
            return None;
        }
        // SAFETY: functions of NVML take words and answer an int (nvml.h); each caller here passes what its function takes.
        unsafe {
            let function: unsafe extern "C" fn(usize, usize, usize) -> i32 =
                std::mem::transmute(address);
            Some(function(a, b, c))
        }
    }

    /// A text of a device; `[N/A]` where there is none.
    fn text(&self, name: &CStr, device: usize) -> String {
        let mut bytes = [0u8; 96];
        let done = self.call(name, device, bytes.as_mut_ptr().expose_provenance(), bytes.len());
        until_nul(done == Some(0), &bytes)
    }

    /// A text of the driver's.
    fn driver(&self) -> String {
        let mut bytes = [0u8; 96];
        let to = bytes.as_mut_ptr().expose_provenance();
        let done = self.call(c"nvmlSystemGetDriverVersion", to, bytes.len(), 0);
        until_nul(done == Some(0), &bytes)
    }

    fn cuda(&self) -> String {
        let mut version = 0i32;
        let to = (&raw mut version).expose_provenance();
        match self.call(c"nvmlSystemGetCudaDriverVersion_v2", to, 0, 0) {
            Some(0) => format!("{}.{}", version / 1000, version % 1000 / 10),
            _ => NOTHING.to_owned(),
        }
    }

    fn devices(&self) -> Vec<usize> {
        let mut count = 0u32;
        self.call(c"nvmlDeviceGetCount_v2", (&raw mut count).expose_provenance(), 0, 0);
        let handle = |number: u32| {
            let mut handle = 0usize;
            let to = (&raw mut handle).expose_provenance();
            self.call(c"nvmlDeviceGetHandleByIndex_v2", number as usize, to, 0);
            handle
        };
        (0..count).map(handle).collect()
    }

    /// Total, free, used, in MiB.
    fn memory(&self, device: usize) -> [u64; 3] {
        let mut bytes = [0u64; 3];
        let to = bytes.as_mut_ptr().expose_provenance();
        self.call(c"nvmlDeviceGetMemoryInfo", device, to, 0);
        bytes.map(|bytes| bytes >> 20)
    }

    /// A field of `--query-gpu`, and its unit.
    fn field(&self, number: usize, device: usize, field: &str) -> (String, &'static str) {
        let memory = |which: usize| (self.memory(device)[which].to_string(), " MiB");
        match field {
            "index" => (number.to_string(), ""),
            "count" => (self.devices().len().to_string(), ""),
            "name" | "gpu_name" => (self.text(c"nvmlDeviceGetName", device), ""),
            "uuid" | "gpu_uuid" => (self.text(c"nvmlDeviceGetUUID", device), ""),
            "driver_version" => (self.driver(), ""),
            "memory.total" => memory(0),
            "memory.free" => memory(1),
            "memory.used" => memory(2),
            "utilization.gpu" | "utilization.memory" => ("0".to_owned(), " %"),
            "compute_cap" => (self.capability(device), ""),
            _ => (NOTHING.to_owned(), ""),
        }
    }

    fn capability(&self, device: usize) -> String {
        let mut numbers = [0i32; 2];
        let [major, minor] = &mut numbers;
        let (major, minor) =
            ((&raw mut *major).expose_provenance(), (&raw mut *minor).expose_provenance());
        match self.call(c"nvmlDeviceGetCudaComputeCapability", device, major, minor) {
            Some(0) => format!("{}.{}", numbers[0], numbers[1]),
            _ => NOTHING.to_owned(),
        }
    }
}

const NOTHING: &str = "[N/A]";

fn until_nul(done: bool, bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).ok().filter(|_| done);
    text.map_or(NOTHING.to_owned(), |text| text.to_string_lossy().into_owned())
}

/// Does what the command line says.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let words: Vec<String> = arguments.iter().map(|word| text(word)).collect();
    let Some(nvml) = Nvml::open() else {
        say("nvidia-smi: there is no libnvidia-ml.so.1, or no driver behind it\n");
        return ExitCode::from(NO_DRIVER);
    };
    match answer(&nvml, &words) {
        Ok(text) => {
            // A closed output is no error: the reader has read enough.
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(why) => {
            say(&format!(
                "nvidia-smi: {why}; cushim's stand-in has -L, --query-gpu=FIELD,… --format=csv[,noheader][,nounits]\n"
            ));
            ExitCode::from(WRONG)
        }
    }
}

fn answer(nvml: &Nvml, words: &[String]) -> Result<String, String> {
    let (mut list, mut query, mut format, mut only) = (false, None, String::new(), None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v.to_owned())));
        let mut value = || {
            value.clone().or_else(|| words.next().cloned()).ok_or(format!("{name} wants a value"))
        };
        match name {
            "-L" | "--list-gpus" => list = true,
            "--query-gpu" => query = Some(value()?),
            "--format" => format = value()?,
            "-i" | "--id" => only = Some(value()?),
            _ => return Err(format!("unknown option '{word}'")),
        }
    }
    let devices = nvml.devices().into_iter().enumerate();
    let uuid = |device| nvml.text(c"nvmlDeviceGetUUID", device);
    let devices: Vec<_> = devices
        .filter(|(number, device)| {
            only.as_ref().is_none_or(|o| *o == number.to_string() || *o == uuid(*device))
        })
        .collect();
    if list {
        let line = |(number, device): &(usize, usize)| {
            format!(
                "GPU {number}: {} (UUID: {})\n",
                nvml.text(c"nvmlDeviceGetName", *device),
                uuid(*device)
            )
        };
        return Ok(devices.iter().map(line).collect());
    }
    let Some(query) = query else { return Ok(overview(nvml, &devices)) };
    let fields: Vec<&str> = query.split(',').map(str::trim).collect();
    let has = |word: &str| format.split(',').any(|part| part.trim() == word);
    if !has("csv") {
        return Err("--query-gpu wants --format=csv".to_owned());
    }
    let mut text = String::new();
    if !has("noheader") {
        let unit = |field: &&str| {
            let (_, unit) = nvml.field(0, 0, field);
            if unit.is_empty() { (*field).to_owned() } else { format!("{field} [{}]", unit.trim()) }
        };
        text += &(fields.iter().map(unit).collect::<Vec<_>>().join(", ") + "\n");
    }
    for (number, device) in &devices {
        let one = |field: &&str| {
            let (value, unit) = nvml.field(*number, *device, field);
            if has("nounits") { value } else { value + unit }
        };
        text += &(fields.iter().map(one).collect::<Vec<_>>().join(", ") + "\n");
    }
    Ok(text)
}

/// What it prints without options: a line for the driver, and one for each device.
fn overview(nvml: &Nvml, devices: &[(usize, usize)]) -> String {
    let mut text = format!(
        "NVIDIA-SMI (cushim {})   Driver Version: {}   CUDA Version: {}\n",
        env!("CARGO_PKG_VERSION"),
        nvml.driver(),
        nvml.cuda()
    );
    for (number, device) in devices {
        let [total, _, used] = nvml.memory(*device);
        let name = nvml.text(c"nvmlDeviceGetName", *device);
        text += &format!("{number:>4}  {name}  {used}MiB / {total}MiB  0%\n");
    }
    text
}
