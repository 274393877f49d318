//! A validator's keys.

use crate::vrf::VrfSecret;
use alloy_primitives::FixedBytes;
use jam::{Ed25519Secret, keys::BlsKey, state::ValidatorKeys};
use std::net::{IpAddr, SocketAddr};

/// Both secrets of a validator.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Signs guarantees and assurances, and is its name in the network.
    pub ed25519: Ed25519Secret,
    /// Seals blocks.
    pub bandersnatch: VrfSecret,
}

impl Keys {
    /// The keys of dev validator `index`, which everybody knows.
    pub fn trivial(index: u32) -> Self {
        Self { ed25519: Ed25519Secret::trivial(index), bandersnatch: VrfSecret::trivial(index) }
    }

    /// The public keys as the chain has them, with the address at which the validator listens, if it is a fixed one.
    pub fn public(&self, addr: Option<SocketAddr>) -> ValidatorKeys {
        ValidatorKeys {
            bandersnatch: self.bandersnatch.public(),
            ed25519: self.ed25519.public(),
            bls: BlsKey::ZERO,
            metadata: addr.map_or(FixedBytes::ZERO, metadata),
        }
    }
}

/// Address and port stand in the first 18 bytes.
fn metadata(addr: SocketAddr) -> FixedBytes<128> {
    let ip = match addr.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut metadata = FixedBytes::ZERO;
    metadata[..16].copy_from_slice(&ip.octets());
    metadata[16..18].copy_from_slice(&addr.port().to_le_bytes());
    metadata
}
