//! The service's state at the best and at the finalized block: `service::accumulate` folded over what blocks report.

use jam::{
    Hash, HeaderHash,
    follow::{Follower, Update},
    state::PendingReport,
};
use service::accumulate::{ServiceState, claim_of};
use std::{collections::HashMap, sync::Arc};

/// The service's state at two blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceView {
    /// At the best block.
    pub best: Arc<ServiceState>,
    /// At the finalized block.
    pub finalized: Arc<ServiceState>,
}

/// Folds the service's rule over the blocks that a follower believes, once per block.
#[derive(Debug)]
pub struct ServiceTracker {
    service: u32,
    code_hash: Hash,
    finalized: Arc<ServiceState>,
    /// At the blocks that the follower keeps.
    states: HashMap<HeaderHash, Arc<ServiceState>>,
    #[cfg(feature = "bugs")]
    mistake: Option<service::accumulate::Mistake>,
}

impl ServiceTracker {
    /// Begins with the service's state at the follower's finalized block.
    pub fn new(service: u32, code_hash: Hash, finalized: HeaderHash, state: ServiceState) -> Self {
        let state = Arc::new(state);
        Self {
            service,
            code_hash,
            states: [(finalized, Arc::clone(&state))].into(),
            finalized: state,
            #[cfg(feature = "bugs")]
            mistake: None,
        }
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
            let mut state = Arc::clone(&self.finalized);
            self.fold(&mut state, reports);
            self.finalized = state;
            self.states.insert(*block, Arc::clone(&self.finalized));
        }
        let best = self.state_at(follower, follower.view().head().hash);
        self.states.retain(|block, _| follower.contains(*block));
        ServiceView { best, finalized: Arc::clone(&self.finalized) }
    }

    /// The state after a block, if it is known and not below the finalized one.
    pub fn at(&self, block: HeaderHash) -> Option<&ServiceState> {
        self.states.get(&block).map(|state| &**state)
    }

    /// The service's state after a block of any branch that the follower knows.
    pub fn state_at(&mut self, follower: &Follower, block: HeaderHash) -> Arc<ServiceState> {
        let mut path = Vec::new();
        let mut here = block;
        let mut state = loop {
            if let Some(state) = self.states.get(&here) {
                break Arc::clone(state);
            }
            path.push(here);
            here = follower
                .parent(here)
                .expect("a believed block stands on the finalized one, whose state is known");
        };
        for block in path.into_iter().rev() {
            let reports = follower.accumulated(block);
            self.fold(&mut state, reports);
            self.states.insert(block, Arc::clone(&state));
        }
        state
    }

    fn fold(&self, state: &mut Arc<ServiceState>, reports: &[Arc<PendingReport>]) {
        let digests = reports.iter().flat_map(|pending| &pending.report.digests);
        for claim in digests.filter_map(|digest| claim_of(digest, self.service, self.code_hash)) {
            let state = Arc::make_mut(state);
            #[cfg(feature = "bugs")]
            if let Some(mistake) = self.mistake {
                state.apply_as(&claim, mistake);
                continue;
            }
            state.apply(&claim);
        }
    }
}
