//! Reads the processes' files while they are written, and feeds the view.
//!
//! Owns: finding the files, freeing their space once it is read, deciding when a file is complete. Must not know:
//! what an event is, or how it looks.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use cushim_trace::control::Room;
use cushim_trace::reader::TraceFile;

use super::spool::Spool;
use crate::launch::Signals;
use crate::view::{Totals, View};
use crate::{Error, complain};

/// The files of one run.
pub struct Follow {
    spool: Spool,
    /// `None` once the output cannot be written: events are still read, so that space is freed.
    view: Option<View>,
    seen: HashSet<OsString>,
    files: Vec<Followed>,
    failure: Option<Error>,
    /// Kept so that the folder can be read when files use every other descriptor.
    reserve: Option<File>,
}

struct Followed {
    index: usize,
    path: PathBuf,
    /// `None` until its first page is there.
    file: Option<TraceFile>,
    /// Tells the process what was freed.
    room: Option<Room>,
    /// It cannot be read, and a message has said why.
    broken: bool,
}

impl Follow {
    /// Follows what appears in `spool`.
    pub fn new(spool: Spool, view: View) -> Self {
        let reserve = File::open("/dev/null").ok();
        // SAFETY: a disposition without a handler; the program has been started, and does not inherit it.
        unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
        let (seen, files) = (HashSet::new(), Vec::new());
        Follow { spool, view: Some(view), seen, files, failure: None, reserve }
    }

    /// Takes in what is new.
    pub fn look(&mut self) {
        self.find();
        let mut files = std::mem::take(&mut self.files);
        files.retain_mut(|file| {
            let over = file.is_over();
            self.read(file, over);
            if over {
                self.end(file);
                let _ = fs::remove_file(&file.path);
            }
            !over
        });
        self.files = files;
        if let Some(Err(error)) = self.view.as_mut().map(View::tick) {
            self.stop_view(crate::view::output(error));
        }
    }

    /// The program has ended: takes in the rest and writes the summary. `None`: the output cannot
    /// be written, and a message has said so.
    pub fn finish(mut self, signals: &mut Signals) -> Option<Totals> {
        self.find();
        let mut files = std::mem::take(&mut self.files);
        let failures: Vec<_> = files.iter_mut().filter_map(|file| file.open().err()).collect();
        if failures.is_empty() {
            // Open files stay readable: from here on a Ctrl-C leaves nothing behind.
            self.spool.remove();
        }
        signals.release_keyboard();
        let mut running = 0;
        for mut file in files {
            self.read(&mut file, true);
            running += usize::from(file.goes_on());
            self.end(&file);
            file.complain();
        }
        if running > 0 {
            let what = if running == 1 { "process is" } else { "processes are" };
            complain(&format!(
                "{running} child {what} still running; the trace ends when the program ends"
            ));
        }
        match self.view.take()?.finish() {
            Ok(totals) => Some(totals),
            Err(error) => {
                self.stop_view(crate::view::output(error));
                None
            }
        }
    }

    fn find(&mut self) {
        self.reserve = None;
        self.find_new();
        self.reserve = File::open("/dev/null").ok();
    }

    fn find_new(&mut self) {
        let Ok(folder) = fs::read_dir(self.spool.path()) else { return };
        let new = |entry: &fs::DirEntry| !self.seen.contains(&entry.file_name());
        // In the order in which the processes began, as far as the file system knows.
        let born = |entry: &fs::DirEntry| entry.metadata().and_then(|m| m.created()).ok();
        let entries = folder.flatten().filter(new);
        let mut found: Vec<_> = entries.map(|e| (born(&e), e.file_name())).collect();
        found.sort();
        for (_, name) in found {
            let path = self.spool.path().join(&name);
            let index = self.seen.len();
            self.seen.insert(name);
            self.files.push(Followed { index, path, file: None, room: None, broken: false });
        }
    }

    fn read(&mut self, followed: &mut Followed, last: bool) {
        // Opening is retried later, and a failure is reported at the end.
        let _ = followed.open();
        let Some(file) = followed.file.as_mut().filter(|_| !followed.broken) else { return };
        let result = match &mut self.view {
            Some(view) => view.pump(followed.index, file, last),
            None => file.poll(last, &mut |_, _| {}).map(drop).map_err(Error::from),
        };
        match result {
            Ok(()) => {}
            Err(Error::Trace(error)) => {
                complain(&error.to_string());
                followed.broken = true;
            }
            Err(error) => self.stop_view(error),
        }
        if !last {
            followed.give_back();
        }
    }

    fn end(&mut self, followed: &Followed) {
        if let Some((view, file)) = self.view.as_mut().zip(followed.file.as_ref()) {
            view.ended(followed.index, file);
        }
    }

    /// The output cannot be written; if its reader just went away, no message is needed.
    fn stop_view(&mut self, error: Error) {
        let quiet = matches!(&error, Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe);
        if !quiet && self.failure.is_none() {
            complain(&error.to_string());
        }
        self.view = None;
        self.failure.get_or_insert(error);
    }
}

impl Followed {
    fn open(&mut self) -> Result<(), cushim_trace::Error> {
        if self.file.is_none() {
            let mut file = TraceFile::open(&self.path)?;
            file.follow()?;
            self.file = Some(file);
        }
        Ok(())
    }

    /// Says what is wrong with a file that was never read. One that is empty or begins with zeros was
    /// being made when its process ended: nothing was recorded in it.
    fn complain(&mut self) {
        let Err(error) = self.open() else { return };
        let mut magic = [0; 8];
        let begun = File::open(&self.path).and_then(|mut f| f.read_exact(&mut magic));
        if begun.is_err_and(|e| e.kind() != io::ErrorKind::UnexpectedEof) || magic != [0; 8] {
            complain(&error.to_string());
        }
    }

    /// The process is gone, and has closed its file; or no process has the file open any more, because it was killed
    /// or left by `_exit`: there are trees of thousands of such processes.
    fn is_over(&mut self) -> bool {
        !self.is_running() && self.is_closed()
    }

    /// The process outlives the program, and would record more. (A process id of another PID namespace names another
    /// process here, or none.)
    fn goes_on(&mut self) -> bool {
        self.is_running() && !self.is_closed()
    }

    /// The process has closed its file, or no process has it open.
    fn is_closed(&mut self) -> bool {
        // Ours would count as a writer, too.
        self.room = None;
        let Some(file) = &self.file else { return false };
        file.header().closed || file.has_writer() == Some(false)
    }

    fn is_running(&self) -> bool {
        let Some(pid) = self.file.as_ref().map(|file| file.header().pid) else { return false };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // `pid (name) state …`: Z and X are processes that are gone but not waited for.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    }

    /// Frees what was completely read. File systems that cannot do this keep it until the end.
    fn give_back(&mut self) {
        let finished = self.file.as_mut().map(TraceFile::take_finished).unwrap_or_default();
        if finished.is_empty() {
            return;
        }
        let mut options = File::options();
        options.write(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
        let Ok(file) = options.open(&self.path) else { return };
        if self.room.is_none() {
            self.room = Room::open(&self.path).ok();
        }
        for (offset, size) in finished {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: an open file of ours; the range lies inside it.
            let done =
                unsafe { libc::fallocate(file.as_raw_fd(), mode, offset as i64, size as i64) } == 0;
            if let Some(room) = self.room.as_ref().filter(|_| done) {
                room.give_back(size);
            }
        }
    }
}
