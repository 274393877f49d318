//! Where the client may go.

use core::{fmt, str::FromStr};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

/// What is allowed, and how much.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Networks that are allowed although they are not public.
    pub allowed: Vec<Network>,
    /// Bytes of an answer.
    pub response_bytes_max: usize,
    /// How long a connection may take, TLS included.
    pub connect_timeout: Duration,
    /// Whose certificates are believed; by default whom browsers believe.
    pub roots: RootCertStore,
}

impl Rules {
    /// Public addresses only: for URLs that somebody else chose.
    pub fn public() -> Self {
        Self {
            allowed: vec![],
            response_bytes_max: 1024 * 1024,
            connect_timeout: Duration::from_secs(5),
            roots: RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() },
        }
    }

    /// Any address: for URLs that the operator chose.
    pub fn anywhere() -> Self {
        let everything = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
        let allowed = everything.map(|address| Network { address, prefix_bits: 0 }).into();
        Self { allowed, response_bytes_max: 16 * 1024 * 1024, ..Self::public() }
    }

    /// The same rules, and these networks are allowed too.
    #[must_use]
    pub fn allowing(mut self, networks: impl IntoIterator<Item = Network>) -> Self {
        self.allowed.extend(networks);
        self
    }

    /// The same rules, and certificates that this one has signed are believed too.
    pub fn trusting(mut self, certificate: CertificateDer<'_>) -> Result<Self, rustls::Error> {
        self.roots.add(certificate.into_owned())?;
        Ok(self)
    }

    /// The same rules, and certificates that those of a PEM file have signed are believed too.
    pub fn trusting_pem(self, pem: &[u8]) -> Result<Self, BadCertificates> {
        let mut rules = self;
        let mut found = 0;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|_| BadCertificates)?;
            rules = rules.trusting(certificate).map_err(|_| BadCertificates)?;
            found += 1;
        }
        if found == 0 { Err(BadCertificates) } else { Ok(rules) }
    }

    /// Whether a connection may go there.
    pub fn allow(&self, address: IpAddr) -> bool {
        let address = plain(address);
        is_public(address) || self.allowed.iter().any(|network| network.contains(address))
    }
}

/// A file that holds no certificates, or one that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it holds no certificates in PEM form that could sign others")]
pub struct BadCertificates;

/// Addresses with a common beginning, written as `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

/// Text that is no network.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is no network; write it as 10.0.0.0/8 or as one address")]
pub struct BadNetwork(String);

impl Network {
    /// Whether an address belongs to it.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, plain(address)) {
            (IpAddr::V4(network), IpAddr::V4(address)) => same_prefix(
                network.to_bits().into(),
                address.to_bits().into(),
                32 - u32::from(self.prefix_bits),
            ),
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                same_prefix(network.to_bits(), address.to_bits(), 128 - u32::from(self.prefix_bits))
            }
            _ => false,
        }
    }
}

fn same_prefix(one: u128, other: u128, host_bits: u32) -> bool {
    (one ^ other).checked_shr(host_bits).unwrap_or(0) == 0
}

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let bad = || BadNetwork(text.chars().take(64).collect());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address = address.parse::<IpAddr>().map_err(|_| bad())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = bits.map_or(Ok(whole), str::parse::<u8>).map_err(|_| bad())?;
        if prefix_bits > whole {
            return Err(bad());
        }
        Ok(Self { address, prefix_bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

/// The address that is meant: an IPv4 address is sometimes written as an IPv6 one.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let low = || IpAddr::V4(Ipv4Addr::from_bits((v6.to_bits() & 0xffff_ffff) as u32));
    match v6.segments() {
        // Mapped (RFC 4291), translated (RFC 2765), and what a NAT64 makes of it (RFC 6052).
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => low(),
        _ => address,
    }
}

/// Whether an address is one that anybody on the internet may have.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        // This host, private, carrier's NAT, loopback, link-local (where clouds keep their credentials).
        [0 | 10 | 127, ..] | [100, 64..=127, ..] | [169, 254, ..] | [172, 16..=31, ..] | [192, 168, ..]
        // Protocol assignments, documentation, 6to4 relays, benchmarks.
        | [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _]
        // Multicast, reserved, broadcast.
        | [224..=255, ..]
    )
}

/// Global unicast is 2000::/3, less what stands for something else there: protocol assignments with Teredo, documentation,
/// and 6to4, which hides an IPv4 address.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        let rules = Rules::public();
        for address in
            ["1.1.1.1", "8.8.8.8", "100.63.0.1", "172.32.0.1", "223.255.255.255", "2606:4700::1111"]
        {
            assert!(rules.allow(address.parse().unwrap()), "{address}");
        }
        // A NAT64 makes public addresses reachable under such a name.
        assert!(rules.allow("64:ff9b::808:808".parse().unwrap()));
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "3fff::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "5f00::1",
            "::127.0.0.1",
        ] {
            assert!(!rules.allow(address.parse().unwrap()), "{address}");
            assert!(Rules::anywhere().allow(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_not_trusted() {
        for wrong in ["", "text", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert_eq!(
                Rules::public().trusting_pem(wrong.as_bytes()).err(),
                Some(BadCertificates),
                "{wrong}"
            );
        }
    }

    #[test]
    fn networks_are_allowed_one_by_one() {
        let rules = Rules::public().allowing(["10.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()]);
        for (address, allowed) in [
            ("10.255.0.1", true),
            ("::ffff:10.0.0.1", true),
            ("11.0.0.1", true),
            ("::1", true),
            ("::2", false),
        ] {
            assert_eq!(rules.allow(address.parse().unwrap()), allowed, "{address}");
        }
        assert!(!rules.allow("192.168.0.1".parse().unwrap()));
        for wrong in ["10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0/8", "", "x/8", "10.0.0.0/-1"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
        assert_eq!("127.0.0.1".parse::<Network>().unwrap().to_string(), "127.0.0.1/32");
    }
}
