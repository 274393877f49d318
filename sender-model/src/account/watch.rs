//! What is remembered about a nonce's sends and questions while its owner lives. None of it is durable: after a restart
//! everything counts as sent and is asked again.

use types::{Duration, Time};

/// So many blocks that a node had shown may have been replaced by others.
const REORG_BLOCKS_MAX: u64 = 64;

/// How one nonce is being watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// Whether bytes of it may have left. True for all that was loaded: what the former owner did is unknown.
    sent: bool,
    /// When to send (again).
    send_at: Time,
    /// Since when an answer to a send is awaited.
    sending: Option<Time>,
    /// Failures in a row.
    failures: u32,
    /// Whether a node has said that the price is too low.
    underpriced: bool,
    /// Whether the target has it in a block that is being built.
    bundled: bool,
    /// When to ask for receipts (again).
    receipts_at: Time,
    /// Whether a node has said that the nonce is used up, whatever the count says.
    used_up: bool,
    /// Whether a node has answered for every attempt that it knows no receipt.
    missing: bool,
    /// When to ask who used the nonce (again), and from which height on.
    identify_at: Time,
    search_from: u64,
    /// Searches that came to the newest block and found nothing.
    searches: u32,
    /// Not to be signed for again before: the signer has refused.
    sign_at: Time,
}

impl Watch {
    /// A nonce that was taken over from another owner.
    pub(super) fn loaded() -> Self {
        Self { sent: true, ..Self::default() }
    }

    /// A nonce that was bound now.
    pub(super) fn bound(now: Time) -> Self {
        Self { send_at: now, ..Self::default() }
    }

    pub(super) fn may_have_left(&self) -> bool {
        self.sent
    }

    /// When it wants to be sent (again).
    pub(super) fn send_at(&self) -> Time {
        self.send_at
    }

    /// Whether it is to be sent now: its time has come, and no answer is awaited that may still come.
    pub(super) fn is_send_due(&self, now: Time, patience: Duration) -> bool {
        self.send_at <= now && self.sending.is_none_or(|since| now.since(since) >= patience)
    }

    /// Bytes are handed out.
    pub(super) fn begin_send(&mut self, now: Time) {
        (self.sending, self.sent) = (Some(now), true);
    }

    /// An answer to a send is there, whatever it says.
    pub(super) fn end_send(&mut self) {
        self.sending = None;
    }

    /// A node has it; it is broadcast again later.
    pub(super) fn taken(&mut self, again_at: Time) {
        (self.send_at, self.failures, self.underpriced) = (again_at, 0, false);
    }

    /// A send has failed; it is tried again after a pause that doubles with every failure.
    pub(super) fn failed(&mut self, now: Time, backoff: impl FnOnce(u32) -> Duration) {
        self.send_at = now + backoff(self.failures);
        self.failures += 1;
    }

    /// A node says that the price is too low.
    pub(super) fn set_underpriced(&mut self) {
        self.underpriced = true;
    }

    pub(super) fn is_underpriced(&self) -> bool {
        self.underpriced
    }

    pub(super) fn set_bundled(&mut self, bundled: bool) {
        self.bundled = bundled;
    }

    pub(super) fn is_bundled(&self) -> bool {
        self.bundled
    }

    /// There is a newer attempt: it is sent at once, and what nodes said about the older ones counts no more.
    pub(super) fn replaced(&mut self, now: Time) {
        (self.send_at, self.sending, self.failures) = (now, None, 0);
        (self.underpriced, self.missing) = (false, false);
    }

    /// The block that it was in is gone: it is sent and asked about at once.
    pub(super) fn unmined(&mut self, now: Time) {
        (self.send_at, self.receipts_at, self.missing) = (now, now, false);
    }

    /// A node says that the nonce is used up: the receipts tell by whom.
    pub(super) fn set_used_up(&mut self, now: Time) {
        (self.used_up, self.receipts_at) = (true, now);
    }

    /// Asks for the receipts at once.
    pub(super) fn hasten_receipts(&mut self, now: Time) {
        self.receipts_at = now;
    }

    /// Whether to ask for receipts now. `counted` says that the chain's count is above the nonce.
    pub(super) fn are_receipts_due(&self, counted: bool, now: Time) -> bool {
        (counted || self.used_up) && self.receipts_at <= now
    }

    /// Receipts are asked for.
    pub(super) fn begin_receipts(&mut self, again_at: Time) {
        (self.receipts_at, self.used_up) = (again_at, false);
    }

    /// A node has answered for every attempt that it knows no receipt.
    /// It may only be behind, so who used the nonce is not asked before `identify_at`.
    pub(super) fn set_missing(&mut self, identify_at: Time) {
        if !std::mem::replace(&mut self.missing, true) {
            self.identify_at = identify_at;
        }
    }

    /// No block below this height has a transaction with the nonce; the search goes on there.
    pub(super) fn searched(&mut self, below: u64) {
        self.search_from = below;
    }

    /// A whole search has found nothing: the node may be behind, or on a branch that was left. It begins anew after a pause
    /// that doubles.
    pub(super) fn search_failed(&mut self, now: Time, backoff: impl FnOnce(u32) -> Duration) {
        self.search_from = 0;
        self.identify_at = now + backoff(self.searches);
        self.searches += 1;
    }

    /// Where to search, for a nonce that was bound when the newest block had this height: where the search was left, or a
    /// little below, for blocks may have taken the place of others since; farther below after each search in vain.
    pub(super) fn search_from(&self, bound_head: u64) -> u64 {
        let depth = REORG_BLOCKS_MAX.saturating_mul(1 << (2 * self.searches.min(20)));
        self.search_from.max(bound_head.saturating_sub(depth))
    }

    /// Whether to ask who used the nonce.
    pub(super) fn is_identity_due(&self, now: Time) -> bool {
        self.missing && self.identify_at <= now
    }

    /// It is asked who used the nonce.
    pub(super) fn begin_identity(&mut self, again_at: Time) {
        self.identify_at = again_at;
    }

    /// The signer refuses to sign for this nonce until then.
    pub(super) fn refuse_signing(&mut self, until: Time) {
        self.sign_at = until;
    }

    pub(super) fn is_signing_refused(&self, now: Time) -> bool {
        self.sign_at > now
    }
}

pub(super) const fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn an_answer_is_awaited_before_it_is_sent_again() {
        let mut watch = Watch::bound(at(10));
        assert!(!watch.is_send_due(at(9), millis(100)) && watch.is_send_due(at(10), millis(100)));
        assert!(!watch.may_have_left());
        watch.begin_send(at(10));
        assert!(watch.may_have_left());
        assert!(!watch.is_send_due(at(109), millis(100)) && watch.is_send_due(at(110), millis(100)));
        watch.end_send();
        assert!(watch.is_send_due(at(11), millis(100)));
    }

    #[test]
    fn failures_make_longer_pauses_until_one_is_taken() {
        let mut watch = Watch::default();
        let backoff = |failures: u32| millis(10 << failures);
        for pause in [10, 20, 40] {
            watch.failed(at(1_000), backoff);
            assert_eq!(watch.send_at(), at(1_000 + pause));
        }
        watch.set_underpriced();
        watch.taken(at(5_000));
        assert_eq!((watch.send_at(), watch.is_underpriced()), (at(5_000), false));
        watch.failed(at(6_000), backoff);
        assert_eq!(watch.send_at(), at(6_010));
    }

    #[test]
    fn receipts_are_asked_once_for_each_hint() {
        let mut watch = Watch::loaded();
        assert!(!watch.are_receipts_due(false, at(5)) && watch.are_receipts_due(true, at(5)));
        watch.set_used_up(at(5));
        assert!(watch.are_receipts_due(false, at(5)));
        watch.begin_receipts(at(20));
        assert!(!watch.are_receipts_due(false, at(20)) && !watch.are_receipts_due(true, at(19)));
        assert!(watch.are_receipts_due(true, at(20)));
    }

    #[test]
    fn a_newer_attempt_forgets_what_was_said_about_older_ones() {
        let mut watch = Watch::loaded();
        watch.set_missing(at(1));
        assert!(!watch.is_identity_due(at(0)) && watch.is_identity_due(at(1)));
        watch.set_underpriced();
        watch.begin_send(at(1));
        watch.replaced(at(2));
        assert!(!watch.is_identity_due(at(2)) && !watch.is_underpriced());
        assert!(watch.is_send_due(at(2), millis(100)) && watch.may_have_left());
    }
}
