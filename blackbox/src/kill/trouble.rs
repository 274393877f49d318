//! What else happens to a node besides being killed.

use super::judge::Judge;
use devnet::faults::SubmissionFault;
use harness::rng::Rng;
use std::{collections::BTreeMap, time::Duration};

/// Trouble of a kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Trouble {
    /// The process is stopped for some slots and goes on.
    Frozen,
    /// The node hears nobody and nobody hears it.
    CutOff,
    /// Validators are parted into two groups of which neither is enough.
    Parted,
    /// Validators do nothing with what is submitted.
    Deaf,
    /// What was reported is lost with its branch.
    Forked,
    /// The disk is full, and has room again.
    FullDisk,
    /// All validators are down for a hundred slots.
    Outage,
    /// The node's wall clock is some hours ahead, and right again; half of the time the next life begins with it.
    ClockAhead,
    /// The same, behind.
    ClockBehind,
}

impl Trouble {
    /// From what hurts most if it is left out.
    const ALL: [Self; 9] = [
        Self::Outage,
        Self::FullDisk,
        Self::ClockAhead,
        Self::ClockBehind,
        Self::CutOff,
        Self::Frozen,
        Self::Deaf,
        Self::Parted,
        Self::Forked,
    ];

    /// Which life has which trouble, by the kills before it: each kind once, spread over the run, as far as there are
    /// lives for it.
    pub(super) fn plan(kills: u64, rng: &mut Rng) -> BTreeMap<u64, Self> {
        // The first life has no trouble, and the outage takes two.
        let lives = kills.saturating_sub(3);
        let count = lives.min(Self::ALL.len() as u64);
        let mut kinds = Self::ALL.into_iter().take(count as usize).collect::<Vec<_>>();
        let mut plan = BTreeMap::new();
        let mut taken = 0;
        for place in 0..count {
            let kind = kinds.swap_remove(rng.below(kinds.len() as u64) as usize);
            plan.insert(1 + taken + place * lives / count, kind);
            taken += u64::from(kind == Self::Outage);
        }
        plan
    }

    /// Those that a plan has no life for.
    pub(super) fn left_out(plan: &BTreeMap<u64, Self>) -> Vec<Self> {
        Self::ALL.into_iter().filter(|kind| !plan.values().any(|planned| planned == kind)).collect()
    }
}

/// How trouble ends, if it has not yet.
#[derive(Debug, Default)]
pub(super) struct Ending(Option<Trouble>);

impl Ending {
    /// Whether it has.
    pub(super) const fn is_over(&self) -> bool {
        self.0.is_none()
    }
}

impl Judge {
    /// Makes trouble and waits for a while.
    pub(super) fn begin(&mut self, trouble: Trouble) -> Result<(), String> {
        let slots = self.rng.within(6, 10);
        let faults = self.world.devnet.faults().clone();
        match trouble {
            Trouble::Frozen => self.node()?.freeze()?,
            Trouble::CutOff => self.world.wires.cut(true),
            Trouble::Parted => faults.partition(&[vec![0, 1, 2], vec![3, 4, 5]]),
            Trouble::Deaf => faults.submissions(Some(self.deafness())),
            Trouble::Forked => faults.fork(self.rng.within(1, 4)),
            Trouble::ClockAhead | Trouble::ClockBehind => self.set_clock(trouble)?,
            // Their lives are their own.
            Trouble::FullDisk | Trouble::Outage => {}
        }
        self.say(format_args!("{trouble:?} for {slots} slots"));
        self.left = Ending(Some(trouble));
        std::thread::sleep(self.world.slots(slots));
        // Whoever is frozen says nothing, so nobody would know when to kill it.
        if trouble == Trouble::Frozen { self.end_trouble() } else { Ok(()) }
    }

    /// Sets the node's wall clock wrong.
    fn set_clock(&mut self, trouble: Trouble) -> Result<(), String> {
        let hours = self.rng.within(1, 9).cast_signed();
        let hours = if trouble == Trouble::ClockAhead { hours } else { -hours };
        match &self.recipe.clock {
            Some(clock) => clock.set(hours)?,
            None => self.say("left out: libfaketime is not installed, so the node's clock cannot be set"),
        }
        Ok(())
    }

    fn deafness(&mut self) -> SubmissionFault {
        match self.rng.below(4) {
            0 => SubmissionFault::Dropped,
            1 => SubmissionFault::Refused,
            2 => SubmissionFault::Silent,
            _ => SubmissionFault::Delayed(Duration::from_millis(self.world.slot_ms)),
        }
    }

    /// Ends the trouble that there is.
    pub(super) fn end_trouble(&mut self) -> Result<(), String> {
        let Some(trouble) = self.left.0.take() else { return Ok(()) };
        match trouble {
            Trouble::Frozen => self.node()?.thaw()?,
            Trouble::CutOff => {
                self.world.wires.cut(false);
                self.say(format_args!("{} datagrams were lost", self.world.wires.lost()));
            }
            Trouble::ClockAhead | Trouble::ClockBehind => {
                self.recipe.clock.as_ref().map_or(Ok(()), |clock| clock.set(0))?;
            }
            _ => self.world.devnet.faults().clear(),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_life_and_the_outage_two() {
        for seed in 0..200 {
            let plan = Trouble::plan(25, &mut Rng::new(seed));
            assert_eq!((plan.len(), Trouble::left_out(&plan)), (9, vec![]));
            let outage = plan.iter().find(|(_, kind)| **kind == Trouble::Outage).unwrap().0;
            assert!(!plan.contains_key(&(outage + 1)) && !plan.contains_key(&0), "{plan:?}");
            assert!(plan.last_key_value().unwrap().0 + 2 <= 25, "{plan:?}");
        }
    }

    #[test]
    fn few_kills_have_room_for_the_worst() {
        let plan = Trouble::plan(5, &mut Rng::new(3));
        let mut kinds = plan.into_values().collect::<Vec<_>>();
        kinds.sort_unstable();
        assert_eq!(kinds, [Trouble::FullDisk, Trouble::Outage]);
        assert!(Trouble::plan(2, &mut Rng::new(3)).is_empty());
    }
}
