//! The products of a function and their uses.
//!
//! A product is followed through copies and changes of sign inside its region. Each use is a sum that could fuse it,
//! or something else, which counts as an escape: the product's value is then needed by itself.

use super::regions::Regions;
use super::terms::{flushes, is_product, is_sum};
use super::usage;
use crate::ir::{Base, Dst, Function, Inst, Src, Symbol};
use crate::sem::{FloatOp, Operation};
use crate::types::Scalar;

/// A product.
pub(super) struct Product {
    /// The `mul`, and its region.
    pub mul: u32,
    region: u32,
    /// A factor is a constant or a parameter: sums of other regions may take it in, too.
    lasting: bool,
    /// Sums that have it as an operand.
    pub uses: u32,
    /// Other uses.
    pub escapes: u32,
    /// Its factors and their values' versions, in canonical order: equal for equal products.
    pub key: [(u8, u64, u32); 2],
    /// Copies of it, and changes of its sign.
    pub copies: Vec<u32>,
}

/// The product that a register holds at some point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Meant {
    /// Which.
    pub product: u32,
    /// With the other sign.
    pub negated: bool,
}

/// A sum that could take in a product, or one of two.
pub(super) struct Sum {
    /// The `add` or `sub`.
    pub at: u32,
    /// Its operands as products.
    pub operands: [Option<Meant>; 2],
    /// For each operand, which of its factors still have their values in their registers here.
    pub fresh: [[bool; 2]; 2],
    /// The operand to fuse.
    pub fused: Option<usize>,
}

/// What a register holds.
#[derive(Clone, Copy)]
enum Held {
    One(Meant),
    /// Several values side by side: a number of [`Walk::packs`].
    Pack(u32),
    /// The low or the high half of one.
    Half(Meant, usize),
}

/// A product in a register where its region ends.
struct Left {
    region: u32,
    register: u32,
    product: u32,
}

/// What was found in a function.
pub(super) struct Found {
    pub products: Vec<Product>,
    /// The sums; those of a region are consecutive, in execution order.
    pub sums: Vec<Sum>,
    left: Vec<Left>,
}

impl Found {
    pub(super) fn of(f: &Function, regions: &Regions, dead: &[bool]) -> Found {
        let times = times(f, dead);
        let mut walk = Walk {
            f,
            region: 0,
            found: Found { products: Vec::new(), sums: Vec::new(), left: Vec::new() },
            held: vec![None; f.registers.len()],
            holders: Vec::new(),
            packs: Vec::new(),
            versions: vec![0; f.registers.len()],
            constants: constants(f, &times, dead),
            uniform: uniform(f, &times, dead),
            lasting: vec![false; f.registers.len()],
            seen: vec![false; f.registers.len()],
            times,
        };
        for (region, code) in regions.code.iter().enumerate() {
            walk.region = region as u32;
            for n in code {
                match dead[*n as usize] {
                    false => walk.step(*n),
                    // It is no use, but runs all the same.
                    true => usage::writes(&f.code[*n as usize], |r| walk.versions[r as usize] += 1),
                }
            }
            walk.end();
        }
        walk.found
    }

    /// Registers that hold products at the end of regions: the region, the register.
    pub(super) fn pending(&self) -> Vec<(u32, u32)> {
        self.left.iter().map(|l| (l.region, l.register)).collect()
    }

    /// Takes the answers to [`Found::pending`]: a product that is live there is needed by itself.
    pub(super) fn escape(&mut self, live: &[bool]) {
        for (left, _) in self.left.iter().zip(live).filter(|(_, live)| **live) {
            self.products[left.product as usize].escapes += 1;
        }
    }
}

/// How many instructions write each register, dead ones left out.
fn times(f: &Function, dead: &[bool]) -> Vec<u32> {
    let mut times = vec![0u32; f.registers.len()];
    for (inst, _) in f.code.iter().zip(dead).filter(|(_, dead)| !**dead) {
        usage::writes(inst, |r| times[r as usize] += 1);
    }
    times
}

/// Registers that hold a parameter of the kernel or a constant in memory, and nothing else.
fn uniform(f: &Function, times: &[u32], dead: &[bool]) -> Vec<bool> {
    let mut uniform = vec![false; f.registers.len()];
    let live = f.code.iter().zip(dead).filter(|(_, dead)| !**dead).map(|(inst, _)| inst);
    for inst in live.filter(|i| i.guard.is_none()) {
        let same = match (inst.sem, inst.src.first()) {
            (Operation::Move(_), Some(Src::Reg(r))) => inst.src.len() == 1 && uniform[*r as usize],
            (Operation::Load(_), Some(Src::Memory(Base::Symbol(Symbol::Param(_)), _))) => f.entry,
            (Operation::Load(a), Some(Src::Memory(Base::Symbol(_), _))) => a.constant,
            _ => false,
        };
        usage::writes(inst, |r| uniform[r as usize] = same && times[r as usize] == 1);
    }
    uniform
}

/// The value of each register that only one `mov` of a constant writes.
fn constants(f: &Function, times: &[u32], dead: &[bool]) -> Vec<Option<u64>> {
    let mut values = vec![None; f.registers.len()];
    for (inst, _) in f.code.iter().zip(dead).filter(|(_, dead)| !**dead) {
        if let (Operation::Move(_), None, [Dst::Reg(r, _)], [Src::Imm(v)]) =
            (inst.sem, inst.guard, inst.dst.as_slice(), inst.src.as_slice())
        {
            values[*r as usize] = Some(*v);
        }
    }
    values.iter().zip(times).map(|(v, n)| v.filter(|_| *n == 1)).collect()
}

/// The number one.
fn one(ty: Scalar) -> Option<u64> {
    match ty {
        Scalar::F32 => Some(1f32.to_bits().into()),
        Scalar::F64 => Some(1f64.to_bits()),
        _ => None,
    }
}

struct Walk<'f> {
    f: &'f Function,
    /// The region in progress.
    region: u32,
    found: Found,
    held: Vec<Option<Held>>,
    /// Registers that hold something, or did.
    holders: Vec<u32>,
    packs: Vec<Vec<Option<Meant>>>,
    /// How often each register was written.
    versions: Vec<u32>,
    constants: Vec<Option<u64>>,
    uniform: Vec<bool>,
    /// Registers whose product is valid in every region: it has one value and a constant or a parameter.
    lasting: Vec<bool>,
    /// Registers that were read.
    seen: Vec<bool>,
    /// How many instructions write each register.
    times: Vec<u32>,
}

impl Walk<'_> {
    fn step(&mut self, n: u32) {
        let inst = &self.f.code[n as usize];
        usage::reads(inst, |r| self.seen[r as usize] = true);
        let given = match inst.guard {
            None => self.copied(inst, n),
            Some(_) => None,
        };
        let new = match given {
            Some(given) => given,
            None if is_sum(inst) => {
                self.sum(inst, n);
                Vec::new()
            }
            None => {
                usage::reads(inst, |r| {
                    escape(&mut self.found.products, &self.packs, self.held[r as usize])
                });
                self.product(inst, n).into_iter().map(|m| Some(Held::One(m))).collect()
            }
        };
        let mut new = new.into_iter();
        usage::writes(inst, |r| {
            let place = &mut self.held[r as usize];
            // If the guard is false, the old value stays; it continues under this name.
            if inst.guard.is_some() {
                escape(&mut self.found.products, &self.packs, *place);
            }
            *place = new.next().flatten();
            if let Some(Held::One(m)) = place {
                let product = &self.found.products[m.product as usize];
                let once = self.times[r as usize] == 1 && !self.seen[r as usize];
                self.lasting[r as usize] = product.lasting && once;
            }
            if place.is_some() && !self.lasting[r as usize] {
                self.holders.push(r);
            }
            self.versions[r as usize] += 1;
        });
    }

    fn meant(&self, src: &Src) -> Option<Meant> {
        match src {
            Src::Reg(r) => match self.held[*r as usize] {
                Some(Held::One(m)) => Some(m),
                _ => None,
            },
            _ => None,
        }
    }

    fn constant(&self, src: &Src) -> Option<u64> {
        match src {
            Src::Imm(v) => Some(*v),
            Src::Reg(r) => self.constants[*r as usize],
            _ => None,
        }
    }

    /// What the results hold, if the instruction moves products or changes their sign.
    fn copied(&mut self, inst: &Inst, n: u32) -> Option<Vec<Option<Held>>> {
        let ty = inst.sem.ty();
        if inst.sem.is_move() {
            return self.moved(inst, n);
        }
        let (from, negated) = match (inst.sem, inst.src.as_slice()) {
            (Operation::Float(f), [from]) if f.op == FloatOp::Neg => (from, true),
            (Operation::Float(_), [a, b]) if is_product(inst) => {
                let sign = 1u64 << (ty.bits() - 1);
                let (from, factor) = match (self.constant(a), self.constant(b)) {
                    (None, Some(v)) => (a, v),
                    (Some(v), None) => (b, v),
                    _ => return None,
                };
                match one(ty) {
                    Some(one) if factor & !sign == one => (from, factor & sign != 0),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let Some(m) = self.meant(from) else {
            // One times something is that, and no product.
            return is_product(inst).then(Vec::new);
        };
        let mul = &self.f.code[self.found.products[m.product as usize].mul as usize];
        // What flushes more than the product is no mere change of sign; nor is it any of `.bf16`, or one of `.f16`
        // with `.ftz`.
        let flushed = flushes(inst);
        let sign = match ty {
            Scalar::Bf16x2 => false,
            Scalar::F16 | Scalar::F16x2 => !flushed,
            _ => flushes(mul) || !flushed,
        };
        let fits = mul.sem.ty() == ty && sign;
        fits.then(|| {
            self.found.products[m.product as usize].copies.push(n);
            vec![Some(Held::One(Meant { product: m.product, negated: m.negated ^ negated }))]
        })
    }

    /// `mov`, also of several values into one register and back.
    fn moved(&mut self, inst: &Inst, n: u32) -> Option<Vec<Option<Held>>> {
        let held = |src: &Src| match src {
            Src::Reg(r) => self.held[*r as usize],
            _ => None,
        };
        match (inst.dst.len(), inst.src.as_slice()) {
            (1, [from]) => {
                let held = held(from)?;
                if let Held::One(m) | Held::Half(m, _) = held {
                    self.found.products[m.product as usize].copies.push(n);
                }
                Some(vec![Some(held)])
            }
            (1, [low, high])
                if let (Some(Held::Half(a, 0)), Some(Held::Half(b, 1))) =
                    (held(low), held(high))
                    && a == b =>
            {
                self.found.products[a.product as usize].copies.push(n);
                Some(vec![Some(Held::One(a))])
            }
            (1, parts) => {
                let parts: Vec<_> = parts.iter().map(|p| self.meant(p)).collect();
                parts.iter().any(Option::is_some).then(|| {
                    self.packs.push(parts);
                    vec![Some(Held::Pack(self.packs.len() as u32 - 1))]
                })
            }
            (count, [from]) => match held(from)? {
                Held::Pack(p) if self.packs[p as usize].len() == count => {
                    Some(self.packs[p as usize].iter().map(|m| m.map(Held::One)).collect())
                }
                // Put together again it is the same number.
                Held::One(m) if count == 2 && inst.sem.ty().bits() == 64 => {
                    self.found.products[m.product as usize].copies.push(n);
                    Some((0..2).map(|k| Some(Held::Half(m, k))).collect())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// A new product.
    fn product(&mut self, inst: &Inst, n: u32) -> Option<Meant> {
        let [a, b] = inst.src.as_slice() else { return None };
        // A product of constants is a constant.
        if !is_product(inst) || self.constant(a).is_some() && self.constant(b).is_some() {
            return None;
        }
        let part = |src: &Src| match src {
            Src::Reg(r) => Some((0, u64::from(*r), self.versions[*r as usize])),
            Src::Imm(v) => Some((1, *v, 0)),
            _ => None,
        };
        let mut key = [part(a)?, part(b)?];
        key.sort_unstable();
        let fixed = |src: &Src| match src {
            Src::Reg(r) => self.constants[*r as usize].is_some() || self.uniform[*r as usize],
            _ => true,
        };
        let lasting = fixed(a) || fixed(b);
        let (region, copies) = (self.region, Vec::new());
        self.found.products.push(Product {
            mul: n,
            region,
            lasting,
            uses: 0,
            escapes: 0,
            key,
            copies,
        });
        Some(Meant { product: self.found.products.len() as u32 - 1, negated: false })
    }

    /// A sum: its operands that are products of the same type and treatment of subnormals.
    fn sum(&mut self, inst: &Inst, n: u32) {
        let mut sum = Sum { at: n, operands: [None; 2], fresh: [[false; 2]; 2], fused: None };
        for (k, src) in inst.src.iter().take(2).enumerate() {
            let Src::Reg(r) = src else { continue };
            let fits = self.meant(src).filter(|m| {
                let mul = &self.f.code[self.found.products[m.product as usize].mul as usize];
                mul.sem.ty() == inst.sem.ty() && flushes(mul) == flushes(inst)
            });
            match fits {
                Some(m) => {
                    let product = &mut self.found.products[m.product as usize];
                    product.uses += 1;
                    sum.operands[k] = Some(m);
                    let mul = &self.f.code[product.mul as usize];
                    for (fresh, factor) in sum.fresh[k].iter_mut().zip(&mul.src) {
                        *fresh =
                            is_fresh(&self.versions, &self.uniform, product, self.region, factor);
                    }
                }
                None => escape(&mut self.found.products, &self.packs, self.held[*r as usize]),
            }
        }
        // A product added to itself is needed by itself.
        if let [Some(a), Some(b)] = sum.operands
            && a.product == b.product
        {
            self.found.products[a.product as usize].escapes += 1;
        }
        if sum.operands.iter().any(Option::is_some) {
            self.found.sums.push(sum);
        }
    }

    fn end(&mut self) {
        let region = self.region;
        let mut holders = std::mem::take(&mut self.holders);
        holders.sort_unstable();
        holders.dedup();
        for register in holders.drain(..) {
            let left = |m: Meant| Left { region, register, product: m.product };
            match self.held[register as usize].take() {
                Some(Held::One(m) | Held::Half(m, _)) => self.found.left.push(left(m)),
                Some(Held::Pack(p)) => {
                    let parts = self.packs[p as usize].iter().flatten();
                    self.found.left.extend(parts.map(|m| left(*m)));
                }
                None => {}
            }
        }
        self.holders = holders;
        self.packs.clear();
    }
}

/// Whether a factor's register still holds the value that the product took.
fn is_fresh(
    versions: &[u32],
    uniform: &[bool],
    product: &Product,
    region: u32,
    factor: &Src,
) -> bool {
    let Src::Reg(r) = factor else { return true };
    let same = product.key.contains(&(0, u64::from(*r), versions[*r as usize]));
    uniform[*r as usize] || same && product.region == region
}

/// Something that is no sum uses the held product.
fn escape(products: &mut [Product], packs: &[Vec<Option<Meant>>], held: Option<Held>) {
    match held {
        Some(Held::One(m) | Held::Half(m, _)) => products[m.product as usize].escapes += 1,
        Some(Held::Pack(p)) => {
            for m in packs[p as usize].iter().flatten() {
                products[m.product as usize].escapes += 1;
            }
        }
        None => {}
    }
}
