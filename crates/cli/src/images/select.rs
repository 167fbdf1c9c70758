//! Options that choose images, and limits against hostile ones.

use std::path::PathBuf;

use cushim_image::inventory::{Image, ImageKind};
use cushim_image::{Arch, Limits};
use cushim_names::Name;
use regex_lite::Regex;

use crate::Error;

/// Files and filters of `ls` and `extract`
#[derive(clap::Args, Debug)]
pub struct SelectArgs {
    /// Programs, libraries, objects, archives, bare images; folders are searched
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,

    /// Only images for these architectures: sm_90a, 90 (with any suffix), gfx90a
    #[arg(long, value_name = "ARCH", value_delimiter = ',')]
    pub arch: Vec<String>,

    /// Only images of these kinds: cubin, ptx, lto-ir, hsaco, bitcode, spirv, object
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub kind: Vec<String>,

    /// Only images that define a kernel whose mangled or demangled name matches
    #[arg(short, long, value_name = "REGEX")]
    pub kernel: Option<Regex>,

    /// Limits against hostile images
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// How much the images of a file may unpack to
#[derive(clap::Args, Debug)]
pub struct LimitArgs {
    /// Refuse images that would unpack to more than this many MiB
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    pub max_image: u64,

    /// Refuse images over 64 MiB that would unpack to more than N times their packed size
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.max_ratio)]
    pub max_ratio: u64,

    /// Refuse images once those of a file would unpack to more than this many MiB together; if not given,
    /// 1024 and a hundred times the file
    #[arg(long, value_name = "MIB")]
    pub max_total: Option<u64>,
}

/// The filter that [`SelectArgs`] describe.
#[derive(Debug, Default)]
pub struct Filter {
    archs: Vec<String>,
    kinds: Vec<String>,
    kernel: Option<Regex>,
}

/// Kinds that can be asked for.
const KINDS: [&str; 9] =
    ["cubin", "ptx", "lto-ir", "hsaco", "bitcode", "spirv", "object", "old-cubin", "unknown"];

impl SelectArgs {
    /// The filter, once the kinds are known to exist.
    pub fn filter(&self) -> Result<Filter, Error> {
        if let Some(kind) = self.kind.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
            let known = KINDS.join(", ");
            return Err(Error::Usage(format!("unknown kind '{kind}', expected one of {known}")));
        }
        Ok(Filter {
            archs: self.arch.clone(),
            kinds: self.kind.clone(),
            kernel: self.kernel.clone(),
        })
    }
}

impl From<&LimitArgs> for Limits {
    fn from(args: &LimitArgs) -> Self {
        let max_image = args.max_image.saturating_mul(1 << 20);
        let limits = Limits { max_image, max_ratio: args.max_ratio, ..Limits::DEFAULT };
        match args.max_total {
            None => limits,
            Some(total) => Limits {
                max_total: total.saturating_mul(1 << 20),
                max_total_ratio: u64::MAX,
                ..limits
            },
        }
    }
}

impl Filter {
    /// Whether kind and architecture are selected.
    pub fn passes(&self, image: &Image<'_>) -> bool {
        let kind = match image.kind {
            ImageKind::Unknown(_) => "unknown".to_owned(),
            kind => kind.to_string(),
        };
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && (self.archs.is_empty() || self.archs.iter().any(|arch| matches(arch, &image.arch)))
    }

    /// Whether images must be opened to decide.
    pub fn wants_kernels(&self) -> bool {
        self.kernel.is_some()
    }

    /// Whether a kernel of this (mangled) name is selected.
    pub fn names(&self, kernel: &str) -> bool {
        let Some(regex) = &self.kernel else { return true };
        regex.is_match(kernel) || regex.is_match(&Name::new(kernel).full)
    }
}

/// `90` means every sm_90, `gfx90a` every feature set of it, anything else just that.
fn matches(wanted: &str, arch: &Arch) -> bool {
    let text = arch.to_string();
    if let (Arch::Sm(number, _), Ok(wanted)) = (arch, wanted.parse::<u32>()) {
        return *number == wanted;
    }
    text == wanted || text.split(':').next() == Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures() {
        let arch = Arch::parse("sm_90a");
        assert!(matches("90", &arch) && matches("sm_90a", &arch));
        assert!(!matches("sm_90", &arch) && !matches("9", &arch));
        let amd = Arch::parse("gfx90a:xnack+");
        assert!(matches("gfx90a", &amd) && matches("gfx90a:xnack+", &amd));
        assert!(!matches("gfx90", &amd) && !matches("90", &amd));
    }
}
