//! The node as a process: started, read line by line, frozen, killed.

use super::fake_clock::FakeClock;
use harness::child;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

/// Nothing that the judge waits for at a start takes longer.
const START_MAX: Duration = Duration::from_secs(60);
/// What the log says when a node can be talked to, before its address.
const READY: &str = "RPC on ";

/// How to start the node.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    /// The binary `pectin`.
    pub(super) binary: PathBuf,
    /// Its arguments, but for the data directory.
    pub(super) arguments: Vec<String>,
    /// Where it keeps what is durable.
    pub(super) data_dir: PathBuf,
    /// Where its log is written to, one life after the other.
    pub(super) log: PathBuf,
    /// The wall clock that it lives by, if that can be set.
    pub(super) clock: Option<FakeClock>,
}

/// A running node.
#[derive(Debug)]
pub(super) struct Node {
    process: Child,
    lines: Receiver<String>,
    started: Instant,
}

/// What was waited for in the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// This line.
    Line(String),
    /// Nothing of the kind, for as long as was asked.
    Nothing,
    /// The node has ended by itself.
    Ended,
}

impl Node {
    /// Starts a node.
    pub(super) fn start(recipe: &Recipe) -> Result<Self, String> {
        let log = File::options().create(true).append(true).open(&recipe.log);
        let mut log = log.map_err(|why| format!("{}: {why}", recipe.log.display()))?;
        let errors = log.try_clone().map_err(|why| why.to_string())?;
        let mut command = child::command(&recipe.binary);
        if let Some(clock) = &recipe.clock {
            clock.give(&mut command);
        }
        command
            .args(&recipe.arguments)
            .arg("--data-dir")
            .arg(&recipe.data_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors);
        let mut process =
            child::spawn(command).map_err(|why| format!("{}: {why}", recipe.binary.display()))?;
        let started = Instant::now();
        let output = process.stdout.take().ok_or("the node has no output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // For whoever looks for what went wrong; the judge itself does not need it.
                let _ = writeln!(log, "{line}");
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { process, lines, started })
    }

    /// Waits for a line.
    pub(super) fn hear(&self, mut is_it: impl FnMut(&str) -> bool, at_most: Duration) -> Heard {
        let until = Instant::now() + at_most;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) if is_it(&line) => return Heard::Line(line),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Heard::Nothing,
                Err(RecvTimeoutError::Disconnected) => return Heard::Ended,
            }
        }
    }

    /// Forgets what was said so far.
    pub(super) fn forget_lines(&self) {
        self.lines.try_iter().for_each(drop);
    }

    /// Waits until the node can be talked to; gives its address.
    pub(super) fn ready(&self) -> Result<String, String> {
        match self.hear(|line| line.contains(READY), START_MAX) {
            Heard::Line(line) => {
                let (_, url) = line.split_once(READY).unwrap_or_default();
                Ok(url.trim().to_owned())
            }
            Heard::Nothing => Err(format!("the node was not ready within {START_MAX:?}")),
            Heard::Ended => Err("the node ended before it was ready".to_owned()),
        }
    }

    /// How long ago it was started.
    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    fn pid(&self) -> Result<Pid, String> {
        Pid::from_raw(self.process.id().cast_signed()).ok_or_else(|| "the node has no number".to_owned())
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        kill_process(self.pid()?, signal).map_err(|why| format!("no signal can be sent to the node: {why}"))
    }

    /// Stops it where it stands.
    pub(super) fn freeze(&self) -> Result<(), String> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub(super) fn thaw(&self) -> Result<(), String> {
        self.signal(Signal::CONT)
    }

    /// Kills it; gives an error if it had ended by itself, which it should not.
    pub(super) fn kill(mut self) -> Result<(), String> {
        if let Ok(Some(status)) = self.process.try_wait() {
            return Err(format!("the node ended by itself: {status}"));
        }
        self.process.kill().map_err(|why| why.to_string())?;
        self.process.wait().map(drop).map_err(|why| why.to_string())
    }

    /// Asks it to stop, and says how it ended.
    pub(super) fn stop(mut self) -> Result<std::process::ExitStatus, String> {
        self.signal(Signal::TERM)?;
        self.process.wait().map_err(|why| why.to_string())
    }

    /// The memory that it has in use, in KiB.
    pub(super) fn resident_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
