//! Operands of video instructions: selectors of parts, and signs.

use super::function::Lower;
use super::instruction::{Draft, value_type};
use super::scope::Entity;
use crate::alu::Selectors;
use crate::ast::{self, OperandKind as Operand};
use crate::error::Error;
use crate::ir::Src;
use crate::table::{Form, Op, Word};

impl<'a> Lower<'a, '_> {
    /// Result, two or three operands; the selectors become the fourth.
    pub(super) fn video(
        &mut self,
        i: &ast::Instruction<'a>,
        form: &Form,
        inst: &mut Draft,
    ) -> Result<(), Error> {
        let parts = match i.opcode.as_bytes().last() {
            Some(b'2') => 2,
            Some(b'4') => 4,
            _ => 1,
        };
        let mut names: [Option<&str>; 4] = [None; 4];
        let mut negated = 0;
        for (n, (operand, place)) in i.operands.iter().zip(&form.row.places).enumerate() {
            let (ty, _) = value_type(place.kind, form);
            let (plain, selector, minus) = self.bare(operand);
            names[n] = selector;
            if minus {
                if inst.op != Op::Vmad || n == 0 {
                    return self.wrong(i, "a negated operand", "an operand without a sign");
                }
                negated |= 1 << (n - 1);
            }
            if n == 3 && selector.is_some() {
                return self.wrong(i, "a selector of the third operand", "no selector");
            }
            if n == 0 {
                let dst = self.destination(i, &plain, ty, false)?;
                inst.dst.push(dst);
            } else {
                let src = self.value(i, &plain, ty, false)?;
                inst.src.push(src);
            }
        }
        let third = inst.src.len() == 3;
        if !third {
            inst.src.push(Src::Imm(0));
        }
        let selectors = if parts == 1 {
            let secondary = [Word::Add, Word::Min, Word::Max].iter().any(|w| inst.words.has(*w));
            if names[0].is_some() && (secondary || inst.op == Op::Vmad) {
                return self.wrong(
                    i,
                    "a selector of the result",
                    "no selector, or no second operation",
                );
            }
            if (names[0].is_some() || secondary) && !third {
                return self.wrong(i, "two operands", "a third operand");
            }
            let both = negated & 4 != 0 && (negated ^ negated >> 1) & 1 != 0;
            if both || negated != 0 && inst.words.has(Word::Po) {
                return self.wrong(
                    i,
                    "these signs",
                    "a sign of the product or of the third operand",
                );
            }
            let part = |s: Option<&str>| s.map_or(Some(0), Selectors::part);
            match [names[0], names[1], names[2]].map(part) {
                [Some(to), Some(a), Some(b)] => Selectors::Scalar { to, from: [a, b], negated },
                _ => return self.wrong(i, "an unknown selector", ".b0 to .b3, .h0 or .h1"),
            }
        } else {
            let own = [0, 1, 2, 3];
            let other = own.map(|k| if k < parts { k + parts } else { 0 });
            let own = own.map(|k| if k < parts { k } else { 0 });
            let mask = names[0].map_or(Some((1 << parts) - 1), |s| Selectors::mask(parts, s));
            let a = names[1].map_or(Some(own), |s| Selectors::choice(parts, s));
            let b = names[2].map_or(Some(other), |s| Selectors::choice(parts, s));
            match (mask, a, b) {
                (Some(mask), Some(a), Some(b)) => Selectors::Simd { parts, mask, from: [a, b] },
                _ => return self.wrong(i, "an unknown selector", "as .h10 or .b3210"),
            }
        };
        inst.src.push(Src::Imm(selectors.bits()));
        Ok(())
    }

    fn is_word(&self, name: &str) -> bool {
        matches!(self.scopes.get(name), Some(Entity::Reg { vector: 1, .. }))
    }

    /// An operand without selector and sign, and those.
    fn bare(&self, o: &ast::Operand<'a>) -> (ast::Operand<'a>, Option<&'a str>, bool) {
        let plain = |name| ast::Operand { pos: o.pos, kind: Operand::Name(name, 0) };
        match o.kind {
            Operand::Negated(name, selector) => (plain(name), selector, true),
            // Special registers and vectors have their own components.
            Operand::Member(name, selector) if self.is_word(name) => {
                (plain(name), Some(selector), false)
            }
            _ => (o.clone(), None, false),
        }
    }
}
