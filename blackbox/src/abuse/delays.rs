//! How long threads ran, and how long they were ready to run and did not get a processor, as Linux counts it.
//!
//! On a busy machine most of what a client waits for is the latter, and it says nothing about the node. Elsewhere nothing
//! is known of it.

use std::{collections::HashMap, fs::File, os::unix::fs::FileExt, path::PathBuf, time::Duration};

/// The threads of a node that serve: tokio names them so.
const SERVING: &str = "tokio-";
/// Those for calls, which have a lower priority.
const CALLING: &str = "pectin-call-";

/// The threads of one process that serve or call, each with its times.
pub(super) struct Delays {
    tasks: PathBuf,
    threads: HashMap<String, Option<Thread>>,
}

struct Thread {
    file: File,
    before: Times,
    calls: bool,
}

/// What a thread has done.
#[derive(Clone, Copy, Default)]
pub(super) struct Times {
    /// It ran.
    pub(super) ran: Duration,
    /// It was ready to run, and waited for a processor.
    pub(super) waited: Duration,
}

impl Times {
    pub(super) fn since(self, before: Self) -> Self {
        Self { ran: self.ran.saturating_sub(before.ran), waited: self.waited.saturating_sub(before.waited) }
    }
}

/// The first two numbers of the text: nanoseconds on a processor, and in a run queue.
fn read(file: &File) -> Option<Times> {
    let mut text = [0; 96];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    let mut numbers = text.split_whitespace().map_while(|number| number.parse().ok());
    let (ran, waited) = (numbers.next()?, numbers.next()?);
    Some(Times { ran: Duration::from_nanos(ran), waited: Duration::from_nanos(waited) })
}

impl Delays {
    pub(super) fn of(process: u32) -> Self {
        Self { tasks: format!("/proc/{process}/task").into(), threads: HashMap::new() }
    }

    /// Notes the times of all so far.
    pub(super) fn begin(&mut self) {
        self.find(|file| read(file).unwrap_or_default());
        for thread in self.threads.values_mut().flatten() {
            thread.before = read(&thread.file).unwrap_or(thread.before);
        }
    }

    /// How long the thread ran since that ran longest, and how long that one waited that waited longest: of those that
    /// serve, and of those that call.
    pub(super) fn end(&mut self) -> [Times; 2] {
        // A thread that was started meanwhile has done all it did since then.
        self.find(|_| Times::default());
        [false, true].map(|calls| {
            let threads = self.threads.values().flatten().filter(|thread| thread.calls == calls);
            let since = threads.filter_map(|thread| Some(read(&thread.file)?.since(thread.before)));
            since.fold(Times::default(), |most, times| Times {
                ran: most.ran.max(times.ran),
                waited: most.waited.max(times.waited),
            })
        })
    }

    /// Finds threads that are new, and forgets those that have ended.
    fn find(&mut self, before: impl Fn(&File) -> Times) {
        let Ok(list) = std::fs::read_dir(&self.tasks) else { return };
        let names = list.flatten().filter_map(|task| task.file_name().into_string().ok()).collect::<Vec<_>>();
        self.threads.retain(|name, _| names.contains(name));
        for name in names {
            self.threads.entry(name).or_insert_with_key(|name| {
                let folder = self.tasks.join(name);
                let name = std::fs::read_to_string(folder.join("comm")).ok()?;
                let calls = name.starts_with(CALLING);
                if !calls && !name.starts_with(SERVING) {
                    return None;
                }
                let file = File::open(folder.join("schedstat")).ok()?;
                Some(Thread { before: before(&file), file, calls })
            });
        }
    }
}

/// What the thread that calls this has done.
pub(super) struct Own(Option<File>);

impl Own {
    /// Of this thread.
    pub(super) fn here() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    pub(super) fn so_far(&self) -> Times {
        self.0.as_ref().and_then(read).unwrap_or_default()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_that_serve_are_found_and_read() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (start, started) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("tokio-test".to_owned()).spawn(move || {
            start.send(()).unwrap();
            let _ = stopped.recv();
        });
        started.recv().unwrap();
        let mut delays = Delays::of(std::process::id());
        delays.begin();
        assert_eq!(delays.threads.values().flatten().count(), 1);
        assert!(delays.threads.len() > 1, "others are known, and do not count");
        delays.end();
        drop(stop);
        thread.unwrap().join().unwrap();
        let own = Own::here();
        assert!(own.0.is_some() && own.so_far().since(own.so_far()).ran.is_zero());
    }
}
