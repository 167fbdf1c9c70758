//! One link of nvJitLink: its inputs and its result.
//!
//! Owns: collecting PTX, and linking it as `cuLink*` of cushim's driver does. Errors are numbers of `nvJitLinkResult`
//! and a text for the log. Must not know: NVIDIA's library.

use std::borrow::Cow;

use cushim_ptx::ir::Module;
use cushim_vbase::code::{Source, Target, choose, linked};

/// `NVJITLINK_ERROR_INVALID_INPUT`.
pub const INVALID_INPUT: i32 = 3;
/// `NVJITLINK_ERROR_PTX_COMPILE`.
pub const PTX_COMPILE: i32 = 4;
/// `NVJITLINK_ERROR_FINALIZE`.
pub const FINALIZE: i32 = 9;

/// `nvJitLinkInputType`.
pub mod kind {
    /// A cubin.
    pub const CUBIN: i32 = 1;
    /// PTX.
    pub const PTX: i32 = 2;
    /// LTO-IR.
    pub const LTO_IR: i32 = 3;
    /// An archive of objects.
    pub const LIBRARY: i32 = 6;
}

/// What an input is.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// It is taken.
    Ours,
    /// NVIDIA's library is to have it.
    Theirs,
}

/// A link under way.
#[derive(Debug, Default)]
pub struct Session {
    /// `-lto`: intermediate code may come.
    pub lto: bool,
    /// `-fma=0`.
    no_fma: bool,
    /// `-arch`, as a number.
    sm: u32,
    texts: Vec<String>,
    /// NVIDIA's library has some inputs.
    pub theirs: bool,
    /// The image, once it is complete.
    pub image: Option<Vec<u8>>,
    /// cushim's part of the log.
    pub log: String,
}

impl Session {
    /// A link with these options.
    pub fn new<'a>(options: impl Iterator<Item = &'a str>) -> Self {
        let mut session = Session { sm: 80, ..Session::default() };
        for option in options {
            let option = option.strip_prefix('-').unwrap_or(option);
            match option.split_once('=').unwrap_or((option, "")) {
                ("lto" | "-lto", _) => session.lto = true,
                ("fma", value) => session.no_fma = value == "0",
                ("arch", value) => {
                    let digits = value.trim_start_matches(|c: char| !c.is_ascii_digit());
                    let digits = digits.trim_end_matches(['a', 'f']);
                    session.sm = digits.parse().unwrap_or(session.sm);
                }
                _ => {}
            }
        }
        session
    }

    /// Takes an input, or leaves it to NVIDIA's library.
    ///
    /// # Errors
    /// It is PTX and wrong, or it is machine code alone.
    pub fn add(&mut self, kind: i32, bytes: &[u8], name: &str) -> Result<Input, i32> {
        if kind == kind::LTO_IR {
            self.theirs = true;
            return Ok(Input::Theirs);
        }
        if kind == kind::PTX {
            self.text(bytes, name)?;
            return Ok(Input::Ours);
        }
        let target = Target {
            capability: (self.sm / 10, self.sm % 10),
            cubin: false,
            ptx: true,
            later: true,
            isas: &[],
        };
        let source = Source::owned(bytes.to_vec());
        match choose(&source, &target) {
            Ok(chosen) => {
                for part in &chosen.parts {
                    self.text(part, name)?;
                }
                Ok(Input::Ours)
            }
            // What needs a library's machine code hears so by name at the end.
            Err(_) if kind == kind::LIBRARY && !self.lto => Ok(Input::Ours),
            Err(_) if self.lto && kind != kind::CUBIN => {
                self.theirs = true;
                Ok(Input::Theirs)
            }
            Err(error) => {
                let what = if name.is_empty() { "an input" } else { name };
                self.log = format!("error   : {what}: {error}");
                Err(INVALID_INPUT)
            }
        }
    }

    /// Adds a valid text.
    fn text(&mut self, bytes: &[u8], name: &str) -> Result<(), i32> {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
        let checked = module(&text).map(drop);
        if let Err(error) = checked {
            let reason = error.to_string();
            let reason = reason.split_once(": ").map_or(reason.as_str(), |(_, reason)| reason);
            let name = if name.is_empty() { "<input>" } else { name };
            self.log = format!("ptxas {name}, line {}; error   : {reason}", error.pos().line);
            return Err(PTX_COMPILE);
        }
        self.texts.push(text);
        Ok(())
    }

    /// Links what was added, and `theirs`, the PTX that NVIDIA's library made of its inputs.
    ///
    /// # Errors
    /// Nothing was added, a name is defined twice, or one is not defined.
    pub fn complete(&mut self, theirs: Option<String>) -> Result<(), i32> {
        let mut texts = std::mem::take(&mut self.texts);
        texts.extend(theirs);
        if let Err(why) = check(&texts) {
            self.log = format!("error   : {why}");
            return Err(FINALIZE);
        }
        if self.no_fma {
            for text in &mut texts {
                let rounded = cushim_ptx::parse(text).map(|tree| cushim_ptx::unfused(text, &tree));
                *text = rounded.unwrap_or_else(|_| text.clone());
            }
        }
        self.image = Some(match texts.as_mut_slice() {
            // Every driver accepts PTX text with its final NUL.
            [text] => {
                text.push('\0');
                std::mem::take(text).into_bytes()
            }
            several => {
                let parts: Vec<_> = several.iter().map(|t| Cow::Borrowed(t.as_bytes())).collect();
                linked::write(&parts)
            }
        });
        Ok(())
    }
}

fn module(text: &str) -> Result<Module, cushim_ptx::Error> {
    cushim_ptx::check(&cushim_ptx::parse(text)?)
}

/// Whether the texts make one program.
fn check(texts: &[String]) -> Result<(), String> {
    if texts.is_empty() {
        return Err("no input was added".to_owned());
    }
    let modules = texts.iter().map(|text| module(text)).collect::<Result<Vec<_>, _>>();
    let modules = modules.and_then(|mut modules| {
        cushim_ptx::cooperative::complete(&mut modules)?;
        Ok(modules)
    });
    let joined = modules.and_then(cushim_ptx::link).map_err(|error| error.to_string())?;
    let kernels = (0u32..).zip(&joined.functions).filter(|(_, f)| f.entry && f.defined);
    let missing = kernels.filter_map(|(number, kernel)| Some((kernel, joined.undefined(number)?)));
    match missing.into_iter().next() {
        Some((kernel, name)) => {
            Err(format!("Undefined reference to '{name}' in '{}'", kernel.name))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

    fn calls() -> String {
        format!("{HEAD}.extern .func f();\n.visible .entry k()\n{{\ncall.uni f;\nret;\n}}\n")
    }

    #[test]
    fn one_text_is_its_own_image() {
        let mut session = Session::new(["-arch=sm_90a"].into_iter());
        let text = format!("{HEAD}.visible .entry k()\n{{\nret;\n}}\n");
        assert_eq!(session.add(kind::PTX, text.as_bytes(), "k"), Ok(Input::Ours));
        assert_eq!(session.complete(None), Ok(()));
        assert_eq!(session.image.unwrap(), [text.as_bytes(), b"\0"].concat());
    }

    #[test]
    fn several_are_joined_and_what_is_missing_is_named() {
        let mut session = Session::new(["-arch=sm_80"].into_iter());
        session.add(kind::PTX, calls().as_bytes(), "k").unwrap();
        assert_eq!(session.complete(None), Err(FINALIZE));
        assert!(session.log.contains("Undefined reference to 'f' in 'k'"), "{}", session.log);
        let mut session = Session::new(["-arch=sm_80"].into_iter());
        session.add(kind::PTX, calls().as_bytes(), "k").unwrap();
        let function = format!("{HEAD}.visible .func f()\n{{\nret;\n}}\n");
        assert_eq!(session.complete(Some(function)), Ok(()));
        assert!(linked::read(&session.image.unwrap()).is_some_and(|parts| parts.len() == 2));
    }

    #[test]
    fn what_is_no_ptx_is_refused_with_its_line() {
        let mut session = Session::new(["-arch=sm_80"].into_iter());
        let wrong = format!("{HEAD}.visible .entry k()\n{{\nmov.u32 %r1, 1;\n}}\n");
        assert_eq!(session.add(kind::PTX, wrong.as_bytes(), "k"), Err(PTX_COMPILE));
        assert!(session.log.starts_with("ptxas k, line 6; error"), "{}", session.log);
        assert_eq!(session.add(kind::CUBIN, b"\x7fELF", "c"), Err(INVALID_INPUT));
        assert_eq!(session.complete(None), Err(FINALIZE));
    }

    #[test]
    fn intermediate_code_is_not_ours() {
        let mut session = Session::new(["-lto", "-arch=sm_80"].into_iter());
        assert_eq!(session.add(kind::LTO_IR, b"\xed\x43", "x"), Ok(Input::Theirs));
        assert!(session.lto && session.theirs);
    }
}
