//! The service's state at the best and at the finalized block: `service::accumulate` folded over what blocks report.

use jam::{
    Hash, HeaderHash,
    codec::Bytes,
    follow::{Follower, Update},
    state::PendingReport,
};
use service::{
    accumulate::{Accumulation, Host, Item, ORDERS, Orders, ServiceState, claim_of, output_of},
    order::Order,
};
use std::{collections::HashMap, sync::Arc};
use types::BlockId;

/// The service's code on chain, and what decides about another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServiceCode {
    /// The hash of the code.
    pub hash: Hash,
    /// The owner's orders so far.
    pub orders: Orders,
}

impl ServiceCode {
    /// A code before any order.
    pub fn new(hash: Hash) -> Self {
        Self { hash, orders: Orders::default() }
    }

    /// Obeys what an order orders, by the service's own rule.
    ///
    /// The chain also looks whether the service can pay for a preimage and whether it is there. The first is not known here, and a
    /// proved state says if it went otherwise ([`ServiceTracker::correct`]); the second is what refining the order has looked at.
    fn obey(&mut self, output: &[u8]) {
        let mut accumulation = Accumulation::new(Believed(*self), |_| BlockId::default());
        accumulation.take(&Item::Output(Bytes::copy_from_slice(output)));
        *self = accumulation.finish().0;
    }
}

/// A chain on which every order can be obeyed.
#[derive(Debug)]
struct Believed(ServiceCode);

impl Host for Believed {
    fn read(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        (name == ORDERS).then(|| self.0.orders.encode())
    }

    fn write(&mut self, name: &[u8], value: Option<&[u8]>) {
        if name == ORDERS {
            self.0.orders = value.and_then(Orders::decode).unwrap_or_default();
        }
    }

    fn solicit(&mut self, _: &Hash, _: u32) -> bool {
        true
    }

    fn is_available(&mut self, _: &Hash, _: u32) -> bool {
        true
    }

    fn upgrade(&mut self, hash: &Hash) {
        self.0.hash = *hash;
    }
}

/// The service's state at two blocks, and its code there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceView {
    /// At the best block.
    pub best: Arc<ServiceState>,
    /// At the finalized block.
    pub finalized: Arc<ServiceState>,
    /// Its code at the best block: what packages must name.
    pub best_code: ServiceCode,
    /// Its code at the finalized block.
    pub finalized_code: ServiceCode,
}

/// The service after a block.
#[derive(Clone, Debug)]
struct After {
    state: Arc<ServiceState>,
    code: ServiceCode,
}

/// Folds the service's rule over the blocks that a follower believes, once per block.
#[derive(Debug)]
pub struct ServiceTracker {
    service: u32,
    finalized: After,
    /// At the blocks that the follower keeps.
    states: HashMap<HeaderHash, After>,
    #[cfg(feature = "bugs")]
    mistake: Option<service::accumulate::Mistake>,
}

impl ServiceTracker {
    /// Begins with the service's state at the follower's finalized block.
    pub fn new(service: u32, code_hash: Hash, finalized: HeaderHash, state: ServiceState) -> Self {
        let after = After { state: Arc::new(state), code: ServiceCode::new(code_hash) };
        Self {
            service,
            states: [(finalized, after.clone())].into(),
            finalized: after,
            #[cfg(feature = "bugs")]
            mistake: None,
        }
    }

    /// Begins with these orders obeyed.
    #[must_use]
    pub fn with_orders(mut self, orders: Orders) -> Self {
        self.finalized.code.orders = orders;
        self.states.values_mut().for_each(|after| after.code.orders = orders);
        self
    }

    /// Puts a known mistake back.
    #[cfg(feature = "bugs")]
    pub fn with_mistake(mut self, mistake: Option<service::accumulate::Mistake>) -> Self {
        self.mistake = mistake;
        self
    }

    /// The state after an input to the follower, which gave this update. No update may be left out.
    pub fn view(&mut self, follower: &Follower, update: &Update) -> ServiceView {
        for (block, reports) in &update.finalized {
            // What was known of it before may have been corrected by a proof.
            let known = self.states.get(block).cloned();
            self.finalized = known.unwrap_or_else(|| {
                let mut after = self.finalized.clone();
                self.fold(&mut after, reports);
                after
            });
            self.states.insert(*block, self.finalized.clone());
        }
        let best = self.after(follower, follower.view().head().hash);
        self.states.retain(|block, _| follower.contains(*block));
        ServiceView {
            best: best.state,
            finalized: Arc::clone(&self.finalized.state),
            best_code: best.code,
            finalized_code: self.finalized.code,
        }
    }

    /// The service's code after a block of any branch that the follower knows.
    pub fn code_at(&mut self, follower: &Follower, block: HeaderHash) -> ServiceCode {
        self.after(follower, block).code
    }

    /// A proved state has this code after a block. If that is not what folding gave, the block and all on top of it are folded anew;
    /// whether it was so.
    pub fn correct(&mut self, follower: &Follower, block: HeaderHash, code: ServiceCode) -> bool {
        match self.states.get_mut(&block) {
            Some(after) if after.code != code => after.code = code,
            _ => return false,
        }
        let finalized = follower.finalized().hash;
        if block == finalized {
            self.finalized.code = code;
        }
        let stands_on_it = |other: HeaderHash| {
            let mut line = core::iter::successors(Some(other), |block| follower.parent(*block));
            line.any(|ancestor| ancestor == block)
        };
        self.states.retain(|other, _| *other == block || *other == finalized || !stands_on_it(*other));
        true
    }

    /// The state after a block, if it is known and not below the finalized one.
    pub fn at(&self, block: HeaderHash) -> Option<&ServiceState> {
        self.states.get(&block).map(|after| &*after.state)
    }

    /// The service's state after a block of any branch that the follower knows.
    pub fn state_at(&mut self, follower: &Follower, block: HeaderHash) -> Arc<ServiceState> {
        self.after(follower, block).state
    }

    fn after(&mut self, follower: &Follower, block: HeaderHash) -> After {
        let mut path = Vec::new();
        let mut here = block;
        let mut after = loop {
            if let Some(after) = self.states.get(&here) {
                break after.clone();
            }
            path.push(here);
            here = follower
                .parent(here)
                .expect("a believed block stands on the finalized one, whose state is known");
        };
        for block in path.into_iter().rev() {
            let reports = follower.accumulated(block);
            self.fold(&mut after, reports);
            self.states.insert(block, after.clone());
        }
        after
    }

    fn fold(&self, after: &mut After, reports: &[Arc<PendingReport>]) {
        for digest in reports.iter().flat_map(|pending| &pending.report.digests) {
            let Some(claim) = claim_of(digest, self.service) else {
                let order = output_of(digest, self.service).filter(|output| Order::decode(output).is_some());
                order.into_iter().for_each(|order| after.code.obey(order));
                continue;
            };
            let state = Arc::make_mut(&mut after.state);
            #[cfg(feature = "bugs")]
            if let Some(mistake) = self.mistake {
                state.apply_as(&claim, mistake);
                continue;
            }
            state.apply(&claim);
        }
    }
}
