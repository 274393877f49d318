//! Guaranteeing over the network: a builder's package becomes a report that two or three guarantors signed.

use super::{Inner, core::Evaluation};
use crate::{
    event::Deed,
    guarantor::{self, Duty, Evaluated, PackageRefusal},
};
use alloy_primitives::Bytes;
use jam::{
    Bundle, Ed25519Key, Guarantee, PackageHash, Purpose, WorkPackage, WorkReport, block::ValidatorSignature,
    codec::Encode, params::GUARANTEES_MIN,
};
use network::{SharedBundle, SharedReport};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::task::JoinSet;

type Answers = JoinSet<Option<(u16, SharedReport)>>;

impl Inner {
    /// What there is to do for a package; a refusal is told.
    pub(super) fn duty(&self, core: u16, package: &WorkPackage) -> Result<Duty, PackageRefusal> {
        let slot = self.slot_now();
        let checked = guarantor::check(&self.core.lock().tree, &self.own, core, package, slot);
        checked.inspect_err(|why| self.refuse(package.hash(), why))
    }

    pub(super) fn refuse(&self, package: PackageHash, why: &PackageRefusal) {
        self.tell(Deed::Refused { package, why: why.clone() });
    }

    /// A builder's package, which passed the chain's checks. It is refined and shared at the same time; signatures are
    /// collected afterwards.
    pub(super) async fn take(self: Arc<Self>, core: u16, bundle: Bundle) -> Result<(), PackageRefusal> {
        let duty = self.duty(core, &bundle.package)?;
        let known = self.core.lock().pool.guarantee(&bundle.package.hash()).cloned();
        if let Some(guarantee) = known {
            // The same bytes again: whoever missed the guarantee gets it now.
            self.distribute(&guarantee);
            return Ok(());
        }
        let package = bundle.package.hash();
        let bytes = Bytes::from(bundle.encode());
        if !self.core.lock().collecting.insert(package) {
            // It is in the works already, and shared.
            return self.evaluate(core, bundle, bytes).await.map(drop);
        }
        let answers = self.share(core, &duty, &bytes);
        let evaluated = self.evaluate(core, bundle, bytes).await;
        if evaluated.is_err() {
            self.core.lock().collecting.remove(&package);
        }
        tokio::spawn(self.collect(duty, evaluated?, answers));
        Ok(())
    }

    /// How long a builder waits for us to refine before we take its package as it is: a large one takes longer than a
    /// window is open, and a guarantor that says nothing looks like one that is not there.
    pub(super) fn patience(&self) -> Duration {
        self.clock.slot_duration() / 12
    }

    /// What a bundle comes to on a core. However often it comes, it is evaluated once.
    pub(super) async fn evaluate(&self, core: u16, bundle: Bundle, bytes: Bytes) -> Evaluation {
        let package = bundle.package.hash();
        // What is remembered is the package's. Other blobs than it names say nothing of it, so they are found out first.
        let checked = tokio::task::spawn_blocking(move || bundle.check(&BTreeMap::new()).map(|()| bundle));
        let bundle = match checked.await {
            Ok(Ok(bundle)) => bundle,
            Ok(Err(why)) => {
                let why = PackageRefusal::Bundle(why);
                self.refuse(package, &why);
                return Err(why);
            }
            // The runtime is going away.
            Err(_) => return Err(PackageRefusal::Behind),
        };
        let cell = self.core.lock().evaluation(core, package);
        cell.get_or_init(|| self.evaluate_anew(core, bundle, bytes)).await.clone()
    }

    /// Refines and codes a bundle, and holds its data.
    async fn evaluate_anew(&self, core: u16, bundle: Bundle, bytes: Bytes) -> Evaluation {
        let Ok(_permit) = self.evaluations.acquire().await else { return Err(PackageRefusal::Behind) };
        let package = bundle.package.hash();
        let evaluated = match self.execution.place(core, &bundle) {
            Some(place) => place.get_or_init(|| self.compute(core, bundle, bytes)).await.clone(),
            None => self.compute(core, bundle, bytes).await,
        };
        let Evaluated { report, shards, exports } = evaluated.inspect_err(|why| self.refuse(package, why))?;
        let slot = self.slot_now();
        let mut core = self.core.lock();
        let root = &report.spec.exports_root;
        if let Some(store) =
            self.store.as_ref().filter(|store| !exports.is_empty() && !store.has_segments(root))
        {
            self.note_disk(store.put_segments(&exports));
        }
        core.data.hold_all(shards, slot);
        core.data.keep_segments(exports);
        Ok(report)
    }

    /// Authorizes, refines and codes a bundle on another thread.
    async fn compute(&self, core: u16, bundle: Bundle, bytes: Bytes) -> Result<Evaluated, PackageRefusal> {
        let (rules, services) = {
            let tree = &self.core.lock().tree;
            (tree.rules().clone(), Arc::clone(&tree.best().state.services))
        };
        let work = move || guarantor::evaluate(&rules, &services, core, &bundle, &bytes);
        // It is only cancelled when the runtime is going away.
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(PackageRefusal::Behind))
    }

    /// Gives a bundle to the other guarantors.
    fn share(&self, core: u16, duty: &Duty, bytes: &Bytes) -> Answers {
        let mut answers = Answers::new();
        let bundle = SharedBundle::new(core, BTreeMap::new(), bytes.0.clone(), &self.params).map(Arc::new);
        let Ok(bundle) = bundle else { return answers };
        for (validator, key) in &duty.others {
            let Some(connection) = self.connection(key) else { continue };
            let (validator, bundle) = (*validator, Arc::clone(&bundle));
            answers.spawn(async move {
                let answer = connection.share(&bundle).await;
                answer
                    .inspect_err(|error| tracing::debug!(%error, "sharing failed"))
                    .ok()
                    .map(|a| (validator, a))
            });
        }
        answers
    }

    /// Collects signatures of the same report; the guarantee is distributed with the second one and again with the third.
    async fn collect(self: Arc<Self>, duty: Duty, report: WorkReport, mut answers: Answers) {
        let hash = report.hash();
        let own = self.keys.ed25519.sign(Purpose::Guarantee, hash.0);
        let mut signatures = BTreeMap::from([(duty.validator, own)]);
        while let Some(answer) = answers.join_next().await {
            let Ok(Some((validator, answer))) = answer else { continue };
            let key = duty.others.iter().find(|(other, _)| *other == validator).map(|(_, key)| *key);
            let signed = key.is_some_and(|key: Ed25519Key| {
                answer.report == hash && key.verifies(Purpose::Guarantee, hash.0, &answer.signature)
            });
            if !signed {
                continue;
            }
            signatures.insert(validator, answer.signature);
            if signatures.len() >= GUARANTEES_MIN {
                let entries = signatures.iter().map(|(validator, signature)| ValidatorSignature {
                    validator: *validator,
                    signature: *signature,
                });
                let guarantee =
                    Guarantee { report: report.clone(), slot: duty.slot, signatures: entries.collect() };
                self.tell(Deed::Guaranteed {
                    package: report.package(),
                    core: report.core,
                    signatures: guarantee.signatures.len(),
                });
                self.distribute(&guarantee);
            }
        }
        self.core.lock().collecting.remove(&report.package());
    }

    /// Gives a guarantee to all validators.
    fn distribute(&self, guarantee: &Guarantee) {
        self.core.lock().pool.add_guarantee(guarantee.clone());
        let guarantee = Arc::new(guarantee.clone());
        for peer in self.founders.iter().filter(|key| **key != self.own) {
            let Some(connection) = self.connection(peer) else { continue };
            let guarantee = Arc::clone(&guarantee);
            tokio::spawn(async move { connection.report(&guarantee).await });
        }
    }

    /// Signs what another guarantor's bundle came to.
    pub(super) async fn second(&self, shared: SharedBundle) -> Result<SharedReport, PackageRefusal> {
        self.duty(shared.core, &shared.bundle.package)?;
        let report = self.evaluate(shared.core, shared.bundle, Bytes::from(shared.bytes)).await?;
        let hash = report.hash();
        Ok(SharedReport { report: hash, signature: self.keys.ed25519.sign(Purpose::Guarantee, hash.0) })
    }

    /// A guarantee from another validator.
    pub(super) fn hear_guarantee(&self, guarantee: Guarantee) -> bool {
        let mut core = self.core.lock();
        let (rules, best) = (core.tree.rules(), core.tree.best());
        if !guarantor::signed_by(rules, &best.state, &guarantee) {
            return false;
        }
        core.pool.add_guarantee(guarantee);
        true
    }
}
