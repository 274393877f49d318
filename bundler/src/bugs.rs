//! Mistakes that were made once, kept so that the simulator can show that it finds them.

use crate::{Bundler, Draft, Opening, Packaged, Parent, RebuildError};
use jam::{Ed25519Secret, RefineContext};
use state::{Codes, Values};

/// A mistake to put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// The next version is not the same block but one that is executed anew, with another hash.
    RebuildChangesBlock,
}

impl Bundler {
    /// [`Bundler::rebuild`] with a mistake in it, which needs what a new block needs.
    pub fn rebuild_as<V: Values + Clone, C: Codes + Clone>(
        &self,
        mistake: Mistake,
        draft: &Draft,
        parent: &Parent<V>,
        codes: C,
        context: RefineContext,
        (opening, secret): (Opening, &Ed25519Secret),
    ) -> Result<Packaged, RebuildError> {
        let Mistake::RebuildChangesBlock = mistake;
        let failed = |why: String| RebuildError::Execution { block: draft.id(), why };
        let open = self.open(parent.clone(), codes, opening);
        let mut open = open.map_err(|error| failed(error.to_string()))?;
        for tx in draft.block.transactions() {
            open.push(tx).map_err(|error| failed(error.to_string()))?;
        }
        let sealed = open.seal(secret)?;
        Ok(self.package(&self.refine(&sealed)?, context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Authorizer;
    use alloy_primitives::{Address, B256, Bytes};
    use jam::{HeaderHash, Params};
    use service::{Config, genesis::Genesis};

    #[test]
    fn the_mistake_is_one() {
        let secret = Ed25519Secret::trivial(9);
        let config = Config::new(7, B256::ZERO, secret.public());
        let genesis = Genesis::dev(&config);
        let authorizer =
            Authorizer { host: 0, code_hash: B256::ZERO, config: Bytes::new(), token: Bytes::new() };
        let bundler = Bundler::new(config, Params::TINY, authorizer);
        let parent = Parent::new(genesis.header.clone(), genesis.layer());
        let opening = |build| Opening { now_secs: 1, beneficiary: Address::ZERO, build };
        let open = bundler.open(parent.clone(), genesis.codes.clone(), opening(1)).unwrap();
        let draft = open.seal(&secret).unwrap().draft;
        let context = RefineContext {
            anchor: HeaderHash::ZERO,
            state_root: B256::ZERO,
            beefy_root: B256::ZERO,
            lookup_anchor: HeaderHash::ZERO,
            lookup_anchor_slot: 0,
            prerequisites: Default::default(),
        };
        let right = bundler.rebuild(&draft, &parent, genesis.codes.clone(), context.clone()).unwrap();
        assert_eq!(right.block, draft.id());
        let mistake = Mistake::RebuildChangesBlock;
        let anew = (opening(2), &secret);
        let wrong = bundler.rebuild_as(mistake, &draft, &parent, genesis.codes, context, anew).unwrap();
        assert_ne!(wrong.block, draft.id());
    }
}
