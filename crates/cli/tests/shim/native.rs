//! NVIDIA's own runtimes, all three in one process, if `scripts/cuda-toolkits` has installed them. Without a GPU they
//! register everything and refuse every launch; the version shows which runtime was called.

use crate::compare::behaves;
use crate::headers::{TOOLKITS, toolkit};
use crate::lab::{How, Lab, cudart};

/// The folders of NVIDIA's three runtimes, joined for the loader.
fn libraries() -> Option<String> {
    let folders = TOOLKITS.iter().map(|&(major, name)| {
        let toolkit = toolkit(name)?;
        let folder = ["lib64", "lib"].map(|l| toolkit.join(l));
        let folder = folder.into_iter().find(|l| l.join(cudart(major)).exists());
        let folder = folder.unwrap_or_else(|| panic!("{name} has no {}", cudart(major)));
        Some(folder.to_str().unwrap().to_owned())
    });
    folders.collect::<Option<Vec<_>>>().map(|f| f.join(":"))
}

#[test]
fn each_caller_reaches_its_own_runtime() {
    let Some(libraries) = libraries() else { return };
    let lab = Lab::new();
    let plugins = [11, 12, 13].map(|major| lab.plugin(&format!("lib{major}.so"), major, major));
    let plugins = plugins.each_ref().map(|p| p.to_str().unwrap());
    let program = lab.build("plugins", "plugins.c", &["-DNO_STUBS", "-ldl"]);
    let without_driver = How::shim().with("LD_LIBRARY_PATH", &libraries);
    let mut ways = vec![without_driver];
    if let Some(driver) = toolkit("libcuda-550") {
        let folders = format!("{libraries}:{0}:{0}/lib:{0}/lib64", driver.display());
        ways.push(How::shim().with("LD_LIBRARY_PATH", folders));
    }
    for how in ways {
        let all = behaves(&lab, &program, &[&["all"][..], &plugins].concat(), &how);
        // 11.8 knows its version only with a driver; it refuses the launch in any case.
        let versions: Vec<&str> = all.stdout.lines().filter_map(|l| l.split(' ').next()).collect();
        assert!(matches!(versions[..3], ["0" | "11080", "12040", "13050"]), "{}", all.stdout);
        let trace = &all.traces[0];
        assert!(trace.is_whole());
        for grid in [11, 12, 13] {
            let own = format!("_Z5alphaPfif<<<{grid},1,1");
            let launches =
                trace.calls.iter().filter(|c| c.launch.as_ref().is_some_and(|l| l.contains(&own)));
            let failed =
                launches.filter(|c| c.depth == 0 && c.status.is_some_and(|s| s != 0)).count();
            assert_eq!(failed, 4, "launches of plug-in {grid}, refused by its runtime");
        }
        // In turn: each runtime is unloaded, and another is loaded at its address.
        let looped = behaves(&lab, &program, &[&["loop", "10"][..], &plugins].concat(), &how);
        assert!(looped.traces[0].is_whole());
        assert_eq!(looped.stdout.lines().count(), 30);
    }
}
