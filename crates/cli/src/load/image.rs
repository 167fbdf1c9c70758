//! How a program's image says that it starts and ends.
//!
//! Owns: which images are programs, the kernels that start them, and the order of constructors. Must not know: the
//! driver. Names are LLVM's: its start code for GPUs, and its pass NVPTXCtorDtorLowering.

use cushim_image::{Cubin, Format, Limits, ParamLayout, amdgpu, find_params, ptx, sniff};

/// The accepted forms.
pub const EXPECTED: &str = "PTX, a cubin or a code object for AMD's GPUs, with a kernel _start";

/// The form of its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// PTX, for every backend.
    Text,
    /// Machine code for NVIDIA's GPUs.
    Cubin,
    /// Machine code for AMD's GPUs.
    CodeObject,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The form of its code.
    pub form: Form,
    /// How many lanes run together: 32, or 64 in waves of AMD's GPUs that were compiled so.
    pub lanes: u32,
    /// The kernel that runs constructors: `_begin`, or the compiler's.
    pub begin: Option<&'static str>,
    /// The kernel that runs destructors.
    pub end: Option<&'static str>,
    /// How many parameters [`Image::end`] has: 0 or 1.
    pub end_params: usize,
    /// Variables with the addresses of constructors, in the order in which they are called.
    pub constructors: Vec<String>,
    /// Variables with the addresses of destructors, in the order of the table that the program goes through.
    pub destructors: Vec<String>,
}

/// `int argc, char **argv, char **envp`.
const BEGIN: &[u32] = &[4, 8, 8];
/// With `int *status`.
const START: &[u32] = &[4, 8, 8, 8];

impl Image {
    /// Reads an image that a driver is about to load.
    ///
    /// # Errors
    /// What was found, where it is no program that can be run.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let limits = Limits::DEFAULT;
        let (form, names) = match sniff(bytes) {
            Format::Ptx => (Form::Text, ptx_names(bytes, &limits)?),
            Format::Cubin => (Form::Cubin, cubin_names(bytes, &limits)?),
            // LLVM's linker makes the tables of constructors of these.
            Format::AmdgpuElf => (Form::CodeObject, Vec::new()),
            Format::Unknown => return Err("a file of no known format".to_owned()),
            other @ (Format::Fatbin | Format::OffloadBinary | Format::Bundle | Format::Elf) => {
                return Err(format!("{other}; `cushim extract` writes the images in it to files"));
            }
            other => return Err(other.to_string()),
        };
        let code = match form {
            Form::CodeObject => Some(amdgpu::read(bytes, &limits).map_err(|e| e.to_string())?),
            Form::Text | Form::Cubin => None,
        };
        let described = |kernel: &str| {
            let kernels = code.iter().flat_map(|code| &code.kernels);
            kernels.map(|found| &found.kernel).find(|found| found.name == kernel)
        };
        let params = |kernel: &str| match form {
            Form::CodeObject => Ok(described(kernel).map(|found| sizes(&found.params))),
            Form::Text | Form::Cubin => find_params(bytes, kernel, &limits)
                .map_err(|e| e.to_string())
                .map(|found| found.as_ref().map(sizes)),
        };
        match params("_start")? {
            None => return Err("an image without a kernel _start".to_owned()),
            Some(sizes) => expect("_start", &sizes, &[START])?,
        }
        let (mut begin, mut end, mut end_params) = (None, None, 0);
        for (kernels, place) in [(BEGINS, &mut begin), (ENDS, &mut end)] {
            for (kernel, expected) in kernels {
                let Some(sizes) = params(kernel)? else { continue };
                expect(kernel, &sizes, expected)?;
                if kernel == "_end" {
                    end_params = sizes.len();
                }
                *place = Some(kernel);
                break;
            }
        }
        let constructors = ordered(&names, "__init_array_object_")?;
        let mut destructors = ordered(&names, "__fini_array_object_")?;
        if end.is_none() {
            // Start code that runs destructors itself goes through the table forwards; the kernels go backwards.
            destructors.reverse();
        }
        let lanes = described("_start").and_then(|start| start.wavefront).unwrap_or(32);
        Ok(Image { form, lanes, begin, end, end_params, constructors, destructors })
    }
}

/// Kernels, and the sizes of parameters that each may have.
type Kernels = [(&'static str, &'static [&'static [u32]]); 3];
/// The first of these in the image runs constructors: start code's, or the compiler's.
const BEGINS: Kernels =
    [("_begin", &[BEGIN]), ("nvptx$device$init", &[&[]]), ("amdgcn.device.init", &[&[]])];
/// Destructors. LLVM's start code once took the exit status.
const ENDS: Kernels =
    [("_end", &[&[], &[4]]), ("nvptx$device$fini", &[&[]]), ("amdgcn.device.fini", &[&[]])];

fn sizes(layout: &ParamLayout) -> Vec<u32> {
    layout.params.iter().map(|param| param.size).collect()
}

fn expect(kernel: &str, found: &[u32], expected: &[&[u32]]) -> Result<(), String> {
    if expected.contains(&found) {
        return Ok(());
    }
    let old = match found.len() {
        7 => ", as LLVM 16 and before had it",
        _ => "",
    };
    Err(format!(
        "a kernel {kernel} with parameters of {found:?} bytes{old}; expected {}",
        expected.iter().map(|sizes| format!("{sizes:?}")).collect::<Vec<_>>().join(" or ")
    ))
}

fn ptx_names(bytes: &[u8], limits: &Limits) -> Result<Vec<String>, String> {
    let text = ptx::scan(bytes, limits).map_err(|e| e.to_string())?;
    Ok(text.globals.into_iter().map(|variable| variable.name).collect())
}

fn cubin_names(bytes: &[u8], limits: &Limits) -> Result<Vec<String>, String> {
    let cubin = Cubin::read(bytes, limits).map_err(|e| e.to_string())?;
    let globals = cubin.globals(limits).map_err(|e| e.to_string())?;
    Ok(globals.into_iter().map(|variable| variable.name).collect())
}

/// Names with this prefix, by the priority at their end, the smallest first. Equal priorities keep
/// the image's order.
fn ordered(names: &[String], prefix: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for name in names.iter().filter(|name| name.starts_with(prefix)) {
        let priority = name.rsplit('_').next().and_then(|number| number.parse::<u16>().ok());
        let priority = priority.ok_or_else(|| {
            format!("the variable {name}, which has no priority from 0 to 65535 at its end")
        })?;
        found.push((priority, name.clone()));
    }
    found.sort_by_key(|(priority, _)| *priority);
    Ok(found.into_iter().map(|(_, name)| name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";
    const START: &str = ".visible .entry _start(.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d) { ret; }\n";

    fn read(text: &str) -> Result<Image, String> {
        Image::read(format!("{HEAD}{text}").as_bytes())
    }

    #[test]
    fn layouts() {
        let alone = read(START).unwrap();
        assert_eq!((alone.begin, alone.end, alone.form), (None, None, Form::Text));
        let compilers = ".weak .entry nvptx$device$init() { ret; }\n.weak .entry nvptx$device$fini() { ret; }\n";
        let found = read(&format!("{START}{compilers}")).unwrap();
        assert_eq!(
            (found.begin, found.end),
            (Some("nvptx$device$init"), Some("nvptx$device$fini"))
        );
        let own = ".entry _begin(.param .u32 a, .param .u64 b, .param .u64 c) { ret; }\n.entry _end(.param .u32 a) { ret; }\n";
        let found = read(&format!("{START}{own}{compilers}")).unwrap();
        assert_eq!((found.begin, found.end, found.end_params), (Some("_begin"), Some("_end"), 1));
    }

    #[test]
    fn constructors_by_priority() {
        let tables: String = [
            "init_array_object_b_1f_300",
            "init_array_object_a_1f_101",
            "fini_array_object_c_1f_5",
            "fini_array_object_d_1f_65535",
        ]
        .map(|name| format!(".visible .const .align 8 .u64 __{name} = 0;\n"))
        .concat();
        let found = read(&format!("{tables}{START}")).unwrap();
        assert_eq!(
            found.constructors,
            ["__init_array_object_a_1f_101", "__init_array_object_b_1f_300"]
        );
        assert_eq!(
            found.destructors,
            ["__fini_array_object_d_1f_65535", "__fini_array_object_c_1f_5"]
        );
        let end = ".entry _end() { ret; }\n";
        let found = read(&format!("{tables}{START}{end}")).unwrap();
        assert_eq!(
            found.destructors,
            ["__fini_array_object_c_1f_5", "__fini_array_object_d_1f_65535"]
        );
        let wrong = ".visible .const .align 8 .u64 __init_array_object_x = 0;\n";
        assert!(read(&format!("{wrong}{START}")).unwrap_err().contains("no priority"));
    }

    #[test]
    fn what_is_no_program_says_why() {
        assert!(read("").unwrap_err().contains("without a kernel _start"));
        let old = START.replace("c,", "c, .param .u64 e, .param .u64 f, .param .u64 g,");
        assert!(read(&old).unwrap_err().contains("LLVM 16"));
        assert!(Image::read(b"#!/bin/sh").unwrap_err().contains("no known format"));
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(64, 0);
        elf[18] = 224;
        assert!(Image::read(&elf).unwrap_err().contains("without a kernel _start"));
    }
}
