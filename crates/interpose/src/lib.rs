//! What the exports call: everything that happens inside a traced process.
//!
//! Imports go one way, from modules further down this list to those above (`scripts/circles` checks):
//!
//! - `cushim_process`: loaded objects, symbols without the loader's lock, tables and memory.
//! - [`site`]: one hook: its number, and finding the real function; [`real`]: the loader's own functions.
//! - [`config`]: settings from the environment; [`lock`] and [`state`]: per-process state; [`thread`]: per-thread
//!   state, depth guard and buffer; [`life`]: first use, fork, exit; [`window`]: when events are recorded.
//! - [`layouts`]: parameter layouts of images; [`registry`]: host stubs, handles, kernels, modules.
//! - [`device`], [`arguments`]: device memory and parameter blocks, for code that reads a program's data.
//! - Features, which register callbacks with the modules above: [`dump`]: images into files; [`direct`]: launches
//!   that bypass the runtime; [`gputime`]: GPU times of calls; [`nvtx`]: the program's own ranges; [`redirect`]:
//!   replacing the program's images and kernels; [`tools`]: a user's libraries, called at images, launches and calls.
//! - [`record`]: storing events; [`observe`]: calls that are only recorded; [`forward`]: calls forwarded with their event.
//! - [`runtime`], [`driver`], [`offload`], [`hip`], [`loader`]: the calls that need more, by face. [`launch`] has
//!   their launches, [`contexts`] the driver's contexts, [`variables`] registrations other than kernels; [`library`],
//!   [`graph`], [`profiler`] serve both CUDA faces; [`weak`]: references that must stay null.
//!
//! Must not know: which symbols are exported and how (the root package does), how a trace is shown.
//!
//! Rules for all modules: nothing panics; nothing waits during a launch; only the program's own `dlsym` and `dlopen`
//! calls use the loader for lookups; what is not understood is passed on unchanged.

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
pub mod shadow;
pub mod site;
mod state;
mod symbol;
pub mod thread;
pub mod tools;
pub mod variables;
pub mod weak;
pub mod window;
