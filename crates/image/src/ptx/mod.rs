//! PTX at a glance: version, target, entries with their parameters, globals.
//!
//! Owns a scan of module-level directives; must not know instructions: function
//! bodies are skipped. Source of the syntax: PTX ISA, chapters 4, 5.4, 11.

mod lex;
mod types;

pub use lex::{Lexer, Token};
pub use types::type_size;

use crate::arch::Arch;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::params::layout::{Param, ParamLayout, ParamType};

/// What a PTX text declares at module level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ptx {
    /// ISA version of `.version`.
    pub version: (u16, u16),
    /// First name of `.target`.
    pub target: Arch,
    /// `.address_size`; 32 where it is not stated.
    pub address_size: u32,
    /// Every `.entry`, in order.
    pub entries: Vec<Entry>,
    /// Every module-level variable, in order.
    pub globals: Vec<Variable>,
    /// Names of `.extern .func` declarations (`vprintf`, `malloc`...).
    pub externs: Vec<String>,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its (mangled) name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<Variable>,
    /// `.maxntid`, missing dimensions 1.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`, missing dimensions 1.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`, missing dimensions 1.
    pub cluster: Option<[u32; 3]>,
    /// `.maxnreg`.
    pub max_registers: Option<u32>,
}

/// A parameter or a module-level variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// State space: `param`, `global`, `const`, `shared`, `tex`...
    pub space: String,
    /// Element type without the dot: `u64`, `b8`.
    pub ty: String,
    /// Bytes in all; 0 for an array without a bound (`.extern .shared`).
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Whether it is an array (even of one element).
    pub array: bool,
    /// For `.ptr` parameters: the space pointed into (`global`; empty: generic).
    pub pointer: Option<String>,
    /// Declared `.extern`: defined elsewhere.
    pub external: bool,
}

impl Entry {
    /// The driver's layout of the parameters: in order, each at its natural or stated alignment.
    pub fn layout(&self) -> ParamLayout {
        let mut end = 0u32;
        let mut params = Vec::with_capacity(self.params.len());
        for param in &self.params {
            let align = u32::try_from(param.align).unwrap_or(1).max(1);
            let offset = end.checked_next_multiple_of(align).unwrap_or(u32::MAX);
            let size = u32::try_from(param.size).unwrap_or(u32::MAX);
            params.push(Param { offset, size });
            end = offset.saturating_add(size);
        }
        let types = self.params.iter().map(Variable::param_type).collect();
        ParamLayout { size: end, params, types }
    }
}

impl Variable {
    /// Its type as a parameter.
    fn param_type(&self) -> ParamType {
        match self.ty.as_str() {
            _ if self.array => ParamType::Unknown,
            "f32" => ParamType::Float,
            "f64" => ParamType::Double,
            "s8" | "s16" | "s32" | "s64" => ParamType::Signed,
            _ if self.pointer.is_some() => ParamType::Pointer,
            _ => ParamType::Unknown,
        }
    }
}

/// Whether `data` begins like PTX: `.version` after space and comments.
pub fn is_ptx(data: &[u8]) -> bool {
    // Bounded: a file of comments alone is not worth reading to its end.
    let head = data.get(..64 << 10).unwrap_or(data);
    Lexer::new(head).next().is_some_and(|token| token.text == b".version")
}

/// Scans a PTX text; stops at a NUL byte.
pub fn scan(text: &[u8], limits: &Limits) -> Result<Ptx> {
    let mut scanner = Scanner { lexer: Lexer::new(text), peeked: None };
    let mut ptx = Ptx {
        version: (0, 0),
        target: Arch::Unknown,
        address_size: 32,
        entries: Vec::new(),
        globals: Vec::new(),
        externs: Vec::new(),
    };
    scanner.expect(b".version", ".version")?;
    ptx.version = scanner.version()?;
    let mut external = false;
    while let Some(token) = scanner.next() {
        match token.text {
            b".target" => ptx.target = Arch::parse(&scanner.word("a target name")?),
            b".address_size" => ptx.address_size = scanner.number()?,
            b".extern" => {
                external = true;
                continue;
            }
            b".visible" | b".weak" | b".common" => continue,
            b".entry" => ptx.entries.push(scanner.entry(ptx.address_size)?),
            b".func" => {
                let name = scanner.function()?;
                if external {
                    ptx.externs.push(name);
                }
            }
            b".global" | b".const" | b".shared" | b".tex" => {
                let space =
                    String::from_utf8_lossy(token.text.get(1..).unwrap_or_default()).into_owned();
                for mut variable in scanner.variables(space, ptx.address_size, limits)? {
                    variable.external = external;
                    ptx.globals.push(variable);
                }
            }
            b"{" => scanner.lexer.skip_block(),
            _ => {}
        }
        external = false;
        let items = ptx.entries.len().max(ptx.globals.len()).max(ptx.externs.len());
        if items > limits.max_items {
            let (at, limit) = (token.at as u64, limits.max_items as u64);
            let what = "PTX declarations";
            return Err(Error::TooBig { what, at, found: items as u64, limit, name: "max_items" });
        }
    }
    Ok(ptx)
}

/// A lexer with one token of look-ahead, and the grammar of declarations.
struct Scanner<'a> {
    lexer: Lexer<'a>,
    peeked: Option<Token<'a>>,
}

impl<'a> Scanner<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        self.peeked.take().or_else(|| self.lexer.next())
    }

    fn peek(&mut self) -> Option<&'a [u8]> {
        if self.peeked.is_none() {
            self.peeked = self.lexer.next();
        }
        self.peeked.map(|token| token.text)
    }

    fn need(&mut self, expected: &'static str) -> Result<Token<'a>> {
        let at = self.lexer.offset() as u64;
        self.next().ok_or(Error::Syntax { what: "PTX", at, found: "the end".into(), expected })
    }

    fn wrong(&self, token: Token<'_>, expected: &'static str) -> Error {
        let text = token.text.get(..80).unwrap_or(token.text);
        let found = format!("`{}`", String::from_utf8_lossy(text));
        Error::Syntax { what: "PTX", at: token.at as u64, found, expected }
    }

    fn expect(&mut self, text: &[u8], expected: &'static str) -> Result<()> {
        let token = self.need(expected)?;
        if token.text == text { Ok(()) } else { Err(self.wrong(token, expected)) }
    }

    fn word(&mut self, expected: &'static str) -> Result<String> {
        let token = self.need(expected)?;
        let start = token.text.first().copied().unwrap_or_default();
        if start.is_ascii_alphabetic() || matches!(start, b'_' | b'$' | b'%') {
            return Ok(String::from_utf8_lossy(token.text).into_owned());
        }
        Err(self.wrong(token, expected))
    }

    fn version(&mut self) -> Result<(u16, u16)> {
        let token = self.need("a version such as 8.0")?;
        let text = std::str::from_utf8(token.text).unwrap_or_default();
        let parts = text
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        parts.ok_or_else(|| self.wrong(token, "a version such as 8.0"))
    }

    fn number<T: TryFrom<u64>>(&mut self) -> Result<T> {
        let token = self.need("a number")?;
        let text = std::str::from_utf8(token.text).unwrap_or_default();
        let text = text.trim_end_matches('U');
        let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(hex) => u64::from_str_radix(hex, 16),
            None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8),
            None => text.parse(),
        };
        let value = value.ok().and_then(|value| T::try_from(value).ok());
        value.ok_or_else(|| self.wrong(token, "a number in range"))
    }

    /// After `.entry`: to the end of its body or declaration.
    fn entry(&mut self, address_size: u32) -> Result<Entry> {
        let mut entry = Entry {
            name: self.word("a kernel's name")?,
            params: Vec::new(),
            max_threads: None,
            required_threads: None,
            cluster: None,
            max_registers: None,
        };
        if self.peek() == Some(b"(") {
            self.next();
            self.params(&mut entry.params, address_size)?;
        }
        loop {
            let token = self.need("a kernel's body")?;
            match token.text {
                b"{" => {
                    self.lexer.skip_block();
                    return Ok(entry);
                }
                b";" => return Ok(entry),
                b".maxntid" => entry.max_threads = Some(self.dimensions()?),
                b".reqntid" => entry.required_threads = Some(self.dimensions()?),
                b".reqnctapercluster" => entry.cluster = Some(self.dimensions()?),
                b".maxnreg" => entry.max_registers = Some(self.number()?),
                _ => {}
            }
        }
    }

    fn dimensions(&mut self) -> Result<[u32; 3]> {
        let mut out = [1; 3];
        for (index, slot) in out.iter_mut().enumerate() {
            if index > 0 {
                if self.peek() != Some(b",") {
                    break;
                }
                self.next();
            }
            *slot = self.number()?;
        }
        Ok(out)
    }

    /// After the `(` of a parameter list: past its `)`.
    fn params(&mut self, out: &mut Vec<Variable>, address_size: u32) -> Result<()> {
        loop {
            let token = self.need("a parameter")?;
            match token.text {
                b")" => return Ok(()),
                b"," => {}
                b".param" => out.push(self.variable("param".into(), address_size)?),
                _ => return Err(self.wrong(token, "`.param`")),
            }
            // PTX allows 32,764 bytes of parameters, so no more than that many.
            if out.len() > 1 << 16 {
                return Err(self.wrong(token, "fewer parameters"));
            }
        }
    }

    /// After a state space: `type name[n] = {…}, name2;`.
    fn variables(
        &mut self,
        space: String,
        address_size: u32,
        limits: &Limits,
    ) -> Result<Vec<Variable>> {
        let mut out = vec![self.variable(space, address_size)?];
        loop {
            let token = self.need("`;`")?;
            match token.text {
                b";" => return Ok(out),
                b"{" => self.lexer.skip_block(),
                b"," => {
                    if out.len() >= limits.max_items {
                        return Err(self.wrong(token, "fewer variables"));
                    }
                    let Some(first) = out.first() else {
                        return Err(self.wrong(token, "a variable"));
                    };
                    // Only the shared part is copied: the first one's name may be long.
                    let mut next = Variable {
                        name: self.word("a variable's name")?,
                        space: first.space.clone(),
                        ty: first.ty.clone(),
                        size: types::element(&first.ty).unwrap_or(1),
                        align: first.align,
                        array: false,
                        pointer: first.pointer.clone(),
                        external: first.external,
                    };
                    self.bounds(&mut next)?;
                    out.push(next);
                }
                _ => {}
            }
        }
    }

    /// After `.param`, `.global`…: attributes, type, name, bounds.
    fn variable(&mut self, space: String, address_size: u32) -> Result<Variable> {
        let (mut align, mut lanes, mut pointer) = (None, 1, None);
        loop {
            let token = self.need("a type")?;
            match token.text {
                b".align" if pointer.is_none() => align = Some(self.number()?),
                b".align" => _ = self.number::<u64>()?,
                b".ptr" => pointer = Some(String::new()),
                b".v2" => lanes = 2,
                b".v4" => lanes = 4,
                b".v8" => lanes = 8,
                b".attribute" => while self.need("`)`")?.text != b")" {},
                b".global" | b".const" | b".shared" | b".local" if pointer.is_some() => {
                    pointer = Some(
                        String::from_utf8_lossy(token.text.get(1..).unwrap_or_default())
                            .into_owned(),
                    );
                }
                text if text.starts_with(b".") => {
                    let ty =
                        String::from_utf8_lossy(text.get(1..).unwrap_or_default()).into_owned();
                    // `.param .type .ptr .space .align n name`: all but the
                    // name may still follow the type.
                    let Some(size) = type_size(&ty, address_size) else {
                        return Err(self.wrong(token, "a PTX type"));
                    };
                    if self.peek() == Some(b".ptr") {
                        self.next();
                        pointer = Some(String::new());
                    }
                    while pointer.is_some() && self.peek().is_some_and(|t| t.starts_with(b".")) {
                        match self.need("a name")?.text {
                            b".align" => _ = self.number::<u64>()?,
                            // Each variable of a list repeats it.
                            space if space.len() > 32 => {
                                return Err(self.wrong(token, "a space that is pointed into"));
                            }
                            space => {
                                pointer = Some(
                                    String::from_utf8_lossy(space.get(1..).unwrap_or_default())
                                        .into_owned(),
                                );
                            }
                        }
                    }
                    let size = size * lanes;
                    let mut variable = Variable {
                        name: self.word("a variable's name")?,
                        space,
                        ty: if lanes == 1 { ty } else { format!("v{lanes}.{ty}") },
                        size,
                        align: align.unwrap_or(size),
                        array: false,
                        pointer,
                        external: false,
                    };
                    self.bounds(&mut variable)?;
                    return Ok(variable);
                }
                _ => return Err(self.wrong(token, "a type")),
            }
        }
    }

    /// `[n][m]` or `[]` after a name.
    fn bounds(&mut self, variable: &mut Variable) -> Result<()> {
        while self.peek() == Some(b"[") {
            self.next();
            variable.array = true;
            let bound = if self.peek() == Some(b"]") { 0 } else { self.number::<u64>()? };
            variable.size = variable.size.saturating_mul(bound);
            self.expect(b"]", "`]`")?;
        }
        Ok(())
    }

    /// After `.func`: its name; past its body or declaration.
    fn function(&mut self) -> Result<String> {
        let mut name = None;
        loop {
            let token = self.need("a function's body")?;
            match token.text {
                b"(" => while self.need("`)`")?.text != b")" {},
                b";" => break,
                b"{" => {
                    self.lexer.skip_block();
                    break;
                }
                text if name.is_none() && !text.starts_with(b".") => {
                    name = Some(String::from_utf8_lossy(text).into_owned());
                }
                _ => {}
            }
        }
        name.ok_or(Error::Syntax {
            what: "PTX",
            at: self.lexer.offset() as u64,
            found: "`.func` without one".into(),
            expected: "a function's name",
        })
    }
}

#[cfg(test)]
mod tests;
