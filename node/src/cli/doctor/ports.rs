//! What of this machine others can reach.

use super::{Finding, Verdict};
use crate::cli::Options;
use std::net::IpAddr;

/// Looks at where RPC is served, by its settings and by what really listens.
pub(super) fn look(address: IpAddr, port: u16, options: &Options) -> Vec<Finding> {
    let listens = listening(port);
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
    findings
}

/// Who can reach a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    ThisMachine,
    Everybody,
}

/// Who can reach what listens on a TCP port; `None` if nothing does, or it cannot be known here.
fn listening(port: u16) -> Option<Reach> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let reaches = tables.iter().flat_map(|table| table.lines()).filter_map(|line| listener(line, port));
    reaches.max_by_key(|reach| *reach == Reach::Everybody)
}

/// A line of the kernel's table of sockets, if it is of one that listens on this port.
fn listener(line: &str, port: u16) -> Option<Reach> {
    const LISTEN: &str = "0A";
    let mut fields = line.split_whitespace().skip(1);
    let (local, state) = (fields.next()?, fields.nth(1)?);
    let (address, found) = local.split_once(':')?;
    if state != LISTEN || u16::from_str_radix(found, 16) != Ok(port) {
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
        assert_eq!(listener(line, 8545), Some(Reach::ThisMachine));
        assert_eq!(listener(line, 8546), None);
        assert_eq!(listener(&line.replace("0100007F:2161", "00000000:2161"), 8545), Some(Reach::Everybody));
        assert_eq!(listener(&line.replace(" 0A ", " 01 "), 8545), None, "a connection");
        let six = line.replace("0100007F:2161", "00000000000000000000000001000000:2161");
        assert_eq!(listener(&six, 8545), Some(Reach::ThisMachine));
        assert_eq!(listener("  sl  local_address rem_address", 8545), None);
    }

    #[test]
    fn a_real_listener_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if cfg!(target_os = "linux") {
            assert_eq!(listening(port), Some(Reach::ThisMachine));
        }
    }
}
