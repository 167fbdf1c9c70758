//! GPU time, for `--gpu-time`: joins CUPTI's activity records with the recorded calls.
//!
//! Owns: the links. Each recorded call that may submit work to a GPU gets a number; the event stores it, and the
//! thread carries it during the call. CUPTI numbers the driver's calls, too, and every record of a kernel, copy or
//! set carries the number of the call that caused it, also if that launched a graph. A callback at the beginning of
//! the driver call ([`callback`]) knows both numbers and stores the pair ([`told`]); [`records`] makes events of the
//! CUPTI records whose number is stored there.
//!
//! The driver loads CUPTI's clients itself: at `cuInit` it opens the library that `CUDA_INJECTION64_PATH` names and
//! calls its `InitializeInjection` (CUPTI manual, "Tracing injection"). The launcher sets that variable to this
//! library, so that nothing is opened where the program does not expect it: see [`attach`].
//!
//! Without CUPTI, or if another tool uses it, [`events`] time the launches.
//!
//! If kernels run in this process and are counted (`cushim profile -o`), the backend that runs them reports
//! ([`counted`]).
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
