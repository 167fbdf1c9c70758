//! Reading and summing up what cushim recorded.
//!
//! Owns: opening trace files, compressed ones too ([`open`], [`find`]); the events of several files in order of time
//! ([`in_order`]); the meaning of events and their arguments ([`facts`], [`arguments`], [`mapped`], [`known`]); sums
//! over whole traces in bounded memory ([`analyse`], a [`Report`]); and the differences between two reports
//! ([`compare`]). Must not know: command lines, terminals, any format but the JSON to which a report serializes
//! (`docs/report-json.md`).
//!
//! Times are nanoseconds. Files may come from anywhere: damaged parts are skipped and counted, and strings in a
//! report contain no control characters.
//!
//! The kernels of a trace, by the host time that their launches took:
//!
//! ```
//! # use cushim_trace::{event::*, layout::LaunchBody, meta, testing::FileBuilder};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("app.cushim");
//! # let mut file = FileBuilder::new(&meta::Process::default());
//! # file.api(1, "cudaLaunchKernel", "launch", "");
//! # file.kernel(1, &meta::Kernel { mangled: "_Z6vecaddPf".into(), ..meta::Kernel::default() });
//! # let stored = LaunchBody { kernel: 1, grid: [4, 1, 1], block: [256, 1, 1], ..LaunchBody::default() };
//! # let launch = LaunchEvent { stored, args: &[] };
//! # file.event(&Event {
//! #     id: 0, parent: None, tid: 1, api: 1, depth: 0, begin_ns: 5, call_ns: Some(1500), status: Some(0), link: 0,
//! #     body: Body::Launch(launch),
//! # });
//! # file.write(&path)?;
//! use cushim_analysis::{Options, analyse};
//!
//! let report = analyse(&[path], &Options::default())?;
//! let mut kernels = report.kernels;
//! kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.calls.call_ns.total));
//! for kernel in &kernels {
//!     println!("{:>9} ns in {:>5} launches of {}", kernel.calls.call_ns.total, kernel.calls.calls, kernel.label);
//! }
//! # assert_eq!((kernels[0].label.as_str(), kernels[0].calls.calls), ("vecadd", 1));
//! # assert_eq!(kernels[0].calls.call_ns.total, 1500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/launches.rs` iterates over single events.

pub mod arguments;
mod collect;
pub mod compare;
mod copies;
mod error;
pub mod facts;
pub mod fast;
pub mod filter;
mod histogram;
pub mod known;
pub mod mapped;
mod merge;
pub mod model;
pub mod names;
mod order;
mod reading;
mod rows;
mod sum;
pub mod timeline;
pub mod words;

pub use error::Error;
pub use filter::{Children, KernelFilter};
pub use model::Report;
pub use names::NameForm;
pub use order::{Source, in_order};
pub use reading::{expand, find, open};
pub use sum::{Options, analyse, analyse_watched};
