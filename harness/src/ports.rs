//! Ports for processes that must be told one, and keep it over a restart.
//!
//! A port that the system chose (`bind` to 0) and that was closed again is free for all: any connection that leaves this
//! machine may get it before the process binds it, or between two of its lives. Ports below the range for such connections
//! (32768 and above on Linux) are given only to programs that ask for them, and a locked file for each group of ports keeps
//! tests that run at the same time apart.

use std::{
    fs::{self, File},
    io,
    net::{Ipv4Addr, TcpListener, UdpSocket},
    sync::atomic::{AtomicU16, Ordering},
};

use parking_lot::Mutex;

/// Ports of one group, in a row.
pub const GROUP: u16 = 16;
/// The first port of the first group.
const FIRST: u16 = 10_000;
/// How many groups there are; the last one ends below 30,000.
const GROUPS: u16 = 1_250;

const _: () = assert!(FIRST as u32 + GROUP as u32 * GROUPS as u32 <= 32_768, "ports of outgoing connections");

/// The first of [`GROUP`] ports in a row that are free and that no other test takes while this process lives.
pub fn reserve() -> io::Result<u16> {
    /// Locked until the process ends.
    static HELD: Mutex<Vec<File>> = Mutex::new(vec![]);
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let directory = std::env::temp_dir().join("pectin-test-ports");
    fs::create_dir_all(&directory)?;
    // Processes begin at different places, so that the first try is mostly the right one.
    let begin = u16::try_from(std::process::id() % u32::from(GROUPS)).unwrap_or_default();
    for _ in 0..GROUPS {
        let group = (begin + NEXT.fetch_add(1, Ordering::Relaxed) % GROUPS) % GROUPS;
        let file = File::options().create(true).append(true).open(directory.join(group.to_string()))?;
        let first = FIRST + group * GROUP;
        if file.try_lock().is_ok() && (first..first + GROUP).all(is_free) {
            HELD.lock().push(file);
            return Ok(first);
        }
    }
    Err(io::Error::other("no ports are free"))
}

fn is_free(port: u16) -> bool {
    let place = (Ipv4Addr::LOCALHOST, port);
    TcpListener::bind(place).is_ok() && UdpSocket::bind(place).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_reserved_once() {
        let (one, other) = (reserve().unwrap(), reserve().unwrap());
        assert!(one.abs_diff(other) >= GROUP);
        assert!((one..one + GROUP).all(is_free));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, one)).unwrap();
        assert!(!is_free(one));
        drop(listener);
    }
}
