//! What an attempt offers: the first price, the price of a replacement, and the caps above which nothing goes.

use crate::{AttemptKind, Config, FeeMarket, Fees, Intent, Quote};

/// The rules of one account.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeePolicy {
    /// The most that anything may offer per gas.
    cap: u128,
    bump_percent: u32,
    #[cfg(feature = "bugs")]
    bumps_from_quote: bool,
}

impl FeePolicy {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            cap: config.fee_cap,
            bump_percent: config.bump_percent,
            #[cfg(feature = "bugs")]
            bumps_from_quote: config.makes(crate::Mistake::BumpFromQuote),
        }
    }

    /// The most that an attempt of a request may offer per gas. The last part under the account's cap is kept for the
    /// noop that must be able to replace it: a request that can neither be mined nor cancelled would stop all others.
    pub(super) fn cap(&self, intent: &Intent) -> u128 {
        let below = Fees::replaceable_under(self.cap);
        intent.fee_cap.map_or(below, |cap| cap.0.min(below))
    }

    /// The price of a noop, with one gas price or two fee fields.
    pub(super) fn noop(&self, quote: &Quote, legacy: bool) -> Fees {
        let fees = Fees::from_quote(quote, self.cap);
        if legacy { fees.into_legacy() } else { fees }
    }

    /// The first price of a request; none while the chain asks for more than it may pay.
    pub(super) fn first(&self, intent: &Intent, quote: &Quote) -> Option<Fees> {
        let cap = self.cap(intent);
        if cap < quote.lowest() {
            return None;
        }
        let fees = match intent.fees {
            Some(fees) => {
                let max_fee_per_gas = fees.max_fee_per_gas.min(cap);
                let max_priority_fee_per_gas = fees.max_priority_fee_per_gas.min(max_fee_per_gas);
                Fees { max_fee_per_gas, max_priority_fee_per_gas }
            }
            None => Fees::from_quote(quote, cap),
        };
        Some(if intent.legacy { fees.into_legacy() } else { fees })
    }

    /// A request as it is signed on a chain without EIP-1559. A gas price is paid in full, unlike a `maxFeePerGas`, which
    /// is only a limit: so of two fee fields the price is what the chain asks for, within that limit.
    pub(super) fn as_legacy(&self, intent: Intent, quote: &Quote) -> Intent {
        let fees = intent.fees.filter(|_| !intent.legacy && quote.market == FeeMarket::GasPrice);
        let priced = fees.map(|fees| {
            let price =
                quote.priority_fee_per_gas.max(fees.max_priority_fee_per_gas).min(fees.max_fee_per_gas);
            Fees { max_fee_per_gas: price, max_priority_fee_per_gas: price }
        });
        Intent { fees: priced.or(intent.fees), legacy: true, ..intent }
    }

    /// The price of an attempt that is signed again with one gas price: that of a replacement or, at the cap, the same
    /// once more. The attempt before was refused for its type, so there is nothing in any pool to outbid.
    pub(super) fn retyped(
        &self,
        last: Fees,
        (intent, kind): (&Intent, AttemptKind),
        wanted: Option<Fees>,
        quote: &Quote,
    ) -> Fees {
        self.replacement(last, (intent, kind), wanted, quote).unwrap_or(last).into_legacy()
    }

    /// The price of a replacement, at least the wanted one, if the cap leaves room for one.
    pub(super) fn replacement(
        &self,
        last: Fees,
        (intent, kind): (&Intent, AttemptKind),
        wanted: Option<Fees>,
        quote: &Quote,
    ) -> Option<Fees> {
        let cap = match kind {
            AttemptKind::Payload => self.cap(intent),
            AttemptKind::Noop => self.cap,
        };
        let mut market = Fees::from_quote(quote, cap);
        #[cfg(feature = "bugs")]
        if self.bumps_from_quote {
            return Fees::default().bumped(self.bump_percent, &market, cap);
        }
        if let Some(wanted) = wanted {
            market.max_fee_per_gas = market.max_fee_per_gas.max(wanted.max_fee_per_gas);
            market.max_priority_fee_per_gas =
                market.max_priority_fee_per_gas.max(wanted.max_priority_fee_per_gas);
        }
        let fees = last.bumped(self.bump_percent, &market, cap)?;
        Some(if intent.legacy { fees.into_legacy() } else { fees })
    }

    /// Whether a caller may want these fees for a replacement.
    pub(super) fn allows(&self, last: Fees, intent: &Intent, wanted: Fees) -> bool {
        let cap = self.cap(intent);
        last.bumped(self.bump_percent, &wanted, cap).is_some() && wanted.max_fee_per_gas <= cap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FeeCap;

    const QUOTE: Quote = Quote::dynamic(100, 10);

    fn policy(fee_cap: u128) -> FeePolicy {
        FeePolicy::new(&Config { fee_cap, bump_percent: 20, ..Config::default() })
    }

    fn fees(max_fee_per_gas: u128, max_priority_fee_per_gas: u128) -> Fees {
        Fees { max_fee_per_gas, max_priority_fee_per_gas }
    }

    #[test]
    fn a_request_leaves_room_for_the_noop_that_cancels_it() {
        let (policy, intent) = (policy(1_100), Intent::default());
        assert_eq!(policy.cap(&intent), 1_000);
        let highest = fees(1_000, 1_000);
        assert_eq!(policy.replacement(highest, (&intent, AttemptKind::Payload), None, &QUOTE), None);
        let noop = policy.replacement(highest, (&intent, AttemptKind::Noop), None, &QUOTE);
        assert_eq!(noop, Some(fees(1_100, 1_100)));
    }

    #[test]
    fn the_first_price_is_the_callers_within_the_cap() {
        let policy = policy(1_100);
        assert_eq!(policy.first(&Intent::default(), &QUOTE), Some(fees(210, 10)));
        let own = Intent { fees: Some(fees(5_000, 5_000)), ..Intent::default() };
        assert_eq!(policy.first(&own, &QUOTE), Some(fees(1_000, 1_000)));
        let legacy = Intent { legacy: true, ..Intent::default() };
        assert_eq!(policy.first(&legacy, &QUOTE), Some(fees(210, 210)));
        let poor = Intent { fee_cap: Some(FeeCap(99)), ..Intent::default() };
        assert_eq!(policy.first(&poor, &QUOTE), None);
    }

    #[test]
    fn without_a_base_fee_the_price_is_the_gas_price() {
        let (policy, quote) = (policy(1_100), Quote::gas_price(50));
        let own = |max, tip| Intent { fees: Some(fees(max, tip)), ..Intent::default() };
        let first = |intent: Intent| policy.first(&policy.as_legacy(intent, &quote), &quote);
        assert_eq!(first(Intent::default()), Some(fees(50, 50)));
        assert_eq!(first(own(900, 1)), Some(fees(50, 50)), "a limit is not a price");
        assert_eq!(first(own(900, 70)), Some(fees(70, 70)));
        assert_eq!(first(own(40, 1)), Some(fees(40, 40)));
        let priced = Intent { legacy: true, ..own(900, 900) };
        assert_eq!(first(priced), Some(fees(900, 900)), "the caller named a gas price");
        let poor = Intent { fee_cap: Some(FeeCap(49)), ..Intent::default() };
        assert_eq!(first(poor), None);
        assert_eq!(policy.noop(&quote, true), fees(50, 50));
    }

    #[test]
    fn an_attempt_at_the_cap_can_still_change_its_type() {
        let (policy, intent) = (policy(1_100), Intent { legacy: true, ..Intent::default() });
        let retyped =
            |last| policy.retyped(last, (&intent, AttemptKind::Payload), None, &Quote::gas_price(50));
        assert_eq!(retyped(fees(500, 100)), fees(600, 600));
        assert_eq!(retyped(fees(1_000, 100)), fees(1_000, 1_000));
    }

    #[test]
    fn a_replacement_starts_from_what_was_offered_last() {
        let (policy, intent) = (policy(1_100), Intent::default());
        let bump = |last, wanted| policy.replacement(last, (&intent, AttemptKind::Payload), wanted, &QUOTE);
        assert_eq!(bump(fees(500, 100), None), Some(fees(600, 120)));
        assert_eq!(bump(fees(100, 1), None), Some(fees(210, 10)), "the market asks for more");
        assert_eq!(bump(fees(500, 100), Some(fees(700, 1))), Some(fees(700, 120)));
    }

    #[test]
    fn wanted_fees_must_fit_between_the_last_price_and_the_cap() {
        let (policy, intent) = (policy(1_100), Intent::default());
        assert!(policy.allows(fees(500, 100), &intent, fees(0, 0)));
        assert!(policy.allows(fees(500, 100), &intent, fees(1_000, 0)));
        assert!(!policy.allows(fees(500, 100), &intent, fees(1_001, 0)));
        assert!(!policy.allows(fees(1_000, 100), &intent, fees(0, 0)));
    }
}
