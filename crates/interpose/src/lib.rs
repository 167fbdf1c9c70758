//! What the boundary calls: everything that happens inside a traced process.
//!
//! - `cushim_process`: what is loaded, symbols without the loader's lock, tables and memory.
//! - [`site`]: one hook each: its number, and finding the real function behind it.
//! - [`life`]: first use, fork, exit; [`config`]: what the environment asks for.
//! - [`thread`]: per-thread state: depth guard, buffer.
//! - [`registry`]: host stubs, handles, kernels, modules; [`layouts`]: parameter layouts of their images.
//! - [`window`]: when events are recorded; [`gputime`]: what the GPU did for them; [`nvtx`]: the
//!   program's own ranges.
//! - [`redirect`]: other images and kernels in the place of the program's; [`dump`]: images into files.
//! - [`tools`]: a user's libraries, asked at images, launches and calls.
//! - [`direct`]: launches past the runtime.
//! - [`device`], [`arguments`]: device memory and parameter blocks, for what looks at a program's data.
//! - [`record`]: storing events; [`observe`]: calls that are only recorded.
//! - [`runtime`], [`driver`], [`loader`]: the calls that need more, by face; [`contexts`] is the
//!   driver's, [`library`], [`graph`] serve both; [`weak`]: references that must stay null.
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
pub mod gputime;
pub mod graph;
mod handle;
mod keep;
pub mod launch;
pub mod layouts;
pub mod library;
pub mod life;
pub mod loader;
pub mod lock;
pub mod log;
pub mod names;
pub mod nvtx;
pub mod observe;
pub mod profiler;
mod ranges;
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
