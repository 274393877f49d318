//! A wall clock for the node alone, which the judge sets: libfaketime, loaded before the C library.
//!
//! Only the wall clock is faked. The monotonic clock, like the clocks of the judge and of its validators, runs as it is.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What Debian's package `libfaketime` installs, below the directory of each architecture.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct FakeClock {
    library: PathBuf,
    /// How far the clock is ahead, as libfaketime reads it once a second.
    file: PathBuf,
}

impl FakeClock {
    /// A clock that is right; `None` if libfaketime is not installed.
    pub(super) fn find(directory: &Path) -> Option<Self> {
        let architectures = fs::read_dir("/usr/lib").ok()?.flatten();
        let library = architectures.map(|entry| entry.path().join(LIBRARY)).find(|path| path.is_file())?;
        let clock = Self { library, file: directory.join("clock") };
        clock.set(0).ok()?;
        Some(clock)
    }

    /// Sets the clock this many hours ahead; behind, if negative.
    pub(super) fn set(&self, hours: i64) -> Result<(), String> {
        let next = self.file.with_extension("next");
        let written = fs::write(&next, format!("{:+}\n", hours * 3600));
        written.and_then(|()| fs::rename(&next, &self.file)).map_err(|why| format!("the clock's file: {why}"))
    }

    /// Lets a program live by it.
    pub(super) fn give(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_CACHE_DURATION", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }
}
