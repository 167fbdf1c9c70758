//! Display names of kernels.
//!
//! Must not know: how wide a line is.

use std::collections::HashMap;

use cushim_names::distinct;

use crate::known::Kernel;
use crate::words::printable;

/// How kernels are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameForm {
    /// No return type, no parameters; template arguments stay.
    #[default]
    Short,
    /// As C++ declares it.
    Full,
    /// The symbol.
    Mangled,
}

/// What each row is called; no two alike.
pub fn labels(form: NameForm, kernels: &[&Kernel]) -> Vec<String> {
    let mut labels = match form {
        NameForm::Short => distinct(&kernels.iter().map(|k| &k.name).collect::<Vec<_>>()),
        NameForm::Full => kernels.iter().map(|k| k.name.full.clone()).collect(),
        NameForm::Mangled => kernels.iter().map(|k| k.symbol().to_owned()).collect(),
    };
    // One symbol in several files: only the file tells them apart.
    let mut counts: HashMap<String, usize> = HashMap::new();
    labels.iter().for_each(|label| *counts.entry(label.clone()).or_default() += 1);
    for (label, kernel) in labels.iter_mut().zip(kernels) {
        let twin = counts.get(label).is_some_and(|n| *n > 1);
        if twin && !kernel.owner.is_empty() {
            let file = kernel.owner.rsplit('/').next().unwrap_or(&kernel.owner);
            label.push_str(&format!(" [{}]", printable(file)));
        }
    }
    labels
}
