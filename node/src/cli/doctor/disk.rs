//! The data directory: whether it can be written, how long a sync takes, how much room there is, and whose it is.
//!
//! Every accepted transaction waits for a sync of the disk. What that takes is the least that a client waits.

use super::{Finding, Verdict};
use runtime::data::{self, DataError};
use std::{
    fs, io,
    io::Write,
    path::Path,
    time::{Duration, Instant},
};
use store::StoreError;

const SYNCS: usize = 16;
const SYNC_WARNING: Duration = Duration::from_millis(20);
const FREE_WARNING_BYTES: u64 = 10 << 30;
const FREE_PROBLEM_BYTES: u64 = 512 << 20;

/// Looks at the directory.
pub(super) fn look(directory: &Path) -> Vec<Finding> {
    if !directory.exists() {
        let text = format!("{} is not there yet; the node makes it", directory.display());
        return vec![Finding::new("data directory", Verdict::Unknown, text)];
    }
    let mut findings = vec![whose(directory), room(directory)];
    findings.push(match sync_time(directory) {
        Ok(time) => {
            let verdict = if time < SYNC_WARNING { Verdict::Good } else { Verdict::Warning };
            let text =
                format!("{:.1} ms until a write is durable (median of {SYNCS})", time.as_secs_f64() * 1e3);
            Finding::new("disk sync", verdict, text)
        }
        Err(why) => Finding::new("disk sync", Verdict::Problem, format!("{}: {why}", directory.display())),
    });
    findings
}

fn whose(directory: &Path) -> Finding {
    let what = "data directory";
    let opened = data::spec(directory).and_then(|spec| data::open(directory, &spec));
    match opened {
        Ok(store) => {
            let (finalized, newest) = store.heads();
            Finding::new(
                what,
                Verdict::Good,
                format!("no node uses it; final to {finalized}, sealed to {newest}"),
            )
        }
        Err(DataError::Store(StoreError::InUse(_))) => {
            Finding::new(what, Verdict::Good, format!("{} is in use by a node", directory.display()))
        }
        Err(DataError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Finding::new(what, Verdict::Unknown, format!("{} holds no data yet", directory.display()))
        }
        Err(why) => Finding::new(what, Verdict::Problem, why.to_string()),
    }
}

fn room(directory: &Path) -> Finding {
    let what = "disk space";
    match rustix::fs::statvfs(directory) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let verdict = match free {
                ..FREE_PROBLEM_BYTES => Verdict::Problem,
                FREE_PROBLEM_BYTES..FREE_WARNING_BYTES => Verdict::Warning,
                _ => Verdict::Good,
            };
            Finding::new(what, verdict, format!("{:.1} GiB are free", free as f64 / f64::from(1 << 30)))
        }
        Err(why) => Finding::new(what, Verdict::Unknown, why.to_string()),
    }
}

/// How long a small write takes to be durable.
fn sync_time(directory: &Path) -> io::Result<Duration> {
    let path = directory.join(format!(".doctor-{}", std::process::id()));
    let measured = measure(&path);
    let removed = fs::remove_file(&path);
    // Why it could not be written says more than that there is nothing to remove then.
    let time = measured?;
    removed.map(|()| time)
}

fn measure(path: &Path) -> io::Result<Duration> {
    let mut file = fs::File::create_new(path)?;
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let begun = Instant::now();
        file.write_all(&[0x55; 4096])?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times[SYNCS / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_directory_cannot_be_written_is_said() {
        // Nobody, the superuser included, makes a file below a file.
        let file = std::env::temp_dir().join(format!("pectin-no-directory-{}", std::process::id()));
        fs::write(&file, "").unwrap();
        assert_eq!(sync_time(&file).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        fs::remove_file(&file).unwrap();
        assert!(sync_time(&std::env::temp_dir()).is_ok());
    }
}
