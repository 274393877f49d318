//! Which cores packages can be sent to: those with a guarantor that is connected.
//!
//! The queue must know it before it marks a bundle as submitted. Otherwise, with all validators gone, it would submit,
//! fail and submit again for as long as each window is open.

use crate::{Blocks, Driver};
use jam::{Ed25519Key, Hash, follow::ChainView};
use std::collections::BTreeSet;

/// Connected validators, and when the cores that they guarantee were last derived from them.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    peers: BTreeSet<Ed25519Key>,
    /// The slot, and the entropy that assigns guarantors in it.
    derived_for: Option<(u32, Hash)>,
}

impl Reach {
    fn set_peers(&mut self, peers: BTreeSet<Ed25519Key>) {
        if self.peers != peers {
            *self = Self { peers, derived_for: None };
        }
    }

    /// The cores that cannot be reached in a slot, unless they are the same as when this was last asked: the answer changes
    /// with the peers and with the rotation of guarantors, so it is derived once per slot and after each change of peers.
    fn derive(&mut self, view: &ChainView<'_>, slot: u32) -> Option<BTreeSet<u16>> {
        let derived_for = Some((slot, view.epoch().entropy));
        if self.derived_for == derived_for {
            return None;
        }
        self.derived_for = derived_for;
        let mut unreachable = (0..view.params().cores).collect::<BTreeSet<u16>>();
        // The next slot's guarantors are addressed too: a rotation may begin before the package is looked at.
        for assignment in [slot, slot.saturating_add(1)].iter().filter_map(|slot| view.assignment(*slot)) {
            let keys = view.epoch().validators(assignment.era).keys();
            for (core, key) in assignment.cores.iter().zip(keys) {
                if self.peers.contains(key) {
                    unreachable.remove(core);
                }
            }
        }
        Some(unreachable)
    }
}

impl<B: Blocks> Driver<B> {
    /// Takes the keys of the validators that are connected now.
    pub fn set_peers(&mut self, peers: BTreeSet<Ed25519Key>) {
        self.view.set_peers(peers.len());
        self.reach.set_peers(peers);
    }

    /// Tells the queue which cores cannot be reached, if that may have changed.
    pub(crate) fn update_reach(&mut self) {
        let slot = self.clock.slot_at(self.now());
        let Some(unreachable) = self.reach.derive(&self.chain.follower().view(), slot) else { return };
        #[cfg(feature = "bugs")]
        if self.mistake == Some(crate::Mistake::UnreachableCores) {
            return;
        }
        self.queue.set_unreachable(unreachable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam::{
        Params,
        follow::{Follower, Limits},
        sample::{Author, Signer},
    };

    #[test]
    fn a_core_is_reached_through_any_of_its_guarantors() {
        let author = Author::new(Params::TINY);
        let follower = Follower::new(Params::TINY, author.start(), Limits::default());
        let (view, mut reach) = (follower.view(), Reach::default());
        let slot = view.head().slot + 1;
        assert_eq!(reach.derive(&view, slot), Some([0, 1].into()), "no validator is connected");
        assert_eq!(reach.derive(&view, slot), None, "nothing has changed");
        let guarantor = view.guarantors(1, slot)[0];
        reach.set_peers([guarantor].into());
        let unreachable = reach.derive(&view, slot).unwrap();
        assert!(!unreachable.contains(&1), "{unreachable:?}");
        reach.set_peers([guarantor].into());
        assert_eq!(reach.derive(&view, slot), None, "the peers are the same");
        assert!(reach.derive(&view, slot + 1).is_some(), "another slot may have other guarantors");
        reach.set_peers(author.secrets().iter().map(Signer::public).collect());
        assert_eq!(reach.derive(&view, slot), Some([].into()));
    }
}
