//! The GPUs of the machine, their memory pools and properties.
//!
//! Owns the queries to the runtime. Must not know: allocations, queues, code.

use cushim_accel::Failure;

use crate::api::Api;
use crate::callback::list;
use crate::ffi::*;

/// A GPU.
#[derive(Clone, Debug, Default)]
pub struct Gpu {
    /// Its agent.
    pub agent: Agent,
    /// The pool of device memory.
    pub pool: Pool,
    /// Bytes of device memory.
    pub memory: u64,
    /// Bytes of local data share of a workgroup.
    pub group: u32,
    /// Instruction sets, the best first, without the triple: `gfx90a:sramecc+:xnack-`.
    pub isas: Vec<String>,
    /// `gfx90a`.
    pub name: String,
    /// The product's name; empty where the runtime does not know it.
    pub product: String,
    /// `GPU-` and 16 digits where the device has such.
    pub uuid: String,
    /// 32 or 64.
    pub wavefront: u32,
    /// Work-items of a workgroup at most.
    pub workgroup: u32,
    /// Packets of a queue at most.
    pub queue: u32,
    /// Compute units.
    pub units: u32,
    /// MHz.
    pub clock: u32,
    /// MHz.
    pub memory_clock: u32,
    /// Bits.
    pub memory_width: u32,
    /// Bytes of the second-level cache.
    pub cache: u32,
    /// Wavefronts that a compute unit holds.
    pub waves: u32,
    /// Bus, device and function, as PCI packs them.
    pub bdf: u32,
    /// PCI's domain.
    pub domain: u32,
}

/// The host's side.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host {
    /// The first CPU.
    pub agent: Agent,
    /// Fine-grained memory: host and managed.
    pub fine: Pool,
    /// Memory for kernels' arguments.
    pub kernarg: Pool,
}

/// The GPUs that run kernels, and the host.
///
/// # Errors
/// The runtime's, and the call that failed.
pub fn find(api: &Api) -> Result<(Vec<Gpu>, Host), Failure> {
    let (mut gpus, mut host) = (Vec::new(), Host::default());
    for agent in agents(api)? {
        match number(api, agent, agent::DEVICE)? {
            agent::IS_CPU if host.agent.0 == 0 => host = processor(api, agent)?,
            agent::IS_GPU if number(api, agent, agent::FEATURE)? & agent::DISPATCHES != 0 => {
                gpus.push(gpu(api, agent)?);
            }
            _ => {}
        }
    }
    if host.fine.0 == 0 || host.kernarg.0 == 0 {
        let why = "the CPU has no memory pool that is fine-grained, or none for kernels' arguments";
        return Err(Failure::Device(why.into()));
    }
    // A GPU without allocatable memory is not used.
    gpus.retain(|gpu| gpu.pool.0 != 0);
    Ok((gpus, host))
}

fn processor(api: &Api, agent: Agent) -> Result<Host, Failure> {
    let mut host = Host { agent, ..Host::default() };
    for pool in pools(api, agent)? {
        if pool.segment != pool::GLOBAL || !pool.allowed {
            continue;
        }
        if pool.flags & pool::KERNARG != 0 && host.kernarg.0 == 0 {
            host.kernarg = pool.pool;
        }
        if pool.flags & pool::FINE != 0 && (host.fine.0 == 0 || pool.flags & pool::KERNARG == 0) {
            host.fine = pool.pool;
        }
    }
    Ok(host)
}

fn gpu(api: &Api, agent: Agent) -> Result<Gpu, Failure> {
    let of = |what| number(api, agent, what);
    let caches: [u32; 4] = ask(api, agent, agent::CACHE_SIZE)?;
    let mut gpu = Gpu {
        agent,
        name: text::<64>(api, agent, agent::NAME)?,
        product: text::<64>(api, agent, agent::PRODUCT).unwrap_or_default(),
        uuid: text::<24>(api, agent, agent::UUID).unwrap_or_default(),
        isas: isas(api, agent)?,
        wavefront: of(agent::WAVEFRONT_SIZE)?,
        workgroup: of(agent::WORKGROUP_MAX_SIZE)?,
        queue: of(agent::QUEUE_MAX_SIZE)?,
        units: of(agent::COMPUTE_UNITS)?,
        clock: of(agent::CLOCK)?,
        memory_clock: of(agent::MEMORY_CLOCK).unwrap_or(0),
        memory_width: of(agent::MEMORY_WIDTH).unwrap_or(0),
        cache: caches.into_iter().nth(1).unwrap_or(0),
        waves: of(agent::WAVES_PER_CU).unwrap_or(0),
        bdf: of(agent::BDF).unwrap_or(0),
        domain: of(agent::DOMAIN).unwrap_or(0),
        ..Gpu::default()
    };
    for pool in pools(api, agent)? {
        let coarse = pool.segment == pool::GLOBAL && pool.flags & pool::COARSE != 0;
        if coarse && pool.allowed && gpu.pool.0 == 0 {
            (gpu.pool, gpu.memory) = (pool.pool, pool.size);
        } else if pool.segment == pool::GROUP {
            gpu.group = u32::try_from(pool.size).unwrap_or(u32::MAX);
        }
    }
    Ok(gpu)
}

/// The properties of a pool.
struct Found {
    pool: Pool,
    segment: u32,
    flags: u32,
    size: u64,
    allowed: bool,
}

fn pools(api: &Api, agent: Agent) -> Result<Vec<Found>, Failure> {
    // SAFETY: the runtime calls back with pools, and returns afterwards.
    let (status, all) =
        unsafe { list(|each, to| (api.hsa_amd_agent_iterate_memory_pools)(agent, each, to)) };
    api.check("hsa_amd_agent_iterate_memory_pools", status)?;
    let mut found = Vec::new();
    for pool in all {
        let segment: u32 = of_pool(api, pool, pool::SEGMENT)?;
        let flags = if segment == pool::GLOBAL { of_pool(api, pool, pool::FLAGS)? } else { 0 };
        let (size, allowed): (usize, bool) =
            (of_pool(api, pool, pool::SIZE)?, of_pool::<u8>(api, pool, pool::ALLOWED)? != 0);
        found.push(Found { pool, segment, flags, size: size as u64, allowed });
    }
    Ok(found)
}

fn of_pool<T: Default>(api: &Api, pool: Pool, what: u32) -> Result<T, Failure> {
    let mut value = T::default();
    // SAFETY: a place of the type that the attribute has.
    let status = unsafe { (api.hsa_amd_memory_pool_get_info)(pool, what, (&raw mut value).cast()) };
    api.check("hsa_amd_memory_pool_get_info", status)?;
    Ok(value)
}

fn agents(api: &Api) -> Result<Vec<Agent>, Failure> {
    // SAFETY: the runtime calls back with agents, and returns afterwards.
    let (status, all) = unsafe { list(|each, to| (api.hsa_iterate_agents)(each, to)) };
    api.check("hsa_iterate_agents", status)?;
    Ok(all)
}

fn isas(api: &Api, agent: Agent) -> Result<Vec<String>, Failure> {
    // SAFETY: the runtime calls back with instruction sets, and returns afterwards.
    let (status, all) = unsafe { list(|each, to| (api.hsa_agent_iterate_isas)(agent, each, to)) };
    api.check("hsa_agent_iterate_isas", status)?;
    let mut names = Vec::new();
    for isa in all {
        let mut length = 0_u32;
        // SAFETY: a place for the number.
        let status =
            unsafe { (api.hsa_isa_get_info_alt)(isa, isa::NAME_LENGTH, (&raw mut length).cast()) };
        api.check("hsa_isa_get_info_alt", status)?;
        let mut name = vec![0_u8; length as usize + 1];
        // SAFETY: room for the number of bytes from the runtime, and a NUL.
        let status =
            unsafe { (api.hsa_isa_get_info_alt)(isa, isa::NAME, name.as_mut_ptr().cast()) };
        api.check("hsa_isa_get_info_alt", status)?;
        let name = until_nul(&name);
        // `amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-`
        names.push(name.rsplit_once("--").map_or(name.clone(), |(_, target)| target.to_owned()));
    }
    Ok(names)
}

/// An attribute of an agent.
fn ask<T: Default>(api: &Api, agent: Agent, what: u32) -> Result<T, Failure> {
    let mut value = T::default();
    // SAFETY: a place of the type that the attribute has.
    let status = unsafe { (api.hsa_agent_get_info)(agent, what, (&raw mut value).cast()) };
    api.check("hsa_agent_get_info", status)?;
    Ok(value)
}

fn number(api: &Api, agent: Agent, what: u32) -> Result<u32, Failure> {
    ask(api, agent, what)
}

/// A text of at most `N` bytes.
fn text<const N: usize>(api: &Api, agent: Agent, what: u32) -> Result<String, Failure> {
    let mut bytes = [0_u8; N];
    // SAFETY: as much room as the attribute takes.
    let status = unsafe { (api.hsa_agent_get_info)(agent, what, bytes.as_mut_ptr().cast()) };
    api.check("hsa_agent_get_info", status)?;
    Ok(until_nul(&bytes))
}

fn until_nul(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).trim().to_owned()
}
