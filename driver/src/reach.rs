//! Which cores packages can be sent to: those with a guarantor that is connected.
//!
//! The queue must know it before it marks a bundle as submitted. Otherwise, with all validators gone, it would submit,
//! fail and submit again for as long as each window is open.

use crate::{Blocks, Driver};
use jam::{Ed25519Key, Hash};
use std::collections::BTreeSet;

/// Connected validators, and when the cores that they guarantee were last derived from them.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    peers: BTreeSet<Ed25519Key>,
    /// The slot, and the entropy that assigns guarantors in it.
    derived_for: Option<(u32, Hash)>,
}

impl<B: Blocks> Driver<B> {
    /// Takes the keys of the validators that are connected now.
    pub fn set_peers(&mut self, peers: BTreeSet<Ed25519Key>) {
        self.view.set_peers(peers.len());
        if self.reach.peers != peers {
            self.reach = Reach { peers, derived_for: None };
        }
    }

    /// Tells the queue which cores cannot be reached. The answer changes with the peers and with the rotation of
    /// guarantors, so it is derived once per slot and after each change of peers.
    pub(crate) fn update_reach(&mut self) {
        let view = self.chain.follower().view();
        let slot = self.clock.slot_at(self.now());
        let derived_for = Some((slot, view.epoch().entropy));
        if self.reach.derived_for == derived_for {
            return;
        }
        let mut unreachable = (0..self.chain.follower().params().cores).collect::<BTreeSet<u16>>();
        // The next slot's guarantors are addressed too: a rotation may begin before the package is looked at.
        for assignment in [slot, slot.saturating_add(1)].iter().filter_map(|slot| view.assignment(*slot)) {
            let keys = view.epoch().validators(assignment.era).keys();
            for (core, key) in assignment.cores.iter().zip(keys) {
                if self.reach.peers.contains(key) {
                    unreachable.remove(core);
                }
            }
        }
        self.reach.derived_for = derived_for;
        #[cfg(feature = "bugs")]
        if self.mistake == Some(crate::Mistake::UnreachableCores) {
            return;
        }
        self.queue.set_unreachable(unreachable);
    }
}
