//! The simulated chain: validators that guarantee, assure, author, fork and finalize, honestly but not reliably.

use super::{
    faults::{Fault, Faults},
    owner::{CODES, Owner},
};
use harness::rng::Rng;
use jam::{
    Block, Hash, HeaderHash, PackageHash, Params, RefineContext, WorkReport, WorkResult,
    codec::Bytes,
    follow::{ChainView, Fate, Follower, Limits, Start, Update},
    hash::blake2b,
    sample::{Author, Body},
    spec::StateKey,
    state::{RecentBlock, RecentBlocks},
};
use queue::{ServiceTracker, ServiceView};
use service::{
    accumulate::{Claim, Outcome, ServiceState, claim_of},
    order::Order,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use types::BlockId;

/// The service that our packages are for.
pub(super) const SERVICE: u32 = 7;
/// Its code at first.
pub(super) const CODE_HASH: Hash = CODES[0];
/// The chain's parameters.
pub(super) const PARAMS: Params = Params::TINY;
/// How long a slot lasts.
pub(super) const SLOT_MS: u64 = 6000;
/// How far finality lies behind.
const FINALITY_LAG: usize = 2;

/// A package as guarantors hold it.
#[derive(Clone, Debug)]
struct Held {
    package: PackageHash,
    core: u16,
    context: RefineContext,
    anchor_height: u64,
    /// The code that it names.
    code_hash: Hash,
    /// What refining it gives.
    output: Bytes,
    /// Not reported before this slot.
    from_slot: u32,
    /// Once reported on a branch it is forgotten: the guarantee stays on a side that may lose.
    once: bool,
    reported: bool,
}

/// What a guarantor is given.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    /// The package.
    pub package: PackageHash,
    /// The core.
    pub core: u16,
    /// What it was built against.
    pub context: RefineContext,
    /// The height of its anchor.
    pub anchor_height: u64,
    /// The code that it names.
    pub code_hash: Hash,
    /// What refining it gives.
    pub claim: Claim,
    /// Whether no validator can refine it.
    pub poisonous: bool,
    /// The bundle, if it is a real one.
    pub bundle: Option<jam::codec::Bytes>,
}

/// The chain with all its branches, and what the validators hold.
#[derive(Debug)]
pub(super) struct Network {
    author: Author,
    /// Everything that was ever authored, believed by one who sees all.
    pub truth: Follower,
    tracker: ServiceTracker,
    service: ServiceView,
    mistake: Option<service::accumulate::Mistake>,
    /// The service at the finalized block, folded once more to see what it applies.
    final_state: ServiceState,
    applied: Vec<BlockId>,
    blocks: BTreeMap<HeaderHash, Block>,
    /// The service after each of them.
    states: BTreeMap<HeaderHash, Arc<ServiceState>>,
    order: Vec<HeaderHash>,
    tip: HeaderHash,
    other_tip: Option<(HeaderHash, u64)>,
    held: Vec<Held>,
    /// Reports that will never become available, and those that will in some blocks only.
    withheld: BTreeMap<PackageHash, u32>,
    stalled_until: u32,
    salt: u64,
    owner: Owner,
}

impl Network {
    /// A fresh chain whose service has applied `head`.
    pub(super) fn new(
        author: Author,
        head: BlockId,
        mistake: Option<service::accumulate::Mistake>,
        owner: Owner,
    ) -> Self {
        let truth = Follower::new(PARAMS, author.start(), Limits::default());
        let tip = truth.finalized().hash;
        let mut tracker =
            ServiceTracker::new(SERVICE, CODE_HASH, tip, ServiceState::new(head)).with_mistake(mistake);
        let service = tracker.view(&truth, &Update::default());
        Self {
            author,
            truth,
            tracker,
            service,
            mistake,
            final_state: ServiceState::new(head),
            applied: vec![],
            blocks: BTreeMap::new(),
            states: BTreeMap::new(),
            order: vec![],
            tip,
            other_tip: None,
            held: vec![],
            withheld: BTreeMap::new(),
            stalled_until: 0,
            salt: 0,
            owner,
        }
    }

    /// Where the chain begins.
    pub(super) fn start(&self) -> Start {
        self.author.start()
    }

    /// Our service's storage after a block, as its state proves it.
    pub(super) fn storage(&self, header: HeaderHash) -> BTreeMap<StateKey, Bytes> {
        let state = self.states.get(&header).into_iter().flat_map(|state| state.storage(SERVICE));
        state.filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The validators' keys, five of which make a block final.
    pub(super) fn validators(&self) -> Vec<jam::Ed25519Key> {
        self.author.secrets().iter().map(|secret| secret.public()).collect()
    }

    /// A block, if it was authored.
    pub(super) fn block(&self, hash: HeaderHash) -> Option<&Block> {
        self.blocks.get(&hash)
    }

    /// All blocks in the order in which they were authored.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.order.iter().filter_map(|hash| self.blocks.get(hash))
    }

    /// The service's state at the finalized block.
    pub(super) fn final_service(&self) -> Arc<ServiceState> {
        Arc::clone(&self.service.finalized)
    }

    fn advance(&mut self, update: &Update) {
        let code = self.service.finalized_code.hash;
        self.service = self.tracker.view(&self.truth, update);
        if self.service.finalized_code.hash != code {
            self.owner.upgraded();
        }
        let reports = update.finalized.iter().flat_map(|(_, reports)| reports);
        for claim in
            reports.flat_map(|pending| &pending.report.digests).filter_map(|digest| claim_of(digest, SERVICE))
        {
            let outcome = match self.mistake {
                Some(mistake) => self.final_state.apply_as(&claim, mistake),
                None => self.final_state.apply(&claim),
            };
            if let Outcome::Applied(blocks) = outcome {
                self.applied.extend(blocks);
            }
        }
    }

    /// The blocks that the service applied in final blocks since the last call, in the order in which it did.
    pub(super) fn take_applied(&mut self) -> Vec<BlockId> {
        core::mem::take(&mut self.applied)
    }

    /// Takes a package.
    ///
    /// A real bundle is refined, and must come to what was claimed.
    pub(super) fn take(
        &mut self,
        parcel: Parcel,
        from_slot: u32,
        faults: &mut Faults,
        rng: &mut Rng,
    ) -> Result<(), String> {
        let mut parcel = parcel;
        if let Some(bundle) = &parcel.bundle {
            let claim = super::blocks::refine(bundle, parcel.code_hash)?;
            let expected = (parcel.claim.parent, parcel.claim.first, parcel.claim.last);
            if (claim.parent, claim.first, claim.last) != expected {
                return Err(format!("it refines to blocks {} to {}", claim.first, claim.last));
            }
            parcel.claim = claim;
        }
        if parcel.poisonous {
            return Ok(());
        }
        let Parcel { package, core, context, anchor_height, code_hash, claim, .. } = parcel;
        let once = faults.has(Fault::Fork) && rng.chance(500);
        self.held.push(Held {
            package,
            core,
            context,
            anchor_height,
            code_hash,
            output: claim.encode().to_vec().into(),
            from_slot,
            once,
            reported: false,
        });
        Ok(())
    }

    /// Authors the block of a slot, or none; gives its hash.
    pub(super) fn author(&mut self, slot: u32, faults: &mut Faults, rng: &mut Rng) -> Option<HeaderHash> {
        self.fork_or_join(faults, rng);
        if faults.strikes(Fault::SlotSkipped, rng) {
            return None;
        }
        let on_other = self.other_tip.is_some() && rng.chance(500);
        let parent = match self.other_tip {
            Some((other, _)) if on_other => other,
            _ => self.tip,
        };
        let block = self.make_block(parent, slot, faults, rng);
        let hash = block.header.hash();
        let update = self.truth.import(block.clone());
        assert!(update.refused.is_empty(), "the author made a bad block: {:?}", update.refused);
        self.advance(&update);
        self.states.insert(hash, self.tracker.state_at(&self.truth, hash));
        learn_roots(&mut self.truth, hash);
        self.blocks.insert(hash, block);
        self.order.push(hash);
        match &mut self.other_tip {
            Some((other, _)) if on_other => *other = hash,
            _ => self.tip = hash,
        }
        self.forget();
        Some(hash)
    }

    /// Begins a fork, or ends one: the higher branch wins, as followers see it.
    fn fork_or_join(&mut self, faults: &mut Faults, rng: &mut Rng) {
        if let Some((other, left)) = self.other_tip {
            let over = left == 0 || self.truth.view_from(other).is_none();
            self.other_tip = if over { None } else { Some((other, left - 1)) };
            if over {
                self.tip = self.truth.view().head().hash;
            }
            return;
        }
        if faults.strikes(Fault::Fork, rng) {
            let depth = rng.within(1, 3);
            let back = (0..depth).try_fold(self.tip, |block, _| self.truth.parent(block));
            self.other_tip = back.map(|block| (block, rng.within(2, 7)));
        }
    }

    fn make_block(&mut self, parent: HeaderHash, slot: u32, faults: &mut Faults, rng: &mut Rng) -> Block {
        if let Some(order) = self.owner.order(slot, self.service.finalized_code) {
            self.hold_order(&order, parent, slot);
        }
        let code_hash = self.tracker.code_at(&self.truth, parent).hash;
        let view = self.truth.view_from(parent).expect("tips are kept");
        let busy = (0..PARAMS.cores).filter_map(|core| Some((core, view.core(core)?))).collect::<Vec<_>>();
        let mut available = Vec::new();
        for (core, report) in &busy {
            let wait = self.withheld.entry(report.package).or_insert_with(|| availability_delay(faults, rng));
            if *wait == 0 {
                available.push(*core);
            } else {
                *wait = wait.saturating_sub(u32::from(*wait < u32::MAX));
            }
        }
        let free = |core: u16| {
            let report = busy.iter().find(|(busy, _)| *busy == core).map(|(_, report)| report);
            available.contains(&core) || report.is_none_or(|report| slot >= report.until_slot)
        };
        let mut reports: BTreeMap<u16, WorkReport> = BTreeMap::new();
        let mut packages = BTreeSet::new();
        for held in &mut self.held {
            let due = held.from_slot <= slot && !(held.once && held.reported) && held.code_hash == code_hash;
            let taken = reports.contains_key(&held.core) || !packages.insert(held.package);
            if due && !taken && free(held.core) && is_reportable(&view, held, slot) {
                held.reported = true;
                reports.insert(held.core, report_of(&self.author, &view, held));
            }
        }
        self.salt += 1;
        let reports = reports.into_values().collect();
        self.author.block(&view, slot, Body { reports, available, salt: self.salt })
    }

    /// Guarantors have an order of the owner, before anything else: it names the code that the finalized chain has.
    fn hold_order(&mut self, order: &Order, parent: HeaderHash, slot: u32) {
        let view = self.truth.view_from(parent).expect("tips are kept");
        let core = (slot % u32::from(PARAMS.cores)) as u16;
        let package = PackageHash(blake2b(&[b"order", &order.encode(), &slot.to_le_bytes()]));
        let (anchor, anchor_height) = (view.head().hash, view.head().height);
        let held = Held {
            package,
            core,
            context: self.author.report(&view, package, core, anchor).context,
            anchor_height,
            code_hash: self.service.finalized_code.hash,
            output: order.encode().to_vec().into(),
            from_slot: slot + 1,
            once: false,
            reported: false,
        };
        self.held.insert(0, held);
    }

    /// Forgets what can never be reported any more.
    fn forget(&mut self) {
        let finalized = self.truth.finalized().height;
        self.held.retain(|held| held.anchor_height + u64::from(PARAMS.recent_blocks) > finalized);
    }

    /// Moves finality on, unless it stands still; gives the finalized block.
    pub(super) fn finalize(&mut self, slot: u32, faults: &mut Faults, rng: &mut Rng) -> (HeaderHash, u32) {
        if slot >= self.stalled_until && faults.strikes(Fault::FinalityStall, rng) {
            self.stalled_until = slot + rng.within(4, 40) as u32;
        }
        if slot >= self.stalled_until
            && let Some(target) = self.final_target()
        {
            let at = self.truth.view_from(target).map_or(0, |view| view.head().slot);
            for key in self.validators().into_iter().take(5) {
                let update = self.truth.claim_final(key, target, at);
                self.advance(&update);
            }
        }
        let finalized = self.truth.finalized();
        (finalized.hash, finalized.slot)
    }

    /// The highest block that every branch stands on, some blocks below the top.
    fn final_target(&self) -> Option<HeaderHash> {
        let line = |tip: HeaderHash| {
            std::iter::successors(Some(tip), |block| self.truth.parent(*block)).collect::<Vec<_>>()
        };
        let main = line(self.tip);
        let other = self.other_tip.map(|(tip, _)| line(tip));
        let shared = |block: &&HeaderHash| other.as_ref().is_none_or(|other| other.contains(block));
        main.iter().skip(FINALITY_LAG).find(shared).copied()
    }
}

/// After how many blocks a report becomes available: at once, some, or never.
fn availability_delay(faults: &mut Faults, rng: &mut Rng) -> u32 {
    if faults.strikes(Fault::NeverAvailable, rng) {
        return u32::MAX;
    }
    if faults.strikes(Fault::AvailableLate, rng) { rng.within(1, 3) as u32 } else { 0 }
}

fn is_reportable(view: &ChainView<'_>, held: &Held, slot: u32) -> bool {
    let fresh = matches!(view.fate(held.package), Fate::NotSeen | Fate::Reorged);
    let age = slot.saturating_sub(held.context.lookup_anchor_slot);
    let lookup_is_recent = age <= PARAMS.lookup_anchor_age_max;
    fresh && lookup_is_recent && view.anchor_life(held.context.anchor) > 0
}

fn report_of(author: &Author, view: &ChainView<'_>, held: &Held) -> WorkReport {
    let mut report = author.report(view, held.package, held.core, held.context.anchor);
    report.context = held.context.clone();
    let digest = &mut report.digests[0];
    (digest.service, digest.code_hash) = (SERVICE, held.code_hash);
    digest.result = WorkResult::Output(held.output.clone());
    report
}

/// Tells a follower the roots that only the state has, for a block and those before it.
fn learn_roots(follower: &mut Follower, block: HeaderHash) {
    if let Some(recent) = roots(follower, block) {
        follower.learn_roots(&recent);
    }
}

/// The roots that only the state has and the follower does not know, of a block and those before it.
pub(super) fn roots(follower: &Follower, block: HeaderHash) -> Option<RecentBlocks> {
    let view = follower.view_from(block)?;
    let told = view.recent().filter(|block| block.beefy_root.is_none()).map(|block| RecentBlock {
        hash: block.hash,
        beefy_root: blake2b(&[b"beefy", block.hash.as_slice()]),
        state_root: Hash::ZERO,
        reported: BTreeMap::new(),
    });
    let recent = RecentBlocks { blocks: told.collect(), ..RecentBlocks::EMPTY };
    (!recent.blocks.is_empty()).then_some(recent)
}
