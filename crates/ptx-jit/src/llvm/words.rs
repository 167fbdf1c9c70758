//! Wide loads: a vector of words per lane, and a transposition.
//!
//! Owns their code, and where their words are until the loads that they stand for. Must not know which loads those are
//! ([`super::wide`]).

use super::emitter::{Emit, LANES, Refused, Val};
use super::lookup::line;
use super::pieces::joined;
use super::wide::{WORD, Wide};
use crate::simt::plan::shape::Class;
use crate::warp::INTERFACE;
use cushim_ptx::ir::Inst;
use cushim_translate::llvm::Type;

impl Emit<'_> {
    /// The number of a wide load among those of the region's checks.
    fn holds_number(&self, n: usize) -> usize {
        self.groups.all.len() + n
    }

    fn word_name(&self, n: usize, k: u32) -> String {
        format!("%w{}n{n}k{k}", self.region)
    }

    /// Declares what the region's wide loads give.
    pub(super) fn declare_wides(&mut self) {
        for (n, wide) in self.wides.all.clone().into_iter().enumerate() {
            for k in 0..wide.count {
                let name = self.word_name(n, k);
                self.b.variable(&format!("{name} = alloca <32 x i32>"));
            }
        }
    }

    /// Does wide load `n`, if all lanes are in range.
    pub(super) fn load_wide(&mut self, n: usize, wide: &Wide) {
        let Wide { register, shared, low, count, .. } = *wide;
        let class = self.class(register);
        let bits = if class == Class::Wide || !shared { 64 } else { 32 };
        let v = self.raw(register);
        let v = self.lanes(&v, bits);
        let index = self.vector().with("add", v, low as i128 as u128);
        let act = self.act;
        let index = self.fill_inactive(index, act);
        let holds = self.all_in_range(index, shared, count * WORD as u32, WORD as u32);
        let next = self.label();
        if self.full {
            self.leave_unless(holds);
        } else {
            let number = self.holds_number(n);
            self.set_holds(number, holds);
            let here = self.label();
            self.branch(holds, &here, &next);
            self.b.label(&here);
        }
        let base = match shared {
            true => self.constant_pointer(INTERFACE.warp.shared),
            false => "null".to_owned(),
        };
        let p = self.pointers(&base, index, 0);
        let b = self.vector();
        let one = |lane: u32| {
            let p = line(b, &format!("extractelement <32 x ptr> {p}, i32 {lane}"));
            line(b, &format!("load <{count} x i32>, ptr {p}, align {WORD}"))
        };
        let parts = (0..LANES).map(one).collect();
        let all = joined(self.vector(), 32, (count, LANES * count), parts);
        for k in 0..count {
            let order: Vec<String> = (0..LANES).map(|l| format!("i32 {}", l * count + k)).collect();
            let ty = format!("<{} x i32>", LANES * count);
            let name = self.word_name(n, k);
            let b = self.vector();
            let order = order.join(", ");
            let v = line(
                b,
                &format!("shufflevector {ty} {all}, {ty} poison, <{LANES} x i32> <{order}>"),
            );
            b.line(&format!("store <32 x i32> {v}, ptr {name}"));
        }
        if !self.full {
            self.jump(&next);
            self.b.label(&next);
        }
    }

    /// The current load, if a wide load has done it.
    pub(super) fn loaded_wide(&mut self, inst: &Inst) -> Option<Result<(), Refused>> {
        let (n, k) = self.wides.of(self.at)?;
        let take = |e: &mut Self| {
            let name = e.word_name(n, k);
            let v = e.vector().result(Type::Int(32), &format!("load <32 x i32>, ptr {name}"));
            if e.is_kept(inst) {
                e.keep_alive(v);
            }
            let to = if e.results(inst)[0] == Class::Wide { 64 } else { 32 };
            let v = e.vector().extended(v, to, inst.sem.ty().is_signed());
            e.set(inst.dst[0], Val::Lanes(v))
        };
        if self.full {
            return Some(take(self));
        }
        let name = self.holds_name(self.holds_number(n));
        let holds = self.scalar().result(Type::Int(1), &format!("load i1, ptr {name}"));
        Some(self.quick_or(holds, &mut |e| take(e), &mut |e| e.load_usual(inst)))
    }
}
