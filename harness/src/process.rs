//! The product as a child process: its log read line by line, ended with its owner.

use crate::{child, http::Client, product};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    io::{self, BufRead, BufReader},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

/// A line that does not come in this time does not come.
const LINE_TIMEOUT: Duration = Duration::from_secs(120);
/// Whoever has not ended in this time does not end.
const END_TIMEOUT: Duration = Duration::from_secs(240);

/// A running `pectin`.
#[derive(Debug)]
pub struct Pectin {
    child: Child,
    lines: Receiver<String>,
    /// Every line so far.
    pub log: Vec<String>,
}

impl Pectin {
    /// Starts it. Nothing of the environment changes its settings.
    pub fn start<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> io::Result<Self> {
        let mut command = child::command(product::binary()?);
        command.args(arguments);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PECTIN_"))
        {
            command.env_remove(name);
        }
        Self::from(command)
    }

    /// Starts a command that becomes it.
    pub fn from(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child::spawn(command)?;
        let (sender, lines) = channel();
        let streams: [Option<Box<dyn io::Read + Send>>; 2] =
            [child.stdout.take().map(|s| Box::new(s) as _), child.stderr.take().map(|s| Box::new(s) as _)];
        for stream in streams.into_iter().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { child, lines, log: vec![] })
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that has this in it.
    pub fn wait_for(&mut self, text: &str) -> Result<String, String> {
        self.wait_for_line(|line| line.contains(text)).map_err(|why| format!("{text:?}: {why}"))
    }

    /// Waits for a line that is as wanted.
    pub fn wait_for_line(&mut self, is_wanted: impl Fn(&str) -> bool) -> Result<String, String> {
        loop {
            match self.lines.recv_timeout(LINE_TIMEOUT) {
                Ok(line) => {
                    self.log.push(line.clone());
                    if is_wanted(&line) {
                        return Ok(line);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("no such line: {:#?}", self.log));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("it ended without such a line: {:#?}", self.log));
                }
            }
        }
    }

    /// Waits until it has ended, reading to the end. If it does not end, that is an error and its end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + END_TIMEOUT;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.log.push(line),
                Err(RecvTimeoutError::Disconnected) => return self.child.wait(),
                Err(RecvTimeoutError::Timeout) => {
                    self.child.kill()?;
                    return Err(io::Error::other(format!("it does not end: {:#?}", self.log)));
                }
            }
        }
    }

    /// Asks it to stop.
    pub fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }

    /// Ends it at once.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.wait()
    }
}

impl Drop for Pectin {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Calls a JSON-RPC method; the error is the answer's.
pub fn call(client: &mut Client, method: &str, params: &Value) -> Result<Value, String> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let answer = client.post(body.as_bytes()).map_err(|why| why.to_string())?;
    let mut answer = serde_json::from_slice::<Value>(&answer.body).map_err(|why| why.to_string())?;
    match answer.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(answer["error"].to_string()),
    }
}
