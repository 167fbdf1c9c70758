//! Compares texture reads with an H200's, bit for bit (`scripts/record-textures` recorded `recorded.bin`).

mod cases;
mod recorded;

use cases::Case;
use cushim_ptx::exec::{BadAddress, Memory};
use cushim_ptx::texture::{RESULTS, Unit};

/// The texture's descriptor, followed by its texels.
struct Bytes(Vec<u8>);

/// The address of the first byte.
const BASE: u64 = 0x10000;

impl Memory for Bytes {
    fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress> {
        let from = address.checked_sub(BASE).ok_or(BadAddress)? as usize;
        let end = from.checked_add(bytes.len()).ok_or(BadAddress)?;
        bytes.copy_from_slice(self.0.get(from..end).ok_or(BadAddress)?);
        Ok(())
    }
    fn store(&self, _: u64, _: &[u8]) -> Result<(), BadAddress> {
        Err(BadAddress)
    }
    fn update(&self, _: u64, _: u32, _: &mut dyn FnMut(u64) -> u64) -> Result<u64, BadAddress> {
        Err(BadAddress)
    }
    fn update_pair(
        &self,
        _: u64,
        _: &mut dyn FnMut([u64; 2]) -> [u64; 2],
    ) -> Result<[u64; 2], BadAddress> {
        Err(BadAddress)
    }
}

/// The allowed differences, where the GPU's arithmetic is not known to the last bit
/// (docs/backends.md): filtered signed bytes by a unit of 16 bits, filtered sRGB by less than a step of 8 bits, volumes by
/// a unit in the last place.
fn slack(name: &str) -> (f32, f32) {
    let filtered = name.contains(" is:F") || name.contains("F-");
    match filtered {
        true if name.contains(" f:s,8,") => (4e-5, 0.0),
        true if name.contains(" is:S") => (6e-3, 0.0),
        true if name.starts_with("tex.3d") => (0.0, 3e-7),
        _ => (0.0, 0.0),
    }
}

fn is_near(name: &str, found: &[u32], expected: &[u32]) -> bool {
    let (absolute, relative) = slack(name);
    found.iter().zip(expected).all(|(f, e)| {
        let (a, b) = (f32::from_bits(*f), f32::from_bits(*e));
        f == e || (a - b).abs() <= absolute.max(relative * b.abs())
    })
}

/// Runs a case; returns the number of different results, and the first one.
fn run(case: &Case, record: &recorded::Record) -> (usize, Option<String>) {
    let mut descriptor = case.descriptor.clone();
    let mut bytes = descriptor.bytes();
    for (level, texels) in descriptor.levels.iter_mut().zip(&case.texels) {
        *level = BASE + bytes.len() as u64;
        bytes.extend(texels);
    }
    bytes[..descriptor.bytes().len()].copy_from_slice(&descriptor.bytes());
    let memory = Bytes(bytes);
    let mut unit = Unit::new(&memory);
    let (mut wrong, mut first) = (0, None);
    for (place, expected) in record.samples() {
        // The GPU's rule for directions with infinities or NaNs is not known.
        let infinite = place.iter().any(|word| !f32::from_bits(*word).is_finite());
        if infinite && record.name.contains("cube") {
            continue;
        }
        let mut operands = vec![BASE];
        operands.extend(case.operands(place));
        let mut out = [0; RESULTS];
        unit.run(&case.operation, &operands, &mut out).unwrap();
        let found: Vec<u32> = out.iter().take(expected.len()).map(|v| *v as u32).collect();
        if !is_near(&record.name, &found, expected) {
            wrong += 1;
            first.get_or_insert_with(|| {
                let place: Vec<f32> = place.iter().map(|w| f32::from_bits(*w)).collect();
                let numbers =
                    |all: &[u32]| all.iter().map(|v| f32::from_bits(*v)).collect::<Vec<_>>();
                let (f, e) = (numbers(&found), numbers(expected));
                format!("at {place:?}: found {found:x?} {f:?}, recorded {expected:x?} {e:?}")
            });
        }
    }
    (wrong, first)
}

#[test]
fn texels_are_those_of_the_gpu() {
    let all = recorded::read();
    assert!(all.records.len() > 100, "{} records", all.records.len());
    let mut bad = Vec::new();
    let mut samples = 0;
    for record in &all.records {
        let Some(case) = cases::of(&record.name, &all) else {
            panic!("{}: no case has this name", record.name)
        };
        let (wrong, first) = run(&case, record);
        samples += record.samples().count();
        if let Some(first) = first {
            bad.push(format!("{}: {wrong} of {}, {first}", record.name, record.samples().count()));
        }
    }
    assert!(
        bad.is_empty(),
        "{} of {} records, {samples} samples:\n{}",
        bad.len(),
        all.records.len(),
        bad.join("\n")
    );
}
