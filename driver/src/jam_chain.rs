//! The JAM chain as the driver knows it: the follower, the service's state along it, and what changed since the queue last
//! heard of it.
//!
//! Invariant: the service's view is that after all updates that were [taken](JamChain::take_update); none is left out.

use jam::{
    Block, Ed25519Key, HeaderHash, Params,
    codec::{Bytes, Decode},
    follow::{Follower, Limits, Start, Update},
    spec::StateKey,
    state::{RecentBlocks, ServiceInfo, service_key, storage_key},
};
use queue::{ServiceCode, ServiceTracker, ServiceView};
use service::accumulate::{ORDERS, Orders, ServiceState};
use std::collections::BTreeMap;
use types::Event;

/// The service that the packages are for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceId {
    pub(crate) number: u32,
    pub(crate) code: ServiceCode,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct JamChain {
    service_id: u32,
    params: Params,
    follower: Follower,
    tracker: ServiceTracker,
    service: ServiceView,
    /// What the follower said and the queue has not heard yet.
    update: Update,
    /// Counts what the follower was told.
    news: u64,
}

impl JamChain {
    /// Begins at a block, with the service's state there. All of the chain is news.
    pub(crate) fn new(params: Params, start: Start, id: ServiceId, state: ServiceState) -> Self {
        let follower = Follower::new(params, start, Limits::default());
        let ServiceId { number, code } = id;
        let tracker = ServiceTracker::new(number, code.hash, follower.finalized().hash, state);
        let mut tracker = tracker.with_orders(code.orders);
        let service = tracker.view(&follower, &Update::default());
        let update = Update { cores: (0..params.cores).collect(), best_moved: true, ..Update::default() };
        Self { service_id: number, params, follower, tracker, service, update, news: 0 }
    }

    #[cfg(feature = "bugs")]
    pub(crate) fn with_mistake(mut self, mistake: Option<service::accumulate::Mistake>) -> Self {
        self.tracker = self.tracker.with_mistake(mistake);
        self
    }

    pub(crate) const fn follower(&self) -> &Follower {
        &self.follower
    }

    pub(crate) const fn service(&self) -> &ServiceView {
        &self.service
    }

    /// Grows with everything that is told: as long as it is the same, so is the follower.
    pub(crate) const fn news(&self) -> u64 {
        self.news
    }

    /// The slots of the best and of the final block.
    pub(crate) fn slots(&self) -> (u32, u32) {
        (self.follower.view().head().slot, self.follower.finalized().slot)
    }

    /// Takes a block, in any order; none of a slot above `slot_max` is believed.
    pub(crate) fn import(&mut self, block: Block, slot_max: u32) {
        self.follower.note_slot(slot_max);
        self.news += 1;
        let update = self.follower.import(block);
        self.update.merge(update);
    }

    /// Takes a validator's word that a block is final.
    pub(crate) fn claim_final(&mut self, validator: Ed25519Key, hash: HeaderHash, slot: u32) {
        self.news += 1;
        let update = self.follower.claim_final(validator, hash, slot);
        self.update.merge(update);
    }

    /// Takes a part of the state after a block, which was proved: the recent history, and our service's storage, which
    /// must be what folding the reports gave. If it is not, there is an alarm. Of the service's code the proof is believed: whether an
    /// order was obeyed also depends on the service's balance.
    pub(crate) fn learn(
        &mut self,
        header: HeaderHash,
        recent: &RecentBlocks,
        entries: &BTreeMap<StateKey, Bytes>,
    ) -> Option<Event> {
        self.news += 1;
        self.follower.learn_roots(recent);
        self.update.best_moved = true;
        let read = |key: &StateKey| entries.get(key).map(|value| &value[..]);
        if let Some(info) = read(&service_key(self.service_id))
            && let Ok(info) = ServiceInfo::decode(info, &self.params)
        {
            let orders = read(&storage_key(self.service_id, ORDERS)).and_then(Orders::decode);
            let code = ServiceCode { hash: info.code_hash, orders: orders.unwrap_or_default() };
            self.tracker.correct(&self.follower, header, code);
        }
        let proved = ServiceState::from_storage(self.service_id, read);
        match (proved, self.tracker.at(header)?) {
            (Ok(proved), folded) if proved != *folded => {
                Some(Event::ServiceDiffers { chain: proved.head(), ours: folded.head() })
            }
            (Err(why), _) => Some(Event::ServiceUnreadable { why: why.to_string() }),
            _ => None,
        }
    }

    /// No peer has a block that is wanted.
    pub(crate) fn unavailable(&mut self, hash: HeaderHash) {
        self.news += 1;
        self.follower.unavailable(hash);
    }

    /// The keys of our service's storage, and of what the chain knows about the service.
    pub(crate) fn service_keys(&self) -> Vec<StateKey> {
        let storage = self.service.finalized.storage(self.service_id).into_iter().map(|(key, _)| key);
        storage.chain([storage_key(self.service_id, ORDERS), service_key(self.service_id)]).collect()
    }

    /// What changed since the last call, and whether the queue must hear of it; then the service's view is that after it.
    pub(crate) fn take_update(&mut self) -> (Update, bool) {
        let update = core::mem::take(&mut self.update);
        let is_news = update.best_moved
            || update.finalized_moved
            || !update.changed.is_empty()
            || !update.cores.is_empty();
        if is_news {
            self.service = self.tracker.view(&self.follower, &update);
        }
        (update, is_news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam::{
        Hash,
        sample::{Author, Body},
    };
    use types::BlockId;

    const SERVICE: u32 = 7;

    fn genesis() -> ServiceState {
        ServiceState::new(BlockId::new(0, [1; 32].into()))
    }

    fn chain() -> (Author, JamChain) {
        let author = Author::new(Params::TINY);
        let id = ServiceId { number: SERVICE, code: ServiceCode::new(Hash::repeat_byte(9)) };
        let chain = JamChain::new(Params::TINY, author.start(), id, genesis());
        (author, chain)
    }

    #[test]
    fn an_update_is_taken_once() {
        let (author, mut chain) = chain();
        let (all, is_news) = chain.take_update();
        assert_eq!((all.cores.len(), all.best_moved, is_news), (2, true, true), "all is news at first");
        assert!(!chain.take_update().1);
        let (slot, _) = chain.slots();
        let block = author.block(&chain.follower().view(), slot + 1, Body::default());
        let hash = block.header.hash();
        chain.import(block, slot + 1);
        for signer in author.secrets() {
            chain.claim_final(signer.public(), hash, slot + 1);
        }
        let (update, is_news) = chain.take_update();
        assert_eq!((update.best_moved, update.finalized_moved, is_news), (true, true, true));
        assert_eq!(chain.slots(), (slot + 1, slot + 1));
        assert_eq!(chain.news(), 1 + author.secrets().len() as u64);
    }

    #[test]
    fn a_proved_state_that_is_not_what_the_reports_came_to_is_an_alarm() {
        let (_, mut chain) = chain();
        chain.take_update();
        let here = chain.follower().finalized().hash;
        let storage = |state: ServiceState| {
            let entries = state.storage(SERVICE).into_iter();
            entries.filter_map(|(key, value)| Some((key, value?))).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(chain.learn(here, &RecentBlocks::EMPTY, &storage(genesis())), None);
        let other = BlockId::new(3, [2; 32].into());
        let alarm = chain.learn(here, &RecentBlocks::EMPTY, &storage(ServiceState::new(other)));
        assert_eq!(alarm, Some(Event::ServiceDiffers { chain: other, ours: genesis().head() }));
        let unreadable = chain.service_keys().into_iter().map(|key| (key, Bytes::from(vec![1]))).collect();
        let alarm = chain.learn(here, &RecentBlocks::EMPTY, &unreadable);
        assert!(matches!(alarm, Some(Event::ServiceUnreadable { .. })), "{alarm:?}");
        assert_eq!(chain.learn(HeaderHash::ZERO, &RecentBlocks::EMPTY, &unreadable), None, "not known here");
        assert!(chain.take_update().1, "roots that were learned make anchors");
    }
}
