//! Module-scope names, variables and their initial values.

use super::old::Dialect;
use super::size::{align, size};
use crate::ast::{self, Const, Init, Linkage};
use crate::error::{Error, Pos};
use crate::ir::{Function, Global, Module, Relocation, SharedVar, Symbol};
use crate::table::needs::Needs;
use crate::types::{Kind, Scalar, Space};
use std::collections::HashMap;

/// The module's names, and the rules of its PTX version.
pub(super) struct Declared<'a> {
    names: HashMap<&'a str, Symbol>,
    pub(super) dialect: Dialect,
    /// What its version and target lack.
    pub(super) needs: Needs,
    /// Module-scope registers, which functions receive from their callers and return.
    pub(super) registers: Vec<ast::Variable<'a>>,
}

impl<'a> Declared<'a> {
    pub(super) fn new(dialect: Dialect, module: &ast::Module<'a>) -> Result<Self, Error> {
        let needs = dialect.needs();
        let mut all = Declared { names: HashMap::new(), dialect, needs, registers: Vec::new() };
        for v in module.variables.iter().filter(|v| dialect.is_register(v)) {
            let found = u64::from(v.count.unwrap_or(1)) + all.registers.len() as u64;
            if found > MAX_SHARED_REGISTERS {
                let (what, limit) = ("the number of registers of the module", MAX_SHARED_REGISTERS);
                return Err(Error::TooLarge { pos: v.pos, what, found, limit });
            }
            all.registers.push(v.clone());
        }
        Ok(all)
    }

    /// Whether a function takes the module's registers and gives them back.
    pub(super) fn shares_registers(&self, f: &ast::Function<'_>) -> bool {
        !self.registers.is_empty() && !f.entry && f.linkage != Linkage::Extern
    }

    pub(super) fn get(&self, name: &str) -> Option<Symbol> {
        self.names.get(name).copied()
    }

    /// The functions with a body, and their numbers.
    pub(super) fn bodies<'m>(
        &self,
        module: &'m ast::Module<'a>,
    ) -> Vec<(u32, &'m ast::Function<'a>)> {
        let defined = module.functions.iter().filter(|f| f.body.is_some());
        defined
            .filter_map(|f| match self.get(f.name) {
                Some(Symbol::Function(i)) => Some((i, f)),
                _ => None,
            })
            .collect()
    }
}

/// Bound on the registers of a module.
const MAX_SHARED_REGISTERS: u64 = 1 << 12;

/// An initial value that is applied when all names are known.
pub(super) struct Pending<'a> {
    global: u32,
    ty: Scalar,
    init: Init<'a>,
    pos: Pos,
}

/// Gives every function its number, declarations and definitions alike.
pub(super) fn functions<'a>(
    module: &ast::Module<'a>,
    declared: &mut Declared<'a>,
    out: &mut Module,
) -> Result<(), Error> {
    let mut bodies: HashMap<&str, bool> = HashMap::new();
    for f in &module.functions {
        let again = bodies.entry(f.name).or_default();
        if *again && f.body.is_some() {
            return Err(Error::Redeclared { pos: f.pos, name: f.name.into() });
        }
        *again |= f.body.is_some();
        if declared.get(f.name).is_some() {
            continue;
        }
        declared.names.insert(f.name, Symbol::Function(out.functions.len() as u32));
        out.functions.push(super::function::declaration(f, declared)?);
    }
    for (new, _, pos) in &module.aliases {
        // An alias without its own declaration is declared by its target.
        if declared.get(new).is_none() {
            declared.names.insert(new, Symbol::Function(out.functions.len() as u32));
            out.functions.push(Function::empty(new, *pos));
        }
    }
    Ok(())
}

/// Takes in a variable of the module, or a static one of a function.
pub(super) fn variable<'a>(
    v: &ast::Variable<'a>,
    declared: &mut Declared<'a>,
    out: &mut Module,
    pending: &mut Vec<Pending<'a>>,
) -> Result<(), Error> {
    let symbol = storage(v, out, pending)?;
    match declared.names.insert(v.name, symbol) {
        // An `.extern` declaration is allowed beside the definition.
        Some(Symbol::Global(old)) if v.linkage == Linkage::Extern => {
            declared.names.insert(v.name, Symbol::Global(old));
            Ok(())
        }
        Some(Symbol::Global(old)) if out.globals[old as usize].linkage == Linkage::Extern => Ok(()),
        Some(Symbol::Shared(_)) | None => Ok(()),
        Some(_) => Err(Error::Redeclared { pos: v.pos, name: v.name.into() }),
    }
}

/// Makes room for a global, constant or shared variable.
pub(super) fn storage<'a>(
    v: &ast::Variable<'a>,
    out: &mut Module,
    pending: &mut Vec<Pending<'a>>,
) -> Result<Symbol, Error> {
    let mut size = size(v)?;
    match v.space {
        Space::Shared => {
            // ptxas ignores `.extern` where the size is known (seen with 11.8, 12.4 and 13.5), and Taichi's kernels rely on it.
            let dynamic = v.dims.contains(&None) || v.linkage == Linkage::Extern && size == 0;
            let size = if dynamic { 0 } else { size };
            out.shared.push(SharedVar { name: v.name.into(), size, align: align(v), dynamic });
            Ok(Symbol::Shared(out.shared.len() as u32 - 1))
        }
        Space::Global | Space::Const | Space::Tex => {
            if let (Some(Init::List(list)), true) = (&v.init, v.dims.contains(&None)) {
                size = u64::from(v.ty.bytes()) * u64::from(v.vector) * list.len() as u64;
            }
            let global = out.globals.len() as u32;
            let space = if v.space == Space::Const { Space::Const } else { Space::Global };
            out.globals.push(Global {
                name: v.name.into(),
                space,
                linkage: v.linkage,
                size,
                align: align(v),
                managed: v.managed,
                reference: v.ty.kind() == Kind::Opaque,
                bytes: Vec::new(),
                relocations: Vec::new(),
            });
            if let Some(init) = &v.init
                && v.ty.kind() != Kind::Opaque
            {
                pending.push(Pending { global, ty: v.ty, init: init.clone(), pos: v.pos });
            }
            Ok(Symbol::Global(global))
        }
        space => Err(Error::Syntax {
            pos: v.pos,
            found: format!("a variable in .{}", space.name()),
            expected: "`.global`, `.const` or `.shared`".into(),
        }),
    }
}

impl Pending<'_> {
    pub(super) fn apply(self, declared: &Declared<'_>, out: &mut Module) -> Result<(), Error> {
        let size = out.globals[self.global as usize].size;
        let mut bytes = Vec::new();
        let mut relocations = Vec::new();
        self.flatten(&self.init, declared, size, &mut bytes, &mut relocations)?;
        let global = &mut out.globals[self.global as usize];
        global.bytes = bytes;
        global.relocations = relocations;
        Ok(())
    }

    /// Rows of an array follow one another, so nesting says nothing but where
    /// a row that is not full ends; compilers write rows in full.
    fn flatten(
        &self,
        init: &Init<'_>,
        declared: &Declared<'_>,
        size: u64,
        bytes: &mut Vec<u8>,
        relocations: &mut Vec<Relocation>,
    ) -> Result<(), Error> {
        let width = self.ty.bytes() as usize;
        let (value, at) = match init {
            Init::List(list) => {
                for i in list {
                    self.flatten(i, declared, size, bytes, relocations)?;
                }
                return Ok(());
            }
            Init::Value(c) => (constant(*c, self.ty), self.pos),
            Init::Address { name, addend, mask, pos, .. } => {
                let Some(target) = declared.get(name) else {
                    let (name, expected) = (name.to_string(), "a variable or function");
                    return Err(Error::Undeclared { pos: *pos, name, expected });
                };
                relocations.push(Relocation {
                    offset: bytes.len() as u64,
                    width: width as u32,
                    target,
                    addend: *addend,
                    mask: *mask,
                });
                (Some(0), *pos)
            }
        };
        let Some(value) = value else {
            return Err(Error::Syntax {
                pos: at,
                found: "a floating-point number".into(),
                expected: format!("a value of type .{}", self.ty.name()),
            });
        };
        let mut raw = [0u8; 16];
        raw[..8].copy_from_slice(&value.to_le_bytes());
        bytes.extend_from_slice(&raw[..width.min(16)]);
        if bytes.len() as u64 > size {
            return Err(Error::TooLarge {
                pos: at,
                what: "the initial value in bytes",
                found: bytes.len() as u64,
                limit: size,
            });
        }
        Ok(())
    }
}

/// The bits of a constant in a type; `None` for a float in an integer's place.
pub(super) fn constant(c: Const, ty: Scalar) -> Option<u64> {
    Some(match (c, ty) {
        (Const::Int { value, .. }, Scalar::F64) => (value as i64 as f64).to_bits(),
        (Const::Int { value, .. }, Scalar::F32) => u64::from((value as i64 as f32).to_bits()),
        (Const::Int { value, .. }, _) => value,
        (Const::F32(v), Scalar::F64) => f64::from(f32::from_bits(v)).to_bits(),
        (Const::F64(v), Scalar::F32) => u64::from((f64::from_bits(v) as f32).to_bits()),
        (Const::F32(v), Scalar::F32 | Scalar::B32) => u64::from(v),
        (Const::F64(v), Scalar::F64 | Scalar::B64) => v,
        (Const::F32(_) | Const::F64(_), Scalar::F16 | Scalar::Bf16) => {
            let v = match c {
                Const::F32(v) => f64::from(f32::from_bits(v)),
                Const::F64(v) => f64::from_bits(v),
                Const::Int { .. } => return None,
            };
            let format = if ty == Scalar::F16 {
                crate::soft::Format::F16
            } else {
                crate::soft::Format::BF16
            };
            let wide = crate::soft::Format::F64;
            crate::soft::convert(v.to_bits(), wide, format, crate::soft::Round::Nearest)
        }
        _ => return None,
    })
}
