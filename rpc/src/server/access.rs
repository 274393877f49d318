//! Who may talk to the node: the Host that a request names, the Origin that a page has, the operator's token.

use crate::Config;
use hyper::{HeaderMap, header};
use std::{collections::BTreeSet, net::IpAddr};

/// Whether a request may be addressed to this Host. A page cannot make a browser name another host than its own, so a
/// name that points here without being ours is an attack.
pub(super) fn host_allowed(config: &Config, headers: &HeaderMap, authority: Option<&str>) -> bool {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).or(authority);
    let Some(host) = host else { return true };
    let name = without_port(host).to_ascii_lowercase();
    name == "localhost"
        || name.parse::<IpAddr>().is_ok()
        || config.hosts.contains("*")
        || config.hosts.contains(&name)
}

fn without_port(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.contains(':') => {
                name
            }
            _ => host,
        },
    }
}

/// What `Access-Control-Allow-Origin` says, if the page that asks may read answers.
pub(super) fn allowed_origin(origins: &BTreeSet<String>, headers: &HeaderMap) -> Option<String> {
    let origin = headers.get(header::ORIGIN)?.to_str().ok()?;
    match () {
        () if origins.contains("*") => Some("*".to_owned()),
        () if origins.contains(origin) => Some(origin.to_owned()),
        () => None,
    }
}

/// Whether the operator's token came with the request. The comparison takes the same time for every wrong token.
pub fn is_operator(config: &Config, headers: &HeaderMap) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer "));
    match (&config.token, given) {
        (Some(token), Some(given)) if !token.is_empty() => {
            let (token, given) = (token.as_bytes(), given.trim().as_bytes());
            let differences = token.iter().zip(given).fold(0, |sum, (a, b)| sum | (a ^ b));
            std::hint::black_box(differences) == 0 && token.len() == given.len()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn only_known_hosts_are_served() {
        let config = Config { hosts: ["node.example".to_owned()].into(), ..Config::default() };
        let allowed = |host| host_allowed(&config, &headers(header::HOST, host), None);
        for host in [
            "localhost",
            "localhost:8545",
            "127.0.0.1:8545",
            "[::1]:8545",
            "::1",
            "NODE.example:1",
            "10.0.0.7",
        ] {
            assert!(allowed(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:8545", "127.0.0.1.evil.example", ""] {
            assert!(!allowed(host), "{host}");
        }
        assert!(!host_allowed(&config, &HeaderMap::new(), Some("evil.example")));
        let open = Config { hosts: ["*".to_owned()].into(), ..Config::default() };
        assert!(host_allowed(&open, &headers(header::HOST, "any.example"), None));
    }

    #[test]
    fn answers_are_for_allowed_pages_only() {
        let asked = headers(header::ORIGIN, "https://a.example");
        assert_eq!(allowed_origin(&BTreeSet::new(), &asked), None);
        assert_eq!(allowed_origin(&["*".to_owned()].into(), &asked).as_deref(), Some("*"));
        let one = ["https://a.example".to_owned()].into();
        assert_eq!(allowed_origin(&one, &asked).as_deref(), Some("https://a.example"));
        assert_eq!(allowed_origin(&one, &headers(header::ORIGIN, "https://b.example")), None);
    }

    #[test]
    fn the_operator_has_the_token() {
        let config = Config { token: Some("secret".to_owned()), ..Config::default() };
        let is = |value| is_operator(&config, &headers(header::AUTHORIZATION, value));
        assert!(is("Bearer secret"));
        for wrong in ["Bearer secre", "Bearer secrets", "Bearer ", "secret", "Basic secret"] {
            assert!(!is(wrong), "{wrong}");
        }
        let empty = Config { token: Some(String::new()), ..Config::default() };
        assert!(!is_operator(&empty, &headers(header::AUTHORIZATION, "Bearer ")));
        assert!(!is_operator(&Config::default(), &headers(header::AUTHORIZATION, "Bearer x")));
    }
}
