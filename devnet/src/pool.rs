//! What waits for a block: guarantees and assurances, whoever sent them.

use crate::chain::{Ingredients, Tree};
use jam::{Assurance, Guarantee, HeaderHash, PackageHash};
use std::collections::BTreeMap;

/// Guarantees that wait at most; the oldest go.
const GUARANTEES_MAX: usize = 1024;
/// Blocks whose assurances are kept.
const ANCHORS_MAX: usize = 16;

/// What waits for a block.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    guarantees: BTreeMap<PackageHash, Guarantee>,
    /// By anchor and validator, with the height of the anchor for forgetting.
    assurances: BTreeMap<HeaderHash, (u64, BTreeMap<u16, Assurance>)>,
}

impl Pool {
    /// Adds a guarantee whose signatures were checked. Of two of the same report the one with more signatures stays.
    pub fn add_guarantee(&mut self, guarantee: Guarantee) {
        let package = guarantee.report.package();
        let better = |old: &Guarantee| {
            let same = old.report == guarantee.report && old.slot == guarantee.slot;
            !same || guarantee.signatures.len() > old.signatures.len()
        };
        if self.guarantees.get(&package).is_none_or(better) {
            self.guarantees.insert(package, guarantee);
        }
        while self.guarantees.len() > GUARANTEES_MAX {
            let oldest = self.guarantees.iter().min_by_key(|(_, guarantee)| guarantee.slot);
            let Some(oldest) = oldest.map(|(package, _)| *package) else { return };
            self.guarantees.remove(&oldest);
        }
    }

    /// A guarantee that waits.
    pub fn guarantee(&self, package: &PackageHash) -> Option<&Guarantee> {
        self.guarantees.get(package)
    }

    /// Adds an assurance whose anchor has this height. Whether it is signed is for the author of a block to say.
    pub fn add_assurance(&mut self, height: u64, assurance: Assurance) {
        let (_, given) = self.assurances.entry(assurance.anchor).or_insert_with(|| (height, BTreeMap::new()));
        given.insert(assurance.validator, assurance);
        while self.assurances.len() > ANCHORS_MAX {
            let lowest = self.assurances.iter().min_by_key(|(_, (height, _))| *height);
            let Some(lowest) = lowest.map(|(anchor, _)| *anchor) else { return };
            self.assurances.remove(&lowest);
        }
    }

    /// What a block on top of `parent` could bring.
    pub fn ingredients(&self, parent: HeaderHash) -> Ingredients {
        let given = self.assurances.get(&parent).map(|(_, given)| given.values().cloned().collect());
        let mut guarantees = self.guarantees.values().cloned().collect::<Vec<_>>();
        guarantees.sort_by_key(|guarantee| guarantee.slot);
        Ingredients { assurances: given.unwrap_or_default(), guarantees }
    }

    /// Forgets what no block can bring any more: what is on the finalized chain, or was signed too long ago.
    pub fn trim(&mut self, tree: &Tree, slot: u32) {
        let life = 2 * u32::from(tree.rules().params.rotation_slots);
        let finalized = &tree.finalized().state;
        self.guarantees.retain(|package, guarantee| {
            guarantee.slot.saturating_add(life) >= slot && !finalized.knows(package)
        });
    }
}
