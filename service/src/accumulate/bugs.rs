//! Mistakes that were made once, kept so that the simulator can show that it finds them.

use super::{Claim, Ignored, Outcome, ServiceState};

/// A mistake to put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// The service applies whatever is accumulated, in the order in which cores come, and does not look at the parent.
    CoreOrder,
}

impl ServiceState {
    /// [`ServiceState::apply`] with a mistake in it.
    pub fn apply_as(&mut self, claim: &Claim, mistake: Mistake) -> Outcome {
        match mistake {
            Mistake::CoreOrder if self.head == claim.last => Outcome::Ignored(Ignored::Duplicate),
            Mistake::CoreOrder => {
                self.head = claim.last;
                Outcome::Applied(vec![self.head])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;
    use types::BlockId;

    #[test]
    fn the_mistake_is_one() {
        let claim = Claim::of_run(B256::repeat_byte(8), 9, BlockId::new(9, B256::repeat_byte(9)));
        let mut state = ServiceState::new(BlockId::default());
        assert_eq!(state.clone().apply(&claim), Outcome::Waits);
        assert_eq!(state.apply_as(&claim, Mistake::CoreOrder), Outcome::Applied(vec![claim.last]));
        assert_eq!(state.head(), claim.last);
    }
}
