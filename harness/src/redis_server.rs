//! A real Redis server of one's own, on a free port of this machine, with its append-only file in a directory that goes
//! away afterwards.

use crate::{child, ports};
use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How long a server may take to begin.
const START_MAX: Duration = Duration::from_secs(30);

/// A running server. It is killed when it is dropped.
#[derive(Debug)]
pub struct RedisServer {
    child: Child,
    port: u16,
}

impl RedisServer {
    /// Whether there is a server to start.
    pub fn is_installed() -> bool {
        let version = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    }

    /// Starts a server on what `directory` holds. `fsync` is its policy: `always`, `everysec`; none for no file at all.
    pub fn start(directory: &Path, fsync: Option<&str>) -> Self {
        Self::start_with(directory, fsync, &[])
    }

    /// The same, with more arguments.
    pub fn start_with(directory: &Path, fsync: Option<&str>, more: &[&str]) -> Self {
        let deadline = Instant::now() + START_MAX;
        loop {
            // If a program outside of the tests takes the port in between, there is another one.
            let port = ports::reserve().expect("a free port");
            let mut command = child::command("redis-server");
            command
                .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
                .arg(directory)
                .args(["--appendonly", if fsync.is_some() { "yes" } else { "no" }])
                .args(["--appendfsync", fsync.unwrap_or("always")])
                .args(more)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let mut child = child::spawn(command).expect("redis-server can be started");
            while child.try_wait().expect("it is our child").is_none() {
                if is_ready(port).unwrap_or_default() {
                    return Self { child, port };
                }
                assert!(Instant::now() < deadline, "redis-server does not listen");
                std::thread::yield_now();
            }
            assert!(Instant::now() < deadline, "redis-server does not start");
        }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Where it is, for somebody who has a password.
    pub fn url_with(&self, password: &str) -> String {
        format!("redis://:{password}@127.0.0.1:{}", self.port)
    }
}

/// Whether it answers questions. It listens before that, while it reads its file.
fn is_ready(port: u16) -> io::Result<bool> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(START_MAX))?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer)?;
    // Who has no password is told so, as soon as it answers at all.
    Ok(&answer == b"+PONG" || &answer == b"-NOAU")
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // SIGKILL, so that every end of a server is also a test of its durability.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
