//! GPU time, for `--gpu-time`: what CUPTI's activity records tell of the calls that are recorded.
//!
//! Owns: the links. Each recorded call that may put work on a GPU gets a number, which stands in its
//! event and which its thread carries for as long as the call lasts. CUPTI numbers the driver's calls, too, and
//! every kernel, copy and set that it tells of carries the number of the call that brought it about, also
//! where that launched a graph. In a callback at the beginning of the driver's call ([`callback`]) both numbers
//! are known, and are noted ([`told`]); [`records`] makes events of CUPTI's records that find theirs there.
//!
//! The driver loads CUPTI's clients itself: at `cuInit` it opens what `CUDA_INJECTION64_PATH` names and
//! calls `InitializeInjection` there (CUPTI manual, "Tracing injection"). The launcher puts this library's
//! own path there, so that nothing is opened where the program does not expect it: see [`attach`].
//!
//! Where there is no CUPTI, or another tool has its place, launches are timed by [`events`].
//!
//! Where kernels run in this process and are counted (`cushim profile -o`), who runs them tells ([`counted`]).
//!
//! Must not know: how a call is recorded.

mod begun;
mod buffers;
mod callback;
mod counted;
mod cupti;
mod events;
mod flush;
mod links;
mod records;
mod source;
mod told;

pub use counted::counted;
pub use cupti::attach;
pub use events::{after, before, ending};
pub use links::{begin, end, link};
