//! Another code of the service: what is in flight is reissued under it.
//!
//! A report must name the code that the service has when it is reported, so a version that names another one cannot be guaranteed
//! on this branch any more. The bundle gets a new version of the same blocks; that counts against nothing. What is guaranteed
//! already stays: the chain accumulates it by the new code.

use crate::{Queue, Record, bundle::Phase};
use jam::{Hash, RefineContext};

impl Queue {
    /// The service's code at the best block, once the chain was seen.
    pub fn code_hash(&self) -> Option<Hash> {
        Some(self.head.as_ref()?.service().best_code.hash)
    }

    /// What a package that is no bundle is built against, and a core for it: for orders of the service's owner. `None` if the chain is
    /// too old to anchor on, or no core that no bundle was given to can be reached.
    pub fn place_for_order(&self) -> Option<(RefineContext, u16)> {
        let oldest = usize::from(self.config.history.saturating_sub(self.config.anchor_margin));
        let (context, _) = self.head.as_ref()?.context(self.config.anchor_offset(0), oldest)?;
        Some((context, self.cores.choose(None)?))
    }

    /// The code that the next version of a bundle names.
    pub(crate) fn code_for(&self, number: u64) -> Option<Hash> {
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::UpgradeForgetsInFlight)
            && let Some(last) = self.bundles.get(number).and_then(|bundle| bundle.versions.last())
        {
            return Some(last.code_hash);
        }
        #[cfg(not(feature = "bugs"))]
        let _ = number;
        self.code_hash()
    }

    /// Whether the last version of a bundle names another code than the service has at the best block.
    pub(crate) fn names_other_code(&self, number: u64) -> bool {
        #[cfg(feature = "bugs")]
        if self.has(crate::Mistake::UpgradeForgetsInFlight) {
            return false;
        }
        let last = self.bundles.get(number).and_then(|bundle| bundle.versions.last());
        last.zip(self.code_hash()).is_some_and(|(last, code)| last.code_hash != code)
    }

    /// After the code has changed, nothing that was packed for the former one is sent, and what is out gets another version.
    pub(crate) fn follow_code(&mut self, before: Option<Hash>) {
        if before == self.code_hash() {
            return;
        }
        if before.is_some() {
            self.packing.forget_from(0);
        }
        for number in self.bundles.numbers(..).collect::<Vec<_>>() {
            let phase = self.bundles.get(number).map(|bundle| bundle.phase);
            // What a guarantee stands for is judged by the chain; if it goes, another version is made then.
            let is_out = matches!(phase, Some(Phase::Out | Phase::Waiting { again: true }));
            if is_out && self.names_other_code(number) {
                self.decide(Record::Requeued { block: number, counted: false, again: false });
            }
        }
    }
}
