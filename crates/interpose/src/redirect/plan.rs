//! The rules of this process, what they have matched, and the messages about that.
//!
//! Owns reading them, once, together with the tools of `CUSHIM_TOOL`. Must not know: how a replacement is installed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use cushim_names::Name;
use cushim_rules::{Action, Names, OnFailure, Rule, compiled};

use super::asked;
use super::layout::{same, shown};
use super::replacement::{Replacement, Unusable};
use super::say::{owner, say};
use super::subject::Image;
use super::summary::Summary;
use super::variant::{self, Variant, Variants};
use crate::config;
use crate::layouts::Code;
use crate::log::{self, Level};
use crate::registry::{self, Module};
use crate::tools;

/// The rules of this process.
pub struct Plan {
    rules: Vec<Planned>,
}

/// A rule, and its use in this process.
pub struct Planned {
    pub(super) rule: Rule,
    replacement: Option<Result<Replacement, Unusable>>,
    variants: Variants,
    pub(super) matched: AtomicU32,
    failed: AtomicU32,
    pub(super) compared: Mutex<Summary>,
    /// Whether a message has said why the rule does not apply to launches or nodes that it matches.
    told: AtomicBool,
}

/// What replaces a kernel.
pub(super) struct Chosen {
    pub(super) image: &'static Replacement,
    pub(super) kernel: String,
    /// Where its variables are bound: its image.
    pub(super) variant: Option<&'static Variant>,
}

const UNKNOWN: u8 = 0;
const NONE: u8 = 1;
const SOME: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
static PLAN: OnceLock<Plan> = OnceLock::new();

/// The plan, if this process has rules. Read on first use; later calls check one byte.
#[inline(always)]
pub fn plan() -> Option<&'static Plan> {
    match STATE.load(Ordering::Acquire) {
        NONE => None,
        SOME => PLAN.get(),
        _ => read(),
    }
}

#[cold]
fn read() -> Option<&'static Plan> {
    // Another thread may be reading: `get_or_init` waits for it. It only reads files, and calls
    // neither CUDA nor the loader.
    let plan = PLAN.get_or_init(|| {
        std::panic::catch_unwind(Plan::from_environment).unwrap_or(Plan { rules: Vec::new() })
    });
    // Loading a tool takes the loader's lock, which another thread that gets here may hold: so no thread waits for
    // it. Until it is done, others use the rules alone.
    if !tools::load_once() {
        return (!plan.rules.is_empty()).then_some(plan);
    }
    let state = if plan.rules.is_empty() && !tools::any() { NONE } else { SOME };
    STATE.store(state, Ordering::Release);
    (state == SOME).then_some(plan)
}

/// The rules of the manifest that `CUSHIM_REDIRECT` names, as the launcher has read them, or why
/// there are none. `CUSHIM_RULES` counts only beside that variable: a user may have removed it or
/// named another manifest.
fn of_manifest() -> Result<Vec<Rule>, String> {
    let Some(file) = config::switched_on(c"CUSHIM_REDIRECT") else { return Ok(Vec::new()) };
    let file = PathBuf::from(OsString::from_vec(file));
    let how = "start the program by `cushim run --redirect FILE`, or with what `cushim env --redirect FILE` prints";
    let Some(text) = config::switched_on(c"CUSHIM_RULES") else {
        let file = file.display();
        return Err(format!("CUSHIM_REDIRECT={file}: manifests are read by the launcher; {how}"));
    };
    match compiled::read(&String::from_utf8_lossy(&text)) {
        Ok((from, rules)) if from == file => Ok(rules),
        Ok((from, _)) => Err(format!(
            "CUSHIM_REDIRECT={}, and CUSHIM_RULES holds the rules of {}; {how}",
            file.display(),
            from.display()
        )),
        Err(field) => Err(format!(
            "field {field} of CUSHIM_RULES is not as this version of cushim writes it (CUSHIM_REDIRECT={})",
            file.display()
        )),
    }
}

impl Plan {
    fn from_environment() -> Plan {
        let mut rules = Vec::new();
        let text = |name| config::variable(name).map(|v| String::from_utf8_lossy(&v).into_owned());
        for line in text(c"CUSHIM_REPLACE").unwrap_or_default().lines().filter(|l| !l.is_empty()) {
            match Rule::replace(line) {
                Ok(rule) => rules.push(rule),
                Err(error) => say(format_args!("{error}")),
            }
        }
        match of_manifest() {
            Ok(more) => rules.extend(more),
            Err(why) => say(format_args!("{why}; its rules are left out")),
        }
        let rules: Vec<Planned> = rules.into_iter().map(Planned::new).collect();
        if rules.iter().any(Planned::is_for_launches) {
            asked::enable();
        }
        if !rules.is_empty() {
            registry::keep_apart();
        }
        Plan { rules }
    }

    /// The first rule that replaces this whole image.
    pub(super) fn whole(&self, code: &Code) -> Option<(&Planned, &Replacement)> {
        let subject = Image::new(code);
        self.rules.iter().find_map(|planned| {
            let Action::Image { .. } = planned.rule.action else { return None };
            let matching = &planned.rule.matching;
            let kernels = matching.kernel.is_none()
                || subject.kernels().any(|kernel| planned.names(&Name::new(kernel)));
            (kernels && matching.image(&subject)).then_some(())?;
            planned.matched.fetch_add(1, Ordering::Relaxed);
            planned.usable(code).map(|replacement| (planned, replacement))
        })
    }

    /// Whether this image is a rule's replacement.
    pub(super) fn is_ours(&self, code: &Code) -> bool {
        let replacements = self.rules.iter().filter_map(|planned| planned.replacement.as_ref());
        replacements.flatten().any(|replacement| replacement.is(code.address()))
            || self.rules.iter().any(|planned| planned.variants.is(code.address()))
            || tools::is_ours(code.address())
            || variant::is_known(code.address())
    }

    /// The rules that match a kernel of an image, in order.
    pub(super) fn kernel(
        &'static self,
        code: &'static Code,
        mangled: &str,
    ) -> impl Iterator<Item = &'static Planned> {
        let name = Name::new(mangled);
        let subject = Image::new(code);
        self.rules.iter().filter(move |planned| {
            !matches!(planned.rule.action, Action::Image { .. })
                && planned.names(&name)
                && planned.rule.matching.image(&subject)
        })
    }
}

impl Planned {
    fn new(rule: Rule) -> Planned {
        let images = rule.action.images();
        let replacement = (!images.is_empty()).then(|| Replacement::read(images));
        let (matched, failed) = (AtomicU32::new(0), AtomicU32::new(0));
        let (compared, told) = (Mutex::default(), AtomicBool::new(false));
        let variants = Variants::default();
        Planned { rule, replacement, variants, matched, failed, compared, told }
    }

    /// Whether it applies to single launches.
    pub(super) fn is_for_launches(&self) -> bool {
        !self.rule.matching.launch.is_always()
            || self.foreign().is_some()
            || matches!(
                self.rule.action,
                Action::Launch(_) | Action::Skip | Action::Kernel { compare: Some(_), .. }
            )
    }

    /// Why its kernels cannot be launched here, if another backend could.
    pub(super) fn foreign(&self) -> Option<&str> {
        match (&self.replacement, &self.rule.action) {
            (Some(Err(Unusable::Foreign(why))), Action::Kernel { .. }) => Some(why),
            _ => None,
        }
    }

    /// As [`Planned::refuse`], said once for the rule.
    pub(super) fn refuse_once(&self, why: std::fmt::Arguments<'_>) {
        if !self.told.swap(true, Ordering::Relaxed) {
            self.refuse(why);
        }
    }

    fn names(&self, name: &Name) -> bool {
        self.rule.matching.names(Names {
            mangled: &name.mangled,
            full: &name.full,
            short: &name.short,
        })
    }

    /// The rule's replacement image; says why, where it cannot be used.
    fn usable(&self, code: &Code) -> Option<&Replacement> {
        match self.replacement.as_ref()? {
            Ok(replacement) => Some(replacement),
            Err(why) => {
                self.refuse(format_args!("{why}; an image of {}", owner(code)));
                None
            }
        }
    }

    /// The kernel that takes the place of `mangled`, whose layout must be the same.
    pub(super) fn kernel_for(
        &'static self,
        module: &'static Module,
        mangled: &str,
    ) -> Option<Chosen> {
        let Action::Kernel { kernel, own, .. } = &self.rule.action else { return None };
        let code = module.code();
        let replacement = self.usable(code)?;
        let wanted = kernel.clone().unwrap_or_else(|| mangled.to_owned());
        let Some(theirs) = replacement.layout(&wanted) else {
            self.refuse(format_args!(
                "{} has no kernel {wanted}; it has {}",
                replacement.file(),
                replacement.kernels()
            ));
            return None;
        };
        match code.layout(mangled) {
            Ok(ours) if !same(&ours, &theirs) => {
                self.refuse(format_args!(
                    "{mangled} takes {}, but {wanted} of {} takes {}",
                    shown(&ours),
                    replacement.file(),
                    shown(&theirs)
                ));
                return None;
            }
            Ok(_) => {}
            Err(why) => log::line(
                Level::Warn,
                format_args!(
                    "{}: the parameters of {mangled} are not compared: {why}",
                    self.rule.name
                ),
            ),
        }
        match self.variants.of(replacement, module, own) {
            Ok(None) => Some(Chosen { image: replacement, kernel: wanted, variant: None }),
            Ok(Some(variant)) => {
                let names = variant.bound.iter().map(|bound| bound.name.as_str());
                self.applied(format_args!(
                    "variables of the program that {} uses: {}",
                    replacement.file(),
                    names.collect::<Vec<_>>().join(", ")
                ));
                Some(Chosen { image: &variant.image, kernel: wanted, variant: Some(variant) })
            }
            Err(why) => {
                self.refuse(format_args!("{mangled} of {} is not replaced: {why}", owner(code)));
                None
            }
        }
    }

    /// Says that the rule could not be applied; the program ends where the rule asks for that.
    pub(super) fn refuse(&self, why: std::fmt::Arguments<'_>) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        say(format_args!("{}: {why}", self.rule.name));
        if self.rule.on_failure == OnFailure::Stop {
            say(format_args!("{}: on-failure is stop: ending the program", self.rule.name));
            // SAFETY: ends the process without running anything of it.
            unsafe { libc::_exit(STOPPED) };
        }
    }

    pub(super) fn applied(&self, what: std::fmt::Arguments<'_>) {
        log::line(Level::Info, format_args!("{}: {what}", self.rule.name));
    }
}

/// The exit status of a program that a rule stops: EX_CONFIG of sysexits.h.
const STOPPED: i32 = 78;

/// The process ends: says which rules never matched.
pub fn finish() {
    if STATE.load(Ordering::Acquire) != SOME {
        return;
    }
    for planned in PLAN.get().map_or(&[][..], |plan| &plan.rules) {
        if planned.matched.load(Ordering::Relaxed) == 0 {
            say(format_args!("{}: never matched", planned.rule.name));
        }
        Summary::say(&planned.compared, &planned.rule.name);
    }
}
