//! What only the tests ask of the [world](crate::model::World): names of states, single steps, unusual ways for blocks to
//! come.

pub(super) use crate::model::world::*;

use crate::{Action, Config, Sent, SubmissionPlan};
use jam::{HeaderHash, PackageHash, WorkReport, hash::blake2b, sample::Body};

/// Bundles of one block, packed when the window opens.
pub(super) fn config() -> Config {
    Config { run_blocks_max: 1, ..runs_config() }
}

/// Bundles of many blocks, packed when the window opens.
pub(super) fn runs_config() -> Config {
    Config { pack_before: ms(0), ..Config::new(&PARAMS, SLOT_MS) }
}

pub(super) fn spec_config() -> Config {
    config().by_specification()
}

impl World {
    /// The log lines since the last call, without those about sealing.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.log);
        lines.retain(|line| !line.starts_with("block sealed"));
        lines
    }

    /// What the queue wants to be sent, packed.
    pub(crate) fn next_submission(&mut self) -> SubmissionPlan {
        loop {
            match self.queue.poll_action(self.now) {
                Some(Action::Pack(plan)) => self.pack(&plan),
                Some(Action::Submit(submission)) => return *submission,
                other => panic!("nothing to be sent: {other:?}"),
            }
        }
    }

    pub(crate) fn seal(&mut self, count: usize) {
        for _ in 0..count {
            self.try_seal(5).unwrap();
        }
    }

    /// The answer to the last version that was sent of a block.
    pub(crate) fn answer_to(&mut self, block: u64, answer: Sent) {
        let package = self.last_out(block).version.package;
        self.sent(block, package, answer);
    }

    pub(crate) fn last_out(&self, block: u64) -> Out {
        self.out.iter().rfind(|out| out.run.first.number == block).unwrap().clone()
    }

    pub(crate) fn height(&self) -> u64 {
        self.follower.view().head().height
    }

    pub(crate) fn block_at(&mut self, slot: u32, reports: &[(u64, u32)], available: &[u16]) -> HeaderHash {
        self.block_on(self.head(), slot, reports, available)
    }

    /// All validators call a block final.
    pub(crate) fn finalize(&mut self, hash: HeaderHash) {
        let update = self.claim(hash);
        self.deliver(&update);
    }

    pub(crate) fn finalize_best(&mut self) {
        self.finalize(self.head());
    }

    /// The report of somebody else's package on a core.
    pub(crate) fn stranger(&self, core: u16) -> WorkReport {
        let package = PackageHash(blake2b(&[b"stranger", self.head().as_slice(), &core.to_le_bytes()]));
        let view = self.follower.view();
        // The newest block's state root is not known to anybody yet.
        let anchor = view.recent().nth(1).unwrap().hash;
        self.author.report(&view, package, core, anchor)
    }

    /// The next block, with somebody else's reports on these cores.
    pub(crate) fn strangers_block(&mut self, cores: &[u16], available: &[u16]) -> HeaderHash {
        let reports = cores.iter().map(|core| self.stranger(*core)).collect();
        self.raw_block_on(self.head(), self.follower.view().head().slot + 1, reports, available)
    }

    /// The name of the state that a block is in.
    pub(crate) fn state(&self, block: u64) -> &'static str {
        let finished = || self.queue.bundles.finished().rfind(|bundle| bundle.run.contains(block));
        let bundle = self.queue.containing(block);
        // Blocks that are in no bundle wait, unless they stand on something abandoned.
        let waits = || match self.queue.abandonment.covers(block) {
            true => "Abandoned",
            false => "Queued",
        };
        let unbundled = self.queue.block(block).filter(|_| bundle.is_none()).map(|_| waits());
        let bundle = bundle.or_else(finished).map(|bundle| bundle.state.name());
        unbundled.or(bundle).unwrap_or("unknown")
    }

    pub(crate) fn states(&self, blocks: impl IntoIterator<Item = u64>) -> Vec<&'static str> {
        blocks.into_iter().map(|block| self.state(block)).collect()
    }

    /// The specification's `inflight()` and `CanSubmit()`.
    pub(crate) fn inflight(&self) -> (usize, bool) {
        (self.queue.counts().1, self.queue.can_submit())
    }
}

// Unusual ways for blocks to come.
impl World {
    /// The next block, of which the queue is not told.
    pub(crate) fn quietly_block(&mut self, available: &[u16]) -> HeaderHash {
        let slot = self.follower.view().head().slot + 1;
        self.now = self.now.max(clock().start_of(slot));
        let body = Body { available: available.to_vec(), salt: self.slots.len() as u64, ..Body::default() };
        let block = self.author.block(&self.follower.view(), slot, body);
        let hash = block.header.hash();
        self.slots.insert(hash, slot);
        assert_eq!(self.follower.import(block).refused, []);
        self.learn_roots(hash);
        hash
    }

    /// Everything that a twin's chain has above ours comes from the top down, after all validators called `last`
    /// final.
    pub(crate) fn import_late(&mut self, twin: &Self, last: HeaderHash) {
        self.now = twin.now;
        self.slots.extend(&twin.slots);
        for signer in self.author.secrets().to_vec() {
            self.follower.claim_final(signer.public(), last, self.slots[&last]);
        }
        let ours = self.follower.view().head();
        let missing = twin.made.iter().filter(|block| block.header.slot > ours.slot);
        for block in missing.rev() {
            let update = self.follower.import(block.clone());
            assert_eq!(update.refused, []);
            self.deliver(&update);
        }
        assert_ne!(self.head(), ours.hash);
    }
}
