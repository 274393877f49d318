//! What of this machine others can reach.

use super::{Finding, Verdict};
use crate::cli::Options;
use std::net::IpAddr;

/// Looks at where RPC is served and where validators connect, by the settings and by what really listens.
pub(super) fn look(address: IpAddr, port: u16, options: &Options) -> Vec<Finding> {
    let listens = listening(Protocol::Tcp, port);
    let open = !address.is_loopback() || listens == Some(Reach::Everybody);
    let mut findings = vec![match (open, listens) {
        (true, _) => {
            let text = format!(
                "RPC on port {port} can be reached from other machines; a firewall or a proxy should stand before it"
            );
            Finding::new("RPC port", Verdict::Warning, text)
        }
        (false, Some(_)) => {
            Finding::new("RPC port", Verdict::Good, format!("{port}, from this machine only"))
        }
        (false, None) => Finding::new("RPC port", Verdict::Unknown, format!("nothing listens on {port}")),
    }];
    if options.cors_origins.as_deref().is_some_and(|origins| origins.contains('*')) {
        let text = "every web page may read what RPC answers (--cors-origins *)";
        findings.push(Finding::new("web pages", Verdict::Warning, text));
    }
    if open && options.rate_limit == Some(0) {
        findings.push(Finding::new("rate limit", Verdict::Warning, "none, though others can reach RPC"));
    }
    findings.push(validators(options));
    findings
}

/// Who can reach the port for validators. It may be open: whoever connects proves its key, and the builder dials too.
fn validators(options: &Options) -> Finding {
    let what = "validators' port";
    let open = options.p2p_addr.is_some_and(|address| !address.is_loopback());
    let who = |open: bool| if open { "can be reached from other machines" } else { "from this machine only" };
    match options.p2p_port.filter(|port| *port != 0) {
        None => {
            let text = format!("UDP, a port that the system chooses, {}", who(open));
            Finding::new(what, Verdict::Good, text)
        }
        Some(port) => match listening(Protocol::Udp, port) {
            None => {
                let text = format!("nothing listens on UDP {port}; by the settings it {}", would(open));
                Finding::new(what, Verdict::Unknown, text)
            }
            Some(reach) => {
                let text = format!("UDP {port}, {}", who(reach == Reach::Everybody));
                Finding::new(what, Verdict::Good, text)
            }
        },
    }
}

const fn would(open: bool) -> &'static str {
    if open { "will be open to other machines" } else { "will be for this machine only" }
}

/// What a port belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Protocol {
    Tcp,
    Udp,
}

impl Protocol {
    /// The kernel's tables of sockets, and the state of one that waits for whoever comes.
    const fn tables(self) -> ([&'static str; 2], &'static str) {
        match self {
            Self::Tcp => (["/proc/net/tcp", "/proc/net/tcp6"], "0A"),
            Self::Udp => (["/proc/net/udp", "/proc/net/udp6"], "07"),
        }
    }
}

/// Who can reach a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    ThisMachine,
    Everybody,
}

/// Who can reach what listens on a port; `None` if nothing does, or it cannot be known here.
fn listening(protocol: Protocol, port: u16) -> Option<Reach> {
    let (tables, state) = protocol.tables();
    let tables = tables.map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let reaches =
        tables.iter().flat_map(|table| table.lines()).filter_map(|line| listener(line, state, port));
    reaches.max_by_key(|reach| *reach == Reach::Everybody)
}

/// A line of the kernel's table of sockets, if it is of one that listens on this port.
fn listener(line: &str, listens: &str, port: u16) -> Option<Reach> {
    let mut fields = line.split_whitespace().skip(1);
    let (local, state) = (fields.next()?, fields.nth(1)?);
    let (address, found) = local.split_once(':')?;
    if state != listens || u16::from_str_radix(found, 16) != Ok(port) {
        return None;
    }
    // Bytes of each word are swapped: 127.0.0.1 ends with 7F, ::1 with 01000000.
    let loopback = match address.len() {
        8 => address.ends_with("7F"),
        _ => address == "00000000000000000000000001000000" || address.ends_with("0000FFFF0100007F"),
    };
    Some(if loopback { Reach::ThisMachine } else { Reach::Everybody })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_is_read() {
        let line =
            "   0: 0100007F:2161 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1";
        assert_eq!(listener(line, "0A", 8545), Some(Reach::ThisMachine));
        assert_eq!(listener(line, "0A", 8546), None);
        assert_eq!(
            listener(&line.replace("0100007F:2161", "00000000:2161"), "0A", 8545),
            Some(Reach::Everybody)
        );
        assert_eq!(listener(&line.replace(" 0A ", " 01 "), "0A", 8545), None, "a connection");
        let six = line.replace("0100007F:2161", "00000000000000000000000001000000:2161");
        assert_eq!(listener(&six, "0A", 8545), Some(Reach::ThisMachine));
        assert_eq!(listener("  sl  local_address rem_address", "0A", 8545), None);
    }

    #[test]
    fn a_real_listener_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if cfg!(target_os = "linux") {
            assert_eq!(listening(Protocol::Tcp, port), Some(Reach::ThisMachine));
            let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
            let port = socket.local_addr().unwrap().port();
            assert_eq!(listening(Protocol::Udp, port), Some(Reach::Everybody));
            let options = Options { p2p_port: Some(port), ..Options::default() };
            assert!(validators(&options).text.contains("from other machines"), "{:?}", validators(&options));
        }
    }

    #[test]
    fn the_port_for_validators_is_looked_at_too() {
        let open = Options { p2p_addr: Some([0, 0, 0, 0].into()), ..Options::default() };
        assert!(validators(&open).text.contains("from other machines"));
        assert!(validators(&Options::default()).text.contains("from this machine only"));
    }
}
