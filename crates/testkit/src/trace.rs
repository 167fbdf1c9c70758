//! The body of the fuzz target for the reader of trace files and its views.
//!
//! A function panics only if the code under test breaks a promise.

use std::io::{self, Write};

use cushim_cli::report::merge;
use cushim_cli::view::{Class, Classes, Format, Run, View, ViewOptions};
use cushim_trace::reader::TraceFile;

/// A trace file, printed in full as text and as JSON lines.
pub fn file(data: &[u8]) {
    let Ok(mut written) = tempfile::NamedTempFile::new() else { return };
    if written.write_all(data).is_err() {
        return;
    }
    for format in [Format::Text, Format::Jsonl] {
        let Ok(file) = TraceFile::open(written.path()) else { break };
        let options = ViewOptions {
            format,
            nested: true,
            classes: Classes::of(&[Class::All]),
            classes_chosen: true,
            width: Some(80),
            ..ViewOptions::default()
        };
        let mut view = View::new(options, Run::default(), Box::new(io::sink()));
        let mut files = [file];
        let _ = merge(&mut files, &mut view);
        for file in &files {
            view.ended(0, file);
        }
        view.finish().expect("a sink takes everything");
    }
}
