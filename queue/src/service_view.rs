//! The service's state at the best and at the finalized block: `service::accumulate` folded over what blocks report.

use jam::{Hash, HeaderHash, follow::Follower, state::PendingReport};
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
    states: HashMap<HeaderHash, Arc<ServiceState>>,
    #[cfg(feature = "bugs")]
    mistake: Option<service::accumulate::Mistake>,
}

impl ServiceTracker {
    /// Begins with the service's state at the follower's finalized block.
    pub fn new(service: u32, code_hash: Hash, finalized: HeaderHash, state: ServiceState) -> Self {
        let states = [(finalized, Arc::new(state))].into();
        Self {
            service,
            code_hash,
            states,
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

    /// The state now. Ask after every input to the follower; what is below its finalized block is forgotten.
    pub fn view(&mut self, follower: &Follower) -> ServiceView {
        let finalized = follower.finalized().hash;
        let view = ServiceView {
            finalized: self.state_at(follower, finalized),
            best: self.state_at(follower, follower.view().head().hash),
        };
        self.states.retain(|block, _| follower.contains(*block));
        view
    }

    fn state_at(&mut self, follower: &Follower, block: HeaderHash) -> Arc<ServiceState> {
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
            if !reports.is_empty() {
                self.fold(&mut state, reports);
            }
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
