//! `wmma.load`, `wmma.store`: each lane computes the addresses of its part of a matrix, and reads or writes it there.
//!
//! Owns the conversion of a fragment's layout to addresses. [`crate::matrix`] defines which element is where.

use super::function::Lower;
use super::instruction::Draft;
use crate::error::Error;
use crate::ir::{Base, Dst, Src};
use crate::matrix::fragment::{self, Bit, Fragment, Layout};
use crate::sem;
use crate::table::{Op, Part, Word};
use crate::types::{Scalar, Space};

impl Lower<'_, '_> {
    /// `wmma.load`, `wmma.store`.
    pub(super) fn tile(&mut self, of: &Draft) -> Result<(), Error> {
        let Some(tile) = Tile::of(of) else { return Ok(()) };
        let space = sem::checked_space(&of.statement(), 0, self.out.entry);
        let (address, ty, offset) = self.address(of, space)?;
        let lane = self.lane(of)?;
        let along = self.bits(of, &lane, tile.along())?;
        let line = self.bits(of, &lane, tile.line())?;
        let stride = match of.src.last() {
            Some(Src::None) | None => Src::Imm(tile.length),
            Some(stride) => stride.clone(),
        };
        // In elements, of which a byte may have several.
        let element = tile.fragment.bits;
        let scale = |of: &Draft, this: &mut Self, v: Src| -> Result<Src, Error> {
            match element {
                8.. => this.u32s(of, Op::Shl, &[], v, (element / 8).trailing_zeros().into()),
                _ => this.u32s(of, Op::Shr, &[], v, (8 / element).trailing_zeros().into()),
            }
        };
        let pitch = match stride {
            Src::Imm(n) => Src::Imm(n * u64::from(element) / 8),
            stride => scale(of, self, stride)?,
        };
        let along = scale(of, self, along)?;
        let src = vec![line, pitch.clone(), along];
        let within = self.make(of, Op::Mad, &[Word::Lo], Scalar::U32, src)?;
        let within = self.widened(of, &within, ty)?;
        let origin = self.make(of, Op::Add, &[], ty, vec![address, within])?;
        let wide = if ty == Scalar::U64 { Some(self.widened_pitch(of, &pitch)?) } else { None };
        let pitch = wide.unwrap_or(pitch);
        let mut lines: Vec<(u32, Src)> = vec![(0, origin.clone())];
        let registers = if of.op == Op::WmmaStore { of.src.len() - 2 } else { of.dst.len() };
        let mut loaded = Vec::new();
        for register in 0..registers as u32 {
            let mut places = Vec::new();
            for place in tile.accesses() {
                let (line, along) = tile.at(register, place);
                let known = lines.iter().find(|(n, _)| *n == line).map(|(_, src)| src.clone());
                let base = match known {
                    Some(src) => src,
                    None => {
                        let src = vec![pitch.clone(), Src::Imm(line.into()), origin.clone()];
                        let made = self.make(of, Op::Mad, &[Word::Lo], ty, src)?;
                        lines.push((line, made.clone()));
                        made
                    }
                };
                let Src::Reg(base) = base else { return Ok(()) };
                let at = offset + i64::from(along * element / 8);
                places.push(Src::Memory(Base::Reg(base, ty.bits()), at));
            }
            if of.op == Op::WmmaStore {
                let value = of.src[1 + register as usize].clone();
                let parts = if tile.is_whole() { vec![value] } else { self.halves(of, value)? };
                for (place, part) in places.into_iter().zip(parts) {
                    self.store(of, space, tile.access(), place, part);
                }
            } else {
                loaded.push(self.loaded(of, space, &tile, places)?);
            }
        }
        for (dst, value) in of.dst.iter().zip(loaded) {
            let ty = if element == 64 { Scalar::B64 } else { Scalar::B32 };
            self.put(of, Op::Mov, &[], [ty, Scalar::B32], vec![*dst], vec![value]);
        }
        Ok(())
    }

    fn widened_pitch(&mut self, of: &Draft, pitch: &Src) -> Result<Src, Error> {
        match pitch {
            Src::Imm(n) => Ok(Src::Imm(*n)),
            pitch => self.widened(of, pitch, Scalar::U64),
        }
    }

    /// A register with the elements at these positions.
    fn loaded(
        &mut self,
        of: &Draft,
        space: Space,
        tile: &Tile,
        places: Vec<Src>,
    ) -> Result<Src, Error> {
        let ty = tile.access();
        let mut parts = Vec::new();
        for place in places {
            // Bytes in registers of 32 bits.
            let kept = if ty == Scalar::B8 { Scalar::B32 } else { ty };
            let register = self.register(kept, 1, of.pos)?;
            self.load(of, space, ty, place, Dst::Reg(register, kept.bits()));
            parts.push(Src::Reg(register));
        }
        match parts.len() {
            1 => Ok(parts.remove(0)),
            2 => self.make(of, Op::Mov, &[], Scalar::B32, parts),
            _ => {
                let mut parts = parts.into_iter();
                let mut sum = parts.next().unwrap_or(Src::Imm(0));
                for (n, part) in parts.enumerate() {
                    let at = Src::Imm(8 * (n as u64 + 1));
                    let src = vec![part, sum, at, Src::Imm(8)];
                    sum = self.make(of, Op::Bfi, &[], Scalar::B32, src)?;
                }
                Ok(sum)
            }
        }
    }

    /// A number from bits of the lane's number; other bits are zero.
    fn bits(&mut self, of: &Draft, lane: &Src, bits: &[Bit]) -> Result<Src, Error> {
        let mut sum: Option<Src> = None;
        let mut n = 0;
        while n < bits.len() {
            let Bit::Lane(first) = bits[n] else {
                n += 1;
                continue;
            };
            // Neighbours move together.
            let run =
                bits[n..].iter().zip(first..).take_while(|(bit, k)| **bit == Bit::Lane(*k)).count();
            let v = self.u32s(of, Op::Shr, &[], lane.clone(), first.into())?;
            let v = self.u32s(of, Op::And, &[], v, (1 << run) - 1)?;
            let v = self.u32s(of, Op::Shl, &[], v, n as u64)?;
            sum = Some(match sum {
                None => v,
                Some(sum) => self.make(of, Op::Or, &[], Scalar::B32, vec![sum, v])?,
            });
            n += run;
        }
        match sum {
            Some(sum) => Ok(sum),
            None => self.make(of, Op::Mov, &[], Scalar::B32, vec![Src::Imm(0)]),
        }
    }
}

/// A matrix in memory, and its fragment.
struct Tile {
    fragment: Fragment,
    layout: &'static Layout,
    /// Columns follow each other; else rows do.
    columns: bool,
    /// Elements from one line to the next where the instruction does not say it.
    length: u64,
}

impl Tile {
    fn of(of: &Draft) -> Option<Tile> {
        let part = [(Word::A, Part::A), (Word::B, Part::B)];
        let part = part.iter().find(|(w, _)| of.words.has(*w)).map_or(Part::C, |(_, part)| *part);
        let columns = of.words.has(Word::Col);
        let shape = sem::shape(&of.words)?;
        let fragment = fragment::of(shape, part, of.types[0], false, false)?;
        let length = if columns { fragment.rows } else { fragment.columns };
        Some(Tile { fragment, layout: fragment.layout()?, columns, length: length.into() })
    }

    /// The bits of an element's position in its line.
    fn along(&self) -> &[Bit] {
        if self.columns { &self.layout.row } else { &self.layout.column }
    }

    /// The bits of the line's number.
    fn line(&self) -> &[Bit] {
        if self.columns { &self.layout.column } else { &self.layout.row }
    }

    /// Whether what a register holds lies side by side.
    fn is_whole(&self) -> bool {
        let per = self.fragment.per_register();
        let places = (0..per.trailing_zeros()).map(Bit::Place);
        places.zip(self.along()).filter(|(place, bit)| place == *bit).count()
            == per.trailing_zeros() as usize
    }

    /// The positions of a register that are read one by one.
    fn accesses(&self) -> std::ops::Range<u32> {
        0..if self.is_whole() { 1 } else { self.fragment.per_register() as u32 }
    }

    /// What is read at once.
    fn access(&self) -> Scalar {
        match (self.is_whole(), self.fragment.bits) {
            (_, 64) => Scalar::B64,
            (false, 16) => Scalar::B16,
            (false, 8) => Scalar::B8,
            _ => Scalar::B32,
        }
    }

    /// The line, and the position in it, that an element of a register adds to those of the lane.
    fn at(&self, register: u32, place: u32) -> (u32, u32) {
        let (row, column, _) = self.layout.at(0, register, place);
        if self.columns { (column, row) } else { (row, column) }
    }
}
