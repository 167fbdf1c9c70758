//! Kernels of a file, each with all the images that define it.

use std::cmp::Reverse;
use std::collections::HashMap;

use cushim_image::Limits;
use cushim_image::inventory::{Image, Problem};
use cushim_image::kernel::{Kernel, Stack};
use cushim_names::Name;
use rayon::prelude::*;

use super::sort::Sort;
use crate::images::{self, Filter, Numbered, Which};

/// A kernel in one image.
pub struct Instance {
    /// Its kind and architecture: `sm_90`, `sm_90 ptx`.
    pub target: String,
    /// What that image says of the kernel.
    pub kernel: Kernel,
    /// For JSON.
    pub record: crate::images::record::KernelImageRecord,
}

/// A kernel of a file.
pub struct Merged {
    /// Its symbol.
    pub symbol: String,
    /// Its declaration.
    pub signature: String,
    /// In file order.
    pub instances: Vec<Instance>,
}

impl Merged {
    /// The largest value among the images.
    pub fn most(&self, of: impl Fn(&Kernel) -> Option<u64>) -> Option<u64> {
        self.instances.iter().filter_map(|instance| of(&instance.kernel)).max()
    }
}

/// Stack as a number to sort by: unknown sorts above all.
pub fn stack(kernel: &Kernel) -> Option<u64> {
    kernel.stack.map(|stack| match stack {
        Stack::Bytes(bytes) => bytes.into(),
        Stack::Unbounded => u64::MAX,
    })
}

/// Opens `images` on all cores and merges their kernels by name, in order of first appearance.
/// Returns the images, too. `length`: bytes of their file.
pub fn merge<'a>(
    images: Vec<Numbered<'a>>,
    length: usize,
    filter: &Filter,
    limits: &Limits,
) -> (Vec<Merged>, Vec<Problem>, Vec<Numbered<'a>>) {
    let opened = images::each(images, length, Which::All, limits, |numbered, allowed| {
        let kernels = allowed.and_then(|()| numbered.image.kernels(limits));
        (numbered, kernels)
    });
    let mut listed = Vec::with_capacity(opened.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut merged: Vec<Merged> = Vec::new();
    let mut problems = Vec::new();
    for (numbered, kernels) in opened {
        let kernels = kernels.unwrap_or_else(|error| {
            problems.push(Problem { trail: numbered.image.trail.clone(), error });
            Vec::new()
        });
        for kernel in kernels {
            let place = *places.entry(kernel.name.clone()).or_insert_with(|| {
                merged.push(Merged {
                    symbol: kernel.name.clone(),
                    signature: String::new(),
                    instances: Vec::new(),
                });
                merged.len() - 1
            });
            merged[place].instances.push(instance(numbered.number, &numbered.image, kernel));
        }
        listed.push(numbered);
    }
    merged.par_iter_mut().for_each(|kernel| kernel.signature = Name::new(&kernel.symbol).full);
    merged.retain(|kernel| filter.names(&kernel.symbol));
    (merged, problems, listed)
}

fn instance(number: usize, image: &Image<'_>, kernel: Kernel) -> Instance {
    let machine = kernel.code.is_some() || kernel.registers.is_some();
    let target =
        if machine { image.arch.to_string() } else { format!("{}:{}", image.kind, image.arch) };
    let record = crate::images::record::KernelImageRecord::new(number, image, &kernel);
    Instance { target, kernel, record }
}

/// Sorts as `by` says; for keys that are no property of kernels, keeps the order of the file.
pub fn sort(kernels: &mut [Merged], by: Sort) {
    let wide = |value: Option<u32>| value.map(u64::from);
    match by {
        Sort::Name => kernels.sort_by(|a, b| a.signature.cmp(&b.signature)),
        Sort::Registers => kernels.sort_by_key(|k| Reverse(k.most(|k| wide(k.registers)))),
        Sort::Shared => kernels.sort_by_key(|k| Reverse(k.most(|k| wide(k.shared)))),
        Sort::Stack => kernels.sort_by_key(|k| Reverse(k.most(stack))),
        Sort::Params => kernels.sort_by_key(|k| Reverse(k.most(|k| Some(k.params.size.into())))),
        Sort::Code => kernels.sort_by_key(|k| Reverse(k.most(|k| k.code))),
        _ => {}
    }
}
