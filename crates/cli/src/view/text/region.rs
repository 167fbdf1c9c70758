//! Target regions of LLVM's offloading, and calls that map data, as lines of text.
//!
//! Owns: the form of such a line. Must not know: when lines are written, or the other kinds of lines.

use std::fmt::Write as _;

use cushim_analysis::known::Known;
use cushim_analysis::mapped::{self, mappings};
use cushim_analysis::words::{dim, printable};
use cushim_trace::event::Mapped;
use cushim_trace::layout::{MAPPED_NOWAIT, MAPPED_UNKNOWN};

use super::Text;
use crate::view::Seen;
use crate::view::style::Ink;

impl Text {
    /// A target region, or a call that maps data.
    pub(super) fn mapped(&self, seen: &Seen<'_>, known: &Known, mapped: &Mapped<'_>) -> String {
        let mark = self.style.ellipsis();
        let mut list: Vec<String> = mappings(mapped, seen.meta).map(|m| m.text(mark)).collect();
        if mapped.bits & MAPPED_UNKNOWN != 0 {
            list.push("?".to_owned());
        } else if list.len() < mapped.count as usize {
            list.push(mark.to_owned());
        }
        let mut extras = Vec::new();
        if let Some(place) = mapped::place(mapped, seen.meta) {
            extras.push(format!("{}:{}", printable(place.file), place.line));
        }
        if mapped.device >= 0 {
            extras.push(format!("device {}", mapped.device));
        }
        if mapped.trip_count != 0 {
            extras.push(format!("{} iterations", mapped.trip_count));
        }
        if mapped.bits & MAPPED_NOWAIT != 0 {
            extras.push("nowait".to_owned());
        }
        if mapped.bits & MAPPED_UNKNOWN != 0 && mapped.version != 0 {
            extras.push(format!("arguments of version {}", mapped.version));
        }
        if seen.event.depth > 0 {
            extras.push(printable(seen.name()));
        }
        let extra = match extras.is_empty() {
            true => String::new(),
            false => self.style.paint(Ink::Faint, &format!(" [{}]", extras.join(", "))),
        };
        let end = match (mapped::fallback(mapped), seen.event.status) {
            (Some((_, why)), _) => {
                format!(" {}", self.style.paint(Ink::Bad, &format!("on the host: {why}")))
            }
            (None, None) => format!(" = {}", self.style.paint(Ink::Bad, "?")),
            (None, Some(_)) => String::new(),
        };
        if mapped.what != 0 {
            return format!("map {}({}){extra}{end}", mapped::what(mapped), list.join(", "));
        }
        let mut shape = String::new();
        for (word, asked) in [("teams", mapped.teams), ("threads", mapped.threads)] {
            if asked != [0; 3] {
                let _ = write!(shape, " {word} {}", dim(asked));
            }
        }
        let kernel = seen.kernel.and_then(|place| known.kernels().get(place));
        let name = kernel.map(|kernel| self.kernel_name(kernel, 0)).unwrap_or_default();
        format!("region {name}{shape}({}){extra}{end}", list.join(", "))
    }
}
