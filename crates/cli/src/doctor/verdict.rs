//! The one-word verdict on a feature or a library.

use serde::Serialize;

/// Whether something is seen, or works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Yes.
    Yes,
    /// Some of it.
    Partly,
    /// No.
    No,
}

impl Verdict {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::Partly => "partly",
            Verdict::No => "no",
        }
    }
}
