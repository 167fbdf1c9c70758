//! Names of target regions: `__omp_offloading_<device>_<file>_<function>_l<line>[_<count>]`, as clang and flang make
//! them (`llvm/lib/Frontend/OpenMP/OMPIRBuilder.cpp`, `OffloadEntriesInfoManager::getTargetRegionEntryFnName`).
//!
//! Must not know: how a symbol is demangled.

/// What the name of a region says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region<'a> {
    /// The symbol of the function that contains it.
    pub function: &'a str,
    /// Its line there.
    pub line: u32,
    /// Its number among the regions of that line, from 0.
    pub count: u32,
}

impl<'a> Region<'a> {
    /// The region with this symbol; `None` where it is no region's.
    pub fn of(symbol: &'a str) -> Option<Self> {
        let rest = symbol.strip_prefix("__omp_offloading_")?;
        let hexadecimal =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
        let mut parts = rest.splitn(3, '_');
        let (device, file, rest) = (parts.next()?, parts.next()?, parts.next()?);
        if !hexadecimal(device) || !hexadecimal(file) {
            return None;
        }
        let (function, end) = rest.rsplit_once("_l")?;
        let (line, count) = end.split_once('_').unwrap_or((end, "0"));
        let region = Region { function, line: line.parse().ok()?, count: count.parse().ok()? };
        // A region's name within another is no real name, and would recurse without end.
        let plain = !function.is_empty() && !function.starts_with("__omp_offloading_");
        plain.then_some(region)
    }

    /// The suffix after the function's name: `:6`, or `:6#1` for the second one of that line.
    pub fn suffix(&self) -> String {
        match self.count {
            0 => format!(":{}", self.line),
            count => format!(":{}#{count}", self.line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_by_their_names() {
        let of = |symbol| Region::of(symbol).map(|r| (r.function, r.line, r.count));
        assert_eq!(of("__omp_offloading_fe00_98c23d_main_l6"), Some(("main", 6, 0)));
        assert_eq!(of("__omp_offloading_10302_a__Z3addPii_l12_3"), Some(("_Z3addPii", 12, 3)));
        assert_eq!(of("__omp_offloading_1_2_a_l_l7"), Some(("a_l", 7, 0)));
        for odd in
            ["main", "__omp_offloading_", "__omp_offloading_1_2_f", "__omp_offloading_1_2__l3"]
        {
            assert_eq!(of(odd), None, "{odd}");
        }
        assert_eq!(of("__omp_offloading_1_zz_f_l3"), None);
        assert_eq!(of("__omp_offloading_1_2___omp_offloading_1_2_f_l3_l4"), None);
        assert_eq!(of("__omp_offloading_1_2_f_l99999999999"), None);
    }
}
