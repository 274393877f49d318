//! `traces/*/NNNNNNNN.bin`: a whole state, a block, and the state after it.
//!
//! Everything must decode and come back. Then our rules import the block: the reports that wait (ρ), the recent
//! history (β), disputes (ψ), what was accumulated (ξ) and what waits for others (ω) must be the recorded ones, and so must the
//! validators and the entropy that guarantors are assigned by. If the whole state is there, services' code is run on what became
//! available, and every entry, privilege, output and count of gas must be the recorded one.

use super::{Cases, Family, File, Verdict, codec::comes_back, stf};
use jam::{
    Block, Header, Params,
    codec::{Bytes, Decode, DecodeError, Decoder, Encode},
    hash::Hash,
    rules::{
        accumulation::{self, Taken},
        assurances, disputes,
        epoch::Epoch,
        history::{self, History},
        reports::{self, ReportContext},
    },
    spec::StateKey,
    state::*,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub(super) const FAMILY: Family = Family { claims, run };

fn claims(file: &File<'_>) -> Option<String> {
    let &[family, _] = file.after(&["traces"])? else { return None };
    file.ends_in("bin").then(|| format!("traces/{family}"))
}

fn run(file: &File<'_>) -> Cases {
    vec![(String::new(), judge(file))]
}

fn judge(file: &File<'_>) -> Verdict {
    let bytes = file.bytes()?;
    // Public traces are of tiny chains; a full one is recognised by decoding only as such.
    let (params, step) = [Params::TINY, Params::FULL]
        .into_iter()
        .find_map(|params| Step::read(file.stem(), &bytes, &params).ok().map(|step| (params, step)))
        .ok_or_else(|| match Step::read(file.stem(), &bytes, &Params::TINY) {
            Err(error) => format!("does not decode: {error}"),
            Ok(_) => unreachable!("it would have been found"),
        })?;
    match step {
        Step::Genesis(header, state) => {
            comes_back::<Header>(&header.encode(), &params)?;
            parts_come_back(&state, &params)
        }
        Step::Block(block, before, after) => {
            comes_back::<Block>(&block.encode(), &params)?;
            parts_come_back(&before, &params)?;
            parts_come_back(&after, &params)?;
            if before.root == after.root {
                // A block that must be refused; why may lie outside of what we check.
                return Ok(());
            }
            Import { params: &params, block: &block, before: &before.entries, after: &after.entries }.check()
        }
    }
}

/// A state with its root.
struct RawState {
    root: Hash,
    entries: BTreeMap<StateKey, Bytes>,
}

impl Decode for RawState {
    const MIN_BYTES: usize = 33;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let root = Hash::decode_from(input)?;
        let entries = Vec::<(StateKey, Bytes)>::decode_from(input)?;
        Ok(Self { root, entries: entries.into_iter().collect() })
    }
}

enum Step {
    Genesis(Box<Header>, RawState),
    Block(Box<Block>, RawState, RawState),
}

impl Step {
    fn read(name: &str, bytes: &[u8], params: &Params) -> Result<Self, DecodeError> {
        let input = &mut Decoder::new(bytes, params);
        let step = if name.contains("genesis") {
            Self::Genesis(Box::new(Header::decode_from(input)?), RawState::decode_from(input)?)
        } else {
            let before = RawState::decode_from(input)?;
            let block = Box::new(Block::decode_from(input)?);
            Self::Block(block, before, RawState::decode_from(input)?)
        };
        input.finish()?;
        Ok(step)
    }
}

/// The parts that we know must decode and come back.
fn parts_come_back(state: &RawState, params: &Params) -> Verdict {
    let part = |index: StateIndex, judge: fn(&[u8], &Params) -> Verdict| match state.entries.get(&index.key())
    {
        Some(bytes) => judge(bytes, params).map_err(|error| format!("{index:?}: {error}")),
        None => Ok(()),
    };
    part(StateIndex::AuthPools, comes_back::<AuthPools>)?;
    part(StateIndex::AuthQueues, comes_back::<AuthQueues>)?;
    part(StateIndex::RecentBlocks, comes_back::<RecentBlocks>)?;
    part(StateIndex::Disputes, comes_back::<DisputeRecords>)?;
    part(StateIndex::Entropy, comes_back::<Entropy>)?;
    part(StateIndex::NextValidators, comes_back::<Validators>)?;
    part(StateIndex::Validators, comes_back::<Validators>)?;
    part(StateIndex::PreviousValidators, comes_back::<Validators>)?;
    part(StateIndex::PendingReports, comes_back::<PendingReports>)?;
    part(StateIndex::Slot, comes_back::<u32>)?;
    part(StateIndex::ReadyQueue, comes_back::<ReadyQueue>)?;
    part(StateIndex::Accumulated, comes_back::<Accumulated>)?;
    part(StateIndex::AccumulationOutputs, comes_back::<Vec<AccumulationOutput>>)
}

type Entries = BTreeMap<StateKey, Bytes>;

/// One part of a recorded state.
fn part<T: Decode>(state: &Entries, index: StateIndex, params: &Params) -> Result<T, String> {
    state_part(state, index, params).map_err(|e| e.to_string())
}

fn same<T: PartialEq>(what: &str, ours: &T, recorded: &T) -> Verdict {
    if ours == recorded { Ok(()) } else { Err(format!("another {what} afterwards")) }
}

/// A step of the chain: the block, and the recorded states around it.
struct Import<'a> {
    params: &'a Params,
    block: &'a Block,
    before: &'a Entries,
    after: &'a Entries,
}

impl Import<'_> {
    fn before<T: Decode>(&self, index: StateIndex) -> Result<T, String> {
        part(self.before, index, self.params)
    }

    fn after<T: Decode>(&self, index: StateIndex) -> Result<T, String> {
        part(self.after, index, self.params)
    }

    fn check(&self) -> Verdict {
        let (params, header) = (self.params, &self.block.header);
        same("extrinsic hash", &self.block.extrinsic.hash(), &header.extrinsic_hash)?;
        let prior = epoch_of(params, self.before(StateIndex::Slot)?, self.before)?;
        let epoch = prior.after(params, header).map_err(|e| e.to_string())?.unwrap_or_else(|| prior.clone());
        // Who validates and how guarantors are assigned, derived from headers alone, must be what the state says.
        let recorded = epoch_of(params, header.slot, self.after)?;
        same("epoch (κ, λ, γ_P, η₁, η₂, η₃)", &epoch, &recorded)?;

        let mut pending = stf::shared(self.before(StateIndex::PendingReports)?);
        let known = self.known_packages(&pending)?;
        let records = self.disputes(&prior, &mut pending)?;
        let extrinsic = &self.block.extrinsic;
        let availability = assurances::apply(
            params,
            &mut pending,
            &prior.current,
            &extrinsic.assurances,
            header.parent,
            header.slot,
        )
        .map_err(|refusal| format!("assurances refused: {refusal}"))?;
        let reported = self.guarantees(&epoch, &records, &known, &mut pending)?;
        same("ρ", &pending, &stf::shared(self.after(StateIndex::PendingReports)?))?;
        self.accumulation(&availability)?;
        self.services(&availability)?;
        self.history(&reported)
    }

    /// δ, χ, φ, ι, θ and the gas of services, if the trace has the whole state: their code is run.
    fn services(&self, availability: &assurances::Availability) -> Verdict {
        if !self.before.contains_key(&StateIndex::NextValidators.key()) {
            return Ok(());
        }
        let (params, available) = (self.params, availability.reports().collect());
        pvm::recorded::judge_step(stf::machines(), params, self.block, available, self.before, self.after)
    }

    /// ψ.
    fn disputes(&self, prior: &Epoch, pending: &mut assurances::Pending) -> Result<DisputeRecords, String> {
        let mut records = Arc::new(self.before::<DisputeRecords>(StateIndex::Disputes)?);
        disputes::apply(self.params, prior, pending, &mut records, &self.block.extrinsic.disputes)
            .map_err(|refusal| format!("disputes refused: {refusal}"))?;
        same("ψ", &*records, &self.after(StateIndex::Disputes)?)?;
        Ok(Arc::unwrap_or_clone(records))
    }

    /// ρ, as far as guarantees change it.
    fn guarantees(
        &self,
        epoch: &Epoch,
        records: &DisputeRecords,
        known: &BTreeSet<jam::PackageHash>,
        pending: &mut assurances::Pending,
    ) -> Result<reports::Reported, String> {
        let (params, header) = (self.params, &self.block.header);
        let mut seen = History::from(&self.before::<RecentBlocks>(StateIndex::RecentBlocks)?);
        if !seen.note_state_root(header.prior_state_root) {
            return Err("the header has another prior state root than β".into());
        }
        let pools: AuthPools = self.before(StateIndex::AuthPools)?;
        let context = ReportContext {
            params,
            slot: header.slot,
            epoch,
            assignments: [
                &epoch.assignment(params, header.slot),
                &epoch.previous_assignment(params, header.slot),
            ],
            offenders: &records.offenders,
            history: &seen,
            is_known: &|package| known.contains(package),
            pools: Some(&pools),
            services: Some(&|id| {
                let bytes = self.before.get(&service_key(id))?;
                stf::facts(&ServiceInfo::decode(bytes, params).ok()?)
            }),
            is_ancestor: None,
        };
        reports::apply(&context, pending, &self.block.extrinsic.guarantees)
            .map_err(|refusal| format!("guarantees refused: {refusal}"))
    }

    /// ξ and ω.
    fn accumulation(&self, availability: &assurances::Availability) -> Verdict {
        let (params, to) = (self.params, self.block.header.slot);
        let from: u32 = self.before(StateIndex::Slot)?;
        let mut ready: ReadyQueue = self.before(StateIndex::ReadyQueue)?;
        let mut accumulated: Accumulated = self.before(StateIndex::Accumulated)?;
        let available = availability.reports().collect::<Vec<_>>();
        let recorded: Accumulated = self.after(StateIndex::Accumulated)?;
        let gas = accumulation_gas(params, self.before)?;
        let tried = |taken| {
            let (ready, accumulated) = (&mut ready.clone(), &mut accumulated.clone());
            accumulation::apply(params, ready, accumulated, &available, from, to, taken)
        };
        let taken = really_taken(&recorded, tried, gas)?;
        accumulation::apply(params, &mut ready, &mut accumulated, &available, from, to, taken);
        same("ξ", &accumulated, &recorded)?;
        same("ω", &ready, &self.after(StateIndex::ReadyQueue)?)
    }

    /// β.
    fn history(&self, reported: &reports::Reported) -> Verdict {
        let header = &self.block.header;
        let outputs: Vec<AccumulationOutput> = self.after(StateIndex::AccumulationOutputs)?;
        let mut recent: RecentBlocks = self.before(StateIndex::RecentBlocks)?;
        let (root, packages) = (history::accumulate_root(&outputs), reported.packages());
        history::apply(self.params, &mut recent, header.hash(), header.prior_state_root, root, packages);
        same("β", &recent, &self.after(StateIndex::RecentBlocks)?)
    }

    /// Packages that must not be reported again.
    fn known_packages(&self, pending: &assurances::Pending) -> Result<BTreeSet<jam::PackageHash>, String> {
        let recent: RecentBlocks = self.before(StateIndex::RecentBlocks)?;
        let ready: ReadyQueue = self.before(StateIndex::ReadyQueue)?;
        let accumulated: Accumulated = self.before(StateIndex::Accumulated)?;
        let waiting = pending.iter().flatten().map(|pending: &Arc<PendingReport>| pending.report.package());
        let reported = recent.blocks.iter().flat_map(|block| block.reported.keys().copied());
        let queued = ready.slots.iter().flatten().map(|entry| entry.report.package());
        let accumulated = accumulated.blocks.iter().flatten().copied();
        Ok(waiting.chain(reported).chain(queued).chain(accumulated).collect())
    }
}

/// Validators and entropy of a recorded state.
fn epoch_of(params: &Params, slot: u32, state: &Entries) -> Result<Epoch, String> {
    Ok(Epoch::of_state(
        params,
        slot,
        &part(state, StateIndex::Validators, params)?,
        &part(state, StateIndex::PreviousValidators, params)?,
        &part(state, StateIndex::Safrole, params)?,
        &part(state, StateIndex::Entropy, params)?,
    ))
}

/// How many reports were accumulated: as many as the recorded state says, because services may use less gas than they
/// ask for; but at least those whose asked gas fits.
fn really_taken(
    recorded: &Accumulated,
    apply: impl Fn(Taken) -> accumulation::Outcome,
    gas: u64,
) -> Result<Taken, String> {
    let really = recorded.blocks.last().map_or(0, BTreeSet::len);
    let asked = apply(Taken::WithinGas(gas)).accumulated.len();
    if really < asked {
        return Err(format!("another ξ afterwards: {really} reports accumulated, though {asked} fit"));
    }
    Ok(Taken::First(really))
}

/// The gas for accumulation, with what services that always accumulate add (χ).
fn accumulation_gas(params: &Params, state: &Entries) -> Result<u64, String> {
    let Some(bytes) = state.get(&StateIndex::Privileges.key()) else {
        return Ok(accumulation::block_gas(params));
    };
    let input = &mut Decoder::new(bytes, params);
    let read = |input: &mut Decoder<'_>| {
        input.take(4 * (3 + usize::from(params.cores)))?;
        BTreeMap::<u32, u64>::decode_from(input)
    };
    let always = read(input).map_err(|e| format!("privileges: {e}"))?;
    let cores = params.accumulate_gas_max * u64::from(params.cores);
    Ok(params.block_gas_max.max(cores + always.values().sum::<u64>()))
}
