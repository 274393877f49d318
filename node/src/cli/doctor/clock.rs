//! How far this machine's clock is from a time server's (SNTP, RFC 4330: one packet, one answer).
//!
//! Packages may be sent in two of the six seconds of a slot. A clock that is wrong by more than half a second misses
//! part of that window.

use super::{Finding, Verdict};
use std::{
    io,
    net::{ToSocketAddrs, UdpSocket},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const WHAT: &str = "clock";
const TIMEOUT: Duration = Duration::from_secs(3);
/// From 1900, where time servers begin to count, to 1970.
const ERA_SECS: i128 = 2_208_988_800;
const WARNING_MS: i128 = 200;
const PROBLEM_MS: i128 = 1000;

/// Compares with a server, if one is given.
pub(super) fn against_server(server: Option<&str>) -> Finding {
    let Some(server) = server else {
        let text = "not compared with a time server; --ntp pool.ntp.org asks one";
        return Finding::new(WHAT, Verdict::Unknown, text);
    };
    match offset_ms(server) {
        Ok(offset) => Finding::new(WHAT, judge(offset), said(offset, server)),
        Err(why) => Finding::new(WHAT, Verdict::Unknown, format!("{server} does not tell the time: {why}")),
    }
}

fn judge(offset_ms: i128) -> Verdict {
    match offset_ms.abs() {
        small if small < WARNING_MS => Verdict::Good,
        middle if middle < PROBLEM_MS => Verdict::Warning,
        _ => Verdict::Problem,
    }
}

fn said(offset_ms: i128, server: &str) -> String {
    let way = if offset_ms < 0 { "ahead of" } else { "behind" };
    format!("{} ms {way} {server}", offset_ms.abs())
}

/// What must be added to this clock to get the server's.
fn offset_ms(server: &str) -> io::Result<i128> {
    let with_port = if server.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        server.to_owned()
    } else {
        format!("{server}:123")
    };
    let address = with_port.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let socket = UdpSocket::bind(if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.connect(address)?;
    // Version 4, client.
    let mut packet = [0; 48];
    packet[0] = 0b00_100_011;
    let sent = now_ms();
    socket.send(&packet)?;
    let length = socket.recv(&mut packet)?;
    let received = now_ms();
    let (arrived, answered) = (stamp_ms(&packet[32..40]), stamp_ms(&packet[40..48]));
    // An answer of a server (mode 4) that knows the time itself (stratum not zero).
    if length < 48 || packet[0] & 7 != 4 || packet[1] == 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(((arrived - sent) + (answered - received)) / 2)
}

fn now_ms() -> i128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i128)
}

/// Seconds and fractions since 1900, as milliseconds since 1970.
fn stamp_ms(bytes: &[u8]) -> i128 {
    let word = |at: usize| bytes[at..at + 4].iter().fold(0_i128, |word, byte| word << 8 | i128::from(*byte));
    (word(0) - ERA_SECS) * 1000 + word(4) * 1000 / (1 << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose clock is so far from ours.
    fn server(off_ms: i128) -> String {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let mut packet = [0; 48];
            let (_, from) = socket.recv_from(&mut packet).unwrap();
            let now = now_ms() + off_ms;
            let (secs, ms) = (now.div_euclid(1000) + ERA_SECS, now.rem_euclid(1000));
            let stamp = ((secs << 32) + (ms << 32) / 1000) as u64;
            packet[0] = 0b00_100_100;
            packet[1] = 2;
            packet[32..40].copy_from_slice(&stamp.to_be_bytes());
            packet[40..48].copy_from_slice(&stamp.to_be_bytes());
            socket.send_to(&packet, from).unwrap();
        });
        address
    }

    #[test]
    fn the_offset_is_found() {
        for off_ms in [0, 5_000, -7_000] {
            let found = offset_ms(&server(off_ms)).unwrap();
            assert!((found - off_ms).abs() < 500, "{found} instead of {off_ms}");
        }
        assert_eq!(
            [judge(-20), judge(300), judge(-2000)],
            [Verdict::Good, Verdict::Warning, Verdict::Problem]
        );
        assert_eq!(said(-20, "x"), "20 ms ahead of x");
    }

    #[test]
    fn nobody_is_asked_unless_named() {
        assert_eq!(against_server(None).verdict, Verdict::Unknown);
    }
}
