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
        parent: Parent<V>,
        codes: C,
        context: RefineContext,
        (opening, secret): (Opening, &Ed25519Secret),
    ) -> Result<Packaged, RebuildError> {
        let Mistake::RebuildChangesBlock = mistake;
        let failed = |why: String| RebuildError::Execution { block: draft.id(), why };
        let open = self.open(parent, codes, opening);
        let mut open = open.map_err(|error| failed(error.to_string()))?;
        for tx in draft.block.transactions() {
            open.push(tx).map_err(|error| failed(error.to_string()))?;
        }
        let sealed = open.seal(secret)?;
        Ok(self.package(&self.refine(&sealed)?, context))
    }
}
