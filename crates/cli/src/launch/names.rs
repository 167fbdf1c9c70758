//! Names that the launcher's parts share.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Variables for the program's environment.
pub type Environment = Vec<(&'static str, OsString)>;

/// Inserts `middle` before the last `.` of a file name.
pub fn insert(name: &OsStr, middle: &str) -> OsString {
    let path = Path::new(name);
    let Some(ending) = path.extension() else {
        let mut name = name.to_owned();
        name.push(".");
        name.push(middle);
        return name;
    };
    let mut longer = OsString::from(middle);
    longer.push(".");
    longer.push(ending);
    path.with_extension(longer).into_os_string()
}
