//! Managed accounts: accepting a request must not depend on how long the chain takes to answer.

use super::Ratio;
use blackbox::sender_e2e::accept_ratio;

pub(super) const RATIOS: &[Ratio] =
    &[Ratio { name: "sender-accept-latency", target: 1.2, measure: accept_ratio }];
