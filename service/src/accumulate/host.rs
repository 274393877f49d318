//! Accumulation on a chain, whatever the chain is to this code: host calls in the virtual machine, a map in a test.

use super::{Claim, HEAD, Item, ServiceState, WAITING};
use crate::order::{Action, Order};
use alloc::vec::Vec;
use jam::Hash;
use types::BlockId;

/// The name of the entry that counts incoming transfers.
pub const COINS: &[u8] = b"coins";
/// The name of the entry about the owner's orders.
pub const ORDERS: &[u8] = b"orders";

const COINS_BYTES: usize = 8 + 16;

/// What accumulate asks the chain for, all of it about the service itself.
pub trait Host {
    /// An entry of the service's storage.
    fn read(&mut self, name: &[u8]) -> Option<Vec<u8>>;
    /// Writes an entry, or removes it. The chain refuses an entry that the service's balance cannot pay for.
    fn write(&mut self, name: &[u8], value: Option<&[u8]>);
    /// Asks for a preimage; whether it is asked for or there now.
    fn solicit(&mut self, hash: &Hash, len: u32) -> bool;
    /// Whether a preimage that was asked for is there.
    fn is_available(&mut self, hash: &Hash, len: u32) -> bool;
    /// Makes a preimage the service's code.
    fn upgrade(&mut self, hash: &Hash);
}

/// What came in by transfers. It is part of the service's balance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coins {
    /// Transfers.
    pub transfers: u64,
    /// Their sum.
    pub sum: u128,
}

impl Coins {
    /// The value of [`COINS`].
    pub fn encode(&self) -> [u8; COINS_BYTES] {
        let mut out = [0; COINS_BYTES];
        out[..8].copy_from_slice(&self.transfers.to_le_bytes());
        out[8..].copy_from_slice(&self.sum.to_le_bytes());
        out
    }

    /// Reads what [`Coins::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (transfers, sum) = bytes.split_first_chunk::<8>()?;
        let sum = u128::from_le_bytes(sum.try_into().ok()?);
        Some(Self { transfers: u64::from_le_bytes(*transfers), sum })
    }
}

/// What is known of the owner's orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Orders {
    /// The number of the last one that was obeyed.
    pub last: u64,
    /// The code that the chain was asked for, and its length.
    pub requested: Option<(Hash, u32)>,
}

impl Orders {
    /// The value of [`ORDERS`].
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.last.to_le_bytes().to_vec();
        if let Some((hash, len)) = self.requested {
            out.extend_from_slice(hash.as_slice());
            out.extend_from_slice(&len.to_le_bytes());
        }
        out
    }

    /// Reads what [`Orders::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (last, rest) = bytes.split_first_chunk::<8>()?;
        let requested = match rest.split_first_chunk::<32>() {
            Some((hash, len)) => Some((Hash::new(*hash), u32::from_le_bytes(len.try_into().ok()?))),
            None if rest.is_empty() => None,
            None => return None,
        };
        Some(Self { last: u64::from_le_bytes(*last), requested })
    }
}

/// One call of accumulate: what the service's storage held, and what the items make of it.
#[derive(Debug)]
pub struct Accumulation<H> {
    host: H,
    /// `None` if nothing says which block comes first, or the storage is none of ours: then claims change nothing.
    state: Option<ServiceState>,
    before: Option<ServiceState>,
    received: Coins,
}

impl<H: Host> Accumulation<H> {
    /// Reads the storage. Where it has no head yet, that is `genesis`, unless it is zero.
    pub fn new(mut host: H, genesis: impl FnOnce(&mut H) -> BlockId) -> Self {
        let before = match host.read(HEAD) {
            Some(head) => ServiceState::from_entries(&head, host.read(WAITING).as_deref()).ok(),
            None => None,
        };
        let state = before.clone().or_else(|| first(&mut host, genesis));
        Self { host, state, before, received: Coins::default() }
    }

    /// Takes one item.
    pub fn take(&mut self, item: &Item) {
        match item {
            Item::Output(output) => self.output(output),
            Item::Coins(amount) => {
                self.received.transfers += 1;
                self.received.sum = self.received.sum.saturating_add((*amount).into());
            }
            Item::Other => {}
        }
    }

    fn output(&mut self, output: &[u8]) {
        if let (Some(claim), Some(state)) = (Claim::decode(output), &mut self.state) {
            state.apply(&claim);
        } else if let Some(order) = Order::decode(output) {
            self.obey(&order);
        }
    }

    fn obey(&mut self, order: &Order) {
        let orders = self.host.read(ORDERS);
        let orders = orders.as_deref().and_then(Orders::decode).unwrap_or_default();
        if order.number <= orders.last {
            return;
        }
        let code = (order.code_hash, order.code_len);
        let requested = match order.action {
            Action::Request if self.host.solicit(&code.0, code.1) => Some(code),
            Action::Upgrade if orders.requested == Some(code) && self.host.is_available(&code.0, code.1) => {
                self.host.upgrade(&code.0);
                None
            }
            _ => return,
        };
        self.host.write(ORDERS, Some(&Orders { last: order.number, requested }.encode()));
    }

    /// Writes what has changed: the head first, since it is what matters most.
    pub fn finish(mut self) -> H {
        if let Some(state) = self.state.filter(|state| Some(state) != self.before.as_ref()) {
            self.host.write(HEAD, Some(&state.head_entry()));
            self.host.write(WAITING, state.waiting_entry().as_deref());
        }
        if self.received.transfers > 0 {
            let coins = self.host.read(COINS);
            let coins = coins.as_deref().and_then(Coins::decode).unwrap_or_default();
            let coins = Coins {
                transfers: coins.transfers.saturating_add(self.received.transfers),
                sum: coins.sum.saturating_add(self.received.sum),
            };
            self.host.write(COINS, Some(&coins.encode()));
        }
        self.host
    }
}

/// The state of a service to which nothing was ever applied.
fn first<H: Host>(host: &mut H, genesis: impl FnOnce(&mut H) -> BlockId) -> Option<ServiceState> {
    if host.read(HEAD).is_some() {
        return None;
    }
    Some(genesis(host)).filter(|genesis| !genesis.hash.is_zero()).map(ServiceState::new)
}
