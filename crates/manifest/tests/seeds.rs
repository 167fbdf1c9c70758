//! Seeds for the fuzz target; the tests check the same properties on them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use cushim_testkit::{corpus, rules};

const SEEDS: [&str; 6] = [
    "[[redirect]]\nmatch = { kernel = 'k' }\nimage = ['a.ptx', '/b.hipfb']\n",
    "[[redirect]]\nmatch = { kernel = 'k' }\nimage = 'x'\ncompare = { parameters = [0, 2], type = 'bf16', tolerance = 1e-3, keep = 'replacement' }\n",
    "[[redirect]]\nmatch = { kernel = \"vecadd.*\" }\nimage = \"new.ptx\"\n",
    "[[redirect]]\nname = 'a'\nmatch = { owner = 'x', hash = 'ab', arch = 'sm_90', grid = [1, '*', 2], block = [1, 1, 1], nth = '2..' }\nlaunch = { grid = [1, 1, 1], shared = 4 }\non-failure = 'stop'\n",
    "[[redirect]]\nmatch.kernel = 'k'\nskip = true\n[[redirect]]\nmatch.hash = '00'\nimage = 'x'\nwhole = true\n",
    "kernel=file.ptx",
];

#[test]
fn seeds_for_fuzzing() {
    for seed in SEEDS {
        rules::manifest(seed.as_bytes());
        for cut in 0..seed.len() {
            rules::manifest(&seed.as_bytes()[..cut]);
        }
    }
    let compiled = SEEDS.iter().filter_map(|seed| {
        let manifest = cushim_manifest::Manifest::parse(seed, std::path::Path::new("m.toml"));
        Some(cushim_rules::compiled::write(std::path::Path::new("/m.toml"), &manifest.ok()?.rules))
    });
    let compiled: Vec<String> = compiled.collect();
    assert_eq!(compiled.len(), SEEDS.len() - 1);
    for seed in &compiled {
        rules::handed_over(seed.as_bytes());
        for cut in 0..seed.len() {
            rules::handed_over(&seed.as_bytes()[..cut]);
        }
        // One changed byte: the manifest is read or refused.
        for at in 0..seed.len() {
            for byte in *b",=-%0k\xff" {
                let mut bad = seed.as_bytes().to_vec();
                bad[at] = byte;
                rules::handed_over(&bad);
            }
        }
    }
    corpus::regressions("rules_manifest", rules::manifest);
    corpus::regressions("rules_compiled", rules::handed_over);
    corpus::seeds("rules_manifest", SEEDS);
    corpus::seeds("rules_compiled", compiled);
}
