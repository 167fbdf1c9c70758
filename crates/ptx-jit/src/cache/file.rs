//! The format of a file of cached code.
//!
//! Owns the format, in both directions: magic, version, length of the file, key, the compiled kernel, and SHA-256 of
//! all that. Numbers are little-endian. If anything in a file is not as expected, it counts as missing: reading
//! returns `None`. Must not know: where files are.

use super::key::Key;
use crate::emit::MOST_STACK;
use crate::simt::plan::shape::Class;
use crate::warp::Origin;
use crate::warp::{Addresses, Output, Quality, Site, frame_head};
use cushim_ptx::ir::Function;
use cushim_ptx::types::Space;
use sha2::{Digest, Sha256};
use std::time::Duration;

const MAGIC: [u8; 8] = *b"cushimK\n";
const VERSION: u32 = 3;
/// Bytes before the compiled kernel.
const HEADER: usize = 8 + 4 + 8 + 32;
/// Bytes of a hash.
const HASH: usize = 32;
/// The largest frame of a warp that is accepted, in bytes.
const MOST_FRAME: u32 = 1 << 28;
/// In the order of their numbers.
const SPACES: [Space; 9] = [
    Space::Reg,
    Space::Global,
    Space::Const,
    Space::Shared,
    Space::Local,
    Space::Param,
    Space::Generic,
    Space::Sreg,
    Space::Tex,
];
const CLASSES: [Class; 3] = [Class::Narrow, Class::Wide, Class::Predicate];

/// Cached code.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) quality: Quality,
    /// How long it took to make.
    pub(crate) took: Duration,
    pub(crate) output: Output,
}

/// The file's contents; `None` if this code cannot be cached.
pub(crate) fn write(key: &Key, f: &Function, kept: &Kept) -> Option<Vec<u8>> {
    let Kept { quality, took, output } = kept;
    let mut w = Vec::with_capacity(output.bytes.len() + output.bytes.len() / 2 + 4096);
    w.extend(MAGIC);
    w.extend(VERSION.to_le_bytes());
    w.extend([0; 8]);
    w.extend(key.0);
    w.push(u8::from(*quality == Quality::Best));
    w.extend((took.as_nanos() as u64).to_le_bytes());
    for n in [output.regions, output.frame_size, output.stack] {
        w.extend(n.to_le_bytes());
    }
    w.push(output.steps.is_some().into());
    w.extend(output.steps.unwrap_or(0).to_le_bytes());
    count(&mut w, output.bytes.len())?;
    w.extend(&output.bytes);
    count(&mut w, output.origins.len())?;
    for (start, origin) in &output.origins {
        for n in [*start, origin.inst, origin.lane] {
            w.extend(n.to_le_bytes());
        }
    }
    count(&mut w, output.sites.len())?;
    for site in &output.sites {
        // A site is kept as a number of an instruction: it must be that very one.
        if f.code.get(site.at as usize) != Some(&site.inst) {
            return None;
        }
        w.extend(site.at.to_le_bytes());
        for list in [&site.operands, &site.results] {
            w.push(u8::try_from(list.len()).ok()?);
            for class in list {
                w.push(CLASSES.iter().position(|c| c == class)? as u8);
            }
        }
        w.push(SPACES.iter().position(|s| *s == site.space)? as u8);
        w.extend(site.extra.to_le_bytes());
        let (kind, steps, scale) = match &site.addresses {
            Addresses::Lanes => (0, None, None),
            Addresses::Steps { wide, steps } => (1 + u8::from(*wide), Some(steps), None),
            Addresses::Extended { steps, scale, signed } => {
                (3 + u8::from(*signed), Some(steps), Some(scale))
            }
        };
        w.push(kind);
        steps.into_iter().flat_map(|s| s.iter()).for_each(|n| w.extend(n.to_le_bytes()));
        scale.into_iter().for_each(|n| w.extend(n.to_le_bytes()));
    }
    let size = (w.len() + HASH) as u64;
    w.get_mut(12..20)?.copy_from_slice(&size.to_le_bytes());
    let hash = Sha256::digest(&w);
    w.extend(&hash[..]);
    Some(w)
}

fn count(w: &mut Vec<u8>, n: usize) -> Option<()> {
    w.extend(u32::try_from(n).ok()?.to_le_bytes());
    Some(())
}

/// The code of a file for this key, if the file is valid.
pub(crate) fn read(bytes: &[u8], key: &Key, f: &Function) -> Option<Kept> {
    let (all, hash) = bytes.split_last_chunk::<HASH>()?;
    let mut r = Reader(all);
    let head = r.array()? == MAGIC
        && u32::from_le_bytes(r.array()?) == VERSION
        && u64::from_le_bytes(r.array()?) == bytes.len() as u64
        && r.array()? == key.0;
    if !head || Sha256::digest(all)[..] != hash[..] {
        return None;
    }
    body(all.get(HEADER..)?, f)
}

/// What follows the header. Whatever the bytes are, the result refers only to instructions and regions that exist.
pub(super) fn body(bytes: &[u8], f: &Function) -> Option<Kept> {
    let r = &mut Reader(bytes);
    let quality = [Quality::Quick, Quality::Best].get(usize::from(r.byte()?)).copied()?;
    let took = Duration::from_nanos(u64::from_le_bytes(r.array()?));
    let (regions, frame_size, stack) = (r.number()?, r.number()?, r.number()?);
    let (some, steps) = (r.flag()?, u64::from_le_bytes(r.array()?));
    let code = r.number()? as usize;
    let code = r.take(code)?.to_vec();
    let instructions = f.code.len() as u32;
    let n = r.number()?;
    let mut origins: Vec<(u32, Origin)> = Vec::new();
    for _ in 0..n {
        let (start, inst, lane) = (r.number()?, r.number()?, r.number()?);
        let behind = origins.last().is_none_or(|(last, _)| *last <= start);
        if !behind || inst >= instructions || lane >= 32 {
            return None;
        }
        origins.push((start, Origin { inst, lane }));
    }
    let n = r.number()?;
    let mut sites = Vec::new();
    for _ in 0..n {
        sites.push(site(r, f)?);
    }
    let sound = r.0.is_empty()
        && !code.is_empty()
        && regions > 0
        && frame_size <= MOST_FRAME
        && frame_size.is_multiple_of(64)
        && frame_size as usize >= frame_head(f)
        && stack as usize <= MOST_STACK
        && sites.iter().all(|s| s.extra < regions || s.extra == u32::MAX || s.extra == 0);
    let steps = some.then_some(steps);
    let output = Output { bytes: code, sites, regions, frame_size, stack, origins, steps };
    sound.then_some(Kept { quality, took, output })
}

fn site(r: &mut Reader<'_>, f: &Function) -> Option<Site> {
    let at = r.number()?;
    let inst = f.code.get(at as usize)?.clone();
    let mut classes = || {
        let n = usize::from(r.byte()?);
        let list = r.take(n)?.iter().map(|b| CLASSES.get(usize::from(*b)).copied());
        list.collect::<Option<Vec<Class>>>()
    };
    let (operands, results) = (classes()?, classes()?);
    let space = SPACES.get(usize::from(r.byte()?)).copied()?;
    let extra = r.number()?;
    let addresses = match r.byte()? {
        0 => Addresses::Lanes,
        kind @ 1..=2 => Addresses::Steps { wide: kind == 2, steps: r.steps()? },
        kind @ 3..=4 => {
            let (steps, scale) = (r.steps()?, i64::from_le_bytes(r.array()?));
            Addresses::Extended { steps, scale, signed: kind == 4 }
        }
        _ => return None,
    };
    Some(Site { inst, at, operands, results, space, extra, addresses })
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Option<bool> {
        self.byte().filter(|byte| *byte < 2).map(|byte| byte == 1)
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn steps(&mut self) -> Option<Box<[i64; 32]>> {
        let mut steps = Box::new([0; 32]);
        for step in steps.iter_mut() {
            *step = i64::from_le_bytes(self.array()?);
        }
        Some(steps)
    }
}
