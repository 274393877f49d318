//! Making a block: the rules of import, the other way around.

use super::{Node, State, Tree, seal};
use crate::keys::Keys;
use jam::{Assurance, Block, Extrinsic, Guarantee, HeaderHash, block::UnsealedHeader, rules::safrole};
use std::collections::BTreeMap;

/// What waits for a block. Whatever does not fit is left out.
#[derive(Clone, Debug, Default)]
pub struct Ingredients {
    /// Assurances of any anchor.
    pub assurances: Vec<Assurance>,
    /// Guarantees, the preferred ones first.
    pub guarantees: Vec<Guarantee>,
}

/// A block that was just made.
pub type Authored = Block;

impl Tree {
    /// Whether a validator may author a slot on top of a block.
    pub fn may_author(&self, keys: &Keys, parent: HeaderHash, slot: u32) -> bool {
        self.get(parent).is_some_and(|parent| {
            let turned = parent.state.turned_to(&self.rules, slot).state;
            slot > parent.slot()
                && seal::sealer(&self.rules.params, &turned.sets, slot) == Some(keys.bandersnatch.public())
        })
    }

    /// Makes a block on top of another one; `None` if it is not this validator's turn.
    pub fn author(
        &self,
        keys: &Keys,
        parent: HeaderHash,
        slot: u32,
        ingredients: &Ingredients,
    ) -> Option<Authored> {
        if !self.may_author(keys, parent, slot) {
            return None;
        }
        let parent = self.get(parent)?;
        let turned = parent.state.turned_to(&self.rules, slot);
        let next = &turned.state;
        let own = |key: &&jam::state::ValidatorKeys| key.bandersnatch == keys.bandersnatch.public();
        let author = next.sets.current.keys.iter().position(|key| own(&key))?;
        let extrinsic = self.extrinsic(parent, next, ingredients);
        let (entropy_source, _) = seal::entropy_source(keys, &next.entropy)?;
        let mark = || safrole::epoch_mark(&parent.state.entropy, &next.sets.safrole.next_validators);
        let unsealed = UnsealedHeader {
            parent: parent.hash,
            prior_state_root: parent.root,
            extrinsic_hash: extrinsic.hash(),
            slot,
            epoch_mark: turned.new_epoch.then(mark),
            tickets_mark: None,
            author: u16::try_from(author).ok()?,
            entropy_source,
            offenders: vec![],
        };
        Some(Block { header: seal::seal(keys, &next.entropy, unsealed)?, extrinsic })
    }

    fn extrinsic(&self, parent: &Node, next: &State, ingredients: &Ingredients) -> Extrinsic {
        let assurances = self.fitting_assurances(parent, &ingredients.assurances);
        let mut pending = parent.state.pending.clone();
        let counted =
            parent.state.assure(&self.rules, &mut pending, &assurances, parent.hash, next.slot).is_ok();
        let guarantees =
            if counted { self.fitting_guarantees(parent, next, &pending, ingredients) } else { vec![] };
        Extrinsic { guarantees, assurances, ..Extrinsic::EMPTY }
    }

    fn fitting_assurances(&self, parent: &Node, offered: &[Assurance]) -> Vec<Assurance> {
        let fits = |assurance: &&Assurance| {
            let one = std::slice::from_ref(*assurance);
            let pending = &mut parent.state.pending.clone();
            parent.state.assure(&self.rules, pending, one, parent.hash, parent.slot() + 1).is_ok()
        };
        let by_validator = offered
            .iter()
            .filter(|assurance| assurance.anchor == parent.hash)
            .filter(fits)
            .map(|assurance| (assurance.validator, assurance.clone()))
            .collect::<BTreeMap<_, _>>();
        by_validator.into_values().collect()
    }

    /// The first guarantee of each core that can be reported together with those of the cores before.
    fn fitting_guarantees(
        &self,
        parent: &Node,
        next: &State,
        pending: &jam::rules::assurances::Pending,
        ingredients: &Ingredients,
    ) -> Vec<Guarantee> {
        let mut chosen: Vec<Guarantee> = Vec::new();
        let is_ancestor = |slot, hash| self.is_ancestor(parent.hash, slot, hash);
        for core in 0..self.rules.params.cores {
            let offered = ingredients.guarantees.iter().filter(|guarantee| guarantee.report.core == core);
            for guarantee in offered {
                chosen.push(guarantee.clone());
                let mut trial = pending.clone();
                let judged =
                    parent.state.judge(&self.rules, parent.root, next, &mut trial, &chosen, &is_ancestor);
                if judged.is_ok() {
                    break;
                }
                chosen.pop();
            }
        }
        chosen
    }
}
