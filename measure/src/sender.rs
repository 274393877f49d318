//! Managed accounts: accepting a request must not depend on how long the chain takes to answer, nor cost much more than making
//! it durable, however many accounts are at work.

use super::Ratio;
use blackbox::sender_e2e::{accept_cost, accept_ratio};

pub(super) const RATIOS: &[Ratio] = &[
    Ratio { name: "sender-accept-latency", target: 1.2, measure: accept_ratio },
    // A third of what the store alone accepts (0.35), with 1, 10 and 100 accounts.
    Ratio { name: "sender-accept-store", target: 2.86, measure: accept_cost },
];
