//! Twins: the same random commits, leases and reads on two stores must have the same answers.

use harness::rng::Rng;
use sender::store::{Acquired, Store};
use sender_model::{Authority, Commit, Fence, Precondition, Write};

/// Longer than any check takes, so that the two clocks do not matter.
const LONG_MS: u64 = 600_000;

/// Runs a seed's steps on both.
pub async fn run(seed: u64, steps: usize, one: &dyn Store, other: &dyn Store) {
    let mut rng = Rng::new(seed);
    for step in 0..steps {
        match rng.below(10) {
            0 => {
                let (name, force) = (name(&mut rng, "l"), rng.chance(500));
                let ask = async |store: &dyn Store| {
                    let acquired =
                        store.acquire(name.clone(), format!("h{step}"), LONG_MS, force).await.unwrap();
                    match acquired {
                        Acquired::Taken { epoch, .. } => Ok(epoch),
                        Acquired::Held { holder, .. } => Err(holder),
                    }
                };
                assert_eq!(ask(one).await, ask(other).await, "seed {seed} step {step}");
            }
            1 => {
                let fence = Fence { lease: name(&mut rng, "l"), epoch: rng.below(6) };
                let renews = rng.chance(500);
                let ask = async |store: &dyn Store| match renews {
                    true => store.renew(fence.clone(), LONG_MS).await,
                    false => store.release(fence.clone()).await,
                };
                assert_eq!(ask(one).await, ask(other).await, "seed {seed} step {step}");
            }
            2 => {
                let (after, limit) =
                    (rng.chance(500).then(|| name(&mut rng, "k/")), rng.within(1, 20) as usize);
                let prefix = ["k/", "k/1", "k/2", "k"][rng.below(4) as usize];
                let ask = async |store: &dyn Store| store.scan(prefix.into(), after.clone(), limit).await;
                assert_eq!(ask(one).await, ask(other).await, "seed {seed} step {step}");
            }
            _ => {
                let commit = commit(&mut rng);
                let results = (one.commit(commit.clone()).await, other.commit(commit.clone()).await);
                assert_eq!(results.0, results.1, "seed {seed} step {step}: {commit:?}");
            }
        }
    }
    let all = async |store: &dyn Store| store.scan("k".into(), None, 1_000).await;
    assert_eq!(all(one).await, all(other).await, "seed {seed}");
}

fn name(rng: &mut Rng, prefix: &str) -> String {
    format!("{prefix}{}", rng.below(12))
}

fn value(rng: &mut Rng) -> Vec<u8> {
    vec![rng.below(3) as u8; rng.below(3) as usize]
}

fn commit(rng: &mut Rng) -> Commit {
    let authority = match rng.chance(300) {
        true => Authority::Intake,
        false => Authority::Holder(Fence { lease: name(rng, "l"), epoch: rng.below(4) }),
    };
    let preconditions = (0..rng.below(3))
        .map(|_| match rng.chance(600) {
            true => Precondition::Absent(name(rng, "k/")),
            false => Precondition::Is(name(rng, "k/"), value(rng)),
        })
        .collect();
    let writes = (0..rng.below(4))
        .map(|_| match rng.chance(700) {
            true => Write::Put(name(rng, "k/"), value(rng)),
            false => Write::Delete(name(rng, "k/")),
        })
        .collect();
    Commit { authority, preconditions, writes }
}
