//! The owner's orders: how a live service gets other code.
//!
//! The configuration stands in the code's metadata, so another builder key is another code too, and one mechanism serves for both.
//!
//! ```text
//!   request(hash, length) --accumulate--> the chain solicits the preimage   (the owner provides it; the chain is final some blocks later)
//!   upgrade(hash, length) --refine------> is it there at the lookup anchor, and is it a code of ours for this chain?
//!                         --accumulate--> is it what was requested, and there? then it is the service's code from the next block on
//! ```
//!
//! A lookup anchor is a final block, so what refine finds there cannot go away with a fork. Each order has a number, above that of
//! the last one that was obeyed; its signature is for one service, one chain id and one code, so it can be used once.
//!
//! The payload of a work item with an order: [`TAG`], the order as it is encoded, the owner's signature. Such an item brings nothing
//! else.

use crate::{
    Config,
    answer::ORDER,
    refine::{Input, RefineError},
};
use ed25519_zebra::VerificationKey;
#[cfg(feature = "std")]
use jam::Ed25519Secret;
use jam::{Hash, Signature};

/// The first byte of an order's payload; no RLP list begins with it.
pub const TAG: u8 = 1;
const CONTEXT: &[u8; 12] = b"pectin_order";
const MESSAGE_BYTES: usize = CONTEXT.len() + 4 + 8 + 32 + Order::BYTES;

/// What the owner orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// Above the number of the last order that was obeyed.
    pub number: u64,
    /// What to do.
    pub action: Action,
    /// The hash of the code that it is about,
    pub code_hash: Hash,
    /// and its length.
    pub code_len: u32,
}

/// What to do with a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Ask the chain for it.
    Request,
    /// Run it from the next block on.
    Upgrade,
}

/// Why an order is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OrderError {
    /// The payload is no order.
    #[error("the payload is no order")]
    Malformed,
    /// The owner did not sign it.
    #[error("the order is not signed by the owner")]
    Signature,
    /// The new code is not there at the lookup anchor.
    #[error("the new code is not available at the lookup anchor")]
    Unavailable,
    /// The new code is not this service's for this chain.
    #[error("the new code is not one of this service for this chain")]
    Foreign,
}

/// Whether a payload is that of an order.
pub fn is_order(payload: &[u8]) -> bool {
    payload.first() == Some(&TAG)
}

impl Order {
    /// The length of the encoding.
    pub const BYTES: usize = 1 + 8 + 1 + 32 + 4;

    /// [`ORDER`], number, action, hash, length.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [ORDER; Self::BYTES];
        out[1..9].copy_from_slice(&self.number.to_le_bytes());
        out[9] = self.action as u8;
        out[10..42].copy_from_slice(self.code_hash.as_slice());
        out[42..].copy_from_slice(&self.code_len.to_le_bytes());
        out
    }

    /// Reads what [`Order::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (ORDER, bytes) = bytes.split_first().map(|(tag, rest)| (*tag, rest))? else { return None };
        let (number, rest) = bytes.split_first_chunk::<8>()?;
        let (action, rest) = rest.split_first()?;
        let (code_hash, len) = rest.split_first_chunk::<32>()?;
        Some(Self {
            number: u64::from_le_bytes(*number),
            action: match action {
                0 => Action::Request,
                1 => Action::Upgrade,
                _ => return None,
            },
            code_hash: Hash::new(*code_hash),
            code_len: u32::from_le_bytes(len.try_into().ok()?),
        })
    }

    fn message(&self, config: &Config) -> [u8; MESSAGE_BYTES] {
        let mut message = [0; MESSAGE_BYTES];
        message[..12].copy_from_slice(CONTEXT);
        message[12..16].copy_from_slice(&config.service.to_le_bytes());
        message[16..24].copy_from_slice(&config.chain_id.to_le_bytes());
        message[24..56].copy_from_slice(config.code_hash.as_slice());
        message[56..].copy_from_slice(&self.encode());
        message
    }

    /// The payload of a work item with this order, signed for the service as it is configured now.
    #[cfg(feature = "std")]
    pub fn payload(&self, owner: &Ed25519Secret, config: &Config) -> alloy_primitives::Bytes {
        let key = ed25519_zebra::SigningKey::from(owner.to_bytes());
        let signature = <[u8; 64]>::from(key.sign(&self.message(config)));
        [&[TAG], &self.encode()[..], &signature].concat().into()
    }
}

/// Refines a work item with an order.
pub(crate) fn refine<'a>(
    input: &Input<'_>,
    config: &Config,
    preimage: impl FnOnce(&Hash) -> Option<&'a [u8]>,
) -> Result<Order, RefineError> {
    input.check(config, 0)?;
    if input.item.export_count > 0 {
        return Err(RefineError::Exports { declared: input.item.export_count.into(), found: 0 });
    }
    let order = signed(input.payload, config)?;
    if order.action == Action::Upgrade {
        let code = preimage(&order.code_hash).ok_or(OrderError::Unavailable)?;
        let new = Config::from_metadata(config.service, order.code_hash, code).ok_or(OrderError::Foreign)?;
        if new.chain_id != config.chain_id || new.genesis != config.genesis {
            return Err(OrderError::Foreign.into());
        }
    }
    Ok(order)
}

/// The order in a payload, if the owner signed it.
fn signed(payload: &[u8], config: &Config) -> Result<Order, OrderError> {
    let (TAG, rest) = payload.split_first().map(|(tag, rest)| (*tag, rest)).ok_or(OrderError::Malformed)?
    else {
        return Err(OrderError::Malformed);
    };
    let (order, signature) = rest.split_at_checked(Order::BYTES).ok_or(OrderError::Malformed)?;
    let order = Order::decode(order).ok_or(OrderError::Malformed)?;
    let signature = Signature::try_from(signature).map_err(|_| OrderError::Malformed)?;
    let verified = VerificationKey::try_from(config.owner.0.0)
        .and_then(|key| key.verify(&signature.0.into(), &order.message(config)));
    verified.map(|()| order).map_err(|_| OrderError::Signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refine::Item;
    use alloy_primitives::Bytes;

    fn config() -> Config {
        Config { owner: owner().public(), ..Config::native(7, Ed25519Secret::trivial(9).public()) }
            .with_code_hash()
    }

    fn owner() -> Ed25519Secret {
        Ed25519Secret::trivial(8)
    }

    fn refined(payload: &Bytes, config: &Config, code: Option<&[u8]>) -> Result<Order, RefineError> {
        let item = Item { service: 7, code_hash: config.code_hash, refine_gas: 1, ..Item::default() };
        let input = Input { items: 1, item, lookup_anchor_slot: 0, payload, extrinsics: &[], done: |_| {} };
        assert!(is_order(payload));
        refine(&input, config, |_| code)
    }

    #[test]
    fn an_upgrade_needs_the_owner_and_a_code_of_ours_that_is_there() {
        let config = config();
        let other = Config { gas_limit: 1, ..config }.with_code_hash();
        let code = other.code();
        let order = Order {
            number: 3,
            action: Action::Upgrade,
            code_hash: other.code_hash,
            code_len: code.len() as u32,
        };
        assert_eq!(Order::decode(&order.encode()), Some(order));
        let payload = order.payload(&owner(), &config);
        assert_eq!(refined(&payload, &config, Some(&code)), Ok(order));
        assert_eq!(refined(&payload, &config, None), Err(OrderError::Unavailable.into()));
        let foreign = Config { chain_id: 1, ..other }.code();
        for code in [&foreign[..], b"another program"] {
            assert_eq!(refined(&payload, &config, Some(code)), Err(OrderError::Foreign.into()));
        }
        let stranger = order.payload(&Ed25519Secret::trivial(9), &config);
        assert_eq!(refined(&stranger, &config, Some(&code)), Err(OrderError::Signature.into()));
        let elsewhere = order.payload(&owner(), &other);
        assert_eq!(
            refined(&elsewhere, &config, Some(&code)),
            Err(OrderError::Signature.into()),
            "of another code"
        );
        let cut = payload.slice(..payload.len() - 1);
        assert_eq!(refined(&cut, &config, Some(&code)), Err(OrderError::Malformed.into()));
    }

    #[test]
    fn to_request_a_code_it_need_not_be_there() {
        let config = config();
        let order = Order { number: 1, action: Action::Request, code_hash: Hash::ZERO, code_len: 9 };
        assert_eq!(refined(&order.payload(&owner(), &config), &config, None), Ok(order));
    }
}
