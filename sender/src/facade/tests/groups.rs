//! Groups: picking, growing, paying.

use super::{CHAIN, World, group, of_group, submission};
use crate::{
    Error,
    facade::{ErrorKind, Funding, NewGroup, SendFrom},
    keys::LocalKeys,
};
use alloy_primitives::{B256, U256};
use futures_util::FutureExt;
use std::{collections::BTreeSet, sync::Arc};

#[tokio::test]
async fn the_least_loaded_account_of_a_group_sends() {
    let mut world = World::new(3).await;
    world.sender.create_group(group("g", world.keys.addresses())).await.unwrap();
    world.chain.set(|chain| chain.waits = true);
    let mut used = BTreeSet::new();
    for index in 0..3 {
        let key = format!("g-{index}");
        let taken = world.sender.submit(submission(&key, of_group("g"), 1)).await.unwrap();
        used.insert(taken.transaction.request.account.address);
        // The same again is the same request, whoever would be picked now.
        let again = world.sender.submit(submission(&key, of_group("g"), 1)).await.unwrap();
        assert!(again.replayed);
    }
    assert_eq!(used.len(), 3);
    world.chain.set(|chain| chain.waits = false);
    for index in 0..3 {
        world.confirmed(&format!("g-{index}")).await;
    }
}

#[tokio::test]
async fn a_group_of_another_chain_is_refused_and_the_error_names_both_chains() {
    let mut world = World::new(2).await;
    world.sender.create_group(group("g", world.keys.addresses())).await.unwrap();
    let of_chain = |chain_id| SendFrom::Group { name: "g".into(), chain_id: Some(chain_id) };
    let refused = world.sender.submit(submission("a", of_chain(31_337), 1)).await.unwrap_err();
    assert!(matches!(refused, Error::GroupChain { group_chain: CHAIN, chain_id: 31_337, .. }), "{refused}");
    assert!(refused.to_string().contains("99") && refused.to_string().contains("31337"), "{refused}");
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    // Nothing was accepted, so the name is still free.
    let taken = world.sender.submit(submission("a", of_chain(CHAIN), 1)).await.unwrap();
    assert!(!taken.replayed);
    world.confirmed("a").await;
}

#[tokio::test]
async fn a_busy_group_grows_and_its_new_account_is_paid_for() {
    let mut world = World::new(2).await;
    let owner = world.account(1).address;
    let funding = Funding {
        owner,
        threshold: U256::from(10).pow(U256::from(15)),
        amount: U256::from(10).pow(U256::from(16)),
    };
    let new = NewGroup { funding: Some(funding), ..group("g", vec![world.account(0).address]) };
    world.sender.create_group(new.clone()).await.unwrap();
    world.chain.set(|chain| chain.waits = true);
    for index in 0..4 {
        world.sender.submit(submission(&format!("b-{index}"), of_group("g"), 1)).await.unwrap();
    }
    assert!(world.sender.is_busy(&world.sender.group("g").unwrap()));
    world.sender.tend_groups().await;
    let grown = world.sender.group("g").unwrap();
    assert_eq!(grown.settings.members.len(), 2);
    world.chain.set(|chain| chain.waits = false);
    let newest = grown.settings.members[1];
    let name = format!("top-up:g:{newest:x}:0");
    world.confirmed(&name).await;
    assert_eq!(world.chain.balance(newest), funding.amount);
    // It is paid now, and not again.
    world.sender.tend_groups().await;
    assert!(world.sender.group("g").unwrap().paid.contains(&newest));
    assert_eq!(world.chain.received(newest), 1);
}

#[tokio::test]
async fn a_node_that_lags_behind_makes_nobody_pay_twice() {
    let mut world = World::new(2).await;
    let (member, owner) = (world.account(0).address, world.account(1).address);
    let before = world.chain.balance(member);
    let funding = Funding { owner, threshold: before + U256::from(1), amount: U256::from(10) };
    world.chain.set(|chain| chain.lags = Some((member, 0, before)));
    let new = NewGroup { funding: Some(funding), ..group("g", vec![member]) };
    world.sender.create_group(new).await.unwrap();
    let last = format!("top-up:g:{member:x}:0");
    world.confirmed(&last).await;
    for _ in 0..3 {
        world.sender.tend_groups().await;
    }
    world.chain.set(|chain| chain.lags = None);
    world.sender.tend_groups().await;
    let next = format!("top-up:g:{member:x}:1").parse().unwrap();
    assert_eq!(world.sender.get(&next).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(world.chain.balance(member), before + funding.amount);
}

#[tokio::test]
async fn an_account_whose_key_is_elsewhere_is_not_picked() {
    let other = World::new(3).await;
    other.sender.create_group(group("g", other.keys.addresses())).await.unwrap();
    other.sender.shutdown().await;
    // A process with one of the three keys, over the same rows.
    let keys = LocalKeys::new([B256::repeat_byte(3)], true);
    let mut world = World::on(other.chain.clone(), other.store.clone(), Arc::new(keys)).await;
    for index in 0..4 {
        let key = format!("k-{index}");
        let taken = world.sender.submit(submission(&key, of_group("g"), 1)).await.unwrap();
        assert_eq!(taken.transaction.request.account, world.account(0));
        world.confirmed(&key).await;
    }
}

#[tokio::test]
async fn a_group_that_nobody_waits_for_is_made_as_a_whole() {
    let world = World::new(1).await;
    let new = NewGroup { size_min: 3, ..group("g", vec![]) };
    // It is begun, and whoever asked for it goes away.
    assert!(Box::pin(world.sender.create_group(new)).now_or_never().is_none());
    while world.sender.group("g").is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.keys.addresses().len(), 1 + 3);
}

#[tokio::test]
async fn groups_that_make_no_sense_are_refused() {
    let world = World::new(2).await;
    let wrong = |change: fn(&mut NewGroup)| {
        let mut new = group("g", vec![world.account(0).address]);
        change(&mut new);
        world.sender.create_group(new)
    };
    assert_eq!(wrong(|new| new.name = "a b".into()).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(wrong(|new| new.size_min = 0).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(wrong(|new| new.size_max = 0).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(wrong(|new| new.chain_id = 1).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(
        wrong(|new| new.members = vec![Default::default()]).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let owner = world.account(1).address;
    let fund = |amount: u64, owner| Funding { owner, threshold: U256::from(5), amount: U256::from(amount) };
    for (funding, member) in [(fund(0, owner), world.account(0)), (fund(5, owner), world.account(1))] {
        let new = NewGroup { funding: Some(funding), ..group("paid", vec![member.address]) };
        assert_eq!(world.sender.create_group(new).await.unwrap_err().kind(), ErrorKind::Invalid);
    }
    let made = wrong(|_| ()).await.unwrap();
    assert_eq!(wrong(|_| ()).await.unwrap(), made);
    assert_eq!(wrong(|new| new.size_max = 3).await.unwrap_err().kind(), ErrorKind::Conflict);
    let grown = world.sender.grow_group("g", 9).await.unwrap();
    assert_eq!(grown.settings.members.len(), 4);
    assert_eq!(world.sender.grow_group("g", 1).await.unwrap().settings.members.len(), 4);
}
