//! Which nonce comes next, as clients are told and as the pool takes it, while a block is open.

use alloy_primitives::{Address, Bytes};
use driver::{Blocks as _, Output, Responder};
use harness::blocks::{Call, Wallet};
use simulators::crash::{Driver, fresh};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use store::Store;
use txpool::{Error, Status};
use types::{Time, Transaction};

/// Gives all that it owns to whoever calls it: CALL(gas, caller, its balance, nothing).
const DRAIN: &[u8] = &[0x5f, 0x5f, 0x5f, 0x5f, 0x47, 0x33, 0x5a, 0xf1, 0x00];

/// A driver, and what readers have been told of nonces.
struct World {
    driver: Driver,
    store: Store,
    told: BTreeMap<Address, Option<u64>>,
}

impl World {
    fn new() -> Self {
        let (driver, store) = fresh().unwrap();
        Self { driver, store, told: BTreeMap::new() }
    }

    fn step(&mut self) {
        let Output { batch, news, answers, .. } = self.driver.step(Time::ZERO).unwrap();
        self.store.commit(&batch).unwrap();
        self.told.extend(news.nonces);
        answers.into_iter().for_each(|(answer, results)| answer.tell(results));
    }

    fn send(&mut self, tx: &Transaction) -> Result<(), Error> {
        let heard = Arc::new(Mutex::new(None));
        let hears = heard.clone();
        let answer = Responder::new(move |mut results| *hears.lock().unwrap() = results.pop());
        self.driver.submit(vec![tx.clone()], answer, Time::ZERO).unwrap();
        self.step();
        heard.lock().unwrap().take().unwrap().map(drop)
    }

    fn seal(&mut self) {
        assert!(self.driver.seal_now(Time::ZERO).unwrap());
        self.step();
    }

    /// What a client is told of the nonce of an account, beyond what the account itself shows.
    fn told(&self, wallet: &Wallet) -> Option<u64> {
        self.told.get(&wallet.address()).copied().flatten()
    }
}

fn drain() -> Bytes {
    // The runtime code, at the end of a word: PUSH9, PUSH0, MSTORE, and 9 bytes from 23 on.
    [&[0x68][..], DRAIN, &[0x5f, 0x52, 0x60, 9, 0x60, 23, 0xf3]].concat().into()
}

#[test]
fn an_authorization_in_the_open_block_takes_a_nonce() {
    let (mut world, alice, bob) = (World::new(), Wallet::new(1), Wallet::new(2));
    let transfer = |nonce| alice.eip1559(Call::transfer(bob.address(), nonce, 1));
    world.send(&transfer(0)).unwrap();
    assert_eq!(world.told(&alice), Some(1));
    let authorizes = bob.eip7702(Call::to(bob.address(), 0), vec![alice.delegates(bob.address(), 1)]);
    world.send(&authorizes).unwrap();
    assert_eq!(world.told(&alice), Some(2), "the block is open, and has taken nonce 1");
    assert_eq!(world.send(&transfer(1)), Err(Error::NonceTooLow { next: 2, nonce: 1 }));
    world.send(&transfer(2)).unwrap();
    assert_eq!(world.told(&alice), Some(3));
    world.seal();
    assert_eq!(world.told(&alice), Some(3));
    let state = world.driver.blocks().account(alice.address()).unwrap();
    assert_eq!(state.nonce, 3, "all of it was executed");
}

#[test]
fn an_account_that_sends_nothing_is_told_of_its_authorization_too() {
    let (mut world, alice, bob) = (World::new(), Wallet::new(1), Wallet::new(2));
    world.send(&bob.eip7702(Call::to(bob.address(), 0), vec![alice.delegates(bob.address(), 0)])).unwrap();
    assert_eq!(world.told(&alice), Some(1));
    let error = world.send(&alice.eip1559(Call::transfer(bob.address(), 0, 1)));
    assert_eq!(error, Err(Error::NonceTooLow { next: 1, nonce: 0 }));
    world.seal();
    assert_eq!(world.told(&alice), None, "the account shows it");
    world.send(&alice.eip1559(Call::transfer(bob.address(), 1, 1))).unwrap();
}

#[test]
fn what_a_drained_account_cannot_pay_for_does_not_count() {
    let (mut world, alice, bob) = (World::new(), Wallet::new(1), Wallet::new(2));
    world.send(&bob.eip1559(Call::create(drain(), 0))).unwrap();
    let contract = bob.address().create(0);
    world.send(&bob.eip7702(Call::to(bob.address(), 1), vec![alice.delegates(contract, 0)])).unwrap();
    world.seal();
    // Both come in before anything is built; the drain pays more, and is executed first.
    world.driver.pause();
    let transfer = alice.eip1559(Call::transfer(bob.address(), 1, 1));
    world.send(&transfer).unwrap();
    assert_eq!(world.told(&alice), Some(2));
    let drains = Call { tip: 2_000_000_000, ..Call::to(alice.address(), 2) };
    world.send(&bob.eip1559(drains)).unwrap();
    world.driver.resume();
    world.seal();
    let state = world.driver.blocks().account(alice.address()).unwrap();
    assert_eq!((state.nonce, state.balance.is_zero()), (1, true), "it was drained");
    assert_eq!(world.driver.pool().get(&transfer.hash()).unwrap().status, Status::Queued);
    assert_eq!(world.told(&alice), Some(1), "the next one takes the place of what cannot be executed");
}
