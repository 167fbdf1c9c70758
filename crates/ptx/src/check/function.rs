//! Bodies of kernels and functions: declarations, scopes, labels.

use super::globals::{Declared, Pending, storage};
use super::scope::{Entity, Scopes};
use super::size::{MAX_LOCAL, align, align_up, size};
use crate::ast::{self, Linkage, Statement};
use crate::error::{Error, Pos};
use crate::ir::{self, Function, Inst, Module, Param, Place, Register, Src, Symbol};
use crate::sem::{Control, Operation};
use crate::types::{Scalar, Space};

/// Bound on the registers of one function.
const MAX_REGISTERS: u64 = 1 << 20;
/// Alignment of a function's local memory, in bytes.
const FRAME_ALIGN: u32 = 64;

impl Function {
    pub(super) fn empty(name: &str, pos: Pos) -> Function {
        Function {
            name: name.into(),
            pos,
            entry: false,
            linkage: Linkage::Extern,
            defined: false,
            params: Vec::new(),
            params_size: 0,
            returns: Vec::new(),
            registers: Vec::new(),
            local_size: 0,
            variables: Vec::new(),
            locals: Vec::new(),
            code: Vec::new(),
            block_of: Vec::new(),
            blocks: Vec::new(),
            shared_used: Vec::new(),
            callees: Vec::new(),
            calls_indirectly: false,
            refusals: Vec::new(),
            directives: Vec::new(),
        }
    }
}

/// What the head of a function says.
pub(super) fn declaration(
    f: &ast::Function<'_>,
    declared: &Declared<'_>,
) -> Result<Function, Error> {
    let mut out = Function::empty(f.name, f.pos);
    out.entry = f.entry;
    out.linkage = f.linkage;
    out.directives = f.directives.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let mut at = 0u64;
    for v in &f.returns {
        out.returns.push(parameter(v, &mut at, &mut out.registers)?);
    }
    if f.entry {
        at = 0;
    }
    for v in declared.dialect.parameters(f) {
        out.params.push(parameter(v, &mut at, &mut out.registers)?);
    }
    if declared.shares_registers(f) {
        for v in &declared.registers {
            for _ in 0..v.count.unwrap_or(v.vector) {
                let one = parameter(v, &mut at, &mut out.registers)?;
                out.returns.push(one.clone());
                out.params.push(one);
            }
        }
    }
    if f.entry {
        out.params_size = at as u32;
    } else {
        out.local_size = at as u32;
    }
    Ok(out)
}

fn parameter(
    v: &ast::Variable<'_>,
    at: &mut u64,
    registers: &mut Vec<Register>,
) -> Result<Param, Error> {
    let (size, align) = (size(v)?, align(v));
    let place = if v.space == Space::Reg {
        registers.push(v.ty);
        Place::Register(registers.len() as u32 - 1)
    } else {
        *at = align_up(*at, align);
        let offset = *at;
        *at += size;
        if *at > MAX_LOCAL {
            return Err(Error::TooLarge {
                pos: v.pos,
                what: "the size of the parameters",
                found: *at,
                limit: MAX_LOCAL,
            });
        }
        Place::Memory(offset as u32)
    };
    Ok(Param { name: v.name.into(), ty: v.ty, size: size as u32, align, place })
}

/// Checks a body.
pub(super) fn function<'a>(
    f: &ast::Function<'a>,
    declared: &mut Declared<'a>,
    out: &mut Module,
    pending: &mut Vec<Pending<'a>>,
) -> Result<Function, Error> {
    let head = declaration(f, declared)?;
    let local = u64::from(head.local_size);
    let mut lower = Lower {
        out: head,
        declared,
        module: out,
        pending,
        scopes: Scopes::default(),
        labels: Vec::new(),
        targets: Vec::new(),
        prototypes: Vec::new(),
        local,
        local_max: local,
        carry: None,
        has_wide: false,
    };
    lower.scopes.push();
    lower.module_registers(f)?;
    lower.scopes.push();
    let (returns, params) = (&lower.out.returns, &lower.out.params);
    let given = lower.declared.dialect.parameters(f);
    let places: Vec<_> = returns[..f.returns.len()].iter().chain(params).cloned().collect();
    for (v, p) in f.returns.iter().chain(given).zip(places) {
        let entity = match p.place {
            Place::Register(first) => Entity::Reg { first, ty: v.ty, vector: 1 },
            Place::Memory(offset) if f.entry => Entity::Param { offset },
            Place::Memory(offset) => Entity::Local { offset, size: p.size },
        };
        if v.name != "_" && !lower.scopes.declare(v.name, entity) {
            return Err(Error::Redeclared { pos: v.pos, name: v.name.into() });
        }
    }
    lower.body(f.body.as_deref().unwrap_or(&[]))?;
    lower.finish(f.pos)
}

/// A body being checked.
pub(super) struct Lower<'a, 'm> {
    pub(super) out: Function,
    pub(super) declared: &'m mut Declared<'a>,
    pub(super) module: &'m mut Module,
    pending: &'m mut Vec<Pending<'a>>,
    pub(super) scopes: Scopes<'a>,
    /// Label number -> instruction.
    labels: Vec<u32>,
    /// Lists of branch targets, as label numbers.
    pub(super) targets: Vec<Vec<u32>>,
    /// Prototypes: how many results and parameters.
    pub(super) prototypes: Vec<(usize, usize)>,
    local: u64,
    local_max: u64,
    /// The register of the carry flag, once it is used.
    pub(super) carry: Option<u32>,
    /// It declares registers of 128 bits.
    pub(super) has_wide: bool,
}

impl<'a> Lower<'a, '_> {
    /// Declares the registers of the module: those that the caller gave, or a kernel's own.
    fn module_registers(&mut self, f: &ast::Function<'a>) -> Result<(), Error> {
        let shared = self.declared.shares_registers(f);
        let all = self.declared.registers.clone();
        let count: u32 = all.iter().map(|v| v.count.unwrap_or(v.vector)).sum();
        let mut first = if shared {
            let own = self.out.params.len() - count as usize;
            match self.out.params.get(own).map(|p| p.place) {
                Some(Place::Register(r)) => r,
                _ => 0,
            }
        } else {
            self.out.registers.len() as u32
        };
        for v in all {
            let n = v.count.unwrap_or(v.vector);
            if !shared {
                self.register(v.ty, n.into(), v.pos)?;
            }
            let done = match v.count {
                Some(_) => self.scopes.declare_range(v.name, n, first, v.ty),
                None => {
                    let entity = Entity::Reg { first, ty: v.ty, vector: v.vector };
                    self.scopes.declare(v.name, entity)
                }
            };
            if !done {
                return Err(Error::Redeclared { pos: v.pos, name: v.name.into() });
            }
            first += n;
        }
        Ok(())
    }

    fn body(&mut self, statements: &[Statement<'a>]) -> Result<(), Error> {
        self.scopes.push();
        let local = self.local;
        let declared = self.out.variables.len();
        self.scan(statements)?;
        for s in statements {
            match s {
                Statement::Variable(v) => self.variable(v)?,
                Statement::Label(name, _) => {
                    if let Some(Entity::Label(n)) = self.scopes.get(name) {
                        self.labels[n as usize] = self.out.code.len() as u32;
                    }
                }
                Statement::Block(inner) => self.body(inner)?,
                Statement::Instruction(i) => self.instruction(i)?,
                _ => {}
            }
        }
        // What an inner scope declared is gone with it.
        self.local = local;
        let (end, names) = (self.out.code.len() as u32, &mut self.out.variables[declared..]);
        names.iter_mut().for_each(|v| v.scope.1 = v.scope.1.min(end));
        self.scopes.pop();
        Ok(())
    }

    /// Labels may be used before they come: declares those of one scope.
    fn scan(&mut self, statements: &[Statement<'a>]) -> Result<(), Error> {
        for s in statements {
            let (name, pos, entity) = match s {
                Statement::Label(name, pos) => {
                    self.labels.push(0);
                    (name, pos, Entity::Label(self.labels.len() as u32 - 1))
                }
                Statement::BranchTargets(name, _, pos) => {
                    self.targets.push(Vec::new());
                    (name, pos, Entity::Targets(self.targets.len() as u32 - 1))
                }
                Statement::CallTargets(name, list, pos) => {
                    let mut shape = (0, 0);
                    for callee in list {
                        let Some(Symbol::Function(f)) = self.declared.get(callee) else {
                            let (name, expected) = (callee.to_string(), "a function");
                            return Err(Error::Undeclared { pos: *pos, name, expected });
                        };
                        let f = &self.module.functions[f as usize];
                        shape = (f.returns.len(), f.params.len());
                    }
                    self.prototypes.push(shape);
                    (name, pos, Entity::Prototype(self.prototypes.len() as u32 - 1))
                }
                Statement::Prototype(p) => {
                    self.prototypes.push((p.returns.len(), p.params.len()));
                    (&p.name, &p.pos, Entity::Prototype(self.prototypes.len() as u32 - 1))
                }
                _ => continue,
            };
            if !self.scopes.declare(name, entity) {
                return Err(Error::Redeclared { pos: *pos, name: name.to_string() });
            }
        }
        for s in statements {
            let Statement::BranchTargets(name, list, pos) = s else { continue };
            let labels = list.iter().map(|l| self.label(l, *pos)).collect::<Result<_, _>>()?;
            if let Some(Entity::Targets(n)) = self.scopes.get(name) {
                self.targets[n as usize] = labels;
            }
        }
        Ok(())
    }

    pub(super) fn label(&self, name: &str, pos: Pos) -> Result<u32, Error> {
        match self.scopes.get(name) {
            Some(Entity::Label(n)) => Ok(n),
            _ => Err(Error::Undeclared { pos, name: name.into(), expected: "a label" }),
        }
    }

    pub(super) fn register(&mut self, ty: Scalar, count: u64, pos: Pos) -> Result<u32, Error> {
        let first = self.out.registers.len() as u64;
        let found = first + count;
        if found > MAX_REGISTERS {
            let what = "the number of registers";
            return Err(Error::TooLarge { pos, what, found, limit: MAX_REGISTERS });
        }
        self.out.registers.resize(found as usize, ty);
        Ok(first as u32)
    }

    fn variable(&mut self, v: &ast::Variable<'a>) -> Result<(), Error> {
        if self.declared.dialect.is_parameter(self.out.entry, v) {
            return Ok(());
        }
        let entity = match v.space {
            Space::Reg if v.ty == Scalar::B128 && v.vector == 1 => {
                self.has_wide = true;
                let count = v.count.unwrap_or(1);
                let first = self.register(Scalar::B64, 2 * u64::from(count), v.pos)?;
                if v.count.is_none() {
                    Entity::Wide { first }
                } else if self.scopes.declare_range(v.name, count, first, v.ty) {
                    return Ok(());
                } else {
                    return Err(Error::Redeclared { pos: v.pos, name: v.name.into() });
                }
            }
            Space::Reg => {
                if let Some(count) = v.count {
                    let first = self.register(v.ty, count.into(), v.pos)?;
                    if !self.scopes.declare_range(v.name, count, first, v.ty) {
                        return Err(Error::Redeclared { pos: v.pos, name: v.name.into() });
                    }
                    return Ok(());
                }
                let first = self.register(v.ty, v.vector.into(), v.pos)?;
                Entity::Reg { first, ty: v.ty, vector: v.vector }
            }
            Space::Local | Space::Param => {
                let size = size(v)?;
                let offset = align_up(self.local, align(v).min(FRAME_ALIGN));
                self.local = offset.saturating_add(size);
                if self.local > MAX_LOCAL {
                    return Err(Error::TooLarge {
                        pos: v.pos,
                        what: "the size of local memory",
                        found: self.local,
                        limit: MAX_LOCAL,
                    });
                }
                self.local_max = self.local_max.max(self.local);
                let (offset, size) = (offset as u32, size as u32);
                if v.space == Space::Local {
                    self.out.locals.push(ir::Local { name: v.name.into(), offset, size });
                } else {
                    let scope = (self.out.code.len() as u32, u32::MAX);
                    self.out.variables.push(ir::Variable { offset, size, scope });
                }
                Entity::Local { offset, size }
            }
            _ => {
                let symbol = storage(v, self.module, self.pending)?;
                Entity::Symbol(symbol)
            }
        };
        if self.scopes.declare(v.name, entity) {
            Ok(())
        } else {
            Err(Error::Redeclared { pos: v.pos, name: v.name.into() })
        }
    }

    fn finish(mut self, pos: Pos) -> Result<Function, Error> {
        // A body may simply end.
        let back = Operation::Control(Control::Return);
        self.out.code.push(Inst::new(back, pos));
        let f = &mut self.out;
        f.defined = true;
        f.local_size = (self.local_max as u32).next_multiple_of(FRAME_ALIGN);
        for inst in &mut f.code {
            for src in &mut inst.src {
                match src {
                    Src::Target(label) => *label = self.labels[*label as usize],
                    Src::Targets(list) => {
                        list.iter_mut().for_each(|l| *l = self.labels[*l as usize]);
                    }
                    _ => {}
                }
            }
        }
        f.shared_used.sort_unstable();
        f.shared_used.dedup();
        f.callees.sort_unstable();
        f.callees.dedup();
        f.find_blocks();
        Ok(self.out)
    }
}
