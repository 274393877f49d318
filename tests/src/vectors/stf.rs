//! `stf/{reports,assurances,history,accumulate}/{tiny,full}/*.bin`: one rule each, with the state before, the verdict and the
//! state after. Accumulation runs the recorded services' code.

use super::{Cases, Family, File, Verdict, chain};
use jam::{
    Assurance, Ed25519Key, Guarantee, Hash, HeaderHash, PackageHash, Params, SegmentRoot, WorkReport,
    codec::{Decode, DecodeError, Decoder},
    rules::{
        assurances::{self, Pending},
        epoch::{Epoch, ValidatorSet},
        history::{self, History},
        reports::{self, ReportContext, ServiceFacts},
    },
    state::{AuthPools, Entropy, PendingReports, RecentBlocks, ServiceInfo, Validators},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

pub(super) const FAMILY: Family = Family { claims, run };

type Judge = fn(&mut Decoder<'_>) -> Result<Verdict, DecodeError>;

fn judge_of(file: &File<'_>) -> Option<(Judge, Params, String)> {
    let &[rule, spec, _] = file.after(&["stf"])? else { return None };
    let judge: Judge = match rule {
        "accumulate" => judge_accumulate,
        "assurances" => judge_assurances,
        "history" => judge_history,
        "reports" => judge_reports,
        _ => return None,
    };
    file.ends_in("bin").then_some((judge, chain(spec)?, format!("stf/{rule}/{spec}")))
}

fn claims(file: &File<'_>) -> Option<String> {
    judge_of(file).map(|(.., name)| name)
}

fn run(file: &File<'_>) -> Cases {
    vec![(String::new(), judge(file))]
}

fn judge(file: &File<'_>) -> Verdict {
    let (judge, params, _) = judge_of(file).ok_or("not of this family")?;
    let bytes = file.bytes()?;
    let mut input = Decoder::new(&bytes, &params);
    let verdict = judge(&mut input).map_err(|e| e.to_string())?;
    input.finish().map_err(|e| e.to_string())?;
    verdict
}

/// The waiting reports, in the form that the rules share.
pub(super) fn shared(pending: PendingReports) -> Pending {
    pending.cores.into_iter().map(|waiting| waiting.map(Arc::new)).collect()
}

/// `ok` with what came out, or the number of the refusal.
fn expected<T: Decode>(input: &mut Decoder<'_>) -> Result<Result<T, u8>, DecodeError> {
    Ok(if bool::decode_from(input)? { Err(input.byte()?) } else { Ok(T::decode_from(input)?) })
}

/// Whether verdict and state after it are the recorded ones.
fn compare<T: PartialEq, S: PartialEq>(
    ours: &Result<T, (u8, String)>,
    recorded: &Result<T, u8>,
    state: &S,
    recorded_state: &S,
) -> Verdict {
    match (ours, recorded) {
        (Ok(ours), Ok(recorded)) if ours != recorded => {
            return Err("accepted, but with another outcome".into());
        }
        (Ok(_), Ok(_)) => {}
        (Err((ours, _)), Err(recorded)) if ours == recorded => {}
        (Err((_, name)), Err(recorded)) => {
            return Err(format!("refused as {name}, not as number {recorded}"));
        }
        (Ok(_), Err(recorded)) => return Err(format!("accepted, but refusal {recorded} was expected")),
        (Err((_, name)), Ok(_)) => return Err(format!("refused as {name}")),
    }
    if state == recorded_state { Ok(()) } else { Err("another state afterwards".into()) }
}

fn judge_accumulate(input: &mut Decoder<'_>) -> Result<Verdict, DecodeError> {
    let params = input.params();
    let bytes = input.take(input.left())?;
    Ok(pvm::recorded::judge_vector(machines(), bytes, params))
}

/// The virtual machine that runs recorded services.
pub(super) fn machines() -> &'static pvm::Machines {
    static MACHINES: OnceLock<pvm::Machines> = OnceLock::new();
    MACHINES.get_or_init(|| {
        pvm::Machines::new(pvm::EngineKind::Interpreter).expect("the interpreter runs everywhere")
    })
}

fn judge_assurances(input: &mut Decoder<'_>) -> Result<Verdict, DecodeError> {
    let params = input.params();
    let assurances = Vec::<Assurance>::decode_from(input)?;
    let (slot, parent) = <(u32, HeaderHash)>::decode_from(input)?;
    let (mut pending, validators) = assurance_state(input)?;
    let recorded = expected::<Vec<WorkReport>>(input)?;
    let (pending_after, _) = assurance_state(input)?;
    let validators: Arc<ValidatorSet> = (&validators).into();
    let ours = assurances::apply(params, &mut pending, &validators, &assurances, parent, slot)
        .map(|outcome| outcome.reports().cloned().collect())
        .map_err(|refusal| (refusal as u8, refusal.to_string()));
    Ok(compare(&ours, &recorded, &pending, &pending_after))
}

fn assurance_state(input: &mut Decoder<'_>) -> Result<(Pending, Validators), DecodeError> {
    Ok((shared(PendingReports::decode_from(input)?), Validators::decode_from(input)?))
}

fn judge_history(input: &mut Decoder<'_>) -> Result<Verdict, DecodeError> {
    let params = input.params();
    let header = HeaderHash::decode_from(input)?;
    let (prior_state_root, accumulate_root) = <(Hash, Hash)>::decode_from(input)?;
    let packages = Vec::<(PackageHash, SegmentRoot)>::decode_from(input)?;
    let mut recent = RecentBlocks::decode_from(input)?;
    let after = RecentBlocks::decode_from(input)?;
    let packages = packages.into_iter().collect();
    history::apply(params, &mut recent, header, prior_state_root, accumulate_root, packages);
    Ok(if recent == after { Ok(()) } else { Err("another history afterwards".into()) })
}

/// The part of the state that reports are judged by.
struct ReportState {
    pending: Pending,
    current: Validators,
    previous: Validators,
    entropy: Entropy,
    offenders: BTreeSet<Ed25519Key>,
    recent: RecentBlocks,
    pools: AuthPools,
    services: BTreeMap<u32, ServiceInfo>,
}

impl Decode for ReportState {
    const MIN_BYTES: usize = 0;

    fn decode_from(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let state = Self {
            pending: shared(PendingReports::decode_from(input)?),
            current: Validators::decode_from(input)?,
            previous: Validators::decode_from(input)?,
            entropy: Entropy::decode_from(input)?,
            offenders: Vec::decode_from(input)?.into_iter().collect(),
            recent: RecentBlocks::decode_from(input)?,
            pools: AuthPools::decode_from(input)?,
            services: Vec::<(u32, ServiceInfo)>::decode_from(input)?.into_iter().collect(),
        };
        skip_statistics(input)?;
        Ok(state)
    }
}

/// Statistics of cores and services are not ours to keep.
fn skip_statistics(input: &mut Decoder<'_>) -> Result<(), DecodeError> {
    for _ in 0..input.params().cores {
        skip_naturals(input, 8)?;
    }
    for _ in 0..input.length(14, usize::MAX)? {
        u32::decode_from(input)?;
        skip_naturals(input, 10)?;
    }
    Ok(())
}

fn skip_naturals(input: &mut Decoder<'_>, count: usize) -> Result<(), DecodeError> {
    (0..count).try_for_each(|_| input.natural().map(drop))
}

type ReportOutcome = (Vec<(PackageHash, SegmentRoot)>, Vec<Ed25519Key>);

fn judge_reports(input: &mut Decoder<'_>) -> Result<Verdict, DecodeError> {
    let guarantees = Vec::<Guarantee>::decode_from(input)?;
    let slot = u32::decode_from(input)?;
    let known = BTreeSet::from_iter(Vec::<PackageHash>::decode_from(input)?);
    let state = ReportState::decode_from(input)?;
    let recorded = expected::<ReportOutcome>(input)?;
    let after = ReportState::decode_from(input)?;
    let mut pending = state.pending.clone();
    let ours = apply_reports(input.params(), &state, &mut pending, &guarantees, slot, &known);
    let recorded = recorded.map(|(mut packages, mut reporters)| {
        packages.sort();
        reporters.sort();
        (packages, reporters)
    });
    Ok(compare(&ours, &recorded, &pending, &after.pending))
}

fn apply_reports(
    params: &Params,
    state: &ReportState,
    pending: &mut Pending,
    guarantees: &[Guarantee],
    slot: u32,
    known: &BTreeSet<PackageHash>,
) -> Result<ReportOutcome, (u8, String)> {
    let epoch = Epoch {
        number: params.epoch_of(slot),
        current: (&state.current).into(),
        previous: (&state.previous).into(),
        next: (&state.current).into(),
        next_entropy: state.entropy.epoch,
        entropy: state.entropy.assignment,
        previous_entropy: state.entropy.previous_assignment,
    };
    let context = ReportContext {
        params,
        slot,
        epoch: &epoch,
        assignments: [&epoch.assignment(params, slot), &epoch.previous_assignment(params, slot)],
        offenders: &state.offenders,
        history: &History::from(&state.recent),
        is_known: &|package| known.contains(package),
        pools: Some(&state.pools),
        services: Some(&|id| facts(state.services.get(&id)?)),
        is_ancestor: None,
    };
    let reported = reports::apply(&context, pending, guarantees)
        .map_err(|refusal| (refusal as u8, refusal.to_string()))?;
    Ok((reported.packages().into_iter().collect(), reported.reporters.into_iter().collect()))
}

/// What reports are judged by of a service.
pub(super) fn facts(service: &ServiceInfo) -> Option<ServiceFacts> {
    Some(ServiceFacts { code_hash: service.code_hash, min_item_gas: service.min_item_gas })
}
