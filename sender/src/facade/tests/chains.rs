//! Settings of single chains.

use super::{CHAIN, World};
use crate::facade::{Error, ErrorKind};
use sender_model::{ChainSettings, Config, FeeCap, Held, State};

#[tokio::test]
async fn what_is_set_for_a_chain_holds_at_once_and_after_a_restart() {
    let mut world = World::new(1).await;
    let usual = world.sender.chain(CHAIN).unwrap();
    assert_eq!(usual.settings.bump_percent, Some(Config::default().bump_percent));
    assert_eq!(usual.changed, ChainSettings::default());
    // The account runs already.
    world.send("first", world.account(0), 1).await;
    world.confirmed("first").await;
    let low = ChainSettings { fee_cap: Some(FeeCap(1_000)), ..ChainSettings::default() };
    let set = world.sender.set_chain(CHAIN, low).await.unwrap();
    assert_eq!((set.settings.fee_cap, set.changed), (Some(FeeCap(1_000)), low));
    assert_eq!(world.sender.fees(CHAIN).await.unwrap().fee_cap, FeeCap(1_000));
    world.send("dear", world.account(0), 1).await;
    world.until("dear", |state| *state == State::Accepted { held: Some(Held::FeeTooHigh) }).await;
    world.sender.shutdown().await;
    let mut world = World::on(world.chain.clone(), world.store.clone(), world.keys.clone()).await;
    assert_eq!(world.sender.chain_views(), [set]);
    world.sender.set_chain(CHAIN, ChainSettings::default()).await.unwrap();
    world.confirmed("dear").await;
}

#[tokio::test]
async fn settings_that_cannot_be_are_refused() {
    let world = World::new(1).await;
    let wrong = ChainSettings { poll_ms: Some(1), ..ChainSettings::default() };
    let refused = world.sender.set_chain(CHAIN, wrong).await.unwrap_err();
    assert!(refused.to_string().contains("pollMs"), "{refused}");
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    let unknown = world.sender.set_chain(5, ChainSettings::default()).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownChain(5)));
}
