//! An empty kernel, for graph nodes that a rule skips.
//!
//! The node stays in its graph, with its edges and its parameters: the program may read them and set others. Owns:
//! creating such a kernel for a parameter layout. Must not know: graphs.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Mutex;

use cushim_abi::types::Func;

use super::replacement::Replacement;
use super::substitute;
use crate::layouts::Layout;
use crate::registry;
use crate::site::Site;

const NAME: &str = "cushim_nothing";

static MADE: Mutex<Option<HashMap<String, &'static Replacement>>> = Mutex::new(None);

/// A kernel with the parameters of `func` that does nothing, for the face of `site`.
///
/// # Errors
/// Why there is none.
pub fn instead_of(site: &'static Site, func: Func) -> Result<Func, String> {
    let layout = registry::find(func.0).ok_or("the kernel is unknown")?.known_layout()?;
    let text = ptx(layout).ok_or("no empty kernel with these parameters can be made")?;
    let find = || MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = find().get_or_insert_default().get(&text).copied();
    let image = match known {
        Some(image) => image,
        None => {
            let image = Replacement::of(text.as_bytes(), "a kernel that does nothing");
            let image: &'static Replacement =
                Box::leak(Box::new(image.map_err(|e| e.to_string())?));
            find().get_or_insert_default().insert(text, image);
            image
        }
    };
    substitute::kernel(site, func, image, NAME).map(|(func, _)| func)
}

/// Its PTX, for the oldest target that every driver of the supported CUDA versions compiles.
fn ptx(layout: &Layout) -> Option<String> {
    let mut text =
        format!(".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry {NAME}(");
    let mut end = 0;
    for (i, param) in layout.params.iter().enumerate() {
        // PTX places a parameter by its alignment only.
        let fits = |align: &u32| u32::next_multiple_of(end, *align) == param.offset;
        let align = [1, 2, 4, 8, 16, 32, 64, 128].into_iter().find(fits)?;
        let comma = if i == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}.param .align {align} .b8 p{i}[{}]", param.size);
        end = param.offset.checked_add(param.size).filter(|_| param.size != 0)?;
    }
    text.push_str(")\n{ ret; }\n");
    Some(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::layouts::Param;

    fn layout(params: &[(u32, u32)]) -> Layout {
        let params = params.iter().map(|&(offset, size)| Param { offset, size });
        Layout { size: 0, params: params.collect(), types: Box::default() }
    }

    #[test]
    fn parameters_lie_where_they_lay() {
        for params in
            [&[][..], &[(0, 8), (8, 4), (16, 24), (40, 1), (44, 4)], &[(0, 1), (128, 128)]]
        {
            let ours = layout(params);
            let image = Replacement::of(ptx(&ours).unwrap().as_bytes(), "test").unwrap();
            assert_eq!(image.layout(NAME).unwrap().params, ours.params);
        }
        assert!(ptx(&layout(&[(0, 4), (9, 1), (300, 4)])).is_none());
    }
}
