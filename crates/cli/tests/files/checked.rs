//! Seeds for the fuzz targets of `cushim check` and `cushim profile`; the tests check the same
//! properties on them.

use cushim_testkit::{check, corpus, profile};

const TOLD: &[u8] = br#"{"begin":7}
{"pid":7,"key":"a [x]","fold":"a","tool":"memory","kind":"out of bounds","message":"invalid write","kernel":"add(int*)","symbol":"_Z3addPi","block":[1,0,0],"thread":[2,3,0],"place":"a.cu:4, PTX 5:6","file":"/x/a.cu","line":4,"trails":[{"what":"launched","call":"cudaLaunchKernel","frames":[{"function":"go()","place":"a.py:9"},{"function":"main"}]}]}
{"pid":8,"key":"b","tool":"leak","kind":"leak","message":"4 bytes","trails":[{"what":"allocated","frames":[{"function":"load"}]}]}
{"pid":7,"key":"a [x]","count":3}
{"end":7}
"#;

const COUNTED: &[u8] = br#"{"begin":7}
{"pid":7,"kernel":"add(int*)","symbol":"_Z3addPi","grid":[2,1,1],"block":[64,1,1],"shared":48,"registers":9,"local":0,"dram_written":16,"rows":[{"class":"load","file":"/x/a.cu","line":3,"n":[4,128,64,0,0,4,16,4,512]},{"class":"store","function":"f()","ptx":"PTX 4:1","n":[1,2]}]}
{"pid":8,"kernel":"add(int*)","symbol":"_Z3addPi","grid":[1,1,1],"block":[1,1,1],"shared":0,"registers":9,"local":0,"dram_written":1,"rows":[]}
"#;

const SUPPRESSIONS: &[u8] = br#"[[suppress]]
name = "known"
tool = "race"
kind = "k*"
kernel = "f(int?)"
source = "b.cu:1-5"
host = ["m*n", "b.cu:9"]
allocated = ["main"]
[[suppress]]
kernel = 'f\\*'
"#;

#[test]
fn seeds_for_fuzzing() {
    for (name, seed, property) in [
        ("check_gathered", TOLD, check::gathered as fn(&[u8])),
        ("profile_gathered", COUNTED, profile::gathered),
        ("check_suppressions", SUPPRESSIONS, check::suppressions),
    ] {
        for cut in 0..=seed.len() {
            property(&seed[..cut]);
        }
        for at in 0..seed.len() {
            for change in [0x2a, 0x04, 0x5c] {
                let mut damaged = seed.to_vec();
                damaged[at] ^= change;
                property(&damaged);
            }
        }
        corpus::regressions(name, property);
        corpus::seeds(name, [seed]);
    }
}
