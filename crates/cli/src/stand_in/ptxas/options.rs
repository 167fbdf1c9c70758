//! The command line of ptxas.
//!
//! Owns: which options take a value, and the values of the few that matter. Options that tune machine code are
//! accepted and ignored, also unknown ones: ptxas has many undocumented options. Must not know: PTX.

use std::path::PathBuf;

/// The parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `--version`.
    pub version: bool,
    /// `--help`.
    pub help: bool,
    /// `--verbose`: how much each kernel uses.
    pub verbose: bool,
    /// `--compile-only`: undefined names may be defined elsewhere.
    pub relocatable: bool,
    /// `--fmad=false`.
    pub no_fmad: bool,
    /// `--gpu-name`.
    pub gpu: Option<String>,
    /// `--output-file`.
    pub output: Option<PathBuf>,
    /// `--input-as-string`.
    pub strings: Vec<String>,
    /// The input files.
    pub inputs: Vec<String>,
}

/// Options with a value, in both spellings, as `ptxas --help` of CUDA 13.4 and 12.9 has them; one with a value behind `=`
/// needs no row.
const VALUED: [(&str, &str); 20] = [
    ("Ofast-compile", "Ofc"),
    ("allow-expensive-optimizations", ""),
    ("def-load-cache", "dlcm"),
    ("def-store-cache", "dscm"),
    ("device-function-maxrregcount", "func-maxrregcount"),
    ("device-stack-protector", ""),
    ("entry", "e"),
    ("fmad", ""),
    ("force-load-cache", "flcm"),
    ("force-store-cache", "fscm"),
    ("gpu-name", "arch"),
    ("input-as-string", "ias"),
    ("machine", "m"),
    ("maxntid", ""),
    ("maxrregcount", ""),
    ("minnctapersm", ""),
    ("opt-level", "O"),
    ("output-file", "o"),
    ("register-usage-level", "regUsageLevel"),
    ("split-compile", ""),
];

/// The long name of the option `word` if it takes a value.
fn valued(word: &str) -> Option<&'static str> {
    VALUED.iter().find(|(long, short)| word == *long || word == *short).map(|(long, _)| *long)
}

impl Options {
    /// Reads the words behind the program's name.
    ///
    /// # Errors
    /// What ptxas says, without `ptxas fatal   : `.
    pub fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Options::default();
        let mut words = words;
        while let Some(word) = words.next() {
            let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else {
                options.inputs.push(word);
                continue;
            };
            let name = name.strip_prefix('-').unwrap_or(name);
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (name, None),
            };
            match valued(name) {
                Some(long) => {
                    let value = value.or_else(|| words.next());
                    options
                        .set(long, value.ok_or(format!("Argument required to '{name}' option"))?)?;
                }
                None => options.switch(name),
            }
        }
        Ok(options)
    }

    fn set(&mut self, long: &str, value: String) -> Result<(), String> {
        match long {
            "gpu-name" => {
                let digits = value.strip_prefix("sm_").or(value.strip_prefix("compute_"));
                let digits = digits.map(|d| d.trim_end_matches(['a', 'f']));
                if digits.and_then(|d| d.parse::<u32>().ok()).is_none_or(|sm| sm < 20) {
                    return Err(format!("Value '{value}' is not defined for option 'gpu-name'"));
                }
                self.gpu = Some(value);
            }
            "output-file" => self.output = Some(value.into()),
            "input-as-string" => self.strings.push(value),
            "fmad" => self.no_fmad = value == "false",
            _ => {}
        }
        Ok(())
    }

    fn switch(&mut self, name: &str) {
        match name {
            "version" | "V" => self.version = true,
            "help" | "h" => self.help = true,
            "verbose" | "v" => self.verbose = true,
            "compile-only" | "c" | "extensible-whole-program" | "ewp" => self.relocatable = true,
            _ => {}
        }
    }

    /// The number of the GPU that the code is for; the default is that of ptxas 12.
    pub fn sm(&self) -> u32 {
        let name = self.gpu.as_deref().unwrap_or("sm_52");
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.trim_end_matches(['a', 'f']).parse().unwrap_or(52)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, String> {
        Options::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn as_triton_writes_them() {
        let options = read(
            "-lineinfo --fmad=false -v --opt-level 0 --regAllocOptLevel=2 --gpu-name=sm_90a in.ptx -o out",
        );
        let options = options.unwrap();
        assert!(options.verbose && options.no_fmad && !options.relocatable);
        assert_eq!((options.sm(), options.gpu.as_deref()), (90, Some("sm_90a")));
        assert_eq!(
            (options.inputs, options.output),
            (vec!["in.ptx".to_owned()], Some("out".into()))
        );
    }

    #[test]
    fn wrong_ones() {
        assert_eq!(read("-arch").unwrap_err(), "Argument required to 'arch' option");
        assert_eq!(
            read("-arch sm_1").unwrap_err(),
            "Value 'sm_1' is not defined for option 'gpu-name'"
        );
        assert_eq!(read("x.ptx").unwrap().sm(), 52);
    }
}
