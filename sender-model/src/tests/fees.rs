//! The rule of replacements, for all fees.

use crate::{Fees, Quote};
use proptest::prelude::*;

fn fees() -> impl Strategy<Value = Fees> {
    (any::<u64>(), any::<u64>()).prop_map(|(a, b)| Fees {
        max_fee_per_gas: u128::from(a.max(b)),
        max_priority_fee_per_gas: u128::from(a.min(b)),
    })
}

/// A tenth more, rounded up, computed in another way than the code does.
fn at_least_a_tenth_more(new: u128, old: u128) -> bool {
    new * 10 >= old * 11 && new > old
}

proptest! {
    #[test]
    fn a_bump_can_always_replace_and_never_exceeds_the_cap(
        last in fees(), market in fees(), percent in 0_u32..200, cap in any::<u64>(),
    ) {
        let cap = u128::from(cap);
        match last.bumped(percent, &market, cap) {
            Some(next) => {
                prop_assert!(next.max_fee_per_gas <= cap);
                prop_assert!(next.max_priority_fee_per_gas <= next.max_fee_per_gas);
                prop_assert!(at_least_a_tenth_more(next.max_fee_per_gas, last.max_fee_per_gas));
                prop_assert!(at_least_a_tenth_more(next.max_priority_fee_per_gas, last.max_priority_fee_per_gas));
            }
            // Only the cap can stand in the way.
            None => prop_assert!(last.floor_of_replacement().max_fee_per_gas > cap),
        }
    }

    #[test]
    fn what_leaves_room_under_the_cap_can_be_replaced_and_nothing_higher(cap in 1_u128..u128::from(u64::MAX)) {
        let price = Fees::replaceable_under(cap);
        let at = |price| Fees { max_fee_per_gas: price, max_priority_fee_per_gas: price };
        prop_assert!(at(price).floor_of_replacement().max_fee_per_gas <= cap);
        prop_assert!(at(price + 1).floor_of_replacement().max_fee_per_gas > cap);
    }

    #[test]
    fn a_replacement_is_higher_in_both_fields(last in fees(), next in fees()) {
        let higher = at_least_a_tenth_more(next.max_fee_per_gas, last.max_fee_per_gas)
            && at_least_a_tenth_more(next.max_priority_fee_per_gas, last.max_priority_fee_per_gas);
        prop_assert_eq!(next.may_replace(&last), higher);
    }
}

#[test]
fn the_first_price_leaves_room_and_respects_the_cap() {
    let quote = Quote::dynamic(100, 7);
    let fees = Fees::from_quote(&quote, 1_000);
    assert_eq!((fees.max_fee_per_gas, fees.max_priority_fee_per_gas), (207, 7));
    let capped = Fees::from_quote(&quote, 5);
    assert_eq!((capped.max_fee_per_gas, capped.max_priority_fee_per_gas), (5, 5));
    let most = Fees::from_quote(&Quote::dynamic(u128::MAX, 1), u128::MAX);
    assert_eq!(most.floor_of_replacement().max_fee_per_gas, u128::MAX);
}
