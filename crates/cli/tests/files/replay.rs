//! Seeds for the fuzz target of the description of a captured launch; the tests check the same
//! properties on them.

use cushim_cli::replay::folder::CapturedLaunch;

use cushim_testkit::{corpus, replay};

const SEED: &str = r#"{"format":1,"kernel":"k","grid":[1,1,1],"block":[32,1,1],"shared":0,"image":"image","arguments":"arguments",
    "parameters":[{"offset":0,"bytes":8}],"buffers":[{"before":"a","after":"b","bytes":4,"pointers":[{"at":0,"offset":4}]}]}"#;

#[test]
fn seeds_for_fuzzing() {
    assert!(CapturedLaunch::parse(SEED).unwrap().fits(8).is_ok());
    for cut in 0..=SEED.len() {
        replay::launch(&SEED.as_bytes()[..cut]);
    }
    corpus::regressions("replay_launch", replay::launch);
    corpus::seeds("replay_launch", [SEED]);
}
