//! Chrome traces: valid JSON, with the fields that readers of PyTorch's traces look for.

use std::fs;

use serde_json::Value;

use crate::sample::{CALLS, STEP, cushim, one, program, stdout, tree};

/// The events of a trace; panics if it is not valid.
pub fn parse(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    // HTA takes the rank from the first line that matches "rank":\s+(\d+).
    assert!(text.lines().next().unwrap().contains("\"rank\": "), "{text}");
    let trace: Value = serde_json::from_str(text).unwrap();
    assert_eq!(trace["schemaVersion"], 1);
    trace["traceEvents"].as_array().unwrap().clone()
}

#[test]
fn events_have_the_fields_that_readers_ask_for() {
    let (folder, _) = one();
    let bytes = stdout(folder.path(), "chrome", ".");
    let events = parse(&bytes);
    let base: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(base["baseTimeNanoseconds"], 1_700_000_001_000_000_000u64);
    let calls: Vec<&Value> = events.iter().filter(|e| e["ph"] == "X").collect();
    assert_eq!(calls.len(), CALLS);
    let mut correlations = Vec::new();
    for call in &calls {
        assert!(call["ts"].is_f64() && call["dur"].is_f64() && call["tid"].is_u64(), "{call}");
        // The trace has no GPU times, so a GPU's track must be empty.
        assert!(["cuda_runtime", "cuda_driver"].contains(&call["cat"].as_str().unwrap()));
        assert!(call["args"].get("stream").is_none());
        correlations.push(call["args"]["correlation"].as_u64().unwrap());
    }
    correlations.dedup();
    assert_eq!(correlations.len(), CALLS);
    let launch = calls.iter().find(|c| c["name"] == "cudaLaunchKernel").unwrap();
    assert_eq!((&launch["ts"], &launch["dur"]), (&Value::from(120.0), &Value::from(5.0)));
    let args = &launch["args"];
    assert_eq!((&args["kernel"], &args["grid"][1]), (&Value::from(STEP.0), &Value::from(2)));
    assert_eq!(args["kernel args"], serde_json::json!(["0x7f3a00000000", 7, 0.01]));
    assert!(calls.iter().any(|c| c["name"] == "cuLaunchKernel" && c["cat"] == "cuda_driver"));
    let copy = calls.iter().find(|c| c["name"] == "cudaMemcpyAsync").unwrap();
    assert_eq!(copy["args"]["call args"]["count"], 4096);
    assert!(calls.iter().any(|c| c["args"]["returned"] == false && c["dur"] == 0.0));
    assert!(events.iter().any(|e| e["ph"] == "i" && e["name"] == "epoch 2\u{1b}[2J \"é\""));
}

#[test]
fn one_file_per_rank() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (name, pid, rank) in
        [("d", 50, None), ("a", 20, Some(1)), ("b", 30, Some(0)), ("c", 40, Some(1))]
    {
        program(pid, rank).write(&at.join(format!("{name}.cushim"))).unwrap();
    }
    let (status, _, err) = cushim(at, &["export", ".", "--to", "chrome", "-o", "out"]);
    assert_eq!(status, 0, "{err}");
    assert_eq!(tree(&at.join("out")), ["rank-0.json", "rank-1.json", "rank-2.json"]);
    for (rank, pids) in [(0, vec![30]), (1, vec![20, 40]), (2, vec![50])] {
        let bytes = fs::read(at.join(format!("out/rank-{rank}.json"))).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains(&format!("\"rank\": {rank},")));
        let mut found: Vec<u64> =
            parse(&bytes).iter().map(|event| event["pid"].as_u64().unwrap()).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, pids);
    }
    let (status, _, err) = cushim(at, &["export", ".", "--to", "chrome", "-o", "out"]);
    assert!(status == 125 && err.contains("--force"), "{err}");
    let (status, _, err) = cushim(at, &["export", ".", "--to", "chrome", "-o", "-"]);
    assert!(status == 125 && err.contains("3 ranks"), "{err}");
    let (status, _, err) = cushim(at, &["export", "a.cushim", "--to", "chrome", "-o", "one/"]);
    assert_eq!((status, tree(&at.join("one"))), (0, vec!["rank-1.json".to_owned()]), "{err}");
}
