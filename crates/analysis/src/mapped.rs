//! Regions and mappings of LLVM's offloading, as text for people.
//!
//! Owns: words for kinds of mappings and for reasons, names and locations from the compiler's strings. Must not know:
//! lines, which events are shown.

use cushim_abi::offload::layout::{MAP_FROM, MAP_LITERAL, MAP_TO, MAP_WORDS, Place, map_word};
use cushim_names::Value;
use cushim_trace::event::Mapped;
use cushim_trace::layout::*;
use cushim_trace::meta::Metadata;

/// One argument of a region, or of a call that maps data.
#[derive(Clone, Debug)]
pub struct Mapping<'a> {
    /// The variable or the section of an array, as the source has it; empty where that is not known.
    pub name: &'a str,
    /// `to`, `from`, `tofrom`, `alloc`, `literal`.
    pub kind: &'static str,
    /// What else its type says, as words.
    pub words: Vec<&'static str>,
    /// How large it is.
    pub bytes: i64,
    /// The host's address; the value of a literal.
    pub pointer: u64,
    /// Its type.
    pub bits: u64,
}

impl Mapping<'_> {
    /// The value itself, where no data are mapped.
    pub fn value(&self) -> Option<Value> {
        let size = usize::try_from(self.bytes).ok().filter(|size| (1..=8).contains(size))?;
        (self.bits & MAP_LITERAL != 0)
            .then(|| Value::read(None, self.pointer.to_le_bytes().get(..size).unwrap_or(&[])))
    }

    /// How many bytes it may move to the device, and from it.
    pub fn moves(&self) -> (u64, u64) {
        let bytes = u64::try_from(self.bytes).unwrap_or(0);
        match self.bits & MAP_LITERAL {
            0 => (
                if self.bits & MAP_TO == 0 { 0 } else { bytes },
                if self.bits & MAP_FROM == 0 { 0 } else { bytes },
            ),
            _ => (0, 0),
        }
    }

    /// `always tofrom a[0:n] 400 B`, `literal n=100`.
    pub fn text(&self, ellipsis: &str) -> String {
        let mut text = String::new();
        for word in self.words.iter().filter(|word| **word != "implicit") {
            text.push_str(word);
            text.push(' ');
        }
        text.push_str(self.kind);
        if !self.name.is_empty() {
            text.push(' ');
            text.push_str(&crate::words::printable(self.name));
        }
        match self.value() {
            Some(value) => {
                text.push(if self.name.is_empty() { ' ' } else { '=' });
                text.push_str(&value.text(ellipsis));
            }
            None if self.bits & MAP_LITERAL != 0 => {}
            None => text.push_str(&format!(" {} B", self.bytes)),
        }
        text
    }
}

/// The arguments that were kept.
pub fn mappings<'a>(
    mapped: &'a Mapped<'_>,
    meta: &'a Metadata,
) -> impl Iterator<Item = Mapping<'a>> {
    mapped.args.iter().map(|arg| {
        let name = meta.names.get(&arg.name).map_or("", |text| Place::of_variable(text).name);
        let has = |bits| arg.kind & bits != 0;
        let words = MAP_WORDS.iter().filter(|(bits, _)| has(*bits)).map(|(_, word)| *word);
        Mapping {
            name,
            kind: map_word(arg.kind),
            words: words.collect(),
            bytes: arg.size,
            pointer: arg.pointer,
            bits: arg.kind,
        }
    })
}

/// How many bytes its mappings request to be moved to the device, and from it; data that is there already is not
/// moved again. At the start of a mapping nothing is moved from the device, and at its end nothing to it.
pub fn moved(mapped: &Mapped<'_>, meta: &Metadata) -> (u64, u64) {
    let (to, from) = mappings(mapped, meta).map(|m| m.moves()).fold((0u64, 0u64), |sum, more| {
        (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1))
    });
    way(mapped.what, (to, from))
}

/// What is left of bytes both ways in a region or a call of this kind.
pub fn way(what: u8, (to, from): (u64, u64)) -> (u64, u64) {
    match what {
        MAP_BEGIN => (to, 0),
        MAP_END => (0, from),
        _ => (to, from),
    }
}

/// Where in the source it is.
pub fn place<'a>(mapped: &Mapped<'_>, meta: &'a Metadata) -> Option<Place<'a>> {
    let place = Place::of_call(meta.names.get(&mapped.place)?);
    (place != Place::default()).then_some(place)
}

/// What it does, a word: of a region, of a call that maps data.
pub fn what(mapped: &Mapped<'_>) -> &'static str {
    match mapped.what {
        0 => "region",
        MAP_BEGIN => "begin",
        MAP_END => "end",
        MAP_UPDATE => "update",
        _ => "unknown",
    }
}

/// Why a region ran on the host: a word, and an explanation for a reader.
pub fn fallback(mapped: &Mapped<'_>) -> Option<(&'static str, &'static str)> {
    Some(match mapped.fallback {
        FALLBACK_NONE => return None,
        FALLBACK_DISABLED => ("disabled", "offloading is disabled (OMP_TARGET_OFFLOAD)"),
        FALLBACK_NO_DEVICE => ("no-device", "no device for its images"),
        FALLBACK_HOST => ("host", "the program chose the host"),
        FALLBACK_NO_SUCH_DEVICE => ("no-such-device", "the device does not exist"),
        FALLBACK_NO_IMAGE => ("no-image", "no image was registered for it"),
        FALLBACK_REFUSED => ("refused", "libomptarget refused it"),
        _ => ("unknown", "for an unknown reason"),
    })
}

/// What is known besides the arguments, by name.
pub fn facts(mapped: &Mapped<'_>, meta: &Metadata) -> Vec<(&'static str, String)> {
    let mut facts = vec![("what", what(mapped).to_owned())];
    if let Some(place) = place(mapped, meta) {
        facts.push(("place", format!("{}:{}:{}", place.file, place.line, place.column)));
    }
    if mapped.device >= 0 {
        facts.push(("device", mapped.device.to_string()));
    }
    for (name, shape) in [("teams", mapped.teams), ("threads", mapped.threads)] {
        if shape != [0; 3] {
            facts.push((name, crate::words::dim(shape)));
        }
    }
    if mapped.trip_count != 0 {
        facts.push(("trip count", mapped.trip_count.to_string()));
    }
    if let Some((_, why)) = fallback(mapped) {
        facts.push(("on the host", why.to_owned()));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use cushim_trace::event::MappedArgs;

    #[test]
    fn mappings_are_spelled_out() {
        let mut bytes = Vec::new();
        for (pointer, size, kind, name) in
            [(0x1000u64, 400i64, 0x27u64, 1u32), (100, 4, 0x320, 2), (7, 0, 0x320, 0)]
        {
            bytes.extend(pointer.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(u64::from(name).to_le_bytes());
        }
        let mut meta = Metadata::default();
        meta.names.insert(1, ";a[0:n];a.c;4;7;;".to_owned());
        meta.names.insert(2, ";n;a.c;4;9;;".to_owned());
        meta.names.insert(3, ";a.c;main;6;3;;".to_owned());
        let stored = MappedBody {
            kernel: 1,
            place: 3,
            device: -1,
            trip_count: 100,
            version: 3,
            fallback: FALLBACK_NO_DEVICE,
            count: 3,
            ..MappedBody::default()
        };
        let mapped = Mapped { stored, args: MappedArgs::new(&bytes) };
        let all: Vec<_> = mappings(&mapped, &meta).collect();
        let texts: Vec<_> = all.iter().map(|m| m.text("…")).collect();
        assert_eq!(texts, ["always tofrom a[0:n] 400 B", "literal n=100", "literal"]);
        assert_eq!(
            all.iter().map(Mapping::moves).collect::<Vec<_>>(),
            [(400, 400), (0, 0), (0, 0)]
        );
        assert_eq!(place(&mapped, &meta).map(|p| (p.file, p.line)), Some(("a.c", 6)));
        assert_eq!((what(&mapped), fallback(&mapped).map(|f| f.0)), ("region", Some("no-device")));
    }
}
