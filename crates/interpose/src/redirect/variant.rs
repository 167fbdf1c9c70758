//! A replacement for one module of the program, rewritten if it uses the program's variables.
//!
//! Owns: deciding this from both images, and keeping the result. Must not know: when it is loaded, launches.

use std::collections::HashMap;
use std::sync::Mutex;

use cushim_bind::{Bound, Fixup, Part, Theirs, serve, theirs};
use cushim_image::Limits;

use super::replacement::{Kind, Replacement};
use crate::registry::Module;

/// Images of tools as they reach the program's variables, by the image.
static WITHOUT_RULE: Mutex<Option<HashMap<usize, &'static Variants>>> = Mutex::new(None);

/// A rewritten replacement.
pub struct Variant {
    /// The image to load.
    pub image: Replacement,
    /// The variables in its table, in order.
    pub bound: Vec<Bound>,
    /// Addresses to be written besides.
    pub fixups: Vec<Fixup>,
}

/// A replacement's variants, by the module that they serve.
#[derive(Default)]
pub struct Variants(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// By the address of the module, which is never freed.
    served: Vec<(usize, Served)>,
    made: Vec<&'static Variant>,
}

/// `None`: it is used as it is.
type Served = Result<Option<&'static Variant>, String>;

impl Variants {
    /// The replacement for a module of the program's; `own` are variables that keep their own storage.
    ///
    /// # Errors
    /// Why it cannot be used there.
    pub fn of(&self, image: &Replacement, module: &'static Module, own: &[String]) -> Served {
        let mut known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let key = std::ptr::from_ref(module).addr();
        if let Some((_, served)) = known.served.iter().find(|(of, _)| *of == key) {
            return served.clone();
        }
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            make(image, module, own, &mut known.made)
        }));
        let served = made.unwrap_or_else(|_| Err("reading its variables failed".to_owned()));
        known.served.push((key, served.clone()));
        served
    }

    /// Whether one of them lies at this address.
    pub fn is(&self, address: usize) -> bool {
        let known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.made.iter().any(|variant| variant.image.is(address))
    }
}

fn make(
    image: &Replacement,
    module: &'static Module,
    own: &[String],
    made: &mut Vec<&'static Variant>,
) -> Served {
    let file = image.file();
    let parts = image.parts().iter();
    let parts: Vec<Part<'_>> =
        parts.map(|(kind, _, _, bytes)| Part { is_ptx: *kind == Kind::Ptx, bytes }).collect();
    let theirs = || match module.code().bytes() {
        Some(bytes) => theirs(bytes, &Limits::DEFAULT),
        None => {
            Theirs { unread: Some("its registration was not seen".to_owned()), ..Theirs::default() }
        }
    };
    let service = serve(&parts, theirs, own).map_err(|why| format!("{file}: {why}"))?;
    let Some(texts) = service.texts else { return Ok(None) };
    if let Some(known) = made.iter().find(|variant| variant.bound == service.bound) {
        return Ok(Some(known));
    }
    let parts = texts.into_iter().filter_map(|(number, text)| {
        let (kind, arch, version, _) = image.parts().get(number)?;
        Some((*kind, arch.clone(), *version, text))
    });
    let image = Replacement::of_parts(parts.collect(), file.to_owned());
    let image = image.map_err(|why| why.to_string())?;
    let (bound, fixups) = (service.bound, service.fixups);
    let variant: &'static Variant = Box::leak(Box::new(Variant { image, bound, fixups }));
    made.push(variant);
    Ok(Some(variant))
}

/// Whether an image that was rewritten lies at this address.
pub fn is_known(address: usize) -> bool {
    let known = WITHOUT_RULE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    known.as_ref().is_some_and(|known| known.values().any(|variants| variants.is(address)))
}

/// The variant of an image from no rule for a module of the program's.
///
/// # Errors
/// Why it cannot be used there.
pub fn without_rule(
    image: &'static Replacement,
    module: &'static Module,
) -> Result<Option<&'static Variant>, String> {
    let mut known = WITHOUT_RULE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = known.get_or_insert_default().entry(image.wrapper());
    let variants: &'static Variants =
        known.or_insert_with(|| Box::leak(Box::new(Variants::default())));
    variants.of(image, module, &[])
}
