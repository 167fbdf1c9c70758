//! A file by which the program's processes report to the launcher.
//!
//! Owns: that only this user can read it, and that it is removed. Must not know: what is reported.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use super::id::run_id;
use crate::Error;

/// A file in a folder of its own, which is removed with it.
#[derive(Debug)]
pub struct Told {
    folder: PathBuf,
    /// Its path, which is absolute.
    pub file: PathBuf,
}

impl Told {
    /// Makes it in `$TMPDIR` or `/tmp`; `what` is part of its name.
    pub fn new(what: &str) -> Result<Self, Error> {
        let folder = std::env::temp_dir().join(format!("cushim-{what}-{}", run_id()));
        let folder = std::path::absolute(&folder).map_err(|e| Error::io("find", &folder, e))?;
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|e| Error::io("make the folder", &folder, e))?;
        let file = folder.join("told");
        let made = File::options().write(true).create_new(true).mode(0o600).open(&file);
        let told = Told { folder, file };
        made.map_err(|e| Error::io("write", &told.file, e))?;
        Ok(told)
    }

    /// Puts something into it before the program begins.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        fs::write(&self.file, bytes).map_err(|e| Error::io("write", &self.file, e))
    }

    /// Whether a process could not write all of it.
    pub fn is_incomplete(&self) -> bool {
        let mode = fs::metadata(&self.file).map(|file| file.permissions().mode());
        mode.is_ok_and(|mode| mode & cushim_profile::MISSING != 0)
    }

    /// The contents.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        fs::read(&self.file).map_err(|e| Error::io("read", &self.file, e))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
        let _ = fs::remove_dir(&self.folder);
    }
}
