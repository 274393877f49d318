//! The code of the service: blocks are made for the one that stands on chain at the best block.
//!
//! When it changes there, the open block is given up (its transactions are executed again under the new configuration) and what is in
//! flight is packed again, the same blocks under the new code. A code whose configuration or builder's key is not known here stops
//! building and sending until it is; nothing is lost meanwhile.

use crate::{Blocks, Broken, Driver};
use jam::{Ed25519Key, Hash, RefineContext};
use queue::ServiceCode;
use types::Event;

/// The code that blocks are made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeInUse {
    pub(crate) hash: Hash,
    /// Whether its configuration and its builder's key are here.
    pub(crate) is_known: bool,
    /// The newest block when the code changed last.
    pub(crate) sealed_before: Option<u64>,
}

impl CodeInUse {
    /// Whether a block was sealed for another code.
    pub(crate) fn was_another(&self, number: u64) -> bool {
        self.sealed_before.is_some_and(|newest| number <= newest)
    }
}

/// The service's code as the driver sees it, and where an order of the owner could go.
#[derive(Clone, Debug)]
pub struct CodeStatus {
    /// At the best block.
    pub best: ServiceCode,
    /// At the finalized block.
    pub finalized: ServiceCode,
    /// Whether configuration and key of the one at the best block are here.
    pub is_known: bool,
    /// What a package with an order is built against, its core, and who guarantees there.
    pub place: Option<(RefineContext, u16, Vec<Ed25519Key>)>,
}

impl<B: Blocks> Driver<B> {
    /// The service's code, and where an order of the owner could go now.
    pub fn code_status(&self) -> CodeStatus {
        let service = self.chain.service();
        let place = self.queue.place_for_order();
        CodeStatus {
            best: service.best_code,
            finalized: service.finalized_code,
            is_known: self.code.is_known && self.code.hash == service.best_code.hash,
            place: place.map(|(context, core)| (context, core, self.guarantors(core))),
        }
    }

    /// The code that blocks are made for, and whether its configuration and its builder's key are here.
    pub const fn code(&self) -> (Hash, bool) {
        (self.code.hash, self.code.is_known)
    }

    /// Configurations or keys were added to the blocks: the code may be known now.
    pub fn codes_added(&mut self) {
        if !self.code.is_known {
            self.code.is_known = self.blocks.set_code(self.code.hash);
            self.view.blocks_changed();
        }
    }

    /// The blocks and states, to add codes to.
    pub const fn blocks_mut(&mut self) -> &mut B {
        &mut self.blocks
    }

    /// Makes blocks for the code that the service has at the best block.
    pub(crate) fn follow_code(&mut self) -> Result<(), Broken> {
        let hash = self.chain.service().best_code.hash;
        if hash == self.code.hash {
            return Ok(());
        }
        self.discard_open()?;
        let is_known = self.blocks.set_code(hash);
        self.code = CodeInUse { hash, is_known, sealed_before: Some(self.blocks.newest_id().number) };
        self.tell(Event::CodeChanged { code_hash: hash, is_known });
        self.view.blocks_changed();
        Ok(())
    }
}
