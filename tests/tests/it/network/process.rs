//! A process that a test starts, talks to by lines, and ends.

use std::{process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// How long a line may take. Far more than it should: a test that waits so long has failed.
const LINE_MAX: Duration = Duration::from_secs(120);

/// A running process. It is killed when it is dropped.
pub(super) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(super) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, input, lines: BufReader::new(output).lines() }
    }

    /// The next line, or `None` if the process has ended.
    pub(super) async fn line(&mut self) -> Option<String> {
        timeout(LINE_MAX, self.lines.next_line()).await.expect("a line within two minutes").unwrap()
    }

    /// The next line that says something about this.
    pub(super) async fn line_with(&mut self, what: &str) -> String {
        loop {
            let line = self.line().await.unwrap_or_else(|| panic!("it ended without a word on {what:?}"));
            if line.contains(what) {
                return line;
            }
        }
    }

    /// Its number.
    pub(super) fn id(&self) -> u32 {
        self.child.id().expect("it has not been waited for")
    }

    pub(super) async fn say(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Closes its input and waits for its end.
    pub(super) async fn end(mut self) -> bool {
        drop(self.input.take());
        timeout(LINE_MAX, self.child.wait()).await.expect("an end within two minutes").unwrap().success()
    }
}
