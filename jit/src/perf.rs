//! Names for profilers: the map file that Linux' `perf` reads.
//!
//! `perf` attributes samples in code that no file contains by `/tmp/perf-PID.map`: lines of start, size (both in hexadecimal) and
//! name. Lines are only ever added. Where code was dropped and other code took its place, `perf` may give samples the name of
//! either.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// The open map file of this process.
#[derive(Debug)]
pub struct PerfMap {
    file: Mutex<File>,
}

impl PerfMap {
    /// Opens the map of this process, and begins it where it is not there.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open() -> io::Result<PerfMap> {
        // perf looks there, whatever the environment says of temporary files.
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
        let file = options.open(format!("/tmp/perf-{}.map", std::process::id()))?;
        Ok(PerfMap { file: Mutex::new(file) })
    }

    /// Names a piece of code. What cannot be written is left out: a profile is not worth a failure.
    pub fn add(&self, code: &[u8], name: &str) {
        let line = format!("{:x} {:x} {name}\n", code.as_ptr().addr(), code.len());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::debug!(%error, "the perf map could not be written");
        }
    }
}
