//! Constant expressions and initial values (ISA section "Constant
//! Expressions": C's operators on 64-bit integers; `+ - * /` on doubles).

use super::Parser;
use crate::ast::{Const, Init};
use crate::error::{Error, Pos};
use crate::lex::Token;

const INT_TYPES: [&str; 2] = ["s64", "u64"];

/// Binary operators from the loosest to the tightest.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl<'a> Parser<'a> {
    /// A constant expression that must be a non-negative integer.
    pub(super) fn const_int(&mut self) -> Result<u64, Error> {
        let pos = self.pos();
        match self.constant()? {
            Const::Int { value, unsigned } if unsigned || (value as i64) >= 0 => Ok(value),
            Const::Int { value, .. } => Err(wrong(pos, &format!("{}", value as i64), "a size")),
            _ => Err(wrong(pos, "a floating-point number", "an integer")),
        }
    }

    /// A constant expression.
    pub(super) fn constant(&mut self) -> Result<Const, Error> {
        self.enter()?;
        let pos = self.pos();
        let mut value = self.binary(0)?;
        if self.eat("?") {
            let yes = self.constant()?;
            self.expect(":")?;
            let no = self.constant()?;
            value = if truth(value, pos)? { yes } else { no };
        }
        self.leave();
        Ok(value)
    }

    fn binary(&mut self, level: usize) -> Result<Const, Error> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        loop {
            let pos = self.pos();
            let Token::Punct(op) = self.peek() else { return Ok(left) };
            if !operators.contains(&op) {
                return Ok(left);
            }
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = apply(op, left, right, pos)?;
        }
    }

    fn unary(&mut self) -> Result<Const, Error> {
        self.enter()?;
        let pos = self.pos();
        let value = match self.peek() {
            Token::Int(value, unsigned) => {
                self.at += 1;
                Const::Int { value, unsigned }
            }
            Token::F32(v) => {
                self.at += 1;
                Const::F32(v)
            }
            Token::F64(v) => {
                self.at += 1;
                Const::F64(v)
            }
            Token::Name("WARP_SZ") => {
                self.at += 1;
                Const::Int { value: 32, unsigned: false }
            }
            Token::Punct("+") => {
                self.at += 1;
                self.unary()?
            }
            Token::Punct("-") => {
                self.at += 1;
                match self.unary()? {
                    Const::Int { value, unsigned } => {
                        Const::Int { value: value.wrapping_neg(), unsigned }
                    }
                    Const::F32(v) => Const::F32(v ^ (1 << 31)),
                    Const::F64(v) => Const::F64(v ^ (1 << 63)),
                }
            }
            Token::Punct("~") => {
                self.at += 1;
                match self.unary()? {
                    Const::Int { value, unsigned } => Const::Int { value: !value, unsigned },
                    _ => return Err(wrong(pos, "a floating-point number", "an integer")),
                }
            }
            Token::Punct("!") => {
                self.at += 1;
                let operand = self.unary()?;
                Const::Int { value: u64::from(!truth(operand, pos)?), unsigned: false }
            }
            Token::Punct("(") => {
                self.at += 1;
                if let Token::Dot(ty) = self.peek()
                    && INT_TYPES.contains(&ty)
                {
                    self.at += 1;
                    self.expect(")")?;
                    match self.unary()? {
                        Const::Int { value, .. } => Const::Int { value, unsigned: ty == "u64" },
                        _ => return Err(wrong(pos, "a floating-point number", "an integer")),
                    }
                } else {
                    let inner = self.constant()?;
                    self.expect(")")?;
                    inner
                }
            }
            _ => return self.unexpected("a constant"),
        };
        self.leave();
        Ok(value)
    }

    /// One initial value: a number, an address, or a list in braces.
    pub(super) fn init_value(&mut self) -> Result<Init<'a>, Error> {
        self.enter()?;
        let value = self.init_inner()?;
        self.leave();
        Ok(value)
    }

    fn init_inner(&mut self) -> Result<Init<'a>, Error> {
        let pos = self.pos();
        if self.eat("{") {
            let mut list = Vec::new();
            while !self.eat("}") {
                list.push(self.init_value()?);
                if !self.eat(",") {
                    self.expect("}")?;
                    break;
                }
            }
            return Ok(Init::List(list));
        }
        // `width = 4` and the like in texture and sampler references.
        if matches!(self.peek(), Token::Name(_)) && self.peek_at(1) == Token::Punct("=") {
            self.at += 2;
            return self.init_value();
        }
        if let (Token::Int(mask, _), Token::Punct("(")) = (self.peek(), self.peek_at(1)) {
            self.at += 2;
            let inner = self.init_value()?;
            self.expect(")")?;
            return match inner {
                Init::Address { name, addend, generic, mask: None, pos } => {
                    Ok(Init::Address { name, addend, generic, mask: Some(mask), pos })
                }
                _ => Err(wrong(pos, "a number in a mask", "a variable or function")),
            };
        }
        match (self.peek(), self.peek_at(1)) {
            (Token::Name("WARP_SZ"), _) => Ok(Init::Value(self.constant()?)),
            (Token::Name("generic"), Token::Punct("(")) => {
                self.at += 2;
                let name = self.name("a variable")?;
                let inner = self.addend()?;
                self.expect(")")?;
                let addend = inner.wrapping_add(self.addend()?);
                Ok(Init::Address { name, addend, generic: true, mask: None, pos })
            }
            (Token::Name(name), _) => {
                self.at += 1;
                let addend = self.addend()?;
                Ok(Init::Address { name, addend, generic: false, mask: None, pos })
            }
            _ => Ok(Init::Value(self.constant()?)),
        }
    }

    /// `+ 8`, `- 8`, `+-8` after a name, or nothing: 0.
    pub(super) fn addend(&mut self) -> Result<i64, Error> {
        let mut sum = 0i64;
        loop {
            let minus = match self.peek() {
                Token::Punct("+") => false,
                Token::Punct("-") => true,
                _ => return Ok(sum),
            };
            self.at += 1;
            let pos = self.pos();
            // Products bind tighter than the sum at hand.
            match self.binary(LEVELS.len() - 1)? {
                Const::Int { value, .. } => {
                    let v = value as i64;
                    sum = if minus { sum.wrapping_sub(v) } else { sum.wrapping_add(v) };
                }
                _ => return Err(wrong(pos, "a floating-point number", "an integer")),
            }
        }
    }
}

fn wrong(pos: Pos, found: &str, expected: &str) -> Error {
    Error::Syntax { pos, found: found.into(), expected: expected.into() }
}

fn truth(c: Const, pos: Pos) -> Result<bool, Error> {
    match c {
        Const::Int { value, .. } => Ok(value != 0),
        _ => Err(wrong(pos, "a floating-point number", "an integer")),
    }
}

fn apply(op: &str, a: Const, b: Const, pos: Pos) -> Result<Const, Error> {
    let (a, b, unsigned) = match (a, b) {
        (Const::Int { value: a, unsigned: ua }, Const::Int { value: b, unsigned: ub }) => {
            (a, b, ua || ub)
        }
        (a, b) => return float(op, a, b, pos),
    };
    let (x, y) = (a as i64, b as i64);
    let shift = b.min(64) as u32;
    let flag = |v: bool| u64::from(v);
    let value = match op {
        "||" => flag(a != 0 || b != 0),
        "&&" => flag(a != 0 && b != 0),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "==" => flag(a == b),
        "!=" => flag(a != b),
        "<" => flag(if unsigned { a < b } else { x < y }),
        ">" => flag(if unsigned { a > b } else { x > y }),
        "<=" => flag(if unsigned { a <= b } else { x <= y }),
        ">=" => flag(if unsigned { a >= b } else { x >= y }),
        "<<" => a.checked_shl(shift).unwrap_or(0),
        ">>" if unsigned => a.checked_shr(shift).unwrap_or(0),
        ">>" => (x >> shift.min(63)) as u64,
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        _ if b == 0 => return Err(wrong(pos, "a division by zero", "another divisor")),
        "/" if unsigned => a / b,
        "/" => x.wrapping_div(y) as u64,
        _ if unsigned => a % b,
        _ => x.wrapping_rem(y) as u64,
    };
    let comparison = matches!(op, "||" | "&&" | "==" | "!=" | "<" | ">" | "<=" | ">=");
    Ok(Const::Int { value, unsigned: unsigned && !comparison })
}

fn float(op: &str, a: Const, b: Const, pos: Pos) -> Result<Const, Error> {
    let f = |c| match c {
        Const::Int { value, unsigned: false } => value as i64 as f64,
        Const::Int { value, .. } => value as f64,
        Const::F32(v) => f64::from(f32::from_bits(v)),
        Const::F64(v) => f64::from_bits(v),
    };
    let (x, y) = (f(a), f(b));
    let flag = |v: bool| Ok(Const::Int { value: u64::from(v), unsigned: false });
    let value = match op {
        "+" => x + y,
        "-" => x - y,
        "*" => x * y,
        "/" => x / y,
        "==" => return flag(x == y),
        "!=" => return flag(x != y),
        "<" => return flag(x < y),
        ">" => return flag(x > y),
        "<=" => return flag(x <= y),
        ">=" => return flag(x >= y),
        _ => return Err(wrong(pos, "floating-point operands", "integers")),
    };
    Ok(Const::F64(value.to_bits()))
}
