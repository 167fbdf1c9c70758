//! Objects that events refer to by number, in all files: kernels k1, k2, … and handles s1, e1, …
//!
//! Owns: numbers by first appearance, and which kernels are shown. A kernel is the same in two traces if its symbol
//! and the file that contains it are the same; if the file is unknown, the symbol decides. Must not know: how an
//! event looks.

use std::collections::HashMap;

use cushim_names::{Name, Number, Type};
use cushim_trace::event::Gpu;
use cushim_trace::layout::GPU_KERNEL;
use cushim_trace::meta::{self, Metadata};

use crate::filter::KernelFilter;
use crate::words::printable;

/// A kernel, the same for all files.
#[derive(Debug)]
pub struct Kernel {
    /// Its number, from 1.
    pub number: usize,
    /// Its names; control characters are escaped.
    pub name: Name,
    /// The types of its parameters, where the symbol or the image tells them.
    pub types: Option<Vec<Option<Type>>>,
    /// The file that holds it, empty where unknown.
    pub owner: String,
    /// The filter lets it pass.
    pub shown: bool,
}

/// What a handle refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handle {
    /// A stream: s1.
    Stream,
    /// An event: e1.
    Event,
    /// A graph: g1.
    Graph,
    /// An executable graph: x1.
    GraphExec,
    /// A node of a graph: n1.
    Node,
}

/// Everything that has been seen.
#[derive(Default)]
pub struct Known {
    kernels: Vec<Kernel>,
    /// Places of the kernels with a symbol.
    by_symbol: HashMap<String, Vec<usize>>,
    /// Kernels of which only the launched address is known, by file.
    nameless: HashMap<(usize, u64), usize>,
    by_number: HashMap<(usize, u32), usize>,
    handles: HashMap<(usize, Handle, u64), u32>,
    last_handle: HashMap<(usize, Handle), u32>,
}

impl Known {
    /// All kernels; [`Known::kernel`] returns indices into it.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The index of kernel `id` of file `source`.
    pub fn kernel(
        &mut self,
        filter: &KernelFilter,
        source: usize,
        meta: &Metadata,
        id: u32,
    ) -> usize {
        if let Some(&place) = self.by_number.get(&(source, id)) {
            return place;
        }
        let nothing = meta::Kernel::default();
        let kernel = meta.kernels.get(&id).unwrap_or(&nothing);
        let next = self.kernels.len();
        let place = if kernel.mangled.is_empty() {
            *self.nameless.entry((source, kernel.address)).or_insert(next)
        } else {
            let same = |place: &&usize| {
                let owner = self.kernels.get(**place).map_or("", |k| &k.owner);
                owner.is_empty() || kernel.owner.is_empty() || owner == kernel.owner
            };
            let places = self.by_symbol.get(&kernel.mangled);
            match places.and_then(|places| places.iter().find(same)) {
                Some(&place) => place,
                None => {
                    self.by_symbol.entry(kernel.mangled.clone()).or_default().push(next);
                    next
                }
            }
        };
        match self.kernels.get_mut(place) {
            Some(known) if known.owner.is_empty() => known.owner.clone_from(&kernel.owner),
            Some(_) => {}
            None => self.kernels.push(Kernel::new(next + 1, kernel, filter)),
        }
        self.by_number.insert((source, id), place);
        place
    }

    /// The index of the kernel that a GPU ran; `None` for copies and sets.
    pub fn gpu(
        &mut self,
        filter: &KernelFilter,
        source: usize,
        meta: &Metadata,
        gpu: &Gpu,
    ) -> Option<usize> {
        (gpu.what == GPU_KERNEL && gpu.kernel != 0)
            .then(|| self.kernel(filter, source, meta, gpu.kernel))
    }

    /// As [`Known::handle`] if the handle has a number; else the handle itself. For failed calls, whose handle may be
    /// invalid.
    pub fn seen_handle(&mut self, source: usize, kind: Handle, handle: u64) -> String {
        let fixed = handle == 0 || kind == Handle::Stream && handle <= 2;
        match fixed || self.handles.contains_key(&(source, kind, handle)) {
            true => self.handle(source, kind, handle),
            false => format!("{handle:#x}"),
        }
    }

    /// `s1` and the like; `s0` is the default stream, and the two that CUDA gives fixed handles have words
    /// (`cudaStreamLegacy`, `cudaStreamPerThread` of driver_types.h).
    pub fn handle(&mut self, source: usize, kind: Handle, handle: u64) -> String {
        let letter = match (kind, handle) {
            (Handle::Stream, 0) => return "s0".to_owned(),
            (Handle::Stream, 1) => return "legacy".to_owned(),
            (Handle::Stream, 2) => return "per-thread".to_owned(),
            (_, 0) => return "NULL".to_owned(),
            (Handle::Stream, _) => 's',
            (Handle::Event, _) => 'e',
            (Handle::Graph, _) => 'g',
            (Handle::GraphExec, _) => 'x',
            (Handle::Node, _) => 'n',
        };
        let last = self.last_handle.entry((source, kind)).or_default();
        let number = *self.handles.entry((source, kind, handle)).or_insert_with(|| {
            *last += 1;
            *last
        });
        format!("{letter}{number}")
    }
}

impl Kernel {
    fn new(number: usize, kernel: &meta::Kernel, filter: &KernelFilter) -> Self {
        let mut name = Name::new(&kernel.mangled);
        if kernel.mangled.is_empty() {
            let text = match kernel.address {
                0 => "unknown".to_owned(),
                address => format!("unknown@{address:#x}"),
            };
            (name.short, name.full) = (text.clone(), text);
        }
        let shown = filter.matches(number, &[&name.short, &name.full, &name.mangled]);
        let told = name.parameters.as_ref();
        let types = told.map(|list| list.iter().map(|t| Some(Type::of(t))).collect());
        let types = types.or_else(|| by_image(kernel));
        for text in [&mut name.short, &mut name.full, &mut name.mangled] {
            *text = printable(text);
        }
        Kernel { number, types, owner: kernel.owner.clone(), shown, name }
    }

    /// The symbol, or the address where there is none.
    pub fn symbol(&self) -> &str {
        if self.name.mangled.is_empty() { &self.name.full } else { &self.name.mangled }
    }
}

/// The types of parameters as the image has them, where it has any.
fn by_image(kernel: &meta::Kernel) -> Option<Vec<Option<Type>>> {
    let params = kernel.params.as_ref().ok()?;
    let one = |(letter, (_, size)): (char, &(u32, u32))| match letter {
        meta::types::FLOAT => Some(Type::Number(Number::Float)),
        meta::types::DOUBLE => Some(Type::Number(Number::Double)),
        meta::types::SIGNED => Some(Type::Number(Number::Signed(*size as usize))),
        meta::types::POINTER => Some(Type::Pointer),
        _ => None,
    };
    let told = !kernel.types.is_empty();
    told.then(|| kernel.types.chars().zip(params).map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(kernels: &[(u32, &str, &str, u64)]) -> Metadata {
        let mut metadata = Metadata::default();
        for &(id, mangled, owner, address) in kernels {
            let (mangled, owner) = (mangled.to_owned(), owner.to_owned());
            let kernel = meta::Kernel { mangled, owner, address, ..meta::Kernel::default() };
            metadata.kernels.insert(id, kernel);
        }
        metadata
    }

    #[test]
    fn kernels_are_one_by_symbol_and_owner() {
        let first = metadata(&[(7, "_Z1kPf", "/a", 1), (8, "_Z1kPf", "/b", 2), (9, "", "", 3)]);
        let second = metadata(&[(1, "_Z1kPf", "/a", 9), (2, "", "", 3), (3, "_Z1kPf", "", 4)]);
        let (mut known, all) = (Known::default(), KernelFilter::default());
        assert_eq!(known.kernel(&all, 0, &first, 8), 0);
        assert_eq!(known.kernel(&all, 0, &first, 7), 1);
        assert_eq!(known.kernel(&all, 1, &second, 1), 1);
        assert_eq!(known.kernel(&all, 1, &second, 3), 0);
        assert_eq!(known.kernel(&all, 0, &first, 9), 2);
        assert_eq!(known.kernel(&all, 1, &second, 2), 3);
        assert_eq!(known.kernel(&all, 1, &second, 77), 4);
        assert_eq!(known.kernels()[2].name.short, "unknown@0x3");
        assert_eq!(known.kernels()[4].symbol(), "unknown");
    }

    #[test]
    fn types_by_the_image_where_the_symbol_tells_none() {
        let mut metadata =
            metadata(&[(1, "scale", "", 1), (2, "_Z1kPf", "", 2), (3, "plain", "", 3)]);
        for kernel in metadata.kernels.values_mut() {
            kernel.params = Ok(vec![(0, 4), (4, 2), (8, 8), (16, 4)]);
            kernel.types = "fsp-".to_owned();
        }
        metadata.kernels.get_mut(&3).unwrap().types.clear();
        let (mut known, all) = (Known::default(), KernelFilter::default());
        let mut types = |id| {
            let place = known.kernel(&all, 0, &metadata, id);
            known.kernels()[place].types.clone()
        };
        let (float, short) = (Type::Number(Number::Float), Type::Number(Number::Signed(2)));
        assert_eq!(types(1), Some(vec![Some(float), Some(short), Some(Type::Pointer), None]));
        assert_eq!(types(2), Some(vec![Some(Type::Pointer)]));
        assert_eq!(types(3), None);
    }

    #[test]
    fn handles_have_numbers_per_process() {
        let mut known = Known::default();
        assert_eq!(known.handle(0, Handle::Stream, 0), "s0");
        assert_eq!(known.handle(0, Handle::Stream, 0x55), "s1");
        assert_eq!(known.handle(0, Handle::Event, 0x55), "e1");
        assert_eq!(known.handle(0, Handle::Stream, 0x66), "s2");
        assert_eq!(known.handle(0, Handle::Stream, 0x55), "s1");
        assert_eq!(known.handle(1, Handle::Stream, 0x66), "s1");
        assert_eq!(known.seen_handle(0, Handle::Stream, 0x66), "s2");
        assert_eq!(known.seen_handle(0, Handle::Stream, 0x77), "0x77");
        assert_eq!(known.handle(0, Handle::Stream, 2), "per-thread");
    }
}
