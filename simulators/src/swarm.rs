//! How often each kind of fault happens in one run. Every seed has a swarm of its own: some kinds of fault not at all, some
//! often.

use harness::rng::Rng;
use std::marker::PhantomData;

/// What a simulator's kinds of fault have in common.
pub(crate) trait FaultKind: Copy + 'static {
    /// All kinds, each at its [index](Self::index), with the most often that it may happen in one try, in thousandths.
    const KINDS: &'static [(Self, u64)];

    /// The place of a kind in the list.
    fn index(self) -> usize;

    /// One seed in so many has this kind.
    fn one_in(self) -> u64 {
        2
    }

    /// Whether it is a fault, and not just something that happens now and then.
    fn counts(self) -> bool {
        true
    }
}

/// How often each kind happens in one run.
#[derive(Clone, Debug)]
pub(crate) struct Swarm<K> {
    per_mille: Vec<u64>,
    /// How many happened.
    pub(crate) count: u64,
    kinds: PhantomData<K>,
}

impl<K: FaultKind> Swarm<K> {
    /// Chooses: each kind is absent, rare or, in a harsh run, frequent.
    pub(crate) fn choose(rng: &mut Rng, harsh: bool) -> Self {
        let mut per_mille = vec![0; K::KINDS.len()];
        for (kind, most) in K::KINDS {
            if rng.below(kind.one_in()) == 0 {
                per_mille[kind.index()] = rng.within(1, if harsh { *most } else { most.div_ceil(4) });
            }
        }
        Self { per_mille, count: 0, kinds: PhantomData }
    }

    /// No faults any more.
    pub(crate) fn heal(&mut self) {
        self.per_mille.fill(0);
    }

    /// Whether a fault happens now.
    pub(crate) fn strikes(&mut self, kind: K, rng: &mut Rng) -> bool {
        // No randomness is spent on kinds that this run does not have.
        let strikes = self.has(kind) && rng.chance(self.per_mille[kind.index()]);
        self.count += u64::from(strikes && kind.counts());
        strikes
    }

    /// Whether this run has a kind of fault at all.
    pub(crate) fn has(&self, kind: K) -> bool {
        self.per_mille[kind.index()] > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    enum Weather {
        Rain,
        Snow,
        Sun,
    }

    impl FaultKind for Weather {
        const KINDS: &'static [(Self, u64)] = &[(Self::Rain, 1000), (Self::Snow, 1), (Self::Sun, 1000)];

        fn index(self) -> usize {
            self as usize
        }

        fn one_in(self) -> u64 {
            if matches!(self, Self::Snow) { u64::MAX } else { 1 }
        }

        fn counts(self) -> bool {
            !matches!(self, Self::Sun)
        }
    }

    #[test]
    fn absent_kinds_spend_no_randomness_and_healed_ones_neither() {
        let mut rng = Rng::new(1);
        let mut swarm = Swarm::<Weather>::choose(&mut rng, true);
        let mut twin = rng.clone();
        assert!(!swarm.has(Weather::Snow) && !swarm.strikes(Weather::Snow, &mut rng));
        assert_eq!(rng.bits(), twin.bits());
        let sunny = (0..10_000).filter(|_| swarm.strikes(Weather::Sun, &mut rng)).count();
        assert_eq!((sunny > 0, swarm.count), (true, 0), "sun is no fault");
        let rainy = (0..10_000).filter(|_| swarm.strikes(Weather::Rain, &mut rng)).count();
        assert_eq!((rainy > 0, swarm.count), (true, rainy as u64));
        swarm.heal();
        assert!(!swarm.strikes(Weather::Rain, &mut rng));
    }
}
