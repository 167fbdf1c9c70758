//! Prints the launches of traces in order of time, with their arguments:
//!
//!     cargo run -p cushim-analysis --example launches -- FILE|FOLDER…

use std::io::{self, Write};
use std::path::PathBuf;

use cushim_analysis::arguments::{arguments, why_no_bytes};
use cushim_analysis::facts::Facts;
use cushim_analysis::known::{Handle, Known};
use cushim_analysis::words::dim;
use cushim_analysis::{KernelFilter, find, in_order, open};
use cushim_trace::event::Body;

fn main() -> Result<(), cushim_analysis::Error> {
    let given: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut files = find(&given)?.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    let (mut known, all) = (Known::default(), KernelFilter::default());
    let mut out = io::stdout().lock();
    in_order(&mut files, &mut |source, meta, event| {
        let facts = Facts::of(meta, event);
        let Body::Launch(launch) = &event.body else { return Ok(()) };
        if event.depth > 0 || facts.is_node {
            return Ok(());
        }
        let place = known.kernel(&all, source.index, meta, launch.kernel);
        let stream = known.handle(source.index, Handle::Stream, launch.stream);
        let Some(kernel) = known.kernels().get(place) else { return Ok(()) };
        let shown = match arguments(launch, kernel, meta) {
            Ok(list) => {
                let one = |argument: &cushim_analysis::arguments::Argument<'_>| {
                    let value = argument.value.as_ref();
                    value.map_or(why_no_bytes(launch).to_owned(), |value| value.text("..."))
                };
                list.iter().map(one).collect::<Vec<_>>().join(", ")
            }
            Err(why) => why.to_owned(),
        };
        let (grid, block, name) = (dim(launch.grid), dim(launch.block), &kernel.name.short);
        writeln!(out, "{name} <<<{grid}, {block}, {stream}>>> ({shown})")
    })
}
