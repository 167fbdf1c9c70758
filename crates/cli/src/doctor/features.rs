//! Which features will work, given the CUDA parts that were found.
//!
//! Must not know: files.

use super::cuda::{Part, What};
use super::findings::Feature;
use super::obstacle::Obstacle;
use super::verdict::Verdict;

/// The features, given the parts and the obstacles. `replaced`: the requested backend replaces a static runtime by
/// cushim's.
pub fn features(parts: &[Part], obstacles: &[Obstacle], replaced: bool) -> Vec<Feature> {
    if let Some(blocking) = obstacles.iter().find(|o| o.blocks) {
        let why = format!("blocked: {}", blocking.name);
        return NAMES.map(|name| Feature { name, verdict: Verdict::No, why: why.clone() }).into();
    }
    let has = |what: What| parts.iter().any(|p| p.what == what);
    let mut features = Vec::new();
    let mut add = |name, verdict, why: &str| {
        features.push(Feature { name, verdict, why: why.to_owned() });
    };
    let (shared, fixed) = (has(What::SharedRuntime), has(What::StaticRuntime));
    let driver = has(What::Driver) || has(What::DriverLoaded);
    let only_fixed = fixed && !shared && !replaced;
    let [launches, names, arguments, graphs, rest, children] = NAMES;
    if !(shared || fixed || driver) {
        let why = "no CUDA is linked; CUDA in libraries that are loaded later is seen";
        for name in [launches, names, arguments, graphs, rest] {
            add(name, Verdict::Partly, why);
        }
    } else {
        let way = match (shared, fixed) {
            (true, true) if replaced => {
                "at the runtime, and at cushim's in the static runtime's place"
            }
            (false, true) if replaced => "at cushim's runtime, in the static runtime's place",
            (true, true) => "at the shared runtime, and at the driver below the static runtime",
            (true, false) => "at the runtime",
            (false, true) => "at the driver, which the static runtime loads with dlopen",
            (false, false) => "at the driver",
        };
        add(launches, Verdict::Yes, way);
        add(names, Verdict::Yes, "from registration, and from modules loaded into the driver");
        add(
            arguments,
            Verdict::Yes,
            "by the layout in the device image, else from the driver (12.4 and later)",
        );
        add(graphs, Verdict::Yes, way);
        match only_fixed {
            false => add(rest, Verdict::Yes, way),
            true => add(
                rest,
                Verdict::Partly,
                "as driver calls: the runtime's functions are inside the program",
            ),
        }
    }
    add(children, Verdict::Yes, "they inherit LD_PRELOAD unless they clear it");
    if has(What::LlvmOffload) {
        add(
            "OpenMP offload",
            Verdict::Yes,
            "target regions and mappings at libomptarget, kernels where its plugin launches them",
        );
    }
    if has(What::Hip) {
        add(
            "AMD kernels",
            Verdict::Yes,
            "launches, modules, memory and copies at HIP's runtime (libamdhip64); no GPU times, no rules",
        );
    }
    features
}

/// The features that are listed for every program.
const NAMES: [&str; 6] = [
    "kernel launches",
    "kernel names",
    "argument values",
    "CUDA graphs",
    "memory, copies, streams, synchronisation",
    "child processes",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn part(what: What) -> Part {
        Part {
            what,
            major: Some(13),
            file: "app".into(),
            in_program: true,
            found: true,
            stripped: false,
            device_code: 0,
        }
    }

    #[test]
    fn a_static_runtime_that_the_backend_replaces_is_seen_whole() {
        let parts = [part(What::StaticRuntime)];
        let of = |replaced| {
            let all = features(&parts, &[], replaced);
            all.into_iter()
                .find(|feature| feature.name == NAMES[4])
                .map(|rest| (rest.verdict, rest.why))
        };
        let (verdict, why) = of(false).unwrap_or((Verdict::No, String::new()));
        assert_eq!(verdict, Verdict::Partly);
        assert!(why.starts_with("as driver calls"), "{why}");
        let (verdict, why) = of(true).unwrap_or((Verdict::No, String::new()));
        assert_eq!(verdict, Verdict::Yes);
        assert!(why.starts_with("at cushim's runtime"), "{why}");
    }
}
