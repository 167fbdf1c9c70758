//! Tokens -> syntax tree.
//!
//! Owns the grammar: it accepts what nvcc, clang, NVRTC and people write, in any layout, and does not check
//! instructions. Must not resolve names. Of debug information, `.file` and `.loc` are kept for fault messages;
//! `.section` is skipped.

mod decl;
mod expr;
mod function;
mod operand;
mod place;

use crate::ast::{Init, Linkage, Module};
use crate::error::{Error, Pos};
use crate::lex::{Token, tokens};
use crate::source::Sources;
use crate::table::needs;

/// How deep braces, parentheses and operators may nest. Compilers stay below
/// ten; the limit keeps hostile text from exhausting the stack.
const MAX_DEPTH: u32 = 100;

/// Parses a whole PTX file.
///
/// # Errors
/// [`Error::Syntax`] at the first position that is not PTX; [`Error::TooLarge`] for absurd nesting.
pub fn parse(text: &str) -> Result<Module<'_>, Error> {
    let tokens = tokens(text)?;
    Parser { tokens, at: 0, depth: 0, sources: Sources::default() }.module()
}

pub(crate) struct Parser<'a> {
    tokens: Vec<(Token<'a>, Pos)>,
    at: usize,
    depth: u32,
    sources: Sources,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Token<'a> {
        self.tokens.get(self.at + ahead).map_or(Token::End, |t| t.0)
    }

    fn pos(&self) -> Pos {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(Pos::default(), |t| t.1)
    }

    fn bump(&mut self) -> Token<'a> {
        let t = self.peek();
        if self.at < self.tokens.len() {
            self.at += 1;
        }
        t
    }

    fn unexpected<T>(&self, expected: impl Into<String>) -> Result<T, Error> {
        Err(Error::Syntax {
            pos: self.pos(),
            found: self.peek().describe(),
            expected: expected.into(),
        })
    }

    fn eat(&mut self, punct: &str) -> bool {
        let hit = matches!(self.peek(), Token::Punct(p) if p == punct);
        self.at += usize::from(hit);
        hit
    }

    fn expect(&mut self, punct: &str) -> Result<(), Error> {
        if self.eat(punct) { Ok(()) } else { self.unexpected(format!("`{punct}`")) }
    }

    fn name(&mut self, what: &str) -> Result<&'a str, Error> {
        match self.peek() {
            Token::Name(n) => {
                self.at += 1;
                Ok(n)
            }
            _ => self.unexpected(what),
        }
    }

    fn enter(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::TooLarge {
                pos: self.pos(),
                what: "the nesting",
                found: self.depth.into(),
                limit: MAX_DEPTH.into(),
            });
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn unsigned(&mut self, what: &str) -> Result<u64, Error> {
        match self.peek() {
            Token::Int(v, _) => {
                self.at += 1;
                Ok(v)
            }
            _ => self.unexpected(what),
        }
    }

    fn small(&mut self, what: &'static str, limit: u64) -> Result<u32, Error> {
        let pos = self.pos();
        let found = self.unsigned(what)?;
        if found > limit {
            return Err(Error::TooLarge { pos, what, found, limit });
        }
        Ok(found as u32)
    }

    /// Skips `{ ... }` with whatever is inside.
    fn skip_braces(&mut self) -> Result<(), Error> {
        self.expect("{")?;
        let mut open = 1;
        while open > 0 {
            match self.peek() {
                Token::Punct("{") => open += 1,
                Token::Punct("}") => open -= 1,
                Token::End => return self.unexpected("`}`"),
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    fn module(mut self) -> Result<Module<'a>, Error> {
        let mut m = Module {
            version: self.version()?,
            targets: Vec::new(),
            address_size: 64,
            variables: Vec::new(),
            functions: Vec::new(),
            aliases: Vec::new(),
            pragmas: Vec::new(),
            sources: Sources::default(),
        };
        loop {
            let Token::Dot(word) = self.peek() else {
                if self.peek() == Token::End {
                    let end = self.pos().line;
                    self.sources.end(end);
                    m.sources = self.sources;
                    return Ok(m);
                }
                if self.eat(";") {
                    continue;
                }
                return self.unexpected("a directive (`.entry`, `.func`, `.global`, ...)");
            };
            match word {
                "target" => {
                    self.at += 1;
                    m.targets.push(self.target(m.version)?);
                    while self.eat(",") {
                        m.targets.push(self.target(m.version)?);
                    }
                }
                "address_size" => {
                    self.at += 1;
                    let pos = self.pos();
                    m.address_size = self.small("the address size", 64)?;
                    if m.address_size != 32 && m.address_size != 64 {
                        return Err(Error::Syntax {
                            pos,
                            found: format!("the number {}", m.address_size),
                            expected: "32 or 64".into(),
                        });
                    }
                    if m.address_size == 32 {
                        let expected =
                            "64, as 32-bit addressing is not supported on sm_90 or higher";
                        let (found, expected) = ("the number 32".into(), expected.into());
                        return Err(Error::Syntax { pos, found, expected });
                    }
                }
                // A concatenated file begins again.
                "version" => {
                    self.version()?;
                }
                "file" | "loc" => self.place(word),
                "section" => self.section()?,
                "pragma" => m.pragmas.push(self.pragma()?),
                "alias" => {
                    self.at += 1;
                    let pos = self.pos();
                    let new = self.name("the alias")?;
                    self.expect(",")?;
                    m.aliases.push((new, self.name("a function")?, pos));
                    self.expect(";")?;
                }
                _ => self.item(&mut m)?,
            }
        }
    }

    fn version(&mut self) -> Result<(u32, u32), Error> {
        if self.peek() != Token::Dot("version") {
            return self.unexpected("`.version`");
        }
        self.at += 1;
        // "8.3" is read as a decimal number.
        let version = match self.peek() {
            Token::F64(bits) => {
                let v = f64::from_bits(bits);
                let tenths = (v * 10.0).round();
                (0.0..=10_000.0).contains(&tenths).then_some(tenths as u32)
            }
            Token::Int(v, _) if v < 1000 => Some(v as u32 * 10),
            _ => None,
        };
        let Some(tenths) = version else {
            return self.unexpected("a PTX version such as 8.3");
        };
        let version = (tenths / 10, tenths % 10);
        if !needs::is_version(version) {
            let found = format!(".version {}.{}", version.0, version.1);
            let expected = "a known version of PTX".into();
            return Err(Error::Syntax { pos: self.pos(), found, expected });
        }
        self.at += 1;
        Ok(version)
    }

    /// One word of `.target`, which the version must know if it is a device.
    fn target(&mut self, version: (u32, u32)) -> Result<&'a str, Error> {
        let pos = self.pos();
        let name = self.name("a target such as sm_80")?;
        let Some(rest) = name.strip_prefix("sm_").or(name.strip_prefix("compute_")) else {
            return Ok(name);
        };
        let expected = match rest.trim_end_matches(char::is_alphabetic).parse() {
            Err(_) => "a target such as sm_80".into(),
            Ok(number) => match needs::target_since(number) {
                Some(since) if since <= version => return Ok(name),
                Some((major, minor)) => format!(".version {major}.{minor} or later for it"),
                None => "a known target".into(),
            },
        };
        Err(Error::Syntax { pos, found: format!(".target {name}"), expected })
    }

    fn section(&mut self) -> Result<(), Error> {
        self.at += 1;
        match self.bump() {
            Token::Dot(_) | Token::Name(_) | Token::Str(_) => self.skip_braces(),
            _ => {
                self.at -= 1;
                self.unexpected("a section name")
            }
        }
    }

    fn pragma(&mut self) -> Result<&'a str, Error> {
        self.at += 1;
        let mut first = None;
        loop {
            let Token::Str(s) = self.peek() else {
                return self.unexpected("a string");
            };
            self.at += 1;
            first.get_or_insert(s);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(";")?;
        Ok(first.unwrap_or(""))
    }

    /// A variable or function with its linkage.
    fn item(&mut self, m: &mut Module<'a>) -> Result<(), Error> {
        let mut linkage = Linkage::Internal;
        loop {
            let Token::Dot(word) = self.peek() else {
                return self.unexpected("`.entry`, `.func` or a state space");
            };
            linkage = match word {
                "visible" => Linkage::Visible,
                "extern" => Linkage::Extern,
                "weak" => Linkage::Weak,
                "common" => Linkage::Common,
                "entry" | "func" => {
                    m.functions.push(self.function(linkage)?);
                    return Ok(());
                }
                _ => return self.variables(linkage, &mut m.variables),
            };
            self.at += 1;
        }
    }

    /// `= ...` of a variable, if there.
    fn initialiser(&mut self) -> Result<Option<Init<'a>>, Error> {
        if self.eat("=") { self.init_value().map(Some) } else { Ok(None) }
    }
}
