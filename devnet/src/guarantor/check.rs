//! What is checked before anything is computed.

use super::PackageRefusal;
use crate::chain::{Node, Rules, State, Tree};
use jam::{
    Ed25519Key, Guarantee, Purpose, WorkPackage,
    codec::Decode,
    params::GUARANTEES_MIN,
    rules::reports::ReportRefusal,
    shuffle::Assignment,
    state::{ServiceInfo, service_key},
};

/// What a guarantor has to do for a package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Duty {
    /// The slot that the guarantee is signed in.
    pub slot: u32,
    /// The guarantor's own number.
    pub validator: u16,
    /// The others on the core.
    pub others: Vec<(u16, Ed25519Key)>,
}

/// Checks everything that is known without computing, at a slot, on top of the best block.
pub fn check(
    tree: &Tree,
    own: &Ed25519Key,
    core: u16,
    package: &WorkPackage,
    slot: u32,
) -> Result<Duty, PackageRefusal> {
    let (rules, best) = (tree.rules(), tree.best());
    if core >= rules.params.cores {
        return Err(ReportRefusal::BadCoreIndex.into());
    }
    package.check(&rules.params)?;
    let duty = duty(rules, &best.state, own, core, slot).ok_or(ReportRefusal::WrongAssignment)?;
    check_authorizer(&best.state, core, package)?;
    check_context(tree, best, package, slot)?;
    check_items(rules, &best.state, package)?;
    if best.state.knows(&package.hash()) {
        return Err(ReportRefusal::DuplicatePackage.into());
    }
    Ok(duty)
}

/// Who guarantees a core: at the slot that it is, or at the next one, for which packages come before it begins.
fn duty(rules: &Rules, state: &State, own: &Ed25519Key, core: u16, slot: u32) -> Option<Duty> {
    [slot, slot.saturating_add(1)].into_iter().find_map(|slot| {
        let guarantors = guarantors(rules, state, core, slot);
        let (validator, _) = *guarantors.iter().find(|(_, key)| key == own)?;
        let others = guarantors.into_iter().filter(|(_, key)| key != own).collect();
        Some(Duty { slot, validator, others })
    })
}

fn guarantors(rules: &Rules, state: &State, core: u16, slot: u32) -> Vec<(u16, Ed25519Key)> {
    let assignment = assignment(rules, state, slot);
    let keys = state.epoch.validators(assignment.era).keys();
    let key = |validator: u16| Some((validator, *keys.get(usize::from(validator))?));
    assignment.guarantors(core).filter_map(key).collect()
}

/// The rotation of a slot, as seen from a state that is not after it.
fn assignment(rules: &Rules, state: &State, slot: u32) -> Assignment {
    if rules.params.epoch_of(slot) > state.epoch.number {
        state.epoch.next_assignment(&rules.params, slot)
    } else {
        state.epoch.assignment(&rules.params, slot)
    }
}

/// The authorizer must be one that the core waits for. What it says of the package is found out by running it.
fn check_authorizer(state: &State, core: u16, package: &WorkPackage) -> Result<(), PackageRefusal> {
    let pool = state.pools.cores.get(usize::from(core));
    let authorizer = package.authorizer_hash();
    let waits = pool.is_some_and(|pool| pool.authorizers.contains(&authorizer));
    if waits { Ok(()) } else { Err(ReportRefusal::CoreUnauthorized.into()) }
}

fn check_context(tree: &Tree, best: &Node, package: &WorkPackage, slot: u32) -> Result<(), ReportRefusal> {
    let context = &package.context;
    let history = best.state.history(best.root);
    let anchor = history.get(context.anchor).ok_or(ReportRefusal::AnchorNotRecent)?;
    if anchor.state_root != Some(context.state_root) {
        return Err(ReportRefusal::BadStateRoot);
    }
    if anchor.beefy_root != Some(context.beefy_root) {
        return Err(ReportRefusal::BadBeefyMmrRoot);
    }
    let oldest = slot.saturating_add(1).saturating_sub(tree.rules().params.lookup_anchor_age_max);
    let recent = context.lookup_anchor_slot >= oldest
        && tree.is_ancestor(best.hash, context.lookup_anchor_slot, context.lookup_anchor);
    if !recent {
        return Err(ReportRefusal::LookupAnchorNotRecent);
    }
    let known = |package| history.reported(package).is_some();
    if context.prerequisites.iter().all(known) { Ok(()) } else { Err(ReportRefusal::DependencyMissing) }
}

fn check_items(rules: &Rules, state: &State, package: &WorkPackage) -> Result<(), ReportRefusal> {
    for item in &package.items {
        let info = state.services.get(&service_key(item.service)).ok_or(ReportRefusal::BadServiceId)?;
        let info = ServiceInfo::decode(info, &rules.params).map_err(|_| ReportRefusal::BadServiceId)?;
        if item.code_hash != info.code_hash {
            return Err(ReportRefusal::BadCodeHash);
        }
        if item.accumulate_gas < info.min_item_gas {
            return Err(ReportRefusal::ServiceItemGasTooLow);
        }
    }
    Ok(())
}

/// Whether a guarantee that came from elsewhere carries enough signatures of its core's guarantors. Whether it can be
/// reported is for the author of a block to say.
pub fn signed_by(rules: &Rules, state: &State, guarantee: &Guarantee) -> bool {
    let subject = guarantee.report.hash().0;
    let turned = assignment(rules, state, guarantee.slot);
    let before = state.epoch.previous_assignment(&rules.params, state.slot);
    [turned, before].iter().any(|assignment| {
        let set = state.epoch.validators(assignment.era);
        let valid = |entry: &jam::block::ValidatorSignature| {
            assignment.cores.get(usize::from(entry.validator)) == Some(&guarantee.report.core)
                && set.verifies(entry.validator, Purpose::Guarantee, subject, &entry.signature)
        };
        guarantee.signatures.len() >= GUARANTEES_MIN && guarantee.signatures.iter().all(valid)
    })
}
