//! The memory layout of a module's variables.
//!
//! Owns the offsets of shared variables in a block's memory and the initial bytes of global ones. Must not know where
//! that memory is.

use super::address::function_pointer;
use crate::ir::{Module, Symbol};

/// What dynamic shared memory is aligned to at least, whatever its declaration says (ptxas 11.8 to 13.5). Programs rely on
/// it: gpu4pyscf has doubles in what it declares as `int`.
const DYNAMIC_ALIGN: u64 = 16;

/// Where the shared variables that `kernel` can reach lie, by variable number,
/// and how large they are together. Dynamic ones begin where the static end.
pub fn shared_layout(module: &Module, kernel: u32) -> (Vec<u32>, u32) {
    let used = shared_used(module, kernel);
    let mut offsets = vec![0; module.shared.len()];
    let mut at = 0u64;
    for n in &used {
        let v = &module.shared[*n as usize];
        if !v.dynamic {
            at = at.next_multiple_of(v.align.into());
            offsets[*n as usize] = at as u32;
            at += v.size;
        }
    }
    let dynamic = used.iter().map(|n| &module.shared[*n as usize]).filter(|v| v.dynamic);
    let align = dynamic.map(|v| u64::from(v.align).max(DYNAMIC_ALIGN)).max().unwrap_or(1);
    at = at.next_multiple_of(align);
    for n in &used {
        if module.shared[*n as usize].dynamic {
            offsets[*n as usize] = at as u32;
        }
    }
    (offsets, at.min(u64::from(u32::MAX / 2)) as u32)
}

/// The shared variables that `kernel` can reach, in order.
pub fn shared_used(module: &Module, kernel: u32) -> Vec<u32> {
    let mut used: Vec<u32> = module
        .reachable(kernel)
        .iter()
        .flat_map(|f| module.functions[*f as usize].shared_used.iter().copied())
        .collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// A GPU's shared memory comes in units of so many bytes (PTX ISA, `%total_smem_size`, from sm_8x on).
const SHARED_UNIT: u32 = 128;

/// The shared memory of a block with so many bytes of variables and of dynamic memory, rounded up to whole units,
/// which accesses may use to the end. Compilers rely on that: LLVM reads several elements by one aligned access, the
/// last of which may be after the variable.
pub fn shared_size(fixed: u32, dynamic: u32) -> u32 {
    fixed.saturating_add(dynamic).checked_next_multiple_of(SHARED_UNIT).unwrap_or(u32::MAX)
}

/// The initial bytes of a global, `size` of them, if the module's globals are at `addresses`.
pub fn initial_bytes(module: &Module, global: u32, addresses: &[u64]) -> Vec<u8> {
    let g = &module.globals[global as usize];
    let mut bytes = g.bytes.clone();
    bytes.resize(g.size as usize, 0);
    for r in &g.relocations {
        let base = match r.target {
            Symbol::Global(n) => addresses.get(n as usize).copied().unwrap_or(0),
            Symbol::Function(n) => function_pointer(n),
            Symbol::Shared(_) | Symbol::Local(_) | Symbol::Param(_) => 0,
        };
        let mut value = base.wrapping_add(r.addend as u64);
        if let Some(mask) = r.mask {
            value = (value & mask) >> mask.trailing_zeros().min(63);
        }
        let at = r.offset as usize;
        for (k, b) in value.to_le_bytes().iter().take(r.width as usize).enumerate() {
            if let Some(place) = bytes.get_mut(at + k) {
                *place = *b;
            }
        }
    }
    bytes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_external_variable_is_dynamic_only_without_a_size() {
        const TEXT: &str = ".version 6.3\n.target sm_75\n.address_size 64
.extern .shared .align 8 .b8 first[5000];
.extern .shared .align 4 .b32 second;
.extern .shared .align 4 .b8 none[0];
.extern .shared .align 4 .b8 room[];
.entry k() {
  .reg .u32 %r;
  ld.shared.u32 %r, [first]; ld.shared.u32 %r, [second]; ld.shared.u32 %r, [none]; ld.shared.u32 %r, [room]; ret; }";
        let module = crate::check(&crate::parse(TEXT).unwrap()).unwrap();
        let (places, size) = shared_layout(&module, module.function("k").unwrap());
        assert_eq!(
            (places, size),
            (vec![0, 5000, 5008, 5008], 5008),
            "as ptxas, which warns that it ignores `.extern`"
        );
    }

    #[test]
    fn dynamic_shared_memory_is_aligned_to_16_bytes_or_more() {
        // What it declares and the end of the static variables, and where ptxas begins it.
        for (align, fixed, begins) in
            [(1, 3, 16), (4, 36, 48), (8, 16, 16), (16, 17, 32), (64, 36, 64), (4, 0, 0)]
        {
            let text = format!(
                ".version 6.3\n.target sm_75\n.address_size 64\n.extern .shared .align {align} .b8 room[];
                .entry k() {{ .reg .u32 %r; .shared .b8 fixed[{fixed}]; ld.shared.u8 %r, [fixed]; ld.shared.u8 %r, [room]; ret; }}"
            );
            let module = crate::check(&crate::parse(&text).unwrap()).unwrap();
            let (places, size) = shared_layout(&module, module.function("k").unwrap());
            assert_eq!((places.iter().max(), size), (Some(&begins), begins), "{text}");
        }
    }
}
