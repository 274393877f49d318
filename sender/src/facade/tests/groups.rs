//! Groups: picking, growing, paying.

use super::{World, group, submission};
use crate::facade::{From, Funding, Kind, NewGroup};
use alloy_primitives::U256;
use std::collections::BTreeSet;

#[tokio::test]
async fn the_least_loaded_account_of_a_group_sends() {
    let mut world = World::new(3).await;
    world.sender.create_group(group("g", world.keys.addresses())).await.unwrap();
    world.chain.set(|chain| chain.waits = true);
    let mut used = BTreeSet::new();
    for index in 0..3 {
        let key = format!("g-{index}");
        let taken = world.sender.submit(submission(&key, From::Group("g".into()), 1)).await.unwrap();
        used.insert(taken.transaction.request.account.address);
        // The same again is the same request, whoever would be picked now.
        let again = world.sender.submit(submission(&key, From::Group("g".into()), 1)).await.unwrap();
        assert!(again.replayed);
    }
    assert_eq!(used.len(), 3);
    world.chain.set(|chain| chain.waits = false);
    for index in 0..3 {
        world.confirmed(&format!("g-{index}")).await;
    }
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
        world.sender.submit(submission(&format!("b-{index}"), From::Group("g".into()), 1)).await.unwrap();
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
async fn groups_that_make_no_sense_are_refused() {
    let world = World::new(1).await;
    let wrong = |change: fn(&mut NewGroup)| {
        let mut new = group("g", vec![world.account(0).address]);
        change(&mut new);
        world.sender.create_group(new)
    };
    assert_eq!(wrong(|new| new.name = "a b".into()).await.unwrap_err().kind(), Kind::Invalid);
    assert_eq!(wrong(|new| new.size_min = 0).await.unwrap_err().kind(), Kind::Invalid);
    assert_eq!(wrong(|new| new.size_max = 0).await.unwrap_err().kind(), Kind::Invalid);
    assert_eq!(wrong(|new| new.chain_id = 1).await.unwrap_err().kind(), Kind::NotFound);
    assert_eq!(wrong(|new| new.members = vec![Default::default()]).await.unwrap_err().kind(), Kind::NotFound);
    let made = wrong(|_| ()).await.unwrap();
    assert_eq!(wrong(|_| ()).await.unwrap(), made);
    assert_eq!(wrong(|new| new.size_max = 3).await.unwrap_err().kind(), Kind::Conflict);
    let grown = world.sender.grow_group("g", 9).await.unwrap();
    assert_eq!(grown.settings.members.len(), 4);
    assert_eq!(world.sender.grow_group("g", 1).await.unwrap().settings.members.len(), 4);
}
