//! From one state to the next: every check of a block, in the order of the Gray Paper.

use super::{State, accumulate, seal};
use crate::execution::Execution;
use jam::{
    Assurance, Block, Guarantee, Hash, HeaderHash, PackageHash, Params,
    codec::Decode,
    rules::{
        assurances::{self, AssuranceRefusal, Availability, Pending},
        authorizers,
        disputes::{self, DisputeRefusal},
        epoch::{Epoch, EpochRefusal},
        history::{self, History},
        reports::{self, ReportContext, ReportRefusal, Reported, ServiceFacts},
        safrole,
        statistics::Happened,
    },
    state::{ServiceInfo, service_key},
};
use std::{collections::HashSet, sync::Arc};

/// Why a block is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BlockRefusal {
    /// Its parent is not known.
    #[error("its parent is not known")]
    Parent,
    /// It is not above the finalized block.
    #[error("it is not above the finalized block")]
    Stale,
    /// There are too many blocks that are not final.
    #[error("too many blocks are not final")]
    Full,
    /// Its slot is not after its parent's.
    #[error("its slot is not after its parent's")]
    Slot,
    /// Its slot has not begun yet.
    #[error("its slot has not begun yet")]
    Future,
    /// The header does not commit to the extrinsic.
    #[error("its header does not commit to its extrinsic")]
    Extrinsic,
    /// The header names another state root than the parent's.
    #[error("its prior state root is not its parent's")]
    StateRoot,
    /// The header does not name the offenders.
    #[error("its header does not name the offenders")]
    Offenders,
    /// It brings tickets, a tickets mark or preimages, which this network does not have.
    #[error("it brings tickets or preimages, which this network does not have")]
    Unsupported,
    /// The epoch mark is wrong.
    #[error(transparent)]
    Epoch(#[from] EpochRefusal),
    /// The epoch mark names other validators or another entropy.
    #[error("its epoch mark is not what the state says")]
    EpochMark,
    /// Somebody else may author this slot.
    #[error("its author may not author this slot")]
    Author,
    /// The seal is not the author's.
    #[error("its seal is not its author's")]
    Seal,
    /// The entropy source is not the author's.
    #[error("its entropy source is not its author's")]
    EntropySource,
    /// Its disputes are refused.
    #[error("disputes: {0}")]
    Disputes(#[from] DisputeRefusal),
    /// Its assurances are refused.
    #[error("assurances: {0}")]
    Assurances(#[from] AssuranceRefusal),
    /// This machine cannot run a service's code.
    #[error("this validator's virtual machine failed")]
    Machine,
    /// Its guarantees are refused.
    #[error("guarantees: {0}")]
    Guarantees(#[from] ReportRefusal),
}

/// What all validators of a chain agree on, and how this one runs it.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The chain's parameters.
    pub params: Params,
    /// Our service, as the chain began with it.
    pub service: service::Config,
    /// How services are run.
    pub execution: Execution,
}

/// Whether a block of a slot is an ancestor.
pub(crate) type IsAncestor<'a> = &'a dyn Fn(u32, HeaderHash) -> bool;

/// A state that has moved to a block's slot: what the block's guarantees are judged by.
pub(crate) struct Turned {
    /// The state: slot, entropy without the block's own, sets and epoch are the block's.
    pub(crate) state: State,
    /// Whether an epoch begins.
    pub(crate) new_epoch: bool,
}

impl State {
    /// The state at a later slot, before any block of that slot: epoch, validators, entropy.
    pub(crate) fn turned_to(&self, rules: &Rules, slot: u32) -> Turned {
        let mut state = self.clone();
        state.slot = slot;
        let new_epoch = rules.params.epoch_of(slot) > self.epoch.number;
        if new_epoch {
            // The block's own entropy comes later; η₁ to η₃ do not depend on it.
            state.entropy = self.entropy.after(Hash::ZERO, true);
            let sets =
                self.sets.next(&rules.params, &self.designated, &self.disputes.offenders, &state.entropy);
            state.epoch = Arc::new(Self::epoch_of(&rules.params, slot, &sets, &state.entropy));
            state.sets = Arc::new(sets);
        }
        Turned { state, new_epoch }
    }

    /// The state after a block on top of this one, whose root is `root`; or why the block is refused.
    pub(crate) fn apply(
        &self,
        rules: &Rules,
        root: Hash,
        hash: HeaderHash,
        block: &Block,
        is_ancestor: IsAncestor<'_>,
    ) -> Result<Self, BlockRefusal> {
        let (header, extrinsic) = (&block.header, &block.extrinsic);
        self.check_header(root, block)?;
        let Turned { state: mut next, new_epoch } = self.turned_to(rules, header.slot);
        self.check_mark(rules, block, &next)?;
        let added = seal::check(&rules.params, &next.sets, next.entropy.previous_assignment, header)?;
        next.entropy = self.entropy.after(added, new_epoch);
        let condemned = &mut next.disputes;
        disputes::apply(&rules.params, &self.epoch, &mut next.pending, condemned, &extrinsic.disputes)?;
        let availability =
            self.assure(rules, &mut next.pending, &extrinsic.assurances, header.parent, header.slot)?;
        let mut pending = std::mem::take(&mut next.pending);
        let reported = self.judge(rules, root, &next, &mut pending, &extrinsic.guarantees, is_ancestor)?;
        next.pending = pending;
        let counts = accumulate::apply(rules, &mut next, &availability, self.slot).map_err(|fault| {
            tracing::error!(%fault, "a block cannot be accumulated here");
            BlockRefusal::Machine
        })?;
        let outputs = history::accumulate_root(&next.outputs);
        history::apply(&rules.params, &mut next.recent, hash, root, outputs, reported.packages());
        let (pools, queues) = (Arc::make_mut(&mut next.pools), &next.queues);
        authorizers::apply(&rules.params, pools, queues, &extrinsic.guarantees, header.slot);
        let happened = Happened {
            block,
            new_epoch,
            validators: &next.epoch.current,
            availability: &availability,
            reported: &reported,
            accumulated: &counts,
        };
        Arc::make_mut(&mut next.statistics).apply(&rules.params, &happened);
        Ok(next)
    }

    fn check_header(&self, root: Hash, block: &Block) -> Result<(), BlockRefusal> {
        let (header, extrinsic) = (&block.header, &block.extrinsic);
        let unsupported =
            header.tickets_mark.is_some() || !extrinsic.tickets.is_empty() || !extrinsic.preimages.is_empty();
        let checks = [
            (header.slot > self.slot, BlockRefusal::Slot),
            (header.prior_state_root == root, BlockRefusal::StateRoot),
            (!unsupported, BlockRefusal::Unsupported),
            (header.offenders.iter().copied().eq(extrinsic.disputes.offenders()), BlockRefusal::Offenders),
            (header.extrinsic_hash == extrinsic.hash(), BlockRefusal::Extrinsic),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, refusal)| Err(refusal))
    }

    fn check_mark(&self, rules: &Rules, block: &Block, next: &Self) -> Result<(), BlockRefusal> {
        let Some(epoch) = self.epoch.after(&rules.params, &block.header)? else { return Ok(()) };
        let expected = safrole::epoch_mark(&self.entropy, &next.sets.safrole.next_validators);
        let same = block.header.epoch_mark.as_ref() == Some(&expected) && epoch == *next.epoch;
        if same { Ok(()) } else { Err(BlockRefusal::EpochMark) }
    }

    /// Counts assurances of this state's reports: ρ† becomes ρ‡.
    pub(crate) fn assure(
        &self,
        rules: &Rules,
        pending: &mut Pending,
        given: &[Assurance],
        parent: HeaderHash,
        slot: u32,
    ) -> Result<Availability, AssuranceRefusal> {
        assurances::apply(&rules.params, pending, &self.epoch.current, given, parent, slot)
    }

    /// Judges the guarantees of a block on top of this state: ρ‡ becomes ρ'. `next` is this state turned to the slot.
    pub(crate) fn judge(
        &self,
        rules: &Rules,
        root: Hash,
        next: &Self,
        pending: &mut Pending,
        guarantees: &[Guarantee],
        is_ancestor: IsAncestor<'_>,
    ) -> Result<Reported, ReportRefusal> {
        let known = self.known_packages();
        let history = self.history(root);
        let assignments = next.assignments(&rules.params);
        let context = ReportContext {
            params: &rules.params,
            slot: next.slot,
            epoch: &next.epoch,
            assignments: assignments.each_ref(),
            offenders: &next.disputes.offenders,
            history: &history,
            is_known: &|package| known.contains(package) || self.accumulated.contains(package),
            pools: Some(&self.pools),
            services: Some(&|id| self.service_facts(rules, id)),
            is_ancestor: Some(is_ancestor),
        };
        reports::apply(&context, pending, guarantees)
    }

    /// β†: the last blocks, with this state's own root.
    pub(crate) fn history(&self, root: Hash) -> History {
        let mut history = History::from(&self.recent);
        // The newest block's root is never known before.
        let _ = history.note_state_root(root);
        history
    }

    fn assignments(&self, params: &Params) -> [jam::shuffle::Assignment; 2] {
        let epoch: &Epoch = &self.epoch;
        [epoch.assignment(params, self.slot), epoch.previous_assignment(params, self.slot)]
    }

    /// Packages that were reported lately, are pending or wait for others.
    fn known_packages(&self) -> HashSet<PackageHash> {
        let pending = self.pending.iter().flatten().map(|waiting| waiting.report.package());
        let reported = self.recent.blocks.iter().flat_map(|block| block.reported.keys().copied());
        let ready = self.ready.slots.iter().flatten().map(|ready| ready.report.package());
        pending.chain(reported).chain(ready).collect()
    }

    /// Whether a package can never be reported on top of this state, because it was already.
    pub(crate) fn knows(&self, package: &PackageHash) -> bool {
        self.known_packages().contains(package) || self.accumulated.contains(package)
    }

    fn service_facts(&self, rules: &Rules, id: u32) -> Option<ServiceFacts> {
        let info = ServiceInfo::decode(self.services.get(&service_key(id))?, &rules.params).ok()?;
        Some(ServiceFacts { code_hash: info.code_hash, min_item_gas: info.min_item_gas })
    }
}
