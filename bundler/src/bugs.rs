//! Mistakes that were made once, or are easy to make, kept so that the simulator can show that it finds them.

use crate::{Bundler, Draft, Opening, Packaged, Parent, Piece, RebuildError, package::WithCreated};
use jam::{Ed25519Secret, RefineContext};
use state::{CodeSet, Codes, Values};

/// A mistake to put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// The next version does not have the same blocks but some that are executed anew, with other hashes.
    RebuildChangesBlock,
    /// The next version of a run of several blocks lacks the last one.
    RunChangesOnRebuild,
    /// The witness of a run covers what its last block touches.
    WitnessOfLastBlock,
    /// The builder signs the first block of a run.
    SignatureOfFirstBlock,
    /// A new bundle also has the last block of the one before it.
    RunOverlaps,
    /// The estimate of what it takes to refine a run has no witness in it.
    EstimateForgetsWitness,
    /// A bundle that was formed is packed again with other blocks of the same transactions: so is what was dissolved.
    DissolvedBlocksChange,
}

impl Bundler {
    /// [`Bundler::rebuild`] with a mistake in it, which needs what new blocks need.
    pub fn rebuild_as<V: Values + Clone, C: Codes + Clone>(
        &self,
        mistake: Mistake,
        drafts: &[Draft],
        parent: &Parent<V>,
        codes: C,
        context: RefineContext,
        (opening, secret): (Opening, &Ed25519Secret),
    ) -> Result<Packaged, RebuildError> {
        if mistake != Mistake::RebuildChangesBlock {
            let shorter = drafts.split_last().map_or(drafts, |(_, rest)| rest);
            let drafts =
                if mistake == Mistake::RunChangesOnRebuild && drafts.len() > 1 { shorter } else { drafts };
            return self.rebuild(drafts, parent, codes, context);
        }
        let pieces = self.anew(drafts, parent, codes, opening, secret)?;
        Ok(self.package(&self.pack_exactly(parent, &pieces)?, context))
    }

    /// Other blocks of the same transactions.
    pub fn anew<V: Values + Clone, C: Codes + Clone>(
        &self,
        drafts: &[Draft],
        parent: &Parent<V>,
        codes: C,
        opening: Opening,
        secret: &Ed25519Secret,
    ) -> Result<Vec<Piece>, RebuildError> {
        let (mut on, mut created, mut pieces) = (parent.clone(), CodeSet::default(), vec![]);
        for draft in drafts {
            let failed = |why: String| RebuildError::Execution { block: draft.id(), why };
            let codes = WithCreated { created: &created, all: codes.clone() };
            let open = self.open(on, codes, opening);
            let mut open = open.map_err(|error| failed(error.to_string()))?;
            for tx in draft.block.transactions() {
                open.push(tx).map_err(|error| failed(error.to_string()))?;
            }
            let sealed = open.seal(secret).map_err(|error| failed(error.to_string()))?;
            created.extend(&sealed.created);
            on = sealed.as_parent();
            pieces.push(sealed.piece);
        }
        Ok(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Authorizer, PackError, Token};
    use alloy_primitives::{Address, B256, Bytes};
    use jam::{HeaderHash, Params};
    use service::{Config, genesis::Genesis, refine::RefineError};

    const CONTEXT: RefineContext = RefineContext {
        anchor: HeaderHash::ZERO,
        state_root: B256::ZERO,
        beefy_root: B256::ZERO,
        lookup_anchor: HeaderHash::ZERO,
        lookup_anchor_slot: 0,
        prerequisites: std::collections::BTreeSet::new(),
    };

    fn opening(build: u64) -> Opening {
        Opening { now_secs: 1, beneficiary: Address::ZERO, build }
    }

    #[test]
    fn the_mistakes_are_ones() {
        let secret = Ed25519Secret::trivial(9);
        let config = Config::new(7, B256::ZERO, secret.public());
        let genesis = Genesis::dev(&config);
        let authorizer = Authorizer {
            host: 0,
            code_hash: B256::ZERO,
            config: Bytes::new(),
            token: Token::Fixed(Bytes::new()),
        };
        let mut bundler = Bundler::new(config, Params::TINY, authorizer);
        let parent = Parent::new(genesis.header.clone(), genesis.layer());
        let (mut on, mut pieces, mut drafts) = (parent.clone(), Vec::<Piece>::new(), vec![]);
        for build in 1..=2 {
            let open = bundler.open(on, genesis.codes.clone(), opening(build)).unwrap();
            let sealed = open.seal(&secret).unwrap();
            on = sealed.as_parent();
            pieces.push(sealed.piece);
            drafts.push(sealed.draft);
        }
        let right = bundler.rebuild(&drafts, &parent, genesis.codes.clone(), CONTEXT).unwrap();
        assert_eq!((right.run.first, right.run.last), (drafts[0].id(), drafts[1].id()));
        let rebuilt = |mistake| {
            let anew = (opening(3), &secret);
            let codes = genesis.codes.clone();
            bundler.rebuild_as(mistake, &drafts, &parent, codes, CONTEXT, anew).unwrap().run
        };
        assert_ne!(rebuilt(Mistake::RebuildChangesBlock).first, drafts[0].id());
        assert_eq!(rebuilt(Mistake::RunChangesOnRebuild).last, drafts[0].id());
        let gas = bundler.pack(&parent, &pieces).unwrap().refined.work().gas();
        bundler.mistake = Some(Mistake::EstimateForgetsWitness);
        assert!(bundler.pack(&parent, &pieces).unwrap().refined.work().gas() < gas);
        bundler.mistake = Some(Mistake::SignatureOfFirstBlock);
        let refused = bundler.pack(&parent, &pieces).unwrap_err();
        assert_eq!(refused, PackError::Refine(RefineError::Signature));
        bundler.mistake = Some(Mistake::WitnessOfLastBlock);
        assert!(matches!(bundler.pack(&parent, &pieces), Err(PackError::Refine(_))));
    }
}
