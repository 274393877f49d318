//! Whatever is delivered together: claims, errors, transfers of strangers, orders, bytes that mean nothing.

use super::*;
use crate::order::{Action, Order};
use alloc::{collections::BTreeMap, vec::Vec};
use jam::{Hash, codec::put_natural};
use proptest::prelude::*;

/// A chain as accumulate sees it.
#[derive(Clone, Default)]
struct Chain {
    entries: BTreeMap<Vec<u8>, Vec<u8>>,
    requested: Vec<(Hash, u32)>,
    available: Vec<(Hash, u32)>,
    code: Option<Hash>,
}

impl Host for Chain {
    fn read(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        self.entries.get(name).cloned()
    }

    fn write(&mut self, name: &[u8], value: Option<&[u8]>) {
        match value {
            Some(value) => drop(self.entries.insert(name.to_vec(), value.to_vec())),
            None => drop(self.entries.remove(name)),
        }
    }

    fn solicit(&mut self, hash: &Hash, len: u32) -> bool {
        self.requested.push((*hash, len));
        true
    }

    fn is_available(&mut self, hash: &Hash, len: u32) -> bool {
        self.available.contains(&(*hash, len))
    }

    fn upgrade(&mut self, hash: &Hash) {
        self.code = Some(*hash);
    }
}

impl Chain {
    fn accumulate(self, items: &[Vec<u8>]) -> Self {
        let mut accumulation = Accumulation::new(self, |_| BlockId::new(0, hash(0)));
        items
            .iter()
            .for_each(|item| accumulation.take(&Item::decode(&item[..item.len().min(ITEM_BYTES_MAX)])));
        accumulation.finish()
    }

    fn head(&mut self) -> Option<BlockId> {
        let head = self.read(HEAD)?;
        ServiceState::from_entries(&head, self.read(WAITING).as_deref()).map(|state| state.head()).ok()
    }

    fn orders(&mut self) -> Orders {
        self.read(ORDERS).and_then(|orders| Orders::decode(&orders)).unwrap_or_default()
    }
}

fn hash(number: u64) -> B256 {
    B256::left_padding_from(&(number + 1).to_be_bytes())
}

fn claim(number: u64) -> Claim {
    Claim::of_run(hash(number - 1), number, BlockId::new(number, hash(number)))
}

/// A result as the chain delivers it: an output, or an error's number.
fn work(result: Result<&[u8], u8>) -> Vec<u8> {
    let mut item = [&[0][..], &[7; 128]].concat();
    put_natural(1_000_000, &mut item);
    match result {
        Ok(output) => {
            item.push(0);
            put_natural(output.len() as u64, &mut item);
            item.extend_from_slice(output);
        }
        Err(error) => item.push(error),
    }
    item.extend_from_slice(&[9; 40]);
    item
}

fn transfer(amount: u64) -> Vec<u8> {
    [&[1][..], &3_u32.to_le_bytes(), &7_u32.to_le_bytes(), &amount.to_le_bytes(), &[5; 136]].concat()
}

fn order(number: u64, action: Action) -> Vec<u8> {
    work(Ok(&Order { number, action, code_hash: hash(99), code_len: 5 }.encode()))
}

#[test]
fn a_stranger_cannot_stop_a_claim_and_its_coins_are_counted() {
    let items = [
        transfer(5),
        work(Err(2)),
        work(Ok(&claim(2).encode())),
        transfer(u64::MAX),
        vec![],
        vec![200; 600],
        work(Ok(&[1; 300])),
        work(Ok(&claim(1).encode())),
    ];
    let mut chain = Chain::default().accumulate(&items);
    assert_eq!(chain.head(), Some(claim(2).last));
    let coins = chain.read(COINS).and_then(|coins| Coins::decode(&coins)).unwrap();
    assert_eq!(coins, Coins { transfers: 2, sum: u128::from(u64::MAX) + 5 });
    let mut chain = chain.accumulate(&[transfer(1)]);
    assert_eq!(chain.head(), Some(claim(2).last));
    assert_eq!(Coins::decode(&chain.read(COINS).unwrap()).unwrap().transfers, 3);
}

#[test]
fn a_service_that_does_not_know_its_first_block_applies_nothing() {
    let mut accumulation = Accumulation::new(Chain::default(), |_| BlockId::default());
    accumulation.take(&Item::decode(&work(Ok(&claim(1).encode()))));
    assert_eq!(accumulation.finish().head(), None);
}

#[test]
fn other_code_is_requested_and_then_run_once() {
    let code = (hash(99), 5);
    let mut chain = Chain::default().accumulate(&[order(1, Action::Upgrade)]);
    assert_eq!((chain.code, chain.orders()), (None, Orders::default()), "no order asked for it");
    let mut chain = chain.accumulate(&[order(1, Action::Request), work(Ok(&claim(1).encode()))]);
    assert_eq!(chain.requested, [code]);
    assert_eq!(chain.orders(), Orders { last: 1, requested: Some(code) });
    assert_eq!(chain.head(), Some(claim(1).last), "an order delays no claim");
    let mut chain = chain.accumulate(&[order(2, Action::Upgrade), order(1, Action::Request)]);
    assert_eq!((chain.code, chain.requested.len()), (None, 1), "not there yet; and used up");
    chain.available.push(code);
    let mut chain = chain.accumulate(&[order(2, Action::Upgrade)]);
    assert_eq!((chain.code, chain.orders()), (Some(code.0), Orders { last: 2, requested: None }));
    chain.code = None;
    assert_eq!(chain.accumulate(&[order(2, Action::Upgrade)]).code, None, "once");
}

proptest! {
    /// Anything may be delivered around two claims, in any order: they are applied.
    #[test]
    fn no_batch_loses_a_claim(
        noise in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..700), 0..8),
        at in (any::<proptest::sample::Index>(), any::<proptest::sample::Index>()),
    ) {
        // Noise that is itself an output of ours would have been refined by us.
        let mut items = noise;
        items.insert(at.0.index(items.len() + 1), work(Ok(&claim(1).encode())));
        items.insert(at.1.index(items.len() + 1), work(Ok(&claim(2).encode())));
        prop_assert_eq!(Chain::default().accumulate(&items).head(), Some(claim(2).last));
    }
}
