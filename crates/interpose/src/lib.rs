//! What the boundary calls: everything that happens inside a traced process.
//!
//! Imports go one way, from what stands further down here to what stands above it (`scripts/circles` looks):
//!
//! - `cushim_process`: what is loaded, symbols without the loader's lock, tables and memory.
//! - [`site`]: one hook each: its number, and finding the real function behind it; [`real`]: the loader's own functions.
//! - [`config`]: what the environment asks for; [`lock`] and [`state`]: what a process has once; [`thread`]: what a
//!   thread has, depth guard and buffer; [`life`]: first use, fork, exit; [`window`]: when events are recorded.
//! - [`layouts`]: parameter layouts of images; [`registry`]: host stubs, handles, kernels, modules.
//! - [`device`], [`arguments`]: device memory and parameter blocks, for what looks at a program's data.
//! - Features, which register with what is above what they need of it: [`dump`]: images into files; [`direct`]: launches
//!   past the runtime; [`gputime`]: what the GPU did for a call; [`nvtx`]: the program's own ranges; [`redirect`]: other
//!   images and kernels in the place of the program's; [`tools`]: a user's libraries, asked at images, launches and calls.
//! - [`record`]: storing events; [`observe`]: calls that are only recorded; [`forward`]: calls forwarded with their event.
//! - [`runtime`], [`driver`], [`offload`], [`hip`], [`loader`]: the calls that need more, by face. Of these [`launch`] has the launches,
//!   [`contexts`] the driver's contexts, [`variables`] what is registered besides kernels; [`library`], [`graph`],
//!   [`profiler`] serve both; [`weak`]: references that must stay null.
//!
//! Must not know: which symbols are exported and how (that is the root package), how a trace is shown.
//!
//! Rules that hold everywhere here: nothing panics, nothing waits on the way of a launch, nothing is
//! looked up through the loader outside the program's own `dlsym` and `dlopen`, and what is not
//! understood is passed on as it came.

pub mod arguments;
pub mod config;
pub mod contexts;
pub mod device;
pub mod direct;
pub mod driver;
pub mod dump;
pub mod forward;
pub mod given;
pub mod gputime;
pub mod graph;
mod handle;
pub mod hip;
pub mod interned;
mod keep;
pub mod launch;
pub mod layouts;
pub mod library;
pub mod life;
mod loaded;
pub mod loader;
pub mod lock;
pub mod log;
pub mod names;
pub mod nvtx;
pub mod observe;
pub mod offload;

pub mod origin;
pub mod profiler;
mod ranges;
mod real;
pub mod record;
pub mod redirect;
pub mod registry;
pub mod runtime;
pub mod site;
mod state;
mod symbol;
pub mod thread;
pub mod tools;
pub mod variables;
pub mod weak;
pub mod window;
